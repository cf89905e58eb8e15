//! Compiled Objective-C: makes its selectors unique, and registers its classes and categories.
//!
//! clang for Apple's runtime puts references into sections that an ELF linker bounds by `__start_…` and `__stop_…`. A small object in each
//! program (`metal-on-linux/image.c`) passes those bounds here before `main`.

#![allow(non_upper_case_globals, reason = "the names are Objective-C's")]

use super::class::{self, Class, ClassData, Memory};
use super::selector;
use crate::abi::Sel;
use parking_lot::RwLock;
use std::ffi::{CStr, CString, c_char};
use std::sync::atomic::{AtomicIsize, Ordering};

/// A compiler's record of a class.
#[repr(C)]
struct Record {
    flags: u32,
    instance_start: u32,
    instance_size: u32,
    reserved: u32,
    ivar_layout: *const u8,
    name: *const c_char,
    methods: *const MethodList,
    protocols: *const u8,
    ivars: *const u8,
    weak_layout: *const u8,
    properties: *const u8,
}

#[repr(C)]
struct MethodList {
    entry_size: u32,
    count: u32,
}

#[repr(C)]
struct MethodEntry {
    name: *const c_char,
    types: *const c_char,
    imp: *mut (),
}

#[repr(C)]
struct Category {
    name: *const c_char,
    class: *const Class,
    instance: *const MethodList,
    class_methods: *const MethodList,
}

/// What compiled classes point to before they are used.
#[unsafe(no_mangle)]
static _objc_empty_cache: usize = 0;

/// The unwinder asks it about frames of Objective-C: none of them catches anything, since exceptions end the process.
#[unsafe(no_mangle)]
extern "C" fn __objc_personality_v0() -> std::ffi::c_int {
    const CONTINUE_UNWIND: std::ffi::c_int = 8;
    CONTINUE_UNWIND
}

/// The bounds of an image's sections; a section that is not there has equal bounds.
#[repr(C)]
#[derive(Debug)]
pub struct Bounds {
    selectors: [*mut *const c_char; 2],
    classes: [*const *const Class; 2],
    categories: [*const usize; 2],
}

/// Registers an image.
///
/// # Safety
/// The bounds are those of sections that clang emitted, in memory that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn metalhost_register_image(bounds: &Bounds) {
    class::ready();
    // SAFETY: the caller's promise, for every step below.
    unsafe {
        let [mut at, end] = bounds.selectors;
        while at < end {
            at.write(selector::register(CStr::from_ptr(*at).to_bytes()).0);
            at = at.add(1);
        }
        let [start, end] = bounds.classes;
        let count = end.offset_from(start).max(0) as usize;
        let mut waiting: Vec<&'static Class> = (0..count).map(|i| &**start.add(i)).collect();
        // A class is registered after the one that it extends, whatever the order in the image.
        while !waiting.is_empty() {
            let before = waiting.len();
            waiting.retain(|class| !register_class(class));
            if waiting.len() == before {
                crate::report::raise("a compiled class extends a class that is not there");
            }
        }
        let [mut at, end] = bounds.categories;
        while at < end {
            let category = &*((*at) as *const Category);
            let class = &*category.class;
            add_methods(class, category.instance);
            add_methods(&*class.isa.load(Ordering::Acquire), category.class_methods);
            at = at.add(1);
        }
    }
}

/// # Safety
/// The class is as a compiler emits it: it and its metaclass have records.
unsafe fn register_class(class: &'static Class) -> bool {
    // SAFETY: the class is a compiler's: both it and its metaclass have records.
    unsafe {
        let record = &*class.data.load(Ordering::Acquire).cast::<Record>();
        let meta = &*class.isa.load(Ordering::Acquire);
        let meta_record = &*meta.data.load(Ordering::Acquire).cast::<Record>();
        let above = class::superclass(class);
        let name = CStr::from_ptr(record.name).to_owned();
        if let Some(above) = above {
            let known = above.data.load(Ordering::Acquire);
            if known.is_null() || class::lookup(&class_name(above)).is_none() {
                return false;
            }
        }
        let inherited = above.map_or(0, |c| class::data(c).instance_size);
        if (record.instance_start as usize) < inherited {
            crate::report::raise(format!(
                "the variables of class {} start at byte {}, inside of its superclass, which has {inherited} bytes; a declaration \
                 of NSObject needs its `Class isa`",
                name.to_string_lossy(),
                record.instance_start
            ));
        }
        let own = data(name.clone(), false, record.instance_size as usize);
        class::install(class, meta, above, own, data(name, true, size_of::<Class>()));
        add_methods(class, record.methods);
        add_methods(meta, meta_record.methods);
        true
    }
}

/// The name of a class that may still wait for its registration: such a class is not known by name.
fn class_name(class: &'static Class) -> String {
    // SAFETY: a framework class has our record, a waiting one a compiler's, whose first word is no pointer; only classes whose
    // metaclass is its own class are ours.
    unsafe {
        let meta = &*class.isa.load(Ordering::Acquire);
        let is_ours = std::ptr::eq(meta.isa.load(Ordering::Acquire), meta);
        if is_ours { class::data(class).name.to_string_lossy().into_owned() } else { String::new() }
    }
}

fn data(name: CString, is_meta: bool, instance_size: usize) -> ClassData {
    let memory = if is_meta { Memory::Static } else { Memory::Counted };
    ClassData::new(name, is_meta, memory, instance_size, RwLock::default(), AtomicIsize::new(0))
}

/// # Safety
/// The list is null, or as a compiler emits it, in memory that stays.
unsafe fn add_methods(class: &'static Class, list: *const MethodList) {
    if list.is_null() {
        return;
    }
    // SAFETY: the list is a compiler's: so many entries follow its two words.
    unsafe {
        let first = list.add(1).cast::<MethodEntry>();
        for i in 0..(*list).count as usize {
            let entry = &*first.add(i);
            let name: Sel = selector::register(CStr::from_ptr(entry.name).to_bytes());
            class::add_method(class, name, CStr::from_ptr(entry.types).to_bytes(), entry.imp);
        }
    }
}

/// Adds a method that only a C compiler can make: one with a variable number of arguments.
///
/// # Safety
/// C strings, and a function that fits the types.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn metalhost_add_method(
    name: *const c_char,
    selector: *const c_char,
    types: *const c_char,
    on_class: bool,
    imp: *mut (),
) {
    // SAFETY: the caller's promise.
    let (name, selector, types) =
        unsafe { (CStr::from_ptr(name), CStr::from_ptr(selector), CStr::from_ptr(types)) };
    let Some(class) = class::lookup(&name.to_string_lossy()) else {
        crate::report::raise(format!("there is no class {}", name.to_string_lossy()));
    };
    let to = if on_class {
        // SAFETY: metaclasses live as long as the process.
        unsafe { &*class.isa.load(Ordering::Acquire) }
    } else {
        class
    };
    class::add_method(to, selector::register(selector.to_bytes()), types.to_bytes(), imp);
}

/// An object's description, for `%@`; to be freed by `free`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn metalhost_describe(object: crate::abi::Id) -> *mut c_char {
    let text = crate::foundation::root::description(object).replace('\0', "");
    let text = CString::new(text).unwrap_or_default();
    // SAFETY: the text is a C string, of which `strdup` makes a copy that C may free.
    unsafe { libc::strdup(text.as_ptr()) }
}
