//! LoRA adapters (Hu et al., 2021) in GGUF files: the update of a fine-tuned matrix as a product of two narrow ones.
//! They are applied separately, and the weights stay as they are in the file: `x·Wᵀ + scale · (x·Aᵀ)·Bᵀ`.

use crate::error::{Error, Result};
use std::path::Path;
use std::sync::Arc;
use wootz_gguf::Gguf;

/// An adapter, and its scale.
#[derive(Clone)]
pub struct Adapter {
    pub(crate) gguf: Arc<Gguf>,
    name: String,
    /// The file's alpha, before division by the rank; 0 for none.
    alpha: f32,
    scale: f32,
}

/// Suffixes of the two matrices of a tensor.
const ENDS: [&str; 2] = [".lora_a", ".lora_b"];

impl Adapter {
    /// Opens an adapter with a scale.
    pub fn open(path: impl AsRef<Path>, scale: f32) -> Result<Adapter> {
        let path = path.as_ref();
        Adapter::new(Gguf::open(path)?, path.display().to_string(), scale)
    }

    /// Parses `FILE` or `FILE:SCALE`.
    pub fn parse(text: &str) -> Result<Adapter> {
        let split = text.rsplit_once(':').and_then(|(file, scale)| Some((file, scale.parse::<f32>().ok()?)));
        match split {
            Some((file, scale)) => Adapter::open(file, scale),
            None => Adapter::open(text, 1.0),
        }
    }

    /// Opens an adapter from an open GGUF file; errors call it `name`.
    pub fn new(gguf: Gguf, name: String, scale: f32) -> Result<Adapter> {
        let problem = |what: String| Err(Error::Model(format!("{name}: {what}")));
        if !scale.is_finite() {
            return problem(format!("invalid scale {scale}"));
        }
        let (alpha, kinds) = {
            let meta = gguf.metadata();
            let text = |key: &str| meta.optional(key, "a string", |v| v.as_str());
            let kinds = [text("general.type")?, text("adapter.type")?].map(|kind| kind.map(str::to_owned));
            (meta.optional("adapter.lora.alpha", "a number", |v| v.as_f64())?.unwrap_or(0.0), kinds)
        };
        match kinds {
            [Some(kind), Some(adapter)] if kind == "adapter" && adapter == "lora" => {}
            [kind, adapter] => {
                let said =
                    |kind: Option<String>| kind.map_or("missing".to_owned(), |kind| format!("'{kind}'"));
                let (kind, adapter) = (said(kind), said(adapter));
                let what = format!(
                    "not a LoRA adapter: general.type is {kind} (must be 'adapter'), adapter.type {adapter} (must be 'lora')"
                );
                return problem(what);
            }
        }
        for tensor in gguf.tensors() {
            let stem = ENDS.iter().find_map(|end| tensor.name.strip_suffix(end));
            let other = stem.is_some_and(|stem| {
                ENDS.iter().all(|end| gguf.find_tensor(&(stem.to_owned() + end)).is_some())
            });
            if !other {
                return problem(format!("tensor '{}' is not one of a .lora_a and .lora_b pair", tensor.name));
            }
        }
        Ok(Adapter { gguf: Arc::new(gguf), name, alpha: alpha as f32, scale })
    }

    /// Rejects a model that the adapter was not made for.
    pub fn check(&self, model: &Gguf) -> Result<()> {
        let architecture =
            |gguf: &Gguf| -> Result<String> { Ok(gguf.metadata().str("general.architecture")?.to_owned()) };
        let (own, other) = (architecture(&self.gguf)?, architecture(model)?);
        let problem = |what: String| Err(Error::Model(format!("{}: {what}", self.name)));
        if own != other {
            return problem(format!("the adapter is for {own}, but the model is {other}"));
        }
        for tensor in self.gguf.tensors().iter().filter(|tensor| tensor.name.ends_with(ENDS[0])) {
            let stem = tensor.name.trim_end_matches(ENDS[0]);
            let Some(matrix) = model.find_tensor(stem) else {
                return problem(format!("the adapter modifies '{stem}', which the model does not have"));
            };
            if stem == "token_embd.weight" {
                return problem("adapters of token_embd.weight are not supported".into());
            }
            let b = self.gguf.tensor(&(stem.to_owned() + ENDS[1]))?;
            // Extents, fastest-varying first: A is [in, rank, …], B [rank, out, …].
            let [a, b, w] = [&tensor.dims, &b.dims, &matrix.dims];
            let extent = |dims: &[u64], axis: usize| dims.get(axis).copied().unwrap_or(1);
            let fits = extent(a, 0) == extent(w, 0)
                && extent(b, 1) == extent(w, 1)
                && extent(a, 1) == extent(b, 0)
                && [a, b].iter().all(|dims| extent(dims, 2) == extent(w, 2));
            if !fits {
                return problem(format!("shapes {a:?} and {b:?} do not match '{stem}' of shape {w:?}"));
            }
        }
        Ok(())
    }

    /// Its file.
    pub(crate) fn gguf(&self) -> &Gguf {
        &self.gguf
    }

    /// The file's alpha, and the scale that it is applied with.
    pub(crate) fn scales(&self) -> [f32; 2] {
        [self.alpha, self.scale]
    }

    /// The rank and the scale of its update of a tensor, if there is one.
    pub(crate) fn part(&self, tensor: &str) -> Option<(usize, f32)> {
        let rank = *self.gguf.find_tensor(&(tensor.to_owned() + ENDS[0]))?.dims.get(1)?;
        let own = if self.alpha == 0.0 { 1.0 } else { self.alpha / rank as f32 };
        Some((rank as usize, self.scale * own))
    }
}
