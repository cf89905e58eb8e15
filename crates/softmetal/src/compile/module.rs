//! A loaded kernel library.

use crate::error::{Error, Result};
use crate::exec::abi::{ArgInfo, GroupInfo, Lane, RUNTIME, Runtime, Visible};
use crate::source::thunk::LaunchStyle;
use std::ffi::CStr;
use std::path::PathBuf;

/// Where the code of a kernel is.
#[derive(Debug, Clone)]
pub struct Code {
    /// The library.
    pub path: PathBuf,
    /// Suffix of the kernel's symbols, if the library contains several kernels.
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
    /// Bytes of them, at the front, that are zero when a group begins.
    pub zeroed_memory: u32,
    /// One per parameter.
    pub arguments: Vec<ArgInfo>,
    /// Functions that tables may hold, by name.
    pub visible: Vec<(String, u64)>,
    /// Whether single-precision denormals are flushed while it runs.
    pub flushes_denormals: bool,
    /// Where the library lies on disk.
    pub path: PathBuf,
    _library: libloading::Library,
}

impl Module {
    /// Loads a kernel from a library that [`crate::compile::clang::Compiler`] made. A library of several kernels from
    /// source has no threadgroup variables.
    pub fn load(code: &Code, launch: LaunchStyle, parameters: usize) -> Result<Module> {
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
            // A kernel from a metallib has a size of its own.
            let memory = library.get::<*const u32>(own("softmetal_static_memory").as_bytes());
            let memory = memory.or_else(|_| library.get(b"softmetal_static_memory\0")).map_err(fail)?;
            let static_memory = **memory;
            let zeroed = library.get::<*const u32>(own("softmetal_zeroed_memory").as_bytes());
            let zeroed_memory = zeroed.map_or(0, |z| **z);
            let table =
                *library.get::<*const ArgInfo>(own("softmetal_arguments").as_bytes()).map_err(fail)?;
            let arguments = std::slice::from_raw_parts(table, parameters).to_vec();
            let entry = match launch {
                LaunchStyle::Group => {
                    EntryPoint::Group(*library.get(own("softmetal_group").as_bytes()).map_err(fail)?)
                }
                LaunchStyle::Lane => {
                    EntryPoint::Lane(*library.get(own("softmetal_lane").as_bytes()).map_err(fail)?)
                }
            };
            let flushes_denormals = false;
            let visible = library.get::<*const Visible>(own("softmetal_visible").as_bytes());
            let visible = visible.map_or_else(|_| Vec::new(), |first| visible_functions(*first));
            Ok(Module {
                entry,
                static_memory,
                zeroed_memory,
                arguments,
                visible,
                flushes_denormals,
                path: path.clone(),
                _library: library,
            })
        }
    }
}

/// Names and addresses up to the empty one.
///
/// # Safety
/// `first` begins a table of the launch code in source/thunk.rs.
unsafe fn visible_functions(first: *const Visible) -> Vec<(String, u64)> {
    // SAFETY: the table ends with a null name, and its names are C strings of the library.
    unsafe {
        (0..)
            .map(|i| &*first.add(i))
            .take_while(|v| !v.name.is_null())
            .map(|v| (CStr::from_ptr(v.name).to_string_lossy().into_owned(), v.address as u64))
            .collect()
    }
}
