//! A loaded model and what serves its requests.

use crate::app::App;
use crate::error::{ApiError, Outcome};
use crate::grammar::Grammars;
use crate::tools::Style;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use wootz_llm::engine::{Engine, EngineOptions, Failure, Refused};
use wootz_llm::tokenizer::{Encoding, TokenKind, Tokenizer};
use wootz_llm::{EmbedOptions, Embedder, Model};

/// What a file turned out to be.
#[derive(Clone)]
pub enum Loaded {
    /// A model that generates text, and how its requests are batched.
    Text(Arc<Model>, EngineOptions),
    /// A model that gives embeddings.
    Vectors(Arc<Embedder>),
}

/// A model that generates text.
pub struct Host {
    pub app: Arc<App>,
    pub name: String,
    pub engine: Engine,
    grammars: OnceLock<Result<Grammars, String>>,
}

/// A model that gives embeddings; one request at a time has the device, and the others wait in order of arrival.
pub struct VectorHost {
    app: Arc<App>,
    pub name: String,
    pub embedder: Arc<Embedder>,
    turn: Arc<tokio::sync::Mutex<()>>,
    /// Requests that wait, or have their turn.
    present: AtomicUsize,
}

/// A request that counts as present.
struct Present<'a>(&'a AtomicUsize);

impl Drop for Present<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// Texts that are embedded before a request looks whether it is still wanted.
const AT_ONCE: usize = 16;

/// A model that is loaded.
#[derive(Clone)]
pub enum Hosted {
    Text(Arc<Host>),
    Vectors(Arc<VectorHost>),
}

impl Host {
    pub fn model(&self) -> &Arc<Model> {
        self.engine.model()
    }

    /// The control tokens among what reading an answer depends on.
    pub fn control_tokens(&self, style: &Style) -> Vec<u32> {
        let tokenizer = self.model().tokenizer();
        let tokens = style.marks().flat_map(|text| tokenizer.encode(text, Encoding::TEMPLATE));
        tokens.filter(|&id| tokenizer.vocab().kind(id) == TokenKind::Control).collect()
    }

    /// The vocabulary for grammars; it is prepared when first needed.
    pub fn grammars(&self) -> Outcome<&Grammars> {
        let made = self.grammars.get_or_init(|| Grammars::new(self.engine.model()));
        let why = |why: &String| ApiError::bad(format!("this model does not support grammars: {why}"));
        made.as_ref().map_err(why)
    }
}

impl VectorHost {
    /// The vectors of texts that are tokens already. Fails when too many requests wait, and when it takes too long. A
    /// client that disconnects gives up its place, or its turn after the texts that are being embedded.
    pub async fn embed(self: &Arc<Self>, tokens: Vec<Vec<u32>>) -> Outcome<Vec<Vec<f32>>> {
        let options = &self.app.options;
        let waiting = self.present.fetch_add(1, Relaxed);
        let _present = Present(&self.present);
        if waiting > options.embedding_queue {
            return Err(Refused::QueueFull { waiting: waiting - 1 }.into());
        }
        let late = |_| ApiError::from(Failure::Late);
        tokio::time::timeout(options.timeout, self.embed_in_turn(tokens)).await.map_err(late)?
    }

    async fn embed_in_turn(self: &Arc<Self>, tokens: Vec<Vec<u32>>) -> Outcome<Vec<Vec<f32>>> {
        let mut turn = self.turn.clone().lock_owned().await;
        let mut vectors = Vec::with_capacity(tokens.len());
        for part in tokens.chunks(AT_ONCE) {
            let (host, part) = (self.clone(), part.to_vec());
            // The turn ends with the work, even if nobody waits for it any more.
            let work = move || (host.embedder.embed_tokens(&part), turn);
            let made = tokio::task::spawn_blocking(work).await;
            let failed = |_| ApiError::from(Failure::Internal("failed to embed the texts".into()));
            let (made, again) = made.map_err(failed)?;
            turn = again;
            vectors.extend(made.map_err(|error| ApiError::field("input", error.to_string()))?);
        }
        Ok(vectors)
    }

    /// The tokens of a query with each of the documents, for a model that scores pairs; documents that are too long are cut.
    pub fn pairs(&self, query: &str, documents: &[String]) -> Outcome<Vec<Vec<u32>>> {
        let documents: Vec<&str> = documents.iter().map(String::as_str).collect();
        let tokens = self.embedder.pairs(query, &documents, EmbedOptions { truncate: true });
        tokens.map_err(|error| ApiError::field("documents", error.to_string()))
    }

    /// The tokens of texts.
    pub fn tokens(&self, texts: &[String], truncate: bool) -> Outcome<Vec<Vec<u32>>> {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let tokens = self.embedder.tokens(&texts, EmbedOptions { truncate });
        tokens.map_err(|error| ApiError::field("input", error.to_string()))
    }
}

impl Hosted {
    pub fn start(app: &Arc<App>, name: &str, loaded: Loaded) -> Result<Hosted, String> {
        Ok(match loaded {
            Loaded::Text(model, options) => Hosted::Text(Arc::new(Host {
                app: app.clone(),
                name: name.to_owned(),
                engine: Engine::start(&model, options).map_err(|error| error.to_string())?,
                grammars: OnceLock::new(),
            })),
            Loaded::Vectors(embedder) => Hosted::Vectors(Arc::new(VectorHost {
                app: app.clone(),
                name: name.to_owned(),
                embedder,
                turn: Arc::default(),
                present: AtomicUsize::new(0),
            })),
        })
    }

    /// What clients call it.
    pub fn name(&self) -> &str {
        match self {
            Hosted::Text(host) => &host.name,
            Hosted::Vectors(host) => &host.name,
        }
    }

    /// Its tokenizer, and the size of its vocabulary.
    pub fn tokenizer(&self) -> (&Tokenizer, usize) {
        match self {
            Hosted::Text(host) => (host.model().tokenizer(), host.model().config().vocab),
            Hosted::Vectors(host) => (host.embedder.tokenizer(), host.embedder.config().vocab),
        }
    }

    /// Bytes of its weights.
    pub fn bytes(&self) -> u64 {
        match self {
            Hosted::Text(host) => host.model().gguf().tensors().iter().map(|t| t.bytes).sum(),
            Hosted::Vectors(host) => host.embedder.bytes(),
        }
    }

    /// The number of its parameters, and the format that most of them are in.
    pub fn size(&self) -> (u64, String) {
        let tensors = match self {
            Hosted::Text(host) => host.model().gguf().tensors(),
            Hosted::Vectors(host) => host.embedder.gguf().tensors(),
        };
        let mut formats = BTreeMap::<String, u64>::new();
        for tensor in tensors {
            let format = tensor.format().map_or_else(|_| String::new(), |format| format.to_string());
            *formats.entry(format).or_default() += tensor.len();
        }
        let most = formats.iter().max_by_key(|(_, count)| **count).map(|(format, _)| format.clone());
        (formats.values().sum(), most.unwrap_or_default())
    }

    /// Whether no request uses it; whoever asks has one owner of it.
    pub fn is_idle(&self) -> bool {
        match self {
            Hosted::Text(host) => Arc::strong_count(host) == 1,
            Hosted::Vectors(host) => Arc::strong_count(host) == 1,
        }
    }

    /// The name of its family.
    pub fn family(&self) -> &'static str {
        match self {
            Hosted::Text(host) => host.model().config().family.name(),
            Hosted::Vectors(host) => host.embedder.config().family.name(),
        }
    }

    /// The model, if it generates text.
    pub fn text(self) -> Outcome<Arc<Host>> {
        match self {
            Hosted::Text(host) => Ok(host),
            Hosted::Vectors(host) => {
                let family = host.embedder.config().family.name();
                let message = format!("the model '{}' ({family}) produces embeddings, not text", host.name);
                Err(ApiError::bad(message).code("model_not_supported"))
            }
        }
    }

    /// The model, if it gives embeddings.
    pub fn vectors(self) -> Outcome<Arc<VectorHost>> {
        match self {
            Hosted::Vectors(host) => Ok(host),
            Hosted::Text(host) => {
                let (name, family) = (&host.name, host.model().config().family.name());
                let message =
                    format!("the model '{name}' ({family}) generates text, not embeddings or rankings");
                Err(ApiError::bad(message).code("model_not_supported"))
            }
        }
    }
}
