//! `NSLock` and `NSAutoreleasePool`.

use crate::abi::{Bool, Id, methods};
use crate::objc::{object, pool};
use crate::report::raise;
use parking_lot::lock_api::RawMutex as _;
use std::sync::atomic::{AtomicUsize, Ordering};

struct NsLock(parking_lot::RawMutex);

methods! { pub LOCK;
    "init" (this) -> Id { object::fill(this, NsLock(parking_lot::RawMutex::INIT)) }
    "lock" (this) { this.expect::<NsLock>("the lock").0.lock(); }
    "tryLock" (this) -> Bool { this.expect::<NsLock>("the lock").0.try_lock().into() }
    "unlock" (this) {
        let lock = this.expect::<NsLock>("the lock");
        if !lock.0.is_locked() {
            raise("the lock is not locked");
        }
        // SAFETY: it is locked; that it is by this thread is the caller's contract, as on Apple's systems.
        unsafe { lock.0.unlock() };
    }
    "setName:" (this, _name: Id) { }
}

struct NsPool(AtomicUsize);

fn drain(this: Id) {
    let mark = this.expect::<NsPool>("the pool").0.swap(0, Ordering::Relaxed);
    pool::objc_autoreleasePoolPop(std::ptr::without_provenance_mut(mark));
}

methods! { pub POOL;
    "init" (this) -> Id { object::fill(this, NsPool(AtomicUsize::new(pool::objc_autoreleasePoolPush().addr()))) }
    "drain" (this) { drain(this); object::release(this); }
    "addObject:" (this, item: Id) { pool::add(item); }
    "dealloc" (this) { drain(this); object::free(this); }
}

methods! { pub POOL_CLASS;
    "addObject:" (this, item: Id) { pool::add(item); }
    "showPools" (this) { }
}
