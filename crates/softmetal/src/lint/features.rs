//! Features that need a language version or a GPU family.

use super::Lint;
use crate::device::Family;
use crate::source::lexer::Lexed;
use crate::source::unit::Entry;

/// Names and the first language version that has them.
const VERSIONS: &[(&str, u32)] = &[
    ("bfloat", 310),
    ("bfloat2", 310),
    ("bfloat3", 310),
    ("bfloat4", 310),
    ("simdgroup_bfloat8x8", 310),
    ("simdgroup_matrix", 230),
    ("simdgroup_float8x8", 230),
    ("simdgroup_half8x8", 230),
    ("simdgroup_load", 230),
    ("atomic_float", 300),
    ("os_log", 320),
    ("os_log_default", 320),
    ("simd_shuffle_and_fill_up", 240),
    ("simd_shuffle_and_fill_down", 240),
    ("simd_sum", 210),
    ("simd_prefix_exclusive_sum", 210),
    ("simd_ballot", 220),
    ("atomic_thread_fence", 320),
    ("min3", 210),
    ("max3", 210),
    ("median3", 210),
    ("fmin3", 210),
    ("fmax3", 210),
    ("fmedian3", 210),
    ("host_name", 220),
    ("atomic_ulong", 240),
    ("texture_buffer", 210),
    ("visible_function_table", 230),
    ("memory_coherence_device", 320),
];

/// Names that need a newer language version.
pub fn check_version(lint: &mut Lint<'_>, version: u32) {
    let unit = lint.unit;
    let lx = &unit.lx;
    for i in 0..lx.tokens.len() {
        if let Some((what, needed)) = spelled(lx, i).filter(|(_, needed)| *needed > version) {
            lint.at(
                i,
                format!(
                    "{what} needs Metal {}, and the language version is {}",
                    dotted(needed),
                    dotted(version)
                ),
            );
        }
        if lx.is_ident(i)
            && let Some((name, needed)) = VERSIONS.iter().find(|(n, v)| *v > version && *n == lx.str(i))
        {
            lint.at(
                i,
                format!(
                    "`{name}` needs Metal {}, and the language version is {}",
                    dotted(*needed),
                    dotted(version)
                ),
            );
        }
    }
}

fn dotted(version: u32) -> String {
    format!("{}.{}", version / 100, version / 10 % 10)
}

/// Features that take more than a name: what is written at `i`, and the version that it needs.
fn spelled(lx: &Lexed, i: usize) -> Option<(&'static str, u32)> {
    match lx.str(i) {
        "atomic" if lx.is(i + 1, "<") && lx.is(i + 2, "float") => Some(("`atomic<float>`", 300)),
        "atomic" if lx.is(i + 1, "<") && lx.is(i + 2, "ulong") => Some(("`atomic<ulong>`", 240)),
        "long" | "ulong" | "int64_t" | "uint64_t" if matches!(lx.str(i + 1), "*" | "&") => {
            let spaced = (1..=2).any(|n| i >= n && matches!(lx.str(i - n), "device" | "constant"));
            spaced.then_some(("a 64-bit integer in a buffer", 230))
        }
        _ => None,
    }
}

/// What the family lacks, among all that the entry point can reach.
pub fn check_family(lint: &mut Lint<'_>, entry: &Entry, family: Family) {
    let unit = lint.unit;
    let lx = &unit.lx;
    for i in unit.reachable(entry) {
        let item = &unit.items[i];
        for k in item.start..item.end {
            let word = lx.str(k);
            let matrix = [
                "simdgroup_matrix",
                "simdgroup_float8x8",
                "simdgroup_half8x8",
                "simdgroup_bfloat8x8",
                "simdgroup_multiply_accumulate",
            ]
            .contains(&word);
            if matrix && !family.has_simdgroup_matrix() {
                lint.at(k, format!("GPU family {family} has no simdgroup matrices (`{word}`)"));
            } else if word.starts_with("bfloat") && !family.has_bfloat() {
                lint.at(k, format!("GPU family {family} has no `bfloat`"));
            } else if word == "atomic_ulong" && !family.has_atomic64() {
                lint.at(
                    k,
                    format!(
                        "GPU family {family} has no 64-bit atomics (`{word}`); apple8 and newer have them"
                    ),
                );
            }
        }
    }
}
