//! `softmetal run`

use crate::args::{RunArgs, open};
use crate::npy::{self, Array};
use crate::texture;
use crate::value::{self, Bound};
use softmetal::{
    Buffer, CommandBuffer, ComputeEncoder, Device, DeviceOptions, DispatchType, Error, FunctionConstants,
    Pipeline, Result, check::CheckOptions,
};
use std::path::Path;
use std::time::Duration;

/// A bound buffer with the shape of its array.
pub struct Held {
    /// Buffer index.
    pub index: u32,
    buffer: Buffer,
    like: Array,
}

impl Held {
    /// Current contents.
    pub fn array(&self) -> Result<Array> {
        Ok(Array { bytes: self.buffer.read_bytes(0, self.buffer.length())?, ..self.like.clone() })
    }
}

/// The results of a run.
pub struct Ran {
    /// The command buffer.
    pub command: CommandBuffer,
    /// The bound arrays.
    pub held: Vec<Held>,
    /// The bound textures.
    pub textures: Vec<texture::Held>,
    /// The outcome.
    pub outcome: Result<()>,
}

/// Runs one kernel; true if it succeeded and the checker found nothing.
pub fn run(a: &RunArgs) -> Result<bool> {
    if !(a.time_limit > 0.0 && a.time_limit < 1e9) {
        return Err(Error::Invalid(format!(
            "`--time-limit {}` must be a positive number of seconds",
            a.time_limit
        )));
    }
    if a.isolate {
        return crate::isolate::run(a);
    }
    let chip = softmetal::profile::chip(&a.chip)?;
    let ran = execute(a)?;
    for o in &a.out {
        write_out(o, &ran.held)?;
    }
    for o in &a.texture_out {
        texture::write_out(o, &ran.textures)?;
    }
    report(a, chip, &ran.command, &ran.outcome)?;
    Ok(ran.outcome.is_ok())
}

/// Compiles, binds and runs.
pub fn execute(a: &RunArgs) -> Result<Ran> {
    let options = DeviceOptions {
        check: a.sanitize.then_some(CheckOptions { max_reports: a.max_reports }),
        profile: a.profile,
        shuffle: a.shuffle,
        hardware: !a.exact,
        simd_width: a.simd_width,
        time_limit: Duration::from_secs_f64(a.time_limit),
        ..a.source.device()?
    };
    let device = Device::new(options)?;
    let library = open(&device, &a.file, &a.source)?;
    let mut constants = FunctionConstants::new();
    for c in &a.constants {
        let (which, what) = value::split(c, "--constant")?;
        let v = value::constant(what)?;
        constants = match which.parse::<u32>() {
            Ok(i) => constants.with(i, v),
            Err(_) => constants.with_name(which, v),
        };
    }
    let pipeline = device.new_pipeline(&library.function_with_constants(&a.kernel, &constants)?)?;
    let command = device.new_queue().command_buffer();
    let (held, textures) = encode(a, &device, &command, &pipeline)?;
    let outcome = command.run();
    Ok(Ran { command, held, textures, outcome })
}

fn encode(
    a: &RunArgs,
    device: &Device,
    command: &CommandBuffer,
    pipeline: &Pipeline,
) -> Result<(Vec<Held>, Vec<texture::Held>)> {
    let mut encoder = command.compute_encoder(DispatchType::Serial);
    encoder.set_pipeline(pipeline);
    let mut held = Vec::new();
    for text in &a.args {
        held.extend(bind(text, a.array_limit, device, &mut encoder)?);
    }
    let textures =
        a.textures.iter().map(|t| texture::bind(t, device, &mut encoder)).collect::<Result<Vec<_>>>()?;
    for s in &a.samplers {
        texture::sampler(s, &mut encoder)?;
    }
    for t in &a.threadgroup {
        let (i, n) = value::split(t, "--threadgroup")?;
        let bytes = n
            .parse()
            .map_err(|_| Error::Invalid(format!("`--threadgroup {t}`: {n} is not a number of bytes")))?;
        encoder.set_threadgroup_memory_length(value::index(i, "--threadgroup")?, bytes)?;
    }
    let threads = value::size(&a.threads, "--threads")?;
    match (&a.grid, &a.groups) {
        (Some(g), _) => encoder.dispatch_threads(value::size(g, "--grid")?, threads)?,
        (None, Some(g)) => encoder.dispatch_threadgroups(value::size(g, "--groups")?, threads)?,
        (None, None) => return Err(Error::Invalid("--grid or --groups is needed".into())),
    }
    Ok((held, textures))
}

fn bind(text: &str, limit: usize, device: &Device, encoder: &mut ComputeEncoder<'_>) -> Result<Option<Held>> {
    let (i, what) = value::split(text, "--arg")?;
    let index = value::index(i, "--arg")?;
    match value::argument(what, limit)? {
        Bound::Scalar(bytes) => {
            encoder.set_bytes(index, &bytes)?;
            Ok(None)
        }
        Bound::Array(like) => {
            let buffer = device.new_buffer_with_bytes(&like.bytes)?;
            encoder.set_buffer(index, &buffer, 0)?;
            Ok(Some(Held { index, buffer, like }))
        }
    }
}

fn write_out(text: &str, held: &[Held]) -> Result<()> {
    let (i, path) = value::split(text, "--out")?;
    let index = value::index(i, "--out")?;
    let Some(h) = held.iter().find(|h| h.index == index) else {
        return Err(Error::Invalid(format!("`--out {text}`: no array is bound at {index}")));
    };
    npy::write(Path::new(path), &h.array()?)
}

fn report(
    a: &RunArgs,
    chip: &softmetal::profile::Chip,
    command: &CommandBuffer,
    outcome: &Result<()>,
) -> Result<()> {
    let profiles = command.profiles();
    if let Some(path) = &a.svg {
        let svg = softmetal::profile::svg(chip, &profiles);
        std::fs::write(path, svg)
            .map_err(|e| Error::Io { path: path.display().to_string(), message: e.to_string() })?;
    }
    let seconds = command.gpu_end_time() - command.gpu_start_time();
    if a.json {
        let reports = match outcome {
            Err(Error::Check(r)) => serde_json::to_value(r).unwrap_or_default(),
            _ => serde_json::json!([]),
        };
        let placed: Vec<_> = profiles.iter().map(|p| softmetal::profile::json(chip, p)).collect();
        let all = serde_json::json!({ "kernel": a.kernel, "ok": outcome.is_ok(), "error": outcome.as_ref().err().map(ToString::to_string), "reports": reports, "seconds": seconds, "profiles": placed });
        println!("{}", serde_json::to_string_pretty(&all).unwrap_or_default());
        return Ok(());
    }
    match outcome {
        Ok(()) => println!(
            "{}: ok in {:.3} ms{}",
            a.kernel,
            seconds * 1e3,
            if a.sanitize { ", no findings" } else { "" }
        ),
        Err(e) => println!("{}: {e}", a.kernel),
    }
    for p in &profiles {
        print!("{}", softmetal::profile::text(chip, p));
    }
    Ok(())
}
