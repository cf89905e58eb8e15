//! The driver over Apple's Metal.
//!
//! Buffers are untracked: the plan's barriers order dispatches inside a batch, and an event orders batches, which
//! therefore run one after the other although Metal could overlap them. A batch that fails signals its event from the
//! host, so that the next one runs. Every call has its own autorelease pool, because the threads of a Rust program
//! have none. All objects are labelled for Instruments. `WOOTZ_METAL_CAPTURE=file.gputrace` writes a trace of the
//! first batch (`METAL_CAPTURE_ENABLED=1` allows it outside Xcode).

mod archive;
mod capture;
mod memory;
mod submit;

use super::*;
use archive::Archive;
use capture::Capture;
use memory::{AppleMemory, Residency};
use objc2::available;
use objc2::rc::{Retained, autoreleasepool};
use objc2::runtime::ProtocolObject;
use objc2_foundation::{NSError, NSString};
use objc2_metal::{
    MTLCommandQueue, MTLCompileOptions, MTLComputePipelineDescriptor, MTLComputePipelineState,
    MTLCopyAllDevices, MTLCreateSystemDefaultDevice, MTLDataType, MTLDevice, MTLFunction,
    MTLFunctionConstantValues, MTLGPUFamily, MTLLanguageVersion, MTLLibrary, MTLPipelineOption,
    MTLSharedEvent,
};
use parking_lot::Mutex;
use std::ptr::NonNull;
use submit::AppleRunning;

/// An Apple GPU.
pub struct AppleDevice {
    device: Retained<ProtocolObject<dyn MTLDevice>>,
    queue: Retained<ProtocolObject<dyn MTLCommandQueue>>,
    /// Orders batches; the count is of those handed over.
    event: Retained<ProtocolObject<dyn MTLSharedEvent>>,
    submitted: Mutex<u64>,
    residency: Option<Arc<Residency>>,
    archive: Archive,
    capture: Capture,
    facts: Facts,
}

// SAFETY: devices, command queues, events, libraries and pipeline states are documented as safe to use from several threads; what is
// not (archive, residency set, the order of batches) is behind locks.
unsafe impl Send for AppleDevice {}
// SAFETY: its objects are documented as safe to use from several threads at once, or are behind locks.
unsafe impl Sync for AppleDevice {}

/// A compiled kernel.
struct ApplePipeline(Retained<ProtocolObject<dyn MTLComputePipelineState>>);

// SAFETY: pipeline states are immutable and documented as thread-safe.
unsafe impl Send for ApplePipeline {}
// SAFETY: pipeline states are immutable and documented as thread-safe.
unsafe impl Sync for ApplePipeline {}

impl PipelineObject for ApplePipeline {
    fn max_threads(&self) -> u32 {
        self.0.maxTotalThreadsPerThreadgroup() as u32
    }

    fn simd_width(&self) -> u32 {
        self.0.threadExecutionWidth() as u32
    }

    fn static_memory(&self) -> u32 {
        self.0.staticThreadgroupMemoryLength() as u32
    }
}

/// The text of an error of the system.
fn text(error: &NSError) -> String {
    format!("{} (code {})", error.localizedDescription(), error.code())
}

fn facts(device: &ProtocolObject<dyn MTLDevice>, family: &str) -> Facts {
    let is_apple = family.starts_with("apple");
    Facts {
        name: device.name().to_string(),
        family: family.to_string(),
        simd_width: 32,
        simdgroup_matrix: is_apple,
        bfloat: is_apple,
        max_threads: device.maxThreadsPerThreadgroup().width as u32,
        max_threadgroup_memory: device.maxThreadgroupMemoryLength() as u32,
        max_buffer: device.maxBufferLength(),
        working_set: device.recommendedMaxWorkingSetSize() as usize,
        unified: device.hasUnifiedMemory(),
        page: usize::try_from(getpagesize()).unwrap_or(16 << 10),
        software: false,
    }
}

/// Families from the newest on, with their names. Older ones lack `simd_sum` and its like.
const FAMILIES: [(MTLGPUFamily, &str); 5] = [
    (MTLGPUFamily::Apple10, "apple10"),
    (MTLGPUFamily::Apple9, "apple9"),
    (MTLGPUFamily::Apple8, "apple8"),
    (MTLGPUFamily::Apple7, "apple7"),
    (MTLGPUFamily::Mac2, "mac2"),
];

// Without CoreGraphics in the process, macOS may give no default device.
#[cfg_attr(target_os = "macos", link(name = "CoreGraphics", kind = "framework"))]
unsafe extern "C" {}

unsafe extern "C" {
    /// Of the C library: bytes of a page.
    safe fn getpagesize() -> i32;
}

/// Only a compiled kernel tells how many lanes a simdgroup of a GPU has that is not Apple's.
const PROBE: &str = "#include <metal_stdlib>\nusing namespace metal;\nkernel void probe(device uint* x [[buffer(0)]]) { x[0] = 0; }";

/// The system's default device, or else its first.
fn system_device() -> Option<Retained<ProtocolObject<dyn MTLDevice>>> {
    MTLCreateSystemDefaultDevice().or_else(|| MTLCopyAllDevices().firstObject())
}

impl AppleDevice {
    /// The system's GPU; an error that says why, where there is none that the kernels run on.
    pub fn new() -> Result<AppleDevice> {
        autoreleasepool(|_| AppleDevice::open())
    }

    fn open() -> Result<AppleDevice> {
        if !available!(macos = 14.0, ios = 17.0, ..) {
            let reason = "the kernels are written in Metal 3.1, which needs macOS 14 or iOS 17";
            return Err(DriverError::Unavailable(reason.into()));
        }
        let device = system_device().ok_or_else(|| {
            DriverError::Unavailable("this machine has no Metal device; `softmetal` runs everywhere".into())
        })?;
        let name = device.name().to_string();
        let family = FAMILIES.iter().find(|(family, _)| device.supportsFamily(*family));
        let Some((_, family)) = family else {
            return Err(DriverError::Unavailable(format!(
                "{name} lacks simd reductions, which the kernels use: they need a GPU of family Apple7 (A14, M1) or Mac2, \
                 and a virtual machine has neither; use the cpu, or `softmetal`"
            )));
        };
        let missing = |what: &str| DriverError::Unavailable(format!("{name} could not create a {what}"));
        let queue = device.newCommandQueue().ok_or_else(|| missing("command queue"))?;
        queue.setLabel(Some(&NSString::from_str("wootz")));
        let event = device.newSharedEvent().ok_or_else(|| missing("event"))?;
        let residency = Residency::new(&device, &queue).map(Arc::new);
        let archive = Archive::open(&device, &name);
        let facts = facts(&device, family);
        let capture = Capture::current();
        let mut opened = AppleDevice {
            device,
            queue,
            event,
            submitted: Mutex::new(0),
            residency,
            archive,
            capture,
            facts,
        };
        if !opened.facts.simdgroup_matrix {
            let program =
                Program { source: PROBE, kernel: "probe", constants: &[], label: "probe", fast_math: false };
            opened.facts.simd_width = opened.pipeline(&program)?.simd_width();
        }
        Ok(opened)
    }

    fn function(&self, program: &Program<'_>) -> Result<Retained<ProtocolObject<dyn MTLFunction>>> {
        let failed = |message: String| DriverError::Compile { kernel: program.label.to_string(), message };
        let options = MTLCompileOptions::new();
        #[allow(deprecated, reason = "its successor is not there before macOS 15")]
        options.setFastMathEnabled(program.fast_math);
        options.setLanguageVersion(MTLLanguageVersion::Version3_1);
        let library = self
            .device
            .newLibraryWithSource_options_error(&NSString::from_str(program.source), Some(&options))
            .map_err(|e| failed(text(&e)))?;
        let values = MTLFunctionConstantValues::new();
        for (key, value) in program.constants {
            set_constant(&values, key, *value);
        }
        library
            .newFunctionWithName_constantValues_error(&NSString::from_str(program.kernel), &values)
            .map_err(|e| failed(text(&e)))
    }
}

fn set_constant(values: &MTLFunctionConstantValues, key: &ConstantKey, value: Constant) {
    let set = |pointer: NonNull<std::ffi::c_void>, kind: MTLDataType| match key {
        // SAFETY: the pointer is to a value of the type named, which Metal copies during the call.
        ConstantKey::Index(index) => unsafe {
            values.setConstantValue_type_atIndex(pointer, kind, *index as usize)
        },
        // SAFETY: the pointer is to a value of the type named, which Metal copies during the call.
        ConstantKey::Name(name) => unsafe {
            values.setConstantValue_type_withName(pointer, kind, &NSString::from_str(name))
        },
    };
    match value {
        Constant::Bool(v) => set(NonNull::from(&v).cast(), MTLDataType::Bool),
        Constant::Int(v) => set(NonNull::from(&v).cast(), MTLDataType::Int),
        Constant::Uint(v) => set(NonNull::from(&v).cast(), MTLDataType::UInt),
        Constant::Float(v) => set(NonNull::from(&v).cast(), MTLDataType::Float),
    }
}

impl Device for AppleDevice {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn buffer(&self, bytes: usize, storage: Storage) -> Result<Memory> {
        autoreleasepool(|_| {
            Ok(Arc::new(AppleMemory::new(&self.device, bytes, storage, self.residency.clone())?) as Memory)
        })
    }

    unsafe fn wrap(
        &self,
        start: *const u8,
        bytes: usize,
        owner: Box<dyn Any + Send + Sync>,
    ) -> Result<Memory> {
        autoreleasepool(|_| {
            // SAFETY: the caller's promise.
            let memory =
                unsafe { AppleMemory::wrap(&self.device, start, bytes, owner, self.residency.clone())? };
            Ok(Arc::new(memory) as Memory)
        })
    }

    fn pipeline(&self, program: &Program<'_>) -> Result<Pipeline> {
        autoreleasepool(|_| {
            let function = self.function(program)?;
            let descriptor = MTLComputePipelineDescriptor::new();
            descriptor.setLabel(Some(&NSString::from_str(program.label)));
            descriptor.setComputeFunction(Some(&function));
            let make = |option| {
                let device = &self.device;
                device.newComputePipelineStateWithDescriptor_options_reflection_error(
                    &descriptor,
                    option,
                    None,
                )
            };
            let state = self
                .archive
                .pipeline(&descriptor, make)
                .map_err(|e| DriverError::Compile { kernel: program.label.to_string(), message: text(&e) })?;
            Ok(Arc::new(ApplePipeline(state)) as Pipeline)
        })
    }

    fn persist(&self) {
        autoreleasepool(|_| self.archive.save());
    }

    fn submit(&self, batch: Batch<'_>) -> Result<Box<dyn Running>> {
        // Held until the batch is committed, so that batches get their numbers in the order in which they run.
        let mut submitted = self.submitted.lock();
        let running = autoreleasepool(|_| AppleRunning::start(self, batch, *submitted))?;
        *submitted += 1;
        Ok(Box::new(running))
    }

    fn allocated(&self) -> Option<usize> {
        Some(self.device.currentAllocatedSize())
    }
}
