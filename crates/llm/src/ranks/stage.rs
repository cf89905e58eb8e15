//! Pipelines: the layers of a rank, and what is passed to the next.

use crate::config::{Config, Mixer};
use crate::error::{Error, Result};
use crate::scores::{Scores, Want};
use std::ops::Range;
use wootz::distributed::Group;
use wootz::{DType, Tensor};
use wootz_gguf::Gguf;

/// The layer that a tensor is of.
pub fn layer_of(name: &str) -> Option<usize> {
    name.strip_prefix("blk.")?.split_once('.')?.0.parse().ok()
}

/// The shape of a model that has these layers only.
pub fn config(whole: &Config, own: &Range<usize>) -> Config {
    let mut config = whole.clone();
    config.layers = own.len();
    config.ffn_of = of_layers(&whole.ffn_of, own);
    if let Some(experts) = &mut config.experts {
        experts.dense_layers = experts.dense_layers.saturating_sub(own.start);
    }
    let attention = match &mut config.mixer {
        Mixer::Attention(attention) => Some(&mut **attention),
        Mixer::Hybrid(hybrid) => {
            hybrid.is_recurrent = of_layers(&hybrid.is_recurrent, own);
            hybrid.attention.as_mut()
        }
        Mixer::Recurrent(_) => None,
    };
    if let Some(attention) = attention {
        attention.first_layer = own.start;
        attention.kv_heads_of = of_layers(&attention.kv_heads_of, own);
    }
    config
}

/// What a list has for these layers; it may be empty.
fn of_layers<T: Clone>(list: &[T], own: &Range<usize>) -> Vec<T> {
    list.get(own.clone()).map(<[T]>::to_vec).unwrap_or_default()
}

/// The layers of a rank, such that the largest part is as small as it can be. The last rank has the output matrix too.
pub fn layers(gguf: &Gguf, config: &Config, rank: usize, size: usize) -> Result<Range<usize>> {
    if size > config.layers {
        return Err(Error::Model(format!("{size} ranks are too many for {} layers", config.layers)));
    }
    let mut weights = vec![0u64; config.layers];
    for tensor in gguf.tensors() {
        if let Some(layer) = layer_of(&tensor.name).filter(|&layer| layer < config.layers) {
            weights[layer] += tensor.bytes;
        }
    }
    let output = gguf.find_tensor(super::output_name(gguf)).map_or(0, |tensor| tensor.bytes);
    let ends = balanced(&weights, output, size);
    let start = if rank == 0 { 0 } else { ends[rank - 1] };
    Ok(start..ends[rank])
}

/// Where each of `size` consecutive parts ends, none of them empty, with `last` added to the last one's weight.
fn balanced(weights: &[u64], last: u64, size: usize) -> Vec<usize> {
    let count = weights.len();
    let sums: Vec<u64> = std::iter::once(0)
        .chain(weights.iter().scan(0, |sum, w| {
            *sum += w;
            Some(*sum)
        }))
        .collect();
    // best[n]: the least largest part of the first n layers over the ranks so far, and where the last part begins.
    let mut best: Vec<Option<u64>> = (0..=count).map(|n| (n > 0).then(|| sums[n])).collect();
    if size == 1 {
        return vec![count];
    }
    let mut begins: Vec<Vec<usize>> = Vec::new();
    for ranks in 2..=size {
        let extra = if ranks == size { last } else { 0 };
        let (mut next, mut begin) = (vec![None; count + 1], vec![0; count + 1]);
        for end in ranks..=count {
            for start in ranks - 1..end {
                let Some(before) = best[start] else { continue };
                let largest = before.max(sums[end] - sums[start] + extra);
                if next[end].is_none_or(|known| largest < known) {
                    (next[end], begin[end]) = (Some(largest), start);
                }
            }
        }
        begins.push(begin);
        best = next;
    }
    let mut ends = vec![count];
    for begin in begins.iter().rev() {
        ends.push(begin[*ends.last().unwrap_or(&count)]);
    }
    ends.reverse();
    ends
}

/// A rank's place in a pipeline.
#[derive(Clone, Debug)]
pub struct Stage {
    group: Group,
}

impl Stage {
    pub fn new(group: &Group) -> Stage {
        Stage { group: group.clone() }
    }

    fn last(&self) -> usize {
        self.group.size() - 1
    }

    /// Whether the layers before these are on another rank.
    pub fn is_first(&self) -> bool {
        self.group.rank() == 0
    }

    /// Whether there are no layers behind these.
    pub fn is_last(&self) -> bool {
        self.group.rank() == self.last()
    }

    /// The hidden vectors of these tokens, from the rank before.
    pub fn receive(&self, tokens: &Tensor, width: usize) -> wootz::Result<Tensor> {
        let shape = [tokens.shape()[0], width];
        self.group.recv_after(tokens, shape, DType::F32, self.group.rank() - 1)
    }

    /// What a pass returns: on the last rank the scores, which go to all; on the others what they will be, once hidden vectors have been
    /// handed on. `rows` tokens have logits.
    pub fn results(
        &self,
        want: Want,
        hidden: &Tensor,
        [rows, vocab]: [usize; 2],
        logits: impl FnOnce() -> wootz::Result<Tensor>,
    ) -> wootz::Result<Vec<Tensor>> {
        if self.is_last() {
            let scores = if want == Want::Nothing { vec![] } else { Scores::build(want, logits()?)? };
            return scores.iter().map(|score| self.group.broadcast(score, self.last())).collect();
        }
        let sent = self.group.send_mark(hidden, self.group.rank() + 1)?;
        if want == Want::Nothing {
            return Ok(vec![sent]);
        }
        // Never computed: it says what shapes the scores have.
        let like = Scores::build(want, Tensor::full_on([rows, vocab], 0, DType::F32, hidden.device())?)?;
        let mut results: Vec<Tensor> = Vec::with_capacity(like.len());
        for score in &like {
            let before = results.last().unwrap_or(&sent);
            let (shape, dtype) = (score.shape().clone(), score.dtype());
            results.push(self.group.broadcast_after(before, shape, dtype, self.last())?);
        }
        Ok(results)
    }
}

#[cfg(test)]
mod tests {
    use super::balanced;

    #[test]
    fn the_largest_part_is_as_small_as_it_can_be() {
        assert_eq!(balanced(&[1; 8], 0, 4), [2, 4, 6, 8]);
        assert_eq!(balanced(&[1; 8], 0, 1), [8]);
        assert_eq!(balanced(&[1; 8], 4, 2), [6, 8], "the last one has an output matrix");
        assert_eq!(balanced(&[1, 1, 1], 100, 3), [1, 2, 3], "no part is empty");
        assert_eq!(balanced(&[9, 1, 1, 1, 9], 0, 3), [1, 4, 5]);
    }
}
