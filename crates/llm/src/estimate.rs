//! Memory estimates for a model, before it is loaded.

use wootz_blocks::BlockFormat;
use wootz_gguf::Gguf;

use crate::config::{Attention, Config, Mixer};
use crate::error::{Error, Result};
use crate::models::Memory;
use crate::ranks::Share;

/// Format of the KV cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CacheFormat {
    /// 32-bit floats.
    F32,
    /// 16-bit floats.
    #[default]
    F16,
    /// bfloat16.
    BF16,
    /// 8-bit blocks of 32 with a scale.
    Q8_0,
}

impl CacheFormat {
    /// All formats.
    pub const ALL: [(&'static str, CacheFormat); 4] = [
        ("f32", CacheFormat::F32),
        ("f16", CacheFormat::F16),
        ("bf16", CacheFormat::BF16),
        ("q8_0", CacheFormat::Q8_0),
    ];

    /// The format of this name, in any case.
    pub fn from_name(name: &str) -> Result<CacheFormat> {
        let found = CacheFormat::ALL.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|f| f.1).ok_or_else(|| {
            let known = CacheFormat::ALL.map(|f| f.0).join(", ");
            Error::Model(format!("unknown cache format '{name}'; use one of {known}"))
        })
    }

    fn block_format(self) -> BlockFormat {
        match self {
            CacheFormat::F32 => BlockFormat::F32,
            CacheFormat::F16 => BlockFormat::F16,
            CacheFormat::BF16 => BlockFormat::BF16,
            CacheFormat::Q8_0 => BlockFormat::Q8_0,
        }
    }

    /// Bytes of a row of `len` values; rows are padded to whole blocks.
    pub fn row_bytes(self, len: usize) -> usize {
        let format = self.block_format();
        len.div_ceil(format.block_len()) * format.block_bytes()
    }
}

/// The workload of an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Positions per sequence.
    pub context: usize,
    /// Sequences at once.
    pub sequences: usize,
    /// Tokens processed together during prefill.
    pub batch: usize,
    /// Format of the KV cache.
    pub cache: CacheFormat,
}

/// Bytes by purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// Weights, as stored in the file.
    pub weights: u64,
    /// Keys and values, or recurrent state.
    pub cache: u64,
    /// Activations: intermediate results of the largest step.
    pub activations: u64,
}

impl Estimate {
    /// Estimates a model file.
    pub fn new(gguf: &Gguf, config: &Config, load: Load) -> Result<Estimate> {
        if load.context == 0 || load.context > config.context {
            let problem = format!(
                "invalid context length of {} tokens; the model supports 1 to {}",
                load.context, config.context
            );
            return Err(Error::Model(problem));
        }
        let overflow = || Error::Model(format!("the memory estimate for {load:?} overflows"));
        let weights = gguf.tensors().iter().map(|t| t.bytes).sum();
        let cache = cache_bytes(config, load).ok_or_else(overflow)?;
        let activations = activation_bytes(config, load).ok_or_else(overflow)?;
        Ok(Estimate { weights, cache, activations })
    }

    /// Bytes of the cache of one rank's part of a model.
    pub fn of_share(config: &Config, share: &Share, load: Load) -> Result<u64> {
        let overflow = || Error::Model(format!("the memory estimate for {load:?} overflows"));
        cache_bytes(&share.config(config), load).ok_or_else(overflow)
    }

    /// Total.
    pub fn total(&self) -> u64 {
        self.weights.saturating_add(self.cache).saturating_add(self.activations)
    }

    /// What must be in the memory of a device. A host uses weights where they are mapped, and the operating system reads and
    /// drops their pages as needed, so a model may be larger than memory.
    pub fn resident(self, on_host: bool) -> Estimate {
        Estimate { weights: if on_host { 0 } else { self.weights }, ..self }
    }

    /// An error that says what is missing, if it does not fit in `available` bytes.
    pub fn must_fit(&self, available: u64) -> Result<()> {
        if self.total() <= available {
            return Ok(());
        }
        let mib = |bytes: u64| bytes.div_ceil(1 << 20);
        Err(Error::Model(format!(
            "{} MiB are needed ({} weights, {} context, {} activations), but {} MiB are available; use a \
             shorter context or a smaller model",
            mib(self.total()),
            mib(self.weights),
            mib(self.cache),
            mib(self.activations),
            mib(available)
        )))
    }
}

/// Bytes of the cache of all layers and sequences.
pub fn cache_bytes(config: &Config, load: Load) -> Option<u64> {
    let per_sequence = match &config.mixer {
        Mixer::Attention(a) => attention_bytes(a, a.caches(config.layers), load)?,
        Mixer::Recurrent(r) => {
            // The state of each head, and the last input of the two token shifts, in f32.
            let values = config.width * r.head_len + 2 * config.width;
            (config.layers as u64).checked_mul(values as u64)?.checked_mul(4)?
        }
        Mixer::Hybrid(h) => {
            let recurrent = h.is_recurrent.iter().filter(|&&recurrent| recurrent).count();
            let states = (recurrent as u64).checked_mul(h.recurrence.values() as u64)?.checked_mul(4)?;
            let attention = match &h.attention {
                Some(a) => attention_bytes(a, config.layers - recurrent, load)?,
                None => 0,
            };
            states.checked_add(attention)?
        }
    };
    per_sequence.checked_mul(load.sequences as u64)
}

/// Bytes of the keys and values of this many layers.
fn attention_bytes(a: &Attention, layers: usize, load: Load) -> Option<u64> {
    (0..layers).try_fold(0u64, |sum, layer| {
        let own = a.layer(layer);
        let values = if a.latent.is_some() { 0 } else { own.value_len };
        let row = load.cache.row_bytes(own.key_len) + load.cache.row_bytes(values);
        let memory = Memory { context: load.context, chunk: load.batch, format: load.cache };
        let kept = memory.positions(own.window);
        sum.checked_add((kept as u64).checked_mul((own.kv_heads * row) as u64)?)
    })
}

/// Bytes of the widest step: residual, a widened copy of it, and the scores of all heads; logits of the last tokens.
fn activation_bytes(config: &Config, load: Load) -> Option<u64> {
    let rows = load.batch.max(load.sequences) as u64;
    let (attention, scores) = match config.mixer.attention() {
        Some(a) => (a.heads * (a.key_len + a.value_len), a.heads as u64 * load.context as u64),
        None => (6 * config.width, 0),
    };
    let wide = (2 * config.ffn).max(attention) + 3 * config.width;
    let per_row = (wide as u64).checked_add(scores)?;
    let logits = (config.vocab as u64).checked_mul(load.sequences as u64)?;
    rows.checked_mul(per_row)?.checked_add(logits)?.checked_mul(4)
}
