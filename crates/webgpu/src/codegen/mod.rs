//! Shaders from steps: a kernel family's template, and around it what the step fuses.
//!
//! For input `n` of a step there is `fn inN(i: u32) -> T`, the fused code at point `i` of that input; `fn finish(i: u32,
//! v: T)` takes the kernel's value through the epilogue to the stores. Extents, strides and offsets are words of a uniform
//! block, so that the text depends on ranks, dtypes and code only, and one pipeline serves all shapes.

mod bindings;
pub(crate) mod library;
mod program;
mod quads;
pub(crate) mod types;

pub(crate) use program::{binary, convert};

use std::borrow::Cow;
use std::fmt::Write;
use wootz_ir::{DType, Layout, ScalarType, Shape};
use wootz_plan::{BufferId, Fused, Load, Plan, Source, Step, Store};

/// What a binding is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    /// A buffer of the plan.
    Plan(BufferId),
    /// Working memory of the step, at this byte offset behind the plan's scratch.
    Temp(usize),
    /// The word that faults are noted in.
    Faults,
}

/// How a shader uses a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
    /// Written in parts of words, or added to.
    Atomic,
}

/// One storage binding: a range of something.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Binding {
    pub bound: Bound,
    pub offset: usize,
    pub bytes: usize,
    pub read_only: bool,
}

/// One launch: a shader and everything it is given.
#[derive(Debug)]
pub(crate) struct Dispatch {
    pub source: String,
    pub entry: Cow<'static, str>,
    pub bindings: Vec<Binding>,
    /// Words of the uniform block.
    pub uniform: Vec<u32>,
    /// Scalar parameters of the plan that the code reads, in the order of its slots.
    pub params: Vec<u16>,
    pub groups: [u32; 3],
    /// Set where the text is a user's, bound and checked as such.
    pub user: Option<UserKernel>,
}

impl Dispatch {
    /// The binding number of the first storage binding: uniforms are before it, where the text is ours.
    pub fn first_slot(&self) -> usize {
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
pub(crate) struct Target {
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
    /// The adapter is a CPU: memory accesses cost much more than registers, workgroup memory is no faster than other memory.
    pub cpu: bool,
}

impl Target {
    /// Invocations of a workgroup that combines a row: on a CPU one subgroup, whose invocations need not wait for others.
    pub fn row_group(&self) -> usize {
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
    pub target: &'a Target,
}

/// A shader in the making.
pub(crate) struct Code<'a> {
    pub plan: &'a Plan,
    pub step: &'a Step,
    pub target: &'a Target,
    text: String,
    opened: Vec<bindings::Opened>,
    bindings: Vec<Binding>,
    declarations: String,
    uniform: Vec<u32>,
    params: Vec<u16>,
    /// The entry point is to say where an invocation is in its subgroup.
    places: bool,
    /// Language extensions that the text uses.
    extensions: Vec<&'static str>,
}

/// Words of the uniform block that every kernel has: grid width, workgroups, the step's number.
const HEADER: usize = 4;

impl<'a> Code<'a> {
    /// An empty shader for a step. Its stores are opened at once: with `access` where a kernel asks for one, else as
    /// their dtypes need it.
    pub fn new(task: &Task<'a>, access: Option<Access>) -> Code<'a> {
        let Task { plan, step, number, target } = *task;
        let mut code = Code {
            plan,
            step,
            target,
            text: String::new(),
            opened: Vec::new(),
            bindings: Vec::new(),
            declarations: String::new(),
            uniform: vec![0; HEADER],
            params: Vec::new(),
            places: false,
            extensions: Vec::new(),
        };
        code.uniform[2] = number as u32 + 1;
        if step.can_fault() {
            code.declarations
                .push_str("@group(0) @binding(2) var<storage, read_write> faults: atomic<u32>;\n");
            code.bindings.push(Binding { bound: Bound::Faults, offset: 0, bytes: 4, read_only: false });
            code.push("fn fault(code: u32) {\n    atomicMax(&faults, (p[0].z << 8u) | code);\n}\n");
        }
        for store in &step.stores {
            let natural = if types::per_word(store.dtype) > 1 { Access::Atomic } else { Access::Write };
            code.open_store(store, access.unwrap_or(natural));
        }
        code
    }

    /// Adds text.
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Adds `alias NAME = TYPE;`.
    pub fn alias(&mut self, name: &str, t: ScalarType) {
        let _ = writeln!(self.text, "alias {name} = {};", types::name(t));
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
        let Some((_, most)) = self.target.subgroups else { return };
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
        let at = self.uniform.len();
        self.uniform.push(value);
        format!("p[{}].{}", at / 4, ["x", "y", "z", "w"][at % 4])
    }

    /// `fn arg_NAME() -> u32`: a number that the kernel is told at run time.
    pub fn arg(&mut self, name: &str, value: usize) {
        let word = self.word(value as u32);
        let _ = writeln!(self.text, "fn arg_{name}() -> u32 {{\n    return {word};\n}}");
    }

    /// `fn arg_NAME() -> f32`.
    pub fn arg_f32(&mut self, name: &str, value: f64) {
        let word = self.word((value as f32).to_bits());
        let _ = writeln!(self.text, "fn arg_{name}() -> f32 {{\n    return bitcast<f32>({word});\n}}");
    }

    /// A scalar parameter as an expression.
    fn param(params: &mut Vec<u16>, index: u16, t: ScalarType) -> String {
        let slot = params.iter().position(|&p| p == index).unwrap_or_else(|| {
            params.push(index);
            params.len() - 1
        });
        types::from_words(t, &format!("q[{}].{}", slot / 2, ["xy", "zw"][slot % 2]))
    }

    /// An element of a load at a position, as an expression.
    pub(super) fn element(&mut self, load: &Load, position: &str) -> String {
        let id = match load.source {
            Source::Kernel => return "v".into(),
            Source::Iota => return format!("vec2<u32>({position}, 0u)"),
            Source::Buffer(id) => id,
        };
        let k = self.open_load(id);
        element(k, load.dtype, position)
    }

    /// `let c0 … cN` from the linear index `i` over a shape.
    fn coordinates(&mut self, shape: &Shape) -> String {
        match shape.rank() {
            0 => return String::new(),
            1 => return "    let c0 = i;\n".into(),
            _ => {}
        }
        let mut out = String::from("    var rest = i;\n");
        for axis in (1..shape.rank()).rev() {
            let extent = self.word(shape[axis] as u32);
            let _ = writeln!(out, "    let c{axis} = rest % {extent};\n    rest = rest / {extent};");
        }
        out.push_str("    let c0 = rest;\n");
        out
    }

    /// The position that a layout gives to the coordinates `c0 … cN`.
    pub fn position(&mut self, layout: &Layout) -> String {
        let mut out = self.word(layout.offset as u32);
        if layout.shape.rank() > 1 && layout.is_contiguous() && layout.shape.rank() == layout.strides.len() {
            return format!("{out} + i");
        }
        for (axis, &stride) in layout.strides.iter().enumerate() {
            let _ = write!(out, " + c{axis} * {}", self.word(stride as i32 as u32));
        }
        out
    }

    /// The lines that compute a fused program at point `i`; its results are registers.
    fn fused(&mut self, fused: &Fused) -> String {
        let mut out = self.coordinates(&fused.shape);
        let mut names = Vec::with_capacity(fused.loads.len());
        for (n, load) in fused.loads.iter().enumerate() {
            if load.source == Source::Kernel {
                names.push("v".to_string());
                continue;
            }
            let position = self.position(&load.layout);
            let _ = writeln!(out, "    let p{n} = {position};");
            names.push(self.element(load, &format!("p{n}")));
        }
        let params = &mut self.params;
        out.push_str(&program::print(
            &fused.program,
            |load| names[load as usize].clone(),
            |index, t| Self::param(params, index, t),
        ));
        out
    }

    /// The compute type of an input.
    pub fn input_type(&self, slot: usize) -> ScalarType {
        self.step.inputs[slot].program.result_type(0)
    }

    /// `fn inN(i: u32) -> T`; T is returned.
    pub fn input(&mut self, slot: usize) -> ScalarType {
        let mut fused = self.step.inputs[slot].clone();
        if fused.plain().is_some() {
            let layout = fused.loads[0].layout.collapse();
            fused.shape = layout.shape.clone();
            fused.loads[0].layout = layout;
        }
        let t = fused.program.result_type(0);
        let body = self.fused(&fused);
        let result = fused.program.results[0];
        let _ = writeln!(
            self.text,
            "fn in{slot}(i: u32) -> {} {{\n{body}    return r{result};\n}}",
            types::name(t)
        );
        t
    }

    /// `fn atN(c0: u32, …) -> T`: a plain input by coordinates of its own shape.
    pub fn plain_input(&mut self, slot: usize) -> ScalarType {
        let load = self.step.inputs[slot].loads[0].clone();
        let position = self.strided_position(&load.layout);
        let value = self.element(&load, "p0");
        let t = load.dtype.compute();
        let _ = writeln!(
            self.text,
            "fn at{slot}({}) -> {} {{\n    let p0 = {position};\n    return {value};\n}}",
            coordinate_list(load.layout.shape.rank()),
            types::name(t)
        );
        t
    }

    /// As [`Code::position`], without the short cut by linear index.
    pub fn strided_position(&mut self, layout: &Layout) -> String {
        let mut out = self.word(layout.offset as u32);
        for (axis, &stride) in layout.strides.iter().enumerate() {
            let _ = write!(out, " + c{axis} * {}", self.word(stride as i32 as u32));
        }
        out
    }

    /// `fn finish(i: u32, v: T)`: the epilogue and the stores at point `i` of the result.
    pub fn finish(&mut self, t: ScalarType) {
        let step = self.step;
        let mut body = self.fused(&step.epilogue);
        for (n, store) in step.stores.iter().enumerate() {
            let position = self.position(&store.layout);
            let _ = writeln!(body, "    let o{n} = {position};");
            let value = format!("r{}", step.epilogue.program.results[n]);
            body.push_str(&self.store(store, &format!("o{n}"), &value));
        }
        let _ = writeln!(self.text, "fn finish(i: u32, v: {}) {{\n{body}}}", types::name(t));
    }

    /// `fn packed(i: u32) -> u32`: the bits of the one result at point `i`, for a store of whole words.
    pub fn packed(&mut self) {
        let step = self.step;
        let body = self.fused(&step.epilogue);
        let bits =
            types::narrow_bits(step.stores[0].dtype, &format!("r{}", step.epilogue.program.results[0]));
        let _ = writeln!(self.text, "fn packed(i: u32) -> u32 {{\n{body}    return {bits};\n}}");
    }

    /// The lines that put a value of a compute type at a position of a store.
    pub fn store(&mut self, store: &Store, position: &str, value: &str) -> String {
        if types::per_word(store.dtype) > 1 {
            let k = self.open_store(store, Access::Atomic);
            let bits = types::narrow_bits(store.dtype, value);
            let (shift, mask) = (types::per_word(store.dtype).trailing_zeros(), narrow_mask(store.dtype));
            let up = format!(
                "(({position} & {}u) * {}u)",
                types::per_word(store.dtype) - 1,
                store.dtype.size() * 8
            );
            return format!("    m{k}({position} >> {shift}u, ~({mask}u << {up}), {bits} << {up});\n");
        }
        let k = self.open_store(store, Access::Write);
        match store.dtype.compute() {
            ScalarType::I64 | ScalarType::U64 => format!(
                "    s{k}(2u * ({position}), {value}.x);\n    s{k}(2u * ({position}) + 1u, {value}.y);\n"
            ),
            ScalarType::U32 => format!("    s{k}({position}, {value});\n"),
            _ => format!("    s{k}({position}, bitcast<u32>({value}));\n"),
        }
    }

    /// The finished launch of `groups` workgroups.
    pub fn dispatch(mut self, entry: &'static str, groups: usize) -> Dispatch {
        let width = groups.min(self.target.max_groups as usize).max(1);
        self.uniform[0] = width as u32;
        self.uniform[1] = groups as u32;
        let mut source: String = self.extensions.iter().map(|e| format!("enable {e};\n")).collect();
        let _ = writeln!(
            source,
            "@group(0) @binding(0) var<uniform> p: array<vec4<u32>, {}>;",
            self.uniform.len().div_ceil(4)
        );
        if !self.params.is_empty() {
            let _ = writeln!(
                source,
                "@group(0) @binding(1) var<uniform> q: array<vec4<u32>, {}>;",
                self.params.len().div_ceil(2)
            );
        }
        self.declare();
        source.push_str(&self.declarations);
        source.push_str(&self.text);
        let linked = library::link(&self.text, entry);
        source.push_str(&if self.places { with_places(&linked, entry) } else { linked });
        self.uniform.resize(self.uniform.len().next_multiple_of(4), 0);
        Dispatch {
            source,
            entry: entry.into(),
            bindings: self.bindings,
            uniform: self.uniform,
            params: self.params,
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
pub(crate) fn coordinate_list(rank: usize) -> String {
    (0..rank).map(|axis| format!("c{axis}: u32")).collect::<Vec<_>>().join(", ")
}

fn narrow_mask(dtype: DType) -> u32 {
    if dtype.size() == 1 { 0xff } else { 0xffff }
}

/// The element of dtype at a position of opened buffer `k`, as an expression.
pub(crate) fn element(k: usize, dtype: DType, position: &str) -> String {
    let per_word = types::per_word(dtype);
    if per_word > 1 {
        let word = format!("g{k}({position} >> {}u)", per_word.trailing_zeros());
        let shift = format!("(({position} & {}u) * {}u)", per_word - 1, dtype.size() * 8);
        return types::widen_bits(dtype, &word, &shift);
    }
    match dtype.compute() {
        ScalarType::U32 => format!("g{k}({position})"),
        ScalarType::I32 => format!("bitcast<i32>(g{k}({position}))"),
        ScalarType::I64 | ScalarType::U64 => {
            format!("vec2<u32>(g{k}(2u * ({position})), g{k}(2u * ({position}) + 1u))")
        }
        _ => format!("bitcast<f32>(g{k}({position}))"),
    }
}
