//! Continuous batching: one thread answers many prompts on one model.
//!
//! Between two steps jobs join and leave. A step reads one chunk of one prompt and then computes one token for every sequence
//! whose prompt is read, so that a long prompt stalls nobody. State of sequences has a hard budget of bytes; what is kept
//! after an answer is used by prompts that begin alike, and the least recently used goes first. Where that is
//! not enough, the newest job's state is dropped, and computed again later.
//!
//! Promises: with [`EngineOptions::invariant`] a job's tokens do not depend on what else runs or was kept, bit for bit. On a CPU
//! rows are then computed alike however many there are (see [`SessionOptions::batch_invariant`]). On a GPU prompts are read alone and
//! in chunks that end at multiples of 128 tokens, only such chunks are used again, and tokens are computed
//! for as many sequences as the kernels for a few rows take. A listener that goes away ends its job before the next step.
//!
//! Not promised: that sequences which share a beginning share its memory; each has a copy.

mod disk;
mod groups;
mod job;
mod open_job;
mod prefix;
mod queue;
mod scheduler;
mod slot;
mod stats;

pub use disk::PromptCache;
pub use job::{Adjust, Chosen, Constraint, Done, Event, Job, Listener, Refused};
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

/// How an engine works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineOptions {
    /// Jobs that are answered at the same time.
    pub slots: usize,
    /// Jobs that may wait beside them.
    pub queue: usize,
    /// Context length in tokens; that of the model when 0.
    pub context: usize,
    /// How keys and values are kept.
    pub cache: CacheFormat,
    /// Bytes for the state of all sequences, kept ones included.
    pub budget: usize,
    /// Whether state is kept after an answer, for prompts that begin alike.
    pub keep_prefixes: bool,
    /// Whether a job's tokens must not depend on what else runs.
    pub invariant: bool,
    /// Where state is kept that finds no room in memory, and beyond the end of the engine; nowhere if `None`.
    pub prompt_cache: Option<PromptCache>,
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
        }
    }
}

impl EngineOptions {
    /// How its sequences are kept.
    pub fn session(&self) -> SessionOptions {
        SessionOptions { context: self.context, cache: self.cache, batch_invariant: self.invariant }
    }
}

/// A thread that answers.
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
    /// Jobs whose end nobody has heard yet, in the queue and in slots.
    open: Arc<AtomicUsize>,
    closing: Closing,
    forget: bool,
}

/// How an engine ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Closing {
    #[default]
    Open,
    /// What was accepted is still answered.
    Draining,
    /// Nothing is.
    Now,
}

impl Engine {
    /// Starts the thread.
    pub fn start(model: &Arc<Model>, options: EngineOptions) -> Result<Engine> {
        if options.slots == 0 {
            return Err(Error::Model("an engine without slots answers nothing".into()));
        }
        let session = options.session();
        let least = Session::bytes_for(model, session, 1);
        if least > options.budget {
            let problem = format!(
                "a sequence of this model needs {least} bytes of cache at least; the budget is {}",
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
        let thread = thread.map_err(|error| Error::Model(format!("no thread for the engine: {error}")))?;
        Ok(Engine { shared, model: model.clone(), options, thread: Mutex::new(Some(thread)) })
    }

    /// The model.
    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// How it works.
    pub fn options(&self) -> &EngineOptions {
        &self.options
    }

    /// The most tokens of a prompt and its answer.
    pub fn context(&self) -> usize {
        if self.options.context == 0 { self.model.config().context } else { self.options.context }
    }

    /// Takes a job, or says why not. The listener hears everything else.
    pub fn submit(&self, job: Job, listener: Box<dyn Listener>) -> std::result::Result<(), Refused> {
        self.check(&job)?;
        let mut inbox = self.shared.inbox();
        if inbox.closing != Closing::Open {
            return Err(Refused::Closing);
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
            return Err(Refused::Invalid(format!("token {id} is not one of the {vocab} of this model")));
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

    /// What it has done so far.
    pub fn stats(&self) -> Snapshot {
        let waiting = self.shared.inbox().queue.len();
        self.shared.stats.snapshot(waiting)
    }

    /// Drops the state that is kept after answers.
    pub fn forget(&self) {
        self.shared.inbox().forget = true;
        self.shared.changed.notify_one();
    }

    /// Takes no more jobs; what was accepted is still answered.
    pub fn drain(&self) {
        self.close(Closing::Draining);
    }

    /// Ends all jobs with an error.
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
        self.stop();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        // A listener may be the last owner, on the engine's own thread.
        if let Some(thread) = thread.filter(|t| t.thread().id() != std::thread::current().id()) {
            let _ = thread.join();
        }
    }
}

/// The loop of the thread.
fn run(shared: &Shared, mut scheduler: Scheduler) {
    loop {
        {
            let mut inbox = shared.inbox();
            while inbox.closing == Closing::Open
                && inbox.queue.len() == 0
                && scheduler.slots.is_empty()
                && !inbox.forget
            {
                let waited = shared.changed.wait_timeout(inbox, Duration::from_secs(60));
                inbox = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            if inbox.closing == Closing::Now {
                let why = Refused::Closing.to_string();
                inbox.queue.fail_all(&why);
                scheduler.fail_all(&Error::Model(why));
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
        let stepped = catch_unwind(AssertUnwindSafe(|| scheduler.step()));
        let failed = match stepped {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error),
            Err(_) => Some(Error::Model("a step of the engine panicked; see the log".into())),
        };
        if let Some(error) = failed {
            scheduler.fail_all(&error);
        }
        shared.stats.running.store(scheduler.slots.len(), Relaxed);
    }
}
