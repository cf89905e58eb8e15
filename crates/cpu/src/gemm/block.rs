//! The blocked product: packing, the loops around the micro-kernel, and the workers' shares.

use super::plan::{BLOCKS_OF_B, Gemm, Grid, SEGMENT, Shape};
use super::sink::{Sink, StridedSink};
use super::source::{PackSource, Strided};
use super::tile::TileArgs;
use super::vector;
use crate::isa::{Real, prefetch};
use crate::team::{SyncPtr, Worker, split_range};
use std::ops::Range;

/// Pieces of rows that a worker takes in a pass, about: the more, the better workers of unequal speed share,
const PIECES: usize = 4;
/// but with tiles enough to pay for bringing in B again.
const PIECE_TILES: usize = 10;

/// Where tiles go: straight into the result, or through working memory to a sink.
#[derive(Clone, Copy)]
enum Output<'a, T> {
    Memory(StridedSink<'a, T>),
    Segments(&'a dyn Sink<T>),
}

/// A product as one worker sees it.
struct Product<'a, T: Real> {
    gemm: &'a Gemm<T>,
    m: usize,
    n: usize,
    k: usize,
    a: &'a dyn PackSource<T>,
    b: &'a dyn PackSource<T>,
    /// The operands themselves, where packing does not pay.
    bare_a: Option<Strided<'a, T>>,
    bare_b: Option<Strided<'a, T>>,
    output: Output<'a, T>,
    worker: &'a Worker<'a>,
    grid: Grid,
    memory: Memory<T>,
}

/// The parts of the working memory: B of the grid column, and this worker's own.
#[derive(Clone, Copy)]
struct Memory<T> {
    /// Two blocks of B in turn: the next is packed while others still read the last.
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
        if k == 0 {
            return store_zeros(worker, m, n, c);
        }
        if let (Some(a), Some(b), true) = (a.strided(), b.strided(), m == 1 || n == 1) {
            // SAFETY: the same promises.
            return unsafe { vector::gemv(self, worker, a, b, c, memory) };
        }
        if let (true, Some(matrix)) = (n == 1, a.dots()) {
            // SAFETY: the same promises.
            return unsafe { vector::gemv_by_dots(self, worker, (matrix, m), b, c, memory) };
        }
        if let (true, Some(matrix)) = (m == 1, b.dots()) {
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
        let bare_b = b.strided().filter(|s| s.lane == 1 && m <= 2 * self.tiling.rows);
        let grid = match bare_b {
            Some(_) => Grid { rows: 1, columns: worker.count() },
            None => self.grid(m, n, worker.count()),
        };
        // SAFETY: `memory` has the size that `scratch_bytes` says, which is what `divide` counts on.
        let memory = unsafe { self.divide(worker.index(), worker.count(), grid, (m, n), memory) };
        let product = Product { gemm: self, m, n, k, a, b, bare_a, bare_b, output, worker, grid, memory };
        // SAFETY: the same promises.
        unsafe { product.run() }
    }

    /// Divides the working memory.
    ///
    /// # Safety
    /// `memory` must have `scratch_bytes(workers)` bytes.
    unsafe fn divide(
        &self,
        index: usize,
        workers: usize,
        grid: Grid,
        (m, n): (usize, usize),
        memory: SyncPtr<u8>,
    ) -> Memory<T> {
        let (rows, cols) = (self.tiling.rows, self.tiling.cols);
        let columns = self.nc.min(self.shape.m.max(self.shape.n).next_multiple_of(cols) + workers * cols);
        let b = self.round(columns * self.kc);
        let all_b = BLOCKS_OF_B * b * workers;
        let a = self.round(self.mc * self.kc);
        let segment = self.round(self.mc * (SEGMENT + cols));
        let share = |n: usize, grain, parts| split_range(n, grain, 0, parts).len().next_multiple_of(grain);
        let partial = self.round(share(m, rows, grid.rows) * share(n, cols, grid.columns).min(self.nc));
        let start = memory.get().cast::<T>();
        // SAFETY: the sums are those of `scratch_bytes`, which rounds the same way or up.
        unsafe {
            Memory {
                b: [0, 1].map(|turn| start.add(b * (BLOCKS_OF_B * (index / grid.rows) + turn))),
                a: start.add(all_b + a * index),
                segment: start.add(all_b + a * workers + segment * index),
                partial: start.add(all_b + (a + segment) * workers + partial * index),
            }
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
        let share = rows > 1 && self.bare_b.is_none();
        let mut turn = 0;
        for j in 0..widest.div_ceil(self.gemm.nc) {
            let start = group.end.min(group.start + j * self.gemm.nc);
            let columns = start..group.end.min(start + self.gemm.nc);
            for p in (0..self.k).step_by(self.gemm.kc) {
                let depth = p..self.k.min(p + self.gemm.kc);
                let (first, last) = (p == 0, depth.end == self.k);
                let pass = Pass { turn, columns: columns.clone(), first, last, depth };
                turn = (turn + 1) % BLOCKS_OF_B;
                // SAFETY: this block was used two passes ago, and whoever passed the barrier since is done with it;
                // shares are disjoint.
                unsafe { self.pack_b(&pass, row) };
                if share {
                    self.worker.barrier();
                }
                match self.row_blocks() {
                    Some(blocks) => {
                        for block in self.worker.pieces(blocks) {
                            let rows = split_range(self.m, tile_rows, block, blocks);
                            // SAFETY: B is packed; nobody else has these rows in this pass, and the memory is our own.
                            unsafe { self.rows(&pass, rows) };
                        }
                    }
                    // SAFETY: B is packed; rows and memory are this worker's own.
                    None => unsafe { self.rows(&pass, mine.clone()) },
                }
            }
        }
    }

    /// Into how many blocks the rows are cut when all workers share B and the result is in memory: then any worker may
    /// take any block, and one that comes late or is slow takes fewer. Sums that are kept elsewhere between passes tie
    /// a worker to its rows.
    fn row_blocks(&self) -> Option<usize> {
        let shared = self.grid.columns == 1 && self.grid.rows > 1 && self.bare_b.is_none();
        let in_memory = matches!(self.output, Output::Memory(_));
        let most = self.m.div_ceil(self.grid.rows * PIECE_TILES * self.gemm.tiling.rows);
        (shared && in_memory).then_some(most.clamp(1, PIECES) * self.grid.rows)
    }

    /// Packs this worker's share of the panels of B for a pass.
    unsafe fn pack_b(&self, pass: &Pass, row: usize) {
        let cols = self.gemm.tiling.cols;
        let panels = pass.columns.len().div_ceil(cols);
        let whole = pass.columns.len() / cols;
        let share = match self.bare_b {
            // Only the ragged last panel, which the micro-kernel cannot read in place. No two workers share a
            // grid column then, so nobody else writes this memory.
            Some(_) => whole..panels,
            None => split_range(panels, 1, row, self.grid.rows),
        };
        let lanes = pass.columns.start + share.start * cols
            ..pass.columns.end.min(pass.columns.start + share.end * cols);
        // SAFETY: `divide` gave B room for all panels of a pass.
        unsafe { pack_panels(self.b, lanes, pass.depth.clone(), cols, self.b_panel(pass, share.start)) };
    }

    fn b_panel(&self, pass: &Pass, panel: usize) -> *mut T {
        self.memory.b[pass.turn].wrapping_add(panel * self.gemm.tiling.cols * pass.depth.len())
    }

    /// All of this worker's rows for a pass, in blocks that fit the second cache.
    unsafe fn rows(&self, pass: &Pass, mine: Range<usize>) {
        let tile_rows = self.gemm.tiling.rows;
        let blocks = mine.len().div_ceil(self.gemm.mc).max(1);
        let height = mine.len().div_ceil(blocks).next_multiple_of(tile_rows).max(tile_rows);
        for start in mine.clone().step_by(height) {
            let block = start..mine.end.min(start + height);
            if self.bare_a.is_none() {
                // SAFETY: `divide` gave A room for `mc` rows.
                unsafe { pack_panels(self.a, block.clone(), pass.depth.clone(), tile_rows, self.memory.a) };
            }
            // SAFETY: A and B are packed.
            unsafe { self.block(pass, block, &mine) };
        }
    }

    /// A block of rows against all columns of the pass.
    unsafe fn block(&self, pass: &Pass, block: Range<usize>, mine: &Range<usize>) {
        let cols = self.gemm.tiling.cols;
        let group = (SEGMENT / cols).max(1) * cols;
        for start in pass.columns.clone().step_by(group) {
            let columns = start..pass.columns.end.min(start + group);
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
                let panel = (column - pass.columns.start) / cols;
                let c = c.wrapping_offset((column - start) as isize * column_stride);
                let width = cols.min(columns.end - column);
                // SAFETY: C, wherever it is, has the block's rows and these columns.
                unsafe { self.strip(pass, &block, panel, (c, row_stride, column_stride), width) };
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

    fn next_panel(&self, pass: &Pass, panel: usize, tiles: usize) -> NextPanel {
        let bytes = self.gemm.tiling.cols * pass.depth.len() * size_of::<T>();
        let piece = bytes.div_ceil(tiles).next_multiple_of(64);
        let bytes = if self.bare_b.is_some() { 0 } else { bytes };
        NextPanel { start: self.b_panel(pass, panel + 1).cast_const().cast(), bytes, piece }
    }

    /// A block of rows against one panel of B.
    unsafe fn strip(
        &self,
        pass: &Pass,
        block: &Range<usize>,
        panel: usize,
        c: (*mut T, isize, isize),
        cols: usize,
    ) {
        let tiling = &self.gemm.tiling;
        let kernels =
            if self.bare_a.is_some() || self.bare_b.is_some() { tiling.strided } else { tiling.packed };
        let (b, b_depth) = match self.bare_b {
            Some(s) if cols == tiling.cols => {
                let column = pass.columns.start + panel * tiling.cols;
                (s.at(column, pass.depth.start), s.depth)
            }
            _ => (self.b_panel(pass, panel).cast_const(), tiling.cols as isize),
        };
        let next = self.next_panel(pass, panel, block.len().div_ceil(tiling.rows));
        for (i, row) in block.clone().step_by(tiling.rows).enumerate() {
            next.fetch(i);
            let (a, a_row, a_depth) = match self.bare_a {
                Some(s) => (s.at(row, pass.depth.start), s.lane, s.depth),
                None => {
                    let packed = self.memory.a.wrapping_add(i * tiling.rows * pass.depth.len());
                    (packed.cast_const(), 1, tiling.rows as isize)
                }
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
                cols,
                accumulate: !pass.first,
            };
            // SAFETY: panels are packed and zero-padded, bare operands are readable, and C is this worker's own;
            // the kernel was chosen for this processor.
            unsafe { kernels[tiling.rows.min(block.end - row) - 1](&args) };
        }
    }
}

/// The panel of B after the current one, brought nearer piece by piece while the current one is in use.
struct NextPanel {
    start: *const u8,
    bytes: usize,
    piece: usize,
}

impl NextPanel {
    #[inline(always)]
    fn fetch(&self, i: usize) {
        for offset in (i * self.piece..self.bytes.min((i + 1) * self.piece)).step_by(64) {
            prefetch(self.start.wrapping_add(offset));
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
