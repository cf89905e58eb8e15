//! `wootz pull`: download a model into the cache folder.

use crate::models;
use crate::output::{HEAD, Outcome, Table, bytes};
use anstyle::Style;
use std::process::ExitCode;
use wootz_llm::pull::KNOWN;

/// Download a model, or list the known ones
#[derive(clap::Args)]
pub struct Args {
    /// A known model, or hf:OWNER/REPO[/FILE] [default: list the known models]
    name: Option<String>,
}

pub fn run(args: &Args) -> Outcome {
    match &args.name {
        Some(name) => println!("{}", models::pull(name)?.display()),
        None => {
            let mut table = Table::default();
            table.row(HEAD, ["name", "size", "description"]);
            for model in KNOWN {
                table.row(Style::new(), [model.name, &bytes(model.bytes as usize), model.about]);
            }
            table.print();
        }
    }
    Ok(ExitCode::SUCCESS)
}
