//! Compiled pipelines on disk, so that a second process starts without compiling. Losing it costs time, never correctness: every failure
//! here is passed over.

use super::*;
use objc2_foundation::{NSArray, NSURL};
use objc2_metal::{MTLBinaryArchive, MTLBinaryArchiveDescriptor};
use std::path::PathBuf;

pub struct Archive {
    state: Mutex<Option<State>>,
}

struct State {
    archive: Retained<ProtocolObject<dyn MTLBinaryArchive>>,
    path: PathBuf,
    /// Pipelines added since the last save.
    added: usize,
}

// SAFETY: the archive is used under the lock alone.
unsafe impl Send for Archive {}
// SAFETY: as above.
unsafe impl Sync for Archive {}

impl Archive {
    /// The archive of a device, read from `WOOTZ_CACHE` or the user's cache folder if it is there.
    pub fn open(device: &ProtocolObject<dyn MTLDevice>, name: &str) -> Archive {
        Archive { state: Mutex::new(Archive::find(device, name)) }
    }

    fn find(device: &ProtocolObject<dyn MTLDevice>, name: &str) -> Option<State> {
        let folder = match std::env::var_os("WOOTZ_CACHE") {
            Some(folder) => PathBuf::from(folder),
            None => PathBuf::from(std::env::var_os("HOME")?).join("Library/Caches/wootz"),
        };
        std::fs::create_dir_all(&folder).ok()?;
        let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let path = folder.join(format!("{plain}-{}.metalarchive", env!("CARGO_PKG_VERSION")));
        let descriptor = MTLBinaryArchiveDescriptor::new();
        if path.exists() {
            let stored = url(&path)?;
            descriptor.setUrl(Some(&stored));
        }
        let archive = device.newBinaryArchiveWithDescriptor_error(&descriptor).or_else(|_| {
            // Of another system version, or damaged: start over.
            descriptor.setUrl(None);
            device.newBinaryArchiveWithDescriptor_error(&descriptor)
        });
        Some(State { archive: archive.ok()?, path, added: 0 })
    }

    /// Lets a pipeline be found in the archive.
    pub fn offer(&self, descriptor: &MTLComputePipelineDescriptor) {
        if let Some(state) = &*self.state.lock() {
            descriptor.setBinaryArchives(Some(&NSArray::from_slice(&[&*state.archive])));
        }
    }

    /// Adds a pipeline.
    pub fn add(&self, descriptor: &MTLComputePipelineDescriptor) {
        if let Some(state) = &mut *self.state.lock()
            && state.archive.addComputePipelineFunctionsWithDescriptor_error(descriptor).is_ok()
        {
            state.added += 1;
        }
    }

    /// Writes what was added: to a file beside the archive, then over it, so that readers see a whole one.
    pub fn save(&self) {
        let mut guard = self.state.lock();
        let Some(state) = guard.as_mut().filter(|state| state.added > 0) else { return };
        let next = state.path.with_extension(format!("{}.part", std::process::id()));
        let written = url(&next).is_some_and(|to| state.archive.serializeToURL_error(&to).is_ok());
        if written && std::fs::rename(&next, &state.path).is_ok() {
            state.added = 0;
        }
    }
}

fn url(path: &std::path::Path) -> Option<Retained<NSURL>> {
    Some(NSURL::fileURLWithPath(&NSString::from_str(path.to_str()?)))
}
