//! The KV cache: `[1, heads, positions, width]` for every layer, so that the keys of a head are contiguous.
//! Sliding-window layers keep only what the window and one chunk of tokens need.

use super::{Kept, Memory, StateSpec};
use crate::config::{Attention, LayerHeads};
use crate::estimate::CacheFormat;
use wootz::{DType, Shape, Tensor};

/// Values that share a scale in an 8-bit cache.
const GROUP: usize = 32;

/// Pieces of state of one layer: the keys' and the values'.
pub fn pieces(format: CacheFormat) -> usize {
    match format {
        CacheFormat::F32 | CacheFormat::F16 | CacheFormat::BF16 => 2,
        CacheFormat::Q8_0 => 4,
    }
}

/// Heads that are not whole groups have one scale each.
fn group(width: usize) -> usize {
    if width.is_multiple_of(GROUP) { GROUP } else { width }
}

/// The state of all layers that have keys and values of their own.
pub fn specs(layers: usize, attention: &Attention, memory: Memory) -> Vec<StateSpec> {
    let mut list = Vec::with_capacity(layers * pieces(memory.format));
    for layer in 0..attention.caches(layers) {
        let own = attention.layer(layer);
        list.extend(rows(own, own.key_len, memory));
        list.extend(rows(own, own.value_len, memory));
    }
    list
}

/// The pieces that hold a row of `width` values for each head and position.
pub fn rows(layer: LayerHeads, width: usize, memory: Memory) -> Vec<StateSpec> {
    let positions = memory.positions(layer.window);
    let kept = if layer.window.is_some() { Kept::Window } else { Kept::Every };
    let piece = |width: usize, dtype: DType| StateSpec {
        shape: Shape::from([1, layer.kv_heads, positions, width]),
        dtype,
        kept,
    };
    match memory.format {
        CacheFormat::F32 => vec![piece(width, DType::F32)],
        CacheFormat::F16 => vec![piece(width, DType::F16)],
        CacheFormat::BF16 => vec![piece(width, DType::BF16)],
        CacheFormat::Q8_0 => vec![piece(width, DType::I8), piece(width / group(width), DType::F16)],
    }
}

/// Adds rows `[1, heads, t, width]` at a position. Returns all rows as floats, and the state that holds them.
pub fn write(state: &[Tensor], rows: &Tensor, position: &Tensor) -> wootz::Result<(Tensor, Vec<Tensor>)> {
    let [codes, scales] = state else {
        let rows = state[0].write_at(rows, position, 2)?;
        return Ok((rows.clone(), vec![rows]));
    };
    let (shape, width) = (rows.shape().clone(), rows.shape()[3]);
    let grouped =
        |positions: usize| Shape::from([1, shape[1], positions, width / group(width), group(width)]);
    let groups = rows.reshape(grouped(shape[2]))?;
    let scale = groups.abs()?.max_axes([-1], true)?.div(127.0)?;
    // A group of zeros has the scale 0, by which nothing can be divided.
    let coded = groups.div(&scale.maximum(f64::from(f32::MIN_POSITIVE))?)?.round()?.cast(DType::I8)?;
    let codes = codes.write_at(&coded.reshape(shape.clone())?, position, 2)?;
    let scales = scales.write_at(&scale.squeeze(-1)?.cast(DType::F16)?, position, 2)?;
    let positions = codes.shape()[2];
    let floats = codes.reshape(grouped(positions))?.cast(DType::F32)?;
    let floats = floats.mul(&scales.unsqueeze(-1)?.cast(DType::F32)?)?.cast(DType::F16)?;
    let floats = floats.reshape([1, shape[1], positions, width])?;
    Ok((floats, vec![codes, scales]))
}
