//! SoftMetal's errors.

use crate::check::Report;
use std::fmt;

/// Result with [`enum@Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// A message at a place in the user's source.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Diagnostic {
    /// File as the user named it.
    pub file: String,
    /// Line from 1.
    pub line: u32,
    /// Column from 1, or 0 when unknown.
    pub column: u32,
    /// The problem.
    pub message: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.column > 0 {
            write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.message)
        } else {
            write!(f, "{}:{}: {}", self.file, self.line, self.message)
        }
    }
}

/// An error of the software device.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The source does not compile, or the lint rejects it.
    #[error("the Metal source does not compile:\n{}", lines(diagnostics))]
    Compile {
        /// All messages, in source order.
        diagnostics: Vec<Diagnostic>,
    },
    /// There is no kernel with this name.
    #[error("no kernel named `{name}`; the library has: {available}")]
    UnknownFunction {
        /// The name asked for.
        name: String,
        /// The names that exist, shortened.
        available: String,
    },
    /// A metallib cannot be read, or a function of it cannot be run.
    #[error("{file}: {}{message}", function.as_ref().map_or(String::new(), |f| format!("`{f}`: ")))]
    Metallib {
        /// The file.
        file: String,
        /// The function, if one is to blame.
        function: Option<String>,
        /// The problem.
        message: String,
    },
    /// A function constant is missing, unknown or of a wrong type.
    #[error("function constant of kernel `{kernel}`: {message}")]
    Constant {
        /// Kernel.
        kernel: String,
        /// The problem.
        message: String,
    },
    /// clang is not there.
    #[error(
        "no usable clang: {tried}. SoftMetal needs clang 19 or newer; on Debian or Ubuntu install the package `clang-19`, or set SOFTMETAL_CLANG to its path"
    )]
    NoCompiler {
        /// The step that failed.
        tried: String,
    },
    /// clang or the loader failed in an unexpected way.
    #[error("{step} failed: {message}")]
    Tool {
        /// Which step.
        step: &'static str,
        /// The message.
        message: String,
    },
    /// A file or directory could not be used.
    #[error("{path}: {message}")]
    Io {
        /// Path.
        path: String,
        /// The message.
        message: String,
    },
    /// A call or dispatch breaks a rule of the API.
    #[error("{0}")]
    Invalid(String),
    /// The kernel crashed.
    #[error("kernel `{kernel}` faulted: {what}")]
    Fault {
        /// Kernel.
        kernel: String,
        /// What happened, and to which thread.
        what: String,
    },
    /// The kernel ran longer than the time limit.
    #[error("kernel `{kernel}` did not end within {seconds} s (time limit per dispatch)")]
    Timeout {
        /// Kernel.
        kernel: String,
        /// The limit.
        seconds: f64,
    },
    /// The checker found something.
    #[error("{}", reports_text(.0))]
    Check(Vec<Report>),
    /// The checked dispatch had the errors above, and an earlier command failed.
    #[error("not run: an earlier command of this command buffer failed")]
    Skipped,
}

fn lines(diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(|d| format!("  {d}")).collect::<Vec<_>>().join("\n")
}

fn reports_text(reports: &[Report]) -> String {
    let plural = if reports.len() == 1 { "problem" } else { "problems" };
    let body = reports.iter().map(|r| format!("  {r}")).collect::<Vec<_>>().join("\n");
    format!("the checker found {} {plural}:\n{body}", reports.len())
}

impl Error {
    /// Whether the error says something about a kernel, rather than that SoftMetal could not look at it.
    pub fn is_finding(&self) -> bool {
        match self {
            Error::Compile { .. }
            | Error::Metallib { .. }
            | Error::Fault { .. }
            | Error::Timeout { .. }
            | Error::Check(_)
            | Error::Skipped => true,
            Error::UnknownFunction { .. }
            | Error::Constant { .. }
            | Error::NoCompiler { .. }
            | Error::Tool { .. }
            | Error::Io { .. }
            | Error::Invalid(_) => false,
        }
    }

    /// An I/O error with its path.
    pub(crate) fn io(path: impl AsRef<std::path::Path>, e: &std::io::Error) -> Error {
        Error::Io { path: path.as_ref().display().to_string(), message: e.to_string() }
    }
}
