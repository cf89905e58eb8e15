//! A loaded kernel library.

use crate::error::{Error, Result};
use crate::exec::abi::{ArgInfo, GroupInfo, Lane, RUNTIME, Runtime};
use crate::source::thunk::Launch;
use std::path::PathBuf;

/// Where the code of a kernel is.
#[derive(Debug, Clone)]
pub struct Code {
    /// The library.
    pub path: PathBuf,
    /// What the kernel's symbols end in, where the library holds several.
    pub suffix: String,
}

/// How the kernel is entered.
#[derive(Debug, Clone, Copy)]
pub enum EntryPoint {
    /// Runs a whole threadgroup.
    Group(unsafe extern "C" fn(*const GroupInfo)),
    /// Runs one thread.
    Lane(unsafe extern "C" fn(*const Lane)),
}

/// Code of one kernel in this process. Unloaded when dropped.
#[derive(Debug)]
pub struct Module {
    /// The entry point.
    pub entry: EntryPoint,
    /// Bytes of threadgroup variables.
    pub static_memory: u32,
    /// One per parameter.
    pub arguments: Vec<ArgInfo>,
    /// Where the library lies on disk.
    pub path: PathBuf,
    _library: libloading::Library,
}

impl Module {
    /// Loads a kernel from a library that [`crate::compile::clang::Compiler`] made. A library of several kernels has no threadgroup
    /// variables.
    pub fn load(code: &Code, launch: Launch, parameters: usize) -> Result<Module> {
        let path = &code.path;
        let fail = |e: libloading::Error| Error::Tool {
            step: "loading a compiled kernel",
            message: format!("{}: {e}", path.display()),
        };
        let own = |name: &str| format!("{name}{}\0", code.suffix);
        // SAFETY: the library is our own compiler's output; its constructors only place threadgroup variables.
        let library = unsafe { libloading::Library::new(path) }.map_err(fail)?;
        // SAFETY: the symbols have the types that the launch code in source/thunk.rs gives them.
        unsafe {
            let attach =
                library.get::<unsafe extern "C" fn(*const Runtime)>(b"softmetal_attach\0").map_err(fail)?;
            attach(&RUNTIME);
            let static_memory = **library.get::<*const u32>(b"softmetal_static_memory\0").map_err(fail)?;
            let table =
                *library.get::<*const ArgInfo>(own("softmetal_arguments").as_bytes()).map_err(fail)?;
            let arguments = std::slice::from_raw_parts(table, parameters).to_vec();
            let entry = match launch {
                Launch::Group => {
                    EntryPoint::Group(*library.get(own("softmetal_group").as_bytes()).map_err(fail)?)
                }
                Launch::Lane => {
                    EntryPoint::Lane(*library.get(own("softmetal_lane").as_bytes()).map_err(fail)?)
                }
            };
            Ok(Module { entry, static_memory, arguments, path: path.clone(), _library: library })
        }
    }
}
