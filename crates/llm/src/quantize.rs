//! Converts a model file to another quantisation format, tensor by tensor.
//!
//! A mix assigns one format to most matrices and a better one to the sensitive ones. Vectors (norms, biases) and
//! small tables are copied unchanged. The output gets its final name only when it is complete.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::BufWriter;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use wootz_blocks::{BlockFormat, dequantize, quantize};
use wootz_gguf::{Gguf, MetaValue, Tensor, Writer};

use crate::config::PAIRS_KEY;
use crate::error::{Error, Result};
use crate::hub::split;
use crate::importance::Importance;

/// A named mix of formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mix {
    /// The name, in lower case.
    pub name: &'static str,
    /// The format of most matrices.
    base: BlockFormat,
    /// The format of attention values and feed-forward down projections in the most sensitive layers.
    better: BlockFormat,
    /// Which layers those are.
    layers: Layers,
    /// The format of the output matrix.
    output: BlockFormat,
    /// `general.file_type`.
    file_type: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layers {
    None,
    /// The first and last eighth, and every third in between: errors there are amplified most.
    Important,
    All,
}

macro_rules! mixes {
    ($($name:literal = $base:ident, $better:ident in $layers:ident, output $output:ident, $id:literal;)*) => {
        /// All mixes.
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
    "iq1_s" = IQ1_S, IQ2_XXS in Important, output Q5_K, 24;
    "iq1_m" = IQ1_M, IQ2_XXS in Important, output Q5_K, 31;
    "iq2_xxs" = IQ2_XXS, IQ2_S in Important, output Q5_K, 19;
    "iq2_xs" = IQ2_XS, IQ2_S in Important, output Q5_K, 20;
    "iq2_s" = IQ2_S, IQ3_XXS in Important, output Q5_K, 28;
    "iq2_m" = IQ2_S, IQ3_S in Important, output Q5_K, 29;
    "iq3_xxs" = IQ3_XXS, IQ3_S in Important, output Q5_K, 23;
    "iq3_s" = IQ3_S, IQ3_S in None, output Q6_K, 26;
    "iq3_m" = IQ3_S, Q4_K in Important, output Q6_K, 27;
    "iq4_nl" = IQ4_NL, Q5_K in Important, output Q6_K, 25;
    "iq4_xs" = IQ4_XS, Q5_K in Important, output Q6_K, 30;
    "mxfp4" = MXFP4, MXFP4 in None, output Q8_0, 38;
    "nvfp4" = NVFP4, NVFP4 in None, output Q8_0, 39;
    "tq1_0" = TQ1_0, TQ1_0 in None, output Q6_K, 36;
    "tq2_0" = TQ2_0, TQ2_0 in None, output Q6_K, 37;
    "q1_0" = Q1_0, Q1_0 in None, output Q6_K, 40;
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
        } else if name == "token_embd.weight" && self.base.bits_per_value() < 3.0 {
            // Rows are looked up one by one, and what is lost here no layer makes good.
            BlockFormat::Q3_K
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

/// The format, or the closest one whose blocks divide the rows.
fn fit(format: BlockFormat, row: usize) -> BlockFormat {
    use BlockFormat::*;
    if row.is_multiple_of(format.block_len()) {
        return format;
    }
    let smaller = match format {
        Q2_K | Q3_K | IQ4_XS | IQ3_XXS | IQ3_S | IQ2_XXS | IQ2_XS | IQ2_S | IQ1_S | IQ1_M => IQ4_NL,
        TQ1_0 | TQ2_0 | Q1_0 => Q4_0,
        NVFP4 => MXFP4,
        Q4_K => Q5_0,
        Q5_K => Q5_1,
        Q6_K | Q8_K => Q8_0,
        other => other,
    };
    if row.is_multiple_of(smaller.block_len()) { smaller } else { F16 }
}

/// Progress: a tensor is done.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its name.
    pub name: String,
    /// The old format.
    pub from: BlockFormat,
    /// The new format.
    pub to: BlockFormat,
    /// Number of tensors done, including this one.
    pub done: usize,
    /// Total number of tensors.
    pub total: usize,
}

/// How a file is rewritten.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// The formats.
    pub mix: Mix,
    /// What errors are weighed by.
    pub importance: Option<&'a Importance>,
    /// Bytes of tensors that a file has at most; more go to further files.
    pub split: Option<u64>,
    /// Threads.
    pub threads: usize,
}

impl Options<'_> {
    /// A mix, without importance and in one file.
    pub fn new(mix: Mix, threads: usize) -> Self {
        Options { mix, importance: None, split: None, threads }
    }
}

/// Rewrites `input` as `output`, or as files in parts that have its name. Returns the files.
pub fn quantize_file(
    input: &Gguf,
    output: &Path,
    options: Options<'_>,
    progress: &mut dyn FnMut(Step),
) -> Result<Vec<PathBuf>> {
    let Options { mix, importance, threads, .. } = options;
    let meta = input.metadata();
    let architecture = meta.str("general.architecture")?;
    let layers = meta.usize(&format!("{architecture}.block_count"))?;
    let tied = input.find_tensor("output.weight").is_none();
    let mut writer = Writer::new();
    // What is written is as other programs expect it of GGUF.
    let reorder = matches!(architecture, "llama" | "granite" | "smollm3") && meta.get(PAIRS_KEY).is_some();
    let heads = |key: &str| meta.usize(&format!("{architecture}.attention.{key}"));
    for (key, value) in meta.iter().filter(|(k, _)| !["general.alignment", PAIRS_KEY].contains(k)) {
        writer.set(key, value);
    }
    writer.set("general.file_type", MetaValue::U32(mix.file_type));
    writer.set("general.quantization_version", MetaValue::U32(2));
    if let Some(importance) = importance {
        note(&mut writer, importance);
        foreign(input, importance)?;
    }
    for tensor in input.tensors() {
        writer.tensor(&tensor.name, &tensor.dims, mix.format_for(tensor, layers, tied)?);
    }
    let parts = match options.split {
        Some(most) => split::parts(&writer, most)?,
        None => vec![writer],
    };
    let files: Vec<PathBuf> = (0..parts.len()).map(|no| split::name(output, no, parts.len())).collect();
    let (mut done, total) = (0, input.tensors().len());
    let mut finished = Vec::new();
    for (path, part) in files.iter().zip(&parts) {
        let written = Written::new(path)?;
        let mut file = BufWriter::with_capacity(1 << 20, written.file()?);
        part.write(&mut file, |spec| {
            let tensor = input.tensor(&spec.name)?;
            let mut data = Cow::Borrowed(input.data(tensor));
            if reorder && spec.name.contains(".attn_q.") {
                data = neighbours(&data, tensor, heads("head_count")?).into();
            } else if reorder && spec.name.contains(".attn_k.") {
                data = neighbours(&data, tensor, heads("head_count_kv").or_else(|_| heads("head_count"))?)
                    .into();
            }
            let weights = importance
                .map(|i| i.of(tensor))
                .transpose()
                .map_err(|e| wootz_gguf::Error::Tensor { name: spec.name.clone(), problem: e.to_string() })?;
            let bytes = convert(&data, tensor, spec.format, weights.flatten().as_deref(), threads)?;
            done += 1;
            progress(Step { name: spec.name.clone(), from: tensor.format()?, to: spec.format, done, total });
            Ok(bytes)
        })?;
        drop(file);
        finished.push(written);
    }
    // Of several files none appears before all are complete.
    finished.into_iter().try_for_each(Written::finish)?;
    Ok(files)
}

/// What the file says of the importance it was quantised with, by llama.cpp's keys.
fn note(writer: &mut Writer, importance: &Importance) {
    if let Some(dataset) = importance.datasets.first() {
        writer.set("quantize.imatrix.dataset", dataset.as_str());
    }
    writer.set("quantize.imatrix.entries_count", MetaValue::U32(importance.names().count() as u32));
    writer.set("quantize.imatrix.chunks_count", MetaValue::U32(importance.chunks));
}

/// Refuses an importance matrix of another model: one that names none of its tensors.
fn foreign(input: &Gguf, importance: &Importance) -> Result<()> {
    if importance.names().any(|name| input.find_tensor(name).is_some()) {
        return Ok(());
    }
    let first = importance.names().next().unwrap_or("nothing").to_owned();
    Err(Error::Model(format!(
        "the importance matrix is another model's: it names {first}, which is not in this one"
    )))
}

/// A file that appears under its name only when it is complete.
struct Written<'a> {
    path: &'a Path,
    folder: &'a Path,
    partial: tempfile::TempPath,
}

impl<'a> Written<'a> {
    fn new(path: &'a Path) -> Result<Written<'a>> {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let partial = tempfile::NamedTempFile::new_in(folder).map_err(|e| unwritable(path, e))?;
        Ok(Written { path, folder, partial: partial.into_temp_path() })
    }

    fn file(&self) -> Result<File> {
        File::create(&self.partial).map_err(|e| unwritable(self.path, e))
    }

    fn finish(self) -> Result<()> {
        let fail = |e| unwritable(self.path, e);
        fs::set_permissions(&self.partial, default_permissions(self.folder).map_err(fail)?).map_err(fail)?;
        self.partial.persist(self.path).map_err(|e| unwritable(self.path, e.error))
    }
}

fn unwritable(path: &Path, error: std::io::Error) -> Error {
    Error::Model(format!("cannot write {}: {error}", path.display()))
}

/// Writes one file, which appears when it is complete.
pub(crate) fn write_file(path: &Path, write: impl FnOnce(&mut File) -> wootz_gguf::Result<()>) -> Result<()> {
    let written = Written::new(path)?;
    write(&mut written.file()?)?;
    written.finish()
}

/// Reorders rows of query or key heads as in GGUF's Llama: values that are rotated together, half a head apart,
/// become adjacent.
fn neighbours(data: &[u8], tensor: &Tensor, heads: usize) -> Vec<u8> {
    let rows = tensor.dims.last().map_or(1, |&d| d as usize);
    let (row_bytes, head) = (data.len() / rows.max(1), rows / heads.max(1));
    let from = |row: usize| {
        let (start, i) = (row / head * head, row % head);
        start + i % 2 * (head / 2) + i / 2
    };
    (0..rows).flat_map(|row| &data[from(row) * row_bytes..][..row_bytes]).copied().collect()
}

/// Temporary files are private; the result gets the permissions of an ordinary new file.
fn default_permissions(folder: &Path) -> std::io::Result<fs::Permissions> {
    let probe = folder.join(format!(".wootz-{}", std::process::id()));
    let permissions = File::create(&probe)?.metadata()?.permissions();
    fs::remove_file(&probe)?;
    Ok(permissions)
}

/// Converts a tensor's data, its rows shared out between threads.
fn convert(
    data: &[u8],
    tensor: &Tensor,
    to: BlockFormat,
    importance: Option<&[f32]>,
    threads: usize,
) -> wootz_gguf::Result<Vec<u8>> {
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
    let parts = Mutex::new((0..rows).step_by(share).zip(parts));
    // A stack has the importance of each of its matrices.
    let matrix_rows = tensor.dims.get(1).map_or(1, |&d| d as usize).max(1);
    let work = || -> std::result::Result<(), wootz_blocks::BlockError> {
        let mut values = vec![0f32; row];
        loop {
            let part = parts.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((first, (data, out))) = part else { return Ok(()) };
            let rows = data.chunks_exact(from_row).zip(out.chunks_exact_mut(to_row));
            for (at, (data, out)) in (first..).zip(rows) {
                dequantize(from, data, &mut values)?;
                let weights = importance.map(|weights| &weights[at / matrix_rows * row..][..row]);
                quantize(to, &values, weights, out)?;
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
