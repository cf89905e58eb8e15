//! `wootz devices`: what there is to run on.

use crate::output::{self, HEAD, Outcome, Table};
use anstyle::Style;
use serde_json::json;
use std::process::ExitCode;
use wootz::Device;

/// List the devices of this machine
#[derive(clap::Args)]
pub struct Args {
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Outcome {
    let default = Device::from_environment()?;
    let devices = Device::all();
    if args.json {
        let list: Vec<_> = devices
            .iter()
            .map(|d| {
                let info = d.info();
                let facts: serde_json::Map<_, _> =
                    info.facts.iter().map(|(k, v)| (k.clone(), json!(v))).collect();
                json!({
                    "name": info.name, "description": info.description, "kind": info.kind.name(), "facts": facts,
                    "memory_bytes": info.memory_limit, "default": *d == default,
                })
            })
            .collect();
        let missing: Vec<_> = Device::missing()
            .into_iter()
            .map(|(name, reason)| json!({ "name": name, "reason": reason }))
            .collect();
        println!("{}", serde_json::to_string_pretty(&json!({ "devices": list, "missing": missing }))?);
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
    anstream::println!(
        "\n{}",
        output::paint(output::DIM, "* used by default; WOOTZ_DEVICE or --device choose another")
    );
    Ok(ExitCode::SUCCESS)
}
