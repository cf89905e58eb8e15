//! Weak references: a table from objects to the locations that refer to them.

use super::object;
use crate::abi::Id;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

static PLACES: LazyLock<Mutex<FxHashMap<Id, Vec<usize>>>> = LazyLock::new(Mutex::default);
static USED: AtomicUsize = AtomicUsize::new(0);

/// An object is going: its weak references become nil.
pub fn forget(id: Id) {
    if USED.load(Ordering::Acquire) == 0 {
        return;
    }
    for place in PLACES.lock().remove(&id).unwrap_or_default() {
        // SAFETY: places are listed from `objc_initWeak` to `objc_destroyWeak`, while they are valid.
        unsafe { (place as *mut Id).write(Id::NIL) };
    }
}

/// # Safety
/// `place` can hold an object.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_initWeak(place: *mut Id, value: Id) -> Id {
    USED.store(1, Ordering::Release);
    let mut places = PLACES.lock();
    if !value.is_nil() {
        places.entry(value).or_default().push(place.addr());
    }
    // SAFETY: the caller's promise.
    unsafe { place.write(value) };
    value
}

/// # Safety
/// `place` was initialised by `objc_initWeak`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_destroyWeak(place: *mut Id) {
    let mut places = PLACES.lock();
    // SAFETY: the caller's promise.
    let value = unsafe { place.read() };
    if let Some(list) = places.get_mut(&value) {
        list.retain(|p| *p != place.addr());
    }
    // SAFETY: the caller's promise.
    unsafe { place.write(Id::NIL) };
}

/// # Safety
/// As for `objc_destroyWeak`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_storeWeak(place: *mut Id, value: Id) -> Id {
    // SAFETY: the caller's promise.
    unsafe {
        objc_destroyWeak(place);
        objc_initWeak(place, value)
    }
}

/// # Safety
/// As for `objc_destroyWeak`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_loadWeakRetained(place: *mut Id) -> Id {
    let _places = PLACES.lock();
    // SAFETY: the caller's promise; the object cannot be freed while the table is locked.
    let value = unsafe { place.read() };
    if !value.is_nil() && object::try_retain(value) { value } else { Id::NIL }
}

/// # Safety
/// `from` was initialised by `objc_initWeak`; `to` can hold an object.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_copyWeak(to: *mut Id, from: *mut Id) {
    // SAFETY: the caller's promise.
    unsafe {
        let value = objc_loadWeakRetained(from);
        objc_initWeak(to, value);
        object::release(value);
    }
}

/// # Safety
/// As for `objc_copyWeak`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_moveWeak(to: *mut Id, from: *mut Id) {
    // SAFETY: the caller's promise.
    unsafe {
        objc_copyWeak(to, from);
        objc_destroyWeak(from);
    }
}
