//! How much each input of each matrix matters: mean squares of the activations that a text leads to, by which quantisers weigh
//! errors. Files are those of llama.cpp's `imatrix`: GGUF as it writes today, and the older `.dat`, which is only read.

mod collect;

pub(crate) use collect::observed;
pub use collect::{Collector, collect};

use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::io::BufWriter;
use std::path::Path;
use wootz_blocks::BlockFormat;
use wootz_gguf::{Gguf, MAGIC, MetaValue, Tensor, Writer};

/// The endings of the two tensors of a matrix.
const SUMS: &str = ".in_sum2";
const COUNTS: &str = ".counts";

/// What is known of one tensor: a matrix, or a stack of them.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    /// Sums of the squares of each input, matrix after matrix.
    sums: Vec<f32>,
    /// Over how many rows, for each matrix, or for all.
    counts: Vec<f32>,
}

/// An importance matrix.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Importance {
    entries: BTreeMap<String, Entry>,
    /// What it was computed from, as the file says.
    pub datasets: Vec<String>,
    /// Windows of text that it was computed from.
    pub chunks: u32,
    /// Tokens of each.
    pub chunk_size: u32,
}

impl Importance {
    /// Opens a file of either format.
    pub fn open(path: impl AsRef<Path>) -> Result<Importance> {
        let path = path.as_ref();
        let refused = |problem: String| Error::Model(format!("{}: {problem}", path.display()));
        let start = std::fs::read(path).map_err(|e| refused(e.to_string()))?;
        let read = if start.starts_with(&MAGIC) {
            Importance::from_gguf(&Gguf::open(path)?)
        } else {
            from_dat(&start).ok_or_else(|| "neither a GGUF file nor a whole importance matrix".to_owned())
        };
        let read = read.map_err(refused)?;
        match read.entries.is_empty() {
            true => Err(refused("an importance matrix of no tensors".into())),
            false => Ok(read),
        }
    }

    fn from_gguf(gguf: &Gguf) -> std::result::Result<Importance, String> {
        let meta = gguf.metadata();
        let kind = meta.get("general.type").and_then(|value| value.as_str());
        if kind != Some("imatrix") {
            return Err(format!("not an importance matrix: general.type is {kind:?}"));
        }
        let number = |key: &str| meta.get(key).and_then(|v| v.as_u64()).unwrap_or(0) as u32;
        let (chunks, chunk_size) = (number("imatrix.chunk_count"), number("imatrix.chunk_size"));
        let names = meta.get("imatrix.datasets").and_then(|value| value.as_array());
        let names = names.into_iter().flat_map(|array| array.iter());
        let datasets = names.filter_map(|name| name.as_str().map(str::to_owned)).collect();
        let mut entries = BTreeMap::new();
        for tensor in gguf.tensors() {
            let Some(name) = tensor.name.strip_suffix(SUMS) else {
                let known = tensor.name.strip_suffix(COUNTS);
                match known.and_then(|name| gguf.find_tensor(&format!("{name}{SUMS}"))) {
                    Some(_) => continue,
                    None => return Err(format!("tensor '{}' has no sums beside it", tensor.name)),
                }
            };
            let counts = gguf.find_tensor(&format!("{name}{COUNTS}"));
            let counts = counts.ok_or_else(|| format!("tensor '{}' has no counts beside it", tensor.name))?;
            let entry = Entry { sums: floats(gguf, tensor)?, counts: floats(gguf, counts)? };
            entry.check(name)?;
            entries.insert(name.to_owned(), entry);
        }
        Ok(Importance { entries, datasets, chunks, chunk_size })
    }

    /// Writes a GGUF file, which appears when it is complete.
    pub fn save(&self, path: &Path) -> Result<()> {
        let mut writer = Writer::new();
        writer.set("general.type", "imatrix");
        writer.set("imatrix.datasets", MetaValue::strings(&self.datasets));
        writer.set("imatrix.chunk_count", MetaValue::U32(self.chunks));
        writer.set("imatrix.chunk_size", MetaValue::U32(self.chunk_size));
        let mut data = Vec::new();
        for (name, Entry { sums, counts }) in &self.entries {
            let matrices = counts.len().max(1) as u64;
            let dims = [sums.len() as u64 / matrices, matrices];
            writer.tensor(format!("{name}{SUMS}"), &dims, BlockFormat::F32);
            writer.tensor(format!("{name}{COUNTS}"), &[1, matrices], BlockFormat::F32);
            data.extend([sums, counts]);
        }
        crate::quantize::write_file(path, |file| {
            let mut data = data.iter();
            let mut file = BufWriter::new(file);
            let next = |values: Option<&&Vec<f32>>| {
                values.into_iter().flat_map(|v| v.iter()).flat_map(|v| v.to_le_bytes()).collect()
            };
            writer.write(&mut file, |_| Ok(next(data.next())))
        })
    }

    /// The tensors that it says something of.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// The importance of each input of each matrix of a tensor; `None` if nothing is known of it.
    pub fn of(&self, tensor: &Tensor) -> Result<Option<Vec<f32>>> {
        let Some(entry) = self.entries.get(&tensor.name) else { return Ok(None) };
        let extent = |axis: usize| tensor.dims.get(axis).map_or(1, |&d| d as usize);
        let (columns, matrices) = (extent(0), extent(2) * extent(3));
        let (found, each) = (entry.sums.len(), entry.sums.len() / entry.counts.len());
        if found != columns * matrices && found != columns {
            return Err(Error::Model(format!(
                "the importance matrix has {found} values for '{}', whose {matrices} matrices have {columns} inputs; it is \
                 another model's",
                tensor.name
            )));
        }
        // Experts that the text never reached weigh all inputs alike.
        let mean = |(i, sum): (usize, &f32)| match entry.counts[i / each] {
            count if count > 0.0 => sum / count,
            _ => 1.0,
        };
        let one: Vec<f32> = entry.sums.iter().enumerate().map(mean).collect();
        Ok(Some(if found == columns { one.repeat(matrices) } else { one }))
    }
}

impl Entry {
    fn check(&self, name: &str) -> std::result::Result<(), String> {
        if self.counts.is_empty()
            || self.sums.is_empty()
            || !self.sums.len().is_multiple_of(self.counts.len())
        {
            let (sums, counts) = (self.sums.len(), self.counts.len());
            return Err(format!("'{name}' has {sums} sums of {counts} matrices"));
        }
        match self.sums.iter().chain(&self.counts).find(|v| !v.is_finite() || **v < 0.0) {
            Some(value) => Err(format!("'{name}' has a sum or count of {value}")),
            None => Ok(()),
        }
    }
}

fn floats(gguf: &Gguf, tensor: &Tensor) -> std::result::Result<Vec<f32>, String> {
    if tensor.kind.format() != Some(BlockFormat::F32) {
        return Err(format!("tensor '{}' is {}, not F32", tensor.name, tensor.kind.name()));
    }
    let bytes = gguf.data(tensor).chunks_exact(4);
    Ok(bytes.map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
}

/// The older format: a count of entries; of each the length of its name, the name, a number of calls, a number of values, and the
/// values, which are means times the calls. Behind them may be chunks and the name of the text.
fn from_dat(mut bytes: &[u8]) -> Option<Importance> {
    fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = bytes.split_at_checked(count)?;
        *bytes = rest;
        Some(taken)
    }
    fn int(bytes: &mut &[u8]) -> Option<usize> {
        usize::try_from(i32::from_le_bytes(take(bytes, 4)?.try_into().ok()?)).ok()
    }
    let bytes = &mut bytes;
    let mut read = Importance::default();
    for _ in 0..int(bytes)? {
        let length = int(bytes)?;
        let name = std::str::from_utf8(take(bytes, length)?).ok()?.to_owned();
        let (calls, count) = (int(bytes)?, int(bytes)?);
        let values = take(bytes, count.checked_mul(4)?)?.chunks_exact(4);
        let sums = values.map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        let entry = Entry { sums, counts: vec![calls.max(1) as f32] };
        entry.check(&name).ok()?;
        read.entries.insert(name, entry);
    }
    if let Some(chunks) = int(bytes) {
        read.chunks = chunks as u32;
        let length = int(bytes).unwrap_or(0);
        let name = take(bytes, length).and_then(|name| std::str::from_utf8(name).ok());
        read.datasets.extend(name.filter(|name| !name.is_empty()).map(str::to_owned));
    }
    Some(read)
}
