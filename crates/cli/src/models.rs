//! Options that all model commands share: the model file, the device, and how the model is loaded.

use crate::output;
use crate::ranks;
use indicatif::{ProgressBar, ProgressStyle};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wootz::distributed::Group;
use wootz::{Device, OnProgress, Proving};
use wootz_gguf::Gguf;
use wootz_llm::estimate::CacheFormat;
use wootz_llm::pull::hub::{Hub, Reference};
use wootz_llm::pull::{self, Pip, Progress};
use wootz_llm::ranks::Parallel;
use wootz_llm::{
    Adapter, Model, ModelOptions, ModelSource, Placement, Session, SessionOptions, Speculation, hub,
};

/// Any error, reported to the user.
pub type Failure = Box<dyn std::error::Error>;

/// The model and the device it runs on.
#[derive(Clone, clap::Args)]
pub struct Choice {
    /// A GGUF file, a folder of safetensors, a known model, or hf:OWNER/REPO[/FILE]; the last two are pulled on
    /// first use
    #[arg(short, long, default_value = "smollm2", value_name = "MODEL")]
    pub model: String,
    /// Device to run on [default: the fastest one that passed its checks]
    #[arg(long, env = "WOOTZ_DEVICE")]
    pub device: Option<String>,
    /// Context length in tokens [default: the model's own]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub context: usize,
    /// KV cache format: f32, f16, bf16, or q8_0 (8 bits with a scale per 32 values)
    #[arg(long, default_value = "f16", value_parser = CacheFormat::from_name, value_name = "FORMAT")]
    pub cache: CacheFormat,
    /// Use 8-bit instead of 16-bit activations on the CPU: faster prefill, less accurate answers
    #[arg(long)]
    pub fast: bool,
    /// How to split the model over MPI ranks: pipeline, tensor or expert [default: what promises most tokens per
    /// second by the memory and links of the ranks]
    #[arg(long, value_parser = Parallel::from_name, value_name = "HOW")]
    pub split: Option<Parallel>,
    /// Apply a LoRA adapter (a GGUF file), scaled by a factor [default: 1] (may be repeated)
    #[arg(long, value_name = "FILE[:SCALE]")]
    pub lora: Vec<String>,
}

/// Speculative decoding.
#[derive(clap::Args)]
pub struct Draft {
    /// Speculative decoding for greedy answers: draft tokens by `lookup` (what followed the same tokens earlier in the
    /// text), or with a smaller MODEL that has the same vocabulary; switched off while it does not pay
    #[arg(long = "draft", value_name = "lookup|MODEL")]
    source: Option<String>,
}

impl Draft {
    /// The speculative decoder, if one was asked for.
    pub fn speculation(&self, choice: &Choice, model: &Model) -> Result<Option<Speculation>, Failure> {
        Ok(match self.source.as_deref() {
            None => None,
            // Whether drafting pays depends on timing, which differs between ranks.
            Some(_) if model.share().is_some() => {
                return Err("--draft does not work over MPI ranks".into());
            }
            Some("lookup") => Some(Speculation::lookup()),
            Some(draft) => {
                let path = find(draft)?;
                let options = ModelOptions { precise: !choice.fast };
                let draft = Model::from_gguf(open(&path)?, model.device(), options);
                let draft = Arc::new(draft.map_err(|error| format!("{}: {error}", path.display()))?);
                Some(Speculation::draft(&draft, model, choice.session_options())?)
            }
        })
    }
}

/// The device asked for, or the default one.
pub fn device(name: Option<&str>) -> Result<Device, Failure> {
    Ok(match name {
        Some(name) => Device::from_name(name)?,
        None => Device::current()?,
    })
}

impl Choice {
    /// The device asked for, or the default one.
    pub fn device(&self) -> Result<Device, Failure> {
        device(self.device.as_deref())
    }

    /// The model on the device asked for, or on the best one for it.
    pub fn load(&self) -> Result<Arc<Model>, Failure> {
        if let Some(group) = ranks::group()? {
            return self.load_over(&group);
        }
        let device = self.device()?;
        let path = find(&self.model)?;
        let gguf = open(&path)?;
        let options = ModelOptions { precise: !self.fast };
        let adapters = self.lora.iter().map(|text| Adapter::parse(text).map_err(|e| format!("{text}: {e}")));
        let adapters = adapters.collect::<Result<Vec<_>, _>>()?;
        let model = with_checks(|on_progress| {
            let source = ModelSource { gguf, adapters };
            Model::place(source, &device, options, self.session_options(), on_progress)
        });
        Ok(Arc::new(model.map_err(|error| format!("{}: {error}", path.display()))?))
    }

    /// This rank's share of the model.
    fn load_over(&self, group: &Group) -> Result<Arc<Model>, Failure> {
        if self.device.as_ref().is_some_and(|name| name != "cpu") {
            return Err("models over MPI ranks run on the CPU; leave out --device".into());
        }
        if !self.lora.is_empty() {
            return Err("--lora does not work over MPI ranks".into());
        }
        let path = find_together(&self.model, group)?;
        let options = ModelOptions { precise: !self.fast };
        let model = Model::over_ranks(open(&path)?, options, group, self.split);
        let model = model.map_err(|error| format!("{}: {error}", path.display()))?;
        if let Some(share) = model.share().filter(|_| self.split.is_none() && ranks::speaks()) {
            let chosen = format!(
                "{} ranks, {} parallel, as measured; --split decides",
                group.size(),
                share.parallel()
            );
            anstream::eprintln!("{}", output::paint(output::DIM, chosen));
        }
        Ok(Arc::new(model))
    }

    pub fn session_options(&self) -> SessionOptions {
        SessionOptions { context: self.context, cache: self.cache, ..SessionOptions::default() }
    }

    /// An empty session on the model, which warns when it changes devices.
    pub fn session(&self, model: &Arc<Model>) -> Result<Session, Failure> {
        let mut session = Session::new(model, self.session_options())?;
        session.on_notice(|notice| {
            anstream::eprintln!("{}", output::paint(output::KNOWN, format!("warning: {notice}")));
        });
        Ok(session)
    }
}

/// Shows a progress line while devices are validated before their first use.
pub fn with_checks<T>(f: impl FnOnce(&mut OnProgress<'_>) -> T) -> T {
    let bar = output::progress(0, "");
    let result = f(&mut |proving: Proving<'_>| {
        bar.set_message(format!("validating {} (first use): {}", proving.device, proving.family));
        bar.set_length(proving.total as u64);
        bar.set_position(proving.done as u64);
    });
    bar.finish_and_clear();
    result
}

/// The device that a model runs on and, if it was chosen automatically, why.
pub fn device_line(device: &Device, placement: Option<&Placement>) -> String {
    match placement {
        Some(placement) => format!("{device} ({})", placement.reason(device)),
        None => device.to_string(),
    }
}

/// Where a model runs: a device, or several MPI ranks.
pub fn home(model: &Model) -> String {
    match model.share() {
        Some(share) => format!("{} ranks, {} parallel", share.group().size(), share.parallel()),
        None => device_line(model.device(), model.placement()),
    }
}

/// Resolves a model argument to a file or folder: a path, a known name or a hub location, pulled if necessary.
pub fn find(model: &str) -> Result<PathBuf, Failure> {
    let path = PathBuf::from(model);
    if path.exists() {
        return Ok(path);
    }
    // Known models are plain names: anything else is meant as a path.
    if !Reference::is_meant(model)
        && (path.components().count() > 1 || path.extension().is_some_and(|end| end == "gguf"))
    {
        return Err(format!("no file '{model}'").into());
    }
    pull(model).map_err(|error| match Reference::is_meant(model) {
        true => error,
        false => format!("no file '{model}', and {error}").into(),
    })
}

/// The same on every rank: where ranks share a disk, rank 0 pulls what the others find.
pub fn find_together(model: &str, group: &Group) -> Result<PathBuf, Failure> {
    let first = if group.rank() == 0 { Some(find(model)?) } else { None };
    group.share(&[])?;
    first.map_or_else(|| find(model), Ok)
}

/// Opens a model file or folder.
pub fn open(path: &Path) -> Result<Gguf, Failure> {
    hub::open(path).map_err(|error| format!("{}: {error}", path.display()).into())
}

/// Pulls a known model or a hub location, with a progress bar.
pub fn pull(model: &str) -> Result<PathBuf, Failure> {
    let bar = ProgressBar::no_length().with_message(format!("pulling {model}"));
    bar.set_style(
        ProgressStyle::with_template("{spinner} {msg} {prefix}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner()),
    );
    let folder = pull::cache_folder()?;
    if Reference::is_meant(model) {
        let path =
            Hub::default().pull(&Reference::parse(model)?, &folder, &mut |progress| show(&bar, progress));
        bar.finish_and_clear();
        return Ok(path?);
    }
    let known = pull::known(model)?;
    bar.set_message(format!("pulling {model}, {}", output::bytes(known.bytes as usize)));
    bar.enable_steady_tick(std::time::Duration::from_millis(120));
    let path = pull::pull(known, &folder, &Pip, &mut |progress| show(&bar, progress));
    bar.finish_and_clear();
    Ok(path?)
}

/// Shows progress: a spinner while the size is unknown, then a bar of bytes.
fn show(bar: &ProgressBar, progress: Progress) {
    const BYTES: &str = "{msg} {bar:40.cyan/dim} {bytes}/{total_bytes} {eta}";
    let (done, total) = match progress {
        Progress::Fetching { pieces: 1, .. } => return,
        Progress::Fetching { piece, pieces } => {
            return bar.set_prefix(format!("({piece} of {pieces}) "));
        }
        Progress::Downloading { done, total } | Progress::Assembling { done, total } => (done, total),
    };
    if bar.length() != Some(total) {
        bar.set_style(ProgressStyle::with_template(BYTES).unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_length(total);
    }
    bar.set_position(done);
}
