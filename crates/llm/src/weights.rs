//! Weights of a model file as tensors: mapped, not copied, where the device can.

use std::ops::Range;
use std::sync::Arc;

use wootz::{BlockFormat, DType, Device, Layout, Shape, Tensor};
use wootz_backend::HostMemory;
use wootz_gguf::{Gguf, Tensor as Entry};

use crate::config::Config;
use crate::error::{Error, Result};

/// A file and the device that its tensors go to.
pub struct Weights<'a> {
    gguf: Arc<Gguf>,
    config: &'a Config,
    device: Device,
}

/// The bytes of one tensor of a mapped file.
struct Mapped {
    gguf: Arc<Gguf>,
    range: Range<usize>,
}

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        &self.gguf.bytes()[self.range.clone()]
    }
}

/// A matrix in its stored format, and perhaps a bias.
pub struct Linear {
    weight: Tensor,
    format: BlockFormat,
    bias: Option<Tensor>,
}

impl Linear {
    /// `x · Wᵀ + b`.
    pub fn apply(&self, x: &Tensor) -> wootz::Result<Tensor> {
        let y = x.quant_matmul(&self.weight, self.format)?;
        match &self.bias {
            Some(bias) => y.add(bias),
            None => Ok(y),
        }
    }

    /// Rows by number: an embedding.
    pub fn rows(&self, index: &Tensor) -> wootz::Result<Tensor> {
        self.weight.quant_gather(index, self.format)
    }
}

impl<'a> Weights<'a> {
    /// The weights of a file, on a device.
    pub fn new(gguf: Arc<Gguf>, config: &'a Config, device: &Device) -> Weights<'a> {
        Weights { gguf, config, device: device.clone() }
    }

    /// The model's shape.
    pub fn config(&self) -> &'a Config {
        self.config
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    fn mapped(&self, entry: &Entry) -> HostMemory {
        HostMemory::new(Mapped { gguf: self.gguf.clone(), range: self.gguf.data_range(entry) })
    }

    /// A matrix that takes `input` values to `output`, with the bias beside it if the file has one.
    pub fn linear(&self, name: &str, input: usize, output: usize) -> Result<Linear> {
        let entry = self.config.tensor(&self.gguf, &format!("{name}.weight"), &[input, output])?;
        let format = entry.format()?;
        let row = format.bytes_of(input).unwrap_or(0);
        let layout = Layout::contiguous(&Shape::from([output, row]));
        let weight = Tensor::from_host(self.mapped(entry), DType::U8, layout, &self.device)?;
        let bias = format!("{name}.bias");
        let bias = match self.gguf.find_tensor(&bias) {
            Some(_) => Some(self.vector_named(&bias, output)?),
            None => None,
        };
        Ok(Linear { weight, format, bias })
    }

    /// The vector `name.weight`.
    pub fn vector(&self, name: &str, len: usize) -> Result<Tensor> {
        self.vector_named(&format!("{name}.weight"), len)
    }

    /// The vector `name.weight`, if the file has it.
    pub fn optional_vector(&self, name: &str, len: usize) -> Result<Option<Tensor>> {
        match self.gguf.find_tensor(&format!("{name}.weight")) {
            Some(_) => self.vector(name, len).map(Some),
            None => Ok(None),
        }
    }

    fn vector_named(&self, name: &str, len: usize) -> Result<Tensor> {
        let entry = self.config.tensor(&self.gguf, name, &[len])?;
        let mut values = vec![0f32; len];
        wootz_blocks::dequantize(entry.format()?, self.gguf.data(entry), &mut values)
            .map_err(|e| Error::Model(format!("tensor '{name}': {e}")))?;
        Ok(Tensor::from_slice_on(&values, &self.device)?)
    }

    /// The output matrix: its own, or the embedding's again.
    pub fn head(&self) -> Result<Linear> {
        let name = if self.gguf.find_tensor("output.weight").is_some() { "output" } else { "token_embd" };
        self.linear(name, self.config.width, self.config.vocab)
    }

    /// The values of a vector, if the file has it.
    pub fn optional_values(&self, name: &str, len: usize) -> Result<Option<Vec<f32>>> {
        match self.optional_vector(name, len)? {
            Some(tensor) => Ok(Some(tensor.to_vec::<f32>()?)),
            None => Ok(None),
        }
    }
}
