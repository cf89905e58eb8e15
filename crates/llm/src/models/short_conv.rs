//! Short causal convolutions: each channel is a weighted sum of its last few values. LFM 2 (Liquid AI, 2025) mixes
//! positions with one between two gates; delta nets and state spaces apply one to their inputs.

use super::decoder::{LayerWeights, joined, own_rows};
use super::{Kept, Sequence, StateSpec};
use crate::error::Result;
use crate::weights::Matrix;
use wootz::{DType, Shape, Tensor};

/// A convolution over `kernel` tokens, each channel by its own weights.
pub struct ShortConv {
    /// `[kernel, channels]`.
    weights: Tensor,
    bias: Option<Tensor>,
    kernel: usize,
}

/// What it remembers: the inputs of the last tokens but one kernel.
pub fn state(kernel: usize, channels: usize) -> StateSpec {
    StateSpec { shape: Shape::from([kernel - 1, channels]), dtype: DType::F32, kept: Kept::Latest }
}

impl ShortConv {
    /// The convolution `part` of a layer.
    pub fn load(layer: &LayerWeights<'_>, part: &str, kernel: usize, channels: usize) -> Result<ShortConv> {
        let name = format!("blk.{}.{part}", layer.index);
        let weights = layer.weights.values(&format!("{name}.weight"), &[channels, kernel])?;
        let bias = layer.weights.optional_values(&format!("{name}.bias"), &[channels])?;
        Ok(ShortConv { weights: weights.transpose(0, 1)?.copied()?, bias, kernel })
    }

    /// `[t, channels]` of several sequences, each after what `states` remember, and what is remembered then.
    pub fn apply(
        &self,
        x: &Tensor,
        sequences: &[Sequence<'_>],
        states: &[&Tensor],
    ) -> wootz::Result<(Tensor, Vec<Tensor>)> {
        let start = Tensor::scalar_on(0, DType::I32, x.device());
        let (mut all, mut new) = (Vec::new(), Vec::new());
        for (sequence, state) in sequences.iter().zip(states) {
            let tokens = sequence.rows.len();
            let inputs = Tensor::concat(&[*state, &own_rows(x, sequence)?], 0)?;
            let mut sum = inputs.narrow(0, 0, tokens)?.mul(&self.weights.narrow(0, 0, 1)?)?;
            for back in 1..self.kernel {
                let weight = self.weights.narrow(0, back, 1)?;
                sum = sum.add(&inputs.narrow(0, back, tokens)?.mul(&weight)?)?;
            }
            all.push(sum);
            new.push(state.write_at(&inputs.narrow(0, tokens, self.kernel - 1)?, &start, 0)?);
        }
        let sum = joined(all, 0)?;
        let sum = if let Some(bias) = &self.bias { sum.add(bias)? } else { sum };
        Ok((sum, new))
    }
}

/// LFM 2's layer: `out(c · conv(b · x))`, where `b`, `c` and `x` are projections of the input.
pub struct GatedConv {
    input: Matrix,
    conv: ShortConv,
    output: Matrix,
}

impl GatedConv {
    pub fn load(layer: &LayerWeights<'_>, kernel: usize) -> Result<GatedConv> {
        let width = layer.config.width;
        Ok(GatedConv {
            input: layer.linear("shortconv.in_proj", 3 * width, width)?,
            conv: ShortConv::load(layer, "shortconv.conv", kernel, width)?,
            output: layer.linear("shortconv.out_proj", width, width)?,
        })
    }

    pub fn apply(
        &self,
        x: &Tensor,
        sequences: &[Sequence<'_>],
        states: &[&[Tensor]],
    ) -> wootz::Result<(Tensor, Vec<Vec<Tensor>>)> {
        let (projected, width) = (self.input.apply(x)?, x.shape()[1]);
        let part = |index: usize| projected.narrow(1, index * width, width);
        let gated = part(0)?.mul(&part(2)?)?;
        let states: Vec<&Tensor> = states.iter().map(|state| &state[0]).collect();
        let (mixed, new) = self.conv.apply(&gated, sequences, &states)?;
        let mixed = self.output.apply(&part(1)?.mul(&mixed)?)?;
        Ok((mixed, new.into_iter().map(|state| vec![state]).collect()))
    }
}
