//! Our side of the cases: the same shapes as tools/numpy_peer.py, all workers, preallocated outputs.

use wootz_cpu::gemm::{self, LoadAs, Shape, Strided, StridedSink};
use wootz_cpu::isa::Real;
use wootz_cpu::math::slices;
use wootz_cpu::reduce::{self, ArgMax, Max, Sum};
use wootz_cpu::rows::{self, RowIo};
use wootz_cpu::scratch::Scratch;
use wootz_cpu::team::{SyncPtr, Team};

pub const NAMES: &[&str] = &[
    "matmul 64",
    "matmul 128",
    "matmul 256",
    "matmul 512",
    "matmul 1024",
    "matmul 2048",
    "matmul_f64 1024",
    "gemv 4096",
    "exp",
    "sin",
    "tanh",
    "add",
    "sum",
    "max",
    "argmax",
    "sum_axis0",
    "sum_axis1",
    "softmax",
];

/// A case ready to run, and how much work one run is.
pub struct Case {
    pub run: Box<dyn FnMut()>,
    pub work: f64,
    pub unit: &'static str,
}

fn random(n: usize) -> Vec<f32> {
    let mut state = 0x1234_5678_9abc_def0_u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f32 / (1u64 << 24) as f32
    };
    // A sum of uniform numbers: near enough to the peer's normal ones.
    (0..n).map(|_| (next() + next() + next() + next() - 2.0) * 1.7).collect()
}

/// A copy in huge pages, as NumPy allocates its large arrays; lives until the program ends.
fn array<T: Copy>(values: &[T]) -> &'static mut [T] {
    let memory = Box::leak(Box::new(Scratch::new())).reserve(size_of_val(values)).cast::<T>();
    // SAFETY: the memory has the size of the values, is aligned beyond any number's need, and is never freed.
    unsafe {
        std::ptr::copy_nonoverlapping(values.as_ptr(), memory, values.len());
        std::slice::from_raw_parts_mut(memory, values.len())
    }
}

const N: usize = 10_000_000;

fn unary(f: fn(&[f32], &mut [f32])) -> Case {
    let (x, y) = (array(&random(N)), array(&vec![0.0; N]));
    let run = move || {
        let out = SyncPtr::of(y);
        Team::global().run(&|w| {
            let share = w.split(N, 4096);
            // SAFETY: the shares of the workers do not overlap, and `y` outlives the region.
            f(&x[share.clone()], unsafe { out.slice_mut(share) });
        });
    };
    Case { run: Box::new(run), work: 8.0 * N as f64, unit: "GB/s" }
}

fn matmul<T: Real + LoadAs<T>>(n: usize) -> Case {
    let x: Vec<T> = random(2 * n * n).iter().map(|&v| T::of(v as f64)).collect();
    let (a, b, c) = (array(&x[..n * n]), array(&x[n * n..]), array(&vec![T::ZERO; n * n]));
    let run = move || {
        let shape = Shape { m: n, n, k: n };
        gemm::matmul(shape, &Strided::left(a, n), &Strided::right(b, n), &StridedSink::row_major(c, n));
    };
    Case { run: Box::new(run), work: 2.0 * (n * n * n) as f64, unit: "GFLOP/s" }
}

fn gemv(n: usize) -> Case {
    let (a, v, c) = (array(&random(n * n)), array(&random(n)), array(&vec![0.0; n]));
    let run = move || {
        let shape = Shape { m: n, n: 1, k: n };
        gemm::matmul(shape, &Strided::left(a, n), &Strided::right(v, 1), &StridedSink::row_major(c, 1));
    };
    Case { run: Box::new(run), work: 4.0 * (n * n) as f64, unit: "GB/s" }
}

fn add() -> Case {
    let (x, z, y) = (array(&random(N)), array(&random(N)), array(&vec![0.0; N]));
    let run = move || {
        let out = SyncPtr::of(y);
        Team::global().run(&|w| {
            let share = w.split(N, 4096);
            // SAFETY: the shares of the workers do not overlap, and `y` outlives the region.
            add_slices(&x[share.clone()], &z[share.clone()], unsafe { out.slice_mut(share) });
        });
    };
    Case { run: Box::new(run), work: 12.0 * N as f64, unit: "GB/s" }
}

wootz_cpu::isa_fn! {
    fn add_slices<I>(x: &[f32], z: &[f32], y: &mut [f32]) {
        for ((y, &x), &z) in y.iter_mut().zip(x).zip(z) {
            *y = x + z;
        }
    }
}

/// A reduction of a run: each worker its share, then the parts.
fn over_run(part: fn(&[f32]) -> f32, whole: fn(&[f32]) -> f32) -> Case {
    let x = array(&random(N));
    let mut parts = vec![0.0; Team::global().size()];
    let run = move || {
        let out = SyncPtr::of(&mut parts);
        Team::global().run(&|w| {
            // SAFETY: every worker writes its own part.
            unsafe { *out.get().add(w.index()) = part(&x[w.split(N, 4096)]) };
        });
        std::hint::black_box(whole(&parts));
    };
    Case { run: Box::new(run), work: 4.0 * N as f64, unit: "GB/s" }
}

fn sum_columns() -> Case {
    const SIDE: usize = 4096;
    let (x, y) = (array(&random(SIDE * SIDE)), array(&vec![0.0; SIDE]));
    let run = move || {
        y.fill(0.0);
        let out = SyncPtr::of(y);
        Team::global().run(&|w| {
            let share = w.split(SIDE, 64);
            // SAFETY: the shares of the workers do not overlap.
            reduce::fold_rows::<Sum, f32>(
                unsafe { out.slice_mut(share.clone()) },
                &x[share.start..],
                SIDE,
                SIDE,
            );
        });
    };
    Case { run: Box::new(run), work: 4.0 * (SIDE * SIDE) as f64, unit: "GB/s" }
}

fn per_row(rows: usize, width: usize, results: usize, f: fn(&[f32], &mut [f32])) -> Case {
    let (x, y) = (array(&random(rows * width)), array(&vec![0.0; rows * results]));
    let run = move || {
        let out = SyncPtr::of(y);
        Team::global().run(&|w| {
            for row in w.split(rows, 1) {
                // SAFETY: rows do not overlap.
                let y = unsafe { out.slice_mut(row * results..(row + 1) * results) };
                f(&x[row * width..(row + 1) * width], y);
            }
        });
    };
    Case {
        run: Box::new(run),
        work: 4.0 * (rows * (width + if results > 1 { results } else { 0 })) as f64,
        unit: "GB/s",
    }
}

pub fn build(name: &str) -> Case {
    let (kind, size) = name.split_once(' ').unwrap_or((name, "0"));
    let size: usize = size.parse().expect("sizes in NAMES are numbers");
    match kind {
        "matmul" => matmul::<f32>(size),
        "matmul_f64" => matmul::<f64>(size),
        "gemv" => gemv(size),
        "exp" => unary(slices::exp_f32),
        "sin" => unary(slices::sin_f32),
        "add" => add(),
        "sum" => over_run(reduce::reduce::<Sum, f32>, reduce::reduce::<Sum, f32>),
        "max" => over_run(reduce::reduce::<Max, f32>, reduce::reduce::<Max, f32>),
        "argmax" => over_run(
            |x| reduce::arg_reduce::<ArgMax, f32>(x).map_or(0.0, |(_, v)| v),
            reduce::reduce::<Max, f32>,
        ),
        "sum_axis0" => sum_columns(),
        "sum_axis1" => per_row(4096, 4096, 1, |x, y| y[0] = reduce::reduce::<Sum, f32>(x)),
        "softmax" => per_row(1024, 4096, 4096, |x, y| rows::softmax(RowIo::new(x, y))),
        "tanh" => unary(slices::tanh_f32),
        _ => unreachable!("{name} is not in NAMES"),
    }
}
