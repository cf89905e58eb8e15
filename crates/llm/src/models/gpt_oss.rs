//! gpt-oss (OpenAI, 2025): a mixture of experts with biases everywhere; every other layer has a sliding window, and
//! every head an attention sink, a score that takes part in the softmax so that a head can attend to nothing.

use super::decoder::{Ends, Heads, LayerWeights, Projections, TokenPositions, attention_of};
use super::experts::RoutedFeedForward;
use super::{Input, Memory, Network, NewState, StateSpec, cache};
use crate::config::{Attention, Config};
use crate::error::{Error, Result};
use crate::rope::Rope;
use crate::weights::Weights;
use wootz::{RopeStyle, Tensor};

pub struct GptOss {
    ends: Ends,
    layers: Vec<Layer>,
    attention: Attention,
    epsilon: f64,
}

struct Layer {
    heads: Heads,
    attention_norm: Tensor,
    projections: Projections,
    ffn_norm: Tensor,
    ffn: RoutedFeedForward,
}

impl GptOss {
    pub fn load(config: &Config, weights: &Weights) -> Result<GptOss> {
        let attention = attention_of(config)?.clone();
        let layer = |index| Layer::load(&LayerWeights { config, weights, index });
        let layers = (0..config.layers).map(layer).collect::<Result<_>>()?;
        let epsilon = f64::from(config.norm_epsilon);
        Ok(GptOss { ends: Ends::load(config, weights)?, layers, attention, epsilon })
    }
}

impl Layer {
    fn load(layer: &LayerWeights<'_>) -> Result<Layer> {
        let (width, attention) = (layer.config.width, layer.attention()?);
        let experts = layer.config.experts.ok_or_else(|| Error::Model("gpt-oss without experts".into()))?;
        let heads = Heads::new(&Rope::new(attention, None), RopeStyle::Half, attention, layer.weights)?;
        Ok(Layer {
            heads: Heads {
                window: attention.window_of(layer.index),
                sinks: Some(layer.norm("attn_sinks", attention.heads)?),
                ..heads
            },
            attention_norm: layer.norm("attn_norm", width)?,
            projections: Projections::load(layer)?,
            ffn_norm: layer.norm("post_attention_norm", width)?,
            ffn: RoutedFeedForward::load(layer, experts)?,
        })
    }
}

impl Network for GptOss {
    fn state(&self, memory: Memory) -> Vec<StateSpec> {
        cache::specs(self.layers.len(), &self.attention, memory)
    }

    fn window(&self) -> Option<usize> {
        self.attention.window
    }

    fn forward(&self, input: &Input<'_>) -> wootz::Result<(Tensor, Vec<Tensor>)> {
        let positions = TokenPositions::new(input)?;
        let mut x = self.ends.embed(input.tokens)?;
        let mut state = NewState::default();
        for (i, layer) in self.layers.iter().enumerate() {
            let h = x.rms_norm(Some(&layer.attention_norm), self.epsilon)?;
            let (mixed, cache) = layer.heads.attend(&layer.projections.apply(&h)?, &positions, i)?;
            state.push(cache);
            x = x.add(&layer.projections.output.apply(&mixed)?)?;
            let h = x.rms_norm(Some(&layer.ffn_norm), self.epsilon)?;
            x = x.add(&layer.ffn.apply(&h)?)?;
        }
        Ok((x, state.into_list()))
    }

    fn embedding(&self, hidden: &Tensor) -> wootz::Result<Tensor> {
        self.ends.normed(hidden)
    }

    fn logits(&self, hidden: &Tensor) -> wootz::Result<Tensor> {
        self.ends.logits(hidden)
    }
}
