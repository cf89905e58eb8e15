//! Textures: memory layout, and texel access from the host.

use super::buffer::{Buffer, StorageMode};
use super::device::Device;
use super::pixel_format::PixelFormat;
use crate::error::{Error, Result};
use crate::exec::abi::{MAX_LEVELS, TextureInfo};
use std::sync::Arc;

/// The shape of a texture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum TextureKind {
    /// `texture1d`
    D1 = 0,
    /// `texture1d_array`
    D1Array,
    /// `texture2d`
    D2,
    /// `texture2d_array`
    D2Array,
    /// `texture3d`
    D3,
    /// `texturecube`
    Cube,
    /// `texturecube_array`
    CubeArray,
    /// `texture2d_ms`
    D2Multisample,
    /// `texture2d_ms_array`
    D2MultisampleArray,
    /// `texture_buffer`
    Buffer,
}

/// The description of a texture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextureDescriptor {
    /// Shape.
    pub kind: TextureKind,
    /// Format.
    pub format: PixelFormat,
    /// Texels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Slices of a 3D texture.
    pub depth: u32,
    /// Elements of an array.
    pub array_length: u32,
    /// Levels of detail.
    pub mipmap_levels: u32,
    /// Samples of a texel.
    pub samples: u32,
}

impl TextureDescriptor {
    /// A `texture2d` without mipmaps.
    pub fn d2(format: PixelFormat, width: u32, height: u32) -> TextureDescriptor {
        TextureDescriptor {
            kind: TextureKind::D2,
            format,
            width,
            height,
            depth: 1,
            array_length: 1,
            mipmap_levels: 1,
            samples: 1,
        }
    }

    /// Metal's limits, as Apple7 and newer have them.
    fn check(&self) -> Result<()> {
        let TextureDescriptor { kind, width, height, depth, array_length, mipmap_levels, samples, .. } =
            *self;
        let widest = match kind {
            TextureKind::Buffer => 1 << 28,
            TextureKind::D3 => 2048,
            _ => 16384,
        };
        let flat = matches!(kind, TextureKind::D1 | TextureKind::D1Array | TextureKind::Buffer);
        let is_array = matches!(
            kind,
            TextureKind::D1Array
                | TextureKind::D2Array
                | TextureKind::CubeArray
                | TextureKind::D2MultisampleArray
        );
        let most_levels = if flat { 1 } else { width.max(height).max(depth).max(1).ilog2() + 1 };
        let multisampled = matches!(kind, TextureKind::D2Multisample | TextureKind::D2MultisampleArray);
        let square = matches!(kind, TextureKind::Cube | TextureKind::CubeArray);
        let rules: [(bool, String); 8] = [
            (width >= 1 && width <= widest, format!("a width of {width}; there must be 1 to {widest}")),
            (
                height >= 1 && height <= if flat { 1 } else { widest },
                format!("a height of {height}; there must be 1 to {}", if flat { 1 } else { widest }),
            ),
            (
                depth >= 1 && depth <= if kind == TextureKind::D3 { 2048 } else { 1 },
                format!("a depth of {depth}; only 3D textures have more than 1, and at most 2048"),
            ),
            (
                array_length >= 1 && array_length <= if is_array { 2048 } else { 1 },
                format!("an array length of {array_length}; only arrays have more than 1, and at most 2048"),
            ),
            (
                mipmap_levels >= 1 && mipmap_levels <= most_levels,
                format!("{mipmap_levels} levels; there must be 1 to {most_levels}"),
            ),
            (
                matches!(samples, 1 | 2 | 4 | 8) && (samples > 1) == multisampled,
                format!("{samples} samples; multisampled textures have 2, 4 or 8, and others 1"),
            ),
            (!square || width == height, format!("faces of {width} x {height}; a cube's are square")),
            (mipmap_levels == 1 || !multisampled, "levels in a multisampled texture".to_string()),
        ];
        match rules.into_iter().find(|(kept, _)| !kept) {
            Some((_, text)) => {
                Err(Error::Invalid(format!("a texture of {:?}, {}: {text}", kind, self.format.name())))
            }
            None => Ok(()),
        }
    }

    /// Images of each level: layers, faces or samples.
    fn slices(&self) -> u32 {
        let faces = if matches!(self.kind, TextureKind::Cube | TextureKind::CubeArray) { 6 } else { 1 };
        self.array_length * faces * self.samples
    }
}

/// Texels of the device. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Texture(pub(crate) Arc<TextureInner>);

#[derive(Debug)]
pub(crate) struct TextureInner {
    pub info: TextureInfo,
    pub buffer: Buffer,
    pub descriptor: TextureDescriptor,
}

impl Device {
    /// A texture whose texels are zero.
    pub fn new_texture(&self, descriptor: &TextureDescriptor) -> Result<Texture> {
        descriptor.check()?;
        let mut info = describe(descriptor);
        let length = place(&mut info, descriptor);
        let buffer = self.new_buffer(length as usize, StorageMode::Shared)?;
        info.data = buffer.0.pointer;
        Ok(Texture(Arc::new(TextureInner { info, buffer, descriptor: *descriptor })))
    }

    /// A 2D texture or a texture buffer over a buffer's memory.
    pub fn new_texture_from_buffer(
        &self,
        descriptor: &TextureDescriptor,
        buffer: &Buffer,
        offset: usize,
        bytes_per_row: usize,
    ) -> Result<Texture> {
        descriptor.check()?;
        let linear = matches!(descriptor.kind, TextureKind::D2 | TextureKind::Buffer | TextureKind::D1);
        let row = descriptor.width as usize * descriptor.format.bytes() as usize;
        if !linear || descriptor.mipmap_levels != 1 || bytes_per_row < row {
            return Err(Error::Invalid(format!(
                "a texture over a buffer is 1D, 2D or a texture buffer, with one level and rows of at least {row} bytes; rows of {bytes_per_row} were given"
            )));
        }
        buffer.range(offset, bytes_per_row * (descriptor.height as usize - 1) + row)?;
        let mut info = describe(descriptor);
        place(&mut info, descriptor);
        info.row_bytes[0] = bytes_per_row as u64;
        info.data = buffer.0.pointer.wrapping_add(offset);
        Ok(Texture(Arc::new(TextureInner { info, buffer: buffer.clone(), descriptor: *descriptor })))
    }
}

fn describe(d: &TextureDescriptor) -> TextureInfo {
    let (components, component_bits, texel_class) = d.format.layout();
    TextureInfo {
        data: std::ptr::null_mut(),
        kind: d.kind as u32,
        texel_class,
        components,
        component_bits,
        texel_bytes: d.format.bytes(),
        bgra: u32::from(d.format.name().starts_with("bgr")),
        srgb: u32::from(d.format.name().ends_with("srgb")),
        width: d.width,
        height: d.height,
        depth: d.depth,
        layers: d.array_length,
        slices: d.slices(),
        levels: d.mipmap_levels,
        samples: d.samples,
        level_offset: [0; MAX_LEVELS],
        image_bytes: [0; MAX_LEVELS],
        row_bytes: [0; MAX_LEVELS],
    }
}

/// Gives each level its place; the bytes of all.
fn place(info: &mut TextureInfo, d: &TextureDescriptor) -> u64 {
    let mut at = 0u64;
    for level in 0..d.mipmap_levels as usize {
        let [w, h, depth] = extents(d, level as u32).map(u64::from);
        info.row_bytes[level] = w * u64::from(info.texel_bytes);
        info.image_bytes[level] = info.row_bytes[level] * h;
        info.level_offset[level] = at;
        at += (info.image_bytes[level] * depth * u64::from(info.slices)).next_multiple_of(16);
    }
    at.max(16)
}

fn extents(d: &TextureDescriptor, level: u32) -> [u32; 3] {
    [d.width, d.height, d.depth].map(|n| (n >> level).max(1))
}

impl Texture {
    /// The description it was created with.
    pub fn descriptor(&self) -> &TextureDescriptor {
        &self.0.descriptor
    }

    /// The handle that argument buffers hold.
    pub fn gpu_resource_id(&self) -> u64 {
        &raw const self.0.info as u64
    }

    /// Copies rows of texels in, to a region of one level of one slice; `from` holds whole rows of `row_bytes`, one image after another.
    pub fn replace_region(
        &self,
        (origin, size): ([u32; 3], [u32; 3]),
        (level, slice): (u32, u32),
        from: &[u8],
        row_bytes: usize,
    ) -> Result<()> {
        let rows = self.rows((origin, size), (level, slice), row_bytes)?;
        for (at, memory) in rows {
            let line = from.get(at.clone()).ok_or_else(|| too_short(from.len(), at.end))?;
            // SAFETY: `rows` gives places inside of the texture.
            unsafe { std::ptr::copy_nonoverlapping(line.as_ptr(), memory, line.len()) };
        }
        Ok(())
    }

    /// Copies a region out, as [`Texture::replace_region`] copies it in.
    pub fn get_region(
        &self,
        (origin, size): ([u32; 3], [u32; 3]),
        (level, slice): (u32, u32),
        to: &mut [u8],
        row_bytes: usize,
    ) -> Result<()> {
        let rows = self.rows((origin, size), (level, slice), row_bytes)?;
        let length = to.len();
        for (at, memory) in rows {
            let line = to.get_mut(at.clone()).ok_or_else(|| too_short(length, at.end))?;
            // SAFETY: `rows` gives places inside of the texture.
            unsafe { std::ptr::copy_nonoverlapping(memory, line.as_mut_ptr(), line.len()) };
        }
        Ok(())
    }

    /// Copies all texels of one level of one slice in.
    pub fn write_bytes(&self, level: u32, slice: u32, bytes: &[u8]) -> Result<()> {
        let size = extents(&self.0.descriptor, level);
        let row = size[0] as usize * self.0.info.texel_bytes as usize;
        self.replace_region(([0; 3], size), (level, slice), bytes, row)
    }

    /// Copies all texels of one level of one slice out.
    pub fn read_bytes(&self, level: u32, slice: u32) -> Result<Vec<u8>> {
        let size = extents(&self.0.descriptor, level);
        let row = size[0] as usize * self.0.info.texel_bytes as usize;
        let mut out = vec![0; row * size[1] as usize * size[2] as usize];
        self.get_region(([0; 3], size), (level, slice), &mut out, row)?;
        Ok(out)
    }

    /// For each row of a region its place in the host's bytes and in the texture.
    fn rows(
        &self,
        (origin, size): ([u32; 3], [u32; 3]),
        (level, slice): (u32, u32),
        row_bytes: usize,
    ) -> Result<Vec<(std::ops::Range<usize>, *mut u8)>> {
        let (d, info) = (&self.0.descriptor, &self.0.info);
        let whole = extents(d, level.min(31));
        let inside = level < info.levels
            && slice < info.slices
            && (0..3).all(|k| origin[k].checked_add(size[k]).is_some_and(|end| end <= whole[k]));
        let texel = info.texel_bytes as usize;
        let line = size[0] as usize * texel;
        if !inside || line > row_bytes {
            return Err(Error::Invalid(format!(
                "region {size:?} at {origin:?} of level {level}, slice {slice}, with rows of {row_bytes} bytes, is outside of a texture of {whole:?} with {} levels and {} slices",
                info.levels, info.slices
            )));
        }
        let l = level as usize;
        let mut out = Vec::new();
        for z in 0..size[2] as usize {
            for y in 0..size[1] as usize {
                let at = (z * size[1] as usize + y) * row_bytes;
                let image = if d.kind == TextureKind::D3 { origin[2] as usize + z } else { slice as usize };
                let offset = info.level_offset[l] as usize
                    + image * info.image_bytes[l] as usize
                    + (origin[1] as usize + y) * info.row_bytes[l] as usize
                    + origin[0] as usize * texel;
                out.push((at..at + line, info.data.wrapping_add(offset)));
            }
        }
        Ok(out)
    }
}

fn too_short(have: usize, need: usize) -> Error {
    Error::Invalid(format!("{have} bytes for a region of a texture that needs {need}"))
}
