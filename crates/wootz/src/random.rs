//! Random numbers by counter: element `i` depends on the seed and on `i` alone, so the same seed gives the same numbers on
//! every device and for any number of threads.

use crate::device::Device;
use crate::tensor::Tensor;
use wootz_ir::{DType, Error, Result, Shape};

/// What random numbers depend on besides their position.
#[derive(Clone)]
pub enum Seed {
    /// A number known now.
    Number(u64),
    /// A scalar u32 tensor for each half of the number, known when the draw is computed.
    Key {
        /// The lower 32 bits.
        low: Tensor,
        /// The upper 32 bits.
        high: Tensor,
    },
}

impl From<u64> for Seed {
    fn from(seed: u64) -> Seed {
        Seed::Number(seed)
    }
}

impl From<i32> for Seed {
    fn from(seed: i32) -> Seed {
        Seed::Number(seed as u64)
    }
}

impl Seed {
    /// The seed that a tensor of two u32 holds: the lower half, then the upper.
    pub fn from_key(key: &Tensor) -> Result<Seed> {
        if key.dtype() != DType::U32 || **key.shape() != [2] {
            let detail = format!("a key is a u32 tensor of shape [2], not {}{}", key.dtype(), key.shape());
            return Err(Error::argument("random", detail));
        }
        let half = |i: usize| key.narrow(0, i, 1)?.reshape([]);
        Ok(Seed::Key { low: half(0)?, high: half(1)? })
    }

    /// 32 random bits per element. `stream` tells apart several draws under one seed.
    fn bits(&self, shape: Shape, stream: u32, device: &Device) -> Result<Tensor> {
        let index = Tensor::iota_on(shape, device)?;
        let (below, above) = (index.cast(DType::U32)?, index.shift_right(32)?.cast(DType::U32)?);
        let stream = stream.wrapping_mul(0x85EB_CA6B);
        match self {
            Seed::Number(seed) => {
                let key = (*seed as u32).wrapping_add(stream);
                below.random_bits(&above.bitwise_xor(seed >> 32)?, key)
            }
            Seed::Key { low, high } => {
                let (low, high) = (low.computed_on(device)?, high.computed_on(device)?);
                below.random_bits(&above.bitwise_xor(&high)?, &low.add(stream)?)
            }
        }
    }

    /// Seeds made from this one: a u32 tensor of shape `[count, 2]`, one key in each row.
    pub fn split(&self, count: usize, device: &Device) -> Result<Tensor> {
        self.bits(Shape::from([count, 2]), 4, device)
    }
}

impl Tensor {
    /// 32 random bits per element. `stream` separates several draws under one seed.
    pub fn random_u32(shape: impl Into<Shape>, seed: u64, stream: u32) -> Result<Tensor> {
        Tensor::random_u32_on(shape, seed, stream, &Device::current()?)
    }

    /// The same as [`Tensor::random_u32`], on a device.
    pub fn random_u32_on(shape: impl Into<Shape>, seed: u64, stream: u32, device: &Device) -> Result<Tensor> {
        Seed::Number(seed).bits(shape.into(), stream, device)
    }

    /// Uniform floats in `[0, 1)`.
    pub fn uniform(shape: impl Into<Shape>, seed: impl Into<Seed>, dtype: DType) -> Result<Tensor> {
        Tensor::uniform_on(shape, seed, dtype, &Device::current()?)
    }

    /// Uniform floats in `[0, 1)`, on a device.
    pub fn uniform_on(
        shape: impl Into<Shape>,
        seed: impl Into<Seed>,
        dtype: DType,
        device: &Device,
    ) -> Result<Tensor> {
        Tensor::uniform_of(shape.into(), (&seed.into(), 0), dtype, device)
    }

    fn uniform_of(
        shape: Shape,
        (seed, stream): (&Seed, u32),
        dtype: DType,
        device: &Device,
    ) -> Result<Tensor> {
        if !dtype.is_float() {
            return Err(Error::dtype("uniform", &[dtype], "a float"));
        }
        let bits = seed.bits(shape, stream, device)?;
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
    pub fn normal(shape: impl Into<Shape>, seed: impl Into<Seed>, dtype: DType) -> Result<Tensor> {
        Tensor::normal_on(shape, seed, dtype, &Device::current()?)
    }

    /// The same as [`Tensor::normal`], on a device.
    pub fn normal_on(
        shape: impl Into<Shape>,
        seed: impl Into<Seed>,
        dtype: DType,
        device: &Device,
    ) -> Result<Tensor> {
        if !dtype.is_float() {
            return Err(Error::dtype("normal", &[dtype], "a float"));
        }
        let (shape, seed) = (shape.into(), seed.into());
        let wide = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
        // 1 − u lies in (0, 1], so the logarithm is finite.
        let radius = Tensor::uniform_of(shape.clone(), (&seed, 1), wide, device)?.neg()?.add(1.0)?;
        let radius = radius.log()?.mul(-2.0)?.sqrt()?;
        let angle = Tensor::uniform_of(shape, (&seed, 2), wide, device)?.mul(std::f64::consts::TAU)?;
        radius.mul(angle.cos()?)?.cast(dtype)
    }

    /// Integers from `low` up to but not including `high`. For ranges that are not a power of two the numbers differ in
    /// frequency by less than `(high − low) / 2³²`.
    pub fn integers(
        shape: impl Into<Shape>,
        low: i64,
        high: i64,
        seed: impl Into<Seed>,
        dtype: DType,
    ) -> Result<Tensor> {
        Tensor::integers_on(shape, low, high, seed, dtype, &Device::current()?)
    }

    /// The same as [`Tensor::integers`], on a device.
    pub fn integers_on(
        shape: impl Into<Shape>,
        low: i64,
        high: i64,
        seed: impl Into<Seed>,
        dtype: DType,
        device: &Device,
    ) -> Result<Tensor> {
        let range = high.checked_sub(low).filter(|r| (1..=u32::MAX as i64 + 1).contains(r));
        let Some(range) = range else {
            let detail = format!("from {low} to {high}: a range of 1 to 2³² is needed");
            return Err(Error::argument("integers", detail));
        };
        if let Some((least, most)) = dtype.integer_range()
            && (i128::from(low) < least || i128::from(high) - 1 > most)
        {
            let detail = format!("{low} to {} does not fit {dtype} ({least} to {most})", high - 1);
            return Err(Error::argument("integers", detail));
        }
        let bits = seed.into().bits(shape.into(), 3, device)?;
        let scaled = if range == 1 << 32 { bits } else { bits.mul_hi(range as u32)? };
        scaled.cast(DType::I64)?.add(low)?.cast(dtype)
    }
}
