//! RMS norm and layer norm.

use super::{LANES, RowIo, join};
use crate::isa::{Isa, Kernel, Real, dispatch};

/// The learned parts of a norm: `y = normalised * weight + bias`.
#[derive(Clone, Copy)]
pub struct Affine<'a, T> {
    /// Factors, as many as the row has elements.
    pub weight: Option<&'a [T]>,
    /// Summands, as many as the row has elements.
    pub bias: Option<&'a [T]>,
}

impl<T: Real> Affine<'_, T> {
    /// Neither.
    pub const NONE: Self = Affine { weight: None, bias: None };

    fn check(&self, len: usize) {
        assert!(self.weight.is_none_or(|w| w.len() == len), "the weight's length is not the row's");
        assert!(self.bias.is_none_or(|b| b.len() == len), "the bias's length is not the row's");
    }

    #[inline(always)]
    fn piece(values: Option<&[T]>, start: usize, default: T) -> [T; LANES] {
        let mut piece = [default; LANES];
        if let Some(values) = values {
            match values[start..].first_chunk::<LANES>() {
                Some(chunk) => piece = *chunk,
                None => piece[..values.len() - start].copy_from_slice(&values[start..]),
            }
        }
        piece
    }

    /// Writes `(x - mean) * scale`, weighted and shifted.
    #[inline(always)]
    fn apply<I: Isa>(&self, io: &mut RowIo<T>, mean: T, scale: T) {
        for start in (0..io.len).step_by(LANES) {
            io.fetch_next(start);
            let x = io.piece(start, T::ZERO);
            let weight = Self::piece(self.weight, start, T::ONE);
            let bias = Self::piece(self.bias, start, T::ZERO);
            let mut out = [T::ZERO; LANES];
            for l in 0..LANES {
                let normal = (x[l] - mean) * scale;
                out[l] = I::mul_add(normal, weight[l], bias[l]);
            }
            io.write(start, &out);
        }
    }
}

struct RmsNorm<'a, T> {
    io: RowIo<'a, T>,
    affine: Affine<'a, T>,
    epsilon: f64,
}

impl<T: Real> Kernel for RmsNorm<'_, T> {
    type Out = ();
    #[inline(always)]
    fn run<I: Isa>(mut self) {
        let mut squares = [T::ZERO; LANES];
        for start in (0..self.io.len).step_by(LANES) {
            let x = self.io.piece(start, T::ZERO);
            for l in 0..LANES {
                squares[l] = I::mul_add(x[l], x[l], squares[l]);
            }
        }
        let mean = join(&squares) / self.io.len as f64;
        self.affine.apply::<I>(&mut self.io, T::ZERO, T::of(1.0 / (mean + self.epsilon).sqrt()));
    }
}

struct LayerNorm<'a, T> {
    io: RowIo<'a, T>,
    affine: Affine<'a, T>,
    epsilon: f64,
}

impl<T: Real> Kernel for LayerNorm<'_, T> {
    type Out = ();
    #[inline(always)]
    fn run<I: Isa>(mut self) {
        let mut sums = [T::ZERO; LANES];
        for start in (0..self.io.len).step_by(LANES) {
            let x = self.io.piece(start, T::ZERO);
            for l in 0..LANES {
                sums[l] += x[l];
            }
        }
        let n = self.io.len as f64;
        let mean = T::of(join(&sums) / n);
        // A second pass over the cached row: differences of squares would cancel.
        let (mut squares, mut drift) = ([T::ZERO; LANES], [T::ZERO; LANES]);
        for start in (0..self.io.len).step_by(LANES) {
            let x = self.io.piece(start, mean);
            for l in 0..LANES {
                let d = x[l] - mean;
                drift[l] += d;
                squares[l] = I::mul_add(d, d, squares[l]);
            }
        }
        // What rounding the mean has shifted is taken out again.
        let drift = join(&drift) / n;
        let variance = join(&squares) / n - drift * drift;
        self.affine.apply::<I>(&mut self.io, mean, T::of(1.0 / (variance + self.epsilon).sqrt()));
    }
}

/// `y = x / sqrt(mean(x²) + epsilon)`, weighted and shifted.
///
/// # Panics
/// If a weight's or bias's length is not the row's.
pub fn rms_norm<T: Real>(row: RowIo<T>, affine: Affine<T>, epsilon: f64) {
    affine.check(row.len);
    dispatch(RmsNorm { io: row, affine, epsilon });
}

/// `y = (x - mean(x)) / sqrt(var(x) + epsilon)`, weighted and shifted.
///
/// # Panics
/// If a weight's or bias's length is not the row's.
pub fn layer_norm<T: Real>(row: RowIo<T>, affine: Affine<T>, epsilon: f64) {
    affine.check(row.len);
    dispatch(LayerNorm { io: row, affine, epsilon });
}
