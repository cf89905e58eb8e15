//! Command-line arguments.

use clap::{Args, Parser, Subcommand};
use softmetal::{CompileOptions, Device, DeviceOptions, Error, Family, Library, Result};
use std::path::{Path, PathBuf};

/// Metal compute kernels on any machine: list, check, run, test.
#[derive(Debug, Parser)]
#[command(name = "softmetal", version, about)]
pub struct Cli {
    /// The command line.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// List the kernels of a file with their bindings
    List(ListArgs),
    /// Compile every kernel of the files; prints one line per kernel and a summary
    Check(CheckArgs),
    /// Run one kernel
    Run(Box<RunArgs>),
    /// Run the cases in a softmetal.toml and compare the results with expected arrays
    Test(TestArgs),
}

/// Compiler options.
#[derive(Debug, Clone, Args)]
pub struct SourceArgs {
    /// Folder to search for #include (may be repeated)
    #[arg(short = 'I', value_name = "DIR")]
    pub include: Vec<PathBuf>,
    /// Macro to define: NAME or NAME=VALUE (may be repeated)
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    pub define: Vec<String>,
    /// Metal language version, e.g. 3.1
    #[arg(long = "std", value_name = "VERSION", default_value = "3.2")]
    pub std: String,
    /// GPU family: mac2, apple7, apple8, apple9, apple10 [default: apple7; to check: all that the language has]
    #[arg(long)]
    pub family: Option<String>,
    /// Fuse multiplications and additions only within an expression
    #[arg(long)]
    pub no_fast_math: bool,
}

impl SourceArgs {
    /// The options for one file.
    pub fn compile(&self, file: &Path) -> Result<CompileOptions> {
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
        let bad = || Error::Invalid(format!("`--std {}` is not a Metal version; use e.g. 3.1", self.std));
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
        self.device_or(Family::default())
    }

    /// The same, with a family for where none is given.
    pub fn device_or(&self, family: Family) -> Result<DeviceOptions> {
        let family = self.family.as_deref().map_or(Ok(family), str::parse)?;
        Ok(DeviceOptions { family, ..DeviceOptions::default() })
    }
}

/// Opens Metal source or a metallib.
pub fn open(device: &Device, file: &Path, source: &SourceArgs) -> Result<Library> {
    let compiled =
        |bytes: &[u8]| bytes.starts_with(b"MTLB") || file.extension().is_some_and(|e| e == "metallib");
    let failed = |e: std::io::Error| Error::Io { path: file.display().to_string(), message: e.to_string() };
    let bytes = std::fs::read(file).map_err(failed)?;
    if compiled(&bytes) {
        return Library::from_metallib_bytes(bytes, &file.display().to_string());
    }
    let text = String::from_utf8(bytes).map_err(|_| Error::Io {
        path: file.display().to_string(),
        message: "neither a metallib nor UTF-8 source".into(),
    })?;
    device.new_library(&text, &source.compile(file)?)
}

/// `softmetal list`
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Metal source or metallib
    pub file: PathBuf,
    /// Compiler options
    #[command(flatten)]
    pub source: SourceArgs,
    /// Print names only, without bindings; a metallib is then not disassembled
    #[arg(long)]
    pub names: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Output format of `softmetal check`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// One line per kernel
    Text,
    /// One JSON object
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// GitHub workflow commands, which annotate source lines
    Github,
    /// JUnit XML, one test per kernel
    Junit,
}

/// `softmetal check`
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Metal sources and metallibs
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Compiler options
    #[command(flatten)]
    pub source: SourceArgs,
    /// Check only this kernel (may be repeated)
    #[arg(long)]
    pub kernel: Vec<String>,
    /// Also generate machine code for every kernel
    #[arg(long)]
    pub codegen: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Same as --format json
    #[arg(long)]
    pub json: bool,
}

/// `softmetal run`
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Metal source or metallib
    pub file: PathBuf,
    /// Kernel name
    pub kernel: String,
    /// Compiler options
    #[command(flatten)]
    pub source: SourceArgs,
    /// Grid size in threads: N, NxM or NxMxK
    #[arg(long, value_name = "SIZE", conflicts_with = "groups", required_unless_present = "groups")]
    pub grid: Option<String>,
    /// Grid size in threadgroups, instead of --grid
    #[arg(long, value_name = "SIZE")]
    pub groups: Option<String>,
    /// Threadgroup size in threads
    #[arg(long, value_name = "SIZE")]
    pub threads: String,
    /// Argument: I=FILE.npy, I=zeros:TYPE:N, I=ones:TYPE:N, I=iota:TYPE:N, I=rand:TYPE:N[:SEED], I=TYPE:VALUE
    #[arg(long = "arg", value_name = "I=WHAT")]
    pub args: Vec<String>,
    /// Texture: I=FORMAT:WxH of zeros, or I=FORMAT:FILE.npy with rows, columns and components
    #[arg(long = "texture", value_name = "I=FORMAT:WHAT")]
    pub textures: Vec<String>,
    /// Sampler: I=WORD,… with the words nearest, linear, mip_nearest, mip_linear, edge, repeat, mirror, zero, pixel
    #[arg(long = "sampler", value_name = "I=WORDS")]
    pub samplers: Vec<String>,
    /// Write texture I to an .npy file
    #[arg(long = "texture-out", value_name = "I=FILE.npy")]
    pub texture_out: Vec<String>,
    /// Function constant by index or name: I=TYPE:VALUE
    #[arg(long = "constant", value_name = "I=TYPE:VALUE")]
    pub constants: Vec<String>,
    /// Dynamic threadgroup memory: I=BYTES
    #[arg(long = "threadgroup", value_name = "I=BYTES")]
    pub threadgroup: Vec<String>,
    /// Write buffer I to an .npy file
    #[arg(long = "out", value_name = "I=FILE.npy")]
    pub out: Vec<String>,
    /// Check every memory access for races and bounds
    #[arg(long)]
    pub sanitize: bool,
    /// Stop after this many findings
    #[arg(long, default_value_t = 10)]
    pub max_reports: usize,
    /// Seed to shuffle the order of threads
    #[arg(long, value_name = "SEED")]
    pub shuffle: Option<u64>,
    /// Compute as precisely as a CPU: keep denormals, no fast-math errors, no garbage in uninitialised memory
    #[arg(long)]
    pub exact: bool,
    /// Count memory traffic and operations
    #[arg(long)]
    pub profile: bool,
    /// Chip for the roofline, e.g. m2-max
    #[arg(long, default_value = "m1")]
    pub chip: String,
    /// Write the roofline as SVG
    #[arg(long, value_name = "FILE.svg")]
    pub svg: Option<PathBuf>,
    /// Time limit for the kernel, in seconds
    #[arg(long, default_value_t = 120.0)]
    pub time_limit: f64,
    /// Run the kernel in a separate process with limits on memory and time
    #[arg(long)]
    pub isolate: bool,
    /// Maximum number of bytes that the process of --isolate may allocate, or write to a file
    #[arg(long, value_name = "BYTES", default_value_t = 4 << 30)]
    pub isolate_memory: u64,
    /// Maximum size in bytes of an array created by --arg
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 30)]
    pub array_limit: usize,
    /// Simdgroup width, for GPU families that leave a choice
    #[arg(long)]
    pub simd_width: Option<u32>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `softmetal test`
#[derive(Debug, Args)]
pub struct TestArgs {
    /// The file with the cases
    #[arg(default_value = "softmetal.toml")]
    pub file: PathBuf,
    /// Run only cases whose name contains this text
    #[arg(long)]
    pub filter: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}
