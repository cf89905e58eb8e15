//! The traits of a block format.

use bytemuck::Pod;

use crate::formats::grid::Grid;

/// A fixed-size run of values in some stored form; the struct that implements it is the layout.
pub trait Block: Pod {
    /// Number of values per block.
    const LEN: usize;
    /// The grid whose points the values are runs of, in formats that have one.
    const GRID: Option<Grid> = None;

    /// Writes the `LEN` values of this block to `out`.
    fn decode(&self, out: &mut [f32]);

    /// Quantises the `LEN` finite values `x`; `importance` weights the error of each.
    fn encode(x: &[f32], importance: Option<&[f32]>) -> Self;
}

/// Scale and offset of one group of codes: `value = scale * code + offset`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Group {
    /// Multiplies every code of the group.
    pub scale: f32,
    /// Added to every value of the group; 0 in formats without offsets.
    pub offset: f32,
}

/// A block whose values are small integer codes with a scale (and possibly an offset) per group.
pub trait CodedBlock: Block {
    /// Values per group.
    const GROUP: usize;
    /// Whether groups have offsets. Without them nothing is added, so that a zero keeps its sign.
    const HAS_OFFSET: bool;
    /// Smallest and largest code.
    const CODES: (i8, i8);

    /// Writes the `LEN` codes in the order of the values.
    fn codes(&self, codes: &mut [i8]);

    /// Writes the `LEN / GROUP` groups.
    fn groups(&self, groups: &mut [Group]);
}

/// The largest block of any format.
pub(crate) const MAX_LEN: usize = 256;

/// Dequantises a coded block, with the formula that all coded formats share.
pub(crate) fn decode_codes<B: CodedBlock>(block: &B, out: &mut [f32]) {
    let mut codes = [0i8; MAX_LEN];
    let mut groups = [Group::default(); MAX_LEN / 16];
    let groups = &mut groups[..B::LEN / B::GROUP];
    block.codes(&mut codes[..B::LEN]);
    block.groups(groups);
    for (g, (values, codes)) in
        groups.iter().zip(out.chunks_exact_mut(B::GROUP).zip(codes.chunks_exact(B::GROUP)))
    {
        for (v, &c) in values.iter_mut().zip(codes) {
            let scaled = g.scale * f32::from(c);
            *v = if B::HAS_OFFSET { scaled + g.offset } else { scaled };
        }
    }
}
