//! Products with vector instructions, compiled for every instruction set.
//!
//! A format only defines how 32 of its codes become bytes of a register and where its scales are ([`Format`]);
//! [`dot`] (few activations) and [`panel`] + [`tile`] (many) are written once for all of them; and all of it is
//! generic over the instruction set ([`Simd`](simd::Simd)).

mod dot;
mod format;
mod nibbles;
mod panel;
mod simd;
mod staged;
mod superblocks;
mod tile;

use std::ops::Range;

use wootz_blocks::BlockFormat;

use self::{format::Format, nibbles::*, staged::Staged, superblocks::*};
use super::{Acts, Chains, Kernel, Output, Record, Stored, Weights};
use crate::isa::Level;
use simd::Apart;
#[cfg(target_arch = "aarch64")]
use simd::neon::{Dotprod, Neon, Pairs};
#[cfg(target_arch = "x86_64")]
use simd::{
    ymm::{Avx512Vnni, AvxVnni, Pairs, Ymm},
    zmm::Zmm,
};

/// From this many activation rows on, unpacking weights into tiles is cheaper than decoding them per row.
const TILE_FROM: usize = 4;

/// The kernels that this processor can run at a level, with their names and their rates' probes, the best first.
#[cfg(target_arch = "x86_64")]
pub(super) fn kernels(level: Level) -> impl Iterator<Item = (&'static str, Kernel, Chains)> {
    use std::arch::is_x86_feature_detected as has;
    let all: [(bool, &str, Kernel, Chains); 3] = [
        (
            level == Level::Avx512 && has!("avx512vnni"),
            "avx512-vnni",
            avx512_vnni::matmul_rows,
            avx512_vnni::chains,
        ),
        (level >= Level::Avx2 && has!("avxvnni"), "avx-vnni", avx_vnni::matmul_rows, avx_vnni::chains),
        (level >= Level::Avx2, "avx2", avx2::matmul_rows, avx2::chains),
    ];
    all.into_iter().filter_map(|(there, name, kernel, chains)| there.then_some((name, kernel, chains)))
}

/// The kernels that this processor can run at a level, with their names and their rates' probes, the best first.
#[cfg(target_arch = "aarch64")]
pub(super) fn kernels(level: Level) -> impl Iterator<Item = (&'static str, Kernel, Chains)> {
    use std::arch::is_aarch64_feature_detected as has;
    let all: [(bool, &str, Kernel, Chains); 2] = [
        (
            level == Level::Neon && has!("dotprod"),
            "neon-dotprod",
            neon_dotprod::matmul_rows,
            neon_dotprod::chains,
        ),
        (level == Level::Neon, "neon", neon::matmul_rows, neon::chains),
    ];
    all.into_iter().filter_map(|(there, name, kernel, chains)| there.then_some((name, kernel, chains)))
}

/// The two products of every format for one instruction set, in a module of that name: what unpacks, what multiplies a few
/// rows, and what multiplies tiles.
macro_rules! compile {
    ($($(#[$meta:meta])* $name:ident: $set:ty, $couple:ty, $tile:ty, $features:literal;)*) => {$(
        $(#[$meta])*
        mod $name {
            use super::*;

            /// See [`crate::quant::matmul_rows`].
            ///
            /// # Safety
            /// As there; `rows` must lie within the weights, the columns agree, and the processor must have the set.
            pub(super) unsafe fn matmul_rows(
                weights: &Weights<'_>,
                acts: &Acts<'_>,
                rows: Range<usize>,
                out: Output<'_>,
            ) {
                if weights.stored == Stored::Chunks {
                    // SAFETY: the caller's promises.
                    return unsafe { run::<Staged>(weights, acts, rows, out) };
                }
                let run = match weights.format {
                    BlockFormat::Q4_0 => run::<Q4_0>,
                    BlockFormat::Q4_1 => run::<Q4_1>,
                    BlockFormat::Q5_0 => run::<Q5_0>,
                    BlockFormat::Q5_1 => run::<Q5_1>,
                    BlockFormat::Q8_0 => run::<Q8_0>,
                    BlockFormat::Q2_K => run::<Q2K>,
                    BlockFormat::Q3_K => run::<Q3K>,
                    BlockFormat::Q4_K => run::<Q4K>,
                    BlockFormat::Q5_K => run::<Q5K>,
                    BlockFormat::Q6_K => run::<Q6K>,
                    BlockFormat::IQ4_NL => run::<Iq4Nl>,
                    BlockFormat::IQ4_XS => run::<Iq4Xs>,
                    BlockFormat::MXFP4 => run::<Mxfp4>,
                    BlockFormat::IQ1_S
                    | BlockFormat::IQ1_M
                    | BlockFormat::IQ2_XXS
                    | BlockFormat::IQ2_XS
                    | BlockFormat::IQ2_S
                    | BlockFormat::IQ3_XXS
                    | BlockFormat::IQ3_S
                    | BlockFormat::TQ1_0
                    | BlockFormat::TQ2_0
                    | BlockFormat::Q1_0
                    | BlockFormat::NVFP4 => {
                        // SAFETY: the caller's promises; this kernel has what it asks for itself.
                        return unsafe { staged::rows(matmul_rows, weights, acts, rows, out) };
                    }
                    BlockFormat::Q8_K | BlockFormat::F32 | BlockFormat::F16 | BlockFormat::BF16 => {
                        unreachable!("Weights::new refuses {}", weights.format)
                    }
                };
                // SAFETY: the caller's promises.
                unsafe { run(weights, acts, rows, out) }
            }

            /// See [`simd::chains`].
            ///
            /// # Safety
            /// The processor must have the set.
            #[target_feature(enable = $features)]
            pub(super) unsafe fn chains(rounds: usize) -> usize {
                // SAFETY: this function has the features.
                unsafe { simd::chains::<$tile>(rounds) }
            }

            /// The product with one kernel or the other.
            ///
            /// # Safety
            /// The processor has the features, and the rest is the contract of `matmul_rows`.
            unsafe fn run<F: Format>(
                weights: &Weights<'_>,
                acts: &Acts<'_>,
                rows: Range<usize>,
                out: Output<'_>,
            ) {
                // SAFETY: the caller's promises.
                unsafe {
                    if acts.rows() < TILE_FROM && !acts.is_batch_invariant() {
                        few::<F>(weights, acts, rows, out);
                    } else {
                        many::<F>(weights, acts, rows, out);
                    }
                }
            }

            /// # Safety
            /// As for `run`.
            #[target_feature(enable = $features)]
            unsafe fn few<F: Format>(w: &Weights<'_>, acts: &Acts<'_>, rows: Range<usize>, out: Output<'_>) {
                // SAFETY: this function has the features; the rest is the caller's promise.
                unsafe { dot::rows::<$set, $couple, F>(w, acts, rows, out) }
            }

            /// # Safety
            /// As for `run`.
            #[target_feature(enable = $features)]
            unsafe fn many<F: Format>(w: &Weights<'_>, acts: &Acts<'_>, rows: Range<usize>, out: Output<'_>) {
                // SAFETY: this function has the features; the rest is the caller's promise.
                unsafe { tile::rows::<$set, $tile, F>(w, acts, rows, out) }
            }
        }
    )*};
}

#[cfg(target_arch = "x86_64")]
compile! {
    avx2: Ymm<Pairs>, Apart, Ymm<Pairs>, "avx2,fma,f16c";
    avx_vnni: Ymm<AvxVnni>, Apart, Ymm<AvxVnni>, "avxvnni,avx2,fma,f16c";
    avx512_vnni: Ymm<Avx512Vnni>, Zmm, Zmm, "avx512vnni,avx512vl,avx512bw,avx512dq,avx512cd,avx512f,avx2,fma,f16c";
}

#[cfg(target_arch = "aarch64")]
compile! {
    neon: Neon<Pairs>, Apart, Neon<Pairs>, "neon";
    neon_dotprod: Neon<Dotprod>, Apart, Neon<Dotprod>, "neon,dotprod";
}
