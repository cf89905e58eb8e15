//! Conversion between runs of elements in memory, of any dtype and stride, and blocks in compute types.

use crate::convert;
use half::{bf16, f16};
use wootz_ir::{DType, ScalarType};

/// Reads `n` elements, `stride` elements apart, into a contiguous block of the compute type.
///
/// # Safety
/// Every element of the run is readable, and the block has room for `n` values and is the caller's alone.
pub type ReadRun = unsafe fn(src: *const u8, stride: isize, dst: *mut u8, n: usize);
/// Writes a contiguous block of the compute type to `n` elements, `stride` elements apart.
///
/// # Safety
/// The block holds `n` values, and every element of the run is writable and the caller's alone.
pub type WriteRun = unsafe fn(src: *const u8, dst: *mut u8, stride: isize, n: usize);

macro_rules! read {
    ($from:ty => $to:ty, |$x:ident| $e:expr) => {{
        unsafe fn run(src: *const u8, stride: isize, dst: *mut u8, n: usize) {
            let (src, dst) = (src.cast::<$from>(), dst.cast::<$to>());
            // SAFETY: the caller gives a block of `n` elements and a run whose every element is in bounds; the
            // block is private to this thread, so the two do not overlap.
            unsafe {
                match stride {
                    1 => {
                        let (src, dst) =
                            (std::slice::from_raw_parts(src, n), std::slice::from_raw_parts_mut(dst, n));
                        for (d, &$x) in dst.iter_mut().zip(src) {
                            *d = $e;
                        }
                    }
                    0 if n > 0 => {
                        let $x = *src;
                        std::slice::from_raw_parts_mut(dst, n).fill($e);
                    }
                    _ => {
                        for i in 0..n {
                            let $x = *src.offset(i as isize * stride);
                            *dst.add(i) = $e;
                        }
                    }
                }
            }
        }
        run as ReadRun
    }};
}

macro_rules! write {
    ($from:ty => $to:ty, |$x:ident| $e:expr) => {{
        unsafe fn run(src: *const u8, dst: *mut u8, stride: isize, n: usize) {
            let (src, dst) = (src.cast::<$from>(), dst.cast::<$to>());
            // SAFETY: as for reading, with the roles exchanged; no two workers write the same element.
            unsafe {
                let src = std::slice::from_raw_parts(src, n);
                if stride == 1 {
                    for (d, &$x) in std::slice::from_raw_parts_mut(dst, n).iter_mut().zip(src) {
                        *d = $e;
                    }
                } else {
                    for (i, &$x) in src.iter().enumerate() {
                        *dst.offset(i as isize * stride) = $e;
                    }
                }
            }
        }
        run as WriteRun
    }};
}

/// Half-precision runs: contiguous ones go through the hardware's conversion.
macro_rules! read_half {
    ($half:ty, $convert:path) => {{
        unsafe fn run(src: *const u8, stride: isize, dst: *mut u8, n: usize) {
            if stride == 1 {
                // SAFETY: the caller has `n` elements side by side at either end, in memory of its own each.
                let (src, dst) = unsafe {
                    (
                        std::slice::from_raw_parts(src.cast::<$half>(), n),
                        std::slice::from_raw_parts_mut(dst.cast::<f32>(), n),
                    )
                };
                $convert(src, dst);
            } else {
                // SAFETY: the caller's promises are those of the element-wise reader.
                unsafe { (read!($half => f32, |x| x.to_f32()))(src, stride, dst, n) }
            }
        }
        run as ReadRun
    }};
}

macro_rules! write_half {
    ($half:ty, $convert:path) => {{
        unsafe fn run(src: *const u8, dst: *mut u8, stride: isize, n: usize) {
            if stride == 1 {
                // SAFETY: the caller has `n` elements side by side at either end, in memory of its own each.
                let (src, dst) = unsafe {
                    (
                        std::slice::from_raw_parts(src.cast::<f32>(), n),
                        std::slice::from_raw_parts_mut(dst.cast::<$half>(), n),
                    )
                };
                $convert(src, dst);
            } else {
                // SAFETY: the caller's promises are those of the element-wise writer.
                unsafe { (write!(f32 => $half, |x| <$half>::from_f32(x)))(src, dst, stride, n) }
            }
        }
        run as WriteRun
    }};
}

/// How elements of a dtype become values of its compute type.
pub fn reader(dtype: DType) -> ReadRun {
    match dtype {
        DType::Bool => read!(u8 => u8, |x| x),
        DType::U8 => read!(u8 => u32, |x| x as u32),
        DType::U16 => read!(u16 => u32, |x| x as u32),
        DType::I8 => read!(i8 => i32, |x| x as i32),
        DType::I16 => read!(i16 => i32, |x| x as i32),
        DType::U32 | DType::I32 | DType::F32 => read!(u32 => u32, |x| x),
        DType::U64 | DType::I64 | DType::F64 => read!(u64 => u64, |x| x),
        DType::F16 => read_half!(f16, convert::f16_to_f32),
        DType::BF16 => read_half!(bf16, convert::bf16_to_f32),
    }
}

/// How values of a compute type become elements of a dtype of it: integers wrap, floats round.
pub fn writer(dtype: DType) -> WriteRun {
    match dtype {
        DType::Bool => write!(u8 => u8, |x| x),
        DType::U8 | DType::I8 => write!(u32 => u8, |x| x as u8),
        DType::U16 | DType::I16 => write!(u32 => u16, |x| x as u16),
        DType::U32 | DType::I32 | DType::F32 => write!(u32 => u32, |x| x),
        DType::U64 | DType::I64 | DType::F64 => write!(u64 => u64, |x| x),
        DType::F16 => write_half!(f16, convert::f32_to_f16),
        DType::BF16 => write_half!(bf16, convert::f32_to_bf16),
    }
}

/// `n` values `start, start + step, …` as i64.
///
/// # Safety
/// `dst` is a block of `n` i64.
pub unsafe fn iota(start: i64, step: i64, dst: *mut u8, n: usize) {
    // SAFETY: the caller's block.
    let dst = unsafe { std::slice::from_raw_parts_mut(dst.cast::<i64>(), n) };
    let mut value = start;
    for d in dst {
        *d = value;
        value += step;
    }
}

/// How elements of a size that are computed as they are stored are read.
pub fn same_reader(size: usize) -> ReadRun {
    match size {
        1 => read!(u8 => u8, |x| x),
        2 => read!(u16 => u16, |x| x),
        4 => read!(u32 => u32, |x| x),
        _ => read!(u64 => u64, |x| x),
    }
}

/// How elements of a size that are computed as they are stored are written.
pub fn same_writer(size: usize) -> WriteRun {
    match size {
        1 => write!(u8 => u8, |x| x),
        2 => write!(u16 => u16, |x| x),
        4 => write!(u32 => u32, |x| x),
        _ => write!(u64 => u64, |x| x),
    }
}

/// `n` copies of a number as elements of an integer dtype or of a compute type.
///
/// # Safety
/// `dst` is a block of `n` elements of the dtype.
pub unsafe fn fill_elements(value: wootz_ir::Number, dtype: DType, dst: *mut u8, n: usize) {
    // SAFETY: the caller's block.
    unsafe {
        match dtype {
            DType::U8 | DType::I8 => std::slice::from_raw_parts_mut(dst, n).fill(value.to_i64() as u8),
            DType::U16 | DType::I16 => {
                std::slice::from_raw_parts_mut(dst.cast::<u16>(), n).fill(value.to_i64() as u16);
            }
            _ => fill(value, dtype.compute(), dst, n),
        }
    }
}

/// `n` copies of a number.
///
/// # Safety
/// `dst` is a block of `n` values of type `t`.
pub unsafe fn fill(value: wootz_ir::Number, t: ScalarType, dst: *mut u8, n: usize) {
    macro_rules! fill {
        ($t:ty, $v:expr) => {{
            // SAFETY: the caller's block.
            unsafe { std::slice::from_raw_parts_mut(dst.cast::<$t>(), n) }.fill($v)
        }};
    }
    match t {
        ScalarType::Bool => fill!(u8, (value.to_f64() != 0.0) as u8),
        ScalarType::I32 => fill!(i32, value.to_i64() as i32),
        ScalarType::U32 => fill!(u32, value.to_i64() as u32),
        ScalarType::I64 | ScalarType::U64 => fill!(i64, value.to_i64()),
        ScalarType::F32 => fill!(f32, value.to_f64() as f32),
        ScalarType::F64 => fill!(f64, value.to_f64()),
    }
}
