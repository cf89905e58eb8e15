//! `wootz devices`: list the available devices.

use crate::output::{self, HEAD, Outcome, Table};
use crate::placement;
use anstyle::Style;
use serde_json::json;
use std::process::ExitCode;
use wootz::distributed;
use wootz::{Calibration, Device, DeviceKind};

/// List the devices of this machine
#[derive(clap::Args)]
pub struct Args {
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Measure each device again and show the cost model that `auto` uses
    #[arg(long)]
    calibrate: bool,
    /// Estimate a model's speed and memory on every device, and show which one `auto` would choose
    #[arg(long = "for", value_name = "MODEL")]
    model: Option<String>,
}

pub fn run(args: &Args) -> Outcome {
    if let Some(model) = &args.model {
        return placement::run(model, args.json);
    }
    let default = Device::current()?;
    let devices = Device::all();
    let calibrations = if args.calibrate { calibrations(&devices)? } else { vec![None; devices.len()] };
    if args.json {
        let list: Vec<_> = devices
            .iter()
            .enumerate()
            .map(|(i, d)| {
                let info = d.info();
                let facts: serde_json::Map<_, _> =
                    info.facts.iter().map(|(k, v)| (k.clone(), json!(v))).collect();
                let mut device = json!({
                    "name": info.name, "description": info.description, "kind": info.kind.name(), "facts": facts,
                    "memory_bytes": info.memory_limit, "default": *d == default,
                });
                if let Some(calibration) = &calibrations[i] {
                    device["calibration"] = to_json(calibration);
                }
                device
            })
            .collect();
        let missing: Vec<_> = Device::missing()
            .into_iter()
            .map(|(name, reason)| json!({ "name": name, "reason": reason }))
            .collect();
        let mpi = match distributed::library() {
            Ok(library) => {
                json!({ "path": library.path, "interface": library.abi.name(), "version": library.version })
            }
            Err(error) => json!({ "missing": error.to_string() }),
        };
        let report = json!({ "devices": list, "missing": missing, "mpi": mpi });
        println!("{}", serde_json::to_string_pretty(&report)?);
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::default();
    table.row(HEAD, ["", "name", "kind", "memory", "description", "facts"]);
    for device in &devices {
        let info = device.info();
        let facts: Vec<String> = info.facts.iter().map(|(k, v)| format!("{k} {v}")).collect();
        let mark = if *device == default { "*" } else { " " };
        let cells = [
            mark.to_string(),
            info.name.clone(),
            info.kind.name().into(),
            output::bytes(info.memory_limit),
            info.description.clone(),
            facts.join(", "),
        ];
        table.row(Style::new(), cells);
    }
    for (name, reason) in Device::missing() {
        let cells = [" ".into(), name.to_string(), "missing".into(), "-".into(), reason, String::new()];
        table.row(output::DIM, cells);
    }
    table.print();
    crate::output::outln!(
        "\n{}",
        output::paint(output::DIM, "* default; choose another with --device or WOOTZ_DEVICE")
    );
    let mpi = match distributed::library() {
        Ok(library) => {
            format!("MPI: {}, {} interface, {}", library.version, library.abi.name(), library.path)
        }
        Err(_) => "MPI: no library found; see docs/distributed.md".to_string(),
    };
    crate::output::outln!("{}", output::paint(output::DIM, mpi));
    if args.calibrate {
        print_calibrations(&devices, &calibrations);
    }
    Ok(ExitCode::SUCCESS)
}

/// Measures every hardware device and stores the figures for `auto`. Software devices are skipped: `auto` never uses
/// them, and measuring them takes long.
fn calibrations(devices: &[Device]) -> Result<Vec<Option<Calibration>>, Box<dyn std::error::Error>> {
    let bar = output::progress(devices.len(), "measuring");
    let mut calibrations = Vec::new();
    for device in devices {
        let software = device.info().kind == DeviceKind::Software;
        calibrations.push(if software { None } else { Some(Calibration::renew(device)?) });
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(calibrations)
}

fn to_json(calibration: &Calibration) -> serde_json::Value {
    let (costs, limits) = (&calibration.costs, &calibration.limits);
    json!({
        "submit_s": costs.submit, "step_s": costs.step, "byte_s": costs.byte, "flop_s": costs.flop,
        "transfer_s": costs.transfer, "limit_bytes_per_s": limits.bytes_per_s,
        "limit_flops_per_s": limits.flops_per_s,
    })
}

/// Prints the cost model that `auto` estimates plans with.
fn print_calibrations(devices: &[Device], calibrations: &[Option<Calibration>]) {
    crate::output::outln!("\n{}", output::paint(HEAD, "cost model"));
    let mut table = Table::default();
    let head =
        ["", "submission", "step", "memory", "matmul", "transfers", "copy limit", "multiply-add limit"];
    table.row(HEAD, head);
    for (device, calibration) in devices.iter().zip(calibrations) {
        let Some(calibration) = calibration else { continue };
        let (costs, limits) = (&calibration.costs, &calibration.limits);
        let per_second = |seconds: f64, unit: &str| format!("{:.1} G{unit}/s", 1e-9 / seconds);
        let cells = [
            device.name().to_string(),
            format!("{:.2} µs", costs.submit * 1e6),
            format!("{:.2} µs", costs.step * 1e6),
            per_second(costs.byte, "B"),
            per_second(costs.flop, "FLOP"),
            per_second(costs.transfer, "B"),
            format!("{:.1} GB/s", limits.bytes_per_s / 1e9),
            format!("{:.1} GFLOP/s", limits.flops_per_s / 1e9),
        ];
        table.row(Style::new(), cells);
    }
    table.print();
    for (device, _) in devices.iter().zip(calibrations).filter(|(_, c)| c.is_none()) {
        let text = format!("{device} is a software device: auto does not use it");
        crate::output::outln!("{}", output::paint(output::DIM, text));
    }
    let kept = devices.iter().zip(calibrations).filter(|(_, c)| c.is_some());
    for (device, _) in kept {
        if let Some(path) = Calibration::path(device) {
            crate::output::outln!("{}", output::paint(output::DIM, format!("saved in {}", path.display())));
        }
    }
}
