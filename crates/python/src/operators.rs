//! Python's operators and comparisons.

use crate::array::{PyArray, array};
use crate::convert::{Copying, is_number, number_of, tensor_of};
use crate::dtype::python_name;
use crate::errors::{OrRaise, raise};
use crate::trace::PyParameter;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;
use pyo3::types::{PyInt, PyList, PyString, PyTuple};
use wootz::{DType, Number, Operand, Tensor};
use wootz_ir::ElementwiseOp;

/// The other operand as a tensor, or `None` if Python should try its reflected operator.
pub fn operand(op: &'static str, other: &Bound<'_, PyAny>, like: &Tensor) -> PyResult<Option<Tensor>> {
    if let Ok(array) = other.cast::<PyArray>() {
        return Ok(Some(array.get().tensor()));
    }
    if let Ok(parameter) = other.cast::<PyParameter>() {
        return parameter.get().operand(op, like).map(Some);
    }
    // A NumPy double is a Python float, and takes the array's dtype like one.
    if let Some(number) = number_of(other)? {
        return number.to_tensor(op, like).or_raise().map(Some);
    }
    if other.is_instance_of::<PyList>() || other.is_instance_of::<PyTuple>() {
        return sequence(op, other, like).map(Some);
    }
    // NumPy arrays and scalars, and other objects with a dtype and memory.
    if other.hasattr("dtype")? && !keeps_operators(other) {
        return tensor_of(other, None, like.device(), Copying::IfNeeded).map(Some);
    }
    Ok(None)
}

/// Whether an object with a dtype has operators of its own, by NumPy's convention for saying so; sharded arrays are such.
fn keeps_operators(other: &Bound<'_, PyAny>) -> bool {
    other.getattr("__array_ufunc__").is_ok_and(|function| function.is_none())
}

/// A sequence combined with an array: its Python numbers take the array's dtype, as a single one would.
fn sequence(op: &'static str, other: &Bound<'_, PyAny>, like: &Tensor) -> PyResult<Tensor> {
    let tensor = tensor_of(other, None, like.device(), Copying::IfNeeded)?;
    let weak = match tensor.dtype() {
        DType::Bool => Number::Bool(true),
        DType::I64 => Number::Int(0),
        DType::F32 => Number::Float(0.0),
        _ => return Ok(tensor),
    };
    let dtype = weak.to_tensor(op, like).or_raise()?.dtype();
    if dtype == tensor.dtype() {
        Ok(tensor)
    } else {
        tensor_of(other, Some(dtype), like.device(), Copying::IfNeeded)
    }
}

fn not_implemented(py: Python<'_>) -> Py<PyAny> {
    py.NotImplemented()
}

/// `self op other`, or `other op self`.
fn binary(
    py: Python<'_>,
    op: ElementwiseOp,
    own: &PyArray,
    other: &Bound<'_, PyAny>,
    reversed: bool,
) -> PyResult<Py<PyAny>> {
    if let Ok(other) = other.cast_exact::<PyArray>() {
        let (a, b) = if reversed { (other.get(), own) } else { (own, other.get()) };
        if let Some(pair) = PyArray::pair(op, a, b) {
            return pair.into_py_any(py);
        }
    }
    let a = own.tensor();
    if let Some(decided) = decided(op, &a, other)? {
        return decided.into_py_any(py);
    }
    let Some(b) = operand(op.name(), other, &a)? else {
        // Python would otherwise repeat or format the text.
        if other.is_instance_of::<PyString>() && op.row().gives != wootz_ir::elementwise::Gives::Bool {
            let message = format!("{}: text cannot be combined with an array", op.name());
            return Err(raise("ConversionError", message));
        }
        return Ok(not_implemented(py));
    };
    let result =
        if reversed { Tensor::elementwise(op, &[&b, &a]) } else { Tensor::elementwise(op, &[&a, &b]) };
    array(result)?.into_py_any(py)
}

/// A comparison of integers with one that their dtype cannot hold, which is the same for all of them.
pub fn decided(op: ElementwiseOp, a: &Tensor, b: &Bound<'_, PyAny>) -> PyResult<Option<PyArray>> {
    let compared = op.row().gives == wootz_ir::elementwise::Gives::Bool;
    let range = a.dtype().integer_range().filter(|_| compared && b.is_exact_instance_of::<PyInt>());
    let Some((low, high)) = range else { return Ok(None) };
    let above = match b.extract::<i128>() {
        Ok(value) if (low..=high).contains(&value) => return Ok(None),
        Ok(value) => value > high,
        Err(_) => b.gt(0)?,
    };
    let value = match op {
        ElementwiseOp::Equal => false,
        ElementwiseOp::NotEqual => true,
        ElementwiseOp::Less | ElementwiseOp::LessEqual => above,
        ElementwiseOp::Greater | ElementwiseOp::GreaterEqual => !above,
        _ => return Ok(None),
    };
    array(Tensor::full_on(a.shape().clone(), value, DType::Bool, a.device())).map(Some)
}

/// Python passes `pow`'s third argument to every form of it.
fn no_modulus(modulo: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    match modulo {
        Some(_) => Err(raise("ArgumentError", "pow does not support a modulus")),
        None => Ok(()),
    }
}

/// `self op= other`: shape and dtype must not change.
fn assign(py: Python<'_>, op: ElementwiseOp, own: &PyArray, other: &Bound<'_, PyAny>) -> PyResult<()> {
    own.update(py, |a| {
        let Some(b) = operand(op.name(), other, a)? else {
            let message =
                format!("{}: a {} cannot be combined with an array", op.name(), other.get_type().name()?);
            return Err(raise("ConversionError", message));
        };
        let result = Tensor::elementwise(op, &[a, &b]).or_raise()?;
        if result.shape() != a.shape() || result.dtype() != a.dtype() {
            let (is, was) = (python_name(result.dtype()), python_name(a.dtype()));
            let message = format!(
                "{} in place: {was}{} would become {is}{}; write it as an expression",
                op.name(),
                a.shape(),
                result.shape()
            );
            let class = if result.dtype() == a.dtype() { "ShapeError" } else { "DTypeError" };
            return Err(raise(class, message));
        }
        Ok(result)
    })
}

macro_rules! operators {
    ($($forward:ident $reverse:ident $in_place:ident $op:ident;)*) => {$(
        #[pymethods]
        impl PyArray {
            fn $forward(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
                binary(py, ElementwiseOp::$op, self, other, false)
            }

            fn $reverse(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
                binary(py, ElementwiseOp::$op, self, other, true)
            }

            fn $in_place(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
                assign(py, ElementwiseOp::$op, self, other)
            }
        }
    )*};
}
operators! {
    __add__ __radd__ __iadd__ Add;
    __sub__ __rsub__ __isub__ Sub;
    __mul__ __rmul__ __imul__ Mul;
    __truediv__ __rtruediv__ __itruediv__ Div;
    __floordiv__ __rfloordiv__ __ifloordiv__ FloorDivide;
    __mod__ __rmod__ __imod__ Remainder;
    __and__ __rand__ __iand__ BitwiseAnd;
    __or__ __ror__ __ior__ BitwiseOr;
    __xor__ __rxor__ __ixor__ BitwiseXor;
    __lshift__ __rlshift__ __ilshift__ ShiftLeft;
    __rshift__ __rrshift__ __irshift__ ShiftRight;
}

fn compare_op(op: CompareOp) -> ElementwiseOp {
    match op {
        CompareOp::Eq => ElementwiseOp::Equal,
        CompareOp::Ne => ElementwiseOp::NotEqual,
        CompareOp::Lt => ElementwiseOp::Less,
        CompareOp::Le => ElementwiseOp::LessEqual,
        CompareOp::Gt => ElementwiseOp::Greater,
        CompareOp::Ge => ElementwiseOp::GreaterEqual,
    }
}

#[pymethods]
impl PyArray {
    fn __richcmp__(&self, py: Python<'_>, other: &Bound<'_, PyAny>, op: CompareOp) -> PyResult<Py<PyAny>> {
        binary(py, compare_op(op), self, other, false)
    }

    fn __pow__(
        &self,
        py: Python<'_>,
        other: &Bound<'_, PyAny>,
        modulo: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        no_modulus(modulo)?;
        binary(py, ElementwiseOp::Pow, self, other, false)
    }

    fn __rpow__(
        &self,
        py: Python<'_>,
        other: &Bound<'_, PyAny>,
        modulo: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        no_modulus(modulo)?;
        binary(py, ElementwiseOp::Pow, self, other, true)
    }

    fn __ipow__(
        &self,
        py: Python<'_>,
        other: &Bound<'_, PyAny>,
        modulo: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        no_modulus(modulo)?;
        assign(py, ElementwiseOp::Pow, self, other)
    }

    fn __matmul__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let a = self.tensor();
        let Some(b) = matrix("matmul", other, &a)? else { return Ok(not_implemented(py)) };
        array(a.matmul(&b))?.into_py_any(py)
    }

    fn __rmatmul__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let a = self.tensor();
        let Some(b) = matrix("matmul", other, &a)? else { return Ok(not_implemented(py)) };
        array(b.matmul(&a))?.into_py_any(py)
    }

    fn __imatmul__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        self.update(py, |a| {
            let Some(b) = matrix("matmul", other, a)? else {
                return Err(raise("ConversionError", "matmul: the other operand is not an array"));
            };
            let product = a.matmul(&b).or_raise()?;
            if product.shape() != a.shape() || product.dtype() != a.dtype() {
                let message =
                    format!("matmul in place: shape {} would become {}", a.shape(), product.shape());
                return Err(raise("ShapeError", message));
            }
            Ok(product)
        })
    }

    fn __neg__(&self) -> PyResult<PyArray> {
        array(self.tensor().neg())
    }

    fn __pos__(&self) -> PyResult<PyArray> {
        let tensor = self.tensor();
        if tensor.dtype() == DType::Bool {
            return Err(raise("DTypeError", "positive: bool is not numeric"));
        }
        Ok(PyArray::new(tensor))
    }

    fn __abs__(&self) -> PyResult<PyArray> {
        array(self.tensor().abs())
    }

    fn __invert__(&self) -> PyResult<PyArray> {
        array(self.tensor().bitwise_not())
    }
}

/// An operand of a matrix product: an array, not a number.
fn matrix(op: &'static str, other: &Bound<'_, PyAny>, like: &Tensor) -> PyResult<Option<Tensor>> {
    if is_number(other) {
        return Err(raise("ConversionError", format!("{op}: a number is not a matrix; use *")));
    }
    operand(op, other, like)
}
