//! Speed of the quantised products: weight bytes per second for one activation row (decode), operations per
//! second for many (prefill), with rounded and with precise activations, beside this machine's read and copy bandwidth.
//!
//! `cargo run --release -p wootz-cpu --example quant_bench -- [FORMAT|all] [ROWS COLS] [THREADS]`
//!
//! With one thread on Linux, times are the thread's processor time, so that other programs disturb little.

use wootz_blocks::{BlockFormat, quantize};
use wootz_cpu::quant::{ActLayout, Acts, Output, Weights, matmul_rows, quantize_rows};
use wootz_cpu::team::Team;
use wootz_ir::op::Activations;

mod clock;
use clock::Clock;

fn bandwidth(team: &Team, clock: &Clock) {
    let source = vec![1u64; 32 << 20];
    let mut copy = vec![0u64; 32 << 20];
    let bytes = (source.len() * 8) as f64;
    let out = copy.as_mut_ptr() as usize;
    let seconds = clock.best(|| {
        team.run(&|w| {
            let r = w.split(source.len(), 1024);
            // SAFETY: workers' ranges are disjoint and within both vectors.
            unsafe {
                let to = (out as *mut u64).add(r.start);
                std::ptr::copy_nonoverlapping(source.as_ptr().add(r.start), to, r.len());
            }
        });
    });
    println!("copy  {:6.1} GB/s (read + write)", 2.0 * bytes / seconds / 1e9);
    let seconds = clock.best(|| {
        team.run(&|w| {
            std::hint::black_box(
                source[w.split(source.len(), 1024)].iter().fold(0u64, |a, b| a.wrapping_add(*b)),
            );
        });
    });
    println!("read  {:6.1} GB/s", bytes / seconds / 1e9);
}

fn product(team: &Team, weights: &Weights<'_>, records: &[u32], layout: ActLayout, out: &mut [f32]) {
    let acts = Acts::new(layout, records).expect("whole records");
    let output = Output::new(out.as_mut_ptr(), weights.rows());
    team.run(&|w| {
        let rows = w.split(weights.rows(), 16);
        // SAFETY: workers' rows are disjoint, and `out` has a value for each row and activation row.
        unsafe { matmul_rows(weights, &acts, rows, output) };
    });
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let only = args.first().filter(|n| *n != "all");
    let only = only.map(|n| BlockFormat::from_name(n).expect("the first argument is a format"));
    let number =
        |i: usize, default| args.get(i).map_or(default, |n| n.parse().expect("rows and columns are numbers"));
    let (rows, cols): (usize, usize) = (number(1, 2048), number(2, 2048));
    let team = Team::new(number(3, 2));
    let clock = Clock::new(team.size());
    bandwidth(&team, &clock);
    println!("{rows} x {cols}, {} threads; decode reads 256 MB of weights in turn", team.size());
    for &format in BlockFormat::ALL.iter().filter(|f| Weights::supports(**f) && only.is_none_or(|o| o == **f))
    {
        let w: Vec<f32> = (0..rows * cols).map(|i| ((i * 7919 % 1001) as f32 - 500.0) / 500.0).collect();
        let mut bytes = vec![0; format.bytes_of(rows * cols).expect("whole blocks")];
        quantize(format, &w, None, &mut bytes).expect("finite weights");
        // Copies beyond the caches, used one after another as the layers of a model are.
        let copies = ((256 << 20) / bytes.len()).max(1);
        let all: Vec<u8> = bytes.repeat(copies);
        let weights: Vec<Weights<'_>> = all
            .chunks_exact(bytes.len())
            .map(|b| Weights::new(format, b, rows, cols).expect("whole matrix"))
            .collect();
        for activations in [Activations::Rounded, Activations::Precise] {
            let layout = ActLayout::new(cols, activations).expect("whole groups");
            let x: Vec<f32> = (0..128 * cols).map(|i| (i as f32 * 0.37).sin()).collect();
            let (one, many) = (quantize_rows(layout, &x[..cols]), quantize_rows(layout, &x));
            let mut out = vec![0.0; 128 * rows];
            let cached = clock.best(|| product(&team, &weights[0], &one, layout, &mut out));
            let decode =
                clock.best(|| weights.iter().for_each(|w| product(&team, w, &one, layout, &mut out)));
            let prefill = clock.best(|| product(&team, &weights[0], &many, layout, &mut out));
            println!(
                "{:7} {activations:?}: decode {:6.1} GB/s from memory, {:6.1} GB/s from cache; prefill(128) {:7.1} GOP/s",
                format.name(),
                all.len() as f64 / decode / 1e9,
                bytes.len() as f64 / cached / 1e9,
                2.0 * 128.0 * (rows * cols) as f64 / prefill / 1e9
            );
        }
    }
}
