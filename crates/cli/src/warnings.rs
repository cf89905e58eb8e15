//! Warnings of the libraries, on standard error: they only log them.

use log::{LevelFilter, Log, Metadata, Record};

struct Warnings;

impl Log for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("wootz")
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            eprintln!("wootz: {}", record.args());
        }
    }

    fn flush(&self) {}
}

/// Shows warnings from now on.
pub fn show() {
    // An error means that there is a logger already, and it is the one to use.
    if log::set_logger(&Warnings).is_ok() {
        log::set_max_level(LevelFilter::Warn);
    }
}
