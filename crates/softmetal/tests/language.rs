//! Atomics, attributes, function constants, templates, includes, literals and other parts of the language.

mod common;
use common::*;
use softmetal::{ConstantValue, FunctionConstants};

#[test]
fn atomics_of_all_kinds() {
    let src = "kernel void k(device atomic_int *i, device atomic_uint *u, device atomic_float *f, device atomic_bool *b, uint t [[thread_position_in_grid]]) {
        atomic_fetch_add_explicit(&i[0], int(t), memory_order_relaxed);
        atomic_fetch_sub_explicit(&i[1], 1, memory_order_relaxed);
        atomic_fetch_max_explicit(&i[2], int(t), memory_order_relaxed);
        atomic_fetch_min_explicit(&i[3], -int(t), memory_order_relaxed);
        atomic_fetch_or_explicit(&u[0], 1u << (t % 32), memory_order_relaxed);
        atomic_fetch_and_explicit(&u[1], ~(1u << (t % 32)), memory_order_relaxed);
        atomic_fetch_xor_explicit(&u[2], t, memory_order_relaxed);
        atomic_fetch_add_explicit(&f[0], 0.5f, memory_order_relaxed);
        if (t == 3) atomic_store_explicit(&u[3], 77u, memory_order_relaxed);
        if (t == 4) { uint old = atomic_exchange_explicit(&u[4], 5u, memory_order_relaxed); atomic_store_explicit(&u[5], old, memory_order_relaxed); }
        uint expected = atomic_load_explicit(&u[6], memory_order_relaxed);
        while (!atomic_compare_exchange_weak_explicit(&u[6], &expected, expected + 2, memory_order_relaxed, memory_order_relaxed)) {}
        if (t == 0) atomic_store_explicit(b, true, memory_order_relaxed);
    }";
    for r in [Run::default(), Run::checked()] {
        let out = r
            .run(
                src,
                "k",
                256,
                64,
                &[zeros::<i32>(4), data(&[0u32, u32::MAX, 0, 0, 9, 0, 0]), zeros::<f32>(1), zeros::<u8>(4)],
            )
            .unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(out.get::<i32>(0), [255 * 128, -256, 255, -255]);
        assert_eq!(out.get::<u32>(1), [u32::MAX, 0, 0, 77, 5, 9, 512]);
        assert_eq!(out.get::<f32>(2), [128.0]);
        assert_eq!(out.get::<u8>(3)[0], 1);
    }
}

#[test]
fn atomics_in_threadgroup_memory() {
    let src = "kernel void k(device uint *o, uint t [[thread_index_in_threadgroup]], uint g [[threadgroup_position_in_grid]]) {
        threadgroup atomic_uint count;
        if (t == 0) atomic_store_explicit(&count, 0u, memory_order_relaxed);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        atomic_fetch_add_explicit(&count, t, memory_order_relaxed);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (t == 0) o[g] = atomic_load_explicit(&count, memory_order_relaxed);
    }";
    for r in [Run::default(), Run::checked()] {
        assert_eq!(
            r.run(src, "k", 256, 64, &[zeros::<u32>(4)]).unwrap_or_else(|e| panic!("{e}")).get::<u32>(0),
            vec![64 * 63 / 2; 4]
        );
    }
}

#[test]
fn all_compute_attributes() {
    let src = "kernel void k(device uint *o, uint3 tg [[thread_position_in_grid]], ushort3 tt [[thread_position_in_threadgroup]], uint3 gg [[threadgroup_position_in_grid]],
        uint3 ng [[threadgroups_per_grid]], uint3 nt [[threads_per_grid]], uint3 pt [[threads_per_threadgroup]], uint ti [[thread_index_in_threadgroup]],
        uint ts [[thread_index_in_simdgroup]], uint sg [[simdgroup_index_in_threadgroup]], uint ns [[simdgroups_per_threadgroup]], uint ws [[threads_per_simdgroup]],
        uint tq [[thread_index_in_quadgroup]], uint qg [[quadgroup_index_in_threadgroup]], uint nq [[quadgroups_per_threadgroup]], uint we [[thread_execution_width]],
        uint3 dp [[dispatch_threads_per_threadgroup]], uint ds [[dispatch_simdgroups_per_threadgroup]]) {
        if (tg.x != 9 || tg.y != 2 || tg.z != 1) return;
        uint all[] = {tt.x, tt.y, tt.z, gg.x, gg.y, gg.z, ng.x, ng.y, ng.z, nt.x, nt.y, nt.z, pt.x, pt.y, pt.z, ti, ts, sg, ns, ws, tq, qg, nq, we, dp.x, dp.y, dp.z, ds};
        for (int i = 0; i < 28; i++) o[i] = all[i];
    }";
    let o = run(src, "k", (10, 3, 2), (8, 2, 2), &[zeros::<u32>(28)]).get::<u32>(0);
    // The last group in x has 2 threads, in y 1, so its threads are 2 x 1 x 2.
    assert_eq!(&o[..12], [1, 0, 1, 1, 1, 0, 2, 2, 1, 10, 3, 2]);
    assert_eq!(&o[12..], [2, 1, 2, 3, 3, 0, 1, 32, 3, 0, 1, 32, 8, 2, 2, 1]);
}

const CONSTANTS: &str = "constant bool flag [[function_constant(0)]];
constant int width [[function_constant(1)]];
constant float scale [[function_constant(7)]];
constant bool has_scale = is_function_constant_defined(scale);
constant float factor = has_scale ? scale : 1.0f;
constant int twice = width * 2;
kernel void k(device float *o [[buffer(0)]], device const float *x [[buffer(1), function_constant(flag)]], uint i [[thread_position_in_grid]]) {
    float table[16];
    for (int n = 0; n < twice; n++) table[n] = n;
    float v = flag ? x[i] : -1;
    o[i] = v * factor + table[width];
}";

#[test]
fn function_constants_by_index_and_name() {
    let mut r = Run {
        constants: FunctionConstants::new()
            .with(0, ConstantValue::Bool(true))
            .with_name("width", ConstantValue::Int(3))
            .with(7, ConstantValue::Float(0.5)),
        ..Run::default()
    };
    let x = [2.0f32, 4.0];
    assert_eq!(r.run(CONSTANTS, "k", 2, 2, &[zeros::<f32>(2), data(&x)]).unwrap().get::<f32>(0), [4.0, 5.0]);
    // The second argument is absent when the flag is false, and scale may stay undefined.
    r.constants = FunctionConstants::new().with(0, ConstantValue::Bool(false)).with(1, ConstantValue::Int(5));
    assert_eq!(r.run(CONSTANTS, "k", 2, 2, &[zeros::<f32>(2)]).unwrap().get::<f32>(0), [4.0, 4.0]);
    r.constants = FunctionConstants::new().with(0, ConstantValue::Bool(false));
    let e = r.run(CONSTANTS, "k", 2, 2, &[zeros::<f32>(2)]).err().unwrap().to_string();
    assert!(e.contains("no value given for width"), "{e}");
    r.constants = FunctionConstants::new().with(0, ConstantValue::Float(1.0)).with(1, ConstantValue::Int(5));
    let e = r.run(CONSTANTS, "k", 2, 2, &[zeros::<f32>(2)]).err().unwrap().to_string();
    assert!(e.contains("`flag` (index 0) has type `bool`"), "{e}");
    r.constants = FunctionConstants::new().with_name("nothing", ConstantValue::Int(5));
    assert!(
        r.run(CONSTANTS, "k", 2, 2, &[zeros::<f32>(2)])
            .err()
            .unwrap()
            .to_string()
            .contains("no constant named `nothing`")
    );
}

#[test]
fn function_constants_of_vector_type() {
    let src = "constant uint2 size [[function_constant(0)]];\nconstant half h [[function_constant(1)]];\nkernel void k(device float *o) { o[0] = size.x * 10 + size.y + float(h); }";
    let v = ConstantValue::Vector(vec![ConstantValue::UInt(4), ConstantValue::UInt(7)]);
    let r = Run {
        constants: FunctionConstants::new().with(0, v).with(1, ConstantValue::Half(half::f16::from_f32(0.5))),
        ..Run::default()
    };
    assert_eq!(r.run(src, "k", 1, 1, &[zeros::<f32>(1)]).unwrap().get::<f32>(0), [47.5]);
}

#[test]
fn templates_in_all_spellings() {
    let src = "template <typename T, int N> kernel void fill(device T *o [[buffer(0)]], uint i [[thread_position_in_grid]]) { o[i] = T(N) + T(i); }
        typedef decltype(fill<float, 1>) fill_t;
        template [[host_name(\"fill_f32\")]] kernel fill_t fill<float, 1>;
        template [[host_name(\"fill_\" \"i32\")]] [[kernel]] decltype(fill<int, 2>) fill<int, 2>;
        template [[host_name(\"fill_u32\")]] kernel void fill<uint, 3>(device uint *, uint);
        template <typename T> [[kernel]] void copy(device const T *a, device T *b, uint i [[thread_position_in_grid]]) { b[i] = a[i]; }
        template [[host_name(\"copy_f32\")]] [[kernel]] void copy(device const float *, device float *, uint);
        [[kernel, max_total_threads_per_threadgroup(64)]] void plain(device float *o) { o[0] = 9; }
        #define MAKE(T) template [[host_name(\"fill_\" #T)]] [[kernel]] decltype(fill<T, (4 > 3) ? 4 : 3>) fill<T, (4 > 3) ? 4 : 3>;
        MAKE(half)";
    assert_eq!(run(src, "fill_f32", 2, 2, &[zeros::<f32>(2)]).get::<f32>(0), [1.0, 2.0]);
    assert_eq!(run(src, "fill_i32", 2, 2, &[zeros::<i32>(2)]).get::<i32>(0), [2, 3]);
    assert_eq!(run(src, "fill_u32", 2, 2, &[zeros::<u32>(2)]).get::<u32>(0), [3, 4]);
    assert_eq!(
        run(src, "copy_f32", 2, 2, &[data(&[5.0f32, 6.0]), zeros::<f32>(2)]).get::<f32>(1),
        [5.0, 6.0]
    );
    assert_eq!(run(src, "fill_half", 2, 2, &[zeros::<u16>(2)]).get::<u16>(0), [0x4400, 0x4500]);
    assert_eq!(run(src, "plain", 1, 1, &[zeros::<f32>(1)]).get::<f32>(0), [9.0]);
    let e = Run::default().run(src, "plain", 128, 128, &[zeros::<f32>(1)]).err().unwrap();
    assert!(e.to_string().contains("there must be 1 to 64"), "{e}");
}

#[test]
fn address_space_overloads_namespaces_and_operators() {
    let src = "namespace inner { namespace deep {
          template <typename T> T load(device const T *p) { return p[0]; }
          template <typename T> T load(threadgroup const T *p) { return p[0]; }
          template <typename T> T load(constant T *p) { return p[0]; }
          struct Complex { float re, im;
            Complex operator*(thread const Complex &o) const { return {re * o.re - im * o.im, re * o.im + im * o.re}; }
            thread Complex &operator=(thread const Complex &o) thread { re = o.re; im = o.im; return *this; }
            device Complex &operator=(thread const Complex &o) device { re = o.re; im = o.im; return *this; } };
          kernel void k(device const float *x, constant float *c, device float *o) {
            threadgroup float t[4], u; threadgroup float *p = t;
            t[0] = load(x); u = 2; p[1] = 3;
            Complex z = {load(x), load(c)}, w = z * z;
            o[0] = load(t) + u + t[1]; o[1] = w.re; o[2] = w.im; }
        } }";
    let out = run(src, "k", 1, 1, &[data(&[3.0f32]), data(&[4.0f32]), zeros::<f32>(3)]);
    assert_eq!(out.get::<f32>(2), [8.0, -7.0, 24.0]);
}

#[test]
fn dynamic_threadgroup_memory_and_implicit_indices() {
    let src = "kernel void k(device float *o, threadgroup float *a, threadgroup float *b, uint i [[thread_index_in_threadgroup]]) {
        a[i] = i; b[i] = 10 * i; threadgroup_barrier(mem_flags::mem_threadgroup); o[i] = a[31 - i] + b[i]; }";
    for r in [Run::default(), Run::checked()] {
        let out = r.run(src, "k", 32, 32, &[zeros::<f32>(32), Arg::Group(128), Arg::Group(128)]).unwrap();
        assert_eq!(out.get::<f32>(0), (0..32).map(|i| (31 - i + 10 * i) as f32).collect::<Vec<_>>());
    }
}

#[test]
fn structs_unions_switches_and_local_arrays() {
    let src = "struct Params { uint n; float scale; half bias; packed_float3 offset; };
        enum Mode : uchar { add = 1, mul = 2 };
        constant float table[4] = {1, 2, 4, 8};
        static float apply(Mode m, float a, float b) { switch (m) { case add: return a + b; case mul: return a * b; default: return 0; } }
        kernel void k(constant Params &p [[buffer(0)]], device float4 *o [[buffer(1)]], uint i [[thread_position_in_grid]]) {
            float local[4] = {0};
            #pragma unroll
            for (uint n = 0; n < p.n; n++) local[n] = table[n] * p.scale;
            o[i] = float4(apply(add, local[i], float(p.bias)), apply(mul, local[i], p.offset.z), sizeof(Params), p.offset[1]); }";
    let mut bytes = Vec::new();
    bytes.extend(4u32.to_le_bytes());
    bytes.extend(0.5f32.to_le_bytes());
    bytes.extend([0x00, 0x3c, 0, 0]);
    for v in [1.0f32, 2.0, 3.0] {
        bytes.extend(v.to_le_bytes());
    }
    let out = run(src, "k", 4, 4, &[Arg::Inline(bytes), zeros::<[f32; 4]>(4)]).get::<[f32; 4]>(1);
    assert_eq!(out[3], [5.0, 12.0, 24.0, 2.0]);
}

#[test]
fn includes_defines_and_versions() {
    let dir = std::env::temp_dir().join(format!("softmetal-include-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("add.h"), "#pragma once\ninline float add(float a, float b) { return a + b; }\n")
        .unwrap();
    let src = "#include <metal_stdlib>\n#include \"add.h\"\nusing namespace metal;\nkernel void k(device float *o) { o[0] = add(VALUE, 1); o[1] = __METAL_VERSION__; }";
    let mut r = Run::default();
    r.compile.include_dirs = vec![dir.clone()];
    r.compile.defines = vec![("VALUE".into(), "41".into())];
    r.compile.language_version = 320;
    assert_eq!(r.run(src, "k", 1, 1, &[zeros::<f32>(2)]).unwrap().get::<f32>(0), [42.0, 320.0]);
    // An error in the header names the header.
    std::fs::write(dir.join("add.h"), "inline float add(float a, float b) {\n return a + nothing; }\n")
        .unwrap();
    let e = r.run(src, "k", 1, 1, &[zeros::<f32>(2)]).err().unwrap().to_string();
    assert!(e.contains("add.h:2:13") && e.contains("nothing"), "{e}");
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn logging_compiles_and_runs() {
    let src = "#include <metal_stdlib>\n#include <metal_logging>\nusing namespace metal;\nkernel void k(device float *o) { os_log_default.log(\"value %d and %f\", 3, 1.5f); o[0] = 1; }";
    let mut r = Run::default();
    r.compile.language_version = 320;
    assert_eq!(r.run(src, "k", 1, 1, &[zeros::<f32>(1)]).unwrap().get::<f32>(0), [1.0]);
}

#[test]
fn literals_are_floats_in_templates_too() {
    let src = "template <typename T> kernel void k(device T *o) { auto y = T(1) / 3.0; o[0] = sizeof(y); o[1] = sizeof(1e-3); o[2] = fmin(1, y * 2 + 0.5); }
        template [[host_name(\"k_f32\")]] kernel void k<float>(device float *);";
    assert_eq!(run(src, "k_f32", 1, 1, &[zeros::<f32>(3)]).get::<f32>(0), [4.0, 4.0, 1.0]);
}

/// Overloads that differ only in address space are different functions, whichever was written first.
#[test]
fn overloads_by_address_space_keep_their_bodies() {
    let src = "int f(device const int *p) { return 1; }
int f(constant const int *p) { return 2; }
int f(threadgroup const int *p) { return 3; }
int f(thread const int *p) { return 4; }
struct S { int x; int space() const { return 40; } int space() const device { return 10; } int space() const constant { return 20; } };
template <typename T> int through(device T *p) { return f(p); }
kernel void k(device int *o, constant int *c, device S *d, constant S &e) {
    threadgroup int t[4];
    int x = 1;
    S s = *d;
    o[0] = f(o); o[1] = f(c); o[2] = f(t); o[3] = f(&x); o[4] = through(o);
    o[5] = d->space(); o[6] = e.space(); o[7] = s.space();
}";
    let o =
        run(src, "k", 1, 1, &[zeros::<i32>(8), zeros::<i32>(1), zeros::<i32>(1), inline(0i32)]).get::<i32>(0);
    assert_eq!(o, [1, 2, 3, 4, 1, 10, 20, 40]);
    // A template that would mean both is refused, since its two instances are one here.
    let src = "int f(device const int *p) { return 1; }
int f(thread const int *p) { return 4; }
template <typename P> int both(P p) { return f(p); }
kernel void k(device int *o) { int x = 1; o[0] = both(o) + both(&x); }";
    let e = Run::default().run(src, "k", 1, 1, &[zeros::<i32>(8)]).err().expect("two meanings").to_string();
    assert!(e.contains("different overloads by address space"), "{e}");
}

/// The same in every spelling of a call that can be renamed.
#[test]
fn overloads_by_address_space_in_other_spellings() {
    const FOUR: &str = "int f(device float *) { return 1; } int f(constant float *) { return 2; }
int f(threadgroup float *) { return 3; } int f(thread float *) { return 4; }";
    let template = FOUR.replace("int f(", "template <typename T> int f(").replace("float *", "T *");
    let reference = FOUR
        .replace("device float *", "const device float &")
        .replace("constant float *", "constant float &");
    let reference = reference
        .replace("threadgroup float *", "const threadgroup float &")
        .replace("thread float *", "const thread float &");
    let through = "int g(device float *p) { return f(p); } int g(constant float *p) { return f(p); }
int g(threadgroup float *p) { return f(p); } int g(thread float *p) { return f(p); }";
    for (declared, calls) in [
        (template, "f<float>(o), f<float>(c), f<float>(t), f<float>(x)"),
        (format!("{FOUR} {through}"), "g(o), g(c), g(t), g(x)"),
        (reference, "f(o[0]), f(c[0]), f(t[0]), f(1.0f)"),
        (
            format!("struct S {{ {} }};", FOUR.replace("int f", "static int f")),
            "S::f(o), S::f(c), S::f(t), S::f(x)",
        ),
    ] {
        let src = format!(
            "{declared}\nkernel void k(device float *o, constant float *c) {{ threadgroup float t[1]; float x[1] = {{0}};
t[0] = 0; int all[4] = {{{calls}}}; for (int i = 0; i < 4; i++) o[i] = all[i]; }}"
        );
        let o = run(&src, "k", 1, 1, &[zeros::<f32>(4), zeros::<f32>(1)]).get::<f32>(0);
        assert_eq!(o, [1.0, 2.0, 3.0, 4.0], "{src}");
    }
    // What has no name that could be changed is refused, and not run with the wrong body.
    for declared in [
        "struct S { float v; int operator[](int) const device { return 1; } int operator[](int) const thread { return 4; } };",
        "struct S { float v; operator int() const device { return 1; } operator int() const thread { return 4; } };",
        "struct S { int v; S(device float *) : v(1) {} S(thread float *) : v(4) {} };",
        "template <typename P> struct W; template <typename T> struct W<device T *> { enum { v = 1 }; }; template <typename T> struct W<thread T *> { enum { v = 4 }; };",
    ] {
        let src = format!("{declared}\nkernel void k(device float *o) {{ o[0] = 1; }}");
        let e = Run::default().run(&src, "k", 1, 1, &[zeros::<f32>(4)]).err().expect("no name").to_string();
        assert!(e.contains("in address spaces alone"), "{e}");
    }
}
