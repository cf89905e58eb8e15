//! Waiting for other ranks: polling, while watching for ranks that have exited, do not respond, or have failed.

use crate::failed;
use crate::header::Header;
use crate::messages::{Request, Span};
use crate::start::list;
use crate::world::World;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use wootz_ir::Result;

/// Messages between waiting ranks.
const FAILURE: i32 = 1;
const CALL: i32 = 2;
const HERE: i32 = 3;

/// Bytes of a failure: the rank that is lost, if any, and words.
const WORDS: usize = 1024;

/// Polls between looks at the clock and at messages of others.
const POLLS: u32 = 128;
/// Polls without giving the core away: as long as a small message takes.
const SPINS: u32 = 4096;
/// How long a rank that waits for somebody to think is ready at once.
const SOON: Duration = Duration::from_millis(5);
/// How often ranks of this machine are looked for.
const LOOK: Duration = Duration::from_millis(50);
/// How long a rank that is called may take to answer, and failures to be told.
const ANSWER: Duration = Duration::from_secs(5);
/// How long a rank that has failed listens on, so that others can tell it of theirs.
const SETTLE: Duration = Duration::from_millis(250);

/// How long to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// At most the timeout.
    Limited,
    /// As long as all others answer: somebody is thinking. The core is given away.
    Unlimited,
}

/// Answers that are on their way.
#[derive(Default)]
pub struct Calls(Mutex<Vec<(Request, Box<[u8]>)>>);

/// What is waited for, for messages.
pub struct Scene<'a> {
    pub header: Header,
    /// The ranks of the group, as ranks of the world.
    pub members: &'a [usize],
    pub patience: Patience,
}

impl World {
    /// Waits for all of these, or fails.
    pub(crate) fn wait(&self, requests: &mut [Request], scene: &Scene<'_>) -> Result<()> {
        self.ready()?;
        let _waits = Waits::new(self);
        let mut first = 0;
        let mut watch: Option<Watch> = None;
        let mut polls = 0u32;
        loop {
            while first < requests.len() {
                match self.messages.test(&mut requests[first]) {
                    Ok(true) => first += 1,
                    Ok(false) => break,
                    Err(error) => return Err(self.lost(scene, &error.to_string())),
                }
            }
            if first == requests.len() {
                return Ok(());
            }
            polls = polls.wrapping_add(1);
            if polls.is_multiple_of(POLLS) {
                watch.get_or_insert_with(Watch::new).look(self, scene)?;
            }
            match scene.patience {
                _ if polls < SPINS => std::hint::spin_loop(),
                Patience::Unlimited if watch.as_ref().is_some_and(|watch| watch.begin.elapsed() > SOON) => {
                    std::thread::sleep(Duration::from_millis(1))
                }
                Patience::Limited | Patience::Unlimited => std::thread::yield_now(),
            }
        }
    }

    /// MPI itself reports that something is wrong: most likely a rank has ended.
    fn lost(&self, scene: &Scene<'_>, said: &str) -> wootz_ir::Error {
        let begin = Instant::now();
        // The process may take a moment to be gone, and another rank may know more.
        while begin.elapsed() < LOOK * 4 {
            if let Err(known) = self.hear() {
                return known;
            }
            if let Some(rank) = self.ended(scene.members) {
                let cause = format!("{} has ended during {}", self.name(rank), scene.header.describe());
                return self.abandon_without(&cause, Some(rank));
            }
            std::thread::yield_now();
        }
        self.abandon(&format!("{}: {said}", scene.header.describe()))
    }

    /// A rank of this machine whose process is gone.
    fn ended(&self, members: &[usize]) -> Option<usize> {
        let peers = self.peers.get()?;
        members.iter().copied().find(|&rank| peers[self.rank()].sees_end_of(&peers[rank]))
    }

    /// Takes note of others' failures, and answers calls: whether this rank waits as well, or is busy elsewhere.
    pub(crate) fn hear(&self) -> Result<()> {
        let _ear = self.ear.lock();
        if self.has_ended() {
            return Ok(());
        }
        self.ready()?;
        if let Some(told) = self.messages.probe(self.control, FAILURE)? {
            let words = self.receive(told.source, FAILURE, WORDS)?;
            let (lost, words) = words.split_at(4);
            let lost = i32::from_le_bytes(lost.try_into().unwrap_or_default());
            self.lose(usize::try_from(lost).ok());
            let words = String::from_utf8_lossy(words).trim_end_matches('\0').to_string();
            return Err(self.note(failed(words)));
        }
        while let Some(call) = self.messages.probe(self.control, CALL)? {
            self.receive(call.source, CALL, 1)?;
            self.post(call.source, HERE, &[u8::from(self.waits.load(Ordering::Relaxed) > 0)])?;
        }
        self.calls.0.lock().retain_mut(|(request, _)| !self.messages.test(request).unwrap_or(true));
        Ok(())
    }

    /// A message that has come.
    fn receive(&self, from: usize, tag: i32, length: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        let mut request = self.messages.receive(self.control, Span::of_mut(&mut bytes), from, tag)?;
        let begin = Instant::now();
        while !self.messages.test(&mut request)? {
            if begin.elapsed() > self.limit {
                // The buffer stays for a message that may still be written to it.
                std::mem::forget(bytes);
                return Err(failed(format!("{} stopped in the middle of a message", self.name(from))));
            }
        }
        Ok(bytes)
    }

    /// Starts to send a few bytes, which are kept until they are sent.
    fn post(&self, to: usize, tag: i32, bytes: &[u8]) -> Result<()> {
        let bytes: Box<[u8]> = bytes.into();
        let request = self.messages.send(self.control, Span::of(&bytes), to, tag)?;
        self.calls.0.lock().push((request, bytes));
        Ok(())
    }

    /// Reports a failure to all others, as far as they are listening.
    pub(crate) fn tell(&self, words: &str, lost: Option<usize>) {
        let mut bytes = vec![0; WORDS];
        let lost = lost.map_or(-1, |rank| rank as i32);
        bytes[..4].copy_from_slice(&lost.to_le_bytes());
        let mut length = words.len().min(WORDS - 4);
        while !words.is_char_boundary(length) {
            length -= 1;
        }
        bytes[4..4 + length].copy_from_slice(&words.as_bytes()[..length]);
        for rank in (0..self.size()).filter(|&rank| rank != self.rank()) {
            // Whoever has ended need not hear it.
            let _ = self.post(rank, FAILURE, &bytes);
        }
        let begin = Instant::now();
        while begin.elapsed() < ANSWER {
            let mut calls = self.calls.0.lock();
            calls.retain_mut(|(request, _)| !self.messages.test(request).unwrap_or(true));
            if calls.is_empty() && begin.elapsed() > SETTLE {
                break;
            }
            drop(calls);
            // What others send arrives only while this rank calls MPI, and they are telling their failures now, too.
            let _ = self.messages.probe(self.control, FAILURE);
            std::thread::yield_now();
        }
        // What is not sent yet must stay where it is.
        std::mem::take(&mut *self.calls.0.lock()).into_iter().for_each(std::mem::forget);
    }

    /// Calls the ranks of a group.
    fn call(&self, members: &[usize]) -> Result<Absent> {
        let mut absent = Absent::default();
        absent.silent.extend(members.iter().copied().filter(|&rank| rank != self.rank()));
        for &rank in &absent.silent {
            self.post(rank, CALL, &[1])?;
        }
        let begin = Instant::now();
        while begin.elapsed() < ANSWER && !absent.silent.is_empty() {
            self.hear()?;
            let ear = self.ear.lock();
            if let Some(answer) = self.messages.probe(self.control, HERE)? {
                let waits = self.receive(answer.source, HERE, 1)? == [1];
                absent.silent.retain(|&rank| rank != answer.source);
                absent.busy.extend((!waits).then_some(answer.source));
            }
            drop(ear);
            std::thread::yield_now();
        }
        Ok(absent)
    }

    /// Whether a rank answers calls while it computes.
    fn attends(&self, rank: usize) -> bool {
        self.peers.get().and_then(|peers| peers.get(rank)).is_some_and(|peer| peer.attends)
    }
}

/// Ranks that do not take part in an operation.
#[derive(Default)]
struct Absent {
    /// Those that do not answer.
    silent: Vec<usize>,
    /// Those that answer, but do something else.
    busy: Vec<usize>,
}

/// Marks that this rank waits for others.
struct Waits<'a>(&'a AtomicUsize);

impl Waits<'_> {
    fn new(world: &World) -> Waits<'_> {
        world.waits.fetch_add(1, Ordering::Relaxed);
        Waits(&world.waits)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The clock of one wait.
struct Watch {
    begin: Instant,
    looked: Instant,
    /// When the others were last called.
    called: Instant,
}

impl Watch {
    fn new() -> Watch {
        let now = Instant::now();
        Watch { begin: now, looked: now, called: now }
    }

    fn look(&mut self, world: &World, scene: &Scene<'_>) -> Result<()> {
        world.hear()?;
        if self.looked.elapsed() < LOOK {
            return Ok(());
        }
        self.looked = Instant::now();
        if let Some(rank) = world.ended(scene.members) {
            // It may have said why before it went.
            world.hear()?;
            let cause = format!("{} has ended during {}", world.name(rank), scene.header.describe());
            return Err(world.abandon_without(&cause, Some(rank)));
        }
        if self.called.elapsed() < world.limit {
            return Ok(());
        }
        let Absent { mut silent, mut busy } = world.call(scene.members)?;
        self.called = Instant::now();
        if scene.patience == Patience::Unlimited {
            silent.retain(|&rank| world.attends(rank));
            busy.clear();
            if silent.is_empty() {
                return Ok(());
            }
        }
        let (what, limit) = (scene.header.describe(), world.limit.as_secs_f64());
        let cause = match (&silent[..], &busy[..]) {
            ([], []) => format!("{what} has not ended within {limit} s, though every rank waits in it"),
            ([one], _) => format!("{} does not answer: {what} waited {limit} s for it", world.name(*one)),
            ([], [one]) => format!("{} is busy elsewhere: {what} waited {limit} s for it", world.name(*one)),
            ([], more) => {
                format!("ranks {} are busy elsewhere: {what} waited {limit} s for them", list(more))
            }
            (more, _) => format!("ranks {} do not answer: {what} waited {limit} s for them", list(more)),
        };
        Err(world.abandon_without(&cause, silent.first().or(busy.first()).copied()))
    }
}
