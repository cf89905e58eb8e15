//! Cache files: losing one costs time, trusting a bad one could cost everything, because drivers and loaders take
//! their content as it is.
//!
//! A file is used only if it belongs to this user, in a folder of this user, and its SHA-256 is right: the last line
//! of a file that Wootz writes ([`read`], [`write()`]), or a file beside one that another program writes ([`Making`],
//! [`holds`]). Anything else counts as missing, and is replaced. Files are written under another name, synced and
//! renamed; other users can neither read them nor write to their folder.

use crate::files::{beside, replace_by};
use crate::inject::file;
use crate::owner;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{BufWriter, Error, Read, Result, Write};
use std::path::{Path, PathBuf};

/// Length of the last line of a file: its name, 64 digits, and a line break.
const SEAL: usize = "sha256 ".len() + 64 + 1;

/// The folder of a kind of cache files, `~/.cache/wootz/KIND` on Linux; `None` if the user has no home folder.
pub fn folder(kind: &str) -> Option<PathBuf> {
    Some(user_folder()?.join("wootz").join(kind))
}

/// The folder that this user's cache files belong in: `XDG_CACHE_HOME`, or the system's convention.
pub fn user_folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || set("HOME").or_else(|| set("USERPROFILE"));
    let usual = if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" };
    set("XDG_CACHE_HOME").or_else(|| home().map(|home| home.join(usual)))
}

/// Creates a folder if necessary, and denies other users to write to it. An error if it is not this user's.
pub fn claim(folder: &Path) -> Result<()> {
    owner::create(folder)?;
    if owner::private(folder) {
        return Ok(());
    }
    Err(Error::other("the folder belongs to another user, or others can write to it"))
}

/// Opens a cache file for reading if it is this user's.
pub fn open(path: &Path) -> Result<File> {
    file()?;
    owner::open_own(path).ok_or_else(|| Error::other("it is missing, or another user's"))
}

/// The content given to [`write()`], if the file is intact and this user's. A damaged one is logged: it is written
/// again as soon as its content is known.
pub fn read(path: &Path) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    open(path).ok()?.read_to_end(&mut content).ok()?;
    let intact = unsealed(content);
    if intact.is_none() {
        log::warn!("{} is damaged; it is ignored and written again", path.display());
    }
    intact
}

/// The content above a checksum that matches it.
fn unsealed(mut content: Vec<u8>) -> Option<Vec<u8>> {
    let line = content.split_off(content.len().checked_sub(SEAL)?);
    (line == seal(&content).as_bytes()).then_some(content)
}

/// Like [`read`], for text.
pub fn read_text(path: &Path) -> Option<String> {
    String::from_utf8(read(path)?).ok()
}

/// Writes a file for [`read`]. Creates its folder if necessary.
pub fn write(path: &Path, content: &[u8]) -> Result<()> {
    store(path, |out| {
        out.write_all(content)?;
        out.write_all(seal(content).as_bytes())
    })
}

/// Writes a file whose format has a checksum of its own. Creates its folder if necessary.
pub fn store(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> Result<()>) -> Result<()> {
    claim(parent(path))?;
    replace_by(owner::private_file(), path, write)
}

/// A file that another program writes. Dropped before [`Making::finish`], it leaves nothing.
pub struct Making {
    path: PathBuf,
    /// A folder for this file alone.
    room: PathBuf,
}

impl Making {
    /// Prepares for a file at `path`. Creates its folder if necessary.
    pub fn new(path: &Path) -> Result<Making> {
        claim(parent(path))?;
        file()?;
        let room = beside(path);
        owner::create(&room)?;
        Ok(Making { path: path.to_path_buf(), room })
    }

    /// Where to write the file until then. It has the same file name.
    pub fn temporary(&self) -> PathBuf {
        self.room.join(self.path.file_name().unwrap_or_default())
    }

    /// Moves the file into place, with its checksum in a file beside it.
    pub fn finish(self) -> Result<()> {
        file()?;
        let mut made = File::open(self.temporary())?;
        // If two processes make the file at once, the checksum may be the other's: it is then made once more.
        let sum = checksum(&mut made)?;
        store(&sum_of(&self.path), |out| out.write_all(sum.as_bytes()))?;
        made.sync_all()?;
        file()?;
        std::fs::rename(self.temporary(), &self.path)
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.room);
    }
}

/// Whether a file finished by [`Making`] is there, intact, and this user's. Removes it if it is not.
pub fn holds(path: &Path) -> bool {
    let expected = || -> Result<bool> {
        let sum = checksum(&mut open(path)?)?;
        let mut expected = String::new();
        open(&sum_of(path))?.read_to_string(&mut expected)?;
        Ok(sum == expected)
    };
    let whole = expected().unwrap_or(false);
    if !whole && path.symlink_metadata().is_ok() {
        // If it cannot be removed, renaming a new one over it will say why.
        let _ = std::fs::remove_file(path);
    }
    whole
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn sum_of(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".sha256");
    path.with_file_name(name)
}

fn seal(content: &[u8]) -> String {
    format!("sha256 {}\n", hex(&Sha256::digest(content)))
}

fn checksum(file: &mut File) -> Result<String> {
    let mut sum = Sha256::new();
    std::io::copy(file, &mut Sum(&mut sum))?;
    Ok(hex(&sum.finalize()))
}

struct Sum<'a>(&'a mut Sha256);

impl Write for Sum<'_> {
    fn write(&mut self, data: &[u8]) -> Result<usize> {
        self.0.update(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_file_counts_as_missing_and_is_replaced() -> Result<()> {
        let home = tempfile::tempdir()?;
        let path = home.path().join("kind").join("file");
        assert_eq!(read(&path), None);
        write(&path, b"pipelines")?;
        assert_eq!(read(&path).as_deref(), Some(&b"pipelines"[..]));
        let whole = std::fs::read(&path)?;
        for at in 0..whole.len() {
            std::fs::write(&path, &whole[..at])?;
            assert_eq!(read(&path), None, "cut at {at}");
            let mut flipped = whole.clone();
            flipped[at] ^= 1;
            std::fs::write(&path, &flipped)?;
            assert_eq!(read(&path), None, "flipped at {at}");
        }
        write(&path, b"again")?;
        assert_eq!(read_text(&path).as_deref(), Some("again"));
        Ok(())
    }

    #[test]
    fn threads_that_write_at_once_leave_one_intact_file() -> Result<()> {
        let home = tempfile::tempdir()?;
        let path = &home.path().join("file");
        std::thread::scope(|scope| {
            for i in 0..4u8 {
                scope.spawn(move || (0..5).for_each(|_| write(path, &[i; 5000]).expect("written")));
            }
        });
        assert!(read(path).is_some_and(|content| content.len() == 5000));
        assert_eq!(std::fs::read_dir(home.path())?.count(), 1, "nothing is left beside it");
        Ok(())
    }

    #[test]
    fn files_of_other_programs_have_their_checksum_beside_them() -> Result<()> {
        let home = tempfile::tempdir()?;
        let path = home.path().join("library.so");
        let build = |content: &[u8]| {
            let making = Making::new(&path)?;
            std::fs::write(making.temporary(), content)?;
            making.finish()
        };
        assert!(!holds(&path));
        build(b"code")?;
        assert!(holds(&path));
        std::fs::write(&path, b"cod")?;
        assert!(!holds(&path) && !path.exists(), "a truncated file is removed");
        build(b"code")?;
        std::fs::remove_file(sum_of(&path))?;
        assert!(!holds(&path), "nobody says what it should be");
        drop(Making::new(&path)?);
        assert_eq!(std::fs::read_dir(home.path())?.count(), 0, "nothing is left of a file that was not made");
        Ok(())
    }

    #[cfg(unix)]
    #[test]
    fn what_others_could_have_written_is_not_used() -> Result<()> {
        use std::fs::{Permissions, set_permissions};
        use std::os::unix::fs::{PermissionsExt, chown, symlink};
        let home = tempfile::tempdir()?;
        let folder = home.path().join("kind");
        let path = folder.join("file");
        write(&path, b"mine")?;
        let mode = |path: &Path| Ok::<_, Error>(std::fs::metadata(path)?.permissions().mode() & 0o777);
        assert_eq!((mode(&folder)?, mode(&path)?), (0o700, 0o600), "closed to others");

        set_permissions(&path, Permissions::from_mode(0o666))?;
        assert_eq!(read(&path), None, "anyone could have written it");
        set_permissions(&path, Permissions::from_mode(0o600))?;
        symlink(&path, folder.join("link"))?;
        assert_eq!(read(&folder.join("link")), None, "a link may lead anywhere");
        set_permissions(&folder, Permissions::from_mode(0o777))?;
        write(&path, b"mine")?;
        assert_eq!(mode(&folder)?, 0o755, "others can no longer write to the folder");

        // Only root can give files away.
        if chown(&path, Some(12345), None).is_ok() {
            assert_eq!(read(&path), None, "another user's file");
            write(&path, b"mine")?;
            assert_eq!(read(&path).as_deref(), Some(&b"mine"[..]));
            chown(&folder, Some(12345), None)?;
            assert_eq!(read(&path), None, "another user's folder");
            assert!(write(&path, b"mine").is_err());
        }
        Ok(())
    }
}
