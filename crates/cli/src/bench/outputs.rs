//! Output files. Paths are checked before the run, so that a typo does not cost an hour of measuring.

use super::Args;
use super::cases::Fallible;
use std::path::{Path, PathBuf};
use wootz_report::{Chip, Counted, Limits, Run};

pub struct Outputs {
    json: Option<PathBuf>,
    html: Option<PathBuf>,
    svg: Option<PathBuf>,
    counted: Vec<Counted>,
}

/// The project's own counters of its Metal kernels.
const COUNTED: &str = "docs/metal-kernels.json";

impl Outputs {
    pub fn open(args: &Args) -> Fallible<Outputs> {
        for path in [&args.json, &args.html, &args.svg].into_iter().flatten() {
            try_to_write(path)?;
        }
        let counted = match &args.counters {
            Some(path) => read_counted(path)?,
            None if Path::new(COUNTED).exists() => read_counted(Path::new(COUNTED))?,
            None => vec![],
        };
        Ok(Outputs { json: args.json.clone(), html: args.html.clone(), svg: args.svg.clone(), counted })
    }

    pub fn json_to_stdout(&self) -> bool {
        self.json.as_deref() == Some(Path::new("-"))
    }

    pub fn write(&self, run: &Run) -> Fallible<()> {
        if self.json_to_stdout() {
            print!("{}", run.to_json());
        } else if let Some(path) = &self.json {
            write(path, &run.to_json())?;
        }
        if let Some(path) = &self.html {
            write(path, &wootz_report::html(run, &self.counted, &chips()))?;
        }
        if let Some(path) = &self.svg {
            write(path, &wootz_report::picture(run))?;
        }
        Ok(())
    }
}

pub fn write(path: &Path, text: &str) -> Fallible<()> {
    std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    eprintln!("wrote {}", path.display());
    Ok(())
}

/// Opens a file for writing without changing it.
pub fn try_to_write(path: &Path) -> Fallible<()> {
    if path == Path::new("-") {
        return Ok(());
    }
    let new = !path.exists();
    std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .map_err(|e| format!("cannot write {}: {e}", path.display()))?;
    if new {
        let _ = std::fs::remove_file(path);
    }
    Ok(())
}

pub fn read_run(path: &Path) -> Fallible<Run> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(Run::parse(&text, &path.display().to_string())?)
}

fn read_counted(path: &Path) -> Fallible<Vec<Counted>> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(wootz_report::parse_counted(&text, &path.display().to_string())?)
}

/// One chip of each generation plus the largest ones; the others lie in between.
const SHOWN: [&str; 6] = ["m1", "m2-max", "m3-max", "m4", "m4-max", "m5"];

fn chips() -> Vec<Chip> {
    let shown = softmetal::profile::CHIPS.iter().filter(|c| SHOWN.contains(&c.name));
    let limits = |c: &softmetal::profile::Chip| Limits {
        bytes_per_s: c.bandwidth * 1e9,
        flops_per_s: c.f32_rate * 1e9,
    };
    shown.map(|c| Chip { name: c.name.into(), limits: limits(c) }).collect()
}
