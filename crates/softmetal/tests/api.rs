//! The device API: buffers, queues, events, blits, indirect dispatch, handlers, reflection, threads.

mod common;
use softmetal::*;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const ADD: &str = "#include <metal_stdlib>
kernel void add(device const float *a [[buffer(0)]], device float *b [[buffer(2)]], constant uint &n [[buffer(5)]], threadgroup float *t [[threadgroup(1)]], uint i [[thread_position_in_grid]]) { if (i < n) b[i] += a[i]; }
kernel void inc(device float *o, uint i [[thread_position_in_grid]]) { o[i] += 1; }
kernel void where(device uint *o, uint3 i [[thread_position_in_grid]], uint3 n [[threads_per_grid]]) { o[(i.z * n.y + i.y) * n.x + i.x] = i.x + 10 * i.y + 100 * i.z; }";

fn device() -> Device {
    Device::system_default().unwrap()
}

fn pipeline(d: &Device, name: &str) -> Pipeline {
    d.new_pipeline(&d.new_library(ADD, &CompileOptions::default()).unwrap().function(name).unwrap()).unwrap()
}

#[test]
fn everything_is_send_and_sync() {
    fn check<T: Send + Sync>() {}
    check::<Device>();
    check::<Library>();
    check::<Function>();
    check::<Pipeline>();
    check::<Buffer>();
    check::<Queue>();
    check::<CommandBuffer>();
    check::<Event>();
    check::<Error>();
}

#[test]
fn limits_and_reflection() {
    let d = device();
    let l = d.limits();
    assert_eq!((l.simd_width, l.max_threads_per_threadgroup, l.max_threadgroup_memory), (32, 1024, 32768));
    let p = pipeline(&d, "add");
    assert_eq!(
        (
            p.thread_execution_width(),
            p.max_total_threads_per_threadgroup(),
            p.static_threadgroup_memory_length()
        ),
        (32, 1024, 0)
    );
    let a = p.arguments();
    let row = |i: usize| {
        (
            a[i].binding.name.as_str(),
            a[i].binding.kind,
            a[i].binding.index,
            a[i].binding.access,
            a[i].type_size,
        )
    };
    assert_eq!(row(0), ("a", BindingKind::Buffer, 0, Access::ReadOnly, 4));
    assert_eq!(row(1), ("b", BindingKind::Buffer, 2, Access::ReadWrite, 4));
    assert_eq!(row(2), ("n", BindingKind::Constant, 5, Access::ReadOnly, 4));
    assert_eq!(row(3), ("t", BindingKind::Threadgroup, 1, Access::ReadWrite, 4));
    assert_eq!(a[4].binding.attribute, "thread_position_in_grid");
    assert_eq!(
        d.new_library(ADD, &CompileOptions::default()).unwrap().function_names(),
        ["add", "inc", "where"]
    );
}

#[test]
fn buffers_of_all_kinds() {
    let d = device();
    let shared = d.new_buffer_with_bytes(&[1, 2, 3, 4]).unwrap();
    assert_eq!((shared.length(), shared.read_bytes(1, 2).unwrap()), (4, vec![2, 3]));
    assert!(shared.read_bytes(3, 2).is_err());
    assert!(d.new_buffer(0, StorageMode::Shared).is_err());
    let private = d.new_buffer(4, StorageMode::Private).unwrap();
    assert!(private.contents().is_null() && private.read_bytes(0, 1).is_err());
    let mut memory = vec![0f32; 64].into_boxed_slice();
    let pointer = memory.as_mut_ptr().cast::<u8>();
    // SAFETY: the memory moves into the owner and lives as long as the buffer.
    let no_copy = unsafe { d.new_buffer_no_copy(pointer, 256, Box::new(memory)) }.unwrap();
    let command = d.new_queue().command_buffer();
    let mut blit = command.blit_encoder();
    blit.copy(&shared, 0, &private, 0, 4).unwrap();
    blit.copy(&private, 1, &no_copy, 8, 2).unwrap();
    blit.fill(&no_copy, 0, 4, 0xab).unwrap();
    assert!(blit.copy(&shared, 0, &no_copy, 254, 4).is_err());
    blit.end_encoding();
    assert!(command.commit().is_err(), "an encoding error fails the command buffer");
    let command = d.new_queue().command_buffer();
    let mut blit = command.blit_encoder();
    blit.copy(&shared, 0, &private, 0, 4).unwrap();
    blit.copy(&private, 1, &no_copy, 8, 2).unwrap();
    blit.fill(&no_copy, 0, 4, 0xab).unwrap();
    blit.end_encoding();
    command.run().unwrap();
    // SAFETY: no command buffer runs.
    let seen = unsafe { std::slice::from_raw_parts(no_copy.contents(), 12) };
    assert_eq!(seen, [0xab, 0xab, 0xab, 0xab, 0, 0, 0, 0, 2, 3, 0, 0]);
}

#[test]
fn offsets_inline_bytes_and_ragged_grids() {
    let d = device();
    let p = pipeline(&d, "add");
    let a = d.new_buffer_with_bytes(bytemuck::cast_slice(&[0.0f32, 1.0, 2.0, 3.0, 4.0])).unwrap();
    let b = d.new_buffer(20, StorageMode::Shared).unwrap();
    let command = d.new_queue().command_buffer();
    let mut e = command.compute_encoder(DispatchType::Serial);
    e.set_pipeline(&p);
    e.set_buffer(0, &a, 4).unwrap();
    e.set_buffer(2, &b, 0).unwrap();
    e.set_bytes(5, &3u32.to_le_bytes()).unwrap();
    e.set_threadgroup_memory_length(1, 16).unwrap();
    e.dispatch_threads(5, 2).unwrap();
    e.end_encoding();
    command.run().unwrap();
    assert_eq!(b.read::<f32>().unwrap(), [1.0, 2.0, 3.0, 0.0, 0.0]);
    assert!(command.gpu_end_time() >= command.gpu_start_time() && command.status() == Status::Completed);
    let w = pipeline(&d, "where");
    let o = d.new_buffer(7 * 5 * 3 * 4, StorageMode::Shared).unwrap();
    let command = d.new_queue().command_buffer();
    let mut e = command.compute_encoder(DispatchType::Serial);
    e.set_pipeline(&w);
    e.set_buffer(0, &o, 0).unwrap();
    e.dispatch_threads((7, 5, 3), (4, 4, 2)).unwrap();
    e.end_encoding();
    command.run().unwrap();
    let want: Vec<u32> =
        (0..3).flat_map(|z| (0..5).flat_map(move |y| (0..7).map(move |x| x + 10 * y + 100 * z))).collect();
    assert_eq!(o.read::<u32>().unwrap(), want);
}

#[test]
fn indirect_dispatch_reads_its_size_late() {
    let d = device();
    let p = pipeline(&d, "inc");
    let o = d.new_buffer(64 * 4, StorageMode::Shared).unwrap();
    let size = d.new_buffer(16, StorageMode::Shared).unwrap();
    let source = d.new_buffer_with_bytes(bytemuck::cast_slice(&[3u32, 1, 1])).unwrap();
    let command = d.new_queue().command_buffer();
    let mut blit = command.blit_encoder();
    blit.copy(&source, 0, &size, 4, 12).unwrap();
    blit.end_encoding();
    let mut e = command.compute_encoder(DispatchType::Serial);
    e.set_pipeline(&p);
    e.set_buffer(0, &o, 0).unwrap();
    e.dispatch_threadgroups_indirect(&size, 4, 16).unwrap();
    assert!(e.dispatch_threadgroups_indirect(&size, 8, 16).is_err());
    drop(e);
    let again = d.new_queue().command_buffer();
    drop(again);
    assert!(command.commit().is_err());
    let command = d.new_queue().command_buffer();
    let mut blit = command.blit_encoder();
    blit.copy(&source, 0, &size, 4, 12).unwrap();
    blit.end_encoding();
    let mut e = command.compute_encoder(DispatchType::Serial);
    e.set_pipeline(&p);
    e.set_buffer(0, &o, 0).unwrap();
    e.dispatch_threadgroups_indirect(&size, 4, 16).unwrap();
    e.end_encoding();
    command.run().unwrap();
    assert_eq!(o.read::<f32>().unwrap().iter().sum::<f32>(), 48.0);
}

fn encode_inc(d: &Device, command: &CommandBuffer, p: &Pipeline, o: &Buffer, n: u32) {
    let _ = d;
    let mut e = command.compute_encoder(DispatchType::Serial);
    e.set_pipeline(p);
    e.set_buffer(0, o, 0).unwrap();
    e.dispatch_threads(n, 32).unwrap();
    e.end_encoding();
}

#[test]
fn events_order_two_queues_and_the_host() {
    let d = device();
    let p = pipeline(&d, "inc");
    let o = d.new_buffer(128, StorageMode::Shared).unwrap();
    let event = d.new_event();
    let second = d.new_queue().command_buffer();
    second.encode_wait(&event, 2);
    encode_inc(&d, &second, &p, &o, 32);
    second.encode_signal(&event, 3);
    second.commit().unwrap();
    assert_eq!(second.status(), Status::Committed);
    let first = d.new_queue().command_buffer();
    encode_inc(&d, &first, &p, &o, 32);
    first.encode_signal(&event, 1);
    first.commit().unwrap();
    assert!(event.wait(1, Duration::from_secs(20)));
    assert!(!event.wait(3, Duration::from_millis(20)));
    event.signal(2);
    second.wait_until_completed().unwrap();
    assert_eq!((event.signaled_value(), o.read::<f32>().unwrap()[31]), (3, 2.0));
}

#[test]
fn handlers_are_called_once_with_the_outcome() {
    let d = device();
    let p = pipeline(&d, "inc");
    let o = d.new_buffer(128, StorageMode::Shared).unwrap();
    let command = d.new_queue().command_buffer();
    encode_inc(&d, &command, &p, &o, 32);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (a, b) = (seen.clone(), seen.clone());
    command.add_completed_handler(move |r| a.lock().unwrap().push(r.is_ok()));
    command.run().unwrap();
    command.add_completed_handler(move |r| b.lock().unwrap().push(r.is_ok()));
    // The first handler runs on the queue's thread, perhaps after the wait has returned.
    for _ in 0..200 {
        if seen.lock().unwrap().len() == 2 {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(*seen.lock().unwrap(), [true, true]);
    assert!(command.commit().is_err());
}

#[test]
fn many_host_threads_and_queues() {
    let d = device();
    let done = AtomicU32::new(0);
    std::thread::scope(|s| {
        for t in 0..6 {
            let (d, done) = (&d, &done);
            s.spawn(move || {
                let p = pipeline(d, "inc");
                let queue = d.new_queue();
                let o = d.new_buffer(4096 * 4, StorageMode::Shared).unwrap();
                let commands: Vec<_> = (0..10)
                    .map(|_| {
                        let c = queue.command_buffer();
                        encode_inc(d, &c, &p, &o, 4096);
                        c.commit().unwrap();
                        c
                    })
                    .collect();
                for c in commands {
                    c.wait_until_completed().unwrap();
                }
                assert_eq!(o.read::<f32>().unwrap(), vec![10.0; 4096], "thread {t}");
                done.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(done.into_inner(), 6);
}

#[test]
fn a_concurrent_encoder_runs_everything() {
    let d = device();
    let p = pipeline(&d, "inc");
    let buffers: Vec<_> = (0..4).map(|_| d.new_buffer(4096, StorageMode::Shared).unwrap()).collect();
    let command = d.new_queue().command_buffer();
    let mut e = command.compute_encoder(DispatchType::Concurrent);
    e.set_pipeline(&p);
    for b in &buffers {
        e.set_buffer(0, b, 0).unwrap();
        e.dispatch_threadgroups(8, 128).unwrap();
    }
    e.memory_barrier();
    e.dispatch_threads(0, 32).unwrap();
    e.end_encoding();
    command.run().unwrap();
    for b in &buffers {
        assert_eq!(b.read::<f32>().unwrap(), vec![1.0; 1024]);
    }
}
