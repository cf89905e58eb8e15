//! safetensors: a JSON index and one block of bytes. Files are memory-mapped, and tensors refer to the mapping.

use super::{Part, io_error, write_file};
use crate::device::Device;
use crate::tensor::Tensor;
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use wootz_backend::HostMemory;
use wootz_ir::{DType, Error, Layout, Result, Shape};

fn bad(detail: impl Into<String>) -> Error {
    Error::format("safetensors", detail)
}

fn from_dtype(dtype: Dtype) -> Option<DType> {
    Some(match dtype {
        Dtype::BOOL => DType::Bool,
        Dtype::U8 => DType::U8,
        Dtype::U16 => DType::U16,
        Dtype::U32 => DType::U32,
        Dtype::U64 => DType::U64,
        Dtype::I8 => DType::I8,
        Dtype::I16 => DType::I16,
        Dtype::I32 => DType::I32,
        Dtype::I64 => DType::I64,
        Dtype::F16 => DType::F16,
        Dtype::BF16 => DType::BF16,
        Dtype::F32 => DType::F32,
        Dtype::F64 => DType::F64,
        _ => return None,
    })
}

fn to_dtype(dtype: DType) -> Dtype {
    match dtype {
        DType::Bool => Dtype::BOOL,
        DType::U8 => Dtype::U8,
        DType::U16 => Dtype::U16,
        DType::U32 => Dtype::U32,
        DType::U64 => Dtype::U64,
        DType::I8 => Dtype::I8,
        DType::I16 => Dtype::I16,
        DType::I32 => Dtype::I32,
        DType::I64 => Dtype::I64,
        DType::F16 => Dtype::F16,
        DType::BF16 => Dtype::BF16,
        DType::F32 => Dtype::F32,
        DType::F64 => Dtype::F64,
    }
}

/// Loads every tensor of a safetensors file, sorted by name. The file is memory-mapped and must not change while they
/// live.
pub fn load_safetensors(path: impl AsRef<Path>) -> Result<Vec<(String, Tensor)>> {
    load_safetensors_on(path, &Device::current()?)
}

/// Like [`load_safetensors`], to a device.
pub fn load_safetensors_on(path: impl AsRef<Path>, device: &Device) -> Result<Vec<(String, Tensor)>> {
    let path = path.as_ref();
    let map = Arc::new(crate::io::map_file(path).map_err(|e| io_error(path, e))?);
    let file = SafeTensors::deserialize(&map).map_err(|e| bad(e.to_string()))?;
    let mut tensors = Vec::new();
    for (name, view) in file.tensors() {
        let dtype = from_dtype(view.dtype())
            .ok_or_else(|| bad(format!("tensor {name:?} has the unsupported dtype {:?}", view.dtype())))?;
        let layout = Layout::contiguous(&Shape::from(view.shape()));
        let start = view.data().as_ptr() as usize - map.as_ptr() as usize;
        let part = Part { map: map.clone(), range: start..start + view.data().len() };
        tensors.push((name, Tensor::from_host_on(HostMemory::new(part), dtype, layout, device)?));
    }
    tensors.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(tensors)
}

/// Saves named tensors as a safetensors file.
pub fn save_safetensors(path: impl AsRef<Path>, tensors: &[(&str, &Tensor)]) -> Result<()> {
    let bytes: Vec<Vec<u8>> = tensors.iter().map(|(_, t)| t.to_bytes()).collect::<Result<_>>()?;
    let mut views = Vec::new();
    for ((name, tensor), bytes) in tensors.iter().zip(&bytes) {
        let view = TensorView::new(to_dtype(tensor.dtype()), tensor.shape().to_vec(), bytes);
        views.push((*name, view.map_err(|e| bad(format!("tensor {name:?}: {e}")))?));
    }
    let file = safetensors::serialize(views, None).map_err(|e| bad(e.to_string()))?;
    write_file(path.as_ref(), |out| out.write_all(&file))
}
