//! Files keyed by content, safe for many processes, and never trusted: code from here runs in this process.
//!
//! Files are written under a temporary name, synced, and renamed. A made file (a library, a precompiled header) has its SHA-256 in a
//! file beside it, a text has a checksum in its last line; what is cut short, garbled or owned by somebody else counts as
//! absent, and is made again. The folder is writable for its owner alone.

use crate::error::{Error, Result};
use rustc_hash::FxHashSet;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

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
            create(root).map_err(|e| Error::io(root, &e))?;
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
        self.place(path, |tmp| write(tmp, content))
    }

    /// Keeps a text for [`Cache::recall`]. It is not synced: a text that a power failure garbles is made again.
    pub fn remember(&self, path: &Path, text: &str) -> Result<()> {
        self.place(path, |tmp| write(tmp, format!("{text}\n{}", seal(text)).as_bytes()))
    }

    /// The text that was kept, if it is there and whole.
    pub fn recall(&self, path: &Path) -> Option<String> {
        let mut text = String::new();
        open_own(path)?.read_to_string(&mut text).ok()?;
        let end = text.rfind('\n')?;
        let whole = text[end + 1..] == seal(&text[..end]);
        text.truncate(end);
        whole.then_some(text)
    }

    /// Lets `build` make a file at a temporary path beside `path`, then moves it into place with its checksum.
    pub fn make(&self, path: &Path, build: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        self.place(path, |tmp| {
            build(tmp)?;
            let io = |e: std::io::Error| Error::io(tmp, &e);
            let mut file = File::open(tmp).map_err(io)?;
            let sum = checksum(&mut file).map_err(io)?;
            // Where two processes make the same file at once, the checksum may be the other's: the file is then made once more.
            self.put(&beside(path), sum.as_bytes())?;
            file.sync_all().map_err(io)
        })
    }

    /// Whether a file that [`Cache::make`] made is there, ours, and whole. One that is not is removed, so that it is made again.
    pub fn holds(&self, path: &Path) -> bool {
        let whole = || {
            let sum = checksum(&mut open_own(path)?).ok()?;
            let mut expected = String::new();
            open_own(&beside(path))?.read_to_string(&mut expected).ok()?;
            (sum == expected).then_some(())
        };
        let whole = whole().is_some();
        if !whole && path.symlink_metadata().is_ok() {
            // Where it cannot be removed, the renaming of a new one says why.
            let _ = std::fs::remove_file(path);
        }
        whole
    }

    /// As [`Cache::holds`], looked at once per process: for large files that this process does not load itself.
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

    /// Lets `build` make a file at a temporary path beside `path`, then renames it into place.
    fn place(&self, path: &Path, build: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        let dir = path.parent().unwrap_or(&self.root);
        create(dir).map_err(|e| Error::io(dir, &e))?;
        let tmp =
            tempfile::Builder::new().prefix(".making-").tempdir_in(dir).map_err(|e| Error::io(dir, &e))?;
        let inner = tmp.path().join(path.file_name().unwrap_or_default());
        build(&inner)?;
        std::fs::rename(&inner, path).map_err(|e| Error::io(path, &e))
    }
}

fn write(path: &Path, content: &[u8]) -> Result<()> {
    File::create(path).and_then(|mut file| file.write_all(content)).map_err(|e| Error::io(path, &e))
}

/// Where the checksum of a made file is.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".sha256");
    path.with_file_name(name)
}

fn checksum(file: &mut File) -> std::io::Result<String> {
    let mut hash = Sha256::new();
    let mut block = vec![0; 1 << 16];
    loop {
        match file.read(&mut block)? {
            0 => return Ok(hex(&hash.finalize())),
            n => hash.update(&block[..n]),
        }
    }
}

fn seal(text: &str) -> String {
    format!("checksum {}", key([text.as_bytes()]))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
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
    create(root).is_ok()
        && private(root)
        && tempfile::Builder::new().prefix(".probe-").tempfile_in(root).is_ok()
}

#[cfg(unix)]
mod owner {
    use std::fs::{File, Metadata, Permissions};
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
    use std::path::Path;

    fn ours(about: &Metadata) -> bool {
        // SAFETY: geteuid has no preconditions and cannot fail.
        about.uid() == unsafe { libc::geteuid() }
    }

    /// Makes a folder and those above it; new ones are for their owner alone.
    pub fn create(folder: &Path) -> std::io::Result<()> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
    }

    /// Whether a folder is ours, and nobody else's to write: from now on, where it was not so before.
    pub fn private(folder: &Path) -> bool {
        let Ok(about) = std::fs::metadata(folder) else { return false };
        let mode = about.mode() & 0o7777;
        let closed = mode & 0o022 == 0;
        ours(&about)
            && (closed || std::fs::set_permissions(folder, Permissions::from_mode(mode & !0o022)).is_ok())
    }

    /// Opens a file if it is a plain one of ours, in a folder of ours, that nobody else may write.
    pub fn open_own(path: &Path) -> Option<File> {
        let folder = std::fs::metadata(path.parent()?).ok()?;
        let file =
            File::options().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path).ok()?;
        let about = file.metadata().ok()?;
        (about.is_file() && ours(&folder) && ours(&about) && about.mode() & 0o002 == 0).then_some(file)
    }
}

#[cfg(not(unix))]
mod owner {
    use std::fs::File;
    use std::path::Path;

    pub fn create(folder: &Path) -> std::io::Result<()> {
        std::fs::create_dir_all(folder)
    }

    pub fn private(_: &Path) -> bool {
        true
    }

    pub fn open_own(path: &Path) -> Option<File> {
        File::open(path).ok()
    }
}

use owner::{create, open_own, private};

/// A hexadecimal key of all parts.
pub fn key<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut h = Sha256::new();
    for p in parts {
        h.update((p.len() as u64).to_le_bytes());
        h.update(p);
    }
    hex(&h.finalize()[..16])
}
