//! Methods and functions of elementwise ops, generated from the op table.

use crate::array::{PyArray, array};
use crate::convert::{Copying, is_number, number_of, scalar, tensor_of};
use crate::errors::{OrRaise, raise};
use crate::operators::{decided, operand};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use wootz::{DType, Device, Tensor};
use wootz_ir::ElementwiseOp;

/// An op over arrays and numbers: the first array determines what the numbers become.
pub fn apply(op: ElementwiseOp, arguments: &[&Bound<'_, PyAny>]) -> PyResult<PyArray> {
    // The condition of `where` does not affect the dtype of the others.
    let skip = usize::from(op == ElementwiseOp::Where);
    let mut like = None;
    for (i, argument) in arguments[skip..].iter().chain(&arguments[..skip]).enumerate() {
        if !is_number(argument) {
            let tensor = first_tensor(argument, arguments)?;
            let is_condition = i + skip >= arguments.len() && skip > 0;
            like = Some(if is_condition { tensor.cast(DType::Bool).or_raise()? } else { tensor });
            break;
        }
    }
    let like = match like {
        Some(like) => like,
        None => {
            let number = number_of(arguments[skip])?;
            let number = number.ok_or_else(|| raise("ConversionError", "expected an array or a number"))?;
            scalar(number, None, &Device::current().or_raise()?)?
        }
    };
    if let [_, second] = arguments
        && let Some(decided) = decided(op, &like, second)?
    {
        return Ok(decided);
    }
    let mut tensors = smallvec::SmallVec::<[Tensor; 3]>::new();
    for (i, argument) in arguments.iter().enumerate() {
        let condition = i < skip;
        let tensor = match condition {
            // Numbers hold where they are not 0.
            true => tensor_of(argument, Some(DType::Bool), like.device(), Copying::IfNeeded)?,
            false => operand(op.name(), argument, &like)?
                .map_or_else(|| tensor_of(argument, None, like.device(), Copying::IfNeeded), Ok)?,
        };
        tensors.push(tensor);
    }
    let references: smallvec::SmallVec<[&Tensor; 3]> = tensors.iter().collect();
    array(Tensor::elementwise(op, &references))
}

/// The argument that determines dtypes, as a tensor on the device of the first array argument.
fn first_tensor(argument: &Bound<'_, PyAny>, all: &[&Bound<'_, PyAny>]) -> PyResult<Tensor> {
    if let Ok(own) = argument.cast::<PyArray>() {
        return Ok(own.get().tensor());
    }
    let device = match all.iter().find_map(|a| a.cast::<PyArray>().ok()) {
        Some(array) => array.get().tensor().device().clone(),
        None => Device::current().or_raise()?,
    };
    tensor_of(argument, None, &device, Copying::IfNeeded)
}

macro_rules! row {
    ($doc:literal unary $variant:ident $name:ident) => {
        #[pymethods]
        impl PyArray {
            #[doc = $doc]
            fn $name(&self) -> PyResult<PyArray> {
                array(self.tensor().$name())
            }
        }

        #[doc = $doc]
        #[pyfunction]
        #[pyo3(signature = (x, /))]
        fn $name(x: &Bound<'_, PyAny>) -> PyResult<PyArray> {
            match x.cast::<PyArray>() {
                Ok(own) => array(own.get().tensor().$name()),
                Err(_) => apply(ElementwiseOp::$variant, &[x]),
            }
        }
    };
    ($doc:literal binary $variant:ident $name:ident) => {
        #[pymethods]
        impl PyArray {
            #[doc = $doc]
            #[pyo3(signature = (other, /))]
            fn $name(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<PyArray> {
                apply(ElementwiseOp::$variant, &[slf.as_any(), other])
            }
        }

        #[doc = $doc]
        #[pyfunction]
        #[pyo3(signature = (x1, x2, /))]
        fn $name(x1: &Bound<'_, PyAny>, x2: &Bound<'_, PyAny>) -> PyResult<PyArray> {
            apply(ElementwiseOp::$variant, &[x1, x2])
        }
    };
    // Python calls it `where`, a keyword in Rust; `clip` has optional bounds. Both are written out below.
    ($doc:literal ternary Where $name:ident) => {};
    ($doc:literal ternary Clip $name:ident) => {};
    ($doc:literal ternary $variant:ident $name:ident) => {
        #[doc = $doc]
        #[pyfunction]
        #[pyo3(signature = (x1, x2, x3, /))]
        fn $name(x1: &Bound<'_, PyAny>, x2: &Bound<'_, PyAny>, x3: &Bound<'_, PyAny>) -> PyResult<PyArray> {
            apply(ElementwiseOp::$variant, &[x1, x2, x3])
        }
    };
}

macro_rules! add_row {
    ($module:ident Where $name:ident) => {};
    ($module:ident Clip $name:ident) => {};
    ($module:ident $variant:ident $name:ident) => {
        $module.add_function(wrap_pyfunction!($name, $module)?)?;
    };
}

macro_rules! rows {
    ($(#[doc = $doc:literal] $arity:ident $variant:ident $name:ident $accepts:ident $gives:ident $numpy:literal
       |$($arg:ident),+| $body:block)*) => {
        $(row!($doc $arity $variant $name);)*

        /// Adds the functions of the table to the module.
        pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(add_row!(module $variant $name);)*
            module.add_function(wrap_pyfunction!(where_, module)?)?;
            module.add_function(wrap_pyfunction!(clip, module)?)?;
            module.add_function(wrap_pyfunction!(_op_table, module)?)
        }
    };
}
wootz_ir::for_each_elementwise!(rows);

/// x where the condition holds, y elsewhere. With a condition alone, where it holds, like ``nonzero``.
#[pyfunction]
#[pyo3(name = "where", signature = (condition, x1=None, x2=None, /))]
fn where_(
    condition: &Bound<'_, PyAny>,
    x1: Option<&Bound<'_, PyAny>>,
    x2: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<PyAny>> {
    let py = condition.py();
    match (x1, x2) {
        (Some(x1), Some(x2)) => apply(ElementwiseOp::Where, &[condition, x1, x2])?.into_py_any(py),
        (None, None) => py.import("wootz")?.call_method1("nonzero", (condition,)).map(Bound::unbind),
        _ => Err(raise("ArgumentError", "where: expected either two values after the condition, or none")),
    }
}

/// Each element clamped to the range from ``min`` to ``max``; either bound may be omitted. The dtype is unchanged.
/// NumPy's ``a_min`` and ``a_max`` are other names of the bounds.
#[pyfunction]
#[pyo3(signature = (x, /, min=None, max=None, *, a_min=None, a_max=None))]
pub fn clip(
    x: &Bound<'_, PyAny>,
    min: Option<&Bound<'_, PyAny>>,
    max: Option<&Bound<'_, PyAny>>,
    a_min: Option<&Bound<'_, PyAny>>,
    a_max: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyArray> {
    let (min, max) = (min.or(a_min), max.or(a_max));
    let x = tensor_of(x, None, &device_for(x)?, Copying::IfNeeded)?;
    let mut result = x.clone();
    for (bound, op) in [(min, ElementwiseOp::Maximum), (max, ElementwiseOp::Minimum)] {
        let Some(bound) = bound else { continue };
        let bound = match operand("clip", bound, &x)? {
            Some(bound) => bound,
            None => tensor_of(bound, None, x.device(), Copying::IfNeeded)?,
        };
        result = Tensor::elementwise(op, &[&result, &bound]).or_raise()?;
    }
    Ok(PyArray::new(result))
}

fn device_for(x: &Bound<'_, PyAny>) -> PyResult<Device> {
    match x.cast::<PyArray>() {
        Ok(array) => Ok(array.get().tensor().device().clone()),
        Err(_) => Device::current().or_raise(),
    }
}

#[pymethods]
impl PyArray {
    /// Each element clamped to the range from ``min`` to ``max``; either bound may be omitted.
    #[pyo3(name = "clip", signature = (min=None, max=None))]
    fn clip_method(
        slf: &Bound<'_, Self>,
        min: Option<&Bound<'_, PyAny>>,
        max: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyArray> {
        clip(slf.as_any(), min, max, None, None)
    }
}

/// The rows of the op table: name, operands, documentation. Stubs and documentation are generated from it.
#[pyfunction]
fn _op_table() -> Vec<(&'static str, usize, &'static str)> {
    ElementwiseOp::ALL.iter().map(|op| (op.name(), op.row().arity, op.row().doc)).collect()
}
