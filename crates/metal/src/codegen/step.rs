//! The text of a step.

use super::args::{Args, ArgsBuilder};
use super::program::{Surroundings, statements};
use super::types::{compute, storage};
use super::{DIMS, SPELLED_RANK};
use std::fmt::Write;
use wootz_ir::shape::MAX_RANK;
use wootz_ir::{DType, Layout, ScalarType};
use wootz_plan::{BufferId, Fused, Plan, Source, Step, Store};

/// Which parts of a step a launch needs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Parts {
    /// `in0`, `in1`, ….
    pub inputs: bool,
    /// `finish`, and the buffers that it touches.
    pub epilogue: bool,
    /// `finish_four` too; the caller made sure that layouts allow it.
    pub four: bool,
    /// `in0_four` too, for input 0, likewise.
    pub input_four: bool,
    /// An extra buffer `scratch`.
    pub scratch: bool,
}

impl Parts {
    /// A launch that reads inputs and finishes results.
    pub const WHOLE: Parts =
        Parts { inputs: true, epilogue: true, four: false, input_four: false, scratch: false };
}

/// What is bound at the next buffer index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// A buffer of the plan.
    Plan(BufferId),
    /// The launch's `Args`.
    Args,
    /// Where faults are noted.
    Fault,
    /// Memory between the passes of a step.
    Scratch,
}

/// The generated code of a step, and what its kernel is bound to.
pub struct StepCode {
    /// MSL between prelude and family.
    pub text: String,
    /// By buffer index.
    pub bindings: Vec<Binding>,
    /// The values of `Args`.
    pub args: Args,
}

/// Generates the code of step `index` of a plan.
pub fn step_code(plan: &Plan, index: usize, parts: &Parts) -> StepCode {
    let step = &plan.steps[index];
    Generator { plan, step, parts, buffers: Vec::new(), args: ArgsBuilder::default(), body: String::new() }
        .generate(index)
}

struct Generator<'a> {
    plan: &'a Plan,
    step: &'a Step,
    parts: &'a Parts,
    /// Distinct buffers, and whether they are written.
    buffers: Vec<(BufferId, bool)>,
    args: ArgsBuilder,
    body: String,
}

/// The layouts of a fused piece of code under one iteration space.
struct Space<'a> {
    name: &'a str,
    rank: usize,
    /// Strides of layout `i` start at `i * pitch`.
    pitch: usize,
}

impl Space<'_> {
    fn new<'a>(name: &'a str, rank: usize) -> Space<'a> {
        Space { name, rank, pitch: if rank > SPELLED_RANK { MAX_RANK } else { rank } }
    }
}

impl<'a> Generator<'a> {
    fn generate(mut self, index: usize) -> StepCode {
        let (step, parts) = (self.step, self.parts);
        self.args.word("step", index as u64);
        if parts.inputs {
            for (slot, input) in step.inputs.iter().enumerate() {
                self.input(slot, input);
            }
        }
        if parts.epilogue {
            self.epilogue();
        }
        let fault = step.can_fault();
        let mut text = String::new();
        let _ = writeln!(text, "typedef {} index_t;", if step.wide { "ulong" } else { "uint" });
        let (args_text, args) = self.args.finish(step.wide, &self.plan.params);
        text.push_str(&args_text);
        let mut bindings = Vec::new();
        let (mut members, mut parameters, mut values) = (String::new(), String::new(), String::new());
        for (i, &(id, written)) in self.buffers.iter().enumerate() {
            let constness = if written { "" } else { "const " };
            let name = storage(self.plan.buffers[id as usize].dtype);
            let _ = writeln!(members, "    device {constness}{name}* b{i};");
            let _ = write!(parameters, "device {constness}{name}* b{i} [[buffer({i})]], ");
            let _ = write!(values, "b{i}, ");
            bindings.push(Binding::Plan(id));
        }
        let _ = write!(parameters, "constant Args& args [[buffer({})]]", bindings.len());
        bindings.push(Binding::Args);
        if fault {
            let _ = write!(parameters, ", device atomic_uint* fault [[buffer({})]]", bindings.len());
            bindings.push(Binding::Fault);
            text.push_str("#define FAULTS Faults{env.fault, uint(env.args->step)}\n");
        }
        if parts.scratch {
            let _ = write!(parameters, ", device uint* scratch [[buffer({})]]", bindings.len());
            bindings.push(Binding::Scratch);
        }
        let fault_member = if fault { "    device atomic_uint* fault;\n" } else { "" };
        let _ = write!(text, "struct Env {{\n{members}    constant Args* args;\n{fault_member}}};\n");
        let _ = writeln!(text, "#define STEP_BINDINGS {parameters}");
        let fault_value = if fault { ", fault" } else { "" };
        let _ = writeln!(text, "#define STEP_ENV Env env = {{{values}&args{fault_value}}}");
        text.push_str(&self.body);
        StepCode { text, bindings, args }
    }

    /// The name of a buffer's pointer.
    fn pointer(&mut self, id: BufferId, written: bool) -> String {
        let at = self.buffers.iter().position(|(known, _)| *known == id).unwrap_or_else(|| {
            self.buffers.push((id, false));
            self.buffers.len() - 1
        });
        self.buffers[at].1 |= written;
        format!("env.b{at}")
    }

    /// Members of `Args` for an iteration space and the layouts over it.
    fn space<'n>(&mut self, name: &'n str, extents: &[usize], layouts: &[&Layout]) -> Space<'n> {
        let space = Space::new(name, extents.len());
        let padded = |values: &mut dyn Iterator<Item = u64>, filler: u64| -> Vec<u64> {
            values.chain(std::iter::repeat(filler)).take(space.pitch).collect()
        };
        if space.rank > SPELLED_RANK {
            self.args.word(&format!("{name}_rank"), space.rank as u64);
        }
        self.args.array(&format!("{name}_shape"), &padded(&mut extents.iter().map(|&e| e as u64), 1));
        let offsets: Vec<u64> = layouts.iter().map(|l| l.offset as u64).collect();
        self.args.array(&format!("{name}_offsets"), &offsets);
        let strides: Vec<u64> =
            layouts.iter().flat_map(|l| padded(&mut l.strides.iter().map(|&s| s as u64), 0)).collect();
        self.args.array(&format!("{name}_strides"), &strides);
        space
    }

    /// Statements that define `p0 …`, the position of each layout at `point`.
    fn positions(space: &Space<'_>, count: usize) -> String {
        let Space { name, rank, pitch } = *space;
        let mut text = String::new();
        if count == 0 {
            return text;
        }
        text.push_str("    constant Args& a = *env.args;\n");
        if rank > SPELLED_RANK {
            for i in 0..count {
                let _ = writeln!(text, "    index_t p{i} = a.{name}_offsets[{i}];");
            }
            text.push_str("    index_t rest = point;\n");
            let _ = writeln!(text, "    for (index_t axis = a.{name}_rank; axis > 0; --axis) {{");
            let _ = writeln!(text, "        const index_t extent = a.{name}_shape[axis - 1];");
            text.push_str("        const index_t at = rest % extent;\n        rest = rest / extent;\n");
            for i in 0..count {
                let _ = writeln!(text, "        p{i} += at * a.{name}_strides[{} + axis - 1];", i * pitch);
            }
            text.push_str("    }\n");
            return text;
        }
        // Coordinates, innermost first; the outermost needs no remainder.
        let mut rest = "point".to_string();
        for axis in (1..rank).rev() {
            let _ = writeln!(text, "    const index_t c{axis} = {rest} % a.{name}_shape[{axis}];");
            let _ = writeln!(text, "    const index_t q{axis} = {rest} / a.{name}_shape[{axis}];");
            rest = format!("q{axis}");
        }
        if rank > 0 {
            let _ = writeln!(text, "    const index_t c0 = {rest};");
        }
        for i in 0..count {
            let _ = write!(text, "    const index_t p{i} = a.{name}_offsets[{i}]");
            for axis in 0..rank {
                let _ = write!(text, " + c{axis} * a.{name}_strides[{}]", i * pitch + axis);
            }
            text.push_str(";\n");
        }
        text
    }

    fn input(&mut self, slot: usize, input: &Fused) {
        let name = format!("in{slot}");
        let result = result_type(input);
        let _ = writeln!(self.body, "typedef {} In{slot};", compute(result));
        let layouts: Vec<&Layout> = input.loads.iter().map(|l| &l.layout).collect();
        let space = self.space(&name, &input.shape, &layouts);
        if let Some(load) = input.plain()
            && let Source::Buffer(id) = load.source
        {
            let raw = storage(load.dtype);
            let pointer = self.pointer(id, false);
            let _ = write!(
                self.body,
                "#define IN{slot}_PLAIN 1\ntypedef {raw} Raw{slot};\n\
                 inline device const {raw}* raw{slot}(const thread Env& env) {{\n    return {pointer} + env.args->{name}_offsets[0];\n}}\n"
            );
        }
        let sources = self.sources(input);
        let _ = writeln!(self.body, "inline In{slot} {name}(const thread Env& env, index_t point) {{");
        self.body.push_str(&Self::positions(&space, input.loads.len()));
        let code = self.code(input, 4, &|i| sources[i as usize].scalar(i));
        let _ = writeln!(self.body, "{code}    return r{};\n}}", input.program.results[0]);
        if self.parts.input_four && slot == 0 {
            let _ = writeln!(self.body, "#define IN{slot}_FOUR 1");
            let _ = writeln!(
                self.body,
                "inline vec<In{slot}, 4> {name}_four(const thread Env& env, index_t point) {{"
            );
            self.body.push_str(&Self::positions(&space, input.loads.len()));
            self.load_fours(input, &sources, &space);
            let _ = writeln!(self.body, "    vec<In{slot}, 4> result;\n    for (uint k = 0; k < 4; ++k) {{");
            let code = self.code(input, 8, &|i| sources[i as usize].element(i));
            let _ = writeln!(
                self.body,
                "{code}        result[k] = r{};\n    }}\n    return result;\n}}",
                input.program.results[0]
            );
        }
    }

    fn epilogue(&mut self) {
        let (step, epilogue) = (self.step, &self.step.epilogue);
        let kernel = epilogue.loads.iter().find(|l| l.source == Source::Kernel);
        let out = kernel.map_or(step.dtype, |load| load.dtype).compute();
        let _ = writeln!(self.body, "typedef {} Out;", compute(out));
        let loads: Vec<&Layout> = epilogue.loads.iter().map(|l| &l.layout).collect();
        let layouts: Vec<&Layout> =
            loads.iter().copied().chain(step.stores.iter().map(|s| &s.layout)).collect();
        let extents: &[usize] =
            if epilogue.program.results.is_empty() { &step.stores[0].layout.shape } else { &epilogue.shape };
        let space = self.space("out", extents, &layouts);
        if epilogue.program.results.is_empty() {
            return self.target(&step.stores[0]);
        }
        let sources = self.sources(epilogue);
        let value = if kernel.is_some() || !matches!(step.kernel, wootz_plan::Kernel::Map) {
            ", Out value"
        } else {
            ""
        };
        let _ = writeln!(self.body, "inline void finish(const thread Env& env, index_t point{value}) {{");
        self.body.push_str(&Self::positions(&space, layouts.len()));
        let code = self.code(epilogue, 4, &|i| sources[i as usize].scalar(i));
        self.body.push_str(&code);
        for (i, store) in step.stores.iter().enumerate() {
            let pointer = self.pointer(store.buffer, true);
            let _ = writeln!(
                self.body,
                "    {pointer}[p{}] = narrow<{}>(r{});",
                loads.len() + i,
                storage(store.dtype),
                epilogue.program.results[i]
            );
        }
        self.body.push_str("}\n");
        if self.parts.four {
            self.finish_four(&space, &sources, !value.is_empty());
        }
    }

    fn finish_four(&mut self, space: &Space<'_>, sources: &[Reading], has_value: bool) {
        let (step, epilogue) = (self.step, &self.step.epilogue);
        let value = if has_value { ", vec<Out, 4> values" } else { "" };
        let _ = writeln!(self.body, "#define FINISH_FOUR 1");
        let _ =
            writeln!(self.body, "inline void finish_four(const thread Env& env, index_t point{value}) {{");
        self.body.push_str(&Self::positions(space, epilogue.loads.len() + step.stores.len()));
        self.load_fours(epilogue, sources, space);
        for (i, store) in step.stores.iter().enumerate() {
            let _ = writeln!(self.body, "    Four<{}>::Type w{i};", storage(store.dtype));
        }
        self.body.push_str("    for (uint k = 0; k < 4; ++k) {\n");
        if has_value {
            self.body.push_str("        const Out value = values[k];\n");
        }
        let code = self.code(epilogue, 8, &|i| sources[i as usize].element(i));
        self.body.push_str(&code);
        for (i, store) in step.stores.iter().enumerate() {
            let name = storage(store.dtype);
            let result = epilogue.program.results[i];
            let _ = writeln!(self.body, "        Four<{name}>::put(w{i}, k, narrow<{name}>(r{result}));");
        }
        self.body.push_str("    }\n");
        for (i, store) in step.stores.iter().enumerate() {
            let pointer = self.pointer(store.buffer, true);
            let at = epilogue.loads.len() + i;
            let name = storage(store.dtype);
            let _ = writeln!(self.body, "    *(device Four<{name}>::Type*)({pointer} + p{at}) = w{i};");
        }
        self.body.push_str("}\n");
    }

    /// Kernels that write their store themselves get its pointer, at element 0 of its buffer.
    fn target(&mut self, store: &Store) {
        let pointer = self.pointer(store.buffer, true);
        let name = storage(store.dtype);
        let _ = write!(
            self.body,
            "typedef {name} Target;\ninline device {name}* target(const thread Env& env) {{\n    return {pointer};\n}}\n"
        );
    }

    fn sources(&mut self, fused: &Fused) -> Vec<Reading> {
        fused
            .loads
            .iter()
            .map(|load| match load.source {
                Source::Buffer(id) => Reading::Buffer {
                    pointer: self.pointer(id, false),
                    dtype: load.dtype,
                    repeated: load.layout.strides.last() == Some(&0),
                },
                Source::Iota => Reading::Iota,
                Source::Kernel => Reading::Kernel,
            })
            .collect()
    }

    /// Four neighbours of each load, before the loop over them.
    fn load_fours(&mut self, fused: &Fused, sources: &[Reading], space: &Space<'_>) {
        for (i, source) in sources.iter().enumerate() {
            match source {
                Reading::Buffer { pointer, dtype, repeated } => {
                    let name = storage(*dtype);
                    let _ = if *repeated {
                        writeln!(self.body, "    const {name} v{i} = {pointer}[p{i}];")
                    } else {
                        writeln!(
                            self.body,
                            "    const Four<{name}>::Type v{i} = *(device const Four<{name}>::Type*)({pointer} + p{i});"
                        )
                    };
                }
                Reading::Iota => {
                    let last = match space.rank {
                        0 => "0".to_string(),
                        rank if rank > SPELLED_RANK => {
                            format!("a.{0}_strides[{1} + a.{0}_rank - 1]", space.name, i * space.pitch)
                        }
                        rank => format!("a.{}_strides[{}]", space.name, i * space.pitch + rank - 1),
                    };
                    let _ = writeln!(self.body, "    const index_t s{i} = {last};");
                }
                Reading::Kernel => {}
            }
        }
        let _ = fused;
    }

    fn code(&mut self, fused: &Fused, indent: usize, load: &dyn Fn(u16) -> String) -> String {
        for instr in &fused.program.instrs {
            if let wootz_ir::scalar::Instr::Param(i, _) = instr {
                self.args.param(*i);
            }
        }
        let params = std::cell::RefCell::new(&mut self.args);
        let param = |i: u16| format!("env.args->params[{}]", params.borrow_mut().param(i));
        statements(&fused.program, &Surroundings { load, param: &param, indent })
    }
}

/// How a load's value is had.
enum Reading {
    Buffer { pointer: String, dtype: DType, repeated: bool },
    Iota,
    Kernel,
}

impl Reading {
    /// At one point.
    fn scalar(&self, i: u16) -> String {
        match self {
            Reading::Buffer { pointer, .. } => format!("widen({pointer}[p{i}])"),
            Reading::Iota => format!("long(p{i})"),
            Reading::Kernel => "value".into(),
        }
    }

    /// At the `k`-th of four.
    fn element(&self, i: u16) -> String {
        match self {
            Reading::Buffer { repeated: true, .. } => format!("widen(v{i})"),
            Reading::Buffer { dtype, .. } => format!("widen(Four<{}>::at(v{i}, k))", storage(*dtype)),
            Reading::Iota => format!("long(p{i} + k * s{i})"),
            Reading::Kernel => "value".into(),
        }
    }
}

fn result_type(fused: &Fused) -> ScalarType {
    fused.program.result_type(0)
}

const _: () = assert!(DIMS >= 8, "families use up to eight dims");
