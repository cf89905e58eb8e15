//! All ranks of the job, and what is known about them.

use crate::failed;
use crate::group::Group;
use crate::header::{Header, Operation};
use crate::launch::launch;
use crate::library::{self, LibraryInfo};
use crate::messages::{Comm, Messages};
use crate::process::{PEER, Peer};
use crate::start::Guard;
use crate::waiting::{Calls, Patience};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use wootz_ir::{Error, Result};

/// The environment variable of the timeout in seconds, and its default.
const TIMEOUT: &str = "WOOTZ_MPI_TIMEOUT";
const DEFAULT_TIMEOUT: f64 = 300.0;

/// All ranks.
pub struct World {
    pub(crate) messages: Arc<dyn Messages>,
    /// Where failures are told and ranks are called.
    pub(crate) control: Comm,
    pub(crate) calls: Calls,
    pub(crate) peers: OnceLock<Vec<Peer>>,
    pub(crate) limit: Duration,
    failure: OnceLock<Error>,
    /// The rank that has exited or does not respond, if that is the cause.
    lost: OnceLock<usize>,
    group: OnceLock<Group>,
    library: LibraryInfo,
    rank: usize,
    size: usize,
    /// Whether MPI was started here, and so is ended here.
    ours: bool,
    /// The process that has started MPI; one that it has forked has no part in it.
    process: u32,
    /// How many threads wait for other ranks.
    pub(crate) waits: AtomicUsize,
    /// Held by whoever listens to other ranks.
    pub(crate) ear: Mutex<()>,
    ended: AtomicBool,
}

/// The one world of a process, or why there is none.
static WORLD: Mutex<Option<Result<Arc<World>>>> = Mutex::new(None);

impl World {
    /// Starts MPI on the first call; later calls return the same world, or the same error.
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
        if let Some(launch) = launch()
            && let Some(started) = launch.size.filter(|&started| started != size)
        {
            let (launcher, advice) = (launch.launcher.name(), launch.launcher.advice());
            let (path, version) = (&library.info.path, &library.info.version);
            let cause =
                format!("{launcher} started {started} ranks, but {path} ({version}) sees {size}: {advice}");
            return Err(failed(cause));
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
            process: std::process::id(),
            waits: AtomicUsize::new(0),
            ear: Mutex::new(()),
            ended: AtomicBool::new(false),
        });
        let group = Group::new(world.clone(), data, rank, (0..size).collect());
        let peers = group.gather_fixed(&Peer::here(ours).encode())?;
        let _ = world.peers.set(peers.chunks(PEER).map(Peer::decode).collect());
        let _ = world.group.set(group);
        if ours && size > 1 {
            attend(&world);
        }
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

    /// The failure, if there is one.
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

    /// Tells every rank that this one cannot continue, so that none waits for it; returns the error of all later
    /// calls.
    pub fn abandon(&self, cause: &str) -> Error {
        self.abandon_without(cause, None)
    }

    /// The same, because of a lost rank.
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

    /// The rank that reports a failure to the user, so that it is reported once: the first one that is not lost.
    pub fn speaker(&self) -> usize {
        usize::from(self.lost.get() == Some(&0)).min(self.size - 1)
    }

    /// Meets the others a last time, however long they still work, and ends MPI. After a failure there is nobody to meet.
    pub fn finish(&self) {
        let away = !self.ours || self.process != std::process::id();
        if away || self.has_ended() || self.failure().is_some() {
            return;
        }
        let header = Header::plain(Operation::End);
        let met = self.group.get().map(|group| group.meet(header, Patience::Unlimited));
        let _ear = self.ear.lock();
        if self.ended.swap(true, Ordering::Relaxed) {
            return;
        }
        match met {
            Some(Ok(())) => self.messages.finalize(),
            Some(Err(error)) if self.speaker() == self.rank => eprintln!("error: {error}"),
            // Launchers end all ranks when the first one leaves like this: the one that speaks must have spoken by then.
            Some(Err(_)) => std::thread::sleep(Duration::from_secs(2)),
            None => {}
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }
}

fn time_limit() -> Result<Duration> {
    let Ok(text) = std::env::var(TIMEOUT) else { return Ok(Duration::from_secs_f64(DEFAULT_TIMEOUT)) };
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 1e6 => Ok(Duration::from_secs_f64(seconds)),
        _ => Err(failed(format!("{TIMEOUT}={text:?} is not a number of seconds from 0 to 1000000"))),
    }
}

/// How often a rank that computes looks whether another one calls it.
const TURN: Duration = Duration::from_millis(200);

/// Answers calls of other ranks while no thread of this one waits for them, so that they can tell a rank that works, or whose user
/// thinks, from one that is stopped.
fn attend(world: &Arc<World>) {
    let world = world.clone();
    let listen = move || {
        loop {
            std::thread::sleep(TURN);
            let is_idle = world.waits.load(Ordering::Relaxed) == 0;
            if world.has_ended() || is_idle && world.hear().is_err() {
                return;
            }
        }
    };
    let _ = std::thread::Builder::new().name("wootz-mpi-answer".into()).spawn(listen);
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
