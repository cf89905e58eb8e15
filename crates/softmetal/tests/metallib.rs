//! Libraries in Apple's compiled form. The kernels are AIR text of our own; `conformance/metallib.py` runs what Apple's compiler made.

#[path = "common/metallib.rs"]
mod maker;

use maker::{Entry, metallib};
use softmetal::check::CheckOptions;
use softmetal::*;

const SUM: &str = include_str!("air/sum.ll");

fn scale(intrinsic: &str, option: &str) -> String {
    let text = include_str!("air/scale.ll").replace("INTRINSIC", intrinsic).replace("OPTION", option);
    text.replace("PARAMETER", "buffer")
}

fn library(entries: &[Entry]) -> Library {
    Library::from_metallib_bytes(metallib(entries), "test.metallib").expect("a metallib")
}

fn checked() -> Device {
    Device::new(DeviceOptions { check: Some(CheckOptions::default()), ..DeviceOptions::default() })
        .expect("a device")
}

/// Runs `sum` over 128 numbers in two groups; the output.
fn run_sum(device: &Device, biased: bool, length: usize) -> Result<Vec<f32>> {
    let constants = FunctionConstants::new().with(5, ConstantValue::Bool(biased));
    let function = library(&[Entry::kernel("sum", SUM)]).function_with_constants("sum", &constants)?;
    let pipeline = device.new_pipeline(&function)?;
    let values: Vec<f32> = (0..length).map(|i| i as f32).collect();
    let input = device.new_buffer_with_bytes(bytemuck::cast_slice(&values))?;
    let output = device.new_buffer(8, StorageMode::Shared)?;
    let command = device.new_queue().command_buffer();
    let mut encoder = command.compute_encoder(DispatchType::Serial);
    encoder.set_pipeline(&pipeline);
    encoder.set_buffer(0, &input, 0)?;
    encoder.set_buffer(1, &output, 0)?;
    if biased {
        encoder.set_bytes(7, &1000f32.to_le_bytes())?;
    }
    encoder.dispatch_threads(128, 64)?;
    encoder.end_encoding();
    command.run()?;
    output.read::<f32>()
}

#[test]
fn threadgroup_memory_barriers_atomics_and_constants() {
    for device in [Device::system_default().expect("a device"), checked()] {
        assert_eq!(run_sum(&device, false, 128).expect("it runs"), [31.5, 95.5]);
        assert_eq!(run_sum(&device, true, 128).expect("it runs"), [1031.5, 1095.5]);
    }
}

#[test]
fn the_checker_points_into_the_disassembly() {
    let error = run_sum(&checked(), false, 100).expect_err("100 numbers, 128 threads").to_string();
    assert!(
        error.contains("out of bounds") && error.contains("sum.ll:") && error.contains("buffer 0 (`in`)"),
        "{error}"
    );
    let line = error.split("sum.ll:").nth(1).and_then(|l| l.split(':').next()).expect("a line");
    let path = error.split("  ").nth(1).and_then(|l| l.split(".ll:").next()).expect("a path");
    let text = std::fs::read_to_string(format!("{path}.ll")).expect("the disassembly is kept");
    let at = text.lines().nth(line.parse::<usize>().expect("a number") - 1).expect("the line");
    assert!(at.contains("load float, ptr addrspace(1)"), "{at}");
}

#[test]
fn reflection_comes_from_the_metadata() {
    let constants = FunctionConstants::new().with_name("biased", ConstantValue::Bool(false));
    let function = library(&[Entry::kernel("sum", SUM)])
        .function_with_constants("sum", &constants)
        .expect("it is there");
    let kinds: Vec<_> =
        function.bindings().iter().map(|b| (b.kind, b.index, b.access, b.name.as_str())).collect();
    assert_eq!(kinds[0], (BindingKind::Buffer, 0, Access::ReadOnly, "in"));
    assert_eq!(kinds[1], (BindingKind::Buffer, 1, Access::ReadWrite, "out"));
    assert_eq!(kinds[2], (BindingKind::Constant, 7, Access::ReadOnly, "extra"));
    assert_eq!(function.bindings()[2].condition.as_deref(), Some("biased"));
    assert_eq!(function.bindings()[5].attribute, "threadgroup_position_in_grid");
    let pipeline = Device::system_default().and_then(|d| d.new_pipeline(&function)).expect("it compiles");
    assert_eq!(pipeline.max_total_threads_per_threadgroup(), 64);
    assert_eq!(pipeline.static_threadgroup_memory_length(), 16 + 64 * 4);
    let active: Vec<bool> = pipeline.arguments().iter().map(|a| a.active).collect();
    assert_eq!(active, [true, true, false, true, true, true]);
}

#[test]
fn constants_are_asked_for_and_checked() {
    let library = library(&[Entry::kernel("sum", SUM)]);
    let error =
        |c: FunctionConstants| library.function_with_constants("sum", &c).expect_err("refused").to_string();
    assert!(error(FunctionConstants::new()).contains("no value given for biased"));
    let float = ConstantValue::Float(1.0);
    assert!(
        error(FunctionConstants::new().with(5, float.clone()))
            .contains("has type `bool`, but the value given is `float`")
    );
    assert!(error(FunctionConstants::new().with_name("other", float)).contains("no constant named `other`"));
}

fn run_scale(text: &str, value: f32) -> Result<f32> {
    let device = Device::system_default()?;
    let function = library(&[Entry::kernel("scale", text)]).function("scale")?;
    let pipeline = device.new_pipeline(&function)?;
    let buffer = device.new_buffer_with_bytes(&value.to_le_bytes())?;
    let command = device.new_queue().command_buffer();
    let mut encoder = command.compute_encoder(DispatchType::Serial);
    encoder.set_pipeline(&pipeline);
    encoder.set_buffer(0, &buffer, 0)?;
    encoder.dispatch_threads(1, 1)?;
    encoder.end_encoding();
    command.run()?;
    Ok(buffer.read::<f32>()?[0])
}

#[test]
fn denormals_are_flushed_where_the_compile_options_say_so() {
    let smallest = f32::MIN_POSITIVE;
    assert_eq!(run_scale(&scale("fabs", "denorms_disable"), -smallest).expect("it runs"), 0.0);
    assert_eq!(run_scale(&scale("fabs", "denorms_enable"), -smallest).expect("it runs"), smallest / 2.0);
    assert_eq!(run_scale(&scale("fast_exp", "denorms_disable"), 0.0).expect("it runs"), 0.5);
}

#[test]
fn an_unknown_intrinsic_is_named() {
    let error = run_scale(&scale("frobnicate", "denorms_disable"), 1.0).expect_err("unknown").to_string();
    assert_eq!(
        error,
        "test.metallib: `scale`: it uses the intrinsic air.frobnicate.f32, which SoftMetal does not know"
    );
}

#[test]
fn what_cannot_be_run_is_listed_with_the_reason() {
    let code = || maker::assemble(SUM);
    let texture = scale("fabs", "x").replace("air.buffer", "air.texture");
    let all = library(&[
        Entry { name: "shade", kind: 1, air: (2, 7), code: code() },
        Entry { name: "future", kind: 2, air: (9, 1), code: code() },
        Entry::kernel("sum", SUM),
        Entry::kernel("scale", &texture),
    ]);
    assert_eq!(all.function_names(), ["sum", "scale"]);
    let others = all.other_functions();
    assert_eq!(others[0], ("shade".into(), "it is a fragment function; SoftMetal only runs kernels".into()));
    assert!(others[1].1.contains("AIR 9.1"), "{}", others[1].1);
    let error = |name: &str| all.function(name).expect_err("refused").to_string();
    assert!(error("shade").starts_with("test.metallib: `shade`: it is a fragment function"));
    assert!(error("future").contains("knows AIR up to"));
    assert!(error("scale").contains("its parameter `values` is a texture"), "{}", error("scale"));
    assert!(error("missing").contains("no kernel named `missing`"));
}

#[test]
fn many_kernels_are_checked_at_once_and_then_remembered() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = DeviceOptions { cache_dir: Some(folder.path().into()), ..DeviceOptions::default() };
    let device = Device::new(options).expect("a device");
    let library = library(&[Entry::kernel("sum", SUM), Entry::kernel("scale", &scale("frobnicate", "x"))]);
    let outcomes = library.check_all(&device, &library.function_names());
    assert!(outcomes[0].is_none());
    assert!(outcomes[1].as_ref().is_some_and(|e| e.to_string().contains("air.frobnicate")));
    assert!(library.check_all(&device, &["sum".into()])[0].is_none());
    assert!(library.check_all(&device, &["sum".into()])[0].is_none());
}

#[test]
fn damaged_files_are_refused_in_words() {
    let good = metallib(&[Entry::kernel("sum", SUM)]);
    let refused = |bytes: &[u8]| {
        let error =
            Library::from_metallib_bytes(bytes.to_vec(), "bad.metallib").expect_err("refused").to_string();
        assert!(error.starts_with("bad.metallib: "), "{error}");
        error
    };
    assert!(refused(b"").contains("does not begin with `MTLB`"));
    assert!(refused(b"\xca\xfe\xba\xbe....").contains("universal binary"));
    assert!(refused(&good[..50]).contains("header needs 88 bytes"));
    assert!(refused(&good[..good.len() - 1]).contains("it may be truncated"));
    for length in 4..200 {
        let mut cut = good[..length].to_vec();
        if cut.len() >= 24 {
            cut[16..24].copy_from_slice(&(length as u64).to_le_bytes());
        }
        refused(&cut);
    }
    let mut wrong = good.clone();
    let at = wrong.windows(4).position(|w| w == b"BC\xc0\xde").expect("bitcode");
    wrong[at] = 0;
    assert!(refused(&wrong).contains("`sum`: its code is no LLVM bitcode"));
    let mut garbled = good.clone();
    garbled[at + 8..at + 64].fill(0x5a);
    let library = Library::from_metallib_bytes(garbled, "bad.metallib").expect("the container is whole");
    let error = library.function("sum").expect_err("no bitcode").to_string();
    assert!(error.contains("`sum`: LLVM cannot read its bitcode"), "{error}");
}
