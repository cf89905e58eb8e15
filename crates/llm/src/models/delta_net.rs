//! Gated delta nets (Yang et al., 2024), as in Qwen 3 Next and Qwen 3.5: each head keeps a matrix that decays by `α`,
//! forgets its content along the key `k` by `β`, and stores the value `v` in its place: `S ← α·S·(I − β·k·kᵀ) +
//! β·v·kᵀ`, `out = S·q`.

use super::Sequence;
use super::decoder::LayerWeights;
use super::recurrence::recur;
use super::short_conv::ShortConv;
use crate::config::{Family, MatrixStates};
use crate::error::Result;
use crate::weights::Matrix;
use wootz::Tensor;

pub struct DeltaNet {
    /// Queries, keys and values, before the convolution.
    input: Matrix,
    /// What results are gated by.
    gate: Matrix,
    rates: Rates,
    conv: ShortConv,
    /// The decay's bias and factor, for each head.
    decay_bias: Tensor,
    decay: Tensor,
    norm: Tensor,
    output: Matrix,
    states: MatrixStates,
    epsilon: f64,
    /// Whether value heads that share a key head are neighbours (Qwen 3 Next), or a whole set of key heads apart (Qwen 3.5).
    neighbours: bool,
}

/// What `β` and `α` are computed from.
enum Rates {
    Apart {
        beta: Matrix,
        alpha: Matrix,
    },
    /// Key head after key head: the `β` of its value heads, then their `α`.
    Together(Matrix),
}

impl DeltaNet {
    pub fn load(layer: &LayerWeights<'_>, states: MatrixStates) -> Result<DeltaNet> {
        let (width, heads) = (layer.config.width, states.heads);
        let next = layer.config.family == Family::Qwen3Next;
        let vector =
            |part: &str, len: usize| layer.weights.values(&format!("blk.{}.{part}", layer.index), &[len]);
        Ok(DeltaNet {
            input: layer.linear("attn_qkv", states.channels(), width)?,
            gate: layer.linear("attn_gate", states.values(), width)?,
            rates: match next {
                true => Rates::Together(layer.linear("ssm_ba", 2 * heads, width)?),
                false => Rates::Apart {
                    beta: layer.linear("ssm_beta", heads, width)?,
                    alpha: layer.linear("ssm_alpha", heads, width)?,
                },
            },
            conv: ShortConv::load(layer, "ssm_conv1d", states.kernel, states.channels())?,
            decay_bias: vector("ssm_dt.bias", heads)?,
            decay: vector("ssm_a", heads)?,
            norm: layer.norm("ssm_norm", states.value_len)?,
            output: layer.linear("ssm_out", width, states.values())?,
            states,
            epsilon: f64::from(layer.config.norm_epsilon),
            neighbours: next,
        })
    }

    /// `β` and `α` of each token and head, `[t, heads]`, before they are made rates.
    fn rates(&self, x: &Tensor) -> wootz::Result<[Tensor; 2]> {
        let matrix = match &self.rates {
            Rates::Apart { beta, alpha } => return Ok([beta.apply(x)?, alpha.apply(x)?]),
            Rates::Together(matrix) => matrix,
        };
        let (tokens, MatrixStates { heads, key_heads, .. }) = (x.shape()[0], self.states);
        let both = matrix.apply(x)?.reshape([tokens, key_heads, 2, heads / key_heads])?;
        let part = |index: usize| both.narrow(2, index, 1)?.reshape([tokens, heads]);
        Ok([part(0)?, part(1)?])
    }

    /// Key heads `[t, key heads · width]` at length 1, one for each value head.
    fn unit_heads(&self, x: &Tensor) -> wootz::Result<Tensor> {
        let (tokens, m) = (x.shape()[0], self.states);
        let (len, shared) = (m.key_len as f64, m.heads / m.key_heads);
        let x = x.reshape([tokens, m.key_heads, m.key_len])?;
        let x = x.rms_norm(None, self.epsilon / len)?.mul(1.0 / len.sqrt())?;
        let x = match self.neighbours {
            true => x.unsqueeze(2)?.broadcast_to([tokens, m.key_heads, shared, m.key_len])?,
            false => x.unsqueeze(1)?.broadcast_to([tokens, shared, m.key_heads, m.key_len])?,
        };
        x.reshape([tokens, m.heads, m.key_len])
    }

    pub fn apply(
        &self,
        x: &Tensor,
        sequences: &[Sequence<'_>],
        states: &[&[Tensor]],
    ) -> wootz::Result<(Tensor, Vec<Vec<Tensor>>)> {
        let (tokens, m) = (x.shape()[0], self.states);
        let last: Vec<&Tensor> = states.iter().map(|state| &state[0]).collect();
        let (mixed, last) = self.conv.apply(&self.input.apply(x)?, sequences, &last)?;
        let mixed = mixed.silu()?;
        let q = self.unit_heads(&mixed.narrow(1, 0, m.keys())?)?.mul(1.0 / (m.key_len as f64).sqrt())?;
        let k = self.unit_heads(&mixed.narrow(1, m.keys(), m.keys())?)?;
        let values = [tokens, m.heads, m.value_len];
        let v = mixed.narrow(1, 2 * m.keys(), m.values())?.reshape(values)?;

        let [beta, alpha] = self.rates(x)?;
        let beta = beta.sigmoid()?.unsqueeze(-1)?;
        let decay = alpha.add(&self.decay_bias)?.softplus()?.mul(&self.decay)?.exp()?.unsqueeze(-1)?;
        let keys = [tokens, m.heads, m.key_len];
        let w = decay.broadcast_to(keys)?;
        let [removed, replaced] = [k.neg()?, k.mul(&beta.mul(&decay)?)?];
        let matrices: Vec<&Tensor> = states.iter().map(|state| &state[1]).collect();
        let (out, matrices) = recur([&q, &w, &k, &v.mul(&beta)?, &removed, &replaced], sequences, &matrices)?;

        let gate = self.gate.apply(x)?.silu()?.reshape(values)?;
        let out = out.rms_norm(Some(&self.norm), self.epsilon)?.mul(&gate)?;
        let out = self.output.apply(&out.reshape([tokens, m.values()])?)?;
        Ok((out, last.into_iter().zip(matrices).map(|(last, matrices)| vec![last, matrices]).collect()))
    }
}
