//! NumPy's `.npz`: a zip archive of `.npy` members.

use super::npy;
use super::{io_error, write_file};
use crate::device::Device;
use crate::tensor::Tensor;
use std::io::{Cursor, Read, Write};
use std::path::Path;
use wootz_ir::{Error, Result};
use zip::write::SimpleFileOptions;

fn bad(detail: impl Into<String>) -> Error {
    Error::format("npz", detail)
}

/// Reads every array of a `.npz` file, in the order of the archive.
pub fn load_npz(path: impl AsRef<Path>) -> Result<Vec<(String, Tensor)>> {
    let path = path.as_ref();
    let file = std::fs::File::open(path).map_err(|e| io_error(path, &e))?;
    let mut archive = zip::ZipArchive::new(file).map_err(|e| bad(e.to_string()))?;
    let mut tensors = Vec::with_capacity(archive.len());
    for i in 0..archive.len() {
        let mut member = archive.by_index(i).map_err(|e| bad(e.to_string()))?;
        let name = member.name().map_err(|e| bad(e.to_string()))?.trim_end_matches(".npy").to_string();
        let mut bytes = Vec::new();
        member.read_to_end(&mut bytes).map_err(|e| bad(format!("member {name:?}: {e}")))?;
        let tensor =
            npy::parse(&bytes, &Device::current()?).map_err(|e| bad(format!("member {name:?}: {e}")))?;
        tensors.push((name, tensor));
    }
    Ok(tensors)
}

/// Writes named tensors as a `.npz` file, uncompressed.
pub fn save_npz(path: impl AsRef<Path>, tensors: &[(&str, &Tensor)]) -> Result<()> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options =
        SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored).large_file(true);
    for (name, tensor) in tensors {
        let bytes = tensor.to_bytes()?;
        let failed = |e: &dyn std::fmt::Display| bad(format!("member {name:?}: {e}"));
        archive.start_file(format!("{name}.npy"), options).map_err(|e| failed(&e))?;
        archive.write_all(&npy::header(tensor)).map_err(|e| failed(&e))?;
        archive.write_all(&bytes).map_err(|e| failed(&e))?;
    }
    let bytes = archive.finish().map_err(|e| bad(e.to_string()))?.into_inner();
    write_file(path.as_ref(), |file| file.write_all(&bytes))
}
