//! The command line.

use clap::{Args, Parser, Subcommand};
use softmetal::{CompileOptions, DeviceOptions, Error, Family, Result};
use std::path::PathBuf;

/// Metal compute kernels on any machine: list, check, run.
#[derive(Debug, Parser)]
#[command(name = "softmetal", version, about)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Print the kernels of a file with their bindings
    List(ListArgs),
    /// Compile every kernel of the files; one line each, totals last
    Check(CheckArgs),
    /// Run one kernel
    Run(Box<RunArgs>),
}

/// How sources are read.
#[derive(Debug, Args)]
pub struct SourceArgs {
    /// Folder for #include (repeatable)
    #[arg(short = 'I', value_name = "DIR")]
    pub include: Vec<PathBuf>,
    /// Macro, NAME or NAME=VALUE (repeatable)
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    pub define: Vec<String>,
    /// Metal language version, such as 3.1
    #[arg(long = "std", value_name = "VERSION", default_value = "3.2")]
    pub std: String,
    /// GPU family: mac2, apple7, apple8, apple9, apple10
    #[arg(long, default_value = "apple7")]
    pub family: String,
    /// Keep multiplications and additions apart
    #[arg(long)]
    pub no_fast_math: bool,
}

impl SourceArgs {
    /// The options for one file.
    pub fn compile(&self, file: &std::path::Path) -> Result<CompileOptions> {
        let mut include_dirs = self.include.clone();
        if let Some(dir) = file.parent() {
            include_dirs.insert(0, if dir.as_os_str().is_empty() { ".".into() } else { dir.to_path_buf() });
        }
        let defines = self
            .define
            .iter()
            .map(|d| d.split_once('=').map_or((d.clone(), "1".into()), |(n, v)| (n.into(), v.into())))
            .collect();
        Ok(CompileOptions {
            defines,
            include_dirs,
            language_version: self.version()?,
            fast_math: !self.no_fast_math,
            file_name: file.display().to_string(),
        })
    }

    fn version(&self) -> Result<u32> {
        let bad = || Error::Invalid(format!("`--std {}` is no Metal version; write one like 3.1", self.std));
        let (major, minor) = self.std.split_once('.').unwrap_or((&self.std, "0"));
        let (major, minor): (u32, u32) =
            (major.parse().map_err(|_| bad())?, minor.parse().map_err(|_| bad())?);
        if !(1..=4).contains(&major) || minor > 9 {
            return Err(bad());
        }
        Ok(major * 100 + minor * 10)
    }

    /// Device options with the family set.
    pub fn device(&self) -> Result<DeviceOptions> {
        Ok(DeviceOptions { family: self.family.parse::<Family>()?, ..DeviceOptions::default() })
    }
}

/// Reads a source file.
pub fn read(file: &std::path::Path) -> Result<String> {
    std::fs::read_to_string(file)
        .map_err(|e| Error::Io { path: file.display().to_string(), message: e.to_string() })
}

/// `softmetal list`
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Metal source
    pub file: PathBuf,
    /// How to read it
    #[command(flatten)]
    pub source: SourceArgs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `softmetal check`
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Metal sources
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// How to read them
    #[command(flatten)]
    pub source: SourceArgs,
    /// Only this kernel
    #[arg(long)]
    pub kernel: Option<String>,
    /// Also make machine code for every kernel
    #[arg(long)]
    pub codegen: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `softmetal run`
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Metal source
    pub file: PathBuf,
    /// Kernel name
    pub kernel: String,
    /// How to read it
    #[command(flatten)]
    pub source: SourceArgs,
    /// Threads of the grid: N, NxM or NxMxK
    #[arg(long, value_name = "SIZE", conflicts_with = "groups", required_unless_present = "groups")]
    pub grid: Option<String>,
    /// Threadgroups of the grid, instead of --grid
    #[arg(long, value_name = "SIZE")]
    pub groups: Option<String>,
    /// Threads per threadgroup
    #[arg(long, value_name = "SIZE")]
    pub threads: String,
    /// Argument: I=FILE.npy, I=zeros:TYPE:N, I=ones:TYPE:N, I=iota:TYPE:N, I=rand:TYPE:N[:SEED], I=TYPE:VALUE
    #[arg(long = "arg", value_name = "I=WHAT")]
    pub args: Vec<String>,
    /// Function constant by index or name: I=TYPE:VALUE
    #[arg(long = "constant", value_name = "I=TYPE:VALUE")]
    pub constants: Vec<String>,
    /// Dynamic threadgroup memory: I=BYTES
    #[arg(long = "threadgroup", value_name = "I=BYTES")]
    pub threadgroup: Vec<String>,
    /// Write buffer I to a .npy file
    #[arg(long = "out", value_name = "I=FILE.npy")]
    pub out: Vec<String>,
    /// Check every access
    #[arg(long)]
    pub sanitize: bool,
    /// End after this many findings
    #[arg(long, default_value_t = 10)]
    pub max_reports: usize,
    /// Shuffle the order of threads with this seed
    #[arg(long, value_name = "SEED")]
    pub shuffle: Option<u64>,
    /// Count bytes and operations
    #[arg(long)]
    pub profile: bool,
    /// Chip for the roofline, such as m2-max
    #[arg(long, default_value = "m1")]
    pub chip: String,
    /// Write the roofline as SVG
    #[arg(long, value_name = "FILE.svg")]
    pub svg: Option<PathBuf>,
    /// Seconds before a kernel is stopped
    #[arg(long, default_value_t = 120.0)]
    pub time_limit: f64,
    /// Lanes per simdgroup, where the family leaves a choice
    #[arg(long)]
    pub simd_width: Option<u32>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
