//! A timeout for MPI's initialisation, which waits for every rank without a limit of its own.

use crate::launch::{Launch, launch};
use crate::process::is_alive;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Watches over the start of MPI. If the guard is still there after the time limit, it says which ranks are missing and ends the
/// process.
pub struct Guard {
    marks: Option<Marks>,
    done: Option<Sender<()>>,
}

impl Guard {
    pub fn new(limit: Duration) -> Guard {
        let marks = launch().map(Marks::new);
        let (done, ended) = channel();
        let watched = marks.clone();
        let watch = move || {
            if ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                give_up(watched.as_ref(), limit);
            }
        };
        let _ = std::thread::Builder::new().name("wootz-mpi-start".into()).spawn(watch);
        Guard { marks, done: Some(done) }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(done) = self.done.take() {
            let _ = done.send(());
        }
        if let Some(marks) = &self.marks {
            marks.remove();
        }
    }
}

/// Where ranks of one machine say that they have come: a folder with a file per rank, which holds the number of its process.
#[derive(Clone)]
struct Marks {
    launch: Launch,
    /// None if there cannot be one that only this user writes to.
    folder: Option<PathBuf>,
}

impl Marks {
    fn new(launch: Launch) -> Marks {
        let folder = private_folder(&format!("wootz-mpi-{}", launch.job)).ok();
        let marks = Marks { launch, folder };
        if let Some(mark) = marks.of(marks.launch.rank) {
            let _ = std::fs::write(mark, std::process::id().to_string());
        }
        marks
    }

    fn of(&self, rank: usize) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(rank.to_string()))
    }

    fn remove(&self) {
        let _ = self.of(self.launch.rank).map(std::fs::remove_file);
        // The last one removes the folder; it is not empty for the others.
        let _ = self.folder.as_ref().map(std::fs::remove_dir);
    }

    /// Whether a rank waits on this machine; the mark of a process that is gone is of an earlier start.
    fn has(&self, rank: usize) -> bool {
        let said = self.of(rank).and_then(|mark| std::fs::read_to_string(mark).ok());
        said.and_then(|pid| pid.parse().ok()).is_some_and(is_alive)
    }
}

/// A folder for temporary files that nobody else can write to, or read.
fn private_folder(name: &str) -> io::Result<PathBuf> {
    let folder = std::env::temp_dir();
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt, MetadataExt};
        let user = rustix::process::geteuid().as_raw();
        let folder = folder.join(format!("{name}-{user}"));
        match std::fs::DirBuilder::new().mode(0o700).create(&folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        // Somebody else may have made it, or a link.
        let found = std::fs::symlink_metadata(&folder)?;
        if found.is_dir() && found.uid() == user && found.mode() & 0o077 == 0 {
            return Ok(folder);
        }
        Err(io::ErrorKind::PermissionDenied.into())
    }
    #[cfg(not(unix))]
    Ok(folder.join(name))
}

/// Says on stderr what is missing and ends the process: the thread that could receive an error is inside MPI's
/// initialisation, which cannot be interrupted.
fn give_up(marks: Option<&Marks>, limit: Duration) -> ! {
    let seconds = limit.as_secs_f64();
    let Some((marks, size)) = marks.and_then(|marks| Some((marks, marks.launch.size?))) else {
        eprintln!("error: mpi: MPI has not started within {seconds} s");
        end();
    };
    let (here, missing): (Vec<usize>, Vec<usize>) = (0..size).partition(|&rank| marks.has(rank));
    let own = marks.launch.rank;
    // Once is enough: the first rank that is there speaks for all of this machine.
    if here.first().is_none_or(|&first| first == own) {
        let who = list(&missing);
        let cause = match missing.len() {
            0 => "all ranks have started, but the launcher has not connected them".into(),
            1 => format!("rank {who} has not started Wootz on this machine"),
            _ => format!("ranks {who} have not started Wootz on this machine"),
        };
        eprintln!("error: mpi: rank {own} of {size} waited {seconds} s for the others: {cause}");
        std::thread::sleep(Duration::from_millis(500));
        let _ = marks.folder.as_ref().map(std::fs::remove_dir_all);
    } else {
        // A launcher ends all ranks when the first one has ended: the one that speaks must have spoken by then.
        std::thread::sleep(Duration::from_secs(3));
    }
    end();
}

/// Ends the process at once: MPI's exit handlers would wait for the missing ranks.
fn end() -> ! {
    #[cfg(unix)]
    // SAFETY: ends the process; nothing is left to be kept in order.
    unsafe {
        libc::_exit(1)
    }
    #[cfg(not(unix))]
    std::process::exit(1)
}

/// Numbers for people.
pub fn list(ranks: &[usize]) -> String {
    ranks.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_folder_that_others_can_write_to_is_not_used() {
        let name = format!("wootz-mpi-test-{}", std::process::id());
        let folder = private_folder(&name).expect("a new one");
        assert_eq!(private_folder(&name).expect("the same again"), folder);
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777)).expect("it is ours");
        let refused = private_folder(&name);
        std::fs::remove_dir(&folder).expect("it is empty");
        std::os::unix::fs::symlink(std::env::temp_dir(), &folder).expect("a link");
        let linked = private_folder(&name);
        std::fs::remove_file(&folder).expect("the link goes");
        assert!(refused.is_err() && linked.is_err());
    }
}
