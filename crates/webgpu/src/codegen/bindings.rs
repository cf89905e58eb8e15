//! What a shader binds, and the accessors through which its code reads and writes it.

use super::{Access, Binding, Bound, Code};
use std::fmt::Write;
use wootz_plan::{BufferId, Place, Store};

/// Something bound, in one window or more.
pub(super) struct Opened {
    bound: Bound,
    access: Access,
    /// Position of its first window among the bindings.
    first: usize,
    windows: usize,
    /// Declared as quads of words instead of words.
    quads: bool,
}

impl Code<'_> {
    /// Binds something. Its accessors: `gN(i)` gets word `i`; with write access `sN(i, v)` sets it; with atomic access
    /// `mN(i, keep, bits)` replaces part of it. Large buffers are bound in several windows.
    pub fn open(&mut self, bound: Bound, bytes: usize, access: Access) -> usize {
        if let Some(k) = self.opened.iter().position(|o| o.bound == bound) {
            let same = self.opened[k].access == access || access == Access::Read;
            assert!(same, "a step uses a buffer in one way");
            return k;
        }
        // Whole quads: memory is handed out in larger pieces than that.
        let bytes = bytes.next_multiple_of(16).max(16);
        let windows = bytes.div_ceil(self.target.max_binding);
        let first = self.bindings.len();
        let read_only = access == Access::Read && !self.shares_written_memory(bound);
        for w in 0..windows {
            let offset = w * self.target.max_binding;
            let bytes = (bytes - offset).min(self.target.max_binding);
            self.bindings.push(Binding { bound, offset, bytes, read_only });
        }
        self.opened.push(Opened { bound, access, first, windows, quads: false });
        self.opened.len() - 1
    }

    /// Declares opened buffer `k` as quads of words: `qN(i)` gets quad `i`, and with write access `tN(i, v)` sets it, which
    /// then is the only way to write. Words can be read as before.
    pub fn as_quads(&mut self, k: usize) {
        assert!(self.opened[k].access != Access::Atomic, "atomics are words");
        self.opened[k].quads = true;
    }

    /// The declarations and accessors of everything opened.
    pub(super) fn declare(&mut self) {
        for (k, opened) in self.opened.iter().enumerate() {
            let element = match opened.access {
                Access::Atomic => "atomic<u32>",
                _ if opened.quads => "vec4<u32>",
                _ => "u32",
            };
            for w in 0..opened.windows {
                let slot = opened.first + w + 2;
                let mode = if self.bindings[opened.first + w].read_only { "read" } else { "read_write" };
                let _ = writeln!(
                    self.declarations,
                    "@group(0) @binding({slot}) var<storage, {mode}> b{k}_{w}: array<{element}>;"
                );
            }
            let words = self.target.max_binding / 4;
            self.declarations.push_str(&if opened.quads {
                quad_accessors(k, opened, words / 4)
            } else {
                word_accessors(k, opened, words)
            });
        }
    }

    /// Scratch is one piece of memory: where a step writes some of it, none of it may be bound read-only.
    fn shares_written_memory(&self, bound: Bound) -> bool {
        let in_scratch = |id: BufferId| matches!(self.plan.buffers[id as usize].place, Place::Scratch(_));
        let writes_scratch =
            self.step.writes().any(in_scratch) || crate::exec::temp_bytes(self.step, self.target) > 0;
        match bound {
            Bound::Plan(id) => writes_scratch && in_scratch(id),
            Bound::Temp(_) | Bound::Faults => true,
        }
    }

    /// The buffer of a load, opened.
    pub(super) fn open_load(&mut self, id: BufferId) -> usize {
        self.open(Bound::Plan(id), self.plan.buffers[id as usize].bytes, Access::Read)
    }

    /// Opens a store's buffer for writing.
    pub fn open_store(&mut self, store: &Store, access: Access) -> usize {
        let bytes = self.plan.buffers[store.buffer as usize].bytes;
        self.open(Bound::Plan(store.buffer), bytes, access)
    }
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

fn word_accessors(k: usize, opened: &Opened, span: usize) -> String {
    let each = |statement: &dyn Fn(usize, String) -> String| each(opened.windows, span, "i", statement);
    let get = each(&|w, i| match opened.access {
        Access::Atomic => format!("return atomicLoad(&b{k}_{w}[{i}]);"),
        _ => format!("return b{k}_{w}[{i}];"),
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

fn quad_accessors(k: usize, opened: &Opened, span: usize) -> String {
    let each = |index: &str, statement: &dyn Fn(usize, String) -> String| {
        each(opened.windows, span, index, statement)
    };
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
