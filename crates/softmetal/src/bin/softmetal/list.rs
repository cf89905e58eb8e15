//! `softmetal list`

use crate::args::{ListArgs, open};
use softmetal::{Access, Binding, BindingKind, Device, Error, Result};

/// Prints kernels and their bindings.
pub fn list(a: &ListArgs) -> Result<bool> {
    let device = Device::new(a.source.device()?)?;
    let library = open(&device, &a.file, &a.source)?;
    let mut all = Vec::new();
    let names = library.function_names();
    if a.names {
        print_names(&names, a.json);
        return Ok(true);
    }
    // In batches: a metallib may have thousands of kernels, each with its disassembly.
    for part in names.chunks(256) {
        for (name, f) in part.iter().zip(library.functions_unspecialised(part)) {
            match f {
                Ok(f) if a.json => {
                    all.push(serde_json::json!({ "kernel": name, "bindings": f.bindings() }));
                }
                Ok(f) => print_kernel(name, f.bindings()),
                // One that cannot run must not keep the others from being listed.
                Err(e @ Error::Metallib { .. }) => eprintln!("softmetal: {e}"),
                Err(e) => return Err(e),
            }
        }
    }
    for (name, why) in library.other_functions() {
        if a.json {
            all.push(serde_json::json!({ "function": name, "not_run": why }));
        } else {
            println!("{name}\n  not run: {why}");
        }
    }
    if a.json {
        println!("{}", serde_json::to_string_pretty(&all).unwrap_or_default());
    }
    Ok(true)
}

fn print_kernel(name: &str, bindings: &[Binding]) {
    println!("{name}");
    for b in bindings {
        let place = match b.kind {
            BindingKind::Buffer => format!("buffer({})", b.index),
            BindingKind::Constant => format!("buffer({}) constant", b.index),
            BindingKind::Threadgroup => format!("threadgroup({})", b.index),
            BindingKind::Builtin => b.attribute.clone(),
            BindingKind::Texture => format!("texture({})", b.index),
            BindingKind::Sampler => format!("sampler({})", b.index),
        };
        let access = match (b.kind, b.access) {
            (BindingKind::Builtin, _) => "",
            (_, Access::ReadOnly) => " read",
            (_, Access::ReadWrite) => " read-write",
            (_, Access::WriteOnly) => " write",
        };
        let condition = b.condition.as_ref().map_or(String::new(), |c| format!(" if {c}"));
        println!("  {place}{access}: {} {}{condition}", b.type_name, b.name);
    }
}

fn print_names(names: &[String], json: bool) {
    if json {
        println!("{}", serde_json::to_string_pretty(names).unwrap_or_default());
        return;
    }
    for name in names {
        println!("{name}");
    }
}
