//! Common code of layers with a matrix state per head: `S ← S·diag(w) + (S·a)·bᵀ + v·kᵀ` and `out = S·r` for each
//! token.

use super::decoder::own_rows;
use super::{Kept, Sequence, StateSpec, short_conv};
use crate::config::{MatrixStates, Recurrence};
use wootz::{DType, Shape, Tensor};

/// The pieces of state of a recurrent layer.
pub fn specs(recurrence: &Recurrence) -> Vec<StateSpec> {
    match recurrence {
        Recurrence::DeltaNet(m) | Recurrence::StateSpace(m) => {
            vec![short_conv::state(m.kernel, m.channels()), matrices(m)]
        }
        Recurrence::Convolution { kernel, channels } => vec![short_conv::state(*kernel, *channels)],
    }
}

fn matrices(m: &MatrixStates) -> StateSpec {
    let shape = Shape::from([m.heads, m.value_len, m.key_len]);
    StateSpec { shape, dtype: DType::F32, kept: Kept::Latest }
}

/// The recurrence of each sequence over its own rows of r, w, k, v, a and b `[t, heads, …]`, from its own matrices: the outputs of
/// all, and the matrices after them.
pub fn recur(
    inputs: [&Tensor; 6],
    sequences: &[Sequence<'_>],
    states: &[&Tensor],
) -> wootz::Result<(Tensor, Vec<Tensor>)> {
    let start = Tensor::scalar_on(0, DType::I32, inputs[0].device());
    let (mut outs, mut new) = (Vec::new(), Vec::new());
    for (sequence, before) in sequences.iter().zip(states) {
        let own = inputs.map(|x| own_rows(x, sequence));
        let [r, w, k, v, a, b] = own;
        let (out, after) = Tensor::wkv7([&r?, &w?, &k?, &v?, &a?, &b?], before)?;
        outs.push(out);
        new.push(before.write_at(&after, &start, 0)?);
    }
    Ok((super::decoder::joined(outs, 0)?, new))
}
