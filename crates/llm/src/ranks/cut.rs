//! Tensor parallelism: the heads, columns and rows of a rank.
//!
//! Queries, keys and values are split by heads, the feed-forward network by its width, the output matrix by tokens. A
//! matrix that reads split values (the attention output, the feed-forward down projection) is split by columns, and
//! its products are partial sums. Columns can only be split between blocks of a quantised row, so that blocks stay as
//! they are in the file.

use super::Columns;
use crate::config::{Attention, Config};
use crate::error::{Error, Result};
use crate::models::attention_of;
use std::ops::Range;
use wootz::distributed::part;
use wootz_gguf::Gguf;

/// The axis along which a matrix is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Outputs: products are parts of a row.
    Rows,
    /// Inputs: products are parts of a sum.
    Columns,
    /// Whole matrices of a stack.
    Experts,
}

/// A part of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    pub side: Side,
    pub range: Range<usize>,
    /// The extent of the axis in the file.
    pub whole: usize,
}

/// What rank `rank` of `size` has of each layer; of a mixture whole experts if asked for, else columns of each of them.
pub fn columns(
    gguf: &Gguf,
    config: &Config,
    (rank, size): (usize, usize),
    by_expert: bool,
) -> Result<Columns> {
    let attention = attention_of(config)?;
    let group = attention.heads / attention.kv_heads.max(1) * attention.value_len;
    let block = largest_block(gguf, &["attn_output.weight"])?;
    // Heads that end between blocks.
    let step = (1..=attention.kv_heads).find(|n| (n * group).is_multiple_of(block));
    let step = step.unwrap_or(attention.kv_heads);
    let kv_heads = divide(attention.kv_heads, step, rank, size, "key-value heads", block)?;
    let ffn_of = |ffn: usize, parts: &[&str]| match ffn {
        0 => Ok(0..0),
        _ => {
            let block = largest_block(gguf, parts)?;
            divide(ffn, block, rank, size, "feed-forward values", block)
        }
    };
    let width = config.experts.map_or(config.ffn, |experts| experts.ffn);
    let experts = match config.experts.filter(|_| by_expert) {
        Some(experts) => Some(divide(experts.count, 1, rank, size, "experts", 1)?),
        None => None,
    };
    let shared = config.experts.and_then(|experts| experts.shared_ffn).unwrap_or(0);
    Ok(Columns {
        config: config.clone(),
        kv_heads,
        ffn: match experts {
            Some(_) => 0..width,
            None => ffn_of(width, &["ffn_down.weight", "ffn_down_exps.weight"])?,
        },
        experts,
        shared_ffn: ffn_of(shared, &["ffn_down_shexp.weight"])?,
        vocab: part(config.vocab, rank, size),
    })
}

/// A rank's part of `count`, cut at multiples of `step` only.
fn divide(
    count: usize,
    step: usize,
    rank: usize,
    size: usize,
    what: &str,
    block: usize,
) -> Result<Range<usize>> {
    let pieces = count.div_ceil(step.max(1));
    if pieces < size {
        let problem = match step {
            1 => format!("{size} ranks are too many for {count} {what}"),
            _ => format!(
                "{count} {what} cannot be cut into {size} parts: rows have blocks of {block} values, so there are only {pieces} \
                 parts; use fewer ranks or a pipeline"
            ),
        };
        return Err(Error::Model(problem));
    }
    let own = part(pieces, rank, size);
    Ok(own.start * step..(own.end * step).min(count))
}

/// The most values that a block of these tensors has.
fn largest_block(gguf: &Gguf, parts: &[&str]) -> Result<usize> {
    let mut largest = 1;
    for tensor in gguf.tensors() {
        if parts.iter().any(|part| tensor.name.ends_with(part)) {
            largest = largest.max(tensor.format()?.block_len());
        }
    }
    Ok(largest)
}

impl Columns {
    fn attention(&self) -> &Attention {
        attention_of(&self.config).expect("only attention models are divided by heads")
    }

    pub fn kv_heads_in_all(&self) -> usize {
        self.attention().kv_heads
    }

    fn heads(&self) -> Range<usize> {
        let each = self.attention().heads / self.attention().kv_heads.max(1);
        self.kv_heads.start * each..self.kv_heads.end * each
    }

    /// Makes the shape of a model that of this part.
    pub fn divide(&self, config: &mut Config) {
        if let crate::config::Mixer::Attention(attention) = &mut config.mixer {
            (attention.heads, attention.kv_heads) = (self.heads().len(), self.kv_heads.len());
        }
        match &mut config.experts {
            Some(experts) => {
                experts.ffn = self.ffn.len();
                if let Some(own) = &self.experts {
                    (experts.own_first, experts.own_count) = (own.start, own.len());
                }
                experts.shared_ffn = experts.shared_ffn.map(|_| self.shared_ffn.len());
            }
            None => config.ffn = self.ffn.len(),
        }
    }

    /// The part of a tensor of a layer; `None` is all of it.
    pub fn cut(&self, name: &str) -> Option<Cut> {
        let (part, kind) = name.strip_prefix("blk.")?.split_once('.')?.1.rsplit_once('.')?;
        let a = self.attention();
        let wide = |range: Range<usize>, width: usize| range.start * width..range.end * width;
        let rows = |range, whole| Some(Cut { side: Side::Rows, range, whole });
        // A bias is added to whole sums, and so is whole itself.
        let columns = |range, whole| (kind == "weight").then_some(Cut { side: Side::Columns, range, whole });
        let of_experts = self.config.experts;
        if let (Some(own), true) = (&self.experts, part.ends_with("_exps") && kind != "scale") {
            return Some(Cut { side: Side::Experts, range: own.clone(), whole: of_experts?.count });
        }
        match part {
            "attn_q" => rows(wide(self.heads(), a.key_len), a.heads * a.key_len),
            "attn_k" => rows(wide(self.kv_heads.clone(), a.key_len), a.kv_heads * a.key_len),
            "attn_v" => rows(wide(self.kv_heads.clone(), a.value_len), a.kv_heads * a.value_len),
            "attn_sinks" => rows(self.heads(), a.heads),
            "attn_output" => columns(wide(self.heads(), a.value_len), a.heads * a.value_len),
            "ffn_gate" | "ffn_up" => rows(self.ffn.clone(), self.config.ffn),
            "ffn_down" => columns(self.ffn.clone(), self.config.ffn),
            "ffn_gate_exps" | "ffn_up_exps" => rows(self.ffn.clone(), of_experts?.ffn),
            "ffn_down_exps" => columns(self.ffn.clone(), of_experts?.ffn),
            "ffn_gate_shexp" | "ffn_up_shexp" => rows(self.shared_ffn.clone(), of_experts?.shared_ffn?),
            "ffn_down_shexp" => columns(self.shared_ffn.clone(), of_experts?.shared_ffn?),
            _ => None,
        }
    }

    /// How many rows this rank has of queries, keys and values that a file has as one matrix, and of how many.
    pub fn fused(&self, name: &str) -> Option<(usize, usize)> {
        let name = name.strip_suffix(".weight").or_else(|| name.strip_suffix(".bias"))?;
        let own = self.parts(name).filter(|_| name.ends_with(".attn_qkv"))?;
        let a = self.attention();
        let all = a.heads * a.key_len + a.kv_heads * (a.key_len + a.value_len);
        Some((own.iter().map(Range::len).sum(), all))
    }

    /// The parts of the matrices that a file has as one, as rows of that one.
    pub fn parts(&self, name: &str) -> Option<Vec<Range<usize>>> {
        let part = name.strip_prefix("blk.")?.split_once('.')?.1;
        let a = self.attention();
        let (q, k, v) = (a.heads * a.key_len, a.kv_heads * a.key_len, a.kv_heads * a.value_len);
        let within = |start: usize, range: Range<usize>, width: usize| {
            start + range.start * width..start + range.end * width
        };
        match part {
            "attn_qkv" => Some(vec![
                within(0, self.heads(), a.key_len),
                within(q, self.kv_heads.clone(), a.key_len),
                within(q + k, self.kv_heads.clone(), a.value_len),
            ])
            .filter(|_| v > 0),
            "ffn_up" => {
                Some(vec![within(0, self.ffn.clone(), 1), within(self.config.ffn, self.ffn.clone(), 1)])
            }
            _ => None,
        }
    }
}
