//! Pixel formats: what the bits of a texel mean.

use crate::error::{Error, Result};

/// A pixel format. The numbers are those of `MTLPixelFormat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say components, bits and class, as Metal's do")]
#[repr(u32)]
pub enum PixelFormat {
    R8Unorm = 10,
    R8Snorm = 12,
    R8Uint = 13,
    R8Sint = 14,
    R16Unorm = 20,
    R16Snorm = 22,
    R16Uint = 23,
    R16Sint = 24,
    R16Float = 25,
    Rg8Unorm = 30,
    Rg8Snorm = 32,
    Rg8Uint = 33,
    Rg8Sint = 34,
    R32Uint = 53,
    R32Sint = 54,
    R32Float = 55,
    Rg16Unorm = 60,
    Rg16Snorm = 62,
    Rg16Uint = 63,
    Rg16Sint = 64,
    Rg16Float = 65,
    Rgba8Unorm = 70,
    Rgba8UnormSrgb = 71,
    Rgba8Snorm = 72,
    Rgba8Uint = 73,
    Rgba8Sint = 74,
    Bgra8Unorm = 80,
    Bgra8UnormSrgb = 81,
    Rgb10A2Unorm = 90,
    Rg11B10Float = 92,
    Rg32Uint = 103,
    Rg32Sint = 104,
    Rg32Float = 105,
    Rgba16Unorm = 110,
    Rgba16Snorm = 112,
    Rgba16Uint = 113,
    Rgba16Sint = 114,
    Rgba16Float = 115,
    Rgba32Uint = 123,
    Rgba32Sint = 124,
    Rgba32Float = 125,
    Depth16Unorm = 250,
    Depth32Float = 252,
}

use PixelFormat::*;

/// All formats, with the name that commands use.
const FORMATS: &[(PixelFormat, &str)] = &[
    (R8Unorm, "r8unorm"),
    (R8Snorm, "r8snorm"),
    (R8Uint, "r8uint"),
    (R8Sint, "r8sint"),
    (R16Unorm, "r16unorm"),
    (R16Snorm, "r16snorm"),
    (R16Uint, "r16uint"),
    (R16Sint, "r16sint"),
    (R16Float, "r16float"),
    (Rg8Unorm, "rg8unorm"),
    (Rg8Snorm, "rg8snorm"),
    (Rg8Uint, "rg8uint"),
    (Rg8Sint, "rg8sint"),
    (R32Uint, "r32uint"),
    (R32Sint, "r32sint"),
    (R32Float, "r32float"),
    (Rg16Unorm, "rg16unorm"),
    (Rg16Snorm, "rg16snorm"),
    (Rg16Uint, "rg16uint"),
    (Rg16Sint, "rg16sint"),
    (Rg16Float, "rg16float"),
    (Rgba8Unorm, "rgba8unorm"),
    (Rgba8UnormSrgb, "rgba8unorm_srgb"),
    (Rgba8Snorm, "rgba8snorm"),
    (Rgba8Uint, "rgba8uint"),
    (Rgba8Sint, "rgba8sint"),
    (Bgra8Unorm, "bgra8unorm"),
    (Bgra8UnormSrgb, "bgra8unorm_srgb"),
    (Rgb10A2Unorm, "rgb10a2unorm"),
    (Rg11B10Float, "rg11b10float"),
    (Rg32Uint, "rg32uint"),
    (Rg32Sint, "rg32sint"),
    (Rg32Float, "rg32float"),
    (Rgba16Unorm, "rgba16unorm"),
    (Rgba16Snorm, "rgba16snorm"),
    (Rgba16Uint, "rgba16uint"),
    (Rgba16Sint, "rgba16sint"),
    (Rgba16Float, "rgba16float"),
    (Rgba32Uint, "rgba32uint"),
    (Rgba32Sint, "rgba32sint"),
    (Rgba32Float, "rgba32float"),
    (Depth16Unorm, "depth16unorm"),
    (Depth32Float, "depth32float"),
];

impl PixelFormat {
    /// The format that `MTLPixelFormat` gives this number, if SoftMetal has it.
    pub fn from_metal(number: u32) -> Option<PixelFormat> {
        FORMATS.iter().map(|f| f.0).find(|f| *f as u32 == number)
    }

    /// The name, such as `rgba8unorm`.
    pub fn name(self) -> &'static str {
        FORMATS.iter().find(|f| f.0 == self).map_or("", |f| f.1)
    }

    /// Components, bits of each, and what the bits mean, as `shim/texel.h` numbers it; from the name, which says it all.
    pub(super) fn layout(self) -> (u32, u32, u32) {
        match self {
            Rgb10A2Unorm => return (4, 32, 6),
            Rg11B10Float => return (3, 32, 7),
            _ => {}
        }
        let name = self.name();
        let letters = name.find(|c: char| c.is_ascii_digit()).unwrap_or(0);
        let components = if name.starts_with("depth") { 1 } else { letters as u32 };
        let bits = name[letters..].chars().take_while(char::is_ascii_digit).collect::<String>();
        let class = ["unorm", "snorm", "uint", "sint", "float"].iter().position(|c| name.contains(c));
        (components, bits.parse().unwrap_or(0), class.map_or(0, |c| c as u32 + 1))
    }

    /// Components of a texel, as they lie in memory: one word in packed formats.
    pub fn components(self) -> u32 {
        if matches!(self, Rgb10A2Unorm | Rg11B10Float) { 1 } else { self.layout().0 }
    }

    /// Bytes of a texel.
    pub fn bytes(self) -> u32 {
        match self {
            Rgb10A2Unorm | Rg11B10Float => 4,
            _ => {
                let (components, bits, _) = self.layout();
                components * bits / 8
            }
        }
    }

    /// Whether kernels see the texels as floats, signed or unsigned integers.
    pub fn scalar(self) -> &'static str {
        match self.layout().2 {
            3 => "uint",
            4 => "int",
            _ => "float",
        }
    }
}

impl std::str::FromStr for PixelFormat {
    type Err = Error;

    fn from_str(s: &str) -> Result<PixelFormat> {
        FORMATS.iter().find(|f| f.1 == s).map(|f| f.0).ok_or_else(|| {
            let known: Vec<_> = FORMATS.iter().map(|f| f.1).collect();
            Error::Invalid(format!("unknown pixel format `{s}`; known: {}", known.join(", ")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{FORMATS, PixelFormat};

    #[test]
    fn names_say_what_a_format_is() {
        for (format, bytes, scalar) in [
            (PixelFormat::R8Unorm, 1, "float"),
            (PixelFormat::Rg16Sint, 4, "int"),
            (PixelFormat::Rgba8UnormSrgb, 4, "float"),
            (PixelFormat::Rgba32Uint, 16, "uint"),
            (PixelFormat::Rgba16Float, 8, "float"),
            (PixelFormat::Bgra8Unorm, 4, "float"),
            (PixelFormat::Depth32Float, 4, "float"),
            (PixelFormat::Rgb10A2Unorm, 4, "float"),
        ] {
            assert_eq!((format.bytes(), format.scalar()), (bytes, scalar), "{}", format.name());
        }
        for (format, name) in FORMATS {
            assert_eq!(name.parse::<PixelFormat>().unwrap(), *format);
            assert!(matches!(format.bytes(), 1 | 2 | 4 | 8 | 16), "{name}");
        }
    }
}
