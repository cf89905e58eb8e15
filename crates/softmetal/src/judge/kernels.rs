//! Rules on the types of kernel parameters, as assertions after the unit.

use super::rewrite::{renamed_words, spaced};
use crate::source::binding::BUILTINS;
use crate::source::items::ItemKind;
use crate::source::lexer::Lexed;
use crate::source::params::{Param, Space};
use crate::source::unit::{Entry, Unit};
use rustc_hash::FxHashSet;
use std::fmt::Write;

/// Begins every message of ours.
pub const OURS: &str = "metal: ";

/// Builtins that have as many components as the grid has axes, if they are written as vectors.
const POSITIONS: &[&str] = &[
    "dispatch_threads_per_threadgroup",
    "grid_origin",
    "grid_size",
    "thread_position_in_grid",
    "thread_position_in_threadgroup",
    "threadgroup_position_in_grid",
    "threadgroups_per_grid",
    "threads_per_grid",
    "threads_per_threadgroup",
];

/// Assertions for each kernel of a unit, which may be inside of a namespace. A template's first instance stands for all of them,
/// unless what the rules ask about depends on its arguments.
pub fn assertions(unit: &Unit, space: &str) -> String {
    let mut text = String::from("\n");
    let mut seen = FxHashSet::default();
    for (number, entry) in unit.entries.iter().enumerate() {
        let item = &unit.items[entry.item];
        if item.kind == ItemKind::Kernel && (seen.insert(entry.item) || depends(unit, entry)) {
            kernel(unit, entry, &function_type(unit, entry, space), &mut text, number);
        }
    }
    text
}

/// Whether the result, a builtin or what a buffer holds may be another type in another instance.
fn depends(unit: &Unit, entry: &Entry) -> bool {
    let (lx, item) = (&unit.lx, &unit.items[entry.item]);
    let of_template =
        |word: &str| (item.template.0..item.template.1).any(|k| lx.is_ident(k) && lx.is(k, word));
    let given = |p: &Param| kind(p).is_some_and(|attribute| !(attribute == "buffer" && p.space.is_some()));
    entry.expression.contains(['*', '&'])
        || (item.template.1..item.params.0).any(|k| of_template(lx.str(k)))
        || item.parameters(lx).iter().any(|p| given(p) && p.type_text.split(' ').any(of_template))
}

/// The type of a kernel: as it is declared, or as an instantiation says it that leaves arguments to be deduced.
fn function_type(unit: &Unit, entry: &Entry, space: &str) -> String {
    if let (Some((open, close)), Some(instance)) = (entry.deduced, entry.instance) {
        let (lx, start) = (&unit.lx, unit.items[instance].start + 1);
        let name = (start..open).find(|&k| is_name(lx, k, open)).unwrap_or(open);
        return format!("{}{}", spaced(lx, start, name), spaced(lx, open, close + 1));
    }
    let expression = match entry.expression.strip_prefix("::") {
        Some(rest) if !space.is_empty() => format!("::{space}::{rest}"),
        _ => entry.expression.clone(),
    };
    format!("decltype({})", renamed_words(&expression))
}

/// Whether a qualified name with its template arguments, if any, reaches from one token to another.
fn is_name(lx: &Lexed, from: usize, to: usize) -> bool {
    let mut k = from;
    while lx.is_ident(k) && k < to {
        let end = if lx.is(k + 1, "<") { lx.skip_angles(k + 1) } else { k + 1 };
        if end == to {
            return true;
        }
        if !lx.is(end, "::") {
            return false;
        }
        k = end + 1;
    }
    false
}

fn kernel(unit: &Unit, entry: &Entry, function: &str, text: &mut String, number: usize) {
    let item = &unit.items[entry.item];
    let params = item.parameters(&unit.lx);
    let open: String = entry.scope.iter().map(|n| format!("namespace {n} {{ ")).collect();
    let name = format!("softmetal_kernel_{number}");
    let _ = writeln!(text, "{open}typedef softmetal::signature<{function}> {name};");
    let mut first: Option<usize> = None;
    for (i, p) in params.iter().enumerate() {
        let arg = format!("{name}::arg<{i}>");
        let mut assert = |condition: String, message: &str| {
            let (file, line) = unit.lx.place(p.range.0);
            let _ =
                writeln!(text, "#line {line} \"{file}\"\nstatic_assert({condition}, \"{OURS}{message}\");");
        };
        let Some(attribute) = kind(p) else { continue };
        let parameter = format!("the parameter `{}` [[{attribute}]]", p.name);
        match attribute {
            "buffer" => {
                assert(
                    format!(
                        "softmetal::argument<{arg}>::indirect || softmetal::is_table<softmetal::strip<{arg}>::type>::value"
                    ),
                    &format!("{parameter} must be a pointer or a reference"),
                );
                assert(
                    format!("!softmetal::argument<{arg}>::indirect || softmetal::argument<{arg}>::in_memory"),
                    &format!("{parameter} must point to device or constant memory"),
                );
                pointer_to_pointer(&mut assert, &arg, p);
            }
            "threadgroup" => assert(
                format!("softmetal::argument<{arg}>::shared"),
                &format!("{parameter} must be a pointer or a reference to threadgroup memory"),
            ),
            "texture" => assert(
                format!("softmetal::is_texture<softmetal::strip<{arg}>::type>::value"),
                &format!("{parameter} must be a texture"),
            ),
            "sampler" => assert(
                format!("softmetal::is_sampler<softmetal::strip<{arg}>::type>::value"),
                &format!("{parameter} must be a sampler"),
            ),
            builtin if POSITIONS.contains(&builtin) => {
                by_value(&mut assert, &arg, &parameter);
                assert(
                    format!("softmetal::argument<{arg}>::indirect || softmetal::width_of<{arg}>::value > 0"),
                    &format!("{parameter} must be ushort, uint, or a vector of two or three of them"),
                );
                if let Some(f) = first {
                    let other = &params[f];
                    assert(
                        format!(
                            "softmetal::one_width(softmetal::width_of<{name}::arg<{f}>>::value, softmetal::width_of<{arg}>::value)"
                        ),
                        &format!(
                            "{parameter} and the parameter `{}` must be both scalars or both vectors of one width, as all positions of a kernel",
                            other.name
                        ),
                    );
                }
                first = first.or(Some(i));
            }
            _ => {
                by_value(&mut assert, &arg, &parameter);
                assert(
                    format!("softmetal::argument<{arg}>::indirect || softmetal::width_of<{arg}>::value == 1"),
                    &format!("{parameter} must be ushort or uint"),
                );
            }
        }
    }
    let (file, line) = unit.lx.place(item.params.0.saturating_sub(1));
    let _ = writeln!(
        text,
        "#line {line} \"{file}\"\nstatic_assert(__is_void({name}::result), \"{OURS}a kernel returns void\");\n{}",
        "}".repeat(entry.scope.len())
    );
}

/// The attribute that says what a parameter is; a pointer without one is a buffer or threadgroup memory.
fn kind(p: &Param) -> Option<&'static str> {
    let known = ["buffer", "threadgroup", "texture", "sampler"].into_iter().chain(BUILTINS.iter().copied());
    let said = known.into_iter().find(|name| p.attribute(name).is_some());
    let points = (p.pointer || p.reference) && matches!(p.space, Some(Space::Device | Space::Constant));
    let other = p.attributes.iter().any(|a| a.name != "function_constant");
    said.or_else(|| (points && !other).then_some("buffer"))
}

fn by_value(assert: &mut impl FnMut(String, &str), arg: &str, parameter: &str) {
    assert(
        format!("!softmetal::argument<{arg}>::indirect"),
        &format!("{parameter} is passed by value, not by pointer or reference"),
    );
}

fn pointer_to_pointer(assert: &mut impl FnMut(String, &str), arg: &str, p: &Param) {
    assert(
        format!("!softmetal::argument<{arg}>::twice"),
        &format!("the parameter `{}` is a pointer to a pointer; put the pointer into a struct", p.name),
    );
}
