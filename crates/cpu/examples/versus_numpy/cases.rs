//! Our side of the cases: the same shapes as tools/numpy_peer.py, all workers, preallocated outputs.

use wootz_cpu::gemm::{self, LoadAs, Shape, Strided, StridedSink};
use wootz_cpu::isa::Real;
use wootz_cpu::math::slices;
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

const N: usize = 10_000_000;

fn unary(f: fn(&[f32], &mut [f32])) -> Case {
    let (x, mut y) = (random(N), vec![0.0; N]);
    let run = move || {
        let out = SyncPtr::of(&mut y);
        Team::global().run(&|w| {
            let share = w.split(N, 4096);
            // SAFETY: the shares of the workers do not overlap, and `y` outlives the region.
            f(&x[share.clone()], unsafe { out.slice_mut(share) });
        });
    };
    Case { run: Box::new(run), work: 8.0 * N as f64, unit: "GB/s" }
}

fn matmul<T: Real + LoadAs<T>>(n: usize) -> Case {
    let (a, b): (Vec<T>, Vec<T>) = {
        let x = random(2 * n * n);
        let convert = |x: &[f32]| x.iter().map(|&v| T::of(v as f64)).collect();
        (convert(&x[..n * n]), convert(&x[n * n..]))
    };
    let mut c = vec![T::ZERO; n * n];
    let run = move || {
        let shape = Shape { m: n, n, k: n };
        gemm::matmul(
            shape,
            &Strided::left(&a, n),
            &Strided::right(&b, n),
            &StridedSink::row_major(&mut c, n),
        );
    };
    Case { run: Box::new(run), work: 2.0 * (n * n * n) as f64, unit: "GFLOP/s" }
}

fn gemv(n: usize) -> Case {
    let (a, v, mut c) = (random(n * n), random(n), vec![0.0; n]);
    let run = move || {
        let shape = Shape { m: n, n: 1, k: n };
        gemm::matmul(
            shape,
            &Strided::left(&a, n),
            &Strided::right(&v, 1),
            &StridedSink::row_major(&mut c, 1),
        );
    };
    Case { run: Box::new(run), work: 4.0 * (n * n) as f64, unit: "GB/s" }
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
        "tanh" => unary(slices::tanh_f32),
        _ => unreachable!("{name} is not in NAMES"),
    }
}
