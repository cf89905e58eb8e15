//! Batches: one command buffer each.

use super::*;
use block2::RcBlock;
use objc2_metal::{
    MTLBarrierScope, MTLBlitCommandEncoder, MTLCommandBuffer, MTLCommandBufferStatus, MTLCommandEncoder,
    MTLComputeCommandEncoder, MTLDispatchType, MTLSize,
};

/// A committed command buffer.
pub struct AppleRunning {
    command: Retained<ProtocolObject<dyn MTLCommandBuffer>>,
}

// SAFETY: after `commit` a command buffer is only waited for and asked for its outcome, which any thread may do.
unsafe impl Send for AppleRunning {}

/// The code of `MTLCommandBufferErrorOutOfMemory`.
const OUT_OF_MEMORY: isize = 8;

impl AppleRunning {
    /// Encodes and commits a batch, behind the `before` batches handed over so far.
    pub fn start(device: &AppleDevice, batch: Batch<'_>, before: u64) -> Result<AppleRunning> {
        let none = || DriverError::Failed("Metal gave no command buffer".into());
        let capturing = device.capture.begin(&device.device);
        let command = device.queue.commandBuffer().ok_or_else(none)?;
        command.setLabel(Some(&NSString::from_str(batch.label)));
        command.encodeWaitForEvent_value(&device.event, before);
        encode(&command, batch.commands)?;
        command.encodeSignalEvent_value(&device.event, before + 1);
        let keep = Mutex::new(Some(batch.keep));
        let done =
            RcBlock::new(move |_: NonNull<ProtocolObject<dyn MTLCommandBuffer>>| drop(keep.lock().take()));
        // SAFETY: the block is a valid one, which Metal copies; what it captures may be dropped on any thread.
        unsafe { command.addCompletedHandler(RcBlock::as_ptr(&done)) };
        if let Some(residency) = &device.residency {
            residency.commit();
        }
        command.commit();
        if capturing {
            command.waitUntilCompleted();
            device.capture.end();
        }
        Ok(AppleRunning { command })
    }
}

impl Running for AppleRunning {
    fn wait(self: Box<Self>) -> Result<Finished> {
        self.command.waitUntilCompleted();
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

/// The encoder that is open, of the kind that the next command needs.
enum Open {
    None,
    Compute(Retained<ProtocolObject<dyn MTLComputeCommandEncoder>>),
    Blit(Retained<ProtocolObject<dyn MTLBlitCommandEncoder>>),
}

/// The open encoder; it must end before it goes, also where encoding fails.
struct Encoder(Open);

impl Encoder {
    fn close(&mut self) {
        match &self.0 {
            Open::None => {}
            Open::Compute(encoder) => encoder.endEncoding(),
            Open::Blit(encoder) => encoder.endEncoding(),
        }
        self.0 = Open::None;
    }
}

impl Drop for Encoder {
    fn drop(&mut self) {
        self.close();
    }
}

fn encode(command: &ProtocolObject<dyn MTLCommandBuffer>, commands: &[Command<'_>]) -> Result<()> {
    let none = || DriverError::Failed("Metal gave no encoder".into());
    let mut open = Encoder(Open::None);
    for item in commands {
        match item {
            Command::Barrier => {
                if let Open::Compute(encoder) = &open.0 {
                    encoder.memoryBarrierWithScope(MTLBarrierScope::Buffers);
                }
            }
            Command::Dispatch(dispatch) => {
                if !matches!(open.0, Open::Compute(_)) {
                    open.close();
                    let encoder = command.computeCommandEncoderWithDispatchType(MTLDispatchType::Concurrent);
                    open.0 = Open::Compute(encoder.ok_or_else(none)?);
                }
                if let Open::Compute(encoder) = &open.0 {
                    launch(encoder, dispatch)?;
                }
            }
            Command::Copy { from, to, bytes } => {
                if !matches!(open.0, Open::Blit(_)) {
                    open.close();
                    open.0 = Open::Blit(command.blitCommandEncoder().ok_or_else(none)?);
                }
                if let Open::Blit(encoder) = &open.0 {
                    let (source, target) = (memory::own(from.0)?, memory::own(to.0)?);
                    let inside = |m: &AppleMemory, at: usize| {
                        at.checked_add(*bytes).is_some_and(|end| end <= m.length())
                    };
                    if !inside(source, from.1) || !inside(target, to.1) {
                        return Err(DriverError::Failed(format!(
                            "a copy of {bytes} bytes leaves its buffers"
                        )));
                    }
                    // SAFETY: both ranges were checked.
                    unsafe {
                        encoder.copyFromBuffer_sourceOffset_toBuffer_destinationOffset_size(
                            source.buffer(),
                            from.1,
                            target.buffer(),
                            to.1,
                            *bytes,
                        );
                    }
                }
            }
        }
    }
    open.close();
    Ok(())
}

fn launch(encoder: &ProtocolObject<dyn MTLComputeCommandEncoder>, dispatch: &Dispatch<'_>) -> Result<()> {
    let pipeline: &ApplePipeline = (&**dispatch.pipeline as &dyn Any)
        .downcast_ref()
        .ok_or_else(|| DriverError::Failed("a pipeline of another device was used".into()))?;
    let threads: u64 = dispatch.threads.iter().map(|&n| u64::from(n)).product();
    if threads == 0 || threads > u64::from(pipeline.max_threads()) {
        return Err(DriverError::Failed(format!(
            "{}: groups of {threads} threads; the kernel takes 1 to {}",
            dispatch.label,
            pipeline.max_threads()
        )));
    }
    encoder.pushDebugGroup(&NSString::from_str(dispatch.label));
    encoder.setComputePipelineState(&pipeline.0);
    for (index, argument) in dispatch.arguments.iter().enumerate() {
        match argument {
            Argument::Buffer(memory, offset) => {
                let own = memory::own(memory)?;
                if *offset > own.length() {
                    return Err(DriverError::Failed(format!(
                        "{}: argument {index} starts at byte {offset} of {}",
                        dispatch.label,
                        own.length()
                    )));
                }
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
    encoder.popDebugGroup();
    Ok(())
}

fn size([width, height, depth]: [u32; 3]) -> MTLSize {
    MTLSize { width: width as usize, height: height as usize, depth: depth as usize }
}
