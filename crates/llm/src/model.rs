//! A loaded model: its weights on a device, its network compiled into passes, its tokenizer.

use crate::chat::ChatTemplate;
use crate::config::Config;
use crate::error::Result;
use crate::hub;
use crate::models::{self, Network};
use crate::passes::Passes;
use crate::placement::Placement;
use crate::session::SessionOptions;
use crate::tokenizer::Tokenizer;
use crate::weights::Weights;
use std::path::Path;
use std::sync::Arc;
use wootz::{Activations, Device, OnProgress};
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
    file: Arc<ModelFile>,
    options: ModelOptions,
    device: Device,
    /// Where it could run, if that was chosen for the user.
    placement: Option<Placement>,
    pub(crate) network: Arc<dyn Network>,
    pub(crate) passes: Passes,
}

/// What a model is, wherever it runs.
struct ModelFile {
    gguf: Arc<Gguf>,
    config: Config,
    tokenizer: Tokenizer,
    template: Option<ChatTemplate>,
    load: Box<LoadNetwork>,
}

/// Builds a network from a model's shape and its weights; see [`Model::with_network`].
pub type LoadNetwork = dyn Fn(&Config, &Weights) -> Result<Box<dyn Network>> + Send + Sync;

impl ModelFile {
    fn new(gguf: Gguf, load: Box<LoadNetwork>) -> Result<ModelFile> {
        let config = Config::from_gguf(&gguf)?;
        let tokenizer = Tokenizer::from_gguf(&gguf)?;
        let template = ChatTemplate::from_gguf(&gguf, &tokenizer)?;
        Ok(ModelFile { gguf: Arc::new(gguf), config, tokenizer, template, load })
    }
}

impl Model {
    /// Opens a model for a device: a GGUF file, or a folder with `config.json`, `tokenizer.json` and `*.safetensors`. On an
    /// automatic device the model is placed as a whole; [`Model::placement`] says where it could run.
    pub fn open(path: impl AsRef<Path>, device: &Device, options: ModelOptions) -> Result<Model> {
        Model::from_gguf(hub::open(path)?, device, options)
    }

    /// The model in a GGUF file that is open.
    pub fn from_gguf(gguf: Gguf, device: &Device, options: ModelOptions) -> Result<Model> {
        Model::place(gguf, device, options, SessionOptions::default(), &mut |_| {})
    }

    /// The same for sessions of a kind, whose cache has to fit. `on_progress` hears of op families that a device proves at its
    /// first use.
    pub fn place(
        gguf: Gguf,
        device: &Device,
        options: ModelOptions,
        sessions: SessionOptions,
        on_progress: &mut OnProgress<'_>,
    ) -> Result<Model> {
        let file = Arc::new(ModelFile::new(gguf, Box::new(models::load))?);
        Model::placed(file, device, options, sessions, on_progress)
    }

    /// A model with a network of your own over the weights of a file: `load` is called for each device that the model is put
    /// on. Sessions, sampling, caching and placement work as for the families that come with the crate.
    pub fn with_network(
        gguf: Gguf,
        device: &Device,
        options: ModelOptions,
        load: impl Fn(&Config, &Weights) -> Result<Box<dyn Network>> + Send + Sync + 'static,
    ) -> Result<Model> {
        let file = Arc::new(ModelFile::new(gguf, Box::new(load))?);
        Model::placed(file, device, options, SessionOptions::default(), &mut |_| {})
    }

    fn placed(
        file: Arc<ModelFile>,
        device: &Device,
        options: ModelOptions,
        sessions: SessionOptions,
        on_progress: &mut OnProgress<'_>,
    ) -> Result<Model> {
        let Some(candidates) = device.candidates() else {
            return Model::build(file, options, device, None);
        };
        let on_host = Arc::new(Model::build(file, options, &Device::cpu(), None)?);
        let placement = Placement::of(&on_host, candidates, sessions, on_progress)?;
        let mut failures = Vec::new();
        for device in placement.devices() {
            match Model::build(on_host.file.clone(), options, device, Some(placement.clone())) {
                Ok(model) => return Ok(model),
                Err(error) => failures.push(format!("{device}: {error}")),
            }
        }
        Err(placement.none_left(&failures))
    }

    /// The same model on another device.
    pub fn on(&self, device: &Device) -> Result<Model> {
        Model::build(self.file.clone(), self.options, device, self.placement.clone())
    }

    fn build(
        file: Arc<ModelFile>,
        options: ModelOptions,
        device: &Device,
        placement: Option<Placement>,
    ) -> Result<Model> {
        let activations = if options.precise { Activations::Precise } else { Activations::Rounded };
        let weights = Weights::new(file.gguf.clone(), device, activations);
        let network: Arc<dyn Network> = (file.load)(&file.config, &weights)?.into();
        let passes = Passes::new(&network, device);
        Ok(Model { file, options, device: device.clone(), placement, network, passes })
    }

    /// The file.
    pub fn gguf(&self) -> &Gguf {
        &self.file.gguf
    }

    /// The model's shape.
    pub fn config(&self) -> &Config {
        &self.file.config
    }

    /// The tokenizer.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.file.tokenizer
    }

    /// The chat template, where the model was made for chat.
    pub fn template(&self) -> Option<&ChatTemplate> {
        self.file.template.as_ref()
    }

    /// The network, which builds the graph of a pass.
    pub fn network(&self) -> &dyn Network {
        &*self.network
    }

    /// The device that it runs on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Where it could run, best first, if the device was chosen automatically.
    pub fn placement(&self) -> Option<&Placement> {
        self.placement.as_ref()
    }
}
