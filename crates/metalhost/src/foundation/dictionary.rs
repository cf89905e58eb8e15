//! `NSDictionary` and `NSMutableDictionary`: ordered pairs with linear search, for the few macros and options of a
//! Metal program.

use super::{NSDICTIONARY, array, root};
use crate::abi::{Id, methods};
use crate::objc::object::{self, Strong};
use crate::report::raise;
use parking_lot::RwLock;
use std::ffi::c_void;

type Pairs = Vec<(Strong, Strong)>;

/// What a dictionary holds.
#[derive(Debug, Default)]
pub struct NsDictionary(RwLock<Pairs>);

/// A new dictionary.
pub fn make(pairs: Pairs) -> Strong {
    Strong::new(&NSDICTIONARY, NsDictionary(RwLock::new(pairs)))
}

/// The pairs of a dictionary; none of nil.
pub fn pairs(dictionary: Id) -> Pairs {
    if dictionary.is_nil() {
        return Vec::new();
    }
    dictionary.expect::<NsDictionary>("the dictionary").0.read().clone()
}

fn find(this: Id, key: Id) -> Id {
    let pairs = this.expect::<NsDictionary>("the dictionary").0.read();
    pairs.iter().find(|(k, _)| root::equal(k.id(), key)).map_or(Id::NIL, |(_, v)| v.id())
}

fn from_c(objects: *const Id, keys: *const Id, count: usize) -> NsDictionary {
    let out = NsDictionary::default();
    for i in 0..count {
        // SAFETY: the sender gave so many objects and keys.
        unsafe { put(&out, *objects.add(i), *keys.add(i)) };
    }
    out
}

fn put(to: &NsDictionary, value: Id, key: Id) {
    if value.is_nil() || key.is_nil() {
        raise("neither key nor object may be nil");
    }
    let mut pairs = to.0.write();
    pairs.retain(|(k, _)| !root::equal(k.id(), key));
    pairs.push((Strong::of(key), Strong::of(value)));
}

fn class_new(class: Id, content: NsDictionary) -> Id {
    // SAFETY: the receiver of a class method is a class.
    let class = unsafe { &*class.0.cast::<crate::objc::class::Class>() };
    Strong::new(class, content).autoreleased()
}

methods! { pub DICTIONARY;
    "init" (this) -> Id { object::fill(this, NsDictionary::default()) }
    "initWithObjects:forKeys:count:" (this, objects: *const Id, keys: *const Id, count: usize) -> Id {
        object::fill(this, from_c(objects, keys, count))
    }
    "count" (this) -> usize { pairs(this).len() }
    "objectForKey:" (this, key: Id) -> Id { find(this, key) }
    "objectForKeyedSubscript:" (this, key: Id) -> Id { find(this, key) }
    "allKeys" (this) -> Id { array::make(pairs(this).into_iter().map(|(k, _)| k).collect()).autoreleased() }
    "allValues" (this) -> Id { array::make(pairs(this).into_iter().map(|(_, v)| v).collect()).autoreleased() }
    "countByEnumeratingWithState:objects:count:" (this, state: *mut c_void, room: *mut c_void, length: usize) -> usize {
        let keys: Vec<Strong> = pairs(this).into_iter().map(|(k, _)| k).collect();
        array::enumerate(&keys, state, room, length)
    }
    "copy" (this) -> Id { make(pairs(this)).into_owned() }
}

methods! { pub DICTIONARY_CLASS;
    "dictionary" (this) -> Id { class_new(this, NsDictionary::default()) }
    "dictionaryWithCapacity:" (this, _capacity: usize) -> Id { class_new(this, NsDictionary::default()) }
    "dictionaryWithObjects:forKeys:count:" (this, objects: *const Id, keys: *const Id, count: usize) -> Id {
        class_new(this, from_c(objects, keys, count))
    }
    "dictionaryWithObject:forKey:" (this, value: Id, key: Id) -> Id {
        class_new(this, from_c(&raw const value, &raw const key, 1))
    }
}

methods! { pub MUTABLE;
    "initWithCapacity:" (this, _capacity: usize) -> Id { object::fill(this, NsDictionary::default()) }
    "setObject:forKey:" (this, value: Id, key: Id) { put(this.expect::<NsDictionary>("the dictionary"), value, key); }
    "setObject:forKeyedSubscript:" (this, value: Id, key: Id) { put(this.expect::<NsDictionary>("the dictionary"), value, key); }
    "removeObjectForKey:" (this, key: Id) {
        this.expect::<NsDictionary>("the dictionary").0.write().retain(|(k, _)| !root::equal(k.id(), key));
    }
    "removeAllObjects" (this) { this.expect::<NsDictionary>("the dictionary").0.write().clear(); }
}
