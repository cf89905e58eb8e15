//! Rust types that are elements of tensors.

use half::{bf16, f16};
use wootz_ir::{DType, Number};

/// A Rust type that corresponds to a dtype.
pub trait Element: bytemuck::NoUninit + bytemuck::CheckedBitPattern + Into<Number> + Send + Sync {
    /// The dtype.
    const DTYPE: DType;
}

macro_rules! element {
    ($($t:ty => $dtype:ident),* $(,)?) => {$(
        impl Element for $t {
            const DTYPE: DType = DType::$dtype;
        }
    )*};
}
element! {
    bool => Bool, u8 => U8, u16 => U16, u32 => U32, u64 => U64, i8 => I8, i16 => I16, i32 => I32, i64 => I64,
    f16 => F16, bf16 => BF16, f32 => F32, f64 => F64,
}
