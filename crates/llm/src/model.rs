//! A loaded model: its weights on a device, its network compiled into passes, its tokenizer.

use crate::chat::ChatTemplate;
use crate::config::Config;
use crate::error::Result;
use crate::hub;
use crate::models::{self, Network};
use crate::passes::Passes;
use crate::tokenizer::Tokenizer;
use crate::weights::Weights;
use std::path::Path;
use std::sync::Arc;
use wootz::{Activations, Device};
use wootz_gguf::Gguf;

/// How a model is loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelOptions {
    /// Keep 16 bits of activations beside quantised weights where a CPU would round to 8, so that every device says the
    /// same; see [`Activations`].
    pub precise: bool,
}

/// A model that sessions run on.
pub struct Model {
    gguf: Arc<Gguf>,
    config: Config,
    tokenizer: Tokenizer,
    template: Option<ChatTemplate>,
    device: Device,
    pub(crate) network: Arc<dyn Network>,
    pub(crate) passes: Passes,
}

impl Model {
    /// Opens a model for a device: a GGUF file, or a folder with `config.json`, `tokenizer.json` and `*.safetensors`.
    pub fn open(path: impl AsRef<Path>, device: &Device, options: ModelOptions) -> Result<Model> {
        Model::from_gguf(hub::open(path)?, device, options)
    }

    /// The model in a GGUF file that is open.
    pub fn from_gguf(gguf: Gguf, device: &Device, options: ModelOptions) -> Result<Model> {
        let config = Config::from_gguf(&gguf)?;
        let tokenizer = Tokenizer::from_gguf(&gguf)?;
        let template = ChatTemplate::from_gguf(&gguf, &tokenizer)?;
        let gguf = Arc::new(gguf);
        let activations = if options.precise { Activations::Precise } else { Activations::Rounded };
        let weights = Weights::new(gguf.clone(), device, activations);
        let network: Arc<dyn Network> = models::load(&config, &weights)?.into();
        let passes = Passes::new(&network, device);
        Ok(Model { gguf, config, tokenizer, template, device: device.clone(), network, passes })
    }

    /// The file.
    pub fn gguf(&self) -> &Gguf {
        &self.gguf
    }

    /// The model's shape.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The tokenizer.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// The chat template, where the model was made for chat.
    pub fn template(&self) -> Option<&ChatTemplate> {
        self.template.as_ref()
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }
}
