//! A model in memory, with what answers requests to it.

use crate::app::App;
use crate::error::{ApiError, Outcome};
use crate::grammar::Grammars;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use wootz_llm::engine::{Engine, EngineOptions};
use wootz_llm::tokenizer::Tokenizer;
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

/// A model that gives embeddings; one request at a time has the device.
pub struct VectorHost {
    pub name: String,
    pub embedder: Arc<Embedder>,
    turn: Mutex<()>,
}

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

    /// The vocabulary for grammars; it is prepared when first needed.
    pub fn grammars(&self) -> Outcome<&Grammars> {
        let made = self.grammars.get_or_init(|| Grammars::new(self.engine.model()));
        let why = |why: &String| ApiError::bad(format!("this model cannot follow grammars: {why}"));
        made.as_ref().map_err(why)
    }
}

impl VectorHost {
    /// The vectors of texts that are tokens already.
    pub fn embed(&self, tokens: &[Vec<u32>]) -> Outcome<Vec<Vec<f32>>> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.embedder.embed_tokens(tokens).map_err(|error| ApiError::field("input", error.to_string()))
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
                name: name.to_owned(),
                embedder,
                turn: Mutex::new(()),
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
                let message = format!("the model '{}' ({family}) gives embeddings and no text", host.name);
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
                let message = format!(
                    "the model '{name}' ({family}) generates text and was not trained to make embeddings or rankings"
                );
                Err(ApiError::bad(message).code("model_not_supported"))
            }
        }
    }
}
