//! Textures and samplers of `softmetal run`.

use crate::npy::{self, Array};
use crate::value;
use softmetal::{
    AddressMode, ComputeEncoder, Device, Error, Filter, MipFilter, PixelFormat, Result, Sampler, Texture,
    TextureDescriptor,
};
use std::path::Path;

/// A bound texture and its index.
pub type Held = (u32, Texture);

/// Binds `I=FORMAT:WxH`, of zeros, or `I=FORMAT:FILE.npy`, an array of rows, columns and components.
pub fn bind(text: &str, device: &Device, encoder: &mut ComputeEncoder<'_>) -> Result<Held> {
    let (i, what) = value::split(text, "--texture")?;
    let index = value::index(i, "--texture")?;
    let wrong = || Error::Invalid(format!("`--texture {text}`: write I=FORMAT:WxH or I=FORMAT:FILE.npy"));
    let (format, source) = what.split_once(':').ok_or_else(wrong)?;
    let format: PixelFormat = format.parse()?;
    let texture = if source.ends_with(".npy") {
        filled(device, format, source)?
    } else {
        let size = value::size(source, "--texture")?;
        device.new_texture(&TextureDescriptor::d2(format, size.0, size.1))?
    };
    encoder.set_texture(index, &texture)?;
    Ok((index, texture))
}

fn filled(device: &Device, format: PixelFormat, path: &str) -> Result<Texture> {
    let array = npy::read(Path::new(path))?;
    let fail = |message: String| Error::Io { path: path.to_string(), message };
    let [height, width] =
        array.shape.get(..2).and_then(|s| <[usize; 2]>::try_from(s).ok()).ok_or_else(|| {
            fail(format!(
                "an image needs rows, columns and components; this array has shape {:?}",
                array.shape
            ))
        })?;
    if array.bytes.len() != width * height * format.bytes() as usize {
        return Err(fail(format!(
            "{} bytes of shape {:?}; {} needs {} per texel",
            array.bytes.len(),
            array.shape,
            format.name(),
            format.bytes()
        )));
    }
    let extent = |n: usize| u32::try_from(n).map_err(|_| fail(format!("{n} texels is too large")));
    let texture = device.new_texture(&TextureDescriptor::d2(format, extent(width)?, extent(height)?))?;
    texture.write_bytes(0, 0, &array.bytes)?;
    Ok(texture)
}

/// Binds `I=WORD,WORD…`: linear, nearest, mip_nearest, mip_linear, repeat, mirror, zero, edge, pixel.
pub fn sampler(text: &str, encoder: &mut ComputeEncoder<'_>) -> Result<()> {
    let (i, words) = value::split(text, "--sampler")?;
    let mut s = Sampler::default();
    for word in words.split(',').filter(|w| !w.is_empty()) {
        match word {
            "nearest" => (s.mag_filter, s.min_filter) = (Filter::Nearest, Filter::Nearest),
            "linear" => (s.mag_filter, s.min_filter) = (Filter::Linear, Filter::Linear),
            "mip_nearest" => s.mip_filter = MipFilter::Nearest,
            "mip_linear" => s.mip_filter = MipFilter::Linear,
            "edge" => s.address = [AddressMode::ClampToEdge; 3],
            "repeat" => s.address = [AddressMode::Repeat; 3],
            "mirror" => s.address = [AddressMode::MirrorRepeat; 3],
            "zero" => s.address = [AddressMode::ClampToZero; 3],
            "pixel" => s.normalized_coordinates = false,
            _ => {
                return Err(Error::Invalid(format!(
                    "`--sampler {text}`: unknown `{word}`; known: nearest, linear, mip_nearest, mip_linear, edge, repeat, mirror, zero, pixel"
                )));
            }
        }
    }
    encoder.set_sampler(value::index(i, "--sampler")?, &s)
}

/// Writes `I=FILE.npy`.
pub fn write_out(text: &str, held: &[Held]) -> Result<()> {
    let (i, path) = value::split(text, "--texture-out")?;
    let index = value::index(i, "--texture-out")?;
    let Some((_, t)) = held.iter().find(|h| h.0 == index) else {
        return Err(Error::Invalid(format!("`--texture-out {text}`: no texture is bound at {index}")));
    };
    let (d, name) = (t.descriptor(), t.descriptor().format.name());
    let components = d.format.components() as usize;
    let kind = if name.contains("float") {
        'f'
    } else if name.contains("sint") || name.contains("snorm") {
        'i'
    } else {
        'u'
    };
    let array = Array {
        descr: format!("<{kind}{}", d.format.bytes() as usize / components)
            .replace("<u1", "|u1")
            .replace("<i1", "|i1"),
        shape: vec![d.height as usize, d.width as usize, components],
        bytes: t.read_bytes(0, 0)?,
    };
    npy::write(Path::new(path), &array)
}
