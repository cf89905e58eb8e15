//! Model families, one file each.

mod attention;
mod gemma3;
mod llama;

use std::sync::Arc;

use wootz::{DType, Device, Tensor};
use wootz_gguf::Gguf;

use crate::config::{Config, Family};
use crate::error::{Error, Result};
use crate::weights::Weights;

/// What a family defines: a function from tokens and state to logits and state.
pub trait Model: Send + Sync {
    /// The shape.
    fn config(&self) -> &Config;

    /// The state before the first token, for `context` positions; attention keeps keys and values in `cache`.
    fn fresh_state(&self, context: usize, cache: DType) -> wootz::Result<Vec<Tensor>>;

    /// The residual stream `[t, width]`, after the last norm, of `tokens [t]` that start at `position [1]`; and the new state.
    fn hidden(
        &self,
        tokens: &Tensor,
        position: &Tensor,
        state: &[Tensor],
    ) -> wootz::Result<(Tensor, Vec<Tensor>)>;

    /// Logits `[t, vocab]` of the residual stream.
    fn logits(&self, hidden: &Tensor) -> wootz::Result<Tensor>;
}

/// Reads a model file for a device.
pub fn load(gguf: Arc<Gguf>, device: &Device) -> Result<Arc<dyn Model>> {
    let config = Config::from_gguf(&gguf)?;
    let weights = Weights::new(gguf, &config, device);
    Ok(match config.family {
        Family::Llama | Family::Qwen2 | Family::Qwen3 => Arc::new(llama::Llama::load(&weights)?),
        Family::Gemma3 => Arc::new(gemma3::Gemma3::load(&weights)?),
        Family::Rwkv7 => return Err(Error::Model("RWKV-7 files can be inspected, but not run yet".into())),
    })
}
