//! Fuzzes the GGUF reader on stable Rust: mutates the files of a corpus and reads all that is accepted.
//!
//! `cargo run --release --bin gguf -- [seconds]` (default 60), from this folder. A crash prints a panic and leaves the
//! input in `crash-gguf`. `-- make-corpus` rewrites the committed corpus.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use wootz_blocks::BlockFormat;
use wootz_gguf::{Gguf, MetaValue, ValueType, Writer};

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/gguf")
}

/// What a user of the reader does: everything accepted must be readable to the last byte.
fn target(data: &[u8]) -> bool {
    let Ok(gguf) = Gguf::from_bytes(data) else { return false };
    let mut sum = 0u64;
    for (key, value) in gguf.metadata().iter() {
        sum += key.len() as u64 + value.describe().len() as u64;
        if let Some(array) = value.as_array() {
            assert_eq!(array.iter().count(), array.len());
        }
    }
    for tensor in gguf.tensors() {
        let bytes = gguf.data(tensor);
        assert_eq!(bytes.len() as u64, tensor.bytes);
        if let (Ok(format), true) = (tensor.format(), tensor.len() < 1 << 16) {
            let mut values = vec![0.0; tensor.len() as usize];
            wootz_blocks::dequantize(format, bytes, &mut values)
                .expect("an accepted tensor has whole blocks");
        }
    }
    std::hint::black_box(sum);
    true
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

const EXTREMES: [u64; 12] =
    [0, 1, 2, 31, 32, 255, 0xffff_ffff, 1 << 32, 0x7fff_ffff_ffff_ffff, 1 << 63, u64::MAX - 31, u64::MAX];

fn mutate(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    for _ in 0..1 + random.below(6) {
        if bytes.len() < 9 {
            return;
        }
        // Most structure is at the front, so half of the changes go there.
        let span = if random.below(2) == 0 { bytes.len() } else { bytes.len().min(400) };
        let at = random.below(span - 8);
        match random.below(7) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.next() as u8,
            2 => bytes[at..at + 8].copy_from_slice(&EXTREMES[random.below(12)].to_le_bytes()),
            3 => bytes[at..at + 4].copy_from_slice(&(EXTREMES[random.below(12)] as u32).to_le_bytes()),
            4 => bytes.truncate(at + 8),
            5 => {
                let from = random.below(other.len());
                let len = random.below(64).min(other.len() - from).min(bytes.len() - at);
                bytes[at..at + len].copy_from_slice(&other[from..from + len]);
            }
            _ => {
                let len = random.below(32);
                let piece: Vec<u8> = bytes[at..(at + len).min(bytes.len())].to_vec();
                bytes.splice(at..at, piece);
            }
        }
    }
}

fn make_corpus() {
    let write = |name: &str, w: &Writer| {
        let mut out = Vec::new();
        w.write(&mut out, |t| {
            Ok(vec![0x3c; t.format.bytes_of(t.dims.iter().product::<u64>() as usize).expect("whole blocks")])
        })
        .expect("the corpus is valid");
        std::fs::write(corpus().join(name), out).expect("the corpus folder is writable");
    };
    let mut w = Writer::new();
    write("empty", &w);
    w.set("general.architecture", "llama").set("general.alignment", MetaValue::U32(32));
    w.set("llama.block_count", MetaValue::U32(1))
        .set("f", MetaValue::F64(0.5))
        .set("b", MetaValue::Bool(true));
    write("scalars", &w);
    w.set("tokens", MetaValue::strings(["<s>", "a", "Ġb", ""]));
    w.set("types", MetaValue::Array(ValueType::I32, vec![MetaValue::I32(3); 4]));
    let inner = MetaValue::Array(ValueType::Bool, vec![MetaValue::Bool(false)]);
    w.set("nested", MetaValue::Array(ValueType::Array, vec![inner]));
    write("arrays", &w);
    for (i, &f) in BlockFormat::ALL.iter().enumerate() {
        w.tensor(format!("t{i}"), &[256, 1 + i as u64 % 2], f);
    }
    write("tensors", &w);
}

fn main() {
    let argument = std::env::args().nth(1);
    if argument.as_deref() == Some("make-corpus") {
        return make_corpus();
    }
    let seconds: u64 = argument.map_or(60, |a| a.parse().expect("the argument is a number of seconds"));
    let files = std::fs::read_dir(corpus()).expect("the corpus is beside this program");
    let seeds: Vec<Vec<u8>> =
        files.map(|f| std::fs::read(f.expect("readable folder").path()).expect("readable file")).collect();
    assert!(seeds.iter().all(|s| target(s)), "a corpus file is refused");
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let (start, mut runs, mut accepted) = (Instant::now(), 0u64, 0u64);
    while start.elapsed() < Duration::from_secs(seconds) {
        for _ in 0..1000 {
            let mut bytes = seeds[random.below(seeds.len())].clone();
            mutate(&mut bytes, &seeds[random.below(seeds.len())], &mut random);
            let result = std::panic::catch_unwind(|| target(&bytes));
            runs += 1;
            match result {
                Ok(ok) => accepted += u64::from(ok),
                Err(_) => {
                    std::fs::write("crash-gguf", &bytes).expect("the current folder is writable");
                    panic!("run {runs} panicked; the input is in crash-gguf");
                }
            }
        }
    }
    println!("{runs} inputs in {seconds} s, {accepted} accepted, no crash");
}
