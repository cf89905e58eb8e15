//! Text embeddings: a vector per text, such that texts with similar meanings have similar directions.
//!
//! Encoders process texts in batches: texts of similar length are batched, padded to a length that does not depend on
//! the other texts, so that a text has the same vector whatever it is batched with. Decoders process one text at a
//! time, and use the last token's vector.

use crate::config::{Config, Pooling};
use crate::error::{Error, Result};
use crate::estimate::CacheFormat;
use crate::family::Family;
use crate::hub;
use crate::models::{self, Encoder, Input, Memory, Network, Sequence};
use crate::placement::{Notice, Placement, is_failure_of_device};
use crate::rerank::Head;
use crate::tokenizer::{Encoding, Tokenizer};
use crate::weights::Weights;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use wootz::{Activations, DType, Device, OnProgress, Tensor};
use wootz_gguf::Gguf;

/// Tokens per batch, including padding.
const BATCH: usize = 4096;

/// Lengths are padded to a multiple of this.
const STEP: usize = 16;

/// Options of embedding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EmbedOptions {
    /// Truncate texts that exceed the context length; otherwise they are an error.
    pub truncate: bool,
}

/// Number of texts, and tokens per text, in the pass used to compare devices.
const TRIAL: [usize; 2] = [8, 64];

/// An embedding model.
pub struct Embedder {
    gguf: Arc<Gguf>,
    config: Config,
    tokenizer: Tokenizer,
    placement: Option<Placement>,
    loaded: RwLock<Arc<Loaded>>,
    notices: Mutex<Vec<Notice>>,
}

/// The network on a device.
struct Loaded {
    network: EmbeddingNetwork,
    /// Of a ranking model.
    head: Option<Head>,
    device: Device,
    pooling: Pooling,
    context: usize,
}

enum EmbeddingNetwork {
    Encoder(Box<dyn Encoder>),
    Decoder(Box<dyn Network>),
}

impl Embedder {
    /// Opens a model for a device: a GGUF file or a folder of safetensors. On an automatic device it is placed as a
    /// whole, on the fastest validated device with enough memory.
    pub fn open(path: impl AsRef<Path>, device: &Device) -> Result<Embedder> {
        Embedder::from_gguf(hub::open(path)?, device, &mut |_| {})
    }

    /// Opens a model from a GGUF file that is already open; `on_progress` reports validation of devices.
    pub fn from_gguf(gguf: Gguf, device: &Device, on_progress: &mut OnProgress<'_>) -> Result<Embedder> {
        let config = Config::from_gguf(&gguf)?;
        let tokenizer = Tokenizer::from_gguf(&gguf)?;
        let gguf = Arc::new(gguf);
        let (placement, loaded) = match device.candidates() {
            None => (None, Loaded::new(&gguf, &config, device)?),
            Some(candidates) => {
                let on_host = Loaded::new(&gguf, &config, &Device::cpu())?;
                let trial = on_host.trial()?;
                let seconds = |device: &Device| Ok(trial.quote(device, on_progress)?.seconds);
                let placement = Placement::of_passes(&gguf, candidates, TRIAL[0] * TRIAL[1], seconds);
                let loaded = Loaded::on_best(&gguf, &config, &placement)?;
                (Some(placement), loaded)
            }
        };
        let loaded = RwLock::new(Arc::new(loaded));
        Ok(Embedder { gguf, config, tokenizer, placement, loaded, notices: Mutex::default() })
    }

    /// The model's configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The model's device.
    pub fn device(&self) -> Device {
        self.loaded().device.clone()
    }

    /// The candidate devices, best first, if the device was chosen automatically.
    pub fn placement(&self) -> Option<&Placement> {
        self.placement.as_ref()
    }

    /// The changes of device so far: if the device was chosen automatically and fails, the next one replaces it.
    pub fn notices(&self) -> Vec<Notice> {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn loaded(&self) -> Arc<Loaded> {
        self.loaded.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The file.
    pub fn gguf(&self) -> &Gguf {
        &self.gguf
    }

    /// The tokenizer.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// Bytes of the weights.
    pub fn bytes(&self) -> u64 {
        self.gguf.tensors().iter().map(|tensor| tensor.bytes).sum()
    }

    /// Whether a file is an embedding model: an encoder, or a decoder with a pooling type.
    pub fn is_meant(gguf: &Gguf) -> bool {
        let Some(family) = gguf.metadata().get("general.architecture").and_then(|name| name.as_str()) else {
            return false;
        };
        let pools = gguf.metadata().get(&format!("{family}.pooling_type")).and_then(|kind| kind.as_u64());
        Family::from_name(family).is_ok_and(Family::is_encoder) || pools.is_some_and(|kind| kind != 0)
    }

    /// A normalised vector for each text.
    pub fn embed(&self, texts: &[&str], options: EmbedOptions) -> Result<Vec<Vec<f32>>> {
        if self.is_reranker() {
            return Err(Error::Model(
                "this is a reranking model: it has scores of pairs, and no embeddings".into(),
            ));
        }
        self.embed_tokens(&self.tokens(texts, options)?)
    }

    /// The tokens of each text, for [`Embedder::embed_tokens`].
    pub fn tokens(&self, texts: &[&str], options: EmbedOptions) -> Result<Vec<Vec<u32>>> {
        texts.iter().enumerate().map(|(index, text)| self.tokens_of(index, text, options)).collect()
    }

    /// The same for texts that are already tokenized; the scores of a reranking model.
    pub fn embed_tokens(&self, tokens: &[Vec<u32>]) -> Result<Vec<Vec<f32>>> {
        let (most, vocab) = (self.config.context, self.config.vocab);
        for (index, tokens) in tokens.iter().enumerate() {
            if !(1..=most).contains(&tokens.len()) {
                let count = tokens.len();
                return Err(Error::Model(format!(
                    "text {index} has {count} tokens, but the model accepts 1 to {most}"
                )));
            }
            if let Some(id) = tokens.iter().find(|&&id| id as usize >= vocab) {
                return Err(Error::Model(format!(
                    "token {id} is outside this model's vocabulary of {vocab}"
                )));
            }
        }
        loop {
            let loaded = self.loaded();
            match loaded.embed(tokens) {
                Err(error) if is_failure_of_device(&error) => self.move_on(&loaded, error)?,
                result => return result,
            }
        }
    }

    /// After `error` of a device: loads the model on the next candidate. Fails with `error` if there is none.
    fn move_on(&self, failed: &Loaded, error: Error) -> Result<()> {
        let mut loaded = self.loaded.write().unwrap_or_else(PoisonError::into_inner);
        if loaded.device != failed.device {
            return Ok(()); // another thread was here first
        }
        let devices = self.placement.iter().flat_map(Placement::devices);
        for device in devices.skip_while(|device| **device != failed.device).skip(1) {
            let Ok(next) = Loaded::new(&self.gguf, &self.config, device) else { continue };
            *loaded = Arc::new(next);
            let notice =
                Notice { from: failed.device.clone(), to: device.clone(), reason: error.to_string() };
            self.notices.lock().unwrap_or_else(PoisonError::into_inner).push(notice);
            return Ok(());
        }
        Err(error)
    }

    fn tokens_of(&self, index: usize, text: &str, options: EmbedOptions) -> Result<Vec<u32>> {
        let mut tokens = self.tokenizer.encode(text, Encoding::TEXT);
        let most = self.config.context;
        if tokens.len() > most && !options.truncate {
            let count = tokens.len();
            return Err(Error::Model(format!(
                "text {index} has {count} tokens, but the model accepts at most {most}; shorten it or enable truncation"
            )));
        }
        if tokens.len() > most {
            let last = tokens.last().copied().filter(|_| self.tokenizer.vocab().add_eos);
            tokens.truncate(most - usize::from(last.is_some()));
            tokens.extend(last);
        }
        if tokens.is_empty() {
            return Err(Error::Model(format!("text {index} has no tokens")));
        }
        Ok(tokens)
    }
}

impl Loaded {
    fn new(gguf: &Arc<Gguf>, config: &Config, device: &Device) -> Result<Loaded> {
        let weights = Weights::new(gguf.clone(), device, Activations::Precise);
        let network = match config.family.is_encoder() {
            true => EmbeddingNetwork::Encoder(models::load_encoder(config, &weights)?),
            false => EmbeddingNetwork::Decoder(models::load(config, &weights)?),
        };
        let head = (config.pooling == Pooling::Rank).then(|| Head::load(config, &weights)).transpose()?;
        // Each kind of network has one token that has seen all others.
        let pooling = match (config.pooling, config.family.is_encoder()) {
            (Pooling::Rank, true) => Pooling::First,
            (Pooling::Rank, false) => Pooling::Last,
            (pooling, _) => pooling,
        };
        let context = config.context;
        Ok(Loaded { network, head, device: device.clone(), pooling, context })
    }

    fn on_best(gguf: &Arc<Gguf>, config: &Config, placement: &Placement) -> Result<Loaded> {
        let mut failures = Vec::new();
        for device in placement.devices() {
            match Loaded::new(gguf, config, device) {
                Ok(loaded) => return Ok(loaded),
                Err(error) => failures.push(format!("{device}: {error}")),
            }
        }
        Err(placement.none_left(&failures))
    }

    fn embed(&self, tokens: &[Vec<u32>]) -> Result<Vec<Vec<f32>>> {
        let mut all = vec![Vec::new(); tokens.len()];
        match &self.network {
            EmbeddingNetwork::Encoder(encoder) => {
                for batch in batches(tokens) {
                    let rows = self.encode(&**encoder, tokens, &batch)?;
                    batch.iter().zip(rows).for_each(|(&text, row)| all[text] = row);
                }
            }
            EmbeddingNetwork::Decoder(network) => {
                for (row, tokens) in all.iter_mut().zip(tokens) {
                    *row = self.read(&**network, tokens)?;
                }
            }
        }
        Ok(all)
    }

    /// The vectors of some texts, not evaluated: used to compare devices.
    fn trial(&self) -> Result<Tensor> {
        let [texts, length] = [TRIAL[0], TRIAL[1].min(self.context)];
        match &self.network {
            EmbeddingNetwork::Encoder(encoder) => {
                let ids = Tensor::zeros_on([texts, length], DType::I32, &self.device)?;
                let counts = Tensor::full_on([texts], length as i32, DType::I32, &self.device)?;
                self.pooled(&encoder.encode(&ids, &counts)?, &counts)
            }
            EmbeddingNetwork::Decoder(network) => self.decoded(&**network, &vec![0; texts * length]),
        }
    }

    /// Embeds a batch of texts with an encoder.
    fn encode(&self, encoder: &dyn Encoder, tokens: &[Vec<u32>], batch: &[usize]) -> Result<Vec<Vec<f32>>> {
        let length = padded(tokens[batch[0]].len());
        let mut ids = vec![0i32; batch.len() * length];
        for (row, &text) in ids.chunks_exact_mut(length).zip(batch) {
            row.iter_mut().zip(&tokens[text]).for_each(|(id, &token)| *id = token as i32);
        }
        let counts: Vec<i32> = batch.iter().map(|&text| tokens[text].len() as i32).collect();
        // What fills up must have a position too, where the model has a vector for each.
        let shown = length.min(self.context);
        let ids = Tensor::from_slice_on(&ids, &self.device)?.reshape([batch.len(), length])?;
        let ids = ids.narrow(1, 0, shown)?;
        let counts = Tensor::from_slice_on(&counts, &self.device)?;
        rows(&self.pooled(&encoder.encode(&ids, &counts)?, &counts)?)
    }

    /// Embeds a text with a decoder.
    fn read(&self, network: &dyn Network, tokens: &[u32]) -> Result<Vec<f32>> {
        Ok(rows(&self.decoded(network, tokens)?)?.swap_remove(0))
    }

    fn decoded(&self, network: &dyn Network, tokens: &[u32]) -> Result<Tensor> {
        let count = tokens.len();
        let memory = Memory { context: count, chunk: count, format: CacheFormat::F32 };
        let state = network.state(memory);
        let state = state.iter().map(|spec| Tensor::zeros_on(spec.shape.clone(), spec.dtype, &self.device));
        let state: Vec<Tensor> = state.collect::<wootz::Result<_>>()?;
        let start = Tensor::zeros_on([1], DType::I32, &self.device)?;
        let ids: Vec<i32> = tokens.iter().map(|&token| token as i32).collect();
        let sequence = Sequence {
            rows: 0..count,
            position: &start,
            window_position: &start,
            state: &state,
            format: memory.format,
        };
        let ids = Tensor::from_slice_on(&ids, &self.device)?;
        let (hidden, _) = network.forward(&Input { tokens: &ids, sequences: &[sequence] })?;
        let hidden = network.embedding(&hidden)?.unsqueeze(0)?;
        let counts = Tensor::from_slice_on(&[count as i32], &self.device)?;
        self.pooled(&hidden, &counts)
    }

    /// Pools the vectors `[b, t, width]` of `counts [b]` tokens, and normalises them, or computes their scores.
    fn pooled(&self, hidden: &Tensor, counts: &Tensor) -> Result<Tensor> {
        let (texts, length) = (hidden.shape()[0], hidden.shape()[1]);
        let places = Tensor::iota_on([length], &self.device)?;
        let pooled = match self.pooling {
            Pooling::First => hidden.narrow(1, 0, 1)?.squeeze(1)?,
            Pooling::Mean => {
                let real = places.less(&counts.unsqueeze(-1)?)?.unsqueeze(-1)?.cast(DType::F32)?;
                let sum = hidden.mul(&real)?.sum_axes([1], false)?;
                sum.div(&counts.unsqueeze(-1)?.cast(DType::F32)?)?
            }
            Pooling::Last | Pooling::Rank => {
                let last = counts.sub(1)?.reshape([texts, 1, 1])?;
                hidden.take_along_axis(&last, 1)?.squeeze(1)?
            }
        };
        let pooled = match &self.network {
            EmbeddingNetwork::Encoder(encoder) => encoder.pooled(pooled)?,
            EmbeddingNetwork::Decoder(_) => pooled,
        };
        if let Some(head) = &self.head {
            return Ok(head.apply(pooled)?);
        }
        let size = pooled.mul(&pooled)?.sum_axes([-1], true)?.sqrt()?;
        Ok(pooled.div(&size.maximum(f64::from(f32::MIN_POSITIVE))?)?)
    }
}

/// The rows of a matrix.
fn rows(matrix: &Tensor) -> Result<Vec<Vec<f32>>> {
    let width = matrix.shape()[1].max(1);
    Ok(matrix.to_vec::<f32>()?.chunks_exact(width).map(<[f32]>::to_vec).collect())
}

/// The padded length of a text with this many tokens.
fn padded(count: usize) -> usize {
    count.next_multiple_of(STEP)
}

/// Texts with the same padded length, as many as fit in a batch.
fn batches(tokens: &[Vec<u32>]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..tokens.len()).collect();
    order.sort_by_key(|&text| padded(tokens[text].len()));
    let mut batches: Vec<Vec<usize>> = Vec::new();
    for text in order {
        let length = padded(tokens[text].len());
        match batches.last_mut() {
            Some(batch)
                if padded(tokens[batch[0]].len()) == length && (batch.len() + 1) * length <= BATCH =>
            {
                batch.push(text);
            }
            _ => batches.push(vec![text]),
        }
    }
    batches
}

/// Cosine similarity; 0 if either vector is zero.
pub fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |x: &[f32], y: &[f32]| x.iter().zip(y).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>();
    let size = (dot(a, a) * dot(b, b)).sqrt();
    if size == 0.0 { 0.0 } else { (dot(a, b) / size) as f32 }
}
