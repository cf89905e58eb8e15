//! Cached facts about devices: small text files in the user's cache folder.
//!
//! The file name includes everything that the device reports about itself and the version of Wootz, so that another
//! driver, thread count or release starts afresh. [`wootz_system::cache`] checks what is read.

use crate::device::Device;
use std::hash::{Hash, Hasher};
use std::path::PathBuf;

/// The file of a device in one of the cache's folders; `None` without a home folder.
pub(crate) fn path(device: &Device, folder: &str) -> Option<PathBuf> {
    let info = device.info();
    let mut hasher = rustc_hash::FxHasher::default();
    (&info.name, &info.description, info.kind.name(), &info.facts, info.memory_limit).hash(&mut hasher);
    env!("CARGO_PKG_VERSION").hash(&mut hasher);
    let name = format!("{}-{:016x}.txt", info.name, hasher.finish());
    Some(wootz_system::cache::folder(folder)?.join(name))
}
