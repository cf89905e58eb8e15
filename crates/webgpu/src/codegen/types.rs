//! What dtypes and compute types are in WGSL: 32-bit ones are themselves, 64-bit integers are `vec2<u32>`, narrower
//! dtypes are parts of `u32` words.

use wootz_ir::{DType, Number, ScalarType};

/// The WGSL type that code of a compute type works with.
pub(crate) fn name(t: ScalarType) -> &'static str {
    match t {
        ScalarType::Bool => "bool",
        ScalarType::I32 => "i32",
        ScalarType::U32 => "u32",
        ScalarType::I64 | ScalarType::U64 => "vec2<u32>",
        ScalarType::F32 => "f32",
        ScalarType::F64 => unreachable!("f64 is refused before code is made"),
    }
}

/// The ending of prelude functions for a compute type.
pub(crate) fn suffix(t: ScalarType) -> &'static str {
    match t {
        ScalarType::Bool => "bool",
        ScalarType::I32 => "i32",
        ScalarType::U32 => "u32",
        ScalarType::I64 => "i64",
        ScalarType::U64 => "u64",
        ScalarType::F32 => "f32",
        ScalarType::F64 => unreachable!("f64 is refused before code is made"),
    }
}

/// How a number is written as a value of a compute type.
pub(crate) fn literal(value: Number, t: ScalarType) -> String {
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

/// A scalar parameter as two words.
pub(crate) fn words(value: Number, dtype: DType) -> [u32; 2] {
    match dtype.compute() {
        ScalarType::F32 => [(value.to_f64() as f32).to_bits(), 0],
        ScalarType::F64 => {
            let bits = value.to_f64().to_bits();
            [bits as u32, (bits >> 32) as u32]
        }
        _ => {
            let bits = value.to_i64() as u64;
            [bits as u32, (bits >> 32) as u32]
        }
    }
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
