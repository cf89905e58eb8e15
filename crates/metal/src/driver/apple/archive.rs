//! Compiled pipelines on disk, so that a second process starts without compiling. Losing it costs time, never correctness: every failure
//! here is passed over.

use super::*;
use objc2_foundation::{NSArray, NSURL};
use objc2_metal::{MTLBinaryArchive, MTLBinaryArchiveDescriptor};
use std::path::PathBuf;

/// A compiled pipeline.
type State = Retained<ProtocolObject<dyn MTLComputePipelineState>>;

pub struct Archive {
    open: Mutex<Option<Open>>,
}

struct Open {
    archive: Retained<ProtocolObject<dyn MTLBinaryArchive>>,
    path: PathBuf,
    /// Pipelines added since the last save; those that were found do not count.
    added: usize,
}

// SAFETY: the archive is used under the lock alone.
unsafe impl Send for Archive {}
// SAFETY: as above.
unsafe impl Sync for Archive {}

impl Archive {
    /// The archive of a device, read from `WOOTZ_CACHE` or the user's cache folder if it is there.
    pub fn open(device: &ProtocolObject<dyn MTLDevice>, name: &str) -> Archive {
        Archive { open: Mutex::new(Archive::find(device, name)) }
    }

    fn find(device: &ProtocolObject<dyn MTLDevice>, name: &str) -> Option<Open> {
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
        Some(Open { archive: archive.ok()?, path, added: 0 })
    }

    /// The pipeline of a descriptor: from the archive, or compiled and then added to it. Archives are not thread-safe, so that one lock
    /// is held for every use; compiling itself is outside of it and knows nothing of the archive.
    pub fn pipeline(
        &self,
        descriptor: &MTLComputePipelineDescriptor,
        make: impl Fn(MTLPipelineOption) -> std::result::Result<State, Retained<NSError>>,
    ) -> std::result::Result<State, Retained<NSError>> {
        if let Some(found) = self.find_pipeline(descriptor, &make) {
            return Ok(found);
        }
        let made = make(MTLPipelineOption::None)?;
        if let Some(open) = &mut *self.open.lock()
            && open.archive.addComputePipelineFunctionsWithDescriptor_error(descriptor).is_ok()
        {
            open.added += 1;
        }
        Ok(made)
    }

    fn find_pipeline(
        &self,
        descriptor: &MTLComputePipelineDescriptor,
        make: impl Fn(MTLPipelineOption) -> std::result::Result<State, Retained<NSError>>,
    ) -> Option<State> {
        let guard = self.open.lock();
        let open = guard.as_ref()?;
        descriptor.setBinaryArchives(Some(&NSArray::from_slice(&[&*open.archive])));
        let found = make(MTLPipelineOption::FailOnBinaryArchiveMiss);
        descriptor.setBinaryArchives(None);
        found.ok()
    }

    /// Writes what was added: to a file beside the archive, then over it, so that readers see a whole one.
    pub fn save(&self) {
        let mut guard = self.open.lock();
        let Some(open) = guard.as_mut().filter(|open| open.added > 0) else { return };
        let next = open.path.with_extension(format!("{}.part", std::process::id()));
        let written = url(&next).is_some_and(|to| open.archive.serializeToURL_error(&to).is_ok());
        if written && std::fs::rename(&next, &open.path).is_ok() {
            open.added = 0;
        }
    }
}

fn url(path: &std::path::Path) -> Option<Retained<NSURL>> {
    Some(NSURL::fileURLWithPath(&NSString::from_str(path.to_str()?)))
}
