//! Blit encoders.

use super::BLIT_ENCODER;
use super::buffer::Buffer;
use super::command::Command;
use super::compute::{note, touch};
use super::event::Fence;
use super::hazard::{Before, Pass};
use crate::abi::{Id, NSRange, methods};
use crate::objc::object::Strong;
use crate::report::{Kind, raise, report};
use parking_lot::{Mutex, MutexGuard};
use softmetal::BlitEncoder;
use std::sync::Arc;

/// What an encoder holds.
#[derive(Debug)]
pub struct Encoder {
    /// Dropped before the command buffer that it borrows.
    state: Mutex<State>,
    pass: Pass,
    _soft: Arc<softmetal::CommandBuffer>,
    command: Strong,
}

#[derive(Debug)]
struct State {
    /// None after its end.
    soft: Option<BlitEncoder<'static>>,
    groups: usize,
    before: Before,
    fences: Vec<Strong>,
}

/// An encoder of a command buffer.
pub fn make(command: Id) -> Id {
    let own = command.expect::<Command>("the command buffer");
    let Some((pass, before)) = own.open() else { return Id::NIL };
    let soft = own.soft.clone();
    // SAFETY: the encoder borrows what `soft` holds in place; `state` is dropped before `_soft`.
    let borrowed: &'static softmetal::CommandBuffer = unsafe { &*Arc::as_ptr(&soft) };
    let state = State { soft: Some(borrowed.blit_encoder()), groups: 0, before, fences: Vec::new() };
    let content = Encoder { state: Mutex::new(state), pass, _soft: soft, command: Strong::of(command) };
    Strong::new(&BLIT_ENCODER, content).autoreleased()
}

impl Encoder {
    fn command(&self) -> &Command {
        self.command.id().expect::<Command>("the command buffer")
    }

    fn state(&self) -> MutexGuard<'_, State> {
        let state = self.state.try_lock().unwrap_or_else(|| {
            report(Kind::Thread, "two threads use an encoder at once");
            self.state.lock()
        });
        if state.soft.is_none() {
            raise("the encoder has ended");
        }
        state
    }

    fn touch(&self, state: &State, buffer: Id, writes: bool) -> &'static Buffer {
        let own = buffer.expect::<Buffer>("the buffer");
        self.command().keep(buffer);
        touch(&Strong::of(buffer), self.command(), (&self.pass, &state.before), writes);
        own
    }
}

impl Drop for Encoder {
    fn drop(&mut self) {
        if self.state.get_mut().soft.take().is_some() {
            report(Kind::OpenEncoder, "a blit encoder was released without `endEncoding`");
            let before = self.state.get_mut().before.clone();
            self.command().close(&self.pass, &before);
        }
    }
}

fn own(this: Id) -> &'static Encoder {
    this.expect::<Encoder>("the encoder")
}

methods! { pub ENCODER;
    "device" (this) -> Id { own(this).command().device() }
    "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:" (this, from: Id, at: usize, to: Id, target: usize, bytes: usize) {
        let encoder = own(this);
        let mut state = encoder.state();
        let source = encoder.touch(&state, from, false);
        let sink = encoder.touch(&state, to, true);
        if bytes == 0 {
            report(Kind::Argument, "a copy of no bytes");
            return;
        }
        if let Some(soft) = &mut state.soft {
            note(soft.copy(&source.soft, at, &sink.soft, target, bytes));
        }
    }
    "fillBuffer:range:value:" (this, buffer: Id, range: NSRange, value: crate::abi::Bool) {
        let encoder = own(this);
        let mut state = encoder.state();
        let sink = encoder.touch(&state, buffer, true);
        if let Some(soft) = &mut state.soft {
            note(soft.fill(&sink.soft, range.location, range.length, value.0));
        }
    }
    "synchronizeResource:" (this, resource: Id) {
        let encoder = own(this);
        let mut state = encoder.state();
        let buffer = encoder.touch(&state, resource, false);
        let Some(mirror) = &buffer.mirror else {
            if buffer.mode() != 1 { report(Kind::Argument, "only managed resources are synchronized"); }
            return;
        };
        if let Some(soft) = &mut state.soft {
            note(soft.copy(&buffer.soft, 0, mirror, 0, buffer.soft.length()));
        }
    }
    "optimizeContentsForGPUAccess:" (this, _texture: Id) { }
    "updateFence:" (this, fence: Id) {
        fence.expect::<Fence>("the fence");
        own(this).state().fences.push(Strong::of(fence));
    }
    "waitForFence:" (this, fence: Id) {
        let before = fence.expect::<Fence>("the fence").before.lock().clone();
        own(this).state().before.join(&before);
    }
    "pushDebugGroup:" (this, _name: Id) { own(this).state().groups += 1; }
    "popDebugGroup" (this) {
        let mut state = own(this).state();
        match state.groups.checked_sub(1) {
            Some(rest) => state.groups = rest,
            None => report(Kind::DebugGroup, "no debug group of the encoder is open"),
        }
    }
    "endEncoding" (this) {
        let encoder = own(this);
        let mut state = encoder.state();
        if state.groups > 0 {
            report(Kind::DebugGroup, format!("{} debug groups of the encoder are open at its end", state.groups));
        }
        state.soft = None;
        let mut before = state.before.clone();
        before.add(&encoder.pass);
        for fence in state.fences.drain(..) {
            *fence.id().expect::<Fence>("the fence").before.lock() = before.clone();
        }
        encoder.command().close(&encoder.pass, &state.before);
    }
}
