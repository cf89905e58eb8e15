//! Barriers and simd operations that not all threads reach.

use super::access::GroupCheck;
use super::report::{Report, ReportKind};
use crate::exec::abi::{ALL_LANES, GroupInfo, SIMD_FENCE};
use crate::exec::collective::bits;
use crate::exec::group::SimdState;
use std::ffi::CStr;

impl GroupCheck {
    /// A collective was computed for `active` lanes.
    pub fn collective(
        &mut self,
        g: &GroupInfo,
        s: &SimdState,
        simd: u32,
        (active, undefined): (u64, u64),
        first: usize,
    ) {
        let kind = s.kind[first];
        // What exchanges the elements of matrices is counted as a product.
        self.counters.simd_operations += u64::from(s.compute[first].is_some() && kind != ALL_LANES);
        self.counters.simd_barriers += u64::from(kind == SIMD_FENCE);
        let all = active | s.in_collective | s.at_barrier | s.ready | s.done | s.unstarted;
        if active != all {
            self.counters.divergent_simd_operations += 1;
        }
        let message = if undefined != 0 {
            let lane = undefined.trailing_zeros();
            format!(
                "lane {lane} takes a value from a lane that does not take part (active lanes {active:#x})"
            )
        } else if (kind == ALL_LANES || kind == SIMD_FENCE) && active != all {
            format!(
                "only lanes {active:#x} of {all:#x} reach an operation that needs all lanes of the simdgroup"
            )
        } else {
            return;
        };
        let lane = if undefined != 0 { undefined.trailing_zeros() } else { active.trailing_zeros() };
        self.at_site(
            ReportKind::DivergentSimd,
            message,
            g,
            simd * g.simd_width + lane,
            (s.file[first], s.site[first]),
        );
    }

    /// The threads that still live have all arrived at a barrier.
    pub fn barrier(&mut self, g: &GroupInfo, simds: &[SimdState]) {
        self.counters.barriers += 1;
        let waiting = simds.iter().enumerate().find_map(|(i, s)| bits(s.at_barrier).next().map(|b| (i, b)));
        let Some((i, b)) = waiting else { return };
        let place = (simds[i].file[b], simds[i].site[b]);
        let arrived: u32 = simds.iter().map(|s| s.at_barrier.count_ones()).sum();
        let elsewhere = simds.iter().enumerate().find_map(|(k, s)| {
            bits(s.at_barrier).find(|&l| (s.file[l], s.site[l]) != place).map(|l| (k, s.site[l] >> 10))
        });
        let message = if arrived < g.thread_count {
            format!("{arrived} of {} threads reach the barrier; the others have ended", g.thread_count)
        } else if let Some((_, line)) = elsewhere {
            format!("some threads wait at this barrier while others wait at the one in line {line}")
        } else {
            return;
        };
        self.at_site(ReportKind::DivergentBarrier, message, g, i as u32 * g.simd_width + b as u32, place);
    }

    fn at_site(
        &self,
        kind: ReportKind,
        message: String,
        g: &GroupInfo,
        thread: u32,
        (file, site): (*const std::ffi::c_char, u32),
    ) {
        let [w, h, _] = g.threads_per_group;
        let file = if file.is_null() {
            String::new()
        } else {
            // SAFETY: sites carry string literals of the kernel's library.
            unsafe { CStr::from_ptr(file) }.to_string_lossy().into_owned()
        };
        let r = Report {
            kind,
            kernel: String::new(),
            message,
            file,
            line: site >> 10,
            column: site & 1023,
            buffer: None,
            offset: None,
            thread: [thread % w, thread / w % h, thread / (w * h)],
            group: g.group_position,
        };
        self.dispatch.report(site as usize, r);
    }
}
