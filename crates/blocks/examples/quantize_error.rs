//! Relative error of each quantiser: `quantize_error [FILE]`, where FILE holds 32-bit floats.
//!
//! Without a file it measures the test data (see `tests/quantize.rs`), and with `--write FILE` it writes them,
//! so that another quantiser can be measured on the same values.

use std::time::Instant;

use wootz_blocks::{BlockFormat, dequantize, quantize};

#[path = "../tests/data/mod.rs"]
mod data;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let x: Vec<f32> = match args.as_slice() {
        [] => data::weights(),
        [flag, path] if flag == "--write" => {
            let bytes: Vec<u8> = data::weights().iter().flat_map(|v| v.to_le_bytes()).collect();
            return Ok(std::fs::write(path, bytes)?);
        }
        [path] => std::fs::read(path)?
            .chunks_exact(4)
            .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            .collect(),
        _ => return Err("usage: quantize_error [FILE | --write FILE]".into()),
    };
    for &format in BlockFormat::ALL {
        let mut bytes = vec![0; format.bytes_of(x.len()).ok_or("the file is not whole blocks of 256")?];
        let mut y = vec![0.0; x.len()];
        let start = Instant::now();
        quantize(format, &x, None, &mut bytes)?;
        let speed = x.len() as f64 / start.elapsed().as_secs_f64() / 1e6;
        dequantize(format, &bytes, &mut y)?;
        println!("{:8} {:.5} {speed:6.0} M/s", format.name(), data::relative_error(&x, &y));
    }
    Ok(())
}
