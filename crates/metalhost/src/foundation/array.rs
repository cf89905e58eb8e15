//! `NSArray`, `NSMutableArray`, `NSSet` and `NSMutableSet`.

use super::{NSARRAY, root};
use crate::abi::{Bool, Id, NSRange, Out, methods};
use crate::objc::object::{self, Strong};
use crate::report::raise;
use parking_lot::RwLock;
use std::ffi::{c_ulong, c_void};

/// What an array holds.
#[derive(Debug, Default)]
pub struct NsArray(RwLock<Vec<Strong>>);

/// A new array.
pub fn make(items: Vec<Strong>) -> Strong {
    Strong::new(&NSARRAY, NsArray(RwLock::new(items)))
}

/// The items of an array; none of nil.
pub fn items(array: Id) -> Vec<Strong> {
    if array.is_nil() {
        return Vec::new();
    }
    array.expect::<NsArray>("the array").0.read().clone()
}

fn from_c(start: *const Id, count: usize) -> Vec<Strong> {
    (0..count)
        .map(|i| {
            // SAFETY: the sender gave so many objects.
            let item = unsafe { *start.add(i) };
            if item.is_nil() {
                raise(format!("object {i} must not be nil"));
            }
            Strong::of(item)
        })
        .collect()
}

/// The state of `for … in`, as compilers lay it out.
#[repr(C)]
struct Enumeration {
    state: c_ulong,
    items: *mut Id,
    mutations: *const c_ulong,
    extra: [c_ulong; 5],
}

/// The next objects of `for … in`.
pub fn enumerate(items: &[Strong], state: *mut c_void, room: *mut c_void, length: usize) -> usize {
    // SAFETY: the sender gave a state, and room for so many objects.
    unsafe {
        let state = &mut *state.cast::<Enumeration>();
        let start = state.state as usize;
        let count = items.len().saturating_sub(start).min(length);
        for i in 0..count {
            room.cast::<Id>().add(i).write(items[start + i].id());
        }
        state.items = room.cast();
        // Nobody changes this word: changes are not seen, as arrays that change are copied first.
        state.mutations = &raw const state.extra[0];
        state.state = (start + count) as c_ulong;
        count
    }
}

fn own(this: Id) -> &'static NsArray {
    this.expect::<NsArray>("the array")
}

fn at(this: Id, index: usize) -> Id {
    let items = own(this).0.read();
    items
        .get(index)
        .map_or_else(|| raise(format!("index {index} is beyond the {} objects", items.len())), Strong::id)
}

methods! { pub ARRAY;
    "init" (this) -> Id { object::fill(this, NsArray::default()) }
    "initWithObjects:count:" (this, start: *const Id, count: usize) -> Id {
        object::fill(this, NsArray(RwLock::new(from_c(start, count))))
    }
    "initWithArray:" (this, other: Id) -> Id { object::fill(this, NsArray(RwLock::new(items(other)))) }
    "count" (this) -> usize { own(this).0.read().len() }
    "objectAtIndex:" (this, index: usize) -> Id { at(this, index) }
    "objectAtIndexedSubscript:" (this, index: usize) -> Id { at(this, index) }
    "firstObject" (this) -> Id { own(this).0.read().first().map_or(Id::NIL, Strong::id) }
    "lastObject" (this) -> Id { own(this).0.read().last().map_or(Id::NIL, Strong::id) }
    "getObjects:" (this, into: Out) {
        for (i, item) in own(this).0.read().iter().enumerate() {
            // SAFETY: the sender gave room for all objects.
            unsafe { into.0.add(i).write(item.id()) };
        }
    }
    "getObjects:range:" (this, into: Out, range: NSRange) {
        for i in 0..range.length {
            // SAFETY: the sender gave room for so many objects.
            unsafe { into.0.add(i).write(at(this, range.location + i)) };
        }
    }
    "containsObject:" (this, item: Id) -> Bool { own(this).0.read().iter().any(|i| root::equal(i.id(), item)).into() }
    "countByEnumeratingWithState:objects:count:" (this, state: *mut c_void, room: *mut c_void, length: usize) -> usize {
        enumerate(&own(this).0.read(), state, room, length)
    }
    "copy" (this) -> Id { make(items(this)).into_owned() }
    "mutableCopy" (this) -> Id {
        Strong::new(&super::NSMUTABLE_ARRAY, NsArray(RwLock::new(items(this)))).into_owned()
    }
    "description" (this) -> Id {
        let list: Vec<String> = items(this).iter().map(|i| root::description(i.id())).collect();
        super::string::make(format!("({})", list.join(", "))).autoreleased()
    }
}

methods! { pub ARRAY_CLASS;
    "array" (this) -> Id { class_new(this, Vec::new()) }
    "arrayWithObject:" (this, item: Id) -> Id { class_new(this, from_c(&raw const item, 1)) }
    "arrayWithObjects:count:" (this, start: *const Id, count: usize) -> Id { class_new(this, from_c(start, count)) }
    "arrayWithArray:" (this, other: Id) -> Id { class_new(this, items(other)) }
    "arrayWithCapacity:" (this, _capacity: usize) -> Id { class_new(this, Vec::new()) }
}

fn class_new(class: Id, items: Vec<Strong>) -> Id {
    // SAFETY: the receiver of a class method is a class.
    let class = unsafe { &*class.0.cast::<crate::objc::class::Class>() };
    Strong::new(class, NsArray(RwLock::new(items))).autoreleased()
}

methods! { pub MUTABLE;
    "initWithCapacity:" (this, _capacity: usize) -> Id { object::fill(this, NsArray::default()) }
    "addObject:" (this, item: Id) { own(this).0.write().extend(from_c(&raw const item, 1)); }
    "addObjectsFromArray:" (this, other: Id) { own(this).0.write().extend(items(other)); }
    "insertObject:atIndex:" (this, item: Id, index: usize) {
        let mut list = own(this).0.write();
        if index > list.len() {
            raise(format!("index {index} is beyond the {} objects", list.len()));
        }
        list.splice(index..index, from_c(&raw const item, 1));
    }
    "removeObjectAtIndex:" (this, index: usize) {
        let mut list = own(this).0.write();
        if index >= list.len() {
            raise(format!("index {index} is beyond the {} objects", list.len()));
        }
        list.remove(index);
    }
    "removeObject:" (this, item: Id) { own(this).0.write().retain(|i| !root::equal(i.id(), item)); }
    "removeLastObject" (this) { own(this).0.write().pop(); }
    "removeAllObjects" (this) { own(this).0.write().clear(); }
    "setObject:atIndexedSubscript:" (this, item: Id, index: usize) {
        let mut list = own(this).0.write();
        if index > list.len() {
            raise(format!("index {index} is beyond the {} objects", list.len()));
        }
        let end = (index + 1).min(list.len());
        list.splice(index..end, from_c(&raw const item, 1));
    }
}

methods! { pub SET;
    "allObjects" (this) -> Id { make(items(this)).autoreleased() }
    "anyObject" (this) -> Id { own(this).0.read().first().map_or(Id::NIL, Strong::id) }
}

methods! { pub SET_CLASS;
    "set" (this) -> Id { class_new(this, Vec::new()) }
    "setWithObject:" (this, item: Id) -> Id { class_new(this, from_c(&raw const item, 1)) }
    "setWithArray:" (this, other: Id) -> Id {
        let mut once: Vec<Strong> = Vec::new();
        for item in items(other) {
            if !once.iter().any(|i| root::equal(i.id(), item.id())) {
                once.push(item);
            }
        }
        class_new(this, once)
    }
}

methods! { pub MUTABLE_SET;
    "addObject:" (this, item: Id) {
        let mut list = own(this).0.write();
        if !list.iter().any(|i| root::equal(i.id(), item)) {
            list.extend(from_c(&raw const item, 1));
        }
    }
    "removeObject:" (this, item: Id) { own(this).0.write().retain(|i| !root::equal(i.id(), item)); }
    "removeAllObjects" (this) { own(this).0.write().clear(); }
}
