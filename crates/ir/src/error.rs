//! The error type of the engine: every variant carries the facts of what went wrong and where.

use crate::dtype::DType;
use crate::shape::Shape;
use std::fmt;
use std::sync::Arc;

/// The error that caused another one.
pub type Cause = Arc<dyn std::error::Error + Send + Sync>;

/// The result of every fallible call.
pub type Result<T> = std::result::Result<T, Error>;

/// Errors of building, planning or running a graph.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Operand shapes that do not broadcast.
    #[error("{op}: shapes {} do not broadcast: trailing extents must be equal or 1", List(shapes))]
    Broadcast {
        /// Name of the op.
        op: &'static str,
        /// Shapes of the operands.
        shapes: Vec<Shape>,
    },
    /// Operand shapes that violate the op's requirements.
    #[error("{op}: shapes {}: expected {expected}", List(shapes))]
    Shape {
        /// Name of the op.
        op: &'static str,
        /// Shapes of the operands.
        shapes: Vec<Shape>,
        /// What was expected.
        expected: String,
    },
    /// Operand dtypes that the op does not support.
    #[error("{op}: dtypes {}: expected {expected}", List(dtypes))]
    DType {
        /// Name of the op.
        op: &'static str,
        /// Dtypes of the operands.
        dtypes: Vec<DType>,
        /// What was expected.
        expected: String,
    },
    /// An axis out of range.
    #[error("{op}: axis {axis} is out of range for shape {shape} (rank {})", shape.rank())]
    Axis {
        /// Name of the op.
        op: &'static str,
        /// The axis as given.
        axis: isize,
        /// The shape.
        shape: Shape,
    },
    /// An index out of range, detected early or at run time.
    #[error("{op}: index {index} is out of range for axis {axis} of shape {shape}")]
    Index {
        /// Name of the op.
        op: &'static str,
        /// The index as given.
        index: i64,
        /// The axis.
        axis: usize,
        /// The shape.
        shape: Shape,
    },
    /// Any other invalid argument value.
    #[error("{op}: {detail}")]
    Argument {
        /// Name of the op.
        op: &'static str,
        /// What was wrong, and what was expected.
        detail: String,
    },
    /// A fault in the data, detected while a kernel ran.
    #[error("{op} on {device}: {fault} (shape {shape}, {dtype})")]
    Fault {
        /// The op whose kernel detected it.
        op: String,
        /// The fault.
        fault: Fault,
        /// Shape of the result.
        shape: Shape,
        /// Dtype of the result.
        dtype: DType,
        /// The device.
        device: String,
    },
    /// A device that does not support an op for a dtype.
    #[error("{op} for {dtype} is not available on {device}: {reason}")]
    Unsupported {
        /// Name of the op.
        op: String,
        /// The dtype.
        dtype: DType,
        /// The device.
        device: String,
        /// The reason, and what to do instead.
        reason: String,
    },
    /// Out of memory.
    #[error(
        "{device}: cannot allocate {requested} bytes{}: {live} bytes are live, the limit is {limit}",
        for_op(op)
    )]
    OutOfMemory {
        /// The device.
        device: String,
        /// The purpose of the allocation, or empty.
        op: String,
        /// Requested bytes.
        requested: u128,
        /// Bytes in use.
        live: usize,
        /// The limit of the device or pool.
        limit: usize,
    },
    /// An unknown device name.
    #[error("unknown device {name:?}; available: {}", List(known))]
    UnknownDevice {
        /// The name as given.
        name: String,
        /// The available names.
        known: Vec<String>,
    },
    /// Operands that live on different devices.
    #[error("{op}: operands are on {a} and {b}; move one with to_device")]
    DeviceMismatch {
        /// Name of the op.
        op: &'static str,
        /// One device.
        a: String,
        /// The other.
        b: String,
    },
    /// A failure of the device or its driver.
    #[error("{device}: {detail}")]
    Device {
        /// The device.
        device: String,
        /// What failed, in which op or kernel.
        detail: String,
        /// The driver's own error, if it has one.
        source: Option<Cause>,
    },
    /// An evaluation that was asked to stop before its end.
    #[error("{device}: the evaluation was stopped")]
    Stopped {
        /// The device.
        device: String,
    },
    /// An invalid file or byte string.
    #[error("{format}: {detail}")]
    Format {
        /// The expected format.
        format: &'static str,
        /// What was found, and where.
        detail: String,
    },
    /// An operating system error on a path.
    #[error("{path}: {source}")]
    Io {
        /// The path.
        path: String,
        /// The system's error.
        source: Arc<std::io::Error>,
    },
}

impl Error {
    /// An [`Error::Argument`].
    pub fn argument(op: &'static str, detail: impl Into<String>) -> Error {
        Error::Argument { op, detail: detail.into() }
    }

    /// An [`Error::Io`].
    pub fn io(path: impl Into<String>, error: std::io::Error) -> Error {
        Error::Io { path: path.into(), source: Arc::new(error) }
    }

    /// An [`Error::Device`] that is not caused by another error.
    pub fn device(device: impl Into<String>, detail: impl Into<String>) -> Error {
        Error::Device { device: device.into(), detail: detail.into(), source: None }
    }

    /// An [`Error::Device`] caused by an error of its driver.
    pub fn driver(device: impl Into<String>, error: impl std::error::Error + Send + Sync + 'static) -> Error {
        Error::Device { device: device.into(), detail: error.to_string(), source: Some(Arc::new(error)) }
    }

    /// The same error, with the driver's error that caused it. Only an [`Error::Device`] has such a source.
    pub fn caused_by(mut self, error: impl std::error::Error + Send + Sync + 'static) -> Error {
        if let Error::Device { source, .. } = &mut self {
            *source = Some(Arc::new(error));
        }
        self
    }

    /// An [`Error::Format`].
    pub fn format(format: &'static str, detail: impl Into<String>) -> Error {
        Error::Format { format, detail: detail.into() }
    }

    /// An [`Error::Shape`].
    pub fn shape(op: &'static str, shapes: &[&Shape], expected: impl Into<String>) -> Error {
        Error::Shape { op, shapes: shapes.iter().map(|s| (*s).clone()).collect(), expected: expected.into() }
    }

    /// An [`Error::DType`].
    pub fn dtype(op: &'static str, dtypes: &[DType], expected: impl Into<String>) -> Error {
        Error::DType { op, dtypes: dtypes.to_vec(), expected: expected.into() }
    }
}

/// Faults that a running kernel can detect in its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Fault {
    /// An integer division or remainder whose divisor is zero.
    DivisionByZero = 1,
    /// An integer raised to a negative power.
    NegativeExponent = 2,
    /// A gather or scatter index out of range.
    IndexOutOfRange = 3,
}

impl Fault {
    /// The fault with this code, as reported by a kernel.
    pub fn from_code(code: u32) -> Option<Fault> {
        [Fault::DivisionByZero, Fault::NegativeExponent, Fault::IndexOutOfRange]
            .into_iter()
            .find(|f| *f as u32 == code)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::DivisionByZero => "integer division by zero",
            Fault::NegativeExponent => "negative power of an integer",
            Fault::IndexOutOfRange => "index out of range",
        })
    }
}

struct List<'a, T>(&'a [T]);

impl<T: fmt::Display> fmt::Display for List<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, item) in self.0.iter().enumerate() {
            let separator = match i {
                0 => "",
                _ if i + 1 == self.0.len() => " and ",
                _ => ", ",
            };
            write!(f, "{separator}{item}")?;
        }
        Ok(())
    }
}

fn for_op(op: &str) -> String {
    if op.is_empty() { String::new() } else { format!(" for {op}") }
}
