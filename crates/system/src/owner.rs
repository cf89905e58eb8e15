//! Whose files these are: a cache uses only what its own user has written.

pub(crate) use system::{create, open_own, private, private_file};

#[cfg(unix)]
mod system {
    use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
    use std::io::Result;
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
    use std::path::Path;

    fn ours(about: &Metadata) -> bool {
        // SAFETY: geteuid has no preconditions and cannot fail.
        about.uid() == unsafe { libc::geteuid() }
    }

    /// Creates a folder and its parents, accessible to this user alone.
    pub(crate) fn create(folder: &Path) -> Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)
    }

    /// Whether the folder is this user's. Takes away other users' permission to write to it.
    pub(crate) fn private(folder: &Path) -> bool {
        let Ok(about) = std::fs::metadata(folder) else { return false };
        let mode = about.mode() & 0o7777;
        let closed = mode & 0o022 == 0;
        ours(&about)
            && (closed || std::fs::set_permissions(folder, Permissions::from_mode(mode & !0o022)).is_ok())
    }

    /// Opens a regular file of this user, in a folder of this user, that others cannot write to.
    pub(crate) fn open_own(path: &Path) -> Option<File> {
        let folder = std::fs::metadata(path.parent()?).ok()?;
        let file =
            File::options().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path).ok()?;
        let about = file.metadata().ok()?;
        (about.is_file() && ours(&folder) && ours(&about) && about.mode() & 0o002 == 0).then_some(file)
    }

    /// Options that create a file which only this user can read.
    pub(crate) fn private_file() -> OpenOptions {
        let mut options = File::options();
        options.mode(0o600);
        options
    }
}

/// Other systems keep a user's cache folder in a home folder that is closed to others already.
#[cfg(not(unix))]
mod system {
    use std::fs::{File, OpenOptions};
    use std::path::Path;

    pub(crate) fn create(folder: &Path) -> std::io::Result<()> {
        std::fs::create_dir_all(folder)
    }

    pub(crate) fn private(folder: &Path) -> bool {
        folder.is_dir()
    }

    pub(crate) fn open_own(path: &Path) -> Option<File> {
        File::open(path).ok()
    }

    pub(crate) fn private_file() -> OpenOptions {
        File::options()
    }
}
