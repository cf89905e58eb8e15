//! The device.

use super::options::{self, Fault, Options};
use super::{
    ARCHITECTURE as ARCHITECTURE_CLASS, DEVICE as DEVICE_CLASS, archive, argument, buffer, descriptor, event,
    heap, library, pipeline, queue, residency,
};
use crate::abi::{Block, Bool, Id, MTLSize, MTLSizeAndAlign, Out, methods};
use crate::foundation::{array, error, string, url};
use crate::objc::block::Held;
use crate::objc::object::Strong;
use crate::objc::selector;
use crate::report::{check_at_exit, raise};
use parking_lot::Mutex;
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a device holds.
#[derive(Debug)]
pub struct Device {
    /// The device under Metal.
    pub soft: softmetal::Device,
    /// The machine that is imitated.
    pub options: Options,
    /// Bytes of all buffers.
    pub allocated: AtomicUsize,
}

static DEFAULT: Mutex<Option<Strong>> = Mutex::new(None);

static REASON: Mutex<Option<String>> = Mutex::new(None);

/// Why the last device could not be opened, if one could not.
pub fn why_no_device() -> Option<String> {
    REASON.lock().take()
}

/// Lets the next call make another device.
pub fn forget() {
    let old = DEFAULT.lock().take();
    drop(old);
}

/// The one device of the machine.
fn device() -> Option<Strong> {
    let options = options::current();
    if options.no_device {
        return None;
    }
    let mut default = DEFAULT.lock();
    if default.is_none() {
        check_at_exit();
        match softmetal::Device::new(options.device.clone()) {
            Ok(soft) => {
                let content = Device { soft, options, allocated: AtomicUsize::new(0) };
                *default = Some(Strong::new(&DEVICE_CLASS, content));
            }
            Err(e) => {
                *REASON.lock() = Some(e.to_string());
                return None;
            }
        }
    }
    default.clone()
}

/// The system's default device, or nil.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn MTLCreateSystemDefaultDevice() -> Id {
    if options::current().no_default_device {
        return Id::NIL;
    }
    device().map_or(Id::NIL, Strong::into_owned)
}

/// All devices.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn MTLCopyAllDevices() -> Id {
    array::make(device().into_iter().collect()).into_owned()
}

/// All devices; the observer is nil, because no device comes or goes here.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn MTLCopyAllDevicesWithObserver(observer: Out, _handler: Block) -> Id {
    observer.set(Id::NIL);
    MTLCopyAllDevices()
}

/// There are no observers.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn MTLRemoveDeviceObserver(_observer: Id) {}

fn own(this: Id) -> &'static Device {
    this.expect::<Device>("the device")
}

/// Numbers of `MTLGPUFamily`.
const APPLE: isize = 1000;
const METAL3: isize = 5001;

impl Device {
    fn supports(&self, family: isize) -> bool {
        let soft = self.options.device.family;
        let newest = match (self.options.apple_family, soft) {
            (Some(family), _) => family as isize,
            (None, softmetal::Family::Mac2) => 0,
            (None, softmetal::Family::Apple7) => 7,
            (None, softmetal::Family::Apple8) => 8,
            (None, softmetal::Family::Apple9) => 9,
            (None, softmetal::Family::Apple10) => 10,
        };
        match family {
            1001..=1010 => family - APPLE <= newest,
            // Macs: those of Intel, and those of Apple from the first on.
            2001 | 2002 => newest == 0 || newest >= 7,
            3001..=3003 => true,
            METAL3 => self.options.metal3 && (newest == 0 || newest >= 7),
            _ => false,
        }
    }

    /// The name that Apple gives the generation of the GPU's family.
    fn architecture(&self) -> &'static str {
        match self.options.device.family {
            softmetal::Family::Mac2 => "mac2",
            softmetal::Family::Apple7 => "applegpu_g13g",
            softmetal::Family::Apple8 => "applegpu_g14g",
            softmetal::Family::Apple9 => "applegpu_g15g",
            softmetal::Family::Apple10 => "applegpu_g17g",
        }
    }

    /// Whether this selector is there on the system that is imitated.
    fn knows(&self, name: &str) -> bool {
        self.options.residency_sets || !name.contains("esidencySet")
    }
}

methods! { pub DEVICE;
    "name" (this) -> Id { string::make(own(this).soft.name()).autoreleased() }
    "registryID" (this) -> u64 { 1 }
    "location" (this) -> usize { 0 }
    "isLowPower" (this) -> Bool { false.into() }
    "isHeadless" (this) -> Bool { false.into() }
    "isRemovable" (this) -> Bool { false.into() }
    "hasUnifiedMemory" (this) -> Bool { (own(this).options.device.family != softmetal::Family::Mac2).into() }
    "supportsFamily:" (this, family: isize) -> Bool { own(this).supports(family).into() }
    "supportsFeatureSet:" (this, _set: usize) -> Bool { false.into() }
    "respondsToSelector:" (this, name: crate::abi::Sel) -> Bool {
        let there = crate::objc::class::find_method(&DEVICE_CLASS, name).is_some();
        (there && own(this).knows(&selector::text(name))).into()
    }
    "currentAllocatedSize" (this) -> usize { own(this).allocated.load(Ordering::Relaxed) }
    "recommendedMaxWorkingSetSize" (this) -> u64 { own(this).soft.limits().max_buffer_length }
    "architecture" (this) -> Id { Strong::new(&ARCHITECTURE_CLASS, Architecture(own(this).architecture())).autoreleased() }
    "counterSets" (this) -> Id { Id::NIL }
    "supportsCounterSampling:" (this, _point: usize) -> Bool { false.into() }
    "sampleTimestamps:gpuTimestamp:" (this, cpu: *mut c_void, gpu: *mut c_void) {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_nanos() as u64);
        // SAFETY: the sender gave two places for numbers.
        unsafe {
            cpu.cast::<u64>().write(now);
            gpu.cast::<u64>().write(now);
        }
    }
}

/// What an architecture holds.
struct Architecture(&'static str);

methods! { pub ARCHITECTURE;
    "name" (this) -> Id { string::make(this.expect::<Architecture>("the architecture").0).autoreleased() }
}

methods! { pub LIMITS;
    "maxThreadsPerThreadgroup" (this) -> MTLSize {
        let most = own(this).soft.limits().max_threads_per_threadgroup as usize;
        MTLSize { width: most, height: most, depth: most }
    }
    "maxThreadgroupMemoryLength" (this) -> usize { own(this).soft.limits().max_threadgroup_memory as usize }
    "maxBufferLength" (this) -> usize { own(this).soft.limits().max_buffer_length as usize }
    "maxArgumentBufferSamplerCount" (this) -> usize { 1024 }
    "argumentBuffersSupport" (this) -> usize { 1 }
    "readWriteTextureSupport" (this) -> usize { 0 }
    "areProgrammableSamplePositionsSupported" (this) -> Bool { false.into() }
    "supportsDynamicLibraries" (this) -> Bool { false.into() }
    "supportsFunctionPointers" (this) -> Bool { false.into() }
    "supportsRaytracing" (this) -> Bool { false.into() }
    "supports32BitFloatFiltering" (this) -> Bool { false.into() }
    "heapBufferSizeAndAlignWithLength:options:" (this, length: usize, _options: usize) -> MTLSizeAndAlign {
        MTLSizeAndAlign { size: length.next_multiple_of(heap::ALIGNMENT), align: heap::ALIGNMENT }
    }
}

methods! { pub MAKERS;
    "newCommandQueue" (this) -> Id { queue::make(this, queue::DEFAULT_COUNT) }
    "newCommandQueueWithMaxCommandBufferCount:" (this, count: usize) -> Id { queue::make(this, count) }
    "newCommandQueueWithDescriptor:" (this, wanted: Id) -> Id {
        queue::make(this, descriptor::number(wanted, "maxCommandBufferCount", queue::DEFAULT_COUNT))
    }
    "newBufferWithLength:options:" (this, length: usize, options: usize) -> Id { buffer::make(this, length, options, None) }
    "newBufferWithBytes:length:options:" (this, start: *const c_void, length: usize, options: usize) -> Id {
        buffer::make_with(this, start, length, options)
    }
    "newBufferWithBytesNoCopy:length:options:deallocator:" (this, start: *mut c_void, length: usize, options: usize, end: Block) -> Id {
        buffer::wrap(this, start, length, options, Held::new(end))
    }
    "newEvent" (this) -> Id { event::make(this, false) }
    "newSharedEvent" (this) -> Id { event::make(this, true) }
    "newFence" (this) -> Id { event::make_fence(this) }
    "newArgumentEncoderWithArguments:" (this, list: Id) -> Id { argument::from_descriptors(this, list) }
    "newHeapWithDescriptor:" (this, wanted: Id) -> Id { heap::make(this, wanted) }
    "newResidencySetWithDescriptor:error:" (this, _wanted: Id, out: Out) -> Id { residency::make(this, out) }
    "newBinaryArchiveWithDescriptor:error:" (this, wanted: Id, out: Out) -> Id { archive::open(this, wanted, out) }
}

/// The error of a library that does not compile.
fn refused(out: Out, message: impl Into<String>) -> Id {
    error::fail(out, "MTLLibraryErrorDomain", 3, message)
}

methods! { pub COMPILERS;
    "newLibraryWithSource:options:error:" (this, source: Id, wanted: Id, out: Out) -> Id {
        options::begin(out);
        if options::take_fault(|f| *f == Fault::NoLibrary).is_some() {
            return refused(out, "injected fault: the library does not compile");
        }
        match library::from_source(this, &string::expect(source, "the source"), wanted) {
            Ok(made) => made.into_owned(),
            Err(message) => refused(out, message),
        }
    }
    "newLibraryWithSource:options:completionHandler:" (this, source: Id, wanted: Id, done: Block) {
        let made = library::from_source(this, &string::expect(source, "the source"), wanted);
        let Some(done) = Held::new(done) else { raise("the handler must not be nil") };
        let (library, failure) = match made {
            Ok(library) => (library.autoreleased(), Id::NIL),
            Err(message) => (Id::NIL, error::make("MTLLibraryErrorDomain", 3, message).autoreleased()),
        };
        // SAFETY: handlers of this method take a library and an error.
        unsafe { done.call2(library, failure) };
    }
    "newDefaultLibrary" (this) -> Id { library::default_library(this) }
    "newLibraryWithFile:error:" (this, path: Id, out: Out) -> Id {
        library::from_file(this, &string::expect(path, "the path"), out)
    }
    "newLibraryWithURL:error:" (this, address: Id, out: Out) -> Id {
        library::from_file(this, &url::expect(address, "the address"), out)
    }
    "newComputePipelineStateWithFunction:error:" (this, function: Id, out: Out) -> Id {
        pipeline::make(this, function, Id::NIL, 0, out)
    }
    "newComputePipelineStateWithFunction:options:reflection:error:" (this, function: Id, wanted: usize, reflection: Out, out: Out) -> Id {
        let made = pipeline::make(this, function, Id::NIL, wanted, out);
        pipeline::reflect(made, wanted, reflection);
        made
    }
    "newComputePipelineStateWithDescriptor:options:reflection:error:" (this, given: Id, wanted: usize, reflection: Out, out: Out) -> Id {
        let function = descriptor::object(given, "computeFunction");
        let made = pipeline::make(this, function, given, wanted, out);
        pipeline::reflect(made, wanted, reflection);
        made
    }
}
