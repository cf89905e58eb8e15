//! What Prometheus reads.

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use std::sync::atomic::Ordering::Relaxed;
use wootz_llm::engine::{Done, Snapshot};

/// What a metric is read by.
type Value<T> = fn(&Snapshot) -> T;
/// A metric that is read from the engine: name, help, value.
type Read<T> = (&'static str, &'static str, Value<T>);

/// Requests are counted by path and status, the rest by model.
type Labels = Vec<(&'static str, String)>;

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
    gauges: Vec<(Value<i64>, Family<Labels, Gauge>)>,
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
        let counters: [Read<u64>; 10] = [
            ("answers", "Answers that are complete", |s| s.done),
            ("answers_cancelled", "Answers that nobody wanted any more", |s| s.cancelled),
            ("answers_failed", "Answers that failed", |s| s.failed),
            ("prompt_tokens", "Tokens of prompts", |s| s.prompt_tokens),
            ("prompt_tokens_cached", "Prompt tokens that were not computed again", |s| s.cached_tokens),
            ("prefill_tokens", "Tokens that were read in chunks", |s| s.read_tokens),
            ("generated_tokens", "Tokens of answers", |s| s.generated_tokens),
            ("decode_steps", "Passes of one token per sequence", |s| s.decode_steps),
            ("decode_rows", "Sequences of those passes", |s| s.decoded_rows),
            ("preemptions", "Sequences that lost their memory to an older one", |s| s.preemptions),
        ];
        let counters = counters.map(|(name, help, read)| {
            let counter = Family::<Labels, Counter>::default();
            registry.register(name, help, counter.clone());
            (read, counter)
        });
        let gauges: [Read<i64>; 5] = [
            ("running", "Requests that are being answered", |s| s.running as i64),
            ("waiting", "Requests in the queue", |s| s.waiting as i64),
            ("cache_active_bytes", "State of sequences that are being answered", |s| s.active_bytes as i64),
            ("cache_kept_bytes", "State that is kept for prompts that begin alike", |s| s.kept_bytes as i64),
            ("cache_kept_sequences", "Sequences whose state is kept", |s| s.kept_sequences as i64),
        ];
        let gauges = gauges.map(|(name, help, read)| {
            let gauge = Family::<Labels, Gauge>::default();
            registry.register(name, help, gauge.clone());
            (read, gauge)
        });
        let (counters, gauges) = (counters.into(), gauges.into());
        Metrics { registry, requests, first_token, per_token, queue, counters, gauges }
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

    /// The text that Prometheus reads, with what the engines of these models have done.
    pub fn text(&self, models: &[(&str, Snapshot)]) -> String {
        // What was dropped is not there any more.
        self.counters.iter().for_each(|(_, counter)| counter.clear());
        self.gauges.iter().for_each(|(_, gauge)| gauge.clear());
        for (name, snapshot) in models {
            let labels = of_model(name);
            for (read, counter) in &self.counters {
                counter.get_or_create(&labels).inner().store(read(snapshot), Relaxed);
            }
            for (read, gauge) in &self.gauges {
                gauge.get_or_create(&labels).set(read(snapshot));
            }
        }
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
