//! NumPy's `.npz`: a zip archive of `.npy` members.

use super::npy;
use super::{io_error, write_file};
use crate::device::Device;
use crate::tensor::Tensor;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use wootz_ir::{Error, Result};
use zip::write::SimpleFileOptions;

fn bad(detail: impl Into<String>) -> Error {
    Error::format("npz", detail)
}

/// Limits for reading `.npz` files. An archive can be a thousand times smaller than its contents, so a small file
/// could exhaust memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NpzLimits {
    /// Total unpacked bytes that any archive may have.
    pub unpacked: usize,
    /// An archive may also unpack to this many times its own size.
    pub ratio: usize,
}

impl Default for NpzLimits {
    fn default() -> NpzLimits {
        NpzLimits { unpacked: 1 << 30, ratio: 100 }
    }
}

/// Loads every array of a `.npz` file, in the order of the archive, within the [default limits](NpzLimits).
pub fn load_npz(path: impl AsRef<Path>) -> Result<Vec<(String, Tensor)>> {
    load_npz_on(path, NpzLimits::default(), &Device::current()?)
}

/// Loads every array of a `.npz` file within custom limits, in the order of the archive, to a device.
pub fn load_npz_on(
    path: impl AsRef<Path>,
    limits: NpzLimits,
    device: &Device,
) -> Result<Vec<(String, Tensor)>> {
    let path = path.as_ref();
    let opened = wootz_system::inject::file().and_then(|()| std::fs::File::open(path));
    let file = opened.map_err(|e| io_error(path, e))?;
    read_npz_on(file, limits, device)
}

/// Loads every array of a `.npz` archive from its bytes.
pub fn read_npz(archive: impl Read + Seek, limits: NpzLimits) -> Result<Vec<(String, Tensor)>> {
    read_npz_on(archive, limits, &Device::current()?)
}

fn read_npz_on(
    mut archive: impl Read + Seek,
    limits: NpzLimits,
    device: &Device,
) -> Result<Vec<(String, Tensor)>> {
    let size = archive.seek(SeekFrom::End(0)).map_err(|e| bad(e.to_string()))? as usize;
    let most = limits.unpacked.max(size.saturating_mul(limits.ratio));
    let mut archive = zip::ZipArchive::new(archive).map_err(|e| bad(e.to_string()))?;
    let mut tensors = Vec::new();
    let mut total = 0usize;
    for i in 0..archive.len() {
        let mut member = archive.by_index(i).map_err(|e| bad(e.to_string()))?;
        let name = member.name().map_err(|e| bad(e.to_string()))?.trim_end_matches(".npy").to_string();
        let failed = |e: &dyn std::fmt::Display| bad(format!("member {name:?}: {e}"));
        let mut bytes = Vec::new();
        // The header says how much there is to read; what an archive claims about itself is not relied on.
        (&mut member).take(npy::MAX_START as u64).read_to_end(&mut bytes).map_err(|e| failed(&e))?;
        let length = npy::length_of(&bytes).map_err(|e| failed(&e))?;
        total = total.saturating_add(length);
        if total > most {
            return Err(failed(&format!(
                "the arrays unpack to more than {most} bytes, the limit for an archive of {size} (NpzLimits)"
            )));
        }
        let rest = length.saturating_sub(bytes.len()) as u64;
        member.take(rest).read_to_end(&mut bytes).map_err(|e| failed(&e))?;
        let tensor = npy::parse(&bytes, device).map_err(|e| failed(&e))?;
        tensors.push((name, tensor));
    }
    Ok(tensors)
}

/// Saves named tensors as a `.npz` file, uncompressed.
pub fn save_npz(path: impl AsRef<Path>, tensors: &[(&str, &Tensor)]) -> Result<()> {
    tensors.iter().try_for_each(|(_, tensor)| tensor.eval().map(|_| ()))?;
    let options =
        SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored).large_file(true);
    let mut problem = None;
    let written = write_file(path.as_ref(), |file| {
        let mut archive = zip::ZipWriter::new(file);
        for (name, tensor) in tensors {
            // An array at a time, so that the host holds no more than the largest.
            let bytes = tensor.to_bytes().map_err(|error| {
                problem = Some(error);
                std::io::Error::other("cannot read an array")
            })?;
            archive.start_file(format!("{name}.npy"), options)?;
            archive.write_all(&npy::header(tensor))?;
            archive.write_all(&bytes)?;
        }
        archive.finish().map(|_| ()).map_err(std::io::Error::from)
    });
    match problem {
        Some(error) => Err(error),
        None => written,
    }
}
