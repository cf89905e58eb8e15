//! Atomic replacement of files.

use crate::inject::file;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Result};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Replaces a file atomically: readers, and the disk after a power failure, have the old content or the new one,
/// never a part. A failure leaves the old file and nothing beside it.
pub fn replace(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> Result<()>) -> Result<()> {
    replace_by(OpenOptions::new(), path, write)
}

/// Like [`replace`], with options for creating the file, such as its permissions.
pub(crate) fn replace_by(
    mut options: OpenOptions,
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<()>,
) -> Result<()> {
    let temporary = beside(path);
    let attempt = || {
        file()?;
        let mut output = BufWriter::new(options.write(true).create_new(true).open(&temporary)?);
        file()?;
        write(&mut output)?;
        file()?;
        output.into_inner()?.sync_all()?;
        file()?;
        std::fs::rename(&temporary, path)
    };
    attempt().inspect_err(|_| drop(std::fs::remove_file(&temporary)))
}

/// A temporary name in the same folder. Threads may replace a file at once, and so may processes: each writes a file
/// of its own, and the last one wins.
pub(crate) fn beside(path: &Path) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.{}.part", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
    path.with_file_name(name)
}
