//! GGUF files in parts: `NAME-00001-of-00003.gguf` and so on. The first part has the metadata; every part says which it is and
//! how many there are.

use crate::error::{Error, Result};
use std::path::{Path, PathBuf};
use wootz_gguf::{ExternalTensor, Gguf, Writer};

const COUNT: &str = "split.count";
const NUMBER: &str = "split.no";

/// Which part a file is, counted from 0, and of how many; `None` where it is whole.
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

/// The whole model that an open file is a part of, or the file itself.
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
            return Err(Error::Model(format!("{other} does not say that it is part {} of {count}", no + 1)));
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
    let expected = gguf.metadata().optional("split.tensors.count", "an integer", |value| value.as_u64())?;
    if let Some(expected) = expected.filter(|&expected| expected != tensors.len() as u64) {
        let found = tensors.len();
        return Err(Error::Model(format!(
            "the {count} parts hold {found} tensors, but the model has {expected}; parts of different models are mixed"
        )));
    }
    Ok(Gguf::assemble(&metadata, tensors)?)
}

/// The path without what tells parts apart.
fn stem(path: &Path, no: usize, count: usize) -> Result<String> {
    let name = path.to_string_lossy();
    let end = suffix(no, count);
    let stem = name.strip_suffix(&end).ok_or_else(|| {
        let problem = format!("is part {} of {count}, but its name does not end in {end}", no + 1);
        Error::Model(format!("{} {problem}, so that the other parts cannot be found", path.display()))
    })?;
    Ok(stem.to_owned())
}

fn file(stem: &str, no: usize, count: usize) -> PathBuf {
    PathBuf::from(format!("{stem}{}", suffix(no, count)))
}

fn suffix(no: usize, count: usize) -> String {
    format!("-{:05}-of-{count:05}.gguf", no + 1)
}
