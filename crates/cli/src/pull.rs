//! `wootz pull`: a known model into the cache folder.

use crate::models;
use crate::output::{HEAD, Outcome, Table, bytes};
use anstyle::Style;
use std::process::ExitCode;
use wootz_llm::pull::{KNOWN, known};

/// Fetch a known model, or list them
#[derive(clap::Args)]
pub struct Args {
    /// The model's name (default: list what there is)
    name: Option<String>,
}

pub fn run(args: &Args) -> Outcome {
    match &args.name {
        Some(name) => println!("{}", models::fetch(known(name)?)?.display()),
        None => {
            let mut table = Table::default();
            table.row(HEAD, ["name", "size", "what it is"]);
            for model in KNOWN {
                table.row(Style::new(), [model.name, &bytes(model.bytes as usize), model.about]);
            }
            table.print();
        }
    }
    Ok(ExitCode::SUCCESS)
}
