//! Symbolisation: from a code address to the user's source line.

use std::path::{Path, PathBuf};

/// A place in the user's source.
#[derive(Debug, Clone, Default)]
pub struct SourceLocation {
    /// File.
    pub file: String,
    /// Line from 1, or 0.
    pub line: u32,
    /// Column from 1, or 0.
    pub column: u32,
}

/// The address range where a library is loaded, found by an address inside it.
#[cfg(target_os = "linux")]
pub fn image(inside: usize) -> std::ops::Range<usize> {
    struct Search {
        inside: usize,
        found: std::ops::Range<usize>,
    }
    unsafe extern "C" fn visit(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        data: *mut std::ffi::c_void,
    ) -> std::ffi::c_int {
        // SAFETY: the loader passes valid structs, and `data` is the Search below.
        unsafe {
            let (info, search) = (&*info, &mut *data.cast::<Search>());
            let headers = std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize);
            let loads = headers.iter().filter(|h| h.p_type == libc::PT_LOAD);
            let low = loads.clone().map(|h| info.dlpi_addr as usize + h.p_vaddr as usize).min().unwrap_or(0);
            let high =
                loads.map(|h| info.dlpi_addr as usize + (h.p_vaddr + h.p_memsz) as usize).max().unwrap_or(0);
            if (low..high).contains(&search.inside) {
                search.found = low..high;
                return 1;
            }
            0
        }
    }
    let mut search = Search { inside, found: 0..0 };
    // SAFETY: the callback only reads loader structs and writes to `search`.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    search.found
}

/// The address range where a library is loaded: unknown on this system.
#[cfg(not(target_os = "linux"))]
pub fn image(_inside: usize) -> std::ops::Range<usize> {
    0..0
}

/// Resolves addresses of one library; made when the first report needs it.
pub struct Symbols {
    path: PathBuf,
    base: usize,
}

impl Symbols {
    /// For the library at `path`, loaded at `base`.
    pub fn new(path: &Path, base: usize) -> Symbols {
        Symbols { path: path.to_path_buf(), base }
    }

    /// The innermost frame that is the user's own code.
    pub fn place(&self, pc: usize) -> SourceLocation {
        let Ok(loader) = addr2line::Loader::new(&self.path) else { return SourceLocation::default() };
        // A return address is one past the call.
        let probe = (pc.saturating_sub(self.base) as u64).saturating_sub(1);
        let Ok(mut frames) = loader.find_frames(probe) else { return SourceLocation::default() };
        while let Ok(Some(frame)) = frames.next() {
            if let Some(l) = frame.location
                && let Some(file) = l.file
                && !file.contains("/shim-")
                && !file.contains("softmetal-launch")
            {
                return SourceLocation {
                    file: file.to_string(),
                    line: l.line.unwrap_or(0),
                    column: l.column.unwrap_or(0),
                };
            }
        }
        SourceLocation::default()
    }
}
