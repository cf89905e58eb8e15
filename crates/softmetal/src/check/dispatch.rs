//! State shared by the groups of a dispatch: bound ranges, findings, counters.

use super::CheckOptions;
use super::report::{Report, ReportKind};
use super::shadow::{Allocation, Shadow};
use super::symbol::{SourceLocation, Symbols, image};
use crate::compile::module::EntryPoint;
use crate::device::Pipeline;
use crate::exec::abi::GroupInfo;
use crate::profile::{Counters, DispatchProfile};
use parking_lot::Mutex;
use rustc_hash::FxHashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// One bound argument, as the encoder knows it.
#[derive(Debug, Clone)]
pub struct BoundRange {
    /// Buffer index.
    pub index: u32,
    /// Parameter name.
    pub name: String,
    /// First address of the whole buffer.
    pub start: usize,
    /// Length.
    pub length: usize,
    /// Whether it is a buffer of the device (inline bytes are not).
    pub owned: bool,
    /// Whether the kernel may write it.
    pub writable: bool,
    /// Whether the kernel sees it in the constant address space.
    pub constant: bool,
    /// Whether its elements are atomics.
    pub atomic: bool,
    /// The address of its description, where it is a texture.
    pub texture: Option<usize>,
}

/// Its name in reports.
impl std::fmt::Display for BoundRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = if self.texture.is_some() { "texture" } else { "buffer" };
        write!(f, "{kind} {} (`{}`)", self.index, self.name)
    }
}

/// A bound argument with its cells.
#[derive(Debug)]
pub struct Checked {
    /// The binding.
    pub range: BoundRange,
    /// Its shadow cells, if it is a device buffer.
    pub allocation: Option<Arc<Allocation>>,
    /// Groups that may overlap with this dispatch have at least this number.
    pub section: u32,
    touched: AtomicU64,
}

impl Checked {
    /// Notes that someone used it.
    pub fn touch(&self) {
        if self.touched.load(Ordering::Relaxed) == 0 {
            self.touched.store(1, Ordering::Relaxed);
        }
    }
}

impl Checked {
    /// Whether a dispatch that leaves it alone has forgotten something. Atomics may be flags that most runs never raise.
    fn must_be_used(&self) -> bool {
        self.range.writable && !self.range.atomic && self.touched.load(Ordering::Relaxed) == 0
    }
}

/// The findings, and the locations already reported.
#[derive(Debug, Default)]
struct Findings {
    list: Vec<Report>,
    seen: FxHashSet<(ReportKind, usize)>,
}

/// A dispatch under the checker.
#[derive(Debug)]
pub struct DispatchCheck {
    /// Kernel name.
    pub kernel: String,
    /// Bound arguments.
    pub bound: Vec<Checked>,
    /// Where the kernel's code and constants lie.
    pub image: std::ops::Range<usize>,
    /// Numbers of this dispatch's groups.
    pub groups: std::ops::Range<u32>,
    /// Bytes of threadgroup memory.
    pub group_bytes: usize,
    /// Bytes of it, at the front, that are zero when a group begins.
    pub zeroed_bytes: usize,
    /// Lanes per simdgroup.
    pub simd_width: u32,
    /// Whether to report.
    pub checking: bool,
    /// Whether to count.
    pub profiling: bool,
    max_reports: usize,
    path: std::path::PathBuf,
    reports: Mutex<Findings>,
    /// Sum of all workers' counters.
    pub counters: Mutex<Counters>,
}

impl DispatchCheck {
    /// For one dispatch; `section` is the first group number since the last barrier, `total` the number of groups.
    pub fn new(
        shadow: Arc<Shadow>,
        pipeline: &Pipeline,
        ranges: Vec<BoundRange>,
        (section, total): (u32, u32),
        (check, profiling): (Option<CheckOptions>, bool),
        group_bytes: usize,
    ) -> DispatchCheck {
        let bound = ranges
            .into_iter()
            .map(|r| {
                let allocation = if r.owned { shadow.find(r.start) } else { None };
                let section = allocation.as_ref().map_or(section, |a| a.section(section));
                Checked { allocation, section, range: r, touched: AtomicU64::new(0) }
            })
            .collect();
        let entry = match pipeline.0.module.entry {
            EntryPoint::Group(f) => f as usize,
            EntryPoint::Lane(f) => f as usize,
        };
        let first = shadow.reserve(total);
        DispatchCheck {
            kernel: pipeline.name().to_string(),
            bound,
            image: image(entry),
            groups: first..first + total,
            group_bytes,
            zeroed_bytes: pipeline.0.module.zeroed_memory as usize,
            simd_width: pipeline.thread_execution_width(),
            checking: check.is_some(),
            profiling,
            max_reports: check.map_or(usize::MAX, |c| c.max_reports.max(1)),
            path: pipeline.0.module.path.clone(),
            reports: Mutex::default(),
            counters: Mutex::default(),
        }
    }

    /// Adds a finding unless the same place had it already. Gives whether the dispatch should stop.
    pub fn report(&self, pc: usize, mut r: Report) -> bool {
        if !self.checking {
            return false;
        }
        let mut reports = self.reports.lock();
        if reports.seen.insert((r.kind, pc)) {
            if r.line == 0 && pc != 0 {
                let SourceLocation { file, line, column } =
                    Symbols::new(&self.path, self.image.start).place(pc);
                (r.file, r.line, r.column) = (file, line, column);
            }
            r.kernel.clone_from(&self.kernel);
            reports.list.push(r);
        }
        reports.list.len() >= self.max_reports
    }

    /// All findings, ordered by place. `cut_short` means that not all groups ran.
    pub fn take_reports(&self, cut_short: bool) -> Vec<Report> {
        let mut list = std::mem::take(&mut self.reports.lock().list);
        if self.checking && list.is_empty() && !cut_short {
            list.extend(self.bound.iter().filter(|b| b.must_be_used()).map(|b| Report {
                kind: ReportKind::OutputNotWritten,
                kernel: self.kernel.clone(),
                message: format!("{} is writable, but the dispatch neither wrote nor read it", b.range),
                file: String::new(),
                line: 0,
                column: 0,
                buffer: Some(b.range.index),
                offset: None,
                thread: [0; 3],
                group: [0; 3],
            }));
        }
        list.sort_by(|a, b| {
            (&a.file, a.line, a.column, a.kind.name()).cmp(&(&b.file, b.line, b.column, b.kind.name()))
        });
        list
    }

    /// The counters as a profile.
    pub fn profile(&self, g: &GroupInfo, elapsed: Duration) -> DispatchProfile {
        DispatchProfile {
            kernel: self.kernel.clone(),
            grid: g.threads_per_grid,
            threads_per_threadgroup: g.nominal_threads,
            threadgroups: g.groups_per_grid,
            threadgroup_memory: self.group_bytes as u64,
            seconds_in_software: elapsed.as_secs_f64(),
            counters: self.counters.lock().clone(),
        }
    }
}
