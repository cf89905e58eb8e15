//! Products in plain Rust: for processors without a specialised kernel, and as a reference for the others.

use std::ops::Range;

use wootz_blocks::{BlockFormat, CodedBlock, Group, formats::*};

use super::{Acts, Output, Record, Weights};

/// See [`super::matmul_rows`].
///
/// # Safety
/// As there, and `rows` must lie within the weights and the columns agree.
pub(super) unsafe fn matmul_rows(
    weights: &Weights<'_>,
    acts: &Acts<'_>,
    rows: Range<usize>,
    out: Output<'_>,
) {
    let run = match weights.format {
        BlockFormat::Q4_0 => run::<q4_0::BlockQ4_0>,
        BlockFormat::Q4_1 => run::<q4_1::BlockQ4_1>,
        BlockFormat::Q5_0 => run::<q5_0::BlockQ5_0>,
        BlockFormat::Q5_1 => run::<q5_1::BlockQ5_1>,
        BlockFormat::Q8_0 => run::<q8_0::BlockQ8_0>,
        BlockFormat::Q2_K => run::<q2_k::BlockQ2K>,
        BlockFormat::Q3_K => run::<q3_k::BlockQ3K>,
        BlockFormat::Q4_K => run::<q4_k::BlockQ4K>,
        BlockFormat::Q5_K => run::<q5_k::BlockQ5K>,
        BlockFormat::Q6_K => run::<q6_k::BlockQ6K>,
        BlockFormat::IQ4_NL => run::<iq4_nl::BlockIq4Nl>,
        BlockFormat::IQ4_XS => run::<iq4_xs::BlockIq4Xs>,
        BlockFormat::MXFP4 => run::<mxfp4::BlockMxfp4>,
        BlockFormat::IQ1_S => run::<iq1::BlockIq1S>,
        BlockFormat::IQ1_M => run::<iq1::BlockIq1M>,
        BlockFormat::IQ2_XXS => run::<iq2::BlockIq2Xxs>,
        BlockFormat::IQ2_XS => run::<iq2::BlockIq2Xs>,
        BlockFormat::IQ2_S => run::<iq2::BlockIq2S>,
        BlockFormat::IQ3_XXS => run::<iq3::BlockIq3Xxs>,
        BlockFormat::IQ3_S => run::<iq3::BlockIq3S>,
        BlockFormat::TQ1_0 => run::<ternary::BlockTq1>,
        BlockFormat::TQ2_0 => run::<ternary::BlockTq2>,
        BlockFormat::Q1_0 => run::<ternary::BlockQ1>,
        BlockFormat::NVFP4 => run::<nvfp4::BlockNvfp4>,
        BlockFormat::Q8_K | BlockFormat::F32 | BlockFormat::F16 | BlockFormat::BF16 => {
            unreachable!("Weights::new refuses {}", weights.format)
        }
    };
    run(weights, acts, rows, &mut |a, r, value| {
        // SAFETY: the caller's promise for every activation row and every weight row of the range.
        unsafe { *out.row(a).add(r) = value }
    });
}

fn run<B: CodedBlock>(
    weights: &Weights<'_>,
    acts: &Acts<'_>,
    rows: Range<usize>,
    store: &mut dyn FnMut(usize, usize, f32),
) {
    let mut codes = vec![0i8; weights.cols];
    let mut groups = vec![Group::default(); weights.cols / B::GROUP];
    for r in rows {
        let bytes = &weights.bytes[r * weights.row_bytes()..][..weights.row_bytes()];
        let outs = codes.chunks_exact_mut(B::LEN).zip(groups.chunks_exact_mut(B::LEN / B::GROUP));
        for (raw, (codes, groups)) in bytes.chunks_exact(size_of::<B>()).zip(outs) {
            let block: B = bytemuck::pod_read_unaligned(raw);
            block.codes(codes);
            block.groups(groups);
        }
        for a in 0..acts.rows() {
            store(a, r, dot(&codes, &groups, B::GROUP, &acts.record(a)));
        }
    }
}

fn dot(codes: &[i8], groups: &[Group], len: usize, act: &Record<'_>) -> f32 {
    let mut sum = 0f32;
    for (i, (group, codes)) in groups.iter().zip(codes.chunks_exact(len)).enumerate() {
        let product = |acts: &[i8]| -> i32 {
            codes.iter().zip(&acts[i * len..][..len]).map(|(&w, &a)| i32::from(w) * i32::from(a)).sum()
        };
        let integer = match act.fine {
            [] => product(act.codes),
            fine => 256 * product(act.codes) + product(fine),
        };
        let offset_sum = if len == 16 { act.half_sums[i] } else { act.sums[i] };
        sum += group.scale * act.scales[i * len / 32] * integer as f32 + group.offset * offset_sum;
    }
    sum
}
