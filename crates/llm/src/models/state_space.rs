//! Mamba 2 (Dao and Gu, 2024): each head keeps a matrix that decays and accumulates: `S ← exp(Δ·A)·S + Δ·x·Bᵀ`, `out
//! = S·C + D·x`, where the step `Δ`, the input `x`, and `B` and `C`, which the heads of a group share, depend on the
//! token.

use super::Sequence;
use super::decoder::LayerWeights;
use super::recurrence::recur;
use super::short_conv::ShortConv;
use crate::config::MatrixStates;
use crate::error::Result;
use crate::weights::Matrix;
use wootz::Tensor;

pub struct StateSpace {
    /// The gate, then x, B and C before the convolution, then the steps.
    input: Matrix,
    conv: ShortConv,
    step_bias: Tensor,
    /// `A` and `D` of each head.
    decay: Tensor,
    skip: Tensor,
    /// Of each group apart.
    norm: Option<Tensor>,
    output: Matrix,
    states: MatrixStates,
    epsilon: f64,
}

impl StateSpace {
    pub fn load(layer: &LayerWeights<'_>, states: MatrixStates) -> Result<StateSpace> {
        let (width, MatrixStates { heads, key_heads, .. }) = (layer.config.width, states);
        let name = |part: &str| format!("blk.{}.{part}", layer.index);
        let inputs = states.values() + states.channels() + heads;
        Ok(StateSpace {
            input: layer.linear("ssm_in", inputs, width)?,
            conv: ShortConv::load(layer, "ssm_conv1d", states.kernel, states.channels())?,
            step_bias: layer.weights.values(&name("ssm_dt.bias"), &[heads])?,
            decay: layer.weights.values(&name("ssm_a"), &[heads])?,
            skip: layer.weights.values(&name("ssm_d"), &[heads])?.reshape([heads, 1])?,
            norm: layer
                .weights
                .optional_values(&name("ssm_norm.weight"), &[key_heads, states.values() / key_heads])?,
            output: layer.linear("ssm_out", width, states.values())?,
            states,
            epsilon: f64::from(layer.config.norm_epsilon),
        })
    }

    pub fn apply(
        &self,
        x: &Tensor,
        sequences: &[Sequence<'_>],
        states: &[&[Tensor]],
    ) -> wootz::Result<(Tensor, Vec<Vec<Tensor>>)> {
        let (tokens, m) = (x.shape()[0], self.states);
        let projected = self.input.apply(x)?;
        let gate = projected.narrow(1, 0, m.values())?;
        let steps = projected.narrow(1, m.values() + m.channels(), m.heads)?;
        let last: Vec<&Tensor> = states.iter().map(|state| &state[0]).collect();
        let inputs = projected.narrow(1, m.values(), m.channels())?;
        let (mixed, last) = self.conv.apply(&inputs, sequences, &last)?;
        let mixed = mixed.silu()?;
        let x = mixed.narrow(1, 0, m.values())?.reshape([tokens, m.heads, m.value_len])?;
        let of_groups = |start: usize| {
            let groups = mixed.narrow(1, start, m.keys())?.reshape([tokens, m.key_heads, 1, m.key_len])?;
            let each = [tokens, m.key_heads, m.heads / m.key_heads, m.key_len];
            groups.broadcast_to(each)?.reshape([tokens, m.heads, m.key_len])
        };
        let (b, c) = (of_groups(m.values())?, of_groups(m.values() + m.keys())?);
        let steps = steps.add(&self.step_bias)?.softplus()?;
        let decay =
            steps.mul(&self.decay)?.exp()?.unsqueeze(-1)?.broadcast_to([tokens, m.heads, m.key_len])?;
        // Nothing is forgotten along a key.
        let none = Tensor::zeros_like(&b)?;
        let matrices: Vec<&Tensor> = states.iter().map(|state| &state[1]).collect();
        let learnt = x.mul(&steps.unsqueeze(-1)?)?;
        let (out, matrices) = recur([&c, &decay, &b, &learnt, &none, &none], sequences, &matrices)?;
        let out = out.add(&x.mul(&self.skip)?)?.reshape([tokens, m.values()])?.mul(&gate.silu()?)?;
        let out = self.normed(&out)?;
        let out = self.output.apply(&out)?;
        Ok((out, last.into_iter().zip(matrices).map(|(last, matrices)| vec![last, matrices]).collect()))
    }

    /// Each group at length 1, by its own weights.
    fn normed(&self, out: &Tensor) -> wootz::Result<Tensor> {
        let Some(weights) = &self.norm else { return Ok(out.clone()) };
        let (tokens, groups) = (out.shape()[0], self.states.key_heads);
        let apart = out.reshape([tokens, groups, self.states.values() / groups])?;
        apart.rms_norm(None, self.epsilon)?.mul(weights)?.reshape([tokens, self.states.values()])
    }
}
