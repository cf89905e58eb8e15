//! Sequences that are kept in files, so that prompts which begin alike need not be read again after a restart.
//!
//! A file has a head (what it is for, and its tokens), the bytes of the state, and a checksum of all of it. It is written under
//! another name and then renamed, so that a crash leaves no half of one. Files of other models, devices, options or versions,
//! and files that were cut off or changed, are passed over with a message in the log; nothing is ever answered from them.

use super::prefix::Reuse;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::session::{SavedSession, Session, SessionOptions};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

const MAGIC: &[u8; 8] = b"WOOTZKV1";
/// Bytes of a head at most.
const MOST_HEAD: u64 = 64 << 20;
/// Shorter sequences are read again as quickly.
const SHORTEST: usize = 64;
const ENDING: &str = "kv";

/// Where sequences are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptCache {
    /// A folder, which is made if it is not there.
    pub folder: PathBuf,
    /// Bytes of all files at most; the least recently used go first.
    pub bytes: u64,
}

/// What a file says of itself.
#[derive(Serialize, Deserialize)]
struct Head {
    /// What the state depends on.
    model: String,
    tokens: Vec<u32>,
    /// Tokens that were read as a prompt; the others were generated.
    read: usize,
    kept_from: usize,
    capacity: usize,
    pieces: Vec<u64>,
}

struct Entry {
    path: PathBuf,
    tokens: Vec<u32>,
    read: usize,
    bytes: u64,
    used: SystemTime,
}

/// The files of one model.
pub struct Disk {
    folder: PathBuf,
    budget: u64,
    model: Arc<Model>,
    options: SessionOptions,
    fingerprint: String,
    entries: Vec<Entry>,
}

impl Disk {
    /// Looks through the folder's files for this model.
    pub fn open(cache: &PromptCache, model: &Arc<Model>, options: SessionOptions) -> Result<Disk> {
        let fingerprint = fingerprint(model, options);
        let folder = cache.folder.join(&fingerprint[..16]);
        fs::create_dir_all(&folder)
            .map_err(|error| Error::Model(format!("{}: {error}", folder.display())))?;
        let mut disk =
            Disk { folder, budget: cache.bytes, model: model.clone(), options, fingerprint, entries: vec![] };
        let files = fs::read_dir(&disk.folder)
            .map_err(|error| Error::Model(format!("{}: {error}", disk.folder.display())))?;
        for file in files.flatten() {
            let path = file.path();
            if path.extension().is_none_or(|ending| ending != ENDING) {
                continue;
            }
            match disk.entry(&path) {
                Ok(entry) => disk.entries.push(entry),
                Err(why) => tracing::warn!("{} is not used: {why}", path.display()),
            }
        }
        Ok(disk)
    }

    fn entry(&self, path: &Path) -> std::result::Result<Entry, String> {
        let file = File::open(path).map_err(|error| error.to_string())?;
        let known = file.metadata().map_err(|error| error.to_string())?;
        let (head, before) = self.head(&mut BufReader::new(file))?;
        let expected = before + head.pieces.iter().sum::<u64>() + 32;
        if known.len() != expected {
            return Err(format!(
                "it has {} bytes instead of {expected}; it was cut off or changed",
                known.len()
            ));
        }
        let used = known.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        let (tokens, read, bytes) = (head.tokens, head.read, known.len());
        Ok(Entry { path: path.to_owned(), tokens, read, bytes, used })
    }

    /// The head of a file, and where it ends.
    fn head(&self, file: &mut impl Read) -> std::result::Result<(Head, u64), String> {
        let short = |error: io::Error| format!("it has no head: {error}");
        let mut start = [0u8; 16];
        file.read_exact(&mut start).map_err(short)?;
        let length = u64::from_le_bytes(start[8..].try_into().expect("eight bytes"));
        if &start[..8] != MAGIC || length > MOST_HEAD {
            return Err("it is no file of a prompt cache".into());
        }
        let mut head = Vec::new();
        file.take(length).read_to_end(&mut head).map_err(short)?;
        let head: Head =
            serde_json::from_slice(&head).map_err(|error| format!("its head is damaged: {error}"))?;
        if head.model != self.fingerprint {
            return Err("it belongs to another model, device, version or setting".into());
        }
        Ok((head, 16 + length))
    }

    /// The file with the longest usable beginning of `tokens`, and how long that is.
    pub fn longest(&self, reuse: Reuse, tokens: &[u32]) -> Option<(usize, usize)> {
        let can_cut = self.model.network.can_rewind() && self.model.network.window().is_none();
        let usable = |entry: &Entry| {
            let most = tokens.len().saturating_sub(1);
            let shared = entry.tokens.iter().zip(&tokens[..most]).take_while(|(a, b)| a == b).count();
            match reuse.exact {
                _ if !can_cut && shared < entry.tokens.len() => 0,
                true => shared,
                false => shared.min(entry.read) / reuse.chunk * reuse.chunk,
            }
        };
        self.entries
            .iter()
            .map(usable)
            .enumerate()
            .max_by_key(|best| best.1)
            .filter(|best| best.1 >= SHORTEST)
    }

    /// Bytes that a file's sequence takes in memory, about.
    pub fn bytes(&self, at: usize) -> usize {
        self.entries[at].bytes as usize
    }

    /// A file's sequence, and how many of its tokens were a prompt. A file that turns out to be damaged is forgotten.
    pub fn load(&mut self, at: usize) -> Option<(Session, usize)> {
        let entry = &mut self.entries[at];
        let (path, read) = (entry.path.clone(), entry.read);
        entry.used = SystemTime::now();
        // So that it counts as used after a restart too; if it does not, it goes earlier.
        let _ = File::open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        match self.read(&path) {
            Ok(session) => Some((session, read)),
            Err(why) => {
                tracing::warn!("{} is not used: {why}", path.display());
                self.entries.swap_remove(at);
                None
            }
        }
    }

    fn read(&self, path: &Path) -> std::result::Result<Session, String> {
        let bytes = fs::read(path).map_err(|error| error.to_string())?;
        let Some((body, sum)) = bytes.split_last_chunk::<32>() else { return Err("it is cut off".into()) };
        if Sha256::digest(body).as_slice() != sum {
            return Err("its checksum is wrong; it was cut off or changed".into());
        }
        let (head, mut at) = self.head(&mut &body[..])?;
        let mut pieces = Vec::with_capacity(head.pieces.len());
        for length in &head.pieces {
            let piece = body.get(at as usize..(at + length) as usize).ok_or("it is cut off")?;
            pieces.push(piece.to_vec());
            at += length;
        }
        let saved =
            SavedSession { tokens: head.tokens, kept_from: head.kept_from, capacity: head.capacity, pieces };
        Session::from_saved(&self.model, self.options, saved).map_err(|error| error.to_string())
    }

    /// Writes a sequence, instead of those that it begins with. A disk that is full is no error of any request.
    pub fn store(&mut self, session: &Session, read: usize) {
        let tokens = session.tokens();
        let known = |entry: &Entry| entry.tokens.starts_with(tokens) && entry.read >= read.min(tokens.len());
        if tokens.len() < SHORTEST || (session.can_rewind() && self.entries.iter().any(known)) {
            return;
        }
        match self.write(session, read) {
            Ok(entry) => {
                let replaced = |other: &Entry| {
                    other.path == entry.path
                        || (session.can_rewind()
                            && entry.tokens.starts_with(&other.tokens)
                            && other.read <= entry.read)
                };
                for other in self.entries.extract_if(.., |other| replaced(other)) {
                    if other.path != entry.path {
                        let _ = fs::remove_file(&other.path);
                    }
                }
                self.entries.push(entry);
                self.trim();
            }
            Err(error) => tracing::warn!("a prompt was not kept in {}: {error}", self.folder.display()),
        }
    }

    fn write(&self, session: &Session, read: usize) -> Result<Entry> {
        let saved = session.save()?;
        let head = Head {
            model: self.fingerprint.clone(),
            read,
            kept_from: saved.kept_from,
            capacity: saved.capacity,
            pieces: saved.pieces.iter().map(|piece| piece.len() as u64).collect(),
            tokens: saved.tokens,
        };
        let name: String =
            hex(&Sha256::digest(head.tokens.iter().flat_map(|t| t.to_le_bytes()).collect::<Vec<_>>()));
        let path = self.folder.join(&name[..32]).with_extension(ENDING);
        let text = serde_json::to_vec(&head).map_err(|error| Error::Model(error.to_string()))?;
        let written = self.publish(&path, &text, &saved.pieces);
        let bytes = written.map_err(|error| Error::Model(error.to_string()))?;
        Ok(Entry { path, tokens: head.tokens, read, bytes, used: SystemTime::now() })
    }

    /// Writes a file under another name, and then gives it its own. Returns its size.
    fn publish(&self, path: &Path, head: &[u8], pieces: &[Vec<u8>]) -> io::Result<u64> {
        let file = tempfile::NamedTempFile::new_in(&self.folder)?;
        let mut out = Summed { sum: Sha256::new(), bytes: 0, out: BufWriter::new(file.reopen()?) };
        out.write_all(MAGIC)?;
        out.write_all(&(head.len() as u64).to_le_bytes())?;
        out.write_all(head)?;
        pieces.iter().try_for_each(|piece| out.write_all(piece))?;
        let Summed { sum, bytes, mut out } = out;
        out.write_all(&sum.finalize())?;
        out.flush()?;
        drop(out);
        file.persist(path).map_err(|error| error.error)?;
        Ok(bytes + 32)
    }

    /// Removes files until the others are within the budget.
    fn trim(&mut self) {
        while self.entries.iter().map(|entry| entry.bytes).sum::<u64>() > self.budget {
            let oldest = self.entries.iter().enumerate().min_by_key(|(_, entry)| entry.used).map(|(i, _)| i);
            let Some(oldest) = oldest else { return };
            let _ = fs::remove_file(self.entries.swap_remove(oldest).path);
        }
    }
}

/// Sums up what is written.
struct Summed<W> {
    sum: Sha256,
    bytes: u64,
    out: W,
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let count = self.out.write(data)?;
        self.sum.update(&data[..count]);
        self.bytes += count as u64;
        Ok(count)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Everything that the bits of a state depend on: the weights, as far as their names, shapes and first bytes tell them apart, the
/// device, the settings and the version.
fn fingerprint(model: &Model, options: SessionOptions) -> String {
    let mut sum = Sha256::new();
    let gguf = model.gguf();
    for tensor in gguf.tensors() {
        sum.update(format!("{} {:?} {:?}\n", tensor.name, tensor.dims, tensor.format().ok()));
        let data = gguf.data(tensor);
        sum.update(&data[..data.len().min(256)]);
        sum.update(&data[data.len() - data.len().min(256)..]);
    }
    let version = env!("CARGO_PKG_VERSION");
    sum.update(format!(
        "{version} {} {options:?} {:?} {}",
        model.device(),
        model.options(),
        std::env::consts::ARCH
    ));
    hex(&sum.finalize())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
