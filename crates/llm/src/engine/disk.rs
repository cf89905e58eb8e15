//! Sequences kept in files, so that prompts with a common prefix need not be processed again after a restart.
//! A file has a header (what it belongs to, and its tokens), the bytes of the state, and a checksum of everything. It
//! is replaced atomically, so that a crash never leaves a partial file. Files of other users, models, devices, options
//! or versions, and truncated or modified files, are ignored with a log message; they never influence an answer.

use super::fingerprint::fingerprint;
use super::prefix::Reuse;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::session::{SavedSession, Session, SessionOptions};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;
use wootz_system::{cache, inject};

const MAGIC: &[u8; 8] = b"WOOTZKV1";
/// Maximum header size in bytes.
const MOST_HEAD: u64 = 64 << 20;
/// Shorter sequences are not worth saving.
const SHORTEST: usize = 64;
const ENDING: &str = "kv";

/// Options of the prompt cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptCache {
    /// Folder, created if necessary.
    pub folder: PathBuf,
    /// Maximum total size of the files in bytes; the least recently used are removed first.
    pub bytes: u64,
}

/// A file's header.
#[derive(Serialize, Deserialize)]
struct Head {
    /// Fingerprint of everything that the state depends on.
    model: String,
    tokens: Vec<u32>,
    /// Number of tokens processed as a prompt; the others were generated.
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
    /// Scans the folder for files of this model.
    pub fn open(cache: &PromptCache, model: &Arc<Model>, options: SessionOptions) -> Result<Disk> {
        let fingerprint = fingerprint(model, options);
        let folder = cache.folder.join(&fingerprint[..16]);
        cache::claim(&folder).map_err(|error| Error::Model(format!("{}: {error}", folder.display())))?;
        let mut disk =
            Disk { folder, budget: cache.bytes, model: model.clone(), options, fingerprint, entries: vec![] };
        let files = inject::file()
            .and_then(|()| fs::read_dir(&disk.folder))
            .map_err(|error| Error::Model(format!("{}: {error}", disk.folder.display())))?;
        for file in files.flatten() {
            let path = file.path();
            if path.extension().is_none_or(|ending| ending != ENDING) {
                continue;
            }
            match disk.entry(&path) {
                Ok(entry) => disk.entries.push(entry),
                Err(why) => tracing::warn!("ignoring {}: {why}", path.display()),
            }
        }
        Ok(disk)
    }

    fn entry(&self, path: &Path) -> std::result::Result<Entry, String> {
        let file = cache::open(path).map_err(|error| error.to_string())?;
        let known = file.metadata().map_err(|error| error.to_string())?;
        let (head, before) = self.head(&mut BufReader::new(file))?;
        // The checksum is looked at when the state is read; until then nothing in the head is known to be true.
        let pieces = head.pieces.iter().try_fold(before + 32, |sum, &piece| sum.checked_add(piece));
        if pieces != Some(known.len()) {
            return Err(format!(
                "its {} bytes are not what its head says; it was cut off or changed",
                known.len()
            ));
        }
        let used = known.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        let (tokens, read, bytes) = (head.tokens, head.read, known.len());
        Ok(Entry { path: path.to_owned(), tokens, read, bytes, used })
    }

    /// The header of a file, and its end.
    fn head(&self, file: &mut impl Read) -> std::result::Result<(Head, u64), String> {
        let short = |error: io::Error| format!("it has no header: {error}");
        let mut start = [0u8; 16];
        file.read_exact(&mut start).map_err(short)?;
        let length = u64::from_le_bytes(start[8..].try_into().expect("eight bytes"));
        if &start[..8] != MAGIC || length > MOST_HEAD {
            return Err("it is not a prompt cache file".into());
        }
        let mut head = Vec::new();
        file.take(length).read_to_end(&mut head).map_err(short)?;
        let head: Head =
            serde_json::from_slice(&head).map_err(|error| format!("its header is corrupt: {error}"))?;
        if head.model != self.fingerprint {
            return Err("it belongs to another model, device, version or configuration".into());
        }
        Ok((head, 16 + length))
    }

    /// The file with the longest usable prefix of `tokens`, and the length of the prefix.
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

    /// Approximate memory use of a file's sequence.
    pub fn bytes(&self, at: usize) -> usize {
        self.entries[at].bytes as usize
    }

    /// A file's sequence, and how many of its tokens were a prompt. A file that turns out to be corrupt is forgotten.
    pub fn load(&mut self, at: usize) -> Option<(Session, usize)> {
        let entry = &mut self.entries[at];
        let (path, read) = (entry.path.clone(), entry.read);
        entry.used = SystemTime::now();
        // So that it counts as used after a restart too; if it does not, it goes earlier.
        let _ = File::open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        match self.read(&path) {
            Ok(session) => Some((session, read)),
            Err(why) => {
                tracing::warn!("ignoring {}: {why}", path.display());
                self.entries.swap_remove(at);
                None
            }
        }
    }

    fn read(&self, path: &Path) -> std::result::Result<Session, String> {
        let mut bytes = Vec::new();
        cache::open(path)
            .and_then(|mut file| file.read_to_end(&mut bytes))
            .map_err(|error| error.to_string())?;
        let Some((body, sum)) = bytes.split_last_chunk::<32>() else { return Err("it is truncated".into()) };
        if Sha256::digest(body).as_slice() != sum {
            return Err("its checksum is wrong; it was truncated or modified".into());
        }
        let (head, mut at) = self.head(&mut &body[..])?;
        let mut pieces = Vec::with_capacity(head.pieces.len());
        for length in &head.pieces {
            let piece = body.get(at as usize..(at + length) as usize).ok_or("it is truncated")?;
            pieces.push(piece.to_vec());
            at += length;
        }
        let saved =
            SavedSession { tokens: head.tokens, kept_from: head.kept_from, capacity: head.capacity, pieces };
        Session::from_saved(&self.model, self.options, saved).map_err(|error| error.to_string())
    }

    /// Saves a sequence, replacing those that are a prefix of it. A full disk is not an error of any request.
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
            Err(error) => tracing::warn!("cannot save a prompt in {}: {error}", self.folder.display()),
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
            cache::hex(&Sha256::digest(head.tokens.iter().flat_map(|t| t.to_le_bytes()).collect::<Vec<_>>()));
        let path = self.folder.join(&name[..32]).with_extension(ENDING);
        let text = serde_json::to_vec(&head).map_err(|error| Error::Model(error.to_string()))?;
        let written = self.publish(&path, &text, &saved.pieces);
        let bytes = written.map_err(|error| Error::Model(error.to_string()))?;
        Ok(Entry { path, tokens: head.tokens, read, bytes, used: SystemTime::now() })
    }

    /// Writes a file atomically. Returns its size.
    fn publish(&self, path: &Path, head: &[u8], pieces: &[Vec<u8>]) -> io::Result<u64> {
        let mut size = 0;
        cache::store(path, |out| {
            let mut out = Summed { sum: Sha256::new(), bytes: 0, out };
            out.write_all(MAGIC)?;
            out.write_all(&(head.len() as u64).to_le_bytes())?;
            out.write_all(head)?;
            pieces.iter().try_for_each(|piece| out.write_all(piece))?;
            let Summed { sum, bytes, out } = out;
            size = bytes + 32;
            out.write_all(&sum.finalize())
        })?;
        Ok(size)
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

/// Computes the checksum of what is written.
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
