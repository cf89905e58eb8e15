//! Rewriting a model file in another format, tensor by tensor.
//!
//! A mix gives most matrices one format and the sensitive ones a better one. Vectors (norms, biases) and small
//! tables stay as they are. The output appears under its name only when it is complete.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::BufWriter;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use wootz_blocks::{BlockFormat, dequantize, quantize};
use wootz_gguf::{Gguf, MetaValue, Tensor, Writer};

use crate::config::PAIRS_KEY;
use crate::error::{Error, Result};

/// A named choice of formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mix {
    /// The name, in small letters.
    pub name: &'static str,
    /// What most matrices get.
    base: BlockFormat,
    /// What attention values and the second feed-forward matrix get in the layers that matter most.
    better: BlockFormat,
    /// Which layers those are.
    layers: Layers,
    /// What the output matrix gets.
    output: BlockFormat,
    /// `general.file_type`.
    file_type: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layers {
    None,
    /// The first and last eighth, and every third between: errors there are amplified most.
    Important,
    All,
}

macro_rules! mixes {
    ($($name:literal = $base:ident, $better:ident in $layers:ident, output $output:ident, $id:literal;)*) => {
        /// Every mix.
        pub const MIXES: &[Mix] = &[$(Mix {
            name: $name,
            base: BlockFormat::$base,
            better: BlockFormat::$better,
            layers: Layers::$layers,
            output: BlockFormat::$output,
            file_type: $id,
        },)*];
    };
}

mixes! {
    "f32" = F32, F32 in None, output F32, 0;
    "f16" = F16, F16 in None, output F16, 1;
    "bf16" = BF16, BF16 in None, output BF16, 32;
    "q8_0" = Q8_0, Q8_0 in None, output Q8_0, 7;
    "q4_0" = Q4_0, Q4_0 in None, output Q6_K, 2;
    "q4_1" = Q4_1, Q4_1 in None, output Q6_K, 3;
    "q5_0" = Q5_0, Q5_0 in None, output Q6_K, 8;
    "q5_1" = Q5_1, Q5_1 in None, output Q6_K, 9;
    "q2_k" = Q2_K, Q3_K in All, output Q6_K, 10;
    "q3_k_s" = Q3_K, Q3_K in None, output Q6_K, 11;
    "q3_k_m" = Q3_K, Q5_K in Important, output Q6_K, 12;
    "q3_k_l" = Q3_K, Q5_K in All, output Q6_K, 13;
    "q4_k_s" = Q4_K, Q5_K in Important, output Q6_K, 14;
    "q4_k_m" = Q4_K, Q6_K in Important, output Q6_K, 15;
    "q5_k_s" = Q5_K, Q5_K in None, output Q6_K, 16;
    "q5_k_m" = Q5_K, Q6_K in Important, output Q6_K, 17;
    "q6_k" = Q6_K, Q6_K in None, output Q6_K, 18;
    "iq4_nl" = IQ4_NL, Q5_K in Important, output Q6_K, 25;
    "iq4_xs" = IQ4_XS, Q5_K in Important, output Q6_K, 30;
    "mxfp4" = MXFP4, MXFP4 in None, output Q8_0, 38;
}

impl Mix {
    /// The mix of this name, in any case.
    pub fn from_name(name: &str) -> Result<Mix> {
        MIXES.iter().copied().find(|m| m.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
            let names: Vec<&str> = MIXES.iter().map(|m| m.name).collect();
            Error::Model(format!("unknown quantisation type '{name}'; available: {}", names.join(", ")))
        })
    }

    /// The format of a tensor under this mix, in a model of `layers` layers. `tied`: the embedding is also the output matrix.
    pub fn format_for(&self, tensor: &Tensor, layers: usize, tied: bool) -> Result<BlockFormat> {
        let own = tensor.format()?;
        let matrix = tensor.dims.iter().filter(|&&d| d > 1).count() >= 2 && tensor.name.ends_with(".weight");
        // Norms are vectors, and what mixes tokens in recurrent models is small and sensitive.
        if !matrix
            || tensor.name.contains("norm")
            || tensor.name.contains("time_mix_") && tensor.name.contains("lerp")
        {
            return Ok(own);
        }
        let name = tensor.name.as_str();
        let wanted = if name == "output.weight" || (tied && name == "token_embd.weight") {
            self.output
        } else if self.favours(name, layers) {
            self.better
        } else {
            self.base
        };
        let row = tensor.dims.first().map_or(0, |&d| d as usize);
        Ok(fit(wanted, row))
    }

    fn favours(&self, name: &str, layers: usize) -> bool {
        let layer = name.strip_prefix("blk.").and_then(|n| n.split_once('.'));
        let Some((Ok(i), part)) = layer.map(|(i, part)| (i.parse::<usize>(), part)) else { return false };
        let sensitive = matches!(part, "attn_v.weight" | "ffn_down.weight" | "attn_qkv.weight");
        sensitive
            && match self.layers {
                Layers::None => false,
                Layers::All => true,
                Layers::Important => {
                    let eighth = layers / 8;
                    i < eighth || i >= layers - eighth || (i - eighth) % 3 == 2
                }
            }
    }
}

/// The format, or the nearest one whose blocks divide the rows.
fn fit(format: BlockFormat, row: usize) -> BlockFormat {
    use BlockFormat::*;
    if row.is_multiple_of(format.block_len()) {
        return format;
    }
    let smaller = match format {
        Q2_K | Q3_K | IQ4_XS => IQ4_NL,
        Q4_K => Q5_0,
        Q5_K => Q5_1,
        Q6_K | Q8_K => Q8_0,
        other => other,
    };
    if row.is_multiple_of(smaller.block_len()) { smaller } else { F16 }
}

/// One tensor is done.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its name.
    pub name: String,
    /// What it was.
    pub from: BlockFormat,
    /// What it is.
    pub to: BlockFormat,
    /// Tensors done, this one included.
    pub done: usize,
    /// Tensors in all.
    pub total: usize,
}

/// Rewrites `input` as `output` under a mix, with `threads` threads.
pub fn quantize_file(
    input: &Gguf,
    output: &Path,
    mix: Mix,
    threads: usize,
    progress: &mut dyn FnMut(Step),
) -> Result<()> {
    let meta = input.metadata();
    let architecture = meta.str("general.architecture")?;
    let layers = meta.usize(&format!("{architecture}.block_count"))?;
    let tied = input.find_tensor("output.weight").is_none();
    let mut writer = Writer::new();
    // What is written is as other programs expect it of GGUF.
    let reorder = architecture == "llama" && meta.get(PAIRS_KEY).is_some();
    let heads = |key: &str| meta.usize(&format!("llama.attention.{key}"));
    for (key, value) in meta.iter().filter(|(k, _)| !["general.alignment", PAIRS_KEY].contains(k)) {
        writer.set(key, value);
    }
    writer.set("general.file_type", MetaValue::U32(mix.file_type));
    writer.set("general.quantization_version", MetaValue::U32(2));
    for tensor in input.tensors() {
        writer.tensor(&tensor.name, &tensor.dims, mix.format_for(tensor, layers, tied)?);
    }
    let folder = output.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let fail = |e: std::io::Error| Error::Model(format!("cannot write {}: {e}", output.display()));
    let partial = tempfile::NamedTempFile::new_in(folder).map_err(fail)?;
    let (mut done, total) = (0, input.tensors().len());
    let mut file = BufWriter::with_capacity(1 << 20, File::create(partial.path()).map_err(fail)?);
    writer.write(&mut file, |spec| {
        let tensor = input.tensor(&spec.name)?;
        let mut data = Cow::Borrowed(input.data(tensor));
        if reorder && spec.name.contains(".attn_q.") {
            data = neighbours(&data, tensor, heads("head_count")?).into();
        } else if reorder && spec.name.contains(".attn_k.") {
            data = neighbours(&data, tensor, heads("head_count_kv").or_else(|_| heads("head_count"))?).into();
        }
        let bytes = convert(&data, tensor, spec.format, threads)?;
        done += 1;
        progress(Step { name: spec.name.clone(), from: tensor.format()?, to: spec.format, done, total });
        Ok(bytes)
    })?;
    drop(file);
    let path = partial.into_temp_path();
    fs::set_permissions(&path, default_permissions(folder).map_err(fail)?).map_err(fail)?;
    path.persist(output).map_err(|e| fail(e.error))
}

/// Rows of query or key heads in the order of GGUF's Llama: values that turn together, which stand half a head apart,
/// become neighbours.
fn neighbours(data: &[u8], tensor: &Tensor, heads: usize) -> Vec<u8> {
    let rows = tensor.dims.last().map_or(1, |&d| d as usize);
    let (row_bytes, head) = (data.len() / rows.max(1), rows / heads.max(1));
    let from = |row: usize| {
        let (start, i) = (row / head * head, row % head);
        start + i % 2 * (head / 2) + i / 2
    };
    (0..rows).flat_map(|row| &data[from(row) * row_bytes..][..row_bytes]).copied().collect()
}

/// Temporary files are private; the result gets the permissions that a plain new file would have.
fn default_permissions(folder: &Path) -> std::io::Result<fs::Permissions> {
    let probe = folder.join(format!(".wootz-{}", std::process::id()));
    let permissions = File::create(&probe)?.metadata()?.permissions();
    fs::remove_file(&probe)?;
    Ok(permissions)
}

/// Converts a tensor's data, its rows shared out between threads.
fn convert(data: &[u8], tensor: &Tensor, to: BlockFormat, threads: usize) -> wootz_gguf::Result<Vec<u8>> {
    let from = tensor.format()?;
    if from == to {
        return Ok(data.to_vec());
    }
    let problem = |e: String| wootz_gguf::Error::Tensor { name: tensor.name.clone(), problem: e };
    let row = tensor.dims.first().map_or(1, |&d| d as usize).max(1);
    let rows = data.len() / from.bytes_of(row).unwrap_or(1).max(1);
    let (from_row, to_row) = (data.len() / rows.max(1), to.bytes_of(row).unwrap_or(0));
    let mut out = vec![0; rows * to_row];
    let share = rows.div_ceil(threads.max(1)).max(1);
    let parts = data.chunks((share * from_row).max(1)).zip(out.chunks_mut((share * to_row).max(1)));
    let parts = Mutex::new(parts);
    let work = || -> std::result::Result<(), wootz_blocks::BlockError> {
        let mut values = vec![0f32; row];
        loop {
            let part = parts.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((data, out)) = part else { return Ok(()) };
            for (data, out) in data.chunks_exact(from_row).zip(out.chunks_exact_mut(to_row)) {
                dequantize(from, data, &mut values)?;
                quantize(to, &values, None, out)?;
            }
        }
    };
    std::thread::scope(|scope| {
        // Threads that the system refuses only make it slower.
        let started = (1..threads).filter_map(|_| std::thread::Builder::new().spawn_scoped(scope, work).ok());
        let workers: Vec<_> = started.collect();
        let own = work();
        let others = workers.into_iter().map(|worker| worker.join().unwrap_or_else(|e| resume_unwind(e)));
        others.chain([own]).try_for_each(|result| result.map_err(|e| problem(e.to_string())))
    })?;
    Ok(out)
}
