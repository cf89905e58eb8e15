//! Split GGUF files: `NAME-00001-of-00003.gguf` and so on. The first part has the metadata; every part records its
//! index and the number of parts.

use crate::error::{Error, Result};
use std::path::{Path, PathBuf};
use wootz_gguf::{ExternalTensor, Gguf, MetaValue, TensorSpec, Writer};

const COUNT: &str = "split.count";
const NUMBER: &str = "split.no";
const TENSORS: &str = "split.tensors.count";

/// The index of a file among the parts, counted from 0, and the number of parts; `None` if it is not split.
fn part(gguf: &Gguf) -> Result<Option<(usize, usize)>> {
    let number = |key| -> Result<Option<u64>> {
        Ok(gguf.metadata().optional(key, "an integer", |value| value.as_u64())?)
    };
    let count = number(COUNT)?.unwrap_or(0);
    if count < 2 {
        return Ok(None);
    }
    let no = number(NUMBER)?.unwrap_or(0);
    if no >= count || count > 99_999 {
        return Err(Error::Model(format!("{NUMBER} is {no} of {COUNT} {count}")));
    }
    Ok(Some((no as usize, count as usize)))
}

/// The complete model that an open file is a part of, or the file itself.
pub fn join(path: &Path, gguf: Gguf) -> Result<Gguf> {
    let Some((own, count)) = part(&gguf)? else { return Ok(gguf) };
    let stem = stem(path, own, count)?;
    let mut metadata = Writer::new();
    let mut tensors = Vec::new();
    for no in 0..count {
        let file = file(&stem, no, count);
        if !file.exists() {
            let missing = file.display();
            return Err(Error::Model(format!("part {} of {count} is missing: {missing}", no + 1)));
        }
        let shard = Gguf::open(&file)?;
        if part(&shard)? != Some((no, count)) {
            let other = file.display();
            return Err(Error::Model(format!("{other} is not marked as part {} of {count}", no + 1)));
        }
        let tensors_of = |gguf: &Gguf| gguf.metadata().get(TENSORS).and_then(|value| value.as_i64());
        if tensors_of(&shard) != tensors_of(&gguf) {
            let other = file.display();
            return Err(Error::Model(format!("{other} is part {} of a different model", no + 1)));
        }
        if no == 0 {
            let own = |key: &str| !key.starts_with("split.");
            shard.metadata().iter().filter(|(key, _)| own(key)).for_each(|(key, value)| {
                metadata.set(key, value);
            });
        }
        for tensor in shard.tensors() {
            let (bytes, range) = shard.place(tensor);
            let (name, dims) = (tensor.name.clone(), tensor.dims.clone());
            tensors.push(ExternalTensor {
                name,
                dims,
                format: tensor.format()?,
                bytes: bytes.clone(),
                range,
            });
        }
    }
    let expected = gguf.metadata().optional(TENSORS, "an integer", |value| value.as_u64())?;
    if let Some(expected) = expected.filter(|&expected| expected != tensors.len() as u64) {
        let found = tensors.len();
        return Err(Error::Model(format!(
            "the {count} parts contain {found} tensors, but the model has {expected}; the parts belong to different models"
        )));
    }
    Ok(Gguf::assemble(&metadata, tensors)?)
}

/// A file as the parts that it is cut into, each with tensors of at most `most` bytes, or of one tensor. All metadata goes to the
/// first.
pub fn parts(whole: &Writer, most: u64) -> Result<Vec<Writer>> {
    let mut lists = vec![Vec::new()];
    let mut filled = 0u64;
    for tensor in whole.tensors() {
        let count = usize::try_from(tensor.dims.iter().product::<u64>()).ok();
        let bytes = count.and_then(|count| tensor.format.bytes_of(count)).unwrap_or(0) as u64;
        if filled > 0 && filled + bytes > most {
            lists.push(Vec::new());
            filled = 0;
        }
        filled += bytes;
        lists.last_mut().expect("one list at least").push(tensor);
    }
    let count = lists.len();
    if count > usize::from(u16::MAX) {
        return Err(Error::Model(format!(
            "{most} bytes a file would be {count} files; at most {} can be",
            u16::MAX
        )));
    }
    let part = |(no, list): (usize, Vec<&TensorSpec>)| {
        let mut part = if no == 0 { whole.metadata() } else { Writer::new() };
        if count > 1 {
            part.set(NUMBER, MetaValue::U16(no as u16));
            part.set(COUNT, MetaValue::U16(count as u16));
            part.set(TENSORS, MetaValue::I32(whole.tensors().len() as i32));
        }
        list.into_iter().for_each(|tensor| {
            part.tensor(&tensor.name, &tensor.dims, tensor.format);
        });
        part
    };
    Ok(lists.into_iter().enumerate().map(part).collect())
}

/// The name of part `no` of `count` of a file, whose own name is that of the whole.
pub fn name(whole: &Path, no: usize, count: usize) -> PathBuf {
    if count == 1 {
        return whole.to_owned();
    }
    let name = whole.to_string_lossy();
    file(name.strip_suffix(".gguf").unwrap_or(&name), no, count)
}

/// The path without what tells parts apart.
fn stem(path: &Path, no: usize, count: usize) -> Result<String> {
    let name = path.to_string_lossy();
    let end = suffix(no, count);
    let stem = name.strip_suffix(&end).ok_or_else(|| {
        let problem = format!("is part {} of {count}, but its name does not end in {end}", no + 1);
        Error::Model(format!("{} {problem}, so the other parts cannot be found", path.display()))
    })?;
    Ok(stem.to_owned())
}

fn file(stem: &str, no: usize, count: usize) -> PathBuf {
    PathBuf::from(format!("{stem}{}", suffix(no, count)))
}

fn suffix(no: usize, count: usize) -> String {
    format!("-{:05}-of-{count:05}.gguf", no + 1)
}
