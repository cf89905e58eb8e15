//! Output: aligned tables, colour on terminals, JSON on request.

use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressStyle};

/// Success.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// Failure.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
/// A known issue or a warning.
pub const KNOWN: Style = AnsiColor::Yellow.on_default();
/// Headings.
pub const HEAD: Style = Style::new().bold();
/// Secondary text.
pub const DIM: Style = Style::new().dimmed();

/// The result of a command; the error is shown to the user.
pub type Outcome = Result<std::process::ExitCode, Box<dyn std::error::Error>>;

/// The exit code when nobody reads our output any more: what a shell reports for SIGPIPE.
pub const CLOSED_PIPE: u8 = 141;

/// Whether an error means that the reader of our output has closed the pipe.
pub fn is_closed_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if error.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
        {
            return true;
        }
        cause = error.source();
    }
    false
}

/// Prints a line, in colour on a terminal. If the reader has closed the pipe, the program exits.
macro_rules! outln {
    () => { $crate::output::outln!("") };
    ($($argument:tt)*) => { $crate::output::write_line(format_args!($($argument)*)) };
}
pub(crate) use outln;

/// The implementation of `outln!`. anstream's own macro would keep going after the pipe is closed.
pub fn write_line(text: std::fmt::Arguments<'_>) {
    use std::io::Write;
    if let Err(error) = writeln!(anstream::stdout().lock(), "{text}") {
        end_unwritten(error.kind() == std::io::ErrorKind::BrokenPipe, &error);
    }
}

/// Ends the program because standard output is not writable.
fn end_unwritten(closed_pipe: bool, problem: &dyn std::fmt::Display) -> ! {
    if closed_pipe {
        std::process::exit(CLOSED_PIPE.into());
    }
    eprintln!("error: cannot write to standard output: {problem}");
    std::process::exit(1);
}

/// `print!` panics if standard output is not writable. If the reader has closed the pipe (`wootz … | head`), exit
/// silently; for any other failure (a full disk), print one line.
pub fn end_quietly_when_unread() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let problem =
            panic.payload_as_str().and_then(|text| text.strip_prefix("failed printing to stdout: "));
        match problem {
            // The error number identifies a closed pipe in any locale.
            Some(problem) => end_unwritten(problem.contains("(os error 32)"), &problem),
            None => usual(panic),
        }
    }));
}

/// Styles text; the style is dropped if the stream is not a terminal.
pub fn paint(style: Style, text: impl std::fmt::Display) -> String {
    format!("{}{text}{}", style.render(), style.render_reset())
}

/// A table with columns as wide as their widest cell. Cells are measured before styling.
#[derive(Default)]
pub struct Table {
    rows: Vec<Vec<(String, Style)>>,
}

impl Table {
    /// Adds a row in one style.
    pub fn row<S: Into<String>>(&mut self, style: Style, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(|c| (c.into(), style)).collect());
    }

    /// Adds a row with a style per cell.
    pub fn styled(&mut self, cells: Vec<(String, Style)>) {
        self.rows.push(cells);
    }

    /// Prints the table; numbers (cells that start with a digit) are right-aligned.
    pub fn print(&self) {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width =
            |c: usize| self.rows.iter().filter_map(|r| r.get(c)).map(|(t, _)| t.chars().count()).max();
        let widths: Vec<usize> = (0..columns).map(|c| width(c).unwrap_or(0)).collect();
        for row in &self.rows {
            let mut line = String::new();
            for (i, (text, style)) in row.iter().enumerate() {
                let gap = " ".repeat(widths[i] - text.chars().count());
                let number = text.starts_with(|c: char| c.is_ascii_digit());
                let cell = paint(*style, text);
                let last = i + 1 == row.len();
                match (number, last) {
                    (true, _) => line.push_str(&format!("{gap}{cell}  ")),
                    (false, true) => line.push_str(&cell),
                    (false, false) => line.push_str(&format!("{cell}{gap}  ")),
                }
            }
            crate::output::outln!("{}", line.trim_end());
        }
    }
}

/// A progress bar, hidden if stderr is not a terminal.
pub fn progress(total: usize, what: impl Into<std::borrow::Cow<'static, str>>) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} {bar:40.cyan/dim} {pos}/{len} {eta}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(total as u64).with_style(style).with_message(what)
}

/// A byte count in human-readable units.
pub fn bytes(n: usize) -> String {
    match n {
        0..1024 => format!("{n} B"),
        1024..1_048_576 => format!("{:.1} KiB", n as f64 / 1024.0),
        1_048_576..1_073_741_824 => format!("{:.1} MiB", n as f64 / 1_048_576.0),
        _ => format!("{:.1} GiB", n as f64 / 1_073_741_824.0),
    }
}
