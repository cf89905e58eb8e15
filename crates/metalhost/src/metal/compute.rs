//! Compute encoders.

use super::COMPUTE_ENCODER;
use super::buffer::Buffer;
use super::command::Command;
use super::event::Fence;
use super::hazard::{Before, Pass};
use super::heap::Heap;
use super::pipeline::Pipeline;
use crate::abi::{Id, MTLSize, NSRange, methods};
use crate::objc::object::{self, Strong};
use crate::report::{Kind, raise, report};
use parking_lot::{Mutex, MutexGuard};
use softmetal::{Access, BindingKind, ComputeEncoder, DispatchType, Size};
use std::ffi::c_void;
use std::sync::Arc;

/// `MTLBarrierScopeBuffers`
const SCOPE_BUFFERS: usize = 1;
/// Buffers, textures and render targets.
const ALL_SCOPES: usize = 7;

/// What an encoder holds.
#[derive(Debug)]
pub struct Encoder {
    /// Dropped before the command buffer that it borrows.
    state: Mutex<State>,
    pass: Pass,
    _soft: Arc<softmetal::CommandBuffer>,
    command: Strong,
    kind: DispatchType,
}

#[derive(Debug)]
struct State {
    /// None after its end.
    soft: Option<ComputeEncoder<'static>>,
    pipeline: Option<Strong>,
    bound: Vec<Option<Strong>>,
    /// Indices that were bound to nil.
    unbound: Vec<usize>,
    /// Indices of threadgroup memory with a length.
    group_memory: Vec<usize>,
    groups: usize,
    before: Before,
    fences: Vec<Strong>,
}

/// An encoder of a command buffer.
pub fn make(command: Id, kind: usize) -> Id {
    let own = command.expect::<Command>("the command buffer");
    let Some((pass, before)) = own.open() else { return Id::NIL };
    let soft = own.soft.clone();
    let kind = if kind == 1 { DispatchType::Concurrent } else { DispatchType::Serial };
    // SAFETY: the encoder borrows what `soft` holds in place; `state` is dropped before `_soft`.
    let borrowed: &'static softmetal::CommandBuffer = unsafe { &*Arc::as_ptr(&soft) };
    let state = State {
        soft: Some(borrowed.compute_encoder(kind)),
        pipeline: None,
        bound: vec![None; 31],
        unbound: Vec::new(),
        group_memory: Vec::new(),
        groups: 0,
        before,
        fences: Vec::new(),
    };
    let content = Encoder { state: Mutex::new(state), pass, _soft: soft, command: Strong::of(command), kind };
    Strong::new(&COMPUTE_ENCODER, content).autoreleased()
}

impl Encoder {
    fn command(&self) -> &Command {
        self.command.id().expect::<Command>("the command buffer")
    }

    /// The state, for this thread alone: encoders are not thread-safe.
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

    fn bind(&self, buffer: Id, offset: usize, index: usize) {
        let mut state = self.state();
        if index > 30 {
            raise(format!("index {index} is above 30, the highest that Metal has"));
        }
        if buffer.is_nil() {
            state.bound[index] = None;
            state.unbound.push(index);
            return;
        }
        let own = buffer.expect::<Buffer>("the buffer");
        if offset >= own.soft.length() {
            report(
                Kind::Argument,
                format!("offset {offset} is not inside of the {} bytes", own.soft.length()),
            );
        }
        state.unbound.retain(|i| *i != index);
        state.bound[index] = Some(Strong::of(buffer));
        self.command().keep(buffer);
        if let Some(soft) = &mut state.soft {
            note(soft.set_buffer(index as u32, &own.soft, offset));
        }
    }

    fn use_arguments(&self, state: &State) {
        let Some(pipeline) = state.pipeline.as_ref().and_then(|p| p.get::<Pipeline>()) else {
            report(Kind::Order, "a dispatch before any pipeline was set");
            return;
        };
        for argument in pipeline.soft.arguments().iter().filter(|a| a.active) {
            let index = argument.binding.index as usize;
            if !matches!(argument.binding.kind, BindingKind::Buffer | BindingKind::Constant) {
                continue;
            }
            if state.unbound.contains(&index) {
                report(
                    Kind::Argument,
                    format!("buffer {index} (`{}`) is bound to nil", argument.binding.name),
                );
            }
            if let Some(buffer) = state.bound.get(index).and_then(Option::as_ref) {
                let writes = argument.binding.access == Access::ReadWrite;
                touch(buffer, self.command(), (&self.pass, &state.before), writes);
            }
        }
    }

    /// Kernels of this encoder may reach a resource through a pointer.
    fn use_resource(&self, state: &mut State, resource: Id, usage: usize) {
        let buffer = resource.expect::<Buffer>("the resource");
        self.command().keep(resource);
        touch(&Strong::of(resource), self.command(), (&self.pass, &state.before), usage & 2 != 0);
        if let Some(soft) = &mut state.soft {
            soft.use_buffer(&buffer.soft);
        }
    }

    /// Kernels of this encoder may read anything in a heap.
    fn use_heap(&self, heap: Id) {
        let members = heap.expect::<Heap>("the heap").members();
        self.command().keep(heap);
        let State { soft: Some(soft), before, .. } = &mut *self.state() else { return };
        for member in &members {
            if let Some(uses) = &member.uses {
                uses.note(&self.pass, before, false, "of a heap");
            }
            soft.use_buffer(&member.soft);
        }
    }

    /// Metal runs a kernel whose threadgroup memory has no length, and its validation layer complains. So it is reported and run here, with the
    /// least that there can be: the checker sees who uses more.
    fn give_group_memory(&self, state: &mut State) {
        const LEAST: u32 = 16;
        let State { soft: Some(soft), pipeline: Some(pipeline), group_memory, .. } = state else { return };
        let arguments = pipeline.get::<Pipeline>().map_or(&[][..], |p| p.soft.arguments());
        for a in arguments.iter().filter(|a| a.active && a.binding.kind == BindingKind::Threadgroup) {
            let index = a.binding.index as usize;
            if group_memory.contains(&index) {
                continue;
            }
            let name = &a.binding.name;
            report(Kind::Argument, format!("threadgroup memory {index} (`{name}`) has no length"));
            note(soft.set_threadgroup_memory_length(a.binding.index, LEAST));
        }
    }

    fn dispatch(&self, launch: impl FnOnce(&mut ComputeEncoder<'static>) -> softmetal::Result<()>) {
        let mut state = self.state();
        self.use_arguments(&state);
        self.give_group_memory(&mut state);
        if let Some(soft) = &mut state.soft {
            note(launch(soft));
        }
    }

    fn end(&self) {
        let mut state = self.state();
        if state.groups > 0 {
            report(
                Kind::DebugGroup,
                format!("{} debug groups of the encoder are open at its end", state.groups),
            );
        }
        state.soft = None;
        let mut before = state.before.clone();
        before.add(&self.pass);
        for fence in state.fences.drain(..) {
            *fence.id().expect::<Fence>("the fence").before.lock() = before.clone();
        }
        self.command().close(&self.pass, &state.before);
    }
}

/// An encoder uses a buffer.
pub fn touch(buffer: &Strong, command: &Command, (pass, before): (&Pass, &Before), writes: bool) {
    let Some(own) = buffer.get::<Buffer>() else { return };
    command.uses(buffer.id());
    if let Some(uses) = &own.uses {
        let name = object::label(buffer.id()).map_or(String::from("without a label"), |l| format!("`{l}`"));
        uses.note(pass, before, writes, &name);
    }
}

/// SoftMetal's own checks of a call; the command buffer fails with them.
pub fn note(outcome: softmetal::Result<()>) {
    if let Err(e) = outcome {
        report(Kind::Argument, e.to_string());
    }
}

impl Drop for Encoder {
    fn drop(&mut self) {
        if self.state.get_mut().soft.take().is_some() {
            report(Kind::OpenEncoder, "a compute encoder was released without `endEncoding`");
            let before = self.state.get_mut().before.clone();
            self.command().close(&self.pass, &before);
        }
    }
}

fn own(this: Id) -> &'static Encoder {
    this.expect::<Encoder>("the encoder")
}

fn size(s: MTLSize) -> Size {
    let part =
        |n: usize| u32::try_from(n).unwrap_or_else(|_| raise(format!("{n} is more than Metal launches")));
    Size(part(s.width), part(s.height), part(s.depth))
}

methods! { pub ENCODER;
    "device" (this) -> Id { own(this).command().device() }
    "dispatchType" (this) -> usize { usize::from(own(this).kind == DispatchType::Concurrent) }
    "setComputePipelineState:" (this, pipeline: Id) {
        let content = pipeline.expect::<Pipeline>("the pipeline");
        let encoder = own(this);
        let mut state = encoder.state();
        if let Some(soft) = &mut state.soft {
            soft.set_pipeline(&content.soft);
        }
        state.pipeline = Some(Strong::of(pipeline));
        encoder.command().keep(pipeline);
    }
    "setBuffer:offset:atIndex:" (this, buffer: Id, offset: usize, index: usize) { own(this).bind(buffer, offset, index); }
    "setBufferOffset:atIndex:" (this, offset: usize, index: usize) {
        let bound = own(this).state().bound.get(index).cloned().flatten();
        match bound {
            Some(buffer) => own(this).bind(buffer.id(), offset, index),
            None => report(Kind::Order, format!("no buffer is bound at {index}")),
        }
    }
    "setBuffers:offsets:withRange:" (this, buffers: *const Id, offsets: *const usize, range: NSRange) {
        for i in 0..range.length {
            // SAFETY: the sender gave so many of both.
            let (buffer, offset) = unsafe { (*buffers.add(i), *offsets.add(i)) };
            own(this).bind(buffer, offset, range.location + i);
        }
    }
    "setBytes:length:atIndex:" (this, start: *const c_void, length: usize, index: usize) {
        if start.is_null() || length == 0 || length > 4096 {
            raise(format!("{length} bytes at {start:p}: there must be 1 to 4096"));
        }
        // SAFETY: the sender gave so many bytes.
        let bytes = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), length) };
        let mut state = own(this).state();
        state.unbound.retain(|i| *i != index);
        if let Some(slot) = state.bound.get_mut(index) {
            *slot = None;
        }
        if let Some(soft) = &mut state.soft {
            note(soft.set_bytes(index as u32, bytes));
        }
    }
    "setThreadgroupMemoryLength:atIndex:" (this, length: usize, index: usize) {
        let mut state = own(this).state();
        state.group_memory.retain(|i| *i != index);
        if length > 0 {
            state.group_memory.push(index);
        }
        if let Some(soft) = &mut state.soft {
            note(soft.set_threadgroup_memory_length(index as u32, length as u32));
        }
    }
    "useResource:usage:" (this, resource: Id, usage: usize) {
        let encoder = own(this);
        encoder.use_resource(&mut encoder.state(), resource, usage);
    }
    "useResources:count:usage:" (this, resources: *const Id, count: usize, usage: usize) {
        let encoder = own(this);
        let mut state = encoder.state();
        for i in 0..count {
            // SAFETY: the sender gave so many resources.
            encoder.use_resource(&mut state, unsafe { *resources.add(i) }, usage);
        }
    }
    "useHeap:" (this, heap: Id) { own(this).use_heap(heap); }
    "useHeaps:count:" (this, heaps: *const Id, count: usize) {
        for i in 0..count {
            // SAFETY: the sender gave so many heaps.
            own(this).use_heap(unsafe { *heaps.add(i) });
        }
    }
    "pushDebugGroup:" (this, _name: Id) { own(this).state().groups += 1; }
    "popDebugGroup" (this) {
        let mut state = own(this).state();
        match state.groups.checked_sub(1) {
            Some(rest) => state.groups = rest,
            None => report(Kind::DebugGroup, "no debug group of the encoder is open"),
        }
    }
    "insertDebugSignpost:" (this, _name: Id) { }
}

methods! { pub DISPATCH;
    "dispatchThreads:threadsPerThreadgroup:" (this, grid: MTLSize, threads: MTLSize) {
        own(this).dispatch(|soft| soft.dispatch_threads(size(grid), size(threads)));
    }
    "dispatchThreadgroups:threadsPerThreadgroup:" (this, groups: MTLSize, threads: MTLSize) {
        own(this).dispatch(|soft| soft.dispatch_threadgroups(size(groups), size(threads)));
    }
    "dispatchThreadgroupsWithIndirectBuffer:indirectBufferOffset:threadsPerThreadgroup:" (this, buffer: Id, offset: usize, threads: MTLSize) {
        let arguments = buffer.expect::<Buffer>("the indirect buffer");
        let encoder = own(this);
        encoder.command().keep(buffer);
        touch(&Strong::of(buffer), encoder.command(), (&encoder.pass, &encoder.state().before), false);
        encoder.dispatch(|soft| soft.dispatch_threadgroups_indirect(&arguments.soft, offset, size(threads)));
    }
    "memoryBarrierWithScope:" (this, scope: usize) {
        if scope == 0 || scope & !ALL_SCOPES != 0 {
            report(Kind::Argument, format!("{scope} is not a scope of barriers"));
        }
        // A barrier for textures says nothing about buffers.
        if scope & SCOPE_BUFFERS != 0 && let Some(soft) = &mut own(this).state().soft {
            soft.memory_barrier();
        }
    }
    "memoryBarrierWithResources:count:" (this, resources: *const Id, count: usize) {
        if resources.is_null() || count == 0 {
            report(Kind::Argument, "a barrier for no resources");
            return;
        }
        // SAFETY: the sender gave so many resources.
        let buffers = (0..count).map(|i| &unsafe { *resources.add(i) }.expect::<Buffer>("the resource").soft);
        let buffers: Vec<_> = buffers.collect();
        if let Some(soft) = &mut own(this).state().soft { soft.memory_barrier_for(&buffers); }
    }
    "updateFence:" (this, fence: Id) {
        fence.expect::<Fence>("the fence");
        own(this).state().fences.push(Strong::of(fence));
    }
    "waitForFence:" (this, fence: Id) {
        let before = fence.expect::<Fence>("the fence").before.lock().clone();
        own(this).state().before.join(&before);
    }
    "endEncoding" (this) { own(this).end(); }
}
