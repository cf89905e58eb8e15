//! Models on Metal: what the CPU computes, in one command buffer per token.

#[allow(dead_code, reason = "shared with tests that use more of it")]
mod tiny;

use std::sync::Arc;
use tiny::{VOCAB, model};
use wootz::Device;
use wootz::metal::{MetalBackend, SoftOptions};
use wootz_blocks::BlockFormat;
use wootz_llm::{Model, ModelOptions, Session, SessionOptions};

fn session(arch: &str, format: BlockFormat, device: &Device) -> Session {
    let options = ModelOptions { precise: true };
    let model = Model::from_gguf(model(arch, format, |_| true), device, options).unwrap();
    Session::new(&Arc::new(model), SessionOptions::default()).unwrap()
}

#[test]
fn a_decode_step_is_one_command_buffer() {
    let families = [("llama", BlockFormat::Q4_0), ("gemma3", BlockFormat::Q8_0), ("rwkv7", BlockFormat::F16)];
    for (arch, format) in families {
        let backend = Arc::new(MetalBackend::soft(SoftOptions::default()));
        let mut on_metal = session(arch, format, &Device::from_backend(backend.clone()));
        let mut on_cpu = session(arch, format, &Device::cpu());
        let prompt: Vec<u32> = (0..11).map(|i| (i * i * 7 + 3) % VOCAB as u32).collect();
        on_metal.advance(&prompt).unwrap();
        on_cpu.advance(&prompt).unwrap();
        for token in [5, 17, 60] {
            let before = backend.command_buffers();
            let ours = on_metal.advance(&[token]).unwrap();
            assert_eq!(backend.command_buffers() - before, 1, "{arch}, token {token}");
            let theirs = on_cpu.advance(&[token]).unwrap();
            let size = theirs.iter().fold(0f32, |m, x| m.max(x.abs()));
            let error = ours.iter().zip(&theirs).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max) / size;
            assert!(error < 1e-3, "{arch} in {format}: {error}");
        }
    }
}
