//! Functions that kernels call: collectives, barriers, and the hooks of instrumented code.

use super::abi::{ALL_LANES, Compute, Lane, SIMD_FENCE, TextureInfo};
use super::fault::FaultInfo;
use super::fiber::stack_range;
use super::group::SimdState;
use super::worker::Worker;
use crate::check::Verdict;
use std::ffi::{c_char, c_void};

/// Joins a simd collective; returns when it has been computed.
///
/// # Safety
/// Called by compiled kernels with their own lane, on a stack of the lane's worker.
pub unsafe extern "C" fn collective(
    lane: *mut Lane,
    slot: *mut c_void,
    compute: Compute,
    file: *const c_char,
    site: u32,
    kind: u32,
) {
    // SAFETY: the lane and its worker are alive while the kernel runs, and only this OS thread touches them.
    unsafe {
        let w = &mut *(*lane).worker;
        w.in_kernel.set(false);
        let (bit, s) = ((*lane).lane, (*lane).simd);
        let state = &mut w.simds[s as usize];
        let b = bit as usize;
        (state.slots[b], state.compute[b], state.site[b], state.file[b], state.kind[b]) =
            (slot, compute, site, file, kind);
        // One comparison per arrival, with a lane that waits already, spares a search when all are the same.
        let other = 63 - (state.in_collective | 1).leading_zeros() as usize;
        state.uniform = state.in_collective == 0
            || state.uniform
                && state.site[other] == site
                && state.file[other] == file
                && same_code(state.compute[other], compute);
        state.in_collective |= 1 << bit;
        (*lane).in_step = u32::from(kind == ALL_LANES || kind == SIMD_FENCE);
        w.wait();
        w.in_kernel.set(true);
    }
}

/// Waits for the whole threadgroup.
///
/// # Safety
/// As for [`collective`].
pub unsafe extern "C" fn barrier(lane: *mut Lane, flags: u32, file: *const c_char, site: u32) {
    // SAFETY: the lane and its worker are alive while the kernel runs, and only this OS thread touches them.
    unsafe {
        let w = &mut *(*lane).worker;
        w.in_kernel.set(false);
        let (bit, s) = ((*lane).lane, (*lane).simd);
        let state = &mut w.simds[s as usize];
        let b = bit as usize;
        (state.site[b], state.file[b], state.kind[b]) = (site, file, flags);
        state.at_barrier |= 1 << bit;
        (*lane).in_step = 0;
        w.wait();
        w.in_kernel.set(true);
    }
}

/// A load or store of an instrumented kernel.
///
/// # Safety
/// As for [`collective`].
pub unsafe extern "C" fn access(
    lane: *mut Lane,
    address: *const u8,
    size: u64,
    kind: u32,
    pc: *const c_void,
) {
    let (address, pc, size) = (address as usize, pc as usize, size as usize);
    // Variables of the thread itself.
    if stack_range((&raw const size) as usize).contains(&address) {
        return;
    }
    // SAFETY: the lane and its worker are alive while the kernel runs, and only this OS thread touches them.
    unsafe {
        let w = &mut *(*lane).worker;
        // A collective computes in instrumented code too, but only on the slots of its lanes.
        if !w.in_kernel.replace(false) {
            return;
        }
        let epochs = (w.epoch, w.simds[(*lane).simd as usize].epoch);
        // The launch code reads the lane, its group and the table of calls.
        let own = address.wrapping_sub(w.lanes.as_ptr() as usize) < size_of_val(w.lanes.as_slice())
            || address.wrapping_sub((&raw const *w) as usize) < size_of::<Worker>()
            || address.wrapping_sub((&raw const super::abi::RUNTIME) as usize)
                < size_of::<super::abi::Runtime>();
        if let Some(check) = &mut w.check {
            let mut verdict = check.access(&*lane, epochs, address, size, kind, pc);
            if verdict == Verdict::Unknown {
                let elsewhere = own || w.fibers.iter().any(|f| f.holds(address));
                verdict = if elsewhere { Verdict::Fine } else { check.wild(&*lane, address, size, kind, pc) };
            }
            if verdict == Verdict::Stop {
                w.fault = Some(FaultInfo::other("stopped by the checker".into()));
                let me = w.fiber;
                w.leave(me);
            }
        }
        w.in_kernel.set(true);
    }
}

/// A texel outside of its texture.
///
/// # Safety
/// As for [`collective`]; the texture is null or alive.
pub unsafe extern "C" fn texture(
    lane: *mut Lane,
    info: *const TextureInfo,
    x: u32,
    y: u32,
    z: u32,
    level: u32,
    kind: u32,
    pc: *const c_void,
) {
    // SAFETY: the lane and its worker are alive while the kernel runs, and only this OS thread touches them;
    // a texture outlives its dispatch.
    unsafe {
        let w = &mut *(*lane).worker;
        w.in_kernel.set(false);
        if let Some(check) = &mut w.check
            && check.texel(&*lane, info.as_ref(), [x, y, z, level], kind, pc as usize) == Verdict::Stop
        {
            w.fault = Some(FaultInfo::other("stopped by the checker".into()));
            let me = w.fiber;
            w.leave(me);
        }
        w.in_kernel.set(true);
    }
}

/// A counted event of an instrumented kernel.
///
/// # Safety
/// As for [`collective`].
pub unsafe extern "C" fn count(lane: *mut Lane, what: u32, amount: u64) {
    // SAFETY: the lane and its worker are alive while the kernel runs, and only this OS thread touches them.
    unsafe {
        let w = &mut *(*lane).worker;
        if let Some(check) = &mut w.check {
            check.count(what, amount);
        }
    }
}

impl Worker {
    /// Computes a collective for the lanes that wait at the lowest site, and lets them go on.
    pub fn release_collective(&mut self, s: u32) {
        let state = &mut self.simds[s as usize];
        let waiting = state.in_collective;
        let (first, active) =
            if state.uniform { (waiting.trailing_zeros() as usize, waiting) } else { lowest_site(state) };
        let compute = state.compute[first];
        let undefined = match compute {
            // SAFETY: the slots of active lanes point to their own suspended frames, of the type that this function expects.
            Some(f) => unsafe { f(state.slots.as_mut_ptr(), active) },
            None => 0,
        };
        // Hardware runs the lanes of a simdgroup in step wherever all of them meet, and kernels rely on it.
        let others = state.in_collective & !active | state.at_barrier | state.ready | state.unstarted;
        if others == 0 {
            state.epoch += 1;
        }
        state.in_collective &= !active;
        state.uniform = false;
        state.ready |= active;
        if let Some(check) = &mut self.check {
            check.collective(&self.group, &self.simds[s as usize], s, (active, undefined), first);
        }
    }

    /// Lets every lane that waits at the barrier go on.
    pub fn release_barrier(&mut self) {
        if let Some(check) = &mut self.check {
            check.barrier(&self.group, &self.simds);
        }
        for state in &mut self.simds {
            state.ready = state.at_barrier;
            state.at_barrier = 0;
        }
        self.epoch += 1;
        self.simd = 0;
    }
}

fn same_code(a: Compute, b: Compute) -> bool {
    a.map_or(0, |f| f as usize) == b.map_or(0, |f| f as usize)
}

/// Of lanes that wait in different collectives: those at the lowest place in the source, and the first of them.
fn lowest_site(state: &SimdState) -> (usize, u64) {
    let waiting = state.in_collective;
    let lowest = bits(waiting).map(|b| state.site[b]).min().unwrap_or(0);
    let first = bits(waiting).find(|&b| state.site[b] == lowest).unwrap_or(0);
    let same = |b: usize| {
        state.site[b] == lowest
            && state.file[b] == state.file[first]
            && same_code(state.compute[b], state.compute[first])
    };
    (first, bits(waiting).filter(|&b| same(b)).fold(0, |m, b| m | 1 << b))
}

/// The set bits of a mask, lowest first.
pub fn bits(mut m: u64) -> impl Iterator<Item = usize> + Clone {
    std::iter::from_fn(move || {
        (m != 0).then(|| {
            let b = m.trailing_zeros() as usize;
            m &= m - 1;
            b
        })
    })
}
