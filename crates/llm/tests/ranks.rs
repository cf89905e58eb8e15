//! Models over ranks against the same model on one: pipelines give the same bits, tensor parallelism the same to rounding, and both the
//! same greedy tokens. Messages and bytes are those of docs/distributed.md.
#![cfg(unix)]

mod divided;
#[path = "../../mpi/tests/launch/mod.rs"]
#[allow(dead_code, reason = "the tests of wootz-mpi use more of it")]
mod launch;
#[allow(dead_code, reason = "other tests use more of it")]
mod tiny;

use divided::{OPTIONS, compare};
use launch::{CASE, Installed, installed, text};
use std::sync::Arc;
use tiny::{Size, layers, model};
use wootz::distributed::{self, Group};
use wootz_blocks::BlockFormat;
use wootz_llm::Model;
use wootz_llm::config::Config;
use wootz_llm::ranks::{Forecast, Link, Machine, Parallel, Share};

#[test]
fn divided_models_answer_as_whole_ones() {
    for library in installed() {
        // Collectives are tested with every library; models with one of each kind of launcher.
        if !is_full() && !["mpich from pip", "Open MPI"].contains(&library.name) {
            continue;
        }
        for ranks in 1..=4 {
            run(&library, "answers", ranks);
        }
    }
}

#[test]
fn a_rank_keeps_its_part_of_the_weights_in_memory() {
    for ranks in if is_full() { vec![2, 3, 4] } else { vec![4] } {
        let Some(library) = installed().into_iter().next() else { return };
        eprintln!("{}", run(&library, "residency", ranks));
    }
}

fn run(library: &Installed, case: &str, ranks: usize) -> String {
    let output = library.run(case, ranks, &[], "300");
    let text = text(&output);
    assert!(output.status.success(), "{}, {ranks} ranks: {text}", library.name);
    assert_eq!(text.matches("all as expected").count(), ranks, "{}: {text}", library.name);
    text
}

fn is_full() -> bool {
    std::env::var("WOOTZ_FULL").is_ok_and(|set| set == "1")
}

#[test]
fn ranks_with_different_files_all_fail() {
    let Some(library) = installed().into_iter().next() else { return };
    let output = library.run("files", 2, &[], "300");
    let text = text(&output);
    assert_eq!(text.matches("ranks disagree on the model: rank 0").count(), 2, "{}: {text}", library.name);
}

#[test]
fn a_model_too_small_for_the_ranks_says_so() {
    let (gguf, config) = opened("llama", BlockFormat::Q8_0);
    let refused = |parallel, size| {
        let share = Share::planned(&gguf, &config, (0, size), parallel);
        share.expect_err("too many ranks").to_string()
    };
    assert_eq!(refused(Parallel::Pipeline, 3), "model: 3 ranks are too many for 2 layers");
    assert_eq!(refused(Parallel::Tensor, 3), "model: 3 ranks are too many for 2 key-value heads");
    let (gguf, config) = opened("rwkv7", BlockFormat::Q8_0);
    let share = Share::planned(&gguf, &config, (0, 2), Parallel::Tensor);
    assert!(share.is_err_and(|error| error.to_string().contains("rwkv7 does not support")));
}

/// Each rank reads its part of the weights and little more.
#[test]
fn parts_are_parts() {
    for parallel in [Parallel::Pipeline, Parallel::Tensor] {
        let (gguf, config) = opened("gemma3", BlockFormat::Q8_0);
        let all: u64 = gguf.tensors().iter().map(|tensor| tensor.bytes).sum();
        let part =
            |rank| Share::planned(&gguf, &config, (rank, 2), parallel).expect("two parts").bytes(&gguf);
        let (first, second) = (part(0), part(1));
        assert!(first + second >= all, "{parallel}: nothing is left out");
        assert!(first.max(second) < all * 6 / 10, "{parallel}: {first} and {second} of {all}");
    }
}

/// Queries, keys and values that a file has as one matrix are divided as if they were three.
#[test]
fn fused_matrices_are_counted_by_their_parts() {
    let path = format!("{}/tests/golden/tiny-phi3.model", env!("CARGO_MANIFEST_DIR"));
    let gguf = wootz_gguf::Gguf::open(path).expect("a golden model");
    let config = Config::from_gguf(&gguf).expect("a model");
    let bytes = |part: &str| {
        let of = |name: &str| name.contains(part);
        gguf.tensors().iter().filter(|t| of(&t.name)).map(|t| t.bytes).sum::<u64>()
    };
    // All that is not divided: norms, and an embedding beside an output matrix.
    let embedding = if gguf.find_tensor("output.weight").is_some() { bytes("token_embd") } else { 0 };
    let whole = embedding + bytes("norm") + bytes("rope");
    let all: u64 = gguf.tensors().iter().map(|tensor| tensor.bytes).sum();
    for rank in 0..2 {
        let share = Share::planned(&gguf, &config, (rank, 2), Parallel::Tensor).expect("two parts");
        assert_eq!(share.bytes(&gguf), whole + (all - whole) / 2, "rank {rank}");
    }
}

/// The forecast is the formula of docs/distributed.md, worked out here by hand for a model of four layers.
#[test]
fn forecasts_are_their_formula() {
    let machine = Machine { bandwidth: 1e9, flops: 1e9 };
    let link = Link { name: "test", latency: 1e-5, bandwidth: 1e8 };
    let size = Size { layers: 4, heads: 8, kv_heads: 4, ffn: 128, ..Size::of("llama") };
    let forecast = |arch: &str, parallel, ranks| {
        let gguf = wootz_gguf::Gguf::from_bytes(tiny::file(arch, &size, BlockFormat::F32, |_| true));
        let gguf = gguf.expect("what was written can be read");
        let config = Config::from_gguf(&gguf).expect("a model");
        Forecast::new(&gguf, &config, (parallel, ranks), &machine, &link).expect("it can be divided")
    };
    // Of width 64: queries and output 256 × 64, keys and values 128 × 64, three matrices 128 × 64, and two norms.
    let layer = 64.0 * (2.0 * 256.0 + 2.0 * 128.0 + 3.0 * 128.0) + 128.0;
    let (output, norm) = (80.0 * 64.0, 64.0);
    let close =
        |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-9, "{found}, {expected}");
    let alone = forecast("llama", Parallel::Pipeline, 1);
    close(alone.reading, 4.0 * (4.0 * layer + output + norm) / 1e9);
    close(alone.computing, 2.0 * (4.0 * layer + output + norm) / 1e9);
    close(alone.rate(), 1.0 / alone.reading);
    assert_eq!(alone.messages, 0.0);
    let pipeline = forecast("llama", Parallel::Pipeline, 4);
    close(pipeline.reading, alone.reading);
    // Three times 256 bytes, then a token and its logit in two rounds of three blocks in all, each with 64 bytes before it.
    close(pipeline.messages, 3.0 * (1e-5 + 320e-8) + 2.0 * (2e-5 + 3.0 * 68e-8));
    let tensor = forecast("llama", Parallel::Tensor, 4);
    // Norms are not divided.
    close(tensor.reading, 4.0 * (4.0 * ((layer - 128.0) / 4.0 + 128.0) + output / 4.0 + norm) / 1e9);
    let (sum, gather) = (2e-5 + 3.0 * 320e-8, 2e-5 + 3.0 * (64.0 + 80.0) * 1e-8);
    close(tensor.messages, 8.0 * sum + gather);
    close(forecast("qwen2moe", Parallel::Tensor, 4).messages, 12.0 * sum + gather);
    close(forecast("qwen3moe", Parallel::Expert, 4).messages, 8.0 * sum + gather);
}

fn opened(arch: &str, format: BlockFormat) -> (wootz_gguf::Gguf, Config) {
    let gguf = model(arch, format, |_| true);
    let config = Config::from_gguf(&gguf).expect("a model");
    (gguf, config)
}

/// What each rank does.
#[test]
#[ignore = "run on every rank by the tests above"]
fn rank() {
    let group = distributed::init().unwrap_or_else(|error| panic!("{error}"));
    match std::env::var(CASE).as_deref() {
        Ok("answers") => answers(&group),
        Ok("files") => files(&group),
        Ok("residency") => divided::residency(&group),
        other => panic!("no case {other:?}"),
    }
}

fn answers(group: &Group) {
    // As many key-value heads, layers and experts as there may be ranks, and matrices that can be cut between blocks.
    let size = Size { layers: 4, heads: 8, kv_heads: 4, ffn: 128, ..Size::of("llama") };
    for arch in ["llama", "qwen2", "qwen3", "gemma3", "qwen2moe", "qwen3moe"] {
        let size = Size { layers: size.layers.max(layers(arch)), ..size };
        for format in [BlockFormat::F32, BlockFormat::Q8_0] {
            if format == BlockFormat::Q8_0 && !is_full() && !["llama", "qwen3moe"].contains(&arch) {
                continue;
            }
            let file: Arc<[u8]> = tiny::file(arch, &size, format, |_| true).into();
            let open = || wootz_gguf::Gguf::from_bytes(file.to_vec()).expect("what was written can be read");
            for parallel in Parallel::ALL {
                if parallel != Parallel::Expert || arch.ends_with("moe") {
                    compare(group, &format!("{arch} in {format}"), &open, parallel);
                }
            }
        }
    }
    if group.size() == 2 {
        families(group);
    }
    group.barrier().expect("all come to the end");
    println!("all as expected");
}

/// Every family that generates text, in files that other implementations have answered from; and what is refused.
fn families(group: &Group) {
    let whole_layers = [
        "llama",
        "mistral3",
        "smollm3",
        "granite",
        "granitemoe",
        "phi3",
        "qwen2",
        "qwen2moe",
        "qwen3",
        "qwen3moe",
        "gemma2",
        "gemma3",
        "gpt-oss",
        "olmoe",
        "deepseek2",
        "qwen35",
        "qwen35moe",
        "qwen3next",
        "granitehybrid",
        "mamba2",
        "lfm2",
        "lfm2moe",
        "rwkv7",
    ];
    // The matrices of gpt-oss's experts are as wide as a block, so that only whole ones can be divided.
    let (with_heads, with_experts) = (&whole_layers[..12], ["granitemoe", "qwen2moe", "qwen3moe", "gpt-oss"]);
    for name in whole_layers.into_iter().chain(["gemma4"]) {
        let path = format!("{}/tests/golden/tiny-{name}.model", env!("CARGO_MANIFEST_DIR"));
        let open = || wootz_gguf::Gguf::open(&path).expect("a golden model");
        let config = Config::from_gguf(&open()).expect("a model");
        for parallel in Parallel::ALL {
            let planned = Share::planned(&open(), &config, (0, group.size()), parallel);
            let expected = match parallel {
                Parallel::Pipeline => whole_layers.contains(&name),
                Parallel::Tensor => with_heads.contains(&name),
                Parallel::Expert => with_experts.contains(&name),
            };
            assert_eq!(planned.is_ok(), expected, "{name}, {parallel}: {:?}", planned.err());
            if expected {
                compare(group, name, &open, parallel);
            }
        }
    }
}

fn files(group: &Group) {
    let format = if group.rank() == 0 { BlockFormat::Q8_0 } else { BlockFormat::F32 };
    let gguf = model("llama", format, |_| true);
    match Model::over_ranks(gguf, OPTIONS, group, Some(Parallel::Pipeline)) {
        Ok(_) => panic!("files differ"),
        Err(error) => println!("{error}"),
    }
    // Launchers end all ranks when the first one has failed: both have to have spoken by then.
    std::thread::sleep(std::time::Duration::from_secs(2));
}
