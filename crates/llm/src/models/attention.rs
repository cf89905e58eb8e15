//! Self-attention with grouped heads, rotary positions and a cache of keys and values.

use wootz::{AttentionOptions, DType, Device, RopeStyle, Tensor};

use crate::config::{Attention as Shape, RopeScaling};
use crate::error::{Error, Result};
use crate::weights::{Linear, Weights};

/// The attention of one layer.
pub(super) struct Attention {
    query: Linear,
    key: Linear,
    value: Linear,
    output: Linear,
    /// Norms of each query and key head, where a family has them.
    query_norm: Option<Tensor>,
    key_norm: Option<Tensor>,
    shape: Shape,
    style: RopeStyle,
    window: Option<usize>,
    epsilon: f64,
}

impl Attention {
    pub fn load(weights: &Weights<'_>, shape: &Shape, layer: usize, style: RopeStyle) -> Result<Attention> {
        let width = weights.config().width;
        let part = |name: &str| format!("blk.{layer}.attn_{name}");
        Ok(Attention {
            query: weights.linear(&part("q"), width, shape.heads * shape.key_len)?,
            key: weights.linear(&part("k"), width, shape.kv_heads * shape.key_len)?,
            value: weights.linear(&part("v"), width, shape.kv_heads * shape.value_len)?,
            output: weights.linear(&part("output"), shape.heads * shape.value_len, width)?,
            query_norm: weights.optional_vector(&part("q_norm"), shape.key_len)?,
            key_norm: weights.optional_vector(&part("k_norm"), shape.key_len)?,
            shape: shape.clone(),
            style,
            window: shape.window_of(layer),
            epsilon: f64::from(weights.config().norm_epsilon),
        })
    }

    /// `softmax(q kᵀ / √d) v · Wo` over everything up to each token; the cache with the new keys and values.
    pub fn apply(
        &self,
        x: &Tensor,
        place: &Place<'_>,
        frequencies: &Tensor,
        cache: (&Tensor, &Tensor),
    ) -> wootz::Result<(Tensor, Tensor, Tensor)> {
        let (t, s) = (x.shape()[0], &self.shape);
        let heads = |y: Tensor, n: usize, d: usize| y.reshape([t, n, d])?.permute([1, 0, 2]);
        let turn = |y: Tensor, norm: &Option<Tensor>| {
            let y = match norm {
                Some(weight) => y.rms_norm(Some(weight), self.epsilon)?,
                None => y,
            };
            y.rope(place.positions, frequencies, self.style)?.unsqueeze(0)
        };
        let q = turn(heads(self.query.apply(x)?, s.heads, s.key_len)?, &self.query_norm)?;
        let k = turn(heads(self.key.apply(x)?, s.kv_heads, s.key_len)?, &self.key_norm)?;
        let v = heads(self.value.apply(x)?, s.kv_heads, s.value_len)?.unsqueeze(0)?;
        let keys = cache.0.write_at(&k, place.start, 2)?;
        let values = cache.1.write_at(&v, place.start, 2)?;
        let options =
            AttentionOptions { position: Some(place.start), window: self.window, ..Default::default() };
        let y = q.attention(&keys, &values, options)?;
        let y = y.permute([0, 2, 1, 3])?.reshape([t, s.heads * s.value_len])?;
        Ok((self.output.apply(&y)?, keys, values))
    }
}

/// Where the tokens of a step stand.
pub(super) struct Place<'a> {
    /// The first position, one integer.
    pub start: &'a Tensor,
    /// All positions `[t]`.
    pub positions: &'a Tensor,
}

/// The positions `[t]` from `start` on.
pub(super) fn positions(start: &Tensor, t: usize, device: &Device) -> wootz::Result<Tensor> {
    Tensor::iota([t], device)?.cast(DType::I32)?.add(start)
}

/// Empty keys and values of all layers, in turn.
pub(super) fn fresh_cache(
    shape: &Shape,
    layers: usize,
    context: usize,
    (dtype, device): (DType, &Device),
) -> wootz::Result<Vec<Tensor>> {
    let empty = |d: usize| Tensor::full_on([1, shape.kv_heads, context, d], 0.0, dtype, device);
    let mut state = Vec::with_capacity(2 * layers);
    for _ in 0..layers {
        state.push(empty(shape.key_len)?);
        state.push(empty(shape.value_len)?);
    }
    Ok(state)
}

/// Angles per position: `base^(-2i/d)`, divided by the scaling, and by the factors that a file may hold.
pub(super) fn frequencies(weights: &Weights<'_>, shape: &Shape, base: f32, scaled: bool) -> Result<Tensor> {
    let pairs = shape.rope_len / 2;
    let factors = weights.optional_values("rope_freqs", pairs)?.unwrap_or_else(|| vec![1.0; pairs]);
    let scale = match (shape.rope_scaling, scaled) {
        (RopeScaling::Linear(factor), true) => f64::from(factor),
        (RopeScaling::None, _) | (RopeScaling::Linear(_), false) => 1.0,
        (RopeScaling::Yarn { .. }, _) => {
            return Err(Error::Model("YaRN rope scaling cannot be run yet".into()));
        }
    };
    let turn = |(i, factor): (usize, f32)| {
        let exponent = -2.0 * i as f64 / shape.rope_len as f64;
        (f64::from(base).powf(exponent) / (f64::from(factor) * scale)) as f32
    };
    let values: Vec<f32> = factors.into_iter().enumerate().map(turn).collect();
    Ok(Tensor::from_slice_on(&values, weights.device())?)
}
