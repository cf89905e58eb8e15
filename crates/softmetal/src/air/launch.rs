//! The LLVM text that starts a kernel: one thread on its own stack, or all threads of a group in a loop.
//!
//! Both call `softmetal_call`, which takes a group and a position and computes each parameter; `exec/abi.rs` has the structs.

use super::reflect::{Kernel, Parameter};
use crate::source::binding::BindingKind;
use std::fmt::Write;

/// Mirrors `GroupInfo`: buffers, offsets, memory, five triples, width and thread count.
const GROUP: &str =
    "{ [31 x ptr], [31 x i32], ptr, [3 x i32], [3 x i32], [3 x i32], [3 x i32], [3 x i32], i32, i32 }";
const OFFSETS: u32 = 1;
const MEMORY: u32 = 2;
const GROUP_POSITION: u32 = 3;
const GROUPS_PER_GRID: u32 = 4;
const THREADS_PER_GROUP: u32 = 5;
const NOMINAL_THREADS: u32 = 6;
const THREADS_PER_GRID: u32 = 7;
const SIMD_WIDTH: u32 = 8;
const THREAD_COUNT: u32 = 9;

/// The definitions behind a translated module. `types` are the kernel's parameter types, `suffix` ends the symbols' names.
pub fn launch(kernel: &Kernel, types: &[String], suffix: &str) -> String {
    let mut s = String::from("\n");
    arguments(&mut s, kernel, suffix);
    let mut call = Call { text: String::new(), next: 0 };
    let values: Vec<String> = kernel
        .parameters
        .iter()
        .zip(types)
        .map(|(p, ty)| format!("{ty} {}", call.parameter(p, ty)))
        .collect();
    let _ = write!(
        s,
        "define internal void @softmetal_call(ptr %g, i32 %x, i32 %y, i32 %z) alwaysinline nounwind {{\n{}  call void @softmetal_kernel({})\n  ret void\n}}\n",
        call.text,
        values.join(", ")
    );
    let _ = write!(
        s,
        "define void @softmetal_lane{suffix}(ptr %l) nounwind {{
  %g = load ptr, ptr %l
  %px = getelementptr i8, ptr %l, i64 8
  %py = getelementptr i8, ptr %l, i64 12
  %pz = getelementptr i8, ptr %l, i64 16
  %x = load i32, ptr %px
  %y = load i32, ptr %py
  %z = load i32, ptr %pz
  call void @softmetal_call(ptr %g, i32 %x, i32 %y, i32 %z)
  ret void
}}
define void @softmetal_group{suffix}(ptr %g) nounwind {{
entry:
  %p = getelementptr {GROUP}, ptr %g, i32 0, i32 {THREADS_PER_GROUP}
  %py = getelementptr i8, ptr %p, i64 4
  %pz = getelementptr i8, ptr %p, i64 8
  %nx = load i32, ptr %p
  %ny = load i32, ptr %py
  %nz = load i32, ptr %pz
  br label %thread
thread:
  %x = phi i32 [ 0, %entry ], [ %x1, %thread ], [ 0, %line ], [ 0, %plane ]
  %y = phi i32 [ 0, %entry ], [ %y, %thread ], [ %y1, %line ], [ 0, %plane ]
  %z = phi i32 [ 0, %entry ], [ %z, %thread ], [ %z, %line ], [ %z1, %plane ]
  call void @softmetal_call(ptr %g, i32 %x, i32 %y, i32 %z)
  %x1 = add i32 %x, 1
  %more = icmp ult i32 %x1, %nx
  br i1 %more, label %thread, label %line
line:
  %y1 = add i32 %y, 1
  %morey = icmp ult i32 %y1, %ny
  br i1 %morey, label %thread, label %plane
plane:
  %z1 = add i32 %z, 1
  %morez = icmp ult i32 %z1, %nz
  br i1 %morez, label %thread, label %end
end:
  ret void
}}
"
    );
    s
}

/// Sizes of what arguments point to. Whether one exists is decided when the library is loaded, behind the function constants.
fn arguments(s: &mut String, kernel: &Kernel, suffix: &str) {
    let rows: String = kernel
        .parameters
        .iter()
        .map(|p| {
            format!("{{ i32, i32, i32 }} {{ i32 {}, i32 {}, i32 {} }}, ", p.size, p.align, u8::from(p.used))
        })
        .collect();
    let count = kernel.parameters.len() + 1;
    let _ = writeln!(
        s,
        "@softmetal_arguments{suffix} = global [{count} x {{ i32, i32, i32 }}] [{rows}{{ i32, i32, i32 }} zeroinitializer]"
    );
    let _ = writeln!(s, "define internal void @softmetal_activate() nounwind {{");
    for (i, p) in kernel.parameters.iter().enumerate() {
        let Some(predicate) = p.predicate.as_ref().filter(|_| p.used) else { continue };
        let _ = write!(
            s,
            "  %b{i} = load i8, ptr @\"{predicate}\"\n  %s{i} = icmp ne i8 %b{i}, 0\n  %w{i} = zext i1 %s{i} to i32\n  \
             %a{i} = getelementptr i32, ptr @softmetal_arguments{suffix}, i32 {}\n  store i32 %w{i}, ptr %a{i}\n",
            3 * i + 2
        );
    }
    s.push_str("  ret void\n}\n");
}

/// The body of `softmetal_call`.
struct Call {
    text: String,
    next: u32,
}

impl Call {
    fn op(&mut self, instruction: impl std::fmt::Display) -> String {
        let name = format!("%v{}", self.next);
        self.next += 1;
        let _ = writeln!(self.text, "  {name} = {instruction}");
        name
    }

    fn field(&mut self, field: u32) -> String {
        self.op(format!("getelementptr {GROUP}, ptr %g, i32 0, i32 {field}"))
    }

    fn scalar(&mut self, field: u32) -> String {
        let at = self.field(field);
        self.op(format!("load i32, ptr {at}"))
    }

    fn triple(&mut self, field: u32) -> [String; 3] {
        let at = self.field(field);
        [0, 4, 8].map(|offset| {
            let p = self.op(format!("getelementptr i8, ptr {at}, i64 {offset}"));
            self.op(format!("load i32, ptr {p}"))
        })
    }

    fn parameter(&mut self, p: &Parameter, ty: &str) -> String {
        let index = p.binding.index;
        match p.binding.kind {
            BindingKind::Buffer | BindingKind::Constant => {
                let at = self.op(format!("getelementptr ptr, ptr %g, i32 {index}"));
                self.op(format!("load ptr, ptr {at}"))
            }
            BindingKind::Threadgroup => {
                let base = self.field(MEMORY);
                let base = self.op(format!("load ptr, ptr {base}"));
                let offsets = self.field(OFFSETS);
                let at = self.op(format!("getelementptr i32, ptr {offsets}, i32 {index}"));
                let offset = self.op(format!("load i32, ptr {at}"));
                self.op(format!("getelementptr i8, ptr {base}, i32 {offset}"))
            }
            // Reflection refuses them, and names the parameter.
            BindingKind::Texture | BindingKind::Sampler => "null".into(),
            BindingKind::Builtin => {
                let components = self.builtin(&p.binding.attribute);
                self.shaped(&components, ty)
            }
        }
    }

    fn combine(&mut self, operation: &str, a: [String; 3], b: [String; 3]) -> [String; 3] {
        let [a0, a1, a2] = a;
        let [b0, b1, b2] = b;
        [(a0, b0), (a1, b1), (a2, b2)].map(|(a, b)| self.op(format!("{operation} i32 {a}, {b}")))
    }

    /// Divides, rounding up.
    fn groups_of(&mut self, count: &str, size: &str) -> String {
        let above = self.op(format!("add i32 {count}, {size}"));
        let above = self.op(format!("sub i32 {above}, 1"));
        self.op(format!("udiv i32 {above}, {size}"))
    }

    fn index(&mut self) -> String {
        let [nx, ny, _] = self.triple(THREADS_PER_GROUP);
        let plane = self.op(format!("mul i32 %z, {ny}"));
        let line = self.op(format!("add i32 {plane}, %y"));
        let line = self.op(format!("mul i32 {line}, {nx}"));
        self.op(format!("add i32 {line}, %x"))
    }

    fn nominal_count(&mut self) -> String {
        let [a, b, c] = self.triple(NOMINAL_THREADS);
        let ab = self.op(format!("mul i32 {a}, {b}"));
        self.op(format!("mul i32 {ab}, {c}"))
    }

    /// One component, or three. The names are those of [`crate::source::binding::BUILTINS`].
    fn builtin(&mut self, attribute: &str) -> Vec<String> {
        let position = ["%x", "%y", "%z"].map(String::from);
        match attribute {
            "thread_position_in_grid" => {
                let (group, nominal) = (self.triple(GROUP_POSITION), self.triple(NOMINAL_THREADS));
                let origin = self.combine("mul", group, nominal);
                self.combine("add", origin, position).into()
            }
            "thread_position_in_threadgroup" => position.into(),
            "threadgroup_position_in_grid" => self.triple(GROUP_POSITION).into(),
            "threadgroups_per_grid" => self.triple(GROUPS_PER_GRID).into(),
            "threads_per_grid" | "grid_size" => self.triple(THREADS_PER_GRID).into(),
            "threads_per_threadgroup" => self.triple(THREADS_PER_GROUP).into(),
            "dispatch_threads_per_threadgroup" => self.triple(NOMINAL_THREADS).into(),
            "thread_index_in_threadgroup" => vec![self.index()],
            "threads_per_simdgroup" | "thread_execution_width" => vec![self.scalar(SIMD_WIDTH)],
            "thread_index_in_simdgroup" | "simdgroup_index_in_threadgroup" => {
                let (index, width) = (self.index(), self.scalar(SIMD_WIDTH));
                let divide = if attribute.starts_with("thread_") { "urem" } else { "udiv" };
                vec![self.op(format!("{divide} i32 {index}, {width}"))]
            }
            "thread_index_in_quadgroup" | "quadgroup_index_in_threadgroup" => {
                let index = self.index();
                let divide = if attribute.starts_with("thread_") { "urem" } else { "udiv" };
                vec![self.op(format!("{divide} i32 {index}, 4"))]
            }
            "simdgroups_per_threadgroup" => {
                let (count, width) = (self.scalar(THREAD_COUNT), self.scalar(SIMD_WIDTH));
                vec![self.groups_of(&count, &width)]
            }
            "quadgroups_per_threadgroup" => {
                let count = self.scalar(THREAD_COUNT);
                vec![self.groups_of(&count, "4")]
            }
            "dispatch_simdgroups_per_threadgroup" => {
                let (count, width) = (self.nominal_count(), self.scalar(SIMD_WIDTH));
                vec![self.groups_of(&count, &width)]
            }
            "dispatch_quadgroups_per_threadgroup" => {
                let count = self.nominal_count();
                vec![self.groups_of(&count, "4")]
            }
            // The origin of the grid.
            _ => vec!["0".into(); 3],
        }
    }

    /// Components as the scalar or vector that the kernel takes.
    fn shaped(&mut self, components: &[String], ty: &str) -> String {
        let (lanes, element) = super::text::vector(ty);
        let mut value = "poison".to_string();
        for (i, component) in components.iter().take(lanes).enumerate() {
            let part = if element == "i32" {
                component.clone()
            } else {
                let word = if element == "i64" { "zext" } else { "trunc" };
                self.op(format!("{word} i32 {component} to {element}"))
            };
            if lanes == 1 {
                return part;
            }
            value = self.op(format!("insertelement {ty} {value}, {element} {part}, i32 {i}"));
        }
        value
    }
}
