//! The blocked product: packing, the loops around the micro-kernel, and the distribution over workers.

use super::plan::{Gemm, Grid, Rooms, SEGMENT, Shape};
use super::sink::{Sink, StridedSink};
use super::source::{PackSource, Strided};
use super::tile::{Ahead, LINE, STRETCH, TileArgs};
use super::vector;
use crate::isa::Real;
use crate::stop;
use crate::team::{SyncPtr, Worker, split_range};
use std::ops::Range;

/// The least blocks of rows per worker in a pass: the more, the better workers of unequal speed share,
const BLOCKS: usize = 4;
/// but with tiles enough to pay for bringing in B again.
const BLOCK_TILES: usize = 10;

/// Where tiles go: straight into the result, or through working memory to a sink.
#[derive(Clone, Copy)]
enum Output<'a, T> {
    Memory(StridedSink<'a, T>),
    Segments(&'a dyn Sink<T>),
}

/// How B comes to the micro-kernel.
#[derive(Clone, Copy)]
enum Right<'a, T> {
    /// Packed beforehand, then read by every row of tiles.
    Packed,
    /// As it is the first time, and packed on the way for the other times.
    Kept(Strided<'a, T>),
    /// Unpacked, because there are hardly any rows.
    Bare(Strided<'a, T>),
}

/// A product as one worker sees it.
struct Product<'a, T: Real> {
    gemm: &'a Gemm<T>,
    m: usize,
    n: usize,
    k: usize,
    a: &'a dyn PackSource<T>,
    b: &'a dyn PackSource<T>,
    /// A itself, where packing does not pay.
    bare_a: Option<Strided<'a, T>>,
    right: Right<'a, T>,
    output: Output<'a, T>,
    worker: &'a Worker<'a>,
    grid: Grid,
    memory: Memory<T>,
}

/// The parts of the working memory: B of the grid column, and this worker's own.
#[derive(Clone, Copy)]
struct Memory<T> {
    /// Two blocks of B in turn; the same one where a second is not needed.
    b: [*mut T; 2],
    a: *mut T,
    segment: *mut T,
    partial: *mut T,
}

/// One pass: some columns, some depth, and whether it is the first or the last over this depth.
#[derive(Clone)]
struct Pass {
    /// Which block of B.
    turn: usize,
    columns: Range<usize>,
    depth: Range<usize>,
    first: bool,
    last: bool,
}

impl<T: Real> Gemm<T> {
    /// This worker's part of the product.
    ///
    /// Returns without a barrier: before anybody reads the result or uses the memory again, there must be one.
    ///
    /// # Safety
    /// Every worker of the region must call it with the same arguments; `memory` must have
    /// [`Gemm::scratch_bytes`] bytes for that many workers, used by nobody else meanwhile.
    pub unsafe fn run(
        &self,
        worker: &Worker,
        a: &dyn PackSource<T>,
        b: &dyn PackSource<T>,
        c: &dyn Sink<T>,
        memory: SyncPtr<u8>,
    ) {
        let Shape { m, n, k } = self.shape;
        if m == 0 || n == 0 {
            return;
        }
        assert!(c.holds(m, n), "the result has no room for {m}×{n} elements");
        if k == 0 {
            return store_zeros(worker, m, n, c);
        }
        assert!(a.holds(m, k), "the left operand has fewer than {m}×{k} elements");
        assert!(b.holds(n, k), "the right operand has fewer than {k}×{n} elements");
        let (column, row) = (n == 1 && !self.batch_invariant, m == 1 && !self.batch_invariant);
        if let (true, Some(matrix)) = (column, a.strided()) {
            // SAFETY: the same promises.
            return unsafe { vector::gemv(self, worker, (matrix, m), b, c, memory) };
        }
        if let (true, Some(matrix)) = (row, b.strided()) {
            // SAFETY: the same promises.
            return unsafe { vector::gemv(self, worker, (matrix, n), a, c, memory) };
        }
        if let (true, Some(matrix)) = (column, a.dots()) {
            // SAFETY: the same promises.
            return unsafe { vector::gemv_by_dots(self, worker, (matrix, m), b, c, memory) };
        }
        if let (true, Some(matrix)) = (row, b.dots()) {
            // SAFETY: the same promises.
            return unsafe { vector::gemv_by_dots(self, worker, (matrix, n), a, c, memory) };
        }
        #[cfg(all(feature = "accelerate", target_vendor = "apple"))]
        if let (Some(a), Some(b), Some(c)) = (a.strided(), b.strided(), c.strided())
            && let Some(product) = super::accelerate::BlasProduct::of(self.shape, a, b, c)
        {
            // One call: Accelerate brings its own threads, and the matrix units are shared by a cluster anyway.
            return if worker.index() == 0 {
                T::blas(product)
            };
        }
        let (m, n, a, b, output) = match c.strided() {
            // A column-major result is the row-major result of the exchanged operands.
            Some(s) if s.row == 1 && s.column != 1 => {
                // SAFETY: the same memory, transposed.
                (n, m, b, a, Output::Memory(unsafe { StridedSink::new(s.start, s.column, s.row) }))
            }
            Some(s) => (m, n, a, b, Output::Memory(s)),
            None => (m, n, a, b, Output::Segments(c)),
        };
        // Packing A pays when it is read often; rows a page apart would also compete for the same cache sets.
        let crowded = |s: &Strided<T>| (s.lane.unsigned_abs() * size_of::<T>()).is_multiple_of(4096);
        let bare_a = a.strided().filter(|s| n <= self.tiling.cols * if crowded(s) { 4 } else { 16 });
        let right = match b.strided().filter(|s| s.lane == 1) {
            Some(s) if m <= 2 * self.tiling.rows => Right::Bare(s),
            Some(s) => Right::Kept(s),
            None => Right::Packed,
        };
        let grid = match right {
            Right::Bare(_) => Grid { rows: 1, columns: worker.count() },
            _ => self.grid(m, n, worker.count(), a.strided().is_none()),
        };
        let memory = self.divide(worker.index(), worker.count(), grid, (m, n), memory);
        let product = Product { gemm: self, m, n, k, a, b, bare_a, right, output, worker, grid, memory };
        // SAFETY: the same promises.
        unsafe { product.run() }
    }

    /// Divides the working memory, which has `scratch_bytes(workers)` bytes.
    fn divide(
        &self,
        index: usize,
        workers: usize,
        grid: Grid,
        (m, n): (usize, usize),
        memory: SyncPtr<u8>,
    ) -> Memory<T> {
        let Rooms { b, a, segment, partial } = self.rooms(m, n, grid);
        let blocks = self.blocks_of_b();
        let all_b = blocks * b * grid.columns;
        // Workers outside the grid have no work, nor a grid column.
        let column = (index / grid.rows).min(grid.columns - 1);
        let start = memory.get().cast::<T>();
        // All that is used lies within `scratch_bytes`, which rounds the same way or up. (Sums of exchanged operands might
        // not, but there are none: their results are in memory.)
        Memory {
            b: [0, 1].map(|turn| start.wrapping_add(b * (blocks * column + turn % blocks))),
            a: start.wrapping_add(all_b + a * index),
            segment: start.wrapping_add(all_b + a * workers + segment * index),
            partial: start.wrapping_add(all_b + (a + segment) * workers + partial * index),
        }
    }
}

fn store_zeros<T: Real>(worker: &Worker, m: usize, n: usize, c: &dyn Sink<T>) {
    let zeros = [T::ZERO; SEGMENT];
    for row in worker.split(m, 1) {
        for column in (0..n).step_by(SEGMENT) {
            c.store(row, column, &zeros[..SEGMENT.min(n - column)]);
        }
    }
}

impl<T: Real> Product<'_, T> {
    /// # Safety
    /// As [`Gemm::run`].
    unsafe fn run(&self) {
        let Grid { rows, columns } = self.grid;
        let (row, column) = (self.worker.index() % rows, self.worker.index() / rows);
        let (tile_rows, tile_cols) = (self.gemm.tiling.rows, self.gemm.tiling.cols);
        // Workers outside the grid have no work but take part in every barrier.
        let idle = column >= columns;
        let mine = if idle { 0..0 } else { split_range(self.m, tile_rows, row, rows) };
        let group = if idle { 0..0 } else { split_range(self.n, tile_cols, column, columns) };
        let widest = split_range(self.n, tile_cols, 0, columns).len();
        let mut turn = 0;
        for j in 0..widest.div_ceil(self.gemm.nc) {
            let start = group.end.min(group.start + j * self.gemm.nc);
            let columns = start..group.end.min(start + self.gemm.nc);
            for p in (0..self.k).step_by(self.gemm.kc) {
                let depth = p..self.k.min(p + self.gemm.kc);
                let (first, last) = (p == 0, depth.end == self.k);
                let pass = Pass { turn, columns: columns.clone(), first, last, depth };
                turn = (turn + 1) % 2;
                // SAFETY: this block of B was used two passes ago, and whoever passed the barrier since is done with it;
                // shares and rows are disjoint.
                unsafe { self.pass(&pass, row, &mine) };
            }
        }
    }

    /// One pass. A worker begins with its first block of rows and its own share of B, which is packed on the way or just
    /// before; when everybody has, that block goes through the others' shares, and further blocks through all of B.
    ///
    /// # Safety
    /// Nobody else may use the pass's block of B but the workers of the pass, nor these rows of C.
    unsafe fn pass(&self, pass: &Pass, row: usize, mine: &Range<usize>) {
        let rows = self.grid.rows;
        let blocks = self.blocks();
        let floating = rows > 1 && self.floating();
        let block = |index: usize| {
            if floating {
                return split_range(self.m, self.gemm.tiling.rows, index, blocks * rows);
            }
            let block = split_range(mine.len(), self.gemm.tiling.rows, index, blocks);
            mine.start + block.start..mine.start + block.end
        };
        let own = self.share(pass, row);
        let first = block(if floating { row } else { 0 });
        // SAFETY: shares of B and first blocks are disjoint; the barrier separates writing B from reading it elsewhere.
        unsafe {
            if first.is_empty() || matches!(self.right, Right::Packed) {
                self.pack_b(pass, own.clone());
            }
            self.pack_a(pass, first.clone());
            self.block(pass, first.clone(), mine, own.clone(), true);
            if rows > 1 {
                self.worker.barrier();
            }
            self.block(pass, first.clone(), mine, own.end..pass.columns.end, false);
            self.block(pass, first, mine, pass.columns.start..own.start, false);
        }
        let rest = |index: usize| {
            let rows = block(index);
            // SAFETY: B is packed; nobody else has these rows in this pass, and the memory is our own.
            unsafe {
                self.pack_a(pass, rows.clone());
                self.block(pass, rows, mine, pass.columns.clone(), false);
            }
        };
        if floating {
            self.worker.pieces((blocks - 1) * rows).for_each(|piece| rest(rows + piece));
        } else {
            (1..blocks).for_each(rest);
        }
    }

    /// Whether any worker may take any block of rows but the first ones, so that one that comes late or is slow takes
    /// fewer: all must share B, and the result must be in memory. Sums that are kept elsewhere between passes tie a
    /// worker to its rows.
    fn floating(&self) -> bool {
        self.grid.columns == 1 && matches!(self.output, Output::Memory(_))
    }

    /// How many blocks a worker's rows make, about: each fits the second cache.
    fn blocks(&self) -> usize {
        let rows = self.gemm.tiling.rows;
        let tiles = self.m.div_ceil(rows).div_ceil(self.grid.rows);
        let fit = tiles.div_ceil(self.gemm.mc / rows);
        fit.max(BLOCKS.min(tiles / BLOCK_TILES)).max(1)
    }

    /// The columns of B that a worker packs in a pass.
    fn share(&self, pass: &Pass, row: usize) -> Range<usize> {
        let share = split_range(pass.columns.len(), self.gemm.tiling.cols, row, self.grid.rows);
        pass.columns.start + share.start..pass.columns.start + share.end
    }

    /// Packs columns of B for a pass.
    ///
    /// # Safety
    /// No other worker packs these columns, or reads them before the next barrier.
    unsafe fn pack_b(&self, pass: &Pass, columns: Range<usize>) {
        let cols = self.gemm.tiling.cols;
        let out = self.b_panel(pass, (columns.start - pass.columns.start) / cols);
        // SAFETY: `divide` gave B room for all panels of a pass.
        unsafe { pack_panels(self.b, columns, pass.depth.clone(), cols, out) };
    }

    fn b_panel(&self, pass: &Pass, panel: usize) -> *mut T {
        self.memory.b[pass.turn].wrapping_add(panel * self.gemm.tiling.cols * pass.depth.len())
    }

    /// Packs rows of A for a pass, if it is to be packed.
    ///
    /// # Safety
    /// The memory of A is this worker's, and holds as many rows.
    unsafe fn pack_a(&self, pass: &Pass, rows: Range<usize>) {
        if self.bare_a.is_none() {
            // SAFETY: `divide` gave A room for `mc` rows.
            unsafe { pack_panels(self.a, rows, pass.depth.clone(), self.gemm.tiling.rows, self.memory.a) };
        }
    }

    /// A block of rows against some columns of the pass. `fresh` says that no rows have met these columns in this pass, so
    /// that a B which is packed on the way is not packed yet.
    ///
    /// # Safety
    /// The panels of B for these columns are packed; no other worker has these elements of the result.
    unsafe fn block(
        &self,
        pass: &Pass,
        block: Range<usize>,
        mine: &Range<usize>,
        columns: Range<usize>,
        fresh: bool,
    ) {
        let cols = self.gemm.tiling.cols;
        let group = (SEGMENT / cols).max(1) * cols;
        if block.is_empty() {
            return;
        }
        for start in columns.clone().step_by(group) {
            stop::check();
            let columns = start..columns.end.min(start + group);
            let (c, row_stride, column_stride) = match self.output {
                Output::Memory(s) => {
                    let offset = block.start as isize * s.row + start as isize * s.column;
                    (s.start.wrapping_offset(offset), s.row, s.column)
                }
                Output::Segments(_) if pass.first && pass.last => (self.memory.segment, group as isize, 1),
                Output::Segments(_) => {
                    let width = pass.columns.len();
                    let offset = (block.start - mine.start) * width + (start - pass.columns.start);
                    (self.memory.partial.wrapping_add(offset), width as isize, 1)
                }
            };
            for column in columns.clone().step_by(cols) {
                let c = c.wrapping_offset((column - start) as isize * column_stride);
                let panel = column..columns.end.min(column + cols);
                // SAFETY: C, wherever it is, has the block's rows and these columns.
                unsafe { self.strip(pass, &block, panel, (c, row_stride, column_stride), fresh) };
            }
            if let (Output::Segments(sink), true) = (self.output, pass.last) {
                for (r, row) in block.clone().enumerate() {
                    let from = c.wrapping_offset(r as isize * row_stride);
                    // SAFETY: the strips above have just written these numbers.
                    sink.store(row, start, unsafe { std::slice::from_raw_parts(from, columns.len()) });
                }
            }
        }
    }

    /// The panel of B after the current one, brought nearer piece by piece by the `tiles` tiles of the current one.
    fn next_panel(&self, pass: &Pass, panel: usize, tiles: usize) -> Ahead {
        let lines = (self.gemm.tiling.cols * pass.depth.len() * size_of::<T>()).div_ceil(LINE);
        let lines = lines.div_ceil(tiles * pass.depth.len().div_ceil(STRETCH));
        Ahead { start: self.b_panel(pass, panel + 1).cast_const().cast(), lines }
    }

    /// A block of rows against one panel of B.
    ///
    /// # Safety
    /// As for `block`.
    unsafe fn strip(
        &self,
        pass: &Pass,
        block: &Range<usize>,
        columns: Range<usize>,
        c: (*mut T, isize, isize),
        fresh: bool,
    ) {
        let tiling = &self.gemm.tiling;
        let panel = (columns.start - pass.columns.start) / tiling.cols;
        let packed = self.b_panel(pass, panel);
        let bare_b = match self.right {
            Right::Bare(s) => Some(s),
            Right::Kept(s) if fresh => Some(s),
            _ => None,
        };
        // The micro-kernel reads whole panels only, so it cannot read the ragged last one in place.
        let whole = columns.len() == tiling.cols;
        if bare_b.is_some() && !whole {
            // SAFETY: the workers of a pass take disjoint columns, and only this one reads these panels.
            unsafe { self.pack_b(pass, columns.clone()) };
        }
        let bare_b = bare_b.filter(|_| whole).map(|s| (s.at(columns.start, pass.depth.start), s.depth));
        let packed_b = (packed.cast_const(), tiling.cols as isize);
        let (tiles_in_place, in_place) = match self.right {
            Right::Kept(_) => (1, tiling.keeping),
            _ => (usize::MAX, tiling.strided),
        };
        let mut ahead = match self.right {
            Right::Bare(_) => Ahead::NOTHING,
            _ => self.next_panel(pass, panel, block.len().div_ceil(tiling.rows)),
        };
        for (i, row) in block.clone().step_by(tiling.rows).enumerate() {
            let (a, a_row, a_depth) = match self.bare_a {
                Some(s) => (s.at(row, pass.depth.start), s.lane, s.depth),
                None => {
                    let packed = self.memory.a.wrapping_add(i * tiling.rows * pass.depth.len());
                    (packed.cast_const(), 1, tiling.rows as isize)
                }
            };
            let (kernels, (b, b_depth)) = match bare_b {
                Some(b) if i < tiles_in_place => (in_place, b),
                _ if self.bare_a.is_some() => (tiling.strided, packed_b),
                _ => (tiling.packed, packed_b),
            };
            let args = TileArgs {
                k: pass.depth.len(),
                a,
                a_row,
                a_depth,
                b,
                b_depth,
                c: c.0.wrapping_offset((row - block.start) as isize * c.1),
                c_row: c.1,
                c_col: c.2,
                cols: columns.len(),
                accumulate: !pass.first,
                keep: packed,
                ahead,
            };
            // SAFETY: panels are packed and zero-padded, bare operands are readable, and C is this worker's own, as is
            // the panel to keep; the kernel was chosen for this processor.
            unsafe { kernels[tiling.rows.min(block.end - row) - 1](&args) };
            ahead.start = ahead.start.wrapping_add(ahead.lines * pass.depth.len().div_ceil(STRETCH) * LINE);
        }
    }
}

/// Packs the lanes into panels, one after the other.
///
/// # Safety
/// `out` must have room for the panels.
unsafe fn pack_panels<T: Real>(
    source: &dyn PackSource<T>,
    lanes: Range<usize>,
    depth: Range<usize>,
    width: usize,
    out: *mut T,
) {
    let count = lanes.len().div_ceil(width) * width * depth.len();
    if count > 0 {
        // SAFETY: the caller promises room; scratch memory is initialised.
        source.pack_panels(lanes, depth, width, unsafe { std::slice::from_raw_parts_mut(out, count) });
    }
}
