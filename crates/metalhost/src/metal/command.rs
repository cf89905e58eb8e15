//! Command buffers.

use super::event::Event;
use super::hazard::{Before, Pass};
use super::options::{self, Fault};
use super::queue::{Queue, QueueSlot};
use super::{COMMAND_BUFFER, blit, compute, descriptor, residency};
use crate::abi::{Block, Id, methods};
use crate::foundation::{array, error};
use crate::objc::block::Held;
use crate::objc::object::Strong;
use crate::objc::pool;
use crate::report::{Kind, raise, report};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Numbers of `MTLCommandBufferStatus`.
const NOT_ENQUEUED: usize = 0;
const ENQUEUED: usize = 1;
const COMMITTED: usize = 2;
const SCHEDULED: usize = 3;
const COMPLETED: usize = 4;
const ERROR: usize = 5;

/// What a command buffer holds.
#[derive(Debug)]
pub struct Command {
    /// The command buffer under Metal.
    pub soft: Arc<softmetal::CommandBuffer>,
    /// Whether it keeps what it uses.
    pub retained: bool,
    /// Set at its end, before anyone hears of it.
    pub done: Arc<AtomicBool>,
    queue: Strong,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    status: usize,
    error: Option<Strong>,
    scheduled: Vec<Held>,
    completed: Vec<Held>,
    /// What its commands use.
    kept: Vec<Strong>,
    /// Buffers that its commands use.
    used: Vec<Id>,
    /// Whether an encoder has not ended.
    open: bool,
    groups: usize,
    /// Encoders so far, with what is before them.
    after: Before,
    /// What is before the next encoder.
    before: Before,
    signals: Vec<(Strong, u64)>,
    place: Option<QueueSlot>,
    /// All handlers have run.
    told: bool,
}

/// A new command buffer of a queue.
pub fn make(queue: Id, retained: bool, place: QueueSlot) -> Strong {
    let own = queue.expect::<Queue>("the queue");
    let soft = if retained { own.soft.command_buffer() } else { own.soft.command_buffer_unretained() };
    let state = State {
        status: NOT_ENQUEUED,
        error: None,
        scheduled: Vec::new(),
        completed: Vec::new(),
        kept: Vec::new(),
        used: Vec::new(),
        open: false,
        groups: 0,
        after: Before::default(),
        before: Before::default(),
        signals: Vec::new(),
        place: Some(place),
        told: false,
    };
    let content = Command {
        soft: Arc::new(soft),
        retained,
        done: Arc::default(),
        queue: Strong::of(queue),
        state: Mutex::new(state),
        changed: Condvar::new(),
    };
    Strong::new(&COMMAND_BUFFER, content)
}

impl Command {
    /// What tells it from others in its queue.
    fn key(&self) -> usize {
        Arc::as_ptr(&self.done).addr()
    }

    /// The device.
    pub fn device(&self) -> Id {
        self.queue.expect_queue().device.id()
    }

    /// Keeps an object until the end, if the command buffer keeps what it uses.
    pub fn keep(&self, object: Id) {
        if self.retained {
            let mut state = self.state.lock();
            if state.kept.last().is_none_or(|last| last.id() != object) {
                state.kept.push(Strong::of(object));
            }
        }
    }

    /// A command uses a buffer; `commit` holds it against the sets of the queue.
    pub fn uses(&self, buffer: Id) {
        let mut state = self.state.lock();
        if !state.used.contains(&buffer) {
            state.used.push(buffer);
        }
    }

    /// Opens an encoder; gives its place in the order of things.
    pub fn open(&self) -> Option<(Pass, Before)> {
        if options::take_fault(|f| *f == Fault::NoEncoder).is_some() {
            return None;
        }
        let mut state = self.state.lock();
        if state.status >= COMMITTED {
            raise("the command buffer is committed");
        }
        if std::mem::replace(&mut state.open, true) {
            report(Kind::OpenEncoder, "the encoder before this one has not ended");
        }
        Some((Pass::new(&self.done), state.before.clone()))
    }

    /// An encoder has ended.
    pub fn close(&self, pass: &Pass, before: &Before) {
        let mut state = self.state.lock();
        state.open = false;
        state.after.join(before);
        state.after.add(pass);
    }

    fn signal(&self, event: Id, value: u64) {
        let own = event.expect::<Event>("the event");
        let mut state = self.state.lock();
        if state.open {
            report(Kind::OpenEncoder, "an event is signalled while an encoder is open");
        }
        let mut before = state.after.clone();
        before.join(&state.before);
        own.signalled_after(value, before);
        state.signals.push((Strong::of(event), value));
        self.soft.encode_signal(&own.soft, value);
    }

    fn wait_for(&self, event: Id, value: u64) {
        let own = event.expect::<Event>("the event");
        let mut state = self.state.lock();
        if state.open {
            report(Kind::OpenEncoder, "an event is waited for while an encoder is open");
        }
        state.before.join(&own.before(value));
        state.kept.push(Strong::of(event));
        self.soft.encode_wait(&own.soft, value);
    }

    fn add(&self, handler: Block, completed: bool) {
        let Some(handler) = Held::new(handler) else { raise("the handler must not be nil") };
        let mut state = self.state.lock();
        if state.status >= COMMITTED {
            raise("handlers are added before `commit`");
        }
        if completed { state.completed.push(handler) } else { state.scheduled.push(handler) }
    }
}

fn commit(this: Id) {
    let own = own(this);
    let (injected, scheduled) = {
        let mut state = own.state.lock();
        if state.status >= COMMITTED {
            raise("the command buffer is committed already");
        }
        if state.open {
            report(Kind::OpenEncoder, "the command buffer is committed while an encoder is open");
        }
        if state.groups > 0 {
            report(Kind::DebugGroup, format!("{} debug groups of the command buffer are open", state.groups));
        }
        state.status = COMMITTED;
        if let Some(place) = &mut state.place {
            place.commit();
        }
        (options::take_fault(|f| matches!(f, Fault::CommandBuffer(_))), std::mem::take(&mut state.scheduled))
    };
    let queue = own.queue.expect_queue();
    for set in queue.sets.lock().iter() {
        if let Some(set) = set.get::<residency::Set>() {
            set.check_memory();
            set.check_uses(&own.state.lock().used);
        }
    }
    own.state.lock().status = SCHEDULED;
    for handler in scheduled {
        // SAFETY: handlers take the command buffer.
        unsafe { handler.call1(this) };
    }
    let held = Strong::of(this);
    let soft = match injected {
        Some(Fault::CommandBuffer(code)) => {
            // In its turn, but none of its commands runs.
            let empty = queue.soft.command_buffer();
            empty.add_completed_handler(move |_| finish(held, Some((code, "injected fault".into()))));
            Arc::new(empty)
        }
        _ => {
            own.soft.add_completed_handler(move |outcome| {
                let failure = outcome.as_ref().err().map(|e| (code(e), e.to_string()));
                finish(held, failure);
            });
            own.soft.clone()
        }
    };
    let submit = move || {
        let _ = soft.commit();
    };
    queue.commit(own.key(), Box::new(submit));
}

impl Drop for Command {
    fn drop(&mut self) {
        let status = self.state.get_mut().status;
        if status == ENQUEUED {
            report(Kind::Order, "a command buffer was enqueued and released without a commit");
            self.queue.expect_queue().leave(self.key());
        }
    }
}

/// The `MTLCommandBufferError` of an error.
fn code(e: &softmetal::Error) -> isize {
    match e {
        softmetal::Error::Timeout { .. } => 2,
        softmetal::Error::Fault { .. } => 3,
        softmetal::Error::Invalid(text) if text.starts_with("out of memory") => 8,
        softmetal::Error::Invalid(_) => 9,
        _ => 1,
    }
}

/// The end: handlers hear of it first, then whoever waits.
fn finish(this: Strong, failure: Option<(isize, String)>) {
    pool::with_pool(|| {
        let own = own(this.id());
        options::keep_profiles(own.soft.profiles());
        let failed = failure.is_some();
        // Of a command buffer without references, which what it uses did not outlive.
        let freed =
            failure.as_ref().map(|(_, text)| text.clone()).filter(|text| text.contains("use after free"));
        let (handlers, kept, signals, place) = {
            let mut state = own.state.lock();
            state.error = failure.map(|(code, text)| error::make("MTLCommandBufferErrorDomain", code, text));
            state.status = if failed { ERROR } else { COMPLETED };
            own.done.store(true, Ordering::Release);
            let state = &mut *state;
            (
                std::mem::take(&mut state.completed),
                std::mem::take(&mut state.kept),
                std::mem::take(&mut state.signals),
                state.place.take(),
            )
        };
        for handler in handlers {
            // SAFETY: handlers take the command buffer.
            unsafe { handler.call1(this.id()) };
        }
        if failed {
            check_signals(&signals);
        }
        if let Some(text) = freed {
            report(Kind::UseAfterRelease, text);
        }
        drop((kept, signals, place));
        // Whoever waits is woken when nothing but the outcome is left of the command buffer.
        own.state.lock().told = true;
        own.changed.notify_all();
    });
}

/// A failed command buffer signals nothing: whoever waits for it waits for good, unless a handler signalled by hand.
fn check_signals(signals: &[(Strong, u64)]) {
    for (event, value) in signals {
        let Some(event) = event.get::<Event>() else { continue };
        if event.soft.signaled_value() < *value {
            report(
                Kind::LostSignal,
                format!(
                    "a command buffer failed and does not signal its event's value {value}; nobody else did by the end of its handlers"
                ),
            );
        }
    }
}

trait ExpectQueue {
    fn expect_queue(&self) -> &'static Queue;
}

impl ExpectQueue for Strong {
    fn expect_queue(&self) -> &'static Queue {
        self.id().expect::<Queue>("the queue")
    }
}

impl Command {
    fn wait(&self, status: usize) {
        let mut state = self.state.lock();
        if state.status < COMMITTED {
            raise("a command buffer that is not committed never ends");
        }
        while state.status < status || (status == COMPLETED && !state.told) {
            self.changed.wait(&mut state);
        }
    }
}

fn own(this: Id) -> &'static Command {
    this.expect::<Command>("the command buffer")
}

methods! { pub COMMAND;
    "device" (this) -> Id { own(this).device() }
    "commandQueue" (this) -> Id { own(this).queue.id() }
    "retainedReferences" (this) -> crate::abi::Bool { own(this).retained.into() }
    "computeCommandEncoder" (this) -> Id { compute::make(this, 0) }
    "computeCommandEncoderWithDispatchType:" (this, kind: usize) -> Id { compute::make(this, kind) }
    "computeCommandEncoderWithDescriptor:" (this, wanted: Id) -> Id {
        compute::make(this, descriptor::number(wanted, "dispatchType", 0))
    }
    "blitCommandEncoder" (this) -> Id { blit::make(this) }
    "encodeSignalEvent:value:" (this, event: Id, value: u64) { own(this).signal(event, value); }
    "encodeWaitForEvent:value:" (this, event: Id, value: u64) { own(this).wait_for(event, value); }
    "addScheduledHandler:" (this, handler: Block) { own(this).add(handler, false); }
    "addCompletedHandler:" (this, handler: Block) { own(this).add(handler, true); }
    "enqueue" (this) {
        let own = own(this);
        let mut state = own.state.lock();
        if state.status == NOT_ENQUEUED {
            state.status = ENQUEUED;
            own.queue.expect_queue().enqueue(own.key());
        }
    }
    "commit" (this) { commit(this); }
    "useResidencySet:" (this, set: Id) { own(this).keep(set); }
    "useResidencySets:count:" (this, sets: *const Id, count: usize) {
        for i in 0..count {
            // SAFETY: the sender gave so many sets.
            own(this).keep(unsafe { *sets.add(i) });
        }
    }
    "pushDebugGroup:" (this, _name: Id) { own(this).state.lock().groups += 1; }
    "popDebugGroup" (this) {
        let mut state = own(this).state.lock();
        match state.groups.checked_sub(1) {
            Some(rest) => state.groups = rest,
            None => report(Kind::DebugGroup, "no debug group of the command buffer is open"),
        }
    }
}

methods! { pub OUTCOME;
    "status" (this) -> usize { own(this).state.lock().status }
    "error" (this) -> Id {
        let error = own(this).state.lock().error.clone();
        error.map_or(Id::NIL, Strong::autoreleased)
    }
    "errorOptions" (this) -> usize { 0 }
    "logs" (this) -> Id { array::make(Vec::new()).autoreleased() }
    "waitUntilCompleted" (this) { own(this).wait(COMPLETED); }
    "waitUntilScheduled" (this) { own(this).wait(SCHEDULED); }
    "GPUStartTime" (this) -> f64 { own(this).soft.gpu_start_time() }
    "GPUEndTime" (this) -> f64 { own(this).soft.gpu_end_time() }
    "kernelStartTime" (this) -> f64 { own(this).soft.gpu_start_time() }
    "kernelEndTime" (this) -> f64 { own(this).soft.gpu_end_time() }
}
