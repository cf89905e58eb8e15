//! Runs clang: preprocess a source, precompile the shim, compile a kernel.

use super::cache::{Cache, key};
use super::module::Code;
use super::{preprocessed, shim};
use crate::error::{Error, Result};
use crate::source::position;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How a kernel is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mode {
    /// Every load and store calls the device.
    pub instrumented: bool,
    /// Contract and reorder as Metal's fast maths may.
    pub fast_math: bool,
    /// Floating-point operations are counted.
    pub counting: bool,
    /// The GPU family has simdgroup matrices.
    pub simdgroup_matrix: bool,
    /// Fast maths is as far off as Metal allows, and variables without a value hold garbage.
    pub hardware: bool,
}

/// A compiler with its cache.
#[derive(Debug)]
pub struct Compiler {
    pub(super) clang: PathBuf,
    pub(super) cache: Cache,
    pub(super) folder: PathBuf,
    identity: String,
}

/// The options of preprocessing.
#[derive(Debug, Clone, Default)]
pub struct Preprocess {
    /// Name of the source in messages.
    pub file_name: String,
    /// `NAME` or `NAME=VALUE`.
    pub defines: Vec<(String, String)>,
    /// Folders for `#include`.
    pub include_dirs: Vec<PathBuf>,
    /// `__METAL_VERSION__`, such as 310.
    pub version: u32,
}

impl Compiler {
    /// Finds clang and writes the shim into the cache.
    pub fn new(cache_dir: Option<&Path>) -> Result<Compiler> {
        let cache = Cache::open(cache_dir)?;
        let (clang, version) = find_clang(&cache)?;
        let swizzles: Vec<(String, String)> =
            (2..=4).map(|n| (format!("swizzle{n}.inc"), shim::swizzles(n))).collect();
        let headers = shim::HEADERS.iter().chain(shim::JUDGE);
        let all = headers.map(|h| h.1.as_bytes()).chain(swizzles.iter().map(|s| s.1.as_bytes()));
        let identity = key(all.chain([
            shim::MACROS.as_bytes(),
            shim::TENSOR.as_bytes(),
            shim::SIMD.as_bytes(),
            version.as_bytes(),
            target_flags().join(" ").as_bytes(),
        ]));
        let folder = cache.path(&format!("shim-{identity}"));
        for (name, text) in shim::HEADERS
            .iter()
            .chain(shim::JUDGE)
            .map(|h| (h.0, h.1))
            .chain(swizzles.iter().map(|s| (s.0.as_str(), s.1.as_str())))
        {
            cache.put(&folder.join(name), text.as_bytes())?;
        }
        cache.put(&folder.join("stubs/softmetal_macros.h"), shim::MACROS.as_bytes())?;
        cache.put(&folder.join("stubs/softmetal_simd.h"), shim::SIMD.as_bytes())?;
        for &name in shim::STUBS {
            cache.put(&folder.join("stubs").join(name), shim::stub(name).as_bytes())?;
        }
        Ok(Compiler { clang, cache, folder, identity })
    }

    /// A key that identifies the shim, the compiler and the machine.
    pub(super) fn identity(&self) -> &str {
        &self.identity
    }

    /// The source with all macros expanded and line markers kept; from the cache when no included file has changed.
    pub fn preprocess(&self, source: &str, p: &Preprocess) -> Result<String> {
        let path = self.preprocessed_path(source, p);
        if let Some(text) = self.known(&path) {
            return Ok(text);
        }
        let mut c = Command::new(&self.clang);
        c.args(self.preprocess_arguments(p));
        let out = run(c, Some(&named(source, p)))?;
        if !out.ok {
            return Err(self.compile_error(&out.stderr, "", (&p.file_name, source)));
        }
        // A record that could not be written is made again by whoever needs it.
        let _ = self.cache.remember(&path, &preprocessed::record(&out.stdout, &self.folder, &p.file_name));
        Ok(out.stdout)
    }

    /// A preprocessed source of the cache, if its included files are still the same.
    pub(super) fn known(&self, path: &Path) -> Option<String> {
        self.cache.recall(path).and_then(|t| preprocessed::fresh(&t))
    }

    /// Where the preprocessed source lies in the cache.
    pub(super) fn preprocessed_path(&self, source: &str, p: &Preprocess) -> PathBuf {
        let folder = std::env::current_dir().unwrap_or_default().display().to_string();
        let name = key([
            named(source, p).as_bytes(),
            self.identity.as_bytes(),
            self.preprocess_arguments(p).join("\0").as_bytes(),
            folder.as_bytes(),
        ]);
        self.cache.path("sources").join(&name[..2]).join(&name)
    }

    pub(super) fn preprocess_arguments(&self, p: &Preprocess) -> Vec<String> {
        let fixed = [
            "-E",
            "-x",
            "c++",
            "-std=gnu++17",
            "-undef",
            "-nostdinc",
            "-Wno-everything",
            "-fno-caret-diagnostics",
            "-fno-color-diagnostics",
            "-D__METAL__=1",
            "-D__clang__=1",
            "-D__HAVE_SIMDGROUP_MATRIX__=1",
            "-D__HAVE_SIMDGROUP_REDUCTION__=1",
            "-D__HAVE_ATOMIC_FLOAT__=1",
            "-D__HAVE_ATOMIC_ULONG_VOID__=1",
            "-D__HAVE_NATIVE_HALF__=1",
            "-U__ARM_NEON",
        ];
        let mut a: Vec<String> = fixed.iter().map(ToString::to_string).collect();
        a.push(format!("-D__METAL_VERSION__={}", p.version));
        a.push(format!("-D__cplusplus={}L", if p.version < 400 { 201_402 } else { 201_703 }));
        if p.version < 300 {
            a.push("-D__METAL_MACOS__=1".into());
        }
        if p.version >= 310 {
            a.push("-D__HAVE_BFLOAT__=1".into());
        }
        a.extend(p.defines.iter().map(|(name, value)| format!("-D{name}={value}")));
        for dir in &p.include_dirs {
            a.extend(["-I".into(), dir.display().to_string()]);
        }
        a.extend(["-isystem".into(), self.folder.join("stubs").display().to_string(), "-".into()]);
        a
    }

    /// Compiles C++ text to a shared library in the cache, or finds it there.
    pub fn compile(&self, text: &str, mode: Mode, main: (&str, &str)) -> Result<Code> {
        let name = self.code_name(text, mode);
        if let Some(code) = self.find(&name) {
            return Ok(code);
        }
        let path = self.library_path(&name);
        self.build(text, mode, &path).map_err(|e| match e {
            Failure::Refused(stderr) => self.compile_error(&stderr, text, main),
            Failure::Other(e) => e,
        })?;
        Ok(Code { path, suffix: String::new() })
    }

    /// The cache name of a text's code.
    pub(super) fn code_name(&self, text: &str, mode: Mode) -> String {
        let flags = flags(mode).join(" ");
        // Counted code has the flags of checked code, but is not the same.
        key([text.as_bytes(), self.identity.as_bytes(), flags.as_bytes(), &[u8::from(mode.counting)]])
    }

    pub(super) fn library_path(&self, name: &str) -> PathBuf {
        self.cache.path("kernels").join(&name[..2]).join(format!("{name}.so"))
    }

    /// Makes a shared library of C++ text.
    pub(super) fn build(&self, text: &str, mode: Mode, path: &Path) -> std::result::Result<(), Failure> {
        let pch = self.precompiled(mode).map_err(Failure::Other)?;
        let mut refused = None;
        let made = self.cache.make(path, |tmp| {
            let mut c = Command::new(&self.clang);
            c.args(flags(mode)).arg("-include-pch").arg(&pch).args(["-x", "c++", "-"]);
            if mode.counting {
                c.args(["-S", "-emit-llvm", "-o", "-"]);
            } else {
                c.args(["-shared", "-o"]).arg(tmp).args(LINK_FLAGS);
            }
            let out = run(c, Some(text))?;
            if !out.ok {
                refused = Some(out.stderr);
                return Err(Error::Tool { step: "clang", message: String::new() });
            }
            if mode.counting { self.link_counted(&out.stdout, tmp, None) } else { Ok(()) }
        });
        made.map_err(|e| refused.map_or(Failure::Other(e), Failure::Refused))
    }

    /// Adds counters to LLVM text and makes a library of it.
    pub(super) fn link_counted(&self, ir: &str, to: &Path, runtime: Option<&Path>) -> Result<()> {
        let mut c = Command::new(&self.clang);
        c.args(["-O1", "-fPIC", "-Wno-everything", "-x", "ir", "-", "-x", "none"])
            .args(runtime)
            .args(["-shared", "-o"])
            .arg(to)
            .args(target_flags())
            .args(LINK_FLAGS);
        let out = run(c, Some(&super::flops::instrument(ir)))?;
        if out.ok { Ok(()) } else { Err(Error::Tool { step: "compiling counted code", message: out.stderr }) }
    }

    /// Checks that C++ text is valid without making code; clang's messages where it is not.
    pub fn check(&self, text: &str, mode: Mode) -> Result<Option<String>> {
        let pch = self.precompiled(mode)?;
        let mut c = Command::new(&self.clang);
        c.args(flags(mode))
            .args(["-fsyntax-only", "-ferror-limit=0", "-include-pch"])
            .arg(&pch)
            .args(["-x", "c++", "-"]);
        let out = run(c, Some(text))?;
        Ok((!out.ok).then_some(out.stderr))
    }

    fn precompiled(&self, mode: Mode) -> Result<PathBuf> {
        let mut arguments = flags(mode);
        arguments.extend(["-x", "c++-header"]);
        self.precompiled_header(&arguments, "softmetal.h")
    }

    /// Makes a precompiled header in the cache, or finds it there.
    pub(super) fn precompiled_header(&self, arguments: &[&str], header: &str) -> Result<PathBuf> {
        let path = self.folder.join(format!("{}.pch", key([arguments.join(" ").as_bytes()])));
        if !self.cache.holds_for_tools(&path) {
            self.cache.make(&path, |tmp| {
                let mut c = Command::new(&self.clang);
                c.args(arguments).arg(self.folder.join(header)).arg("-o").arg(tmp);
                let out = run(c, None)?;
                if out.ok {
                    Ok(())
                } else {
                    Err(Error::Tool { step: "precompiling the shim", message: out.stderr })
                }
            })?;
        }
        Ok(path)
    }

    pub(crate) fn compile_error(&self, stderr: &str, text: &str, main: (&str, &str)) -> Error {
        let list = position::diagnostics(stderr, text, &self.folder, main);
        if list.is_empty() {
            return Error::Tool { step: "clang", message: stderr.trim().to_string() };
        }
        Error::Compile { diagnostics: list }
    }
}

/// The features of this machine's processor.
fn target_flags() -> Vec<&'static str> {
    [STACK_PROBES].into_iter().chain(processor_flag()).collect()
}

#[cfg(target_arch = "x86_64")]
fn processor_flag() -> Option<&'static str> {
    let modern = is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("f16c")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt");
    Some(if modern { "-march=x86-64-v3" } else { "-march=x86-64-v2" })
}

#[cfg(not(target_arch = "x86_64"))]
fn processor_flag() -> Option<&'static str> {
    None
}

/// Every page of a large frame is touched in order, so that an overflow meets the guard page and not other memory.
#[cfg(target_os = "linux")]
const STACK_PROBES: &str = "-fstack-clash-protection";
#[cfg(not(target_os = "linux"))]
const STACK_PROBES: &str = "-fno-stack-protector";

#[cfg(target_os = "macos")]
pub(super) const LINK_FLAGS: &[&str] = &[];
#[cfg(not(target_os = "macos"))]
pub(super) const LINK_FLAGS: &[&str] = &["-lm", "-Wl,-z,defs"];

pub(super) fn flags(mode: Mode) -> Vec<&'static str> {
    let mut f = vec![
        "-std=gnu++17",
        "-O2",
        "-fPIC",
        "-fvisibility=hidden",
        "-fdeclspec",
        "-fno-strict-aliasing",
        "-fno-exceptions",
        "-fno-rtti",
        "-fno-math-errno",
        "-fno-trapping-math",
        "-fwrapv",
        "-nostdinc",
        "-fno-caret-diagnostics",
        "-fno-color-diagnostics",
        "-Wno-everything",
        // What Apple refuses too.
        "-Werror=c++11-narrowing",
        "-Werror=vla-extension",
        "-Werror=zero-length-array",
        "-Werror=return-mismatch",
        "-Xclang",
        "-ffloat16-excess-precision=none",
        "-Xclang",
        "-fbfloat16-excess-precision=none",
        "-Xclang",
        "-cl-single-precision-constant",
        "-Xclang",
        "-fno-pch-timestamp",
    ];
    f.extend(target_flags());
    // Without fast maths Apple's compiler still fuses within an expression: its bitcode then has `llvm.fmuladd`.
    f.push(if mode.fast_math { "-ffp-contract=fast" } else { "-ffp-contract=on" });
    if mode.instrumented {
        f.extend([
            "-fsanitize=thread",
            "-gline-tables-only",
            "-gcolumn-info",
            "-fno-vectorize",
            "-fno-slp-vectorize",
            "-fno-unroll-loops",
            "-DSOFTMETAL_CHECK=1",
        ]);
        for option in [
            "-tsan-instrument-func-entry-exit=0",
            "-tsan-instrument-atomics=0",
            "-tsan-handle-cxx-exceptions=0",
            "-tsan-instrument-read-before-write=1",
            // It computes whole vectors to use one lane, which would count operations that nobody asked for.
            "-disable-vector-combine",
        ] {
            f.extend(["-mllvm", option]);
        }
        f.push("-nostdlib++");
        if !mode.counting {
            // An access outside of an array in thread memory traps; the device tells where.
            f.push("-fsanitize=local-bounds");
        }
    }
    if mode.hardware {
        f.extend(["-DSOFTMETAL_HARDWARE=1", "-ftrivial-auto-var-init=pattern"]);
        if mode.fast_math {
            f.push("-DSOFTMETAL_FAST_MATH=1");
        }
    }
    if !mode.simdgroup_matrix {
        f.push("-DSOFTMETAL_NO_SIMDGROUP_MATRIX=1");
    }
    f
}

/// Why no library was made.
pub(super) enum Failure {
    /// clang's messages about the text.
    Refused(String),
    /// Something else.
    Other(Error),
}

/// The source with its name for messages.
pub(super) fn named(source: &str, p: &Preprocess) -> String {
    format!("#line 1 \"{}\"\n{source}", p.file_name.replace('\\', "\\\\").replace('"', "\\\""))
}

pub(super) struct Output {
    pub ok: bool,
    pub stdout: String,
    pub stderr: String,
}

pub(super) fn run(mut c: Command, input: Option<&str>) -> Result<Output> {
    c.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let tool = |message: String| Error::Tool { step: "running clang", message };
    let mut child = c.spawn().map_err(|e| tool(e.to_string()))?;
    let writer = input.map(str::to_owned).zip(child.stdin.take()).map(|(text, mut pipe)| {
        std::thread::Builder::new().spawn(move || {
            // A clang that stops early closes the pipe; its own message says why.
            let _ = pipe.write_all(text.as_bytes());
        })
    });
    let writer = match writer.transpose() {
        Ok(writer) => writer,
        Err(e) => {
            // The pipe is closed, so it ends by itself; it is not left behind.
            let _ = child.wait();
            return Err(tool(format!("cannot start a thread for its input: {e}")));
        }
    };
    let out = child.wait_with_output().map_err(|e| tool(e.to_string()))?;
    if let Some(w) = writer {
        let _ = w.join();
    }
    Ok(Output {
        ok: out.status.success(),
        stdout: String::from_utf8_lossy(&out.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&out.stderr).into_owned(),
    })
}

/// The first clang of version 19 or newer; `SOFTMETAL_CLANG` decides alone when set.
fn find_clang(cache: &Cache) -> Result<(PathBuf, String)> {
    let chosen = std::env::var("SOFTMETAL_CLANG").ok().filter(|c| !c.is_empty());
    let names: Vec<String> = match &chosen {
        Some(c) => vec![c.clone()],
        None => ["clang-19", "clang-20", "clang-21", "clang"].map(String::from).to_vec(),
    };
    let mut tried = Vec::new();
    for name in names {
        match version_of(&name, cache) {
            Ok((path, text)) if major(&text).is_some_and(|m| m >= 19) => return Ok((path, text)),
            Ok((_, text)) => tried.push(format!("`{name}` is `{text}`")),
            Err(e) => tried.push(format!("`{name}`: {e}")),
        }
    }
    Err(Error::NoCompiler { tried: tried.join("; ") })
}

/// The path of a compiler and the first line of its version, remembered as long as its file does not change.
fn version_of(name: &str, cache: &Cache) -> std::io::Result<(PathBuf, String)> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let path = if name.contains('/') {
        PathBuf::from(name)
    } else {
        let found = std::env::split_paths(&folders).map(|d| d.join(name)).find(|p| p.is_file());
        found.ok_or_else(|| std::io::Error::from(std::io::ErrorKind::NotFound))?
    };
    let meta = std::fs::metadata(&path)?;
    let stamp = meta.modified()?.duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_nanos());
    let facts = format!("{} {} {stamp}", path.display(), meta.len());
    let memo = cache.path(&format!("clang-{}", key([facts.as_bytes()])));
    if let Some(text) = cache.recall(&memo) {
        return Ok((path, text));
    }
    let out = Command::new(&path).arg("--version").output()?;
    let text = String::from_utf8_lossy(&out.stdout).lines().next().unwrap_or("").to_string();
    // Without the memo the next process asks again; nothing else is lost.
    let _ = cache.remember(&memo, &text);
    Ok((path, text))
}

fn major(version: &str) -> Option<u32> {
    let rest = version.split("version ").nth(1)?;
    let number = rest.split('.').next()?.parse::<u32>().ok()?;
    // Apple's clang 17 is the first that is built from LLVM 19.
    Some(if version.starts_with("Apple") && number >= 17 { number + 2 } else { number })
}
