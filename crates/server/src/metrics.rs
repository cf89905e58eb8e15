//! Prometheus metrics.

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, MutexGuard, PoisonError};
use wootz_llm::engine::{Done, Snapshot};

/// What a metric is read by.
type Value<T> = fn(&Snapshot) -> T;
/// A metric that is read from the engine: name, help, value.
type Read<T> = (&'static str, &'static str, Value<T>);

/// Requests are counted by path and status, the rest by model.
type Labels = Vec<(&'static str, String)>;

type Seconds = Counter<f64, AtomicU64>;

type Times = Family<Labels, Histogram, fn() -> Histogram>;

fn of_model(name: &str) -> Labels {
    vec![("model", name.to_owned())]
}

pub struct Metrics {
    registry: Registry,
    requests: Family<Labels, Counter>,
    first_token: Times,
    per_token: Times,
    queue: Times,
    counters: Vec<(Value<u64>, Family<Labels, Counter>)>,
    /// Seconds.
    times: Vec<(Value<f64>, Family<Labels, Seconds>)>,
    gauges: Vec<(Value<i64>, Family<Labels, Gauge>)>,
    past: Mutex<BTreeMap<String, Past>>,
}

/// What engines of a model had counted when it was unloaded.
#[derive(Clone, Default)]
struct Past {
    counters: Vec<u64>,
    times: Vec<f64>,
}

fn seconds() -> Histogram {
    Histogram::new([0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0])
}

impl Metrics {
    pub fn new() -> Metrics {
        let mut registry = Registry::with_prefix("wootz");
        let requests = Family::<Labels, Counter>::default();
        registry.register("http_requests", "Requests by path and status", requests.clone());
        let mut histogram = |name: &str, help: &str| {
            let made = Times::new_with_constructor(seconds);
            registry.register(name, help, made.clone());
            made
        };
        let first_token = histogram("time_to_first_token_seconds", "From arrival to the first token");
        let per_token = histogram("time_per_output_token_seconds", "Mean time between tokens of an answer");
        let queue = histogram("queue_seconds", "From arrival to the first step");
        let counters: [Read<u64>; 12] = [
            ("answers", "Completed answers", |s| s.done),
            ("answers_cancelled", "Cancelled answers", |s| s.cancelled),
            ("answers_failed", "Failed answers", |s| s.failed),
            ("prompt_tokens", "Prompt tokens", |s| s.prompt_tokens),
            ("prompt_tokens_cached", "Prompt tokens served from the cache", |s| s.cached_tokens),
            ("prefill_tokens", "Prompt tokens processed in chunks", |s| s.read_tokens),
            ("generated_tokens", "Generated tokens", |s| s.generated_tokens),
            ("decode_steps", "Decode steps, one token per sequence", |s| s.decode_steps),
            ("decode_rows", "Total tokens of all decode steps", |s| s.decoded_rows),
            ("draft_tokens", "Draft tokens that were verified", |s| s.drafted_tokens),
            ("draft_tokens_accepted", "Draft tokens that were right", |s| s.accepted_tokens),
            ("preemptions", "Sequences whose cache was dropped in favour of an older one", |s| s.preemptions),
        ];
        let counters = counters.map(|(name, help, read)| {
            let counter = Family::<Labels, Counter>::default();
            registry.register(name, help, counter.clone());
            (read, counter)
        });
        let times: [Read<f64>; 2] = [
            ("decode_seconds", "Time of decode steps", |s| s.decode_time.as_secs_f64()),
            ("constraint_seconds", "Time that grammars took in them", |s| s.constraint_time.as_secs_f64()),
        ];
        let times = times.map(|(name, help, read)| {
            let counter = Family::<Labels, Seconds>::default();
            registry.register(name, help, counter.clone());
            (read, counter)
        });
        let gauges: [Read<i64>; 5] = [
            ("running", "Running requests", |s| s.running as i64),
            ("waiting", "Queued requests", |s| s.waiting as i64),
            ("cache_active_bytes", "Cache bytes of running sequences", |s| s.active_bytes as i64),
            ("cache_kept_bytes", "Cache bytes kept for prefix reuse", |s| s.kept_bytes as i64),
            ("cache_kept_sequences", "Sequences kept for prefix reuse", |s| s.kept_sequences as i64),
        ];
        let gauges = gauges.map(|(name, help, read)| {
            let gauge = Family::<Labels, Gauge>::default();
            registry.register(name, help, gauge.clone());
            (read, gauge)
        });
        let (counters, times, gauges) = (counters.into(), times.into(), gauges.into());
        let past = Mutex::default();
        Metrics { registry, requests, first_token, per_token, queue, counters, times, gauges, past }
    }

    /// Counts a request.
    pub fn request(&self, path: &str, status: u16) {
        let labels = vec![("path", path.to_owned()), ("status", status.to_string())];
        self.requests.get_or_create(&labels).inc();
    }

    /// Counts an answer's times.
    pub fn answered(&self, model: &str, done: &Done) {
        let labels = of_model(model);
        self.queue.get_or_create(&labels).observe(done.queue_time.as_secs_f64());
        self.first_token.get_or_create(&labels).observe(done.first_token_time.as_secs_f64());
        if done.tokens > 1 {
            let rest = done.total_time.saturating_sub(done.first_token_time).as_secs_f64();
            self.per_token.get_or_create(&labels).observe(rest / (done.tokens - 1) as f64);
        }
    }

    /// Keeps what an engine has counted that is about to end: counters never fall.
    pub fn ended(&self, model: &str, snapshot: &Snapshot) {
        let mut past = self.past();
        let past = past.entry(model.to_owned()).or_default();
        past.counters.resize(self.counters.len(), 0);
        past.times.resize(self.times.len(), 0.0);
        self.counters.iter().zip(&mut past.counters).for_each(|((read, _), sum)| *sum += read(snapshot));
        self.times.iter().zip(&mut past.times).for_each(|((read, _), sum)| *sum += read(snapshot));
    }

    fn past(&self) -> MutexGuard<'_, BTreeMap<String, Past>> {
        // Sums are whole after each addition.
        self.past.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The text that Prometheus reads, with what the engines of these models have done.
    pub fn text(&self, models: &[(&str, Snapshot)]) -> String {
        let past = self.past().clone();
        // What was dropped holds nothing any more.
        self.gauges.iter().for_each(|(_, gauge)| gauge.clear());
        let present = models.iter().map(|(name, _)| *name);
        for name in present.chain(past.keys().map(String::as_str)).collect::<BTreeSet<_>>() {
            let (labels, before) = (of_model(name), past.get(name).cloned().unwrap_or_default());
            let snapshot = models.iter().find(|(model, _)| *model == name).map(|(_, snapshot)| snapshot);
            for (i, (read, counter)) in self.counters.iter().enumerate() {
                let sum = before.counters.get(i).unwrap_or(&0) + snapshot.map_or(0, read);
                counter.get_or_create(&labels).inner().store(sum, Relaxed);
            }
            for (i, (read, time)) in self.times.iter().enumerate() {
                let sum = before.times.get(i).unwrap_or(&0.0) + snapshot.map_or(0.0, read);
                time.get_or_create(&labels).inner().store(sum.to_bits(), Relaxed);
            }
            for (read, gauge) in self.gauges.iter().filter(|_| snapshot.is_some()) {
                gauge.get_or_create(&labels).set(snapshot.map_or(0, read));
            }
        }
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
