//! A model's shape, from the metadata of its file; and the check of its tensors against it.

use wootz_gguf::{Gguf, Metadata, Tensor, Value};

use crate::error::{Error, Result};

/// The families that can be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Llama 2 and 3, Mistral, SmolLM.
    Llama,
    /// Qwen 2 and 2.5: Llama with biases on query, key and value.
    Qwen2,
    /// Qwen 3: norms on query and key heads.
    Qwen3,
    /// Gemma 3: sliding windows, norms around each part, scaled embeddings.
    Gemma3,
    /// RWKV-7: recurrent state instead of attention.
    Rwkv7,
}

impl Family {
    const ALL: [(Family, &'static str); 5] = [
        (Family::Llama, "llama"),
        (Family::Qwen2, "qwen2"),
        (Family::Qwen3, "qwen3"),
        (Family::Gemma3, "gemma3"),
        (Family::Rwkv7, "rwkv7"),
    ];

    /// The name in `general.architecture`.
    pub fn name(self) -> &'static str {
        Family::ALL.iter().find(|f| f.0 == self).map_or("", |f| f.1)
    }

    fn from_name(name: &str) -> Result<Family> {
        Family::ALL.iter().find(|f| f.1 == name).map(|f| f.0).ok_or_else(|| {
            let known: Vec<&str> = Family::ALL.iter().map(|f| f.1).collect();
            Error::Model(format!("architecture '{name}' is not one of those supported: {}", known.join(", ")))
        })
    }
}

/// How positions beyond the training length are reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RopeScaling {
    /// Not at all (Llama 3's own scaling is a tensor of factors, `rope_freqs.weight`).
    None,
    /// Positions divided by a factor.
    Linear(f32),
    /// YaRN: low frequencies divided, high ones kept, a ramp between.
    Yarn {
        /// How much longer.
        factor: f32,
        /// The training length.
        original_context: usize,
    },
}

/// Which values of a head turn together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// Values 0 and 1, 2 and 3, …
    Neighbours,
    /// Values `i` and `i + n/2`.
    Halves,
}

/// Numbers of an attention model.
#[derive(Clone, Debug, PartialEq)]
pub struct Attention {
    /// Query heads.
    pub heads: usize,
    /// Key and value heads.
    pub kv_heads: usize,
    /// Width of a key head.
    pub key_len: usize,
    /// Width of a value head.
    pub value_len: usize,
    /// How many values of a head are rotated.
    pub rope_len: usize,
    /// Which of them turn together.
    pub rope_pairs: Pairs,
    /// Base of the rotation frequencies.
    pub rope_base: f32,
    /// Base in sliding-window layers.
    pub rope_base_local: f32,
    /// Scaling of the rotation (full-attention layers).
    pub rope_scaling: RopeScaling,
    /// Window of sliding-window layers, if there are any.
    pub window: Option<usize>,
    /// Every so many layers, the last one attends to everything; the others have the window.
    pub window_period: usize,
}

impl Attention {
    /// The window of a layer; `None` attends to everything.
    pub fn window_of(&self, layer: usize) -> Option<usize> {
        self.window.filter(|_| !(layer + 1).is_multiple_of(self.window_period.max(1)))
    }
}

/// Numbers of a recurrent model.
#[derive(Clone, Debug, PartialEq)]
pub struct Recurrent {
    /// Width of a head; the state of a head is its square.
    pub head_len: usize,
    /// Ranks of the low-rank projections: decay, in-context rate, value residual, gate.
    pub ranks: [usize; 4],
}

/// What mixes information between positions.
#[derive(Clone, Debug, PartialEq)]
pub enum Mixer {
    /// Attention over a cache of keys and values.
    Attention(Attention),
    /// A state of fixed size.
    Recurrent(Recurrent),
}

/// A model's shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Family.
    pub family: Family,
    /// Layers.
    pub layers: usize,
    /// Width of the residual stream.
    pub width: usize,
    /// Width of the feed-forward part.
    pub ffn: usize,
    /// Tokens.
    pub vocab: usize,
    /// Positions that the model was trained for.
    pub context: usize,
    /// Added to the variance in norms.
    pub norm_epsilon: f32,
    /// What mixes positions.
    pub mixer: Mixer,
}

/// Extents beyond this are refused: no model has them, and products of them stay far from overflow.
pub(crate) const MAX_EXTENT: usize = 1 << 24;

/// Keys of one architecture.
struct Keys<'a> {
    meta: Metadata<'a>,
    prefix: &'static str,
}

impl<'a> Keys<'a> {
    fn key(&self, name: &str) -> String {
        format!("{}.{name}", self.prefix)
    }

    /// An extent: at least 1, and not absurd.
    fn extent(&self, name: &str) -> Result<usize> {
        self.extent_or(name, None)
    }

    fn extent_or(&self, name: &str, default: Option<usize>) -> Result<usize> {
        let key = self.key(name);
        // Per-layer lists occur; layers that differ are refused, equal ones are one number.
        let read = |v: &Value<'a>| match v.as_array() {
            None => v.as_u64(),
            Some(list) => {
                let mut values = list.iter().map(|v| v.as_u64());
                let first = values.next().flatten()?;
                values.all(|v| v == Some(first)).then_some(first)
            }
        };
        let found = self.meta.optional(&key, "a positive integer, the same for all layers", read)?;
        let value = match (found, default) {
            (Some(value), _) => usize::try_from(value).unwrap_or(usize::MAX),
            (None, Some(default)) => default,
            (None, None) => return Err(wootz_gguf::Error::MissingKey(key).into()),
        };
        if value == 0 || value > MAX_EXTENT {
            return Err(Error::Model(format!("{key} is {value}, which is not from 1 to {MAX_EXTENT}")));
        }
        Ok(value)
    }

    fn number_or(&self, name: &str, default: f32) -> Result<f32> {
        let key = self.key(name);
        let value = self.meta.optional(&key, "a number", |v| v.as_f64())?.map_or(default, |v| v as f32);
        if !value.is_finite() || value < 0.0 {
            return Err(Error::Model(format!("{key} is {value}")));
        }
        Ok(value)
    }
}

impl Config {
    /// Reads and checks the metadata.
    pub fn from_gguf(gguf: &Gguf) -> Result<Config> {
        let meta = gguf.metadata();
        let family = Family::from_name(meta.str("general.architecture")?)?;
        let keys = Keys { meta, prefix: family.name() };
        let width = keys.extent("embedding_length")?;
        let (mixer, epsilon) = match family {
            Family::Rwkv7 => (Mixer::Recurrent(recurrent(&keys, width)?), "attention.layer_norm_epsilon"),
            _ => (Mixer::Attention(attention(&keys, family, width)?), "attention.layer_norm_rms_epsilon"),
        };
        let embedding = gguf.tensor("token_embd.weight")?;
        let vocab = embedding.dims.get(1).map_or(0, |&d| d as usize);
        let config = Config {
            family,
            layers: keys.extent("block_count")?,
            width,
            ffn: keys.extent("feed_forward_length")?,
            vocab,
            context: keys.extent("context_length")?,
            norm_epsilon: keys.number_or(epsilon, 1e-5)?,
            mixer,
        };
        config.tensor(gguf, "token_embd.weight", &[width, vocab.max(1)])?;
        let tokens = meta.optional("tokenizer.ggml.tokens", "an array", |v| v.as_array())?.map(|a| a.len());
        if let Some(tokens) = tokens.filter(|&t| t > vocab) {
            let problem = format!("the vocabulary has {tokens} tokens, but token_embd.weight {vocab} rows");
            return Err(Error::Model(problem));
        }
        Ok(config)
    }

    /// A tensor that must be there with these extents, fastest-varying first.
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

fn attention(keys: &Keys<'_>, family: Family, width: usize) -> Result<Attention> {
    let heads = keys.extent("attention.head_count")?;
    let kv_heads = keys.extent_or("attention.head_count_kv", Some(heads))?;
    let default = if width.is_multiple_of(heads) { Some(width / heads) } else { None };
    let key_len = keys.extent_or("attention.key_length", default)?;
    let value_len = keys.extent_or("attention.value_length", default)?;
    let rope_len = keys.extent_or("rope.dimension_count", Some(key_len))?;
    let problem = if !heads.is_multiple_of(kv_heads) {
        format!("{heads} query heads cannot share {kv_heads} key heads")
    } else if rope_len > key_len || !rope_len.is_multiple_of(2) {
        format!("{rope_len} of the {key_len} values of a head cannot be rotated in pairs")
    } else {
        let gemma = family == Family::Gemma3;
        let has_window = keys.meta.get(&keys.key("attention.sliding_window")).is_some();
        // Mistral files may name a window of 0 for none.
        let window = if has_window && gemma { Some(keys.extent("attention.sliding_window")?) } else { None };
        let rope_base = keys.number_or("rope.freq_base", 10_000.0)?;
        return Ok(Attention {
            heads,
            kv_heads,
            key_len,
            value_len,
            rope_len,
            rope_pairs: pairs(keys, family)?,
            rope_base,
            rope_base_local: if gemma { keys.number_or("rope.freq_base_swa", 10_000.0)? } else { rope_base },
            rope_scaling: scaling(keys)?,
            window,
            window_period: if gemma { 6 } else { 1 },
        });
    };
    Err(Error::Model(problem))
}

/// The key of a choice that GGUF files leave to the architecture.
pub(crate) const PAIRS_KEY: &str = "wootz.rope.pairs";

/// Llama's matrices are reordered for neighbours when they are converted to GGUF; nobody else's are.
fn pairs(keys: &Keys<'_>, family: Family) -> Result<Pairs> {
    match keys.meta.optional(PAIRS_KEY, "a string", |v| v.as_str())? {
        Some("halves") => Ok(Pairs::Halves),
        None if family == Family::Llama => Ok(Pairs::Neighbours),
        None => Ok(Pairs::Halves),
        Some(other) => Err(Error::Model(format!("{PAIRS_KEY} is '{other}', not 'halves'"))),
    }
}

fn scaling(keys: &Keys<'_>) -> Result<RopeScaling> {
    let key = keys.key("rope.scaling.type");
    let factor = keys.number_or("rope.scaling.factor", 1.0)?;
    let kind = keys.meta.optional(&key, "a string", |v| v.as_str())?;
    match kind {
        Some("none") | None if factor == 1.0 || factor == 0.0 => Ok(RopeScaling::None),
        Some("none") => Ok(RopeScaling::None),
        // Older files give a factor only, and mean linear scaling.
        None | Some("linear") if factor > 0.0 => Ok(RopeScaling::Linear(factor)),
        Some("yarn") if factor > 0.0 => {
            let original_context = keys.extent("rope.scaling.original_context_length")?;
            Ok(RopeScaling::Yarn { factor, original_context })
        }
        other => {
            Err(Error::Model(format!("{key} is {other:?} with factor {factor}, which is not supported")))
        }
    }
}

fn recurrent(keys: &Keys<'_>, width: usize) -> Result<Recurrent> {
    let head_len = keys.extent("wkv.head_size")?;
    if !width.is_multiple_of(head_len) {
        return Err(Error::Model(format!("width {width} is not whole heads of {head_len}")));
    }
    let ranks = [
        keys.extent("attention.decay_lora_rank")?,
        keys.extent("attention.iclr_lora_rank")?,
        keys.extent("attention.value_residual_mix_lora_rank")?,
        keys.extent("attention.gate_lora_rank")?,
    ];
    Ok(Recurrent { head_len, ranks })
}
