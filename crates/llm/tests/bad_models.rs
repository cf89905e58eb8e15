//! Models that are not what they say: what is wrong is named, and nothing is half loaded.

use std::path::Path;
use std::sync::Arc;
use wootz::Device;
use wootz_gguf::{Gguf, MetaValue, Writer};
use wootz_llm::sampling::{Random, Sampling};
use wootz_llm::{Embedder, Model, ModelOptions, Session, SessionOptions};

/// A golden model with other metadata, whose tensors `change` may edit.
fn changed(family: &str, metadata: &[(&str, MetaValue)], change: impl Fn(&str, &mut Vec<u8>)) -> Gguf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let golden = Gguf::open(folder.join(format!("tiny-{family}.model"))).unwrap();
    let mut writer = Writer::new();
    golden.metadata().iter().for_each(|(key, value)| {
        writer.set(key, value);
    });
    metadata.iter().for_each(|(key, value)| {
        writer.set(*key, value.clone());
    });
    for tensor in golden.tensors() {
        writer.tensor(&tensor.name, &tensor.dims, tensor.format().unwrap());
    }
    let mut bytes = Vec::new();
    writer
        .write(&mut bytes, |spec| {
            let mut data = golden.data(golden.tensor(&spec.name)?).to_vec();
            change(&spec.name, &mut data);
            Ok(data)
        })
        .unwrap();
    Gguf::from_bytes(bytes).unwrap()
}

fn unchanged(_: &str, _: &mut Vec<u8>) {}

fn load(gguf: Gguf) -> Result<Model, String> {
    Model::from_gguf(gguf, &Device::cpu(), ModelOptions::default()).map_err(|error| error.to_string())
}

#[test]
fn experts_that_are_not_there() {
    let count = |gguf: &Gguf| gguf.metadata().usize("qwen3moe.expert_count").unwrap();
    let own = count(&changed("qwen3moe", &[], unchanged));
    let more = [("qwen3moe.expert_count", MetaValue::U32(own as u32 + 1))];
    let error = load(changed("qwen3moe", &more, unchanged)).err().unwrap();
    assert!(error.contains("tensor 'blk.0.ffn_") && error.contains(&format!("[{},", own + 1)), "{error}");
}

#[test]
fn a_router_that_gives_no_numbers() {
    let broken = changed("qwen3moe", &[], |name, data| {
        if name == "blk.0.ffn_gate_inp.weight" {
            data.chunks_exact_mut(4).for_each(|b| b.copy_from_slice(&f32::NAN.to_le_bytes()));
        }
    });
    let model = Arc::new(load(broken).unwrap());
    let mut session = Session::new(&model, SessionOptions::default()).unwrap();
    // Either the choice of experts is refused, or the logits are.
    let error = match session.advance(&[3, 1, 4]) {
        Err(error) => error.to_string(),
        Ok(mut logits) => {
            Sampling::GREEDY.choose(&mut logits, &[], &mut Random::new(0)).unwrap_err().to_string()
        }
    };
    assert!(error.contains("NaN") || error.contains("out of range"), "{error}");
}

#[test]
fn a_pooling_that_does_not_exist() {
    let strange = changed("bert", &[("bert.pooling_type", MetaValue::U32(9))], unchanged);
    let error = Embedder::from_gguf(strange, &Device::cpu(), &mut |_| {}).err().unwrap().to_string();
    assert!(error.contains("pooling_type") && error.contains('9'), "{error}");
}

#[test]
fn an_architecture_that_is_not_there() {
    let other = changed("llama", &[("general.architecture", "hyena".into())], unchanged);
    let error = load(other).err().unwrap();
    assert!(error.contains("'hyena'") && error.contains("qwen3moe") && error.contains("rwkv7"), "{error}");
}

#[test]
fn every_tensor_that_is_missing_is_named() {
    let whole = changed("qwen3moe", &[], unchanged);
    let complete = Arc::new(whole);
    assert_eq!(wootz_llm::missing_tensors(&complete).unwrap(), Vec::<String>::new());
    let lost = ["blk.0.ffn_down_exps.weight", "blk.1.attn_q.weight", "blk.1.ffn_norm.weight"];
    let mut writer = Writer::new();
    complete.metadata().iter().for_each(|(key, value)| {
        writer.set(key, value);
    });
    for tensor in complete.tensors().iter().filter(|tensor| !lost.contains(&tensor.name.as_str())) {
        writer.tensor(&tensor.name, &tensor.dims, tensor.format().unwrap());
    }
    let mut bytes = Vec::new();
    let data = |spec: &wootz_gguf::TensorSpec| Ok(complete.data(complete.tensor(&spec.name)?).to_vec());
    writer.write(&mut bytes, data).unwrap();
    let missing = wootz_llm::missing_tensors(&Arc::new(Gguf::from_bytes(bytes).unwrap())).unwrap();
    assert_eq!(missing.len(), lost.len(), "{missing:?}");
    lost.iter().for_each(|name| assert!(missing.iter().any(|line| line.contains(name)), "{missing:?}"));
    // Every family and encoder loads its own file without a complaint.
    for family in wootz_llm::config::Family::ALL {
        let file = Arc::new(changed(family.name(), &[], unchanged));
        assert_eq!(wootz_llm::missing_tensors(&file).unwrap(), Vec::<String>::new(), "{}", family.name());
    }
}
