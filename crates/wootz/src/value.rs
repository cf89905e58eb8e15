//! A tensor's elements on a device, and the run that may still be computing them.

use crate::device::Device;
use crate::program::injected;
use crate::tensor::room_for;
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::sync::{Arc, OnceLock};
use wootz_backend::inject::Point;
use wootz_backend::{Buffer, Fence};
use wootz_ir::graph::{Leaf, Payload};
use wootz_ir::{Error, Result};

/// A tensor's elements on a device.
#[derive(Clone)]
pub(crate) struct Value {
    pub device: Device,
    buffer: Buffer,
    /// The run that writes the buffer, until it has been waited for.
    pending: Option<Arc<Pending>>,
}

impl Value {
    /// Available elements.
    pub fn new(device: Device, buffer: Buffer) -> Value {
        Value { device, buffer, pending: None }
    }

    /// Elements that a run will have written when it ends.
    pub fn written_by(run: &Arc<Pending>, buffer: Buffer) -> Value {
        Value { device: run.device.clone(), buffer, pending: Some(run.clone()) }
    }

    /// Size of the buffer in bytes.
    pub fn len(&self) -> usize {
        self.buffer.len()
    }

    /// The memory, once the run that writes it has ended.
    pub fn buffer(&self) -> Result<&Buffer> {
        self.wait()?;
        Ok(&self.buffer)
    }

    /// The memory for more work on the same device, which runs its work in order.
    pub fn bind(&self) -> &Buffer {
        &self.buffer
    }

    /// The run that still has to be waited for, if any.
    pub fn pending(&self) -> Option<&Arc<Pending>> {
        self.pending.as_ref().filter(|run| !run.succeeded())
    }

    /// Waits for the run that writes the elements. If the run fails, every reader gets the same error.
    pub fn wait(&self) -> Result<()> {
        self.pending.as_ref().map_or(Ok(()), |run| run.wait())
    }

    /// The buffer, if it is on this device and no run is still writing it.
    pub fn settled_on(&self, device: &Device) -> Option<&Buffer> {
        (self.device == *device && self.pending().is_none()).then_some(&self.buffer)
    }

    /// The bytes, if this is the only handle to memory of the host that may be written.
    pub fn own_bytes(&mut self) -> Option<&mut [u8]> {
        if !self.device.is_host() || self.pending().is_some() {
            return None;
        }
        wootz_cpu::own_bytes(&mut self.buffer)
    }

    /// Elements in host memory from byte `offset` on.
    pub fn read(&self, offset: usize, bytes: &mut [u8]) -> Result<()> {
        crate::fork::check(&self.device)?;
        self.device.traffic().add_read(bytes.len());
        self.device.backend().download(self.buffer()?, offset, bytes)
    }

    /// Copies a value to another device, through the host.
    pub fn to_device(&self, device: &Device) -> Result<Value> {
        if self.device == *device {
            return Ok(self.clone());
        }
        let source = self.buffer()?;
        match source.host_bytes() {
            Some(bytes) => Value::upload(device, bytes),
            None => {
                let mut bytes = room_for("to_device", source.len())?;
                bytes.resize(source.len(), 0);
                self.read(0, &mut bytes)?;
                Value::upload(device, &bytes)
            }
        }
    }

    /// A copy of host bytes.
    pub fn upload(device: &Device, bytes: &[u8]) -> Result<Value> {
        crate::fork::check(device)?;
        device.traffic().add_written(bytes.len());
        let buffer = device.backend().allocate(bytes.len())?;
        device.backend().upload(&buffer, 0, bytes)?;
        Ok(Value::new(device.clone(), buffer))
    }
}

/// The value of a leaf. While a function is being compiled, its arguments have none.
pub(crate) fn value_of(leaf: &Leaf) -> Result<&Value> {
    value_in(&leaf.payload)
}

pub(crate) fn value_in(payload: &Payload) -> Result<&Value> {
    payload.downcast_ref().ok_or_else(|| {
        Error::argument(
            "eval",
            "a value was requested while tracing a compiled function; its arguments have none yet",
        )
    })
}

/// A run that was submitted and has not been waited for.
pub(crate) struct Pending {
    device: Device,
    /// The length of the chain of runs that this one depends on.
    depth: usize,
    run: Mutex<Option<InFlight>>,
    outcome: OnceLock<Result<()>>,
}

/// The resources of a run until it ends. Buffers that it reads or writes must not be reused before.
struct InFlight {
    fence: Fence,
    _leaves: SmallVec<[Buffer; 8]>,
    before: SmallVec<[Arc<Pending>; 2]>,
}

/// Maximum length of a chain of runs in flight. More would hold memory without keeping the device any busier.
const MAX_DEPTH: usize = 16;

impl Pending {
    /// A run over `leaves`, some of which are written by the runs `before` it.
    pub fn new(
        device: &Device,
        fence: Fence,
        leaves: SmallVec<[Buffer; 8]>,
        before: SmallVec<[Arc<Pending>; 2]>,
    ) -> Arc<Pending> {
        let depth = before.iter().map(|run| run.depth + 1).max().unwrap_or(0);
        let run = Mutex::new(Some(InFlight { fence, _leaves: leaves, before }));
        Arc::new(Pending { device: device.clone(), depth, run, outcome: OnceLock::new() })
    }

    /// Whether the chain behind this run is so long that the next run has to wait for it.
    pub fn is_deep(&self) -> bool {
        self.depth + 1 >= MAX_DEPTH
    }

    fn succeeded(&self) -> bool {
        matches!(self.outcome.get(), Some(Ok(())))
    }

    /// Waits for the end. An error of a run that this one depends on is this run's error too.
    pub fn wait(&self) -> Result<()> {
        if let Some(outcome) = self.outcome.get() {
            return outcome.clone();
        }
        // A second caller waits for the lock, and finds the outcome.
        let mut run = self.run.lock();
        // The leaves are bound, so that they live until the run has ended.
        let Some(InFlight { fence, _leaves, before }) = run.take() else {
            return self.outcome.get().cloned().unwrap_or_else(|| {
                let detail = "a run that this one depends on panicked";
                Err(Error::device(self.device.name(), detail))
            });
        };
        self.device.traffic().add_wait();
        let earlier = before.iter().try_for_each(|run| run.wait());
        let ended = fence.wait().and_then(|_| injected(Point::Submit, &self.device));
        let outcome = earlier.and(ended);
        self.outcome.get_or_init(|| outcome).clone()
    }
}
