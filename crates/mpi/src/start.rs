//! How this process was started, and a guard over the start of MPI, which waits for every rank.

use crate::abi::Abi;
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// What a launcher told this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Its rank.
    pub rank: usize,
    /// How many ranks were started.
    pub size: usize,
    /// Whose launcher it was.
    pub abi: Abi,
    /// What all ranks of one start share, on one machine.
    job: String,
}

/// The launcher's word, if this process was started by one.
pub fn launch() -> Option<Launch> {
    let number = |name: &str| std::env::var(name).ok()?.parse::<usize>().ok();
    let text = |name: &str| std::env::var(name).ok();
    if let (Some(rank), Some(size)) = (number("OMPI_COMM_WORLD_RANK"), number("OMPI_COMM_WORLD_SIZE")) {
        let job = text("PMIX_NAMESPACE").unwrap_or_default().replace(['/', '\\'], "-");
        return Some(Launch { rank, size, abi: Abi::OpenMpi, job });
    }
    if let (Some(rank), Some(size)) = (number("PMI_RANK"), number("PMI_SIZE")) {
        // Ranks of one machine have one parent, unless something stands between.
        return Some(Launch { rank, size, abi: Abi::Mpich, job: parent() });
    }
    None
}

fn parent() -> String {
    #[cfg(unix)]
    return std::os::unix::process::parent_id().to_string();
    #[cfg(not(unix))]
    String::new()
}

/// Watches over the start of MPI: the library waits for every rank, without a limit of its own. If the guard is still there
/// after the time limit, it says which ranks are missing and ends the process.
pub struct Guard {
    launch: Option<Launch>,
    done: Option<Sender<()>>,
}

impl Guard {
    pub fn new(limit: Duration) -> Guard {
        let launch = launch();
        if let Some(launch) = &launch {
            let _ = std::fs::create_dir_all(launch.folder());
            let _ = std::fs::write(launch.mark(launch.rank), b"");
        }
        let (done, ended) = channel();
        let watched = launch.clone();
        let watch = move || {
            if ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                give_up(watched.as_ref(), limit);
            }
        };
        let _ = std::thread::Builder::new().name("wootz-mpi-start".into()).spawn(watch);
        Guard { launch, done: Some(done) }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(done) = self.done.take() {
            let _ = done.send(());
        }
        if let Some(launch) = &self.launch {
            let _ = std::fs::remove_file(launch.mark(launch.rank));
            // The last one removes the folder; it is not empty for the others.
            let _ = std::fs::remove_dir(launch.folder());
        }
    }
}

impl Launch {
    /// Where ranks of one machine say that they have come. What is in there is only ever asked for its name.
    fn folder(&self) -> PathBuf {
        std::env::temp_dir().join(format!("wootz-mpi-{}", self.job))
    }

    fn mark(&self, rank: usize) -> PathBuf {
        self.folder().join(rank.to_string())
    }

    fn missing(&self) -> Vec<usize> {
        (0..self.size).filter(|&rank| !self.mark(rank).exists()).collect()
    }
}

fn give_up(launch: Option<&Launch>, limit: Duration) -> ! {
    let seconds = limit.as_secs_f64();
    let Some(launch) = launch else {
        eprintln!("error: mpi: MPI has not started within {seconds} s");
        end();
    };
    let missing = launch.missing();
    // Once is enough: the first rank that is there speaks for all of this machine.
    let first = (0..launch.size).find(|rank| !missing.contains(rank));
    if first == Some(launch.rank) {
        let who = list(&missing);
        let cause = match missing.len() {
            0 => "all ranks have started, but the launcher does not bring them together".into(),
            1 => format!("rank {who} has not started Wootz on this machine"),
            _ => format!("ranks {who} have not started Wootz on this machine"),
        };
        eprintln!(
            "error: mpi: rank {} of {} waited {seconds} s for the others: {cause}",
            launch.rank, launch.size
        );
        std::thread::sleep(Duration::from_millis(500));
        let _ = std::fs::remove_dir_all(launch.folder());
    } else {
        // A launcher ends all ranks when the first one has ended: the one that speaks must have spoken by then.
        std::thread::sleep(Duration::from_secs(3));
    }
    end();
}

/// Ends the process at once: exit handlers of MPI would wait for the ranks that are missing.
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
