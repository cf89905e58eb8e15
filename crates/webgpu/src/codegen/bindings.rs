//! The bindings of a shader, and the accessors through which its code reads and writes them.

use super::wgsl::Wgsl;
use std::fmt::Write;
use wootz_gpu::{Access, Bound, Code, Opened};

/// One storage binding: a range of something.
#[derive(Clone, Copy, Debug)]
pub struct StorageBinding {
    /// What is bound.
    pub bound: Bound,
    /// Offset in bytes.
    pub offset: usize,
    /// Size in bytes.
    pub bytes: usize,
    /// Whether the shader only reads it.
    pub read_only: bool,
}

/// The bindings of everything that code has opened, with their declarations and accessors. Large buffers are bound in several
/// windows of `max_binding` bytes.
pub(super) fn declare(code: &Code<'_, Wgsl>, max_binding: usize) -> (Vec<StorageBinding>, String) {
    // Scratch is one piece of memory: where some of it is written, none of it may be bound read-only.
    let writes_scratch =
        code.opened.iter().any(|o| o.access != Access::Read && o.bound.is_scratch(code.plan));
    let (mut bindings, mut text) = (Vec::new(), String::new());
    for (k, opened) in code.opened.iter().enumerate() {
        let element = match (opened.bound, opened.access) {
            (Bound::Faults, _) | (_, Access::Atomic) => "atomic<u32>",
            _ if opened.quads => "vec4<u32>",
            _ => "u32",
        };
        // Whole quads: memory is handed out in larger pieces than that.
        let bytes = opened.bytes.next_multiple_of(16).max(16);
        let windows = bytes.div_ceil(max_binding);
        let read_only =
            opened.access == Access::Read && !(writes_scratch && opened.bound.is_scratch(code.plan));
        let mode = if read_only { "read" } else { "read_write" };
        for w in 0..windows {
            let (slot, offset) = (bindings.len() + 2, w * max_binding);
            let _ =
                writeln!(text, "@group(0) @binding({slot}) var<storage, {mode}> b{k}_{w}: array<{element}>;");
            let bytes = (bytes - offset).min(max_binding);
            bindings.push(StorageBinding { bound: opened.bound, offset, bytes, read_only });
        }
        let words = max_binding / 4;
        text.push_str(&match opened.quads {
            true => quad_accessors(k, opened, windows, words / 4),
            false => word_accessors(k, opened, windows, words),
        });
    }
    (bindings, text)
}

/// One statement per window of `span` elements, the last without a condition. `index` is what elements are counted by.
fn each(windows: usize, span: usize, index: &str, statement: &dyn Fn(usize, String) -> String) -> String {
    let mut out = String::new();
    for w in 0..windows {
        let own = if w == 0 { index.to_string() } else { format!("{index} - {}u", w * span) };
        if w + 1 < windows {
            let limit = (w + 1) * span;
            let _ = writeln!(out, "    if {index} < {limit}u {{\n        {}\n    }}", statement(w, own));
        } else {
            let _ = writeln!(out, "    {}", statement(w, own));
        }
    }
    out
}

fn word_accessors(k: usize, opened: &Opened, windows: usize, span: usize) -> String {
    let each = |statement: &dyn Fn(usize, String) -> String| each(windows, span, "i", statement);
    let get = each(&|w, i| match opened.access {
        Access::Atomic => format!("return atomicLoad(&b{k}_{w}[{i}]);"),
        Access::Read | Access::Write => format!("return b{k}_{w}[{i}];"),
    });
    let mut out = format!("fn g{k}(i: u32) -> u32 {{\n{get}}}\n");
    match opened.access {
        Access::Read => {}
        Access::Write => {
            let set = each(&|w, i| format!("b{k}_{w}[{i}] = v; return;"));
            let _ = writeln!(out, "fn s{k}(i: u32, v: u32) {{\n{set}}}");
        }
        Access::Atomic => {
            let mix = each(&|w, i| {
                format!("atomicAnd(&b{k}_{w}[{i}], keep); atomicOr(&b{k}_{w}[{i}], bits); return;")
            });
            let _ = writeln!(out, "fn m{k}(i: u32, keep: u32, bits: u32) {{\n{mix}}}");
            let add = each(&|w, i| format!("return atomicAdd(&b{k}_{w}[{i}], v);"));
            let _ = writeln!(out, "fn a{k}(i: u32, v: u32) -> u32 {{\n{add}}}");
            let swap =
                each(&|w, i| format!("return atomicCompareExchangeWeak(&b{k}_{w}[{i}], was, v).exchanged;"));
            let _ = writeln!(out, "fn x{k}(i: u32, was: u32, v: u32) -> bool {{\n{swap}}}");
        }
    }
    out
}

fn quad_accessors(k: usize, opened: &Opened, windows: usize, span: usize) -> String {
    let each =
        |index: &str, statement: &dyn Fn(usize, String) -> String| each(windows, span, index, statement);
    let word = each("at", &|w, at| format!("return b{k}_{w}[{at}][i & 3u];"));
    let quad = each("i", &|w, i| format!("return b{k}_{w}[{i}];"));
    let mut out = format!("fn g{k}(i: u32) -> u32 {{\n    let at = i >> 2u;\n{word}}}\n");
    let _ = writeln!(out, "fn q{k}(i: u32) -> vec4<u32> {{\n{quad}}}");
    if opened.access == Access::Write {
        let set = each("i", &|w, i| format!("b{k}_{w}[{i}] = v; return;"));
        let _ = writeln!(out, "fn t{k}(i: u32, v: vec4<u32>) {{\n{set}}}");
    }
    out
}
