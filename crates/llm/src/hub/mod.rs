//! Models as hubs hold them: a folder with `config.json`, `tokenizer.json` and `*.safetensors`.
//!
//! Such a folder is read as the GGUF file that it would become: metadata and names are translated, tensors stay where
//! they are mapped. Only what GGUF stores otherwise is computed (Gemma's norms with their 1 added, Llama 3's
//! frequency factors). The rotary pairs of such files are half a head apart, which the metadata says.

mod config;
mod tensors;
mod tokenizer;

use crate::error::{Error, Result};
use serde_json::Value as Json;
use std::fs;
use std::path::{Path, PathBuf};
use wootz_gguf::{Gguf, Writer};

/// Opens a model: a GGUF file, a folder as hubs have it, or a safetensors file in one.
pub fn open(path: impl AsRef<Path>) -> Result<Gguf> {
    let path = path.as_ref();
    if path.is_dir() {
        return open_folder(path);
    }
    if path.extension().is_some_and(|e| e == "safetensors") {
        return open_folder(path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new(".")));
    }
    Ok(Gguf::open(path)?)
}

fn open_folder(folder: &Path) -> Result<Gguf> {
    let config = read_json(&folder.join("config.json"))?;
    let shape = config::Shape::read(&config)?;
    let mut writer = Writer::new();
    shape.write(&mut writer);
    tokenizer::write(folder, &config, &mut writer)?;
    let tensors = tensors::map(&safetensors_files(folder)?, &shape)?;
    Ok(Gguf::assemble(&writer, tensors)?)
}

fn safetensors_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).map_err(|e| cannot("read", folder, &e))?;
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.extension().is_some_and(|e| e == "safetensors"))
        .collect();
    files.sort();
    if files.is_empty() {
        return Err(Error::Model(format!("{} holds no *.safetensors", folder.display())));
    }
    Ok(files)
}

fn read_json(path: &Path) -> Result<Json> {
    let text = fs::read_to_string(path).map_err(|e| cannot("read", path, &e))?;
    serde_json::from_str(&text).map_err(|e| Error::Model(format!("{}: {e}", path.display())))
}

/// The same, if the file is there.
fn optional_json(path: &Path) -> Result<Json> {
    if path.exists() { read_json(path) } else { Ok(Json::Null) }
}

fn cannot(action: &str, path: &Path, error: &std::io::Error) -> Error {
    Error::Model(format!("cannot {action} {}: {error}", path.display()))
}
