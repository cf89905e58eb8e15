//! Language models: reading a prompt, and writing token after token.

use super::{Case, Fallible, Ready, Suite, Work};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use wootz::Device;
use wootz_gguf::Gguf;
use wootz_llm::config::Config;
use wootz_llm::pull;
use wootz_llm::{Model, ModelOptions, Session, SessionOptions};
use wootz_report::Arithmetic;

/// Lengths of prompts: a question, and a page.
const PROMPTS: [u32; 2] = [14, 128];
const STEPS: u32 = 16;
/// Numbers of busy processes in the load suite.
const NEIGHBOURS: [usize; 4] = [0, 1, 2, 4];

/// A model to benchmark.
#[derive(Clone)]
pub struct ModelFile {
    pub name: String,
    pub path: PathBuf,
    /// Bytes of all tensors that tokens use.
    bytes: f64,
    /// Bytes and elements that one token uses: of the experts, those that are chosen for it.
    active_bytes: f64,
    active_elements: f64,
}

impl ModelFile {
    fn open(path: PathBuf) -> Fallible<ModelFile> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let gguf = Gguf::open(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let config = Config::from_gguf(&gguf).ok();
        let (mut bytes, mut active_bytes, mut active_elements) = (0.0, 0.0, 0.0);
        for tensor in gguf.tensors() {
            // One row of the embedding is read per token, unless it is the output matrix too.
            let lookup = tensor.name == "token_embd.weight" && gguf.find_tensor("output.weight").is_some();
            if !lookup {
                bytes += tensor.bytes as f64;
                let part = config.as_ref().map_or(1.0, |config| config.used_part(&tensor.name));
                active_bytes += tensor.bytes as f64 * part;
                active_elements += tensor.len() as f64 * part;
            }
        }
        Ok(ModelFile { name, path, bytes, active_bytes, active_elements })
    }
}

/// The selected models, or the known ones that have been pulled. None is pulled for a benchmark.
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
    let prompts = |model: &ModelFile| PROMPTS.map(|length| prefill(model, length));
    models.iter().flat_map(|model| prompts(model).into_iter().chain([decode(model)])).collect()
}

/// Decoding while other processes keep cores busy, from none of them to more than most machines have cores left for.
pub fn beside_neighbours(models: &[ModelFile]) -> Vec<Case> {
    let beside = |model: &ModelFile, neighbours: usize| {
        let case = decode(model);
        let name = format!("{} beside {neighbours} busy", case.name);
        Case { suite: Suite::Load, name, neighbours, ..case }
    };
    models.iter().flat_map(|model| NEIGHBOURS.map(|count| beside(model, count))).collect()
}

fn prefill(model: &ModelFile, length: u32) -> Case {
    // All tokens together choose nearly all experts, and each is read once.
    let work = Work { bytes: model.bytes, ..work(model, length) };
    case(model, "prefill", work, length)
}

fn decode(model: &ModelFile) -> Case {
    case(model, "decode", work(model, STEPS), STEPS)
}

/// The work for that many tokens, one by one.
fn work(model: &ModelFile, tokens: u32) -> Work {
    let tokens = f64::from(tokens);
    let (bytes, flops) = (model.active_bytes * tokens, 2.0 * model.active_elements * tokens);
    let (tokens, working_set) = (Some(tokens), model.bytes);
    Work { bytes, working_set, flops, tokens, arithmetic: Arithmetic::Bytes, ..Work::default() }
}

fn case(model: &ModelFile, op: &'static str, work: Work, tokens: u32) -> Case {
    let model = model.clone();
    Case {
        suite: Suite::Llm,
        family: op,
        name: format!("{} {op} {tokens}", model.name),
        op,
        work,
        neighbours: 0,
        prepare: Box::new(move |device| prepare(&model, device, op == "prefill", tokens)),
    }
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
