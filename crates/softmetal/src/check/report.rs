//! The checker's reports.

use serde::Serialize;
use std::fmt;

/// The class of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportKind {
    /// An access outside every bound buffer, or outside threadgroup memory.
    OutOfBounds,
    /// Two threads of one group access the same threadgroup bytes without a barrier between.
    ThreadgroupRace,
    /// Two threads access the same device bytes in one dispatch without synchronisation.
    DeviceRace,
    /// Two dispatches that no barrier orders access the same bytes.
    DispatchHazard,
    /// Threadgroup memory is read before anyone wrote it.
    UninitialisedRead,
    /// Not all threads of the group reach the same barrier.
    DivergentBarrier,
    /// A simd operation takes a value from a lane that does not take part, or not all lanes take part where they must.
    DivergentSimd,
    /// A vector is accessed at an address that its type does not allow.
    Misaligned,
    /// A buffer in constant memory, or one bound as read-only, is written.
    ReadOnlyWrite,
    /// A writable buffer was neither written nor read.
    OutputNotWritten,
}

impl ReportKind {
    /// A short name.
    pub fn name(self) -> &'static str {
        match self {
            ReportKind::OutOfBounds => "out of bounds",
            ReportKind::ThreadgroupRace => "threadgroup race",
            ReportKind::DeviceRace => "device race",
            ReportKind::DispatchHazard => "hazard between dispatches",
            ReportKind::UninitialisedRead => "uninitialised read",
            ReportKind::DivergentBarrier => "divergent barrier",
            ReportKind::DivergentSimd => "divergent simd operation",
            ReportKind::Misaligned => "misaligned access",
            ReportKind::ReadOnlyWrite => "write to read-only memory",
            ReportKind::OutputNotWritten => "output never written",
        }
    }
}

/// One finding.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Class.
    pub kind: ReportKind,
    /// Kernel.
    pub kernel: String,
    /// Message.
    pub message: String,
    /// The user's file, when known.
    pub file: String,
    /// Line from 1, or 0.
    pub line: u32,
    /// Column from 1, or 0.
    pub column: u32,
    /// Buffer index, when one is concerned.
    pub buffer: Option<u32>,
    /// Byte offset in the buffer or in threadgroup memory.
    pub offset: Option<i64>,
    /// Thread position in the group.
    pub thread: [u32; 3],
    /// Group position in the grid.
    pub group: [u32; 3],
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "{}:{}:{}: ", self.file, self.line, self.column)?;
        }
        write!(f, "{}: {} (kernel `{}`", self.kind.name(), self.message, self.kernel)?;
        if self.kind != ReportKind::OutputNotWritten {
            write!(f, ", thread {:?} of threadgroup {:?}", self.thread, self.group)?;
        }
        f.write_str(")")
    }
}
