//! Rewrites a model in another format: `quantize IN OUT MIX`.

use wootz_gguf::Gguf;
use wootz_llm::quantize::{Mix, Options, quantize_file};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [input, output, mix] = args.as_slice() else { return Err("usage: quantize IN OUT MIX".into()) };
    let threads = std::thread::available_parallelism()?.get();
    quantize_file(
        &Gguf::open(input)?,
        output.as_ref(),
        Options::new(Mix::from_name(mix)?, threads),
        &mut |s| {
            println!("[{}/{}] {} {} -> {}", s.done, s.total, s.name, s.from, s.to);
        },
    )?;
    Ok(())
}
