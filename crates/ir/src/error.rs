//! One error type for the whole engine: every variant carries the facts of what was wrong and where.

use crate::dtype::DType;
use crate::shape::Shape;
use std::fmt;

/// The result of every fallible call.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong while building, planning or running a graph.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Operand shapes that do not broadcast.
    #[error("{op}: shapes {} do not broadcast: trailing extents must be equal or 1", List(shapes))]
    Broadcast {
        /// The op that was asked for.
        op: &'static str,
        /// Its operand shapes.
        shapes: Vec<Shape>,
    },
    /// Operand shapes that break the op's own rule.
    #[error("{op}: shapes {}: expected {expected}", List(shapes))]
    Shape {
        /// The op that was asked for.
        op: &'static str,
        /// Its operand shapes.
        shapes: Vec<Shape>,
        /// The rule that does not hold.
        expected: String,
    },
    /// Operand dtypes that the op does not take.
    #[error("{op}: dtypes {}: expected {expected}", List(dtypes))]
    DType {
        /// The op that was asked for.
        op: &'static str,
        /// Its operand dtypes.
        dtypes: Vec<DType>,
        /// The rule that does not hold.
        expected: String,
    },
    /// An axis outside of the shape.
    #[error("{op}: axis {axis} is out of range for shape {shape} (rank {})", shape.rank())]
    Axis {
        /// The op that was asked for.
        op: &'static str,
        /// The axis as given.
        axis: isize,
        /// The shape it was meant for.
        shape: Shape,
    },
    /// An index outside of an axis, known before or found while running.
    #[error("{op}: index {index} is out of range for axis {axis} of shape {shape}")]
    Index {
        /// The op that was asked for.
        op: &'static str,
        /// The index as given.
        index: i64,
        /// The axis it was meant for.
        axis: usize,
        /// The shape indexed into.
        shape: Shape,
    },
    /// Any other argument with a value the op cannot take.
    #[error("{op}: {detail}")]
    Argument {
        /// The op that was asked for.
        op: &'static str,
        /// What was wrong, and what was expected.
        detail: String,
    },
    /// A fault found in the data while a kernel ran.
    #[error("{op} on {device}: {fault} (shape {shape}, {dtype})")]
    Fault {
        /// The op whose kernel found it.
        op: String,
        /// What it found.
        fault: Fault,
        /// The result's shape.
        shape: Shape,
        /// The result's dtype.
        dtype: DType,
        /// The device that ran it.
        device: String,
    },
    /// A device that has no such op for such a dtype.
    #[error("{op} for {dtype} is not available on {device}: {reason}")]
    Unsupported {
        /// The op that was asked for.
        op: String,
        /// The dtype it was asked for.
        dtype: DType,
        /// The device.
        device: String,
        /// Why, and what to do instead.
        reason: String,
    },
    /// Memory that cannot be had.
    #[error(
        "{device}: cannot allocate {requested} bytes{}: {live} bytes are live, the limit is {limit}",
        for_op(op)
    )]
    OutOfMemory {
        /// The device.
        device: String,
        /// What it was for, or empty.
        op: String,
        /// Bytes asked for.
        requested: u128,
        /// Bytes in use.
        live: usize,
        /// The device's or the pool's limit.
        limit: usize,
    },
    /// A device name that nothing answers to.
    #[error("unknown device {name:?}; available: {}", List(known))]
    UnknownDevice {
        /// The name as given.
        name: String,
        /// The names that would work.
        known: Vec<String>,
    },
    /// Operands that live on different devices.
    #[error("{op}: operands are on {a} and {b}; move one with to_device")]
    DeviceMismatch {
        /// The op that was asked for.
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
    },
    /// A file or byte string that is not what it claims to be.
    #[error("{format}: {detail}")]
    Format {
        /// The format that was expected.
        format: &'static str,
        /// What was found, where.
        detail: String,
    },
    /// An operating-system failure on a path.
    #[error("{path}: {detail}")]
    Io {
        /// The path.
        path: String,
        /// What the system said.
        detail: String,
        /// The system's number of the error, where it has one.
        code: Option<i32>,
    },
}

impl Error {
    /// An [`Error::Argument`].
    pub fn argument(op: &'static str, detail: impl Into<String>) -> Error {
        Error::Argument { op, detail: detail.into() }
    }

    /// An [`Error::Io`].
    pub fn io(path: impl Into<String>, error: &std::io::Error) -> Error {
        Error::Io { path: path.into(), detail: error.to_string(), code: error.raw_os_error() }
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

/// What a running kernel can find wrong with its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Fault {
    /// An integer division or remainder whose divisor is zero.
    DivisionByZero = 1,
    /// An integer raised to a negative power.
    NegativeExponent = 2,
    /// A gather or scatter index outside of its axis.
    IndexOutOfRange = 3,
}

impl Fault {
    /// The fault with this code, as a kernel reports it.
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
            Fault::NegativeExponent => "an integer to a negative power",
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
