//! Batches: dispatches submitted to the device as one command buffer.

use super::buffer::Lent;
use super::{Buffer, Device, Kernel};
use crate::driver::{self, Command, Dispatch, DispatchProfile, Finished, Grid, Running};
use wootz_ir::Result;

/// An argument of a kernel.
#[derive(Clone)]
pub enum Argument {
    /// A buffer from a byte offset on.
    Buffer(Buffer, usize),
    /// A copy of a few bytes, 1 to 4096.
    Bytes(Vec<u8>),
}

impl From<&Buffer> for Argument {
    fn from(buffer: &Buffer) -> Argument {
        Argument::Buffer(buffer.clone(), 0)
    }
}

impl Argument {
    /// A value as bytes, for a `constant T&` parameter.
    pub fn value<T: bytemuck::NoUninit>(value: T) -> Argument {
        Argument::Bytes(bytemuck::bytes_of(&value).to_vec())
    }
}

/// A batch of dispatches under construction. They may overlap unless a barrier separates them.
pub struct Batch {
    device: Device,
    items: Vec<Item>,
}

enum Item {
    Barrier,
    Launch(Launch),
}

struct Launch {
    kernel: Kernel,
    arguments: Vec<Argument>,
    grid: Grid,
    threads: [u32; 3],
    threadgroup_memory: u32,
}

/// Timings and counters of a finished batch.
#[derive(Clone, Debug, Default)]
pub struct Timing {
    /// Seconds on the device, in all.
    pub seconds: f64,
    /// Seconds of each dispatch, if requested.
    pub launches: Vec<f64>,
    /// Counters of each launch, where the device counts (SoftMetal with `profile`).
    pub profiles: Vec<DispatchProfile>,
}

/// Maximum size of inline bytes in Metal.
const MAX_INLINE: usize = 4096;
/// Maximum number of arguments in Metal.
const MAX_ARGUMENTS: usize = 31;

impl Batch {
    pub(super) fn new(device: &Device) -> Batch {
        Batch { device: device.clone(), items: Vec::new() }
    }

    /// Adds a launch of a kernel over a grid, in groups of `threads`.
    pub fn dispatch(
        self,
        kernel: &Kernel,
        arguments: &[Argument],
        grid: Grid,
        threads: [u32; 3],
    ) -> Result<Batch> {
        self.dispatch_with_memory(kernel, arguments, grid, threads, 0)
    }

    /// The same with bytes of dynamic threadgroup memory at index 0, a multiple of 16.
    pub fn dispatch_with_memory(
        mut self,
        kernel: &Kernel,
        arguments: &[Argument],
        grid: Grid,
        threads: [u32; 3],
        threadgroup_memory: u32,
    ) -> Result<Batch> {
        let fail = |detail: String| Err(self.device.error(format!("kernel `{}`: {detail}", kernel.name())));
        if kernel.device != self.device {
            return fail("the kernel was compiled for another device".into());
        }
        let count: u64 = threads.iter().map(|&n| u64::from(n)).product();
        if count == 0 || count > u64::from(kernel.max_threads()) {
            return fail(format!(
                "threadgroups of {threads:?} threads; must be 1 to {}",
                kernel.max_threads()
            ));
        }
        if arguments.len() > MAX_ARGUMENTS {
            return fail(format!("{} arguments; Metal supports at most {MAX_ARGUMENTS}", arguments.len()));
        }
        let limit = self.device.facts().max_threadgroup_memory;
        if !threadgroup_memory.is_multiple_of(16) || kernel.threadgroup_memory() + threadgroup_memory > limit
        {
            return fail(format!(
                "{threadgroup_memory} bytes of threadgroup memory; must be a multiple of 16, and at most {limit} together with the kernel's own {}",
                kernel.threadgroup_memory()
            ));
        }
        for (index, argument) in arguments.iter().enumerate() {
            match argument {
                Argument::Buffer(buffer, _) if buffer.0.device != self.device => {
                    return fail(format!("argument {index} is a buffer of another device"));
                }
                Argument::Buffer(buffer, offset) if *offset >= buffer.len() => {
                    return fail(format!(
                        "argument {index} starts at byte {offset} of a buffer of {}",
                        buffer.len()
                    ));
                }
                Argument::Bytes(bytes) if bytes.is_empty() || bytes.len() > MAX_INLINE => {
                    return fail(format!(
                        "argument {index} has {} bytes; must be 1 to {MAX_INLINE}",
                        bytes.len()
                    ));
                }
                Argument::Buffer(..) | Argument::Bytes(_) => {}
            }
        }
        self.items.push(Item::Launch(Launch {
            kernel: kernel.clone(),
            arguments: arguments.to_vec(),
            grid,
            threads,
            threadgroup_memory,
        }));
        Ok(self)
    }

    /// Makes earlier writes visible to later dispatches.
    #[must_use]
    pub fn barrier(mut self) -> Batch {
        self.items.push(Item::Barrier);
        self
    }

    /// Starts the batch as one command buffer.
    pub fn start(self) -> Result<Pending> {
        let lent = self.lend()?;
        let running = self.submit(&self.items)?;
        Ok(Pending { device: self.device.clone(), running: Some(running), _lent: lent })
    }

    /// Runs the batch to completion.
    pub fn run(self) -> Result<Timing> {
        self.start()?.wait()
    }

    /// Runs each dispatch in its own command buffer, one after the other, and returns the time of each.
    pub fn run_timed(self) -> Result<Timing> {
        let _lent = self.lend()?;
        let mut timing = Timing::default();
        for item in self.items.iter().filter(|item| matches!(item, Item::Launch(_))) {
            let finished =
                self.submit(std::slice::from_ref(item))?.wait().map_err(|e| self.device.failed(e))?;
            timing.seconds += finished.seconds;
            timing.launches.push(finished.seconds);
            timing.profiles.extend(finished.profiles);
        }
        Ok(timing)
    }

    /// All buffers of the batch, taken from the host until it ends.
    fn lend(&self) -> Result<Vec<Lent>> {
        buffers(&self.items).map(Buffer::lend).collect()
    }

    fn submit(&self, items: &[Item]) -> Result<Box<dyn Running>> {
        let arguments: Vec<Vec<driver::Argument<'_>>> = items
            .iter()
            .map(|item| match item {
                Item::Barrier => vec![],
                Item::Launch(launch) => launch.arguments.iter().map(bound).collect(),
            })
            .collect();
        let commands: Vec<Command<'_>> = items
            .iter()
            .zip(&arguments)
            .map(|(item, arguments)| match item {
                Item::Barrier => Command::Barrier,
                Item::Launch(launch) => Command::Dispatch(Dispatch {
                    pipeline: &launch.kernel.pipeline,
                    label: launch.kernel.name(),
                    arguments,
                    threadgroup_memory: launch.threadgroup_memory,
                    grid: launch.grid,
                    threads: launch.threads,
                }),
            })
            .collect();
        let keep: Vec<Buffer> = buffers(items).cloned().collect();
        let batch = driver::Batch { label: "wootz batch", commands: &commands, keep: Box::new(keep) };
        self.device.driver().submit(batch).map_err(|e| self.device.failed(e))
    }
}

/// The buffers that launches use.
fn buffers(items: &[Item]) -> impl Iterator<Item = &Buffer> {
    let arguments = items.iter().flat_map(|item| match item {
        Item::Launch(launch) => &launch.arguments[..],
        Item::Barrier => &[],
    });
    arguments.filter_map(|argument| match argument {
        Argument::Buffer(buffer, _) => Some(buffer),
        Argument::Bytes(_) => None,
    })
}

fn bound(argument: &Argument) -> driver::Argument<'_> {
    match argument {
        Argument::Buffer(buffer, offset) => driver::Argument::Buffer(buffer.0.memory.place().0, *offset),
        Argument::Bytes(bytes) => driver::Argument::Bytes(bytes),
    }
}

/// A running batch. Dropping it waits for completion.
pub struct Pending {
    device: Device,
    running: Option<Box<dyn Running>>,
    _lent: Vec<Lent>,
}

impl Pending {
    /// Waits for completion.
    pub fn wait(mut self) -> Result<Timing> {
        let Some(running) = self.running.take() else { return Ok(Timing::default()) };
        let Finished { seconds, profiles, .. } = running.wait().map_err(|e| self.device.failed(e))?;
        Ok(Timing { seconds, launches: vec![], profiles })
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            let _ = running.wait();
        }
    }
}
