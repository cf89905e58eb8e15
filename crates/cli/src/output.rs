//! How results look: aligned tables, colour on a terminal only, JSON when asked.

use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressStyle};

/// Something right.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// Something wrong.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
/// Something known.
pub const KNOWN: Style = AnsiColor::Yellow.on_default();
/// Headings.
pub const HEAD: Style = Style::new().bold();
/// Less important.
pub const DIM: Style = Style::new().dimmed();

/// The result of a command, or what to tell the user.
pub type Outcome = Result<std::process::ExitCode, Box<dyn std::error::Error>>;

/// The exit code of a program that ends because nobody reads its output: what a shell reports for SIGPIPE.
pub const CLOSED_PIPE: u8 = 141;

/// Whether an error means that the reader of our output has gone.
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

/// What `outln!` calls. The macro of the crate that paints would go on after the reader has gone.
pub fn write_line(text: std::fmt::Arguments<'_>) {
    use std::io::Write;
    if let Err(error) = writeln!(anstream::stdout().lock(), "{text}") {
        end_unwritten(error.kind() == std::io::ErrorKind::BrokenPipe, &error);
    }
}

/// Ends the program because standard output cannot be written.
fn end_unwritten(closed_pipe: bool, problem: &dyn std::fmt::Display) -> ! {
    if closed_pipe {
        std::process::exit(CLOSED_PIPE.into());
    }
    eprintln!("error: standard output cannot be written: {problem}");
    std::process::exit(1);
}

/// Printing panics where standard output cannot be written. A reader that has seen enough (`wootz … | head`) ends the
/// program without a word, anything else (a full disk) with one line.
pub fn end_quietly_when_unread() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let problem =
            panic.payload_as_str().and_then(|text| text.strip_prefix("failed printing to stdout: "));
        match problem {
            // The error number identifies a closed pipe whatever the system's language.
            Some(problem) => end_unwritten(problem.contains("(os error 32)"), &problem),
            None => usual(panic),
        }
    }));
}

/// Text in a style; plain if the stream is not a terminal.
pub fn paint(style: Style, text: impl std::fmt::Display) -> String {
    format!("{}{text}{}", style.render(), style.render_reset())
}

/// A table whose columns are as wide as their widest cell. Cells are measured before they are painted.
#[derive(Default)]
pub struct Table {
    rows: Vec<Vec<(String, Style)>>,
}

impl Table {
    /// Adds a row of plain cells under one style.
    pub fn row<S: Into<String>>(&mut self, style: Style, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(|c| (c.into(), style)).collect());
    }

    /// Adds a row whose cells have styles of their own.
    pub fn styled(&mut self, cells: Vec<(String, Style)>) {
        self.rows.push(cells);
    }

    /// Prints the table; numbers (cells that start with a digit) align right.
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

/// A progress bar on the terminal; silent when piped.
pub fn progress(total: usize, what: impl Into<std::borrow::Cow<'static, str>>) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} {bar:40.cyan/dim} {pos}/{len} {eta}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(total as u64).with_style(style).with_message(what)
}

/// Bytes for people.
pub fn bytes(n: usize) -> String {
    match n {
        0..1024 => format!("{n} B"),
        1024..1_048_576 => format!("{:.1} KiB", n as f64 / 1024.0),
        1_048_576..1_073_741_824 => format!("{:.1} MiB", n as f64 / 1_048_576.0),
        _ => format!("{:.1} GiB", n as f64 / 1_073_741_824.0),
    }
}
