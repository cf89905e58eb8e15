//! Files keyed by content, safe for many processes: written under a temporary name, then renamed.

use crate::error::{Error, Result};
use sha2::{Digest, Sha256};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A folder of content-addressed files.
#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    /// Opens or creates the folder; `SOFTMETAL_CACHE`, then the user's cache folder, then the temporary folder.
    pub fn open(explicit: Option<&Path>) -> Result<Cache> {
        let root = match explicit {
            Some(p) => p.to_path_buf(),
            None => default_root(),
        };
        std::fs::create_dir_all(&root).map_err(|e| Error::io(&root, &e))?;
        Ok(Cache { root })
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

fn default_root() -> PathBuf {
    if let Some(p) = std::env::var_os("SOFTMETAL_CACHE").filter(|p| !p.is_empty()) {
        return p.into();
    }
    let user = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|h| Path::new(&h).join(".cache")));
    user.unwrap_or_else(std::env::temp_dir).join("softmetal")
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
