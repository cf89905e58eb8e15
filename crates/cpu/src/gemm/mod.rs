//! Matrix products: `C = A · B` over f32 and f64, any strides, on a team's workers.
//!
//! Method (after Goto and van de Geijn): a block of B is packed into panels that stay in the last-level cache, a
//! block of A into panels that stay in L2, and the micro-kernel ([`tile`](self)) keeps a tile of C in registers. The
//! workers form a grid over C; those of one grid column pack B together and share it. Packing ahead is memory-bound
//! while the FMA units idle, so a row-major B is packed by the first tiles that read it.
//!
//! [`PackSource`] and [`Sink`] are the points where an executor fuses: an operand can be computed while it is packed,
//! and finished row segments go through an epilogue instead of memory.
//!
//! Not promised: correct results if C overlaps an operand. Sums are computed in the element type, blocked by K.

mod accelerate;
mod block;
mod integer;
mod plan;
mod sink;
mod source;
pub(crate) mod tile;
mod vector;

#[cfg(all(feature = "accelerate", target_vendor = "apple"))]
pub use accelerate::BlasProduct;
pub use integer::{Wrapping, gemm_integer};
pub use plan::{Gemm, Shape};
pub use sink::{Epilogue, Sink, StridedSink};
pub(crate) use source::PackStrided;
pub use source::{AlongDepth, AlongLanes, Dots, LoadAs, PackSource, Strided, Widen};
pub use vector::divides_depth;

use crate::isa::Real;
use crate::scratch::Scratch;
use crate::team::{SyncPtr, Team, Worker};
use std::cell::RefCell;

/// The least working memory to keep: two huge pages, because packed panels gain much from one TLB entry.
const LEAST: usize = 4 << 20;

thread_local! {
    static SCRATCH: RefCell<Scratch> = const { RefCell::new(Scratch::new()) };
}

/// A complete product on the global thread pool, with scratch memory kept per calling thread.
pub fn matmul<T: Real>(shape: Shape, a: &dyn PackSource<T>, b: &dyn PackSource<T>, c: &dyn Sink<T>) {
    let team = Team::global();
    let run = |scratch: &mut Scratch| {
        let gemm = Gemm::<T>::new(shape);
        if gemm.is_tiny() {
            let memory = SyncPtr::new(scratch.reserve(gemm.scratch_bytes(1).max(LEAST)));
            // SAFETY: one worker, and the memory has the size that was asked for.
            return unsafe { gemm.run(&Worker::solo(), a, b, c, memory) };
        }
        let memory = SyncPtr::new(scratch.reserve(gemm.scratch_bytes(team.size()).max(LEAST)));
        // SAFETY: every worker of the region comes here, with the same arguments; `scratch_bytes` grows with
        // the worker count, so a region that runs alone has enough too.
        team.run(&|worker| unsafe { gemm.run(worker, a, b, c, memory) });
    };
    SCRATCH.with(|cell| match cell.try_borrow_mut() {
        Ok(mut scratch) => run(&mut scratch),
        // A source or sink that itself multiplies matrices: rare enough for memory of its own.
        Err(_) => run(&mut Scratch::new()),
    });
}

#[cfg(test)]
mod tests;
