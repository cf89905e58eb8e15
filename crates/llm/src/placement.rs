//! Placement of a model: the device is chosen when the model is loaded, with a reason, and changed when a device
//! fails.
//!
//! Weights stay where they are, so the choice is made once. For every candidate, the op families that the model needs
//! are validated, weights and cache must fit in its memory, and its cost model estimates the time of a pass. Nothing
//! is loaded for that: the graphs are traced over the memory-mapped file.

use crate::error::{Error, Result};
use crate::estimate::{Estimate, Load};
use crate::model::Model;
use crate::passes::CHUNK;
use crate::scores::{Scores, Want};
use crate::session::{Session, SessionOptions};
use std::fmt;
use std::sync::Arc;
use wootz::{Device, DeviceKind, OnProgress};
use wootz_gguf::Gguf;

/// Context length that must fit if none was given. The cache grows beyond it if necessary.
const USUAL_CONTEXT: usize = 4096;

/// Tokens of the answer that devices are compared with; the prompt is one chunk.
const ANSWER: f64 = 128.0;

/// The estimate for a model on a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// Prefill throughput in tokens per second.
    pub prefill_rate: f64,
    /// Decode throughput in tokens per second.
    pub decode_rate: f64,
    /// Bytes of weights, cache and activations.
    pub bytes: u64,
}

impl Forecast {
    /// Estimated seconds for a prompt of one chunk and the answer.
    fn seconds(&self) -> f64 {
        CHUNK as f64 / self.prefill_rate + ANSWER / self.decode_rate
    }
}

/// A candidate device with its estimate, or why it cannot run the model.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The device.
    pub device: Device,
    /// The estimate, or the reason against the device.
    pub forecast: std::result::Result<Forecast, String>,
}

/// The candidates for a model, best first.
#[derive(Clone, Debug)]
pub struct Placement {
    candidates: Vec<Candidate>,
}

/// A change of device: what failed, and where the model continues.
#[derive(Clone, Debug)]
pub struct Notice {
    /// The device that failed.
    pub from: Device,
    /// The device that takes over.
    pub to: Device,
    /// The error.
    pub reason: String,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} failed ({}); continuing on {}", self.from, self.reason, self.to)
    }
}

/// A callback for changes of device.
pub type OnNotice = Arc<dyn Fn(&Notice) + Send + Sync>;

impl Placement {
    /// Estimates a model on each device. `model` may be on any device; nothing is moved.
    pub fn of(
        model: &Arc<Model>,
        devices: &[Device],
        options: SessionOptions,
        on_progress: &mut OnProgress<'_>,
    ) -> Result<Placement> {
        let session = Session::new(model, options)?;
        let forecast = |device: &Device| -> Result<Candidate> {
            let forecast = forecast(&session, device, options, on_progress)?;
            Ok(Candidate { device: device.clone(), forecast })
        };
        Ok(Placement::among(devices.iter().map(forecast).collect::<Result<Vec<_>>>()?))
    }

    /// The same for an embedding model of a given size: `seconds` estimates a pass over `tokens` tokens on a device.
    pub(crate) fn of_passes(
        gguf: &Gguf,
        devices: &[Device],
        tokens: usize,
        mut seconds: impl FnMut(&Device) -> std::result::Result<f64, String>,
    ) -> Placement {
        let bytes = gguf.tensors().iter().map(|t| t.bytes).sum();
        let mut forecast = |device: &Device| {
            let free = device.info().memory_limit.saturating_sub(device.memory().live) as u64;
            if bytes > free && !is_host(device) {
                return Err(format!(
                    "the weights need {} MiB, but only {} MiB are free",
                    mib(bytes),
                    mib(free)
                ));
            }
            buffers_hold(gguf, device)?;
            let rate = tokens as f64 / seconds(device)?;
            Ok(Forecast { prefill_rate: rate, decode_rate: rate, bytes })
        };
        let candidate = |device: &Device| Candidate { device: device.clone(), forecast: forecast(device) };
        Placement::among(devices.iter().map(candidate).collect())
    }

    fn among(mut candidates: Vec<Candidate>) -> Placement {
        let seconds = |c: &Candidate| c.forecast.as_ref().map_or(f64::INFINITY, Forecast::seconds);
        candidates.sort_by(|a, b| seconds(a).total_cmp(&seconds(b)));
        Placement { candidates }
    }

    /// The candidates, best first; those that cannot run the model come last.
    pub fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }

    /// The devices that can run the model, best first.
    pub fn devices(&self) -> impl Iterator<Item = &Device> {
        self.candidates.iter().filter(|c| c.forecast.is_ok()).map(|c| &c.device)
    }

    /// Why a device was chosen, in one line: its estimate, and those of the others.
    pub fn reason(&self, device: &Device) -> String {
        let word = |c: &Candidate| match &c.forecast {
            Ok(forecast) => format!("about {:.0} tokens/s", forecast.decode_rate),
            Err(reason) => reason.clone(),
        };
        let (own, others): (Vec<_>, Vec<_>) = self.candidates.iter().partition(|c| c.device == *device);
        let own: Vec<String> = own.into_iter().map(word).collect();
        let others: Vec<String> = others.into_iter().map(|c| format!("{}: {}", c.device, word(c))).collect();
        match others.is_empty() {
            true => "the only device".into(),
            false => format!("{}; {}", own.join(""), others.join("; ")),
        }
    }

    /// The error if no device is left.
    pub(crate) fn none_left(&self, failures: &[String]) -> Error {
        let refused = self.candidates.iter().filter_map(|c| {
            let reason = c.forecast.as_ref().err()?;
            Some(format!("{}: {reason}", c.device))
        });
        let all: Vec<String> = failures.iter().cloned().chain(refused).collect();
        let advice = "use a smaller model or a shorter context (--context)";
        Error::Model(format!("no device can run this model ({}); {advice}", all.join("; ")))
    }
}

/// The estimate of a device for the session's model, or the reason against it.
fn forecast(
    session: &Session,
    device: &Device,
    options: SessionOptions,
    on_progress: &mut OnProgress<'_>,
) -> Result<std::result::Result<Forecast, String>> {
    let model = session.model();
    let longest = model.config().context;
    let context = if options.context == 0 { longest.min(USUAL_CONTEXT) } else { options.context };
    let load = Load { context, sequences: 1, batch: CHUNK, cache: options.cache };
    let estimate = Estimate::new(model.gguf(), model.config(), load)?;
    let free = device.info().memory_limit.saturating_sub(device.memory().live);
    if let Err(Error::Model(reason)) = estimate.resident(is_host(device)).must_fit(free as u64) {
        return Ok(Err(reason));
    }
    if let Err(reason) = buffers_hold(model.gguf(), device) {
        return Ok(Err(reason));
    }
    let mut seconds = |count: usize| -> Result<std::result::Result<f64, String>> {
        Ok(session.quote(count, device, on_progress)?.map(|quote| quote.seconds))
    };
    // A context may be shorter than a chunk.
    let prompt = CHUNK.min(context);
    let (prefill, decode) = match (seconds(prompt)?, seconds(1)?) {
        (Ok(prefill), Ok(decode)) => (prefill, decode),
        (Err(reason), _) | (_, Err(reason)) => return Ok(Err(reason)),
    };
    let bytes = estimate.total();
    Ok(Ok(Forecast { prefill_rate: prompt as f64 / prefill, decode_rate: 1.0 / decode, bytes }))
}

fn mib(bytes: u64) -> u64 {
    bytes.div_ceil(1 << 20)
}

/// Whether a device uses weights where the file is mapped.
fn is_host(device: &Device) -> bool {
    device.info().kind == DeviceKind::Cpu
}

/// Whether each weight matrix fits in one buffer of the device; otherwise the reason.
fn buffers_hold(gguf: &Gguf, device: &Device) -> std::result::Result<(), String> {
    if is_host(device) {
        return Ok(());
    }
    let largest = gguf.tensors().iter().map(|t| t.bytes).max().unwrap_or(0);
    let limit = device.info().buffer_limit as u64;
    match largest <= limit {
        true => Ok(()),
        false => Err(format!(
            "its buffers are limited to {} MiB, but one weight matrix needs {} MiB",
            mib(limit),
            mib(largest)
        )),
    }
}

/// Whether an error means that a device cannot continue, rather than that a request was invalid.
pub(crate) fn is_failure_of_device(error: &Error) -> bool {
    matches!(error, Error::Engine(wootz::Error::Device { .. } | wootz::Error::OutOfMemory { .. }))
}

impl Session {
    /// Calls `hear` whenever the model moves to another device.
    pub fn on_notice(&mut self, hear: impl Fn(&Notice) + Send + Sync + 'static) {
        self.on_notice = Some(Arc::new(hear));
    }

    /// The changes of device so far.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// After `error`: moves the model to the next device that can run it, processes `sequence` there, and returns the
    /// requested scores. Fails with `error` itself if the device is not to blame, or was chosen by the user.
    pub(crate) fn move_on(&mut self, error: Error, want: Want, sequence: &[u32]) -> Result<Scores> {
        let Some(placement) = self.model().placement().cloned().filter(|_| is_failure_of_device(&error))
        else {
            return Err(error);
        };
        let current = self.model().device().clone();
        let later = placement.devices().skip_while(|device| **device != current).skip(1);
        let mut failures = vec![format!("{current}: {error}")];
        let mut notice = Notice { from: current.clone(), to: current.clone(), reason: error.to_string() };
        for device in later {
            notice.to = device.clone();
            if let Some(hear) = &self.on_notice {
                hear(&notice);
            }
            self.notices.push(notice.clone());
            match self.moved_to(device, want, sequence) {
                Ok(scores) => return Ok(scores),
                Err(error) => {
                    failures.push(format!("{device}: {error}"));
                    notice = Notice { from: device.clone(), to: device.clone(), reason: error.to_string() };
                }
            }
        }
        if failures.len() == 1 { Err(error) } else { Err(placement.none_left(&failures)) }
    }

    fn moved_to(&mut self, device: &Device, want: Want, sequence: &[u32]) -> Result<Scores> {
        let model = Arc::new(self.model().on(device)?);
        let moved = Session::new(&model, self.options())?;
        let old = std::mem::replace(self, moved);
        (self.on_notice, self.notices) = (old.on_notice, old.notices);
        Ok(self.read_for(want, sequence)?.0)
    }
}
