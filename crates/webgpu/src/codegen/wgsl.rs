//! WGSL syntax for fused code. 32-bit types are native, 64-bit integers are `vec2<u32>`, narrower dtypes are packed
//! into `u32` words.
//!
//! Buffer `k` is accessed by functions: `gK(i)` gets word `i`, `sK(i, v)` sets it, `mK(i, keep, bits)` replaces part of it, and
//! `qK`, `tK` get and set a quad of words.

use wootz_gpu::{Function, Language, QuadValues};
use wootz_ir::scalar::{BinaryFn, UnaryFn};
use wootz_ir::{DType, Number, ScalarType};

/// WGSL, with the words of the uniform block that code has asked for.
pub(crate) struct Wgsl {
    pub uniform: Vec<u32>,
}

impl Wgsl {
    /// A word of the uniform block, as an expression.
    pub fn word(&mut self, value: u32) -> String {
        let at = self.uniform.len();
        self.uniform.push(value);
        format!("p[{}].{}", at / 4, ["x", "y", "z", "w"][at % 4])
    }
}

/// The ending of prelude functions for a compute type.
fn suffix(t: ScalarType) -> &'static str {
    match t {
        ScalarType::I64 => "i64",
        ScalarType::U64 => "u64",
        ScalarType::Bool | ScalarType::I32 | ScalarType::U32 | ScalarType::F32 | ScalarType::F64 => {
            Wgsl::name(t)
        }
    }
}

/// Whether values of a compute type are pairs of words.
pub(crate) fn is_wide(t: ScalarType) -> bool {
    matches!(t, ScalarType::I64 | ScalarType::U64)
}

/// A scalar parameter as two words.
pub(crate) fn words(value: Number, dtype: DType) -> [u32; 2] {
    let bits = match dtype.compute() {
        ScalarType::F32 => u64::from((value.to_f64() as f32).to_bits()),
        ScalarType::F64 => value.to_f64().to_bits(),
        ScalarType::Bool | ScalarType::I32 | ScalarType::U32 | ScalarType::I64 | ScalarType::U64 => {
            value.to_i64() as u64
        }
    };
    [bits as u32, (bits >> 32) as u32]
}

/// The value of a compute type that two words hold, as [`words`] makes them.
pub(crate) fn from_words(t: ScalarType, words: &str) -> String {
    match t {
        ScalarType::Bool => format!("({words}.x != 0u)"),
        ScalarType::I32 => format!("bitcast<i32>({words}.x)"),
        ScalarType::U32 => format!("{words}.x"),
        ScalarType::I64 | ScalarType::U64 => words.to_string(),
        ScalarType::F32 => format!("f32_of({words}.x)"),
        ScalarType::F64 => unreachable!("f64 is refused before code is made"),
    }
}

/// How many elements share a word; 1 for dtypes of a word or more.
pub(crate) fn per_word(dtype: DType) -> usize {
    (4 / dtype.size()).max(1)
}

/// The mask of a narrow element at the low end of its word, and how far up the element at a position stands, in bits.
fn part_of_word(dtype: DType, position: &str) -> (&'static str, String) {
    let mask = if dtype.size() == 1 { "0xffu" } else { "0xffffu" };
    (mask, format!("(({position} & {}u) * {}u)", per_word(dtype) - 1, dtype.size() * 8))
}

/// The bits of a value in a narrow dtype, as the low end of a word.
pub(crate) fn narrow_bits(dtype: DType, value: &str) -> String {
    match dtype {
        DType::Bool => format!("select(0u, 1u, {value})"),
        DType::U8 => format!("({value} & 0xffu)"),
        DType::U16 => format!("({value} & 0xffffu)"),
        DType::I8 => format!("(bitcast<u32>({value}) & 0xffu)"),
        DType::I16 => format!("(bitcast<u32>({value}) & 0xffffu)"),
        DType::F16 => format!("f16_from_f32({value})"),
        DType::BF16 => format!("bf16_from_f32({value})"),
        _ => unreachable!("{dtype} has words of its own"),
    }
}

/// A narrow element, given its word and how far up it stands in bits.
pub(crate) fn widen_bits(dtype: DType, word: &str, shift: &str) -> String {
    match dtype {
        DType::Bool => format!("((({word} >> {shift}) & 0xffu) != 0u)"),
        DType::U8 => format!("(({word} >> {shift}) & 0xffu)"),
        DType::U16 => format!("(({word} >> {shift}) & 0xffffu)"),
        DType::I8 => format!("(bitcast<i32>({word} << (24u - {shift})) >> 24u)"),
        DType::I16 => format!("(bitcast<i32>({word} << (16u - {shift})) >> 16u)"),
        DType::F16 => format!("f32_from_f16(({word} >> {shift}) & 0xffffu)"),
        DType::BF16 => format!("f32_of(({word} >> {shift}) << 16u)"),
        _ => unreachable!("{dtype} has words of its own"),
    }
}

fn binary_bool(f: BinaryFn, a: &str, b: &str) -> String {
    match f {
        BinaryFn::And | BinaryFn::Min => format!("({a} && {b})"),
        BinaryFn::Or | BinaryFn::Max => format!("({a} || {b})"),
        BinaryFn::Xor | BinaryFn::Ne => format!("({a} != {b})"),
        BinaryFn::Eq => format!("({a} == {b})"),
        BinaryFn::Lt => format!("(!{a} && {b})"),
        BinaryFn::Le => format!("(!{a} || {b})"),
        _ => unreachable!("{f:?} is not defined on bool"),
    }
}

impl Language for Wgsl {
    const INDEX: &'static str = "u32";

    fn name(t: ScalarType) -> &'static str {
        match t {
            ScalarType::Bool => "bool",
            ScalarType::I32 => "i32",
            ScalarType::U32 => "u32",
            ScalarType::I64 | ScalarType::U64 => "vec2<u32>",
            ScalarType::F32 => "f32",
            ScalarType::F64 => unreachable!("f64 is refused before code is made"),
        }
    }

    fn four(t: ScalarType) -> String {
        format!("vec4<{}>", Wgsl::name(t))
    }

    fn literal(value: Number, t: ScalarType) -> String {
        match t {
            ScalarType::Bool => (value.to_f64() != 0.0).to_string(),
            ScalarType::I32 => format!("bitcast<i32>({}u)", value.to_i64() as i32 as u32),
            ScalarType::U32 => format!("{}u", value.to_i64() as u32),
            ScalarType::I64 | ScalarType::U64 => {
                let bits = value.to_i64() as u64;
                format!("vec2<u32>({}u, {}u)", bits as u32, bits >> 32)
            }
            // By its bits and through a function: WGSL has no literal for infinities and NaN.
            ScalarType::F32 => format!("f32_of({:#x}u)", (value.to_f64() as f32).to_bits()),
            ScalarType::F64 => unreachable!("f64 is refused before code is made"),
        }
    }

    fn unary(f: UnaryFn, t: ScalarType, a: &str) -> String {
        use ScalarType::*;
        let own = || format!("{}_f32({a})", f.name());
        match f {
            UnaryFn::Neg => match t {
                I64 | U64 => format!("neg_64({a})"),
                U32 => format!("(0u - {a})"),
                I32 => format!("(-{a})"),
                Bool | F32 | F64 => own(),
            },
            UnaryFn::Abs => match t {
                F32 | F64 => own(),
                I32 => format!("select({a}, -{a}, {a} < 0)"),
                I64 => format!("abs_64({a})"),
                Bool | U32 | U64 => a.to_string(),
            },
            UnaryFn::Not => format!("({}{a})", if t == Bool { "!" } else { "~" }),
            UnaryFn::ToBits => format!("bitcast<i32>({a})"),
            UnaryFn::FromBits => format!("bitcast<f32>({a})"),
            UnaryFn::Sqrt | UnaryFn::Floor | UnaryFn::Ceil | UnaryFn::Round | UnaryFn::Trunc => {
                format!("{}({a})", f.name())
            }
            // What WGSL leaves open about these is computed by functions of the prelude.
            UnaryFn::Rsqrt | UnaryFn::Exp | UnaryFn::Exp2 | UnaryFn::Expm1 | UnaryFn::Erf => own(),
            UnaryFn::Log | UnaryFn::Log2 | UnaryFn::Log10 | UnaryFn::Log1p => own(),
            UnaryFn::Sin | UnaryFn::Cos | UnaryFn::Tan => own(),
            UnaryFn::Asin | UnaryFn::Acos | UnaryFn::Atan => own(),
            UnaryFn::Sinh | UnaryFn::Cosh | UnaryFn::Tanh => own(),
            UnaryFn::Asinh | UnaryFn::Acosh | UnaryFn::Atanh => own(),
        }
    }

    fn binary(f: BinaryFn, t: ScalarType, a: &str, b: &str) -> String {
        if t == ScalarType::Bool {
            return binary_bool(f, a, b);
        }
        let (wide, float) = (is_wide(t), t == ScalarType::F32);
        let own = |name: &str| format!("{name}_{}({a}, {b})", suffix(t));
        let call_64 = |name: &str| format!("{name}_64({a}, {b})");
        let infix = |op: &str| format!("({a} {op} {b})");
        match f {
            BinaryFn::Add if wide => call_64("add"),
            BinaryFn::Sub if wide => call_64("sub"),
            BinaryFn::Mul if wide => call_64("mul"),
            BinaryFn::Add => infix("+"),
            BinaryFn::Sub => infix("-"),
            BinaryFn::Mul => infix("*"),
            BinaryFn::Div => infix("/"),
            BinaryFn::FloorDiv => own("floor_div"),
            BinaryFn::FloorRem => own("floor_rem"),
            BinaryFn::Fmod => own("fmod"),
            BinaryFn::Pow => own("pow"),
            BinaryFn::Atan2 => own("atan2"),
            BinaryFn::Hypot => own("hypot"),
            BinaryFn::CopySign => own("copysign"),
            BinaryFn::MulHi => own("mulhi"),
            BinaryFn::Min if wide || float => own("min"),
            BinaryFn::Max if wide || float => own("max"),
            BinaryFn::Min => format!("min({a}, {b})"),
            BinaryFn::Max => format!("max({a}, {b})"),
            BinaryFn::Eq if wide => call_64("eq"),
            BinaryFn::Eq if float => own("eq"),
            BinaryFn::Ne if wide || float => format!("(!{})", Wgsl::binary(BinaryFn::Eq, t, a, b)),
            BinaryFn::Lt if wide || float => own("lt"),
            BinaryFn::Le if wide => format!("(!{})", Wgsl::binary(BinaryFn::Lt, t, b, a)),
            BinaryFn::Le if float => own("le"),
            BinaryFn::Eq => infix("=="),
            BinaryFn::Ne => infix("!="),
            BinaryFn::Lt => infix("<"),
            BinaryFn::Le => infix("<="),
            BinaryFn::And => infix("&"),
            BinaryFn::Or => infix("|"),
            BinaryFn::Xor => infix("^"),
            BinaryFn::Shl if wide => call_64("shl"),
            BinaryFn::Shl => own("shl"),
            BinaryFn::Shr => own("shr"),
        }
    }

    fn multiply_add(a: &str, b: &str, c: &str) -> String {
        format!("({a} * {b} + {c})")
    }

    fn select(t: ScalarType, condition: &str, yes: &str, no: &str) -> String {
        format!("select{}({no}, {yes}, {condition})", if is_wide(t) { "_64" } else { "" })
    }

    fn convert(from: ScalarType, to: ScalarType, a: &str) -> String {
        use ScalarType::*;
        match (from, to) {
            (F64, _) | (_, F64) => unreachable!("f64 is refused before code is made"),
            (from, to) if from == to => a.to_string(),
            (from, Bool) => Wgsl::binary(BinaryFn::Ne, from, a, &Wgsl::literal(0u8.into(), from)),
            (Bool, I32) => format!("select(0, 1, {a})"),
            (Bool, U32) => format!("select(0u, 1u, {a})"),
            (Bool, F32) => format!("select(0.0, 1.0, {a})"),
            (Bool, I64 | U64) => format!("vec2<u32>(select(0u, 1u, {a}), 0u)"),
            (I32, U32) => format!("bitcast<u32>({a})"),
            (U32, I32) => format!("bitcast<i32>({a})"),
            (I32, I64 | U64) => format!("i64_from_i32({a})"),
            (U32, I64 | U64) => format!("vec2<u32>({a}, 0u)"),
            (I64 | U64, I32) => format!("bitcast<i32>({a}.x)"),
            (I64 | U64, U32) => format!("{a}.x"),
            (I64 | U64, I64 | U64) | (I32, I32) | (U32, U32) => a.to_string(),
            (F32, to) => format!("{}_from_f32({a})", suffix(to)),
            (from, F32) => format!("f32_from_{}({a})", suffix(from)),
        }
    }

    fn round_trip(dtype: DType, a: &str) -> String {
        match dtype {
            DType::U8 => format!("({a} & 0xffu)"),
            DType::U16 => format!("({a} & 0xffffu)"),
            DType::I8 => format!("(({a} << 24u) >> 24u)"),
            DType::I16 => format!("(({a} << 16u) >> 16u)"),
            DType::F16 => format!("narrow_f16({a})"),
            DType::BF16 => format!("narrow_bf16({a})"),
            DType::Bool | DType::U32 | DType::U64 | DType::I32 | DType::I64 | DType::F32 | DType::F64 => {
                a.into()
            }
        }
    }

    fn value(name: &str, t: ScalarType, value: &str) -> String {
        format!("let {name}: {} = {value};", Wgsl::name(t))
    }

    fn position(name: &str, value: &str) -> String {
        format!("let {name} = {value};")
    }

    fn function(function: &Function<'_>, body: &str) -> String {
        let Function { name, parameters, result } = function;
        let parameters: Vec<String> = parameters.iter().map(|(name, t)| format!("{name}: {t}")).collect();
        let result = result.map(|t| format!(" -> {t}")).unwrap_or_default();
        format!("fn {name}({}){result} {{\n{body}}}\n", parameters.join(", "))
    }

    fn call(name: &str, arguments: &[&str]) -> String {
        format!("{name}({})", arguments.join(", "))
    }

    fn iota(position: &str) -> String {
        format!("vec2<u32>({position}, 0u)")
    }

    fn element(k: usize, dtype: DType, position: &str) -> String {
        let per_word = per_word(dtype);
        if per_word > 1 {
            let word = format!("g{k}({position} >> {}u)", per_word.trailing_zeros());
            return widen_bits(dtype, &word, &part_of_word(dtype, position).1);
        }
        match dtype.compute() {
            ScalarType::U32 => format!("g{k}({position})"),
            ScalarType::I64 | ScalarType::U64 => {
                format!("vec2<u32>(g{k}(2u * ({position})), g{k}(2u * ({position}) + 1u))")
            }
            t @ (ScalarType::Bool | ScalarType::I32 | ScalarType::F32 | ScalarType::F64) => {
                format!("bitcast<{}>(g{k}({position}))", Wgsl::name(t))
            }
        }
    }

    fn store(k: usize, dtype: DType, position: &str, value: &str) -> String {
        if per_word(dtype) > 1 {
            let bits = narrow_bits(dtype, value);
            let (shift, (mask, up)) = (per_word(dtype).trailing_zeros(), part_of_word(dtype, position));
            return format!("m{k}({position} >> {shift}u, ~({mask} << {up}), {bits} << {up});");
        }
        if is_wide(dtype.compute()) {
            return format!(
                "s{k}(2u * ({position}), {value}.x);\n    s{k}(2u * ({position}) + 1u, {value}.y);"
            );
        }
        format!("s{k}({position}, bitcast<u32>({value}));")
    }

    /// Four words side by side are a quad.
    fn has_quads(dtype: DType) -> bool {
        matches!(dtype, DType::F32 | DType::I32 | DType::U32)
    }

    fn load_quad(name: &str, k: usize, dtype: DType, position: &str) -> String {
        format!("let {name} = bitcast<{}>(q{k}({position} >> 2u));", Wgsl::four(dtype.compute()))
    }

    fn of_quad(name: &str, _: DType, index: &str) -> String {
        format!("{name}[{index}]")
    }

    const LOOPS: bool = false;

    fn store_quad(k: usize, _: DType, position: &str, values: &QuadValues) -> String {
        let QuadValues::Each(values) = values else { unreachable!("this language asks for no loops") };
        let words = values.each_ref().map(|value| format!("bitcast<u32>({value})")).join(", ");
        format!("t{k}({position} >> 2u, vec4<u32>({words}));")
    }

    fn param(slot: usize, t: ScalarType) -> String {
        from_words(t, &format!("q[{}].{}", slot / 2, ["xy", "zw"][slot % 2]))
    }

    fn numbers(&mut self, _: &str, values: &[u64]) -> Vec<String> {
        values.iter().map(|&value| self.word(value as u32)).collect()
    }
}
