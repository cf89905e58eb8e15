//! Methods that rearrange elements or views.

use crate::array::{PyArray, array};
use crate::convert::{Copying, Int, check_fits, tensor_of};
use crate::create::number;
use crate::errors::{OrRaise, raise};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use wootz::{Axis, Number, Shape, Tensor};

/// One axis, several, or none given.
pub fn axes(object: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Vec<Axis>>> {
    let Some(object) = object else { return Ok(None) };
    if let Ok(axis) = object.extract::<isize>() {
        return Ok(Some(vec![axis]));
    }
    object.extract::<Vec<isize>>().map(Some).map_err(|_| {
        let shown = object.repr().map_or_else(|_| "an object".into(), |r| r.to_string());
        raise("ConversionError", format!("an axis must be an integer or a tuple of integers, not {shown}"))
    })
}

/// A shape given as one sequence, one integer, or several integers.
fn extents(arguments: &Bound<'_, PyTuple>) -> PyResult<Vec<isize>> {
    let wrong = |_| raise("ConversionError", format!("a shape must be a tuple of integers, not {arguments}"));
    if arguments.len() == 1 && arguments.get_item(0)?.hasattr("__len__")? {
        return arguments.get_item(0)?.extract().map_err(wrong);
    }
    arguments.extract::<Vec<isize>>().map_err(wrong)
}

/// A shape with at most one extent given as −1.
fn complete(tensor: &Tensor, extents: &[isize]) -> PyResult<Shape> {
    let open = extents.iter().filter(|&&d| d == -1).count();
    let mut given = extents.iter().filter(|&&d| d >= 0).map(|&d| d as usize);
    // An overflowing product matches no array; zero anywhere makes it zero.
    let known = if given.clone().any(|d| d == 0) { Some(0) } else { given.try_fold(1, usize::checked_mul) };
    if open > 1 || extents.iter().any(|&d| d < -1) {
        return Err(raise(
            "ShapeError",
            format!("reshape: {extents:?}: only one extent may be -1, and none less"),
        ));
    }
    let divides = |known: usize| known != 0 && tensor.count().is_multiple_of(known);
    if open == 1 && !known.is_some_and(divides) {
        let message = format!("reshape: cannot reshape {} elements to {extents:?}", tensor.count());
        return Err(raise("ShapeError", message));
    }
    let missing = if open == 1 { tensor.count() / known.unwrap_or(1) } else { 0 };
    Ok(extents.iter().map(|&d| if d == -1 { missing } else { d as usize }).collect())
}

/// A shape argument without −1.
pub fn shape_of(object: &Bound<'_, PyAny>) -> PyResult<Shape> {
    let extents = match object.extract::<isize>() {
        Ok(extent) => vec![extent],
        Err(_) => object.extract::<Vec<isize>>().map_err(|_| {
            raise(
                "ConversionError",
                format!("a shape must be an integer or a tuple of integers, not {object}"),
            )
        })?,
    };
    match extents.iter().find(|&&d| d < 0) {
        Some(negative) => {
            Err(raise("ShapeError", format!("a shape cannot have a negative extent: {negative}")))
        }
        None => Ok(extents.iter().map(|&d| d as usize).collect()),
    }
}

#[pymethods]
impl PyArray {
    /// The same elements in another shape; one extent may be -1.
    #[pyo3(signature = (*shape))]
    fn reshape(&self, shape: &Bound<'_, PyTuple>) -> PyResult<PyArray> {
        let tensor = self.tensor();
        let shape = complete(&tensor, &extents(shape)?)?;
        array(tensor.reshape(shape))
    }

    /// The flattened array.
    fn flatten(&self) -> PyResult<PyArray> {
        array(self.tensor().flatten())
    }

    /// Permutes the axes; reverses them if none are given.
    #[pyo3(signature = (*axes))]
    fn transpose(&self, axes: &Bound<'_, PyTuple>) -> PyResult<PyArray> {
        let tensor = self.tensor();
        if axes.is_empty() {
            return array(tensor.permute((0..tensor.rank() as isize).rev().collect::<Vec<_>>()));
        }
        array(tensor.permute(extents(axes)?))
    }

    /// The array broadcast to a shape.
    fn broadcast_to(&self, shape: &Bound<'_, PyAny>) -> PyResult<PyArray> {
        array(self.tensor().broadcast_to(shape_of(shape)?))
    }

    /// A new axis of extent 1.
    #[pyo3(signature = (axis=0))]
    fn expand_dims(&self, axis: isize) -> PyResult<PyArray> {
        array(self.tensor().unsqueeze(axis))
    }

    /// Removes axes of extent 1: the given ones, or all.
    #[pyo3(signature = (axis=None))]
    fn squeeze(&self, axis: Option<&Bound<'_, PyAny>>) -> PyResult<PyArray> {
        let tensor = self.tensor();
        let mut dropped: Vec<usize> = Vec::new();
        match axes(axis)? {
            None => dropped.extend((0..tensor.rank()).filter(|&a| tensor.shape()[a] == 1)),
            Some(axes) => {
                for axis in axes {
                    let at = tensor.shape().axis("squeeze", axis).or_raise()?;
                    if dropped.contains(&at) {
                        return Err(raise("AxisError", format!("squeeze: axis {axis} is given twice")));
                    }
                    dropped.push(at);
                }
            }
        }
        dropped.sort_unstable();
        let mut result = tensor;
        for &axis in dropped.iter().rev() {
            result = result.squeeze(axis as isize).or_raise()?;
        }
        Ok(PyArray::new(result))
    }

    /// Reverses axes: the given ones, or all.
    #[pyo3(signature = (axis=None))]
    fn flip(&self, axis: Option<&Bound<'_, PyAny>>) -> PyResult<PyArray> {
        let tensor = self.tensor();
        let every = (0..tensor.rank() as isize).collect();
        array(tensor.flip(axes(axis)?.unwrap_or(every)))
    }

    /// Rolls elements by ``shift`` along an axis; those shifted out re-enter at the other end.
    #[pyo3(name = "_roll", signature = (shift, axis))]
    fn roll(&self, shift: Int<isize>, axis: Int<isize>) -> PyResult<PyArray> {
        array(self.tensor().roll(shift.0, axis.0))
    }

    /// Repeats each element of an axis ``times`` times.
    #[pyo3(name = "_repeat", signature = (times, axis))]
    fn repeat(&self, times: Int<usize>, axis: Int<isize>) -> PyResult<PyArray> {
        array(self.tensor().repeat(times.0, axis.0))
    }

    /// Repeats the array ``times`` times along an axis.
    #[pyo3(name = "_tile", signature = (times, axis))]
    fn tile(&self, times: Int<usize>, axis: Int<isize>) -> PyResult<PyArray> {
        array(self.tensor().tile(times.0, axis.0))
    }

    /// Pads with ``value``: ``(before, after)`` per axis.
    #[pyo3(signature = (widths, value=None))]
    fn pad(&self, widths: Vec<(usize, usize)>, value: Option<&Bound<'_, PyAny>>) -> PyResult<PyArray> {
        let (value, tensor) = (value.map(number).transpose()?, self.tensor());
        let value = value.map_or(Number::Int(0), |(value, _)| value);
        check_fits(value, tensor.dtype())?;
        array(tensor.pad(&widths, value))
    }

    /// Diagonal ``offset`` of the last two axes.
    #[pyo3(name = "_diagonal", signature = (offset=Int(0)), text_signature = "($self, offset=0)")]
    fn diagonal(&self, offset: Int<isize>) -> PyResult<PyArray> {
        array(self.tensor().diagonal(offset.0))
    }

    /// The lower triangle of the last two axes, up to diagonal ``k``.
    #[pyo3(signature = (k=Int(0)), text_signature = "($self, k=0)")]
    fn tril(&self, k: Int<i64>) -> PyResult<PyArray> {
        array(self.tensor().tril(k.0))
    }

    /// The upper triangle of the last two axes, from diagonal ``k`` on.
    #[pyo3(signature = (k=Int(0)), text_signature = "($self, k=0)")]
    fn triu(&self, k: Int<i64>) -> PyResult<PyArray> {
        array(self.tensor().triu(k.0))
    }

    /// Elements along an axis by index; of the flattened array if no axis is given.
    #[pyo3(signature = (indices, /, axis=None))]
    fn take(&self, indices: &Bound<'_, PyAny>, axis: Option<isize>) -> PyResult<PyArray> {
        let tensor = self.tensor();
        let tensor = if axis.is_none() { tensor.flatten().or_raise()? } else { tensor };
        let indices = tensor_of(indices, None, tensor.device(), Copying::IfNeeded)?;
        array(tensor.take(&indices, axis.unwrap_or(0)))
    }

    /// ``out[…, i, …] = self[…, indices[…, i, …], …]``.
    #[pyo3(signature = (indices, /, axis=-1))]
    fn take_along_axis(&self, indices: PyRef<'_, PyArray>, axis: isize) -> PyResult<PyArray> {
        array(self.tensor().take_along_axis(&indices.tensor(), axis))
    }

    /// A copy with ``values`` added at ``indices`` along an axis; repeated indices accumulate.
    #[pyo3(signature = (indices, values, /, *, axis=0))]
    fn scatter_add(
        &self,
        indices: PyRef<'_, PyArray>,
        values: PyRef<'_, PyArray>,
        axis: isize,
    ) -> PyResult<PyArray> {
        array(self.tensor().scatter_add(&indices.tensor(), &values.tensor(), axis))
    }

    /// The coordinates of true or non-zero elements, one row each. Evaluates the array.
    #[pyo3(name = "_nonzero")]
    fn nonzero(&self, py: Python<'_>) -> PyResult<PyArray> {
        let tensor = self.evaluated(py)?;
        crate::run::detached(py, || tensor.nonzero()).map(PyArray::new)
    }

    /// A copy of the array in its own memory.
    fn copy(&self, py: Python<'_>) -> PyResult<PyArray> {
        let tensor = self.evaluated(py)?;
        crate::run::detached(py, || tensor.copied()).map(PyArray::new)
    }
}

/// Joins arrays along an axis.
#[pyfunction]
#[pyo3(name = "_concat")]
pub fn concat(arrays: Vec<PyRef<'_, PyArray>>, axis: isize) -> PyResult<PyArray> {
    let tensors: Vec<Tensor> = arrays.iter().map(|a| a.tensor()).collect();
    array(Tensor::concat(&tensors.iter().collect::<Vec<_>>(), axis))
}

/// Joins arrays of the same shape along a new axis.
#[pyfunction]
#[pyo3(name = "_stack")]
pub fn stack(arrays: Vec<PyRef<'_, PyArray>>, axis: isize) -> PyResult<PyArray> {
    let tensors: Vec<Tensor> = arrays.iter().map(|a| a.tensor()).collect();
    array(Tensor::stack(&tensors.iter().collect::<Vec<_>>(), axis))
}
