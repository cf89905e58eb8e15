//! IQ4_NL: 32 codes of 4 bits that index a non-linear table, one scale; 18 bytes. `value = d * TABLE[code]`.

use bytemuck::{Pod, Zeroable};
use half::f16;

use crate::block::{Block, CodedBlock, Group, decode_codes};
use crate::search::{best_scale, extreme, group, mean_square, reciprocal, to_f16, weights};

/// The values that the 16 codes stand for: denser near zero, where most weights are.
pub const TABLE: [i8; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

/// Layout of a block: nibbles as in Q4_0.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct BlockIq4Nl {
    /// Scale.
    pub d: f16,
    /// Nibbles.
    pub qs: [u8; 16],
}

impl Block for BlockIq4Nl {
    const LEN: usize = 32;

    fn decode(&self, out: &mut [f32]) {
        decode_codes(self, out);
    }

    fn encode(x: &[f32], importance: Option<&[f32]>) -> Self {
        let x: [f32; 32] = group(x, 0);
        let d = to_f16(table_scale(&x, &weights(&x, importance, mean_square(&x))));
        let inverse = reciprocal(d.to_f32());
        let q = x.map(|v| nearest(v * inverse));
        BlockIq4Nl { d, qs: std::array::from_fn(|i| q[i] | q[i + 16] << 4) }
    }
}

impl CodedBlock for BlockIq4Nl {
    const GROUP: usize = 32;
    const HAS_OFFSET: bool = false;
    const CODES: (i8, i8) = (-127, 113);

    fn codes(&self, codes: &mut [i8]) {
        for (i, q) in self.qs.iter().enumerate() {
            codes[i] = TABLE[usize::from(q & 15)];
            codes[i + 16] = TABLE[usize::from(q >> 4)];
        }
    }

    fn groups(&self, groups: &mut [Group]) {
        groups[0] = Group { scale: self.d.to_f32(), offset: 0.0 };
    }
}

/// The code whose table value is nearest: how many midpoints lie below.
pub(super) fn nearest(x: f32) -> u8 {
    TABLE.windows(2).map(|p| u8::from(x > (f32::from(p[0]) + f32::from(p[1])) * 0.5)).sum()
}

/// The best scale for `x ≈ scale * TABLE[code]`.
pub(super) fn table_scale(x: &[f32; 32], w: &[f32; 32]) -> f32 {
    let fit = |inverse: f32| {
        let (mut xl, mut ll) = (0f32, 0f32);
        for i in 0..32 {
            let l = f32::from(TABLE[usize::from(nearest(x[i] * inverse))]);
            xl += w[i] * x[i] * l;
            ll += w[i] * l * l;
        }
        (xl, ll)
    };
    // The table's steps are about 20 wide at the ends, so a tenth of a step is 2.
    best_scale(reciprocal(extreme(x)), (127.0, 2.0), fit)
}
