//! What Metal kernels cost, by SoftMetal's exact counters, and shapes that are easily got wrong.

use std::sync::Arc;
use wootz::metal::{MetalBackend, SoftOptions};
use wootz::{
    CustomKernel, DType, Device, GpuSource, HostMemory, Language, Layout, Number, Result, Shape, Tensor,
};

fn profiled() -> (Arc<MetalBackend>, Device) {
    let backend = Arc::new(MetalBackend::soft(SoftOptions { profile: true, ..SoftOptions::default() }));
    (backend.clone(), Device::from_backend(backend))
}

fn checked() -> Device {
    let options = SoftOptions { sanitize: true, ..SoftOptions::default() };
    Device::from_backend(Arc::new(MetalBackend::soft(options)))
}

fn ramp(shape: impl Into<Shape>, device: &Device) -> Result<Tensor> {
    let shape = shape.into();
    let values: Vec<f32> = (0..shape.count()).map(|i| (i % 13) as f32 * 0.25 - 1.0).collect();
    Tensor::from_slice_on(&values, device)?.reshape(shape)
}

#[test]
fn a_fused_chain_reads_each_input_once_and_writes_each_output_once() -> Result<()> {
    let (backend, device) = profiled();
    // A multiple of four, and a rest of three that is taken one by one.
    for count in [4096, 4099] {
        let (x, y) = (ramp([count], &device)?, ramp([count], &device)?);
        let z = x.mul(&y)?.add(&x)?.exp()?.mul(0.5)?.sub(&y)?;
        z.eval()?;
        let run = backend.last_run();
        assert_eq!((run.command_buffers, run.profiles.len()), (1, 1));
        let counters = &run.profiles[0].counters;
        assert_eq!(counters.device_bytes_read, 2 * 4 * count as u64);
        assert_eq!(counters.device_bytes_written, 4 * count as u64);
        assert_eq!((counters.barriers, counters.simd_operations, counters.atomics), (0, 0, 0));
        // Four floats per thread and access: less than half of the instructions that one by one would take.
        assert!(2 * counters.memory_instructions < 3 * count as u64 / 32, "{counters:?}");
    }
    Ok(())
}

#[test]
fn rows_that_fit_are_read_once() -> Result<()> {
    let (backend, device) = profiled();
    let x = ramp([3, 1024], &device)?;
    for y in [x.softmax(-1)?, x.rms_norm(None, 1e-5)?] {
        y.eval()?;
        let counters = backend.last_run().profiles[0].counters.clone();
        assert_eq!((counters.device_bytes_read, counters.device_bytes_written), (3 * 4096, 3 * 4096));
    }
    // A residual addition in front of the norm is part of its loads.
    x.add(&x.mul(2.0)?)?.rms_norm(None, 1e-5)?.eval()?;
    assert_eq!(backend.last_run().profiles.len(), 1);
    Ok(())
}

#[test]
fn many_steps_are_one_command_buffer() -> Result<()> {
    let (backend, device) = profiled();
    let mut x = ramp([4, 64], &device)?;
    for _ in 0..4 {
        x = x.rms_norm(None, 1e-5)?.softmax(-1)?.cumsum(1)?.add(&x)?;
    }
    x.eval()?;
    let run = backend.last_run();
    assert_eq!(run.command_buffers, 1);
    assert!(run.profiles.len() >= 12, "{}", run.profiles.len());
    Ok(())
}

#[test]
fn few_of_many_are_selected_and_not_sorted() -> Result<()> {
    let (backend, device) = profiled();
    // Thirteen values, so that there are many ties: the first of equals comes first.
    let (rows, width) = (2usize, 5000usize);
    let (x, y) = (ramp([rows, width], &device)?, ramp([rows, width], &Device::cpu())?);
    for k in [1, 7, 200] {
        let (ours, theirs) = (x.top_k(k, -1)?, y.top_k(k, -1)?);
        assert_eq!(ours.0.to_vec::<f32>()?, theirs.0.to_vec::<f32>()?, "{k}");
        let profiles = backend.last_run().profiles;
        let read: u64 = profiles.iter().map(|p| p.counters.device_bytes_read).sum();
        let written: u64 = profiles.iter().map(|p| p.counters.device_bytes_written).sum();
        // Five tiles leave their firsts, value and position, which are read once more; then the result.
        let kept = 8 * (rows * 5 * k) as u64;
        assert!(read <= 4 * (rows * width) as u64 + kept, "{k}: {read}");
        assert!(written <= kept + 4 * (rows * k) as u64, "{k}: {written}");
        assert_eq!(ours.1.to_vec::<i64>()?, theirs.1.to_vec::<i64>()?, "{k}");
    }
    Ok(())
}

#[test]
fn one_long_row_is_scanned_by_many_groups() -> Result<()> {
    let width = 20_001;
    let (backend, device) = profiled();
    // Quarters, whose sums are exact in any order.
    let want = ramp([width], &Device::cpu())?.cumsum(0)?.to_vec::<f32>()?;
    for device in [&device, &checked()] {
        assert_eq!(ramp([width], device)?.cumsum(0)?.to_vec::<f32>()?, want);
    }
    let profiles = backend.last_run().profiles;
    assert_eq!(profiles.len(), 2);
    let read: u64 = profiles.iter().map(|p| p.counters.device_bytes_read).sum();
    assert!((2 * 4 * width as u64..2 * 4 * width as u64 + 65_536).contains(&read), "{read}");
    Ok(())
}

#[test]
fn rows_of_minus_infinity_are_nan() -> Result<()> {
    let device = checked();
    let low = f32::NEG_INFINITY;
    for width in [3, 4, 5000] {
        let mut values = vec![low; 2 * width];
        values[width] = 1.0;
        let x = Tensor::from_slice_on(&values, &device)?.reshape([2, width])?;
        let got = x.softmax(-1)?.to_vec::<f32>()?;
        assert!(got[..width].iter().all(|v| v.is_nan()));
        assert_eq!(got[width], 1.0);
        assert!(got[width + 1..].iter().all(|v| *v == 0.0));
    }
    Ok(())
}

#[test]
fn halves_near_overflow_are_summed_in_float() -> Result<()> {
    let device = checked();
    for count in [100, 8192] {
        let x = Tensor::full_on([count], 60000.0, DType::F16, &device)?.copied()?;
        let norm = x.reshape([1, count])?.rms_norm(None, 0.0)?.cast(DType::F32)?.to_vec::<f32>()?;
        assert!(norm.iter().all(|v| (v - 1.0).abs() < 1e-3), "{}", norm[0]);
    }
    Ok(())
}

#[test]
fn widths_that_break_others() -> Result<()> {
    let device = checked();
    for width in [1, 2, 3, 5, 31, 33, 63, 65, 127, 129, 257, 1000] {
        let x = ramp([3, width], &device)?;
        let y = x.to_device(&Device::cpu())?;
        for f in [
            |x: &Tensor| x.softmax(-1),
            |x: &Tensor| x.sum_axes([1], false),
            |x: &Tensor| x.sum_axes([0], false),
            |x: &Tensor| x.cumsum(1),
            |x: &Tensor| x.rms_norm(None, 1e-5),
            |x: &Tensor| x.flip([1])?.softmax(-1),
        ] {
            let (got, want) = (f(&x)?.to_vec::<f32>()?, f(&y)?.to_vec::<f32>()?);
            assert!(got.iter().zip(&want).all(|(a, b)| (a - b).abs() <= 1e-4 * b.abs().max(1.0)), "{width}");
        }
    }
    Ok(())
}

#[test]
fn what_runs_backwards_is_indexed_from_its_first_element() -> Result<()> {
    let device = checked();
    let all = |device: &Device| -> Result<Vec<Vec<f32>>> {
        let x = ramp([3, 4], device)?.flip([0, 1])?;
        let rows = Tensor::from_slice_on(&[2i64, 0, 1, 1], device)?;
        let columns = Tensor::from_slice_on(&[3i64, -1, 0], device)?;
        Ok(vec![x.take(&rows, 0)?.to_vec()?, x.take(&columns, 1)?.to_vec()?])
    };
    assert_eq!(all(&device)?, all(&Device::cpu())?);
    Ok(())
}

/// Three gigabytes that nobody touches but for a few pages.
struct Sparse(memmap2::MmapMut);

impl AsRef<[u8]> for Sparse {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

#[test]
fn offsets_beyond_31_bits() -> Result<()> {
    let device = checked();
    let (length, far) = (3usize << 30, (3usize << 30) - 4096);
    let mut map = memmap2::MmapMut::map_anon(length).expect("address space for three gigabytes");
    map[far..far + 8].copy_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8]);
    map[..8].copy_from_slice(&[10; 8]);
    // Two rows, more than 2³¹ bytes apart.
    let layout = Layout { shape: [2, 8].into(), strides: [far as isize, 1].into_iter().collect(), offset: 0 };
    let x = Tensor::from_host_on(HostMemory::new(Sparse(map)), DType::U8, layout, &device)?;
    let sums = x.add(&x)?.sum_axes([1], false)?.to_vec::<u64>()?;
    assert_eq!(sums, [160, 72]);
    let row = Tensor::from_slice_on(&[1i32], &device)?;
    assert_eq!(x.take(&row, 0)?.to_vec::<u8>()?, [1, 2, 3, 4, 5, 6, 7, 8]);
    Ok(())
}

#[test]
fn a_users_kernel_is_a_node_like_any_other() -> Result<()> {
    let (backend, device) = profiled();
    let source = GpuSource {
        language: Language::Msl,
        text: "#include <metal_stdlib>
            constant float factor [[function_constant(0)]];
            kernel void blend(device const float* a [[buffer(0)]], device const float* b [[buffer(1)]],
                              device float* out [[buffer(2)]], uint i [[thread_position_in_grid]]) {
                out[i] = a[i] * factor + b[i];
            }"
        .into(),
        entry: "blend".into(),
        grid: [6, 1, 1],
        group: [4, 1, 1],
        constants: vec![("factor".into(), Number::Float(3.0))],
    };
    let blend = Arc::new(CustomKernel::new("blend").with_source(source));
    let a = Tensor::from_slice_on(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &device)?;
    // The second operand is a view and has to be put in order first.
    let y = Tensor::custom(&blend, &[&a.add(1.0)?, &a.flip([0])?], [6], DType::F32)?.neg()?;
    assert_eq!(y.to_vec::<f32>()?, [-12.0, -14.0, -16.0, -18.0, -20.0, -22.0]);
    assert_eq!(backend.last_run().command_buffers, 1);
    Ok(())
}
