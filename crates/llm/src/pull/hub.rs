//! Downloads from model hubs with huggingface.co's API, using `curl`.
//!
//! A reference is `hf:OWNER/REPO/FILE` for one file, or `hf:OWNER/REPO` for a repository of safetensors; `@REVISION`
//! may follow the repository. An interrupted download resumes where it stopped; a file gets its final name only when
//! its size and, if the hub publishes it, its SHA-256 are correct.

use super::{Progress, checksum, io};
use crate::error::{Error, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// How often the size of a download is polled.
const TICK: Duration = Duration::from_millis(100);

/// A transfer that stays below this many bytes per second for this many seconds is aborted; partial data is kept.
const SLOWEST: &str = "100";
const STALL_SECONDS: u32 = 60;

/// Maximum size of a response kept in memory: file lists, headers.
const MAX_ANSWER: &str = "67108864";

/// curl's exit code if a server does not support ranges.
const CANNOT_RESUME: i32 = 33;

/// A location in a hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// `OWNER/REPO`.
    pub repository: String,
    /// A branch, tag or commit.
    pub revision: String,
    /// A file; without one, the repository's model as a folder.
    pub file: Option<String>,
}

impl Reference {
    /// Whether a model argument is meant as a hub reference.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with("hf:")
    }

    /// Parses `hf:OWNER/REPO[@REVISION][/FILE]`.
    pub fn parse(text: &str) -> Result<Reference> {
        let wrong = || Error::Pull(format!("'{text}' is not hf:OWNER/REPO or hf:OWNER/REPO/FILE"));
        let mut parts = text.strip_prefix("hf:").ok_or_else(wrong)?.splitn(3, '/');
        let (owner, repo) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let (repo, revision) = repo.split_once('@').unwrap_or((repo, "main"));
        let file = parts.next();
        let is_name =
            |s: &str| !s.is_empty() && s.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        // Names of dots only lead elsewhere.
        let is_name = |s: &str| is_name(s) && !s.trim_matches('.').is_empty();
        let mut names =
            [owner, repo, revision].into_iter().chain(file.into_iter().flat_map(|f| f.split('/')));
        if !names.all(is_name) {
            return Err(wrong());
        }
        Ok(Reference {
            repository: format!("{owner}/{repo}"),
            revision: revision.into(),
            file: file.map(Into::into),
        })
    }

    /// Its location under a cache folder.
    fn folder(&self, cache: &Path) -> PathBuf {
        let folder = cache.join(self.repository.replace('/', "--"));
        if self.revision == "main" { folder } else { folder.join(format!("@{}", self.revision)) }
    }
}

/// A hub.
#[derive(Clone, Debug)]
pub struct Hub {
    endpoint: String,
    stall_seconds: u32,
}

impl Default for Hub {
    /// `HF_ENDPOINT`, as in other programs, or huggingface.co.
    fn default() -> Hub {
        let set = std::env::var("HF_ENDPOINT").ok().filter(|e| !e.is_empty());
        Hub::new(set.unwrap_or_else(|| "https://huggingface.co".into()))
    }
}

/// A hub's metadata of a file.
struct Facts {
    bytes: Option<u64>,
    sha256: Option<String>,
}

impl Hub {
    /// A hub at a URL.
    pub fn new(endpoint: impl Into<String>) -> Hub {
        let endpoint = endpoint.into().trim_end_matches('/').into();
        Hub { endpoint, stall_seconds: STALL_SECONDS }
    }

    /// The same with a stall timeout: how many seconds with almost no progress abort a download (60 by default).
    pub fn stall_after(self, seconds: u32) -> Hub {
        Hub { stall_seconds: seconds.max(1), ..self }
    }

    fn command(&self) -> Command {
        let mut command = Command::new("curl");
        command.args(["--fail", "--location", "--silent", "--show-error", "--connect-timeout", "20"]);
        // A server that goes silent would hold us for ever.
        command.args(["--speed-limit", SLOWEST, "--speed-time", &self.stall_seconds.to_string()]);
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        command
    }

    /// The file or folder of a reference, downloaded to the cache folder if necessary.
    pub fn pull(
        &self,
        reference: &Reference,
        cache: &Path,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<PathBuf> {
        let folder = reference.folder(cache);
        if let Some(file) = &reference.file {
            return self.fetch(reference, file, &folder, progress);
        }
        // The list of files is kept last, so a folder that has it is whole.
        let whole = folder.join(".files");
        if whole.exists() {
            return Ok(folder);
        }
        let files = self.model_files(reference)?;
        for file in &files {
            self.fetch(reference, file, &folder, progress)?;
        }
        fs::write(&whole, files.join("\n")).map_err(io("write", &whole))?;
        Ok(folder)
    }

    /// The files of a repository that make up its model.
    fn model_files(&self, reference: &Reference) -> Result<Vec<String>> {
        let (repository, revision) = (&reference.repository, &reference.revision);
        let url = format!("{}/api/models/{repository}/revision/{revision}", self.endpoint);
        let answer = curl(self.command(), &[&url])?;
        let json: serde_json::Value = serde_json::from_slice(&answer)
            .map_err(|e| Error::Pull(format!("{url} did not return a list of files: {e}")))?;
        let none = Vec::new();
        let siblings = json["siblings"].as_array().unwrap_or(&none);
        let names: Vec<&str> = siblings.iter().filter_map(|s| s["rfilename"].as_str()).collect();
        let small = [
            "config.json",
            "generation_config.json",
            "tokenizer.json",
            "tokenizer_config.json",
            "chat_template.jinja",
        ];
        let wanted = |n: &&&str| small.contains(n) || n.ends_with(".safetensors") && !n.contains('/');
        let files: Vec<String> = names.iter().filter(wanted).map(|n| (*n).to_owned()).collect();
        if !files.iter().any(|f| f.ends_with(".safetensors")) {
            let others: Vec<&str> = names.into_iter().filter(|n| n.ends_with(".gguf")).collect();
            let hint = if others.is_empty() {
                "nor GGUF files".into()
            } else {
                format!("but {}", others.join(", "))
            };
            return Err(Error::Pull(format!("{repository} has no safetensors {hint}; name a file")));
        }
        Ok(files)
    }

    fn fetch(
        &self,
        reference: &Reference,
        file: &str,
        folder: &Path,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<PathBuf> {
        let target = folder.join(file);
        if target.exists() {
            return Ok(target);
        }
        let Reference { repository, revision, .. } = reference;
        let url = format!("{}/{repository}/resolve/{revision}/{file}", self.endpoint);
        let facts = facts(self.command(), &url)?;
        let partial = folder.join(format!("{file}.partial"));
        let parent = target.parent().unwrap_or(folder);
        fs::create_dir_all(parent).map_err(io("create", parent))?;
        let present = fs::metadata(&partial).map_or(0, |m| m.len());
        if facts.bytes.is_none_or(|total| present > total) {
            // It cannot be told how much is missing.
            let _ = fs::remove_file(&partial);
        }
        if facts.bytes != Some(present) || present == 0 {
            download(&|| self.command(), &url, &partial, facts.bytes, progress)?;
        }
        if let Err(error) = check(&partial, &facts, &url) {
            fs::remove_file(&partial).map_err(io("remove", &partial))?;
            return Err(error);
        }
        fs::rename(&partial, &target).map_err(io("rename", &partial))?;
        Ok(target)
    }
}

fn check(partial: &Path, facts: &Facts, url: &str) -> Result<()> {
    let found = fs::metadata(partial).map_err(io("read", partial))?.len();
    if let Some(bytes) = facts.bytes.filter(|&bytes| bytes != found) {
        return Err(Error::Pull(format!("{url} sent {found} bytes instead of {bytes}")));
    }
    let Some(expected) = &facts.sha256 else { return Ok(()) };
    let found = checksum(partial)?;
    if found != *expected {
        return Err(Error::Pull(format!("{url} has checksum {found} instead of {expected}")));
    }
    Ok(())
}

/// Size and checksum. Large files are redirected, and the first response has these headers.
fn facts(command: Command, url: &str) -> Result<Facts> {
    let answer = curl(command, &["--head", url])?;
    let text = String::from_utf8_lossy(&answer).to_ascii_lowercase();
    let header = |name: &str| {
        let mut values = text.lines().filter_map(|l| l.split_once(':')).filter(|(k, _)| k.trim() == name);
        // Of several answers, the last is that of the file.
        values.next_back().map(|(_, value)| value.trim().to_owned())
    };
    let is_sha256 = |s: &String| s.len() == 64 && s.bytes().all(|b| b.is_ascii_hexdigit());
    let tag = |name: &str| header(name).map(|v| v.trim_matches('"').to_owned()).filter(is_sha256);
    let bytes = header("x-linked-size").or_else(|| header("content-length")).and_then(|v| v.parse().ok());
    Ok(Facts { bytes, sha256: tag("x-linked-etag").or_else(|| tag("etag")) })
}

fn missing(error: &std::io::Error) -> Error {
    Error::Pull(format!("cannot run curl, which is needed to download from a hub: {error}"))
}

fn refused(url: &str, message: &[u8]) -> Error {
    Error::Pull(format!("{url}: {}", String::from_utf8_lossy(message).trim()))
}

fn curl(mut command: Command, arguments: &[&str]) -> Result<Vec<u8>> {
    let done =
        command.args(["--max-filesize", MAX_ANSWER]).args(arguments).output().map_err(|e| missing(&e))?;
    if !done.status.success() {
        return Err(refused(arguments.last().unwrap_or(&""), &done.stderr));
    }
    Ok(done.stdout)
}

/// Downloads the rest of a partial file, which is kept if the download fails.
fn download(
    command: &dyn Fn() -> Command,
    url: &str,
    to: &Path,
    total: Option<u64>,
    progress: &mut dyn FnMut(Progress),
) -> Result<()> {
    let mut child = command()
        .args(["--continue-at", "-", "--output"])
        .arg(to)
        .arg(url)
        .stdout(Stdio::null())
        .spawn()
        .map_err(|e| missing(&e))?;
    loop {
        let ended = child.try_wait().map_err(|e| missing(&e))?.is_some();
        let done = fs::metadata(to).map_or(0, |m| m.len());
        progress(Progress::Downloading { done, total: total.unwrap_or(done) });
        if ended {
            break;
        }
        std::thread::sleep(TICK);
    }
    let done = child.wait_with_output().map_err(|e| missing(&e))?;
    if done.status.code() == Some(CANNOT_RESUME) && to.exists() {
        fs::remove_file(to).map_err(io("remove", to))?;
        return download(command, url, to, total, progress);
    }
    if done.status.success() { Ok(()) } else { Err(refused(url, &done.stderr)) }
}
