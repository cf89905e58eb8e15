//! Autorelease pools: one stack of objects per thread, with marks.
//!
//! Without a pool an object lives until its thread ends, which is reported: on Apple's systems it is a leak.

use super::{class, object};
use crate::abi::Id;
use crate::report::{Kind, report};
use std::cell::RefCell;
use std::ffi::c_void;

#[derive(Default)]
struct Pools {
    objects: Vec<Id>,
    /// Where each pool starts in the list.
    marks: Vec<usize>,
}

impl Drop for Pools {
    fn drop(&mut self) {
        for id in std::mem::take(&mut self.objects).into_iter().rev() {
            object::release(id);
        }
    }
}

thread_local! {
    static POOLS: RefCell<Pools> = RefCell::default();
}

/// Gives an object up with the innermost pool.
pub fn add(id: Id) -> Id {
    if id.is_nil() {
        return id;
    }
    let without = POOLS.try_with(|pools| {
        let mut pools = pools.borrow_mut();
        pools.objects.push(id);
        pools.marks.is_empty()
    });
    match without {
        Ok(true) => report(
            Kind::NoPool,
            format!(
                "an object of class {} was autoreleased without a pool: it lives as long as the thread",
                class::name_of(id)
            ),
        ),
        Ok(false) => {}
        // The thread is ending and has no pools any more.
        Err(_) => object::release(id),
    }
    id
}

/// Opens a pool.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn objc_autoreleasePoolPush() -> *mut c_void {
    let depth = POOLS.try_with(|pools| {
        let mut pools = pools.borrow_mut();
        let start = pools.objects.len();
        pools.marks.push(start);
        pools.marks.len()
    });
    std::ptr::without_provenance_mut(depth.unwrap_or(0))
}

/// Closes a pool and those inside of it.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn objc_autoreleasePoolPop(pool: *mut c_void) {
    let depth = pool.addr();
    loop {
        // One by one and outside of the borrow: a release may run code that autoreleases.
        let next = POOLS.try_with(|pools| {
            let mut pools = pools.borrow_mut();
            if depth == 0 || pools.marks.len() < depth {
                return None;
            }
            let start = pools.marks[depth - 1];
            if pools.objects.len() > start {
                pools.objects.pop()
            } else {
                pools.marks.truncate(depth - 1);
                None
            }
        });
        match next {
            Ok(Some(id)) => object::release(id),
            _ => return,
        }
    }
}

/// Runs with a pool of its own.
pub fn with_pool<T>(work: impl FnOnce() -> T) -> T {
    struct Pop(*mut c_void);
    impl Drop for Pop {
        fn drop(&mut self) {
            objc_autoreleasePoolPop(self.0);
        }
    }
    let _pool = Pop(objc_autoreleasePoolPush());
    work()
}
