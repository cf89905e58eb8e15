//! Queues.

use super::device::Device;
use super::options::{self, Fault};
use super::{QUEUE as QUEUE_CLASS, command, descriptor, residency};
use crate::abi::{Id, methods};
use crate::foundation::array;
use crate::objc::object::Strong;
use crate::report::{Kind, raise, report};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// Command buffers of a queue that have not ended, unless the program says otherwise.
pub const DEFAULT_COUNT: usize = 64;
/// How long a queue that is full waits before it gives up: nobody else can wake it by then.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a queue holds.
#[derive(Debug)]
pub struct Queue {
    /// The queue under Metal.
    pub soft: softmetal::Queue,
    /// The device.
    pub device: Strong,
    /// Residency sets.
    pub sets: Mutex<Vec<Strong>>,
    places: Arc<QueueSlots>,
    line: Mutex<VecDeque<Turn>>,
}

/// What hands a command buffer over to the device.
type Submit = Box<dyn FnOnce() + Send>;

/// A command buffer's turn: `enqueue` reserves it, `commit` fills it.
struct Turn {
    key: usize,
    submit: Option<Submit>,
}

impl std::fmt::Debug for Turn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Turn").field("key", &self.key).field("committed", &self.submit.is_some()).finish()
    }
}

impl Queue {
    /// Reserves the next turn for a command buffer.
    pub fn enqueue(&self, key: usize) {
        self.line.lock().push_back(Turn { key, submit: None });
    }

    /// A command buffer is committed: it runs in the turn that it has, or in the next one.
    pub fn commit(&self, key: usize, submit: Submit) {
        let mut line = self.line.lock();
        match line.iter_mut().find(|turn| turn.key == key) {
            Some(turn) => turn.submit = Some(submit),
            None => line.push_back(Turn { key, submit: Some(submit) }),
        }
        advance(&mut line);
    }

    /// A command buffer is gone; if it had a turn and was never committed, those behind it move up.
    pub fn leave(&self, key: usize) {
        let mut line = self.line.lock();
        line.retain(|turn| turn.key != key || turn.submit.is_some());
        advance(&mut line);
    }
}

/// Hands over what is ready at the head of the line, under its lock, so that turns keep their order.
fn advance(line: &mut VecDeque<Turn>) {
    while line.front().is_some_and(|turn| turn.submit.is_some()) {
        if let Some(submit) = line.pop_front().and_then(|turn| turn.submit) {
            submit();
        }
    }
}

/// Command buffers that have not ended: all of them, and those that are not committed.
#[derive(Debug)]
pub struct QueueSlots {
    most: usize,
    taken: Mutex<(usize, usize)>,
    freed: Condvar,
}

/// One command buffer's place in its queue.
#[derive(Debug)]
pub struct QueueSlot {
    places: Arc<QueueSlots>,
    committed: bool,
}

impl QueueSlot {
    fn take(places: &Arc<QueueSlots>) -> Option<QueueSlot> {
        let mut taken = places.taken.lock();
        while taken.0 >= places.most {
            if taken.1 >= places.most {
                report(
                    Kind::QueueFull,
                    format!(
                        "all {} command buffers of the queue are neither committed nor released: this call blocks for good",
                        places.most
                    ),
                );
            }
            if places.freed.wait_for(&mut taken, PATIENCE).timed_out() && taken.1 >= places.most {
                return None;
            }
        }
        taken.0 += 1;
        taken.1 += 1;
        drop(taken);
        Some(QueueSlot { places: places.clone(), committed: false })
    }

    /// The command buffer is the queue's now.
    pub fn commit(&mut self) {
        if !std::mem::replace(&mut self.committed, true) {
            self.places.taken.lock().1 -= 1;
        }
    }
}

impl Drop for QueueSlot {
    fn drop(&mut self) {
        let mut taken = self.places.taken.lock();
        taken.0 -= 1;
        if !self.committed {
            taken.1 -= 1;
        }
        self.places.freed.notify_all();
    }
}

/// A new queue.
pub fn make(device: Id, most: usize) -> Id {
    if most == 0 {
        raise("a queue needs room for a command buffer");
    }
    let soft = device.expect::<Device>("the device").soft.new_queue();
    let places = Arc::new(QueueSlots { most, taken: Mutex::default(), freed: Condvar::new() });
    let content =
        Queue { soft, device: Strong::of(device), sets: Mutex::default(), places, line: Mutex::default() };
    Strong::new(&QUEUE_CLASS, content).into_owned()
}

fn own(this: Id) -> &'static Queue {
    this.expect::<Queue>("the queue")
}

fn command_buffer(this: Id, retained: bool) -> Id {
    if options::take_fault(|f| *f == Fault::NoCommandBuffer).is_some() {
        return Id::NIL;
    }
    match QueueSlot::take(&own(this).places) {
        Some(place) => command::make(this, retained, place).autoreleased(),
        None => raise("the queue has waited for a command buffer to be committed, in vain"),
    }
}

methods! { pub QUEUE;
    "device" (this) -> Id { own(this).device.id() }
    "commandBuffer" (this) -> Id { command_buffer(this, true) }
    "commandBufferWithUnretainedReferences" (this) -> Id { command_buffer(this, false) }
    "commandBufferWithDescriptor:" (this, wanted: Id) -> Id {
        command_buffer(this, descriptor::number(wanted, "retainedReferences", 1) != 0)
    }
    "insertDebugCaptureBoundary" (this) { }
    "addResidencySet:" (this, set: Id) {
        set.expect::<residency::Set>("the set");
        own(this).sets.lock().push(Strong::of(set));
    }
    "addResidencySets:count:" (this, sets: *const Id, count: usize) {
        for i in 0..count {
            // SAFETY: the sender gave so many sets.
            own(this).sets.lock().push(Strong::of(unsafe { *sets.add(i) }));
        }
    }
    "removeResidencySet:" (this, set: Id) { own(this).sets.lock().retain(|s| s.id() != set); }
    "residencySets" (this) -> Id { array::make(own(this).sets.lock().clone()).autoreleased() }
}
