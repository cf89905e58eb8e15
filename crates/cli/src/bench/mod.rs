//! `wootz bench`: how fast, against what, and how near the limit.

mod cases;
mod limits;
mod peer;

use crate::output::{self, DIM, HEAD, Outcome, Table, paint};
use anstyle::Style;
use cases::{Case, Work};
use limits::Limits;
use peer::Peer;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;
use wootz::{Device, Result, Tensor};

/// Measure speed, as a fraction of the machine's limit and next to NumPy
#[derive(clap::Args)]
pub struct Args {
    /// The device to measure
    #[arg(long, env = "WOOTZ_DEVICE", default_value = "cpu")]
    device: String,
    /// Only cases whose name contains this text
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Run NumPy on the same data in the same run, taking turns
    #[arg(long)]
    numpy: bool,
    /// Peers written for this project, each a program that takes the same turns (see bench/peers)
    #[arg(long, value_name = "PROGRAM")]
    peer: Vec<PathBuf>,
    /// Seconds for each case and contender
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

/// After a turn: threads of some libraries (OpenBLAS's) go on spinning for a tenth of a second, on the cores that the next
/// contender needs.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(250);

/// Times of one contender for one case, in seconds.
#[derive(Clone, Debug)]
struct Times(Vec<f64>);

impl Times {
    fn best(&self) -> f64 {
        self.0.iter().copied().fold(f64::INFINITY, f64::min)
    }

    fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
    }
}

/// One case with the times of everybody.
struct Measured {
    name: &'static str,
    work: Work,
    ours: Times,
    peers: Vec<Option<Times>>,
}

pub fn run(args: &Args) -> Outcome {
    let device = Device::from_name(&args.device)?;
    let wanted = |case: &Case| args.filter.as_deref().is_none_or(|text| case.name.contains(text));
    let cases: Vec<Case> = cases::all().into_iter().filter(wanted).collect();
    if cases.is_empty() {
        return Err(format!("no case matches {:?}", args.filter.as_deref().unwrap_or_default()).into());
    }
    let data = peer::Data::new()?;
    let mut peers = Vec::new();
    if args.numpy {
        peers.push(Peer::numpy()?);
    }
    for program in &args.peer {
        peers.push(Peer::program(program)?);
    }
    let bar = output::progress(cases.len() + 1, "measuring");
    let limits = Limits::measure();
    bar.inc(1);
    let mut measured = Vec::new();
    for case in &cases {
        measured.push(measure(case, &device, &mut peers, &data, args.seconds)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let names: Vec<String> = peers.iter().map(|p| p.name.clone()).collect();
    if args.json {
        println!("{}", serde_json::to_string_pretty(&to_json(&device, &limits, &names, &measured))?);
    } else {
        print(&device, &limits, &names, &measured);
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs a case in turns: ours, then each peer, until the time is up.
fn measure(
    case: &Case,
    device: &Device,
    peers: &mut [Peer],
    data: &peer::Data,
    seconds: f64,
) -> std::result::Result<Measured, Box<dyn std::error::Error>> {
    let inputs: Vec<Tensor> = case.inputs.iter().map(|i| i.tensor(device)).collect::<Result<_>>()?;
    let mut times: Vec<Option<Times>> = Vec::new();
    for peer in peers.iter_mut() {
        times.push(peer.prepare(case, &inputs, data)?.then(|| Times(Vec::new())));
    }
    let mut ours = Times(Vec::new());
    // The first runs plan and touch memory; they count for nobody.
    ours_once(case, &inputs)?;
    let repeats = repeats(case, &inputs)?;
    let contenders = 1 + times.iter().flatten().count();
    let start = Instant::now();
    while ours.0.len() < 5
        || (start.elapsed().as_secs_f64() < seconds * contenders as f64 && ours.0.len() < 2000)
    {
        // One run that nobody times, as the peers have it too: threads wake up, caches fill.
        ours_once(case, &inputs)?;
        let begin = Instant::now();
        for _ in 0..repeats {
            ours_once(case, &inputs)?;
        }
        ours.0.push(begin.elapsed().as_secs_f64() / repeats as f64);
        for (peer, times) in peers.iter_mut().zip(&mut times) {
            if let Some(times) = times {
                times.0.push(peer.turn(repeats)?);
                std::thread::sleep(PAUSE);
            }
        }
    }
    Ok(Measured { name: case.name, work: case.work, ours, peers: times })
}

fn ours_once(case: &Case, inputs: &[Tensor]) -> Result<()> {
    (case.run)(inputs)?.eval()?;
    Ok(())
}

/// How often a case runs per turn, so that a turn is long enough for the clock.
fn repeats(case: &Case, inputs: &[Tensor]) -> Result<usize> {
    let begin = Instant::now();
    ours_once(case, inputs)?;
    Ok((1e-3 / begin.elapsed().as_secs_f64().max(1e-9)).ceil().clamp(1.0, 10_000.0) as usize)
}

/// Achieved rate and fraction of the limit.
fn rate(work: Work, seconds: f64, limits: &Limits) -> (String, f64) {
    match work {
        Work::Bytes(bytes) => {
            let rate = bytes as f64 / seconds / 1e9;
            (format!("{rate:.1} GB/s"), rate / limits.copy_gbs)
        }
        Work::Flops(flops) => {
            let rate = flops as f64 / seconds / 1e9;
            (format!("{rate:.1} GFLOP/s"), rate / limits.fma_gflops)
        }
        Work::Overhead => (String::new(), f64::NAN),
    }
}

fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.2} µs", s * 1e6),
        s if s < 1.0 => format!("{:.3} ms", s * 1e3),
        s => format!("{s:.3} s"),
    }
}

fn print(device: &Device, limits: &Limits, peers: &[String], measured: &[Measured]) {
    anstream::println!(
        "{} on {}: copy {:.1} GB/s, f32 FMA {:.0} GFLOP/s measured\n",
        paint(HEAD, "wootz"),
        device.info().description,
        limits.copy_gbs,
        limits.fma_gflops
    );
    let mut table = Table::default();
    let mut head = vec!["case".to_string(), "best".into(), "median".into(), "rate".into(), "of limit".into()];
    for peer in peers {
        head.extend([peer.clone(), format!("{peer}/ours")]);
    }
    table.row(HEAD, head);
    for case in measured {
        let (rate, fraction) = rate(case.work, case.ours.best(), limits);
        let percent = if fraction.is_nan() { String::new() } else { format!("{:.0} %", fraction * 100.0) };
        let mut cells: Vec<(String, Style)> =
            [case.name.to_string(), time(case.ours.best()), time(case.ours.median()), rate, percent]
                .into_iter()
                .map(|c| (c, Style::new()))
                .collect();
        for times in &case.peers {
            match times {
                Some(times) => {
                    let ratio = times.best() / case.ours.best();
                    let style = if ratio >= 1.0 { output::GOOD } else { output::BAD };
                    cells.push((time(times.best()), Style::new()));
                    cells.push((format!("{ratio:.2}×"), style));
                }
                None => cells.extend([("·".into(), DIM), ("·".into(), DIM)]),
            }
        }
        table.styled(cells);
    }
    table.print();
}

fn to_json(device: &Device, limits: &Limits, peers: &[String], measured: &[Measured]) -> serde_json::Value {
    let cases: Vec<_> = measured
        .iter()
        .map(|case| {
            let (_, fraction) = rate(case.work, case.ours.best(), limits);
            let peers: serde_json::Map<_, _> = peers
                .iter()
                .zip(&case.peers)
                .filter_map(|(name, times)| {
                    let times = times.as_ref()?;
                    let entry = json!({
                        "best_s": times.best(), "median_s": times.median(),
                        "ratio_best": times.best() / case.ours.best(),
                        "ratio_median": times.median() / case.ours.median(),
                    });
                    Some((name.clone(), entry))
                })
                .collect();
            json!({
                "name": case.name, "best_s": case.ours.best(), "median_s": case.ours.median(),
                "runs": case.ours.0.len(), "of_limit": if fraction.is_nan() { json!(null) } else { json!(fraction) },
                "peers": peers,
            })
        })
        .collect();
    json!({
        "schema": 1, "device": device.name(), "description": device.info().description,
        "version": env!("CARGO_PKG_VERSION"), "threads": std::thread::available_parallelism().map_or(1, |n| n.get()),
        "limits": { "copy_gb_per_s": limits.copy_gbs, "fma_gflop_per_s": limits.fma_gflops },
        "cases": cases,
    })
}
