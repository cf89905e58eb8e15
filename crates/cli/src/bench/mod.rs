//! `wootz bench`: measure speed against other libraries and against the machine's limits.
//!
//! Cases are data (`cases`), a single runner measures them in turn (`runner`), peers are separate programs (`peer`),
//! and `wootz-report` presents the results.

mod cases;
mod distributed;
mod everyday;
mod load;
mod machine;
mod neighbours;
mod outputs;
mod peer;
mod runner;
mod table;

use crate::output::{DIM, KNOWN, Outcome, paint};
use cases::{Case, Fallible, Suite};
use outputs::Outputs;
use runner::Runner;
use std::path::PathBuf;
use std::process::ExitCode;
use wootz::{Device, DeviceKind};
use wootz_report::{Run, Skipped};

/// Measure speed, as a fraction of the machine's limit and against other libraries
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  wootz bench --quick                          every suite in under a minute
  wootz bench --peers --html report.html       beside other libraries (bench/peers/setup installs them), as a page
  wootz bench --suite load --peers llama_cpp   decoding while other processes keep the cores busy
  mpirun -n 2 wootz bench --suite distributed -m MODEL
  wootz bench --suite everyday                 ordinary array programs in Python, beside NumPy
  wootz bench --json new.json --compare old.json
  wootz bench --from old.json --html report.html")]
pub struct Args {
    /// Devices to benchmark [default: all hardware devices]
    #[arg(long, env = "WOOTZ_DEVICE", value_delimiter = ',')]
    device: Vec<String>,
    /// Suites to run [default: all but load, distributed and everyday]
    #[arg(long, value_enum, value_delimiter = ',')]
    suite: Vec<Suite>,
    /// Run only cases whose name contains this text
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Models for the llm suite: GGUF files or known names [default: known models already pulled]
    #[arg(short, long, value_name = "MODEL")]
    model: Vec<String>,
    /// Fewer repetitions; takes less than a minute
    #[arg(long)]
    quick: bool,
    /// Seconds per case and library [default: 1, up to 5 while results are noisy; 0.1 with --quick]
    #[arg(long)]
    seconds: Option<f64>,
    /// Libraries to compare with on the same data: all, or any of numpy, mlx, candle, burn, burn-wgpu, llama_cpp
    #[arg(long, value_name = "NAMES", num_args = 0..=1, default_missing_value = "all", value_delimiter = ',')]
    peers: Vec<String>,
    /// Your own program to compare with, using the protocol in bench/peers/README.md
    #[arg(long, value_name = "PROGRAM")]
    peer: Vec<PathBuf>,
    /// Show a saved run instead of running benchmarks
    #[arg(long, value_name = "FILE", conflicts_with_all = ["quick", "seconds", "peers", "peer", "device", "suite", "filter", "model"])]
    from: Option<PathBuf>,
    /// Compare with a saved run and list what got faster or slower
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
    /// Write JSON to a file, or to stdout instead of the table
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,
    /// Write a self-contained HTML report: rooflines, bar charts, a sortable table
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write the charts as a single SVG file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Metal kernel counters for the report [default: docs/metal-kernels.json if it exists]
    #[arg(long, value_name = "FILE")]
    counters: Option<PathBuf>,
    /// Only keep a core busy: a background process of the load suite
    #[arg(long, hide = true)]
    spin: bool,
    #[command(flatten)]
    load: load::Load,
}

pub fn run(args: &Args) -> Outcome {
    if args.spin {
        return Ok(neighbours::spin());
    }
    if !args.load.serve.is_empty() {
        return args.load.run(args.json.as_deref(), args.html.as_deref());
    }
    if distributed::is_asked_for(args)? {
        return distributed::run(args);
    }
    if everyday::is_asked_for(args)? {
        return everyday::run(args);
    }
    // Report problems with files before measuring anything.
    let outputs = Outputs::open(args)?;
    let old = args.compare.as_deref().map(outputs::read_run).transpose()?;
    let run = match &args.from {
        Some(path) => outputs::read_run(path)?,
        None => measure(args)?,
    };
    outputs.write(&run)?;
    if !outputs.json_to_stdout() {
        table::print(&run);
    }
    if let Some(old) = old {
        table::print_comparison(&wootz_report::compare(&old, &run));
    }
    let failed = run.cases.iter().flat_map(|c| c.results.values());
    let failed = failed.filter(|o| matches!(o, wootz_report::Outcome::Failed(_))).count();
    Ok(match (run.complete, failed) {
        (false, _) => ExitCode::from(130),
        (true, 0) => ExitCode::SUCCESS,
        (true, _) => ExitCode::FAILURE,
    })
}

fn measure(args: &Args) -> Fallible<Run> {
    let devices = devices(&args.device)?;
    let (cases, mut skipped) = selected(args)?;
    let (peers, absent) = peer::start(&args.peers, &args.peer, &devices)?;
    skipped.extend(absent);
    tell(&skipped);
    let seconds = args.seconds.unwrap_or(if args.quick { 0.1 } else { 1.0 });
    if !(0.0..=3600.0).contains(&seconds) {
        return Err(format!("--seconds {seconds} is out of range (0 to 3600)").into());
    }
    let hasty = args.quick || args.seconds.is_some();
    let machine = machine::describe();
    let turns = if args.quick { 3 } else { 5 };
    let runner = Runner { devices, peers, seconds, threads: machine.threads, turns, hasty };
    let runner::Finished { contenders, skipped: failed, cases, complete } = runner.measure(&cases)?;
    tell(&failed);
    skipped.extend(failed);
    if !complete {
        let text = format!("interrupted after {} cases; results are partial", cases.len());
        anstream::eprintln!("{}", paint(KNOWN, text));
    }
    Ok(Run {
        schema: wootz_report::SCHEMA,
        version: env!("CARGO_PKG_VERSION").into(),
        revision: env!("WOOTZ_REVISION").into(),
        when: machine::now(),
        complete,
        quick: args.quick,
        machine,
        contenders,
        skipped,
        cases,
    })
}

/// Reports what was skipped, and why.
fn tell(skipped: &[Skipped]) {
    for skip in skipped {
        anstream::eprintln!("{} {}: {}", paint(KNOWN, "skipped"), skip.name, skip.reason);
    }
}

/// The devices named, or all hardware devices. `auto` is skipped: the devices behind it are measured one by one.
fn devices(names: &[String]) -> Fallible<Vec<Device>> {
    let named: Vec<&String> = names.iter().filter(|n| !n.is_empty() && *n != "auto").collect();
    if !named.is_empty() {
        return Ok(named.into_iter().map(|n| Device::from_name(n)).collect::<wootz::Result<_>>()?);
    }
    let mut devices = Device::all();
    let software: Vec<String> = devices
        .iter()
        .filter(|d| d.info().kind == DeviceKind::Software)
        .map(|d| d.name().to_string())
        .collect();
    devices.retain(|d| d.info().kind != DeviceKind::Software);
    if !software.is_empty() {
        let text =
            format!("software devices are measured only if named with --device: {}", software.join(", "));
        anstream::eprintln!("{}", paint(DIM, text));
    }
    Ok(devices)
}

/// The selected cases, and those that are unavailable.
fn selected(args: &Args) -> Fallible<(Vec<Case>, Vec<Skipped>)> {
    let all = [Suite::Core, Suite::Overhead, Suite::Memory, Suite::Llm];
    let suites = if args.suite.is_empty() { all.as_slice() } else { args.suite.as_slice() };
    let mut skipped = Vec::new();
    let mut models = Vec::new();
    if let Some(suite) = suites.iter().find(|suite| matches!(suite, Suite::Llm | Suite::Load)) {
        models = cases::find_models(&args.model)?;
        if models.is_empty() {
            let reason = "no model has been pulled; run wootz pull smollm2, or pass --model FILE";
            skipped.push(Skipped { name: suite.name().into(), reason: reason.into() });
        }
    }
    let mut cases = cases::of(suites, &models);
    if let Some(text) = &args.filter {
        cases.retain(|case| case.name.contains(text.as_str()));
    }
    if cases.is_empty() {
        if let Some(Skipped { name, reason }) = skipped.first() {
            return Err(format!("{name}: {reason}").into());
        }
        let names: Vec<String> = cases::of(suites, &models).into_iter().map(|c| c.name).collect();
        let wanted = args.filter.as_deref().unwrap_or_default();
        return Err(format!("no case matches {wanted:?}; available: {}", names.join(", ")).into());
    }
    Ok((cases, skipped))
}
