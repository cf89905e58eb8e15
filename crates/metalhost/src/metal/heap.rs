//! Heaps: an amount of memory that buffers share.

use super::{HEAP as HEAP_CLASS, buffer, descriptor};
use crate::abi::{Id, methods};
use crate::objc::object::Strong;
use crate::report::raise;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a heap holds.
#[derive(Debug)]
pub struct Heap {
    size: usize,
    options: usize,
    used: Arc<AtomicUsize>,
    device: Strong,
}

/// A new heap.
pub fn make(device: Id, wanted: Id) -> Id {
    if wanted.is_nil() {
        raise("the descriptor must not be nil");
    }
    let size = descriptor::number(wanted, "size", 0);
    if size == 0 {
        raise("the size must not be zero");
    }
    let mode = descriptor::number(wanted, "storageMode", 2);
    let given = descriptor::number(wanted, "resourceOptions", mode << 4);
    let tracking = descriptor::number(wanted, "hazardTrackingMode", 1);
    let options = given & !(3 << 8) | tracking << 8;
    let content = Heap { size, options, used: Arc::default(), device: Strong::of(device) };
    Strong::new(&HEAP_CLASS, content).into_owned()
}

fn own(this: Id) -> &'static Heap {
    this.expect::<Heap>("the heap")
}

methods! { pub HEAP;
    "size" (this) -> usize { own(this).size }
    "usedSize" (this) -> usize { own(this).used.load(Ordering::Relaxed) }
    "currentAllocatedSize" (this) -> usize { own(this).size }
    "allocatedSize" (this) -> usize { own(this).size }
    "storageMode" (this) -> usize { own(this).options >> 4 & 15 }
    "hazardTrackingMode" (this) -> usize { own(this).options >> 8 & 3 }
    "resourceOptions" (this) -> usize { own(this).options }
    "device" (this) -> Id { own(this).device.id() }
    "setPurgeableState:" (this, _state: usize) -> usize { 2 }
    "maxAvailableSizeWithAlignment:" (this, _alignment: usize) -> usize {
        let heap = own(this);
        heap.size.saturating_sub(heap.used.load(Ordering::Relaxed))
    }
    "newBufferWithLength:options:" (this, length: usize, options: usize) -> Id {
        let heap = own(this);
        if options >> 4 & 15 != heap.options >> 4 & 15 {
            raise("the storage mode must be that of the heap");
        }
        let taken = length.next_multiple_of(256);
        let fits = |used: usize| (used + taken <= heap.size).then_some(used + taken);
        if heap.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_err() {
            return Id::NIL;
        }
        let tracking = if options >> 8 & 3 == 0 { heap.options & 3 << 8 } else { 0 };
        buffer::make(heap.device.id(), length, options | tracking, Some(Strong::of(this)))
    }
}

impl Heap {
    /// A buffer of this length is gone.
    pub fn give_back(&self, length: usize) {
        self.used.fetch_sub(length.next_multiple_of(256), Ordering::Relaxed);
    }
}
