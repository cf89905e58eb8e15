//! Files keyed by content, safe for many processes, and never trusted, because code from here runs in this process:
//! [`wootz_system::cache`] checks owners and checksums.

use crate::error::{Error, Result};
use rustc_hash::FxHashSet;
use sha2::{Digest, Sha256};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use wootz_system::cache;

/// A folder of content-addressed files.
#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
    /// A folder of this process alone, removed with the last clone.
    _own: Option<Arc<tempfile::TempDir>>,
    /// Large files that only clang reads, found whole by this process before.
    sound: Arc<Mutex<FxHashSet<PathBuf>>>,
}

impl Cache {
    /// Opens or creates the folder: `SOFTMETAL_CACHE`, then the user's cache folder. Where neither is known, or the folder cannot be
    /// written or belongs to somebody else, a private one that lives as long as the process.
    pub fn open(explicit: Option<&Path>) -> Result<Cache> {
        let at = |root: PathBuf| Cache { root, _own: None, sound: Arc::default() };
        if let Some(root) = explicit {
            std::fs::create_dir_all(root).map_err(|e| Error::io(root, &e))?;
            return Ok(at(root.to_path_buf()));
        }
        match default_root() {
            Some(root) if writable(&root) => Ok(at(root)),
            // Without a place to keep things, they are kept for as long as this process lives: slower, and right.
            _ => {
                let own = tempfile::Builder::new().prefix("softmetal-").tempdir();
                let own = own.map_err(|e| Error::io(std::env::temp_dir(), &e))?;
                let root = own.path().to_path_buf();
                Ok(Cache { _own: Some(Arc::new(own)), ..at(root) })
            }
        }
    }

    /// The path of a file or folder in the cache.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Writes a file that others read by its path, unless it exists with this content.
    pub fn put(&self, path: &Path, content: &[u8]) -> Result<()> {
        if std::fs::read(path).is_ok_and(|old| old == content) {
            return Ok(());
        }
        cache::store(path, |out| out.write_all(content)).map_err(|e| Error::io(path, &e))
    }

    /// Keeps a text for [`Cache::recall`].
    pub fn remember(&self, path: &Path, text: &str) -> Result<()> {
        cache::write(path, text.as_bytes()).map_err(|e| Error::io(path, &e))
    }

    /// The text that was kept, if it is there and whole.
    pub fn recall(&self, path: &Path) -> Option<String> {
        cache::read_text(path)
    }

    /// Lets `build` make a file at a temporary path, then moves it into place with its checksum.
    pub fn make(&self, path: &Path, build: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        let io = |e: std::io::Error| Error::io(path, &e);
        let making = cache::Making::new(path).map_err(io)?;
        build(&making.temporary())?;
        making.finish().map_err(io)
    }

    /// Whether a file that [`Cache::make`] made is there, ours, and whole. One that is not is removed, so that it is made again.
    pub fn holds(&self, path: &Path) -> bool {
        cache::holds(path)
    }

    /// Like [`Cache::holds`], checked once per process: for large files that this process does not load itself.
    pub fn holds_for_tools(&self, path: &Path) -> bool {
        let known = || self.sound.lock().unwrap_or_else(PoisonError::into_inner);
        if known().contains(path) && path.exists() {
            return true;
        }
        let holds = self.holds(path);
        if holds {
            known().insert(path.to_path_buf());
        }
        holds
    }
}

fn default_root() -> Option<PathBuf> {
    if let Some(p) = std::env::var_os("SOFTMETAL_CACHE").filter(|p| !p.is_empty()) {
        return Some(p.into());
    }
    cache::user_folder().map(|folder| folder.join("softmetal"))
}

/// Whether the folder is ours and writable. Code from it is loaded into this process, so nobody else may have written
/// it.
fn writable(root: &Path) -> bool {
    cache::claim(root).is_ok() && tempfile::Builder::new().prefix(".probe-").tempfile_in(root).is_ok()
}

/// A hexadecimal key of all parts.
pub fn key<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut h = Sha256::new();
    for p in parts {
        h.update((p.len() as u64).to_le_bytes());
        h.update(p);
    }
    cache::hex(&h.finalize()[..16])
}
