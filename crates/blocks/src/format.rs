//! The table of formats.

use crate::block::Block;
use crate::convert::{Codec, codec};
use crate::formats::*;

macro_rules! formats {
    ($($(#[$doc:meta])* $name:ident = $id:literal, $block:ty;)*) => {
        /// How the values of a tensor are stored. The names are those of GGUF.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(non_camel_case_types, reason = "the names by which files and people know the formats")]
        pub enum BlockFormat { $($(#[$doc])* $name,)* }

        impl BlockFormat {
            /// Every format, in the order of the GGUF type ids.
            pub const ALL: &'static [BlockFormat] = &[$(BlockFormat::$name,)*];

            /// The type id in a GGUF file.
            pub const fn gguf_id(self) -> u32 {
                match self { $(BlockFormat::$name => $id,)* }
            }

            /// The format with this GGUF type id, if it is one of ours.
            pub const fn from_gguf_id(id: u32) -> Option<BlockFormat> {
                match id { $($id => Some(BlockFormat::$name),)* _ => None }
            }

            /// The name, as GGUF spells it.
            pub const fn name(self) -> &'static str {
                match self { $(BlockFormat::$name => stringify!($name),)* }
            }

            /// Values per block.
            pub const fn block_len(self) -> usize {
                match self { $(BlockFormat::$name => <$block as Block>::LEN,)* }
            }

            /// Bytes per block.
            pub const fn block_bytes(self) -> usize {
                match self { $(BlockFormat::$name => size_of::<$block>(),)* }
            }

            pub(crate) fn codec(self) -> Codec {
                match self { $(BlockFormat::$name => codec::<$block>(),)* }
            }
        }
    };
}

formats! {
    /// IEEE single precision.
    F32 = 0, f32;
    /// IEEE half precision.
    F16 = 1, half::f16;
    /// 32 codes of 4 bits, one scale.
    Q4_0 = 2, q4_0::BlockQ4_0;
    /// 32 codes of 4 bits, scale and offset.
    Q4_1 = 3, q4_1::BlockQ4_1;
    /// 32 codes of 5 bits, one scale.
    Q5_0 = 6, q5_0::BlockQ5_0;
    /// 32 codes of 5 bits, scale and offset.
    Q5_1 = 7, q5_1::BlockQ5_1;
    /// 32 codes of 8 bits, one scale.
    Q8_0 = 8, q8_0::BlockQ8_0;
    /// 256 codes of 2 bits, groups of 16 with 4-bit scales and offsets.
    Q2_K = 10, q2_k::BlockQ2K;
    /// 256 codes of 3 bits, groups of 16 with 6-bit scales.
    Q3_K = 11, q3_k::BlockQ3K;
    /// 256 codes of 4 bits, groups of 32 with 6-bit scales and offsets.
    Q4_K = 12, q4_k::BlockQ4K;
    /// 256 codes of 5 bits, groups of 32 with 6-bit scales and offsets.
    Q5_K = 13, q5_k::BlockQ5K;
    /// 256 codes of 6 bits, groups of 16 with 8-bit scales.
    Q6_K = 14, q6_k::BlockQ6K;
    /// 256 codes of 8 bits, one f32 scale, and sums of 16 codes; the activation side of the K formats.
    Q8_K = 15, q8_k::BlockQ8K;
    /// 32 codes of 4 bits that index a non-linear table, one scale.
    IQ4_NL = 20, iq4_nl::BlockIq4Nl;
    /// 256 codes of 4 bits that index a non-linear table, groups of 32 with 6-bit scales.
    IQ4_XS = 23, iq4_xs::BlockIq4Xs;
    /// bfloat16.
    BF16 = 30, half::bf16;
    /// 32 codes of the e2m1 float format with a shared power-of-two scale.
    MXFP4 = 39, mxfp4::BlockMxfp4;
}

impl BlockFormat {
    /// The format of this name, in any case (`q4_k`, `Q4_K`).
    pub fn from_name(name: &str) -> Option<BlockFormat> {
        BlockFormat::ALL.iter().copied().find(|f| f.name().eq_ignore_ascii_case(name))
    }

    /// Bytes of `len` values, or `None` if they are not whole blocks or the count overflows.
    pub const fn bytes_of(self, len: usize) -> Option<usize> {
        if !len.is_multiple_of(self.block_len()) {
            return None;
        }
        (len / self.block_len()).checked_mul(self.block_bytes())
    }

    /// What kernels may rely on to divide the address of every block, where it divides that of the first: up to 4.
    pub const fn alignment(self) -> usize {
        match self.block_bytes().trailing_zeros() {
            0 => 1,
            1 => 2,
            _ => 4,
        }
    }

    /// Whether values are stored one by one as floats.
    pub const fn is_float(self) -> bool {
        matches!(self, BlockFormat::F32 | BlockFormat::F16 | BlockFormat::BF16)
    }

    /// Average bits per value.
    pub fn bits_per_value(self) -> f32 {
        self.block_bytes() as f32 * 8.0 / self.block_len() as f32
    }
}

impl std::fmt::Display for BlockFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
