//! Language models: reading a prompt, and writing token after token.

use super::{Case, Fallible, Ready, Suite, Work};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use wootz::Device;
use wootz_gguf::Gguf;
use wootz_llm::pull;
use wootz_llm::{Model, ModelOptions, Session, SessionOptions};

const PROMPT: u32 = 128;
const STEPS: u32 = 16;

/// A model to measure.
#[derive(Clone)]
pub struct ModelFile {
    pub name: String,
    pub path: PathBuf,
    /// Bytes and elements of all tensors that every token passes.
    bytes: f64,
    elements: f64,
}

impl ModelFile {
    fn open(path: PathBuf) -> Fallible<ModelFile> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let gguf = Gguf::open(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let (mut bytes, mut elements) = (0.0, 0.0);
        for tensor in gguf.tensors() {
            // One row of the embedding is read per token, unless it is the output matrix too.
            let lookup = tensor.name == "token_embd.weight" && gguf.find_tensor("output.weight").is_some();
            if !lookup {
                bytes += tensor.bytes as f64;
                elements += tensor.len() as f64;
            }
        }
        Ok(ModelFile { name, path, bytes, elements })
    }
}

/// The models asked for, or the known ones that were pulled before. None is pulled for a benchmark.
pub fn find_models(asked: &[String]) -> Fallible<Vec<ModelFile>> {
    if !asked.is_empty() {
        return asked.iter().map(|name| ModelFile::open(crate::models::find(name)?)).collect();
    }
    // Without a home there is no cache, and nothing was pulled.
    let Ok(folder) = pull::cache_folder() else { return Ok(vec![]) };
    let pulled = pull::KNOWN.iter().map(|known| folder.join(known.file)).filter(|path| path.exists());
    pulled.map(ModelFile::open).collect()
}

pub fn cases(models: &[ModelFile]) -> Vec<Case> {
    let mut cases = Vec::new();
    for model in models {
        let one = |op, what: &str, tokens: u32, passes: u32| {
            let (tokens_f, passes) = (f64::from(tokens), f64::from(passes));
            let model = model.clone();
            Case {
                suite: Suite::Llm,
                family: op,
                name: format!("{} {what}", model.name),
                op,
                work: Work {
                    bytes: model.bytes * passes,
                    flops: 2.0 * model.elements * tokens_f,
                    tokens: Some(tokens_f),
                    least_memory: None,
                },
                prepare: Box::new(move |device| prepare(&model, device, op == "prefill", tokens)),
            }
        };
        cases.push(one("prefill", &format!("prefill {PROMPT}"), PROMPT, 1));
        cases.push(one("decode", &format!("decode {STEPS}"), STEPS, STEPS));
    }
    cases
}

/// From an empty sequence: all tokens at once, or one after another.
fn prepare(file: &ModelFile, device: &Device, at_once: bool, count: u32) -> Fallible<Ready> {
    let model = Arc::new(Model::open(&file.path, device, ModelOptions::default())?);
    let mut session = Session::new(&model, SessionOptions { context: 512, ..SessionOptions::default() })?;
    let tokens: Vec<u32> = (0..count).map(|i| i * 37 % 1000 + 20).collect();
    let extra = json!({ "model": file.path.display().to_string(), "tokens": tokens });
    let run = move || -> Fallible<()> {
        session.clear()?;
        if at_once {
            session.advance(&tokens)?;
        } else {
            for token in &tokens {
                session.advance(&[*token])?;
            }
        }
        Ok(())
    };
    Ok(Ready { inputs: vec![], extra, run: Box::new(run) })
}
