//! Each program runs and prints what its page promises.

use std::process::Command;

/// What a program prints, on the CPU.
fn output_of(program: &str) -> String {
    let output = Command::new(program).env("WOOTZ_DEVICE", "cpu").output().expect("the program starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

fn expect(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(text.lines().any(|l| l.starts_with(line)), "{line:?} is not in\n{text}");
    }
}

#[test]
fn arrays() {
    let text = output_of(env!("CARGO_BIN_EXE_arrays"));
    expect(
        &text,
        &[
            "proof: ",
            "u8 wraps: [4, 7, 200]",
            "sum over axis 1 of a transposed slice: [15.0, 18.0]",
            "diagonal of x·xᵀ: [14.0, 126.0, 366.0]",
            "mean of a chain: 0.955",
            "device: cpu",
        ],
    );
    assert!(text.lines().any(|l| l.ends_with(", 0 fail")), "{text}");
}

#[test]
fn raw_buffers() {
    let text = output_of(env!("CARGO_BIN_EXE_raw_buffers"));
    expect(
        &text,
        &[
            "sum: [6.0, 8.0, 10.0, 12.0]",
            "product: [19.0, 22.0, 43.0, 50.0]",
            "simdgroups of 32",
            "one command buffer ran: true",
            "device: ",
        ],
    );
}

#[test]
fn transformer() {
    let text = output_of(env!("CARGO_BIN_EXE_transformer"));
    expect(
        &text,
        &["12 tokens one by one and at once agree: true", "norm of the last row: ", "pool: ", "device: cpu"],
    );
}

#[test]
fn unified_buffer() {
    let text = output_of(env!("CARGO_BIN_EXE_unified_buffer"));
    expect(
        &text,
        &[
            "handles on the host's memory: 2",
            "allocations for it: 0",
            "sum on the device: 523776",
            "host reads what the device wrote: [0.0, 10.0, 20.0, 30.0]",
            "at the end: [0.0, 10.0, 20.0, 30.0, 0.0, 0.0, 0.0, 0.0]",
            "handles after: 1",
            "device: cpu",
        ],
    );
}

#[test]
fn token_loop() {
    let text = output_of(env!("CARGO_BIN_EXE_token_loop"));
    expect(&text, &["Q4_K and plain logits agree: true", "tokens: [", "device: cpu"]);
    assert_eq!(text, output_of(env!("CARGO_BIN_EXE_token_loop")), "the same tokens every time");
}
