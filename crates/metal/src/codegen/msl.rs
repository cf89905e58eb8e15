//! MSL syntax for fused code, and the layout of `Args`, defined once for host and kernel.

use smallvec::SmallVec;
use std::fmt::Write;
use wootz_gpu::{Function, Language, QuadValues};
use wootz_ir::scalar::{BinaryFn, UnaryFn};
use wootz_ir::{DType, Number, ScalarType};

/// Numbers of a launch that its family gives meaning to.
pub const DIMS: usize = 16;

/// MSL, with the members of `Args` that code has asked for.
#[derive(Default)]
pub struct Msl {
    members: Vec<(String, Vec<u64>)>,
}

/// `Args` with everything but the dims of a launch and the parameters of a run.
#[derive(Clone, Debug, Default)]
pub struct Args {
    words: Vec<u64>,
    /// The plan's parameters that the step uses.
    params: SmallVec<[(u32, DType); 4]>,
    wide: bool,
}

impl Msl {
    /// The text of `struct Args`, and its values.
    pub fn args(self, wide: bool, params: SmallVec<[(u32, DType); 4]>) -> (String, Args) {
        let mut text = String::from("struct Args {\n");
        if !params.is_empty() {
            let _ = writeln!(text, "    ulong params[{}];", params.len());
        }
        let _ = writeln!(text, "    index_t dims[{DIMS}];");
        for (name, values) in &self.members {
            let _ = writeln!(text, "    index_t {name}[{}];", values.len());
        }
        text.push_str("};\n");
        (
            text,
            Args { words: self.members.into_iter().flat_map(|(_, values)| values).collect(), params, wide },
        )
    }
}

impl Args {
    /// The bytes for one launch of one run.
    pub fn bytes(&self, dims: &[u64], params: &[Number]) -> SmallVec<[u8; 512]> {
        let mut bytes = SmallVec::new();
        for &(index, dtype) in &self.params {
            bytes.extend_from_slice(&param_bits(params[index as usize], dtype.compute()).to_ne_bytes());
        }
        let padded = dims.iter().copied().chain(std::iter::repeat_n(0, DIMS - dims.len()));
        for word in padded.chain(self.words.iter().copied()) {
            if self.wide {
                bytes.extend_from_slice(&word.to_ne_bytes());
            } else {
                bytes.extend_from_slice(&(word as u32).to_ne_bytes());
            }
        }
        // Structs with 64-bit members are as long as a multiple of eight.
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }
}

/// The bits of a number as a parameter carries them.
fn param_bits(n: Number, t: ScalarType) -> u64 {
    match t {
        ScalarType::F32 | ScalarType::F64 => u64::from((n.to_f64() as f32).to_bits()),
        ScalarType::I32 | ScalarType::U32 => n.to_i64() as u64 & 0xffff_ffff,
        ScalarType::Bool | ScalarType::I64 | ScalarType::U64 => match n {
            Number::Uint(u) => u,
            other => other.to_i64() as u64,
        },
    }
}

/// The type that elements are stored in. f64 has none: the planner never sends it here.
pub fn storage(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "truth",
        DType::U8 => "uchar",
        DType::U16 => "ushort",
        DType::U32 => "uint",
        DType::U64 => "ulong",
        DType::I8 => "char",
        DType::I16 => "short",
        DType::I32 => "int",
        DType::I64 => "long",
        DType::F16 => "half",
        DType::BF16 => "bf16",
        DType::F32 => "float",
        DType::F64 => "double",
    }
}

/// The unsigned type in which integers of a type wrap.
fn unsigned(t: ScalarType) -> &'static str {
    if matches!(t, ScalarType::I64 | ScalarType::U64) { "ulong" } else { "uint" }
}

impl Language for Msl {
    const INDEX: &'static str = "index_t";

    fn name(t: ScalarType) -> &'static str {
        match t {
            ScalarType::Bool => "bool",
            ScalarType::I32 => "int",
            ScalarType::U32 => "uint",
            ScalarType::I64 => "long",
            ScalarType::U64 => "ulong",
            ScalarType::F32 => "float",
            ScalarType::F64 => "double",
        }
    }

    fn four(t: ScalarType) -> String {
        format!("vec<{}, 4>", Msl::name(t))
    }

    fn literal(n: Number, t: ScalarType) -> String {
        match t {
            ScalarType::Bool => (n.to_i64() != 0).to_string(),
            ScalarType::I32 if n.to_i64() == i64::from(i32::MIN) => "int(0x80000000u)".into(),
            ScalarType::I32 => n.to_i64().to_string(),
            ScalarType::U32 => format!("{}u", n.to_i64() as u32),
            ScalarType::I64 => format!("long({}UL)", n.to_i64() as u64),
            ScalarType::U64 => format!("{}UL", param_bits(n, t)),
            ScalarType::F32 | ScalarType::F64 => {
                let value = n.to_f64() as f32;
                if value.is_finite() {
                    format!("{value:?}f")
                } else {
                    format!("as_type<float>({:#x}u)", value.to_bits())
                }
            }
        }
    }

    fn unary(f: UnaryFn, t: ScalarType, a: &str) -> String {
        let call = |name: &str| format!("{name}({a})");
        match f {
            UnaryFn::Neg if t.is_float() => format!("-{a}"),
            UnaryFn::Neg => format!("{0}({1}(0) - {1}({a}))", Msl::name(t), unsigned(t)),
            UnaryFn::Abs if t.is_float() => call("fabs"),
            UnaryFn::Abs if t.is_signed() => format!("{a} < 0 ? {} : {a}", Msl::unary(UnaryFn::Neg, t, a)),
            UnaryFn::Abs => a.to_string(),
            UnaryFn::Not if t == ScalarType::Bool => format!("!{a}"),
            UnaryFn::Not => format!("~{a}"),
            UnaryFn::Expm1 => call("exp_minus_one"),
            UnaryFn::Log1p => call("log_one_plus"),
            UnaryFn::Erf => call("error_function"),
            UnaryFn::Round => call("rint"),
            UnaryFn::ToBits => call("as_type<int>"),
            UnaryFn::FromBits => call("as_type<float>"),
            UnaryFn::Sqrt | UnaryFn::Rsqrt | UnaryFn::Exp | UnaryFn::Exp2 => call(f.name()),
            UnaryFn::Log | UnaryFn::Log2 | UnaryFn::Log10 => call(f.name()),
            UnaryFn::Sin | UnaryFn::Cos | UnaryFn::Tan => call(f.name()),
            UnaryFn::Asin | UnaryFn::Acos | UnaryFn::Atan => call(f.name()),
            UnaryFn::Sinh | UnaryFn::Cosh | UnaryFn::Tanh => call(f.name()),
            UnaryFn::Asinh | UnaryFn::Acosh | UnaryFn::Atanh => call(f.name()),
            UnaryFn::Floor | UnaryFn::Ceil | UnaryFn::Trunc => call(f.name()),
        }
    }

    fn binary(f: BinaryFn, t: ScalarType, a: &str, b: &str) -> String {
        let call = |name: &str| format!("{name}({a}, {b})");
        let faulting = |name: &str| format!("{name}({a}, {b}, FAULTS)");
        let infix = |op: &str| format!("{a} {op} {b}");
        let wrapping = |op: &str| match t {
            ScalarType::I32 | ScalarType::I64 => {
                format!("{0}({1}({a}) {op} {1}({b}))", Msl::name(t), unsigned(t))
            }
            ScalarType::Bool | ScalarType::U32 | ScalarType::U64 | ScalarType::F32 | ScalarType::F64 => {
                infix(op)
            }
        };
        match f {
            BinaryFn::Add => wrapping("+"),
            BinaryFn::Sub => wrapping("-"),
            BinaryFn::Mul => wrapping("*"),
            BinaryFn::Div => infix("/"),
            BinaryFn::FloorDiv => faulting("floor_div"),
            BinaryFn::FloorRem => faulting("floor_rem"),
            BinaryFn::Fmod => call("fmod"),
            BinaryFn::Pow if t.is_float() => call("pow"),
            BinaryFn::Pow if t.is_signed() => faulting("integer_pow"),
            BinaryFn::Pow => call("unsigned_pow"),
            BinaryFn::Atan2 => call("atan2"),
            BinaryFn::Hypot => call("hypotenuse"),
            BinaryFn::Min if t.is_float() => call("nan_min"),
            BinaryFn::Max if t.is_float() => call("nan_max"),
            BinaryFn::Min if t == ScalarType::Bool => infix("&&"),
            BinaryFn::Max if t == ScalarType::Bool => infix("||"),
            BinaryFn::Min => call("min"),
            BinaryFn::Max => call("max"),
            BinaryFn::Eq => infix("=="),
            BinaryFn::Ne => infix("!="),
            BinaryFn::Lt => infix("<"),
            BinaryFn::Le => infix("<="),
            BinaryFn::And if t == ScalarType::Bool => infix("&&"),
            BinaryFn::Or if t == ScalarType::Bool => infix("||"),
            BinaryFn::Xor if t == ScalarType::Bool => infix("!="),
            BinaryFn::And => infix("&"),
            BinaryFn::Or => infix("|"),
            BinaryFn::Xor => infix("^"),
            BinaryFn::Shl => call("shift_left"),
            BinaryFn::Shr => call("shift_right"),
            BinaryFn::CopySign => call("copysign"),
            BinaryFn::MulHi => call("mulhi"),
        }
    }

    fn multiply_add(a: &str, b: &str, c: &str) -> String {
        format!("fma({a}, {b}, {c})")
    }

    fn select(_: ScalarType, condition: &str, yes: &str, no: &str) -> String {
        format!("{condition} ? {yes} : {no}")
    }

    fn convert(from: ScalarType, to: ScalarType, a: &str) -> String {
        match to {
            ScalarType::Bool => format!("{a} != 0"),
            _ if from.is_float() && !to.is_float() => format!("to_{}({a})", Msl::name(to)),
            _ => format!("{}({a})", Msl::name(to)),
        }
    }

    fn round_trip(dtype: DType, a: &str) -> String {
        if dtype == dtype.compute().dtype() {
            a.into()
        } else {
            format!("widen(narrow<{}>({a}))", storage(dtype))
        }
    }

    fn value(name: &str, t: ScalarType, value: &str) -> String {
        format!("const {} {name} = {value};", Msl::name(t))
    }

    fn position(name: &str, value: &str) -> String {
        format!("const index_t {name} = {value};")
    }

    fn function(function: &Function<'_>, body: &str) -> String {
        let Function { name, parameters, result } = function;
        let parameters: String = parameters.iter().map(|(name, t)| format!(", {t} {name}")).collect();
        let result = result.unwrap_or("void");
        format!("inline {result} {name}(const thread Env& env{parameters}) {{\n{body}}}\n")
    }

    fn call(name: &str, arguments: &[&str]) -> String {
        let arguments: String = arguments.iter().map(|argument| format!(", {argument}")).collect();
        format!("{name}(env{arguments})")
    }

    fn iota(position: &str) -> String {
        format!("long({position})")
    }

    fn element(buffer: usize, _: DType, position: &str) -> String {
        format!("widen(env.b{buffer}[{position}])")
    }

    fn store(buffer: usize, dtype: DType, position: &str, value: &str) -> String {
        format!("env.b{buffer}[{position}] = narrow<{}>({value});", storage(dtype))
    }

    fn has_quads(_: DType) -> bool {
        true
    }

    fn load_quad(name: &str, buffer: usize, dtype: DType, position: &str) -> String {
        let four = format!("Four<{}>::Type", storage(dtype));
        format!("const {four} {name} = *(device const {four}*)(env.b{buffer} + {position});")
    }

    fn of_quad(name: &str, dtype: DType, index: &str) -> String {
        format!("widen(Four<{}>::at({name}, {index}))", storage(dtype))
    }

    // With indices that are known a compiler takes vectors apart, and accesses them in pieces.
    const LOOPS: bool = true;

    fn store_quad(buffer: usize, dtype: DType, position: &str, values: &QuadValues) -> String {
        let (name, four) = (storage(dtype), format!("s{buffer}_{position}"));
        let mut text = format!("Four<{name}>::Type {four};");
        let put = |k: &str, value: &str| format!("Four<{name}>::put({four}, {k}, narrow<{name}>({value}));");
        match values {
            QuadValues::Each(values) => {
                for (value, k) in values.iter().zip(["0", "1", "2", "3"]) {
                    let _ = write!(text, "\n    {}", put(k, value));
                }
            }
            QuadValues::Loop(value) => {
                let put = put("k", value);
                let _ = write!(text, "\n    for (uint k = 0; k < 4; ++k) {{\n        {put}\n    }}");
            }
        }
        let _ = write!(text, "\n    *(device Four<{name}>::Type*)(env.b{buffer} + {position}) = {four};");
        text
    }

    fn param(slot: usize, t: ScalarType) -> String {
        let bits = format!("env.args->params[{slot}]");
        match t {
            ScalarType::Bool => format!("{bits} != 0"),
            ScalarType::I32 => format!("int(uint({bits}))"),
            ScalarType::U32 => format!("uint({bits})"),
            ScalarType::I64 => format!("long({bits})"),
            ScalarType::U64 => bits,
            ScalarType::F32 | ScalarType::F64 => format!("as_type<float>(uint({bits}))"),
        }
    }

    /// A member array of `Args`; asked for twice, it is there once.
    fn numbers(&mut self, name: &str, values: &[u64]) -> Vec<String> {
        if self.members.iter().all(|(known, _)| known != name) {
            // An array has a member at least.
            let values = if values.is_empty() { vec![0] } else { values.to_vec() };
            self.members.push((name.to_string(), values));
        }
        (0..values.len()).map(|i| format!("env.args->{name}[{i}]")).collect()
    }
}
