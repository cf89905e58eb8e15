//! Many activation rows: tiles of 16 weight rows × 3 activation rows in registers.
//!
//! Loop order: 16 weight rows are unpacked for a stretch of columns into two panels, which then meet all
//! activation rows. Where no instruction sums four products, those of 4-bit codes are summed in 16 bits over a whole
//! group, so that a multiply and an add is all that 32 products cost.

use std::ops::Range;

use super::format::Format;
use super::panel::{self, COLS, Panel, ROWS};
use super::simd::Simd;
use super::{Acts, Output, Record, Weights};

/// Activation rows of a tile with two panels, as many as fill the 16 registers. A row of either panel holds a float and an
/// integer at a time; where 16-bit sums last for a few products only, both they and 32-bit sums.
const fn act_rows<S: Simd, F: Format>() -> usize {
    if !S::FUSED && matches!(depth::<F>(), 2 | 3) { 2 } else { 3 }
}

/// How many 16-bit sums of two products can be added: 127 is the largest activation.
const fn depth<F: Format>() -> usize {
    if F::SIGNED { 1 } else { i16::MAX as usize / (2 * 127 * F::MAX_CODE) }
}

/// # Safety
/// As [`crate::quant::matmul_rows`].
#[inline(always)]
pub(super) unsafe fn rows<S: Simd, F: Format>(
    weights: &Weights<'_>,
    acts: &Acts<'_>,
    rows: Range<usize>,
    out: Output,
) {
    let mut panels = [Panel::boxed(), Panel::boxed()];
    for r in rows.clone().step_by(2 * ROWS) {
        let two = r + ROWS < rows.end;
        for start in (0..weights.cols).step_by(COLS) {
            let cols = start..(start + COLS).min(weights.cols);
            // SAFETY: `r` is in the range, columns are whole groups and start at a chunk; the output is the caller's.
            unsafe {
                for (p, panel) in panels.iter_mut().enumerate().take(1 + usize::from(two)) {
                    panel::unpack::<S, F>(weights, (r + p * ROWS, rows.end), cols.clone(), panel);
                }
                let tile = Tile { panels: [&panels[0], &panels[1]], row: r, end: rows.end, cols };
                if two {
                    tile.all_acts::<S, F, 2>(acts, out);
                } else {
                    tile.all_acts::<S, F, 1>(acts, out);
                }
            }
        }
    }
}

/// One or two panels, and which part of the product they are.
struct Tile<'a> {
    panels: [&'a Panel; 2],
    row: usize,
    end: usize,
    cols: Range<usize>,
}

impl Tile<'_> {
    /// The panels with every activation row.
    ///
    /// # Safety
    /// The columns must exist in `acts`, and the panels' rows of every activation row must be writable in `out`.
    #[inline(always)]
    unsafe fn all_acts<S: Simd, F: Format, const P: usize>(&self, acts: &Acts<'_>, out: Output) {
        let (n, step) = (acts.rows(), act_rows::<S, F>());
        for a in (0..n).step_by(step) {
            // SAFETY: the caller's promises; activation rows are below `n`.
            unsafe {
                match (n - a).min(step) {
                    1 => self.multiply::<S, F, P, 1>(acts, a, out),
                    2 => self.multiply::<S, F, P, 2>(acts, a, out),
                    _ => self.multiply::<S, F, P, 3>(acts, a, out),
                }
            }
        }
    }

    /// `P` panels × `A` activation rows, over the columns of the panels.
    ///
    /// # Safety
    /// As `all_acts`, and `acts` must have rows `a` to `a + A`.
    #[inline(always)]
    unsafe fn multiply<S: Simd, F: Format, const P: usize, const A: usize>(
        &self,
        acts: &Acts<'_>,
        a: usize,
        out: Output,
    ) {
        // SAFETY: the caller's promises: rows and columns exist, and the output may be written.
        unsafe {
            let mut sums = [[S::no_floats(); A]; P];
            let base = self.cols.start / 32;
            for record in 0..acts.records() {
                let rows: [Record<'_>; A] = std::array::from_fn(|i| acts.record(a + i, record));
                for g in 0..self.cols.len() / 32 {
                    self.group::<S, F, P, A>(&rows, (g, base + g), &mut sums);
                }
            }
            for p in 0..P {
                for i in 0..A {
                    self.store::<S>(sums[p][i], self.row + p * ROWS, out.ptr.add((a + i) * out.stride));
                }
            }
        }
    }

    /// Adds group `g` of the panels, which is group `at` of the activations.
    ///
    /// # Safety
    /// The panels must hold group `g`, and the activations group `at`.
    #[inline(always)]
    unsafe fn group<S: Simd, F: Format, const P: usize, const A: usize>(
        &self,
        rows: &[Record<'_>; A],
        (g, at): (usize, usize),
        sums: &mut [[S::Floats; A]; P],
    ) {
        // SAFETY: the caller's panels hold group `g`, and the activations group `at`.
        unsafe {
            if F::SPLIT {
                self.part::<S, F, P, A, 0>(rows, (g, at), sums);
                self.part::<S, F, P, A, 1>(rows, (g, at), sums);
            } else {
                self.part::<S, F, P, A, 0>(rows, (g, at), sums);
            }
        }
    }

    /// Adds a whole group, or half `H` of one that is split.
    ///
    /// # Safety
    /// As `group`.
    #[inline(always)]
    unsafe fn part<S: Simd, F: Format, const P: usize, const A: usize, const H: usize>(
        &self,
        rows: &[Record<'_>; A],
        (g, at): (usize, usize),
        sums: &mut [[S::Floats; A]; P],
    ) {
        let g_scale = if F::SPLIT { g * 2 + H } else { g };
        // SAFETY: as `group`.
        unsafe {
            let products = self.products::<S, F, P, A, H>(rows, (g, at));
            for p in 0..P {
                let scale = S::load(self.panels[p].scales[g_scale].as_ptr());
                for i in 0..A {
                    let act_scale = S::splat(rows[i].scales.get_unchecked(at));
                    let product = S::mul(S::from_ints(products[p][i]), act_scale);
                    sums[p][i] = S::mul_add(product, scale, sums[p][i]);
                }
                if F::OFFSET {
                    let offset = S::load(self.panels[p].offsets[g_scale].as_ptr());
                    for i in 0..A {
                        let sum = if F::SPLIT {
                            rows[i].half_sums.get_unchecked(at * 2 + H)
                        } else {
                            rows[i].sums.get_unchecked(at)
                        };
                        sums[p][i] = S::mul_add(offset, S::splat(sum), sums[p][i]);
                    }
                }
            }
        }
    }

    /// Integer sums of a whole group, or of half `H` of one that is split.
    ///
    /// # Safety
    /// As `group`.
    #[inline(always)]
    unsafe fn products<S: Simd, F: Format, const P: usize, const A: usize, const H: usize>(
        &self,
        rows: &[Record<'_>; A],
        (g, at): (usize, usize),
    ) -> [[S::Ints; A]; P] {
        let (first, end) = if F::SPLIT { (4 * H, 4 * H + 4) } else { (0, 8) };
        let depth = depth::<F>();
        // SAFETY: the panels hold group `g`, and the activations 32 codes at group `at`.
        unsafe {
            let mut total = [[S::no_ints(); A]; P];
            if S::FUSED || depth == 1 {
                for k in first..end {
                    for p in 0..P {
                        let w = S::load_aligned(self.panels[p].codes[g][k].as_ptr());
                        for i in 0..A {
                            let a = S::splat_four(rows[i].codes.as_ptr().add(at * 32 + k * 4));
                            total[p][i] = S::dot(total[p][i], w, a, F::SIGNED);
                        }
                    }
                }
                return total;
            }
            let mut part = total;
            // Written out and not a loop, so that every question of it is answered by the compiler.
            macro_rules! steps {
                ($($k:literal)*) => {$(
                    if (first..end).contains(&$k) {
                        let before = $k - first;
                        let (fresh, flush) = (before % depth == 0, before % depth == depth - 1 || $k + 1 == end);
                        for p in 0..P {
                            let w = S::load_aligned(self.panels[p].codes[g][$k].as_ptr());
                            for i in 0..A {
                                let a = S::splat_four(rows[i].codes.as_ptr().add(at * 32 + $k * 4));
                                let pairs = S::pairs(w, a, F::SIGNED);
                                part[p][i] = if fresh { pairs } else { S::add_pairs(part[p][i], pairs) };
                                if flush {
                                    let wide = S::widen(part[p][i]);
                                    total[p][i] =
                                        if before < depth { wide } else { S::add_ints(total[p][i], wide) };
                                }
                            }
                        }
                    }
                )*};
            }
            steps!(0 1 2 3 4 5 6 7);
            total
        }
    }

    /// Adds (or, for the first columns, writes) the sums of 8 weight rows starting at `row`.
    ///
    /// # Safety
    /// Rows from `row` to the smaller of `row + ROWS` and `end` must be writable at `out`.
    #[inline(always)]
    unsafe fn store<S: Simd>(&self, sums: S::Floats, row: usize, out: *mut f32) {
        // SAFETY: only values of rows below `end` are touched, which the caller may write.
        unsafe {
            let at = out.add(row);
            if row + ROWS <= self.end {
                let before = if self.cols.start == 0 { S::no_floats() } else { S::load(at) };
                S::store(S::add(before, sums), at);
                return;
            }
            let mut values = [0f32; ROWS];
            S::store(sums, values.as_mut_ptr());
            for (i, value) in values.iter().enumerate().take(self.end - row) {
                let before = if self.cols.start == 0 { 0.0 } else { *at.add(i) };
                *at.add(i) = before + value;
            }
        }
    }
}
