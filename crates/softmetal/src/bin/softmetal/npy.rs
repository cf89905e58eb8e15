//! NumPy's `.npy` files: plain little-endian arrays.

use softmetal::{Error, Result};
use std::path::Path;

/// An array as stored in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    /// NumPy's type string, such as `<f4`.
    pub descr: String,
    /// Shape.
    pub shape: Vec<usize>,
    /// The bytes in row-major order.
    pub bytes: Vec<u8>,
}

/// Reads a file.
pub fn read(path: &Path) -> Result<Array> {
    let fail = |message: &str| Error::Io { path: path.display().to_string(), message: message.to_string() };
    let raw = std::fs::read(path).map_err(|e| fail(&e.to_string()))?;
    if raw.len() < 10 || &raw[..6] != b"\x93NUMPY" {
        return Err(fail("not a .npy file"));
    }
    let (header_at, header_len) = match raw[6] {
        1 => (10, usize::from(u16::from_le_bytes([raw[8], raw[9]]))),
        2 | 3 if raw.len() >= 12 => (12, u32::from_le_bytes([raw[8], raw[9], raw[10], raw[11]]) as usize),
        _ => return Err(fail("unknown .npy version")),
    };
    let header = raw.get(header_at..header_at + header_len).ok_or_else(|| fail("the header is truncated"))?;
    let header = String::from_utf8_lossy(header);
    let descr = quoted(&header, "descr").ok_or_else(|| fail("structured types are not supported"))?;
    if header.contains("'fortran_order': True") {
        return Err(fail("column-major arrays are not supported; save numpy.ascontiguousarray(x)"));
    }
    if descr.starts_with('>') {
        return Err(fail("big-endian arrays are not supported"));
    }
    let shape = header
        .split("'shape':")
        .nth(1)
        .and_then(|s| s.split('(').nth(1))
        .and_then(|s| s.split(')').next())
        .ok_or_else(|| fail("the header has no shape"))?;
    let shape: Vec<usize> = shape
        .split(',')
        .map(str::trim)
        .filter(|s| !s.is_empty())
        .map(|s| s.parse().map_err(|_| fail("the shape is not a list of numbers")))
        .collect::<Result<_>>()?;
    let size: usize = descr
        .trim_start_matches(|c: char| !c.is_ascii_digit())
        .parse()
        .map_err(|_| fail(&format!("unsupported type `{descr}`")))?;
    let bytes = raw[header_at + header_len..].to_vec();
    let count =
        shape.iter().try_fold(size, |a, &b| a.checked_mul(b)).ok_or_else(|| fail("the shape overflows"))?;
    if bytes.len() != count {
        return Err(fail(&format!("expected {count} bytes for its shape and type, found {}", bytes.len())));
    }
    Ok(Array { descr, shape, bytes })
}

fn quoted(header: &str, key: &str) -> Option<String> {
    let rest = header.split(&format!("'{key}':")).nth(1)?.trim_start();
    Some(rest.strip_prefix('\'')?.split('\'').next()?.to_string())
}

/// Writes a file.
pub fn write(path: &Path, a: &Array) -> Result<()> {
    let extents = a.shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let comma = if a.shape.len() == 1 { "," } else { "" };
    let mut header =
        format!("{{'descr': '{}', 'fortran_order': False, 'shape': ({extents}{comma}), }}", a.descr);
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend((header.len() as u16).to_le_bytes());
    out.extend(header.as_bytes());
    out.extend(&a.bytes);
    std::fs::write(path, out)
        .map_err(|e| Error::Io { path: path.display().to_string(), message: e.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let a = Array { descr: "<f4".into(), shape: vec![2, 3], bytes: (0..24).collect() };
        let path = std::env::temp_dir().join(format!("softmetal-npy-{}.npy", std::process::id()));
        write(&path, &a).unwrap();
        assert_eq!(read(&path).unwrap(), a);
        assert_eq!(std::fs::read(&path).unwrap().len() % 64, 24);
        std::fs::write(&path, b"nonsense").unwrap();
        assert!(read(&path).is_err());
        std::fs::remove_file(&path).unwrap();
    }
}
