//! Dtypes as Python objects, and conversion of names to them.

use crate::errors::raise;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString, PyType};
use wootz::DType;

/// The type of an array's elements. Compares equal to its name and to the NumPy dtype of that name.
#[pyclass(name = "DType", module = "wootz", frozen, from_py_object)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PyDType(pub DType);

/// Python's name for a dtype.
pub const fn python_name(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "bool",
        DType::U8 => "uint8",
        DType::U16 => "uint16",
        DType::U32 => "uint32",
        DType::U64 => "uint64",
        DType::I8 => "int8",
        DType::I16 => "int16",
        DType::I32 => "int32",
        DType::I64 => "int64",
        DType::F16 => "float16",
        DType::BF16 => "bfloat16",
        DType::F32 => "float32",
        DType::F64 => "float64",
    }
}

/// The dtype of a name: the standard's, one of Python's or C's, NumPy's code of a kind and a size in bytes (`f4`, `<i8`), or a
/// kind and a size in bits, as Rust has it, where that cannot be meant as bytes (`i32`, `bf16`).
fn from_text(name: &str) -> Option<DType> {
    if let Some(found) = DType::ALL.into_iter().find(|&dtype| python_name(dtype) == name) {
        return Some(found);
    }
    let foreign = if cfg!(target_endian = "little") { '>' } else { '<' };
    let code = name.trim_start_matches(['<', '>', '=', '|']);
    let found = match code {
        "?" | "b1" => DType::Bool,
        "b" | "i1" => DType::I8,
        "B" | "u1" => DType::U8,
        "h" | "i2" | "i16" | "short" => DType::I16,
        "H" | "u2" | "u16" | "ushort" => DType::U16,
        "i" | "i4" | "i32" | "intc" => DType::I32,
        "I" | "u4" | "u32" | "uintc" => DType::U32,
        "l" | "q" | "i8" | "i64" | "int" | "intp" | "long" | "longlong" => DType::I64,
        "L" | "Q" | "u8" | "u64" | "uint" | "uintp" | "ulong" | "ulonglong" => DType::U64,
        "e" | "f2" | "f16" | "half" => DType::F16,
        "bf16" => DType::BF16,
        "f" | "f4" | "f32" | "float" | "single" => DType::F32,
        "d" | "f8" | "f64" | "double" => DType::F64,
        _ => return None,
    };
    (found.size() == 1 || !name.starts_with(foreign)).then_some(found)
}

/// The dtype that an object names: a wootz or NumPy dtype, a name, or one of `bool`, `int`, `float`.
pub fn dtype_of(object: &Bound<'_, PyAny>) -> PyResult<DType> {
    find_dtype(object)?.ok_or_else(|| {
        let names: Vec<&str> = DType::ALL.into_iter().map(python_name).collect();
        let shown = object.repr().map_or_else(|_| "an object".into(), |r| r.to_string());
        raise("DTypeError", format!("{shown} is not a dtype; use one of {}", names.join(", ")))
    })
}

/// The dtype that an object names, if any.
pub fn find_dtype(object: &Bound<'_, PyAny>) -> PyResult<Option<DType>> {
    if let Ok(dtype) = object.cast::<PyDType>() {
        return Ok(Some(dtype.get().0));
    }
    if let Ok(name) = object.cast::<PyString>() {
        return Ok(from_text(&name.to_cow()?));
    }
    let py = object.py();
    if let Ok(class) = object.cast::<PyType>() {
        for (builtin, dtype) in [
            (py.get_type::<PyBool>(), DType::Bool),
            (py.get_type::<PyInt>(), DType::I64),
            (py.get_type::<PyFloat>(), DType::F32),
        ] {
            if class.is(&builtin) {
                return Ok(Some(dtype));
            }
        }
        // NumPy's scalar types have their dtypes' names; `bool_` is an older name of one.
        let name = class.name()?;
        return Ok(from_text(name.to_cow()?.trim_end_matches('_')));
    }
    match object.getattr_opt("name")? {
        Some(name) => Ok(name.extract::<String>().ok().as_deref().and_then(from_text)),
        None => Ok(None),
    }
}

/// An optional dtype argument.
pub fn optional_dtype(object: Option<&Bound<'_, PyAny>>) -> PyResult<Option<DType>> {
    object.map(dtype_of).transpose()
}

#[pymethods]
impl PyDType {
    #[new]
    fn new(object: &Bound<'_, PyAny>) -> PyResult<PyDType> {
        dtype_of(object).map(PyDType)
    }

    /// NumPy's name for it.
    #[getter]
    fn name(&self) -> &'static str {
        python_name(self.0)
    }

    /// Bytes per element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.0.size()
    }

    /// The kind, as in NumPy: ``b``, ``i``, ``u`` or ``f``.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.0.kind() {
            wootz_ir::Kind::Bool => "b",
            wootz_ir::Kind::Unsigned => "u",
            wootz_ir::Kind::Signed => "i",
            wootz_ir::Kind::Float => "f",
        }
    }

    /// The promoted dtype of this and another, or None if there is none.
    fn promote(&self, other: PyDType) -> Option<PyDType> {
        self.0.promote(other.0).map(PyDType)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        // Built-in types are not dtypes here: `float32 == float` would be meaningless.
        if other.is_instance_of::<PyType>() && !other.hasattr("dtype")? {
            return Ok(false);
        }
        Ok(find_dtype(other)? == Some(self.0))
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        PyString::intern(py, python_name(self.0)).hash()
    }

    fn __repr__(&self) -> String {
        format!("wootz.{}", python_name(self.0))
    }

    fn __str__(&self) -> &'static str {
        python_name(self.0)
    }

    fn __reduce__(&self, py: Python<'_>) -> PyResult<(Py<PyAny>, (&'static str,))> {
        Ok((py.get_type::<PyDType>().into_any().unbind(), (python_name(self.0),)))
    }
}
