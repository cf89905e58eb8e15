//! Buffers, and their residency set.

use super::*;
use objc2::{msg_send, sel};
use objc2_metal::{MTLBuffer, MTLResidencySet, MTLResidencySetDescriptor, MTLResource, MTLResourceOptions};

/// A buffer of the device. Host memory that it lies over is kept as long as it lives.
pub struct AppleMemory {
    buffer: Retained<ProtocolObject<dyn MTLBuffer>>,
    storage: Storage,
    residency: Option<Arc<Residency>>,
    /// Dropped after the buffer: fields go in order.
    _owner: Option<Box<dyn Any + Send + Sync>>,
}

// SAFETY: buffers are documented as thread-safe objects; who may touch their contents when is the backend's contract.
unsafe impl Send for AppleMemory {}
// SAFETY: buffers are thread-safe objects; the backend decides who may touch their contents when.
unsafe impl Sync for AppleMemory {}

impl AppleMemory {
    pub fn new(
        device: &ProtocolObject<dyn MTLDevice>,
        bytes: usize,
        storage: Storage,
        residency: Option<Arc<Residency>>,
    ) -> Result<AppleMemory> {
        let mode = match storage {
            Storage::Shared => MTLResourceOptions::StorageModeShared,
            Storage::Private => MTLResourceOptions::StorageModePrivate,
        };
        let options = mode | MTLResourceOptions::HazardTrackingModeUntracked;
        let buffer = device.newBufferWithLength_options(bytes, options).ok_or_else(|| {
            DriverError::OutOfMemory(format!("Metal could not allocate a buffer of {bytes} bytes"))
        })?;
        Ok(AppleMemory::adopt(buffer, storage, residency, None))
    }

    /// # Safety
    /// The bytes are whole pages that stay valid while `owner` lives, and no kernel writes them.
    pub unsafe fn wrap(
        device: &ProtocolObject<dyn MTLDevice>,
        start: *const u8,
        bytes: usize,
        owner: Box<dyn Any + Send + Sync>,
        residency: Option<Arc<Residency>>,
    ) -> Result<AppleMemory> {
        let refused = || DriverError::Failed(format!("Metal cannot wrap {bytes} bytes at {start:p}"));
        let pointer = NonNull::new(start.cast_mut()).ok_or_else(refused)?;
        let options = MTLResourceOptions::StorageModeShared | MTLResourceOptions::HazardTrackingModeUntracked;
        // SAFETY: the caller's promise; without a deallocator Metal leaves the memory alone, and `_owner` frees it after the
        // buffer is gone.
        let buffer = unsafe {
            device.newBufferWithBytesNoCopy_length_options_deallocator(pointer.cast(), bytes, options, None)
        };
        Ok(AppleMemory::adopt(buffer.ok_or_else(refused)?, Storage::Shared, residency, Some(owner)))
    }

    fn adopt(
        buffer: Retained<ProtocolObject<dyn MTLBuffer>>,
        storage: Storage,
        residency: Option<Arc<Residency>>,
        owner: Option<Box<dyn Any + Send + Sync>>,
    ) -> AppleMemory {
        buffer.setLabel(Some(&NSString::from_str("wootz buffer")));
        if let Some(set) = &residency {
            set.add(&buffer);
        }
        AppleMemory { buffer, storage, residency, _owner: owner }
    }

    pub fn buffer(&self) -> &ProtocolObject<dyn MTLBuffer> {
        &self.buffer
    }
}

impl Drop for AppleMemory {
    fn drop(&mut self) {
        if let Some(set) = &self.residency {
            autoreleasepool(|_| set.remove(&self.buffer));
        }
    }
}

impl MemoryObject for AppleMemory {
    fn length(&self) -> usize {
        self.buffer.length()
    }

    fn contents(&self) -> Option<*mut u8> {
        match self.storage {
            Storage::Shared => Some(self.buffer.contents().cast().as_ptr()),
            Storage::Private => None,
        }
    }
}

/// All buffers of the device, kept resident together; macOS 15 and iOS 18 have it.
pub struct Residency {
    set: Mutex<Changes>,
}

struct Changes {
    set: Retained<ProtocolObject<dyn MTLResidencySet>>,
    pending: bool,
}

// SAFETY: the set is used under the lock alone.
unsafe impl Send for Residency {}
// SAFETY: the set is used under the lock alone, by one thread at a time.
unsafe impl Sync for Residency {}

impl Residency {
    pub fn new(
        device: &ProtocolObject<dyn MTLDevice>,
        queue: &ProtocolObject<dyn MTLCommandQueue>,
    ) -> Option<Residency> {
        // SAFETY: every object answers whether it responds to a selector.
        let is_there: bool =
            unsafe { msg_send![device, respondsToSelector: sel!(newResidencySetWithDescriptor:error:)] };
        // Virtual machines know the selector, but their sets do not work; nor do they have the family.
        if !is_there || !device.supportsFamily(MTLGPUFamily::Metal3) {
            return None;
        }
        let descriptor = MTLResidencySetDescriptor::new();
        descriptor.setLabel(Some(&NSString::from_str("wootz")));
        let set = device.newResidencySetWithDescriptor_error(&descriptor).ok()?;
        queue.addResidencySet(&set);
        set.requestResidency();
        Some(Residency { set: Mutex::new(Changes { set, pending: false }) })
    }

    fn add(&self, buffer: &ProtocolObject<dyn MTLBuffer>) {
        let mut changes = self.set.lock();
        changes.set.addAllocation(ProtocolObject::from_ref(buffer));
        changes.pending = true;
    }

    /// Takes effect at once: the memory of a buffer without a copy is unmapped next.
    fn remove(&self, buffer: &ProtocolObject<dyn MTLBuffer>) {
        let mut changes = self.set.lock();
        changes.set.removeAllocation(ProtocolObject::from_ref(buffer));
        changes.set.commit();
        changes.pending = false;
    }

    /// Lets changes take effect, before a batch that may use them.
    pub fn commit(&self) {
        let mut changes = self.set.lock();
        if std::mem::take(&mut changes.pending) {
            changes.set.commit();
        }
    }
}

/// Our own memory behind a handle.
pub fn own(memory: &Memory) -> Result<&AppleMemory> {
    (&**memory as &dyn Any)
        .downcast_ref()
        .ok_or_else(|| DriverError::Failed("cannot use a buffer of another device".into()))
}
