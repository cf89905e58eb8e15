//! Blocks: C closures, which move to the heap when copied.

use super::object;
use crate::abi::{Block, Id};
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ffi::{c_int, c_ulong, c_void};
use std::sync::atomic::{AtomicI32, Ordering};

/// A block as compilers lay it out.
#[repr(C)]
struct Literal {
    isa: *const c_void,
    flags: AtomicI32,
    reserved: c_int,
    invoke: *const (),
    descriptor: *const Descriptor,
}

#[repr(C)]
struct Descriptor {
    reserved: c_ulong,
    size: c_ulong,
    copy: unsafe extern "C-unwind" fn(*mut c_void, *const c_void),
    dispose: unsafe extern "C-unwind" fn(*mut c_void),
}

const COUNT: i32 = 0xfffe;
const NEEDS_FREE: i32 = 1 << 24;
const HAS_COPY: i32 = 1 << 25;
const IS_GLOBAL: i32 = 1 << 28;

fn layout(size: c_ulong) -> Layout {
    Layout::from_size_align(size as usize, 16).unwrap_or(Layout::new::<Literal>())
}

/// # Safety
/// `block` is a block or null.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn _Block_copy(block: *const c_void) -> *mut c_void {
    if block.is_null() {
        return std::ptr::null_mut();
    }
    let literal = block.cast::<Literal>();
    // SAFETY: the caller's promise; the descriptor says how large the block is, and whether it has helpers.
    unsafe {
        let flags = (*literal).flags.load(Ordering::Relaxed);
        if flags & IS_GLOBAL != 0 {
            return block.cast_mut();
        }
        if flags & NEEDS_FREE != 0 {
            (*literal).flags.fetch_add(2, Ordering::Relaxed);
            return block.cast_mut();
        }
        let size = (*(*literal).descriptor).size;
        let copy = alloc(layout(size));
        if copy.is_null() {
            handle_alloc_error(layout(size));
        }
        std::ptr::copy_nonoverlapping(block.cast::<u8>(), copy, size as usize);
        let new = copy.cast::<Literal>();
        (*new).flags.store((flags & !COUNT) | NEEDS_FREE | 2, Ordering::Relaxed);
        (*new).isa = std::ptr::from_ref(&super::super::foundation::MALLOC_BLOCK).cast();
        if flags & HAS_COPY != 0 {
            ((*(*literal).descriptor).copy)(copy.cast(), block);
        }
        copy.cast()
    }
}

/// # Safety
/// `block` is a block or null.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn _Block_release(block: *const c_void) {
    if block.is_null() {
        return;
    }
    let literal = block.cast::<Literal>().cast_mut();
    // SAFETY: the caller's promise; a block on the heap came from `_Block_copy`.
    unsafe {
        let flags = (*literal).flags.load(Ordering::Relaxed);
        if flags & IS_GLOBAL != 0 || flags & NEEDS_FREE == 0 {
            return;
        }
        let before = (*literal).flags.fetch_sub(2, Ordering::AcqRel);
        if before & COUNT == 2 {
            let descriptor = (*literal).descriptor;
            if flags & HAS_COPY != 0 {
                ((*descriptor).dispose)(literal.cast());
            }
            dealloc(literal.cast(), layout((*descriptor).size));
        }
    }
}

/// A variable that blocks share (`__block`).
#[repr(C)]
struct Byref {
    isa: *mut c_void,
    forwarding: *mut Byref,
    flags: AtomicI32,
    size: u32,
    keep: unsafe extern "C-unwind" fn(*mut Byref, *mut Byref),
    dispose: unsafe extern "C-unwind" fn(*mut Byref),
}

const FIELD_OBJECT: c_int = 3;
const FIELD_BLOCK: c_int = 7;
const FIELD_BYREF: c_int = 8;
const FIELD_KIND: c_int = 15;
/// From the helper of a `__block` variable: references inside of it are not counted.
const FROM_BYREF: c_int = 128;

/// # Safety
/// Called by compiled copy helpers alone.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn _Block_object_assign(to: *mut c_void, value: *const c_void, flags: c_int) {
    // SAFETY: `to` is the field of the copy, `value` what the original holds, of the kind that the flags say.
    unsafe {
        let kept = if flags & FROM_BYREF != 0 {
            value.cast_mut()
        } else {
            match flags & FIELD_KIND {
                FIELD_OBJECT => object::retain(Id(value.cast_mut())).0,
                FIELD_BLOCK => _Block_copy(value),
                FIELD_BYREF => copy_byref(value.cast_mut().cast()).cast(),
                _ => value.cast_mut(),
            }
        };
        to.cast::<*mut c_void>().write(kept);
    }
}

/// # Safety
/// The variable is as a compiler lays out a `__block` variable.
unsafe fn copy_byref(variable: *mut Byref) -> *mut Byref {
    // SAFETY: compilers lay variables out like this; the helpers are there if the flag says so.
    unsafe {
        let at = (*variable).forwarding;
        let flags = (*at).flags.load(Ordering::Relaxed);
        if flags & NEEDS_FREE != 0 {
            (*at).flags.fetch_add(2, Ordering::Relaxed);
            return at;
        }
        let size = u64::from((*at).size);
        let copy = alloc(layout(size)).cast::<Byref>();
        if copy.is_null() {
            handle_alloc_error(layout(size));
        }
        std::ptr::copy_nonoverlapping(at.cast::<u8>(), copy.cast(), size as usize);
        // One count for the block, one for the frame that declared it.
        (*copy).flags.store(flags | NEEDS_FREE | 4, Ordering::Relaxed);
        (*copy).forwarding = copy;
        (*at).forwarding = copy;
        if flags & HAS_COPY != 0 {
            ((*at).keep)(copy, at);
        }
        copy
    }
}

/// # Safety
/// Called by compiled dispose helpers alone.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn _Block_object_dispose(value: *const c_void, flags: c_int) {
    if flags & FROM_BYREF != 0 || value.is_null() {
        return;
    }
    // SAFETY: `value` is of the kind that the flags say.
    unsafe {
        match flags & FIELD_KIND {
            FIELD_OBJECT => object::release(Id(value.cast_mut())),
            FIELD_BLOCK => _Block_release(value),
            FIELD_BYREF => {
                let at = (*value.cast::<Byref>()).forwarding;
                let flags = (*at).flags.load(Ordering::Relaxed);
                if flags & NEEDS_FREE != 0 && (*at).flags.fetch_sub(2, Ordering::AcqRel) & COUNT == 2 {
                    if flags & HAS_COPY != 0 {
                        ((*at).dispose)(at);
                    }
                    dealloc(at.cast(), layout(u64::from((*at).size)));
                }
            }
            _ => {}
        }
    }
}

/// A block that is held until it has been called.
#[derive(Debug)]
pub struct Held(*mut c_void);

// SAFETY: blocks given to Metal's handlers are called on other threads; that is their caller's contract.
unsafe impl Send for Held {}
// SAFETY: it only reads the block's code and calls it; a block that is called on two threads is its caller's contract.
unsafe impl Sync for Held {}

impl Held {
    /// Copies a block; nothing if there is none.
    pub fn new(block: Block) -> Option<Held> {
        // SAFETY: whoever sent the message gave a block.
        (!block.0.is_null()).then(|| Held(unsafe { _Block_copy(block.0) }))
    }

    /// The code of the block, whose first argument is the block.
    fn code(&self) -> *const () {
        // SAFETY: the block is held.
        unsafe { (*self.0.cast::<Literal>()).invoke }
    }

    /// Calls a block without arguments.
    ///
    /// # Safety
    /// The block takes none.
    pub unsafe fn call0(&self) {
        // SAFETY: the caller's promise.
        let code: extern "C-unwind" fn(*mut c_void) = unsafe { std::mem::transmute(self.code()) };
        code(self.0);
    }

    /// Calls a block with one argument.
    ///
    /// # Safety
    /// The block takes one of this type.
    pub unsafe fn call1<A>(&self, a: A) {
        // SAFETY: the caller's promise.
        let code: extern "C-unwind" fn(*mut c_void, A) = unsafe { std::mem::transmute(self.code()) };
        code(self.0, a);
    }

    /// Calls a block with two arguments.
    ///
    /// # Safety
    /// The block takes two of these types.
    pub unsafe fn call2<A, B>(&self, a: A, b: B) {
        // SAFETY: the caller's promise.
        let code: extern "C-unwind" fn(*mut c_void, A, B) = unsafe { std::mem::transmute(self.code()) };
        code(self.0, a, b);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: `new` copied it.
        unsafe { _Block_release(self.0) };
    }
}
