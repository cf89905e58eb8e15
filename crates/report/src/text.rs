//! Human-readable numbers, and escaped text.

use crate::run::Case;

/// A time in a unit that fits.
pub fn seconds(s: f64) -> String {
    match s {
        s if s < 1e-6 => format!("{:.0} ns", s * 1e9),
        s if s < 1e-3 => format!("{} µs", three(s * 1e6)),
        s if s < 1.0 => format!("{} ms", three(s * 1e3)),
        s => format!("{} s", three(s)),
    }
}

/// Three significant digits, never in scientific notation.
pub(crate) fn three(x: f64) -> String {
    let digits = if x < 10.0 {
        2
    } else if x < 100.0 {
        1
    } else {
        0
    };
    format!("{x:.digits$}")
}

/// Bytes in a unit that fits.
pub fn bytes(n: f64) -> String {
    match n {
        n if n < 1024.0 => format!("{n:.0} B"),
        n if n < 1048576.0 => format!("{} KiB", three(n / 1024.0)),
        n if n < 1073741824.0 => format!("{} MiB", three(n / 1048576.0)),
        n => format!("{} GiB", three(n / 1073741824.0)),
    }
}

/// The rate of a case at a time, in the unit that says most: tokens, operations, or bytes per second.
pub fn rate(case: &Case, seconds: f64) -> String {
    if let Some(tokens) = case.tokens {
        return format!("{} tok/s", three(tokens / seconds));
    }
    // Products do many operations per byte; below four, memory is what is used.
    if case.flops > 4.0 * case.bytes {
        format!("{} GFLOP/s", three(case.flops / seconds / 1e9))
    } else if case.bytes > 0.0 {
        format!("{} GB/s", three(case.bytes / seconds / 1e9))
    } else {
        String::new()
    }
}

/// A fraction as whole percents.
pub(crate) fn percent(fraction: f64) -> String {
    format!("{:.0} %", fraction * 100.0)
}

/// A ratio with its sign.
pub(crate) fn times(ratio: f64) -> String {
    format!("{}×", three(ratio))
}

/// Text inside markup or a quoted attribute.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_fit() {
        assert_eq!(seconds(2.5e-8), "25 ns");
        assert_eq!(seconds(1.234e-5), "12.3 µs");
        assert_eq!(seconds(0.25), "250 ms");
        assert_eq!(bytes(1536.0), "1.50 KiB");
        assert_eq!(escape("<a&\"b'>"), "&lt;a&amp;&quot;b&#39;&gt;");
    }
}
