//! Frequencies of rotary embeddings, and the methods of extending them beyond the training length.

use crate::config::{Attention, RopeScaling};

/// How fast each pair of a head turns, and what scores are multiplied by beside.
#[derive(Clone, Debug, PartialEq)]
pub struct Rope {
    /// Radians per position, for each pair.
    pub frequencies: Vec<f32>,
    /// Factor on the scores (YaRN makes queries and keys a little longer).
    pub score_scale: f64,
}

impl Rope {
    /// For full-attention layers. `factors` (Llama 3, `rope_freqs.weight`) divide the frequencies.
    pub fn new(attention: &Attention, factors: Option<&[f32]>) -> Rope {
        let mut rope = Rope::plain(attention.rope_base, attention.rope_len);
        match attention.rope_scaling {
            RopeScaling::None => {}
            RopeScaling::Linear(factor) => rope.frequencies.iter_mut().for_each(|f| *f /= factor),
            RopeScaling::Yarn { factor, original_context, log_multiplier } => {
                rope.yarn(attention.rope_base, f64::from(factor), original_context);
                let back = 1.0 + 0.1 * f64::from(log_multiplier) * f64::from(factor).ln();
                rope.score_scale /= back * back;
            }
        }
        rope.score_scale *= f64::from(attention.rope_length).powi(2);
        for (frequency, factor) in rope.frequencies.iter_mut().zip(factors.unwrap_or_default()) {
            *frequency /= factor;
        }
        rope
    }

    /// `base^(-2i/n)` for pair `i` of `n/2`.
    pub fn plain(base: f32, len: usize) -> Rope {
        let frequency = |i: usize| f64::from(base).powf(-2.0 * i as f64 / len as f64) as f32;
        Rope { frequencies: (0..len / 2).map(frequency).collect(), score_scale: 1.0 }
    }

    /// YaRN (Peng et al., 2023): pairs that turn often over the training length keep their frequency, those that turn
    /// less than once are interpolated, with a linear ramp between.
    fn yarn(&mut self, base: f32, factor: f64, original_context: usize) {
        const FAST: f64 = 32.0;
        const SLOW: f64 = 1.0;
        let len = 2.0 * self.frequencies.len() as f64;
        // The pair that turns `turns` times over the training length.
        let pair = |turns: f64| {
            let per_turn = original_context as f64 / (turns * std::f64::consts::TAU);
            len * per_turn.ln() / (2.0 * f64::from(base).ln())
        };
        let low = pair(FAST).floor().max(0.0);
        let high = pair(SLOW).ceil().min(len - 1.0);
        for (i, frequency) in self.frequencies.iter_mut().enumerate() {
            let slow = ((i as f64 - low) / (high - low).max(0.001)).clamp(0.0, 1.0);
            *frequency = (f64::from(*frequency) * (slow / factor + 1.0 - slow)) as f32;
        }
        let length = 1.0 + 0.1 * factor.ln();
        self.score_scale = length * length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yarn_keeps_fast_pairs_and_divides_slow_ones() {
        let plain = Rope::plain(10_000.0, 128);
        let mut rope = plain.clone();
        rope.yarn(10_000.0, 4.0, 4096);
        assert_eq!(rope.frequencies[0], plain.frequencies[0]);
        let ratio = plain.frequencies[63] / rope.frequencies[63];
        assert!((ratio - 4.0).abs() < 1e-5, "{ratio}");
        assert!(rope.frequencies.windows(2).all(|f| f[0] > f[1]));
        assert!((rope.score_scale - 1.296_477_0).abs() < 1e-6, "{}", rope.score_scale);
    }
}
