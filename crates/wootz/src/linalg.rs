//! Matrix products.

use crate::operators::Operand;
use crate::tensor::Tensor;
use wootz_ir::op::{Activations, RopeStyle};
use wootz_ir::{BlockFormat, Error, Result, Shape, build};

/// Options of [`Tensor::attention`] beyond `softmax(q·kᵀ·scale)·v`.
#[derive(Clone, Copy, Default)]
pub struct AttentionOptions<'a> {
    /// Factor on the scores; `1/√d` by default.
    pub scale: Option<f64>,
    /// Added to the scores; broadcasts to `[b, h, t, s]`. A bool mask keeps positions where it is true.
    pub mask: Option<&'a Tensor>,
    /// Attention sinks `[h]`: a score per head that takes part in the softmax but contributes nothing (Xiao et al.,
    /// 2023).
    pub sinks: Option<&'a Tensor>,
    /// Position of the first query (one integer): query `t` sees keys up to position plus `t`.
    pub position: Option<&'a Tensor>,
    /// With `position`: the size of the sliding window, in most recent visible keys.
    pub window: Option<usize>,
    /// Soft cap on the scores.
    pub softcap: Option<f64>,
}

impl Tensor {
    /// The matrix product, as in NumPy: leading axes broadcast, vectors are treated as rows or columns.
    pub fn matmul(&self, other: &Tensor) -> Result<Tensor> {
        let other = other.to_tensor("matmul", self)?;
        if self.rank() == 0 || other.rank() == 0 {
            return Err(Error::shape("matmul", &[self.shape(), other.shape()], "at least one axis each"));
        }
        let a = if self.rank() == 1 { self.unsqueeze(0)? } else { self.clone() };
        let b = if other.rank() == 1 { other.unsqueeze(1)? } else { other.clone() };
        let product = self.wrap(build::matmul(&a.node, &b.node).map_err(|error| match error {
            Error::Shape { op, expected, .. } => {
                Error::Shape { op, shapes: vec![self.shape().clone(), other.shape().clone()], expected }
            }
            error => error,
        }))?;
        let product = if other.rank() == 1 { product.squeeze(-1)? } else { product };
        if self.rank() == 1 { product.squeeze(if other.rank() == 1 { -1 } else { -2 }) } else { Ok(product) }
    }

    /// The dot product of two vectors.
    pub fn dot(&self, other: &Tensor) -> Result<Tensor> {
        if self.rank() != 1 || other.rank() != 1 {
            return Err(Error::shape("dot", &[self.shape(), other.shape()], "two vectors"));
        }
        self.matmul(other)
    }

    /// The outer product of two vectors.
    pub fn outer(&self, other: &Tensor) -> Result<Tensor> {
        if self.rank() != 1 || other.rank() != 1 {
            return Err(Error::shape("outer", &[self.shape(), other.shape()], "two vectors"));
        }
        self.unsqueeze(1)?.mul(other.unsqueeze(0)?)
    }

    /// The sum of a diagonal of the last two axes (trace).
    pub fn trace(&self, k: isize) -> Result<Tensor> {
        self.diagonal(k)?.sum_axes([-1], false)
    }

    /// Rotary embedding of `x […, t, d]`: pair `i` at position `p` is rotated by `p·frequencies[i]`.
    pub fn rope(&self, positions: &Tensor, frequencies: &Tensor, style: RopeStyle) -> Result<Tensor> {
        self.wrap(build::rope(&self.node, &positions.node, &frequencies.node, style))
    }

    /// Scaled-dot-product attention of q (`self`, `[b, h, t, d]`), k `[b, g, s, d]` and v `[b, g, s, e]`.
    pub fn attention(&self, k: &Tensor, v: &Tensor, options: AttentionOptions<'_>) -> Result<Tensor> {
        let options = build::AttentionOptions {
            scale: options.scale,
            mask: options.mask.map(|m| &m.node),
            sinks: options.sinks.map(|s| &s.node),
            position: options.position.map(|p| &p.node),
            window: options.window,
            softcap: options.softcap,
        };
        self.wrap(build::attention(&self.node, &k.node, &v.node, options))
    }

    /// `x […, k] · Wᵀ`, where `weights [n, bytes]` are the rows of `W` quantised in `format`.
    pub fn quant_matmul(
        &self,
        weights: &Tensor,
        format: BlockFormat,
        activations: Activations,
    ) -> Result<Tensor> {
        self.wrap(build::quant_matmul(&self.node, &weights.node, format, activations))
    }

    /// Each row of `x [r, k]` times the matrices chosen for it: `out[r, j] = W[experts[r, j]] · x[r]`, where `weights
    /// [e, n, bytes]` is a stack of matrices quantised in `format`. A choice out of range is a fault.
    pub fn expert_matmul(
        &self,
        weights: &Tensor,
        experts: &Tensor,
        format: BlockFormat,
        activations: Activations,
    ) -> Result<Tensor> {
        self.wrap(build::expert_matmul(&self.node, &weights.node, &experts.node, format, activations))
    }

    /// Rows of a quantised matrix (`self`, `[n, bytes]`) by index, as f32.
    pub fn quant_gather(&self, rows: &Tensor, format: BlockFormat) -> Result<Tensor> {
        self.wrap(build::quant_gather(&self.node, &rows.node, format))
    }

    /// RWKV-7's recurrence over `[r, w, k, v, a, b]` (each `[t, h, d]` except v `[t, h, n]`) from a state `[h, n,
    /// d]`: the outputs `[t, h, n]` and the new state. Gated delta rules and state spaces are special cases.
    pub fn wkv7(inputs: [&Tensor; 6], state: &Tensor) -> Result<(Tensor, Tensor)> {
        let nodes = inputs.map(|t| &t.node);
        let packed = state.wrap(build::wkv7(nodes, &state.node))?;
        let outputs = inputs[3].count();
        let out = packed.narrow(0, 0, outputs)?.reshape(inputs[3].shape())?;
        let state = packed.narrow(0, outputs, state.count())?.reshape(state.shape())?;
        Ok((out, state))
    }

    /// The tensor contraction of the last `n` axes of this tensor with the first `n` of the other.
    pub fn tensordot(&self, other: &Tensor, n: usize) -> Result<Tensor> {
        if n > self.rank() || n > other.rank() {
            return Err(Error::shape(
                "tensordot",
                &[self.shape(), other.shape()],
                format!("at least {n} axes each"),
            ));
        }
        let (rows, inner) = self.shape().split_at(self.rank() - n);
        let (inner_b, columns) = other.shape().split_at(n);
        if inner != inner_b {
            let expected = format!("the last {n} axes equal to the first {n}");
            return Err(Error::shape("tensordot", &[self.shape(), other.shape()], expected));
        }
        let k: usize = inner.iter().product();
        let shape: Shape = rows.iter().chain(columns).copied().collect();
        let a = self.reshape([rows.iter().product(), k])?;
        let b = other.reshape([k, columns.iter().product()])?;
        a.matmul(&b)?.reshape(shape)
    }
}
