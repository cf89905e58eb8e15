//! `wootz inspect`: show the contents of a model file.

use crate::models;
use crate::output::{HEAD, Outcome, Table, bytes};
use anstyle::Style;
use serde_json::json;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use wootz_gguf::{Gguf, Value};
use wootz_llm::config::Config;
use wootz_llm::tokenizer::Tokenizer;

/// Show the metadata and tensors of a model file
#[derive(clap::Args)]
pub struct Args {
    /// A GGUF file or a known model
    model: String,
    /// List every tensor instead of a count per type
    #[arg(long)]
    tensors: bool,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Outcome {
    let path = models::find(&args.model)?;
    let gguf = Arc::new(models::open(&path)?);
    if args.json {
        println!("{}", serde_json::to_string_pretty(&to_json(&gguf))?);
        return Ok(ExitCode::SUCCESS);
    }
    let size = bytes(gguf.file_bytes());
    crate::output::outln!(
        "{}: GGUF version {}, {size}, {} tensors\n",
        path.display(),
        gguf.version(),
        gguf.tensors().len()
    );
    for (name, value) in summary(&gguf) {
        crate::output::outln!("{name:<12} {value}");
    }
    println!();
    let mut table = Table::default();
    for (key, value) in gguf.metadata().iter() {
        table.row(Style::new(), [key.to_string(), format!(" {}", short(&value))]);
    }
    table.print();
    println!();
    if args.tensors {
        list(&gguf)
    } else {
        types(&gguf)
    }
    Ok(ExitCode::SUCCESS)
}

/// The summary: family, formats, parameters, and whether the file can run.
fn summary(gguf: &Arc<Gguf>) -> Vec<(&'static str, String)> {
    let facts = Facts::of(gguf);
    let mut list = vec![("architecture", facts.architecture.clone()), ("formats", facts.formats.join(", "))];
    let millions = |count: u64| format!("{:.1} M", count as f64 / 1e6);
    list.push(match facts.active {
        Some(active) if active < facts.parameters => {
            ("parameters", format!("{}, of which {} active", millions(facts.parameters), millions(active)))
        }
        _ => ("parameters", millions(facts.parameters)),
    });
    list.push(match facts.missing.is_empty() {
        true => ("runs", "yes".into()),
        false => ("runs", format!("no: {}", facts.missing.join("; "))),
    });
    list
}

/// The summary of a file.
struct Facts {
    architecture: String,
    formats: Vec<&'static str>,
    parameters: u64,
    /// Parameters used per token, if the model's architecture is known.
    active: Option<u64>,
    /// Why it cannot run.
    missing: Vec<String>,
}

impl Facts {
    fn of(gguf: &Arc<Gguf>) -> Facts {
        let mut missing = Vec::new();
        let config = Config::from_gguf(gguf).map_err(|error| missing.push(error.to_string())).ok();
        missing.extend(Tokenizer::from_gguf(gguf).err().map(|error| error.to_string()));
        let mut formats: Vec<&'static str> = gguf.tensors().iter().map(|t| t.kind.name()).collect();
        formats.sort_unstable();
        formats.dedup();
        let unknown = gguf.tensors().iter().filter_map(|t| t.format().err());
        missing.extend(unknown.take(1).map(|error| error.to_string()));
        if config.is_some() {
            missing.extend(wootz_llm::missing_tensors(gguf).unwrap_or_else(|error| vec![error.to_string()]));
        }
        let active = config.as_ref().map(|config| {
            let met = |t: &wootz_gguf::Tensor| t.len() as f64 * config.used_part(&t.name);
            gguf.tensors().iter().map(met).sum::<f64>().round() as u64
        });
        Facts {
            architecture: gguf.metadata().str("general.architecture").unwrap_or("unknown").to_string(),
            formats,
            parameters: gguf.tensors().iter().map(|t| t.len()).sum(),
            active,
            missing,
        }
    }
}

/// A metadata value on one line.
fn short(value: &Value<'_>) -> String {
    const WIDTH: usize = 100;
    let text = match value {
        Value::Unsigned(v, _) => v.to_string(),
        Value::Signed(v, _) => v.to_string(),
        Value::Float(v, _) => v.to_string(),
        Value::Bool(v) => v.to_string(),
        Value::String(v) => String::from_utf8_lossy(v).escape_debug().to_string(),
        Value::Array(array) => {
            let first: Vec<String> = array.iter().take(4).map(|v| short(&v)).collect();
            let more = if array.len() > first.len() { ", …" } else { "" };
            format!("{} × {:?}: [{}{more}]", array.len(), array.element, first.join(", "))
        }
    };
    match text.char_indices().nth(WIDTH) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// Tensor count and size by type.
fn types(gguf: &Gguf) {
    let mut counts: BTreeMap<&str, (usize, u64)> = BTreeMap::new();
    for tensor in gguf.tensors() {
        let entry = counts.entry(tensor.kind.name()).or_default();
        *entry = (entry.0 + 1, entry.1 + tensor.bytes);
    }
    let mut table = Table::default();
    table.row(HEAD, ["type", "tensors", "size"]);
    for (name, (count, size)) in counts {
        table.row(Style::new(), [name.to_string(), count.to_string(), bytes(size as usize)]);
    }
    table.print();
}

fn list(gguf: &Gguf) {
    let mut table = Table::default();
    table.row(HEAD, ["tensor", "type", "shape", "size"]);
    for tensor in gguf.tensors() {
        let shape: Vec<String> = tensor.dims.iter().rev().map(u64::to_string).collect();
        let cells = [
            tensor.name.clone(),
            tensor.kind.name().to_string(),
            format!("[{}]", shape.join(", ")),
            bytes(tensor.bytes as usize),
        ];
        table.row(Style::new(), cells);
    }
    table.print();
}

fn to_json(gguf: &Arc<Gguf>) -> serde_json::Value {
    let metadata: serde_json::Map<_, _> =
        gguf.metadata().iter().map(|(k, v)| (k.into(), value(&v))).collect();
    let tensors: Vec<_> = gguf
        .tensors()
        .iter()
        .map(|t| {
            let shape: Vec<u64> = t.dims.iter().rev().copied().collect();
            json!({ "name": t.name, "type": t.kind.name(), "shape": shape, "bytes": t.bytes })
        })
        .collect();
    let facts = Facts::of(gguf);
    json!({
        "architecture": facts.architecture, "formats": facts.formats, "parameters": facts.parameters,
        "active_parameters": facts.active, "missing": facts.missing,
        "version": gguf.version(), "file_bytes": gguf.file_bytes(), "metadata": metadata, "tensors": tensors,
    })
}

fn value(v: &Value<'_>) -> serde_json::Value {
    match v {
        Value::Unsigned(v, _) => json!(v),
        Value::Signed(v, _) => json!(v),
        Value::Float(v, _) => json!(v),
        Value::Bool(v) => json!(v),
        Value::String(v) => json!(String::from_utf8_lossy(v)),
        Value::Array(array) => json!(array.iter().map(|v| value(&v)).collect::<Vec<_>>()),
    }
}
