//! Tensors in files: `.npy`, `.npz` and safetensors.
//!
//! Every length and offset of a file is checked before it is used; a malformed file is an error that says what was found
//! where. Files are written to a temporary name and renamed, so that a failure leaves no half file under the real one.

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
use std::sync::atomic::{AtomicU64, Ordering};
use wootz_backend::inject::file;
use wootz_ir::{Error, Result};

fn io_error(path: &Path, error: &std::io::Error) -> Error {
    Error::io(path.display().to_string(), error)
}

/// A part of a mapped file.
struct Part {
    map: Arc<memmap2::Mmap>,
    range: std::ops::Range<usize>,
}

impl AsRef<[u8]> for Part {
    fn as_ref(&self) -> &[u8] {
        &self.map[self.range.clone()]
    }
}

/// Maps a file into memory.
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
    file().and_then(|()| std::fs::read(path)).map_err(|e| io_error(path, &e))
}

/// Writes a file whole or not at all.
fn write_file(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>) -> Result<()> {
    // Threads may save to one path at once, and so may processes: each writes a file of its own, and the last one wins.
    static SAVES: AtomicU64 = AtomicU64::new(0);
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.{}.part", std::process::id(), SAVES.fetch_add(1, Ordering::Relaxed)));
    let temporary = path.with_file_name(name);
    let attempt = || -> std::io::Result<()> {
        file()?;
        let mut output = BufWriter::new(File::create(&temporary)?);
        file()?;
        write(&mut output)?;
        file()?;
        output.into_inner()?.sync_all()?;
        file()?;
        std::fs::rename(&temporary, path)
    };
    attempt().map_err(|e| {
        let _ = std::fs::remove_file(&temporary);
        io_error(path, &e)
    })
}
