//! Buffers.

use super::BUFFER as BUFFER_CLASS;
use super::device::Device;
use super::hazard::Uses;
use super::heap::{Member, Place};
use super::options::{self, Fault};
use crate::abi::{Id, NSRange, methods};
use crate::foundation::string;
use crate::objc::block::Held;
use crate::objc::object::{self, Strong};
use crate::report::{Kind, raise, report};
use softmetal::StorageMode;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::Ordering;

const MANAGED: usize = 1;
const PRIVATE: usize = 2;
const MEMORYLESS: usize = 3;
const UNTRACKED: usize = 1;

/// What a buffer holds.
#[derive(Debug)]
pub struct Buffer {
    /// The memory that kernels see.
    pub soft: softmetal::Buffer,
    /// What the host sees, where that is another memory: managed storage of a GPU with memory of its own.
    pub mirror: Option<softmetal::Buffer>,
    /// `MTLResourceOptions`.
    pub options: usize,
    /// The last uses, if nothing tracks them.
    pub uses: Option<Arc<Uses>>,
    /// Whose bytes they are, if not ours.
    pub borrowed: Option<Borrowed>,
    /// The heap that it came from, and where it lies there.
    pub place: Option<Place>,
    device: Strong,
}

/// Bytes of the program.
#[derive(Debug)]
pub struct Borrowed {
    start: usize,
    length: usize,
    end: Option<Held>,
}

impl Borrowed {
    /// Whether the first and the last page are mapped.
    pub fn is_mapped(&self) -> bool {
        let page = page();
        let mut state = 0u8;
        [self.start, self.start + self.length - page].into_iter().all(|at| {
            // SAFETY: `mincore` answers for any address that is a multiple of the page size.
            unsafe { libc::mincore(at as *mut c_void, page, &raw mut state) == 0 }
        })
    }
}

/// Bytes of a page.
pub fn page() -> usize {
    // SAFETY: asks for a number.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}

impl Buffer {
    /// Its mode of storage.
    pub fn mode(&self) -> usize {
        self.options >> 4 & 15
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some(device) = self.device.get::<Device>() {
            device.allocated.fetch_sub(self.soft.length(), Ordering::Relaxed);
        }
        if let Some(place) = &self.place {
            place.leave(&self.soft);
        }
        if let Some(Borrowed { start, length, end: Some(end) }) = &self.borrowed {
            // SAFETY: deallocators take a pointer and a length.
            unsafe { end.call2(*start as *mut c_void, *length) };
        }
    }
}

fn check(device: &Device, length: usize, options: usize) {
    let most = device.soft.limits().max_buffer_length as usize;
    if length == 0 {
        raise("the length must not be zero");
    }
    if length > most {
        report(Kind::Argument, format!("{length} bytes; a buffer has at most {most}"));
    }
    if options >> 4 & 15 == MEMORYLESS {
        raise("buffers cannot be memoryless");
    }
}

fn adopt(
    device: Id,
    soft: softmetal::Buffer,
    options: usize,
    borrowed: Option<Borrowed>,
    place: Option<Place>,
) -> Id {
    let own = device.expect::<Device>("the device");
    own.allocated.fetch_add(soft.length(), Ordering::Relaxed);
    let managed = options >> 4 & 15 == MANAGED && own.options.device.family == softmetal::Family::Mac2;
    let mirror = managed.then(|| own.soft.new_buffer(soft.length(), StorageMode::Shared).ok()).flatten();
    // Without a word about it, devices track buffers and heaps do not.
    let tracking = options >> 8 & 3;
    let untracked = tracking == UNTRACKED || (tracking == 0 && place.is_some());
    let uses = untracked.then(Arc::<Uses>::default);
    if let Some(place) = &place {
        place.join(Member { soft: soft.clone(), uses: uses.clone() });
    }
    let content = Buffer { soft, mirror, options, uses, borrowed, place, device: Strong::of(device) };
    Strong::new(&BUFFER_CLASS, content).into_owned()
}

/// A new buffer; nil where there is no memory.
pub fn make(device: Id, length: usize, options: usize, place: Option<Place>) -> Id {
    let own = device.expect::<Device>("the device");
    check(own, length, options);
    if options::take_fault(|f| *f == Fault::NoBuffer).is_some() {
        return Id::NIL;
    }
    let mode = if options >> 4 & 15 == PRIVATE { StorageMode::Private } else { StorageMode::Shared };
    match own.soft.new_buffer(length, mode) {
        Ok(soft) => adopt(device, soft, options, None, place),
        Err(_) => Id::NIL,
    }
}

/// A new buffer with a copy of these bytes.
pub fn make_with(device: Id, start: *const c_void, length: usize, options: usize) -> Id {
    if start.is_null() {
        raise("the bytes must not be null");
    }
    if options >> 4 & 15 == PRIVATE {
        raise("a private buffer cannot be made with bytes");
    }
    let made = make(device, length, options, None);
    if let Some(buffer) = made.get::<Buffer>() {
        // SAFETY: the sender gave so many bytes.
        let bytes = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), length) };
        for to in [Some(&buffer.soft), buffer.mirror.as_ref()].into_iter().flatten() {
            let _ = to.write_bytes(0, bytes);
        }
    }
    made
}

/// A buffer over memory of the program: whole pages that are mapped, and not the heap's.
pub fn wrap(device: Id, start: *mut c_void, length: usize, options: usize, end: Option<Held>) -> Id {
    let own = device.expect::<Device>("the device");
    check(own, length, options);
    let page = page();
    if start.is_null() || !start.addr().is_multiple_of(page) || !length.is_multiple_of(page) {
        report(Kind::Argument, format!("{length} bytes at {start:p} are not whole pages of {page} bytes"));
        return Id::NIL;
    }
    let borrowed = Borrowed { start: start.addr(), length, end };
    if !borrowed.is_mapped() {
        report(Kind::Argument, format!("{length} bytes at {start:p} are not mapped"));
        return Id::NIL;
    }
    // SAFETY: the sender promises the bytes for as long as the buffer lives; they are mapped.
    match unsafe { own.soft.new_buffer_no_copy(start.cast(), length, Box::new(())) } {
        Ok(soft) => adopt(device, soft, options, Some(borrowed), None),
        Err(_) => Id::NIL,
    }
}

fn own(this: Id) -> &'static Buffer {
    this.expect::<Buffer>("the buffer")
}

methods! { pub BUFFER;
    "length" (this) -> usize { own(this).soft.length() }
    "contents" (this) -> *mut c_void {
        let buffer = own(this);
        if buffer.mode() == PRIVATE {
            report(Kind::Argument, "the host cannot see a private buffer");
        }
        buffer.mirror.as_ref().unwrap_or(&buffer.soft).contents().cast()
    }
    "gpuAddress" (this) -> u64 { own(this).soft.gpu_address() }
    "device" (this) -> Id { own(this).device.id() }
    "heap" (this) -> Id { own(this).place.as_ref().map_or(Id::NIL, |p| p.heap.id()) }
    "heapOffset" (this) -> usize { own(this).place.as_ref().map_or(0, |p| p.offset) }
    "allocatedSize" (this) -> usize { own(this).soft.length() }
    "storageMode" (this) -> usize { own(this).mode() }
    "cpuCacheMode" (this) -> usize { own(this).options & 15 }
    "hazardTrackingMode" (this) -> usize { if own(this).uses.is_some() { 1 } else { 2 } }
    "resourceOptions" (this) -> usize { own(this).options }
    "setPurgeableState:" (this, _state: usize) -> usize { 2 }
    "makeAliasable" (this) {
        match &own(this).place {
            Some(place) => place.make_aliasable(),
            None => report(Kind::Argument, "only buffers of a heap can be made aliasable"),
        }
    }
    "isAliasable" (this) -> crate::abi::Bool { own(this).place.as_ref().is_some_and(Place::is_aliasable).into() }
    "didModifyRange:" (this, range: NSRange) {
        let buffer = own(this);
        if buffer.mode() != MANAGED {
            report(Kind::Argument, "only managed buffers are told of changes");
        }
        if range.location.checked_add(range.length).is_none_or(|end| end > buffer.soft.length()) {
            raise(format!("{range:?} is outside of the {} bytes", buffer.soft.length()));
        }
        if let Some(mirror) = &buffer.mirror
            && let Ok(bytes) = mirror.read_bytes(range.location, range.length)
        {
            let _ = buffer.soft.write_bytes(range.location, &bytes);
        }
    }
    "addDebugMarker:range:" (this, _marker: Id, _range: NSRange) { }
    "removeAllDebugMarkers" (this) { }
    "setLabel:" (this, label: Id) {
        let text = string::text(label);
        own(this).soft.set_label(text.as_deref().unwrap_or(""));
        object::set_label(this, text);
    }
}
