//! Residency sets: changes take effect with `commit`; until then the set keeps its old contents.

use super::buffer::Buffer;
use super::device::Device;
use super::{RESIDENCY_SET, options};
use crate::abi::{Bool, Id, Out, methods};
use crate::foundation::{array, error};
use crate::objc::object::Strong;
use crate::report::{Kind, report};
use parking_lot::Mutex;

/// What a set holds.
#[derive(Debug)]
pub struct Set {
    state: Mutex<State>,
    device: Strong,
}

#[derive(Debug, Default)]
struct State {
    resident: Vec<Strong>,
    added: Vec<Strong>,
    removed: Vec<Id>,
}

/// A new set.
pub fn make(device: Id, out: Out) -> Id {
    options::begin(out);
    if !device.expect::<Device>("the device").options.residency_sets {
        return error::fail(out, "MTLResidencySetErrorDomain", 1, "this system has no residency sets");
    }
    Strong::new(&RESIDENCY_SET, Set { state: Mutex::default(), device: Strong::of(device) }).into_owned()
}

impl Set {
    /// A command buffer is committed: does it use a buffer whose addition waits for `commit`?
    pub fn check_uses(&self, used: &[Id]) {
        if self.state.lock().added.iter().any(|b| used.contains(&b.id())) {
            report(
                Kind::Residency,
                "a command buffer uses a buffer that was added to a residency set without `commit`",
            );
        }
    }

    /// Reports memory of the program that is gone while its buffer is in the set.
    pub fn check_memory(&self) {
        let state = self.state.lock();
        for buffer in state.resident.iter().filter_map(|b| b.get::<Buffer>()) {
            if buffer.borrowed.as_ref().is_some_and(|b| !b.is_mapped()) {
                report(
                    Kind::Residency,
                    "the memory under a buffer without a copy was unmapped while the buffer was in a residency set: commit the removal first",
                );
            }
        }
    }

    fn commit(&self) {
        self.check_memory();
        let gone: Vec<Strong> = {
            let mut state = self.state.lock();
            let added = std::mem::take(&mut state.added);
            state.resident.extend(added);
            let removed = std::mem::take(&mut state.removed);
            let (gone, kept) =
                std::mem::take(&mut state.resident).into_iter().partition(|b| removed.contains(&b.id()));
            state.resident = kept;
            gone
        };
        drop(gone);
    }

    fn remove(&self, item: Id) {
        let unadded: Vec<Strong> = {
            let mut state = self.state.lock();
            let (out, kept) = std::mem::take(&mut state.added).into_iter().partition(|b| b.id() == item);
            state.added = kept;
            state.removed.push(item);
            out
        };
        drop(unadded);
    }
}

fn own(this: Id) -> &'static Set {
    this.expect::<Set>("the set")
}

methods! { pub SET;
    "device" (this) -> Id { own(this).device.id() }
    "addAllocation:" (this, item: Id) {
        let mut state = own(this).state.lock();
        state.removed.retain(|r| *r != item);
        if !state.resident.iter().chain(&state.added).any(|b| b.id() == item) {
            state.added.push(Strong::of(item));
        }
    }
    "removeAllocation:" (this, item: Id) { own(this).remove(item); }
    "removeAllAllocations" (this) {
        let mut state = own(this).state.lock();
        let all: Vec<Id> = state.resident.iter().map(Strong::id).collect();
        state.removed.extend(all);
        state.added.clear();
    }
    "containsAllocation:" (this, item: Id) -> Bool {
        let state = own(this).state.lock();
        let there = state.resident.iter().chain(&state.added).any(|b| b.id() == item);
        (there && !state.removed.contains(&item)).into()
    }
    "allAllocations" (this) -> Id { array::make(own(this).state.lock().resident.clone()).autoreleased() }
    "allocationCount" (this) -> usize { own(this).state.lock().resident.len() }
    "allocatedSize" (this) -> u64 {
        let state = own(this).state.lock();
        state.resident.iter().filter_map(|b| b.get::<Buffer>()).map(|b| b.soft.length() as u64).sum()
    }
    "commit" (this) { own(this).commit(); }
    "requestResidency" (this) { }
    "endResidency" (this) { }
}
