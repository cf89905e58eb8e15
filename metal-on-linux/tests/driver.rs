//! The driver for Apple's Metal under the faults that a Mac would show. Each of these failed on the driver before it was mended.

use metalhost::{Fault, Kind, Options, configure, fail_next, live, take_reports};
use std::sync::{Mutex, MutexGuard};
use wootz_metal::driver::apple::AppleDevice;
use wootz_metal::driver::{
    Argument, Batch, Command, Device, Dispatch, DriverError, Grid, Memory, Pipeline, Program, Storage,
};

const SOURCE: &str = "#include <metal_stdlib>
using namespace metal;
kernel void twice(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] *= 2; }
kernel void forever(volatile device uint* x [[buffer(0)]]) { while (x[0] != 7) { x[0] = 0; } }";

/// Reports, faults and the machine are the process's: one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    let guard = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    // A folder of its own for archives, and a short time limit: a stalled device must show within the test.
    let cache = std::env::temp_dir().join(format!("wootz-driver-test-{}", std::process::id()));
    // SAFETY: tests run one at a time, and nothing else reads the environment meanwhile.
    unsafe { std::env::set_var("XDG_CACHE_HOME", &cache) };
    configure(quick());
    take_reports();
    guard
}

fn quick() -> Options {
    let mut options = Options::default();
    options.device.time_limit = std::time::Duration::from_secs(3);
    options
}

fn program(kernel: &str) -> Program<'_> {
    Program { source: SOURCE, kernel, constants: &[], label: kernel, fast_math: false }
}

struct Rig {
    device: AppleDevice,
    twice: Pipeline,
    memory: Memory,
}

impl Rig {
    fn new() -> Rig {
        let device = AppleDevice::new().expect("a device");
        let twice = device.pipeline(&program("twice")).expect("a pipeline");
        let memory = device.buffer(4096, Storage::Shared).expect("a buffer");
        Rig { device, twice, memory }
    }

    fn submit(&self, pipeline: &Pipeline, offset: usize) -> Result<(), DriverError> {
        let arguments = [Argument::Buffer(&self.memory, offset)];
        let dispatch = Dispatch {
            pipeline,
            label: "twice",
            arguments: &arguments,
            threadgroup_memory: 0,
            grid: Grid::Threads([8, 1, 1]),
            threads: [8, 1, 1],
        };
        let commands = [Command::Dispatch(dispatch)];
        let batch = Batch { label: "batch", commands: &commands, keep: Box::new(()) };
        self.device.submit(batch)?.wait().map(drop)
    }

    fn run(&self) -> Result<(), DriverError> {
        self.submit(&self.twice, 0)
    }
}

fn counts(names: &[&str]) -> Vec<(String, isize)> {
    live().into_iter().filter(|(name, _)| names.iter().any(|n| name.contains(n))).collect()
}

/// The queue's thread lets go of a command buffer just after whoever waits for it is woken.
fn assert_settles(now: impl Fn() -> Vec<(String, isize)>, expected: &[(String, isize)]) {
    for _ in 0..500 {
        if now() == expected {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(now(), expected);
}

fn kinds() -> Vec<Kind> {
    take_reports().into_iter().map(|r| r.kind).collect()
}

#[test]
fn batches_leave_nothing_behind() {
    let _alone = alone();
    let rig = Rig::new();
    rig.run().expect("the first batch");
    let objects = ["CommandBuffer", "Encoder", "NSString", "NSError", "NSArray"];
    assert_settles(|| counts(&objects), &[]);
    let before = counts(&objects);
    // On a thread of its own, as a server's worker: no pool is there but the driver's.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..200 {
                rig.run().expect("a batch");
            }
            assert_settles(|| counts(&objects), &before);
        });
    });
    assert_eq!(kinds(), []);
}

#[test]
fn a_device_that_is_dropped_leaves_no_object() {
    let _alone = alone();
    let before = counts(&["SoftMetal", "MTL"]);
    drop(Rig::new());
    configure(quick());
    assert_settles(|| counts(&["SoftMetal", "MTL"]), &before);
    assert_eq!(kinds(), []);
}

#[test]
fn the_batch_after_a_failed_one_runs() {
    let _alone = alone();
    let rig = Rig::new();
    // Internal, time-out, page fault, access revoked, out of memory, device removed.
    for code in [1, 2, 3, 4, 8, 11] {
        fail_next(Fault::CommandBuffer(code));
        let error = rig.run().expect_err("the injected fault");
        assert_eq!(matches!(error, DriverError::OutOfMemory(_)), code == 8, "{error}");
        rig.run().unwrap_or_else(|e| panic!("after code {code}: {e}"));
    }
    for fault in [Fault::NoCommandBuffer, Fault::NoEncoder] {
        fail_next(fault);
        rig.run().expect_err("the injected fault");
        rig.run().unwrap_or_else(|e| panic!("after {fault:?}: {e}"));
    }
    fail_next(Fault::NoBuffer);
    assert!(matches!(rig.device.buffer(64, Storage::Shared), Err(DriverError::OutOfMemory(_))));
    fail_next(Fault::NoLibrary);
    assert!(matches!(rig.device.pipeline(&program("forever")), Err(DriverError::Compile { .. })));
    rig.run().expect("the batch after them");
    assert_eq!(kinds(), []);
}

#[test]
fn the_batch_after_a_kernel_that_never_ends_runs() {
    let _alone = alone();
    let rig = Rig::new();
    let forever = rig.device.pipeline(&program("forever")).expect("a pipeline");
    let error = rig.submit(&forever, 0).expect_err("the time limit");
    assert!(error.to_string().contains("did not end"), "{error}");
    rig.run().expect("the batch after it");
    assert_eq!(kinds(), []);
}

#[test]
fn errors_while_encoding_close_groups_and_encoders() {
    let _alone = alone();
    let rig = Rig::new();
    let error = rig.submit(&rig.twice, 4096).expect_err("an offset at the end");
    assert!(error.to_string().contains("starts at byte 4096 of a buffer of 4096"), "{error}");
    rig.run().expect("the next batch");
    assert_eq!(kinds(), []);
}

#[test]
fn memory_of_others_is_unmapped_after_its_buffer_is_gone() {
    let _alone = alone();
    let rig = Rig::new();
    let page = rig.device.facts().page;
    for _ in 0..3 {
        let map = memmap2::MmapMut::map_anon(4 * page).expect("memory");
        let start = map.as_ptr();
        // SAFETY: the mapping is the owner.
        let wrapped = unsafe { rig.device.wrap(start, 4 * page, Box::new(map)) }.expect("a wrapped buffer");
        rig.run().expect("a batch with the set committed");
        drop(wrapped);
        rig.run().expect("a batch after it");
    }
    assert_eq!(kinds(), []);
}

#[test]
fn sets_are_left_alone_where_the_family_lacks_them() {
    let _alone = alone();
    configure(Options { metal3: false, ..quick() });
    let rig = Rig::new();
    assert_eq!(counts(&["ResidencySet"]), []);
    rig.run().expect("a batch");
    drop(rig);
    configure(Options { residency_sets: false, ..quick() });
    Rig::new().run().expect("a batch without sets");
    assert_eq!(kinds(), []);
}

#[test]
fn a_device_is_found_among_all_where_there_is_no_default() {
    let _alone = alone();
    configure(Options { no_default_device: true, ..quick() });
    Rig::new().run().expect("a batch");
}

#[test]
fn no_software_device_takes_the_place_of_a_missing_gpu() {
    let _alone = alone();
    configure(Options { no_device: true, ..quick() });
    let error = wootz_metal::Device::system_default().expect_err("no device");
    assert!(error.to_string().contains("no Metal device"), "{error}");
    let list = wootz_metal::MetalBackend::all();
    let infos: Vec<_> = list.iter().map(|b| wootz_backend::Backend::info(b).clone()).collect();
    assert_eq!((infos[0].name.as_str(), infos[1].name.as_str()), ("metal", "softmetal"));
    assert!(infos[0].description.contains("no Metal device"), "{}", infos[0].description);
}

#[test]
fn gpus_without_simd_reductions_are_refused_with_the_reason() {
    let _alone = alone();
    configure(Options { apple_family: Some(6), metal3: false, ..quick() });
    let error = AppleDevice::new().err().expect("a refusal").to_string();
    assert!(error.contains("simd reductions") && error.contains("Apple7"), "{error}");
}

#[test]
fn intel_gpus_are_probed() {
    let _alone = alone();
    let mut options = quick();
    options.device.family = softmetal::Family::Mac2;
    options.device.simd_width = Some(64);
    configure(options);
    let rig = Rig::new();
    assert_eq!(rig.device.facts().simd_width, 64);
    assert_eq!((rig.device.facts().simdgroup_matrix, rig.device.facts().unified), (false, false));
    rig.run().expect("a batch");
}

#[test]
fn the_archive_is_written_once_and_used_by_one_thread_at_a_time() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    // SAFETY: tests run one at a time, and nothing else reads the environment meanwhile.
    unsafe { std::env::set_var("XDG_CACHE_HOME", folder.path()) };
    let archive = || {
        let files = std::fs::read_dir(folder.path().join("wootz/pipelines")).expect("the folder");
        let mut archives = files.flatten().map(|f| f.path()).filter(|p| p.extension().is_some_and(|e| e == "metalarchive"));
        archives.next().expect("an archive")
    };
    let written = || archive().metadata().expect("its data").modified().expect("its time");
    let make = || {
        let device = AppleDevice::new().expect("a device");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for kernel in ["twice", "forever"] {
                        device.pipeline(&program(kernel)).expect("a pipeline");
                    }
                });
            }
        });
        device.persist();
        written()
    };
    let first = make();
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert_eq!(make(), first, "nothing was new, and the archive was written");
    std::fs::write(archive(), b"damaged").expect("written");
    assert!(make() > first, "a damaged archive is replaced");
    assert_eq!(kinds(), []);
}

#[test]
fn memory_is_flat_over_ten_thousand_batches() {
    let _alone = alone();
    let rig = Rig::new();
    let resident = || {
        let text = std::fs::read_to_string("/proc/self/statm").expect("the process's memory");
        text.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).expect("pages") * 4096
    };
    // The first ones fill caches and the graves of objects.
    for _ in 0..2_000 {
        rig.run().expect("a batch");
    }
    assert_settles(|| counts(&["CommandBuffer"]), &[]);
    let (objects, bytes) = (live(), resident());
    for _ in 0..10_000 {
        rig.run().expect("a batch");
    }
    assert_settles(live, &objects);
    let grown = resident().saturating_sub(bytes);
    assert!(grown < 2 << 20, "{grown} bytes more");
    assert_eq!(kinds(), []);
}
