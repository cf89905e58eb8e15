//! Many activation rows: tiles of 16 weight rows × 3 activation rows in registers.
//!
//! Loop order: 16 weight rows are unpacked for a stretch of columns into two panels, which then meet all
//! activation rows. Products of 4-bit codes are summed in 16 bits over a whole group, so that a multiply and an
//! add is all that 32 products cost.

use std::arch::x86_64::*;
use std::ops::Range;

use super::Format;
use super::panel::{self, COLS, Panel, ROWS};
use crate::quant::{ActRow, Acts, Output, Weights};

/// Activation rows of a tile with two panels, as many as fill the 16 registers. A row of either panel holds a float and an
/// integer at a time; where 16-bit sums last for a few products only, both they and 32-bit sums.
const fn act_rows<F: Format>() -> usize {
    if matches!(depth::<F>(), 2 | 3) { 2 } else { 3 }
}

/// How many 16-bit sums of two products can be added: 127 is the largest activation.
const fn depth<F: Format>() -> usize {
    if F::SIGNED { 1 } else { i16::MAX as usize / (2 * 127 * F::MAX_CODE) }
}

/// # Safety
/// As [`super::run`].
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn rows<F: Format>(
    weights: &Weights<'_>,
    acts: &Acts<'_>,
    rows: Range<usize>,
    out: Output,
) {
    let (mut first, mut second) = (Panel::boxed(), Panel::boxed());
    for r in rows.clone().step_by(2 * ROWS) {
        let two = r + ROWS < rows.end;
        for start in (0..weights.cols).step_by(COLS) {
            let cols = start..(start + COLS).min(weights.cols);
            // SAFETY: `r` is in the range, columns are whole groups and start at a chunk; the output is the caller's.
            unsafe {
                panel::unpack::<F>(weights, (r, rows.end), cols.clone(), &mut first);
                if two {
                    panel::unpack::<F>(weights, (r + ROWS, rows.end), cols.clone(), &mut second);
                }
                let tile = Tile { panels: [&first, &second], row: r, end: rows.end, cols };
                if two {
                    tile.all_acts::<F, 2>(acts, out);
                } else {
                    tile.all_acts::<F, 1>(acts, out);
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
    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn all_acts<F: Format, const P: usize>(&self, acts: &Acts<'_>, out: Output) {
        let (n, step) = (acts.rows(), act_rows::<F>());
        for a in (0..n).step_by(step) {
            // SAFETY: the caller's promises; activation rows are below `n`.
            unsafe {
                match (n - a).min(step) {
                    1 => self.multiply::<F, P, 1>(acts, a, out),
                    2 => self.multiply::<F, P, 2>(acts, a, out),
                    _ => self.multiply::<F, P, 3>(acts, a, out),
                }
            }
        }
    }

    /// `P` panels × `A` activation rows, over the columns of the panels.
    ///
    /// # Safety
    /// As `all_acts`, and `acts` must have rows `a` to `a + A`.
    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn multiply<F: Format, const P: usize, const A: usize>(
        &self,
        acts: &Acts<'_>,
        a: usize,
        out: Output,
    ) {
        // SAFETY: the caller's promises: rows and columns exist, and the output may be written.
        unsafe {
            let rows: [ActRow<'_>; A] = std::array::from_fn(|i| acts.row(a + i));
            let mut sums = [[_mm256_setzero_ps(); A]; P];
            let base = self.cols.start / 32;
            for g in 0..self.cols.len() / 32 {
                self.group::<F, P, A>(&rows, (g, base + g), &mut sums);
            }
            for p in 0..P {
                for i in 0..A {
                    self.store(sums[p][i], self.row + p * ROWS, out.ptr.add((a + i) * out.stride));
                }
            }
        }
    }

    /// Adds group `g` of the panels, which is group `at` of the activations.
    ///
    /// # Safety
    /// The panels must hold group `g`, and the activations group `at`.
    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn group<F: Format, const P: usize, const A: usize>(
        &self,
        rows: &[ActRow<'_>; A],
        (g, at): (usize, usize),
        sums: &mut [[__m256; A]; P],
    ) {
        // SAFETY: the caller's panels hold group `g`, and the activations group `at`.
        unsafe {
            let halves = if F::SPLIT { 2 } else { 1 };
            for h in 0..halves {
                let steps = 8 / halves;
                let products = self.products::<F, P, A>(rows, (g, at), h * steps..(h + 1) * steps);
                for p in 0..P {
                    let scale = _mm256_loadu_ps(self.panels[p].scales[g * halves + h].as_ptr());
                    for i in 0..A {
                        let act_scale = _mm256_broadcast_ss(rows[i].scales.get_unchecked(at));
                        let product = _mm256_mul_ps(_mm256_cvtepi32_ps(products[p][i]), act_scale);
                        sums[p][i] = _mm256_fmadd_ps(product, scale, sums[p][i]);
                    }
                    if F::OFFSET {
                        let offset = _mm256_loadu_ps(self.panels[p].offsets[g * halves + h].as_ptr());
                        for i in 0..A {
                            let sum = if F::SPLIT {
                                rows[i].half_sums.get_unchecked(at * 2 + h)
                            } else {
                                rows[i].sums.get_unchecked(at)
                            };
                            sums[p][i] = _mm256_fmadd_ps(offset, _mm256_broadcast_ss(sum), sums[p][i]);
                        }
                    }
                }
            }
        }
    }

    /// Integer sums of the given vectors of a group.
    ///
    /// # Safety
    /// As `group`; `steps` must be below 8.
    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn products<F: Format, const P: usize, const A: usize>(
        &self,
        rows: &[ActRow<'_>; A],
        (g, at): (usize, usize),
        steps: Range<usize>,
    ) -> [[__m256i; A]; P] {
        let depth = depth::<F>();
        // SAFETY: the panels hold group `g`, and the activations 32 codes at group `at`.
        unsafe {
            let ones = _mm256_set1_epi16(1);
            let mut total = [[_mm256_setzero_si256(); A]; P];
            let mut part = total;
            let (mut added, last, first) = (0, steps.end - 1, steps.start);
            for k in steps {
                let fresh = added == 0;
                added += 1;
                let flush = added == depth || k == last;
                for p in 0..P {
                    let w = _mm256_load_si256(self.panels[p].codes[g][k].as_ptr().cast());
                    for i in 0..A {
                        let four = rows[i].codes.as_ptr().add(at * 32 + k * 4).cast::<i32>().read_unaligned();
                        let a = _mm256_set1_epi32(four);
                        let pairs = if F::SIGNED {
                            _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(a, w))
                        } else {
                            _mm256_maddubs_epi16(w, a)
                        };
                        part[p][i] = if fresh { pairs } else { _mm256_add_epi16(part[p][i], pairs) };
                        if flush {
                            let wide = _mm256_madd_epi16(part[p][i], ones);
                            let before_any = k < first + depth;
                            total[p][i] = if before_any { wide } else { _mm256_add_epi32(total[p][i], wide) };
                        }
                    }
                }
                if flush {
                    added = 0;
                }
            }
            total
        }
    }

    /// Adds (or, for the first columns, writes) the sums of 8 weight rows starting at `row`.
    ///
    /// # Safety
    /// Rows from `row` to the smaller of `row + ROWS` and `end` must be writable at `out`.
    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn store(&self, sums: __m256, row: usize, out: *mut f32) {
        // SAFETY: only values of rows below `end` are touched, which the caller may write.
        unsafe {
            let at = out.add(row);
            if row + ROWS <= self.end {
                let before = if self.cols.start == 0 { _mm256_setzero_ps() } else { _mm256_loadu_ps(at) };
                _mm256_storeu_ps(at, _mm256_add_ps(before, sums));
                return;
            }
            let mut values = [0f32; ROWS];
            _mm256_storeu_ps(values.as_mut_ptr(), sums);
            for (i, value) in values.iter().enumerate().take(self.end - row) {
                let before = if self.cols.start == 0 { 0.0 } else { *at.add(i) };
                *at.add(i) = before + value;
            }
        }
    }
}
