//! A loaded model: its weights on a device, its network compiled into passes, its tokenizer.

use crate::chat::ChatTemplate;
use crate::config::Config;
use crate::error::Result;
use crate::hub;
use crate::lora::Adapter;
use crate::models::{self, Network};
use crate::passes::Passes;
use crate::placement::Placement;
use crate::ranks::{Parallel, Share};
use crate::sampling::Sampling;
use crate::session::SessionOptions;
use crate::tokenizer::Tokenizer;
use crate::weights::Weights;
use sha2::{Digest, Sha256};
use std::path::Path;
use std::sync::Arc;
use wootz::distributed::Group;
use wootz::{Activations, Device, OnProgress};
use wootz_gguf::Gguf;

/// How a model is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelOptions {
    /// Keep 16 bits of activations beside quantised weights on a CPU, so that it answers as a GPU does. Without, it keeps
    /// 8: prompts are processed faster, and small models may answer noticeably worse; see [`Activations`].
    pub precise: bool,
}

impl Default for ModelOptions {
    fn default() -> ModelOptions {
        ModelOptions { precise: true }
    }
}

/// A model file that is open, and what is applied to its weights.
pub struct ModelSource {
    /// The file.
    pub gguf: Gguf,
    /// Adapters, which must be made for it.
    pub adapters: Vec<Adapter>,
}

impl From<Gguf> for ModelSource {
    fn from(gguf: Gguf) -> ModelSource {
        ModelSource { gguf, adapters: Vec::new() }
    }
}

/// A model that sessions run on.
pub struct Model {
    file: Arc<ModelFile>,
    options: ModelOptions,
    device: Device,
    /// Where it could run, if that was chosen for the user.
    placement: Option<Placement>,
    /// This rank's part, where the model is divided.
    share: Option<Share>,
    pub(crate) network: Arc<dyn Network>,
    pub(crate) passes: Passes,
}

/// What a model is, wherever it runs.
struct ModelFile {
    gguf: Arc<Gguf>,
    config: Config,
    tokenizer: Tokenizer,
    template: Option<ChatTemplate>,
    sampling: Sampling,
    adapters: Vec<Adapter>,
    load: Box<LoadNetwork>,
}

/// Builds a network from a model's shape and its weights; see [`Model::with_network`].
pub type LoadNetwork = dyn Fn(&Config, &Weights) -> Result<Box<dyn Network>> + Send + Sync;

impl ModelFile {
    fn new(gguf: Gguf, adapters: Vec<Adapter>, load: Box<LoadNetwork>) -> Result<ModelFile> {
        let config = Config::from_gguf(&gguf)?;
        let tokenizer = Tokenizer::from_gguf(&gguf)?;
        let template = ChatTemplate::from_gguf(&gguf, &tokenizer)?;
        let sampling = Sampling::recommended(&gguf)?;
        adapters.iter().try_for_each(|adapter| adapter.check(&gguf))?;
        Ok(ModelFile { gguf: Arc::new(gguf), config, tokenizer, template, sampling, adapters, load })
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

    /// The same for sessions of a kind, whose cache has to fit. `on_progress` is called for each op family that a device proves at its
    /// first use.
    pub fn place(
        source: impl Into<ModelSource>,
        device: &Device,
        options: ModelOptions,
        sessions: SessionOptions,
        on_progress: &mut OnProgress<'_>,
    ) -> Result<Model> {
        let ModelSource { gguf, adapters } = source.into();
        let file = Arc::new(ModelFile::new(gguf, adapters, Box::new(models::load))?);
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
        let file = Arc::new(ModelFile::new(gguf, Vec::new(), Box::new(load))?);
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
            return Model::build(file, options, device, None, None);
        };
        let on_host = Arc::new(Model::build(file, options, &Device::cpu(), None, None)?);
        let placement = Placement::of(&on_host, candidates, sessions, on_progress)?;
        let mut failures = Vec::new();
        for device in placement.devices() {
            match Model::build(on_host.file.clone(), options, device, Some(placement.clone()), None) {
                Ok(model) => return Ok(model),
                Err(error) => failures.push(format!("{device}: {error}")),
            }
        }
        Err(placement.none_left(&failures))
    }

    /// The same model on another device.
    pub fn on(&self, device: &Device) -> Result<Model> {
        Model::build(self.file.clone(), self.options, device, self.placement.clone(), self.share.clone())
    }

    fn build(
        file: Arc<ModelFile>,
        options: ModelOptions,
        device: &Device,
        placement: Option<Placement>,
        share: Option<Share>,
    ) -> Result<Model> {
        let activations = if options.precise { Activations::Precise } else { Activations::Rounded };
        let weights = Weights::new(file.gguf.clone(), device, activations).with_adapters(&file.adapters);
        let weights = weights.divided(share.clone());
        let config = share.as_ref().map_or_else(|| file.config.clone(), |share| share.config(&file.config));
        let network: Arc<dyn Network> = (file.load)(&config, &weights)?.into();
        let passes = Passes::new(&network, device, file.config.vocab, weights.stage().as_ref());
        Ok(Model { file, options, device: device.clone(), placement, share, network, passes })
    }

    /// This rank's part of a model that all ranks of a group open together; see [`crate::ranks`]. Without a way of dividing it, the
    /// quickest one that the model allows is taken. Ranks with different files or settings all fail. It runs on the CPU.
    pub fn over_ranks(
        gguf: Gguf,
        options: ModelOptions,
        group: &Group,
        parallel: Option<Parallel>,
    ) -> Result<Model> {
        let file = Arc::new(ModelFile::new(gguf, Vec::new(), Box::new(models::load))?);
        let parallel = match parallel {
            Some(parallel) => parallel,
            None => Share::choose(&file.gguf, &file.config, group.size())?,
        };
        let version = env!("CARGO_PKG_VERSION");
        group.agree("the version of Wootz", version)?;
        group.agree("the model", &fingerprint(&file.gguf))?;
        group.agree("how to run it", &format!("{parallel}, {options:?}"))?;
        let share = Share::of(&file.gguf, &file.config, group, parallel)?;
        Model::build(file, options, &Device::cpu(), None, Some(share))
    }

    /// This rank's part of the model, where several have one each.
    pub fn share(&self) -> Option<&Share> {
        self.share.as_ref()
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

    /// The sampling settings that the model's makers recommend; greedy where the file says nothing.
    pub fn sampling(&self) -> Sampling {
        self.file.sampling
    }

    /// The network, which builds the graph of a pass.
    pub fn network(&self) -> &dyn Network {
        &*self.network
    }

    /// How it was loaded.
    pub fn options(&self) -> ModelOptions {
        self.options
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

/// What tells files apart without reading them whole: names, shapes, sizes, places and the first bytes of tensors.
fn fingerprint(gguf: &Gguf) -> String {
    let mut hash = Sha256::new();
    for tensor in gguf.tensors() {
        hash.update(format!("{} {:?} {} {}\n", tensor.name, tensor.dims, tensor.bytes, tensor.offset));
        let data = gguf.data(tensor);
        hash.update(&data[..data.len().min(64)]);
    }
    let digest: String = hash.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    let name = gguf.metadata().get("general.name").and_then(|value| value.as_str()).unwrap_or("a model");
    format!("{name} of {} bytes ({digest})", gguf.file_bytes())
}
