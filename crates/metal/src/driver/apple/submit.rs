//! Batches: one command buffer each.

use super::*;
use block2::RcBlock;
use objc2_metal::{
    MTLBarrierScope, MTLCommandBuffer, MTLCommandBufferStatus, MTLCommandEncoder, MTLComputeCommandEncoder,
    MTLDispatchType, MTLSize,
};

/// A committed command buffer.
pub struct AppleRunning {
    command: Retained<ProtocolObject<dyn MTLCommandBuffer>>,
    keep: Keep,
}

// SAFETY: after `commit` a command buffer is only waited for and asked for its outcome, which any thread may do.
unsafe impl Send for AppleRunning {}

/// The code of `MTLCommandBufferErrorOutOfMemory`.
const OUT_OF_MEMORY: isize = 8;

impl AppleRunning {
    /// Encodes and commits a batch, behind the `before` batches handed over so far.
    pub fn start(device: &AppleDevice, batch: Batch<'_>, before: u64) -> Result<AppleRunning> {
        let capturing = device.capture.begin(&device.device)?;
        let none = || DriverError::Failed("Metal could not create a command buffer".into());
        let command = device.queue.commandBuffer().ok_or_else(none)?;
        command.setLabel(Some(&NSString::from_str(batch.label)));
        let event = ProtocolObject::from_ref(&*device.event);
        command.encodeWaitForEvent_value(event, before);
        encode(&command, batch.commands)?;
        command.encodeSignalEvent_value(event, before + 1);
        let keep: Keep = Arc::new(Mutex::new(Some(batch.keep)));
        let done = at_the_end(device.event.clone(), before + 1, keep.clone());
        // SAFETY: the block is a valid one, which Metal copies; what it captures may be used and dropped on any thread.
        unsafe { command.addCompletedHandler(RcBlock::as_ptr(&done)) };
        if let Some(residency) = &device.residency {
            residency.commit();
        }
        command.commit();
        if capturing.is_some() {
            command.waitUntilCompleted();
        }
        Ok(AppleRunning { command, keep })
    }
}

/// What happens when a command buffer ends: a failed one has signalled nothing, and the next batch waits for it.
fn at_the_end(
    event: Retained<ProtocolObject<dyn MTLSharedEvent>>,
    value: u64,
    keep: Keep,
) -> RcBlock<dyn Fn(NonNull<ProtocolObject<dyn MTLCommandBuffer>>)> {
    RcBlock::new(move |command: NonNull<ProtocolObject<dyn MTLCommandBuffer>>| {
        // SAFETY: Metal calls handlers with a command buffer that lives during the call.
        let failed = unsafe { command.as_ref() }.status() == MTLCommandBufferStatus::Error;
        if failed && event.signaledValue() < value {
            event.setSignaledValue(value);
        }
        drop(keep.lock().take());
    })
}

impl Running for AppleRunning {
    fn wait(self: Box<Self>) -> Result<Finished> {
        autoreleasepool(|_| self.outcome())
    }
}

impl AppleRunning {
    fn outcome(&self) -> Result<Finished> {
        self.command.waitUntilCompleted();
        drop(self.keep.lock().take());
        if self.command.status() == MTLCommandBufferStatus::Error {
            let error = self.command.error();
            let message = error.as_ref().map_or_else(|| "no reason given".to_string(), |e| text(e));
            return Err(match error.map(|e| e.code()) {
                Some(OUT_OF_MEMORY) => DriverError::OutOfMemory(message),
                _ => DriverError::Failed(format!("the command buffer failed: {message}")),
            });
        }
        let seconds = self.command.GPUEndTime() - self.command.GPUStartTime();
        Ok(Finished { seconds, command_buffers: 1, ..Finished::default() })
    }
}

/// An encoder, which must end before it goes, also where encoding fails.
struct Encoder(Retained<ProtocolObject<dyn MTLComputeCommandEncoder>>);

impl Drop for Encoder {
    fn drop(&mut self) {
        self.0.endEncoding();
    }
}

/// A debug group, which must be closed before its encoder ends.
struct Group<'a>(&'a ProtocolObject<dyn MTLComputeCommandEncoder>);

impl<'a> Group<'a> {
    fn open(encoder: &'a ProtocolObject<dyn MTLComputeCommandEncoder>, label: &str) -> Group<'a> {
        encoder.pushDebugGroup(&NSString::from_str(label));
        Group(encoder)
    }
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        self.0.popDebugGroup();
    }
}

fn encode(command: &ProtocolObject<dyn MTLCommandBuffer>, commands: &[Command<'_>]) -> Result<()> {
    let encoder = command
        .computeCommandEncoderWithDispatchType(MTLDispatchType::Concurrent)
        .ok_or_else(|| DriverError::Failed("Metal could not create an encoder".into()))?;
    let encoder = Encoder(encoder);
    for item in commands {
        match item {
            Command::Barrier => encoder.0.memoryBarrierWithScope(MTLBarrierScope::Buffers),
            Command::Dispatch(dispatch) => launch(&encoder.0, dispatch)?,
        }
    }
    Ok(())
}

fn launch(encoder: &ProtocolObject<dyn MTLComputeCommandEncoder>, dispatch: &Dispatch<'_>) -> Result<()> {
    let pipeline: &ApplePipeline = (&**dispatch.pipeline as &dyn Any)
        .downcast_ref()
        .ok_or_else(|| DriverError::Failed("cannot use a pipeline of another device".into()))?;
    let threads: u64 = dispatch.threads.iter().map(|&n| u64::from(n)).product();
    if threads == 0 || threads > u64::from(pipeline.max_threads()) {
        return Err(DriverError::Failed(format!(
            "{}: threadgroups of {threads} threads; the kernel supports 1 to {}",
            dispatch.label,
            pipeline.max_threads()
        )));
    }
    let _group = Group::open(encoder, dispatch.label);
    encoder.setComputePipelineState(&pipeline.0);
    for (index, argument) in dispatch.arguments.iter().enumerate() {
        match argument {
            Argument::Buffer(memory, offset) => {
                let own = memory::own(memory)?;
                check_offset(dispatch, index, memory, *offset)?;
                // SAFETY: the offset lies in the buffer; the batch keeps it alive until it ends.
                unsafe { encoder.setBuffer_offset_atIndex(Some(own.buffer()), *offset, index) };
            }
            Argument::Bytes(bytes) => {
                // SAFETY: the pointer is to that many bytes, which Metal copies during the call.
                unsafe {
                    encoder.setBytes_length_atIndex(NonNull::from(*bytes).cast(), bytes.len(), index);
                }
            }
        }
    }
    if dispatch.threadgroup_memory > 0 {
        // SAFETY: the length is a multiple of 16, as the driver's contract asks.
        unsafe { encoder.setThreadgroupMemoryLength_atIndex(dispatch.threadgroup_memory as usize, 0) };
    }
    let threads = size(dispatch.threads);
    match dispatch.grid {
        Grid::Groups(groups) => encoder.dispatchThreadgroups_threadsPerThreadgroup(size(groups), threads),
        Grid::Threads(grid) => encoder.dispatchThreads_threadsPerThreadgroup(size(grid), threads),
    }
    Ok(())
}

fn size([width, height, depth]: [u32; 3]) -> MTLSize {
    MTLSize { width: width as usize, height: height as usize, depth: depth as usize }
}
