//! Sources of GEMM operands.
//!
//! Both operands look the same to the packing: *lanes* (rows of A, columns of B) by *depth* (K). A panel is
//! some lanes wide and holds, for every step of depth, the numbers of its lanes side by side.

use crate::convert;
use crate::isa::{
    AHEAD, Isa, Kernel, Real, dispatch, line_side, prefetch, transpose_block, transpose_lines, transpose_side,
};
use half::{bf16, f16};
use std::marker::PhantomData;
use std::ops::Range;

/// Fills panels of an operand. It is called from all workers at once.
pub trait PackSource<T>: Sync {
    /// Writes `out[d * width + l]` = element (`lanes.start + l`, `depth.start + d`). At most `width` lanes; what
    /// is beyond them in `out` is left as it is.
    fn pack(&self, lanes: Range<usize>, depth: Range<usize>, width: usize, out: &mut [T]);

    /// Packs as many panels as the lanes make, one after the other in `out`, zeros in the lanes that the last one lacks.
    fn pack_panels(&self, lanes: Range<usize>, depth: Range<usize>, width: usize, out: &mut [T])
    where
        T: Copy + Default,
    {
        for first in lanes.clone().step_by(width) {
            let panel = first..lanes.end.min(first + width);
            let out = &mut out[(first - lanes.start) * depth.len()..][..width * depth.len()];
            if panel.len() < width {
                out.fill(T::default());
            }
            self.pack(panel, depth.clone(), width, out);
        }
    }

    /// Whether the operand has that many lanes of that depth. A product asserts it before it reads.
    fn holds(&self, lanes: usize, depth: usize) -> bool {
        self.strided().is_none_or(|operand| operand.holds(lanes, depth))
    }

    /// The operand as plain memory, if it is that: small and thin products then skip the packing.
    fn strided(&self) -> Option<Strided<'_, T>> {
        None
    }

    /// Computes dot products with the operand's lanes, if that is faster than packing.
    fn dots(&self) -> Option<&dyn Dots<T>> {
        None
    }
}

/// An operand that lies along depth in a type of its own.
pub trait Dots<T>: Sync {
    /// `Σ_d element(lane, d) · vector[d]`.
    fn dot(&self, lane: usize, vector: &[T]) -> T;
}

/// An operand in memory with any strides (in elements; negative and zero ones too).
pub struct Strided<'a, T> {
    pub(super) start: *const T,
    pub(super) lane: isize,
    pub(super) depth: isize,
    /// Lanes and their depth, as far as they are known.
    extent: (usize, usize),
    memory: PhantomData<&'a [T]>,
}

impl<T> Clone for Strided<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Strided<'_, T> {}
// SAFETY: it is a shared borrow of `[T]` in all but type.
unsafe impl<T: Sync> Sync for Strided<'_, T> {}
// SAFETY: a shared borrow of `[T]` may go to another thread where T may be shared with it.
unsafe impl<T: Sync> Send for Strided<'_, T> {}

impl<'a, T> Strided<'a, T> {
    /// The operand whose element (0, 0) is at `start`.
    ///
    /// # Safety
    /// Every element of the product's operand must be readable for `'a`, and nobody may write it meanwhile.
    pub const unsafe fn new(start: *const T, lane_stride: isize, depth_stride: isize) -> Self {
        let extent = (usize::MAX, usize::MAX);
        Strided { start, lane: lane_stride, depth: depth_stride, extent, memory: PhantomData }
    }

    /// The address of an element.
    #[inline(always)]
    pub(super) fn at(&self, lane: usize, depth: usize) -> *const T {
        self.start.wrapping_offset(lane as isize * self.lane + depth as isize * self.depth)
    }

    /// A row-major matrix as the left operand (lanes are rows).
    pub fn left(matrix: &'a [T], columns: usize) -> Self {
        let extent = (matrix.len().checked_div(columns).unwrap_or(0), columns);
        Strided { start: matrix.as_ptr(), lane: columns as isize, depth: 1, extent, memory: PhantomData }
    }

    /// A row-major matrix as the right operand (lanes are columns).
    pub fn right(matrix: &'a [T], columns: usize) -> Self {
        let extent = (columns, matrix.len().checked_div(columns).unwrap_or(0));
        Strided { start: matrix.as_ptr(), lane: 1, depth: columns as isize, extent, memory: PhantomData }
    }

    /// Where the first lane starts and how far steps of depth are apart, if lanes are adjacent.
    pub(crate) fn side_by_side(&self) -> Option<(*const T, isize)> {
        (self.lane == 1).then_some((self.start, self.depth))
    }

    /// Whether every element of that many lanes of that depth is in bounds.
    pub(super) fn holds(&self, lanes: usize, depth: usize) -> bool {
        lanes <= self.extent.0 && depth <= self.extent.1
    }

    fn check(&self, lanes: &Range<usize>, depth: &Range<usize>) {
        assert!(
            self.holds(lanes.end, depth.end),
            "lanes {lanes:?} of depth {depth:?} are not in the operand"
        );
    }
}

/// Types that an operand may be stored in, with T as the type of the product.
pub trait LoadAs<T>: Copy + Sync {
    /// Whether this is T itself.
    const PLAIN: bool;
    /// Widens one number.
    fn load_as(self) -> T;
    /// Widens numbers side by side; `to` is as long as `from`.
    fn load_run<I: Isa>(from: &[Self], to: &mut [T]);
}
/// A copy that may become a few registers: `copy_from_slice` is a call in some builds.
#[inline(always)]
fn copy_run<T: Copy>(from: &[T], to: &mut [T]) {
    assert_eq!(from.len(), to.len());
    // SAFETY: both have as many elements, and one is borrowed exclusively.
    unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to.as_mut_ptr(), from.len()) };
}

macro_rules! load_as {
    ($($from:ty => $to:ty: $plain:literal $convert:expr, $run:expr;)*) => {$(
        impl LoadAs<$to> for $from {
            const PLAIN: bool = $plain;
            #[inline(always)]
            fn load_as(self) -> $to {
                $convert(self)
            }
            #[inline(always)]
            fn load_run<I: Isa>(from: &[Self], to: &mut [$to]) {
                $run(from, to)
            }
        }
    )*};
}
load_as! {
    f32 => f32: true |v| v, copy_run;
    f64 => f64: true |v| v, copy_run;
    f16 => f32: false convert::f16_to_f32_element, convert::widen_f16::<I>;
    bf16 => f32: false convert::bf16_to_f32_element, convert::widen_bf16;
}

/// The side of the largest block that is transposed in registers.
const WIDEST_SIDE: usize = 8;

/// Packs a strided operand, converting on the way. Monomorphic in the width, so that the inner loops have
/// constant lengths.
pub(crate) struct PackStrided<'a, S, T> {
    pub source: Strided<'a, S>,
    pub lanes: Range<usize>,
    pub depth: Range<usize>,
    pub width: usize,
    pub out: &'a mut [T],
}

impl<S: LoadAs<T>, T: Real> PackStrided<'_, S, T> {
    #[inline(always)]
    fn element(&self, lane: usize, depth: usize) -> T {
        // SAFETY: `Strided::new` promises that every element of the operand is readable.
        unsafe { (*self.source.at(lane, depth)).load_as() }
    }

    /// Lanes that are apart in memory: element by element, or in blocks if depth is adjacent.
    #[inline(always)]
    fn transpose<I: Isa, const W: usize>(&mut self) {
        let (lane, first, n) = (self.lanes.start, self.depth.start, self.depth.len());
        let whole = match (self.source.depth, S::PLAIN) {
            (1, true) => self.transpose_blocks::<I, W>(),
            (1, false) => self.widen_blocks::<I, W>(),
            _ => 0,
        };
        for d in whole..n {
            // Assigned one by one: `array::from_fn` may cost a call for each number.
            let mut values = [T::ZERO; W];
            for l in 0..W {
                values[l] = self.element(lane + l, first + d);
            }
            copy_run(&values, &mut self.out[d * W..(d + 1) * W]);
        }
    }

    /// Packs what whole blocks cover; returns how much depth that was.
    #[inline(always)]
    fn transpose_blocks<I: Isa, const W: usize>(&mut self) -> usize {
        let side = transpose_side::<I>(size_of::<T>());
        if side == 1 {
            return 0;
        }
        let (lane, first, n) = (self.lanes.start, self.depth.start, self.depth.len());
        // The next panel's rows: each is too short for the hardware to foresee.
        let fetch_next = |d: usize| {
            for l in 0..W {
                prefetch(self.source.at(lane + W + l, first + d));
            }
        };
        let room = self.out.len();
        let mut d = 0;
        let line = line_side::<I>(size_of::<T>());
        while line > 0 && W.is_multiple_of(line) && d + line <= n {
            fetch_next(d);
            for l in (0..W).step_by(line) {
                let to = self.out[d * W + l..(d + line) * W].as_mut_ptr();
                let from = self.source.at(lane + l, first + d).cast::<T>();
                // SAFETY: `PLAIN` says that S is T. W lanes and `line` steps of depth are readable, and `out` has as many.
                unsafe { transpose_lines::<I, T, false>(from, self.source.lane, to, W as isize) };
            }
            d += line;
        }
        // A panel narrower than a block is written with rows that overlap, each mending the end of the last. One that is no
        // multiple of blocks wide ends with a block that overlaps the one before, and writes the same again.
        while d + side <= n && (d + side - 1) * W + side <= room {
            if (d * size_of::<T>()).is_multiple_of(64) {
                fetch_next(d);
            }
            for l in (0..W).step_by(side) {
                let l = l.min(W.saturating_sub(side));
                let to = self.out[d * W + l..].as_mut_ptr();
                let from = self.source.at(lane + l, first + d).cast::<T>();
                // SAFETY: `PLAIN` says that S is T. W lanes and `side` steps of depth are readable, and the loop
                // condition says that the last row of the block ends inside `out`.
                unsafe {
                    transpose_block::<I, T>(from, self.source.lane, W, to, W as isize);
                }
            }
            d += side;
        }
        d
    }

    /// As `transpose_blocks`, from another type: a block is widened row by row, then transposed.
    #[inline(always)]
    fn widen_blocks<I: Isa, const W: usize>(&mut self) -> usize {
        let side = transpose_side::<I>(size_of::<T>());
        if side == 1 || side > WIDEST_SIDE {
            return 0;
        }
        let (lane, first, n, room) = (self.lanes.start, self.depth.start, self.depth.len(), self.out.len());
        let mut wide = [[T::ZERO; WIDEST_SIDE]; W];
        let mut d = 0;
        // Blocks overlap as they do there.
        while d + side <= n && (d + side - 1) * W + W.max(side) <= room {
            for (l, row) in wide.iter_mut().enumerate() {
                // SAFETY: `Strided::new` promises readable elements, which are adjacent along depth here.
                let from = unsafe { std::slice::from_raw_parts(self.source.at(lane + l, first + d), side) };
                S::load_run::<I>(from, &mut row[..side]);
            }
            for l in (0..W).step_by(side) {
                let l = l.min(W.saturating_sub(side));
                let to = self.out[d * W + l..].as_mut_ptr();
                // SAFETY: `side` rows of the widened block, or all W, and as many of `out`, in which the last ends by the
                // loop's condition.
                unsafe {
                    transpose_block::<I, T>(wide[l].as_ptr(), WIDEST_SIDE as isize, W, to, W as isize);
                }
            }
            d += side;
        }
        d
    }

    #[inline(always)]
    fn copy<I: Isa, const W: usize>(&mut self) {
        let (lane, first, n) = (self.lanes.start, self.depth.start, self.depth.len());
        for d in 0..n {
            // SAFETY: `Strided::new` promises readable elements; lanes are adjacent here.
            let row = unsafe { std::slice::from_raw_parts(self.source.at(lane, first + d), W) };
            S::load_run::<I>(row, &mut self.out[d * W..(d + 1) * W]);
        }
    }

    /// A panel of any width, a run of depth at a time.
    #[inline(always)]
    fn by_runs<I: Isa>(&mut self) {
        let mut run = [T::ZERO; 64];
        for (l, lane) in self.lanes.clone().enumerate() {
            for start in self.depth.clone().step_by(run.len()) {
                let run = &mut run[..(self.depth.end - start).min(64)];
                // SAFETY: `Strided::new` promises readable elements, which are adjacent along depth here.
                let from = unsafe { std::slice::from_raw_parts(self.source.at(lane, start), run.len()) };
                S::load_run::<I>(from, run);
                for (d, &value) in run.iter().enumerate() {
                    self.out[(start - self.depth.start + d) * self.width + l] = value;
                }
            }
        }
    }

    #[inline(always)]
    fn fixed<I: Isa, const W: usize>(&mut self) {
        if self.source.lane == 1 { self.copy::<I, W>() } else { self.transpose::<I, W>() }
    }
}

impl<S: LoadAs<T>, T: Real> Kernel for PackStrided<'_, S, T> {
    type Out = ();
    #[inline(always)]
    fn run<I: Isa>(mut self) {
        match (self.lanes.len() == self.width, self.width) {
            (true, 4) => self.fixed::<I, 4>(),
            (true, 6) => self.fixed::<I, 6>(),
            (true, 8) => self.fixed::<I, 8>(),
            (true, 12) => self.fixed::<I, 12>(),
            (true, 16) => self.fixed::<I, 16>(),
            (true, 32) => self.fixed::<I, 32>(),
            _ if self.source.depth == 1 => self.by_runs::<I>(),
            _ => {
                for d in 0..self.depth.len() {
                    for l in 0..self.lanes.len() {
                        self.out[d * self.width + l] =
                            self.element(self.lanes.start + l, self.depth.start + d);
                    }
                }
            }
        }
    }
}

/// Panels side by side that are packed together when their lanes are adjacent: a row of memory is then read in runs
/// that the hardware prefetches, instead of one cache line per row.
const TOGETHER: usize = 8;

/// Packs whole panels of an operand whose lanes are adjacent.
struct PackTogether<'a, S, T> {
    source: Strided<'a, S>,
    lane: usize,
    panels: usize,
    depth: Range<usize>,
    width: usize,
    out: &'a mut [T],
}

impl<S: LoadAs<T>, T: Real> PackTogether<'_, S, T> {
    #[inline(always)]
    fn fixed<I: Isa, const W: usize>(self) {
        let n = self.depth.len();
        for (d, depth) in self.depth.enumerate() {
            // SAFETY: `Strided::new` promises that every element is readable, and the lanes are adjacent.
            let row =
                unsafe { std::slice::from_raw_parts(self.source.at(self.lane, depth), self.panels * W) };
            for (p, from) in row.as_chunks::<W>().0.iter().enumerate() {
                S::load_run::<I>(from, &mut self.out[(p * n + d) * W..][..W]);
            }
        }
    }
}

impl<S: LoadAs<T>, T: Real> Kernel for PackTogether<'_, S, T> {
    type Out = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        match self.width {
            4 => self.fixed::<I, 4>(),
            6 => self.fixed::<I, 6>(),
            8 => self.fixed::<I, 8>(),
            12 => self.fixed::<I, 12>(),
            16 => self.fixed::<I, 16>(),
            _ => self.fixed::<I, 32>(),
        }
    }
}

/// `pack_panels` of a strided operand: whole panels together where lanes are adjacent, the others one by one.
fn pack_strided_panels<S: LoadAs<T>, T: Real>(
    source: Strided<S>,
    lanes: Range<usize>,
    depth: Range<usize>,
    width: usize,
    out: &mut [T],
) {
    let size = width * depth.len();
    let mut first = lanes.start;
    while first < lanes.end {
        let known = matches!(width, 4 | 6 | 8 | 12 | 16 | 32);
        let whole = if source.lane == 1 && known { ((lanes.end - first) / width).min(TOGETHER) } else { 0 };
        let start = (first - lanes.start) / width * size;
        if whole > 0 {
            let out = &mut out[start..start + whole * size];
            dispatch(PackTogether { source, lane: first, panels: whole, depth: depth.clone(), width, out });
            first += whole * width;
        } else {
            let panel = first..lanes.end.min(first + width);
            let out = &mut out[start..start + size];
            if panel.len() < width {
                out.fill(T::ZERO);
            }
            dispatch(PackStrided { source, lanes: panel, depth: depth.clone(), width, out });
            first += width;
        }
    }
}

impl<T: Real + LoadAs<T>> PackSource<T> for Strided<'_, T> {
    fn pack_panels(&self, lanes: Range<usize>, depth: Range<usize>, width: usize, out: &mut [T]) {
        self.check(&lanes, &depth);
        pack_strided_panels(*self, lanes, depth, width, out);
    }

    fn pack(&self, lanes: Range<usize>, depth: Range<usize>, width: usize, out: &mut [T]) {
        self.check(&lanes, &depth);
        dispatch(PackStrided { source: *self, lanes, depth, width, out });
    }

    fn strided(&self) -> Option<Strided<'_, T>> {
        Some(*self)
    }
}

/// A strided operand in a narrower type, widened while packing.
pub struct Widen<'a, S>(pub Strided<'a, S>);

/// The dot product of a lane and a vector, widened on the way.
struct Dot<'a, S> {
    lane: &'a [S],
    vector: &'a [f32],
}

/// Sums of a dot product that run side by side: four registers of eight hide the latency of adding.
const SUMS: usize = 32;

impl<S: LoadAs<f32>> Kernel for Dot<'_, S> {
    type Out = f32;
    #[inline(always)]
    fn run<I: Isa>(self) -> f32 {
        let (lane, lane_rest) = self.lane.as_chunks::<SUMS>();
        let (vector, vector_rest) = self.vector.as_chunks::<SUMS>();
        let mut sums = [0.0; SUMS];
        for (c, lane) in lane.iter().enumerate() {
            let (vector, mut wide) = (&vector[c], [0.0; SUMS]);
            prefetch(lane.as_ptr().wrapping_byte_add(AHEAD));
            S::load_run::<I>(lane, &mut wide);
            for i in 0..SUMS {
                sums[i] = I::mul_add(wide[i], vector[i], sums[i]);
            }
        }
        let mut sum = 0.0;
        for partial in sums {
            sum += partial;
        }
        for (i, l) in lane_rest.iter().enumerate() {
            sum = I::mul_add(l.load_as(), vector_rest[i], sum);
        }
        sum
    }
}

impl<S: LoadAs<f32>> Dots<f32> for Widen<'_, S> {
    fn dot(&self, lane: usize, vector: &[f32]) -> f32 {
        self.0.check(&(lane..lane + 1), &(0..vector.len()));
        // SAFETY: every element is readable, as was checked; `dots` gives this out when they are adjacent.
        let lane = unsafe { std::slice::from_raw_parts(self.0.at(lane, 0), vector.len()) };
        dispatch(Dot { lane, vector })
    }
}

impl<S: LoadAs<f32>> PackSource<f32> for Widen<'_, S> {
    fn holds(&self, lanes: usize, depth: usize) -> bool {
        self.0.holds(lanes, depth)
    }

    fn dots(&self) -> Option<&dyn Dots<f32>> {
        (self.0.depth == 1).then_some(self)
    }

    fn pack_panels(&self, lanes: Range<usize>, depth: Range<usize>, width: usize, out: &mut [f32]) {
        self.0.check(&lanes, &depth);
        pack_strided_panels(self.0, lanes, depth, width, out);
    }

    fn pack(&self, lanes: Range<usize>, depth: Range<usize>, width: usize, out: &mut [f32]) {
        self.0.check(&lanes, &depth);
        dispatch(PackStrided { source: self.0, lanes, depth, width, out });
    }
}

/// How much a closure source produces per call: a piece of stack that stays in the first cache.
const RUN: usize = 256;

/// An operand from a closure that makes runs along depth: `f(lane, depth, out)` fills `out` with the elements
/// (lane, depth.start..). For a computed left operand: a run is part of a row.
pub struct AlongDepth<F>(pub F);

impl<T: Real, F: Fn(usize, Range<usize>, &mut [T]) + Sync> PackSource<T> for AlongDepth<F> {
    fn pack(&self, lanes: Range<usize>, depth: Range<usize>, width: usize, out: &mut [T]) {
        let mut run = [T::ZERO; RUN];
        for (l, lane) in lanes.enumerate() {
            for start in depth.clone().step_by(RUN) {
                let piece = start..depth.end.min(start + RUN);
                let values = &mut run[..piece.len()];
                (self.0)(lane, piece, values);
                let base = (start - depth.start) * width + l;
                for (d, &v) in values.iter().enumerate() {
                    out[base + d * width] = v;
                }
            }
        }
    }
}

/// An operand from a closure that makes runs along lanes: `f(depth, lanes, out)` fills `out` with the elements
/// (lanes.start.., depth). For a computed right operand: a run is part of a row.
pub struct AlongLanes<F>(pub F);

impl<T: Real, F: Fn(usize, Range<usize>, &mut [T]) + Sync> PackSource<T> for AlongLanes<F> {
    fn pack(&self, lanes: Range<usize>, depth: Range<usize>, width: usize, out: &mut [T]) {
        for (d, depth) in depth.enumerate() {
            (self.0)(depth, lanes.clone(), &mut out[d * width..d * width + lanes.len()]);
        }
    }
}
