//! User-defined ops.

use crate::element::Element;
use crate::tensor::Tensor;
use std::sync::Arc;
use wootz_ir::custom::HostArray;
use wootz_ir::{CustomKernel, DType, Error, Result, Shape, build};

/// A host kernel over typed slices, for [`CustomKernel::with_host`]: every input holds elements of `T`, the result elements of `U`.
///
/// ```
/// use wootz::{CustomKernel, DType, Tensor, typed_host};
///
/// # fn main() -> wootz::Result<()> {
/// let lengths = CustomKernel::new("lengths").with_host(typed_host(|inputs: &[&[f32]], out: &mut [f32]| {
///     out.iter_mut().zip(inputs[0].chunks(2)).for_each(|(to, v)| *to = v[0].hypot(v[1]));
/// }));
/// let x = Tensor::from_vec(vec![3.0f32, 4.0, 6.0, 8.0], [2, 2])?;
/// let y = Tensor::custom(&lengths.into(), &[&x], [2], DType::F32)?;
/// assert_eq!(y.to_vec::<f32>()?, [5.0, 10.0]);
/// # Ok(())
/// # }
/// ```
///
/// # Panics
/// If the kernel runs on a tensor of another dtype: that is a bug in the program that built the graph.
pub fn typed_host<T, U>(
    f: impl Fn(&[&[T]], &mut [U]) + Send + Sync + 'static,
) -> impl Fn(&[HostArray<'_>], &mut [u8]) + Send + Sync + 'static
where
    T: Element + bytemuck::AnyBitPattern,
    U: Element + bytemuck::AnyBitPattern,
{
    move |inputs, out| {
        let typed: Vec<&[T]> = inputs
            .iter()
            .map(|input| {
                assert!(input.dtype == T::DTYPE, "a host kernel of {} was given {}", T::DTYPE, input.dtype);
                bytemuck::cast_slice(input.bytes)
            })
            .collect();
        f(&typed, bytemuck::cast_slice_mut(out));
    }
}

impl Tensor {
    /// The result of a user-defined kernel, as a graph node like any other: lazy, planned with its neighbours, run in
    /// the same batch.
    ///
    /// The kernel reads each input in row-major order and writes an entire result of the given shape and dtype. A
    /// device without an implementation rejects it with an error that lists the available ones.
    ///
    /// ```
    /// use wootz::{CustomKernel, DType, Tensor};
    ///
    /// # fn main() -> wootz::Result<()> {
    /// let reverse_bits = CustomKernel::new("reverse_bits").with_host(|inputs, out| {
    ///     out.iter_mut().zip(inputs[0].bytes).for_each(|(to, from)| *to = from.reverse_bits());
    /// });
    /// let x = Tensor::from_slice(&[1u8, 2, 3])?;
    /// let y = Tensor::custom(&reverse_bits.into(), &[&x], [3], DType::U8)?;
    /// assert_eq!(y.to_vec::<u8>()?, [128, 64, 192]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn custom(
        kernel: &Arc<CustomKernel>,
        inputs: &[&Tensor],
        shape: impl Into<Shape>,
        dtype: DType,
    ) -> Result<Tensor> {
        let Some(first) = inputs.first() else {
            return Err(Error::argument("custom", format!("{} needs at least one input", kernel.name())));
        };
        if let Some(other) = inputs.iter().find(|x| x.device != first.device) {
            let (a, b) = (first.device.name().into(), other.device.name().into());
            return Err(Error::DeviceMismatch { op: "custom", a, b });
        }
        let nodes: Vec<_> = inputs.iter().map(|x| &x.node).collect();
        first.wrap(build::custom(kernel, &nodes, &shape.into(), dtype))
    }
}
