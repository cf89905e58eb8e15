//! Files keyed by content, safe for many processes: written under a temporary name, then renamed.

use crate::error::{Error, Result};
use sha2::{Digest, Sha256};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A folder of content-addressed files.
#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
    /// A folder of this process alone, removed with the last clone.
    _own: Option<Arc<tempfile::TempDir>>,
}

impl Cache {
    /// Opens or creates the folder: `SOFTMETAL_CACHE`, then the user's cache folder. Where neither is known, or the folder cannot be
    /// written or belongs to somebody else, a private one that lives as long as the process.
    pub fn open(explicit: Option<&Path>) -> Result<Cache> {
        if let Some(root) = explicit {
            std::fs::create_dir_all(root).map_err(|e| Error::io(root, &e))?;
            return Ok(Cache { root: root.to_path_buf(), _own: None });
        }
        match default_root() {
            Some(root) if writable(&root) => Ok(Cache { root, _own: None }),
            // Without a place to keep things, they are kept for as long as this process lives: slower, and right.
            _ => {
                let own = tempfile::Builder::new().prefix("softmetal-").tempdir();
                let own = own.map_err(|e| Error::io(std::env::temp_dir(), &e))?;
                Ok(Cache { root: own.path().to_path_buf(), _own: Some(Arc::new(own)) })
            }
        }
    }

    /// The path of a file or folder in the cache.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Writes a file unless it exists with this content.
    pub fn put(&self, path: &Path, content: &[u8]) -> Result<()> {
        if std::fs::read(path).is_ok_and(|old| old == content) {
            return Ok(());
        }
        self.make(path, |tmp| {
            let mut f = std::fs::File::create(tmp).map_err(|e| Error::io(tmp, &e))?;
            f.write_all(content).map_err(|e| Error::io(tmp, &e))
        })
    }

    /// Lets `build` make a file at a temporary path beside `path`, then renames it into place.
    pub fn make(&self, path: &Path, build: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        let dir = path.parent().unwrap_or(&self.root);
        std::fs::create_dir_all(dir).map_err(|e| Error::io(dir, &e))?;
        let tmp =
            tempfile::Builder::new().prefix(".making-").tempdir_in(dir).map_err(|e| Error::io(dir, &e))?;
        let inner = tmp.path().join(path.file_name().unwrap_or_default());
        build(&inner)?;
        std::fs::rename(&inner, path).map_err(|e| Error::io(path, &e))
    }
}

fn default_root() -> Option<PathBuf> {
    if let Some(p) = std::env::var_os("SOFTMETAL_CACHE").filter(|p| !p.is_empty()) {
        return Some(p.into());
    }
    let user = std::env::var_os("XDG_CACHE_HOME")
        .filter(|p| !p.is_empty())
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").filter(|p| !p.is_empty()).map(|h| Path::new(&h).join(".cache")));
    user.map(|u| u.join("softmetal"))
}

/// Whether the folder is ours and takes files. Code from it is loaded into this process, so nobody else may have written it.
fn writable(root: &Path) -> bool {
    let made = std::fs::create_dir_all(root).is_ok();
    made && owned(root) && tempfile::Builder::new().prefix(".probe-").tempfile_in(root).is_ok()
}

#[cfg(unix)]
fn owned(root: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    // SAFETY: geteuid has no preconditions and cannot fail.
    let user = unsafe { libc::geteuid() };
    std::fs::metadata(root).is_ok_and(|m| m.uid() == user && m.mode() & 0o002 == 0)
}

#[cfg(not(unix))]
fn owned(_: &Path) -> bool {
    true
}

/// A hexadecimal key of all parts.
pub fn key<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut h = Sha256::new();
    for p in parts {
        h.update((p.len() as u64).to_le_bytes());
        h.update(p);
    }
    h.finalize().iter().take(16).map(|b| format!("{b:02x}")).collect()
}
