//! SoftMetal: sources on their way to clang, files of its cache, and metallibs.

use crate::{Target, corpus, scratch};

pub const MSL: Target = Target {
    name: "msl",
    words: &[
        "kernel",
        "void",
        "device",
        "constant",
        "threadgroup",
        "thread",
        "[[",
        "]]",
        "buffer(0)",
        "(",
        ")",
        "{",
        "}",
        "<",
        ">",
        ";",
        ",",
        "*",
        "&",
        "::",
        "#",
        "\"",
        "'",
        "/*",
        "*/",
        "//",
        "\\\n",
        "template",
        "typename",
        "struct",
        "using",
        "namespace",
        "[[function_constant(0)]]",
        "[[host_name(\"k\")]]",
        "operator",
        "[=]",
        "0x1p3",
        "1e",
        "bfloat",
        "half4",
        "static",
        "constexpr",
    ],
    accepts: |bytes| softmetal::fuzzing::source(&String::from_utf8_lossy(bytes)),
};

pub const CACHE: Target = Target {
    name: "cache",
    words: &["sha256 ", "\n--\n", "\n"],
    accepts: |bytes| softmetal::fuzzing::cache_file(&scratch("cache"), bytes),
};

pub const METALLIB: Target = Target {
    name: "metallib",
    words: &["MTLB", "NAME", "TYPE", "HASH", "OFFT", "VERS", "MDSZ", "ENDT", "BC", "\0\0\0\0"],
    accepts: |bytes| {
        softmetal::Library::from_metallib_bytes(bytes.to_vec(), "fuzzed").is_ok_and(|library| {
            library.function_names().len() + library.other_functions().len() < bytes.len()
        })
    },
};

const SOURCES: [(&str, &str); 4] = [
    (
        "plain",
        "kernel void scale(device float* x [[buffer(0)]], constant float& by [[buffer(1)]],\n    uint i [[thread_position_in_grid]]) {\n    x[i] *= by;\n}\n",
    ),
    (
        "template",
        "using namespace metal;\ntemplate <typename T, int N> struct Vector { T at[N]; T sum() const { T s = 0; for (int i = 0; i < N; ++i) s += at[i]; return s; } };\ntemplate <typename T> kernel void total(device const T* x, device T* y, uint i [[thread_position_in_grid]]) { Vector<T, 4> v; y[i] = v.sum() + x[i]; }\ntemplate [[host_name(\"total_f32\")]] kernel void total<float>(device const float*, device float*, uint);\n",
    ),
    (
        "groups",
        "constant bool fast [[function_constant(0)]];\nconstant uint width [[function_constant(1)]];\nkernel void turn(device float* x, threadgroup float* shared [[threadgroup(0)]], uint i [[thread_index_in_threadgroup]]) {\n    threadgroup float own[32];\n    own[i] = x[i]; shared[i] = fast ? 1.0f : 2.0h;\n    threadgroup_barrier(metal::mem_flags::mem_threadgroup);\n    x[i] = own[31 - i] + shared[width];\n}\n",
    ),
    (
        "overloads",
        "float f(device float* p) { return p[0]; }\nfloat f(threadgroup float* p) { return p[1]; }\nfloat f(constant float* p) { return p[2]; }\n[[kernel]] void k(device float* a, constant float* b) { a[0] = f(a) + f(b); }\n",
    ),
];

/// Writes the corpora.
pub fn make_corpus() {
    for (name, text) in SOURCES {
        let record = softmetal::fuzzing::make_record(&scratch("cache"), text);
        for (folder, bytes) in [("msl", text.as_bytes()), ("cache", &record)] {
            std::fs::create_dir_all(corpus(folder)).expect("a writable folder");
            std::fs::write(corpus(folder).join(name), bytes).expect("a writable folder");
        }
    }
}
