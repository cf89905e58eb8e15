//! `wootz estimate`: estimate a model's memory use.

use crate::models;
use crate::output::{HEAD, Outcome, Table, bytes};
use anstyle::Style;
use serde_json::json;
use std::process::ExitCode;
use wootz_gguf::Gguf;
use wootz_llm::config::Config;
use wootz_llm::estimate::{CacheFormat, Estimate, Load};
use wootz_llm::ranks::{Forecast, Link, Machine, Parallel, Share};

/// Estimate the memory that a model needs at a context length
#[derive(clap::Args)]
pub struct Args {
    /// A GGUF file or a known model
    model: String,
    /// Context length in tokens [default: the model's own]
    #[arg(long)]
    context: Option<usize>,
    /// Number of parallel sequences
    #[arg(long, default_value_t = 1)]
    sequences: usize,
    /// Number of MPI ranks to split the model over
    #[arg(long, value_name = "COUNT")]
    ranks: Option<usize>,
    /// How to split it: pipeline, tensor or expert [default: show all]
    #[arg(long, value_parser = Parallel::from_name, value_name = "HOW", requires = "ranks")]
    split: Option<Parallel>,
    /// Network link between the machines, to estimate tokens per second: 1gbe, 10gbe, thunderbolt5 or infiniband
    #[arg(long, value_parser = Link::from_name, value_name = "LINK", requires = "ranks")]
    link: Option<Link>,
    /// Memory bandwidth of each machine in GB/s, for the estimate
    #[arg(long, value_name = "GB/S", default_value_t = 100.0, requires = "link")]
    bandwidth: f64,
    /// Arithmetic of each machine in GFLOP/s, for the estimate
    #[arg(long, value_name = "GFLOP/S", default_value_t = 500.0, requires = "link")]
    gflops: f64,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Outcome {
    let gguf = models::open(&models::find(&args.model)?)?;
    let config = Config::from_gguf(&gguf)?;
    let context = args.context.unwrap_or(config.context);
    if let Some(size) = args.ranks {
        return over_ranks(args, &gguf, &config, size);
    }
    let mut table = Table::default();
    table.row(HEAD, ["cache", "weights", "context", "activations", "total"]);
    let mut list = Vec::new();
    for (name, cache) in CacheFormat::ALL {
        let load = Load { context, sequences: args.sequences, batch: 128, cache };
        let estimate = Estimate::new(&gguf, &config, load)?;
        let parts = [estimate.weights, estimate.cache, estimate.activations, estimate.total()];
        let cells = [name.to_string()].into_iter().chain(parts.iter().map(|&b| bytes(b as usize)));
        table.row(Style::new(), cells);
        list.push(json!({
            "cache": name, "weights_bytes": parts[0], "cache_bytes": parts[1], "activation_bytes": parts[2],
            "total_bytes": parts[3],
        }));
    }
    if args.json {
        let report = json!({ "model": args.model, "context": context, "sequences": args.sequences, "estimates": list });
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        crate::output::outln!("{} with a context of {context} tokens", args.model);
        table.print();
    }
    Ok(ExitCode::SUCCESS)
}

/// What each rank of a split model needs, with an f16 cache.
fn over_ranks(args: &Args, gguf: &Gguf, config: &Config, size: usize) -> Outcome {
    if size == 0 {
        return Err("--ranks must be at least 1".into());
    }
    let context = args.context.unwrap_or(config.context);
    let mut table = Table::default();
    table.row(HEAD, ["parallel", "rank", "weights", "context", "part"]);
    let (mut list, mut refusals, mut forecasts) = (Vec::new(), Vec::new(), Vec::new());
    let is_rate = |rate: f64| rate > 0.0 && rate.is_finite();
    if !is_rate(args.bandwidth) || !is_rate(args.gflops) {
        return Err(format!("a machine of {} GB/s and {} GFLOP/s", args.bandwidth, args.gflops).into());
    }
    let machine = Machine { bandwidth: args.bandwidth * 1e9, flops: args.gflops * 1e9 };
    for parallel in Parallel::ALL.into_iter().filter(|p| args.split.is_none_or(|asked| asked == *p)) {
        if let Some(link) = &args.link
            && let Ok(forecast) = Forecast::new(gguf, config, (parallel, size), &machine, link)
        {
            forecasts.push((parallel, *link, forecast));
        }
        for rank in 0..size {
            let share = match Share::planned(gguf, config, (rank, size), parallel) {
                Ok(share) => share,
                Err(error) => {
                    refusals.push(format!("{parallel}: {error}"));
                    break;
                }
            };
            let load = Load { context, sequences: args.sequences, batch: 128, cache: CacheFormat::F16 };
            let cache = Estimate::of_share(config, &share, load)?;
            let weights = share.bytes(gguf);
            table.row(
                Style::new(),
                [
                    parallel.name().into(),
                    rank.to_string(),
                    bytes(weights as usize),
                    bytes(cache as usize),
                    share.describe(),
                ],
            );
            list.push(json!({
                "parallel": parallel.name(), "rank": rank, "weights_bytes": weights, "cache_bytes": cache,
            }));
        }
    }
    if list.is_empty() {
        return Err(refusals.join("; ").into());
    }
    if args.json {
        let forecasts = forecasts.iter().map(|(parallel, link, forecast)| {
            json!({
                "parallel": parallel.name(), "link": link.name, "tokens_per_second": forecast.rate(),
                "reading_s": forecast.reading, "computing_s": forecast.computing, "messages_s": forecast.messages,
            })
        });
        let report = json!({
            "model": args.model, "context": context, "ranks": size, "estimates": list, "refused": refusals,
            "forecasts": forecasts.collect::<Vec<_>>(),
        });
        println!("{}", serde_json::to_string_pretty(&report)?);
        return Ok(ExitCode::SUCCESS);
    }
    crate::output::outln!("{} over {size} ranks with a context of {context} tokens", args.model);
    table.print();
    for (parallel, link, forecast) in &forecasts {
        crate::output::outln!(
            "{parallel} over {}: {:.1} tokens/s estimated ({:.2} ms reading weights, {:.2} ms computing meanwhile, {:.2} ms in messages)",
            link.name,
            forecast.rate(),
            forecast.reading * 1e3,
            forecast.computing * 1e3,
            forecast.messages * 1e3
        );
    }
    refusals.iter().for_each(|refusal| crate::output::outln!("{refusal}"));
    Ok(ExitCode::SUCCESS)
}
