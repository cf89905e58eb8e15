//! A driver's compiled pipelines on disk, where wgpu can hand them out. Files are per adapter, in the user's cache folder
//! beside what else Wootz keeps there.

use rustc_hash::FxHasher;
use std::hash::Hasher;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use wootz_backend::inject::file;

/// Where the pipelines of an adapter are kept; nowhere where there is no such folder, or wgpu has no key for the adapter.
pub(crate) fn path(about: &wgpu::AdapterInfo) -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let home = || set("HOME").or_else(|| set("USERPROFILE"));
    let folder = set("XDG_CACHE_HOME").or_else(|| {
        home().map(|h| h.join(if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" }))
    })?;
    Some(folder.join("wootz").join("pipelines").join(wgpu::util::pipeline_cache_key(about)?))
}

/// What [`write`] left in a file, if the file is whole.
pub(crate) fn read(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = file().and_then(|()| std::fs::read(path)).ok()?;
    let data = bytes.split_off(bytes.len().min(8));
    (bytes == checksum(&data)).then_some(data)
}

/// Writes beside and renames, so that another process never reads half a file.
pub(crate) fn write(path: &Path, data: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    // Threads may write at once, and so may processes: each writes a file of its own.
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let unique = format!("{}-{}.tmp", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let beside = path.with_extension(unique);
    let written = file().and_then(|()| std::fs::write(&beside, [&checksum(data), data].concat()));
    let renamed = written.and_then(|()| std::fs::rename(&beside, path));
    if renamed.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    renamed
}

/// A driver trusts what it is given: a damaged file must not reach it.
fn checksum(data: &[u8]) -> [u8; 8] {
    let mut hasher = FxHasher::default();
    hasher.write(data);
    hasher.finish().to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_file_is_no_cache() -> std::io::Result<()> {
        let folder = std::env::temp_dir().join(format!("wootz-pipelines-{}", std::process::id()));
        let path = folder.join("some_adapter");
        assert_eq!(read(&path), None);
        write(&path, b"pipelines")?;
        assert_eq!(read(&path).as_deref(), Some(&b"pipelines"[..]));
        let mut bytes = std::fs::read(&path)?;
        bytes[10] ^= 1;
        std::fs::write(&path, &bytes)?;
        assert_eq!(read(&path), None);
        std::fs::write(&path, [1, 2, 3])?;
        assert_eq!(read(&path), None);
        // Whoever writes at the same time, the file is whole and nothing is left beside it.
        std::thread::scope(|scope| {
            for i in 0..4u8 {
                let path = &path;
                scope.spawn(move || (0..20).for_each(|_| write(path, &[i; 5000]).unwrap()));
            }
        });
        assert!(read(&path).is_some_and(|data| data.len() == 5000));
        assert_eq!(std::fs::read_dir(&folder)?.count(), 1);
        std::fs::remove_dir_all(&folder)
    }
}
