//! From the shape of a product to its blocking: problem in, configuration out.

use super::tile::{Tiling, tiling};
use crate::isa::{Real, level};
use crate::scratch::ALIGN;

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
/// Bytes of a packed block of A: most of the second cache.
const A_BLOCK_BYTES: usize = 384 << 10;
/// Bytes of a packed block of B: a share of the last cache.
const B_BLOCK_BYTES: usize = 4 << 20;
/// Blocks of B that are packed in turn.
pub(super) const BLOCKS_OF_B: usize = 2;
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
}

/// How the workers divide C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grid {
    pub rows: usize,
    pub columns: usize,
}

impl<T: Real> Gemm<T> {
    /// Chooses the blocking for a shape.
    pub fn new(shape: Shape) -> Self {
        let tiling = tiling::<T>(level());
        let size = size_of::<T>();
        let kc_max = (DEPTH_BYTES / (tiling.cols * size)).max(64);
        // Passes of equal depth: 300 as 150 + 150 rather than 256 + 44.
        let passes = shape.k.div_ceil(kc_max).max(1);
        let kc = shape.k.div_ceil(passes).max(1);
        let mc = (A_BLOCK_BYTES / (kc_max * size) / tiling.rows).max(1) * tiling.rows;
        let nc = (B_BLOCK_BYTES / (kc_max * size) / tiling.cols).max(1) * tiling.cols;
        Gemm { shape, kc, nc, mc, tiling }
    }

    /// Whether a team would cost more than it helps.
    pub fn is_tiny(&self) -> bool {
        let Shape { m, n, k } = self.shape;
        m.saturating_mul(n).saturating_mul(k) < 32 * 32 * 32
    }

    /// Bytes of working memory that [`Gemm::run`] needs with up to `workers` workers.
    pub fn scratch_bytes(&self, workers: usize) -> usize {
        let Shape { m, n, k } = self.shape;
        // Enough for the grid of any worker count up to `workers`, and for the operands exchanged.
        let (rows, cols) = (self.tiling.rows, self.tiling.cols);
        let columns = self.nc.min(m.max(n).next_multiple_of(cols) + workers * cols);
        let b = self.round(columns * self.kc) * BLOCKS_OF_B * workers;
        let a = self.round(self.mc * self.kc) * workers;
        let wide = (n + workers * cols).min(workers * self.nc);
        let partial = if k > self.kc { (m + workers * rows) * wide + workers * ALIGN } else { 0 };
        let segment = self.round(self.mc * (SEGMENT + cols)) * workers;
        let blocked = a + b + partial + segment;
        let vector = workers * (self.round(m.max(n)) + self.round(k));
        if m == 1 || n == 1 { blocked.max(vector) * size_of::<T>() } else { blocked * size_of::<T>() }
    }

    /// Rounds a count of elements up to whole alignments.
    pub(super) fn round(&self, elements: usize) -> usize {
        elements.next_multiple_of(ALIGN / size_of::<T>())
    }

    /// The grid of `workers` (or fewer) whose largest share of C, in tiles, is smallest; rows rather than
    /// columns when equal, because workers in a grid column share their packed B.
    pub(super) fn grid(&self, m: usize, n: usize, workers: usize) -> Grid {
        let (tiles_m, tiles_n) = (m.div_ceil(self.tiling.rows).max(1), n.div_ceil(self.tiling.cols).max(1));
        let cost = |g: &Grid| tiles_m.div_ceil(g.rows) * tiles_n.div_ceil(g.columns);
        (1..=workers)
            .map(|columns| Grid { columns, rows: workers / columns })
            .min_by_key(|g| (cost(g), g.columns))
            .unwrap_or(Grid { rows: 1, columns: 1 })
    }
}
