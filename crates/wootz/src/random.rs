//! Counter-based random numbers: element `i` depends only on the seed and `i`, so the same seed gives the same
//! numbers on every device and for any number of threads.

use crate::device::Device;
use crate::tensor::Tensor;
use wootz_ir::{DType, Error, Result, Shape};

/// A seed of random numbers.
#[derive(Clone)]
pub enum Seed {
    /// A known number.
    Number(u64),
    /// Two scalar u32 tensors, the halves of a number that is known when the draw is computed.
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
    /// The seed in a tensor of two u32: the lower half, then the upper.
    pub fn from_key(key: &Tensor) -> Result<Seed> {
        if key.dtype() != DType::U32 || **key.shape() != [2] {
            let detail =
                format!("a key must be a u32 tensor of shape [2], not {}{}", key.dtype(), key.shape());
            return Err(Error::argument("random", detail));
        }
        let half = |i: usize| key.narrow(0, i, 1)?.reshape([]);
        Ok(Seed::Key { low: half(0)?, high: half(1)? })
    }

    /// 32 random bits per element. `stream` distinguishes several draws with one seed.
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

    /// New seeds derived from this one: a u32 tensor of shape `[count, 2]`, one key per row.
    pub fn split(&self, count: usize, device: &Device) -> Result<Tensor> {
        self.bits(Shape::from([count, 2]), 4, device)
    }
}

/// The size of the range of 32 random bits.
const FULL: u64 = 1 << 32;

/// Ranges up to this size are drawn with 32 random bits: some of their numbers are drawn by one value of the bits more than
/// others, of at least 2¹⁵.
const NARROW: u64 = 1 << 17;

impl Tensor {
    /// 32 random bits per element. `stream` distinguishes several draws with one seed.
    pub fn random_u32(shape: impl Into<Shape>, seed: u64, stream: u32) -> Result<Tensor> {
        Tensor::random_u32_on(shape, seed, stream, &Device::current()?)
    }

    /// Like [`Tensor::random_u32`], on a device.
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

    /// Normal floats with mean 0 and variance 1 (Box–Muller).
    pub fn normal(shape: impl Into<Shape>, seed: impl Into<Seed>, dtype: DType) -> Result<Tensor> {
        Tensor::normal_on(shape, seed, dtype, &Device::current()?)
    }

    /// Like [`Tensor::normal`], on a device.
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

    /// Integers from `low` up to but not including `high`. If the size of the range is not a power of two, the
    /// probabilities of the numbers differ, relatively, by less than 2⁻¹⁵; for ranges above 2¹⁷, by less than 2⁻³¹.
    pub fn integers(
        shape: impl Into<Shape>,
        low: i64,
        high: i64,
        seed: impl Into<Seed>,
        dtype: DType,
    ) -> Result<Tensor> {
        Tensor::integers_on(shape, low, high, seed, dtype, &Device::current()?)
    }

    /// Like [`Tensor::integers`], on a device.
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
            let detail = format!("invalid range from {low} to {high}: its size must be from 1 to 2³²");
            return Err(Error::argument("integers", detail));
        };
        if let Some((least, most)) = dtype.integer_range()
            && (i128::from(low) < least || i128::from(high) - 1 > most)
        {
            let detail = format!("{low} to {} does not fit {dtype} ({least} to {most})", high - 1);
            return Err(Error::argument("integers", detail));
        }
        let (seed, shape) = (seed.into(), shape.into());
        let bits = seed.bits(shape.clone(), 3, device)?;
        let scaled = match range as u64 {
            FULL => bits,
            narrow @ ..=NARROW => bits.mul_hi(narrow as u32)?,
            wide => {
                // The upper 64 bits of a product with 64 random bits.
                let below = seed.bits(shape, 5, device)?.mul_hi(wide as u32)?.cast(DType::U64)?;
                bits.cast(DType::U64)?.mul(wide)?.add(&below)?.shift_right(32)?
            }
        };
        scaled.cast(DType::I64)?.add(low)?.cast(dtype)
    }
}
