//! A loaded model: its weights on a device, its network compiled into passes, its tokenizer.

use crate::chat::ChatTemplate;
use crate::config::Config;
use crate::error::Result;
use crate::models::{self, Input, Network};
use crate::tokenizer::Tokenizer;
use crate::weights::Weights;
use std::path::Path;
use std::sync::Arc;
use wootz::{Compiled, Device, Tensor, compile};
use wootz_gguf::Gguf;

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

/// The network as functions of `[tokens, position, state…]`, each planned once per number of tokens.
pub(crate) struct Passes {
    /// The state only.
    pub absorb: Compiled,
    /// Logits after the last token, and the state.
    pub next: Compiled,
    /// Logits after every token, and the state.
    pub every: Compiled,
}

impl Model {
    /// Opens a model file for a device.
    pub fn open(path: impl AsRef<Path>, device: &Device) -> Result<Model> {
        Model::from_gguf(Gguf::open(path)?, device)
    }

    /// The model in a GGUF file that is open.
    pub fn from_gguf(gguf: Gguf, device: &Device) -> Result<Model> {
        let config = Config::from_gguf(&gguf)?;
        let tokenizer = Tokenizer::from_gguf(&gguf)?;
        let template = ChatTemplate::from_gguf(&gguf, &tokenizer)?;
        let gguf = Arc::new(gguf);
        let weights = Weights::new(gguf.clone(), device);
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

impl Passes {
    fn new(network: &Arc<dyn Network>, device: &Device) -> Passes {
        let pass = |logits: fn(&dyn Network, &Tensor) -> wootz::Result<Option<Tensor>>| {
            let network = network.clone();
            compile(device, move |arguments| {
                let input = Input { tokens: &arguments[0], position: &arguments[1], state: &arguments[2..] };
                let (hidden, state) = network.forward(&input)?;
                Ok(logits(&*network, &hidden)?.into_iter().chain(state).collect())
            })
        };
        Passes {
            absorb: pass(|_, _| Ok(None)),
            next: pass(|network, hidden| {
                let last = hidden.narrow(0, hidden.shape()[0] - 1, 1)?;
                network.logits(&last).map(Some)
            }),
            every: pass(|network, hidden| network.logits(hidden).map(Some)),
        }
    }
}
