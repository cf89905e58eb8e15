//! The table of formats.

use crate::block::Block;
use crate::convert::{Codec, codec};
use crate::formats::grid::Grid;
use crate::formats::*;

macro_rules! formats {
    ($($(#[$doc:meta])* $name:ident = $id:literal, $block:ty;)*) => {
        /// A storage format of tensors. The names are GGUF's.
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

            /// The format with this GGUF type id, if supported.
            pub const fn from_gguf_id(id: u32) -> Option<BlockFormat> {
                match id { $($id => Some(BlockFormat::$name),)* _ => None }
            }

            /// The name, in GGUF's spelling.
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

            /// The grid whose points the values are runs of, in formats that have one.
            pub const fn grid(self) -> Option<Grid> {
                match self { $(BlockFormat::$name => <$block as Block>::GRID,)* }
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
    /// Runs of 8 values from a grid of 256 magnitudes, with 7 signs; groups of 32 with 4-bit scales.
    IQ2_XXS = 16, iq2::BlockIq2Xxs;
    /// Runs of 8 values from a grid of 512 magnitudes, with 7 signs; groups of 16 with 4-bit scales.
    IQ2_XS = 17, iq2::BlockIq2Xs;
    /// Runs of 4 values from a grid of 256 magnitudes, with 7 signs for 8; groups of 32 with 4-bit scales.
    IQ3_XXS = 18, iq3::BlockIq3Xxs;
    /// Runs of 8 values from a grid of 2048; groups of 32 with 3-bit scales and one shift.
    IQ1_S = 19, iq1::BlockIq1S;
    /// 32 codes of 4 bits that index a non-linear table, one scale.
    IQ4_NL = 20, iq4_nl::BlockIq4Nl;
    /// Runs of 4 values from a grid of 512 magnitudes, with signs; groups of 32 with 4-bit scales.
    IQ3_S = 21, iq3::BlockIq3S;
    /// Runs of 8 values from a grid of 1024 magnitudes, with signs; groups of 16 with 4-bit scales.
    IQ2_S = 22, iq2::BlockIq2S;
    /// 256 codes of 4 bits that index a non-linear table, groups of 32 with 6-bit scales.
    IQ4_XS = 23, iq4_xs::BlockIq4Xs;
    /// Runs of 8 values from a grid of 2048 with a shift each; groups of 16 with 3-bit scales.
    IQ1_M = 29, iq1::BlockIq1M;
    /// bfloat16.
    BF16 = 30, half::bf16;
    /// 256 codes of −1, 0 and 1, five to a byte, one scale.
    TQ1_0 = 34, ternary::BlockTq1;
    /// 256 codes of −1, 0 and 1 in 2 bits, one scale.
    TQ2_0 = 35, ternary::BlockTq2;
    /// 32 codes of the e2m1 float format with a shared power-of-two scale.
    MXFP4 = 39, mxfp4::BlockMxfp4;
    /// 64 codes of the e2m1 float format, groups of 16 with e4m3 scales.
    NVFP4 = 40, nvfp4::BlockNvfp4;
    /// 128 signs, one scale.
    Q1_0 = 41, ternary::BlockQ1;
}

impl BlockFormat {
    /// The format of this name, in any case (`q4_k`, `Q4_K`).
    pub fn from_name(name: &str) -> Option<BlockFormat> {
        BlockFormat::ALL.iter().copied().find(|f| f.name().eq_ignore_ascii_case(name))
    }

    /// Size of `len` values in bytes, or `None` if they are not a multiple of the block size or the size overflows.
    pub const fn bytes_of(self, len: usize) -> Option<usize> {
        if !len.is_multiple_of(self.block_len()) {
            return None;
        }
        (len / self.block_len()).checked_mul(self.block_bytes())
    }

    /// The alignment of every block, given that the first is aligned: up to 4.
    pub const fn alignment(self) -> usize {
        match self.block_bytes().trailing_zeros() {
            0 => 1,
            1 => 2,
            _ => 4,
        }
    }

    /// Whether values are stored individually as floats.
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
