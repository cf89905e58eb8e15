//! Reflection: what each kernel parameter is bound to.

use super::lexer::Lexed;
use super::params::{Param, Space, integer};
use crate::error::{Diagnostic, Error, Result};
use serde::Serialize;

/// The kind of a kernel parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BindingKind {
    /// A buffer in device memory.
    Buffer,
    /// A buffer in constant memory; `set_bytes` suits it.
    Constant,
    /// Threadgroup memory whose length the encoder sets.
    Threadgroup,
    /// A value that the device provides, such as the thread position.
    Builtin,
    /// A texture, or an array of them.
    Texture,
    /// A sampler, or an array of them.
    Sampler,
}

/// The access of a kernel to a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Only reads.
    ReadOnly,
    /// Reads and writes.
    ReadWrite,
    /// Only writes, which is said of textures.
    WriteOnly,
}

/// One kernel parameter.
#[derive(Debug, Clone, Serialize)]
pub struct Binding {
    /// Parameter name.
    pub name: String,
    /// Kind.
    pub kind: BindingKind,
    /// Buffer or threadgroup index; zero for builtins.
    pub index: u32,
    /// Access, from `const` and the address space.
    pub access: Access,
    /// The type as written, without address space.
    pub type_name: String,
    /// The builtin's attribute, empty for others.
    pub attribute: String,
    /// Name of the function constant that switches the argument on, if any.
    pub condition: Option<String>,
}

/// Attributes whose value the device provides.
pub const BUILTINS: &[&str] = &[
    "dispatch_quadgroups_per_threadgroup",
    "dispatch_simdgroups_per_threadgroup",
    "dispatch_threads_per_threadgroup",
    "grid_origin",
    "grid_size",
    "quadgroup_index_in_threadgroup",
    "quadgroups_per_threadgroup",
    "simdgroup_index_in_threadgroup",
    "simdgroups_per_threadgroup",
    "thread_execution_width",
    "thread_index_in_quadgroup",
    "thread_index_in_simdgroup",
    "thread_index_in_threadgroup",
    "thread_position_in_grid",
    "thread_position_in_threadgroup",
    "threadgroup_position_in_grid",
    "threadgroups_per_grid",
    "threads_per_grid",
    "threads_per_simdgroup",
    "threads_per_threadgroup",
];

/// The highest buffer index that Metal has.
pub const MAX_BUFFER_INDEX: u32 = 30;
/// The highest texture index.
pub const MAX_TEXTURE_INDEX: u32 = 127;
/// The highest sampler index.
pub const MAX_SAMPLER_INDEX: u32 = 15;

/// Indices of each kind that are taken.
struct Used {
    buffers: Vec<u32>,
    groups: Vec<u32>,
    textures: Vec<u32>,
    samplers: Vec<u32>,
}

/// Assigns an index to every parameter; those without one take the next free index.
pub fn bindings(lx: &Lexed, params: &[Param]) -> Result<Vec<Binding>> {
    let mut used = Used {
        buffers: explicit(lx, params, "buffer")?,
        groups: explicit(lx, params, "threadgroup")?,
        textures: explicit(lx, params, "texture")?,
        samplers: explicit(lx, params, "sampler")?,
    };
    params.iter().map(|p| one(lx, p, &mut used)).collect()
}

fn explicit(lx: &Lexed, params: &[Param], name: &str) -> Result<Vec<u32>> {
    params.iter().filter_map(|p| p.attribute(name)).map(|a| index(lx, a.token, &a.argument)).collect()
}

fn one(lx: &Lexed, p: &Param, used: &mut Used) -> Result<Binding> {
    let read_only = p.is_const || p.space == Some(Space::Constant);
    let mut b = Binding {
        name: p.name.clone(),
        kind: BindingKind::Buffer,
        index: 0,
        access: if read_only { Access::ReadOnly } else { Access::ReadWrite },
        type_name: p.type_text.clone(),
        attribute: String::new(),
        condition: p.attribute("function_constant").map(|a| a.argument.clone()),
    };
    let indirect = p.pointer || p.reference;
    if let Some(a) = p.attribute("buffer") {
        b.kind = if p.space == Some(Space::Constant) { BindingKind::Constant } else { BindingKind::Buffer };
        b.index = index(lx, a.token, &a.argument)?;
    } else if let Some(a) = p.attribute("threadgroup") {
        b.kind = BindingKind::Threadgroup;
        b.index = index(lx, a.token, &a.argument)?;
    } else if let Some(a) = p.attributes.iter().find(|a| BUILTINS.contains(&a.name.as_str())) {
        b.kind = BindingKind::Builtin;
        b.access = Access::ReadOnly;
        b.attribute = a.name.clone();
    } else if indirect && p.space == Some(Space::Threadgroup) {
        b.kind = BindingKind::Threadgroup;
        b.index = next_free(&mut used.groups);
    } else if indirect && matches!(p.space, Some(Space::Device | Space::Constant)) {
        b.kind = if p.space == Some(Space::Constant) { BindingKind::Constant } else { BindingKind::Buffer };
        b.index = next_free(&mut used.buffers);
    } else if is_texture(p) {
        (b.kind, b.access) = (BindingKind::Texture, texture_access(&p.type_text));
        b.index = match p.attribute("texture") {
            Some(a) => index(lx, a.token, &a.argument)?,
            None => next_free(&mut used.textures),
        };
    } else if p.type_text.split(' ').any(|w| w == "sampler") {
        (b.kind, b.access) = (BindingKind::Sampler, Access::ReadOnly);
        b.index = match p.attribute("sampler") {
            Some(a) => index(lx, a.token, &a.argument)?,
            None => next_free(&mut used.samplers),
        };
    } else if p.type_text.contains("visible_function_table") || p.type_text.starts_with("tensor ") {
        b.index = next_free(&mut used.buffers);
    } else {
        let what = match p.attributes.iter().find(|a| a.name != "function_constant") {
            Some(a) => format!(
                "kernel parameter `{}` has the attribute `{}`, which SoftMetal does not have",
                p.name, a.name
            ),
            None => format!(
                "kernel parameter `{}` of type `{}` has no address space and no attribute",
                p.name, p.type_text
            ),
        };
        return Err(at(lx, p.range.0, what));
    }
    let highest = match b.kind {
        BindingKind::Texture => MAX_TEXTURE_INDEX,
        BindingKind::Sampler => MAX_SAMPLER_INDEX,
        BindingKind::Buffer | BindingKind::Constant | BindingKind::Threadgroup | BindingKind::Builtin => {
            MAX_BUFFER_INDEX
        }
    };
    if b.index > highest {
        return Err(at(
            lx,
            p.range.0,
            format!(
                "index {} of parameter `{}` is above {highest}, the highest that Metal has",
                b.index, p.name
            ),
        ));
    }
    Ok(b)
}

/// Whether a parameter is a texture: by its attribute or by its type.
fn is_texture(p: &Param) -> bool {
    let named = |w: &str| w.starts_with("texture") || w.starts_with("depth2d") || w.starts_with("depthcube");
    p.attribute("texture").is_some() || p.type_text.split(' ').any(named)
}

/// The access of a kernel to a texture, from its type; sampled by default.
fn texture_access(type_text: &str) -> Access {
    let words: Vec<&str> = type_text.split(' ').collect();
    match words.windows(3).find(|w| w[0] == "access" && w[1] == "::").map(|w| w[2]) {
        Some("write") => Access::WriteOnly,
        Some("read_write") => Access::ReadWrite,
        _ => Access::ReadOnly,
    }
}

fn index(lx: &Lexed, token: usize, text: &str) -> Result<u32> {
    integer(text).ok_or_else(|| at(lx, token, format!("`{text}` is not an index; write a plain number")))
}

fn next_free(used: &mut Vec<u32>) -> u32 {
    let free = (0..).find(|i| !used.contains(i)).unwrap_or(0);
    used.push(free);
    free
}

/// An error at a token.
pub fn at(lx: &Lexed, token: usize, message: String) -> Error {
    let (file, line) = lx.place(token);
    Error::Compile { diagnostics: vec![Diagnostic { file, line, column: 0, message }] }
}
