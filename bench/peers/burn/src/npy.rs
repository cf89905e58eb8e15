//! Arrays of f32 from .npy files in row-major order.

pub struct Array {
    pub shape: Vec<usize>,
    pub values: Vec<f32>,
}

/// The array of a file; none when its numbers are not f32.
pub fn read(path: &str) -> Result<Option<Array>, String> {
    let bytes = std::fs::read(path).map_err(|e| format!("{path}: {e}"))?;
    let malformed = || format!("{path}: no .npy file");
    let length = bytes.get(8..10).ok_or_else(malformed)?;
    let start = 10 + usize::from(u16::from_le_bytes([length[0], length[1]]));
    let header = bytes.get(10..start).and_then(|h| std::str::from_utf8(h).ok()).ok_or_else(malformed)?;
    if !header.contains("'<f4'") || header.contains("'fortran_order': True") {
        return Ok(None);
    }
    let shape = header.split('(').nth(1).and_then(|s| s.split(')').next()).ok_or_else(malformed)?;
    let shape: Vec<usize> = shape.split(',').filter_map(|n| n.trim().parse().ok()).collect();
    let values =
        bytes[start..].chunks_exact(4).map(|c| f32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect();
    Ok(Some(Array { shape, values }))
}
