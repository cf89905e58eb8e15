//! Models by name: loaded when first asked for, dropped when others need the memory.
//!
//! Promises: a model is loaded once however many ask for it at once; one that a request uses is never dropped; when more is
//! loaded than the budget allows, idle models go, the least recently used first. Weights that are mapped files are
//! counted as if they were memory.

use crate::app::App;
use crate::error::{ApiError, Outcome};
use crate::host::{Host, Hosted, Loaded};
use axum::http::StatusCode;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Loads a model; called again if it was dropped meanwhile.
pub type Load = dyn Fn() -> Result<Loaded, String> + Send + Sync;

/// A model that can be asked for.
#[derive(Clone)]
pub struct Offer {
    /// What clients call it.
    pub name: String,
    load: Arc<Load>,
}

impl Offer {
    /// A model by name.
    pub fn new(
        name: impl Into<String>,
        load: impl Fn() -> Result<Loaded, String> + Send + Sync + 'static,
    ) -> Offer {
        Offer { name: name.into(), load: Arc::new(load) }
    }
}

struct Entry {
    offer: Offer,
    hosted: Mutex<Option<Hosted>>,
    /// Whoever loads it; others wait.
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
    /// At least one, under names that differ.
    pub fn new(app: &Arc<App>, offers: Vec<Offer>) -> Result<Models, String> {
        if offers.is_empty() {
            return Err("there is no model to serve".into());
        }
        for (at, offer) in offers.iter().enumerate() {
            if offers[..at].iter().any(|other| other.name == offer.name) {
                return Err(format!("two models are called '{}'", offer.name));
            }
        }
        let entries = offers.into_iter().map(Entry::new).collect();
        Ok(Models { app: app.clone(), entries, clock: AtomicU64::new(0) })
    }

    /// The names, the one that is meant where none is given first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.offer.name.as_str())
    }

    /// The name of a model as it is listed. Clients that name none mean the first.
    pub fn find(&self, name: Option<&str>) -> Outcome<&str> {
        self.entry(name).map(|entry| entry.offer.name.as_str())
    }

    fn entry(&self, name: Option<&str>) -> Outcome<&Entry> {
        let Some(name) = name else { return Ok(&self.entries[0]) };
        let plain = name.trim_end_matches(":latest");
        let found = self.entries.iter().find(|entry| [name, plain].contains(&entry.offer.name.as_str()));
        found.ok_or_else(|| {
            let known: Vec<String> = self.names().map(|name| format!("'{name}'")).collect();
            let message = format!("there is no model '{name}' here; there is {}", known.join(", "));
            ApiError::status(StatusCode::NOT_FOUND, message).code("model_not_found")
        })
    }

    /// The model, loaded if it is not.
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
            tracing::error!("the model '{}' could not be loaded: {why}", entry.offer.name);
            let message = format!("the model '{}' could not be loaded: {why}", entry.offer.name);
            ApiError::status(StatusCode::INTERNAL_SERVER_ERROR, message)
        })?;
        tracing::info!("loaded '{name}' ({}, {} MiB)", hosted.family(), hosted.bytes() >> 20);
        *entry.hosted() = Some(hosted.clone());
        self.trim(&entry.offer.name).await;
        Ok(hosted)
    }

    /// Drops idle models until the others are within the budget.
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
                tracing::info!("dropped '{}' to make room", entry.offer.name);
                // An engine waits for its thread.
                let _ = tokio::task::spawn_blocking(move || drop(idle)).await;
            }
        }
    }

    /// Those of the loaded ones that generate text.
    pub fn hosts(&self) -> Vec<Arc<Host>> {
        let text = |hosted| match hosted {
            Hosted::Text(host) => Some(host),
            Hosted::Vectors(_) => None,
        };
        self.loaded().into_iter().filter_map(text).collect()
    }

    /// Those that are loaded now.
    pub fn loaded(&self) -> Vec<Hosted> {
        self.entries.iter().filter_map(|entry| entry.hosted().clone()).collect()
    }
}
