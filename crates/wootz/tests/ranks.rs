//! Arrays over ranks, against the same work on one.
#![cfg(unix)]

#[path = "../../mpi/tests/launch/mod.rs"]
#[allow(dead_code, reason = "the tests of wootz-mpi use more of it")]
mod launch;

use launch::{installed, text};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use wootz::distributed::{self, Group, Sharded};
use wootz::{CustomKernel, DType, Device, HostMemory, Layout, Shape, Tensor};

#[test]
fn arrays_over_ranks_are_those_of_one() {
    for (at, library) in installed().iter().enumerate() {
        // Each library once with an even and once with an odd number; collectives are tested with all of them.
        for ranks in [[1, 4], [2, 3]][at % 2] {
            let output = library.run("arrays", ranks, &[], "120");
            let text = text(&output);
            assert!(output.status.success(), "{} with {ranks} ranks: {text}", library.name);
            assert_eq!(text.matches("all as expected").count(), ranks, "{}: {text}", library.name);
        }
    }
}

/// A collective is a host kernel, which reads operands where they are.
#[test]
fn host_kernels_read_tensors_in_place() {
    let seen = Arc::new(AtomicUsize::new(0));
    let noted = seen.clone();
    let kernel = Arc::new(CustomKernel::new("where").with_fallible_host(move |operands, result| {
        noted.store(operands[0].bytes.as_ptr().addr(), Relaxed);
        result.copy_from_slice(operands[0].bytes);
        Ok(())
    }));
    let bytes = vec![7u8; 1 << 16];
    let at = bytes.as_ptr().addr();
    let shape = Shape::from([1 << 16]);
    let layout = Layout::contiguous(&shape);
    let x =
        Tensor::from_host_on(HostMemory::new(bytes), DType::U8, layout, &Device::cpu()).expect("a tensor");
    Tensor::custom(&kernel, &[&x], shape, DType::U8).expect("a kernel").eval().expect("its result");
    assert_eq!(seen.load(Relaxed), at);
}

/// What each rank does.
#[test]
#[ignore = "run on every rank by the tests above"]
fn rank() {
    let group = distributed::init().unwrap_or_else(|error| panic!("{error}"));
    // Fewer rows than ranks, as many, and more.
    for rows in [1, 2, 4, 7, 12] {
        sharded(&group, rows).unwrap_or_else(|error| panic!("{rows} rows: {error}"));
    }
    grids(&group).unwrap_or_else(|error| panic!("a grid: {error}"));
    for device in Device::all() {
        staged(&group, &device).unwrap_or_else(|error| panic!("{device}: {error}"));
    }
    println!("all as expected");
}

/// Small integers, of which all sums are exact.
fn numbers(shape: &[usize], seed: usize) -> Tensor {
    let count = shape.iter().product::<usize>();
    let values: Vec<f32> = (0..count).map(|i| ((i * 31 + seed * 17) % 23) as f32 - 11.0).collect();
    Tensor::from_slice(&values).and_then(|x| x.reshape(Shape::from(shape))).expect("a tensor")
}

fn same(found: &Tensor, expected: &Tensor) -> wootz::Result<()> {
    assert_eq!(found.shape(), expected.shape());
    assert_eq!(found.to_vec::<f32>()?, expected.to_vec::<f32>()?);
    Ok(())
}

fn sharded(group: &Group, rows: usize) -> wootz::Result<()> {
    let (x, y) = (numbers(&[rows, 5], 1), numbers(&[rows, 5], 2));
    let (a, b) = (group.shard(&x, 0)?, group.shard(&y, 0)?);
    same(&a.gather()?, &x)?;
    same(&group.shard(&x, 1)?.gather()?, &x)?;
    same(&a.map(|x| x.abs())?.gather()?, &x.abs()?)?;
    same(&a.zip(&b, |x, y| x.mul(y))?.gather()?, &x.mul(&y)?)?;
    for keep in [false, true] {
        same(&a.sum(&[0], keep)?, &x.sum_axes([0], keep)?)?;
        same(&a.max(&[0, 1], keep)?, &x.max_axes([0, 1], keep)?)?;
        same(&a.min(&[-2], keep)?, &x.min_axes([0], keep)?)?;
    }
    let weights = numbers(&[5, 6], 3);
    same(&a.matmul(&weights)?.gather()?, &x.matmul(&weights)?)?;
    let wide = numbers(&[5, rows], 4);
    let columns = group.shard(&wide, 1)?;
    same(
        &weights.transpose(0, 1)?.matmul_columns(&columns)?.gather()?,
        &weights.transpose(0, 1)?.matmul(&wide)?,
    )?;
    same(&columns.matmul_sharded(&a)?, &wide.matmul(&x)?)?;
    refused(group, &a, &columns);
    Ok(())
}

/// Work that would need other ranks' parts says so.
fn refused(group: &Group, a: &Sharded, columns: &Sharded) {
    let says = |error: Option<wootz::Error>, words: &str| {
        let error = error.expect("it is refused").to_string();
        assert!(error.contains(words), "{error}");
    };
    says(a.zip(columns, |x, _| Ok(x.clone())).err(), "sharded along the same axis");
    says(a.sum(&[1], false).err(), "the sharded axis 0 is not being reduced");
    says(a.matmul_sharded(a).err(), "a left operand sharded along its columns");
    says(columns.matmul(&numbers(&[2, 2], 0)).err(), "a left operand sharded along its rows");
    says(numbers(&[5, 5], 0).matmul_columns(a).err(), "a right operand sharded along its columns");
    if a.shape()[0] > 1 && !a.local().shape().contains(&0) {
        says(a.map(|x| x.sum_axes([0], false)).err(), "axis 0 unchanged; call gather() first");
    }
    says(group.grid(group.size() + 1).err(), "do not fill");
}

fn grids(group: &Group) -> wootz::Result<()> {
    for rows in (1..=group.size()).filter(|rows| group.size().is_multiple_of(*rows)) {
        let grid = group.grid(rows)?;
        assert_eq!(grid.extents(), [rows, group.size() / rows]);
        let (a, b) = (numbers(&[7, 9], 1), numbers(&[9, 5], 2));
        let (left, right) = (grid.shard(&a)?, grid.shard(&b)?);
        assert!(group.is_alone() || left.shape().count() < 63);
        same(&grid.gather(&left, [7, 9])?, &a)?;
        same(&grid.gather(&grid.matmul(&left, &right, 9)?, [7, 5])?, &a.matmul(&b)?)?;
    }
    Ok(())
}

/// Tensors of any device are summed through the host.
fn staged(group: &Group, device: &Device) -> wootz::Result<()> {
    let own: Vec<f32> = (0..5000).map(|i| (i % 50) as f32 + group.rank() as f32).collect();
    let sum = group.all_sum(&Tensor::from_slice_on(&own, device)?)?;
    assert_eq!(sum.device(), device);
    let (size, ranks) = (group.size() as f32, (0..group.size()).sum::<usize>() as f32);
    let expected: Vec<f32> = (0..5000).map(|i| size * (i % 50) as f32 + ranks).collect();
    assert_eq!(sum.to_vec::<f32>()?, expected);
    Ok(())
}
