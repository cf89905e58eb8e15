//! Events, shared events and fences.

use super::hazard::Before;
use super::{EVENT as EVENT_CLASS, FENCE, SHARED_EVENT};
use crate::abi::{Block, Bool, Id, methods};
use crate::objc::block::Held;
use crate::objc::object::{self, Strong};
use crate::objc::pool;
use crate::report::raise;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::time::Duration;

/// What an event holds.
#[derive(Debug)]
pub struct Event {
    /// The counter.
    pub soft: softmetal::Event,
    /// What is before each value that command buffers signal.
    orders: Mutex<BTreeMap<u64, Before>>,
    device: Strong,
}

/// Values whose order is remembered.
const REMEMBERED: usize = 256;

impl Event {
    /// A command buffer will signal a value after all of this.
    pub fn signalled_after(&self, value: u64, before: Before) {
        let mut orders = self.orders.lock();
        orders.entry(value).or_default().join(&before);
        while orders.len() > REMEMBERED {
            orders.pop_first();
        }
    }

    /// What is before a value.
    pub fn before(&self, value: u64) -> Before {
        self.orders.lock().range(value..).next().map(|(_, b)| b.clone()).unwrap_or_default()
    }
}

/// A fence: what is before its last update.
#[derive(Debug)]
pub struct Fence {
    /// What is before.
    pub before: Mutex<Before>,
    device: Strong,
}

/// A new event.
pub fn make(device: Id, shared: bool) -> Id {
    let soft = device.expect::<super::device::Device>("the device").soft.new_event();
    let content = Event { soft, orders: Mutex::default(), device: Strong::of(device) };
    Strong::new(if shared { &SHARED_EVENT } else { &EVENT_CLASS }, content).into_owned()
}

/// A new fence.
pub fn make_fence(device: Id) -> Id {
    Strong::new(&FENCE, Fence { before: Mutex::default(), device: Strong::of(device) }).into_owned()
}

fn own(this: Id) -> &'static Event {
    this.expect::<Event>("the event")
}

methods! { pub EVENT;
    "device" (this) -> Id {
        match this.get::<Event>() {
            Some(event) => event.device.id(),
            None => this.expect::<Fence>("the fence").device.id(),
        }
    }
}

methods! { pub SHARED;
    "signaledValue" (this) -> u64 { own(this).soft.signaled_value() }
    "setSignaledValue:" (this, value: u64) { own(this).soft.signal(value); }
    "waitUntilSignaledValue:timeoutMS:" (this, value: u64, most: u64) -> Bool {
        own(this).soft.wait(value, Duration::from_millis(most.min(1 << 40))).into()
    }
    "notifyListener:atValue:block:" (this, _listener: Id, value: u64, block: Block) {
        let Some(block) = Held::new(block) else { raise("the block must not be nil") };
        let event = Strong::of(this);
        std::thread::spawn(move || {
            let soft = own(event.id()).soft.clone();
            while !soft.wait(value, Duration::from_secs(60)) {}
            // SAFETY: listeners take the event and its value.
            pool::with_pool(|| unsafe { block.call2(event.id(), value) });
        });
    }
}

methods! { pub LISTENER;
    "init" (this) -> Id { object::fill(this, ()) }
    "initWithDispatchQueue:" (this, _queue: Id) -> Id { object::fill(this, ()) }
    "dispatchQueue" (this) -> Id { Id::NIL }
}
