//! Models by name: loaded on first request, unloaded when others need the memory.
//!
//! Promises: concurrent requests for a model load it only once; a model in use is never unloaded; when the loaded
//! models exceed the budget, idle ones are unloaded, least recently used first. Memory-mapped weights count as
//! memory.

use crate::app::App;
use crate::error::{ApiError, Outcome};
use crate::host::{Host, Hosted, Loaded};
use axum::http::StatusCode;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// Loads a model; called again if it was unloaded in the meantime.
pub type Load = dyn Fn() -> Result<Loaded, String> + Send + Sync;

/// A model on offer.
#[derive(Clone)]
pub struct Offer {
    /// The name that clients use.
    pub name: String,
    /// The file, if the model comes from one.
    pub file: Option<PathBuf>,
    load: Arc<Load>,
}

impl Offer {
    /// A model by name.
    pub fn new(
        name: impl Into<String>,
        load: impl Fn() -> Result<Loaded, String> + Send + Sync + 'static,
    ) -> Offer {
        Offer { name: name.into(), file: None, load: Arc::new(load) }
    }

    /// The same, with the file that it comes from: lists of models tell its size and date.
    pub fn from_file(self, file: impl Into<PathBuf>) -> Offer {
        Offer { file: Some(file.into()), ..self }
    }
}

struct Entry {
    offer: Offer,
    hosted: Mutex<Option<Hosted>>,
    /// Held by whoever loads it; others wait.
    loading: tokio::sync::Mutex<()>,
    last_used: AtomicU64,
}

impl Entry {
    fn new(offer: Offer) -> Entry {
        Entry {
            offer,
            hosted: Mutex::default(),
            loading: tokio::sync::Mutex::default(),
            last_used: AtomicU64::new(0),
        }
    }

    fn hosted(&self) -> MutexGuard<'_, Option<Hosted>> {
        // It is only ever replaced as a whole.
        self.hosted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All models of a server.
pub struct Models {
    app: Arc<App>,
    entries: Vec<Entry>,
    clock: AtomicU64,
}

impl Models {
    /// At least one model, with distinct names.
    pub fn new(app: &Arc<App>, offers: Vec<Offer>) -> Result<Models, String> {
        if offers.is_empty() {
            return Err("no model to serve".into());
        }
        for (at, offer) in offers.iter().enumerate() {
            if offers[..at].iter().any(|other| other.name == offer.name) {
                return Err(format!("two models have the name '{}'", offer.name));
            }
        }
        let entries = offers.into_iter().map(Entry::new).collect();
        Ok(Models { app: app.clone(), entries, clock: AtomicU64::new(0) })
    }

    /// The names, the default model first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.offer.name.as_str())
    }

    /// When the server was started.
    pub fn started(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(self.app.started)
    }

    /// All models, the default model first.
    pub fn offers(&self) -> impl Iterator<Item = &Offer> {
        self.entries.iter().map(|entry| &entry.offer)
    }

    /// The name of a model as listed. Without one, the default model is used.
    pub fn find(&self, name: Option<&str>) -> Outcome<&str> {
        self.entry(name).map(|entry| entry.offer.name.as_str())
    }

    fn entry(&self, name: Option<&str>) -> Outcome<&Entry> {
        let Some(name) = name else { return Ok(&self.entries[0]) };
        let plain = name.trim_end_matches(":latest");
        let found = self.entries.iter().find(|entry| [name, plain].contains(&entry.offer.name.as_str()));
        found.ok_or_else(|| {
            let known: Vec<String> = self.names().map(|name| format!("'{name}'")).collect();
            let message = format!("unknown model '{name}'; available: {}", known.join(", "));
            ApiError::status(StatusCode::NOT_FOUND, message).code("model_not_found")
        })
    }

    /// The model, loaded if necessary.
    pub async fn open(&self, name: Option<&str>) -> Outcome<Hosted> {
        let entry = self.entry(name)?;
        entry.last_used.store(self.clock.fetch_add(1, Relaxed) + 1, Relaxed);
        if let Some(hosted) = entry.hosted().clone() {
            return Ok(hosted);
        }
        let _turn = entry.loading.lock().await;
        if let Some(hosted) = entry.hosted().clone() {
            return Ok(hosted);
        }
        let (offer, owner) = (entry.offer.clone(), self.app.clone());
        let loading = tokio::task::spawn_blocking(move || {
            Hosted::start(&owner, &offer.name, (offer.load)()?).map(|hosted| (hosted, offer.name))
        });
        let loaded = loading.await.unwrap_or_else(|_| Err("loading it panicked".into()));
        let (hosted, name) = loaded.map_err(|why| {
            tracing::error!("cannot load the model '{}': {why}", entry.offer.name);
            let message = format!("cannot load the model '{}': {why}", entry.offer.name);
            ApiError::status(StatusCode::INTERNAL_SERVER_ERROR, message)
        })?;
        tracing::info!("loaded '{name}' ({}, {} MiB)", hosted.family(), hosted.bytes() >> 20);
        *entry.hosted() = Some(hosted.clone());
        self.trim(&entry.offer.name).await;
        Ok(hosted)
    }

    /// Unloads idle models until the others are within the budget.
    async fn trim(&self, keep: &str) {
        let mut order: Vec<&Entry> = self.entries.iter().filter(|entry| entry.offer.name != keep).collect();
        order.sort_by_key(|entry| entry.last_used.load(Relaxed));
        let mut total: u64 = self.loaded().iter().map(Hosted::bytes).sum();
        for entry in order {
            if total <= self.app.options.model_memory {
                return;
            }
            let idle = entry.hosted().take_if(|hosted| hosted.is_idle());
            if let Some(idle) = idle {
                total -= idle.bytes();
                tracing::info!("unloaded '{}' to free memory", entry.offer.name);
                if let Hosted::Text(host) = &idle {
                    self.app.metrics.ended(&host.name, &host.engine.stats());
                }
                // An engine waits for its thread.
                let _ = tokio::task::spawn_blocking(move || drop(idle)).await;
            }
        }
    }

    /// The loaded models that generate text.
    pub fn hosts(&self) -> Vec<Arc<Host>> {
        let text = |hosted| match hosted {
            Hosted::Text(host) => Some(host),
            Hosted::Vectors(_) => None,
        };
        self.loaded().into_iter().filter_map(text).collect()
    }

    /// The loaded models.
    pub fn loaded(&self) -> Vec<Hosted> {
        self.entries.iter().filter_map(|entry| entry.hosted().clone()).collect()
    }
}
