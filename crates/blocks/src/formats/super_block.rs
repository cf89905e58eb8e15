//! Common code of the K formats: 256 values in groups, whose scales and offsets are themselves quantised.

use half::f16;

use crate::search::{affine, affine_error, code, group, mean_square, neighbour, reciprocal, to_f16, weights};

/// Unpacks the 6-bit scales and offsets of Q4_K and Q5_K: 8 of each in 12 bytes.
///
/// Bytes 0–3 hold scales 0–3 and bytes 4–7 offsets 0–3 in their low 6 bits; the low 4 bits of scales and
/// offsets 4–7 are the nibbles of bytes 8–11, their high 2 bits the top bits of bytes 0–7.
pub fn unpack_scales_6bit(packed: &[u8; 12]) -> ([u8; 8], [u8; 8]) {
    let (mut scales, mut offsets) = ([0; 8], [0; 8]);
    for i in 0..4 {
        scales[i] = packed[i] & 63;
        offsets[i] = packed[i + 4] & 63;
        scales[i + 4] = (packed[i + 8] & 15) | (packed[i] >> 6) << 4;
        offsets[i + 4] = (packed[i + 8] >> 4) | (packed[i + 4] >> 6) << 4;
    }
    (scales, offsets)
}

/// The inverse of [`unpack_scales_6bit`].
pub(super) fn pack_scales_6bit(scales: &[u8; 8], offsets: &[u8; 8]) -> [u8; 12] {
    let mut packed = [0; 12];
    for i in 0..4 {
        packed[i] = scales[i] | (scales[i + 4] >> 4) << 6;
        packed[i + 4] = offsets[i] | (offsets[i + 4] >> 4) << 6;
        packed[i + 8] = (scales[i + 4] & 15) | (offsets[i + 4] & 15) << 4;
    }
    packed
}

/// A super-block of `G` groups of `N` codes, each group `d * scale * code - dmin * offset`.
pub(super) struct Affine<const G: usize> {
    pub d: f16,
    pub dmin: f16,
    pub scales: [u8; G],
    pub offsets: [u8; G],
    pub codes: [u8; 256],
}

/// Finds a super-block for `x` with codes `0..=n` and scales and offsets `0..=levels`.
pub(super) fn encode_affine<const G: usize, const N: usize>(
    x: &[f32],
    importance: Option<&[f32]>,
    n: i32,
    levels: i32,
) -> Affine<G> {
    let sigma2 = mean_square(x);
    let groups: [[f32; N]; G] = std::array::from_fn(|g| group(x, g));
    let w: [[f32; N]; G] =
        std::array::from_fn(|g| group_weights(&groups[g], importance.map(|w| &w[g * N..]), sigma2));
    let fits: [(f32, f32); G] = std::array::from_fn(|g| affine(&groups[g], &w[g], n, true));
    let top = |f: fn(&(f32, f32)) -> f32| fits.iter().map(f).fold(0f32, f32::max);
    let (d, dmin) = (to_f16(top(|f| f.0) / levels as f32), to_f16(top(|f| -f.1) / levels as f32));
    let (scale, offset) = (d.to_f32(), dmin.to_f32());
    let (inverse, inverse_min) = (reciprocal(scale), reciprocal(offset));
    let mut block = Affine { d, dmin, scales: [0; G], offsets: [0; G], codes: [0; 256] };
    for g in 0..G {
        let error = |s: i32, m: i32| {
            affine_error(&groups[g], &w[g], (scale * s as f32, -offset * m as f32), n as f32)
        };
        let (s, m) = ((fits[g].0 * inverse).round() as i32, (-fits[g].1 * inverse_min).round() as i32);
        let m = m.clamp(0, levels);
        let s = neighbour(s, (0, levels), |s| error(s, m));
        let m = neighbour(m, (0, levels), |m| error(s, m));
        let s = neighbour(s, (0, levels), |s| error(s, m));
        (block.scales[g], block.offsets[g]) = (s as u8, m as u8);
        let (inverse, low) = (reciprocal(scale * s as f32), -offset * m as f32);
        for i in 0..N {
            block.codes[g * N + i] = code((groups[g][i] - low) * inverse, 0.0, n as f32) as u8;
        }
    }
    block
}

/// Without importance a group is weighed by its own magnitude, with it by the super-block's.
fn group_weights<const N: usize>(x: &[f32; N], importance: Option<&[f32]>, sigma2: f32) -> [f32; N] {
    weights(x, importance, if importance.is_some() { sigma2 } else { mean_square(x) })
}
