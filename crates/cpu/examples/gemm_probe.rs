//! Times one product shape on its own: `gemm_probe m n k`.
//!
//! With one worker (`WOOTZ_THREADS=1`) it counts the processor time of the thread, so that other work on the
//! machine disturbs it less.
use std::time::Instant;
use wootz_cpu::gemm::{Shape, Strided, StridedSink, matmul};
use wootz_cpu::scratch::Scratch;

fn thread_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn main() {
    let begin = Instant::now();
    let alone = wootz_cpu::team::Team::global().size() == 1;
    let now = || if alone { thread_seconds() } else { begin.elapsed().as_secs_f64() };
    let sizes: Vec<usize> = std::env::args().skip(1).map(|a| a.parse().expect("a number")).collect();
    let (m, n, k) = (sizes[0], sizes[1], sizes[2]);
    let (mut ma, mut mb, mut mc) = (Scratch::new(), Scratch::new(), Scratch::new());
    let array = |memory: &mut Scratch, n: usize| {
        // SAFETY: zeroed memory of that size, alive until the end.
        unsafe { std::slice::from_raw_parts_mut(memory.reserve(4 * n).cast::<f32>(), n) }
    };
    let (a, b, c) = (array(&mut ma, m * k), array(&mut mb, k * n), array(&mut mc, m * n));
    a.fill(1.0);
    b.fill(1.0);
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
    let rate = |t: f64| 2e-9 * (m * n * k) as f64 / t;
    let peak = wootz_cpu::measure_fma_gflops();
    println!("{m}x{n}x{k}: best {:.1} median {:.1} of {peak:.1} GFLOP/s", rate(times[0]), rate(times[10]));
}
