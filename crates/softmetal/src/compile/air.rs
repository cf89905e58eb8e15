//! Runs LLVM on the kernels of a metallib: disassembles Apple's bitcode, and compiles the translated text.

use super::cache::key;
use super::clang::{Compiler, LINK_FLAGS, Mode, flags, run};
use super::shim;
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// LLVM's disassembler.
#[derive(Debug)]
pub struct Disassembler(PathBuf);

impl Disassembler {
    /// Finds it: `SOFTMETAL_LLVM_DIS`, or version 19 or newer on the path.
    pub fn find() -> Result<Disassembler> {
        tool("llvm-dis", "SOFTMETAL_LLVM_DIS").map(Disassembler)
    }

    /// The text of each module, or why it cannot be read.
    pub fn run(&self, modules: &[&[u8]]) -> Result<Vec<std::result::Result<String, String>>> {
        let folder = tempfile::tempdir().map_err(|e| Error::io(std::env::temp_dir(), &e))?;
        let path = |i: usize, end: &str| folder.path().join(format!("{i}.{end}"));
        for (i, module) in modules.iter().enumerate() {
            let file = path(i, "bc");
            std::fs::write(&file, module).map_err(|e| Error::io(&file, &e))?;
        }
        let mut rest: Vec<usize> = (0..modules.len()).collect();
        let mut out: Vec<std::result::Result<String, String>> =
            modules.iter().map(|_| Err("LLVM cannot read its bitcode".into())).collect();
        // The tool ends at the first module that it cannot read, and is started again behind it.
        while !rest.is_empty() {
            let mut c = Command::new(&self.0);
            c.args(rest.iter().map(|&i| path(i, "bc")));
            let result = run(c, None)?;
            let read = rest.iter().take_while(|&&i| path(i, "ll").exists()).count();
            for &i in &rest[..read] {
                out[i] = std::fs::read_to_string(path(i, "ll")).map(anonymous).map_err(|e| e.to_string());
            }
            if let Some(&bad) = rest.get(read) {
                let line = result.stderr.lines().find(|l| l.contains("error")).unwrap_or("").trim();
                out[bad] = Err(format!("LLVM cannot read its bitcode: {line}"));
            }
            rest.drain(..(read + 1).min(rest.len()));
        }
        Ok(out)
    }
}

/// Without the name of the temporary file in its first line, so that the same kernel is the same text each time.
fn anonymous(text: String) -> String {
    match text.split_once('\n') {
        Some((first, rest)) if first.starts_with("; ModuleID") => format!(";\n{rest}"),
        _ => text,
    }
}

impl Compiler {
    /// Makes a library of one translated kernel, or finds it in the cache.
    pub fn compile_air(&self, text: &str, mode: Mode) -> std::result::Result<PathBuf, String> {
        let name = self.code_name(text, mode);
        let path = self.library_path(&name);
        if path.exists() {
            return Ok(path);
        }
        let runtime = self.air_runtime(mode).map_err(|e| e.to_string())?;
        let mut refused = None;
        let made = self.cache.make(&path, |to| {
            let mut c = Command::new(&self.clang);
            c.args(air_flags(mode)).args(["-O2", "-x", "ir", "-"]);
            if mode.counting {
                c.args(["-S", "-emit-llvm", "-o", "-"]);
            } else {
                c.args(["-x", "none"]).arg(&runtime).args(["-shared", "-o"]).arg(to).args(LINK_FLAGS);
            }
            let out = run(c, Some(text))?;
            if !out.ok {
                refused = Some(first_error(&out.stderr));
                return Err(Error::Tool { step: "clang", message: String::new() });
            }
            if mode.counting { self.link_counted(&out.stdout, to, Some(&runtime)) } else { Ok(()) }
        });
        made.map(|()| path).map_err(|e| refused.unwrap_or_else(|| e.to_string()))
    }

    /// Makes native code of many kernels at once and forgets it; what is wrong with each that has none.
    pub fn check_air(&self, texts: &[&str], mode: Mode) -> Vec<Option<String>> {
        match self.object(texts, mode) {
            Ok(()) => texts.iter().map(|_| None).collect(),
            Err(message) if texts.len() == 1 => vec![Some(message)],
            Err(_) if texts.is_empty() => Vec::new(),
            // In halves, so that one bad kernel does not make all others expensive.
            Err(_) => {
                let (a, b) = texts.split_at(texts.len() / 2);
                [a, b].into_iter().flat_map(|half| self.check_air(half, mode)).collect()
            }
        }
    }

    fn object(&self, texts: &[&str], mode: Mode) -> std::result::Result<(), String> {
        if texts.is_empty() {
            return Ok(());
        }
        let fail = |e: std::io::Error| e.to_string();
        let folder = tempfile::tempdir().map_err(fail)?;
        let linker = tool("llvm-link", "SOFTMETAL_LLVM_LINK").map_err(|e| e.to_string())?;
        let all = folder.path().join("all.bc");
        let mut link = Command::new(linker);
        for (i, text) in texts.iter().enumerate() {
            let file = folder.path().join(format!("{i}.ll"));
            std::fs::write(&file, text).map_err(fail)?;
            link.arg(file);
        }
        link.arg("-o").arg(&all);
        let linked = run(link, None).map_err(|e| e.to_string())?;
        if !linked.ok {
            return Err(first_error(&linked.stderr));
        }
        let mut c = Command::new(&self.clang);
        c.args(air_flags(mode))
            .args(["-O1", "-x", "ir"])
            .arg(&all)
            .args(["-c", "-o"])
            .arg(folder.path().join("all.o"));
        let made = run(c, None).map_err(|e| e.to_string())?;
        if made.ok { Ok(()) } else { Err(first_error(&made.stderr)) }
    }

    /// The runtime library of `air.*` functions as an object file.
    fn air_runtime(&self, mode: Mode) -> Result<PathBuf> {
        let name = key([self.identity().as_bytes(), shim::AIR.as_bytes(), flags(mode).join(" ").as_bytes()]);
        let path = self.cache.path(&format!("air-{name}.o"));
        if !path.exists() {
            let source = self.folder.join("air.cpp");
            self.cache.put(&source, shim::AIR.as_bytes())?;
            self.cache.make(&path, |to| {
                let mut c = Command::new(&self.clang);
                c.args(flags(mode)).arg(&source).args(["-c", "-o"]).arg(to);
                let out = run(c, None)?;
                let fail =
                    |message| Error::Tool { step: "compiling the runtime library of metallibs", message };
                if out.ok { Ok(()) } else { Err(fail(out.stderr)) }
            })?;
        }
        Ok(path)
    }

    /// Keeps a disassembly for messages that point into it; gives its path.
    pub fn keep_disassembly(&self, kernel: &str, text: &str) -> Result<String> {
        let name = key([text.as_bytes()]);
        let plain: String =
            kernel.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(100).collect();
        let path = self.cache.path("air").join(&name[..8]).join(format!("{plain}.ll"));
        self.cache.put(&path, text.as_bytes())?;
        Ok(path.display().to_string())
    }

    /// Where it is noted that all of these modules became native code.
    pub fn air_verdict(&self, modules: impl Iterator<Item = String>, mode: Mode) -> PathBuf {
        let modules: Vec<String> = modules.collect();
        let name = key([
            modules.join(" ").as_bytes(),
            self.code_name(shim::AIR, mode).as_bytes(),
            CHECKED_BY.as_bytes(),
        ]);
        self.cache.path("air").join(&name[..2]).join(format!("{name}.ok"))
    }

    /// Notes it. Without the note the next run checks again; nothing else is lost.
    pub fn keep_air_verdict(&self, path: &Path) {
        let _ = self.cache.put(path, b"ok\n");
    }
}

/// A verdict counts for the translation that it was made with.
const CHECKED_BY: &str = concat!(
    include_str!("../air/translate.rs"),
    include_str!("../air/groups.rs"),
    include_str!("../air/launch.rs"),
    include_str!("../air/reflect.rs"),
    include_str!("../air/intrinsics/arithmetic.rs"),
    include_str!("../air/intrinsics/convert.rs"),
    include_str!("../air/intrinsics/matrix.rs"),
    include_str!("../air/intrinsics/memory.rs"),
    include_str!("../air/intrinsics/simd.rs"),
);

/// Those of source without fast maths: multiply-adds that Apple's compiler marked are fused, and no others.
fn air_flags(mode: Mode) -> Vec<&'static str> {
    flags(Mode { fast_math: false, ..mode }).into_iter().filter(|f| *f != "-O2").collect()
}

fn first_error(stderr: &str) -> String {
    let line = stderr.lines().find(|l| l.contains("error") || l.contains("undefined")).unwrap_or(stderr);
    format!("LLVM rejects its translation: {}", line.trim())
}

/// A tool of LLVM, in the version of the compiler.
fn tool(name: &'static str, variable: &str) -> Result<PathBuf> {
    if let Some(chosen) = std::env::var_os(variable).filter(|c| !c.is_empty()) {
        return Ok(chosen.into());
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let names = ["-19", "-20", "-21", ""].map(|version| format!("{name}{version}"));
    let found =
        names.iter().find_map(|n| std::env::split_paths(&folders).map(|d| d.join(n)).find(|p| p.is_file()));
    found.ok_or_else(|| Error::Tool {
        step: "reading a metallib",
        message: format!(
            "no `{name}` of LLVM 19 or newer; on Debian or Ubuntu install the package `llvm-19`, or set {variable} to its path"
        ),
    })
}
