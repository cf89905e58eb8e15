//! Our side of the cases: the same shapes as tools/numpy_peer.py, all workers, preallocated outputs.

use wootz_cpu::math::slices;
use wootz_cpu::team::{SyncPtr, Team};

pub const NAMES: &[&str] = &["exp", "sin", "tanh"];

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

pub fn build(name: &str) -> Case {
    let (kind, _size) = name.split_once(' ').unwrap_or((name, ""));
    match kind {
        "exp" => unary(slices::exp_f32),
        "sin" => unary(slices::sin_f32),
        "tanh" => unary(slices::tanh_f32),
        _ => unreachable!("{name} is not in NAMES"),
    }
}
