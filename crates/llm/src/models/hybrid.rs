//! Networks that mix attention layers with layers of fixed-size state: Qwen 3.5 and Qwen 3 Next (delta nets and gated
//! attention), Granite 4 and Mamba 2 (state spaces), LFM 2 (short convolutions). Everything else is as in Llama.
//!
//! A sequence's state contains the caches of the attention layers first, then the states of the other layers.

use super::decoder::{Ends, Heads, LayerWeights, Projections, TokenPositions};
use super::delta_net::DeltaNet;
use super::experts::FeedForward;
use super::short_conv::GatedConv;
use super::state_space::StateSpace;
use super::{Input, Memory, Network, NewState, Sequence, StateSpec, cache, recurrence};
use crate::config::{Attention, Config, Family, Hybrid, Mixer, Pairs, Recurrence};
use crate::error::{Error, Result};
use crate::rope::Rope;
use crate::weights::Weights;
use wootz::{RopeStyle, Tensor};

pub struct HybridNetwork {
    ends: Ends,
    layers: Vec<Layer>,
    attention: Option<(Attention, Heads)>,
    recurrence: Recurrence,
    epsilon: f64,
    /// Granite's factor on what a part adds.
    residual_scale: Option<f32>,
}

struct Layer {
    norm: Tensor,
    mixer: LayerMixer,
    /// Mamba 2 has none.
    ffn: Option<(Tensor, FeedForward)>,
}

enum LayerMixer {
    Attention(Box<GatedAttention>),
    DeltaNet(Box<DeltaNet>),
    StateSpace(Box<StateSpace>),
    Convolution(Box<GatedConv>),
}

/// Attention whose result a gate may weaken.
struct GatedAttention {
    projections: Projections,
    /// Whether a head's query has its gate behind it.
    is_gated: bool,
    head_norms: Option<[Tensor; 2]>,
}

impl HybridNetwork {
    pub fn load(config: &Config, weights: &Weights) -> Result<HybridNetwork> {
        let Mixer::Hybrid(hybrid) = &config.mixer else {
            let problem = format!("{} without recurrent layers", config.family.name());
            return Err(Error::Model(problem));
        };
        let layers = (0..config.layers).map(|index| Layer::load(config, hybrid, weights, index));
        Ok(HybridNetwork {
            ends: Ends::load(config, weights)?,
            layers: layers.collect::<Result<_>>()?,
            attention: match &hybrid.attention {
                Some(attention) => Some((attention.clone(), heads(attention, weights)?)),
                None => None,
            },
            recurrence: hybrid.recurrence,
            epsilon: f64::from(config.norm_epsilon),
            residual_scale: config.scales.residual,
        })
    }

    fn attending(&self) -> usize {
        self.layers.iter().filter(|layer| matches!(layer.mixer, LayerMixer::Attention(_))).count()
    }

    /// The residual stream with what a part adds.
    fn add(&self, x: &Tensor, part: Tensor) -> wootz::Result<Tensor> {
        match self.residual_scale {
            Some(scale) => x.add(&part.mul(scale)?),
            None => x.add(&part),
        }
    }
}

fn heads(attention: &Attention, weights: &Weights) -> Result<Heads> {
    let factors = weights.optional_values("rope_freqs.weight", &[attention.rope_len / 2])?;
    let factors = factors.map(|f| f.to_vec::<f32>()).transpose()?;
    let style = match attention.rope_pairs {
        Pairs::Neighbours => RopeStyle::Interleaved,
        Pairs::Halves => RopeStyle::Half,
    };
    Heads::new(&Rope::new(attention, factors.as_deref()), style, attention, weights)
}

impl Layer {
    fn load(config: &Config, hybrid: &Hybrid, weights: &Weights, index: usize) -> Result<Layer> {
        let layer = &LayerWeights { config, weights, index };
        let mixer = match (hybrid.is_recurrent[index], hybrid.recurrence) {
            (false, _) => LayerMixer::Attention(Box::new(GatedAttention::load(layer)?)),
            (true, Recurrence::DeltaNet(m)) => LayerMixer::DeltaNet(Box::new(DeltaNet::load(layer, m)?)),
            (true, Recurrence::StateSpace(m)) => {
                LayerMixer::StateSpace(Box::new(StateSpace::load(layer, m)?))
            }
            (true, Recurrence::Convolution { kernel, .. }) => {
                LayerMixer::Convolution(Box::new(GatedConv::load(layer, kernel)?))
            }
        };
        let ffn_norm = if config.family.has_gated_attention() { "post_attention_norm" } else { "ffn_norm" };
        let ffn = match config.family {
            Family::Mamba2 => None,
            _ => Some(FeedForward::load(layer)?),
        };
        Ok(Layer {
            norm: layer.norm("attn_norm", config.width)?,
            mixer,
            ffn: match ffn {
                Some(ffn) => Some((layer.norm(ffn_norm, config.width)?, ffn)),
                None => None,
            },
        })
    }
}

impl GatedAttention {
    fn load(layer: &LayerWeights<'_>) -> Result<GatedAttention> {
        let head = layer.attention()?.key_len;
        let is_gated = layer.config.family.has_gated_attention();
        let is_normed = is_gated || matches!(layer.config.family, Family::Lfm2 | Family::Lfm2Moe);
        Ok(GatedAttention {
            projections: Projections::load(layer)?,
            is_gated,
            head_norms: match is_normed {
                true => Some([layer.norm("attn_q_norm", head)?, layer.norm("attn_k_norm", head)?]),
                false => None,
            },
        })
    }

    fn apply(
        &self,
        x: &Tensor,
        heads: &Heads,
        positions: &TokenPositions<'_>,
        cache: usize,
        epsilon: f64,
    ) -> wootz::Result<(Tensor, Vec<Vec<Tensor>>)> {
        let mut projected = self.projections.apply(x)?;
        let mut gate = None;
        if self.is_gated {
            let (tokens, count, width) = (x.shape()[0], projected.q.shape()[1], projected.q.shape()[2] / 2);
            gate = Some(projected.q.narrow(2, width, width)?.reshape([tokens, count * width])?);
            projected.q = projected.q.narrow(2, 0, width)?;
        }
        if let Some(norms) = &self.head_norms {
            projected = projected.normed(norms, epsilon)?;
        }
        let (mut mixed, caches) = heads.attend(&projected, positions, cache)?;
        if let Some(gate) = gate {
            mixed = mixed.mul(&gate.sigmoid()?)?;
        }
        Ok((self.projections.output.apply(&mixed)?, caches))
    }
}

impl LayerMixer {
    fn recur(
        &self,
        x: &Tensor,
        sequences: &[Sequence<'_>],
        states: &[&[Tensor]],
    ) -> wootz::Result<(Tensor, Vec<Vec<Tensor>>)> {
        match self {
            LayerMixer::Attention(_) => unreachable!("attention has a cache"),
            LayerMixer::DeltaNet(layer) => layer.apply(x, sequences, states),
            LayerMixer::StateSpace(layer) => layer.apply(x, sequences, states),
            LayerMixer::Convolution(layer) => layer.apply(x, sequences, states),
        }
    }
}

impl Network for HybridNetwork {
    fn state(&self, memory: Memory) -> Vec<StateSpec> {
        let attending = self.attending();
        let mut list = match &self.attention {
            Some((attention, _)) => cache::specs(attending, attention, memory),
            None => Vec::new(),
        };
        let own = recurrence::specs(&self.recurrence);
        list.extend((attending..self.layers.len()).flat_map(|_| own.clone()));
        list
    }

    fn forward(&self, input: &Input<'_>) -> wootz::Result<(Tensor, Vec<Tensor>)> {
        let positions = TokenPositions::new(input)?;
        let mut x = self.ends.embed(input.tokens)?;
        let (mut caches, mut states) = (NewState::default(), NewState::default());
        let pieces = recurrence::specs(&self.recurrence).len();
        let recurrent = self.layers.len() - self.attending();
        let (mut attended, mut recurred) = (0, 0);
        for layer in &self.layers {
            let h = x.rms_norm(Some(&layer.norm), self.epsilon)?;
            let mixed = match (&layer.mixer, &self.attention) {
                (LayerMixer::Attention(mixer), Some((_, heads))) => {
                    let (mixed, new) = mixer.apply(&h, heads, &positions, attended, self.epsilon)?;
                    attended += 1;
                    caches.push(new);
                    mixed
                }
                (mixer, _) => {
                    let own = |s: &Sequence<'_>| {
                        let start = s.state.len() - (recurrent - recurred) * pieces;
                        start..start + pieces
                    };
                    let before: Vec<&[Tensor]> = input.sequences.iter().map(|s| &s.state[own(s)]).collect();
                    let (mixed, new) = mixer.recur(&h, input.sequences, &before)?;
                    recurred += 1;
                    states.push(new);
                    mixed
                }
            };
            x = self.add(&x, mixed)?;
            if let Some((norm, ffn)) = &layer.ffn {
                let h = x.rms_norm(Some(norm), self.epsilon)?;
                x = self.add(&x, ffn.apply(&h)?)?;
            }
        }
        caches.join(states);
        Ok((x, caches.into_list()))
    }

    fn embedding(&self, hidden: &Tensor) -> wootz::Result<Tensor> {
        self.ends.normed(hidden)
    }

    fn logits(&self, hidden: &Tensor) -> wootz::Result<Tensor> {
        self.ends.logits(hidden)
    }

    fn can_rewind(&self) -> bool {
        false
    }
}
