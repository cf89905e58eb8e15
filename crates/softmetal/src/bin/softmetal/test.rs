//! `softmetal test`: cases in a `softmetal.toml`, each a kernel with inputs and expected results.
//!
//! ```toml
//! include = ["shaders"]            # folders for #include
//! defines = ["TILE=16"]
//! std = "3.1"
//!
//! [[case]]
//! name = "blur keeps the mean"
//! file = "shaders/blur.metal"      # or a .metallib
//! kernel = "blur"
//! grid = "512x512"                 # or groups
//! threads = "16x16"
//! args = { 0 = "image.npy", 1 = "zeros:f32:262144", 2 = "u32:512" }
//! constants = { radius = "i32:3" }
//! expect = { 1 = "blurred.npy" }
//! tolerance = 1e-5                 # of max(1, |expected|); 0 where it is not given
//! ```
//!
//! Paths are relative to the file. The checker is on unless a case says `check = false`.

use crate::args::{RunArgs, SourceArgs, TestArgs};
use crate::npy::{self, Array};
use crate::report::Line;
use crate::run;
use serde::Deserialize;
use softmetal::{Error, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    #[serde(default)]
    include: Vec<PathBuf>,
    #[serde(default)]
    defines: Vec<String>,
    std: Option<String>,
    family: Option<String>,
    #[serde(default, rename = "case")]
    cases: Vec<Case>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: Option<String>,
    file: PathBuf,
    kernel: String,
    grid: Option<String>,
    groups: Option<String>,
    threads: String,
    #[serde(default)]
    args: BTreeMap<String, String>,
    #[serde(default)]
    textures: BTreeMap<String, String>,
    #[serde(default)]
    samplers: BTreeMap<String, String>,
    #[serde(default)]
    constants: BTreeMap<String, String>,
    #[serde(default)]
    threadgroup: BTreeMap<String, u32>,
    #[serde(default)]
    expect: BTreeMap<String, PathBuf>,
    #[serde(default)]
    tolerance: f64,
    check: Option<bool>,
    #[serde(default)]
    exact: bool,
}

/// Runs all cases; true if none failed.
pub fn test(a: &TestArgs) -> Result<bool> {
    let place = a.file.display().to_string();
    let text = std::fs::read_to_string(&a.file)
        .map_err(|e| Error::Io { path: place.clone(), message: e.to_string() })?;
    let config: Config = toml::from_str(&text)
        .map_err(|e| Error::Io { path: place.clone(), message: e.to_string().trim().to_string() })?;
    let folder = a.file.parent().unwrap_or(Path::new("")).to_path_buf();
    let source = SourceArgs {
        include: config.include.iter().map(|i| folder.join(i)).collect(),
        define: config.defines.clone(),
        std: config.std.clone().unwrap_or_else(|| "3.2".into()),
        family: config.family.clone(),
        no_fast_math: false,
    };
    let wanted = |c: &&Case| a.filter.as_ref().is_none_or(|f| c.title().contains(f.as_str()));
    let lines: Vec<Line> = config
        .cases
        .iter()
        .filter(wanted)
        .map(|c| Line {
            file: folder.join(&c.file).display().to_string(),
            kernel: c.title().to_string(),
            error: c.run(&folder, &source).err(),
        })
        .collect();
    if lines.is_empty() {
        return Err(Error::Io { path: place, message: "no cases; add one as [[case]]".into() });
    }
    crate::check::print(&lines, a.format, "cases");
    Ok(lines.iter().all(|l| l.error.is_none()))
}

impl Case {
    fn title(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.kernel)
    }

    fn run(&self, folder: &Path, source: &SourceArgs) -> Result<()> {
        let pairs =
            |map: &BTreeMap<String, String>| map.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>();
        let args = RunArgs {
            file: folder.join(&self.file),
            kernel: self.kernel.clone(),
            source: source.clone(),
            grid: self.grid.clone(),
            groups: self.groups.clone(),
            threads: self.threads.clone(),
            args: self.args.iter().map(|(i, what)| format!("{i}={}", placed(folder, what))).collect(),
            textures: self
                .textures
                .iter()
                .map(|(i, what)| format!("{i}={}", placed_texture(folder, what)))
                .collect(),
            samplers: pairs(&self.samplers),
            texture_out: Vec::new(),
            constants: pairs(&self.constants),
            threadgroup: self.threadgroup.iter().map(|(i, n)| format!("{i}={n}")).collect(),
            out: Vec::new(),
            sanitize: self.check.unwrap_or(true),
            max_reports: 10,
            shuffle: None,
            exact: self.exact,
            profile: false,
            chip: "m1".into(),
            svg: None,
            time_limit: 120.0,
            isolate: false,
            isolate_memory: 0,
            array_limit: 1 << 30,
            simd_width: None,
            json: false,
        };
        let ran = run::execute(&args)?;
        ran.outcome?;
        for (index, file) in &self.expect {
            let held = ran.held.iter().find(|h| h.index.to_string() == *index);
            let held =
                held.ok_or_else(|| Error::Invalid(format!("`expect`: no array is bound at {index}")))?;
            compare(index, &held.array()?, &npy::read(&folder.join(file))?, self.tolerance)?;
        }
        Ok(())
    }
}

/// Resolves the file of an argument relative to the configuration.
fn placed(folder: &Path, what: &str) -> String {
    if what.ends_with(".npy") {
        return folder.join(what).display().to_string();
    }
    match what.strip_prefix("bytes:") {
        Some(file) => format!("bytes:{}", folder.join(file).display()),
        None => what.to_string(),
    }
}

/// The same for `FORMAT:FILE.npy`.
fn placed_texture(folder: &Path, what: &str) -> String {
    match what.split_once(':') {
        Some((format, file)) => format!("{format}:{}", placed(folder, file)),
        None => what.to_string(),
    }
}

fn compare(index: &str, got: &Array, want: &Array, tolerance: f64) -> Result<()> {
    let fail = |m: String| Err(Error::Invalid(format!("buffer {index}: {m}")));
    if got.descr != want.descr || got.bytes.len() != want.bytes.len() {
        return fail(format!(
            "got `{}` of {} bytes, expected `{}` of {} bytes",
            got.descr,
            got.bytes.len(),
            want.descr,
            want.bytes.len()
        ));
    }
    let (Some(a), Some(b)) = (numbers(got), numbers(want)) else {
        return fail(format!("numbers of type `{}` cannot be compared", got.descr));
    };
    let beyond = |(x, y): (&f64, &f64)| {
        !(x == y || x.is_nan() && y.is_nan() || (x - y).abs() <= tolerance * y.abs().max(1.0))
    };
    let wrong: Vec<usize> =
        a.iter().zip(&b).enumerate().filter(|(_, p)| beyond(*p)).map(|(i, _)| i).collect();
    match wrong.first() {
        None => Ok(()),
        Some(&i) => fail(format!(
            "{} of {} values differ by more than {tolerance}; the first is at {i}: got {}, expected {}",
            wrong.len(),
            a.len(),
            a[i],
            b[i]
        )),
    }
}

fn numbers(a: &Array) -> Option<Vec<f64>> {
    macro_rules! read {
        ($t:ty) => {{
            let parts = a.bytes.chunks_exact(size_of::<$t>());
            parts.map(|c| Some(<$t>::from_le_bytes(c.try_into().ok()?).into())).collect()
        }};
    }
    match a.descr.trim_start_matches(['<', '|', '=']) {
        "f4" => read!(f32),
        "f2" => a
            .bytes
            .chunks_exact(2)
            .map(|c| Some(half::f16::from_le_bytes(c.try_into().ok()?).to_f64()))
            .collect(),
        "f8" => read!(f64),
        "i1" => read!(i8),
        "u1" | "b1" => read!(u8),
        "i2" => read!(i16),
        "u2" => read!(u16),
        "i4" => read!(i32),
        "u4" => read!(u32),
        // Beyond 2^53, different integers may compare equal as f64; equal bytes are always equal numbers.
        "i8" => {
            a.bytes.chunks_exact(8).map(|c| Some(i64::from_le_bytes(c.try_into().ok()?) as f64)).collect()
        }
        "u8" => {
            a.bytes.chunks_exact(8).map(|c| Some(u64::from_le_bytes(c.try_into().ok()?) as f64)).collect()
        }
        _ => None,
    }
}
