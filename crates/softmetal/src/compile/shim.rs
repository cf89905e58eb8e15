//! Our `metal_stdlib`: the header files, and the generated swizzles.

use std::fmt::Write;

/// The headers, by file name.
pub const HEADERS: &[(&str, &str)] = &[
    ("abi.h", include_str!("../../shim/abi.h")),
    ("types.h", include_str!("../../shim/types.h")),
    ("indirect.h", include_str!("../../shim/indirect.h")),
    ("traits.h", include_str!("../../shim/traits.h")),
    ("limits.h", include_str!("../../shim/limits.h")),
    ("wide.h", include_str!("../../shim/wide.h")),
    ("vec.h", include_str!("../../shim/vec.h")),
    ("matrix.h", include_str!("../../shim/matrix.h")),
    ("approximate.h", include_str!("../../shim/approximate.h")),
    ("math.h", include_str!("../../shim/math.h")),
    ("integer.h", include_str!("../../shim/integer.h")),
    ("sync.h", include_str!("../../shim/sync.h")),
    ("simd.h", include_str!("../../shim/simd.h")),
    ("simdgroup_matrix.h", include_str!("../../shim/simdgroup_matrix.h")),
    ("lane_matrix.h", include_str!("../../shim/lane_matrix.h")),
    ("internals.h", include_str!("../../shim/internals.h")),
    ("atomic.h", include_str!("../../shim/atomic.h")),
    ("pack.h", include_str!("../../shim/pack.h")),
    ("log.h", include_str!("../../shim/log.h")),
    ("sampler.h", include_str!("../../shim/sampler.h")),
    ("texel.h", include_str!("../../shim/texel.h")),
    ("sampling.h", include_str!("../../shim/sampling.h")),
    ("texture.h", include_str!("../../shim/texture.h")),
    ("tensor.h", include_str!("../../shim/tensor.h")),
    ("entry.h", include_str!("../../shim/entry.h")),
    ("check.h", include_str!("../../shim/check.h")),
    ("softmetal.h", include_str!("../../shim/softmetal.h")),
];

/// The headers of the judging pass, by file name in a folder of their own.
pub const JUDGE: &[(&str, &str)] = &[
    ("judge/types.h", include_str!("../../shim/judge/types.h")),
    ("judge/traits.h", include_str!("../../shim/judge/traits.h")),
    ("judge/math.h", include_str!("../../shim/judge/math.h")),
    ("judge/matrix.h", include_str!("../../shim/judge/matrix.h")),
    ("judge/atomic.h", include_str!("../../shim/judge/atomic.h")),
    ("judge/simd.h", include_str!("../../shim/judge/simd.h")),
    ("judge/internals.h", include_str!("../../shim/judge/internals.h")),
    ("judge/texture.h", include_str!("../../shim/judge/texture.h")),
    ("judge/tensor.h", include_str!("../../shim/judge/tensor.h")),
    ("judge/entry.h", include_str!("../../shim/judge/entry.h")),
    ("judge/judge.h", include_str!("../../shim/judge/judge.h")),
];

/// The runtime library of kernels from a metallib.
pub const AIR: &str = include_str!("../../shim/air.cpp");

/// What `<metal_tensor>` brings into namespace metal, from Metal 4 on.
pub const TENSOR: &str = "#include <softmetal_macros.h>\n#pragma once\n#if __METAL_VERSION__ >= 400\n\
    namespace metal { using namespace softmetal_tensor; }\n#endif\n";

/// What `<simd/simd.h>` and its parts declare.
pub const SIMD: &str = include_str!("../../shim/simd_names.h");

/// The macros that stand for `metal_stdlib` while preprocessing.
pub const MACROS: &str = include_str!("../../shim/macros.h");

/// Header names that a Metal source may include.
pub const STUBS: &[&str] = &[
    "metal_stdlib",
    "metal_atomic",
    "metal_common",
    "metal_compute",
    "metal_config",
    "metal_geometric",
    "metal_integer",
    "metal_limits",
    "metal_logging",
    "metal_math",
    "metal_matrix",
    "metal_numeric",
    "metal_pack",
    "metal_quadgroup",
    "metal_relational",
    "metal_simdgroup",
    "metal_simdgroup_matrix",
    "metal_type_traits",
    "metal_types",
    "metal_utility",
    "metal_array",
    "metal_assert",
    "metal_initializer_list",
    "metal_uniform",
    "metal_texture",
    "metal_graphics",
    "metal_geometry",
    "metal_mesh",
    "metal_raytracing",
    "metal_visible_function_table",
    "metal_intersection_function_table",
    "metal_command_buffer",
    "metal_tessellation",
    "metal_imageblocks",
    "metal_extended_vector",
    "metal_cooperative_tensor",
    "metal_tensor",
    "MetalPerformancePrimitives/MetalPerformancePrimitives.h",
    "metal_types.h",
    "metal_interpolate",
    "TargetConditionals.h",
    "metal_curves",
    "simd/base.h",
    "simd/common.h",
    "simd/conversion.h",
    "simd/geometry.h",
    "simd/logic.h",
    "simd/math.h",
    "simd/matrix.h",
    "simd/matrix_types.h",
    "simd/packed.h",
    "simd/simd.h",
    "simd/types.h",
    "simd/vector.h",
    "simd/vector_make.h",
    "simd/vector_types.h",
];

/// The text of one of these headers.
pub fn stub(name: &str) -> &'static str {
    match name {
        "metal_tensor" => TENSOR,
        _ if name.starts_with("simd/") => "#include <softmetal_macros.h>\n#include <softmetal_simd.h>\n",
        _ => "#include <softmetal_macros.h>\n",
    }
}

/// Whether the file of a line marker is one of these.
pub fn is_library_header(file: &str) -> bool {
    ["softmetal_simd.h"]
        .iter()
        .chain(STUBS)
        .any(|name| file.strip_suffix(name).is_some_and(|folder| folder.ends_with("/stubs/")))
}

/// The swizzle members of a vector with `n` components.
pub fn swizzles(n: usize) -> String {
    const XYZW: [&str; 4] = ["x", "y", "z", "w"];
    const RGBA: [&str; 4] = ["r", "g", "b", "a"];
    let mut s = String::new();
    for i in 0..n {
        let (x, r) = (XYZW[i], RGBA[i]);
        let _ = writeln!(
            s,
            "constexpr T g_{x}() const {{ return {x}; }} void p_{x}(T v) {{ {x} = v; }} __declspec(property(get=g_{x},put=p_{x})) T {r};"
        );
    }
    for len in 2..=4u32 {
        for code in 0..n.pow(len) {
            let picks: Vec<usize> = (0..len).map(|d| code / n.pow(len - 1 - d) % n).collect();
            one_swizzle(&mut s, &picks, &XYZW, &RGBA);
        }
    }
    s
}

/// A getter always; a setter when no component repeats.
fn one_swizzle(s: &mut String, picks: &[usize], xyzw: &[&str; 4], rgba: &[&str; 4]) {
    let len = picks.len();
    let name: String = picks.iter().map(|&i| xyzw[i]).collect();
    let other: String = picks.iter().map(|&i| rgba[i]).collect();
    let list = picks.iter().map(|&i| xyzw[i]).collect::<Vec<_>>().join(", ");
    let _ = write!(s, "constexpr vec<T, {len}> g_{name}() const {{ return vec<T, {len}>({list}); }} ");
    let distinct = (0..len).all(|a| (0..a).all(|b| picks[a] != picks[b]));
    if distinct {
        let body: String =
            picks.iter().enumerate().map(|(k, &i)| format!("{} = v.{}; ", xyzw[i], xyzw[k])).collect();
        let _ = write!(s, "constexpr void p_{name}(vec<T, {len}> v) {{ {body}}} ");
    }
    let put = if distinct { format!(",put=p_{name}") } else { String::new() };
    let _ = writeln!(s, "__declspec(property(get=g_{name}{put})) vec<T, {len}> {name}, {other};");
}

#[cfg(test)]
mod tests {
    #[test]
    fn four_components_have_336_swizzles_in_two_spellings() {
        let text = super::swizzles(4);
        assert_eq!(
            text.matches("vec<T, 2> g_").count()
                + text.matches("vec<T, 3> g_").count()
                + text.matches("vec<T, 4> g_").count(),
            16 + 64 + 256
        );
        assert!(text.contains("p_wzyx") && text.contains(" rgba;") && !text.contains("p_xx("));
    }
}
