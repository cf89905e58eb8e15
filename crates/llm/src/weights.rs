//! Weights of a model file as tensors, without a copy where the device can read host memory.

use crate::error::{Error, Result};
use std::ops::Range;
use std::sync::Arc;
use wootz::{Activations, BlockFormat, DType, Device, HostMemory, Layout, Shape, Tensor};
use wootz_gguf::{Bytes, Gguf};

/// The tensors of a file, on a device.
pub struct Weights {
    gguf: Arc<Gguf>,
    device: Device,
    activations: Activations,
}

/// Bytes of a mapped file, which they keep mapped.
struct Part {
    bytes: Bytes,
    range: Range<usize>,
}

impl AsRef<[u8]> for Part {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[self.range.clone()]
    }
}

impl Weights {
    /// The weights of a file for a device, and how they are multiplied by.
    pub fn new(gguf: Arc<Gguf>, device: &Device, activations: Activations) -> Weights {
        Weights { gguf, device: device.clone(), activations }
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Whether the file has a tensor of this name.
    pub fn has(&self, name: &str) -> bool {
        self.gguf.find_tensor(name).is_some()
    }

    /// A tensor that must be there with this shape (slowest-varying first), as stored.
    fn stored(&self, name: &str, shape: &[usize]) -> Result<(HostMemory, BlockFormat)> {
        let tensor = self.gguf.tensor(name)?;
        let format = tensor.format()?;
        // Files differ in where they write extents of 1.
        let found = tensor.dims.iter().rev().map(|&d| d as usize).filter(|&d| d != 1);
        if !found.eq(shape.iter().copied().filter(|&d| d != 1)) {
            let found: Vec<u64> = tensor.dims.iter().rev().copied().collect();
            return Err(Error::Model(format!(
                "tensor '{name}' is {found:?}, but the metadata asks for {shape:?}"
            )));
        }
        let (bytes, range) = self.gguf.place(tensor);
        Ok((HostMemory::new(Part { bytes: bytes.clone(), range }), format))
    }

    /// A matrix of `rows` outputs and `columns` inputs.
    pub fn matrix(&self, name: &str, rows: usize, columns: usize) -> Result<Matrix> {
        let (memory, format) = self.stored(name, &[rows, columns])?;
        let Some(bytes) = format.bytes_of(columns) else {
            let problem = format!("tensor '{name}': rows of {columns} values are not whole {format} blocks");
            return Err(Error::Model(problem));
        };
        let layout = Layout::contiguous(&Shape::from([rows, bytes]));
        let coded = Tensor::from_host_on(memory, DType::U8, layout, &self.device)?;
        Ok(Matrix { coded, format, activations: self.activations, bias: None })
    }

    /// The matrix `name.weight`, with `name.bias` where the file has one.
    pub fn linear(&self, name: &str, rows: usize, columns: usize) -> Result<Matrix> {
        let matrix = self.matrix(&format!("{name}.weight"), rows, columns)?;
        let bias = self.optional_values(&format!("{name}.bias"), &[rows])?;
        Ok(Matrix { bias, ..matrix })
    }

    /// A tensor as f32 values: norms, biases and other small things.
    pub fn values(&self, name: &str, shape: &[usize]) -> Result<Tensor> {
        let (memory, format) = self.stored(name, shape)?;
        let shape = Shape::from(shape);
        // Other containers may put floats at any byte.
        let aligned = memory.bytes().as_ptr().addr().is_multiple_of(size_of::<f32>());
        if format == BlockFormat::F32 && aligned {
            return Ok(Tensor::from_host_on(memory, DType::F32, Layout::contiguous(&shape), &self.device)?);
        }
        let mut values = vec![0f32; shape.count()];
        wootz_blocks::dequantize(format, memory.bytes(), &mut values)
            .map_err(|error| Error::Model(format!("tensor '{name}': {error}")))?;
        Ok(Tensor::from_slice_on(&values, &self.device)?.reshape(shape)?)
    }

    /// The same, if the file has it.
    pub fn optional_values(&self, name: &str, shape: &[usize]) -> Result<Option<Tensor>> {
        if self.has(name) { self.values(name, shape).map(Some) } else { Ok(None) }
    }
}

/// A weight matrix in the form of the file (rows of blocks), and what is added to its products.
#[derive(Clone)]
pub struct Matrix {
    coded: Tensor,
    format: BlockFormat,
    activations: Activations,
    bias: Option<Tensor>,
}

impl Matrix {
    /// `x · Wᵀ + bias`.
    pub fn apply(&self, x: &Tensor) -> wootz::Result<Tensor> {
        let product = x.quant_matmul(&self.coded, self.format, self.activations)?;
        match &self.bias {
            Some(bias) => product.add(bias),
            None => Ok(product),
        }
    }

    /// Rows by number: an embedding.
    pub fn rows(&self, index: &Tensor) -> wootz::Result<Tensor> {
        self.coded.quant_gather(index, self.format)
    }
}
