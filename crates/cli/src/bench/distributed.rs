//! The distributed suite: collectives of the ranks that a launcher started, and models divided over them beside what the planner for
//! clusters forecasts. `mpirun -n 2 wootz bench --suite distributed`.

use super::Args;
use super::cases::{Fallible, Suite};
use crate::models;
use crate::output::{DIM, HEAD, Outcome, Table, outln, paint};
use crate::ranks;
use anstyle::Style;
use serde::Serialize;
use serde_json::json;
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;
use wootz::distributed::Group;
use wootz::{DType, Device, Tensor};
use wootz_llm::ranks::{Cluster, Forecast, Parallel, Share};
use wootz_llm::sampling::Sampling;
use wootz_llm::{Model, ModelOptions, Request, Session, SessionOptions};

/// Bytes that each rank brings into an operation.
const SIZES: [usize; 5] = [4, 4 << 10, 64 << 10, 1 << 20, 64 << 20];
/// Tokens that are read, and tokens that are generated.
const PROMPT: u32 = 16;
const ANSWER: usize = 48;
const ANSWERS: usize = 3;
const TURNS: usize = 5;

/// Whether the suite is asked for; its ranks cannot share a run with suites that run on one.
pub fn is_asked_for(args: &Args) -> Fallible<bool> {
    match args.suite.as_slice() {
        [Suite::Distributed] => Ok(true),
        suites if suites.contains(&Suite::Distributed) => {
            Err("--suite distributed runs alone, on the ranks of an MPI launcher".into())
        }
        _ => Ok(false),
    }
}

/// An operation at one size.
#[derive(Serialize)]
struct Timed {
    operation: &'static str,
    bytes: usize,
    seconds: f64,
}

/// A model, divided in one way.
#[derive(Serialize)]
struct Divided {
    model: String,
    parallel: &'static str,
    tokens_per_second: f64,
    forecast_tokens_per_second: f64,
    operations_per_token: f64,
    bytes_per_token: f64,
    /// Of the rank that reads most.
    weights_bytes: u64,
}

/// Runs on every rank; rank 0 tells what came of it.
pub fn run(args: &Args) -> Outcome {
    let group = ranks::group()?.unwrap_or_else(Group::alone);
    let wanted = |name: &str| args.filter.as_ref().is_none_or(|text| name.contains(text.as_str()));
    let mut timed = Vec::new();
    for (operation, work) in operations(&group) {
        for bytes in SIZES.into_iter().filter(|_| wanted(operation) && !group.is_alone()) {
            timed.push(Timed { operation, bytes, seconds: seconds_of(&group, work, bytes)? });
        }
    }
    let cluster = Cluster::measure(&group)?;
    let mut divided = Vec::new();
    for name in args.model.iter().filter(|name| wanted(name)) {
        divided.extend(models_of(&group, name, &cluster)?);
    }
    if args.json.is_some() {
        let report = json!({
            "ranks": group.size(), "operations": timed, "models": divided,
            "memory_bytes_per_second": cluster.machine.bandwidth, "flops": cluster.machine.flops, "latency_s": cluster.link.latency,
            "link_bytes_per_second": cluster.link.bandwidth,
        });
        outln!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print(&group, &timed, &divided, &cluster);
    }
    Ok(ExitCode::SUCCESS)
}

type Work = fn(&Group, &Tensor) -> wootz::Result<Tensor>;

fn operations(group: &Group) -> Vec<(&'static str, Work)> {
    let mut list: Vec<(&'static str, Work)> = vec![
        ("all_sum", |group, x| group.all_sum(x)),
        ("all_gather", |group, x| group.all_gather(x)),
        ("broadcast", |group, x| group.broadcast(x, 0)),
    ];
    if group.size() == 2 {
        list.push(("send and recv", there_and_back));
    }
    list
}

/// To the other rank and back again.
fn there_and_back(group: &Group, x: &Tensor) -> wootz::Result<Tensor> {
    if group.rank() == 0 {
        return group.recv_after(&group.send_mark(x, 1)?, x.shape().clone(), x.dtype(), 1);
    }
    group.send(&group.recv_like(x, 0)?, 0)
}

/// Seconds of one operation on the slowest rank, in the best of a few turns.
fn seconds_of(group: &Group, work: Work, bytes: usize) -> Fallible<f64> {
    let x = Tensor::full_on([bytes / 4], group.rank() as i64, DType::F32, &Device::cpu())?;
    x.eval()?;
    let turn = |count: usize| -> Fallible<f64> {
        group.barrier()?;
        let begin = Instant::now();
        for _ in 0..count {
            work(group, &x)?.eval()?;
        }
        slowest(group, begin.elapsed().as_secs_f64() / count as f64)
    };
    turn(1)?;
    let count = (0.02 / turn(1)?.max(1e-9)).ceil().clamp(1.0, 2000.0) as usize;
    let mut best = f64::INFINITY;
    for _ in 0..TURNS {
        best = best.min(turn(count)?);
    }
    Ok(best)
}

/// The largest of all ranks' numbers, on each of them.
fn slowest(group: &Group, own: f64) -> Fallible<f64> {
    let own = Tensor::from_slice_on(&[own], &Device::cpu())?;
    Ok(group.all_max(&own)?.to_vec::<f64>()?[0])
}

/// A model in every way that it can be divided over these ranks.
fn models_of(group: &Group, name: &str, cluster: &Cluster) -> Fallible<Vec<Divided>> {
    let path = models::find_together(name, group)?;
    let mut list = Vec::new();
    for parallel in Parallel::ALL {
        let gguf = models::open(&path)?;
        let config = wootz_llm::config::Config::from_gguf(&gguf)?;
        let parts = (0..group.size()).map(|rank| {
            Ok::<_, wootz_llm::Error>(
                Share::planned(&gguf, &config, (rank, group.size()), parallel)?.bytes(&gguf),
            )
        });
        let Ok(parts) = parts.collect::<Result<Vec<u64>, _>>() else { continue };
        let way = (parallel, group.size());
        let forecast = Forecast::new(&gguf, &config, way, &cluster.machine, &cluster.link)?;
        let model = Arc::new(Model::over_ranks(gguf, ModelOptions::default(), group, Some(parallel))?);
        let before = group.traffic();
        let mut best = 0f64;
        // The first answer plans its passes.
        for _ in 0..ANSWERS {
            best = best.max(rate(group, &model)?);
        }
        let (after, tokens) = (group.traffic(), (ANSWERS * ANSWER) as f64);
        list.push(Divided {
            model: name.into(),
            parallel: parallel.name(),
            tokens_per_second: best,
            forecast_tokens_per_second: forecast.rate(),
            operations_per_token: (after.operations - before.operations) as f64 / tokens,
            bytes_per_token: (after.bytes - before.bytes) as f64 / tokens,
            weights_bytes: parts.into_iter().max().unwrap_or(0),
        });
    }
    Ok(list)
}

/// Tokens per second of a greedy answer, on the slowest rank.
fn rate(group: &Group, model: &Arc<Model>) -> Fallible<f64> {
    let mut session = Session::new(model, SessionOptions::default())?;
    let prompt = (1..=PROMPT).map(|i| i % model.config().vocab as u32).collect();
    let sampling = Sampling { temperature: 0.0, ..Sampling::default() };
    let (mut first, mut count, mut last) = (None, 0, Instant::now());
    let request = Request { prompt, limit: ANSWER, sampling, seed: 1, stops: vec![] };
    session.generate(&request, |_| {
        last = Instant::now();
        first.get_or_insert(last);
        count += 1;
        ControlFlow::Continue(())
    })?;
    let seconds = first.map_or(0.0, |first| (last - first).as_secs_f64());
    let per_token = slowest(group, if count > 1 { seconds / (count - 1) as f64 } else { f64::INFINITY })?;
    Ok(1.0 / per_token)
}

fn print(group: &Group, timed: &[Timed], divided: &[Divided], cluster: &Cluster) {
    let mut table = Table::default();
    table.row(HEAD, ["operation", "bytes", "µs", "MB/s"]);
    for Timed { operation, bytes, seconds } in timed {
        let cells = [format!("{:.1}", seconds * 1e6), format!("{:.0}", *bytes as f64 / seconds / 1e6)];
        let [time, rate] = cells;
        table.row(Style::new(), [operation.to_string(), bytes.to_string(), time, rate]);
    }
    if !timed.is_empty() {
        table.print();
    }
    let mut table = Table::default();
    table.row(HEAD, ["model", "parallel", "tokens/s", "forecast"]);
    for d in divided {
        let (rate, forecast) = (d.tokens_per_second, d.forecast_tokens_per_second);
        let cells = [d.model.clone(), d.parallel.into(), format!("{rate:.1}"), format!("{forecast:.1}")];
        table.row(Style::new(), cells);
    }
    if !divided.is_empty() {
        table.print();
    }
    let (machine, link) = (cluster.machine, cluster.link);
    let (memory, flops) = (machine.bandwidth / 1e9, machine.flops / 1e9);
    let (latency, rate) = (link.latency * 1e6, link.bandwidth / 1e9);
    let measured = format!(
        "{} ranks; each reads {memory:.1} GB/s from memory and computes {flops:.0} GFLOP/s; a message takes {latency:.1} µs, and {rate:.1} GB/s",
        group.size()
    );
    outln!("{}", paint(DIM, measured));
}
