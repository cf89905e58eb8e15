//! Weights of a model file as tensors, without copying if the device can read host memory.

use crate::error::{Error, Result};
use crate::importance::{Collector, observed};
use crate::lora::Adapter;
use crate::ranks::{Cut, Share, Side, Stage};
use crate::survey::Survey;
use std::ops::Range;
use std::sync::Arc;
use wootz::distributed::Group;
use wootz::{Activations, BlockFormat, CustomKernel, DType, Device, HostMemory, Layout, Shape, Tensor};
use wootz_gguf::{Bytes, Gguf};

/// The tensors of a file, on a device.
pub struct Weights {
    gguf: Arc<Gguf>,
    device: Device,
    activations: Activations,
    /// This rank's part of them, if the model is split.
    share: Option<Share>,
    /// Adapters: the tensors and scale of each.
    adapters: Vec<(Adapter, Weights)>,
    /// What notes the inputs of products, where an importance matrix is computed.
    collector: Option<Arc<Collector>>,
    /// Where tensors that are missing are noted, instead of being errors.
    survey: Option<Arc<Survey>>,
}

/// A part of a memory-mapped file, which keeps the file mapped.
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
    /// The weights of a file for a device, and the precision of activations.
    pub fn new(gguf: Arc<Gguf>, device: &Device, activations: Activations) -> Weights {
        Weights {
            gguf,
            device: device.clone(),
            activations,
            share: None,
            adapters: Vec::new(),
            collector: None,
            survey: None,
        }
    }

    /// The same, noting tensors that are missing or have another shape. Zeros take their place.
    pub(crate) fn surveyed(self, survey: &Arc<Survey>) -> Weights {
        Weights { survey: Some(survey.clone()), ..self }
    }

    /// The same, of which this rank has a part. Names and shapes are then those of the part.
    pub(crate) fn divided(self, share: Option<Share>) -> Weights {
        Weights { share, ..self }
    }

    /// The same, whose products are noted.
    pub(crate) fn observed(self, collector: Option<Arc<Collector>>) -> Weights {
        Weights { collector, ..self }
    }

    /// What notes the inputs of the products of a tensor.
    fn observer(&self, name: &str, matrices: usize) -> Option<Arc<CustomKernel>> {
        self.collector.as_ref().map(|collector| collector.observer(name, matrices))
    }

    /// This rank's place, where layers are on several ranks.
    pub(crate) fn stage(&self) -> Option<Stage> {
        self.share.as_ref()?.stage()
    }

    /// The name in the file of what the network calls `name`.
    fn name_of(&self, name: &str) -> String {
        self.share.as_ref().map_or_else(|| name.to_string(), |share| share.name_of(name))
    }

    fn cut(&self, name: &str) -> Option<Cut> {
        self.share.as_ref()?.cut(name)
    }

    /// The same with adapters, which must match this file.
    pub fn with_adapters(mut self, adapters: &[Adapter]) -> Weights {
        let beside = |adapter: &Adapter| {
            let weights = Weights::new(adapter.gguf.clone(), &self.device, self.activations);
            (adapter.clone(), weights)
        };
        self.adapters = adapters.iter().map(beside).collect();
        self
    }

    /// The adapters of a matrix.
    fn added(&self, name: &str, rows: usize, columns: usize) -> Result<Vec<Added<Matrix>>> {
        self.adapted(name, |weights, rank| {
            let a = weights.matrix(&format!("{name}.lora_a"), rank, columns)?;
            Ok([a, weights.matrix(&format!("{name}.lora_b"), rows, rank)?])
        })
    }

    /// The two matrices of each adapter of a tensor.
    fn adapted<M>(
        &self,
        name: &str,
        load: impl Fn(&Weights, usize) -> Result<[M; 2]>,
    ) -> Result<Vec<Added<M>>> {
        let mut list = Vec::new();
        for (adapter, weights) in &self.adapters {
            if let Some((rank, scale)) = adapter.part(name) {
                let [a, b] = load(weights, rank)?;
                list.push(Added { a, b, scale });
            }
        }
        Ok(list)
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Whether the file has a tensor of this name.
    pub fn has(&self, name: &str) -> bool {
        self.gguf.find_tensor(&self.name_of(name)).is_some()
    }

    /// A required tensor with this shape (slowest-varying first), as stored; if it is split, this rank's part.
    fn stored(&self, name: &str, shape: &[usize]) -> Result<(HostMemory, BlockFormat)> {
        let found = match self.cut(name) {
            Some(cut) => self.stored_part(name, shape, &cut),
            None => self.stored_whole(name, shape),
        };
        match &self.survey {
            Some(survey) => found.or_else(|error| survey.note(error, shape)),
            None => found,
        }
    }

    /// A part of a tensor: in place if it is contiguous in the file, otherwise a copy.
    fn stored_part(&self, name: &str, shape: &[usize], cut: &Cut) -> Result<(HostMemory, BlockFormat)> {
        let mut whole = shape.to_vec();
        // Biases and other vectors have rows only, on their last axis.
        let is_matrix = name.ends_with(".weight") && shape.len() > 1;
        let axis = match cut.side {
            Side::Rows if is_matrix => shape.len() - 2,
            Side::Rows | Side::Columns => shape.len() - 1,
            Side::Experts => 0,
        };
        whole[axis] = cut.whole;
        let (_, format) = self.stored_whole(name, &whole)?;
        let tensor = self.gguf.tensor(&self.name_of(name))?;
        let (bytes, place) = self.gguf.place(tensor);
        let problem = || {
            Error::Model(format!(
                "tensor '{name}' cannot be split at {:?}, inside a {format} block",
                cut.range
            ))
        };
        // What the cut axis counts: rows of so many bytes, or values in blocks.
        let inner: usize = whole[axis + 1..].iter().product();
        let at = |count: usize| format.bytes_of(count * inner).ok_or_else(problem);
        let (start, end, stride) = (at(cut.range.start)?, at(cut.range.end)?, at(cut.whole)?);
        if stride == place.len() {
            let range = place.start + start..place.start + end;
            return Ok((HostMemory::new(Part { bytes: bytes.clone(), range }), format));
        }
        let mut copy = Vec::with_capacity(place.len() / stride.max(1) * (end - start));
        for piece in bytes[place.clone()].chunks_exact(stride.max(1)) {
            copy.extend_from_slice(&piece[start..end]);
        }
        bytes.forget(place);
        Ok((HostMemory::new(copy), format))
    }

    fn stored_whole(&self, name: &str, shape: &[usize]) -> Result<(HostMemory, BlockFormat)> {
        let tensor = self.gguf.tensor(&self.name_of(name))?;
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

    /// A tensor as rows of blocks: all extents but the last, then the bytes of a row.
    fn coded(&self, name: &str, shape: &[usize]) -> Result<(Tensor, BlockFormat)> {
        let (memory, format) = self.stored(name, shape)?;
        let (columns, lead) = shape.split_last().expect("weights have axes");
        let Some(bytes) = format.bytes_of(*columns) else {
            let problem = format!(
                "tensor '{name}': rows of {columns} values are not a multiple of the {format} block size"
            );
            return Err(Error::Model(problem));
        };
        let layout = Layout::contiguous(&lead.iter().copied().chain([bytes]).collect::<Shape>());
        Ok((Tensor::from_host_on(memory, DType::U8, layout, &self.device)?, format))
    }

    /// A matrix of `rows` outputs and `columns` inputs.
    pub fn matrix(&self, name: &str, rows: usize, columns: usize) -> Result<Matrix> {
        let (coded, format) = self.coded(name, &[rows, columns])?;
        let added = self.added(name, rows, columns)?;
        let (after, observer) = (self.after(name), self.observer(name, 1));
        Ok(Matrix { coded, format, activations: self.activations, bias: None, after, added, observer })
    }

    /// What remains to be done to the products of a matrix.
    fn after(&self, name: &str) -> After {
        match (self.cut(name), &self.share) {
            (Some(Cut { side: Side::Columns, .. }), Some(share)) => After::Sum(share.group().clone()),
            (Some(Cut { side: Side::Experts, .. }), Some(share)) if name.contains("ffn_down") => {
                After::Sum(share.group().clone())
            }
            _ => After::Nothing,
        }
    }

    /// The output matrix with `rows` logits. If it is split, the logits of all ranks are joined.
    pub(crate) fn output(&self, name: &str, rows: usize, columns: usize) -> Result<Matrix> {
        let whole = self.matrix(name, rows, columns)?;
        let Some(share) = &self.share else { return Ok(whole) };
        let Some(own) = share.output_rows() else { return Ok(whole) };
        let coded = whole.coded.narrow(0, own.start, own.len())?;
        Ok(Matrix { coded, after: After::Join(share.group().clone(), rows), ..whole })
    }

    /// A stack of `count` matrices `name.weight`, with `name.bias` if the file has one.
    pub fn stack(&self, name: &str, count: usize, rows: usize, columns: usize) -> Result<Stack> {
        let mut bias = self.optional_values(&format!("{name}.bias"), &[count, rows])?;
        if let Some(Cut { side: Side::Columns, .. }) = self.cut(&format!("{name}.weight")) {
            // Of the parts of a sum, one has the bias.
            bias = bias.filter(|_| self.share.as_ref().is_none_or(|share| share.group().rank() == 0));
        }
        Ok(Stack { bias, ..self.plain_stack(&format!("{name}.weight"), [count, rows, columns])? })
    }

    fn plain_stack(&self, name: &str, [count, rows, columns]: [usize; 3]) -> Result<Stack> {
        let (coded, format) = self.coded(name, &[count, rows, columns])?;
        let added = self.adapted(name, |weights, rank| {
            let a = weights.plain_stack(&format!("{name}.lora_a"), [count, rank, columns])?;
            Ok([a, weights.plain_stack(&format!("{name}.lora_b"), [count, rows, rank])?])
        })?;
        let (after, observer) = (self.after(name), self.observer(name, count));
        Ok(Stack { coded, format, activations: self.activations, bias: None, after, added, observer })
    }

    /// The matrix `name.weight` split into matrices with these numbers of rows, with their parts of `name.bias`.
    pub fn parts<const N: usize>(&self, name: &str, rows: [usize; N], columns: usize) -> Result<[Matrix; N]> {
        if let Some(own) = self.share.as_ref().and_then(|share| share.parts(name)) {
            return self.own_parts(name, own, columns);
        }
        let whole = self.linear(name, rows.iter().sum(), columns)?;
        let mut start = 0;
        let mut parts = Vec::with_capacity(N);
        for rows in rows {
            let coded = whole.coded.narrow(0, start, rows)?;
            let bias = whole.bias.as_ref().map(|bias| bias.narrow(0, start, rows)).transpose()?;
            let mut part = Matrix { coded, bias, ..whole.clone() };
            for added in &mut part.added {
                added.b.coded = added.b.coded.narrow(0, start, rows)?;
            }
            parts.push(part);
            start += rows;
        }
        Ok(parts.try_into().unwrap_or_else(|_| unreachable!("as many parts as there are rows")))
    }

    /// This rank's rows of each of the matrices that are fused in the file.
    fn own_parts<const N: usize>(
        &self,
        name: &str,
        own: Vec<Range<usize>>,
        columns: usize,
    ) -> Result<[Matrix; N]> {
        let undivided = Weights::new(self.gguf.clone(), &self.device, self.activations);
        let rows = undivided.gguf.tensor(&format!("{name}.weight"))?.dims.get(1).map_or(0, |&d| d as usize);
        let whole = undivided.linear(name, rows, columns)?;
        let part = |own: &Range<usize>| -> Result<Matrix> {
            let bias = whole.bias.as_ref().map(|bias| bias.narrow(0, own.start, own.len())).transpose()?;
            Ok(Matrix { coded: whole.coded.narrow(0, own.start, own.len())?, bias, ..whole.clone() })
        };
        let parts = own.iter().map(part).collect::<Result<Vec<_>>>()?;
        parts.try_into().map_err(|_| Error::Model(format!("'{name}' is not a stack of {N} matrices")))
    }

    /// The matrix `name.weight`, with `name.bias` if the file has one.
    pub fn linear(&self, name: &str, rows: usize, columns: usize) -> Result<Matrix> {
        let matrix = self.matrix(&format!("{name}.weight"), rows, columns)?;
        let bias = self.optional_values(&format!("{name}.bias"), &[rows])?;
        Ok(Matrix { bias, ..matrix })
    }

    /// A tensor as f32 values: norms, biases and other small tensors.
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

    /// The same, if the tensor exists.
    pub fn optional_values(&self, name: &str, shape: &[usize]) -> Result<Option<Tensor>> {
        if self.has(name) { self.values(name, shape).map(Some) } else { Ok(None) }
    }
}

/// A weight matrix in the file's format (rows of blocks), and what is added to its products.
#[derive(Clone)]
pub struct Matrix {
    coded: Tensor,
    format: BlockFormat,
    activations: Activations,
    bias: Option<Tensor>,
    after: After,
    added: Vec<Added<Matrix>>,
    observer: Option<Arc<CustomKernel>>,
}

/// What an adapter adds to a product: `scale · B·(A·x)`.
#[derive(Clone)]
struct Added<M> {
    a: M,
    b: M,
    scale: f32,
}

/// How a product depends on other ranks.
#[derive(Clone)]
enum After {
    Nothing,
    /// It is a partial sum.
    Sum(Group),
    /// It is a part of this many columns.
    Join(Group, usize),
}

impl After {
    fn apply(&self, product: Tensor) -> wootz::Result<Tensor> {
        match self {
            After::Nothing => Ok(product),
            After::Sum(group) => group.all_sum(&product),
            After::Join(group, columns) => group.sharded(&product, -1, *columns)?.gather(),
        }
    }
}

impl Matrix {
    /// `x · Wᵀ + bias`.
    pub fn apply(&self, x: &Tensor) -> wootz::Result<Tensor> {
        let x = &observed(self.observer.as_ref(), x, None)?;
        let mut product = x.quant_matmul(&self.coded, self.format, self.activations)?;
        for Added { a, b, scale } in &self.added {
            product = product.add(&b.apply(&a.apply(x)?)?.mul(*scale)?)?;
        }
        let product = self.after.apply(product)?;
        match &self.bias {
            Some(bias) => product.add(bias),
            None => Ok(product),
        }
    }

    /// Selects rows by index: an embedding.
    pub fn rows(&self, index: &Tensor) -> wootz::Result<Tensor> {
        self.coded.quant_gather(index, self.format)
    }
}

/// A stack of weight matrices in the file's format, and what is added to their products.
pub struct Stack {
    coded: Tensor,
    format: BlockFormat,
    activations: Activations,
    bias: Option<Tensor>,
    after: After,
    added: Vec<Added<Stack>>,
    observer: Option<Arc<CustomKernel>>,
}

impl Stack {
    /// Completes a weighted sum of its results, of which this rank may have a part.
    pub fn whole(&self, sum: Tensor) -> wootz::Result<Tensor> {
        self.after.apply(sum)
    }

    /// Each row of `x [r, k]` times the matrices `chosen [r, j]`, plus their biases: `[r, j, n]`.
    pub fn apply(&self, x: &Tensor, chosen: &Tensor) -> wootz::Result<Tensor> {
        let x = &observed(self.observer.as_ref(), x, Some(chosen))?;
        let mut product = x.expert_matmul(&self.coded, chosen, self.format, self.activations)?;
        for Added { a, b, scale } in &self.added {
            let narrow = a.apply(x, chosen)?;
            let (pairs, rank) = (narrow.shape()[0] * narrow.shape()[1], narrow.shape()[2]);
            let part = b.apply(&narrow.reshape([pairs, rank])?, &chosen.reshape([pairs, 1])?)?;
            product = product.add(&part.reshape(product.shape())?.mul(*scale)?)?;
        }
        match &self.bias {
            Some(bias) => product.add(&bias.take(chosen, 0)?),
            None => Ok(product),
        }
    }
}
