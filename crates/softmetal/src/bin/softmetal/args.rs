//! The command line.

use clap::{Args, Parser, Subcommand};
use softmetal::{CompileOptions, Device, DeviceOptions, Error, Family, Library, Result};
use std::path::{Path, PathBuf};

/// Metal compute kernels on any machine: list, check, run, test.
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
    /// Run the cases of a softmetal.toml and compare with expected arrays
    Test(TestArgs),
}

/// How sources are read.
#[derive(Debug, Clone, Args)]
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
        message: "it is neither a metallib nor source in UTF-8".into(),
    })?;
    device.new_library(&text, &source.compile(file)?)
}

/// `softmetal list`
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Metal source or metallib
    pub file: PathBuf,
    /// How to read it
    #[command(flatten)]
    pub source: SourceArgs,
    /// Only names, without bindings; a metallib is then not disassembled
    #[arg(long)]
    pub names: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What `softmetal check` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// A line per kernel
    Text,
    /// One JSON object
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Workflow commands that annotate lines on GitHub
    Github,
    /// JUnit's XML, one test per kernel
    Junit,
}

/// `softmetal check`
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Metal sources and metallibs
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// How to read them
    #[command(flatten)]
    pub source: SourceArgs,
    /// Only this kernel (repeatable)
    #[arg(long)]
    pub kernel: Vec<String>,
    /// Also make machine code for every kernel
    #[arg(long)]
    pub codegen: bool,
    /// How to print: for people, or for a pipeline
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// The same as --format json
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
    /// Texture: I=FORMAT:WxH of zeros, or I=FORMAT:FILE.npy with rows, columns and components
    #[arg(long = "texture", value_name = "I=FORMAT:WHAT")]
    pub textures: Vec<String>,
    /// Sampler: I=WORD,… of nearest, linear, mip_nearest, mip_linear, edge, repeat, mirror, zero, pixel
    #[arg(long = "sampler", value_name = "I=WORDS")]
    pub samplers: Vec<String>,
    /// Write texture I to a .npy file
    #[arg(long = "texture-out", value_name = "I=FILE.npy")]
    pub texture_out: Vec<String>,
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
    /// Compute as exactly as a CPU: keep denormals, no errors of fast maths, no garbage in memory without a value
    #[arg(long)]
    pub exact: bool,
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
    /// Run the kernel in a process of its own, with limits on memory and time
    #[arg(long)]
    pub isolate: bool,
    /// Bytes that the process of --isolate may allocate, and write to a file
    #[arg(long, value_name = "BYTES", default_value_t = 4 << 30)]
    pub isolate_memory: u64,
    /// Bytes of an array that --arg makes
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 30)]
    pub array_limit: usize,
    /// Lanes per simdgroup, where the family leaves a choice
    #[arg(long)]
    pub simd_width: Option<u32>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `softmetal test`
#[derive(Debug, Args)]
pub struct TestArgs {
    /// The cases
    #[arg(default_value = "softmetal.toml")]
    pub file: PathBuf,
    /// Only cases whose name contains this
    #[arg(long)]
    pub filter: Option<String>,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}
