//! Loading and saving arrays.

use crate::array::PyArray;
use crate::device::device_of;
use crate::errors::{from_engine, raise};
use pyo3::prelude::*;
use std::path::PathBuf;
use wootz::{BlockFormat, DType, Device, HostMemory, Layout, Tensor};
use wootz_gguf::{Bytes, Gguf};

/// An array from a ``.npy`` file.
#[pyfunction]
#[pyo3(signature = (path, *, device=None))]
pub fn load_npy(py: Python<'_>, path: PathBuf, device: Option<&Bound<'_, PyAny>>) -> PyResult<PyArray> {
    let device = device_of(device)?;
    crate::run::detached(py, || wootz::load_npy_on(&path, &device)).map(PyArray::new)
}

/// Arrays by name from a ``.npz`` file.
#[pyfunction]
#[pyo3(signature = (path, *, device=None))]
pub fn _load_npz(
    py: Python<'_>,
    path: PathBuf,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<(String, PyArray)>> {
    let device = device_of(device)?;
    let found = crate::run::detached(py, || wootz::load_npz_on(&path, wootz::NpzLimits::default(), &device))?;
    Ok(found.into_iter().map(|(name, tensor)| (name, PyArray::new(tensor))).collect())
}

/// Arrays by name from a safetensors file, which is memory-mapped.
#[pyfunction]
#[pyo3(signature = (path, *, device=None))]
pub fn _load_safetensors(
    py: Python<'_>,
    path: PathBuf,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<(String, PyArray)>> {
    let device = device_of(device)?;
    let found = crate::run::detached(py, || wootz::load_safetensors_on(&path, &device))?;
    Ok(found.into_iter().map(|(name, tensor)| (name, PyArray::new(tensor))).collect())
}

/// Writes an array to a ``.npy`` file, atomically.
#[pyfunction]
pub fn save_npy(py: Python<'_>, path: PathBuf, array: PyRef<'_, PyArray>) -> PyResult<()> {
    let tensor = array.evaluated(py)?;
    drop(array);
    crate::run::detached(py, || wootz::save_npy(&path, &tensor))
}

fn named(py: Python<'_>, arrays: Vec<(String, PyRef<'_, PyArray>)>) -> PyResult<Vec<(String, Tensor)>> {
    arrays.into_iter().map(|(name, array)| Ok((name, array.evaluated(py)?))).collect()
}

/// Writes arrays by name to a ``.npz`` file.
#[pyfunction]
pub fn _save_npz(py: Python<'_>, path: PathBuf, arrays: Vec<(String, PyRef<'_, PyArray>)>) -> PyResult<()> {
    let tensors = named(py, arrays)?;
    crate::run::detached(py, || {
        let pairs: Vec<(&str, &Tensor)> = tensors.iter().map(|(n, t)| (n.as_str(), t)).collect();
        wootz::save_npz(&path, &pairs)
    })
}

/// Writes arrays by name to a safetensors file.
#[pyfunction]
pub fn _save_safetensors(
    py: Python<'_>,
    path: PathBuf,
    arrays: Vec<(String, PyRef<'_, PyArray>)>,
) -> PyResult<()> {
    let tensors = named(py, arrays)?;
    crate::run::detached(py, || {
        let pairs: Vec<(&str, &Tensor)> = tensors.iter().map(|(n, t)| (n.as_str(), t)).collect();
        wootz::save_safetensors(&path, &pairs)
    })
}

/// Metadata by name, and arrays by name.
type Contents = (Vec<(String, Py<PyAny>)>, Vec<(String, PyArray)>);

/// The metadata and arrays of a GGUF file, which is memory-mapped. Quantised tensors are decoded to float32 when they
/// are evaluated.
#[pyfunction]
#[pyo3(signature = (path, *, device=None))]
pub fn _load_gguf(py: Python<'_>, path: PathBuf, device: Option<&Bound<'_, PyAny>>) -> PyResult<Contents> {
    let device = device_of(device)?;
    let gguf = py.detach(|| Gguf::open(&path)).map_err(from_gguf)?;
    let mut arrays = Vec::new();
    for tensor in gguf.tensors() {
        arrays.push((tensor.name.clone(), PyArray::new(gguf_tensor(&gguf, tensor, &device)?)));
    }
    let metadata = gguf.metadata();
    let values: PyResult<Vec<_>> =
        metadata.iter().map(|(name, value)| Ok((name.to_string(), gguf_value(py, &value)?))).collect();
    Ok((values?, arrays))
}

fn from_gguf(error: wootz_gguf::Error) -> PyErr {
    match error {
        wootz_gguf::Error::Io { path, source, .. } => from_engine(wootz::Error::io(path, source)),
        other => raise("FormatError", other.to_string()),
    }
}

fn gguf_value(py: Python<'_>, value: &wootz_gguf::Value<'_>) -> PyResult<Py<PyAny>> {
    use pyo3::IntoPyObjectExt;
    if let Some(flag) = value.as_bool() {
        return flag.into_py_any(py);
    }
    if let Some(text) = value.as_str() {
        return text.into_py_any(py);
    }
    if let Some(array) = value.as_array() {
        let items: PyResult<Vec<_>> = array.iter().map(|item| gguf_value(py, &item)).collect();
        return items?.into_py_any(py);
    }
    if let Some(integer) = value.as_i64() {
        return integer.into_py_any(py);
    }
    if let Some(integer) = value.as_u64() {
        return integer.into_py_any(py);
    }
    if let Some(float) = value.as_f64() {
        return float.into_py_any(py);
    }
    value.as_bytes().into_py_any(py)
}

/// A part of a mapped file.
struct Part {
    bytes: Bytes,
    range: std::ops::Range<usize>,
}

impl AsRef<[u8]> for Part {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[self.range.clone()]
    }
}

fn gguf_tensor(gguf: &Gguf, tensor: &wootz_gguf::Tensor, device: &Device) -> PyResult<Tensor> {
    let (bytes, range) = gguf.place(tensor);
    let memory = HostMemory::new(Part { bytes: bytes.clone(), range });
    let plain = match tensor.kind.name() {
        "I8" | "i8" => Some(DType::I8),
        "I16" | "i16" => Some(DType::I16),
        "I32" | "i32" => Some(DType::I32),
        "I64" | "i64" => Some(DType::I64),
        "F64" | "f64" => Some(DType::F64),
        _ => match tensor.format().map_err(from_gguf)? {
            BlockFormat::F32 => Some(DType::F32),
            BlockFormat::F16 => Some(DType::F16),
            BlockFormat::BF16 => Some(DType::BF16),
            _ => None,
        },
    };
    let shape = wootz::Shape::from(tensor.shape());
    let loaded = match plain {
        Some(dtype) => Tensor::from_host_on(memory, dtype, Layout::contiguous(&shape), device),
        None => decoded(memory, tensor, shape, device),
    };
    loaded.map_err(from_engine)
}

/// Quantised rows, decoded when they are evaluated.
fn decoded(
    memory: HostMemory,
    tensor: &wootz_gguf::Tensor,
    shape: wootz::Shape,
    device: &Device,
) -> wootz::Result<Tensor> {
    let format =
        tensor.kind.format().ok_or_else(|| wootz::Error::argument("load", "unsupported tensor format"))?;
    let width = shape.last().copied().unwrap_or(1).max(1);
    let rows = shape.count() / width;
    let row_bytes = width / format.block_len() * format.block_bytes();
    let layout = Layout::contiguous(&[rows, row_bytes].into());
    let coded = Tensor::from_host_on(memory, DType::U8, layout, device)?;
    coded.quant_gather(&Tensor::iota_on([rows], device)?, format)?.reshape(shape)
}
