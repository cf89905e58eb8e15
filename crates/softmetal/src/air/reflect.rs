//! The contents of a kernel's `!air.*` metadata: parameters, function constants, compile options.

use super::metadata::{Metadata, Value};
use crate::source::binding::{Access, BUILTINS, Binding, BindingKind, MAX_BUFFER_INDEX};

/// A parameter of a kernel.
#[derive(Debug, Clone)]
pub struct Parameter {
    /// The binding, as for kernels from source.
    pub binding: Binding,
    /// Bytes of one element behind the pointer; zero for builtins.
    pub size: u32,
    /// Alignment.
    pub align: u32,
    /// Whether the kernel's code uses it.
    pub used: bool,
    /// The global that says whether the parameter exists, where a function constant decides.
    pub predicate: Option<String>,
}

/// A function constant of a module.
#[derive(Debug, Clone)]
pub struct Constant {
    /// The global that holds its value.
    pub symbol: String,
    /// Name in the source.
    pub name: String,
    /// Type, such as `bool`.
    pub type_name: String,
    /// Index.
    pub index: u32,
}

/// A kernel as its module describes it.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// The function's name in the module.
    pub symbol: String,
    /// Parameters.
    pub parameters: Vec<Parameter>,
    /// The function constants of its module.
    pub constants: Vec<Constant>,
    /// `[[max_total_threads_per_threadgroup]]`, if written.
    pub max_threads: Option<u32>,
    /// Whether single-precision denormals are flushed to zero.
    pub flushes_denormals: bool,
}

/// Reads the metadata of a module. Fails with what the kernel needs and SoftMetal lacks.
pub fn reflect(text: &str) -> Result<Kernel, String> {
    let m = Metadata::parse(text);
    let Some([Value::Global(symbol), Value::Node(_), Value::Node(parameters), rest @ ..]) =
        m.named("air.kernel").next()
    else {
        return Err("its module has no `!air.kernel` metadata".into());
    };
    let nodes = m.node(*parameters).iter().filter_map(|v| match v {
        Value::Node(n) => Some(m.node(*n)),
        _ => None,
    });
    let parameters = nodes.map(|node| parameter(&m, node)).collect::<Result<Vec<_>, _>>()?;
    let option = |name: &str| m.named("air.compile_options").any(|node| node == [Value::Text(name.into())]);
    let limits = rest.iter().filter_map(|v| match v {
        Value::Node(n) => integer_after(m.node(*n), "air.max_work_group_size"),
        _ => None,
    });
    Ok(Kernel {
        symbol: symbol.clone(),
        parameters,
        constants: m.named("air.function_constants").filter_map(constant).collect(),
        max_threads: limits.min(),
        flushes_denormals: option("air.compile.denorms_disable"),
    })
}

fn parameter(m: &Metadata, node: &[Value]) -> Result<Parameter, String> {
    let texts = || node.iter().filter_map(|v| if let Value::Text(t) = v { Some(t.as_str()) } else { None });
    let name = text_after(node, "air.arg_name").unwrap_or_default();
    let builtin = texts().filter_map(|t| t.strip_prefix("air.")).find(|t| BUILTINS.contains(t));
    let condition = node.iter().position(|v| *v == Value::Text("air.function_constant".into()));
    let condition = condition.and_then(|at| match node.get(at + 1) {
        Some(Value::Node(n)) => Some(m.node(*n)),
        _ => None,
    });
    let mut binding = Binding {
        name: name.clone(),
        kind: BindingKind::Builtin,
        index: 0,
        access: Access::ReadOnly,
        type_name: text_after(node, "air.arg_type_name").unwrap_or_default(),
        attribute: builtin.unwrap_or_default().to_string(),
        condition: condition.and_then(|c| match c.get(2) {
            Some(Value::Text(t)) => Some(t.clone()),
            _ => None,
        }),
    };
    if builtin.is_none() {
        if !texts().any(|t| t == "air.buffer") {
            let what = texts().find(|t| t.starts_with("air.") && *t != "air.function_constant");
            let what = what.unwrap_or("unknown").trim_start_matches("air.");
            return Err(format!("its parameter `{name}` is a {what}, which SoftMetal does not support"));
        }
        binding.kind = match integer_after(node, "air.address_space") {
            Some(2) => BindingKind::Constant,
            Some(3) => BindingKind::Threadgroup,
            _ => BindingKind::Buffer,
        };
        binding.index = integer_after(node, "air.location_index").unwrap_or(0);
        if binding.index > MAX_BUFFER_INDEX {
            return Err(format!("its parameter `{name}` has index {}", binding.index));
        }
        if !texts().any(|t| t == "air.read") {
            binding.access = Access::ReadWrite;
        }
    }
    let number = |key: &str| integer_after(node, key).unwrap_or(0);
    let predicate = condition.and_then(|c| match c.first() {
        Some(Value::Global(g)) => Some(g.clone()),
        _ => None,
    });
    Ok(Parameter {
        binding,
        size: number("air.arg_type_size"),
        align: number("air.arg_type_align_size"),
        used: !texts().any(|t| t == "air.arg_unused"),
        predicate,
    })
}

fn constant(node: &[Value]) -> Option<Constant> {
    let [Value::Global(symbol), Value::Text(type_name), Value::Text(name), Value::Int(index), ..] = node
    else {
        return None;
    };
    let index = u32::try_from(*index).ok()?;
    Some(Constant { symbol: symbol.clone(), name: name.clone(), type_name: type_name.clone(), index })
}

/// What follows a key.
fn after<'a>(node: &'a [Value], key: &str) -> Option<&'a Value> {
    let at = node.iter().position(|v| matches!(v, Value::Text(t) if t == key))?;
    node.get(at + 1)
}

fn integer_after(node: &[Value], key: &str) -> Option<u32> {
    match after(node, key)? {
        Value::Int(n) => u32::try_from(*n).ok(),
        _ => None,
    }
}

fn text_after(node: &[Value], key: &str) -> Option<String> {
    match after(node, key)? {
        Value::Text(t) => Some(t.clone()),
        _ => None,
    }
}
