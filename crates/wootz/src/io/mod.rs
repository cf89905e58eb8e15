//! Loading and saving tensors: `.npy`, `.npz` and safetensors.
//!
//! Every length and offset of a file is checked before use; a malformed file is an error that says what was found and
//! where. Files are written under a temporary name and renamed, so that a failure never leaves a partial file under
//! the final name.

mod npy;
mod npz;
mod safetensors;

pub use npy::{load_npy, load_npy_on, read_npy, save_npy};
pub use npz::{NpzLimits, load_npz, load_npz_on, read_npz, save_npz};
pub use safetensors::{load_safetensors, load_safetensors_on, save_safetensors};

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;
use wootz_ir::{Error, Result};
use wootz_system::inject::file;

fn io_error(path: &Path, error: std::io::Error) -> Error {
    Error::io(path.display().to_string(), error)
}

/// A part of a memory-mapped file.
struct Part {
    map: Arc<memmap2::Mmap>,
    range: std::ops::Range<usize>,
}

impl AsRef<[u8]> for Part {
    fn as_ref(&self) -> &[u8] {
        &self.map[self.range.clone()]
    }
}

/// Memory-maps a file.
#[allow(
    unsafe_code,
    reason = "the one thing here that the compiler cannot check: what others do to the file"
)]
fn map_file(path: &Path) -> std::io::Result<memmap2::Mmap> {
    file()?;
    let file = File::open(path)?;
    // SAFETY: the mapping is read-only; that the file does not change while tensors refer to it is documented as the
    // caller's part, as it is for every reader of mapped weights.
    unsafe { memmap2::Mmap::map(&file) }
}

fn read_file(path: &Path) -> Result<Vec<u8>> {
    file().and_then(|()| std::fs::read(path)).map_err(|e| io_error(path, e))
}

/// Writes a file atomically.
fn write_file(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>) -> Result<()> {
    wootz_system::files::replace(path, write).map_err(|e| io_error(path, e))
}
