//! What safe code may do to the CPU device without harm: odd owners of memory, buffers that are read while they are
//! written, empty values in the middle of a graph, operands that are too short.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use wootz_backend::{Backend, Buffer, HostMemory, Run};
use wootz_cpu::CpuBackend;
use wootz_cpu::gemm::{PackSource, Shape as Product, Sink, Strided, StridedSink, matmul};
use wootz_ir::graph::{Leaf, Node, NodeRef, Trace};
use wootz_ir::op::{Axes, ReduceOp};
use wootz_ir::{DType, ElementwiseOp, Layout, Result, Shape, build};
use wootz_plan::Plan;

fn leaf(buffer: &Buffer, shape: &[usize], dtype: DType, donated: bool) -> NodeRef {
    let layout = Layout::contiguous(&Shape::from(shape));
    Node::leaf(Leaf { layout, donated, payload: Arc::new(buffer.clone()) }, dtype)
}

fn run(backend: &CpuBackend, output: &NodeRef) -> Result<Vec<u8>> {
    let trace = Trace::of(std::slice::from_ref(output));
    let plan = Arc::new(Plan::new(&trace.graph, &backend.capabilities()));
    let buffers: Vec<Buffer> =
        trace.leaves.iter().map(|leaf| leaf.payload.downcast_ref::<Buffer>().unwrap().clone()).collect();
    let executable = backend.compile(plan)?;
    let results = backend.submit(&executable, Run { leaves: &buffers, params: &trace.constants })?.wait()?;
    let plan = executable.plan();
    let buffer = match plan.buffers[plan.outputs[0].buffer as usize].place {
        wootz_plan::Place::Result(i) => results[i].clone(),
        wootz_plan::Place::Leaf(i) => buffers[i].clone(),
        wootz_plan::Place::Scratch(_) => unreachable!(),
    };
    let mut bytes = vec![0; output.shape().count() * output.dtype().size()];
    backend.download(&buffer, plan.outputs[0].layout.offset * output.dtype().size(), &mut bytes)?;
    Ok(bytes)
}

/// An owner that says something else each time.
struct Fickle {
    bytes: Vec<u8>,
    asked: AtomicUsize,
}

impl AsRef<[u8]> for Fickle {
    fn as_ref(&self) -> &[u8] {
        match self.asked.fetch_add(1, Ordering::Relaxed) {
            0 => &self.bytes,
            1 => &self.bytes[1..2],
            _ => &[],
        }
    }
}

#[test]
fn an_owner_is_asked_once_where_its_memory_is() -> Result<()> {
    let backend = CpuBackend::with_limit(1 << 24);
    let owner = Fickle { bytes: (0..64).collect(), asked: AtomicUsize::new(0) };
    let buffer = backend.import(HostMemory::new(owner))?;
    assert_eq!(buffer.len(), 64);
    for _ in 0..3 {
        let mut bytes = vec![0; 64];
        backend.download(&buffer, 0, &mut bytes)?;
        assert_eq!(bytes, (0..64).collect::<Vec<u8>>());
    }
    assert_eq!(buffer.host_bytes().map(|bytes| bytes[63]), Some(63));
    Ok(())
}

#[test]
fn memory_that_is_not_aligned_for_its_dtype_is_refused() -> Result<()> {
    let backend = CpuBackend::with_limit(1 << 24);
    let words: Arc<Vec<u64>> = Arc::new(vec![1; 8]);
    struct Odd(Arc<Vec<u64>>);
    impl AsRef<[u8]> for Odd {
        fn as_ref(&self) -> &[u8] {
            &bytemuck::cast_slice(&self.0)[1..33]
        }
    }
    let buffer = backend.import(HostMemory::new(Odd(words)))?;
    let x = leaf(&buffer, &[8], DType::F32, false);
    let message = run(&backend, &build::elementwise(ElementwiseOp::Neg, &[&x])?).unwrap_err().to_string();
    assert!(message.contains("not aligned"), "{message}");
    Ok(())
}

#[test]
fn what_the_host_reads_in_place_is_not_written() -> Result<()> {
    let backend = CpuBackend::with_limit(1 << 24);
    let buffer = backend.allocate(16)?;
    backend.upload(&buffer, 0, &[7; 16])?;
    let other = buffer.clone();
    let seen = other.host_bytes().unwrap();
    let message = backend.upload(&buffer, 0, &[9; 16]).unwrap_err().to_string();
    assert!(message.contains("read in place"), "{message}");
    assert_eq!(seen, [7; 16]);
    // Nor by a plan that was made to update it in place.
    let start = backend.allocate(4)?;
    let state = leaf(&buffer, &[4, 4], DType::U8, true);
    let rows = build::full(&Shape::from([1, 4]), 5.into(), DType::U8)?;
    let written = build::write_at(&state, &rows, &leaf(&start, &[1], DType::I32, false), 0)?;
    let message = run(&backend, &written).unwrap_err().to_string();
    assert!(message.contains("donated"), "{message}");
    assert_eq!(seen, [7; 16]);
    Ok(())
}

#[test]
fn imported_memory_is_never_written() -> Result<()> {
    static BYTES: [u8; 16] = [3; 16];
    let backend = CpuBackend::with_limit(1 << 24);
    let buffer = backend.import(HostMemory::new(&BYTES[..]))?;
    assert!(backend.upload(&buffer, 0, &[1]).is_err());
    let start = backend.allocate(4)?;
    let state = leaf(&buffer, &[4, 4], DType::U8, true);
    let rows = build::full(&Shape::from([1, 4]), 5.into(), DType::U8)?;
    let written = build::write_at(&state, &rows, &leaf(&start, &[1], DType::I32, false), 0)?;
    assert!(run(&backend, &written).is_err());
    assert_eq!(BYTES, [3; 16]);
    Ok(())
}

#[test]
fn new_memory_is_zero_however_it_was_used_before() -> Result<()> {
    let backend = CpuBackend::with_limit(1 << 24);
    for size in [1usize, 100, 5000] {
        let old = backend.allocate(size)?;
        backend.upload(&old, 0, &vec![0xab; size])?;
        drop(old);
        let new = backend.allocate(size)?;
        assert!(new.host_bytes().unwrap().iter().all(|&b| b == 0));
        drop(new);
        let partly = backend.allocate(size)?;
        backend.upload(&partly, size - 1, &[1])?;
        let mut bytes = vec![9; size];
        backend.download(&partly, 0, &mut bytes)?;
        assert_eq!((bytes[..size - 1].iter().map(|&b| b as usize).sum::<usize>(), bytes[size - 1]), (0, 1));
    }
    Ok(())
}

#[test]
fn products_over_empty_intermediates_are_zero() -> Result<()> {
    let backend = CpuBackend::with_limit(1 << 24);
    let nothing = backend.allocate(0)?;
    for dtype in DType::ALL.into_iter().filter(|&d| d != DType::Bool) {
        let x = leaf(&nothing, &[2, 0], dtype, false);
        let sorted = build::sort(&x, 1, false, None)?;
        let sum = build::reduce(ReduceOp::Sum, &sorted, Axes::default().with(1), false)?;
        assert_eq!(run(&backend, &sum)?, vec![0; 2 * sum.dtype().size()], "sum of {dtype}");
        for left in [sorted.clone(), build::argsort(&x, 1, false, None)?] {
            let right = build::permute(&left, &[1, 0])?;
            let product = build::matmul(&left, &right)?;
            let shifted = build::matmul(&left, &build::elementwise(ElementwiseOp::Add, &[&right, &right])?)?;
            for product in [product, shifted] {
                assert_eq!(
                    run(&backend, &product)?,
                    vec![0; 4 * product.dtype().size()],
                    "product of {dtype}"
                );
            }
        }
    }
    Ok(())
}

#[test]
fn a_product_of_operands_that_are_too_short_is_refused() {
    let (a, b, mut c) = (vec![1f32; 4 * 4], vec![1f32; 4 * 4], vec![0f32; 4 * 4]);
    for (m, n, k) in [(5, 4, 4), (4, 5, 4), (4, 4, 5), (1 << 20, 1, 1), (1, 1, 1 << 20)] {
        let refused = catch_unwind(AssertUnwindSafe(|| {
            let c = StridedSink::row_major(&mut c, 4);
            matmul(Product { m, n, k }, &Strided::left(&a, 4), &Strided::right(&b, 4), &c);
        }));
        assert!(refused.is_err(), "{m}×{n}×{k}");
    }
    let mut panel = vec![0f32; 64];
    let packed = catch_unwind(AssertUnwindSafe(|| Strided::left(&a, 4).pack(0..8, 0..4, 8, &mut panel)));
    assert!(packed.is_err());
    let stored = catch_unwind(AssertUnwindSafe(|| StridedSink::row_major(&mut c, 4).store(3, 2, &[1.0; 3])));
    assert!(stored.is_err());
}

#[test]
fn many_products_of_computed_operands_take_the_memory_of_one() -> Result<()> {
    let before = resident_kilobytes();
    let backend = CpuBackend::with_limit(1 << 28);
    let (batch, n) = (20_000, 8);
    let buffer = backend.allocate(batch * n * n * 4)?;
    let x = leaf(&buffer, &[batch, n, n], DType::F32, false);
    let computed = |op| build::elementwise(op, &[&x]);
    let product = build::matmul(&computed(ElementwiseOp::Exp)?, &computed(ElementwiseOp::Cos)?)?;
    let bytes = run(&backend, &product)?;
    assert_eq!(bytes[..4], (n as f32).to_le_bytes());
    let grown = resident_kilobytes().saturating_sub(before);
    assert!(grown < 100_000, "{grown} kB for products of 5 MB");
    Ok(())
}

/// Memory of this process; 0 where the system does not say.
fn resident_kilobytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok()).unwrap_or(0)
}

#[test]
fn every_constant_of_a_large_graph_is_its_own() -> Result<()> {
    let backend = CpuBackend::with_limit(1 << 24);
    let buffer = backend.allocate(8)?;
    let mut x = leaf(&buffer, &[1], DType::I64, false);
    let count = 70_000i64;
    for i in 0..count {
        x = build::elementwise(ElementwiseOp::Add, &[&x, &Node::constant(i.into(), DType::I64)])?;
    }
    let sum = i64::from_le_bytes(run(&backend, &x)?.try_into().unwrap());
    assert_eq!(sum, count * (count - 1) / 2);
    Ok(())
}
