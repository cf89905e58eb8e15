//! `softmetal check`

use crate::args::{CheckArgs, Format, open};
use crate::report::{self, Line};
use softmetal::{Device, Error, Family, Result};
use std::path::Path;

/// Compiles all kernels; true if none failed.
pub fn check(a: &CheckArgs) -> Result<bool> {
    // Apple's compiler knows no GPU; what one lacks is found when a pipeline is made on it.
    let device = Device::new(a.source.device_or(Family::Apple10)?)?;
    let mut lines = Vec::new();
    for file in &a.files {
        match one_file(&device, a, file) {
            Ok(mut l) => lines.append(&mut l),
            // Without a compiler there is nothing to say about any file.
            Err(e @ Error::NoCompiler { .. }) => return Err(e),
            Err(e) => {
                lines.push(Line { file: file.display().to_string(), kernel: String::new(), error: Some(e) })
            }
        }
    }
    if let Some(absent) =
        a.kernel.iter().find(|k| !lines.iter().any(|l| l.kernel == **k || l.kernel.is_empty()))
    {
        return Err(Error::Invalid(format!("no file has a kernel named `{absent}`")));
    }
    let failed = lines.iter().filter(|l| l.error.is_some()).count();
    print(&lines, if a.json { Format::Json } else { a.format }, "kernels");
    Ok(failed == 0)
}

/// Prints the outcomes in the chosen format.
pub fn print(lines: &[Line], format: Format, what: &str) {
    match format {
        Format::Text => print_text(lines, what),
        Format::Json => print_json(lines),
        Format::Sarif => println!("{}", report::sarif(lines)),
        Format::Github => print!("{}", report::github(lines, what)),
        Format::Junit => print!("{}", report::junit(lines)),
    }
}

fn print_text(lines: &[Line], what: &str) {
    for l in lines {
        let kernel = if l.kernel.is_empty() { String::new() } else { format!(": {}", l.kernel) };
        match &l.error {
            None => println!("ok    {}{kernel}", l.file),
            Some(e) => println!("FAIL  {}{kernel}\n{e}", l.file),
        }
    }
    let files: std::collections::BTreeSet<&str> = lines.iter().map(|l| l.file.as_str()).collect();
    // A file that fails as a whole has kernels that nobody has counted.
    let whole = lines.iter().filter(|l| l.kernel.is_empty()).count();
    let failed = lines.iter().filter(|l| l.error.is_some()).count() - whole;
    let total = lines.len() - whole;
    let more = if whole > 0 { format!(", {whole} of them failed as a whole") } else { String::new() };
    println!("{total} {what}, {} ok, {failed} failed, {} files{more}", total - failed, files.len());
}

fn one_file(device: &Device, a: &CheckArgs, file: &Path) -> Result<Vec<Line>> {
    let library = open(device, file, &a.source)?;
    let chosen = |n: &String| a.kernel.is_empty() || a.kernel.contains(n);
    let names: Vec<String> = library.function_names().into_iter().filter(chosen).collect();
    let errors =
        if a.codegen { library.compile_each(device, &names) } else { library.check_all(device, &names) };
    let file = file.display().to_string();
    Ok(names
        .into_iter()
        .zip(errors)
        .map(|(kernel, error)| Line { file: file.clone(), kernel, error })
        .collect())
}

fn print_json(lines: &[Line]) {
    let failed = lines.iter().filter(|l| l.error.is_some()).count();
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
