//! The container as a whole: what is written is read back, and nothing broken is accepted or panics.

use proptest::prelude::*;
use wootz_blocks::BlockFormat;
use wootz_gguf::{Error, Gguf, MetaValue, Value, ValueType, Writer};

/// A small file with every kind of value and a few tensors.
fn sample() -> Vec<u8> {
    let mut w = Writer::new();
    w.set("general.architecture", "llama");
    w.set("a.u8", MetaValue::U8(200));
    w.set("a.i8", MetaValue::I8(-100));
    w.set("a.u16", MetaValue::U16(60_000));
    w.set("a.i16", MetaValue::I16(-30_000));
    w.set("a.u32", MetaValue::U32(4_000_000_000));
    w.set("a.i32", MetaValue::I32(-2_000_000_000));
    w.set("a.u64", MetaValue::U64(u64::MAX));
    w.set("a.i64", MetaValue::I64(i64::MIN));
    w.set("a.f32", MetaValue::F32(1.5));
    w.set("a.f64", MetaValue::F64(-2.25));
    w.set("a.bool", MetaValue::Bool(true));
    w.set("a.strings", MetaValue::strings(["<s>", "", "Ġthe", "日本"]));
    w.set("a.ints", MetaValue::Array(ValueType::I32, (0..5).map(MetaValue::I32).collect()));
    let inner = |n| MetaValue::Array(ValueType::U8, vec![MetaValue::U8(n)]);
    w.set("a.nested", MetaValue::Array(ValueType::Array, vec![inner(1), inner(2)]));
    w.tensor("first", &[64, 3], BlockFormat::Q8_0);
    w.tensor("second", &[5], BlockFormat::F32);
    w.tensor("third", &[256, 2], BlockFormat::Q4_K);
    let mut out = Vec::new();
    w.write(&mut out, |t| {
        let bytes = t.format.bytes_of(t.dims.iter().product::<u64>() as usize).unwrap();
        Ok((0..bytes).map(|i| (i * 7 + t.name.len()) as u8).collect())
    })
    .unwrap();
    out
}

/// Where a little-endian pattern first stands.
fn find(bytes: &[u8], pattern: &[u8]) -> usize {
    bytes.windows(pattern.len()).position(|w| w == pattern).expect("the sample holds the pattern")
}

fn open(bytes: Vec<u8>) -> Result<Gguf, Error> {
    Gguf::from_bytes(bytes)
}

#[test]
fn what_is_written_is_read_back() {
    let gguf = open(sample()).unwrap();
    let m = gguf.metadata();
    assert_eq!(m.str("general.architecture").unwrap(), "llama");
    assert_eq!(m.usize("a.u8").unwrap(), 200);
    assert_eq!(m.get("a.i8").unwrap().as_i64(), Some(-100));
    assert_eq!(m.get("a.u64").unwrap().as_u64(), Some(u64::MAX));
    assert_eq!(m.get("a.i64").unwrap(), Value::Signed(i64::MIN, ValueType::I64));
    assert_eq!(m.f32("a.f32").unwrap(), 1.5);
    assert_eq!(m.get("a.f64").unwrap().as_f64(), Some(-2.25));
    assert!(m.bool_or("a.bool", false).unwrap());
    assert!(m.bool_or("a.missing", true).unwrap());
    let strings: Vec<&str> = m.array("a.strings").unwrap().iter().map(|v| v.as_str().unwrap()).collect();
    assert_eq!(strings, ["<s>", "", "Ġthe", "日本"]);
    let nested = m.array("a.nested").unwrap();
    assert_eq!(nested.iter().map(|a| a.as_array().unwrap().len()).sum::<usize>(), 2);
    assert_eq!(gguf.tensors().len(), 3);
    let third = gguf.tensor("third").unwrap();
    assert_eq!((third.shape(), third.format().unwrap()), (vec![2, 256], BlockFormat::Q4_K));
    assert_eq!(gguf.data(third)[..3], [5, 12, 19]);
    assert_eq!(gguf.data(third).len(), 288);
}

#[test]
fn metadata_can_be_carried_over() {
    let gguf = open(sample()).unwrap();
    let mut w = Writer::new();
    for (key, value) in gguf.metadata().iter() {
        w.set(key, value);
    }
    let mut out = Vec::new();
    w.write(&mut out, |_| unreachable!("no tensors")).unwrap();
    let copy = open(out).unwrap();
    assert!(gguf.metadata().iter().eq(copy.metadata().iter()));
}

#[test]
fn tensors_may_lie_elsewhere() {
    let mut w = Writer::new();
    w.set("general.architecture", "llama");
    let bytes = wootz_gguf::Bytes::from(vec![9u8; 40]);
    let part = |name: &str, range: std::ops::Range<usize>| wootz_gguf::ExternalTensor {
        name: name.into(),
        dims: vec![4, 2],
        format: BlockFormat::F16,
        bytes: bytes.clone(),
        range,
    };
    let gguf = Gguf::assemble(&w, vec![part("a", 0..16), part("b", 24..40)]).unwrap();
    assert_eq!(gguf.metadata().str("general.architecture").unwrap(), "llama");
    assert_eq!(gguf.data(gguf.tensor("b").unwrap()), [9u8; 16]);
    assert_eq!(gguf.place(gguf.tensor("b").unwrap()).1, 24..40);
    let refused = |parts| Gguf::assemble(&w, parts).unwrap_err().to_string();
    assert!(refused(vec![part("a", 0..12)]).contains("16 bytes do not match the range 0..12"));
    assert!(refused(vec![part("a", 32..48)]).contains("32..48 of 40"));
    assert!(refused(vec![part("a", 0..16), part("a", 0..16)]).contains("twice"));
}

#[test]
fn errors_name_key_and_type() {
    let gguf = open(sample()).unwrap();
    let message = gguf.metadata().usize("a.strings").unwrap_err().to_string();
    assert!(message.contains("a.strings") && message.contains("array of 4 String"), "{message}");
    assert!(matches!(gguf.metadata().usize("a.i32"), Err(Error::KeyType { .. })));
    assert!(matches!(gguf.metadata().str("none"), Err(Error::MissingKey(k)) if k == "none"));
    assert!(matches!(gguf.tensor("none"), Err(Error::MissingTensor(_))));
}

#[test]
fn other_files_and_versions_are_refused_by_name() {
    assert!(matches!(open(b"PK\x03\x04....".to_vec()), Err(Error::Magic { .. })));
    assert!(matches!(open(Vec::new()), Err(Error::Magic { .. })));
    for (version, big) in [(1u32, false), (4, false), (3u32.swap_bytes(), true)] {
        let mut bytes = sample();
        bytes[4..8].copy_from_slice(&version.to_le_bytes());
        match open(bytes) {
            Err(Error::Version(v)) => assert!(!big && v == version),
            Err(Error::BigEndian(v)) => assert!(big && v == version),
            other => panic!("version {version}: {other:?}"),
        }
    }
}

/// Every prefix of the file is refused: there is no cut that goes unnoticed.
#[test]
fn every_truncation_is_an_error() {
    let whole = sample();
    let gguf = open(whole.clone()).unwrap();
    let last = gguf.place(gguf.tensor("third").unwrap()).1.end;
    for len in 0..last {
        assert!(open(whole[..len].to_vec()).is_err(), "cut to {len} of {last} bytes");
    }
}

#[test]
fn hostile_fields_are_refused() {
    let whole = sample();
    let name = find(&whole, b"third");
    // After the name: dimension count (4), two extents (8 each), type (4), offset (8).
    let fields = name + 5;
    let cases: &[(&str, usize, &[u8], &str)] = &[
        ("tensor count", 8, &u64::MAX.to_le_bytes(), "entries"),
        ("metadata count", 16, &(1u64 << 40).to_le_bytes(), "entries"),
        ("key length", 24, &u64::MAX.to_le_bytes(), "truncated"),
        ("name length", name - 8, &(1u64 << 62).to_le_bytes(), "truncated"),
        ("dimension count", fields, &200u32.to_le_bytes(), "200 dimensions"),
        ("overflowing extents", fields + 4, &(1u64 << 63).to_le_bytes(), "overflow"),
        ("partial block", fields + 4, &255u64.to_le_bytes(), "not a multiple of the Q4_K block size"),
        ("huge second extent", fields + 12, &(1u64 << 40).to_le_bytes(), "pass the end"),
        ("unknown type", fields + 20, &77u32.to_le_bytes(), "unknown tensor type 77"),
        ("removed type", fields + 20, &4u32.to_le_bytes(), "unknown tensor type 4"),
        ("unaligned offset", fields + 24, &1u64.to_le_bytes(), "alignment"),
        ("offset past the end", fields + 24, &(1u64 << 20).to_le_bytes(), "pass the end"),
        ("wrapping offset", fields + 24, &(u64::MAX - 31).to_le_bytes(), "pass the end"),
    ];
    for (what, at, bytes, expected) in cases {
        let mut broken = whole.clone();
        broken[*at..*at + bytes.len()].copy_from_slice(bytes);
        let message = open(broken).expect_err(what).to_string();
        assert!(message.contains(expected), "{what}: {message}");
    }
    let bool_at = find(&whole, b"a.bool") + 6 + 4;
    let mut broken = whole.clone();
    broken[bool_at] = 7;
    assert!(open(broken).unwrap_err().to_string().contains("not 7"));
}

#[test]
fn duplicate_names_are_refused() {
    let mut w = Writer::new();
    w.tensor("x", &[1], BlockFormat::F32).tensor("x", &[1], BlockFormat::F32);
    let mut out = Vec::new();
    w.write(&mut out, |_| Ok(vec![0; 4])).unwrap();
    assert!(open(out).unwrap_err().to_string().contains("occurs twice"));
}

#[test]
fn the_writer_checks_sizes_and_types() {
    let mut w = Writer::new();
    w.tensor("x", &[33], BlockFormat::Q8_0);
    assert!(w.write(&mut Vec::new(), |_| Ok(vec![])).is_err());
    let mut w = Writer::new();
    w.tensor("x", &[32], BlockFormat::Q8_0);
    let message = w.write(&mut Vec::new(), |_| Ok(vec![0; 33])).unwrap_err().to_string();
    assert!(message.contains("33 bytes") && message.contains("34"), "{message}");
    let mut w = Writer::new();
    w.set("k", MetaValue::Array(ValueType::U8, vec![MetaValue::I8(1)]));
    assert!(w.write(&mut Vec::new(), |_| Ok(vec![])).is_err());
}

#[test]
fn a_file_is_mapped() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.gguf");
    std::fs::write(&path, sample()).unwrap();
    assert_eq!(Gguf::open(&path).unwrap().tensors().len(), 3);
    assert!(matches!(Gguf::open(dir.path().join("none")), Err(Error::Io { action: "open", .. })));
}

/// Reads all there is to read, so that a bad range would be touched.
fn touch(gguf: &Gguf) {
    for (key, value) in gguf.metadata().iter() {
        assert!(!format!("{key}{}", value.describe()).is_empty());
        if let Some(array) = value.as_array() {
            assert_eq!(array.iter().count(), array.len());
        }
    }
    for tensor in gguf.tensors() {
        assert_eq!(gguf.data(tensor).len() as u64, tensor.bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..Default::default() })]

    /// Bytes changed anywhere: a value or an error, never a panic, and whatever is accepted is in bounds.
    #[test]
    fn corrupt_bytes_never_panic(changes in prop::collection::vec((0usize..900, any::<u8>()), 1..12)) {
        let mut bytes = sample();
        for (at, value) in changes {
            if let Some(b) = bytes.get_mut(at) { *b = value; }
        }
        if let Ok(gguf) = open(bytes) { touch(&gguf); }
    }

    /// A 64-bit field overwritten with an extreme number, and the file perhaps cut.
    #[test]
    fn extreme_fields_never_panic(at in 0usize..900, value in prop::sample::select(vec![
        0u64, 1, 31, 255, u64::from(u32::MAX), 1 << 32, i64::MAX as u64, 1 << 63, u64::MAX - 31, u64::MAX]),
        cut in 0usize..2000)
    {
        let mut bytes = sample();
        let at = at.min(bytes.len() - 8);
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        bytes.truncate(cut.max(at));
        if let Ok(gguf) = open(bytes) { touch(&gguf); }
    }
}
