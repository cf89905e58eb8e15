//! Command buffers: recorded commands, state, outcome.

use super::buffer::{Buffer, BufferInner};
use super::device::Device;
use super::encoder::{BlitEncoder, ComputeEncoder, DispatchType};
use super::event::Event;
use super::pipeline::Pipeline;
use super::texture::Texture;
use crate::error::{Error, Result};
use crate::profile::DispatchProfile;
use parking_lot::{Condvar, Mutex};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Weak};

/// Where a command buffer is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Being encoded.
    NotEnqueued,
    /// Committed, waiting or running.
    Committed,
    /// Ended well.
    Completed,
    /// Ended with an error.
    Error,
}

/// A list of commands. It runs after `commit`.
#[derive(Debug)]
pub struct CommandBuffer {
    pub(crate) inner: Arc<CommandInner>,
    pub(crate) device: Device,
    sender: Sender<Arc<CommandInner>>,
    retained: bool,
}

type Handler = Box<dyn FnOnce(&Result<()>) + Send>;

pub(crate) struct CommandInner {
    pub state: Mutex<State>,
    changed: Condvar,
}

impl std::fmt::Debug for CommandInner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let s = self.state.lock();
        f.debug_struct("CommandBuffer")
            .field("status", &s.status)
            .field("commands", &s.commands.len())
            .finish_non_exhaustive()
    }
}

pub(crate) struct State {
    pub commands: Vec<Command>,
    status: Status,
    error: Option<Error>,
    encode_error: Option<Error>,
    handlers: Vec<Handler>,
    times: (f64, f64),
    profiles: Vec<DispatchProfile>,
}

/// A buffer that a command uses, kept alive or not.
#[derive(Debug, Clone)]
pub(crate) enum Held {
    Strong(Buffer),
    Weak(Weak<BufferInner>),
}

impl Held {
    pub fn get(&self) -> Result<Buffer> {
        match self {
            Held::Strong(b) => Ok(b.clone()),
            Held::Weak(w) => w.upgrade().map(Buffer).ok_or_else(|| {
                Error::Invalid(
                    "use after free: a command uses a buffer that was freed before the command ran".into(),
                )
            }),
        }
    }
}

/// The binding at a buffer index.
#[derive(Debug, Clone)]
pub(crate) enum Bound {
    Buffer(Held, usize),
    Bytes(Arc<[u64]>, usize),
}

/// Memory that no parameter names.
#[derive(Debug, Clone)]
pub(crate) enum Resource {
    Buffer(Held),
    Texture(Texture),
}

/// The size of a dispatch.
#[derive(Debug, Clone)]
pub(crate) enum Grid {
    Threads([u32; 3]),
    Groups([u32; 3]),
    Indirect(Held, usize),
}

#[derive(Debug, Clone)]
pub(crate) struct Dispatch {
    pub pipeline: Pipeline,
    pub bound: Vec<Option<Bound>>,
    pub textures: Vec<Option<Texture>>,
    pub samplers: Vec<u64>,
    /// Resources that the kernel reaches through pointers in argument buffers.
    pub resources: Vec<Resource>,
    pub group_lengths: Vec<u32>,
    pub grid: Grid,
    pub threads: [u32; 3],
}

#[derive(Debug)]
pub(crate) enum Command {
    Dispatch(Box<Dispatch>),
    Barrier,
    /// A barrier for these buffers alone.
    BarrierFor(Vec<Held>),
    Copy {
        from: (Held, usize),
        to: (Held, usize),
        length: usize,
    },
    Fill {
        to: (Held, usize),
        length: usize,
        value: u8,
    },
    Signal(Event, u64),
    Wait(Event, u64),
}

impl CommandBuffer {
    pub(crate) fn new(device: Device, sender: Sender<Arc<CommandInner>>, retained: bool) -> CommandBuffer {
        let state = State {
            commands: Vec::new(),
            status: Status::NotEnqueued,
            error: None,
            encode_error: None,
            handlers: Vec::new(),
            times: (0.0, 0.0),
            profiles: Vec::new(),
        };
        CommandBuffer {
            inner: Arc::new(CommandInner { state: Mutex::new(state), changed: Condvar::new() }),
            device,
            sender,
            retained,
        }
    }

    pub(crate) fn hold(&self, b: &Buffer) -> Held {
        if self.retained { Held::Strong(b.clone()) } else { Held::Weak(Arc::downgrade(&b.0)) }
    }

    pub(crate) fn push(&self, c: Command) {
        self.inner.state.lock().commands.push(c);
    }

    /// Remembers the first error of encoding; the command buffer then fails when committed.
    pub(crate) fn note(&self, e: Error) -> Error {
        self.inner.state.lock().encode_error.get_or_insert_with(|| e.clone());
        e
    }

    /// An encoder for kernels.
    pub fn compute_encoder(&self, kind: DispatchType) -> ComputeEncoder<'_> {
        ComputeEncoder::new(self, kind)
    }

    /// An encoder for copies and fills.
    pub fn blit_encoder(&self) -> BlitEncoder<'_> {
        BlitEncoder::new(self)
    }

    /// Signals an event after all commands so far.
    pub fn encode_signal(&self, event: &Event, value: u64) {
        self.push(Command::Signal(event.clone(), value));
    }

    /// Lets later commands wait for an event.
    pub fn encode_wait(&self, event: &Event, value: u64) {
        self.push(Command::Wait(event.clone(), value));
    }

    /// Calls `handler` with the outcome, on the queue's thread. Added after completion, it is called at once.
    pub fn add_completed_handler(&self, handler: impl FnOnce(&Result<()>) + Send + 'static) {
        let mut s = self.inner.state.lock();
        if matches!(s.status, Status::Completed | Status::Error) {
            let outcome = s.error.clone().map_or(Ok(()), Err);
            drop(s);
            handler(&outcome);
        } else {
            s.handlers.push(Box::new(handler));
        }
    }

    /// Hands the commands to the queue. A second commit is an error.
    pub fn commit(&self) -> Result<()> {
        let mut s = self.inner.state.lock();
        if s.status != Status::NotEnqueued {
            return Err(Error::Invalid("the command buffer has already been committed".into()));
        }
        s.status = Status::Committed;
        let failed = s.encode_error.clone();
        drop(s);
        if let Some(e) = failed {
            self.inner.finish(Err(e.clone()), (0.0, 0.0), Vec::new());
            return Err(e);
        }
        if self.sender.send(self.inner.clone()).is_err() {
            let e = Error::Tool { step: "committing", message: "cannot start the queue's thread".into() };
            self.inner.finish(Err(e.clone()), (0.0, 0.0), Vec::new());
            return Err(e);
        }
        Ok(())
    }

    /// Waits for the end and gives the outcome.
    pub fn wait_until_completed(&self) -> Result<()> {
        let mut s = self.inner.state.lock();
        if s.status == Status::NotEnqueued {
            return Err(Error::Invalid("the command buffer was never committed".into()));
        }
        while s.status == Status::Committed {
            self.inner.changed.wait(&mut s);
        }
        s.error.clone().map_or(Ok(()), Err)
    }

    /// Commits and waits.
    pub fn run(&self) -> Result<()> {
        self.commit()?;
        self.wait_until_completed()
    }

    /// Where it is in its life.
    pub fn status(&self) -> Status {
        self.inner.state.lock().status
    }

    /// The error, when the status is [`Status::Error`].
    pub fn error(&self) -> Option<Error> {
        self.inner.state.lock().error.clone()
    }

    /// When the first command began, in seconds of the process clock.
    pub fn gpu_start_time(&self) -> f64 {
        self.inner.state.lock().times.0
    }

    /// When the last command ended.
    pub fn gpu_end_time(&self) -> f64 {
        self.inner.state.lock().times.1
    }

    /// Counters per dispatch, when the device profiles.
    pub fn profiles(&self) -> Vec<DispatchProfile> {
        self.inner.state.lock().profiles.clone()
    }
}

impl CommandInner {
    /// Sets the outcome and wakes whoever waits.
    pub fn finish(&self, outcome: Result<()>, times: (f64, f64), profiles: Vec<DispatchProfile>) {
        let mut s = self.state.lock();
        s.commands.clear();
        s.error = outcome.as_ref().err().cloned();
        s.times = times;
        s.profiles = profiles;
        let handlers = std::mem::take(&mut s.handlers);
        s.status = if outcome.is_ok() { Status::Completed } else { Status::Error };
        drop(s);
        self.changed.notify_all();
        for h in handlers {
            h(&outcome);
        }
    }
}
