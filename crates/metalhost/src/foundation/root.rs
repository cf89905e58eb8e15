//! `NSObject`.

use super::string;
use crate::abi::{Bool, Id, Sel, methods};
use crate::objc::class::{self, Class};
use crate::objc::object::{self, Strong};
use crate::objc::{message, pool, selector};
use std::ffi::c_void;

methods! { pub ROOT;
    "init" (this) -> Id { this }
    "dealloc" (this) { object::free(this); }
    "retain" (this) -> Id { object::retain(this) }
    "release" (this) { object::release(this); }
    "autorelease" (this) -> Id { pool::add(this) }
    "retainCount" (this) -> usize { object::count(this) }
    "self" (this) -> Id { this }
    "copy" (this) -> Id { object::retain(this) }
    "copyWithZone:" (this, _zone: *mut c_void) -> Id { object::retain(this) }
    "class" (this) -> &'static Class { class::of(this) }
    "superclass" (this) -> Id {
        class::superclass(class::of(this)).map_or(Id::NIL, |c| Id(std::ptr::from_ref(c).cast_mut().cast()))
    }
    "hash" (this) -> usize { this.0.addr() }
    "isEqual:" (this, other: Id) -> Bool { (this == other).into() }
    "isKindOfClass:" (this, kind: Id) -> Bool {
        // SAFETY: the argument is a class by its type.
        (!kind.is_nil() && class::is_kind(class::of(this), unsafe { &*kind.0.cast::<Class>() })).into()
    }
    "isMemberOfClass:" (this, kind: Id) -> Bool { (std::ptr::from_ref(class::of(this)).addr() == kind.0.addr()).into() }
    "respondsToSelector:" (this, name: Sel) -> Bool { class::find_method(class::of(this), name).is_some().into() }
    "conformsToProtocol:" (this, protocol: Id) -> Bool {
        class::conforms(class::of(this), &selector::text(Sel(protocol.0.cast_const().cast()))).into()
    }
    "performSelector:" (this, name: Sel) -> Id {
        // SAFETY: the caller chose a method without arguments that gives an object.
        unsafe { message::send(this, name) }
    }
    "description" (this) -> Id { string::make(format!("<{}: {:p}>", class::name_of(this), this.0)).autoreleased() }
    "debugDescription" (this) -> Id { string::make(format!("<{}: {:p}>", class::name_of(this), this.0)).autoreleased() }
}

methods! { pub ROOT_CLASS;
    "alloc" (this) -> Id {
        // SAFETY: the receiver is a class.
        object::make(unsafe { &*this.0.cast::<Class>() }, None)
    }
    "allocWithZone:" (this, _zone: *mut c_void) -> Id {
        // SAFETY: the receiver is a class.
        object::make(unsafe { &*this.0.cast::<Class>() }, None)
    }
    "new" (this) -> Id {
        // SAFETY: the receiver is a class, and `init` takes nothing and gives an object.
        unsafe {
            let made = object::make(&*this.0.cast::<Class>(), None);
            message::send(made, selector::register(b"init"))
        }
    }
    "class" (this) -> Id { this }
    "initialize" (this) { }
    "load" (this) { }
    "instancesRespondToSelector:" (this, name: Sel) -> Bool {
        // SAFETY: the receiver is a class.
        class::find_method(unsafe { &*this.0.cast::<Class>() }, name).is_some().into()
    }
    "conformsToProtocol:" (this, protocol: Id) -> Bool {
        // SAFETY: the receiver is a class.
        let own = unsafe { &*this.0.cast::<Class>() };
        class::conforms(own, &selector::text(Sel(protocol.0.cast_const().cast()))).into()
    }
}

/// Whether two objects are equal by their own word.
pub fn equal(a: Id, b: Id) -> bool {
    if a == b {
        return true;
    }
    match (string::text(a), string::text(b)) {
        (Some(a), Some(b)) => a == b,
        _ => super::number::equal(a, b),
    }
}

/// The text that describes an object.
pub fn description(object: Id) -> String {
    if object.is_nil() {
        return "(null)".into();
    }
    pool::with_pool(|| {
        // SAFETY: `description` takes nothing and gives a string, which the pool frees after it was read.
        let text = unsafe { message::send::<Id>(object, selector::register(b"description")) };
        string::text(text).unwrap_or_default()
    })
}

/// An object of a class without content of its own.
pub fn plain(class: &'static Class) -> Strong {
    Strong::new(class, ())
}
