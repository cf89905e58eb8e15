//! The generated source of a step.

use super::msl::{Args, Msl, storage};
use std::fmt::Write;
use wootz_gpu::{Access, Bound, Code, Language};
use wootz_plan::{Fused, Kernel, Plan, Source, Step};

/// Which parts of a step a launch needs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Parts {
    /// `in0`, `in1`, ….
    pub inputs: bool,
    /// `finish`, and the buffers that it touches.
    pub epilogue: bool,
    /// `finish_4` too; the caller made sure that layouts allow it.
    pub four: bool,
    /// `in0_4` too, for input 0, likewise.
    pub input_four: bool,
    /// An extra buffer `scratch`.
    pub scratch: bool,
}

impl Parts {
    /// A launch that reads inputs and finishes results.
    pub const WHOLE: Parts =
        Parts { inputs: true, epilogue: true, four: false, input_four: false, scratch: false };
}

/// The generated code of a step, and what its kernel is bound to.
pub struct StepCode {
    /// MSL between prelude and family.
    pub text: String,
    /// By buffer index; none is the launch's `Args`.
    pub bindings: Vec<Option<Bound>>,
    /// The values of `Args`.
    pub args: Args,
}

/// Generates the code of step `index` of a plan.
pub fn step_code(plan: &Plan, index: usize, parts: &Parts) -> StepCode {
    let step = &plan.steps[index];
    let mut code = Code::new(plan, step, Msl::default());
    code.language.numbers("step", &[index as u64]);
    if parts.inputs {
        for (slot, fused) in step.inputs.iter().enumerate() {
            input(&mut code, slot, fused);
            if parts.input_four && slot == 0 {
                code.push("#define IN0_FOUR 1\n");
                code.function_4("in0", fused);
            }
        }
    }
    if parts.epilogue {
        epilogue(&mut code, parts.four);
    }
    assemble(code, parts.scratch)
}

/// `In`, `in` and, for what is in memory as it is, `Raw` and `raw` of an input.
fn input(code: &mut Code<'_, Msl>, slot: usize, fused: &Fused) {
    let _ = writeln!(code.text, "typedef {} In{slot};", Msl::name(fused.program.result_type(0)));
    let load = fused.plain().map(|load| (load.source, storage(load.dtype)));
    if let Some((Source::Buffer(id), raw)) = load {
        let buffer = code.open_buffer(id, Access::Read);
        let _ = write!(
            code.text,
            "#define IN{slot}_PLAIN 1\ntypedef {raw} Raw{slot};\n\
             inline device const {raw}* raw{slot}(const thread Env& env) {{\n    \
             return env.b{buffer} + env.args->in{slot}_offsets[0];\n}}\n"
        );
    }
    code.function(&format!("in{slot}"), fused);
}

/// `Out` and `finish`; for kernels that write their store themselves its pointer, at element 0 of its buffer.
fn epilogue(code: &mut Code<'_, Msl>, four: bool) {
    let step = code.step;
    let kernel = step.epilogue.loads.iter().find(|l| l.source == Source::Kernel);
    let out = kernel.map_or(step.dtype, |load| load.dtype).compute();
    let _ = writeln!(code.text, "typedef {} Out;", Msl::name(out));
    if step.epilogue.program.results.is_empty() {
        let store = &step.stores[0];
        code.space("out", &store.layout.shape, &[&store.layout]);
        let (buffer, name) = (code.open_buffer(store.buffer, Access::Write), storage(store.dtype));
        let _ = write!(
            code.text,
            "typedef {name} Target;\ninline device {name}* target(const thread Env& env) {{\n    return env.b{buffer};\n}}\n"
        );
        return;
    }
    let value = (!matches!(step.kernel, Kernel::Map)).then_some(out);
    code.finish(value);
    if four {
        code.push("#define FINISH_FOUR 1\n");
        code.finish_4(value);
    }
}

/// Puts what the code uses in front of it: `Args`, `Env`, and macros for the kernel's parameters.
fn assemble(code: Code<'_, Msl>, scratch: bool) -> StepCode {
    let Code { plan, step, language, text: body, opened, params, .. } = code;
    let faults = step.can_fault();
    let mut text = format!("typedef {} index_t;\n", if step.wide { "ulong" } else { "uint" });
    let params = params.into_iter().map(|p| (p, plan.params[p as usize])).collect();
    let (args_text, args) = language.args(step.wide, params);
    text.push_str(&args_text);
    let mut bindings: Vec<Option<Bound>> = opened.iter().map(|o| Some(o.bound)).collect();
    let (mut members, mut parameters, mut values) = (String::new(), String::new(), String::new());
    for (i, opened) in opened.iter().enumerate() {
        let Bound::Plan(id) = opened.bound else { unreachable!("a step opens buffers of its plan") };
        let constness = if opened.access == Access::Read { "const " } else { "" };
        let name = storage(plan.buffers[id as usize].dtype);
        let _ = writeln!(members, "    device {constness}{name}* b{i};");
        let _ = write!(parameters, "device {constness}{name}* b{i} [[buffer({i})]], ");
        let _ = write!(values, "b{i}, ");
    }
    let _ = write!(parameters, "constant Args& args [[buffer({})]]", bindings.len());
    bindings.push(None);
    if faults {
        let _ = write!(parameters, ", device atomic_uint* fault [[buffer({})]]", bindings.len());
        bindings.push(Some(Bound::Faults));
        text.push_str("#define FAULTS Faults{env.fault, uint(env.args->step[0])}\n");
    }
    if scratch {
        let _ = write!(parameters, ", device uint* scratch [[buffer({})]]", bindings.len());
        bindings.push(Some(Bound::Scratch(0)));
    }
    let (member, value) = if faults { ("    device atomic_uint* fault;\n", ", fault") } else { ("", "") };
    let _ = write!(text, "struct Env {{\n{members}    constant Args* args;\n{member}}};\n");
    let _ = writeln!(text, "#define STEP_BINDINGS {parameters}");
    let _ = writeln!(text, "#define STEP_ENV Env env = {{{values}&args{value}}}");
    text.push_str(&body);
    StepCode { text, bindings, args }
}

/// What a user's kernel is bound to: operands and result, and nothing generated.
pub fn user_code(step: &Step) -> StepCode {
    let bindings = step.reads().chain(step.writes()).map(|id| Some(Bound::Plan(id))).collect();
    StepCode { text: String::new(), bindings, args: Args::default() }
}
