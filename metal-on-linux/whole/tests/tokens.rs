//! A real model through the driver for Apple's Metal: greedy tokens are the CPU's, and nothing of a batch stays.
//!
//! `WOOTZ_SMOLLM2` names the file. `scripts/check-metal-host` sets it, and leaves this test out, saying so, where the model cannot be
//! pulled.

use metalhost::{live, take_reports};
use std::sync::Arc;
use wootz::Device;
use wootz_llm::tokenizer::Encoding;
use wootz_llm::{Model, ModelOptions, Session, SessionOptions, sampling};

const PROMPT: &str = "<|im_start|>user\nWhy is the sky blue?<|im_end|>\n<|im_start|>assistant\n";

fn greedy(path: &std::ffi::OsStr, device: &Device, count: usize) -> Vec<u32> {
    let model = Model::open(path, device, ModelOptions { precise: true }).expect("the model");
    let prompt = model.tokenizer().encode(PROMPT, Encoding { add_special: true, parse_special: true });
    let mut session = Session::new(&Arc::new(model), SessionOptions::default()).expect("a session");
    let mut logits = session.advance(&prompt).expect("the prompt");
    let mut tokens = Vec::new();
    loop {
        let token = sampling::argmax(&logits).expect("logits");
        tokens.push(token);
        if tokens.len() == count {
            return tokens;
        }
        logits = session.advance(&[token]).expect("a step");
    }
}

#[test]
fn greedy_tokens_of_a_real_model_are_the_cpus() {
    let path = std::env::var_os("WOOTZ_SMOLLM2").expect("WOOTZ_SMOLLM2 names the model's file");
    let metal = Device::from_name("metal").expect("the device");
    let driver =
        metal.info().facts.iter().find(|(name, _)| name == "driver").map(|(_, value)| value.as_str());
    assert_eq!(driver, Some("apple"));
    let full = std::env::var_os("WOOTZ_FULL").is_some_and(|v| v == "1");
    let count = if full { 24 } else { 8 };
    let expected = greedy(&path, &Device::cpu(), count);
    assert_eq!(greedy(&path, &metal, count), expected);
    let reports: Vec<String> = take_reports().iter().map(|r| r.to_string()).collect();
    assert!(reports.is_empty(), "{reports:?}");
    std::thread::sleep(std::time::Duration::from_millis(500));
    let left =
        live().into_iter().filter(|(name, _)| name.contains("CommandBuffer") || name.contains("Encoder"));
    assert_eq!(left.collect::<Vec<_>>(), []);
}
