//! Times one product shape on its own: `gemm_probe m n k [f64]`.
//!
//! With one worker (`WOOTZ_THREADS=1`) it counts the processor time of the thread, so that other work on the
//! machine disturbs it less. The peak is that of f32; f64 has half of it.
use std::time::Instant;
use wootz_cpu::gemm::{LoadAs, Shape, Strided, StridedSink, matmul};
use wootz_cpu::isa::Real;
use wootz_cpu::scratch::Scratch;

fn thread_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Seconds that products take, the least first.
fn times<T: Real + LoadAs<T>>(Shape { m, n, k }: Shape) -> Vec<f64> {
    let begin = Instant::now();
    let alone = wootz_cpu::team::Team::global().size() == 1;
    let now = || if alone { thread_seconds() } else { begin.elapsed().as_secs_f64() };
    let (mut ma, mut mb, mut mc) = (Scratch::new(), Scratch::new(), Scratch::new());
    let array = |memory: &mut Scratch, n: usize| {
        // SAFETY: zeroed memory of that size, alive until the end.
        unsafe { std::slice::from_raw_parts_mut(memory.reserve(size_of::<T>() * n).cast::<T>(), n) }
    };
    let (a, b, c) = (array(&mut ma, m * k), array(&mut mb, k * n), array(&mut mc, m * n));
    a.fill(T::ONE);
    b.fill(T::ONE);
    let repeats = (4_000_000_000 / (2 * m * n * k)).clamp(1, 100_000) / 10 + 1;
    let mut times = Vec::new();
    for _ in 0..20 {
        let start = now();
        for _ in 0..repeats {
            let c = StridedSink::row_major(c, n);
            matmul(Shape { m, n, k }, &Strided::left(a, k), &Strided::right(b, n), &c);
        }
        times.push((now() - start) / repeats as f64);
    }
    times.sort_by(f64::total_cmp);
    times
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let double = arguments.get(3).is_some_and(|dtype| dtype == "f64");
    let sizes: Vec<usize> = arguments.iter().take(3).map(|a| a.parse().expect("a number")).collect();
    let shape = Shape { m: sizes[0], n: sizes[1], k: sizes[2] };
    let times = if double { times::<f64>(shape) } else { times::<f32>(shape) };
    let Shape { m, n, k } = shape;
    let rate = |t: f64| 2e-9 * (m * n * k) as f64 / t;
    let peak = wootz_cpu::measure_fma_gflops() / if double { 2.0 } else { 1.0 };
    println!("{m}x{n}x{k}: best {:.1} median {:.1} of {peak:.1} GFLOP/s", rate(times[0]), rate(times[10]));
}
