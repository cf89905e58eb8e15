//! A loaded model: its weights on a device, its network compiled into passes, its tokenizer.

use crate::chat::ChatTemplate;
use crate::config::Config;
use crate::error::Result;
use crate::hub;
use crate::importance::Collector;
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

/// Options of loading a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelOptions {
    /// Use 16-bit activations with quantised weights on a CPU, so that it gives the same answers as a GPU. Otherwise
    /// it uses 8 bits: prefill is faster, and small models may answer noticeably worse; see [`Activations`].
    pub precise: bool,
}

impl Default for ModelOptions {
    fn default() -> ModelOptions {
        ModelOptions { precise: true }
    }
}

/// An open model file, and the adapters applied to its weights.
pub struct ModelSource {
    /// The file.
    pub gguf: Gguf,
    /// Adapters, which must match the file.
    pub adapters: Vec<Adapter>,
}

impl From<Gguf> for ModelSource {
    fn from(gguf: Gguf) -> ModelSource {
        ModelSource { gguf, adapters: Vec::new() }
    }
}

/// A loaded model, on which sessions run.
pub struct Model {
    file: Arc<ModelFile>,
    options: ModelOptions,
    device: Device,
    /// The candidate devices, if the device was chosen automatically.
    placement: Option<Placement>,
    /// This rank's part, if the model is split.
    share: Option<Share>,
    pub(crate) network: Arc<dyn Network>,
    pub(crate) passes: Passes,
}

/// The device-independent parts of a model.
struct ModelFile {
    gguf: Arc<Gguf>,
    config: Config,
    tokenizer: Tokenizer,
    template: Option<ChatTemplate>,
    sampling: Sampling,
    adapters: Vec<Adapter>,
    collector: Option<Arc<Collector>>,
    load: Box<LoadNetwork>,
}

/// Builds a network from a model's configuration and weights; see [`Model::with_network`].
pub type LoadNetwork = dyn Fn(&Config, &Weights) -> Result<Box<dyn Network>> + Send + Sync;

impl ModelFile {
    fn new(gguf: Gguf, adapters: Vec<Adapter>, load: Box<LoadNetwork>) -> Result<ModelFile> {
        let config = Config::from_gguf(&gguf)?;
        let tokenizer = Tokenizer::from_gguf(&gguf)?;
        let template = ChatTemplate::from_gguf(&gguf, &tokenizer)?;
        let sampling = Sampling::recommended(&gguf)?;
        adapters.iter().try_for_each(|adapter| adapter.check(&gguf))?;
        let (gguf, collector) = (Arc::new(gguf), None);
        Ok(ModelFile { gguf, config, tokenizer, template, sampling, adapters, collector, load })
    }
}

impl Model {
    /// Opens a model for a device: a GGUF file, or a folder with `config.json`, `tokenizer.json` and `*.safetensors`.
    /// On an automatic device the model is placed as a whole; [`Model::placement`] lists the candidates.
    pub fn open(path: impl AsRef<Path>, device: &Device, options: ModelOptions) -> Result<Model> {
        Model::from_gguf(hub::open(path)?, device, options)
    }

    /// Opens a model from an open GGUF file.
    pub fn from_gguf(gguf: Gguf, device: &Device, options: ModelOptions) -> Result<Model> {
        Model::place(gguf, device, options, SessionOptions::default(), &mut |_| {})
    }

    /// The same for sessions with these options, whose cache has to fit. `on_progress` is called for each op family
    /// that is validated on a device at first use.
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

    /// A model with a custom network over the weights of a file: `load` is called for each device that the model is
    /// placed on. Sessions, sampling, caching and placement work as for the built-in families.
    pub fn with_network(
        gguf: Gguf,
        device: &Device,
        options: ModelOptions,
        load: impl Fn(&Config, &Weights) -> Result<Box<dyn Network>> + Send + Sync + 'static,
    ) -> Result<Model> {
        let file = Arc::new(ModelFile::new(gguf, Vec::new(), Box::new(load))?);
        Model::placed(file, device, options, SessionOptions::default(), &mut |_| {})
    }

    /// A model on the CPU whose products are noted.
    pub(crate) fn observed(gguf: Gguf, options: ModelOptions, collector: Arc<Collector>) -> Result<Model> {
        let mut file = ModelFile::new(gguf, Vec::new(), Box::new(models::load))?;
        file.collector = Some(collector);
        Model::build(Arc::new(file), options, &Device::cpu(), None, None)
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
        let weights = weights.divided(share.clone()).observed(file.collector.clone());
        let config = share.as_ref().map_or_else(|| file.config.clone(), |share| share.config(&file.config));
        let network: Arc<dyn Network> = (file.load)(&config, &weights)?.into();
        let passes = Passes::new(&network, device, file.config.vocab, weights.stage().as_ref());
        Ok(Model { file, options, device: device.clone(), placement, share, network, passes })
    }

    /// This rank's part of a model that all ranks of a group open together; see [`crate::ranks`]. By default, the
    /// fastest kind of parallelism that the model supports is used. Ranks with different files or options all fail.
    /// It runs on the CPU.
    pub fn over_ranks(
        gguf: Gguf,
        options: ModelOptions,
        group: &Group,
        parallel: Option<Parallel>,
    ) -> Result<Model> {
        let file = Arc::new(ModelFile::new(gguf, Vec::new(), Box::new(models::load))?);
        group.agree("the version of Wootz", env!("CARGO_PKG_VERSION"))?;
        group.agree("the model", &fingerprint(&file.gguf))?;
        forget(&file.gguf);
        let parallel = match parallel {
            Some(parallel) => parallel,
            None => Share::choose(&file.gguf, &file.config, group)?,
        };
        group.agree("how to run it", &format!("{parallel}, {options:?}"))?;
        let share = Share::of(&file.gguf, &file.config, group, parallel)?;
        Model::build(file, options, &Device::cpu(), None, Some(share))
    }

    /// This rank's part of the model, if it is split.
    pub fn share(&self) -> Option<&Share> {
        self.share.as_ref()
    }

    /// The file.
    pub fn gguf(&self) -> &Gguf {
        &self.file.gguf
    }

    /// The adapters applied to the weights.
    pub(crate) fn adapters(&self) -> &[Adapter] {
        &self.file.adapters
    }

    /// The model's configuration.
    pub fn config(&self) -> &Config {
        &self.file.config
    }

    /// The tokenizer.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.file.tokenizer
    }

    /// The chat template, if the model has one.
    pub fn template(&self) -> Option<&ChatTemplate> {
        self.file.template.as_ref()
    }

    /// The recommended sampling options; greedy if the file has none.
    pub fn sampling(&self) -> Sampling {
        self.file.sampling
    }

    /// The network, which builds the graph of a forward pass.
    pub fn network(&self) -> &dyn Network {
        &*self.network
    }

    /// The options it was loaded with.
    pub fn options(&self) -> ModelOptions {
        self.options
    }

    /// The model's device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The candidate devices, best first, if the device was chosen automatically.
    pub fn placement(&self) -> Option<&Placement> {
        self.placement.as_ref()
    }
}

/// Gives back the pages of a file that have been looked at: most of it is of no interest to a rank.
fn forget(gguf: &Gguf) {
    for tensor in gguf.tensors() {
        let (bytes, place) = gguf.place(tensor);
        bytes.forget(place);
    }
}

/// A fingerprint of a file that does not read all of it: names, shapes, sizes, offsets and the first bytes of
/// tensors.
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
