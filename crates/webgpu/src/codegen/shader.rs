//! A builder of shaders, and the launch that it results in.

use super::bindings::{StorageBinding, declare};
use super::library;
use super::wgsl::{Wgsl, narrow_bits, per_word};
use std::borrow::Cow;
use std::fmt::Write;
use std::ops::{Deref, DerefMut};
use wootz_gpu::{Access, Bound, Code, Language, quads_of_layout};
use wootz_ir::{DType, Family, Layout, ScalarType};
use wootz_plan::{Capabilities, Plan, Source, Step};

const PARTS: [&str; 4] = ["x", "y", "z", "w"];

/// One launch: a shader and everything it is given.
#[derive(Debug)]
pub struct Launch {
    /// The whole text.
    pub source: String,
    /// The entry point in it.
    pub entry: Cow<'static, str>,
    /// Storage bindings, in order.
    pub bindings: Vec<StorageBinding>,
    /// Words of the uniform block.
    pub uniform: Vec<u32>,
    /// Scalar parameters of the plan that the code reads, in the order of its slots.
    pub params: Vec<u32>,
    /// Workgroups.
    pub groups: [u32; 3],
    /// Set where the text is a user's, bound and checked as such.
    pub(crate) user: Option<UserKernel>,
}

impl Launch {
    /// The binding number of the first storage binding: uniforms are before it, where the text is ours.
    pub(crate) fn first_slot(&self) -> usize {
        if self.user.is_some() { 0 } else { 2 }
    }
}

/// What a user's kernel has of its own.
#[derive(Debug)]
pub(crate) struct UserKernel {
    pub constants: Vec<(String, f64)>,
}

/// What shaders may rely on.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// The largest storage binding in bytes, a multiple of 256.
    pub max_binding: usize,
    /// Storage bindings that one shader may have.
    pub max_bindings: usize,
    /// Workgroups along one axis of the grid.
    pub max_groups: u32,
    /// The least and the most invocations of a subgroup, where shaders may use subgroups.
    pub subgroups: Option<(usize, usize)>,
    /// Subgroups have 32 invocations and multiply f32 matrices of 8×8 together.
    pub cooperative: bool,
    /// They also multiply such matrices of f16 and add up in f32.
    pub cooperative_halves: bool,
    /// The adapter is a CPU: memory accesses cost much more than registers, and workgroup memory is not faster than other memory.
    pub cpu: bool,
}

impl Facts {
    /// The least that WebGPU promises.
    pub const PROMISED: Facts = Facts {
        max_binding: 128 << 20,
        max_bindings: 8,
        max_groups: 65535,
        subgroups: None,
        cooperative: false,
        cooperative_halves: false,
        cpu: false,
    };

    /// What fuses. Two inputs and an epilogue may have as many loads each; the store and the faults take a binding each. An op of
    /// three operands must fit in any case.
    pub fn capabilities(&self) -> Capabilities {
        let plenty = self.max_bindings >= 11;
        Capabilities {
            fuses_input: if plenty {
                |family, _| !matches!(family, Family::Sort | Family::ArgSort)
            } else {
                |_, _| false
            },
            max_loads: if plenty { ((self.max_bindings - 2) / 3).min(16) } else { 3 },
            max_ops: 64,
            ..Capabilities::ALL
        }
    }

    /// Invocations of a workgroup that combines a row: on a CPU one subgroup, whose invocations need not wait for others.
    pub(crate) fn row_group(&self) -> usize {
        match self.subgroups {
            Some((_, most)) if self.cpu => most,
            _ => crate::exec::WG,
        }
    }
}

/// A step of a plan, to be made into launches.
#[derive(Clone, Copy)]
pub(crate) struct Task<'a> {
    pub plan: &'a Plan,
    pub step: &'a Step,
    /// The step's position in the plan.
    pub number: usize,
    pub facts: &'a Facts,
}

/// A shader in the making: fused code, and what kernels of this crate add to it.
pub(crate) struct Shader<'a> {
    code: Code<'a, Wgsl>,
    pub facts: &'a Facts,
    /// The entry point is to say where an invocation is in its subgroup.
    places: bool,
    /// Language extensions that the text uses.
    extensions: Vec<&'static str>,
}

/// The printer's functions are the shader's own.
impl<'a> Deref for Shader<'a> {
    type Target = Code<'a, Wgsl>;

    fn deref(&self) -> &Code<'a, Wgsl> {
        &self.code
    }
}

impl DerefMut for Shader<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.code
    }
}

impl<'a> Shader<'a> {
    /// An empty shader for a step. Its stores are opened at once: with `access` where a kernel asks for one, else as
    /// their dtypes need it.
    pub fn new(task: &Task<'a>, access: Option<Access>) -> Shader<'a> {
        // Uniforms of every kernel: grid width, number of workgroups, number of the step.
        let wgsl = Wgsl { uniform: vec![0, 0, task.number as u32, 0] };
        let mut code = Code::new(task.plan, task.step, wgsl);
        if task.step.can_fault() {
            let k = code.open(Bound::Faults, 4, Access::Atomic);
            // The smallest word is kept, by its complement: memory is cleared to zeros.
            let note = format!("atomicMax(&b{k}_0[0], ~((p[0].z << 4u) | code));");
            code.push(&format!("fn fault(code: u32) {{\n    {note}\n}}\n"));
        }
        for store in &task.step.stores {
            let natural = if per_word(store.dtype) > 1 { Access::Atomic } else { Access::Write };
            code.open_buffer(store.buffer, access.unwrap_or(natural));
        }
        Shader { code, facts: task.facts, places: false, extensions: Vec::new() }
    }

    /// Adds `alias NAME = TYPE;`.
    pub fn alias(&mut self, name: &str, t: ScalarType) {
        let _ = writeln!(self.text, "alias {name} = {};", Wgsl::name(t));
    }

    /// Adds `const NAME = VALUEu;`: something that variants of a kernel differ in.
    pub fn constant(&mut self, name: &str, value: usize) {
        let _ = writeln!(self.text, "const {name} = {value}u;");
    }

    /// Says that the text uses an extension of the language.
    pub fn enable(&mut self, extension: &'static str) {
        self.extensions.push(extension);
    }

    /// Makes `group_sum`, `group_max` and, for values of type `T`, `reduce_group` by subgroups, where workgroups of `wg`
    /// invocations are made of whole ones.
    pub fn by_subgroups(&mut self, wg: usize, reduced: Option<ScalarType>) {
        let Some((_, most)) = self.facts.subgroups else { return };
        if most > wg {
            return;
        }
        self.places = true;
        match reduced {
            Some(ScalarType::Bool) => self.places = false,
            Some(_) => {
                self.push("fn reduce_group(own: T, lane: u32) -> T {\n    return reduce_subgroups(own);\n}\n")
            }
            None => {
                for name in ["group_sum", "group_max"] {
                    let _ = writeln!(
                        self.text,
                        "fn {name}(own: f32, lane: u32) -> f32 {{\n    return {name}_subgroups(own);\n}}"
                    );
                }
            }
        }
    }

    /// A word of the uniform block, as an expression.
    pub fn word(&mut self, value: u32) -> String {
        self.language.word(value)
    }

    /// A table in the uniform block: the number of its first quad of words.
    pub fn table(&mut self, words: impl IntoIterator<Item = u32>) -> usize {
        let uniform = &mut self.language.uniform;
        uniform.resize(uniform.len().next_multiple_of(4), 0);
        let first = uniform.len() / 4;
        uniform.extend(words);
        first
    }

    /// `fn arg_NAME() -> u32`: a number passed to the kernel at run time.
    pub fn arg(&mut self, name: &str, value: usize) {
        let word = self.word(value as u32);
        let _ = writeln!(self.text, "fn arg_{name}() -> u32 {{\n    return {word};\n}}");
    }

    /// `fn arg_NAME() -> f32`.
    pub fn arg_f32(&mut self, name: &str, value: f64) {
        let word = self.word((value as f32).to_bits());
        let _ = writeln!(self.text, "fn arg_{name}() -> f32 {{\n    return bitcast<f32>({word});\n}}");
    }

    /// The compute type of an input.
    pub fn input_type(&self, slot: usize) -> ScalarType {
        self.step.inputs[slot].program.result_type(0)
    }

    /// `fn inN(i: u32) -> T`; T is returned. What is in memory as it is has as few axes as it needs.
    pub fn input(&mut self, slot: usize) -> ScalarType {
        let mut fused = self.step.inputs[slot].clone();
        if fused.plain().is_some() {
            let layout = fused.loads[0].layout.collapse();
            fused.shape = layout.shape.clone();
            fused.loads[0].layout = layout;
        }
        self.function(&format!("in{slot}"), &fused);
        self.input_type(slot)
    }

    /// `fn inN_4(i: u32) -> vec4<T>` besides `inN`.
    pub fn input_4(&mut self, slot: usize) {
        let step = self.step;
        self.function_4(&format!("in{slot}"), &step.inputs[slot]);
    }

    /// `fn atN(c0: u32, …) -> T`: a plain input by coordinates of its own shape.
    pub fn plain_input(&mut self, slot: usize) -> ScalarType {
        let load = &self.step.inputs[slot].loads[0];
        let (position, t) = (self.strided_position(&load.layout), load.dtype.compute());
        let value = self.element(load, "p0");
        let _ = writeln!(
            self.text,
            "fn at{slot}({}) -> {} {{\n    let p0 = {position};\n    return {value};\n}}",
            coordinate_list(load.layout.shape.rank()),
            Wgsl::name(t)
        );
        t
    }

    /// `fn atN_4(c0: u32, …) -> vec4<f32>`: four neighbours of a plain input from coordinates on whose last is a multiple
    /// of four. Returns false, and writes no function, if they are not a quad of f32.
    pub fn plain_quads(&mut self, slot: usize) -> bool {
        let Some(load) = self.step.inputs[slot].plain() else { return false };
        let Source::Buffer(id) = load.source else { return false };
        if load.dtype != DType::F32 || !quads_of_layout(&load.layout) {
            return false;
        }
        let position = self.strided_position(&load.layout);
        let k = self.open_buffer(id, Access::Read);
        self.as_quads(k);
        let _ = writeln!(
            self.text,
            "fn at{slot}_4({}) -> vec4<f32> {{\n    return bitcast<vec4<f32>>(q{k}(({position}) >> 2u));\n}}",
            coordinate_list(load.layout.shape.rank())
        );
        true
    }

    /// A function of the given signature that reads four neighbours along its last argument, called `last`, by calls of `one` up to
    /// `extent`, with zeros beyond.
    pub fn four_in_range(
        &mut self,
        signature: &str,
        last: &str,
        extent: usize,
        one: impl Fn(&str) -> String,
    ) {
        let end = self.word(extent as u32);
        let mut body = String::from("    var v = vec4<f32>();\n");
        for (j, part) in PARTS.iter().enumerate() {
            let at = format!("{last} + {j}u");
            let _ = writeln!(body, "    if {at} < {end} {{\n        v.{part} = {};\n    }}", one(&at));
        }
        self.push(&format!("{signature} {{\n{body}    return v;\n}}\n"));
    }

    /// `put_columns(row, column, v)`: finishes four columns of a row of the result that starts at point `row`, as far as there are
    /// any.
    pub fn put_columns(&mut self, t: ScalarType, columns: usize) {
        let end = self.word(columns as u32);
        let body = if columns.is_multiple_of(4) {
            self.finish_4(Some(t));
            format!("    if column < {end} {{\n        finish_4(row + column, v);\n    }}\n")
        } else {
            self.finish(Some(t));
            let one = |(j, part): (usize, &&str)| {
                let at = format!("column + {j}u");
                format!("    if {at} < {end} {{\n        finish(row + {at}, v.{part});\n    }}\n")
            };
            PARTS.iter().enumerate().map(one).collect()
        };
        self.push(&format!("fn put_columns(row: u32, column: u32, v: vec4<f32>) {{\n{body}}}\n"));
    }

    /// The position that a layout gives to the coordinates `c0 … cN`.
    pub fn strided_position(&mut self, layout: &Layout) -> String {
        let mut out = self.word(layout.offset as u32);
        for (axis, &stride) in layout.strides.iter().enumerate() {
            let _ = write!(out, " + c{axis} * {}", self.word(stride as i32 as u32));
        }
        out
    }

    /// `fn packed(i: u32) -> u32`: the bits of the one result at point `i`, for a store of whole words.
    pub fn packed(&mut self) {
        let step = self.step;
        self.function("out", &step.epilogue);
        let bits = narrow_bits(step.stores[0].dtype, "out(i)");
        let _ = writeln!(self.text, "fn packed(i: u32) -> u32 {{\n    return {bits};\n}}");
    }

    /// The finished launch of `groups` workgroups.
    pub fn launch(mut self, entry: &'static str, groups: usize) -> Launch {
        let width = groups.min(self.facts.max_groups as usize).max(1);
        (self.language.uniform[0], self.language.uniform[1]) = (width as u32, groups as u32);
        let (bindings, declarations) = declare(&self.code, self.facts.max_binding);
        let Code { text, params, language: Wgsl { mut uniform }, .. } = self.code;
        uniform.resize(uniform.len().next_multiple_of(4), 0);
        let mut source: String = self.extensions.iter().map(|e| format!("enable {e};\n")).collect();
        let blocks = [("p", 0, uniform.len() / 4), ("q", 1, params.len().div_ceil(2))];
        for (name, slot, quads) in blocks.into_iter().filter(|block| block.2 > 0) {
            let _ = writeln!(
                source,
                "@group(0) @binding({slot}) var<uniform> {name}: array<vec4<u32>, {quads}>;"
            );
        }
        source.push_str(&declarations);
        source.push_str(&text);
        let linked = library::link(&text, entry);
        source.push_str(&if self.places { with_places(&linked, entry) } else { linked });
        Launch {
            source,
            entry: entry.into(),
            bindings,
            uniform,
            params,
            groups: [width as u32, groups.div_ceil(width) as u32, 1],
            user: None,
        }
    }
}

/// Gives an entry point what it needs to know of subgroups.
fn with_places(text: &str, entry: &str) -> String {
    let head = format!("fn {entry}(");
    let Some(at) = text.find(&head) else { return text.to_string() };
    let (before, after) = text.split_at(at);
    let builtins = "lane: u32, @builtin(subgroup_id) subgroup: u32, @builtin(subgroup_size) subgroup_size: u32, \
                    @builtin(subgroup_invocation_id) subgroup_lane: u32) {\n    \
                    group_place = vec3<u32>(subgroup, subgroup_size, subgroup_lane);";
    format!("{before}{}", after.replacen("lane: u32) {", builtins, 1))
}

/// `c0: u32, c1: u32, …`.
fn coordinate_list(rank: usize) -> String {
    (0..rank).map(|axis| format!("c{axis}: u32")).collect::<Vec<_>>().join(", ")
}
