//! The part of Grand Central Dispatch that Metal programs use: queues, groups, semaphores, `once`, `apply`.
//!
//! A serial queue runs its blocks in order on one thread at a time; a concurrent one, like every global queue, starts
//! a thread per block. Each block gets an autorelease pool, as on Apple's worker threads.
#![allow(non_upper_case_globals, reason = "the names are Apple's")]

use crate::abi::Block;
use crate::objc::block::Held;
use crate::objc::pool::with_pool;
use crate::report::raise;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::ffi::{c_char, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What a program holds a pointer to; counted by `dispatch_retain` and `dispatch_release`.
enum Object {
    Queue(Queue),
    Group(Counter),
    Semaphore(Counter),
}

struct Queue {
    serial: bool,
    line: Mutex<Line>,
    idle: Condvar,
}

/// Work that waits for its turn in a serial queue.
#[derive(Default)]
struct Line {
    busy: bool,
    waiting: VecDeque<Work>,
}

#[derive(Default)]
struct Counter {
    value: Mutex<isize>,
    changed: Condvar,
}

type Work = Box<dyn FnOnce() + Send>;
type Handle = *const c_void;

/// What marks a concurrent queue where a queue is made.
#[unsafe(no_mangle)]
pub static metalhost_dispatch_concurrent: c_char = 0;

fn new(object: Object) -> Handle {
    Arc::into_raw(Arc::new(object)).cast()
}

fn borrow(handle: Handle, call: &str) -> Arc<Object> {
    if handle.is_null() {
        raise(format!("{call}: the object must not be null"));
    }
    // SAFETY: handles come from `new`, and the program holds this one during the call.
    unsafe {
        Arc::increment_strong_count(handle.cast::<Object>());
        Arc::from_raw(handle.cast::<Object>())
    }
}

fn work(block: Block, call: &str) -> Work {
    let held = Held::new(block).unwrap_or_else(|| raise(format!("{call}: the block must not be null")));
    Box::new(move || {
        with_pool(|| {
            // SAFETY: the functions that take work take blocks without arguments.
            unsafe { held.call0() }
        });
    })
}

fn queue_of<'a>(object: &'a Object, call: &str) -> &'a Queue {
    match object {
        Object::Queue(queue) => queue,
        Object::Group(_) | Object::Semaphore(_) => raise(format!("{call}: this is not a queue")),
    }
}

fn group_of<'a>(object: &'a Object, call: &str) -> &'a Counter {
    match object {
        Object::Group(counter) => counter,
        Object::Queue(_) | Object::Semaphore(_) => raise(format!("{call}: this is not a group")),
    }
}

fn semaphore_of<'a>(object: &'a Object, call: &str) -> &'a Counter {
    match object {
        Object::Semaphore(counter) => counter,
        Object::Queue(_) | Object::Group(_) => raise(format!("{call}: this is not a semaphore")),
    }
}

fn start(work: impl FnOnce() + Send + 'static, call: &str) {
    if let Err(e) = std::thread::Builder::new().name("dispatch".into()).spawn(work) {
        raise(format!("{call}: {e}"));
    }
}

/// Hands work to a queue.
fn enqueue(object: Arc<Object>, work: Work, call: &str) {
    let queue = queue_of(&object, call);
    if !queue.serial {
        return start(work, call);
    }
    let mut line = queue.line.lock();
    line.waiting.push_back(work);
    if !line.busy {
        line.busy = true;
        drop(line);
        let object = object.clone();
        start(move || drain(&object), call);
    }
}

/// Runs the work of a serial queue until there is none.
fn drain(object: &Object) {
    let queue = queue_of(object, "a queue's thread");
    loop {
        let next = {
            let mut line = queue.line.lock();
            let next = line.waiting.pop_front();
            if next.is_none() {
                line.busy = false;
                queue.idle.notify_all();
            }
            next
        };
        let Some(work) = next else { return };
        work();
    }
}

impl Counter {
    fn with(value: isize) -> Counter {
        Counter { value: Mutex::new(value), changed: Condvar::new() }
    }

    fn add(&self, by: isize) -> isize {
        let mut value = self.value.lock();
        *value += by;
        self.changed.notify_all();
        *value
    }

    /// Waits until `ready`; false if the time is over first.
    fn wait(&self, until: u64, ready: impl Fn(isize) -> bool, then: impl Fn(&mut isize)) -> bool {
        let mut value = self.value.lock();
        let end = deadline(until);
        while !ready(*value) {
            match end {
                None => self.changed.wait(&mut value),
                Some(end) => {
                    if self.changed.wait_until(&mut value, end).timed_out() && !ready(*value) {
                        return false;
                    }
                }
            }
        }
        then(&mut value);
        true
    }
}

/// Nanoseconds since 1970; a time of Dispatch is one of these.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as u64)
}

/// When a time of Dispatch is over; never for `DISPATCH_TIME_FOREVER`.
fn deadline(until: u64) -> Option<Instant> {
    (until != u64::MAX).then(|| Instant::now() + Duration::from_nanos(until.saturating_sub(now())))
}

/// # Safety
/// `kind` is null or the address of [`metalhost_dispatch_concurrent`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dispatch_queue_create(_label: *const c_char, kind: *const c_char) -> Handle {
    new(Object::Queue(Queue { serial: kind.is_null(), line: Mutex::default(), idle: Condvar::new() }))
}

/// A queue that is always there.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn dispatch_get_global_queue(_priority: isize, _flags: usize) -> Handle {
    struct Global(Handle);
    // SAFETY: queues are used by any thread.
    unsafe impl Send for Global {}
    // SAFETY: a queue has a lock inside, and any thread may use it.
    unsafe impl Sync for Global {}
    static GLOBAL: std::sync::OnceLock<Global> = std::sync::OnceLock::new();
    let make =
        || Global(new(Object::Queue(Queue { serial: false, line: Mutex::default(), idle: Condvar::new() })));
    GLOBAL.get_or_init(make).0
}

/// # Safety
/// A queue, and a block without arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dispatch_async(queue: Handle, block: Block) {
    enqueue(borrow(queue, "dispatch_async"), work(block, "dispatch_async"), "dispatch_async");
}

/// # Safety
/// A queue, and a block without arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dispatch_sync(queue: Handle, block: Block) {
    let object = borrow(queue, "dispatch_sync");
    let work = work(block, "dispatch_sync");
    if !queue_of(&object, "dispatch_sync").serial {
        return work();
    }
    let done = Arc::new(Counter::with(0));
    let tell = done.clone();
    let last: Work = Box::new(move || {
        work();
        tell.add(1);
    });
    enqueue(object, last, "dispatch_sync");
    done.wait(u64::MAX, |n| n > 0, |_| {});
}

/// # Safety
/// A queue or null, and a block with one number.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dispatch_apply(count: usize, _queue: Handle, block: Block) {
    let held = Held::new(block).unwrap_or_else(|| raise("dispatch_apply: the block must not be null"));
    let call = |i: usize| {
        with_pool(|| {
            // SAFETY: the block takes one number, by the function's type.
            unsafe { held.call1(i) }
        });
    };
    if count <= 1 {
        return (0..count).for_each(call);
    }
    let workers = std::thread::available_parallelism().map_or(2, |n| n.get()).clamp(2, count);
    let next = AtomicIsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed) as usize;
                    if i >= count {
                        return;
                    }
                    call(i);
                }
            });
        }
    });
}

/// A group without work.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn dispatch_group_create() -> Handle {
    new(Object::Group(Counter::default()))
}

/// # Safety
/// A group, a queue, and a block without arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dispatch_group_async(group: Handle, queue: Handle, block: Block) {
    const CALL: &str = "dispatch_group_async";
    let group = borrow(group, CALL);
    group_of(&group, CALL).add(1);
    let inner = work(block, CALL);
    let all: Work = Box::new(move || {
        inner();
        group_of(&group, CALL).add(-1);
    });
    enqueue(borrow(queue, CALL), all, CALL);
}

/// # Safety
/// A group.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dispatch_group_enter(group: Handle) {
    group_of(&borrow(group, "dispatch_group_enter"), "dispatch_group_enter").add(1);
}

/// # Safety
/// A group that was entered.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dispatch_group_leave(group: Handle) {
    if group_of(&borrow(group, "dispatch_group_leave"), "dispatch_group_leave").add(-1) < 0 {
        raise("dispatch_group_leave: the group was left more often than entered");
    }
}

/// # Safety
/// A group.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dispatch_group_wait(group: Handle, until: u64) -> isize {
    let group = borrow(group, "dispatch_group_wait");
    isize::from(!group_of(&group, "dispatch_group_wait").wait(until, |n| n <= 0, |_| {}))
}

/// A semaphore.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn dispatch_semaphore_create(value: isize) -> Handle {
    if value < 0 {
        return std::ptr::null();
    }
    new(Object::Semaphore(Counter::with(value)))
}

/// # Safety
/// A semaphore.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dispatch_semaphore_wait(semaphore: Handle, until: u64) -> isize {
    let object = borrow(semaphore, "dispatch_semaphore_wait");
    let counter = semaphore_of(&object, "dispatch_semaphore_wait");
    isize::from(!counter.wait(until, |n| n > 0, |n| *n -= 1))
}

/// # Safety
/// A semaphore.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dispatch_semaphore_signal(semaphore: Handle) -> isize {
    semaphore_of(&borrow(semaphore, "dispatch_semaphore_signal"), "dispatch_semaphore_signal").add(1);
    0
}

/// # Safety
/// `once` is a word that was zero at first and is used for this alone; a block without arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dispatch_once(once: *mut AtomicIsize, block: Block) {
    const BUSY: isize = 1;
    const DONE: isize = -1;
    // SAFETY: the caller's promise.
    let state = unsafe { &*once };
    match state.compare_exchange(0, BUSY, Ordering::Acquire, Ordering::Acquire) {
        Ok(_) => {
            work(block, "dispatch_once")();
            state.store(DONE, Ordering::Release);
        }
        Err(DONE) => {}
        Err(_) => {
            while state.load(Ordering::Acquire) != DONE {
                std::thread::yield_now();
            }
        }
    }
}

/// A time so many nanoseconds after another one, or after now.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn dispatch_time(from: u64, nanoseconds: i64) -> u64 {
    match from {
        u64::MAX => u64::MAX,
        0 => now().saturating_add_signed(nanoseconds),
        other => other.saturating_add_signed(nanoseconds),
    }
}

/// # Safety
/// An object of Dispatch.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dispatch_retain(object: Handle) {
    if !object.is_null() {
        // SAFETY: the caller's promise.
        unsafe { Arc::increment_strong_count(object.cast::<Object>()) };
    }
}

/// # Safety
/// An object of Dispatch that the caller holds.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dispatch_release(object: Handle) {
    if !object.is_null() && object != dispatch_get_global_queue(0, 0) {
        // SAFETY: the caller's promise.
        unsafe { Arc::decrement_strong_count(object.cast::<Object>()) };
    }
}
