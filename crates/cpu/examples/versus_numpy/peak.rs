//! The machine's multiply-add rate with everything in registers: the limit that products are measured by.

use std::hint::black_box;
use std::time::Instant;
use wootz_cpu::isa::{Isa, Kernel, Lanes, Real, dispatch};
use wootz_cpu::team::Team;

const CHAINS: usize = 12;
const STEPS: usize = 200_000;

struct Spin<T>(T);

impl<T: Real> Kernel for Spin<T> {
    type Out = usize;
    #[inline(always)]
    fn run<I: Isa>(self) -> usize {
        // SAFETY: `dispatch` runs this under the features of `I`; the pointers are to locals.
        unsafe {
            let factor = T::Lanes::<I>::splat(&self.0);
            let mut sums = [T::Lanes::<I>::zero(); CHAINS];
            for _ in 0..STEPS {
                for sum in &mut sums {
                    *sum = sum.mul_add(factor, factor);
                }
            }
            let mut out = [T::ZERO; 16];
            for sum in sums {
                sum.store(out.as_mut_ptr());
                black_box(out);
            }
        }
        2 * T::Lanes::<I>::LEN * CHAINS * STEPS
    }
}

/// GFLOP/s of all workers together, the best of several tries.
pub fn flops<T: Real>() -> f64 {
    let team = Team::global();
    let mut best = 0f64;
    for _ in 0..20 {
        let start = Instant::now();
        team.run(&|_| {
            black_box(dispatch(Spin(black_box(T::of(0.5)))));
        });
        let operations = team.size() as f64 * dispatch_count::<T>();
        best = best.max(operations / start.elapsed().as_secs_f64() * 1e-9);
    }
    best
}

fn dispatch_count<T: Real>() -> f64 {
    struct Count<T>(std::marker::PhantomData<T>);
    impl<T: Real> Kernel for Count<T> {
        type Out = usize;
        #[inline(always)]
        fn run<I: Isa>(self) -> usize {
            2 * T::Lanes::<I>::LEN * CHAINS * STEPS
        }
    }
    dispatch(Count::<T>(std::marker::PhantomData)) as f64
}
