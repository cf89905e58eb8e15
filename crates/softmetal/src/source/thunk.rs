//! The launch code that is appended to a rewritten unit.

use super::binding::{Binding, BindingKind};
use super::items::{Item, ItemKind};
use super::params::attributes;
use super::rewrite::plain;
use super::unit::{Entry, Unit};
use std::fmt::Write;

/// The kind of launch function to emit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LaunchStyle {
    /// One call per threadgroup, with a loop over its threads; for kernels that never wait.
    Group,
    /// One call per thread, on a stack of its own.
    Lane,
}

/// Parts that a library of kernels contains once.
pub const LIBRARY: &str = "\nconst softmetal::Runtime *softmetal_runtime;\n\
    unsigned softmetal::softmetal_static_memory = 0;\n\
    extern \"C\" __attribute__((visibility(\"default\"), no_sanitize(\"thread\"))) void softmetal_attach(const softmetal::Runtime *r) { softmetal_runtime = r; }\n";

/// The C++ text that follows the user's code. `space` is a namespace around that code, where it has one; the names of the kernel's
/// symbols then end in it.
pub fn thunk(unit: &Unit, entry: &Entry, bindings: &[Binding], launch: LaunchStyle, space: &str) -> String {
    let mut s = String::from("\n#line 1 \"softmetal-launch\"\n");
    let scope = entry.scope.iter().map(String::as_str);
    let scope: Vec<&str> = Some(space).filter(|s| !s.is_empty()).into_iter().chain(scope).collect();
    for n in &scope {
        let _ = write!(s, "namespace {n} {{ ");
    }
    let callee = callee(unit, entry, space);
    let _ = write!(
        s,
        "\nstatic constexpr auto softmetal_entry = {callee};\n\
         typedef softmetal::signature<__remove_cv(decltype(softmetal_entry))> softmetal_signature;\n\
         static inline __attribute__((always_inline)) void softmetal_call(const softmetal::Thread &t) {{\n  (*softmetal_entry)("
    );
    for (i, b) in bindings.iter().enumerate() {
        let p = format!("typename softmetal_signature::template arg<{i}>");
        let comma = if i == 0 { "" } else { ", " };
        let _ = match b.kind {
            BindingKind::Buffer | BindingKind::Constant => {
                write!(s, "{comma}softmetal::buffer_arg<{p}>(t, {})", b.index)
            }
            BindingKind::Threadgroup => write!(s, "{comma}softmetal::group_arg<{p}>(t, {})", b.index),
            BindingKind::Texture => write!(s, "{comma}softmetal::texture_of<{p}>::from(t.g, {})", b.index),
            BindingKind::Sampler => write!(s, "{comma}softmetal::sampler_of<{p}>::from(t.g, {})", b.index),
            BindingKind::Builtin => {
                write!(s, "{comma}softmetal::value<{p}>::from(softmetal::builtin::{}(t))", b.attribute)
            }
        };
    }
    s.push_str(");\n}\n");
    arguments(&mut s, bindings, space);
    visible_functions(&mut s, unit, space);
    launcher(&mut s, launch, space);
    s.extend(scope.iter().map(|_| "}"));
    s
}

fn callee(unit: &Unit, entry: &Entry, space: &str) -> String {
    let expression = match entry.expression.strip_prefix("::") {
        Some(rest) if !space.is_empty() => format!("::{space}::{rest}"),
        _ => entry.expression.clone(),
    };
    match entry.deduced {
        Some((open, close)) => {
            format!("static_cast<void (*){}>(&{expression})", plain(&unit.lx, open, close + 1))
        }
        None => format!("&{expression}"),
    }
}

/// Text that makes the compiler instantiate entry points without launching them.
pub fn instantiations(unit: &Unit, entries: &[&Entry]) -> String {
    let mut s = String::from("\n#line 1 \"softmetal-launch\"\n");
    for (i, e) in entries.iter().enumerate() {
        let open: String = e.scope.iter().map(|n| format!("namespace {n} {{ ")).collect();
        let close = "}".repeat(e.scope.len());
        let _ =
            writeln!(s, "{open}static constexpr auto softmetal_entry_{i} = {}; {close}", callee(unit, e, ""));
    }
    s
}

/// Sizes of what the arguments point to, and whether each argument exists under the function constants.
fn arguments(s: &mut String, bindings: &[Binding], suffix: &str) {
    let _ = write!(
        s,
        "extern \"C\" __attribute__((visibility(\"default\"), used)) const softmetal::ArgInfo softmetal_arguments{suffix}[] = {{"
    );
    for (i, b) in bindings.iter().enumerate() {
        let active = b.condition.as_deref().map_or("1".to_string(), |c| format!("unsigned(bool({c}))"));
        let t = format!("softmetal::size_of<typename softmetal_signature::template arg<{i}>>");
        let _ = write!(s, "{{{t}::size, {t}::align, {active}}}, ");
    }
    s.push_str("{0, 0, 0}};\n");
}

/// Names and addresses of the functions that tables may hold; nothing where there are none.
fn visible_functions(s: &mut String, unit: &Unit, space: &str) {
    let lx = &unit.lx;
    let is_visible = |item: &&Item| {
        item.kind == ItemKind::Function
            && item.has_body()
            && !item.is_template()
            && attributes(lx, item.start, item.params.0).iter().any(|a| a.name == "visible")
    };
    let list: Vec<&Item> = unit.items.iter().filter(is_visible).collect();
    if list.is_empty() {
        return;
    }
    let _ = write!(
        s,
        "extern \"C\" __attribute__((visibility(\"default\"), used)) const softmetal::Visible softmetal_visible{space}[] = {{"
    );
    for item in list {
        let scope =
            Some(space).filter(|n| !n.is_empty()).into_iter().chain(item.scope.iter().map(String::as_str));
        let path: String = scope.chain([item.name.as_str()]).map(|n| format!("::{n}")).collect();
        let host = attributes(lx, item.start, item.params.0).into_iter().find(|a| a.name == "host_name");
        let name = host.map_or(item.name.clone(), |a| a.argument);
        let _ = write!(s, "{{\"{name}\", reinterpret_cast<const void *>(&{path})}}, ");
    }
    s.push_str("{nullptr, nullptr}};\n");
}

fn launcher(s: &mut String, launch: LaunchStyle, suffix: &str) {
    let _ = match launch {
        LaunchStyle::Group => write!(
            s,
            "extern \"C\" __attribute__((visibility(\"default\"))) void softmetal_group{suffix}(const softmetal::GroupInfo *p) {{\n\
             const softmetal::GroupInfo g = *p;\n\
             for (unsigned z = 0; z < g.threads_per_group[2]; z++) for (unsigned y = 0; y < g.threads_per_group[1]; y++) {{\n\
             _Pragma(\"clang loop vectorize(assume_safety)\")\n\
             for (unsigned x = 0; x < g.threads_per_group[0]; x++) softmetal_call(softmetal::Thread{{g, x, y, z}});\n}} }}\n"
        ),
        LaunchStyle::Lane => write!(
            s,
            "extern \"C\" __attribute__((visibility(\"default\"))) void softmetal_lane{suffix}(const softmetal::Lane *l) {{\n\
             softmetal_call(softmetal::Thread{{*l->group, l->position[0], l->position[1], l->position[2]}});\n}}\n"
        ),
    };
}
