//! Finding and opening an MPI library.

use crate::abi::Abi;
use crate::failed;
use crate::messages::Messages;
use std::path::PathBuf;
use std::sync::Arc;
use wootz_ir::Result;

/// What was found.
#[derive(Clone, Debug)]
pub struct LibraryInfo {
    /// The file, or the name by which the system found it.
    pub path: String,
    /// Its ABI.
    pub abi: Abi,
    /// Its version string, in one line.
    pub version: String,
}

/// The environment variable that names a library.
pub const LIBRARY: &str = "WOOTZ_MPI_LIBRARY";

/// A library that is open for the rest of the process.
pub struct Library {
    pub info: LibraryInfo,
    pub messages: Arc<dyn Messages>,
    /// Starts MPI; whether that was done here and not by somebody else in this process.
    pub start: Box<dyn FnOnce() -> Result<bool> + Send>,
}

/// The library that would be used, without starting it.
pub fn find() -> Result<LibraryInfo> {
    #[cfg(unix)]
    return unix::open().map(|opened| opened.info().clone());
    #[cfg(not(unix))]
    Err(failed("MPI libraries can be loaded on Unix systems only"))
}

/// Opens the library.
pub fn open() -> Result<Library> {
    #[cfg(unix)]
    return unix::open()?.library();
    #[cfg(not(unix))]
    Err(failed("MPI libraries can be loaded on Unix systems only"))
}

/// Names of libraries, in the order in which they are tried: those of the launcher that started this process come first.
pub fn candidates(by: Option<Abi>) -> Vec<PathBuf> {
    if let Some(named) = std::env::var_os(LIBRARY) {
        return vec![PathBuf::from(named)];
    }
    let mut names: Vec<&str> = if cfg!(target_os = "macos") {
        vec!["libmpi.12.dylib", "libmpi_abi.1.dylib", "libmpi_abi.0.dylib", "libmpi.40.dylib"]
    } else {
        vec!["libmpi.so.12", "libmpich.so.12", "libmpi_abi.so.1", "libmpi_abi.so.0", "libmpi.so.40"]
    };
    if by == Some(Abi::OpenMpi) {
        names.rotate_right(1);
    }
    // What pip and other package managers install is not where the loader looks, but beside its launcher.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let beside = std::env::split_paths(&path)
        .filter(|folder| ["mpiexec", "mpirun"].iter().any(|name| folder.join(name).exists()))
        .filter_map(|folder| Some(folder.parent()?.join("lib")));
    let folders: Vec<PathBuf> = beside.collect();
    let found = |name: &&str| folders.iter().map(|f| f.join(name)).find(|file| file.exists());
    names.iter().flat_map(|name| found(name).into_iter().chain([PathBuf::from(name)])).collect()
}

/// What there is to say where no library was found.
fn none_found(tried: &[String]) -> wootz_ir::Error {
    failed(format!(
        "no MPI library was found (tried {}); install one (Debian: mpich or openmpi-bin; pip install mpich) or name its file in {LIBRARY}",
        tried.join(", ")
    ))
}

#[cfg(unix)]
mod unix {
    use super::{Library, LibraryInfo, candidates, none_found};
    use crate::abi::{self, Abi, Constants, Handle};
    use crate::calls::Functions;
    use crate::failed;
    use crate::launch::launch;
    use crate::messages::Typed;
    use libloading::os::unix::{Library as Opened, RTLD_GLOBAL, RTLD_LAZY, RTLD_NOW};
    use std::ffi::{c_char, c_int, c_void};
    use std::path::Path;
    use std::sync::Arc;
    use wootz_ir::Result;

    /// Libraries that are loaded already: dlopen's flag, which libloading does not name.
    #[cfg(target_os = "linux")]
    const RTLD_NOLOAD: c_int = 4;
    #[cfg(target_vendor = "apple")]
    const RTLD_NOLOAD: c_int = 0x10;
    #[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
    const RTLD_NOLOAD: c_int = 0;

    pub struct Found {
        opened: Opened,
        info: LibraryInfo,
    }

    /// The library that this process has loaded already (mpi4py may have), or the first that can be.
    pub fn open() -> Result<Found> {
        let launcher = launch().and_then(|launch| launch.launcher.abi());
        let candidates = candidates(launcher);
        let mut tried = Vec::new();
        for flags in [RTLD_LAZY | RTLD_NOLOAD, RTLD_NOW | RTLD_GLOBAL] {
            for path in &candidates {
                // SAFETY: loading runs the library's initialisers, which is what the user asks for.
                match unsafe { Opened::open(Some(path), flags) } {
                    // Open MPI's own plugins look for its symbols in the global scope.
                    Ok(loaded) if flags & RTLD_NOLOAD != 0 => {
                        // SAFETY: the library is loaded already; only the scope of its symbols changes.
                        let kept = unsafe { Opened::open(Some(path), RTLD_NOW | RTLD_GLOBAL) };
                        return identify(kept.unwrap_or(loaded), path);
                    }
                    Ok(opened) => return identify(opened, path),
                    Err(_) if flags & RTLD_NOLOAD != 0 => {}
                    Err(error) if path.exists() => {
                        return Err(failed(format!("cannot load {}: {error}", path.display())));
                    }
                    Err(_) => tried.push(path.display().to_string()),
                }
            }
        }
        Err(none_found(&tried))
    }

    fn symbol(opened: &Opened, name: &str) -> Result<*const c_void> {
        // SAFETY: only the address is taken.
        let found = unsafe { opened.get::<*const c_void>(name.as_bytes()) };
        found
            .map(|symbol| symbol.as_raw_ptr().cast_const())
            .map_err(|error| failed(format!("{name}: {error}")))
    }

    /// Which interface a library has, and what it says about itself.
    fn identify(opened: Opened, path: &Path) -> Result<Found> {
        let name = path.display().to_string();
        let Ok(version) = symbol(&opened, "MPI_Get_library_version") else {
            return Err(failed(format!("{name} is not an MPI library: it has no MPI_Get_library_version")));
        };
        // SAFETY: this is that function, which may be called before MPI is started.
        let version: unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int =
            unsafe { std::mem::transmute(version) };
        let mut text = [0u8; 8192];
        let mut length = 0;
        // SAFETY: the standard says that no version is longer.
        unsafe { version(text.as_mut_ptr().cast(), &mut length) };
        let length = (length.max(0) as usize).min(text.len());
        let said = String::from_utf8_lossy(&text[..length]).replace(['\0', '\t'], " ");
        let line = said.lines().next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
        let kin = ["MPICH", "Intel(R) MPI", "MVAPICH", "CRAY MPICH"];
        let abi = if symbol(&opened, "ompi_mpi_comm_world").is_ok() {
            Abi::OpenMpi
        } else if standard(&opened) {
            Abi::Standard
        } else if kin.iter().any(|name| said.contains(name)) {
            Abi::Mpich
        } else {
            let problem = format!(
                "{name} has neither MPICH's, Open MPI's nor the MPI 5 interface; it identifies itself as: {line}"
            );
            return Err(failed(problem));
        };
        Ok(Found { opened, info: LibraryInfo { path: name, abi, version: line } })
    }

    /// Whether a library says that its interface is the standard's.
    fn standard(opened: &Opened) -> bool {
        let Ok(function) = symbol(opened, "MPI_Abi_get_version") else { return false };
        // SAFETY: this is that function, which may be called before MPI is started.
        let function: unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int =
            unsafe { std::mem::transmute(function) };
        let (mut major, mut minor) = (-1, -1);
        // SAFETY: two integers to write to.
        unsafe { function(&mut major, &mut minor) == 0 && major >= 1 }
    }

    impl Found {
        pub fn info(&self) -> &LibraryInfo {
            &self.info
        }

        pub fn library(self) -> Result<Library> {
            match self.info.abi {
                Abi::Mpich => self.typed(abi::mpich()),
                Abi::Standard => self.typed(abi::standard()),
                Abi::OpenMpi => {
                    let constants = abi::open_mpi(|name| {
                        symbol(&self.opened, name).map(|address| address.expose_provenance())
                    })?;
                    self.typed(constants)
                }
            }
        }

        fn typed<H: Handle>(self, constants: Constants<H>) -> Result<Library> {
            // SAFETY: the library's handles are those of its interface, and it stays loaded.
            let functions = unsafe { Functions::<H>::load(|name| symbol(&self.opened, name)) }?;
            // MPI cannot be unloaded: its threads and exit handlers stay.
            std::mem::forget(self.opened);
            let typed = Arc::new(Typed::new(functions, constants));
            let starter = typed.clone();
            Ok(Library { info: self.info, messages: typed, start: Box::new(move || starter.start()) })
        }
    }
}
