//! Features that not every GPU has.

use super::is_bfloat_literal;
use crate::device::Family;
use crate::lint::Lint;
use crate::source::lexer::Lexed;
use crate::source::unit::Entry;

/// A feature of some GPUs.
struct Feature {
    name: &'static str,
    has: fn(Family) -> bool,
    uses: fn(&Lexed, usize) -> bool,
}

const FEATURES: &[Feature] = &[
    Feature { name: "simdgroup matrices", has: Family::has_simdgroup_matrix, uses: is_matrix },
    Feature { name: "`bfloat`", has: Family::has_bfloat, uses: is_bfloat },
    Feature {
        name: "64-bit atomics (apple8 and newer have them)",
        has: Family::has_atomic64,
        uses: is_atomic64,
    },
    Feature { name: "imageblocks and sparse textures", has: Family::is_apple, uses: is_apple_alone },
];

fn is_matrix(lx: &Lexed, i: usize) -> bool {
    let word = lx.str(i);
    let suffix = word.strip_prefix("simdgroup_").unwrap_or_default();
    word == "make_filled_simdgroup_matrix"
        || suffix.ends_with("8x8")
        || ["matrix", "load", "store", "multiply", "multiply_accumulate"].contains(&suffix)
}

fn is_bfloat(lx: &Lexed, i: usize) -> bool {
    let word = lx.str(i);
    word.strip_prefix("packed_").unwrap_or(word).starts_with("bfloat")
        || word == "simdgroup_bfloat8x8"
        || is_bfloat_literal(word)
}

fn is_atomic64(lx: &Lexed, i: usize) -> bool {
    let wide = |k: usize| {
        matches!(lx.str(k), "ulong" | "uint64_t" | "size_t") || lx.is(k, "unsigned") && lx.is(k + 1, "long")
    };
    matches!(lx.str(i), "atomic_ulong" | "atomic_max_explicit" | "atomic_min_explicit")
        || matches!(lx.str(i), "atomic" | "_atomic") && lx.is(i + 1, "<") && wide(i + 2)
}

fn is_apple_alone(lx: &Lexed, i: usize) -> bool {
    let named = matches!(lx.str(i), "imageblock" | "sparse_read" | "sparse_sample" | "sparse_gather");
    named && matches!(lx.str(i + 1), "<" | "(")
}

/// Unsupported features of the family, among everything that the entry point can reach, and the arguments of its template.
pub fn check_family(lint: &mut Lint<'_>, entry: &Entry, family: Family) {
    let unit = lint.unit;
    let missing: Vec<&Feature> = FEATURES.iter().filter(|f| !(f.has)(family)).collect();
    if missing.is_empty() {
        return;
    }
    for i in unit.reachable(entry).into_iter().chain(entry.instance) {
        let item = &unit.items[i];
        for k in item.start..item.end {
            if let Some(feature) = missing.iter().find(|f| (f.uses)(&unit.lx, k)) {
                let word = unit.lx.str(k);
                lint.at(k, format!("GPU family {family} has no {}: `{word}`", feature.name));
            }
        }
    }
}
