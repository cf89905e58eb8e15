//! What commands on models share: which file is meant, which device, how it is loaded.

use crate::output;
use indicatif::{ProgressBar, ProgressStyle};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wootz::{Device, OnProgress, Proving};
use wootz_gguf::Gguf;
use wootz_llm::estimate::CacheFormat;
use wootz_llm::pull::hub::{Hub, Reference};
use wootz_llm::pull::{self, Pip, Progress};
use wootz_llm::{Model, ModelOptions, Session, SessionOptions, hub};

/// Any error, reported to the user.
pub type Failure = Box<dyn std::error::Error>;

/// Which model, and where it runs.
#[derive(clap::Args)]
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
    /// Format of the KV cache: f32, f16, bf16, or q8_0 (8 bits with a scale per 32 values)
    #[arg(long, default_value = "f16", value_parser = CacheFormat::from_name, value_name = "FORMAT")]
    pub cache: CacheFormat,
    /// Use 16-bit activations on the CPU instead of 8-bit ones: the same answer as from a GPU, at lower speed
    #[arg(long)]
    pub precise: bool,
}

impl Choice {
    /// The device asked for, or the automatic one.
    pub fn device(&self) -> Result<Device, Failure> {
        Ok(match &self.device {
            Some(name) => Device::from_name(name)?,
            None => Device::current()?,
        })
    }

    /// The model on its device, or on the best one for it.
    pub fn load(&self) -> Result<Arc<Model>, Failure> {
        let device = self.device()?;
        let path = find(&self.model)?;
        let gguf = open(&path)?;
        let options = ModelOptions { precise: self.precise };
        let model = with_checks(|on_progress| {
            Model::place(gguf, &device, options, self.session_options(), on_progress)
        });
        Ok(Arc::new(model.map_err(|error| format!("{}: {error}", path.display()))?))
    }

    fn session_options(&self) -> SessionOptions {
        SessionOptions { context: self.context, cache: self.cache }
    }

    /// An empty sequence on the model, which says so when it changes devices.
    pub fn session(&self, model: &Arc<Model>) -> Result<Session, Failure> {
        let mut session = Session::new(model, self.session_options())?;
        session.on_notice(|notice| {
            anstream::eprintln!("{}", output::paint(output::KNOWN, format!("warning: {notice}")));
        });
        Ok(session)
    }
}

/// Shows a progress line while devices prove themselves at their first use.
pub fn with_checks<T>(f: impl FnOnce(&mut OnProgress<'_>) -> T) -> T {
    let bar = output::progress(0, "");
    let result = f(&mut |proving: Proving<'_>| {
        bar.set_message(format!("checking {} (first use): {}", proving.device, proving.family));
        bar.set_length(proving.total as u64);
        bar.set_position(proving.done as u64);
    });
    bar.finish_and_clear();
    result
}

/// The device that a model runs on, and why where it was chosen automatically.
pub fn device_line(model: &Model) -> String {
    match model.placement() {
        Some(placement) => format!("{} ({})", model.device(), placement.reason(model.device())),
        None => model.device().to_string(),
    }
}

/// The file or folder that a model argument means: a path, a known name or a place in a hub, pulled if it is not there.
pub fn find(model: &str) -> Result<PathBuf, Failure> {
    let path = PathBuf::from(model);
    if path.exists() {
        return Ok(path);
    }
    pull(model).map_err(|error| match Reference::is_meant(model) {
        true => error,
        false => format!("no file '{model}', and {error}").into(),
    })
}

/// What is in a model's file or folder.
pub fn open(path: &Path) -> Result<Gguf, Failure> {
    hub::open(path).map_err(|error| format!("{}: {error}", path.display()).into())
}

/// Pulls a known model or a place in a hub, with a progress bar.
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

/// Shows progress: a spinner while nothing can be counted, else a bar of bytes.
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
