//! Models in the layout of model hubs: a folder with `config.json`, `tokenizer.json` and `*.safetensors`.
//!
//! Such a folder is presented as the GGUF file that it would convert to: metadata and names are translated, and
//! tensors stay in their memory-mapped files. Only what GGUF stores differently is computed (Gemma's norms with 1
//! added, Llama 3's frequency factors). The rotary pairs of such files are half a head apart, which the metadata
//! records.

mod config;
pub(crate) mod split;
mod tensors;
mod tokenizer;

use crate::error::{Error, Result};
use serde_json::Value as Json;
use std::fs;
use std::path::{Path, PathBuf};
use wootz_gguf::{Gguf, MetaValue, Writer};
use wootz_system::inject;

/// Opens a model: a GGUF file (or a part of a split one), a folder in hub layout, or a safetensors file in one.
pub fn open(path: impl AsRef<Path>) -> Result<Gguf> {
    let path = path.as_ref();
    if path.is_dir() {
        return open_folder(path);
    }
    if path.extension().is_some_and(|e| e == "safetensors") {
        return open_folder(path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new(".")));
    }
    split::join(path, Gguf::open(path)?)
}

fn open_folder(folder: &Path) -> Result<Gguf> {
    let config = read_json(&folder.join("config.json"))?;
    let mut shape = config::Shape::read(&config)?;
    shape.pooling(&optional_json(&folder.join("1_Pooling").join("config.json"))?);
    let mut writer = Writer::new();
    shape.write(&mut writer);
    let generation = optional_json(&folder.join("generation_config.json"))?;
    tokenizer::write(folder, &config, &generation, &mut writer)?;
    write_sampling(&generation, &mut writer);
    let tensors = tensors::map(&safetensors_files(folder)?, &shape)?;
    Ok(Gguf::assemble(&writer, tensors)?)
}

/// The recommended sampling options, under GGUF's keys.
fn write_sampling(generation: &Json, writer: &mut Writer) {
    let greedy = generation["do_sample"].as_bool() == Some(false);
    let temperature = if greedy { Some(0.0) } else { generation["temperature"].as_f64() };
    // Transformers, which these files are written for, samples at temperature 1 if `do_sample` is all that is set.
    let temperature = temperature.or((generation["do_sample"].as_bool() == Some(true)).then_some(1.0));
    let settings = [("top_p", "top_p"), ("min_p", "min_p"), ("repetition_penalty", "penalty_repeat")];
    let numbers = settings.map(|(theirs, key)| (key, generation[theirs].as_f64()));
    for (key, number) in numbers.into_iter().chain([("temp", temperature)]) {
        if let Some(number) = number {
            writer.set(format!("general.sampling.{key}"), MetaValue::F32(number as f32));
        }
    }
    if let Some(top_k) = generation["top_k"].as_i64() {
        writer.set("general.sampling.top_k", MetaValue::I32(top_k.clamp(0, i64::from(i32::MAX)) as i32));
    }
}

fn safetensors_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries =
        inject::file().and_then(|()| fs::read_dir(folder)).map_err(|e| cannot("read", folder, &e))?;
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.extension().is_some_and(|e| e == "safetensors"))
        .collect();
    files.sort();
    if files.is_empty() {
        return Err(Error::Model(format!("{} contains no *.safetensors files", folder.display())));
    }
    Ok(files)
}

fn read_json(path: &Path) -> Result<Json> {
    let text =
        inject::file().and_then(|()| fs::read_to_string(path)).map_err(|e| cannot("read", path, &e))?;
    serde_json::from_str(&text).map_err(|e| Error::Model(format!("{}: {e}", path.display())))
}

/// The same, if the file exists.
fn optional_json(path: &Path) -> Result<Json> {
    if path.exists() { read_json(path) } else { Ok(Json::Null) }
}

fn cannot(action: &str, path: &Path, error: &std::io::Error) -> Error {
    Error::Model(format!("cannot {action} {}: {error}", path.display()))
}
