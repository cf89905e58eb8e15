//! `os_log` of kernels, to stderr.

use super::abi::Lane;
use std::ffi::{CStr, c_char};

/// Prints one message.
///
/// # Safety
/// Called by compiled kernels: `values` and `kinds` have `count` elements, and strings end with a zero.
pub unsafe extern "C" fn log(
    lane: *mut Lane,
    format: *const c_char,
    values: *const u64,
    kinds: *const u8,
    count: u32,
) {
    // SAFETY: the caller's contract.
    unsafe {
        let w = &mut *(*lane).worker;
        w.in_kernel.set(false);
        let format = CStr::from_ptr(format).to_string_lossy();
        let values = std::slice::from_raw_parts(values, count as usize);
        let kinds = std::slice::from_raw_parts(kinds, count as usize);
        let args: Vec<Value> = values
            .iter()
            .zip(kinds)
            .map(|(&v, k)| match k {
                0 => Value::Signed(v as i64),
                1 => Value::Unsigned(v),
                2 => Value::Float(f64::from_bits(v)),
                _ => Value::Text(CStr::from_ptr(v as *const c_char).to_string_lossy().into_owned()),
            })
            .collect();
        eprintln!("{}", formatted(&format, &args));
        w.in_kernel.set(true);
    }
}

/// An argument of a log message.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Signed integer.
    Signed(i64),
    /// Unsigned integer.
    Unsigned(u64),
    /// Floating point.
    Float(f64),
    /// String.
    Text(String),
}

/// A printf-style format with the usual conversions.
pub fn formatted(format: &str, args: &[Value]) -> String {
    let mut out = String::new();
    let mut args = args.iter();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let spec = &rest[at + 1..];
        let Some(end) =
            spec.find(|c: char| c.is_ascii_alphabetic() && !matches!(c, 'l' | 'h' | 'z') || c == '%')
        else {
            out.push_str(&rest[at..]);
            return out;
        };
        let conversion = spec.as_bytes()[end];
        rest = &spec[end + 1..];
        if conversion == b'%' {
            out.push('%');
            continue;
        }
        match args.next() {
            Some(v) => out.push_str(&one(conversion, &spec[..end], v)),
            None => out.push_str("(missing)"),
        }
    }
    out.push_str(rest);
    out
}

fn one(conversion: u8, flags: &str, v: &Value) -> String {
    let precision =
        flags.split_once('.').and_then(|(_, p)| p.trim_end_matches(['l', 'h', 'z']).parse::<usize>().ok());
    let width = flags
        .split('.')
        .next()
        .unwrap_or("")
        .trim_matches(|c: char| !c.is_ascii_digit())
        .parse::<usize>()
        .unwrap_or(0);
    let body = match (conversion, v) {
        (b'x', Value::Signed(i)) => format!("{i:x}"),
        (b'x', Value::Unsigned(u)) => format!("{u:x}"),
        (b'X', Value::Unsigned(u)) => format!("{u:X}"),
        (b'c', Value::Signed(i)) => char::from(*i as u8).to_string(),
        (b'f' | b'F', Value::Float(f)) => format!("{f:.*}", precision.unwrap_or(6)),
        (b'e' | b'E', Value::Float(f)) => format!("{f:.*e}", precision.unwrap_or(6)),
        (_, Value::Float(f)) => format!("{f}"),
        (_, Value::Signed(i)) => i.to_string(),
        (_, Value::Unsigned(u)) => u.to_string(),
        (_, Value::Text(t)) => t.clone(),
    };
    if flags.starts_with('-') { format!("{body:<width$}") } else { format!("{body:>width$}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_like_printf() {
        let args = [Value::Signed(-3), Value::Float(1.5), Value::Unsigned(255), Value::Text("ok".into())];
        assert_eq!(formatted("%d %.2f %x %s%%|%4d", &args), "-3 1.50 ff ok%|(missing)");
        assert_eq!(formatted("%5u|", &[Value::Unsigned(7)]), "    7|");
    }
}
