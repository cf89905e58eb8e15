//! Fuzzing of everything that comes from outside. Whatever a reader accepts is used to the full.
//!
//! Two ways, over the same targets and corpora: `scripts/fuzz SECONDS TARGET` changes files of the corpus in ways that hurt
//! parsers, on any toolchain, and `scripts/fuzz --coverage` lets libFuzzer look for inputs that reach new code. A panic or an
//! input that takes longer than [`SLOW`] leaves the input behind and ends the run with an error; every such input becomes a test of
//! the crate that it was found in.

pub mod targets;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// An input that takes longer is a finding, as a panic is. On a quiet machine none takes a tenth of it.
pub const SLOW: Duration = Duration::from_secs(10);

/// Of this many inputs, at least one is accepted.
const ENOUGH: u64 = 200;

/// The folder of a target's corpus. Whole models are those that the tests of `wootz-llm` keep.
pub fn corpus(name: &str) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    if name == "model" { here.join("../crates/llm/tests/golden") } else { here.join("corpus").join(name) }
}

/// A small generator of numbers.
pub struct Random(pub u64);

impl Random {
    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.number() % n.max(1) as u64) as usize
    }
}

const EXTREMES: [u64; 12] =
    [0, 1, 2, 31, 32, 255, 0xffff_ffff, 1 << 32, 0x7fff_ffff_ffff_ffff, 1 << 63, u64::MAX - 31, u64::MAX];

/// Changes bytes in a few of the usual ways; `words` are pieces of the format's own language.
pub fn mutate(bytes: &mut Vec<u8>, other: &[u8], words: &[&str], random: &mut Random) {
    for _ in 0..1 + random.below(6) {
        if bytes.len() < 9 {
            return;
        }
        // Most structure is at the front, so half of the changes go there.
        let span = if random.below(2) == 0 { bytes.len() } else { bytes.len().min(400) };
        let at = random.below(span - 8);
        match random.below(if words.is_empty() { 7 } else { 10 }) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.number() as u8,
            2 => bytes[at..at + 8].copy_from_slice(&EXTREMES[random.below(12)].to_le_bytes()),
            3 => bytes[at..at + 4].copy_from_slice(&(EXTREMES[random.below(12)] as u32).to_le_bytes()),
            4 => bytes.truncate(at + 8),
            5 => {
                let from = random.below(other.len());
                let len = random.below(64).min(other.len() - from).min(bytes.len() - at);
                bytes[at..at + len].copy_from_slice(&other[from..from + len]);
            }
            6 => {
                let len = random.below(32);
                let piece: Vec<u8> = bytes[at..(at + len).min(bytes.len())].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => {
                let word = words[random.below(words.len())].repeat([1, 1, 1, 2, 7, 300][random.below(6)]);
                bytes.splice(at..at, word.into_bytes());
            }
        }
    }
}

/// A parser under test.
pub struct Target {
    /// Its name, and that of its corpus.
    pub name: &'static str,
    /// Pieces of the format's language.
    pub words: &'static [&'static str],
    /// Whether it accepts an input; what it accepts, it uses.
    pub accepts: fn(&[u8]) -> bool,
}

/// A path in a folder of this process.
pub fn scratch(name: &str) -> PathBuf {
    static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
        tempfile::Builder::new().prefix("wootz-fuzz-").tempdir().expect("a temporary folder")
    });
    FOLDER.path().join(name)
}

impl Target {
    /// The target of this name.
    pub fn named(name: &str) -> Option<Target> {
        targets::TARGETS.into_iter().find(|target| target.name == name)
    }

    /// Fuzzes for some seconds, with random numbers from `seed` on.
    pub fn run(&self, seconds: u64, seed: u64) {
        let seeds = self.seeds();
        for (path, seed) in &seeds {
            assert!((self.accepts)(seed), "{} is refused", path.display());
        }
        let mut random = Random(0x2545_f491_4f6c_dd1d ^ seed);
        let (start, mut runs, mut accepted) = (Instant::now(), 0u64, 0u64);
        while start.elapsed() < Duration::from_secs(seconds) {
            for _ in 0..20 {
                let mut bytes = seeds[random.below(seeds.len())].1.clone();
                mutate(&mut bytes, &seeds[random.below(seeds.len())].1, self.words, &mut random);
                runs += 1;
                accepted += u64::from(self.try_one(&bytes, runs));
            }
        }
        println!("{}: {runs} inputs in {seconds} s, {accepted} accepted, no crash", self.name);
        // Where everything is refused at the door, nothing behind it was tested.
        assert!(accepted > 0 || runs < ENOUGH, "{}: none of {runs} inputs was accepted", self.name);
    }

    /// The corpus, by path.
    pub fn seeds(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let files = std::fs::read_dir(corpus(self.name)).expect("the corpus is beside this program");
        let mut paths: Vec<PathBuf> = files.map(|f| f.expect("a readable folder").path()).collect();
        // Beside models that generate text there are others, and the numbers that they give.
        let generates = |path: &PathBuf| {
            path.to_str()
                .is_some_and(|p| p.ends_with(".model") && !p.contains("bert") && !p.contains("embedding"))
        };
        paths.retain(|path| self.name != "model" || generates(path));
        paths.sort();
        paths.into_iter().map(|path| (path.clone(), std::fs::read(path).expect("a readable file"))).collect()
    }

    fn try_one(&self, bytes: &[u8], run: u64) -> bool {
        let begin = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| (self.accepts)(bytes)));
        let found = match &result {
            Err(_) => "panicked",
            Ok(_) if begin.elapsed() > SLOW => "took too long",
            Ok(accepted) => return *accepted,
        };
        let file = format!("crash-{}", self.name);
        std::fs::write(&file, bytes).expect("the current folder is writable");
        panic!("run {run} {found}; the input is in {file}");
    }
}
