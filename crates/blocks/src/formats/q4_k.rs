//! Q4_K: 256 codes of 4 bits, 8 groups of 32 with 6-bit scales and offsets; 144 bytes.
//! `value = d * scale * code - dmin * offset`.

use bytemuck::{Pod, Zeroable};
use half::f16;

use super::super_block::{encode_affine, pack_scales_6bit, unpack_scales_6bit};
use crate::block::{Block, CodedBlock, Group, decode_codes};

/// Layout of a block. Bytes `32 c..32 c + 32` of `qs` hold group `2 c` in their low and `2 c + 1` in their
/// high nibbles.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct BlockQ4K {
    /// Scale of the scales.
    pub d: f16,
    /// Scale of the offsets.
    pub dmin: f16,
    /// Scales and offsets; see [`unpack_scales_6bit`].
    pub scales: [u8; 12],
    /// Nibbles.
    pub qs: [u8; 128],
}

impl Block for BlockQ4K {
    const LEN: usize = 256;

    fn decode(&self, out: &mut [f32]) {
        decode_codes(self, out);
    }

    fn encode(x: &[f32], importance: Option<&[f32]>) -> Self {
        let b = encode_affine::<8, 32>(x, importance, 15, 63);
        let scales = pack_scales_6bit(&b.scales, &b.offsets);
        BlockQ4K { d: b.d, dmin: b.dmin, scales, qs: pack_nibbles(&b.codes) }
    }
}

impl CodedBlock for BlockQ4K {
    const GROUP: usize = 32;
    const HAS_OFFSET: bool = true;
    const CODES: (i8, i8) = (0, 15);

    fn codes(&self, codes: &mut [i8]) {
        unpack_nibbles(&self.qs, codes);
    }

    fn groups(&self, groups: &mut [Group]) {
        affine_groups(self.d, self.dmin, &self.scales, groups);
    }
}

/// Groups from packed 6-bit scales and offsets.
pub(super) fn affine_groups(d: f16, dmin: f16, packed: &[u8; 12], groups: &mut [Group]) {
    let (d, dmin) = (d.to_f32(), dmin.to_f32());
    let (scales, offsets) = unpack_scales_6bit(packed);
    for (g, (s, m)) in groups.iter_mut().zip(scales.iter().zip(offsets)) {
        *g = Group { scale: d * f32::from(*s), offset: -(dmin * f32::from(m)) };
    }
}

/// Packs the low nibbles of codes, groups of 32 in pairs.
pub(super) fn pack_nibbles(codes: &[u8; 256]) -> [u8; 128] {
    std::array::from_fn(|b| {
        let (c, i) = (b / 32 * 64, b % 32);
        (codes[c + i] & 15) | (codes[c + 32 + i] & 15) << 4
    })
}

/// The inverse of [`pack_nibbles`].
pub(super) fn unpack_nibbles(qs: &[u8; 128], codes: &mut [i8]) {
    for (qs, codes) in qs.chunks_exact(32).zip(codes.chunks_exact_mut(64)) {
        for (i, q) in qs.iter().enumerate() {
            codes[i] = (q & 15) as i8;
            codes[i + 32] = (q >> 4) as i8;
        }
    }
}
