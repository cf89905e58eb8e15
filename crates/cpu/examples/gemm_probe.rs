//! Times one product shape on its own: `gemm_probe m n k`.
use std::time::Instant;
use wootz_cpu::gemm::{Shape, Strided, StridedSink, matmul};
use wootz_cpu::scratch::Scratch;

fn main() {
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
        let start = Instant::now();
        for _ in 0..repeats {
            let c = StridedSink::row_major(c, n);
            matmul(Shape { m, n, k }, &Strided::left(a, k), &Strided::right(b, n), &c);
        }
        times.push(start.elapsed().as_secs_f64() / repeats as f64);
    }
    times.sort_by(f64::total_cmp);
    let rate = |t: f64| 2e-9 * (m * n * k) as f64 / t;
    println!("{m}x{n}x{k}: best {:.1} median {:.1} GFLOP/s", rate(times[0]), rate(times[10]));
}
