//! `wootz devices --for MODEL`: a model's estimated speed and memory on each device.

use crate::models;
use crate::output::{DIM, HEAD, Outcome, Table, bytes, paint};
use anstyle::Style;
use serde_json::json;
use std::process::ExitCode;
use std::sync::Arc;
use wootz::Device;
use wootz_llm::{Candidate, Model, ModelOptions, Placement, SessionOptions};

pub fn run(name: &str, as_json: bool) -> Outcome {
    let gguf = models::open(&models::find(name)?)?;
    let model = Arc::new(Model::from_gguf(gguf, &Device::cpu(), ModelOptions::default())?);
    let auto = Device::auto();
    let single = [auto.clone()];
    let devices = auto.candidates().unwrap_or(&single);
    let placement = models::with_checks(|on_progress| {
        Placement::of(&model, devices, SessionOptions::default(), on_progress)
    })?;
    let chosen = placement.devices().next();
    let others: Vec<Device> = Device::all().into_iter().filter(|d| !devices.contains(d)).collect();
    if as_json {
        let list = placement.candidates().iter().map(|c| to_json(c, chosen == Some(&c.device)));
        let others = others.iter().map(|d| json!({ "name": d.name(), "chosen": false, "reason": SOFTWARE }));
        let report = json!({ "model": name, "devices": list.chain(others).collect::<Vec<_>>() });
        println!("{}", serde_json::to_string_pretty(&report)?);
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::default();
    table.row(HEAD, ["", "device", "prefill", "decode", "memory", "description"]);
    for candidate in placement.candidates() {
        let mark = if chosen == Some(&candidate.device) { "*" } else { " " };
        let cells = match &candidate.forecast {
            Ok(forecast) => [
                format!("{:.0} tokens/s", forecast.prefill_rate),
                format!("{:.0} tokens/s", forecast.decode_rate),
                bytes(forecast.bytes as usize),
                candidate.device.info().description.clone(),
            ],
            Err(reason) => ["-".into(), "-".into(), "-".into(), reason.clone()],
        };
        let head = [mark.to_string(), candidate.device.name().to_string()];
        table.row(Style::new(), head.into_iter().chain(cells));
    }
    for device in &others {
        table.row(DIM, [" ", device.name(), "-", "-", "-", SOFTWARE]);
    }
    table.print();
    crate::output::outln!(
        "\n{}",
        paint(DIM, "* used by default; figures are estimates from each device's cost model")
    );
    Ok(ExitCode::SUCCESS)
}

const SOFTWARE: &str = "a software device, used only when named with --device";

fn to_json(candidate: &Candidate, chosen: bool) -> serde_json::Value {
    let name = candidate.device.name();
    match &candidate.forecast {
        Ok(forecast) => json!({
            "name": name, "chosen": chosen, "prefill_tokens_per_second": forecast.prefill_rate,
            "decode_tokens_per_second": forecast.decode_rate, "memory_bytes": forecast.bytes,
        }),
        Err(reason) => json!({ "name": name, "chosen": false, "reason": reason }),
    }
}
