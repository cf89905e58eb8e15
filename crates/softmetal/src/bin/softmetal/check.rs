//! `softmetal check`

use crate::args::{CheckArgs, read};
use softmetal::{Device, Error, Result};
use std::path::Path;

/// The outcome for one kernel.
struct Line {
    file: String,
    kernel: String,
    error: Option<Error>,
}

/// Compiles all kernels; true when none failed.
pub fn check(a: &CheckArgs) -> Result<bool> {
    let device = Device::new(a.source.device()?)?;
    let mut lines = Vec::new();
    for file in &a.files {
        match one_file(&device, a, file) {
            Ok(mut l) => lines.append(&mut l),
            Err(e) => {
                lines.push(Line { file: file.display().to_string(), kernel: String::new(), error: Some(e) })
            }
        }
    }
    if lines.is_empty() && a.kernel.is_some() {
        return Err(Error::Invalid(format!(
            "no file has a kernel named `{}`",
            a.kernel.as_deref().unwrap_or("")
        )));
    }
    let failed = lines.iter().filter(|l| l.error.is_some()).count();
    if a.json {
        print_json(&lines, failed);
    } else {
        for l in &lines {
            match &l.error {
                None => println!("ok    {}: {}", l.file, l.kernel),
                Some(e) => println!("FAIL  {}: {}\n{e}", l.file, l.kernel),
            }
        }
        println!(
            "{} kernels, {} ok, {failed} failed, {} files",
            lines.len(),
            lines.len() - failed,
            a.files.len()
        );
    }
    Ok(failed == 0)
}

fn one_file(device: &Device, a: &CheckArgs, file: &Path) -> Result<Vec<Line>> {
    let library = device.new_library(&read(file)?, &a.source.compile(file)?)?;
    let names: Vec<String> =
        library.function_names().into_iter().filter(|n| a.kernel.as_ref().is_none_or(|k| k == n)).collect();
    let errors =
        if a.codegen { library.compile_each(device, &names) } else { library.check_all(device, &names) };
    let file = file.display().to_string();
    Ok(names
        .into_iter()
        .zip(errors)
        .map(|(kernel, error)| Line { file: file.clone(), kernel, error })
        .collect())
}

fn print_json(lines: &[Line], failed: usize) {
    let kernels: Vec<_> = lines
        .iter()
        .map(|l| {
            let diagnostics = match &l.error {
                Some(Error::Compile { diagnostics }) => serde_json::to_value(diagnostics).unwrap_or_default(),
                _ => serde_json::Value::Null,
            };
            serde_json::json!({ "file": l.file, "kernel": l.kernel, "ok": l.error.is_none(), "error": l.error.as_ref().map(ToString::to_string), "diagnostics": diagnostics })
        })
        .collect();
    let all = serde_json::json!({ "kernels": kernels, "total": lines.len(), "failed": failed });
    println!("{}", serde_json::to_string_pretty(&all).unwrap_or_default());
}
