//! Random numbers by counter: element `i` depends on the seed and on `i` alone, so the same seed gives the same numbers on
//! every device and for any number of threads.

use crate::device::Device;
use crate::tensor::Tensor;
use wootz_ir::{DType, Error, Result, Shape};

impl Tensor {
    /// 32 random bits per element. `stream` tells apart several draws under one seed.
    pub fn random_u32(shape: impl Into<Shape>, seed: u64, stream: u32) -> Result<Tensor> {
        Tensor::random_u32_on(shape, seed, stream, &Device::current()?)
    }

    /// The same as [`Tensor::random_u32`], on a device.
    pub fn random_u32_on(shape: impl Into<Shape>, seed: u64, stream: u32, device: &Device) -> Result<Tensor> {
        let index = Tensor::iota_on(shape, device)?;
        let low = index.cast(DType::U32)?;
        let high = index.shift_right(32)?.cast(DType::U32)?.bitwise_xor(seed >> 32)?;
        let key = (seed as u32).wrapping_add(stream.wrapping_mul(0x85EB_CA6B));
        low.random_bits(&high, key)
    }

    /// Uniform floats in `[0, 1)`.
    pub fn uniform(shape: impl Into<Shape>, seed: u64, dtype: DType) -> Result<Tensor> {
        Tensor::uniform_on(shape, seed, dtype, &Device::current()?)
    }

    /// Uniform floats in `[0, 1)`, on a device.
    pub fn uniform_on(shape: impl Into<Shape>, seed: u64, dtype: DType, device: &Device) -> Result<Tensor> {
        Tensor::uniform_of(shape.into(), (seed, 0), dtype, device)
    }

    fn uniform_of(shape: Shape, (seed, stream): (u64, u32), dtype: DType, device: &Device) -> Result<Tensor> {
        if !dtype.is_float() {
            return Err(Error::dtype("uniform", &[dtype], "a float"));
        }
        let bits = Tensor::random_u32_on(shape, seed, stream, device)?;
        // As many bits as the dtype holds exactly, so that 1 is never reached by rounding.
        let digits = match dtype {
            DType::F16 => 11,
            DType::BF16 => 8,
            DType::F32 => 24,
            _ => 32,
        };
        bits.shift_right(32 - digits)?.cast(dtype)?.mul(0.5f64.powi(digits))
    }

    /// Normal floats of mean 0 and variance 1 (Box and Muller).
    pub fn normal(shape: impl Into<Shape>, seed: u64, dtype: DType) -> Result<Tensor> {
        Tensor::normal_on(shape, seed, dtype, &Device::current()?)
    }

    /// The same as [`Tensor::normal`], on a device.
    pub fn normal_on(shape: impl Into<Shape>, seed: u64, dtype: DType, device: &Device) -> Result<Tensor> {
        if !dtype.is_float() {
            return Err(Error::dtype("normal", &[dtype], "a float"));
        }
        let shape = shape.into();
        let wide = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
        // 1 − u lies in (0, 1], so the logarithm is finite.
        let radius = Tensor::uniform_of(shape.clone(), (seed, 1), wide, device)?.neg()?.add(1.0)?;
        let radius = radius.log()?.mul(-2.0)?.sqrt()?;
        let angle = Tensor::uniform_of(shape, (seed, 2), wide, device)?.mul(std::f64::consts::TAU)?;
        radius.mul(angle.cos()?)?.cast(dtype)
    }

    /// Integers from `low` up to but not including `high`. For ranges that are no power of two the numbers differ in
    /// frequency by less than `(high − low) / 2³²`.
    pub fn integers(shape: impl Into<Shape>, low: i64, high: i64, seed: u64, dtype: DType) -> Result<Tensor> {
        Tensor::integers_on(shape, low, high, seed, dtype, &Device::current()?)
    }

    /// The same as [`Tensor::integers`], on a device.
    pub fn integers_on(
        shape: impl Into<Shape>,
        low: i64,
        high: i64,
        seed: u64,
        dtype: DType,
        device: &Device,
    ) -> Result<Tensor> {
        let range = high.checked_sub(low).filter(|r| (1..=u32::MAX as i64 + 1).contains(r));
        let Some(range) = range else {
            let detail = format!("from {low} to {high}: a range of 1 to 2³² is needed");
            return Err(Error::argument("integers", detail));
        };
        let bits = Tensor::random_u32_on(shape, seed, 3, device)?;
        let scaled = if range == 1 << 32 { bits } else { bits.mul_hi(range as u32)? };
        scaled.cast(DType::I64)?.add(low)?.cast(dtype)
    }
}
