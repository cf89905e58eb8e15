//! Renders a saved run: `cargo run -p wootz-report --example page -- RUN.json COUNTED.json OUT.html`.
//! `wootz bench --from` does the same; this builds in seconds.

use wootz_report::{Chip, Limits, Run, html, parse_counted};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [run, counted, out] = &arguments[..] else { return Err("RUN.json COUNTED.json OUT.html".into()) };
    let run = Run::parse(&std::fs::read_to_string(run)?, run)?;
    let counted = parse_counted(&std::fs::read_to_string(counted)?, counted)?;
    let limits = Limits { bytes_per_s: 546e9, flops_per_s: 17040e9 };
    std::fs::write(out, html(&run, &counted, &[Chip { name: "m4-max".into(), limits }]))?;
    Ok(())
}
