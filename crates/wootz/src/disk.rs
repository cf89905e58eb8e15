//! What is remembered about devices between runs: small text files in the user's cache folder.
//!
//! A file is named after everything that the device says about itself and the version of Wootz, so that another driver, another
//! thread count or another release starts afresh. Its last line is a checksum of the others: a file that was cut short or
//! garbled counts as absent, and is written again.

use crate::device::Device;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use wootz_backend::inject::file;

/// The file of a device in one of the cache's folders; none without a home folder.
pub(crate) fn path(device: &Device, folder: &str) -> Option<PathBuf> {
    let info = device.info();
    let mut hasher = rustc_hash::FxHasher::default();
    (&info.name, &info.description, info.kind.name(), &info.facts, info.memory_limit).hash(&mut hasher);
    env!("CARGO_PKG_VERSION").hash(&mut hasher);
    let name = format!("{}-{:016x}.txt", info.name, hasher.finish());
    Some(cache_folder()?.join("wootz").join(folder).join(name))
}

fn cache_folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let home = || set("HOME").or_else(|| set("USERPROFILE"));
    set("XDG_CACHE_HOME").or_else(|| {
        home().map(|h| h.join(if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" }))
    })
}

fn checksum(text: &str) -> String {
    let mut hasher = rustc_hash::FxHasher::default();
    text.hash(&mut hasher);
    format!("checksum {:016x}\n", hasher.finish())
}

/// The text that was written, if the file is there and whole.
pub(crate) fn read(path: &Path) -> Option<String> {
    let mut text = file().and_then(|()| std::fs::read_to_string(path)).ok()?;
    let end = text.rfind("checksum ")?;
    let whole = text[end..] == checksum(&text[..end]);
    text.truncate(end);
    whole.then_some(text)
}

/// Writes beside the file and renames, so that another process never reads half of it.
pub(crate) fn write(path: &Path, text: &str) -> std::io::Result<()> {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let unique = format!("{}-{}.tmp", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let beside = path.with_extension(unique);
    let content = format!("{text}{}", checksum(text));
    let written = file().and_then(|()| std::fs::write(&beside, content));
    let renamed = written.and_then(|()| std::fs::rename(&beside, path));
    if renamed.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    renamed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_garbled_file_counts_as_absent_and_is_written_again() {
        let folder = std::env::temp_dir().join(format!("wootz-disk-{}", std::process::id()));
        let path = folder.join("device.txt");
        write(&path, "softmax ok\n").unwrap();
        assert_eq!(read(&path).as_deref(), Some("softmax ok\n"));
        let whole = std::fs::read(&path).unwrap();
        for cut in 0..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            assert_eq!(read(&path), None, "cut at {cut}");
            let mut flipped = whole.clone();
            flipped[cut] ^= 1;
            std::fs::write(&path, &flipped).unwrap();
            assert_eq!(read(&path), None, "flipped at {cut}");
        }
        write(&path, "softmax ok\n").unwrap();
        assert!(read(&path).is_some());
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "nothing is left beside it");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
