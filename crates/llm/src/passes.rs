//! Compiled networks: functions of tokens and sequence states, planned once per shape of their arguments.
//!
//! Prompts have any length, and a plan for each would exhaust memory. So tokens are padded to one of a few lengths if
//! what follows the last token can be forgotten (keys and values beyond it are overwritten before anyone reads them),
//! and split into powers of two if it cannot (a recurrent state).

use crate::error::Result;
use crate::estimate::CacheFormat;
use crate::models::{Input, Network, Sequence};
use crate::ranks::Stage;
use crate::scores::{Scores, Want};
use std::sync::Arc;
use wootz::{Compiled, Device, OnProgress, Quote, Tensor, compile};

/// Plans that each kind of pass keeps. Batches of sequences whose caches have different sizes have many signatures, of
/// which few come again soon.
const PLANS: usize = 96;
/// Maximum chunk size in tokens. Larger chunks gain little once weights are read from cache.
pub const CHUNK: usize = 128;

/// A network, compiled for each kind of result and each kind of cache.
pub struct Passes {
    network: Arc<dyn Network>,
    device: Device,
    compiled: Vec<(Kind, Compiled)>,
}

/// The description of a pass.
pub struct Pass<'a> {
    /// The results besides the state.
    pub want: Want,
    /// The layout of the state.
    pub format: CacheFormat,
    /// Whether its results must not depend on its number of rows.
    pub batch_invariant: bool,
    /// Tokens `[t]`, one sequence after another, of equal length.
    pub tokens: &'a Tensor,
    /// The number of real tokens per sequence; the others are padding.
    pub real: usize,
    /// The sequences.
    pub sequences: &'a [Argument<'a>],
}

impl Pass<'_> {
    /// Whether some rows are selected for logits; with one token per sequence, all rows are needed.
    fn picks(&self) -> bool {
        let last = matches!(self.want, Want::Best | Want::Top | Want::Last);
        last && self.tokens.count() > self.sequences.len()
    }
}

/// The key of a compiled function of a network, besides shapes.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Kind {
    want: Want,
    format: CacheFormat,
    batch_invariant: bool,
    /// Whether the last argument lists the rows to compute logits for.
    picks: bool,
}

/// One sequence's arguments.
pub struct Argument<'a> {
    /// Position of its first token, `[1]`.
    pub position: Tensor,
    /// The same relative to sliding windows; only networks with windows read it.
    pub window_position: Option<Tensor>,
    /// Its state.
    pub state: &'a [Tensor],
}

impl Passes {
    /// The passes of a network, which may be a pipeline stage.
    pub fn new(network: &Arc<dyn Network>, device: &Device, vocab: usize, stage: Option<&Stage>) -> Passes {
        let bools = [(false, false), (false, true), (true, false), (true, true)];
        let kinds = Want::ALL.into_iter().flat_map(|want| {
            CacheFormat::ALL.into_iter().flat_map(move |(_, format)| {
                bools.map(|(batch_invariant, picks)| Kind { want, format, batch_invariant, picks })
            })
        });
        let compiled = kinds.map(|kind| {
            let (network, stage) = (network.clone(), stage.cloned());
            let pass = move |arguments: &[Tensor]| forward(&*network, vocab, stage.as_ref(), kind, arguments);
            (kind, compile(device, pass).batch_invariant(kind.batch_invariant).keep_plans(PLANS))
        });
        Passes { network: network.clone(), device: device.clone(), compiled: compiled.collect() }
    }

    /// Submits a pass without waiting. Returns the requested outputs and the state of each sequence.
    pub fn run(&self, pass: &Pass<'_>) -> Result<(Vec<Tensor>, Vec<Vec<Tensor>>)> {
        let arguments = self.arguments(pass)?;
        let mut results = self.compiled(pass).call_async(&arguments.iter().collect::<Vec<_>>())?;
        let mut states = Vec::with_capacity(pass.sequences.len());
        for sequence in pass.sequences.iter().rev() {
            let state = results.split_off(results.len() - sequence.state.len());
            states.push(state.iter().map(Tensor::donate).collect::<wootz::Result<_>>()?);
        }
        states.reverse();
        Ok((results, states))
    }

    /// The cost of such a pass on a device that has the weights and the state.
    pub fn quote(
        &self,
        pass: &Pass<'_>,
        device: &Device,
        on_progress: &mut OnProgress<'_>,
    ) -> Result<std::result::Result<Quote, String>> {
        let arguments = self.arguments(pass)?;
        Ok(self.compiled(pass).quote(device, &arguments.iter().collect::<Vec<_>>(), on_progress)?)
    }

    fn compiled(&self, pass: &Pass<'_>) -> &Compiled {
        let wanted = Kind {
            want: pass.want,
            format: pass.format,
            batch_invariant: pass.batch_invariant,
            picks: pass.picks(),
        };
        let found = self.compiled.iter().find(|(kind, _)| *kind == wanted);
        &found.expect("every kind of pass is compiled").1
    }

    /// Tokens, then position and state of each sequence, then the rows of the last real tokens, unless each sequence
    /// has a single token.
    fn arguments(&self, pass: &Pass<'_>) -> Result<Vec<Tensor>> {
        let count = pass.sequences.len();
        let each = pass.tokens.count() / count;
        let mut arguments = vec![pass.tokens.clone()];
        for sequence in pass.sequences {
            arguments.push(sequence.position.clone());
            arguments.extend(sequence.window_position.clone());
            arguments.extend(sequence.state.iter().cloned());
        }
        if pass.picks() {
            let rows: Vec<i32> = (0..count).map(|i| (i * each + pass.real - 1) as i32).collect();
            arguments.push(Tensor::from_slice_on(&rows, &self.device)?);
        }
        Ok(arguments)
    }

    /// Splits `count` tokens into passes: real tokens, and tokens with padding, of which at most `room` fit.
    pub fn cut(&self, count: usize, room: usize) -> Vec<(usize, usize)> {
        cut(count, room, self.network.can_rewind())
    }
}

fn cut(count: usize, room: usize, can_pad: bool) -> Vec<(usize, usize)> {
    let mut pieces = vec![(CHUNK, CHUNK); count / CHUNK];
    let mut rest = count % CHUNK;
    let padded = match rest {
        0..=8 => rest,
        9..=32 => rest.next_multiple_of(8),
        _ => rest.next_multiple_of(16),
    };
    if can_pad && count - rest + padded <= room {
        pieces.extend((rest > 0).then_some((rest, padded)));
        return pieces;
    }
    while rest > 0 {
        let piece = 1 << rest.ilog2();
        pieces.push((piece, piece));
        rest -= piece;
    }
    pieces
}

/// The graph of a pass over `[tokens, (position, state…) of each sequence, rows to keep]`.
fn forward(
    network: &dyn Network,
    vocab: usize,
    stage: Option<&Stage>,
    kind: Kind,
    arguments: &[Tensor],
) -> wootz::Result<Vec<Tensor>> {
    let Kind { want, format, picks, .. } = kind;
    let positions = if network.window().is_some() { 2 } else { 1 };
    let own = positions + network.pieces(format);
    let (rows, arguments) = match arguments.split_last() {
        Some((rows, others)) if picks => (Some(rows), others),
        _ => (None, arguments),
    };
    let count = (arguments.len() - 1) / own;
    let each = arguments[0].shape()[0] / count;
    let sequences: Vec<Sequence<'_>> = arguments[1..]
        .chunks_exact(own)
        .enumerate()
        .map(|(i, own)| Sequence {
            rows: i * each..(i + 1) * each,
            position: &own[0],
            window_position: &own[positions - 1],
            state: &own[positions..],
            format,
        })
        .collect();
    let (hidden, state) = network.forward(&Input { tokens: &arguments[0], sequences: &sequences })?;
    let logits = || match rows {
        Some(rows) => network.logits(&hidden.take(rows, 0)?),
        None => network.logits(&hidden),
    };
    let count = rows.map_or(hidden.shape()[0], |rows| rows.shape()[0]);
    let results = match stage {
        Some(stage) => stage.results(want, &hidden, [count, vocab], logits)?,
        None if want == Want::Nothing => vec![],
        None => Scores::build(want, logits()?)?,
    };
    Ok(results.into_iter().chain(state).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_lengths_serve_all() {
        let mut lengths: Vec<usize> = (1..1000).flat_map(|n| cut(n, 4096, true)).map(|(_, n)| n).collect();
        lengths.sort_unstable();
        lengths.dedup();
        assert!(lengths.len() <= 18, "{lengths:?}");
        let mut exact: Vec<usize> = (1..1000).flat_map(|n| cut(n, 4096, false)).map(|(_, n)| n).collect();
        exact.sort_unstable();
        exact.dedup();
        assert_eq!(exact, [1, 2, 4, 8, 16, 32, 64, 128]);
    }

    #[test]
    fn pieces_are_all_of_it_and_fit() {
        for (count, room, can_pad) in [(300, 300, true), (300, 301, true), (37, 64, true), (37, 64, false)] {
            let pieces = cut(count, room, can_pad);
            assert_eq!(pieces.iter().map(|p| p.0).sum::<usize>(), count);
            let (last, before) = pieces.split_last().unwrap();
            assert!(before.iter().all(|p| p.0 == p.1), "only the end is padded");
            assert!(count - last.0 + last.1 <= room, "{pieces:?} in {room}");
        }
        assert_eq!(cut(37, 64, true), [(37, 48)]);
        assert_eq!(cut(37, 40, true), [(32, 32), (4, 4), (1, 1)], "where padding does not fit");
    }
}
