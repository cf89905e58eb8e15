//! What the framework finds wrong with the program: reports, and exceptions that end the process as Metal's validation layer does.

use crate::abi::{Id, Sel};
use crate::objc::{class, selector};
use parking_lot::Mutex;
use std::backtrace::Backtrace;
use std::cell::Cell;
use std::fmt;

/// The class of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// An object was autoreleased on a thread without a pool.
    NoPool,
    /// A message went to an object that is gone, or an object was released too often.
    UseAfterRelease,
    /// An encoder was not ended where it had to be.
    OpenEncoder,
    /// Debug groups are not balanced.
    DebugGroup,
    /// Two encoders use an untracked resource and nothing orders them.
    Hazard,
    /// 64 command buffers of a queue are not committed; the next one blocks.
    QueueFull,
    /// A change of a residency set is used, or its memory goes, before `commit`.
    Residency,
    /// Calls in an order that Metal forbids.
    Order,
    /// An argument that Metal forbids.
    Argument,
    /// An object that is not thread-safe is used by two threads at once.
    Thread,
    /// A command buffer failed with an event to signal: nobody will signal it.
    LostSignal,
}

/// One finding.
#[derive(Clone, Debug)]
pub struct Report {
    /// Class.
    pub kind: Kind,
    /// The call, as `-[Class selector]`; empty outside of any.
    pub call: String,
    /// What is wrong.
    pub message: String,
    /// Who called.
    pub stack: String,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "metal host: {:?}: ", self.kind)?;
        if !self.call.is_empty() {
            write!(f, "{}: ", self.call)?;
        }
        f.write_str(&self.message)
    }
}

static REPORTS: Mutex<Vec<Report>> = Mutex::new(Vec::new());
/// So many are kept; a loop that repeats one mistake must not eat the memory.
const KEPT: usize = 1000;

thread_local! {
    static CURRENT: Cell<(Id, Option<Sel>)> = const { Cell::new((Id::NIL, None)) };
}

/// The message that is being answered on this thread.
pub(crate) struct Call((Id, Option<Sel>));

impl Call {
    pub fn enter(receiver: Id, selector: Sel) -> Call {
        Call(CURRENT.replace((receiver, Some(selector))))
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

/// The message that is being answered, as people write it.
pub(crate) fn current_call() -> String {
    let (receiver, selector) = CURRENT.get();
    selector.map_or(String::new(), |s| call_text(receiver, s))
}

/// `-[Class selector]`, or `+` for a class.
pub(crate) fn call_text(receiver: Id, selector: Sel) -> String {
    let sign = if class::is_class(receiver) { '+' } else { '-' };
    format!("{sign}[{} {}]", class::name_of(receiver), selector::text(selector))
}

/// Notes a finding and says it on the standard error stream.
pub(crate) fn report(kind: Kind, message: impl Into<String>) {
    let stack = Backtrace::force_capture().to_string();
    let report = Report { kind, call: current_call(), message: message.into(), stack };
    if std::env::var_os("METALHOST_QUIET").is_none() {
        eprintln!("{report}");
        if std::env::var_os("METALHOST_STACK").is_some() {
            eprintln!("{}", report.stack);
        }
    }
    let mut reports = REPORTS.lock();
    if reports.len() < KEPT {
        reports.push(report);
    }
}

/// The findings so far, which are then forgotten.
pub fn take_reports() -> Vec<Report> {
    std::mem::take(&mut REPORTS.lock())
}

/// What Objective-C would raise: says it and ends the process.
pub(crate) fn raise(message: impl AsRef<str>) -> ! {
    let call = current_call();
    let call = if call.is_empty() { String::new() } else { format!("{call}: ") };
    eprintln!("metal host: exception: {call}{}", message.as_ref());
    if std::env::var_os("METALHOST_STACK").is_some() {
        eprintln!("{}", Backtrace::force_capture());
    }
    std::process::abort()
}
