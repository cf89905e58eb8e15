//! Continuous batching: one thread answers many prompts with one model.
//!
//! Jobs join and leave between steps. A step processes one chunk of one prompt and then decodes one token for every
//! sequence whose prompt is done, so that a long prompt does not stall anybody. Sequence states have a hard memory
//! budget; states kept after an answer are reused by prompts with a common prefix, and evicted least recently used
//! first. If that does not free enough, the newest job's state is dropped and recomputed later.
//!
//! Promises: with [`EngineOptions::invariant`] a job's tokens do not depend on other jobs or cached states, bit for
//! bit. On a CPU rows are then computed the same way however many there are (see
//! [`SessionOptions::batch_invariant`]). On a GPU prompts are processed one at a time in chunks that end at multiples
//! of 128 tokens, only such chunks are reused, and decoding batches at most as many sequences as the few-row kernels
//! take. When a listener disconnects, its job ends before the next step.
//!
//! Over the ranks of a divided model, rank 0 has the engine, and the others follow it ([`Engine::follow`]). When one is lost, every job
//! fails, and later ones are refused.
//!
//! Not promised: that sequences which share a beginning share its memory; each has a copy.

mod disk;
mod drafts;
mod fingerprint;
mod groups;
mod job;
mod open_job;
mod prefix;
mod queue;
mod ranks;
mod scheduler;
mod sequence;
mod slot;
mod stats;

pub use disk::PromptCache;
pub use job::{Adjust, Chosen, Constraint, Done, Event, Failure, Job, Listener, Refused};
pub use stats::Snapshot;

use crate::error::{Error, Result};
use crate::estimate::CacheFormat;
use crate::model::Model;
use crate::session::{Session, SessionOptions};
use open_job::OpenJob;
use queue::{Queue, Waiting};
use scheduler::Scheduler;
use stats::Stats;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long the thread sleeps when there is nothing to do, and how often it then looks for the other ranks where there are some.
const IDLE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_secs(2);

/// How an engine works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineOptions {
    /// Maximum number of concurrent jobs.
    pub slots: usize,
    /// Maximum number of queued jobs.
    pub queue: usize,
    /// Context length in tokens; 0 for the model's.
    pub context: usize,
    /// Format of the KV cache.
    pub cache: CacheFormat,
    /// Memory budget for the states of all sequences, including kept ones, in bytes.
    pub budget: usize,
    /// Whether states are kept after an answer, for prompts with a common prefix.
    pub keep_prefixes: bool,
    /// Whether a job's tokens must not depend on other jobs.
    pub invariant: bool,
    /// Where states are saved that are evicted from memory, or remain when the engine ends; `None` to drop them.
    pub prompt_cache: Option<PromptCache>,
    /// Whether a greedy answer that is alone is drafted from earlier text, where that changes no token: on the CPU, and without
    /// `invariant` everywhere.
    pub lookup: bool,
}

impl Default for EngineOptions {
    fn default() -> Self {
        EngineOptions {
            slots: 16,
            queue: 256,
            context: 0,
            cache: CacheFormat::default(),
            budget: 4 << 30,
            keep_prefixes: true,
            invariant: true,
            prompt_cache: None,
            lookup: false,
        }
    }
}

impl EngineOptions {
    /// The session options of its sequences.
    pub fn session(&self) -> SessionOptions {
        SessionOptions { context: self.context, cache: self.cache, batch_invariant: self.invariant }
    }
}

/// The engine's thread.
pub struct Engine {
    shared: Arc<Shared>,
    model: Arc<Model>,
    options: EngineOptions,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    inbox: Mutex<Inbox>,
    changed: Condvar,
    stats: Arc<Stats>,
}

impl Shared {
    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        // A listener that panicked has not left the queue half changed.
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Default)]
struct Inbox {
    queue: Queue,
    /// Jobs whose end has not been delivered yet, queued or running.
    open: Arc<AtomicUsize>,
    closing: Closing,
    forget: bool,
    /// Why nothing can be answered any more, where a rank of a divided model is lost.
    lost: Option<String>,
}

/// How an engine shuts down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Closing {
    #[default]
    Open,
    /// Accepted jobs are finished.
    Draining,
    /// All jobs are aborted, and kept states are saved.
    Ending,
    /// All jobs are aborted, and nothing is saved.
    Now,
}

impl Engine {
    /// Starts the thread.
    pub fn start(model: &Arc<Model>, options: EngineOptions) -> Result<Engine> {
        if options.slots == 0 {
            return Err(Error::Model("an engine needs at least one slot".into()));
        }
        if model.share().is_some() && options.prompt_cache.is_some() {
            return Err(Error::Model("a prompt cache on disk does not work over ranks".into()));
        }
        let session = options.session();
        let least = Session::bytes_for(model, session, 1);
        if least > options.budget {
            let problem = format!(
                "a sequence of this model needs at least {least} bytes of cache; the budget is {}",
                options.budget
            );
            return Err(Error::Model(problem));
        }
        // Refuses a context that the model was not made for.
        Session::new(model, session)?;
        let stats = Arc::new(Stats::default());
        let shared =
            Arc::new(Shared { inbox: Mutex::default(), changed: Condvar::new(), stats: stats.clone() });
        let (own, scheduler) = (shared.clone(), Scheduler::new(model, options.clone(), stats)?);
        let thread = std::thread::Builder::new().name("wootz-engine".into());
        let thread = thread.spawn(move || run(&own, scheduler));
        let thread =
            thread.map_err(|error| Error::Model(format!("cannot start the engine thread: {error}")))?;
        Ok(Engine { shared, model: model.clone(), options, thread: Mutex::new(Some(thread)) })
    }

    /// The model.
    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// Its options.
    pub fn options(&self) -> &EngineOptions {
        &self.options
    }

    /// Maximum number of tokens of a prompt and its answer.
    pub fn context(&self) -> usize {
        if self.options.context == 0 { self.model.config().context } else { self.options.context }
    }

    /// Submits a job, or says why it was rejected. The listener receives everything else.
    pub fn submit(&self, job: Job, listener: Box<dyn Listener>) -> std::result::Result<(), Refused> {
        self.check(&job)?;
        let mut inbox = self.shared.inbox();
        if inbox.closing != Closing::Open {
            return Err(Refused::Closing);
        }
        if let Some(lost) = &inbox.lost {
            return Err(Refused::Lost(lost.clone()));
        }
        // Jobs that find a free slot at the next step are not waiting.
        let open = inbox.open.load(Relaxed);
        if open >= self.options.queue.saturating_add(self.options.slots) {
            return Err(Refused::QueueFull { waiting: open - self.options.slots });
        }
        let listener = Box::new(OpenJob::take(listener, &inbox.open));
        inbox.queue.push(Waiting { job, listener, arrived: Instant::now() });
        self.shared.changed.notify_one();
        Ok(())
    }

    fn check(&self, job: &Job) -> std::result::Result<(), Refused> {
        let (prompt, context) = (job.prompt.len(), self.context());
        if prompt == 0 {
            return Err(Refused::Invalid("the prompt is empty".into()));
        }
        let vocab = self.model.config().vocab;
        if let Some(id) = job.prompt.iter().find(|&&id| id as usize >= vocab) {
            return Err(Refused::Invalid(format!(
                "token {id} is outside this model's vocabulary of {vocab}"
            )));
        }
        job.sampling.check().map_err(|error| Refused::Invalid(error.to_string()))?;
        if prompt >= context {
            return Err(Refused::TooLong { prompt, context });
        }
        let session = self.options.session();
        let needed = Session::bytes_for(&self.model, session, prompt + 1);
        if needed > self.options.budget {
            return Err(Refused::TooLarge { prompt, needed, budget: self.options.budget });
        }
        Ok(())
    }

    /// Statistics.
    pub fn stats(&self) -> Snapshot {
        let waiting = self.shared.inbox().queue.len();
        self.shared.stats.snapshot(waiting)
    }

    /// On a rank of a divided model that is not rank 0: runs the passes of rank 0's engine until that one ends. All ranks give the same
    /// options.
    pub fn follow(model: &Arc<Model>, options: &EngineOptions) -> Result<()> {
        ranks::follow(model, options.session())
    }

    /// Why nothing can be answered any more, where a rank of a divided model is lost.
    pub fn lost(&self) -> Option<String> {
        self.shared.inbox().lost.clone()
    }

    /// Drops the state that is kept after answers.
    pub fn forget(&self) {
        self.shared.inbox().forget = true;
        self.shared.changed.notify_one();
    }

    /// Stops accepting jobs; accepted ones are finished.
    pub fn drain(&self) {
        self.close(Closing::Draining);
    }

    /// Aborts all jobs with an error, without saving the prompt cache. Dropping an engine aborts them too, but saves it.
    pub fn stop(&self) {
        self.close(Closing::Now);
    }

    fn close(&self, how: Closing) {
        let mut inbox = self.shared.inbox();
        inbox.closing = inbox.closing.max(how);
        self.shared.changed.notify_one();
    }

    /// Whether the thread has ended, after [`Engine::drain`] or [`Engine::stop`].
    pub fn is_finished(&self) -> bool {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.close(Closing::Ending);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        // A listener may be the last owner, on the engine's own thread.
        if let Some(thread) = thread.filter(|t| t.thread().id() != std::thread::current().id()) {
            let _ = thread.join();
        }
    }
}

/// Refuses everything from now on if a rank is lost. Whether all are there.
fn note_loss(inbox: &mut Inbox, scheduler: &Scheduler) -> bool {
    let lost = scheduler.lost();
    if let Some(why) = &lost {
        inbox.queue.fail_all(&Failure::Unavailable(why.clone()));
        tracing::error!("{why}");
    }
    inbox.lost = lost;
    inbox.lost.is_none()
}

/// The loop of the thread.
fn run(shared: &Shared, mut scheduler: Scheduler) {
    let mut watches = scheduler.leads();
    loop {
        {
            let mut inbox = shared.inbox();
            while inbox.closing == Closing::Open
                && inbox.queue.len() == 0
                && scheduler.slots.is_empty()
                && !inbox.forget
            {
                let waited = shared.changed.wait_timeout(inbox, if watches { LOOK } else { IDLE });
                let (locked, timed_out) = waited.unwrap_or_else(PoisonError::into_inner);
                inbox = locked;
                if watches && timed_out.timed_out() {
                    drop(inbox);
                    scheduler.look();
                    inbox = shared.inbox();
                    watches = note_loss(&mut inbox, &scheduler);
                }
            }
            if inbox.closing >= Closing::Ending {
                let why = Failure::Unavailable(Refused::Closing.to_string());
                inbox.queue.fail_all(&why);
                scheduler.fail_all(&why);
            }
            if inbox.closing == Closing::Now {
                scheduler.forget();
            }
            if std::mem::take(&mut inbox.forget) {
                scheduler.forget();
            }
            scheduler.admit(&mut inbox.queue);
            shared.stats.running.store(scheduler.slots.len(), Relaxed);
            let idle = scheduler.slots.is_empty() && inbox.queue.len() == 0;
            if idle && inbox.closing != Closing::Open {
                drop(inbox);
                return scheduler.save();
            }
        }
        if scheduler.slots.is_empty() {
            continue;
        }
        shared.stats.steps.fetch_add(1, Relaxed);
        shared.stats.stepping(Some(Instant::now()));
        let stepped = catch_unwind(AssertUnwindSafe(|| scheduler.step()));
        shared.stats.stepping(None);
        let failed = match stepped {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("a step of the engine panicked; see the log".into()),
        };
        if let Some(why) = failed {
            // Nobody knows what was half done: nothing of the present state is used again.
            scheduler.fail_all(&scheduler.failure(&why));
            scheduler.forget();
        }
        if watches {
            watches = note_loss(&mut shared.inbox(), &scheduler);
        }
        shared.stats.running.store(scheduler.slots.len(), Relaxed);
    }
}
