//! Every trap that Metal leaves open is a report of the framework, and what Metal raises ends the process with the name of the call.

use block2::RcBlock;
use metalhost::{Fault, Kind, Options, configure, fail_next, take_reports, with_pool};
use objc2::rc::{Retained, autoreleasepool};
use objc2::runtime::{AnyObject, ProtocolObject};
use objc2::{msg_send, sel};
use objc2_foundation::{NSRange, NSString};
use objc2_metal::*;
use std::process::Command;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

const SOURCE: &str = "#include <metal_stdlib>
using namespace metal;
kernel void twice(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] *= 2; }
kernel void shared(device float* y [[buffer(0)]], threadgroup float* t [[threadgroup(0)]], uint i [[thread_position_in_grid]]) {
    t[i] = i;
    y[i] = t[i];
}
kernel void sum(device float* y [[buffer(0)]], device const float* x [[buffer(1)]]) { y[0] = x[0] + x[1]; }";

type Device = Retained<ProtocolObject<dyn MTLDevice>>;
type Queue = Retained<ProtocolObject<dyn MTLCommandQueue>>;
type Buffer = Retained<ProtocolObject<dyn MTLBuffer>>;
type Pipeline = Retained<ProtocolObject<dyn MTLComputePipelineState>>;
type CommandBuffer = Retained<ProtocolObject<dyn MTLCommandBuffer>>;
type Encoder = Retained<ProtocolObject<dyn MTLComputeCommandEncoder>>;

/// Reports are the process's: one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    let guard = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    configure(Options::default());
    take_reports();
    guard
}

fn kinds() -> Vec<Kind> {
    take_reports().into_iter().map(|r| r.kind).collect()
}

struct Rig {
    device: Device,
    queue: Queue,
    twice: Pipeline,
}

impl Rig {
    fn new() -> Rig {
        let device = MTLCreateSystemDefaultDevice().expect("a device");
        let queue = device.newCommandQueue().expect("a queue");
        Rig { queue, twice: pipeline(&device, "twice"), device }
    }

    fn buffer(&self, options: MTLResourceOptions) -> Buffer {
        self.device.newBufferWithLength_options(256, options).expect("a buffer")
    }

    fn command(&self) -> CommandBuffer {
        self.queue.commandBuffer().expect("a command buffer")
    }

    fn encode(&self, command: &CommandBuffer, buffer: &Buffer) -> Encoder {
        let encoder = command.computeCommandEncoder().expect("an encoder");
        self.dispatch(&encoder, buffer, 0);
        encoder
    }

    fn dispatch(&self, encoder: &Encoder, buffer: &Buffer, offset: usize) {
        encoder.setComputePipelineState(&self.twice);
        // SAFETY: the buffer is there, and what is wrong with the offset is what is tested.
        unsafe { encoder.setBuffer_offset_atIndex(Some(buffer), offset, 0) };
        encoder.dispatchThreads_threadsPerThreadgroup(size(8), size(8));
    }

    fn finish(&self, command: &CommandBuffer) {
        command.commit();
        command.waitUntilCompleted();
    }
}

fn pipeline(device: &Device, name: &str) -> Pipeline {
    let library = device.newLibraryWithSource_options_error(&NSString::from_str(SOURCE), None);
    let function = library.expect("a library").newFunctionWithName(&NSString::from_str(name));
    device.newComputePipelineStateWithFunction_error(&function.expect("a function")).expect("a pipeline")
}

fn size(width: usize) -> MTLSize {
    MTLSize { width, height: 1, depth: 1 }
}

const TRACKED: MTLResourceOptions = MTLResourceOptions::StorageModeShared;
const UNTRACKED: MTLResourceOptions = MTLResourceOptions::HazardTrackingModeUntracked;

#[test]
fn a_program_that_does_everything_right_is_left_alone() {
    let _alone = alone();
    with_pool(|| {
        let rig = Rig::new();
        let buffer = rig.buffer(TRACKED);
        let command = rig.command();
        rig.encode(&command, &buffer).endEncoding();
        rig.encode(&command, &buffer).endEncoding();
        rig.finish(&command);
        assert_eq!(command.status(), MTLCommandBufferStatus::Completed);
    });
    assert_eq!(kinds(), []);
}

#[test]
fn autoreleased_without_a_pool() {
    let _alone = alone();
    let rig = with_pool(Rig::new);
    std::thread::scope(|scope| {
        let queue = SendQueue(rig.queue.clone());
        scope.spawn(move || drop(queue.get().commandBuffer()));
    });
    let reports = take_reports();
    assert_eq!(reports.iter().map(|r| r.kind).collect::<Vec<_>>(), [Kind::NoPool]);
    assert_eq!(reports[0].call, "-[SoftMetalCommandQueue commandBuffer]");
    assert!(reports[0].stack.contains("traps"), "{}", reports[0].stack);
}

struct SendQueue(Queue);
// SAFETY: queues are thread-safe.
unsafe impl Send for SendQueue {}
impl SendQueue {
    fn get(&self) -> &Queue {
        &self.0
    }
}

#[test]
fn encoders_that_do_not_end() {
    let _alone = alone();
    let rig = with_pool(Rig::new);
    let buffer = rig.buffer(TRACKED);
    with_pool(|| {
        let command = rig.command();
        let open = rig.encode(&command, &buffer);
        rig.finish(&command);
        assert_eq!(kinds(), [Kind::OpenEncoder], "committed while open");
        drop(open);
    });
    assert_eq!(kinds(), [Kind::OpenEncoder], "released while open");
    with_pool(|| {
        let command = rig.command();
        let first = rig.encode(&command, &buffer);
        let second = rig.encode(&command, &buffer);
        assert_eq!(kinds(), [Kind::OpenEncoder], "a second one while the first is open");
        first.endEncoding();
        second.endEncoding();
    });
}

#[test]
fn debug_groups_that_are_not_balanced() {
    let _alone = alone();
    with_pool(|| {
        let rig = Rig::new();
        let command = rig.command();
        let encoder = rig.encode(&command, &rig.buffer(TRACKED));
        encoder.pushDebugGroup(&NSString::from_str("group"));
        encoder.endEncoding();
        assert_eq!(kinds(), [Kind::DebugGroup]);
        let encoder = rig.encode(&command, &rig.buffer(TRACKED));
        encoder.popDebugGroup();
        encoder.endEncoding();
        assert_eq!(kinds(), [Kind::DebugGroup]);
    });
}

#[test]
fn untracked_buffers_need_an_order() {
    let _alone = alone();
    with_pool(|| {
        let rig = Rig::new();
        let buffer = rig.buffer(UNTRACKED);
        let command = rig.command();
        rig.encode(&command, &buffer).endEncoding();
        rig.encode(&command, &buffer).endEncoding();
        assert_eq!(kinds(), [Kind::Hazard], "two encoders of a command buffer");
        rig.finish(&command);
        // Everything of a command buffer that has ended is before what comes next.
        let command = rig.command();
        let fence = rig.device.newFence().expect("a fence");
        let first = rig.encode(&command, &buffer);
        first.updateFence(&fence);
        first.endEncoding();
        let second = command.computeCommandEncoder().expect("an encoder");
        second.waitForFence(&fence);
        rig.dispatch(&second, &buffer, 0);
        second.endEncoding();
        rig.finish(&command);
        assert_eq!(kinds(), [], "a fence");
    });
}

#[test]
fn command_buffers_need_an_order_too() {
    let _alone = alone();
    with_pool(|| {
        let rig = Rig::new();
        let event = rig.device.newEvent().expect("an event");
        for ordered in [true, false] {
            let buffer = rig.buffer(UNTRACKED);
            let (first, second) = (rig.command(), rig.command());
            rig.encode(&first, &buffer).endEncoding();
            if ordered {
                first.encodeSignalEvent_value(&event, 1);
                second.encodeWaitForEvent_value(&event, 1);
            }
            rig.encode(&second, &buffer).endEncoding();
            assert_eq!(kinds().contains(&Kind::Hazard), !ordered);
            first.commit();
            rig.finish(&second);
        }
    });
}

#[test]
fn command_buffers_run_in_the_order_of_enqueue() {
    let _alone = alone();
    with_pool(|| {
        let rig = Rig::new();
        let buffer = rig.buffer(TRACKED);
        let fill = |value: u8| {
            let command = rig.command();
            let encoder = command.blitCommandEncoder().expect("an encoder");
            encoder.fillBuffer_range_value(&buffer, NSRange { location: 0, length: 256 }, value);
            encoder.endEncoding();
            command
        };
        let (first, second, third) = (fill(1), fill(2), fill(3));
        first.enqueue();
        second.enqueue();
        // What was never enqueued comes behind what was.
        third.commit();
        second.commit();
        first.commit();
        third.waitUntilCompleted();
        // SAFETY: the buffer has 256 bytes, and the device is done with it.
        assert_eq!(unsafe { *buffer.contents().cast::<u8>().as_ptr() }, 3);
        assert_eq!(second.status(), MTLCommandBufferStatus::Completed);
        let (first, second) = (fill(4), fill(5));
        first.enqueue();
        second.enqueue();
        second.commit();
        first.commit();
        second.waitUntilCompleted();
        // SAFETY: the buffer has 256 bytes, and the device is done with it.
        assert_eq!(unsafe { *buffer.contents().cast::<u8>().as_ptr() }, 5);
    });
    assert_eq!(kinds(), []);
}

#[test]
fn a_turn_that_is_never_taken_is_reported() {
    let _alone = alone();
    let rig = with_pool(|| {
        let rig = Rig::new();
        rig.command().enqueue();
        rig
    });
    with_pool(|| {
        rig.finish(&rig.command());
        assert_eq!(kinds(), [Kind::Order]);
    });
}

#[test]
fn a_full_queue_blocks() {
    let _alone = alone();
    with_pool(|| {
        let rig = Rig::new();
        let queue = rig.device.newCommandQueueWithMaxCommandBufferCount(1).expect("a queue");
        let first = SendCommand(queue.commandBuffer().expect("a command buffer"));
        let blocked = Arc::new(AtomicBool::new(true));
        let seen = blocked.clone();
        let other = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(200));
            assert!(seen.load(Ordering::Acquire), "the second one did not block");
            with_pool(|| first.get().commit());
        });
        let second = queue.commandBuffer().expect("a second command buffer");
        blocked.store(false, Ordering::Release);
        other.join().expect("the other thread");
        drop(second);
        assert_eq!(kinds(), [Kind::QueueFull]);
    });
}

struct SendCommand(CommandBuffer);
// SAFETY: one thread uses it at a time.
unsafe impl Send for SendCommand {}
impl SendCommand {
    fn get(&self) -> &CommandBuffer {
        &self.0
    }
}

#[test]
fn the_65th_command_buffer_blocks() {
    let _alone = alone();
    with_pool(|| {
        let rig = Rig::new();
        let mut held: Vec<_> = (0..64).map(|_| SendCommand(rig.command())).collect();
        assert_eq!(kinds(), [], "64 are allowed");
        let first = held.remove(0);
        let other = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(200));
            with_pool(|| first.get().commit());
        });
        let start = std::time::Instant::now();
        let last = rig.command();
        assert!(start.elapsed() >= Duration::from_millis(150), "the 65th did not block");
        other.join().expect("the other thread");
        drop(last);
        let reports = take_reports();
        assert_eq!(reports.iter().map(|r| r.kind).collect::<Vec<_>>(), [Kind::QueueFull]);
        assert_eq!(reports[0].call, "-[SoftMetalCommandQueue commandBuffer]");
    });
}

#[test]
fn a_command_buffer_without_references_outlives_nothing() {
    let _alone = alone();
    with_pool(|| {
        let rig = Rig::new();
        for early in [false, true] {
            let buffer = rig.buffer(TRACKED);
            let command = rig.queue.commandBufferWithUnretainedReferences().expect("a command buffer");
            with_pool(|| rig.encode(&command, &buffer).endEncoding());
            let kept = (!early).then(|| buffer.clone());
            drop(buffer);
            rig.finish(&command);
            drop(kept);
            assert_eq!(kinds(), if early { vec![Kind::UseAfterRelease] } else { vec![] });
        }
    });
}

#[test]
fn used_after_release() {
    let _alone = alone();
    with_pool(|| {
        let rig = Rig::new();
        let raw = Retained::into_raw(rig.buffer(TRACKED)).cast::<AnyObject>();
        // SAFETY: none: an object that is gone is what is tested, and the framework keeps its grave.
        unsafe {
            objc2::ffi::objc_release(raw);
            objc2::ffi::objc_release(raw);
        }
        assert_eq!(kinds(), [Kind::UseAfterRelease]);
    });
}

#[test]
fn sets_that_are_not_committed() {
    let _alone = alone();
    with_pool(|| {
        let rig = Rig::new();
        let descriptor = MTLResidencySetDescriptor::new();
        let set = rig.device.newResidencySetWithDescriptor_error(&descriptor).expect("a set");
        rig.queue.addResidencySet(&set);
        let buffer = rig.buffer(TRACKED);
        set.addAllocation(ProtocolObject::from_ref(&*buffer));
        for expected in [vec![Kind::Residency], vec![]] {
            let command = rig.command();
            rig.encode(&command, &buffer).endEncoding();
            rig.finish(&command);
            assert_eq!(kinds(), expected);
            set.commit();
        }
    });
}

#[test]
fn threadgroup_memory_without_a_length_is_reported_and_runs() {
    let _alone = alone();
    with_pool(|| {
        let rig = Rig::new();
        let shared = pipeline(&rig.device, "shared");
        for length in [64, 0] {
            let (command, buffer) = (rig.command(), rig.buffer(TRACKED));
            let encoder = command.computeCommandEncoder().expect("an encoder");
            encoder.setComputePipelineState(&shared);
            // SAFETY: the buffer is large enough; the missing length is what is tested.
            unsafe {
                encoder.setBuffer_offset_atIndex(Some(&buffer), 0, 0);
                if length > 0 {
                    encoder.setThreadgroupMemoryLength_atIndex(length, 0);
                }
            }
            encoder.dispatchThreads_threadsPerThreadgroup(size(4), size(4));
            encoder.endEncoding();
            rig.finish(&command);
            assert_eq!(command.status(), MTLCommandBufferStatus::Completed);
            assert_eq!(kinds().contains(&Kind::Argument), length == 0);
        }
    });
}

#[test]
fn wrong_arguments() {
    let _alone = alone();
    with_pool(|| {
        let rig = Rig::new();
        let command = rig.command();
        let encoder = command.computeCommandEncoder().expect("an encoder");
        rig.dispatch(&encoder, &rig.buffer(TRACKED), 256);
        let first = kinds();
        assert_eq!(first.first(), Some(&Kind::Argument), "an offset at the end");
        // SAFETY: nil is a value that the method takes.
        unsafe { encoder.setBuffer_offset_atIndex(None, 0, 0) };
        encoder.dispatchThreads_threadsPerThreadgroup(size(8), size(8));
        assert!(kinds().contains(&Kind::Argument), "a buffer that is nil");
        encoder.endEncoding();
        let encoder = command.computeCommandEncoder().expect("an encoder");
        encoder.dispatchThreads_threadsPerThreadgroup(size(8), size(8));
        assert!(kinds().contains(&Kind::Order), "no pipeline");
        encoder.endEncoding();
        rig.finish(&command);
        assert_eq!(command.status(), MTLCommandBufferStatus::Error);
        assert!(command.error().is_some());
    });
}

#[test]
fn nobody_signals_for_a_failed_command_buffer() {
    let _alone = alone();
    with_pool(|| {
        let rig = Rig::new();
        let event = rig.device.newSharedEvent().expect("an event");
        let command = rig.command();
        command.encodeSignalEvent_value(ProtocolObject::from_ref(&*event), 1);
        fail_next(Fault::CommandBuffer(3));
        rig.finish(&command);
        assert_eq!(event.signaledValue(), 0);
        assert_eq!(command.error().map(|e| e.code()), Some(3));
    });
    assert_eq!(kinds(), [Kind::LostSignal]);
}

#[test]
fn handlers_run_before_the_wait_returns() {
    let _alone = alone();
    with_pool(|| {
        let rig = Rig::new();
        let command = rig.command();
        let told = Arc::new(AtomicBool::new(false));
        let seen = told.clone();
        let handler = RcBlock::new(move |c: NonNull<ProtocolObject<dyn MTLCommandBuffer>>| {
            std::thread::sleep(Duration::from_millis(50));
            // SAFETY: handlers are called with a command buffer that lives.
            assert_eq!(unsafe { c.as_ref() }.status(), MTLCommandBufferStatus::Completed);
            seen.store(true, Ordering::Release);
        });
        // SAFETY: the block is one for this method.
        unsafe { command.addCompletedHandler(RcBlock::as_ptr(&handler)) };
        rig.finish(&command);
        assert!(told.load(Ordering::Acquire));
    });
    assert_eq!(kinds(), []);
}

#[test]
fn an_encoder_belongs_to_one_thread() {
    let _alone = alone();
    with_pool(|| {
        let rig = Rig::new();
        let command = rig.command();
        let encoder = command.computeCommandEncoder().expect("an encoder");
        let shared = SendEncoder(encoder.clone());
        let until = std::time::Instant::now() + Duration::from_secs(20);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (shared, stop) = (&shared, &stop);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    shared.set();
                }
            });
            while !kinds().contains(&Kind::Thread) {
                assert!(std::time::Instant::now() < until, "two threads were never seen");
                for _ in 0..1000 {
                    shared.set();
                }
            }
            stop.store(true, Ordering::Relaxed);
        });
        encoder.endEncoding();
    });
}

struct SendEncoder(Encoder);
// SAFETY: it is not, and that is what is tested; the framework's own encoder has a lock.
unsafe impl Send for SendEncoder {}
// SAFETY: the same test: two threads share one encoder, and the framework's lock must hold.
unsafe impl Sync for SendEncoder {}
impl SendEncoder {
    fn set(&self) {
        let bytes = [0u8; 64];
        // SAFETY: so many bytes are there.
        unsafe { self.0.setBytes_length_atIndex(NonNull::from(&bytes).cast(), 64, 0) };
    }
}

#[test]
fn a_constant_without_a_value_is_zero_and_reported() {
    let _alone = alone();
    let source = "#include <metal_stdlib>
        constant int a [[function_constant(0)]];
        constant int b [[function_constant(1)]];
        kernel void k(device float* x [[buffer(0)]]) { x[0] = a * 10 + b; }";
    with_pool(|| {
        let mut rig = Rig::new();
        let library = rig.device.newLibraryWithSource_options_error(&NSString::from_str(source), None);
        let values = MTLFunctionConstantValues::new();
        let four = 4i32;
        // SAFETY: the value is of the type named.
        unsafe { values.setConstantValue_type_atIndex(NonNull::from(&four).cast(), MTLDataType::Int, 0) };
        let name = NSString::from_str("k");
        let function = library.expect("a library").newFunctionWithName_constantValues_error(&name, &values);
        assert_eq!(kinds(), [Kind::Argument]);
        let made = rig.device.newComputePipelineStateWithFunction_error(&function.expect("a function"));
        rig.twice = made.expect("a pipeline");
        let (command, buffer) = (rig.command(), rig.buffer(TRACKED));
        rig.encode(&command, &buffer).endEncoding();
        rig.finish(&command);
        // SAFETY: the buffer has 256 bytes, and the GPU is done.
        assert_eq!(unsafe { buffer.contents().cast::<f32>().read() }, 40.0);
    });
}

#[test]
fn errors_of_sources_come_with_the_library_when_asked() {
    let _alone = alone();
    configure(Options { eager: true, ..Options::default() });
    with_pool(|| {
        let device = MTLCreateSystemDefaultDevice().expect("a device");
        let source = "kernel void k(device float* x) { x[0] = undeclared; }";
        let error = device.newLibraryWithSource_options_error(&NSString::from_str(source), None);
        let text = error.expect_err("an error").localizedDescription().to_string();
        assert!(text.contains("undeclared"), "{text}");
    });
    configure(Options::default());
}

/// Runs a part of `raises` in a process of its own, where findings may be fatal; gives whether it ended well, and what it said.
fn child(part: &str, fatal: bool) -> (bool, String) {
    let program = std::env::current_exe().expect("this program");
    let mut command = Command::new(program);
    // No capture by the test's harness: what is said must be on the standard error stream in any case.
    command.args(["--exact", "raises", "--ignored"]).env("TRAPS_PART", part);
    command.env("METALHOST_FATAL", if fatal { "1" } else { "0" });
    let out = command.output().expect("a child");
    (
        out.status.success(),
        String::from_utf8_lossy(&out.stderr).into_owned() + &String::from_utf8_lossy(&out.stdout),
    )
}

fn raised(part: &str) -> String {
    let (well, said) = child(part, false);
    assert!(!well, "{part} lived on");
    said
}

#[test]
fn reports_and_leaks_end_the_process_where_they_are_fatal() {
    for (part, what) in [
        ("unbalanced", "DebugGroup: "),
        ("leak", "alive at the end of the process: [(\"SoftMetalCommandBuffer\", 1)]"),
    ] {
        let (well, said) = child(part, true);
        assert!(!well && said.contains(what), "{part}: {said}");
        let (well, said) = child(part, false);
        assert!(well, "{part}: {said}");
    }
    let (_, said) = child("unbalanced", false);
    assert!(said.contains("metal host: DebugGroup: "), "a test that passes hides it: {said}");
    let (well, said) = child("nothing", true);
    assert!(well, "{said}");
}

#[test]
fn what_metal_raises_ends_the_process_with_the_call() {
    let selector = raised("selector");
    assert!(selector.contains("-[SoftMetalDevice newFlyingCarpet]: unrecognized selector"), "{selector}");
    let ended = raised("ended");
    assert!(
        ended.contains("-[SoftMetalComputeCommandEncoder endEncoding]: the encoder has ended"),
        "{ended}"
    );
    let nil = raised("nil");
    assert!(nil.contains("setComputePipelineState:]: the pipeline must not be nil"), "{nil}");
    let class = raised("class");
    assert!(class.contains("is of class SoftMetalBuffer, which does not fit"), "{class}");
    let types = raised("type");
    assert!(types.contains("setComputePipelineState:") && types.contains("type code"), "{types}");
    let length = raised("length");
    assert!(length.contains("newBufferWithLength:options:]: the length must not be zero"), "{length}");
}

#[test]
#[ignore = "ends the process; `what_metal_raises_ends_the_process_with_the_call` runs it"]
fn raises() {
    autoreleasepool(|_| {
        let rig = Rig::new();
        let command = rig.command();
        let encoder = command.computeCommandEncoder().expect("an encoder");
        let nil: *const AnyObject = std::ptr::null();
        // SAFETY: none: what the framework does with it is what is tested. Verification is passed by sending through the runtime.
        unsafe {
            match std::env::var("TRAPS_PART").as_deref() {
                Ok("selector") => {
                    let receiver: *const AnyObject = Retained::as_ptr(&rig.device).cast();
                    objc2::ffi::objc_msg_lookup(receiver.cast_mut(), sel!(newFlyingCarpet));
                }
                Ok("ended") => {
                    encoder.endEncoding();
                    encoder.endEncoding();
                }
                Ok("nil") => {
                    let _: () = msg_send![&*encoder, setComputePipelineState: nil];
                }
                Ok("class") => {
                    let buffer = rig.buffer(TRACKED);
                    let wrong: *const AnyObject = Retained::as_ptr(&buffer).cast();
                    let _: () = msg_send![&*encoder, setComputePipelineState: wrong];
                }
                Ok("type") => {
                    let _: () = msg_send![&*encoder, setComputePipelineState: 1.5f32];
                }
                Ok("unbalanced") => encoder.popDebugGroup(),
                Ok("leak") => std::mem::forget(rig.command()),
                Ok("nothing") => {}
                Ok("length") => drop(rig.device.newBufferWithLength_options(0, TRACKED)),
                part => panic!("no part {part:?}"),
            }
        }
        if std::env::var("TRAPS_PART").as_deref() != Ok("ended") {
            encoder.endEncoding();
        }
    });
}
