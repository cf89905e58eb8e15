//! Random numbers and their seeds.

use crate::array::{PyArray, array};
use crate::convert::{number_of, typed_number};
use crate::create::class_name;
use crate::device::device_of;
use crate::dtype::{dtype_of, optional_dtype};
use crate::errors::{OrRaise, raise};
use crate::movement::shape_of;
use parking_lot::Mutex;
use pyo3::prelude::*;
use wootz::{DType, Device, Number, Seed, Tensor};

/// The state of draws without a seed in this process: the seed, which differs between processes, and the number of
/// draws so far.
static STREAM: Mutex<Option<(u64, u64)>> = Mutex::new(None);

/// A seed that no earlier draw has used.
pub fn next_seed() -> PyResult<u64> {
    let mut stream = STREAM.lock();
    let (start, count) = match *stream {
        Some(known) => known,
        None => {
            let mut bytes = [0; 8];
            getrandom::fill(&mut bytes).map_err(|error| {
                raise("DeviceError", format!("cannot get a random seed from the system: {error}"))
            })?;
            (u64::from_le_bytes(bytes), 0)
        }
    };
    *stream = Some((start, count.wrapping_add(1)));
    Ok(start.wrapping_add(count))
}

/// A seed that no earlier draw has used.
#[pyfunction]
pub fn _next_seed() -> PyResult<u64> {
    next_seed()
}

/// Sets the seed for draws without a seed of their own.
#[pyfunction]
pub fn _set_seed(seed: &Bound<'_, PyAny>) -> PyResult<()> {
    let Seed::Number(start) = number_seed(seed)? else { return Ok(()) };
    *STREAM.lock() = Some((start, 0));
    Ok(())
}

fn number_seed(seed: &Bound<'_, PyAny>) -> PyResult<Seed> {
    let wrong = || {
        let shown = seed.repr().map_or_else(|_| class_name(seed), |r| r.to_string());
        raise("ArgumentError", format!("a seed must be an integer from 0 to 2**64 - 1, not {shown}"))
    };
    let number = match typed_number(seed)? {
        Some((number, dtype)) if dtype.is_integer() => Some(number),
        Some(_) => None,
        None => number_of(seed).map_err(|_| wrong())?,
    };
    match number {
        Some(Number::Int(i)) => u64::try_from(i).map(Seed::Number).map_err(|_| wrong()),
        Some(Number::Uint(u)) => Ok(Seed::Number(u)),
        _ => Err(wrong()),
    }
}

/// The seed from an argument: an integer, a key, or None.
fn seed_of(seed: Option<&Bound<'_, PyAny>>, device: &Device) -> PyResult<Seed> {
    match seed {
        Some(seed) => match seed.cast::<PyArray>() {
            Ok(key) => Seed::from_key(&key.get().tensor()).or_raise(),
            Err(_) => number_seed(seed),
        },
        None if crate::trace::current() != 0 => crate::trace::seed(device),
        None => next_seed().map(Seed::Number),
    }
}

/// Keys derived from a seed or a key, one per row.
#[pyfunction]
pub fn _split_key(seed: Option<&Bound<'_, PyAny>>, count: usize) -> PyResult<PyArray> {
    let device = match seed.and_then(|s| s.cast::<PyArray>().ok()) {
        Some(key) => key.get().tensor().device().clone(),
        None => Device::current().or_raise()?,
    };
    array(seed_of(seed, &device)?.split(count, &device))
}

/// Uniform floats in ``[0, 1)``; the same seed gives the same numbers on every device.
#[pyfunction]
#[pyo3(signature = (shape, seed, *, dtype=None, device=None))]
pub fn _uniform(
    shape: &Bound<'_, PyAny>,
    seed: Option<&Bound<'_, PyAny>>,
    dtype: Option<&Bound<'_, PyAny>>,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyArray> {
    let dtype = optional_dtype(dtype)?.unwrap_or(DType::F32);
    let device = device_of(device)?;
    array(Tensor::uniform_on(shape_of(shape)?, seed_of(seed, &device)?, dtype, &device))
}

/// Normal floats with mean 0 and variance 1.
#[pyfunction]
#[pyo3(signature = (shape, seed, *, dtype=None, device=None))]
pub fn _normal(
    shape: &Bound<'_, PyAny>,
    seed: Option<&Bound<'_, PyAny>>,
    dtype: Option<&Bound<'_, PyAny>>,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyArray> {
    let dtype = optional_dtype(dtype)?.unwrap_or(DType::F32);
    let device = device_of(device)?;
    array(Tensor::normal_on(shape_of(shape)?, seed_of(seed, &device)?, dtype, &device))
}

/// Integers from ``low`` up to but not including ``high``.
#[pyfunction]
#[pyo3(signature = (shape, low, high, seed, *, dtype=None, device=None))]
pub fn _integers(
    shape: &Bound<'_, PyAny>,
    low: i64,
    high: i64,
    seed: Option<&Bound<'_, PyAny>>,
    dtype: Option<&Bound<'_, PyAny>>,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyArray> {
    let dtype = dtype.map_or(Ok(DType::I64), dtype_of)?;
    let device = device_of(device)?;
    array(Tensor::integers_on(shape_of(shape)?, low, high, seed_of(seed, &device)?, dtype, &device))
}
