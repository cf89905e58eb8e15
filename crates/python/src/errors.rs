//! Errors of the engine as Python exceptions.
//!
//! The classes are defined in `wootz/errors.py`, where a class can derive both from ours and from the matching
//! built-in one. This file only maps errors to classes.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyModule;
use wootz::Error;
use wootz_ir::Fault;

/// The module of the classes, imported once.
static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();

/// An exception of the class with this name in `wootz.errors`.
pub fn raise(class: &str, message: impl Into<String>) -> PyErr {
    let message = message.into();
    Python::attach(|py| {
        let module = MODULE.get_or_try_init(py, || py.import("wootz.errors").map(Bound::unbind));
        let class = module.and_then(|module| module.bind(py).getattr(class));
        match class.and_then(|class| class.call1((message,))) {
            Ok(exception) => PyErr::from_value(exception),
            Err(error) => error,
        }
    })
}

/// The class of an engine error.
fn class_of(error: &Error) -> &'static str {
    match error {
        Error::Broadcast { .. } | Error::Shape { .. } => "ShapeError",
        Error::DType { .. } => "DTypeError",
        Error::Axis { .. } => "AxisError",
        Error::Index { .. } => "OutOfRangeError",
        Error::Argument { .. } => "ArgumentError",
        Error::Fault { fault: Fault::DivisionByZero, .. } => "DivisionByZeroError",
        Error::Fault { fault: Fault::NegativeExponent, .. } => "ArgumentError",
        Error::Fault { fault: Fault::IndexOutOfRange, .. } => "OutOfRangeError",
        Error::Unsupported { .. } => "UnsupportedError",
        Error::OutOfMemory { .. } => "OutOfMemoryError",
        Error::UnknownDevice { .. } => "UnknownDeviceError",
        Error::DeviceMismatch { .. } => "DeviceMismatchError",
        Error::Device { .. } => "DeviceError",
        Error::Format { .. } => "FormatError",
        Error::Io { .. } => "FileError",
        _ => "Error",
    }
}

/// Converts an engine error to an exception.
pub fn from_engine(error: Error) -> PyErr {
    if let Error::Io { path, source } = &error {
        return from_io(path, source);
    }
    raise(class_of(&error), in_python_words(&error.to_string()))
}

/// An I/O error on a path, with errno, message and path as in Python's own exceptions.
fn from_io(path: &str, error: &std::io::Error) -> PyErr {
    let Some(code) = error.raw_os_error() else { return raise("FileError", format!("{path}: {error}")) };
    Python::attach(|py| {
        let made = py.import("wootz.errors").and_then(|m| m.getattr("_file_error")?.call1((code, path)));
        made.map_or_else(|error| error, PyErr::from_value)
    })
}

/// Dtypes by their Python names. The engine uses Rust's.
fn in_python_words(text: &str) -> String {
    let mut words = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_alphanumeric() || c == '_') {
        words.push_str(&rest[..start]);
        rest = &rest[start..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let word = &rest[..end];
        let dtype = wootz::DType::ALL.into_iter().find(|dtype| dtype.name() == word);
        words.push_str(dtype.map_or(word, |dtype| crate::dtype::python_name(dtype)));
        rest = &rest[end..];
    }
    words + rest
}

/// Converts engine results to Python results.
pub trait OrRaise<T> {
    /// The value, or the exception.
    fn or_raise(self) -> PyResult<T>;
}

impl<T> OrRaise<T> for wootz::Result<T> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(from_engine)
    }
}

/// The message of a panic.
pub fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    text.unwrap_or("no message").to_string()
}

/// The exception for a panic: a bug in wootz, which must never end the process.
pub fn from_panic(payload: &(dyn std::any::Any + Send)) -> PyErr {
    let text = panic_text(payload);
    raise("InternalError", format!("a bug in wootz, please report it: {text}"))
}
