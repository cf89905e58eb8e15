//! Argument values of `softmetal run`: arrays, scalars, constants, sizes.

use crate::npy::{self, Array};
use half::{bf16, f16};
use softmetal::{ConstantValue, Error, Result, Size};
use std::path::Path;

fn bad(message: String) -> Error {
    Error::Invalid(message)
}

/// Splits `I=REST`.
pub fn split<'a>(text: &'a str, option: &str) -> Result<(&'a str, &'a str)> {
    text.split_once('=').ok_or_else(|| bad(format!("`{option} {text}`: write INDEX=WHAT")))
}

/// Parses the index before the `=`.
pub fn index(text: &str, option: &str) -> Result<u32> {
    text.parse().map_err(|_| bad(format!("`{option} {text}=…`: the index is not a number")))
}

/// `N`, `NxM` or `NxMxK`.
pub fn size(text: &str, option: &str) -> Result<Size> {
    let parts: Vec<u32> = text
        .split(['x', ','])
        .map(|p| p.parse().map_err(|_| bad(format!("`{option} {text}`: write N, NxM or NxMxK"))))
        .collect::<Result<_>>()?;
    match parts[..] {
        [x] => Ok(Size(x, 1, 1)),
        [x, y] => Ok(Size(x, y, 1)),
        [x, y, z] => Ok(Size(x, y, z)),
        _ => Err(bad(format!("`{option} {text}`: at most three numbers"))),
    }
}

/// A value to bind.
#[derive(Debug, Clone, PartialEq)]
pub enum Bound {
    /// A buffer.
    Array(Array),
    /// Inline bytes.
    Scalar(Vec<u8>),
}

/// Types by name: NumPy's type string, size, and the parser of a value.
fn encode(ty: &str, value: &str) -> Result<(&'static str, Vec<u8>)> {
    fn number<T: std::str::FromStr>(v: &str, ty: &str) -> Result<T> {
        v.parse().map_err(|_| bad(format!("`{v}` is not a valid {ty}")))
    }
    Ok(match ty {
        "f32" | "float" => ("<f4", number::<f32>(value, ty)?.to_le_bytes().to_vec()),
        "f16" | "half" => ("<f2", f16::from_f32(number(value, ty)?).to_le_bytes().to_vec()),
        // NumPy has no bfloat16; the bits are stored as uint16.
        "bf16" | "bfloat" => ("<u2", bf16::from_f32(number(value, ty)?).to_le_bytes().to_vec()),
        "u8" | "uchar" => ("|u1", vec![number::<u8>(value, ty)?]),
        "i8" | "char" => ("|i1", number::<i8>(value, ty)?.to_le_bytes().to_vec()),
        "u16" | "ushort" => ("<u2", number::<u16>(value, ty)?.to_le_bytes().to_vec()),
        "i16" | "short" => ("<i2", number::<i16>(value, ty)?.to_le_bytes().to_vec()),
        "u32" | "uint" => ("<u4", number::<u32>(value, ty)?.to_le_bytes().to_vec()),
        "i32" | "int" => ("<i4", number::<i32>(value, ty)?.to_le_bytes().to_vec()),
        "u64" | "ulong" => ("<u8", number::<u64>(value, ty)?.to_le_bytes().to_vec()),
        "i64" | "long" => ("<i8", number::<i64>(value, ty)?.to_le_bytes().to_vec()),
        "bool" => ("|b1", vec![u8::from(matches!(value, "true" | "1"))]),
        _ => {
            return Err(bad(format!(
                "unknown type `{ty}`; use one of f32 f16 bf16 u8 i8 u16 i16 u32 i32 u64 i64 bool"
            )));
        }
    })
}

/// Parses the right side of `--arg I=…`. Arrays created here have at most `limit` bytes.
pub fn argument(text: &str, limit: usize) -> Result<Bound> {
    if text.ends_with(".npy") {
        return npy::read(Path::new(text)).map(Bound::Array);
    }
    let parts: Vec<&str> = text.split(':').collect();
    match parts[..] {
        ["bytes", file] => {
            let bytes =
                std::fs::read(file).map_err(|e| Error::Io { path: file.into(), message: e.to_string() })?;
            Ok(Bound::Array(Array { descr: "|u1".into(), shape: vec![bytes.len()], bytes }))
        }
        [how @ ("zeros" | "ones" | "iota" | "rand"), ty, n] => array(how, ty, n, "1", limit),
        ["rand", ty, n, seed] => array("rand", ty, n, seed, limit),
        [ty, values] => {
            let mut bytes = Vec::new();
            for v in values.split(',') {
                bytes.extend(encode(ty, v)?.1);
            }
            Ok(Bound::Scalar(bytes))
        }
        _ => Err(bad(format!(
            "`{text}`: write FILE.npy, zeros:TYPE:N, ones:TYPE:N, iota:TYPE:N, rand:TYPE:N[:SEED], bytes:FILE or TYPE:VALUE"
        ))),
    }
}

fn array(how: &str, ty: &str, n: &str, seed: &str, limit: usize) -> Result<Bound> {
    let n: usize = n.parse().map_err(|_| bad(format!("`{n}` is not a number of elements")))?;
    let mut state: u64 = seed
        .parse::<u64>()
        .map_err(|_| bad(format!("`{seed}` is not a seed")))?
        .wrapping_mul(2_862_933_555_777_941_757)
        | 1;
    let (descr, zero) = encode(ty, "0")?;
    let total = n.checked_mul(zero.len()).filter(|total| *total <= limit).ok_or_else(|| {
        bad(format!("`{how}:{ty}:{n}` has more than {limit} bytes; raise the limit with --array-limit"))
    })?;
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(total)
        .map_err(|_| bad(format!("cannot allocate {total} bytes for `{how}:{ty}:{n}`")))?;
    if let "zeros" | "ones" = how {
        let one = encode(ty, if how == "ones" { "1" } else { "0" })?.1;
        (0..n).for_each(|_| bytes.extend_from_slice(&one));
        return Ok(Bound::Array(Array { descr: descr.into(), shape: vec![n], bytes }));
    }
    for i in 0..n {
        let text = match how {
            "iota" => i.to_string(),
            _ => {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                let unit = (state >> 40) as f32 / (1u64 << 24) as f32;
                if ty.contains('f') {
                    (unit * 2.0 - 1.0).to_string()
                } else {
                    ((unit * 100.0) as u8).to_string()
                }
            }
        };
        bytes.extend(encode(ty, &text)?.1);
    }
    Ok(Bound::Array(Array { descr: descr.into(), shape: vec![n], bytes }))
}

/// Parses the `TYPE:VALUE` of a function constant.
pub fn constant(text: &str) -> Result<ConstantValue> {
    let (ty, value) =
        text.split_once(':').ok_or_else(|| bad(format!("`--constant …={text}`: write TYPE:VALUE")))?;
    let number = |e: String| bad(format!("`{value}` is not a valid {ty} ({e})"));
    macro_rules! parsed {
        ($variant:ident, $t:ty) => {
            value.parse::<$t>().map(ConstantValue::$variant).map_err(|e| number(e.to_string()))
        };
    }
    match ty {
        "bool" => Ok(ConstantValue::Bool(matches!(value, "true" | "1"))),
        "u8" | "uchar" => parsed!(UChar, u8),
        "i8" | "char" => parsed!(Char, i8),
        "u16" | "ushort" => parsed!(UShort, u16),
        "i16" | "short" => parsed!(Short, i16),
        "u32" | "uint" => parsed!(UInt, u32),
        "i32" | "int" => parsed!(Int, i32),
        "u64" | "ulong" => parsed!(ULong, u64),
        "i64" | "long" => parsed!(Long, i64),
        "f32" | "float" => parsed!(Float, f32),
        "f16" | "half" => value
            .parse::<f32>()
            .map(|v| ConstantValue::Half(f16::from_f32(v)))
            .map_err(|e| number(e.to_string())),
        _ => Err(bad(format!("unknown constant type `{ty}`"))),
    }
}
