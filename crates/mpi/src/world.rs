//! All ranks of this start, and what is known about them.

use crate::failed;
use crate::group::Group;
use crate::header::{Header, Operation};
use crate::library::{self, LibraryInfo};
use crate::messages::{Comm, Messages};
use crate::start::{Guard, launch};
use crate::waiting::{Calls, Patience};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use wootz_ir::{Error, Result};

/// The time limit's environment variable, in seconds, and what holds without it.
const TIMEOUT: &str = "WOOTZ_MPI_TIMEOUT";
const DEFAULT_TIMEOUT: f64 = 300.0;

/// Where a rank runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    pub host: String,
    /// Processes with the same space can be asked for by their id.
    pub space: String,
    pub pid: u32,
}

/// Bytes in which a peer is told to the others.
const PEER: usize = 256;

impl Peer {
    fn here() -> Peer {
        #[cfg(unix)]
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        #[cfg(not(unix))]
        let host = String::from("localhost");
        // Containers on one machine count their processes apart.
        let space = std::fs::read_link("/proc/self/ns/pid");
        let space = space.map_or_else(|_| host.clone(), |link| format!("{host} {}", link.display()));
        Peer { host, space, pid: std::process::id() }
    }

    fn encode(&self) -> [u8; PEER] {
        let mut bytes = [0; PEER];
        let text = format!("{}\n{}\n{}", self.pid, self.host, self.space);
        let length = text.len().min(PEER);
        bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
        bytes
    }

    fn decode(bytes: &[u8]) -> Peer {
        let text = String::from_utf8_lossy(bytes);
        let mut lines = text.trim_end_matches('\0').splitn(3, '\n');
        let pid = lines.next().and_then(|pid| pid.parse().ok()).unwrap_or(0);
        let mut next = || lines.next().unwrap_or_default().to_string();
        Peer { host: next(), space: next(), pid }
    }
}

/// All ranks.
pub struct World {
    pub(crate) messages: Arc<dyn Messages>,
    /// Where failures are told and ranks are called.
    pub(crate) control: Comm,
    pub(crate) calls: Calls,
    pub(crate) peers: OnceLock<Vec<Peer>>,
    pub(crate) limit: Duration,
    failure: OnceLock<Error>,
    /// The rank that has ended or does not answer, if that is what went wrong.
    lost: OnceLock<usize>,
    group: OnceLock<Group>,
    library: LibraryInfo,
    rank: usize,
    size: usize,
    /// Whether MPI was started here, and so is ended here.
    ours: bool,
    ended: AtomicBool,
}

/// The one world of a process, or why there is none.
static WORLD: Mutex<Option<Result<Arc<World>>>> = Mutex::new(None);

impl World {
    /// Starts MPI, the first time; afterwards it is the same world, or the same error.
    pub fn init() -> Result<Arc<World>> {
        WORLD.lock().get_or_insert_with(World::start).clone()
    }

    /// The world, if MPI has been started.
    pub fn current() -> Option<Arc<World>> {
        WORLD.lock().as_ref()?.as_ref().ok().cloned()
    }

    fn start() -> Result<Arc<World>> {
        let limit = time_limit()?;
        let library = library::open()?;
        let guard = Guard::new(limit);
        let ours = (library.start)()?;
        let messages = library.messages;
        let everyone = messages.world();
        let (rank, size) = (messages.rank(everyone)?, messages.size(everyone)?);
        if let Some(launch) = launch().filter(|launch| launch.size != size) {
            return Err(failed(format!(
                "the launcher of {} started {} ranks, but {} ({}) sees {size}: name the launcher's own library in {}",
                launch.abi.name(),
                launch.size,
                library.info.path,
                library.info.version,
                library::LIBRARY,
            )));
        }
        let data = messages.split(everyone, 0, rank as i32)?;
        let control = messages.split(everyone, 0, rank as i32)?;
        drop(guard);
        let world = Arc::new(World {
            messages,
            control,
            calls: Calls::default(),
            peers: OnceLock::new(),
            limit,
            failure: OnceLock::new(),
            lost: OnceLock::new(),
            group: OnceLock::new(),
            library: library.info,
            rank,
            size,
            ours,
            ended: AtomicBool::new(false),
        });
        let group = Group::new(world.clone(), data, rank, (0..size).collect());
        let peers = group.gather_fixed(&Peer::here().encode())?;
        let _ = world.peers.set(peers.chunks(PEER).map(Peer::decode).collect());
        let _ = world.group.set(group);
        at_exit();
        Ok(world)
    }

    /// All ranks as a group.
    pub fn group(&self) -> &Group {
        self.group.get().expect("the group of all ranks is made at the start")
    }

    /// This process's rank.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// How many ranks there are.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The library.
    pub fn library(&self) -> &LibraryInfo {
        &self.library
    }

    /// How long a rank is waited for.
    pub fn time_limit(&self) -> Duration {
        self.limit
    }

    /// A rank with its process, for messages.
    pub(crate) fn name(&self, rank: usize) -> String {
        match self.peers.get().and_then(|peers| peers.get(rank)) {
            Some(peer) => format!("rank {rank} (process {} on {})", peer.pid, peer.host),
            None => format!("rank {rank}"),
        }
    }

    /// What has gone wrong, if something has.
    pub fn failure(&self) -> Option<&Error> {
        self.failure.get()
    }

    /// Fails if something has gone wrong before. No call of MPI is made after that, so that nothing is written any more to the
    /// buffers of operations that were under way.
    pub(crate) fn ready(&self) -> Result<()> {
        self.failure().map_or(Ok(()), |known| Err(known.clone()))
    }

    /// Fails with the first failure's words from now on.
    pub(crate) fn note(&self, error: Error) -> Error {
        self.failure.get_or_init(|| error).clone()
    }

    /// Tells every rank that this one cannot go on, so that none waits for it; returns what every later call fails with.
    pub fn abandon(&self, cause: &str) -> Error {
        self.abandon_without(cause, None)
    }

    /// The same, because of a rank that is lost.
    pub(crate) fn abandon_without(&self, cause: &str, lost: Option<usize>) -> Error {
        if let Some(known) = self.failure() {
            return known.clone();
        }
        self.lose(lost);
        let error = self.note(failed(cause));
        match lost {
            Some(_) => self.tell(cause, lost),
            None => self.tell(&format!("{}: {cause}", self.name(self.rank)), None),
        }
        error
    }

    pub(crate) fn lose(&self, rank: Option<usize>) {
        if let Some(rank) = rank {
            let _ = self.lost.set(rank);
        }
    }

    /// The rank that tells the user what went wrong, so that it is told once: the first that is not lost.
    pub fn speaker(&self) -> usize {
        usize::from(self.lost.get() == Some(&0)).min(self.size - 1)
    }

    /// Meets the others a last time, however long they still work, and ends MPI. After a failure there is nobody to meet.
    pub fn finish(&self) {
        if self.ended.swap(true, Ordering::Relaxed) || self.failure().is_some() || !self.ours {
            return;
        }
        let header = Header::plain(Operation::End);
        let met = self.group.get().is_some_and(|group| group.meet(header, Patience::Unlimited).is_ok());
        if met {
            self.messages.finalize();
        }
    }
}

fn time_limit() -> Result<Duration> {
    let Ok(text) = std::env::var(TIMEOUT) else { return Ok(Duration::from_secs_f64(DEFAULT_TIMEOUT)) };
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 1e6 => Ok(Duration::from_secs_f64(seconds)),
        _ => Err(failed(format!("{TIMEOUT}={text:?} is no number of seconds from 0 to 1000000"))),
    }
}

/// Ends MPI when the process ends: launchers take a rank that does not for one that has crashed.
fn at_exit() {
    #[cfg(unix)]
    {
        extern "C" fn finish() {
            if let Some(world) = World::current() {
                world.finish();
            }
        }
        // SAFETY: the function is there for the life of the process.
        unsafe { libc::atexit(finish) };
    }
}
