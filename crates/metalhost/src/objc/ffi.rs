//! The C functions of the runtime that bindings and compilers call.
#![allow(non_snake_case, reason = "the names are Objective-C's")]

use super::class::{self, Class, Method};
use super::{message, object, pool, selector, weak};
use crate::abi::{Bool, Id, Sel};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::atomic::Ordering;

type Known = Option<&'static Class>;

/// # Safety
/// `name` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_getClass(name: *const c_char) -> Known {
    // SAFETY: the caller's promise.
    class::lookup(&unsafe { CStr::from_ptr(name) }.to_string_lossy())
}

/// # Safety
/// `name` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_lookUpClass(name: *const c_char) -> Known {
    // SAFETY: the caller's promise.
    unsafe { objc_getClass(name) }
}

/// # Safety
/// `name` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_getProtocol(name: *const c_char) -> *const c_void {
    // A protocol is its name, once.
    // SAFETY: the caller's promise.
    selector::register(unsafe { CStr::from_ptr(name) }.to_bytes()).0.cast()
}

/// The name of a protocol.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn protocol_getName(protocol: *const c_void) -> *const c_char {
    protocol.cast()
}

/// The class of an object, or none of nil.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn object_getClass(object: Id) -> Known {
    (!object.is_nil()).then(|| class::of(object))
}

/// The name of an object's class.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn object_getClassName(object: Id) -> *const c_char {
    if object.is_nil() { c"nil".as_ptr() } else { class::c_name(class::of(object)) }
}

/// Whether an object is a class.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn object_isClass(object: Id) -> Bool {
    class::is_class(object).into()
}

/// Whether a class is a metaclass.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn class_isMetaClass(class: Known) -> Bool {
    class.is_some_and(|c| class::data(c).is_meta).into()
}

/// The name of a class.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn class_getName(class: Known) -> *const c_char {
    class.map_or(c"nil".as_ptr(), class::c_name)
}

/// The class that a class extends.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn class_getSuperclass(class: Known) -> Known {
    class.and_then(class::superclass)
}

/// Bytes of an instance.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn class_getInstanceSize(class: Known) -> usize {
    class.map_or(0, |c| class::data(c).instance_size)
}

/// The method that instances answer with.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn class_getInstanceMethod(class: Known, selector: Sel) -> Option<&'static Method> {
    class.and_then(|c| class::find_method(c, selector))
}

/// The method that the class answers with.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn class_getClassMethod(class: Known, selector: Sel) -> Option<&'static Method> {
    // SAFETY: metaclasses live as long as the process.
    let meta = class.and_then(|c| unsafe { c.isa.load(Ordering::Acquire).as_ref() });
    meta.and_then(|c| class::find_method(c, selector))
}

/// Whether instances answer to a selector.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn class_respondsToSelector(class: Known, selector: Sel) -> Bool {
    class_getInstanceMethod(class, selector).is_some().into()
}

/// # Safety
/// `protocol` came from `objc_getProtocol`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn class_conformsToProtocol(class: Known, protocol: *const c_void) -> Bool {
    let name = selector::text(Sel(protocol.cast()));
    class.is_some_and(|c| class::conforms(c, &name)).into()
}

/// The selector of a method.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn method_getName(method: &'static Method) -> Sel {
    method.selector
}

/// The type encoding of a method.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn method_getTypeEncoding(method: &'static Method) -> *const c_char {
    method.types.as_ptr()
}

/// The function of a method.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn method_getImplementation(method: &'static Method) -> *const () {
    method.imp.load(Ordering::Acquire)
}

/// How many classes there are; with a buffer, those too.
///
/// # Safety
/// `buffer` has room for `room` classes.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_getClassList(buffer: *mut Known, room: c_int) -> c_int {
    let names = crate::CLASS_TABLE.iter().flat_map(|t| t.iter());
    let mut count = 0;
    for spec in names {
        if !buffer.is_null() && count < room {
            // SAFETY: the caller's promise.
            unsafe { buffer.add(count as usize).write(Some(spec.class)) };
        }
        count += 1;
    }
    count
}

/// Counts up.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn objc_retain(object: Id) -> Id {
    object::retain(object)
}

/// Counts down.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn objc_release(object: Id) {
    object::release(object);
}

/// Counts down with the innermost pool.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn objc_autorelease(object: Id) -> Id {
    pool::add(object)
}

/// As `objc_autorelease`: nothing is passed over the pool.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn objc_autoreleaseReturnValue(object: Id) -> Id {
    pool::add(object)
}

/// As `objc_retain`: the pool keeps its own count, as it may on Apple's systems.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn objc_retainAutoreleasedReturnValue(object: Id) -> Id {
    object::retain(object)
}

/// As `objc_retainAutoreleasedReturnValue`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn objc_claimAutoreleasedReturnValue(object: Id) -> Id {
    object::retain(object)
}

/// Uses an autoreleased result without keeping it.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn objc_unsafeClaimAutoreleasedReturnValue(object: Id) -> Id {
    object
}

/// Counts up, and down with the pool.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn objc_retainAutorelease(object: Id) -> Id {
    pool::add(object::retain(object))
}

/// As `objc_retainAutorelease`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn objc_retainAutoreleaseReturnValue(object: Id) -> Id {
    objc_retainAutorelease(object)
}

/// Copies a block.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn objc_retainBlock(block: Id) -> Id {
    // SAFETY: compilers call it with blocks alone.
    Id(unsafe { super::block::_Block_copy(block.0) })
}

/// # Safety
/// `place` holds an object or nil.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_storeStrong(place: *mut Id, value: Id) {
    // SAFETY: the caller's promise.
    let old = unsafe { place.replace(object::retain(value)) };
    object::release(old);
}

/// # Safety
/// `place` was initialised by `objc_initWeak`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_loadWeak(place: *mut Id) -> Id {
    // SAFETY: the caller's promise.
    pool::add(unsafe { weak::objc_loadWeakRetained(place) })
}

/// A new instance.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn class_createInstance(class: Known, _extra: usize) -> Id {
    class.map_or(Id::NIL, |c| object::make(c, None))
}

fn send_named(receiver: Id, name: &[u8]) -> Id {
    if receiver.is_nil() {
        return Id::NIL;
    }
    // SAFETY: the methods of these names take nothing and give an object.
    unsafe { message::send::<Id>(receiver, selector::register(name)) }
}

/// `[class alloc]`
#[unsafe(no_mangle)]
pub extern "C-unwind" fn objc_alloc(class: Id) -> Id {
    send_named(class, b"alloc")
}

/// `[[class alloc] init]`
#[unsafe(no_mangle)]
pub extern "C-unwind" fn objc_alloc_init(class: Id) -> Id {
    send_named(send_named(class, b"alloc"), b"init")
}

/// `[class new]`
#[unsafe(no_mangle)]
pub extern "C-unwind" fn objc_opt_new(class: Id) -> Id {
    send_named(class, b"new")
}

/// `[object class]`
#[unsafe(no_mangle)]
pub extern "C-unwind" fn objc_opt_class(object: Id) -> Known {
    if class::is_class(object) {
        // SAFETY: the object is a class, which lives as long as the process.
        return Some(unsafe { &*object.0.cast::<Class>() });
    }
    object_getClass(object)
}

/// `[object isKindOfClass:class]`
#[unsafe(no_mangle)]
pub extern "C-unwind" fn objc_opt_isKindOfClass(object: Id, class: Known) -> Bool {
    let (Some(own), Some(class)) = (object_getClass(object), class) else { return false.into() };
    class::is_kind(own, class).into()
}

/// `[object respondsToSelector:selector]`
#[unsafe(no_mangle)]
pub extern "C-unwind" fn objc_opt_respondsToSelector(object: Id, selector: Sel) -> Bool {
    class_respondsToSelector(object_getClass(object), selector)
}

/// A collection changed while it was enumerated.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn objc_enumerationMutation(object: Id) {
    crate::report::raise(format!("{} was changed while it was enumerated", class::name_of(object)));
}

static MONITOR: parking_lot::ReentrantMutex<()> = parking_lot::ReentrantMutex::new(());

/// `@synchronized` begins; one lock serves all objects.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn objc_sync_enter(_object: Id) -> c_int {
    std::mem::forget(MONITOR.lock());
    0
}

/// `@synchronized` ends.
///
/// # Safety
/// This thread has entered.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_sync_exit(_object: Id) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { MONITOR.force_unlock() };
    0
}

/// # Safety
/// `place` is an instance variable of `object`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_getProperty(object: Id, _: Sel, offset: isize, _atomic: Bool) -> Id {
    // SAFETY: the caller's promise.
    let value = unsafe { object.0.byte_offset(offset).cast::<Id>().read() };
    pool::add(object::retain(value))
}

/// # Safety
/// `offset` is that of an instance variable of `object`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_setProperty_atomic(object: Id, _: Sel, value: Id, offset: isize) {
    // SAFETY: the caller's promise.
    unsafe { objc_storeStrong(object.0.byte_offset(offset).cast(), value) };
}

/// # Safety
/// As for `objc_setProperty_atomic`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_setProperty_nonatomic(
    object: Id,
    selector: Sel,
    value: Id,
    offset: isize,
) {
    // SAFETY: the caller's promise.
    unsafe { objc_setProperty_atomic(object, selector, value, offset) };
}

/// How many arguments a method takes, receiver and selector included.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn method_getNumberOfArguments(method: &'static Method) -> c_uint {
    2 + selector::text(method.selector).matches(':').count() as c_uint
}
