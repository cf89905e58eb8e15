//! Line numbers for the checker: Apple ships kernels without debug information, so an access is reported at its line
//! of the disassembly.

use std::fmt::Write;

/// Debug information of one module while it is made.
#[derive(Debug)]
pub struct Debug {
    on: bool,
    file: String,
    /// Number of the file's node; unit, type and version follow it.
    first: usize,
    next: usize,
    scope: usize,
    nodes: String,
}

impl Debug {
    /// For a module's text; off unless the module is `checked` and has no debug information of its own.
    pub fn new(air: &str, checked: bool, file: &str) -> Debug {
        let on = checked && !air.contains("!DICompileUnit(");
        let numbers =
            air.lines().rev().filter_map(|l| l.strip_prefix('!')?.split(' ').next()?.parse::<usize>().ok());
        let first = numbers.max().map_or(0, |n| n + 1);
        Debug { on, file: file.to_string(), first, next: first + 4, scope: first, nodes: String::new() }
    }

    /// Whether a named list of metadata is replaced by ours.
    pub fn owns(&self, name: &str) -> bool {
        name == "llvm.module.flags" && self.on
    }

    /// What follows a function's attributes.
    pub fn function(&mut self, name: &str, line: usize) -> String {
        if !self.on {
            return String::new();
        }
        self.scope = self.next;
        self.next += 1;
        let first = self.first;
        let _ = writeln!(
            self.nodes,
            "!{} = distinct !DISubprogram(name: \"{}\", scope: !{first}, file: !{first}, line: {line}, type: !{}, spFlags: DISPFlagDefinition, unit: !{})",
            self.scope,
            name.replace(['"', '\\'], "_"),
            first + 2,
            first + 1
        );
        format!("!dbg !{}", self.scope)
    }

    /// Marks an instruction that reads, writes or calls.
    pub fn mark(&mut self, line: &mut String, number: usize) {
        let instruction = line.trim_start();
        let body = instruction
            .split_once(" = ")
            .filter(|_| instruction.starts_with('%'))
            .map_or(instruction, |p| p.1);
        let word = body.split(' ').next().unwrap_or("");
        if self.on
            && matches!(
                word,
                "load" | "store" | "call" | "tail" | "musttail" | "notail" | "atomicrmw" | "cmpxchg"
            )
        {
            let _ = write!(line, ", !dbg !{}", self.next);
            let _ = writeln!(
                self.nodes,
                "!{} = !DILocation(line: {number}, column: 1, scope: !{})",
                self.next, self.scope
            );
            self.next += 1;
        }
    }

    /// The nodes of file, unit, type and version, and the lines that were marked.
    pub fn footer(&self) -> String {
        if !self.on {
            return String::new();
        }
        let (file, unit, ty, version) = (self.first, self.first + 1, self.first + 2, self.first + 3);
        let name = self.file.replace(['"', '\\'], "_");
        format!(
            "!llvm.module.flags = !{{!{version}}}\n!llvm.dbg.cu = !{{!{unit}}}\n\
             !{file} = !DIFile(filename: \"{name}\", directory: \"\")\n\
             !{unit} = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !{file}, isOptimized: true, runtimeVersion: 0, emissionKind: LineTablesOnly)\n\
             !{ty} = !DISubroutineType(types: !{{}})\n\
             !{version} = !{{i32 2, !\"Debug Info Version\", i32 3}}\n{}",
            self.nodes
        )
    }
}
