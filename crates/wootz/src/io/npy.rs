//! NumPy's `.npy`: a magic number, a Python literal that describes the array, and its bytes.

use super::{Part, io_error, map_file, read_file, write_file};
use crate::device::Device;
use crate::tensor::Tensor;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use wootz_backend::HostMemory;
use wootz_ir::{DType, Error, Layout, Result, Shape};

const MAGIC: &[u8] = b"\x93NUMPY";

fn bad(detail: impl Into<String>) -> Error {
    Error::format("npy", detail)
}

/// NumPy's name of a dtype. bf16 has none and is written as two raw bytes.
fn descriptor(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "|b1",
        DType::U8 => "|u1",
        DType::U16 => "<u2",
        DType::U32 => "<u4",
        DType::U64 => "<u8",
        DType::I8 => "|i1",
        DType::I16 => "<i2",
        DType::I32 => "<i4",
        DType::I64 => "<i8",
        DType::F16 => "<f2",
        DType::BF16 => "|V2",
        DType::F32 => "<f4",
        DType::F64 => "<f8",
    }
}

/// The dtype of a NumPy name, and whether its bytes must be swapped.
fn dtype_of(name: &str) -> Result<(DType, bool)> {
    let mut letters = name.chars();
    let order = letters.next();
    let found = DType::ALL.into_iter().find(|&d| &descriptor(d)[1..] == letters.as_str());
    match (found, order) {
        (Some(dtype), Some('<' | '|' | '=')) => Ok((dtype, false)),
        (Some(dtype), Some('>')) => Ok((dtype, true)),
        _ => Err(bad(format!("unsupported dtype {name:?}"))),
    }
}

/// Loads a `.npy` file. Large files are memory-mapped, and must not change while the tensor lives.
pub fn load_npy(path: impl AsRef<Path>) -> Result<Tensor> {
    load_npy_on(path, &Device::current()?)
}

/// Loads a `.npy` file to a device.
pub fn load_npy_on(path: impl AsRef<Path>, device: &Device) -> Result<Tensor> {
    let path = path.as_ref();
    let length = std::fs::metadata(path).map_err(|e| io_error(path, e))?.len();
    if length < MAPPED {
        return parse(&read_file(path)?, device);
    }
    let map = Arc::new(map_file(path).map_err(|e| io_error(path, e))?);
    let (header, start) = Header::find(&map)?;
    let data = header.data(&map, start)?;
    if header.swapped {
        return parse(&map, device);
    }
    let range = start..start + data.len();
    let memory = HostMemory::new(Part { map, range });
    Tensor::from_host_on(memory, header.dtype, header.layout(), device)
}

/// Files from this size on are memory-mapped, and must not change while their tensors live. Smaller ones are read:
/// that takes no longer, and overwriting them is harmless.
const MAPPED: u64 = 1 << 24;

/// Parses the bytes of a `.npy` file.
pub fn read_npy(bytes: &[u8]) -> Result<Tensor> {
    parse(bytes, &Device::current()?)
}

/// Saves a tensor as a `.npy` file.
pub fn save_npy(path: impl AsRef<Path>, tensor: &Tensor) -> Result<()> {
    let bytes = tensor.to_bytes()?;
    write_file(path.as_ref(), |file| {
        file.write_all(&header(tensor))?;
        file.write_all(&bytes)
    })
}

/// The part of the file before the data.
pub(super) fn header(tensor: &Tensor) -> Vec<u8> {
    let extents: Vec<String> = tensor.shape().iter().map(|d| format!("{d},")).collect();
    let shape = match extents.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        many => many.join(" ").trim_end_matches(',').to_string(),
    };
    let descr = descriptor(tensor.dtype());
    let mut dict = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    // The data starts at a multiple of 64.
    while !(MAGIC.len() + 4 + dict.len() + 1).is_multiple_of(64) {
        dict.push(' ');
    }
    dict.push('\n');
    let mut out = MAGIC.to_vec();
    out.extend([1, 0]);
    out.extend((dict.len() as u16).to_le_bytes());
    out.extend(dict.as_bytes());
    out
}

/// Parses the bytes of a `.npy` file.
pub(super) fn parse(bytes: &[u8], device: &Device) -> Result<Tensor> {
    let (header, start) = Header::find(bytes)?;
    let data = header.data(bytes, start)?;
    if !header.swapped {
        return header.tensor(data, device);
    }
    let mut data = data.to_vec();
    data.chunks_exact_mut(header.dtype.size()).for_each(<[u8]>::reverse);
    header.tensor(&data, device)
}

/// The maximum header length: a hundred times what NumPy writes for the largest rank.
const MAX_HEADER: usize = 1 << 16;

/// Including the bytes before it.
pub(super) const MAX_START: usize = 12 + MAX_HEADER;

/// The total size of a `.npy` file, from its first [`MAX_START`] bytes.
pub(super) fn length_of(bytes: &[u8]) -> Result<usize> {
    let (header, start) = Header::find(bytes)?;
    Ok(start.saturating_add(header.bytes()?))
}

struct Header {
    dtype: DType,
    swapped: bool,
    fortran: bool,
    shape: Shape,
}

impl Header {
    /// The header of a file, and where its data starts.
    fn find(bytes: &[u8]) -> Result<(Header, usize)> {
        if !bytes.starts_with(MAGIC) || bytes.len() < 10 {
            return Err(bad("the file does not start with the magic number of a .npy file"));
        }
        let (length, start) = match bytes[6] {
            1 => (u16::from_le_bytes([bytes[8], bytes[9]]) as usize, 10),
            2 | 3 if bytes.len() >= 12 => {
                (u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]) as usize, 12)
            }
            version => return Err(bad(format!("unsupported version {version}"))),
        };
        if length > MAX_HEADER {
            return Err(bad(format!("the header has {length} bytes; the limit is {MAX_HEADER}")));
        }
        let end = start + length;
        let header = bytes.get(start..end).ok_or_else(|| {
            bad(format!(
                "the header should have {length} bytes, but the file ends after {}",
                bytes.len() - start
            ))
        })?;
        let text = std::str::from_utf8(header).map_err(|_| bad("the header is not text"))?;
        Ok((Header::parse(text)?, end))
    }

    /// Size of the elements in bytes.
    fn bytes(&self) -> Result<usize> {
        let overflows = || bad(format!("shape {} overflows", self.shape));
        let count = self.shape.checked_count().ok_or_else(overflows)?;
        count.checked_mul(self.dtype.size()).ok_or_else(overflows)
    }

    /// Reads the elements from the bytes of an entire file.
    fn data<'a>(&self, bytes: &'a [u8], start: usize) -> Result<&'a [u8]> {
        let data = &bytes[start..];
        data.get(..self.bytes()?).ok_or_else(|| {
            bad(format!("{}{} needs more than the {} bytes of data", self.dtype, self.shape, data.len()))
        })
    }

    /// The layout of the elements in the file.
    fn layout(&self) -> Layout {
        let mut layout = Layout::contiguous(&self.shape);
        if self.fortran {
            let mut stride = 1;
            for (axis, &extent) in self.shape.iter().enumerate() {
                layout.strides[axis] = stride;
                stride *= extent as isize;
            }
        }
        layout
    }

    /// The three entries of the dictionary, in any order.
    fn parse(text: &str) -> Result<Header> {
        let value = |key: &str| -> Result<&str> {
            let quoted = [format!("'{key}':"), format!("\"{key}\":")];
            let found = quoted.iter().find_map(|q| text.find(q.as_str()).map(|i| &text[i + q.len()..]));
            found.map(str::trim_start).ok_or_else(|| bad(format!("the header has no {key:?}: {text:?}")))
        };
        let descr = value("descr")?;
        let quote = descr.chars().next().filter(|c| matches!(c, '\'' | '"'));
        let name = quote.and_then(|q| descr[1..].split(q).next());
        let name = name.ok_or_else(|| bad(format!("structured dtypes are not supported: {descr:?}")))?;
        let (dtype, swapped) = dtype_of(name)?;
        let order = value("fortran_order")?;
        let fortran = order.starts_with("True");
        if !fortran && !order.starts_with("False") {
            return Err(bad(format!("fortran_order is neither True nor False: {text:?}")));
        }
        let list = value("shape")?.strip_prefix('(').and_then(|s| s.split(')').next());
        let list = list.ok_or_else(|| bad(format!("the shape is not a tuple: {text:?}")))?;
        let extents = list.split(',').map(str::trim).filter(|s| !s.is_empty());
        let shape: std::result::Result<Shape, _> = extents.map(str::parse::<usize>).collect();
        let shape = shape.map_err(|_| bad(format!("the shape has an invalid extent: ({list})")))?;
        Ok(Header { dtype, swapped, fortran, shape })
    }

    fn tensor(&self, data: &[u8], device: &Device) -> Result<Tensor> {
        if !self.fortran || self.shape.rank() < 2 {
            return Tensor::from_bytes_on(data, self.dtype, self.shape.clone(), device);
        }
        let reversed: Shape = self.shape.iter().rev().copied().collect();
        let axes: Vec<isize> = (0..self.shape.rank() as isize).rev().collect();
        Tensor::from_bytes_on(data, self.dtype, reversed, device)?.permute(axes)
    }
}
