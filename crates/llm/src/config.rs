//! A model's configuration, from the metadata of its file, and the validation of its tensors against it.

mod attention;
mod experts;
mod keys;
mod recurrence;

use wootz_gguf::{Gguf, Tensor};

use crate::error::{Error, Result};
pub use crate::family::Family;
pub(crate) use attention::PAIRS_KEY;
use attention::attention;
pub use experts::{ExpertActivation, Experts, Gating};
use keys::Keys;
pub(crate) use keys::MAX_EXTENT;
pub use recurrence::{Hybrid, MatrixStates, Recurrence, Recurrent};

/// How positions beyond the training length are supported.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RopeScaling {
    /// Not supported (Llama 3's own scaling is a tensor of factors, `rope_freqs.weight`).
    None,
    /// Positions divided by a factor.
    Linear(f32),
    /// YaRN: low frequencies are divided, high ones kept, with a ramp in between.
    Yarn {
        /// Extension factor.
        factor: f32,
        /// Training length.
        original_context: usize,
        /// How much of the scaling of queries and keys is undone (DeepSeek's `mscale_all_dim`).
        log_multiplier: f32,
    },
}

/// Which values of a head are rotated together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// Values 0 and 1, 2 and 3, …
    Neighbours,
    /// Values `i` and `i + n/2`.
    Halves,
}

/// Attention parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Attention {
    /// Query heads of this rank (all of them if there is one rank).
    pub heads: usize,
    /// Key and value heads.
    pub kv_heads: usize,
    /// Width of a key head.
    pub key_len: usize,
    /// Width of a value head.
    pub value_len: usize,
    /// How many values of a head are rotated.
    pub rope_len: usize,
    /// The pairing of rotated values.
    pub rope_pairs: Pairs,
    /// Base of the rotation frequencies.
    pub rope_base: f32,
    /// Base in sliding-window layers.
    pub rope_base_local: f32,
    /// Scaling of the rotation (full-attention layers).
    pub rope_scaling: RopeScaling,
    /// Factor on rotated queries and keys.
    pub rope_length: f32,
    /// Window of sliding-window layers, if there are any.
    pub window: Option<usize>,
    /// Which layers have the window.
    pub window_layers: WindowLayers,
    /// Overrides for layers with the window.
    pub local: Option<LocalHeads>,
    /// Key and value heads of each layer, if they differ.
    pub kv_heads_of: Vec<usize>,
    /// How many layers, from the first, have their own keys and values; the others use those of the last one of their
    /// kind.
    pub own_caches: Option<usize>,
    /// Heads that share one latent vector for keys and values.
    pub latent: Option<Latent>,
    /// Period of the layers: the last of each period does not rotate.
    pub unrotated_period: Option<usize>,
    /// Factor on the scores, if it is not 1/√(key width).
    pub scale: Option<f32>,
    /// Soft cap on the scores.
    pub softcap: Option<f32>,
    /// Scaling of queries with the position.
    pub temperature: Option<Temperature>,
    /// The model's layers before the first of this rank.
    pub first_layer: usize,
    /// Query heads of all ranks.
    pub all_heads: usize,
}

/// Which layers have a sliding window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WindowLayers {
    /// All but the last of each period.
    Period(usize),
    /// Those that are true.
    List(Vec<bool>),
}

/// Heads of sliding-window layers, if they differ from those of other layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalHeads {
    /// Width of a key head.
    pub key_len: usize,
    /// Width of a value head.
    pub value_len: usize,
    /// How many values of a head are rotated.
    pub rope_len: usize,
}

/// Multi-head latent attention (DeepSeek-AI, 2024): for each token one vector of `rank` values is cached, from which
/// every head computes its keys and values, and one rotated key for all heads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latent {
    /// Width of the vector.
    pub rank: usize,
    /// Width between the two query matrices, if there are two.
    pub query_rank: Option<usize>,
    /// Width of a head's key, of which the last `rope_len` values are rotated.
    pub key_len: usize,
    /// Width of a head's value.
    pub value_len: usize,
}

/// What a layer caches for each position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerHeads {
    /// Key and value heads.
    pub kv_heads: usize,
    /// Width of a key head.
    pub key_len: usize,
    /// Width of a value head.
    pub value_len: usize,
    /// How many values of a head are rotated.
    pub rope_len: usize,
    /// Its window.
    pub window: Option<usize>,
}

/// Queries at position `p` are multiplied by `1 + scale · ln(1 + ⌊p / floor⌋)`, so that attention stays sharp over
/// long texts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Temperature {
    /// Scale.
    pub scale: f32,
    /// Number of positions before it starts.
    pub floor: usize,
}

/// Constant factors.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scales {
    /// On embeddings.
    pub embedding: Option<f32>,
    /// On the output of each sublayer, before it is added to the residual stream.
    pub residual: Option<f32>,
    /// Divisor of the logits.
    pub logits: Option<f32>,
    /// Soft cap on the logits.
    pub logit_cap: Option<f32>,
}

impl Attention {
    /// The window of a layer; `None` attends to everything.
    pub fn window_of(&self, layer: usize) -> Option<usize> {
        let windowed = match &self.window_layers {
            WindowLayers::Period(period) => !(self.first_layer + layer + 1).is_multiple_of((*period).max(1)),
            WindowLayers::List(list) => list.get(self.first_layer + layer).copied().unwrap_or(false),
        };
        self.window.filter(|_| windowed)
    }

    /// The heads of a layer.
    pub fn layer(&self, layer: usize) -> LayerHeads {
        let window = self.window_of(layer);
        let whole = LocalHeads { key_len: self.key_len, value_len: self.value_len, rope_len: self.rope_len };
        let own = self.local.filter(|_| window.is_some()).unwrap_or(whole);
        LayerHeads {
            kv_heads: self.kv_heads_of.get(layer).copied().unwrap_or(self.kv_heads),
            key_len: own.key_len,
            value_len: own.value_len,
            rope_len: own.rope_len,
            window,
        }
    }

    /// How many of `layers` layers have their own keys and values.
    pub fn caches(&self, layers: usize) -> usize {
        self.own_caches.map_or(layers, |own| own.min(layers))
    }
}

/// How information is mixed between positions.
#[derive(Clone, Debug, PartialEq)]
pub enum Mixer {
    /// Attention over a cache of keys and values.
    Attention(Box<Attention>),
    /// A state of fixed size.
    Recurrent(Recurrent),
    /// Layers of both kinds.
    Hybrid(Box<Hybrid>),
}

impl Mixer {
    /// The attention parameters, if any layer has attention.
    pub fn attention(&self) -> Option<&Attention> {
        match self {
            Mixer::Attention(attention) => Some(attention),
            Mixer::Hybrid(hybrid) => hybrid.attention.as_ref(),
            Mixer::Recurrent(_) => None,
        }
    }
}

/// A model's configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Family.
    pub family: Family,
    /// Layers of this rank (all of them if there is one rank).
    pub layers: usize,
    /// Layers of the model.
    pub all_layers: usize,
    /// Width of the residual stream.
    pub width: usize,
    /// Width of the feed-forward network.
    pub ffn: usize,
    /// The same for each layer, if they differ.
    pub ffn_of: Vec<usize>,
    /// Width of the per-layer embeddings, if there are any.
    pub layer_embedding: Option<usize>,
    /// Vocabulary size.
    pub vocab: usize,
    /// Training context length.
    pub context: usize,
    /// Epsilon of norms.
    pub norm_epsilon: f32,
    /// Mixing of positions.
    pub mixer: Mixer,
    /// The mixture of experts, if there is one.
    pub experts: Option<Experts>,
    /// Constant factors.
    pub scales: Scales,
    /// Pooling of embeddings.
    pub pooling: Pooling,
    /// The token between the texts of a pair.
    pub separator: Option<u32>,
    /// Number of scores of a ranking model.
    pub labels: usize,
    /// Width between the two matrices after pooling, if there are any.
    pub dense_width: Option<usize>,
}

/// Pooling of token vectors to a text's embedding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// Mean.
    Mean,
    /// First token.
    First,
    /// Last token.
    Last,
    /// Scores of a text for ranking, computed from the first token of an encoder, or the last one of a decoder.
    Rank,
}

impl Config {
    /// The part of a tensor that a token uses: of a stack of experts, those that are chosen for it.
    pub fn used_part(&self, tensor: &str) -> f64 {
        match self.experts {
            Some(experts) if tensor.contains("_exps.") => experts.used as f64 / experts.count as f64,
            _ => 1.0,
        }
    }

    /// Reads and checks the metadata.
    pub fn from_gguf(gguf: &Gguf) -> Result<Config> {
        let meta = gguf.metadata();
        let family = Family::from_name(meta.str("general.architecture")?)?;
        let keys = Keys { meta, prefix: family.name() };
        let width = keys.extent("embedding_length")?;
        let layers = layers(&keys)?;
        let epsilon = match family {
            Family::Rwkv7 | Family::Bert | Family::NomicBert => "attention.layer_norm_epsilon",
            _ => "attention.layer_norm_rms_epsilon",
        };
        let mixer = match family {
            Family::Rwkv7 => Mixer::Recurrent(Recurrent::read(&keys, width)?),
            _ if family.is_hybrid() => Mixer::Hybrid(Box::new(Hybrid::read(&keys, family, width, layers)?)),
            _ => Mixer::Attention(Box::new(attention(&keys, family, width, layers)?)),
        };
        let experts = Experts::read(&keys, family, gguf)?;
        let embedding = gguf.tensor("token_embd.weight")?;
        let vocab = embedding.dims.get(1).map_or(0, |&d| d as usize);
        let config = Config {
            family,
            layers,
            all_layers: layers,
            width,
            ffn: ffn(&keys, family, experts)?,
            ffn_of: match family {
                Family::Gemma4 => keys.list_of("feed_forward_length", layers)?,
                _ => Vec::new(),
            },
            layer_embedding: match family {
                Family::Gemma4 => {
                    keys.list("embedding_length_per_layer_input")?.first().copied().filter(|&n| n > 0)
                }
                _ => None,
            },
            vocab,
            context: context(&keys, gguf)?,
            norm_epsilon: keys.number_or(epsilon, 1e-5)?,
            mixer,
            experts,
            scales: scales(&keys, family, width)?,
            pooling: pooling(&keys, family)?,
            separator: separator(gguf)?,
            labels: keys
                .meta
                .array(&keys.key("classifier.output_labels"))
                .map_or(1, |labels| labels.len().max(1)),
            dense_width: match family == Family::GemmaEmbedding && keys.has("dense_2_feat_out") {
                true => Some(keys.extent("dense_2_feat_out")?),
                false => None,
            },
        };
        config.tensor(gguf, "token_embd.weight", &[width, vocab.max(1)])?;
        let tokens = meta.optional("tokenizer.ggml.tokens", "an array", |v| v.as_array())?.map(|a| a.len());
        if let Some(tokens) = tokens.filter(|&t| t > vocab) {
            let problem =
                format!("the vocabulary has {tokens} tokens, but token_embd.weight has {vocab} rows");
            return Err(Error::Model(problem));
        }
        Ok(config)
    }

    /// A required tensor with these extents, fastest-varying first.
    pub fn tensor<'g>(&self, gguf: &'g Gguf, name: &str, dims: &[usize]) -> Result<&'g Tensor> {
        let tensor = gguf.tensor(name)?;
        tensor.format()?;
        let same =
            tensor.dims.len() == dims.len() && tensor.dims.iter().zip(dims).all(|(&a, &b)| a == b as u64);
        if !same {
            let problem = format!("tensor '{name}' is {:?}, but the metadata asks for {dims:?}", tensor.dims);
            return Err(Error::Model(problem));
        }
        Ok(tensor)
    }
}

/// Layers of the network itself; those after it (multi-token prediction) are not run.
fn layers(keys: &Keys<'_>) -> Result<usize> {
    let all = keys.extent("block_count")?;
    let key = keys.key("nextn_predict_layers");
    let ahead = keys.meta.optional(&key, "an integer", |v| v.as_u64())?.unwrap_or(0);
    let own = usize::try_from(ahead).ok().and_then(|ahead| all.checked_sub(ahead)).filter(|&own| own > 0);
    own.ok_or_else(|| Error::Model(format!("{key} is {ahead}, but there are only {all} layers")))
}

/// Width of the feed-forward network: the maximum, if layers differ.
fn ffn(keys: &Keys<'_>, family: Family, experts: Option<Experts>) -> Result<usize> {
    match family {
        Family::Mamba2 => Ok(keys.extent("embedding_length")?),
        Family::Gemma4 => Ok(keys.list("feed_forward_length")?.into_iter().max().unwrap_or(1)),
        _ => keys.extent_or("feed_forward_length", experts.map(|e| e.ffn)),
    }
}

/// Maximum supported context length. Phi has one set of factors for its original length and another for longer texts;
/// the choice applies to an entire text, and only the original length is supported.
fn context(keys: &Keys<'_>, gguf: &Gguf) -> Result<usize> {
    let context = keys.extent("context_length")?;
    match gguf.find_tensor("rope_factors_short.weight") {
        Some(_) => Ok(context.min(keys.extent_or("rope.scaling.original_context_length", Some(context))?)),
        None => Ok(context),
    }
}

fn scales(keys: &Keys<'_>, family: Family, width: usize) -> Result<Scales> {
    Ok(match family {
        Family::Granite | Family::GraniteMoe | Family::GraniteHybrid => Scales {
            embedding: keys.factor("embedding_scale")?,
            residual: keys.factor("residual_scale")?,
            logits: keys.factor("logit_scale")?,
            logit_cap: None,
        },
        _ if family.is_gemma() => Scales {
            embedding: Some((width as f32).sqrt()),
            logit_cap: keys.factor("final_logit_softcapping")?,
            ..Scales::default()
        },
        _ => Scales::default(),
    })
}

/// The token between the texts of a pair, which GGUF misspells.
fn separator(gguf: &Gguf) -> Result<Option<u32>> {
    let key = "tokenizer.ggml.seperator_token_id";
    Ok(gguf.metadata().optional(key, "a token id", |value| value.as_u64())?.map(|id| id as u32))
}

/// From the file, or the default of the family.
fn pooling(keys: &Keys<'_>, family: Family) -> Result<Pooling> {
    let key = keys.key("pooling_type");
    match keys.meta.optional(&key, "an integer", |v| v.as_u64())? {
        None | Some(0) if family.is_encoder() => Ok(Pooling::Mean),
        None | Some(0) => Ok(Pooling::Last),
        Some(1) => Ok(Pooling::Mean),
        Some(2) => Ok(Pooling::First),
        Some(3) => Ok(Pooling::Last),
        Some(4) => Ok(Pooling::Rank),
        Some(other) => {
            let known = "1 (mean), 2 (first token), 3 (last token), 4 (ranking)";
            Err(Error::Model(format!("{key} is {other}; supported: {known}")))
        }
    }
}
