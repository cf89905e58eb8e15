//! Hours of mixed work in one process: `scripts/soak SECONDS [DEVICE...]`.
//!
//! A round evaluates graphs, saves and loads a file, loads a model, lets it answer, cancels an answer and work that nobody
//! waits for, and drops everything; one thread per device does so at the same time. Every round must give the bits of the first,
//! leave no buffer behind, and not need more memory than the rounds before it. Memory is the process's, so it is judged from the
//! moment at which the last device is warm.

use std::error::Error;
use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use wootz::{DType, Device, Tensor, compile, load_npy_on, save_npy};
use wootz_llm::sampling::Sampling;
use wootz_llm::{Finish, Model, ModelOptions, Request, Session, SessionOptions};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Rounds of each device before memory is expected to stay as it is: caches and pools fill.
const WARM: usize = 20;
/// Rounds of each device, however short the time.
const LEAST: usize = 2 * WARM;
/// Rounds after which memory that is live is looked at.
const SETTLE: usize = 10;
/// Growth after them that is put down to the allocator.
const SLACK: usize = 24 << 20;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let seconds = arguments.first().ok_or("usage: soak SECONDS [DEVICE...]")?.parse()?;
    let end = Instant::now() + Duration::from_secs(seconds);
    let devices: Vec<Device> = match &arguments[1..] {
        [] => Device::all(),
        names => names.iter().map(|name| Device::from_name(name)).collect::<Result<_, _>>()?,
    };
    let folder = tempfile::tempdir()?;
    let resident = Resident::new(devices.len());
    if resident_bytes().is_none() {
        println!("soak: skipped: this system does not tell a process its memory, so growth is not checked");
    }
    let outcomes: Vec<Outcome<()>> = std::thread::scope(|scope| {
        let soak_one = |device| {
            let path = folder.path().join(format!("{device}.npy"));
            soak(device, &path, end, &resident)
        };
        let soaks: Vec<_> = devices.iter().map(|device| scope.spawn(move || soak_one(device))).collect();
        soaks.into_iter().map(|s| s.join().unwrap_or_else(|_| Err("a thread panicked".into()))).collect()
    });
    outcomes.into_iter().collect::<Outcome<Vec<()>>>()?;
    let left = std::fs::read_dir(folder.path())?.count();
    if left > devices.len() {
        return Err(format!("{left} files where {} were written", devices.len()).into());
    }
    Ok(())
}

/// Bytes that are live when the device keeps nothing for later.
fn settled(device: &Device) -> usize {
    device.trim();
    device.memory().live
}

fn check_live(device: &Device, round: usize, first: usize) -> Outcome<()> {
    let now = settled(device);
    if now <= first {
        return Ok(());
    }
    Err(format!("{device}: {now} bytes are live after round {round}, {first} after the first").into())
}

/// Rounds on one device until the time is over.
fn soak(device: &Device, path: &Path, end: Instant, resident: &Resident) -> Outcome<()> {
    let first = round(device, path, 0).map_err(|e| format!("{device}, first round: {e}"))?;
    let live = settled(device);
    let mut rounds = 1;
    while Instant::now() < end || rounds < LEAST {
        let results = round(device, path, rounds).map_err(|e| format!("{device}, round {rounds}: {e}"))?;
        if results != first {
            return Err(format!("{device}: round {rounds} differs from the first").into());
        }
        if rounds % SETTLE == 0 {
            check_live(device, rounds, live)?;
        }
        rounds += 1;
        if rounds == WARM {
            resident.device_is_warm();
        }
        resident.check().map_err(|growth| format!("{device}, round {rounds}: {growth}"))?;
    }
    check_live(device, rounds, live)?;
    println!("{device}: {rounds} rounds, all as the first; {} bytes live; {resident}", device.memory().live);
    Ok(())
}

/// Memory of the process, from the moment at which every device is warm.
struct Resident {
    /// Devices that are not warm yet.
    cold: AtomicUsize,
    /// Bytes when the last one was; 0 before.
    warm: AtomicUsize,
}

impl Resident {
    fn new(devices: usize) -> Self {
        Self { cold: AtomicUsize::new(devices), warm: AtomicUsize::new(0) }
    }

    fn device_is_warm(&self) {
        if self.cold.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.warm.store(resident_bytes().unwrap_or(0), Ordering::Relaxed);
        }
    }

    /// An error if the process has grown by more than the allocator explains.
    fn check(&self) -> Outcome<()> {
        let (warm, Some(now)) = (self.warm.load(Ordering::Relaxed), resident_bytes()) else { return Ok(()) };
        if warm > 0 && now > warm + warm / 10 + SLACK {
            return Err(format!("{now} bytes resident, {warm} when every device was warm").into());
        }
        Ok(())
    }
}

impl fmt::Display for Resident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |bytes: usize| bytes as f64 / (1 << 20) as f64;
        let Some(now) = resident_bytes() else { return write!(f, "growth of the process not checked") };
        write!(f, "resident {:.1} MiB now", mib(now))?;
        match self.warm.load(Ordering::Relaxed) {
            0 => write!(f, ", other devices are not warm yet"),
            warm => write!(f, ", {:.1} when every device was warm", mib(warm)),
        }
    }
}

/// What a round computes, as bytes and tokens.
type Results = (Vec<Vec<u8>>, Vec<Vec<u32>>);

fn round(device: &Device, path: &Path, number: usize) -> Outcome<Results> {
    Ok((evaluations(device, path, number)?, answers(device)?))
}

/// Graphs of several families, among them some of a shape that only this round has.
fn evaluations(device: &Device, path: &Path, number: usize) -> Outcome<Vec<Vec<u8>>> {
    let x = Tensor::arange(0.0, 96.0 * 64.0, 1.0, DType::F32)?.mul(1e-3)?.sin()?.reshape([96, 64])?;
    let x = x.to_device(device)?;
    let mut found = vec![
        x.matmul(&x.permute([1, 0])?)?.softmax(-1)?.to_bytes()?,
        x.exp()?.sum_axes([1], false)?.to_bytes()?,
        x.sort(1, false)?.to_bytes()?,
    ];
    let function = compile(device, |x| Ok(vec![x[0].mul(&x[0])?.add(1.0)?]));
    found.push(function.call(&[&x])?.remove(0).to_bytes()?);
    // Another shape each round: plans come and go, and the caches of plans are bounded.
    let odd = 1 + number % 1000;
    let ones = Tensor::ones([odd, 3], DType::F32)?.to_device(device)?;
    found.push(ones.sum_axes([0, 1], false)?.div(odd as f64)?.to_bytes()?);
    // Work that nobody waits for, and work that is refused.
    x.add(number as f64)?.eval_async()?;
    let beyond = Tensor::from_slice(&[99i32])?.to_device(device)?;
    if x.take(&beyond, 0)?.to_bytes().is_ok() {
        return Err("an index out of range was accepted".into());
    }
    save_npy(path, &x)?;
    found.push(load_npy_on(path, device)?.to_bytes()?);
    Ok(found)
}

/// Models are loaded, answer, are interrupted, and go.
fn answers(device: &Device) -> Outcome<Vec<Vec<u32>>> {
    let golden = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut found = Vec::new();
    for name in ["tiny-llama.model", "tiny-rwkv7.model"] {
        let model = Arc::new(Model::open(golden.join(name), device, ModelOptions::default())?);
        let mut session = Session::new(&model, SessionOptions::default())?;
        let request = |limit| Request {
            prompt: vec![1, 5, 9, 13, 2],
            limit,
            sampling: Sampling::GREEDY,
            seed: 7,
            stops: vec![],
        };
        found.push(session.generate(&request(12), |_| ControlFlow::Continue(()))?.tokens);
        session.clear()?;
        let cancelled = session.generate(&request(12), |_| ControlFlow::Break(()))?;
        if !matches!(cancelled.finish, Finish::Cancelled | Finish::End) {
            return Err(format!("cancelled, it ended as {:?}", cancelled.finish).into());
        }
    }
    Ok(found)
}

/// Memory of this process; `None` on systems without `/proc`.
fn resident_bytes() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<usize>().ok().map(|kilobytes| kilobytes << 10)
}
