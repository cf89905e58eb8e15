//! Tensor creation: constants, ranges, grids.

use crate::device::Device;
use crate::tensor::Tensor;
use wootz_ir::{DType, Error, Number, Result, Shape, build};

impl Tensor {
    /// A tensor filled with `value`.
    pub fn full(shape: impl Into<Shape>, value: impl Into<Number>, dtype: DType) -> Result<Tensor> {
        Tensor::full_on(shape, value, dtype, &Device::current()?)
    }

    /// A tensor filled with `value`, on a device.
    pub fn full_on(
        shape: impl Into<Shape>,
        value: impl Into<Number>,
        dtype: DType,
        device: &Device,
    ) -> Result<Tensor> {
        let shape = shape.into();
        shape.check("full")?;
        Ok(Tensor::new(build::full(&shape, value.into(), dtype)?, device))
    }

    /// Zeros.
    pub fn zeros(shape: impl Into<Shape>, dtype: DType) -> Result<Tensor> {
        Tensor::full(shape, 0, dtype)
    }

    /// Zeros, on a device.
    pub fn zeros_on(shape: impl Into<Shape>, dtype: DType, device: &Device) -> Result<Tensor> {
        Tensor::full_on(shape, 0, dtype, device)
    }

    /// Ones.
    pub fn ones(shape: impl Into<Shape>, dtype: DType) -> Result<Tensor> {
        Tensor::full(shape, 1, dtype)
    }

    /// Ones, on a device.
    pub fn ones_on(shape: impl Into<Shape>, dtype: DType, device: &Device) -> Result<Tensor> {
        Tensor::full_on(shape, 1, dtype, device)
    }

    /// Zeros with this tensor's shape and dtype, on its device.
    pub fn zeros_like(&self) -> Result<Tensor> {
        Tensor::full_on(self.shape(), 0, self.dtype(), &self.device)
    }

    /// Ones with this tensor's shape and dtype, on its device.
    pub fn ones_like(&self) -> Result<Tensor> {
        Tensor::full_on(self.shape(), 1, self.dtype(), &self.device)
    }

    /// The row-major index of each element, as i64.
    pub fn iota(shape: impl Into<Shape>) -> Result<Tensor> {
        Tensor::iota_on(shape, &Device::current()?)
    }

    /// The row-major index of each element, as i64, on a device.
    pub fn iota_on(shape: impl Into<Shape>, device: &Device) -> Result<Tensor> {
        Ok(Tensor::new(build::iota(&shape.into())?, device))
    }

    /// `start, start + step, …` up to but not including `stop`.
    pub fn arange(
        start: impl Into<Number>,
        stop: impl Into<Number>,
        step: impl Into<Number>,
        dtype: DType,
    ) -> Result<Tensor> {
        Tensor::arange_on(start, stop, step, dtype, &Device::current()?)
    }

    /// `start, start + step, …` up to but not including `stop`, on a device.
    pub fn arange_on(
        start: impl Into<Number>,
        stop: impl Into<Number>,
        step: impl Into<Number>,
        dtype: DType,
        device: &Device,
    ) -> Result<Tensor> {
        let (start, stop, step) = (start.into(), stop.into(), step.into());
        let span = (stop.to_f64() - start.to_f64()) / step.to_f64();
        if !span.is_finite() || step.to_f64() == 0.0 {
            let detail = format!(
                "invalid range from {start} to {stop} by {step}: bounds must be finite and the step non-zero"
            );
            return Err(Error::argument("arange", detail));
        }
        if dtype == DType::Bool {
            return Err(Error::dtype("arange", &[dtype], "a number"));
        }
        // Large integers are not all doubles.
        let count = match (start, stop, step) {
            (Number::Float(_), ..) | (_, Number::Float(_), _) | (.., Number::Float(_)) => {
                span.ceil().max(0.0)
            }
            _ => integer_count(start, stop, step) as f64,
        };
        if count > isize::MAX as f64 {
            return Err(Error::argument("arange", format!("{count} elements is too large")));
        }
        let index = Tensor::iota_on([count as usize], device)?;
        if dtype.is_integer() && step.to_f64().fract() == 0.0 && start.to_f64().fract() == 0.0 {
            let scaled = index.mul(step.to_i64())?.add(start.to_i64())?;
            return scaled.cast(dtype);
        }
        let wide = index.cast(DType::F64)?.mul(step.to_f64())?.add(start.to_f64())?;
        wide.cast(dtype)
    }

    /// `count` evenly spaced numbers from `start` to `stop`, including `stop` if `endpoint`.
    pub fn linspace(start: f64, stop: f64, count: usize, endpoint: bool, dtype: DType) -> Result<Tensor> {
        Tensor::linspace_on(start, stop, count, endpoint, dtype, &Device::current()?)
    }

    /// Like [`Tensor::linspace`], on a device.
    pub fn linspace_on(
        start: f64,
        stop: f64,
        count: usize,
        endpoint: bool,
        dtype: DType,
        device: &Device,
    ) -> Result<Tensor> {
        if !dtype.is_float() {
            return Err(Error::dtype("linspace", &[dtype], "a float"));
        }
        let gaps = if endpoint { count.saturating_sub(1) } else { count }.max(1);
        let index = Tensor::iota_on([count], device)?.cast(DType::F64)?;
        let values = index.mul((stop - start) / gaps as f64)?.add(start)?;
        // The last point is exact, whatever the rounding of the step.
        let last = Tensor::iota_on([count], device)?.equal(gaps as i64)?;
        let exact = if endpoint && count > 1 { last.where_(stop, &values)? } else { values };
        exact.cast(dtype)
    }

    /// Ones on diagonal `k` of a `rows × columns` matrix, zeros elsewhere.
    pub fn eye(rows: usize, columns: usize, k: i64, dtype: DType) -> Result<Tensor> {
        Tensor::eye_on(rows, columns, k, dtype, &Device::current()?)
    }

    /// Like [`Tensor::eye`], on a device.
    pub fn eye_on(rows: usize, columns: usize, k: i64, dtype: DType, device: &Device) -> Result<Tensor> {
        let row = Tensor::iota_on([rows, 1], device)?.add(k)?;
        let column = Tensor::iota_on([1, columns], device)?;
        row.equal(&column)?.cast(dtype)
    }

    /// For each element, whether its column is at most its row plus `k`, over the last two axes.
    fn lower_mask(&self, op: &'static str, k: i64) -> Result<Tensor> {
        let rank = self.rank();
        if rank < 2 {
            return Err(Error::shape(op, &[self.shape()], "at least two axes"));
        }
        let row = Tensor::iota_on([self.shape()[rank - 2], 1], &self.device)?.add(k)?;
        let column = Tensor::iota_on([1, self.shape()[rank - 1]], &self.device)?;
        column.less_equal(&row)
    }

    /// The lower triangle, up to diagonal `k`; zeros above.
    pub fn tril(&self, k: i64) -> Result<Tensor> {
        self.lower_mask("tril", k)?.where_(self, self.zeros_like()?)
    }

    /// The upper triangle, from diagonal `k` on; zeros below.
    pub fn triu(&self, k: i64) -> Result<Tensor> {
        self.lower_mask("triu", k - 1)?.where_(self.zeros_like()?, self)
    }
}

/// The number of integers in a range.
fn integer_count(start: Number, stop: Number, step: Number) -> i128 {
    let wide = |number: Number| match number {
        Number::Uint(u) => u as i128,
        other => other.to_i64() as i128,
    };
    let (span, step) = (wide(stop) - wide(start), wide(step));
    let (span, step) = if step < 0 { (-span, -step) } else { (span, step) };
    span.max(0).saturating_add(step - 1) / step
}
