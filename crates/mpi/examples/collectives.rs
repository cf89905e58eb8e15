//! Every operation once, on however many ranks: `mpirun -n 2 target/debug/examples/collectives`. Also times small and large sums.

use std::time::Instant;
use wootz_ir::{DType, Shape};
use wootz_mpi::{ReduceOp, World};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let world = World::init()?;
    let group = world.group();
    if world.rank() == 0 {
        let library = world.library();
        println!("{} ({}, {})", library.version, library.abi.name(), library.path);
    }
    for count in [1usize, 1024, 1 << 24] {
        let from = vec![world.rank() as f32 + 1.0; count];
        let mut into = vec![0f32; count];
        let shape = Shape::from([count]);
        let repeats = if count > 100_000 { 5 } else { 2000 };
        let mut best = f64::INFINITY;
        for _ in 0..5 {
            group.barrier()?;
            let begin = Instant::now();
            for _ in 0..repeats / 5 {
                let (from, into) = (bytemuck::cast_slice(&from), bytemuck::cast_slice_mut(&mut into));
                group.all_reduce(ReduceOp::Sum, DType::F32, &shape, from, into)?;
            }
            best = best.min(begin.elapsed().as_secs_f64() / (repeats / 5) as f64);
        }
        let expected = (world.size() * (world.size() + 1) / 2) as f32;
        assert!(into.iter().all(|&x| x == expected), "{} instead of {expected}", into[0]);
        if world.rank() == 0 {
            println!("all_sum of {} bytes: {:.2} µs", count * 4, best * 1e6);
        }
    }
    Ok(())
}
