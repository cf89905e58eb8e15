//! `softmetal list`

use crate::args::{ListArgs, read};
use softmetal::{BindingKind, Device, Result};

/// Prints kernels and bindings.
pub fn list(a: &ListArgs) -> Result<bool> {
    let device = Device::new(a.source.device()?)?;
    let library = device.new_library(&read(&a.file)?, &a.source.compile(&a.file)?)?;
    let mut all = Vec::new();
    for name in library.function_names() {
        let f = library.function_unspecialised(&name)?;
        if a.json {
            all.push(serde_json::json!({ "kernel": name, "bindings": f.bindings() }));
            continue;
        }
        println!("{name}");
        for b in f.bindings() {
            let place = match b.kind {
                BindingKind::Buffer => format!("buffer({})", b.index),
                BindingKind::Constant => format!("buffer({}) constant", b.index),
                BindingKind::Threadgroup => format!("threadgroup({})", b.index),
                BindingKind::Builtin => b.attribute.clone(),
            };
            let access = match (b.kind, b.access) {
                (BindingKind::Builtin, _) => "",
                (_, softmetal::Access::ReadOnly) => " read",
                (_, softmetal::Access::ReadWrite) => " read-write",
            };
            let condition = b.condition.as_ref().map_or(String::new(), |c| format!(" if {c}"));
            println!("  {place}{access}: {} {}{condition}", b.type_name, b.name);
        }
    }
    if a.json {
        println!("{}", serde_json::to_string_pretty(&all).unwrap_or_default());
    }
    Ok(true)
}
