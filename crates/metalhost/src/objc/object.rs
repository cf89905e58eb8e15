//! Objects: a header with reference count and content, then the class pointer (and, for compiled classes, instance
//! variables).
//!
//! Deallocated objects stay readable for a while as zombies, so that a message to one is reported instead of
//! crashing.

use super::class::{self, Class, Memory};
use super::weak;
use crate::abi::Id;
use crate::report::{Kind, raise, report};
use parking_lot::Mutex;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::any::Any;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What lies before an object.
#[repr(C)]
struct Header {
    count: AtomicUsize,
    /// Bytes behind the header.
    size: usize,
    /// What an object of the framework holds.
    body: Option<Box<dyn Any + Send + Sync>>,
    /// A name for people.
    label: Mutex<Option<String>>,
}

const HEADER: usize = size_of::<Header>();
/// Set in the count when the object is gone.
const GONE: usize = 1 << 62;
/// Objects that are gone and still readable.
const ZOMBIES: usize = 4096;

fn layout(size: usize) -> Layout {
    // Sizes come from class records, far from overflow.
    Layout::from_size_align(HEADER + size.max(8), 16).unwrap_or(Layout::new::<Header>())
}

/// A new object with a count of one.
pub fn make(class: &'static Class, body: Option<Box<dyn Any + Send + Sync>>) -> Id {
    let data = class::data(class);
    let size = data.instance_size;
    // SAFETY: the layout is not empty.
    let start = unsafe { alloc_zeroed(layout(size)) };
    if start.is_null() {
        handle_alloc_error(layout(size));
    }
    let header = Header { count: AtomicUsize::new(1), size, body, label: Mutex::new(None) };
    // SAFETY: the memory is fresh, large enough and aligned for both.
    let object = unsafe {
        start.cast::<Header>().write(header);
        let object = start.add(HEADER);
        object.cast::<*const Class>().write(class);
        object
    };
    data.live.fetch_add(1, Ordering::Relaxed);
    Id(object.cast())
}

fn header(object: Id) -> *mut Header {
    object.0.wrapping_byte_sub(HEADER).cast()
}

fn is_counted(object: Id) -> bool {
    !object.is_nil() && class::data(class::of(object)).memory == Memory::Counted
}

/// Gives an object of a framework class its content; for `init` methods.
pub fn fill(object: Id, body: impl Any + Send + Sync) -> Id {
    if is_counted(object) {
        // SAFETY: counted objects have a header, and nobody else has an object that is being initialised.
        unsafe { (*header(object)).body = Some(Box::new(body)) };
    }
    object
}

impl Id {
    /// The content, if the object is one of the framework's of this kind.
    pub fn get<T: Any>(self) -> Option<&'static T> {
        if !is_counted(self) {
            return None;
        }
        // SAFETY: counted objects have a header. The caller holds the object while it uses the content, as every method does with
        // its receiver and arguments.
        let header = unsafe { &*header(self) };
        header.body.as_ref()?.downcast_ref::<T>()
    }

    /// The content of an argument that must be there.
    pub fn expect<T: Any>(self, what: &str) -> &'static T {
        if self.is_nil() {
            raise(format!("{what} must not be nil"));
        }
        self.get::<T>().unwrap_or_else(|| {
            raise(format!("{what} is of class {}, which does not fit", class::name_of(self)))
        })
    }
}

/// The name that people gave an object.
pub fn label(object: Id) -> Option<String> {
    if !is_counted(object) {
        return None;
    }
    // SAFETY: counted objects have a header.
    unsafe { &*header(object) }.label.lock().clone()
}

/// Gives an object a name for people.
pub fn set_label(object: Id, label: Option<String>) {
    if is_counted(object) {
        // SAFETY: counted objects have a header.
        *unsafe { &*header(object) }.label.lock() = label;
    }
}

/// Counts up.
pub fn retain(object: Id) -> Id {
    if object.is_nil() {
        return object;
    }
    match class::data(class::of(object)).memory {
        Memory::Counted => {
            // SAFETY: counted objects have a header.
            let before = unsafe { &*header(object) }.count.fetch_add(1, Ordering::Relaxed);
            if before & GONE != 0 {
                report(
                    Kind::UseAfterRelease,
                    format!("{} was retained after it was freed", class::name_of(object)),
                );
            }
        }
        // SAFETY: the object is a block.
        Memory::Block => return Id(unsafe { super::block::_Block_copy(object.0) }),
        Memory::Static => {}
    }
    object
}

/// Counts down, and frees the object at zero.
pub fn release(object: Id) {
    if object.is_nil() {
        return;
    }
    match class::data(class::of(object)).memory {
        Memory::Counted => {
            // SAFETY: counted objects have a header.
            let before = unsafe { &*header(object) }.count.fetch_sub(1, Ordering::AcqRel);
            if before & GONE != 0 || before == 0 {
                report(Kind::UseAfterRelease, format!("{} was released too often", class::name_of(object)));
            } else if before == 1 {
                super::message::send_dealloc(object);
            }
        }
        // SAFETY: the object is a block.
        Memory::Block => unsafe { super::block::_Block_release(object.0) },
        Memory::Static => {}
    }
}

/// How often an object is retained; for `retainCount`.
pub fn count(object: Id) -> usize {
    if !is_counted(object) {
        return usize::MAX;
    }
    // SAFETY: counted objects have a header.
    unsafe { &*header(object) }.count.load(Ordering::Relaxed) & !GONE
}

/// Whether an object was freed.
pub fn is_gone(object: Id) -> bool {
    // SAFETY: counted objects have a header, also as zombies.
    is_counted(object) && unsafe { &*header(object) }.count.load(Ordering::Relaxed) & GONE != 0
}

/// Counts up unless the object is gone or going; for weak references.
pub fn try_retain(object: Id) -> bool {
    if !is_counted(object) {
        return !object.is_nil();
    }
    // SAFETY: the table of weak references lists only objects that have not been freed.
    let count = unsafe { &(*header(object)).count };
    count
        .fetch_update(Ordering::AcqRel, Ordering::Relaxed, |n| (n != 0 && n & GONE == 0).then_some(n + 1))
        .is_ok()
}

static GRAVES: Mutex<VecDeque<Id>> = Mutex::new(VecDeque::new());

/// The end of an object: `-[NSObject dealloc]`.
pub fn free(object: Id) {
    if !is_counted(object) {
        return;
    }
    weak::forget(object);
    class::data(class::of(object)).live.fetch_sub(1, Ordering::Relaxed);
    let header = header(object);
    // SAFETY: counted objects have a header, and at a count of zero nobody else has the object.
    let body = unsafe {
        (*header).count.store(GONE, Ordering::Release);
        (*header).label.lock().take();
        (*header).body.take()
    };
    drop(body);
    let oldest = {
        let mut graves = GRAVES.lock();
        graves.push_back(object);
        (graves.len() > ZOMBIES).then(|| graves.pop_front()).flatten()
    };
    if let Some(Id(oldest)) = oldest {
        let start = oldest.wrapping_byte_sub(HEADER);
        // SAFETY: `make` allocated it with this layout; only zombies are here, and each once.
        unsafe {
            let size = (*start.cast::<Header>()).size;
            dealloc(start.cast(), layout(size));
        }
    }
}

/// An object that is held: counted up when cloned, down when dropped.
#[derive(Debug)]
pub struct Strong(Id);

impl Strong {
    /// A new object of the framework.
    pub fn new(class: &'static Class, body: impl Any + Send + Sync) -> Strong {
        Strong(make(class, Some(Box::new(body))))
    }

    /// Counts up.
    pub fn of(object: Id) -> Strong {
        Strong(retain(object))
    }

    /// The object, still held here.
    pub fn id(&self) -> Id {
        self.0
    }

    /// The object with its count, for results of `new…`, `alloc`, `copy` and `init…`.
    pub fn into_owned(self) -> Id {
        let id = self.0;
        std::mem::forget(self);
        id
    }

    /// The object, given up with the innermost pool, for all other results.
    pub fn autoreleased(self) -> Id {
        super::pool::add(self.into_owned())
    }

    /// Its content.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.get::<T>()
    }
}

impl Clone for Strong {
    fn clone(&self) -> Strong {
        Strong(retain(self.0))
    }
}

impl Drop for Strong {
    fn drop(&mut self) {
        release(self.0);
    }
}
