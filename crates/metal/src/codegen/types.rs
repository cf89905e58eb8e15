//! The names that dtypes have in kernels.

use wootz_ir::{DType, ScalarType};

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

/// The type that code computes in.
pub fn compute(t: ScalarType) -> &'static str {
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
