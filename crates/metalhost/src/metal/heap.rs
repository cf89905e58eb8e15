//! Heaps: memory that buffers are allocated from. Regions are handed out first fit, so that a fragmented heap refuses what Metal's would;
//! the bytes of each buffer are its own, because what aliased buffers contain is undefined.

use super::hazard::Uses;
use super::{HEAP as HEAP_CLASS, buffer, descriptor};
use crate::abi::{Id, methods};
use crate::objc::object::Strong;
use crate::report::raise;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Alignment of buffers in a heap.
pub const ALIGNMENT: usize = 256;
/// `MTLHeapTypePlacement`
const PLACEMENT: usize = 1;

/// What a heap holds.
#[derive(Debug)]
pub struct Heap {
    size: usize,
    options: usize,
    kind: usize,
    taken: Mutex<Regions>,
    members: Mutex<Vec<Member>>,
    device: Strong,
}

/// A buffer of a heap, as encoders that use the whole heap need it.
#[derive(Clone, Debug)]
pub struct Member {
    /// The memory.
    pub soft: softmetal::Buffer,
    /// The last uses, if nothing tracks them.
    pub uses: Option<Arc<Uses>>,
}

/// Where a buffer lies in its heap.
#[derive(Debug)]
pub struct Place {
    /// The heap.
    pub heap: Strong,
    /// The first byte.
    pub offset: usize,
    /// Others may have the region; also where the program chose the place.
    aliasable: AtomicBool,
}

impl Place {
    fn owner(&self) -> Option<&Heap> {
        self.heap.get::<Heap>()
    }

    /// Whether others may have the region.
    pub fn is_aliasable(&self) -> bool {
        self.aliasable.load(Ordering::Acquire)
    }

    /// Lets others have the region.
    pub fn make_aliasable(&self) {
        if !self.aliasable.swap(true, Ordering::AcqRel)
            && let Some(heap) = self.owner()
        {
            heap.taken.lock().give_back(self.offset);
        }
    }

    /// The buffer is there.
    pub fn join(&self, member: Member) {
        if let Some(heap) = self.owner() {
            heap.members.lock().push(member);
        }
    }

    /// The buffer is gone.
    pub fn leave(&self, soft: &softmetal::Buffer) {
        self.make_aliasable();
        if let Some(heap) = self.owner() {
            heap.members.lock().retain(|m| m.soft.gpu_address() != soft.gpu_address());
        }
    }
}

/// Regions that are taken, by offset and length, in order.
#[derive(Debug, Default)]
struct Regions(Vec<(usize, usize)>);

impl Regions {
    /// The gaps of a heap of this size, by offset and length.
    fn gaps(&self, size: usize) -> Vec<(usize, usize)> {
        let mut at = 0;
        let mut gaps = Vec::new();
        for &(offset, length) in self.0.iter().chain([&(size, 0)]) {
            gaps.push((at, offset.saturating_sub(at)));
            at = offset + length;
        }
        gaps
    }

    fn take(&mut self, length: usize, size: usize) -> Option<usize> {
        let (offset, _) = self.gaps(size).into_iter().find(|(_, room)| *room >= length)?;
        let at = self.0.partition_point(|(o, _)| *o < offset);
        self.0.insert(at, (offset, length));
        Some(offset)
    }

    fn give_back(&mut self, offset: usize) {
        self.0.retain(|(o, _)| *o != offset);
    }
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
    let content = Heap {
        size,
        options,
        kind: descriptor::number(wanted, "type", 0),
        taken: Mutex::default(),
        members: Mutex::default(),
        device: Strong::of(device),
    };
    Strong::new(&HEAP_CLASS, content).into_owned()
}

impl Heap {
    /// The buffers that live in it.
    pub fn members(&self) -> Vec<Member> {
        self.members.lock().clone()
    }

    fn used(&self) -> usize {
        self.taken.lock().0.iter().map(|(_, length)| length).sum()
    }

    /// A buffer at a place of the program's choice, or where there is room; nil where there is none.
    fn buffer(&self, this: Id, length: usize, options: usize, at: Option<usize>) -> Id {
        if options >> 4 & 15 != self.options >> 4 & 15 {
            raise("the storage mode must be that of the heap");
        }
        if at.is_some() != (self.kind == PLACEMENT) {
            raise("buffers have an offset in heaps of the type placement, and only there");
        }
        let taken = length.next_multiple_of(ALIGNMENT);
        let offset = match at {
            Some(at) if !at.is_multiple_of(ALIGNMENT) || at.saturating_add(taken) > self.size => {
                raise(format!(
                    "{length} bytes at offset {at} do not fit the heap of {} bytes and its alignment of {ALIGNMENT}",
                    self.size
                ))
            }
            Some(at) => at,
            None => match self.taken.lock().take(taken, self.size) {
                Some(offset) => offset,
                None => return Id::NIL,
            },
        };
        let tracking = if options >> 8 & 3 == 0 { self.options & 3 << 8 } else { 0 };
        let place = Place { heap: Strong::of(this), offset, aliasable: AtomicBool::new(at.is_some()) };
        buffer::make(self.device.id(), length, options | tracking, Some(place))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.make_aliasable();
    }
}

fn own(this: Id) -> &'static Heap {
    this.expect::<Heap>("the heap")
}

methods! { pub HEAP;
    "size" (this) -> usize { own(this).size }
    "type" (this) -> isize { own(this).kind as isize }
    "usedSize" (this) -> usize { own(this).used() }
    "currentAllocatedSize" (this) -> usize { own(this).size }
    "allocatedSize" (this) -> usize { own(this).size }
    "storageMode" (this) -> usize { own(this).options >> 4 & 15 }
    "hazardTrackingMode" (this) -> usize { own(this).options >> 8 & 3 }
    "resourceOptions" (this) -> usize { own(this).options }
    "device" (this) -> Id { own(this).device.id() }
    "setPurgeableState:" (this, _state: usize) -> usize { 2 }
    "maxAvailableSizeWithAlignment:" (this, _alignment: usize) -> usize {
        let heap = own(this);
        heap.taken.lock().gaps(heap.size).into_iter().map(|(_, room)| room).max().unwrap_or(0)
    }
    "newBufferWithLength:options:" (this, length: usize, options: usize) -> Id { own(this).buffer(this, length, options, None) }
    "newBufferWithLength:options:offset:" (this, length: usize, options: usize, offset: usize) -> Id {
        own(this).buffer(this, length, options, Some(offset))
    }
}

#[cfg(test)]
mod tests {
    use super::Regions;

    #[test]
    fn regions_are_handed_out_first_fit_and_gaps_are_found() {
        let mut regions = Regions::default();
        assert_eq!([256, 512, 256].map(|n| regions.take(n, 1024)), [Some(0), Some(256), Some(768)]);
        assert_eq!(regions.take(256, 1024), None);
        regions.give_back(0);
        regions.give_back(768);
        // Half of the heap is free, but not in one piece.
        assert_eq!(regions.take(512, 1024), None);
        assert_eq!(regions.gaps(1024).into_iter().map(|(_, room)| room).max(), Some(256));
        assert_eq!(regions.take(256, 1024), Some(0));
        assert_eq!(regions.take(256, 1024), Some(768));
    }
}
