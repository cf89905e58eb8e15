//! Blocking of a product: from its shape to a configuration.

use super::tile::{Tiling, tiling};
use crate::isa::{Real, level};
use crate::scratch::ALIGN;
use crate::team::split_range;

/// The sizes of a product: C is `m × n`, the sum runs over `k`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Rows of A and C.
    pub m: usize,
    /// Columns of B and C.
    pub n: usize,
    /// Columns of A, rows of B.
    pub k: usize,
}

/// Bytes of one packed panel of B for a step of K: as much as the first cache. A little of it is fetched again from the
/// second for each tile, which costs less than summing into C more often.
const DEPTH_BYTES: usize = 32 << 10;
/// The least steps of K per pass, where there are as many. A tile of 512-bit registers takes so long over a step that its
/// panel may come from the second cache; C, summed into twice as often, would come from memory.
const LEAST_DEPTH: usize = 512;
/// Bytes of a packed block of A: most of the second cache.
const A_BLOCK_BYTES: usize = 384 << 10;
/// Bytes of a packed block of B: a share of the last cache.
const B_BLOCK_BYTES: usize = 4 << 20;
/// Columns that an epilogue gets at a time, about.
pub(super) const SEGMENT: usize = 256;

/// A product's configuration: blocking and kernels, chosen once for a shape.
pub struct Gemm<T: Real> {
    pub(super) shape: Shape,
    pub(super) tiling: Tiling<T>,
    /// Steps of K per pass.
    pub(super) kc: usize,
    /// The most columns per pass, a multiple of the tile's.
    pub(super) nc: usize,
    /// The most rows per packed block of A, a multiple of the tile's.
    pub(super) mc: usize,
    /// Whether a row has the same bits however many there are: one row then takes the way of many.
    pub(super) batch_invariant: bool,
}

/// How the workers divide C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grid {
    pub rows: usize,
    pub columns: usize,
}

/// Parts of the working memory, in elements.
pub(super) struct Rooms {
    /// A block of B of one grid column.
    pub b: usize,
    /// A worker's block of A,
    pub a: usize,
    /// the results of it for an epilogue,
    pub segment: usize,
    /// and its sums between passes.
    pub partial: usize,
}

impl<T: Real> Gemm<T> {
    /// Chooses the blocking for a shape.
    pub fn new(shape: Shape) -> Self {
        let tiling = tiling::<T>(level());
        let size = size_of::<T>();
        let kc_max = (DEPTH_BYTES / (tiling.cols * size)).max(LEAST_DEPTH);
        // Passes of equal depth: 300 as 150 + 150 rather than 256 + 44.
        let passes = shape.k.div_ceil(kc_max).max(1);
        let kc = shape.k.div_ceil(passes).max(1);
        let mc = (A_BLOCK_BYTES / (kc_max * size) / tiling.rows).max(1) * tiling.rows;
        let nc = (B_BLOCK_BYTES / (kc_max * size) / tiling.cols).max(1) * tiling.cols;
        Gemm { shape, kc, nc, mc, tiling, batch_invariant: false }
    }

    /// With rows that do not depend on how many there are.
    #[must_use]
    pub fn batch_invariant(self, on: bool) -> Self {
        Gemm { batch_invariant: on, ..self }
    }

    /// Whether a team would cost more than it helps.
    pub fn is_tiny(&self) -> bool {
        let Shape { m, n, k } = self.shape;
        m.saturating_mul(n).saturating_mul(k) < 32 * 32 * 32
    }

    /// Bytes of working memory that [`Gemm::run`] needs with up to `workers` workers.
    pub fn scratch_bytes(&self, workers: usize) -> usize {
        let Shape { m, n, k } = self.shape;
        // Enough for the grid of any worker count up to `workers`, and for the operands exchanged: see `rooms`.
        let (rows, cols) = (self.tiling.rows, self.tiling.cols);
        let long = m.max(n);
        let wide = |n: usize| (n + workers * cols).min(workers * self.nc);
        let b = (wide(long) * self.kc + workers * ALIGN) * self.blocks_of_b();
        let block = self.mc.min(long.next_multiple_of(rows));
        let a = self.round(block * self.kc) * workers;
        let partial = if k > self.kc { (m + workers * rows) * wide(n) + workers * ALIGN } else { 0 };
        let segment = self.round(block * (SEGMENT + cols)) * workers;
        let blocked = a + b + partial + segment;
        let vector = workers * (self.round(m.max(n)) + self.round(k));
        if m == 1 || n == 1 { blocked.max(vector) * size_of::<T>() } else { blocked * size_of::<T>() }
    }

    /// Blocks of B that are packed in turn: where there may be several passes, the next one is packed while others still
    /// read the last.
    pub(super) fn blocks_of_b(&self) -> usize {
        let Shape { m, n, k } = self.shape;
        if k > self.kc || m.max(n) > self.nc { 2 } else { 1 }
    }

    /// The parts of the working memory for a result of `m × n`.
    pub(super) fn rooms(&self, m: usize, n: usize, grid: Grid) -> Rooms {
        let share = |n: usize, grain, parts| split_range(n, grain, 0, parts).len().next_multiple_of(grain);
        let rows = share(m, self.tiling.rows, grid.rows);
        let columns = share(n, self.tiling.cols, grid.columns).min(self.nc);
        let block = rows.min(self.mc);
        Rooms {
            b: self.round(columns * self.kc),
            a: self.round(block * self.kc),
            segment: self.round(block * (SEGMENT + self.tiling.cols)),
            partial: if self.shape.k > self.kc { self.round(rows * columns) } else { 0 },
        }
    }

    /// Rounds a count of elements up to whole alignments.
    pub(super) fn round(&self, elements: usize) -> usize {
        elements.next_multiple_of(ALIGN / size_of::<T>())
    }

    /// The grid of `workers` (or fewer) that takes the least time. In quarters of the time of a tile, as measured: a panel
    /// of A takes one to pack (`computed_a`: about eight, if fused code makes it), a panel of B four; one that workers share
    /// takes three times as many more, because it comes from another core's cache, behind a barrier. So columns are
    /// divided rather than rows, mostly.
    pub(super) fn grid(&self, m: usize, n: usize, workers: usize, computed_a: bool) -> Grid {
        let (tiles_m, tiles_n) = (m.div_ceil(self.tiling.rows).max(1), n.div_ceil(self.tiling.cols).max(1));
        let cost = |g: &Grid| {
            let (rows, columns) = (tiles_m.div_ceil(g.rows), tiles_n.div_ceil(g.columns));
            4 * rows * columns
                + rows * if computed_a { 8 } else { 1 }
                + columns * if g.rows > 1 { 16 } else { 4 }
        };
        (1..=workers)
            .map(|columns| Grid { columns, rows: workers / columns })
            .min_by_key(|g| (cost(g), g.columns))
            .unwrap_or(Grid { rows: 1, columns: 1 })
    }
}
