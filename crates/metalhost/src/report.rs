//! Errors that the framework finds in the program: reports, and exceptions that end the process like those of Metal's
//! validation layer.

use crate::abi::{Id, Sel};
use crate::objc::{class, selector};
use parking_lot::Mutex;
use std::backtrace::Backtrace;
use std::cell::Cell;
use std::fmt;
use std::io::Write;
use std::sync::Once;
use std::time::{Duration, Instant};

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

/// Writes a line to the standard error stream itself: `eprintln!` on the thread of a test goes to the test's captured output, which
/// is dropped if the test passes.
fn say(line: &dyn fmt::Display) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Notes a finding and says it on the standard error stream.
pub(crate) fn report(kind: Kind, message: impl Into<String>) {
    let stack = Backtrace::force_capture().to_string();
    let report = Report { kind, call: current_call(), message: message.into(), stack };
    if std::env::var_os("METALHOST_QUIET").is_none() {
        say(&report);
        if std::env::var_os("METALHOST_STACK").is_some() {
            say(&report.stack);
        }
    }
    if is_fatal() {
        std::process::abort();
    }
    let mut reports = REPORTS.lock();
    if reports.len() < KEPT {
        reports.push(report);
    }
}

/// Whether the process must not outlive a finding.
fn is_fatal() -> bool {
    std::env::var_os("METALHOST_FATAL").is_some_and(|v| !v.is_empty() && v != "0")
}

/// How long the threads of queues have, at the end of the process, to let go of what they ran.
const LAST_MOMENTS: Duration = Duration::from_secs(5);

/// Where findings are fatal, the process fails if command buffers or encoders live at its end.
pub(crate) fn check_at_exit() {
    static ONCE: Once = Once::new();
    extern "C" fn check() {
        let left = || -> Vec<_> {
            let passing = |name: &str| name.ends_with("CommandBuffer") || name.ends_with("Encoder");
            class::live().into_iter().filter(|(name, _)| passing(name)).collect()
        };
        let until = Instant::now() + LAST_MOMENTS;
        while !left().is_empty() {
            if Instant::now() > until {
                say(&format_args!("metal host: alive at the end of the process: {:?}", left()));
                std::process::abort();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    if is_fatal() {
        // SAFETY: the function stays, and what it calls needs no more than the process's memory.
        ONCE.call_once(|| assert_eq!(unsafe { libc::atexit(check) }, 0, "no room for a function at exit"));
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
    say(&format_args!("metal host: exception: {call}{}", message.as_ref()));
    if std::env::var_os("METALHOST_STACK").is_some() {
        say(&Backtrace::force_capture());
    }
    std::process::abort()
}
