//! What Metal leaves to the program inside of one encoder and in heaps: barriers, indirect arguments, memory behind pointers.

use metalhost::{Kind, Options, configure, take_reports, with_pool};
use objc2::rc::Retained;
use objc2::msg_send;
use objc2::runtime::{AnyObject, ProtocolObject};
use objc2_foundation::{NSArray, NSString};
use objc2_metal::*;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard};

const SOURCE: &str = "#include <metal_stdlib>
using namespace metal;
kernel void add(device float* y [[buffer(0)]], device const float* x [[buffer(1)]], uint i [[thread_position_in_grid]]) { y[i] = x[i] + 1; }
kernel void groups(device uint* n [[buffer(0)]], uint i [[thread_position_in_grid]]) { n[i] = 1; }
struct Far { device float* x; };
kernel void far(constant Far& f [[buffer(0)]], uint i [[thread_position_in_grid]]) { f.x[i] = 1; }
struct Scaled { float factor; device float* x; };
kernel void scale(constant Scaled& s [[buffer(0)]], uint i [[thread_position_in_grid]]) { s.x[i] = s.factor * i; }";

type Device = Retained<ProtocolObject<dyn MTLDevice>>;
type Buffer = Retained<ProtocolObject<dyn MTLBuffer>>;
type CommandBuffer = Retained<ProtocolObject<dyn MTLCommandBuffer>>;
type Encoder = Retained<ProtocolObject<dyn MTLComputeCommandEncoder>>;

struct Rig {
    device: Device,
    queue: Retained<ProtocolObject<dyn MTLCommandQueue>>,
    library: Retained<ProtocolObject<dyn MTLLibrary>>,
    _alone: MutexGuard<'static, ()>,
}

impl Rig {
    /// A device with SoftMetal's checker. Reports are the process's: one test at a time.
    fn new() -> Rig {
        static ALONE: Mutex<()> = Mutex::new(());
        let guard = ALONE.lock().unwrap_or_else(|e| e.into_inner());
        let mut options = Options::default();
        options.device.check = Some(Default::default());
        configure(options);
        take_reports();
        let device = MTLCreateSystemDefaultDevice().expect("a device");
        let library = device.newLibraryWithSource_options_error(&NSString::from_str(SOURCE), None);
        Rig {
            queue: device.newCommandQueue().expect("a queue"),
            library: library.expect("a library"),
            device,
            _alone: guard,
        }
    }

    fn buffer(&self, options: MTLResourceOptions) -> Buffer {
        self.device.newBufferWithLength_options(256, options).expect("a buffer")
    }

    fn set(&self, encoder: &Encoder, kernel: &str, buffers: &[&Buffer]) {
        let function = self.library.newFunctionWithName(&NSString::from_str(kernel)).expect("a function");
        let made = self.device.newComputePipelineStateWithFunction_error(&function);
        encoder.setComputePipelineState(&made.expect("a pipeline"));
        for (i, buffer) in buffers.iter().enumerate() {
            // SAFETY: the buffers are as large as the kernels need.
            unsafe { encoder.setBuffer_offset_atIndex(Some(buffer), 0, i) };
        }
    }

    fn command(&self) -> CommandBuffer {
        self.queue.commandBuffer().expect("a command buffer")
    }
}

fn size(width: usize) -> MTLSize {
    MTLSize { width, height: 1, depth: 1 }
}

fn launch(encoder: &Encoder) {
    encoder.dispatchThreads_threadsPerThreadgroup(size(8), size(8));
}

fn finish(command: &CommandBuffer) -> Option<String> {
    command.commit();
    command.waitUntilCompleted();
    command.error().map(|e| e.localizedDescription().to_string())
}

fn kinds() -> Vec<Kind> {
    take_reports().into_iter().map(|r| r.kind).collect()
}

const TRACKED: MTLResourceOptions = MTLResourceOptions::StorageModeShared;
const UNTRACKED: MTLResourceOptions = MTLResourceOptions::HazardTrackingModeUntracked;

#[derive(Clone, Copy, Debug)]
enum Barrier {
    None,
    Scope(MTLBarrierScope),
    Resource(usize),
}

/// b = a + 1, then c = b + 1, in one concurrent encoder with a barrier between; the error.
fn chain(barrier: Barrier) -> Option<String> {
    let rig = Rig::new();
    with_pool(|| {
        let [a, b, c] = [0; 3].map(|_| rig.buffer(TRACKED));
        let command = rig.command();
        let encoder = command.computeCommandEncoderWithDispatchType(MTLDispatchType::Concurrent);
        let encoder = encoder.expect("an encoder");
        rig.set(&encoder, "add", &[&b, &a]);
        launch(&encoder);
        match barrier {
            Barrier::None => {}
            Barrier::Scope(scope) => encoder.memoryBarrierWithScope(scope),
            Barrier::Resource(i) => {
                let chosen: &ProtocolObject<dyn MTLBuffer> = [&a, &b, &c][i];
                let resource: &ProtocolObject<dyn MTLResource> = ProtocolObject::from_ref(chosen);
                let mut list = [NonNull::from(resource)];
                // SAFETY: one resource is there.
                unsafe { encoder.memoryBarrierWithResources_count(NonNull::from(&mut list).cast(), 1) };
            }
        }
        rig.set(&encoder, "add", &[&c, &b]);
        launch(&encoder);
        encoder.endEncoding();
        let error = finish(&command);
        assert_eq!(kinds(), []);
        error
    })
}

#[test]
fn dispatches_of_a_concurrent_encoder_need_a_barrier_for_what_they_share() {
    for good in [Barrier::Scope(MTLBarrierScope::Buffers), Barrier::Resource(1)] {
        assert_eq!(chain(good), None, "{good:?}");
    }
    for bad in
        [Barrier::None, Barrier::Scope(MTLBarrierScope::Textures), Barrier::Resource(0), Barrier::Resource(2)]
    {
        let error = chain(bad).unwrap_or_else(|| panic!("{bad:?} was let through"));
        assert!(error.contains("no barrier orders the two"), "{bad:?}: {error}");
    }
}

#[test]
fn indirect_arguments_are_a_use() {
    let rig = Rig::new();
    with_pool(|| {
        let (y, counts) = (rig.buffer(TRACKED), rig.buffer(UNTRACKED));
        let command = rig.command();
        let encoder = command.computeCommandEncoder().expect("an encoder");
        rig.set(&encoder, "groups", &[&counts]);
        launch(&encoder);
        encoder.endEncoding();
        let encoder = command.computeCommandEncoder().expect("an encoder");
        rig.set(&encoder, "groups", &[&y]);
        // SAFETY: three numbers are there when the command runs.
        unsafe {
            encoder.dispatchThreadgroupsWithIndirectBuffer_indirectBufferOffset_threadsPerThreadgroup(
                &counts,
                0,
                size(8),
            );
        }
        encoder.endEncoding();
        assert_eq!(finish(&command), None);
        assert_eq!(kinds(), [Kind::Hazard]);
    });
}

/// A kernel writes through a pointer to a buffer; `name` may name it to the encoder. The error.
fn far(rig: &Rig, buffer: &Buffer, name: impl FnOnce(&Encoder)) -> Option<String> {
    let command = rig.command();
    let encoder = command.computeCommandEncoder().expect("an encoder");
    rig.set(&encoder, "far", &[]);
    let address = buffer.gpuAddress();
    // SAFETY: the kernel takes one pointer.
    unsafe { encoder.setBytes_length_atIndex(NonNull::from(&address).cast(), 8, 0) };
    name(&encoder);
    launch(&encoder);
    encoder.endEncoding();
    finish(&command)
}

#[test]
fn memory_behind_a_pointer_must_be_named() {
    let rig = Rig::new();
    with_pool(|| {
        let buffer = rig.buffer(TRACKED);
        let error = far(&rig, &buffer, |_| {}).expect("an error");
        assert!(error.contains("far"), "{error}");
        let named = far(&rig, &buffer, |encoder| {
            encoder.useResource_usage(ProtocolObject::from_ref(&*buffer), MTLResourceUsage::Write);
        });
        assert_eq!(named, None);
        assert_eq!(kinds(), []);
    });
}

/// What the kernel `scale` finds in an argument buffer that an encoder has filled.
fn scaled(rig: &Rig, arguments: &AnyObject) -> f32 {
    let (block, data) = (rig.buffer(TRACKED), rig.buffer(TRACKED));
    // SAFETY: the types are those of the methods, and the constant is a float.
    unsafe {
        let length: usize = msg_send![arguments, encodedLength];
        assert_eq!(length, 16);
        let _: () = msg_send![arguments, setArgumentBuffer: &*block, offset: 32usize];
        let _: () = msg_send![arguments, setBuffer: &*data, offset: 0usize, atIndex: 1usize];
        let factor: *mut std::ffi::c_void = msg_send![arguments, constantDataAtIndex: 0usize];
        factor.cast::<f32>().write(3.0);
    }
    let command = rig.command();
    let encoder = command.computeCommandEncoder().expect("an encoder");
    rig.set(&encoder, "scale", &[]);
    // SAFETY: the struct lies in the buffer.
    unsafe { encoder.setBuffer_offset_atIndex(Some(&block), 32, 0) };
    encoder.useResource_usage(ProtocolObject::from_ref(&*data), MTLResourceUsage::Write);
    launch(&encoder);
    encoder.endEncoding();
    assert_eq!(finish(&command), None);
    // SAFETY: the buffer has 256 bytes, and the GPU is done.
    unsafe { data.contents().cast::<f32>().add(2).read() }
}

#[test]
fn argument_encoders_fill_structs() {
    let rig = Rig::new();
    with_pool(|| {
        let function = rig.library.newFunctionWithName(&NSString::from_str("scale")).expect("a function");
        // SAFETY: the method takes an index and gives a new object.
        let of_function: Retained<AnyObject> =
            unsafe { msg_send![&*function, newArgumentEncoderWithBufferIndex: 0usize] };
        assert_eq!(scaled(&rig, &of_function), 6.0);
        // `MTLDataTypeFloat` and `MTLDataTypePointer`.
        let list: Vec<Retained<AnyObject>> = [(0usize, 3usize), (1, 60)]
            .into_iter()
            .map(|(index, kind)| {
                // SAFETY: the types are those of the methods.
                unsafe {
                    let made: Retained<AnyObject> = msg_send![objc2::class!(MTLArgumentDescriptor), argumentDescriptor];
                    let _: () = msg_send![&*made, setIndex: index];
                    let _: () = msg_send![&*made, setDataType: kind];
                    made
                }
            })
            .collect();
        let list = NSArray::from_retained_slice(&list);
        // SAFETY: the method takes an array and gives a new object.
        let of_list: Retained<AnyObject> =
            unsafe { msg_send![&*rig.device, newArgumentEncoderWithArguments: &*list] };
        assert_eq!(scaled(&rig, &of_list), 6.0);
        assert_eq!(kinds(), []);
    });
}

fn heap(rig: &Rig, kind: MTLHeapType) -> Retained<ProtocolObject<dyn MTLHeap>> {
    let descriptor = MTLHeapDescriptor::new();
    descriptor.setSize(1024);
    descriptor.setType(kind);
    descriptor.setStorageMode(MTLStorageMode::Shared);
    rig.device.newHeapWithDescriptor(&descriptor).expect("a heap")
}

#[test]
fn a_heap_that_is_used_is_read() {
    let rig = Rig::new();
    with_pool(|| {
        let heap = heap(&rig, MTLHeapType::Automatic);
        let buffer = heap.newBufferWithLength_options(256, TRACKED).expect("a buffer of the heap");
        assert_eq!(far(&rig, &buffer, |encoder| encoder.useHeap(&heap)), None);
        assert_eq!(kinds(), []);
        // Heaps are untracked: what an encoder may read, an encoder before it must not write without a fence.
        let command = rig.command();
        let encoder = command.computeCommandEncoder().expect("an encoder");
        rig.set(&encoder, "groups", &[&buffer]);
        launch(&encoder);
        encoder.endEncoding();
        let encoder = command.computeCommandEncoder().expect("an encoder");
        encoder.useHeap(&heap);
        encoder.endEncoding();
        assert_eq!(finish(&command), None);
        assert_eq!(kinds(), [Kind::Hazard]);
    });
}

#[test]
fn heaps_hand_out_places() {
    let rig = Rig::new();
    with_pool(|| {
        let automatic = heap(&rig, MTLHeapType::Automatic);
        let make = || automatic.newBufferWithLength_options(500, TRACKED);
        let (first, second) = (make().expect("the first"), make().expect("the second"));
        assert_eq!((first.heapOffset(), second.heapOffset(), automatic.usedSize()), (0, 512, 1024));
        assert!(make().is_none(), "the heap is full");
        // SAFETY: nothing uses its bytes any more.
        unsafe { first.makeAliasable() };
        let third = make().expect("a buffer in the place of the first");
        assert_eq!((third.heapOffset(), first.isAliasable(), third.isAliasable()), (0, true, false));
        drop(second);
        assert_eq!(automatic.maxAvailableSizeWithAlignment(256), 512);
        let placed = heap(&rig, MTLHeapType::Placement);
        // SAFETY: the place is inside of the heap.
        let buffer = unsafe { placed.newBufferWithLength_options_offset(256, TRACKED, 768) };
        assert_eq!(buffer.expect("a buffer").heapOffset(), 768);
        // SAFETY: it has no bytes that anyone uses.
        unsafe { rig.buffer(TRACKED).makeAliasable() };
        assert_eq!(kinds(), [Kind::Argument]);
    });
}
