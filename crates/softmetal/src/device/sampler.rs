//! Samplers: how textures are sampled. `shim/sampler.h` names the bits.

/// Addressing outside a texture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AddressMode {
    /// Zero.
    ClampToZero,
    /// The texel at the edge.
    #[default]
    ClampToEdge,
    /// The texture again.
    Repeat,
    /// The texture again, mirrored.
    MirrorRepeat,
    /// The border's colour.
    ClampToBorder,
}

/// How texels are mixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Filter {
    /// The nearest one.
    #[default]
    Nearest,
    /// By distance.
    Linear,
}

/// How levels of detail are mixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MipFilter {
    /// Only the first is used.
    #[default]
    None,
    /// The nearest one.
    Nearest,
    /// By distance.
    Linear,
}

/// How `sample_compare` compares the reference with a texel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CompareFunction {
    /// Never passes.
    #[default]
    Never,
    /// Less.
    Less,
    /// Less or equal.
    LessEqual,
    /// Greater.
    Greater,
    /// Greater or equal.
    GreaterEqual,
    /// Equal.
    Equal,
    /// Not equal.
    NotEqual,
    /// Always passes.
    Always,
}

/// Colours of a border.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BorderColor {
    /// All zero.
    #[default]
    TransparentBlack,
    /// Zero with an alpha of one.
    OpaqueBlack,
    /// All one.
    OpaqueWhite,
}

/// A sampler.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampler {
    /// Address modes along s, t and r.
    pub address: [AddressMode; 3],
    /// Filter where a texture is enlarged.
    pub mag_filter: Filter,
    /// Filter where it is made smaller.
    pub min_filter: Filter,
    /// Filter between levels.
    pub mip_filter: MipFilter,
    /// Coordinates from 0 to 1, and not in texels.
    pub normalized_coordinates: bool,
    /// Comparison of depth.
    pub compare: CompareFunction,
    /// Colour of the border.
    pub border: BorderColor,
    /// Least level of detail.
    pub lod_min: f32,
    /// Greatest level of detail.
    pub lod_max: f32,
}

impl Default for Sampler {
    fn default() -> Sampler {
        Sampler {
            address: [AddressMode::default(); 3],
            mag_filter: Filter::default(),
            min_filter: Filter::default(),
            mip_filter: MipFilter::default(),
            normalized_coordinates: true,
            compare: CompareFunction::default(),
            border: BorderColor::default(),
            lod_min: 0.0,
            lod_max: f32::MAX,
        }
    }
}

impl Sampler {
    /// The handle that kernels see, and that argument buffers hold.
    pub fn gpu_resource_id(&self) -> u64 {
        let address = self.address.iter().enumerate().map(|(k, a)| (*a as u64) << (3 * k)).sum::<u64>();
        address
            | (self.mag_filter as u64) << 9
            | (self.min_filter as u64) << 11
            | (self.mip_filter as u64) << 13
            | u64::from(!self.normalized_coordinates) << 15
            | (self.compare as u64) << 16
            | (self.border as u64) << 20
            | u64::from(half_bits(self.lod_min)) << 32
            | u64::from(half_bits(self.lod_max)) << 48
    }
}

/// The half nearest to zero's side of a level of detail, which is never negative.
fn half_bits(value: f32) -> u16 {
    half::f16::from_f32(value.clamp(0.0, 65504.0)).to_bits()
}
