//! Many activation rows: tiles of two vectors of weight rows × a few activation rows, in registers.
//!
//! Loop order: the weight rows of a tile are unpacked for a range of columns, which is then multiplied with all
//! activation rows. Without an instruction that sums four products, those of 4-bit codes are summed in 16 bits over
//! an entire group, so that 32 products cost only a multiplication and an addition.

use std::marker::PhantomData;
use std::ops::Range;

use super::format::Format;
use super::panel::{self, Panel};
use super::simd::{Lanes, Simd};
use super::{Acts, Output, Record, Weights};

/// Vectors of weight rows in a tile: an activation that is broadcast once meets both.
const VECTORS: usize = 2;

/// The product of a range of weight rows with all activations: `S` unpacks, `L` multiplies.
///
/// # Safety
/// As [`crate::quant::matmul_rows`].
#[inline(always)]
pub(super) unsafe fn rows<S: Simd, L: Lanes, F: Format>(
    weights: &Weights<'_>,
    acts: &Acts<'_>,
    rows: Range<usize>,
    out: Output<'_>,
) {
    let mut panels = [Panel::boxed(), Panel::boxed()];
    let used = Tile::<L, F>::ROWS / panel::ROWS;
    // The panels of a tile share the first-level cache.
    let stretch = if used == 1 { panel::COLS } else { 512 };
    for row in rows.clone().step_by(Tile::<L, F>::ROWS) {
        for start in (0..weights.cols).step_by(stretch) {
            let cols = start..(start + stretch).min(weights.cols);
            // SAFETY: `row` is in the range, columns are whole groups and start at a chunk; the output is the caller's.
            unsafe {
                for (i, panel) in panels.iter_mut().enumerate().take(used) {
                    let first = (row + i * panel::ROWS).min(rows.end - 1);
                    panel::unpack::<S, F>(weights, (first, rows.end), cols.clone(), panel);
                }
                let panels = [&*panels[0], &*panels[1]];
                let tile = Tile::<L, F> { panels, row, end: rows.end, cols, of: PhantomData };
                tile.all_acts(acts, out);
            }
        }
    }
}

/// How many 16-bit sums of two products can be added: 127 is the largest activation.
const fn depth<F: Format>() -> usize {
    if F::SIGNED { 1 } else { i16::MAX as usize / (2 * 127 * F::MAX_CODE) }
}

/// Unpacked weight rows, and which part of the product they are.
struct Tile<'a, L, F> {
    panels: [&'a Panel; 2],
    row: usize,
    end: usize,
    cols: Range<usize>,
    of: PhantomData<(L, F)>,
}

/// Where a group is, in the panels and in the activations.
#[derive(Clone, Copy)]
struct Group {
    in_panel: usize,
    in_acts: usize,
}

impl<L: Lanes, F: Format> Tile<'_, L, F> {
    /// Weight rows.
    const ROWS: usize = VECTORS * L::COUNT;

    /// Activation rows that fill the registers: a vector of either panel row takes a float and an integer at a time; where
    /// 16-bit sums last for a few products only, both they and 32-bit sums.
    const ACTS: usize = if !L::FUSED && matches!(depth::<F>(), 2 | 3) { 2 } else { L::ACTS };

    /// The tile with every activation row.
    ///
    /// # Safety
    /// The columns must exist in `acts`, and the tile's rows of every activation row must be writable in `out`.
    #[inline(always)]
    unsafe fn all_acts(&self, acts: &Acts<'_>, out: Output<'_>) {
        // SAFETY: the caller's promises.
        unsafe {
            match acts.layout().precise() {
                false => self.acts_as::<false>(acts, out),
                true => self.acts_as::<true>(acts, out),
            }
        }
    }

    /// # Safety
    /// As `all_acts`; `PRECISE` says whether activations have fine codes.
    #[inline(always)]
    unsafe fn acts_as<const PRECISE: bool>(&self, acts: &Acts<'_>, out: Output<'_>) {
        let n = acts.rows();
        for first in (0..n).step_by(Self::ACTS) {
            let last = n.min(first + Self::ACTS) - 1;
            // SAFETY: the caller's promises; activation rows are below `n`.
            unsafe {
                if first == last {
                    self.multiply::<PRECISE, 1>(acts, first..n, out);
                } else if Self::ACTS == 2 {
                    self.multiply::<PRECISE, 2>(acts, first..n, out);
                } else if Self::ACTS == 3 {
                    self.multiply::<PRECISE, 3>(acts, first..n, out);
                } else {
                    self.multiply::<PRECISE, 6>(acts, first..n, out);
                }
            }
        }
    }

    /// The first `A` of the activation rows, or as many as there are, over the columns of the tile.
    ///
    /// # Safety
    /// As `all_acts`, and `acts` must have the rows, of which there is one at least.
    #[inline(always)]
    unsafe fn multiply<const PRECISE: bool, const A: usize>(
        &self,
        acts: &Acts<'_>,
        rows: Range<usize>,
        out: Output<'_>,
    ) {
        // SAFETY: the caller's promises: rows and columns exist, and the output may be written.
        unsafe {
            let mut sums = [[L::no_floats(); A]; VECTORS];
            let base = self.cols.start / 32;
            // Past the last row it is repeated, and not stored.
            let records: [Record<'_>; A] =
                std::array::from_fn(|i| acts.record((rows.start + i).min(rows.end - 1)));
            for g in 0..self.cols.len() / 32 {
                let group = Group { in_panel: g, in_acts: base + g };
                if F::SPLIT {
                    self.part::<PRECISE, A, 0>(&records, group, &mut sums);
                    self.part::<PRECISE, A, 1>(&records, group, &mut sums);
                } else {
                    self.part::<PRECISE, A, 0>(&records, group, &mut sums);
                }
            }
            for (i, row) in rows.enumerate().take(A) {
                for (v, sums) in sums.iter().enumerate() {
                    self.store(sums[i], self.row + v * L::COUNT, out.row(row));
                }
            }
        }
    }

    /// Adds a whole group, or half `H` of one that is split.
    ///
    /// # Safety
    /// The panels and the activations must have the group.
    #[inline(always)]
    unsafe fn part<const PRECISE: bool, const A: usize, const H: usize>(
        &self,
        records: &[Record<'_>; A],
        group: Group,
        sums: &mut [[L::Floats; A]; VECTORS],
    ) {
        let (line, at) = if F::SPLIT {
            (group.in_panel * 2 + H, group.in_acts * 2 + H)
        } else {
            (group.in_panel, group.in_acts)
        };
        // SAFETY: as the caller promises.
        unsafe {
            let mut products = [[L::no_ints(); A]; VECTORS];
            self.add_products::<A, H>(records, |r| r.codes, group, &mut products);
            if PRECISE {
                for v in 0..VECTORS {
                    for i in 0..A {
                        products[v][i] = L::times_256(products[v][i]);
                    }
                }
                self.add_products::<A, H>(records, |r| r.fine, group, &mut products);
            }
            for v in 0..VECTORS {
                let (panel, lane) = self.vector(v);
                let scale = L::load(panel.scales[line][lane..].as_ptr());
                for i in 0..A {
                    let act_scale = L::splat(records[i].scales.get_unchecked(group.in_acts));
                    let product = L::mul(L::from_ints(products[v][i]), act_scale);
                    sums[v][i] = L::mul_add(product, scale, sums[v][i]);
                }
                if F::OFFSET {
                    let offset = L::load(panel.offsets[line][lane..].as_ptr());
                    for i in 0..A {
                        let act_sums = if F::SPLIT { records[i].half_sums } else { records[i].sums };
                        sums[v][i] = L::mul_add(offset, L::splat(act_sums.get_unchecked(at)), sums[v][i]);
                    }
                }
            }
        }
    }

    /// The panel of a vector of weight rows, and the vector's first row in it.
    #[inline(always)]
    fn vector(&self, v: usize) -> (&Panel, usize) {
        (self.panels[v * L::COUNT / panel::ROWS], v * L::COUNT % panel::ROWS)
    }

    /// Adds the integer products of a whole group, or of half `H` of one that is split.
    ///
    /// # Safety
    /// As `part`; `codes` must have the group.
    #[inline(always)]
    unsafe fn add_products<const A: usize, const H: usize>(
        &self,
        records: &[Record<'_>; A],
        codes: impl for<'r> Fn(&Record<'r>) -> &'r [i8],
        group: Group,
        total: &mut [[L::Ints; A]; VECTORS],
    ) {
        let (first, end) = if F::SPLIT { (4 * H, 4 * H + 4) } else { (0, 8) };
        let depth = depth::<F>();
        // SAFETY: the panels hold the group, and the activations 32 codes of it.
        unsafe {
            let weights = |v: usize, k: usize| {
                let (panel, lane) = self.vector(v);
                L::load_aligned(panel.codes[group.in_panel][k][lane..].as_ptr().cast())
            };
            let acts = |i: usize, k: usize| {
                L::splat_four(codes(&records[i]).as_ptr().add(group.in_acts * 32 + k * 4))
            };
            if L::FUSED || depth == 1 {
                for k in first..end {
                    for v in 0..VECTORS {
                        let w = weights(v, k);
                        for i in 0..A {
                            total[v][i] = L::dot(total[v][i], w, acts(i, k), F::SIGNED);
                        }
                    }
                }
                return;
            }
            let mut part = [[L::no_ints(); A]; VECTORS];
            // Written out and not a loop, so that every question of it is answered by the compiler.
            macro_rules! steps {
                ($($k:literal)*) => {$(
                    if (first..end).contains(&$k) {
                        let before = $k - first;
                        let (fresh, flush) = (before % depth == 0, before % depth == depth - 1 || $k + 1 == end);
                        for v in 0..VECTORS {
                            let w = weights(v, $k);
                            for i in 0..A {
                                let pairs = L::pairs(w, acts(i, $k), F::SIGNED);
                                part[v][i] = if fresh { pairs } else { L::add_pairs(part[v][i], pairs) };
                                if flush {
                                    total[v][i] = L::add_ints(total[v][i], L::widen(part[v][i]));
                                }
                            }
                        }
                    }
                )*};
            }
            steps!(0 1 2 3 4 5 6 7);
        }
    }

    /// Adds (or, for the first columns, writes) the sums of a vector of weight rows starting at `row`.
    ///
    /// # Safety
    /// Rows from `row` to the smaller of `row + L::COUNT` and `end` must be writable at `out`.
    #[inline(always)]
    unsafe fn store(&self, sums: L::Floats, row: usize, out: *mut f32) {
        // SAFETY: only values of rows below `end` are touched, which the caller may write.
        unsafe {
            if row + L::COUNT <= self.end {
                let at = out.add(row);
                let before = if self.cols.start == 0 { L::no_floats() } else { L::load(at) };
                L::store(L::add(before, sums), at);
                return;
            }
            let mut values = [0f32; 16];
            L::store(sums, values.as_mut_ptr());
            for (i, value) in values.iter().enumerate().take(self.end.saturating_sub(row)) {
                let at = out.add(row + i);
                *at = value + if self.cols.start == 0 { 0.0 } else { *at };
            }
        }
    }
}
