//! Models in several files.

use std::path::{Path, PathBuf};
use wootz::Device;
use wootz_gguf::{Gguf, MetaValue, Writer};
use wootz_llm::{Model, ModelOptions, Session, SessionOptions, hub};

/// Writes the tiny Qwen 3 as so many parts; tensor `i` goes to part `i` modulo their number.
fn write(folder: &Path, parts: u32, tensors: u32) -> Vec<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/tiny-qwen3.model");
    let whole = Gguf::open(source).unwrap();
    let part = |no: u32| {
        let mut writer = Writer::new();
        if no == 0 {
            whole.metadata().iter().for_each(|(key, value)| {
                writer.set(key, value);
            });
        }
        writer.set("split.no", MetaValue::U32(no));
        writer.set("split.count", MetaValue::U32(parts));
        writer.set("split.tensors.count", MetaValue::U32(tensors));
        for (_, tensor) in own(&whole, no, parts) {
            writer.tensor(&tensor.name, &tensor.dims, tensor.format().unwrap());
        }
        let path = folder.join(format!("tiny-{:05}-of-{parts:05}.gguf", no + 1));
        let mut bytes = Vec::new();
        let data = |spec: &wootz_gguf::TensorSpec| Ok(whole.data(whole.tensor(&spec.name)?).to_vec());
        writer.write(&mut bytes, data).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    };
    (0..parts).map(part).collect()
}

fn own(gguf: &Gguf, no: u32, parts: u32) -> impl Iterator<Item = (usize, &wootz_gguf::Tensor)> {
    gguf.tensors().iter().enumerate().filter(move |(i, _)| *i as u32 % parts == no)
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("wootz-split-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn logits(path: &Path) -> Vec<f32> {
    let model = Model::open(path, &Device::cpu(), ModelOptions::default()).unwrap();
    Session::new(&std::sync::Arc::new(model), SessionOptions::default()).unwrap().advance(&[3, 1, 4]).unwrap()
}

fn count() -> u32 {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/tiny-qwen3.model");
    Gguf::open(source).unwrap().tensors().len() as u32
}

#[test]
fn parts_are_the_whole() {
    let folder = folder("whole");
    let parts = write(&folder, 3, count());
    let whole = logits(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/tiny-qwen3.model"));
    assert_eq!(logits(&parts[0]), whole);
    assert_eq!(logits(&parts[2]), whole, "any part will do");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn missing_mixed_and_renamed_parts_are_named() {
    let folder = folder("bad");
    let parts = write(&folder, 3, count());
    let refused = |path: &Path| hub::open(path).err().unwrap().to_string();
    std::fs::rename(&parts[1], folder.join("elsewhere")).unwrap();
    let error = refused(&parts[0]);
    assert!(
        error.contains("part 2 of 3 is missing") && error.contains("tiny-00002-of-00003.gguf"),
        "{error}"
    );
    std::fs::copy(&parts[2], &parts[1]).unwrap();
    assert!(refused(&parts[0]).contains("part 2 of 3"), "{}", refused(&parts[0]));
    let error = refused(&folder.join("elsewhere"));
    assert!(error.contains("does not end in -00002-of-00003.gguf"), "{error}");
    let parts = write(&folder, 3, count() + 1);
    assert!(refused(&parts[0]).contains("different models"), "{}", refused(&parts[0]));
    let of_another = std::fs::read(&parts[1]).unwrap();
    let parts = write(&folder, 3, count());
    std::fs::write(&parts[1], of_another).unwrap();
    assert!(refused(&parts[0]).contains("part 2 of a different model"), "{}", refused(&parts[0]));
    std::fs::remove_dir_all(folder).unwrap();
}
