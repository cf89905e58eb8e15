//! Metal's compute classes over SoftMetal.

pub mod archive;
pub mod argument;
pub mod blit;
pub mod buffer;
pub mod capture;
pub mod command;
pub mod compute;
pub mod constants;
pub mod descriptor;
pub mod device;
pub mod event;
pub mod hazard;
pub mod heap;
pub mod library;
pub mod options;
pub mod pipeline;
pub mod queue;
pub mod residency;

use crate::abi::{Id, methods};
use crate::foundation::{NSOBJECT, spec, string};
use crate::objc::class::{ClassSpec, class_objects};
use crate::objc::object;

class_objects! {
    /// What a library is compiled with.
    COMPILE_OPTIONS "MTLCompileOptions",
    /// What a pipeline is made from.
    PIPELINE_DESCRIPTOR "MTLComputePipelineDescriptor",
    /// Values of function constants.
    CONSTANT_VALUES "MTLFunctionConstantValues",
    /// A function to be specialised.
    FUNCTION_DESCRIPTOR "MTLFunctionDescriptor",
    /// Functions that a pipeline may call.
    LINKED_FUNCTIONS "MTLLinkedFunctions",
    /// What an archive is opened from.
    ARCHIVE_DESCRIPTOR "MTLBinaryArchiveDescriptor",
    /// What a residency set is made from.
    RESIDENCY_DESCRIPTOR "MTLResidencySetDescriptor",
    /// What a heap is made from.
    HEAP_DESCRIPTOR "MTLHeapDescriptor",
    /// What a queue is made from.
    QUEUE_DESCRIPTOR "MTLCommandQueueDescriptor",
    /// What a command buffer is made from.
    COMMAND_DESCRIPTOR "MTLCommandBufferDescriptor",
    /// What a compute encoder is made from.
    PASS_DESCRIPTOR "MTLComputePassDescriptor",
    /// What a capture is started with.
    CAPTURE_DESCRIPTOR "MTLCaptureDescriptor",
    /// Captures.
    CAPTURE_MANAGER "MTLCaptureManager",
    /// What a capture covers.
    CAPTURE_SCOPE "SoftMetalCaptureScope",
    /// Who hears of shared events.
    EVENT_LISTENER "MTLSharedEventListener",
    /// The device.
    DEVICE "SoftMetalDevice",
    /// The GPU's architecture.
    ARCHITECTURE "MTLArchitecture",
    /// Queues.
    QUEUE "SoftMetalCommandQueue",
    /// Command buffers.
    COMMAND_BUFFER "SoftMetalCommandBuffer",
    /// Compute encoders.
    COMPUTE_ENCODER "SoftMetalComputeCommandEncoder",
    /// Blit encoders.
    BLIT_ENCODER "SoftMetalBlitCommandEncoder",
    /// Libraries.
    LIBRARY "SoftMetalLibrary",
    /// Functions.
    FUNCTION "SoftMetalFunction",
    /// Pipelines.
    PIPELINE "SoftMetalComputePipelineState",
    /// What a pipeline's arguments are.
    REFLECTION "MTLComputePipelineReflection",
    /// One argument of a pipeline.
    ARGUMENT "MTLArgument",
    /// What an argument encoder is made from.
    ARGUMENT_DESCRIPTOR "MTLArgumentDescriptor",
    /// Argument encoders.
    ARGUMENT_ENCODER "SoftMetalArgumentEncoder",
    /// Buffers.
    BUFFER "SoftMetalBuffer",
    /// Heaps.
    HEAP "SoftMetalHeap",
    /// Events of the device.
    EVENT "SoftMetalEvent",
    /// Events of device and host.
    SHARED_EVENT "SoftMetalSharedEvent",
    /// Fences.
    FENCE "SoftMetalFence",
    /// Residency sets.
    RESIDENCY_SET "SoftMetalResidencySet",
    /// Archives.
    ARCHIVE "SoftMetalBinaryArchive",
}

methods! {
    /// What everything with a name answers.
    pub LABEL;
    "label" (this) -> Id { object::label(this).map_or(Id::NIL, |label| string::make(label).autoreleased()) }
    "setLabel:" (this, label: Id) { object::set_label(this, string::text(label)); }
}

macro_rules! row {
    ($class:ident, $name:literal, [$($protocol:literal),*], [$($rows:expr),*] $(, class [$($class_rows:expr),*])?) => {
        spec!($class, $name < Some(&NSOBJECT), Counted, &[$($protocol),*], &[LABEL $(, $rows)*], &[$($($class_rows),*)?])
    };
}

pub static CLASSES: &[ClassSpec] = &[
    row!(COMPILE_OPTIONS, "MTLCompileOptions", ["NSCopying"], [descriptor::COMPILE_OPTIONS]),
    row!(PIPELINE_DESCRIPTOR, "MTLComputePipelineDescriptor", ["NSCopying"], [descriptor::PIPELINE]),
    row!(CONSTANT_VALUES, "MTLFunctionConstantValues", ["NSCopying"], [constants::VALUES]),
    row!(
        FUNCTION_DESCRIPTOR,
        "MTLFunctionDescriptor",
        ["NSCopying"],
        [descriptor::FUNCTION],
        class[descriptor::FUNCTION_CLASS]
    ),
    row!(
        LINKED_FUNCTIONS,
        "MTLLinkedFunctions",
        ["NSCopying"],
        [descriptor::LINKED],
        class[descriptor::LINKED_CLASS]
    ),
    row!(ARCHIVE_DESCRIPTOR, "MTLBinaryArchiveDescriptor", ["NSCopying"], [descriptor::ARCHIVE]),
    row!(RESIDENCY_DESCRIPTOR, "MTLResidencySetDescriptor", ["NSCopying"], [descriptor::RESIDENCY]),
    row!(HEAP_DESCRIPTOR, "MTLHeapDescriptor", ["NSCopying"], [descriptor::HEAP]),
    row!(QUEUE_DESCRIPTOR, "MTLCommandQueueDescriptor", ["NSCopying"], [descriptor::QUEUE]),
    row!(COMMAND_DESCRIPTOR, "MTLCommandBufferDescriptor", ["NSCopying"], [descriptor::COMMAND]),
    row!(
        PASS_DESCRIPTOR,
        "MTLComputePassDescriptor",
        ["NSCopying"],
        [descriptor::PASS],
        class[descriptor::PASS_CLASS]
    ),
    row!(
        ARGUMENT_DESCRIPTOR,
        "MTLArgumentDescriptor",
        ["NSCopying"],
        [descriptor::ARGUMENT],
        class[descriptor::ARGUMENT_CLASS]
    ),
    row!(ARGUMENT_ENCODER, "SoftMetalArgumentEncoder", ["MTLArgumentEncoder"], [argument::ENCODER]),
    row!(CAPTURE_DESCRIPTOR, "MTLCaptureDescriptor", ["NSCopying"], [descriptor::CAPTURE]),
    row!(CAPTURE_MANAGER, "MTLCaptureManager", [], [capture::MANAGER], class[capture::MANAGER_CLASS]),
    row!(CAPTURE_SCOPE, "SoftMetalCaptureScope", ["MTLCaptureScope"], [capture::SCOPE]),
    row!(EVENT_LISTENER, "MTLSharedEventListener", [], [event::LISTENER]),
    row!(
        DEVICE,
        "SoftMetalDevice",
        ["MTLDevice"],
        [device::DEVICE, device::LIMITS, device::MAKERS, device::COMPILERS]
    ),
    row!(ARCHITECTURE, "MTLArchitecture", ["NSCopying"], [device::ARCHITECTURE]),
    row!(QUEUE, "SoftMetalCommandQueue", ["MTLCommandQueue"], [queue::QUEUE]),
    row!(
        COMMAND_BUFFER,
        "SoftMetalCommandBuffer",
        ["MTLCommandBuffer"],
        [command::COMMAND, command::OUTCOME]
    ),
    row!(
        COMPUTE_ENCODER,
        "SoftMetalComputeCommandEncoder",
        ["MTLComputeCommandEncoder", "MTLCommandEncoder"],
        [compute::ENCODER, compute::DISPATCH]
    ),
    row!(
        BLIT_ENCODER,
        "SoftMetalBlitCommandEncoder",
        ["MTLBlitCommandEncoder", "MTLCommandEncoder"],
        [blit::ENCODER]
    ),
    row!(LIBRARY, "SoftMetalLibrary", ["MTLLibrary"], [library::LIBRARY]),
    row!(FUNCTION, "SoftMetalFunction", ["MTLFunction"], [library::FUNCTION]),
    row!(PIPELINE, "SoftMetalComputePipelineState", ["MTLComputePipelineState"], [pipeline::PIPELINE]),
    row!(REFLECTION, "MTLComputePipelineReflection", [], [pipeline::REFLECTION]),
    row!(ARGUMENT, "MTLArgument", ["MTLBinding", "MTLBufferBinding"], [pipeline::ARGUMENT]),
    row!(BUFFER, "SoftMetalBuffer", ["MTLBuffer", "MTLResource", "MTLAllocation"], [buffer::BUFFER]),
    row!(HEAP, "SoftMetalHeap", ["MTLHeap", "MTLAllocation"], [heap::HEAP]),
    row!(EVENT, "SoftMetalEvent", ["MTLEvent"], [event::EVENT]),
    row!(SHARED_EVENT, "SoftMetalSharedEvent", ["MTLSharedEvent", "MTLEvent"], [event::EVENT, event::SHARED]),
    row!(FENCE, "SoftMetalFence", ["MTLFence"], [event::EVENT]),
    row!(RESIDENCY_SET, "SoftMetalResidencySet", ["MTLResidencySet"], [residency::SET]),
    row!(ARCHIVE, "SoftMetalBinaryArchive", ["MTLBinaryArchive"], [archive::ARCHIVE]),
];
