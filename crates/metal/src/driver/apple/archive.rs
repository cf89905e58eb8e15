//! Compiled pipelines on disk, so that a second process starts without compiling. Losing them costs time, never
//! correctness: every failure here is ignored.

use super::*;
use objc2_foundation::{NSArray, NSURL};
use objc2_metal::{MTLBinaryArchive, MTLBinaryArchiveDescriptor};
use std::path::PathBuf;
use wootz_system::cache;

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
// SAFETY: the archive is used under the lock alone, by one thread at a time.
unsafe impl Sync for Archive {}

impl Archive {
    /// The archive of a device, read from the user's cache folder if it is there and intact.
    pub fn open(device: &ProtocolObject<dyn MTLDevice>, name: &str) -> Archive {
        Archive { open: Mutex::new(Archive::find(device, name)) }
    }

    fn find(device: &ProtocolObject<dyn MTLDevice>, name: &str) -> Option<Open> {
        let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let name = format!("{plain}-{}.metalarchive", env!("CARGO_PKG_VERSION"));
        let path = cache::folder("pipelines")?.join(name);
        let descriptor = MTLBinaryArchiveDescriptor::new();
        if cache::holds(&path) {
            let stored = url(&path)?;
            descriptor.setUrl(Some(&stored));
        }
        let archive = device.newBinaryArchiveWithDescriptor_error(&descriptor).or_else(|_| {
            // Of another version of the system: start over.
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

    /// Writes the archive if pipelines were added.
    pub fn save(&self) {
        let mut guard = self.open.lock();
        let Some(open) = guard.as_mut().filter(|open| open.added > 0) else { return };
        let Ok(making) = cache::Making::new(&open.path) else { return };
        let written =
            url(&making.temporary()).is_some_and(|to| open.archive.serializeToURL_error(&to).is_ok());
        if written && making.finish().is_ok() {
            open.added = 0;
        }
    }
}

fn url(path: &std::path::Path) -> Option<Retained<NSURL>> {
    Some(NSURL::fileURLWithPath(&NSString::from_str(path.to_str()?)))
}
