//! A driver's compiled pipelines on disk, where wgpu can hand them out. Files are per adapter, in the user's cache folder
//! beside what else Wootz keeps there.

use rustc_hash::FxHasher;
use std::hash::Hasher;
use std::path::{Path, PathBuf};

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
    let mut bytes = std::fs::read(path).ok()?;
    let data = bytes.split_off(bytes.len().min(8));
    (bytes == checksum(&data)).then_some(data)
}

/// Writes beside and renames, so that another process never reads half a file.
pub(crate) fn write(path: &Path, data: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let beside = path.with_extension(format!("{}.tmp", std::process::id()));
    std::fs::write(&beside, [&checksum(data), data].concat())?;
    std::fs::rename(&beside, path)
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
        std::fs::remove_dir_all(&folder)
    }
}
