//! Each rule: a bad program is rejected at its line with the right words, and the repaired one is accepted.

mod common;
use common::*;
use softmetal::{CompileOptions, Device, DeviceOptions, Error, Family};

fn verdict(source: &str, options: &CompileOptions, family: Family) -> Result<(), Error> {
    let device = Device::new(DeviceOptions { family, ..DeviceOptions::default() })?;
    let text = format!("#include <metal_stdlib>\nusing namespace metal;\n{source}");
    let library = device.new_library(&text, options)?;
    for name in library.function_names() {
        device.new_pipeline(&library.function(&name)?)?;
    }
    Ok(())
}

/// `bad` fails in line `line` (counting the two lines before it) with a message that contains `words`.
fn rejects(bad: &str, line: u32, words: &str, good: &str) {
    match verdict(bad, &CompileOptions::default(), Family::Apple7) {
        Err(Error::Compile { diagnostics }) => {
            assert!(
                diagnostics.iter().any(|d| d.line == line + 2 && d.message.contains(words)),
                "{words}: {diagnostics:?}"
            );
        }
        other => panic!("{words}: {other:?}"),
    }
    verdict(good, &CompileOptions::default(), Family::Apple7)
        .unwrap_or_else(|e| panic!("{words}: the repaired program: {e}"));
}

#[test]
fn address_spaces() {
    rejects(
        "void f(float *p) { p[0] = 1; }\nkernel void k(device float *o) { f(o); }",
        1,
        "the pointer `p` to `float` needs an address space",
        "void f(device float *p) { p[0] = 1; }\nkernel void k(device float *o) { f(o); }",
    );
    rejects(
        "void f(float &r) { r = 1; }\nkernel void k(device float *o) { o[0] = 1; }",
        1,
        "the reference `r`",
        "void f(thread float &r) { r = 1; }\nkernel void k(device float *o) { o[0] = 1; }",
    );
    rejects(
        "kernel void k(device float *o) {\n float *p = o;\n p[0] = 1; }",
        2,
        "needs an address space",
        "kernel void k(device float *o) {\n device float *p = o;\n p[0] = 1; }",
    );
    rejects(
        "struct S { float *p; };\nkernel void k(device float *o) { o[0] = 1; }",
        1,
        "the pointer `p`",
        "struct S { device float *p; };\nkernel void k(device float *o) { o[0] = 1; }",
    );
}

#[test]
fn words_msl_does_not_have() {
    let good = "kernel void k(device float *o) { float x = 1; o[0] = x; }";
    rejects("kernel void k(device float *o) {\n double x = 1; o[0] = x; }", 2, "no `double`", good);
    rejects(
        "struct A { virtual void f() {} };\nkernel void k(device float *o) { o[0] = 1; }",
        1,
        "virtual",
        good,
    );
    rejects("kernel void k(device float *o) {\n\n throw 1; }", 3, "exceptions", good);
    rejects(
        "kernel void k(device float *o) { thread int *p = new int; o[0] = *p; }",
        1,
        "dynamic allocation",
        good,
    );
    rejects(
        "kernel void k(device float *o) {\n static int n = 0; o[0] = n++; }",
        2,
        "static variables",
        good,
    );
    rejects("kernel void k(device float *o) {\n goto end; end: o[0] = 1; }", 2, "goto", good);
}

#[test]
fn program_scope() {
    rejects(
        "float g = 1;\nkernel void k(device float *o) { o[0] = g; }",
        1,
        "must be in constant memory",
        "constant float g = 1;\nkernel void k(device float *o) { o[0] = g; }",
    );
    rejects(
        "constant float g = 1;\nkernel void k(device float *o) {\n g = 2; o[0] = g; }",
        3,
        "const",
        "constant float g = 1;\nkernel void k(device float *o) { o[0] = g; }",
    );
    rejects(
        "kernel void k(constant float *c, device float *o) {\n c[0] = 2; o[0] = 1; }",
        2,
        "read-only",
        "kernel void k(device float *c, device float *o) { c[0] = 2; o[0] = 1; }",
    );
    rejects(
        "void f(device float *o) {\n threadgroup float t[4]; t[0] = 1; o[0] = t[0]; }\nkernel void k(device float *o) { f(o); }",
        2,
        "in a kernel only",
        "void f(device float *o, threadgroup float *t) { t[0] = 1; o[0] = t[0]; }\nkernel void k(device float *o) { threadgroup float t[4]; f(o, t); }",
    );
    rejects(
        "kernel void k(device float *o) {\n threadgroup float t = 1; o[0] = t; }",
        2,
        "initialiser",
        "kernel void k(device float *o) { threadgroup float t; t = 1; o[0] = t; }",
    );
    rejects(
        "kernel void k(device float *o [[buffer(31)]]) { o[0] = 1; }",
        1,
        "above 30",
        "kernel void k(device float *o [[buffer(30)]]) { o[0] = 1; }",
    );
}

#[test]
fn recursion_is_allowed() {
    let recursive = "float f(float x) { return x < 1 ? 1 : x * f(x - 1); }\nkernel void k(device float *o) { o[0] = f(3); }";
    verdict(recursive, &CompileOptions::default(), Family::Apple7).unwrap();
}

#[test]
fn versions_and_families() {
    let bf = "kernel void k(device float *o) {\n bfloat b = 1; o[0] = b; }";
    let old = CompileOptions { language_version: 300, ..CompileOptions::default() };
    assert!(verdict(bf, &old, Family::Apple7).unwrap_err().to_string().contains("needs Metal 3.1"));
    verdict(bf, &CompileOptions::default(), Family::Apple7).unwrap();
    let e = verdict(bf, &CompileOptions::default(), Family::Mac2).unwrap_err().to_string();
    assert!(e.contains("mac2 has no `bfloat`") && e.contains(":4:"), "{e}");
    let matrix = "kernel void k(device float *o) { simdgroup_float8x8 m = simdgroup_float8x8(1); simdgroup_store(m, o, 8); }";
    assert!(
        verdict(matrix, &CompileOptions::default(), Family::Mac2)
            .unwrap_err()
            .to_string()
            .contains("no simdgroup matrices")
    );
    verdict(matrix, &CompileOptions::default(), Family::Apple7).unwrap();
    let atomic =
        "kernel void k(device atomic_ulong *o) { atomic_max_explicit(o, 5ul, memory_order_relaxed); }";
    assert!(
        verdict(atomic, &CompileOptions::default(), Family::Apple7)
            .unwrap_err()
            .to_string()
            .contains("64-bit atomics")
    );
    verdict(atomic, &CompileOptions::default(), Family::Apple8).unwrap();
}

#[test]
fn mac2_has_64_lanes_when_asked() {
    let src = "kernel void k(device uint *o, uint i [[thread_position_in_grid]], uint w [[threads_per_simdgroup]]) { o[i] = simd_sum(1u) * 1000 + w; }";
    let mut r = Run::default();
    r.device.family = Family::Mac2;
    r.device.simd_width = Some(64);
    assert_eq!(r.run(src, "k", 128, 128, &[zeros::<u32>(128)]).unwrap().get::<u32>(0), vec![64064; 128]);
    r.device.family = Family::Apple7;
    assert!(r.run(src, "k", 128, 128, &[zeros::<u32>(128)]).is_err());
}
