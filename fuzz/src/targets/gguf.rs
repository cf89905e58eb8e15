//! The GGUF reader: everything accepted is read.

use crate::{Target, corpus};
use wootz_blocks::BlockFormat;
use wootz_gguf::{Gguf, MetaValue, ValueType, Writer};

pub const GGUF: Target =
    Target { name: "gguf", words: &["general.alignment", "general.architecture"], accepts: target };

/// What a user of the reader does: everything accepted must be readable to the last byte.
fn target(data: &[u8]) -> bool {
    let Ok(gguf) = Gguf::from_bytes(data) else { return false };
    let mut sum = 0u64;
    for (key, value) in gguf.metadata().iter() {
        sum += key.len() as u64 + value.describe().len() as u64;
        if let Some(array) = value.as_array() {
            assert_eq!(array.iter().count(), array.len());
        }
    }
    for tensor in gguf.tensors() {
        let bytes = gguf.data(tensor);
        assert_eq!(bytes.len() as u64, tensor.bytes);
        if let (Ok(format), true) = (tensor.format(), tensor.len() < 1 << 16) {
            let mut values = vec![0.0; tensor.len() as usize];
            wootz_blocks::dequantize(format, bytes, &mut values)
                .expect("an accepted tensor has whole blocks");
        }
    }
    std::hint::black_box(sum);
    true
}

/// Writes the corpus.
pub fn make_corpus() {
    let write = |name: &str, w: &Writer| {
        let mut out = Vec::new();
        w.write(&mut out, |t| {
            Ok(vec![0x3c; t.format.bytes_of(t.dims.iter().product::<u64>() as usize).expect("whole blocks")])
        })
        .expect("the corpus is valid");
        std::fs::write(corpus("gguf").join(name), out).expect("the corpus folder is writable");
    };
    let mut w = Writer::new();
    write("empty", &w);
    w.set("general.architecture", "llama").set("general.alignment", MetaValue::U32(32));
    w.set("llama.block_count", MetaValue::U32(1))
        .set("f", MetaValue::F64(0.5))
        .set("b", MetaValue::Bool(true));
    write("scalars", &w);
    w.set("tokens", MetaValue::strings(["<s>", "a", "Ġb", ""]));
    w.set("types", MetaValue::Array(ValueType::I32, vec![MetaValue::I32(3); 4]));
    let inner = MetaValue::Array(ValueType::Bool, vec![MetaValue::Bool(false)]);
    w.set("nested", MetaValue::Array(ValueType::Array, vec![inner]));
    write("arrays", &w);
    for (i, &f) in BlockFormat::ALL.iter().enumerate() {
        w.tensor(format!("t{i}"), &[256, 1 + i as u64 % 2], f);
    }
    write("tensors", &w);
}
