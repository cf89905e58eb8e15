//! The checks of one worker: bounds, races, initialisation, alignment, divergence.

use super::dispatch::{Checked, DispatchCheck};
use super::report::{Report, ReportKind};
use super::shadow::{Cell, Cells, Stamp};
use crate::exec::abi::{ATOMIC, GroupInfo, Lane, UNALIGNED, WRITES};
use crate::exec::worker::GROUP_MEMORY;
use crate::profile::{Counters, Transactions};
use std::sync::Arc;

/// State of the group that a worker runs.
pub struct GroupCheck {
    pub(super) dispatch: Arc<DispatchCheck>,
    number: u32,
    memory: usize,
    cells: Option<Cells>,
    last: usize,
    pub(super) counters: Counters,
    transactions: Transactions,
    pending: Vec<Pending>,
}

/// Two writes to one place. They conflict only if the second changes the value, which shows at the next event: many
/// kernels let all threads store the same result.
struct Pending {
    address: usize,
    before: Vec<u8>,
    pc: usize,
    report: Report,
}

/// An access, as the hooks see it.
#[derive(Clone, Copy)]
struct Access<'a> {
    lane: &'a Lane,
    address: usize,
    size: usize,
    kind: u32,
    pc: usize,
    stamp: Stamp,
}

/// What the hook should do after an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Go on.
    Fine,
    /// The address is in no memory that the checker knows.
    Unknown,
    /// End the dispatch.
    Stop,
}

impl GroupCheck {
    /// For a worker whose threadgroup memory is at `memory`.
    pub fn new(dispatch: Arc<DispatchCheck>, memory: usize) -> GroupCheck {
        GroupCheck {
            dispatch,
            number: 0,
            memory,
            cells: Cells::new(GROUP_MEMORY),
            last: 0,
            counters: Counters::default(),
            transactions: Transactions::default(),
            pending: Vec::new(),
        }
    }

    /// A group begins; `index` is its number in the grid.
    pub fn begin_group(&mut self, index: u32) {
        self.number = self.dispatch.groups.start + index;
        self.counters.threadgroups += 1;
    }

    /// A group ended.
    pub fn end_group(&mut self, g: &GroupInfo) {
        self.settle();
        self.counters.threads += u64::from(g.thread_count);
        if self.dispatch.profiling {
            self.transactions.drain_into(&mut self.counters);
        }
    }

    /// The worker leaves the dispatch.
    pub fn finish(&mut self) {
        self.settle();
        self.dispatch.counters.lock().add(&self.counters);
    }

    /// A load or store.
    pub fn access(
        &mut self,
        lane: &Lane,
        epochs: (u32, u32),
        address: usize,
        size: usize,
        kind: u32,
        pc: usize,
    ) -> Verdict {
        self.settle();
        let stamp = Stamp::new(self.number, lane.index, epochs, kind & ATOMIC != 0 && kind & WRITES != 0);
        let a = Access { lane, address, size, kind, pc, stamp };
        if address.wrapping_sub(self.memory) < GROUP_MEMORY {
            return self.group_access(&a);
        }
        let d = self.dispatch.clone();
        // One buffer may be bound twice, for reading and for writing: a write is held against the binding that allows it.
        let fits = |b: &Checked| contains(b, address) && (kind & WRITES == 0 || b.range.writable);
        let near = d.bound.get(self.last).filter(|b| fits(b));
        let at = if near.is_some() {
            Some(self.last)
        } else {
            let any = || d.bound.iter().position(|b| contains(b, address));
            d.bound.iter().position(fits).or_else(any)
        };
        match at {
            Some(i) => {
                self.last = i;
                self.device_access(&d.bound[i], &a)
            }
            None if d.image.contains(&address) => Verdict::Fine,
            None => Verdict::Unknown,
        }
    }

    /// An address in no known memory: the bound buffer that it most likely left.
    pub fn wild(&mut self, lane: &Lane, address: usize, size: usize, kind: u32, pc: usize) -> Verdict {
        let d = self.dispatch.clone();
        let distance = |b: &Checked| {
            if address < b.range.start {
                b.range.start - address
            } else {
                address.saturating_sub(b.range.start + b.range.length)
            }
        };
        let nearest = d.bound.iter().min_by_key(|b| distance(b));
        let verb = verb(kind);
        let (message, buffer, offset) = match nearest {
            Some(b) if distance(b) < 1 << 32 => {
                let offset = address as i64 - b.range.start as i64;
                (
                    format!(
                        "{verb} of {size} bytes at offset {offset} of {}, which has {} bytes",
                        b.range, b.range.length
                    ),
                    Some(b.range.index),
                    Some(offset),
                )
            }
            _ => (
                format!("{verb} of {size} bytes at address {address:#x}, which is in no bound buffer"),
                None,
                None,
            ),
        };
        if d.report(pc, self.finding(ReportKind::OutOfBounds, message, lane, buffer, offset)) {
            return Verdict::Stop;
        }
        // Memory that is not a buffer's red zone may belong to the host: the access must not happen.
        match nearest {
            Some(b) if b.allocation.is_some() && distance(b) < 60 << 10 => Verdict::Fine,
            _ if d.checking => Verdict::Stop,
            _ => Verdict::Fine,
        }
    }

    fn group_access(&mut self, a: &Access<'_>) -> Verdict {
        let offset = a.address - self.memory;
        let d = self.dispatch.clone();
        if a.kind & WRITES != 0 {
            self.counters.threadgroup_bytes_written += a.size as u64;
        } else {
            self.counters.threadgroup_bytes_read += a.size as u64;
        }
        if a.kind & ATOMIC != 0 {
            self.counters.atomics += 1;
        }
        if !d.checking {
            return Verdict::Fine;
        }
        if offset + a.size > d.group_bytes {
            let message = format!(
                "{} of {} bytes at offset {offset} of threadgroup memory, which has {} bytes",
                verb(a.kind),
                a.size,
                d.group_bytes
            );
            return self.verdict(a, ReportKind::OutOfBounds, message, None, Some(offset as i64));
        }
        let mut found = None;
        let mut doubled = false;
        if let Some(cells) = &self.cells {
            let mut uninitialised = false;
            for cell in cells.range(offset, a.size) {
                uninitialised |=
                    a.kind & WRITES == 0 && offset >= d.zeroed_bytes && cell.write().group() != self.number;
                let rival = self.group_rival(cell, a);
                self.stamp(cell, a);
                if let Some(r) = rival {
                    doubled = r.2;
                    found = Some((
                        ReportKind::ThreadgroupRace,
                        format!(
                            "{} at offset {offset} of threadgroup memory conflicts with {} by thread {} without a barrier between",
                            verb(a.kind),
                            r.1,
                            r.0
                        ),
                    ));
                    break;
                }
            }
            if uninitialised && found.is_none() {
                found = Some((
                    ReportKind::UninitialisedRead,
                    format!(
                        "read of threadgroup memory at offset {offset} that no thread of the group has written"
                    ),
                ));
            }
        }
        let misaligned = self.misaligned(a, format_args!("threadgroup memory"), offset);
        match found {
            Some((kind, message)) if doubled => {
                self.postpone(a, self.finding(kind, message, a.lane, None, Some(offset as i64)))
            }
            Some((kind, message)) => self.verdict(a, kind, message, None, Some(offset as i64)),
            None => misaligned,
        }
    }

    /// A conflicting access of the same group that no barrier orders; true when both are plain writes.
    fn group_rival(&self, cell: &Cell, a: &Access<'_>) -> Option<(u32, &'static str, bool)> {
        let width = self.dispatch.simd_width;
        let (w, r) = (cell.write(), cell.read());
        let atomic = a.kind & ATOMIC != 0;
        if w.group() == self.number && !w.ordered_in_group(a.stamp, width) && !(atomic && w.flag()) {
            return Some((w.thread(), "a write", a.kind & WRITES != 0 && !atomic && !w.flag()));
        }
        let races_read = a.kind & WRITES != 0
            && !atomic
            && r.group() == self.number
            && !r.ordered_in_group(a.stamp, width);
        races_read.then_some((r.thread(), "a read", false))
    }

    fn stamp(&self, cell: &Cell, a: &Access<'_>) {
        if a.kind & WRITES != 0 {
            cell.set_write(a.stamp);
        } else if a.kind & ATOMIC == 0 {
            let before = cell.read();
            let same_round =
                before.group() == self.number && !before.ordered_in_group(a.stamp, self.dispatch.simd_width);
            // Two readers in one round: keep the first and remember that there are more.
            cell.set_read(if same_round { before.flagged() } else { a.stamp });
        }
    }

    fn device_access(&mut self, b: &Checked, a: &Access<'_>) -> Verdict {
        b.touch();
        let offset = a.address - b.range.start;
        // Every access passes here: no text is made and nothing is shared without need.
        let (checking, profiling) = (self.dispatch.checking, self.dispatch.profiling);
        let c = &mut self.counters;
        *(match (a.kind & WRITES != 0, b.range.constant) {
            (true, _) => &mut c.device_bytes_written,
            (false, true) => &mut c.constant_bytes_read,
            (false, false) => &mut c.device_bytes_read,
        }) += a.size as u64;
        c.atomics += u64::from(a.kind & ATOMIC != 0);
        if profiling && !b.range.constant {
            self.transactions.note((a.lane.simd, a.lane.lane), a.pc, a.address, a.size);
        }
        if !checking {
            return Verdict::Fine;
        }
        let place = (Some(b.range.index), Some(offset as i64));
        if offset + a.size > b.range.length {
            let message = format!(
                "{} of {} bytes at offset {offset} of {}, which has {} bytes",
                verb(a.kind),
                a.size,
                b.range,
                b.range.length
            );
            return self.verdict(a, ReportKind::OutOfBounds, message, place.0, place.1);
        }
        if a.kind & WRITES != 0 && !b.range.writable {
            let message = format!("write to {}, which the kernel declares read-only", b.range);
            return self.verdict(a, ReportKind::ReadOnlyWrite, message, place.0, place.1);
        }
        if let Some(cells) = b.allocation.as_ref().and_then(|al| al.cells.as_ref()) {
            for cell in cells.range(offset, a.size) {
                let rival = self.device_rival(cell, a, b.section);
                self.stamp_device(cell, a, b.section);
                if let Some((kind, text, doubled)) = rival {
                    let message =
                        format!("{} at offset {offset} of {} conflicts with {text}", verb(a.kind), b.range);
                    if doubled {
                        for rest in cells.range(offset, a.size) {
                            self.stamp_device(rest, a, b.section);
                        }
                        return self.postpone(a, self.finding(kind, message, a.lane, place.0, place.1));
                    }
                    return self.verdict(a, kind, message, place.0, place.1);
                }
            }
        }
        self.misaligned(a, format_args!("{}", b.range), offset)
    }

    /// A conflicting access since the last barrier: of another dispatch, another group, or another thread.
    fn device_rival(&self, cell: &Cell, a: &Access<'_>, section: u32) -> Option<(ReportKind, String, bool)> {
        let atomic = a.kind & ATOMIC != 0;
        let w = cell.write();
        let r = cell.read();
        let writes = a.kind & WRITES != 0;
        if !(atomic && w.flag()) && self.unordered(w, a, section) {
            let (kind, text) = self.rival_text(w, "a write");
            return Some((kind, text, writes && !atomic && !w.flag() && kind == ReportKind::DeviceRace));
        }
        (writes && !atomic && self.unordered(r, a, section))
            .then(|| self.rival_text(r, "a read"))
            .map(|(kind, text)| (kind, text, false))
    }

    fn unordered(&self, s: Stamp, a: &Access<'_>, section: u32) -> bool {
        if s.group() < section || s.group() == 0 {
            return false;
        }
        if s.group() == self.number {
            return !s.ordered_in_group(a.stamp, self.dispatch.simd_width);
        }
        true
    }

    fn rival_text(&self, s: Stamp, what: &str) -> (ReportKind, String) {
        if !self.dispatch.groups.contains(&s.group()) {
            return (
                ReportKind::DispatchHazard,
                format!("{what} by another dispatch, and no barrier orders the two"),
            );
        }
        let whose = if s.group() == self.number {
            String::new()
        } else {
            format!(" of threadgroup number {}", s.group() - self.dispatch.groups.start)
        };
        (ReportKind::DeviceRace, format!("{what} by thread {}{whose}", s.thread()))
    }

    fn stamp_device(&self, cell: &Cell, a: &Access<'_>, section: u32) {
        if a.kind & WRITES != 0 {
            cell.set_write(a.stamp);
        } else if a.kind & ATOMIC == 0 {
            let before = cell.read();
            // A reader of another group stays on record: any later write of this section conflicts with it.
            if !(before.group() >= section && before.group() != 0 && before.group() != self.number) {
                self.stamp(cell, a);
            } else if self.dispatch.groups.contains(&before.group()) && !before.flag() {
                cell.set_read(Stamp::new(self.number, a.lane.index, (0, 0), true));
            }
        }
    }

    fn misaligned(&mut self, a: &Access<'_>, whose: std::fmt::Arguments<'_>, offset: usize) -> Verdict {
        if a.kind & UNALIGNED != 0
            || !a.size.is_power_of_two()
            || a.size > 16
            || a.address.is_multiple_of(a.size)
            || !self.dispatch.checking
        {
            return Verdict::Fine;
        }
        let message = format!(
            "{} of {} bytes at offset {offset} of {whose}, which is not a multiple of {}",
            verb(a.kind),
            a.size,
            a.size
        );
        // The processor may refuse the access itself.
        self.verdict(a, ReportKind::Misaligned, message, None, Some(offset as i64));
        Verdict::Stop
    }

    fn verdict(
        &self,
        a: &Access<'_>,
        kind: ReportKind,
        message: String,
        buffer: Option<u32>,
        offset: Option<i64>,
    ) -> Verdict {
        let full = self.dispatch.report(a.pc, self.finding(kind, message, a.lane, buffer, offset));
        if full { Verdict::Stop } else { Verdict::Fine }
    }

    pub(super) fn finding(
        &self,
        kind: ReportKind,
        message: String,
        lane: &Lane,
        buffer: Option<u32>,
        offset: Option<i64>,
    ) -> Report {
        // SAFETY: the lane's group is the worker's own, alive while the kernel runs.
        let group = unsafe { (*lane.group).group_position };
        Report {
            kind,
            kernel: String::new(),
            message,
            file: String::new(),
            line: 0,
            column: 0,
            buffer,
            offset,
            thread: lane.position,
            group,
        }
    }

    /// The kernel ran into a trap, which guards arrays in thread memory.
    pub fn trapped(&mut self, lane: &Lane, pc: usize) {
        let message = "access behind the end of an array in thread memory, or before its start".to_string();
        // As if of a call, whose return address is one past it.
        self.dispatch.report(pc + 1, self.finding(ReportKind::OutOfBounds, message, lane, None, None));
    }

    /// Reports the doubled writes that changed a value.
    fn settle(&mut self) {
        for p in self.pending.drain(..) {
            // SAFETY: the checker found the range inside a live buffer or threadgroup memory.
            let now = unsafe { std::slice::from_raw_parts(p.address as *const u8, p.before.len()) };
            if now != p.before {
                self.dispatch.report(p.pc, p.report);
            }
        }
    }

    /// Keeps a doubled write until its value is known.
    fn postpone(&mut self, a: &Access<'_>, report: Report) -> Verdict {
        // SAFETY: the checker found the access inside a live buffer or threadgroup memory.
        let before = unsafe { std::slice::from_raw_parts(a.address as *const u8, a.size) }.to_vec();
        self.pending.push(Pending { address: a.address, before, pc: a.pc, report });
        Verdict::Fine
    }

    /// A counted event.
    pub fn count(&mut self, what: u32, amount: u64) {
        match what {
            1 => self.counters.matrix_memory += amount,
            2 => self.counters.matrix_products += amount,
            3 => self.counters.flops_f32 += amount,
            4 => self.counters.flops_f16 += amount,
            _ => {}
        }
    }
}

fn contains(b: &Checked, address: usize) -> bool {
    address.wrapping_sub(b.range.start) < b.range.length
}

pub(super) fn verb(kind: u32) -> &'static str {
    match (kind & ATOMIC != 0, kind & WRITES != 0) {
        (true, _) => "atomic access",
        (_, true) => "write",
        _ => "read",
    }
}
