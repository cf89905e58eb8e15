//! The runtime by itself: selectors, the class table, pools, weak references, blocks.

use super::block::Held;
use super::object::{self, Strong};
use super::{class, message, pool, selector, weak};
use crate::abi::{Block, Id};
use crate::foundation::{NSOBJECT, NSSTRING, string};
use crate::report::{Kind, take_reports};
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// Reports are the process's: one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    let guard = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    take_reports();
    guard
}

fn kinds() -> Vec<Kind> {
    take_reports().into_iter().map(|r| r.kind).collect()
}

/// An object whose end can be seen.
fn watched() -> (Strong, Arc<()>) {
    let content = Arc::new(());
    (Strong::new(&NSOBJECT, content.clone()), content)
}

#[test]
fn a_selector_is_one_address() {
    let a = selector::register(b"commandBuffer");
    assert_eq!(a, selector::register(b"commandBuffer"));
    assert_ne!(a, selector::register(b"commandBuffers"));
    assert_eq!(selector::text(a), "commandBuffer");
}

/// The number of types in an encoding such as `v@:{?=QQQ}^@`.
fn count_types(encoding: &str) -> usize {
    let (mut count, mut depth) = (0, 0);
    let mut previous = ' ';
    for c in encoding.chars() {
        match c {
            '{' => {
                count += usize::from(depth == 0 && previous != '^');
                depth += 1;
            }
            '}' => depth -= 1,
            // A pointer, and what it points to, are one type; `@?` is a block.
            '?' if previous == '@' => {}
            _ if depth == 0 && previous != '^' => count += 1,
            _ => {}
        }
        previous = c;
    }
    count
}

#[test]
fn every_method_of_the_table_has_as_many_types_as_its_selector_asks() {
    assert_eq!(count_types("v@:{?=QQQ}^@@?^{_NSRange=QQ}Q"), 8);
    for spec in crate::CLASS_TABLE.iter().flat_map(|table| table.iter()) {
        for row in spec.instance.iter().chain(spec.class_methods).flat_map(|rows| rows.iter()) {
            let arguments = row.selector.matches(':').count();
            let place = format!("{} {}", spec.name, row.selector);
            assert_eq!(row.types.len(), 1 + arguments, "{place}");
            assert_eq!(count_types(&row.types.concat()), 1 + arguments, "{place}: {:?}", row.types);
        }
    }
}

#[test]
fn classes_are_found_by_name_and_inherit() {
    assert!(class::lookup("MTLFlyingCarpet").is_none());
    for spec in crate::CLASS_TABLE.iter().flat_map(|table| table.iter()) {
        let found = class::lookup(spec.name).unwrap_or_else(|| panic!("{} is not registered", spec.name));
        assert!(std::ptr::eq(found, spec.class), "{}", spec.name);
        assert!(class::is_kind(found, &NSOBJECT), "{} is no NSObject", spec.name);
        assert!(class::find_method(found, selector::register(b"release")).is_some(), "{}", spec.name);
        assert!(class::find_method(found, selector::register(b"newFlyingCarpet")).is_none());
    }
}

#[test]
fn the_innermost_pool_lets_go_of_what_it_was_given() {
    let _alone = alone();
    let ((outer, seen_outer), (inner, seen_inner)) = (watched(), watched());
    pool::with_pool(|| {
        outer.autoreleased();
        pool::with_pool(|| {
            inner.autoreleased();
            assert_eq!(Arc::strong_count(&seen_inner), 2);
        });
        assert_eq!((Arc::strong_count(&seen_outer), Arc::strong_count(&seen_inner)), (2, 1));
    });
    assert_eq!(Arc::strong_count(&seen_outer), 1);
    assert_eq!(kinds(), []);
}

#[test]
fn without_a_pool_an_object_lives_as_long_as_its_thread() {
    let _alone = alone();
    let (object, seen) = watched();
    let other = seen.clone();
    let thread = std::thread::spawn(move || {
        object.autoreleased();
        assert_eq!(Arc::strong_count(&other), 3);
    });
    thread.join().expect("the thread");
    assert_eq!(Arc::strong_count(&seen), 1);
    assert_eq!(kinds(), [Kind::NoPool]);
}

#[test]
fn an_object_that_is_gone_answers_nil_and_is_reported() {
    let _alone = alone();
    let (object, seen) = watched();
    let id = object.into_owned();
    object::release(id);
    assert_eq!(Arc::strong_count(&seen), 1);
    assert!(object::is_gone(id));
    message::objc_msg_lookup(id, selector::register(b"description"));
    object::retain(id);
    assert_eq!(kinds(), [Kind::UseAfterRelease, Kind::UseAfterRelease]);
}

#[test]
fn weak_references_become_nil() {
    let _alone = alone();
    let (object, _seen) = watched();
    let mut place = Id::NIL;
    // SAFETY: the place lives until `objc_destroyWeak`.
    unsafe {
        weak::objc_initWeak(&raw mut place, object.id());
        let held = weak::objc_loadWeakRetained(&raw mut place);
        assert_eq!((held, object::count(held)), (object.id(), 2));
        object::release(held);
        drop(object);
        assert_eq!(weak::objc_loadWeakRetained(&raw mut place), Id::NIL);
        weak::objc_destroyWeak(&raw mut place);
    }
    assert_eq!(kinds(), []);
}

#[test]
fn live_objects_are_counted_by_class() {
    let _alone = alone();
    let count = || class::live().into_iter().find(|(name, _)| name == "NSString").map_or(0, |(_, n)| n);
    let before = count();
    let text = string::make("metal");
    assert_eq!(count(), before + 1);
    assert_eq!(class::name_of(text.id()), "NSString");
    assert!(std::ptr::eq(class::of(text.id()), &raw const NSSTRING));
    drop(text);
    assert_eq!(count(), before);
}

/// A block without captures on the stack, as compilers lay it out.
#[repr(C)]
struct Plain {
    isa: *const c_void,
    flags: i32,
    reserved: i32,
    invoke: extern "C-unwind" fn(*mut c_void, usize),
    descriptor: *const [usize; 2],
    captured: *const AtomicUsize,
}

extern "C-unwind" fn add(block: *mut c_void, n: usize) {
    // SAFETY: the block is one of `Plain`, and its counter outlives it.
    unsafe { &*(*block.cast::<Plain>()).captured }.fetch_add(n, Ordering::Relaxed);
}

#[test]
fn a_block_on_the_stack_moves_to_the_heap_with_what_it_captured() {
    let sum = AtomicUsize::new(0);
    let descriptor = [0, size_of::<Plain>()];
    let mut block = Plain {
        isa: std::ptr::null(),
        flags: 0,
        reserved: 0,
        invoke: add,
        descriptor: &raw const descriptor,
        captured: &raw const sum,
    };
    let held = Held::new(Block((&raw mut block).cast())).expect("a block");
    // SAFETY: the original goes, as a frame does; the block on the heap takes a number.
    unsafe {
        (&raw mut block.captured).write_volatile(std::ptr::null());
        held.call1(3_usize);
        held.call1(4_usize);
    }
    assert_eq!(sum.load(Ordering::Relaxed), 7);
    assert!(Held::new(Block(std::ptr::null_mut())).is_none());
}
