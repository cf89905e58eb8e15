//! Bad input gives an error with facts; the process and the device live on.

mod common;
use common::*;
use softmetal::*;
use std::time::{Duration, Instant};

fn error(source: &str, kernel: &str, args: &[Arg]) -> String {
    Run::default().run(source, kernel, 4, 4, args).err().expect("an error").to_string()
}

#[test]
fn compile_errors_point_at_the_users_line_and_column() {
    let d = Device::system_default().unwrap();
    let src = "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(device   float *o [[buffer(0)]],\n              uint i   [[thread_position_in_grid]]) {\n    threadgroup float t[32];  o[i]   =   undefined_thing + t[0];\n}\n";
    let options = CompileOptions { file_name: "kernels/bad.metal".into(), ..CompileOptions::default() };
    let f = d.new_library(src, &options).unwrap().function("k").unwrap();
    match d.new_pipeline(&f) {
        Err(Error::Compile { diagnostics }) => {
            let x = &diagnostics[0];
            assert_eq!((x.file.as_str(), x.line, x.column), ("kernels/bad.metal", 5, 42), "{x}");
            assert!(x.message.contains("undefined_thing"));
        }
        other => panic!("{other:?}"),
    }
    // An error inside the library belongs to the line that called it.
    let src = "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(device float *o) {\n  o[0] = dot(float2(1), float3(1));\n}\n";
    let f = d.new_library(src, &options).unwrap().function("k").unwrap();
    assert!(d.new_pipeline(&f).unwrap_err().to_string().contains("bad.metal:4:"));
    // What is missing is named.
    let src = "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(device float *o) {\n  acceleration_structure t;\n}\n";
    let f = d.new_library(src, &options).unwrap().function("k").unwrap();
    let e = d.new_pipeline(&f).unwrap_err().to_string();
    assert!(e.contains("bad.metal:4:3") && e.contains("acceleration_structure"), "{e}");
    assert!(
        d.new_library("#include <no_such_header>\n", &options)
            .unwrap_err()
            .to_string()
            .contains("bad.metal:1")
    );
    assert!(d.new_library("kernel void k(", &options).is_err());
}

#[test]
fn unknown_kernels_and_wrong_arguments() {
    let src = "kernel void k(device float *o, constant float4 &c) { o[0] = c.x; }";
    assert!(error(src, "kk", &[]).contains("no kernel named `kk`; the library has: k"));
    assert!(error(src, "k", &[zeros::<f32>(1)]).contains("buffer 1 (`c`) is not bound"));
    assert!(
        error(src, "k", &[zeros::<f32>(1), inline(1.0f32)]).contains("4 bytes given, but `float4 &` has 16")
    );
    assert!(error(src, "k", &[zeros::<f32>(1), zeros::<f32>(2)]).contains("has 16"));
    assert!(error(src, "k", &[zeros::<f32>(1), Arg::Inline(vec![0; 5000])]).contains("1 to 4096"));
    let group = "kernel void k(device float *o, threadgroup float *t) { t[0] = 1; o[0] = t[0]; }";
    assert!(error(group, "k", &[zeros::<f32>(1)]).contains("threadgroup memory 0 (`t`) has no length"));
    assert!(error(group, "k", &[zeros::<f32>(1), Arg::Group(40000)]).contains("the limit is 32768"));
    assert!(error(group, "k", &[zeros::<f32>(1), Arg::Group(20)]).contains("multiple of 16"));
    let big = "kernel void k(device float *o) { threadgroup float t[9000]; t[0] = 1; o[0] = t[0]; }";
    assert!(error(big, "k", &[zeros::<f32>(1)]).contains("36000 bytes of threadgroup memory"));
    let texture = "kernel void k(device float *o, float x) { o[0] = x; }";
    assert!(error(texture, "k", &[]).contains("`x` of type `float` has no address space and no attribute"));
}

#[test]
fn sizes_out_of_range() {
    let src = "kernel void k(device float *o) { o[0] = 1; }";
    let run = |threads: u32| Run::default().run(src, "k", 4, threads, &[zeros::<f32>(1)]);
    assert!(run(2000).err().unwrap().to_string().contains("2000 threads per threadgroup"));
    assert!(run(0).is_err());
}

#[test]
fn a_kernel_that_never_ends() {
    let src = "kernel void k(device atomic_uint *o) { while (atomic_load_explicit(o, memory_order_relaxed) == 0) {} }
        kernel void b(device float *o) { while (true) threadgroup_barrier(mem_flags::mem_none); }
        kernel void fine(device uint *o) { o[1] = 7; }";
    let d = Device::new(DeviceOptions { time_limit: Duration::from_millis(300), ..DeviceOptions::default() })
        .unwrap();
    let library = d
        .new_library(
            &format!("#include <metal_stdlib>\nusing namespace metal;\n{src}"),
            &CompileOptions::default(),
        )
        .unwrap();
    let o = d.new_buffer(16, StorageMode::Shared).unwrap();
    let queue = d.new_queue();
    for name in ["k", "b", "fine"] {
        let p = d.new_pipeline(&library.function(name).unwrap()).unwrap();
        let command = queue.command_buffer();
        let mut e = command.compute_encoder(DispatchType::Serial);
        e.set_pipeline(&p);
        e.set_buffer(0, &o, 0).unwrap();
        e.dispatch_threadgroups(4, 64).unwrap();
        e.end_encoding();
        let start = Instant::now();
        let outcome = command.run();
        match name {
            "fine" => outcome.unwrap(),
            _ => {
                let e = outcome.unwrap_err().to_string();
                assert!(e.contains(&format!("kernel `{name}` did not end within 0.3 s")), "{e}");
                assert!(start.elapsed() < Duration::from_secs(10));
            }
        }
    }
    assert_eq!(o.read::<u32>().unwrap()[1], 7);
}

#[test]
fn a_kernel_that_faults() {
    let src = "kernel void wild(device float *o, constant ulong &far) { o[far] = 1; }
        kernel void divide(device int *o, constant ulong &zero) { o[0] = 7 / int(zero); }
        kernel void deep(device int *o, constant ulong &n) { int a[100000]; for (int i = 0; i < 100000; i++) a[i] = i * o[0]; o[0] = a[n]; }
        kernel void fine(device float *o, constant ulong &zero) { o[0] = 5 + zero; }";
    let d = Device::system_default().unwrap();
    let library = d
        .new_library(
            &format!("#include <metal_stdlib>\nusing namespace metal;\n{src}"),
            &CompileOptions::default(),
        )
        .unwrap();
    let o = d.new_buffer(16, StorageMode::Shared).unwrap();
    let queue = d.new_queue();
    let run = |name: &str, value: u64| {
        let p = d.new_pipeline(&library.function(name).unwrap()).unwrap();
        let command = queue.command_buffer();
        let mut e = command.compute_encoder(DispatchType::Serial);
        e.set_pipeline(&p);
        e.set_buffer(0, &o, 0).unwrap();
        e.set_bytes(1, &value.to_le_bytes()).unwrap();
        e.dispatch_threads(1, 1).unwrap();
        e.end_encoding();
        command.run()
    };
    for _ in 0..3 {
        let e = run("wild", 1 << 44).unwrap_err().to_string();
        assert!(e.contains("kernel `wild` faulted") && e.contains("invalid or misaligned access"), "{e}");
        let e = run("divide", 0).unwrap_err().to_string();
        assert!(e.contains("division by zero"), "{e}");
        let e = run("deep", 7).unwrap_err().to_string();
        assert!(e.contains("kernel `deep` faulted"), "{e}");
        run("fine", 0).unwrap();
        assert_eq!(o.read::<f32>().unwrap()[0], 5.0);
    }
}

#[test]
fn a_missing_compiler_names_the_package() {
    let bin = env!("CARGO_BIN_EXE_softmetal");
    let out = std::process::Command::new(bin)
        .args(["list", "x.metal"])
        .env("SOFTMETAL_CLANG", "/nowhere/clang")
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&out.stderr).contains("install the package `clang-19`"));
}

/// Found by fuzzing: an instantiation of nothing was a panic.
#[test]
fn an_instantiation_without_a_name_is_an_error() {
    let d = Device::new(DeviceOptions::default()).unwrap();
    for source in ["template [[host_name(\"k\")]];", "template [[host_name(\"k\")]] (int);"] {
        let error = d.new_library(source, &CompileOptions::default()).expect_err("an error").to_string();
        assert!(!error.is_empty(), "{source}");
    }
}

/// A file of 4001 kernels of which nine do not compile.
fn thousands() -> String {
    let mut source = String::from(
        "#include <metal_stdlib>\nusing namespace metal;\n\
         template <typename T, int N> kernel void f(device T *o) { static_assert(N % 500 != 7, \"seven\"); o[0] = T(N); }\n",
    );
    for t in ["float", "half", "int", "uint", "short", "ushort", "char", "uchar"] {
        for n in 0..500 {
            source +=
                &format!("template [[host_name(\"f_{t}_{n}\")]] kernel void f<{t}, {n}>(device {t} *);\n");
        }
    }
    source + "kernel void plain(device float *o) { o[0] = missing; }\n"
}

/// A clang that notes each of its runs in a file.
#[cfg(unix)]
fn counting_clang(folder: &std::path::Path) -> std::path::PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let clang = std::env::var("SOFTMETAL_CLANG").unwrap_or_else(|_| "clang-19".into());
    let path = folder.join("clang");
    let script = format!("#!/bin/sh\necho run >> '{}'\nexec {clang} \"$@\"\n", folder.join("runs").display());
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
#[cfg(unix)]
fn a_failing_file_of_thousands_of_kernels_is_told_apart_in_few_runs() {
    let folder = std::env::temp_dir().join(format!("softmetal-thousands-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("many.metal");
    std::fs::write(&file, thousands()).unwrap();
    let out = std::process::Command::new(env!("CARGO_BIN_EXE_softmetal"))
        .args(["check", "--json"])
        .arg(&file)
        .env("SOFTMETAL_CLANG", counting_clang(&folder))
        .output()
        .unwrap();
    let runs = std::fs::read_to_string(folder.join("runs")).unwrap().lines().count();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(out.status.code(), Some(1), "{}", String::from_utf8_lossy(&out.stderr));
    let told: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!((told["total"].as_u64(), told["failed"].as_u64()), (Some(4001), Some(9)));
    for kernel in told["kernels"].as_array().unwrap() {
        let name = kernel["kernel"].as_str().unwrap();
        let wrong = name.ends_with("_7") || name == "plain";
        assert_eq!(kernel["ok"].as_bool(), Some(!wrong), "{kernel}");
    }
    // The version, two precompiled headers, the preprocessor, the judging pass, and few rounds of checks.
    assert!(runs <= 9, "{runs} runs of clang");
}
