//! Queues: one thread that runs command buffers in order.

use super::command::{CommandBuffer, CommandInner};
use super::device::Device;
use super::execute::Executor;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

/// A queue of command buffers. Cloning gives the same queue.
#[derive(Debug, Clone)]
pub struct Queue(Arc<QueueInner>);

#[derive(Debug)]
struct QueueInner {
    device: Device,
    sender: Sender<Arc<CommandInner>>,
}

impl Queue {
    pub(crate) fn new(device: &Device) -> Queue {
        let (sender, receiver) = channel::<Arc<CommandInner>>();
        let owner = device.clone();
        let body = move || {
            let mut executor = Executor::new(owner);
            while let Ok(command) = receiver.recv() {
                executor.run(&command);
            }
        };
        // Without a thread, `commit` finds the channel closed and fails the command buffer.
        let _ = std::thread::Builder::new().name("softmetal-queue".into()).spawn(body);
        Queue(Arc::new(QueueInner { device: device.clone(), sender }))
    }

    /// A command buffer that keeps its buffers alive.
    pub fn command_buffer(&self) -> CommandBuffer {
        CommandBuffer::new(self.0.device.clone(), self.0.sender.clone(), true)
    }

    /// A command buffer that does not keep its buffers alive: using one that was freed is an error.
    pub fn command_buffer_unretained(&self) -> CommandBuffer {
        CommandBuffer::new(self.0.device.clone(), self.0.sender.clone(), false)
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.0.device
    }
}
