//! Translation of AIR text to LLVM text for this machine.
//!
//! The module stays as Apple's compiler left it, except for what a GPU has and a CPU lacks:
//! - all address spaces are merged into one; threadgroup variables are allocated in the memory of the running group;
//! - function constants are replaced by their values, which LLVM then folds;
//! - `air.*` functions get definitions, and calls that synchronise lanes get their line numbers, as calls in source
//!   do;
//! - with the checker on, every access is instrumented with its line of the disassembly.

use super::debug::Debug;
use super::groups::GroupVariables;
use super::intrinsics::{Declared, define};
use super::reflect::Kernel;
use super::text::{closing, first_type, globals, list, name_end, unquoted};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt::Write;

/// Options of a translation.
#[derive(Debug, Clone)]
pub struct Options<'a> {
    /// Values of function constants in LLVM's spelling, by symbol; others are zero.
    pub constants: &'a FxHashMap<String, String>,
    /// Whether accesses call the device.
    pub checked: bool,
    /// The file that holds the disassembly, for messages.
    pub file: &'a str,
    /// Suffix of the symbols.
    pub suffix: &'a str,
}

/// A module for this machine.
#[derive(Debug)]
pub struct Translated {
    /// LLVM text.
    pub text: String,
    /// Whether threads of a group meet, so that each needs a stack of its own.
    pub meets: bool,
}

/// Translates the disassembly of a kernel's module. Fails with the intrinsics that are not known.
pub fn translate(air: &str, kernel: &Kernel, options: &Options<'_>) -> Result<Translated, String> {
    let mut t = Translation {
        kernel,
        options,
        groups: GroupVariables::find(air),
        debug: Debug::new(air, options.checked, options.file),
        declared: Vec::new(),
        external: FxHashSet::default(),
        initialisers: Vec::new(),
        types: Vec::new(),
        function: None,
        text: String::with_capacity(air.len() + air.len() / 4),
    };
    t.text.push_str(&t.groups.storage());
    for (number, line) in air.lines().enumerate() {
        t.line(line, number + 1);
    }
    t.finish()
}

/// The function that is being read: its first line, and its body so far.
struct Open {
    head: String,
    body: String,
    uses_groups: bool,
    hoisted: String,
}

struct Translation<'a> {
    kernel: &'a Kernel,
    options: &'a Options<'a>,
    groups: GroupVariables,
    debug: Debug,
    declared: Vec<Declared>,
    external: FxHashSet<String>,
    initialisers: Vec<String>,
    types: Vec<String>,
    function: Option<Open>,
    text: String,
}

impl Translation<'_> {
    fn line(&mut self, line: &str, number: usize) {
        if self.function.is_some() {
            return self.body_line(line, number);
        }
        let head = line.split([' ', '=']).next().unwrap_or("");
        match head {
            "define" => self.open(line, number),
            "declare" => self.declaration(&one_space(line)),
            "attributes" => self.attributes(line),
            "target" | "source_filename" | ";" => {}
            _ if line.starts_with('@') => self.global(line),
            _ if line.starts_with('!') => self.metadata(line),
            _ => self.push(line),
        }
    }

    fn push(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn global(&mut self, line: &str) {
        let name = unquoted(&line[..name_end(line, 1)]);
        if name == "llvm.global_ctors" {
            let entries = globals(&line[1..]).map(|(_, g)| g.to_string());
            self.initialisers.extend(entries);
        } else if self.groups.contains(name) || matches!(name, "llvm.compiler.used" | "llvm.used") {
            // The first live in the group's memory; the others keep what only Apple's tools read.
        } else if self.kernel.constants.iter().any(|c| c.symbol == name) {
            let ty = line
                .split(" constant ")
                .nth(1)
                .or_else(|| line.split(" global ").nth(1))
                .map_or("i8", first_type);
            let value = self.options.constants.get(name).map_or("zeroinitializer", String::as_str);
            let _ = writeln!(self.text, "@{} = internal constant {ty} {value}", quoted(name));
        } else {
            let line = without_section(&one_space(line));
            self.push(&line);
        }
    }

    fn declaration(&mut self, line: &str) {
        if let Some(declared) = Declared::parse(line) {
            if !self.declared.contains(&declared) {
                self.declared.push(declared);
            }
            return;
        }
        let name = globals(line).next().map_or("", |g| g.1).to_string();
        if self.external.insert(name) {
            self.push(line);
        }
    }

    fn attributes(&mut self, line: &str) {
        let mut extra = String::new();
        if self.options.checked {
            extra.push_str(" sanitize_thread");
        }
        if self.kernel.flushes_denormals {
            extra.push_str(" \"denormal-fp-math-f32\"=\"preserve-sign,preserve-sign\"");
        }
        self.push(&line.replacen(" }", &format!("{extra} }}"), 1));
    }

    fn metadata(&mut self, line: &str) {
        let name = line[1..].split(' ').next().unwrap_or("");
        if self.debug.owns(name) || name.starts_with("air.") || name == "llvm.ident" {
            return;
        }
        let mut line = one_space(line);
        if line.contains('@') {
            let kernel = format!("@{}", quoted(&self.kernel.symbol));
            line = line.replace(&format!("{kernel},"), "@softmetal_kernel,");
            line = self.groups.forgotten(&line);
        }
        self.push(&line);
    }

    /// Every function is the module's own; the kernel gets a name that no library has.
    fn open(&mut self, line: &str, number: usize) {
        let line = without_section(&one_space(line));
        let Some(at) = line.find('@') else { return };
        let end = name_end(&line, at + 1);
        let name = unquoted(&line[at..end]);
        let is_kernel = name == self.kernel.symbol;
        if is_kernel && let Some(close) = closing(&line, end) {
            self.types = list(&line[end + 1..close - 1]).iter().map(|p| first_type(p).to_string()).collect();
        }
        let new_name = if is_kernel { "softmetal_kernel".to_string() } else { quoted(name) };
        let result: Vec<&str> =
            line["define ".len()..at].split(' ').filter(|w| !LINKAGE.contains(w)).collect();
        let mut rest = line[end..].trim_end_matches('{').replace(" comdat", "");
        rest.push_str(&self.debug.function(&self.kernel.symbol, number));
        let head = format!("define internal {}@{new_name}{rest} {{\n", result.join(" "));
        self.function = Some(Open { head, body: String::new(), uses_groups: false, hoisted: String::new() });
    }

    fn body_line(&mut self, line: &str, number: usize) {
        if line == "}" {
            self.close();
            return;
        }
        let mut line = one_space(line);
        if line.contains("@air.") {
            line = placed(&line, number);
        }
        let Some(open) = self.function.as_mut() else { return };
        if line.contains('@') && self.groups.replace(&mut line, &mut open.hoisted) {
            open.uses_groups = true;
        }
        self.debug.mark(&mut line, number);
        open.body.push_str(&line);
        open.body.push('\n');
    }

    fn close(&mut self) {
        let Some(open) = self.function.take() else { return };
        self.text.push_str(&open.head);
        if open.uses_groups {
            self.text.push_str(&self.groups.prologue());
            self.text.push_str(&open.hoisted);
        }
        self.text.push_str(&open.body);
        self.text.push_str("}\n");
    }

    fn finish(mut self) -> Result<Translated, String> {
        let mut unknown: Vec<String> = Vec::new();
        for declared in std::mem::take(&mut self.declared) {
            match define(&declared, self.options.checked) {
                Some(definition) => self.definition(&definition),
                None => unknown.push(format!("air.{}", declared.name)),
            }
            self.declared.push(declared);
        }
        if !unknown.is_empty() {
            let plural = if unknown.len() == 1 { "intrinsic" } else { "intrinsics" };
            return Err(format!(
                "it uses the {plural} {}, which SoftMetal does not know",
                unknown.join(", ")
            ));
        }
        if self.types.len() != self.kernel.parameters.len() {
            return Err(format!(
                "its metadata names {} parameters, and its function has {}",
                self.kernel.parameters.len(),
                self.types.len()
            ));
        }
        let suffix = self.options.suffix;
        let file: String = self
            .options
            .file
            .bytes()
            .filter(|b| b.is_ascii_graphic() && *b != b'"')
            .map(char::from)
            .collect();
        let _ = writeln!(
            self.text,
            "@softmetal_file = private constant [{} x i8] c\"{file}\\00\"",
            file.len() + 1
        );
        self.text.push_str(&self.groups.size(suffix));
        self.initialiser();
        self.text.push_str(&super::launch::launch(self.kernel, &self.types, suffix));
        let footer = self.debug.footer();
        self.text.push_str(&footer);
        let meets = self.declared.iter().any(Declared::meets);
        Ok(Translated { text: self.text, meets })
    }

    /// Declarations in front of a definition may be known already.
    fn definition(&mut self, definition: &str) {
        for line in definition.lines() {
            let name = line.strip_prefix("declare ").and_then(|l| globals(l).next()).map(|g| g.1.to_string());
            if name.is_none_or(|n| self.external.insert(n)) {
                self.push(line);
            }
        }
    }

    /// Function constants first, then what depends on them.
    fn initialiser(&mut self) {
        let calls: String = self.initialisers.iter().map(|f| format!("  call void {f}()\n")).collect();
        let _ = write!(
            self.text,
            "define internal void @softmetal_initialise() nounwind {{\n{calls}  call void @softmetal_activate()\n  ret void\n}}\n\
             @llvm.global_ctors = appending global [1 x {{ i32, ptr, ptr }}] [{{ i32, ptr, ptr }} {{ i32 65535, ptr @softmetal_initialise, ptr null }}]\n"
        );
        if self.groups.is_used() && self.external.insert("@softmetal_air_group_memory".into()) {
            self.push("declare ptr @softmetal_air_group_memory()");
        }
    }
}

/// Words between `define` and the return type that say where a function is visible.
const LINKAGE: &[&str] = &[
    "private",
    "internal",
    "weak",
    "weak_odr",
    "linkonce",
    "linkonce_odr",
    "external",
    "hidden",
    "protected",
    "default",
    "dso_local",
];

/// A name for behind the sigil, in quotes where it needs them.
fn quoted(name: &str) -> String {
    if name_end(name, 0) == name.len() { name.to_string() } else { format!("\"{name}\"") }
}

/// The line in one address space.
fn one_space(line: &str) -> String {
    let mut out = line.to_string();
    if out.contains("addrspace") {
        for space in 1..=3 {
            out = out.replace(&format!(" addrspace({space})"), "");
        }
        out = out.replace("addrspacecast", "bitcast");
    }
    if out.contains("@llvm.") {
        for space in 1..=3 {
            out = out.replace(&format!(".p{space}."), ".p0.").replace(&format!(".p{space}("), ".p0(");
        }
    }
    out
}

fn without_section(line: &str) -> String {
    let Some(at) = line.find(" section \"") else { return line.to_string() };
    let from = if line[..at].ends_with(',') { at - 1 } else { at };
    let end = line[at + 10..].find('"').map_or(line.len(), |i| at + 11 + i);
    format!("{}{}", &line[..from], &line[end..])
}

/// Appends the place to the arguments of a call in which lanes meet.
fn placed(line: &str, number: usize) -> String {
    let Some((at, name)) = globals(line).find(|(_, g)| g.starts_with("@air.")) else {
        return line.to_string();
    };
    let probe =
        Declared { name: name["@air.".len()..].to_string(), result: String::new(), parameters: Vec::new() };
    let open = at + name.len();
    let (true, Some(close)) = (probe.meets(), closing(line, open)) else { return line.to_string() };
    let comma = if close - open > 2 { ", " } else { "" };
    // As in source: the line, and a column in the lowest ten bits.
    let site = (number as u32) << 10 | 1;
    format!("{}{comma}ptr @softmetal_file, i32 {site}{}", &line[..close - 1], &line[close - 1..])
}
