//! What must be an error, or right, and never a crash: sizes that overflow, odd layouts, memory that is not ours, broken and
//! malicious files.

use std::io::Write;
use std::sync::Arc;
use wootz::metal::{MetalBackend, SoftOptions};
use wootz::{
    DType, Device, HostMemory, Layout, NpzLimits, Result, Shape, Tensor, load_npy, load_npz, read_npy,
    read_npz, save_npy,
};
use wootz_cpu::CpuBackend;

fn refused<T>(result: Result<T>, expected: &str) {
    match result {
        Ok(_) => panic!("accepted; expected: {expected}"),
        Err(error) => assert!(error.to_string().contains(expected), "{error}"),
    }
}

#[test]
fn no_op_can_make_a_shape_that_does_not_fit() -> Result<()> {
    let one = Tensor::from_slice(&[1u8])?;
    refused(one.broadcast_to([1usize << 62]), "elements");
    refused(one.broadcast_to([1usize << 60]).and_then(|x| x.cast(DType::F64)), "elements");
    let wide = one.broadcast_to([1usize << 58])?.cast(DType::F32)?;
    refused(wide.eval(), "cannot allocate");
    Ok(())
}

#[test]
fn layouts_over_foreign_memory_are_checked_at_both_ends() {
    let over = |shape: &[usize], strides: &[isize], offset: usize| {
        let layout = Layout { shape: Shape::from(shape), strides: strides.iter().copied().collect(), offset };
        Tensor::from_host_on(HostMemory::new(vec![7u8; 64]), DType::U8, layout, &Device::cpu())
    };
    refused(over(&[4], &[-1], 2), "out of range");
    refused(over(&[2, 2], &[isize::MAX, isize::MAX], 0), "out of range");
    refused(over(&[65], &[1], 0), "element 64");
    refused(over(&[2], &[1, 1], 0), "2 strides");
    refused(over(&[1; 40], &[0; 40], 0), "at most 12 axes");
    assert_eq!(over(&[64], &[-1], 63).and_then(|t| t.to_vec::<u8>()).unwrap(), vec![7; 64]);
}

#[test]
fn donated_memory_of_someone_else_is_copied_before_it_is_written() -> Result<()> {
    static BYTES: [u8; 64] = [3; 64];
    let layout = Layout::contiguous(&Shape::from([16, 4]));
    let imported = Tensor::from_host_on(HostMemory::new(&BYTES[..]), DType::U8, layout, &Device::cpu())?;
    let (rows, start) = (Tensor::full([1, 4], 9, DType::U8)?, Tensor::from_slice(&[0i32])?);
    let written = imported.donate()?.write_at(&rows, &start, 0)?;
    assert_eq!(written.to_vec::<u8>()?[..5], [9, 9, 9, 9, 3]);
    assert_eq!(BYTES, [3; 64]);
    // The same for memory of ours that is being read in place.
    let own = Tensor::full([16, 4], 5, DType::U8)?.copied()?;
    let stored = own.stored()?;
    let seen = stored.buffer.host_bytes().expect("the CPU's memory");
    assert_eq!(own.donate()?.write_at(&rows, &start, 0)?.to_vec::<u8>()?[0], 9);
    assert_eq!(seen, [5; 64]);
    Ok(())
}

#[test]
fn indices_beyond_the_signed_numbers_are_out_of_range() -> Result<()> {
    let x = Tensor::from_slice(&[1f32, 2.0, 3.0])?;
    let index = |i: u64| Tensor::from_slice(&[i]);
    assert_eq!(x.take(&index(2)?, 0)?.to_vec::<f32>()?, [3.0]);
    refused(x.take(&index(u64::MAX)?, 0)?.to_vec::<f32>(), "index");
    let state = Tensor::zeros([4, 1], DType::F32)?.copied()?;
    let far = Tensor::from_slice(&[1i64 << 32])?;
    refused(state.write_at(&Tensor::ones([1, 1], DType::F32)?, &far, 0)?.to_vec::<f32>(), "index");
    Ok(())
}

#[test]
fn a_host_kernel_may_evaluate_a_tensor() -> Result<()> {
    let kernel = wootz::CustomKernel::new("nested").with_host(|operands, out| {
        let inner = Tensor::from_bytes_on(operands[0].bytes, DType::F32, [4], &Device::cpu()).unwrap();
        let doubled = inner.add(&inner).unwrap().to_bytes().unwrap();
        out.copy_from_slice(&doubled);
    });
    let x = Tensor::from_slice(&[1f32, 2.0, 3.0, 4.0])?;
    let y = Tensor::custom(&Arc::new(kernel), &[&x], [4], DType::F32)?;
    assert_eq!(y.add(1.0)?.to_vec::<f32>()?, [3.0, 5.0, 7.0, 9.0]);
    Ok(())
}

fn npy(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

fn header(descr: &str, shape: &str) -> String {
    format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n")
}

#[test]
fn dtype_names_that_are_not_ascii_are_refused() {
    refused(read_npy(&npy(&header("é4", "(1,)"), &[0; 4])), "é4");
    refused(read_npy(&npy(&header("", "(1,)"), &[0; 4])), "dtype");
    refused(read_npy(&npy(&header("<f4", "(9223372036854775807, 9)"), &[0; 4])), "overflows");
}

fn archive(members: usize, member: &[u8]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    for i in 0..members {
        zip.start_file(format!("m{i}.npy"), options).unwrap();
        zip.write_all(member).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn archives_that_unpack_to_far_more_than_they_are_end_early() -> Result<()> {
    let zeros = npy(&header("|u1", "(8000000,)"), &vec![0; 8_000_000]);
    let packed = archive(4, &zeros);
    assert!(packed.len() < 100_000);
    let limits = NpzLimits { unpacked: 20_000_000, ratio: 10 };
    refused(read_npz(std::io::Cursor::new(&packed), limits), "limit");
    assert_eq!(read_npz(std::io::Cursor::new(&packed), NpzLimits::default())?.len(), 4);
    // A member with far more than its header says is not read to its end.
    let long = npy(&header("|u1", "(3,)"), &vec![1; 8_000_000]);
    let limits = NpzLimits { unpacked: 1000, ratio: 1 };
    let read = read_npz(std::io::Cursor::new(archive(1, &long)), limits)?;
    assert_eq!(read[0].1.to_vec::<u8>()?, [1, 1, 1]);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("packed.npz");
    std::fs::write(&path, &packed).expect("a writable folder");
    assert_eq!(load_npz(&path)?.len(), 4);
    Ok(())
}

#[test]
fn threads_that_save_to_one_path_all_succeed() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.npy");
    std::thread::scope(|scope| {
        let saves: Vec<_> = (0..8)
            .map(|i| {
                let path = &path;
                scope.spawn(move || -> Result<()> {
                    let tensor = Tensor::full([50_000], i, DType::I64)?;
                    (0..20).try_for_each(|_| save_npy(path, &tensor))
                })
            })
            .collect();
        saves.into_iter().for_each(|save| save.join().expect("no panic").expect("a save"));
    });
    let values = load_npy(&path)?.to_vec::<i64>()?;
    assert!(values.iter().all(|v| *v == values[0]), "one save, whole");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1, "nothing is left over");
    Ok(())
}

#[test]
fn a_team_has_at_least_one_thread_and_not_too_many() {
    for count in [0, 1025, usize::MAX] {
        refused(Device::set_cpu_threads(count), "1 to 1024 threads");
    }
}

/// A run's buffers are released by whoever waits for it, not some time later by a thread of the driver.
#[test]
fn memory_is_free_as_soon_as_nobody_refers_to_it() -> Result<()> {
    // Devices of this test alone: others would change what is live.
    let mut devices = vec![
        Device::from_backend(Arc::new(CpuBackend::with_limit(1 << 30))),
        Device::from_backend(Arc::new(MetalBackend::soft(SoftOptions::default()))),
    ];
    #[cfg(feature = "webgpu")]
    match wootz_webgpu::WebGpuBackend::new() {
        Ok(backend) => devices.push(Device::from_backend(Arc::new(backend))),
        Err(error) => wootz_testkit::skipped(&error.to_string()),
    }
    for device in devices {
        let live = |device: &Device| device.memory().live;
        let x = Tensor::ones([1000], DType::F32)?.to_device(&device)?;
        drop(x.copied()?);
        let before = live(&device);
        for round in 0..300 {
            let copy = x.copied()?;
            assert!(live(&device) > before, "{device}");
            drop(copy);
            assert_eq!(live(&device), before, "{device}, round {round}");
        }
    }
    Ok(())
}
