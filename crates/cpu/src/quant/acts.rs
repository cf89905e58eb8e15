//! Activations as integer codes, the other operand of every quantised product.
//!
//! A row of activations becomes one record: 8-bit codes, one scale per 32 values, and the sums that weights with
//! offsets need. A precise record has a second code per value for the rounding error of the first, in steps of 1/256
//! of it: `value = scale * (256 * code + fine)`. Kernels for 8 bits then handle 16 bits in two passes over the same
//! weights, and scale the integer sum once. Records work with weights of every format, so a mixed-format model
//! quantises its activations once.

use crate::isa_fn;
use wootz_ir::op::Activations;

/// Values that share a scale.
pub const GROUP: usize = 32;

/// Rows are padded with zeros to whole chunks of this many values, so that kernels work on whole chunks.
pub const CHUNK: usize = 256;

/// Steps of a fine code in one step of a code.
const FINE: f32 = 256.0;

/// Sizes of records, which are: codes and, where precise, fine codes (`i8`); scales per 32, sums per 32, sums per 16 (`f32`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActLayout {
    cols: usize,
    padded: usize,
    precise: bool,
}

impl ActLayout {
    /// For rows of `cols` values, or `None` if they are not whole groups of 32.
    pub fn new(cols: usize, activations: Activations) -> Option<ActLayout> {
        let padded = cols.checked_next_multiple_of(CHUNK)?;
        padded.checked_mul(2)?;
        let precise = match activations {
            Activations::Rounded => false,
            Activations::Precise => true,
        };
        (cols.is_multiple_of(GROUP)).then_some(ActLayout { cols, padded, precise })
    }

    /// Values per row.
    #[inline]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Whether records have fine codes.
    #[inline]
    pub fn precise(&self) -> bool {
        self.precise
    }

    /// 4-byte words of one row's record.
    #[inline]
    pub fn words(&self) -> usize {
        self.padded / 8 * 3 + self.fine_words()
    }

    #[inline]
    fn fine_words(&self) -> usize {
        if self.precise { self.padded / 4 } else { 0 }
    }

    #[inline]
    fn split<'a>(&self, record: &'a [u32]) -> Record<'a> {
        let (codes, rest) = record.split_at(self.padded / 4);
        let (fine, rest) = rest.split_at(self.fine_words());
        let (scales, rest) = rest.split_at(self.padded / GROUP);
        let (sums, halves) = rest.split_at(self.padded / GROUP);
        Record {
            codes: bytemuck::cast_slice(codes),
            fine: bytemuck::cast_slice(fine),
            scales: bytemuck::cast_slice(scales),
            sums: bytemuck::cast_slice(sums),
            half_sums: bytemuck::cast_slice(halves),
        }
    }

    /// Quantises one row into its record, which must have [`ActLayout::words`] words.
    pub fn quantize_row(&self, x: &[f32], record: &mut [u32]) {
        assert_eq!((x.len(), record.len()), (self.cols, self.words()), "row length and size of its record");
        let (codes, rest) = record.split_at_mut(self.padded / 4);
        let (fine, rest) = rest.split_at_mut(self.fine_words());
        let (scales, rest) = rest.split_at_mut(self.padded / GROUP);
        let (sums, halves) = rest.split_at_mut(self.padded / GROUP);
        let codes: &mut [i8] = bytemuck::cast_slice_mut(codes);
        let fine: &mut [i8] = bytemuck::cast_slice_mut(fine);
        let scales: &mut [f32] = bytemuck::cast_slice_mut(scales);
        let sums: &mut [f32] = bytemuck::cast_slice_mut(sums);
        let halves: &mut [f32] = bytemuck::cast_slice_mut(halves);
        let groups = self.cols / GROUP;
        quantize_groups(x, &mut codes[..self.cols], &mut scales[..groups], &mut halves[..2 * groups]);
        if self.precise {
            let (codes, fine) = (&codes[..self.cols], &mut fine[..self.cols]);
            refine_groups(x, codes, fine, &mut scales[..groups], &mut halves[..2 * groups]);
        }
        codes[self.cols..].fill(0);
        if self.precise {
            fine[self.cols..].fill(0);
        }
        scales[groups..].fill(0.0);
        halves[2 * groups..].fill(0.0);
        for (sum, half) in sums.iter_mut().zip(halves.chunks_exact(2)) {
            *sum = half[0] + half[1];
        }
    }
}

isa_fn! {
    /// Codes and scales of whole groups of 32, and `scale * Σ codes` of each 16.
    fn quantize_groups<I>(x: &[f32], codes: &mut [i8], scales: &mut [f32], half_sums: &mut [f32]) {
        // Adding and subtracting this rounds to the nearest integer, ties to even.
        const ROUND: f32 = 12_582_912.0;
        let (x, codes) = (x.as_chunks::<GROUP>().0, codes.as_chunks_mut::<GROUP>().0);
        let half_sums = half_sums.as_chunks_mut::<2>().0;
        for g in 0..x.len() {
            let (x, codes, scale, half_sums) = (&x[g], &mut codes[g], &mut scales[g], &mut half_sums[g]);
            let mut max = [0f32; 8];
            for x in x.as_chunks::<8>().0 {
                for i in 0..8 {
                    let a = x[i].abs();
                    // A NaN is passed over here, and becomes the code 0.
                    max[i] = if a > max[i] { a } else { max[i] };
                }
            }
            let max = max.iter().fold(0f32, |m, &v| if v > m { v } else { m });
            let inverse = 127.0 / max;
            // A maximum that is zero, or too small or large to divide by, stands for an all-zero group.
            let inverse = if inverse.is_finite() && inverse > 0.0 { inverse } else { 0.0 };
            *scale = if inverse > 0.0 { max / 127.0 } else { 0.0 };
            for h in 0..2 {
                let mut sum = 0i32;
                for i in h * 16..h * 16 + 16 {
                    let q = (I::mul_add(x[i], inverse, ROUND) - ROUND) as i32;
                    let q = q.clamp(-127, 127);
                    codes[i] = q as i8;
                    sum += q;
                }
                half_sums[h] = *scale * sum as f32;
            }
        }
    }
}

isa_fn! {
    /// Fine codes of what the codes leave of `x`; scales become those of fine codes, and sums count both.
    fn refine_groups<I>(x: &[f32], codes: &[i8], fine: &mut [i8], scales: &mut [f32], half_sums: &mut [f32]) {
        const ROUND: f32 = 12_582_912.0;
        let (x, codes, fine) =
            (x.as_chunks::<GROUP>().0, codes.as_chunks::<GROUP>().0, fine.as_chunks_mut::<GROUP>().0);
        let half_sums = half_sums.as_chunks_mut::<2>().0;
        for g in 0..x.len() {
            let (x, codes, fine) = (&x[g], &codes[g], &mut fine[g]);
            let (scale, half_sums) = (&mut scales[g], &mut half_sums[g]);
            let inverse = FINE / *scale;
            // A scale too small to divide by has no finer one.
            let inverse = if inverse.is_finite() { inverse } else { 0.0 };
            let coarse = *scale;
            *scale = coarse / FINE;
            for h in 0..2 {
                let mut sum = 0i32;
                for i in h * 16..h * 16 + 16 {
                    let rest = I::mul_add(f32::from(codes[i]), -coarse, x[i]);
                    let q = (I::mul_add(rest, inverse, ROUND) - ROUND) as i32;
                    let q = q.clamp(-127, 127);
                    fine[i] = q as i8;
                    sum += 256 * i32::from(codes[i]) + q;
                }
                half_sums[h] = *scale * sum as f32;
            }
        }
    }
}

/// A view of one record.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Codes, padded with zeros to whole chunks.
    pub codes: &'a [i8],
    /// Fine codes, as many; empty if the record is not precise.
    pub fine: &'a [i8],
    /// Scale of each 32 codes, or fine codes where there are any.
    pub scales: &'a [f32],
    /// Sum of each 32 values.
    pub sums: &'a [f32],
    /// Sum of each 16 values.
    pub half_sums: &'a [f32],
}

/// Quantised rows of activations.
#[derive(Clone, Copy, Debug)]
pub struct Acts<'a> {
    layout: ActLayout,
    records: &'a [u32],
    /// Which of the records, if not all in order.
    picked: Option<&'a [u32]>,
    batch_invariant: bool,
}

impl<'a> Acts<'a> {
    /// Rows that [`ActLayout::quantize_row`] wrote one after another; `None` if they are not whole records.
    pub fn new(layout: ActLayout, records: &'a [u32]) -> Option<Acts<'a>> {
        let whole = if layout.words() == 0 {
            records.is_empty()
        } else {
            records.len().is_multiple_of(layout.words())
        };
        whole.then_some(Acts { layout, records, picked: None, batch_invariant: false })
    }

    /// Sizes.
    #[inline]
    pub fn layout(&self) -> ActLayout {
        self.layout
    }

    /// These rows of them alone, in this order.
    pub fn rows_of(&self, picked: &'a [u32]) -> Acts<'a> {
        Acts { picked: Some(picked), ..*self }
    }

    /// The same rows, whose results must not depend on how many there are, if `on`: kernels for a few rows, which add in
    /// another order, are then not used.
    pub fn batch_invariant(self, on: bool) -> Acts<'a> {
        Acts { batch_invariant: on, ..self }
    }

    /// Whether they must not.
    pub fn is_batch_invariant(&self) -> bool {
        self.batch_invariant
    }

    /// How many rows.
    #[inline]
    pub fn rows(&self) -> usize {
        let all = || self.records.len().checked_div(self.layout.words()).unwrap_or(0);
        self.picked.map_or_else(all, |picked| picked.len())
    }

    /// The record of a row.
    #[inline]
    pub fn record(&self, row: usize) -> Record<'a> {
        let words = self.layout.words();
        let row = self.picked.map_or(row, |picked| picked[row] as usize);
        self.layout.split(&self.records[row * words..][..words])
    }
}

/// Quantises all rows of `x`, on this thread, to a new buffer of records.
pub fn quantize_rows(layout: ActLayout, x: &[f32]) -> Vec<u32> {
    let rows = x.len().checked_div(layout.cols).unwrap_or(0);
    let mut records = vec![0; rows * layout.words()];
    if layout.words() > 0 {
        for (x, records) in x.chunks_exact(layout.cols).zip(records.chunks_exact_mut(layout.words())) {
            layout.quantize_row(x, records);
        }
    }
    records
}
