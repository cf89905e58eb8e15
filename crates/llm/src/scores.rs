//! The part of the logits that is needed to choose the next token.
//!
//! The most likely token is found on the device, and so are the few candidates for top-k sampling. Full rows of
//! logits are copied to the host only on request.

use crate::error::{Error, Result};
use crate::sampling::{Offer, Sampling};
use serde::{Deserialize, Serialize};
use wootz::{DType, Device, DeviceKind, Tensor};

/// Which results a pass has beside the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Want {
    /// None.
    Nothing,
    /// The most likely token after each sequence.
    Best,
    /// The most likely token after every token.
    BestOfEach,
    /// The [`TOP`] most likely tokens after each sequence, with their logits.
    Top,
    /// Logits after the last token of each sequence.
    Last,
    /// Logits after every token.
    Every,
}

/// Number of candidates in [`Want::Top`]: enough for a top-k of 64 when 64 recent tokens have been penalised.
pub const TOP: usize = 128;

impl Want {
    /// All variants.
    pub const ALL: [Want; 6] =
        [Want::Nothing, Want::Best, Want::BestOfEach, Want::Top, Want::Last, Want::Every];

    /// The minimum that sampling needs. A CPU's logits are in host memory anyway, and selecting candidates there is
    /// faster than sorting.
    pub fn of(sampling: &Sampling, device: &Device) -> Want {
        match sampling.candidates_needed() {
            Some(1) => Want::Best,
            Some(count) if count <= TOP && device.info().kind != DeviceKind::Cpu => Want::Top,
            _ => Want::Last,
        }
    }
}

/// The results of a pass after the last token of each sequence.
pub enum Scores {
    /// `[sequences]` tokens, and their logits.
    Best(Tensor, Tensor),
    /// `[sequences, TOP]` tokens, their logits, and the largest logit, which is NaN if any is.
    Top(Tensor, Tensor, Tensor),
    /// `[sequences, vocab]` logits.
    All(Tensor),
}

impl Scores {
    /// The output tensors of a graph for `want`.
    pub fn build(want: Want, logits: Tensor) -> wootz::Result<Vec<Tensor>> {
        Ok(match want {
            Want::Nothing => vec![],
            Want::Best | Want::BestOfEach => {
                vec![logits.argmax(-1)?.cast(DType::I32)?, logits.max_axes([-1], false)?]
            }
            Want::Top => {
                let (tokens, values) = top(&logits, TOP.min(logits.shape()[1]))?;
                vec![tokens, values, logits.max_axes([-1], false)?]
            }
            Want::Last | Want::Every => vec![logits],
        })
    }

    /// The same tensors, evaluated or in flight.
    pub fn new(tensors: Vec<Tensor>) -> Result<Scores> {
        let mut tensors = tensors.into_iter();
        match (tensors.next(), tensors.next(), tensors.next()) {
            (Some(logits), None, _) => Ok(Scores::All(logits)),
            (Some(token), Some(logit), None) => Ok(Scores::Best(token, logit)),
            (Some(tokens), Some(logits), Some(largest)) => Ok(Scores::Top(tokens, logits, largest)),
            (None, ..) => Err(Error::Model("a pass returned no logits".into())),
        }
    }

    /// The most likely token as a tensor `[sequences]`, from which the next pass can start before the host knows it.
    pub fn best(&self) -> Option<&Tensor> {
        match self {
            Scores::Best(token, _) => Some(token),
            Scores::Top(..) | Scores::All(_) => None,
        }
    }

    /// What each sequence samples from, on the host.
    pub fn read(&self) -> Result<Vec<Offer>> {
        let ids = |tokens: &Tensor| -> Result<Vec<u32>> {
            Ok(tokens.to_vec::<i32>()?.into_iter().map(|id| id as u32).collect())
        };
        match self {
            Scores::Best(tokens, logits) => {
                let pairs = ids(tokens)?.into_iter().zip(logits.to_vec::<f32>()?);
                Ok(pairs.map(|(token, logit)| Offer::Best(token, logit)).collect())
            }
            Scores::Top(tokens, logits, largest) => {
                let (count, all) = (tokens.shape()[1], ids(tokens)?);
                let logits = logits.to_vec::<f32>()?;
                let pairs: Vec<(u32, f32)> = all.into_iter().zip(logits).collect();
                let rows = pairs.chunks_exact(count).zip(largest.to_vec::<f32>()?);
                Ok(rows.map(|(row, largest)| Offer::Top { largest, candidates: row.to_vec() }).collect())
            }
            Scores::All(logits) => Ok(rows(logits)?.into_iter().map(Offer::All).collect()),
        }
    }
}

/// The rows of a matrix of logits.
pub fn rows(logits: &Tensor) -> Result<Vec<Vec<f32>>> {
    let values = logits.to_vec::<f32>()?;
    Ok(values.chunks_exact(logits.shape()[1].max(1)).map(<[f32]>::to_vec).collect())
}

/// Number of columns sorted together.
const SPAN: usize = 1024;

/// The `k` largest values of each row and their columns, in descending order with ties in column order. Long rows are
/// split into spans whose own `k` largest are then compared, so that a GPU sorts spans in parallel in its fast
/// memory.
fn top(rows: &Tensor, k: usize) -> wootz::Result<(Tensor, Tensor)> {
    let (count, columns) = (rows.shape()[0], rows.shape()[1]);
    let spans = columns.div_ceil(SPAN);
    if spans < 3 || k * 2 > SPAN {
        let (values, order) = rows.top_k(k, -1)?;
        return Ok((order.cast(DType::I32)?, values));
    }
    let padded = rows.pad(&[(0, 0), (0, spans * SPAN - columns)], f64::NEG_INFINITY)?;
    let (values, order) = padded.reshape([count, spans, SPAN])?.top_k(k, -1)?;
    let starts = Tensor::iota_on([spans, 1], rows.device())?.mul(SPAN as i64)?;
    let all = order.cast(DType::I32)?.add(&starts.cast(DType::I32)?)?.reshape([count, spans * k])?;
    let (values, order) = values.reshape([count, spans * k])?.top_k(k, -1)?;
    Ok((all.take_along_axis(&order, -1)?, values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_of_long_rows_are_those_of_a_whole_sort() {
        let device = Device::cpu();
        for columns in [100, 1024, 5000, 5120] {
            // Few different values, so that ties are everywhere.
            let values: Vec<f32> = (0..2 * columns).map(|i| ((i * 7919) % 97) as f32 - 50.0).collect();
            let rows = Tensor::from_slice_on(&values, &device).unwrap().reshape([2, columns]).unwrap();
            let (tokens, logits) = top(&rows, 64).unwrap();
            let (tokens, logits) = (tokens.to_vec::<i32>().unwrap(), logits.to_vec::<f32>().unwrap());
            for row in 0..2 {
                let own = &values[row * columns..][..columns];
                let mut order: Vec<usize> = (0..columns).collect();
                order.sort_by(|&a, &b| own[b].total_cmp(&own[a]).then(a.cmp(&b)));
                let expected: Vec<i32> = order[..64].iter().map(|&i| i as i32).collect();
                assert_eq!(tokens[row * 64..][..64], expected, "{columns} columns");
                assert!(expected.iter().zip(&logits[row * 64..]).all(|(&i, l)| own[i as usize] == *l));
            }
        }
    }
}
