//! Quantised matrix products: block-quantised weights × activations of 8 bits (or twice 8), by integer dot products.
//!
//! `out[a, r] = Σ_k weights[r, k] * acts[a, k]`. Weights are used as stored in the file, never repacked at load time:
//! a product with one or a few rows of activations ([`matmul_rows`] decides) reads the blocks once at memory speed,
//! and one with many rows unpacks 16 weight rows at a time into a tile that stays in L1 and is used for all
//! activations.
//!
//! Promises: any weight bytes are safe (lengths are checked, codes can be any bits); results do not depend on how
//! rows are split between threads. The error against exact arithmetic is that of 8-bit activations with a scale per
//! 32 values, or of 16-bit ones in precise mode. NaN activations count as 0, and a group with an infinity as all
//! zeros.
//!
//! Functions are single-threaded over a range of weight rows; the caller splits the rows.

mod acts;
mod portable;
#[cfg(test)]
mod tests;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod vector;

use std::ops::Range;

use wootz_blocks::BlockFormat;

pub use acts::{ActLayout, Acts, CHUNK, GROUP, Record, quantize_rows};

use crate::isa::{self, Level};

/// A quantised weight matrix: `rows` rows of `cols` values, each row a whole number of blocks.
#[derive(Clone, Copy, Debug)]
pub struct Weights<'a> {
    format: BlockFormat,
    stored: Stored,
    row_bytes: usize,
    bytes: &'a [u8],
    rows: usize,
    cols: usize,
}

/// What the bytes of weights are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stored {
    /// Blocks of the format.
    Blocks,
    /// Chunks that a vector kernel has unpacked from them.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    Chunks,
}

/// Why a product was refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum QuantError {
    /// The format has no integer kernel.
    #[error("{0} weights have no integer product; convert them to floats")]
    Format(BlockFormat),
    /// The bytes are not a matrix of that shape.
    #[error("{format} weights of {rows} x {cols} do not have {bytes} bytes")]
    Shape {
        /// The format.
        format: BlockFormat,
        /// Rows.
        rows: usize,
        /// Columns.
        cols: usize,
        /// Bytes given.
        bytes: usize,
    },
    /// The two sides, or the output, do not fit together.
    #[error(
        "shape mismatch: {rows} x {cols} weights, {act_rows} x {act_cols} activations, {out} output values"
    )]
    Mismatch {
        /// Weight rows.
        rows: usize,
        /// Weight columns.
        cols: usize,
        /// Activation rows.
        act_rows: usize,
        /// Activation columns.
        act_cols: usize,
        /// Output values.
        out: usize,
    },
}

impl<'a> Weights<'a> {
    /// Whether products with weights of this format are done here.
    pub fn supports(format: BlockFormat) -> bool {
        !format.is_float() && format != BlockFormat::Q8_K
    }

    /// Checks format and size.
    pub fn new(format: BlockFormat, bytes: &'a [u8], rows: usize, cols: usize) -> Result<Self, QuantError> {
        if !Self::supports(format) {
            return Err(QuantError::Format(format));
        }
        let expected = format.bytes_of(cols).and_then(|b| b.checked_mul(rows));
        if expected != Some(bytes.len()) {
            return Err(QuantError::Shape { format, rows, cols, bytes: bytes.len() });
        }
        let row_bytes = cols / format.block_len() * format.block_bytes();
        Ok(Weights { format, stored: Stored::Blocks, row_bytes, bytes, rows, cols })
    }

    /// How many rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    fn row_bytes(&self) -> usize {
        self.row_bytes
    }
}

/// Where results go: value `(a, r)` at `a * stride + r`, or at `rows[a] * stride + r`. Threads share it, each writing its
/// own weight rows.
#[derive(Clone, Copy, Debug)]
pub struct Output<'a> {
    ptr: *mut f32,
    stride: usize,
    rows: Option<&'a [u32]>,
}

// SAFETY: an Output is an address; what makes writes through it sound is the contract of `matmul_rows`.
unsafe impl Send for Output<'_> {}
// SAFETY: a shared Output gives out its address only, with the same contract.
unsafe impl Sync for Output<'_> {}

impl<'a> Output<'a> {
    /// An output whose activation rows are `stride` values apart.
    pub fn new(ptr: *mut f32, stride: usize) -> Output<'a> {
        Output { ptr, stride, rows: None }
    }

    /// The same memory, where activation row `a` goes to row `rows[a]`.
    pub fn rows(self, rows: &'a [u32]) -> Output<'a> {
        Output { rows: Some(rows), ..self }
    }

    /// The same places for weights whose first row is `row` of these.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn after_weights(self, row: usize) -> Output<'a> {
        Output { ptr: self.ptr.wrapping_add(row), ..self }
    }

    /// Where the results of an activation row start.
    #[inline(always)]
    fn row(&self, a: usize) -> *mut f32 {
        let row = self.rows.map_or(a, |rows| rows[a] as usize);
        self.ptr.wrapping_add(row * self.stride)
    }
}

/// Computes the products of the weight rows `rows` with all activations, on this thread.
///
/// # Panics
/// If `rows` is not within the weights, or weights and activations differ in columns.
///
/// # Safety
/// For every activation row `a` and every `r` in `rows`, the output's place for them must be valid for writes, and
/// no other thread may touch those values meanwhile.
pub unsafe fn matmul_rows(weights: &Weights<'_>, acts: &Acts<'_>, rows: Range<usize>, out: Output<'_>) {
    assert!(rows.start <= rows.end && rows.end <= weights.rows, "weight rows {rows:?} of {}", weights.rows);
    assert_eq!(weights.cols, acts.layout().cols(), "columns of weights and activations");
    // SAFETY: ranges were just checked; the output is the caller's promise.
    unsafe { best_kernel(isa::level()).1(weights, acts, rows, out) }
}

type Kernel = unsafe fn(&Weights<'_>, &Acts<'_>, Range<usize>, Output<'_>);

/// Multiply-adds of bytes for a number of rounds, at the rate that a kernel could have at most. Returns the operations.
type Chains = unsafe fn(usize) -> usize;

/// The kernels that this processor can run at a level, with their names, the best first.
fn kernels(level: Level) -> impl Iterator<Item = (&'static str, Kernel)> {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    let vector = vector::kernels(level);
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let vector = {
        let _ = level;
        std::iter::empty::<(&str, Kernel, Chains)>()
    };
    let vector = vector.map(|(name, kernel, _)| (name, kernel));
    vector.chain([("portable", portable::matmul_rows as Kernel)])
}

fn best_kernel(level: Level) -> (&'static str, Kernel) {
    kernels(level).next().unwrap_or(("portable", portable::matmul_rows))
}

/// The name of the kernel that products run by here.
pub fn kernel_name() -> &'static str {
    best_kernel(isa::level()).0
}

/// The chains of the kernel that products run by here; none for the portable one.
pub(crate) fn chains() -> Option<impl Fn(usize) -> usize> {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    let best: Option<Chains> = vector::kernels(isa::level()).next().map(|(_, _, chains)| chains);
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let best: Option<Chains> = None;
    // SAFETY: the kernel was chosen for this processor.
    best.map(|chains| move |rounds| unsafe { chains(rounds) })
}

/// The complete product on this thread: `out` has one row of `weights.rows()` values per activation row.
pub fn matmul(weights: &Weights<'_>, acts: &Acts<'_>, out: &mut [f32]) -> Result<(), QuantError> {
    let act_cols = acts.layout().cols();
    if act_cols != weights.cols || Some(out.len()) != acts.rows().checked_mul(weights.rows) {
        let (rows, cols, act_rows) = (weights.rows, weights.cols, acts.rows());
        return Err(QuantError::Mismatch { rows, cols, act_rows, act_cols, out: out.len() });
    }
    // SAFETY: `out` has exactly the values that this product writes, and is borrowed mutably.
    unsafe { matmul_rows(weights, acts, 0..weights.rows, Output::new(out.as_mut_ptr(), weights.rows)) };
    Ok(())
}
