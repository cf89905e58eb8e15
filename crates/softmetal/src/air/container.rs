//! The `.metallib` container: a header, a list of functions as tagged records, and their bitcode.

use std::ops::Range;

/// What the first four bytes identify.
const MAGIC: &[u8; 4] = b"MTLB";
/// Magic, platform, versions and file size, then four pairs of offset and size.
const HEADER: usize = 88;
/// The magic number of a bitcode wrapper, and of bare bitcode.
const WRAPPER: u32 = 0x0b17_c0de;
const BITCODE: [u8; 4] = *b"BC\xc0\xde";
/// The newest AIR that the intrinsics here were written for.
const NEWEST_AIR: (u16, u16) = (2, 8);
/// Functions that a file may hold; more is taken for damage.
const MAX_FUNCTIONS: usize = 1 << 20;

/// The kind of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A compute kernel.
    Kernel,
    /// Something that SoftMetal lists and does not run, by its Metal name.
    Other(&'static str),
}

/// One function of the file.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Name.
    pub name: String,
    /// Kind.
    pub kind: Kind,
    /// Version of AIR.
    pub air: (u16, u16),
    /// Where its bitcode is, without the wrapper.
    pub bitcode: Range<usize>,
}

/// Why bytes are no metallib: what, and at which byte.
pub type Fault = String;

/// The functions of a metallib.
pub fn parse(bytes: &[u8]) -> Result<Vec<Entry>, Fault> {
    if bytes.get(..4) != Some(MAGIC.as_slice()) {
        return Err(foreign(bytes));
    }
    if bytes.len() < HEADER {
        return Err(format!("the header needs {HEADER} bytes, but the file has {}", bytes.len()));
    }
    let size = u64_at(bytes, 16, "file size")?;
    if size != bytes.len() as u64 {
        return Err(format!(
            "the header says {size} bytes, and the file has {}; it may be truncated",
            bytes.len()
        ));
    }
    let list = section(bytes, 24, "function list")?;
    let code = section(bytes, 72, "bitcode")?;
    let count = u32_at(bytes, list.start, "number of functions")? as usize;
    if count > MAX_FUNCTIONS {
        return Err(format!("the function list claims {count} functions; the file is corrupt"));
    }
    // The size of the list does not include its own count.
    let end = list.end.saturating_add(4).min(bytes.len());
    let mut at = list.start + 4;
    let mut entries = Vec::new();
    for number in 0..count {
        let length = u32_at(bytes, at, "length of a function record")? as usize;
        let record = at.checked_add(length).filter(|&e| length >= 8 && e <= end).map(|e| at + 4..e);
        let record =
            record.ok_or_else(|| format!("function {number} at byte {at} is longer than the list"))?;
        at = record.end;
        entries.push(entry(bytes, record, &code).map_err(|e| format!("function {number}: {e}"))?);
    }
    Ok(entries)
}

fn foreign(bytes: &[u8]) -> Fault {
    let what = match bytes.get(..4) {
        Some([0xca, 0xfe, 0xba, 0xbe]) => {
            "a universal binary; extract one of its metallibs with `lipo -thin`"
        }
        Some(b"BC\xc0\xde" | [0xde, 0xc0, 0x17, 0x0b]) => {
            "bare bitcode (.air); link it with `metallib` first"
        }
        Some([0xcf, 0xfa, 0xed, 0xfe]) => "a Mach-O binary",
        _ => return "it does not begin with `MTLB`, so it is no metallib".into(),
    };
    format!("it is not a metallib but {what}")
}

/// One record: four letters, a length and a value each, up to `ENDT`.
fn entry(bytes: &[u8], record: Range<usize>, code: &Range<usize>) -> Result<Entry, Fault> {
    let (mut name, mut kind) = (None, None);
    let (mut offset, mut size) = (None, None);
    let mut versions = [0u16; 2];
    let mut at = record.start;
    loop {
        let tag = bytes.get(at..at + 4).filter(|_| at + 4 <= record.end);
        let tag = tag.ok_or("its record does not end with `ENDT`")?;
        if tag == b"ENDT" {
            break;
        }
        let length = usize::from(u16_at(bytes, at + 4, "length of a tag")?);
        let value = at + 6..at + 6 + length;
        if value.end > record.end {
            return Err(format!("tag `{}` is longer than its record", String::from_utf8_lossy(tag)));
        }
        match tag {
            b"NAME" => name = Some(text(&bytes[value.clone()])?),
            b"TYPE" => kind = bytes[value.clone()].first().map(|&k| kind_of(k)).transpose()?,
            b"OFFT" => offset = Some(u64_at(bytes, value.start.max(value.end.saturating_sub(8)), "OFFT")?),
            b"MDSZ" => size = Some(u64_at(bytes, value.start, "MDSZ")?),
            b"VERS" => {
                for (i, v) in versions.iter_mut().enumerate() {
                    *v = u16_at(bytes, value.start + 2 * i, "VERS")?;
                }
            }
            _ => {}
        }
        at = value.end;
    }
    let name = name.ok_or("it has no name")?;
    let absent = |what: &str| format!("`{name}` has no {what}");
    let (offset, size) = (offset.ok_or_else(|| absent("offset"))?, size.ok_or_else(|| absent("size"))?);
    let outside = || format!("the bitcode of `{name}` is outside the file");
    let start = usize::try_from(offset).ok().and_then(|o| code.start.checked_add(o)).ok_or_else(outside)?;
    let end = usize::try_from(size).ok().and_then(|s| start.checked_add(s)).ok_or_else(outside)?;
    if end > code.end {
        return Err(outside());
    }
    let bitcode = unwrapped(bytes, start..end).map_err(|e| format!("`{name}`: {e}"))?;
    let kind = kind.ok_or_else(|| absent("type"))?;
    Ok(Entry { kind, air: (versions[0], versions[1]), bitcode, name })
}

fn kind_of(code: u8) -> Result<Kind, Fault> {
    Ok(match code {
        0 => Kind::Other("vertex"),
        1 => Kind::Other("fragment"),
        2 => Kind::Kernel,
        3 => Kind::Other("unqualified"),
        4 => Kind::Other("visible"),
        5 => Kind::Other("extern"),
        6 => Kind::Other("intersection"),
        7 => Kind::Other("mesh"),
        8 => Kind::Other("object"),
        _ => return Err(format!("its type {code} is unknown")),
    })
}

/// The bitcode inside its wrapper: magic, version, offset, size, processor.
fn unwrapped(bytes: &[u8], range: Range<usize>) -> Result<Range<usize>, Fault> {
    let inner = if u32_at(bytes, range.start, "bitcode")? == WRAPPER {
        let offset = u32_at(bytes, range.start + 8, "bitcode wrapper")? as usize;
        let size = u32_at(bytes, range.start + 12, "bitcode wrapper")? as usize;
        let start = range.start + offset;
        start..start + size
    } else {
        range.clone()
    };
    if inner.end > range.end || bytes.get(inner.start..inner.start + 4) != Some(BITCODE.as_slice()) {
        return Err("its code is no LLVM bitcode".into());
    }
    Ok(inner)
}

impl Entry {
    /// Why SoftMetal cannot run it, if it cannot.
    pub fn obstacle(&self) -> Option<String> {
        match self.kind {
            Kind::Other(what) => Some(format!("it is a {what} function; SoftMetal only runs kernels")),
            Kind::Kernel if self.air > NEWEST_AIR => Some(format!(
                "it is AIR {}.{}, and SoftMetal knows AIR up to {}.{}",
                self.air.0, self.air.1, NEWEST_AIR.0, NEWEST_AIR.1
            )),
            Kind::Kernel => None,
        }
    }
}

fn section(bytes: &[u8], at: usize, what: &str) -> Result<Range<usize>, Fault> {
    let (offset, size) = (u64_at(bytes, at, what)?, u64_at(bytes, at + 8, what)?);
    let end = offset.checked_add(size).filter(|&e| e <= bytes.len() as u64);
    let end = end.ok_or_else(|| format!("the {what} is outside the file"))?;
    Ok(offset as usize..end as usize)
}

fn text(bytes: &[u8]) -> Result<String, Fault> {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    String::from_utf8(bytes[..end].to_vec()).map_err(|_| "its name is not UTF-8".into())
}

fn array<const N: usize>(bytes: &[u8], at: usize, what: &str) -> Result<[u8; N], Fault> {
    let slice = at.checked_add(N).and_then(|end| bytes.get(at..end));
    slice.and_then(|s| s.try_into().ok()).ok_or_else(|| format!("the file ends in the {what}, at byte {at}"))
}

fn u16_at(bytes: &[u8], at: usize, what: &str) -> Result<u16, Fault> {
    array(bytes, at, what).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize, what: &str) -> Result<u32, Fault> {
    array(bytes, at, what).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize, what: &str) -> Result<u64, Fault> {
    array(bytes, at, what).map(u64::from_le_bytes)
}
