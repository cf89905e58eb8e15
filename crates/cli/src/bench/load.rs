//! `wootz bench --serve URL`: load-test a server, ours or any other with OpenAI's API.

use super::outputs::{try_to_write, write};
use crate::http::{self, Url};
use crate::models::Failure;
use crate::output::{DIM, HEAD, Outcome, outln, paint};
use serde_json::{Value, json};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use wootz_report::percentile;

/// The load to generate.
#[derive(clap::Args)]
pub struct Load {
    /// Benchmark a server with an OpenAI-compatible API instead: latency and throughput under load (may be repeated: each server gets the
    /// same load, one after another; --html and --json hold all)
    #[arg(long, value_name = "URL")]
    pub serve: Vec<String>,
    /// Number of requests to send
    #[arg(long, default_value_t = 32, value_name = "COUNT", requires = "serve")]
    requests: usize,
    /// Requests per second, with random arrivals (0 = a fixed number of concurrent requests, see --streams)
    #[arg(long, default_value_t = 0.0, value_name = "RATE", requires = "serve")]
    rate: f64,
    /// Number of concurrent requests if --rate is 0
    #[arg(long, default_value_t = 4, value_name = "COUNT", requires = "serve")]
    streams: usize,
    /// Prompt length in words
    #[arg(long, default_value_t = 64, value_name = "WORDS", requires = "serve")]
    prompt_words: usize,
    /// Number of leading words that all prompts share
    #[arg(long, default_value_t = 0, value_name = "WORDS", requires = "serve")]
    shared_words: usize,
    /// Random seed of the prompts: with another one, no prompt is in the server's cache
    #[arg(long, default_value_t = 0, value_name = "SEED", requires = "serve")]
    seed: u64,
    /// Number of tokens to generate
    #[arg(long, default_value_t = 64, value_name = "TOKENS", requires = "serve")]
    tokens: usize,
    /// API key of the server
    #[arg(long, env = "WOOTZ_API_KEY", hide_env_values = true, value_name = "KEY", requires = "serve")]
    key: Option<String>,
}

/// What was measured of a server, and the same as JSON.
struct Server {
    load: wootz_report::Load,
    report: Value,
}

/// Timings of one request.
struct Sample {
    first: Duration,
    gaps: Vec<Duration>,
    tokens: usize,
    prompt: usize,
    cached: usize,
}

const WORDS: [&str; 16] = [
    "river", "stone", "light", "garden", "seven", "quiet", "engine", "paper", "winter", "music", "island",
    "copper", "window", "market", "forest", "signal",
];

impl Load {
    pub fn run(&self, json: Option<&Path>, html: Option<&Path>) -> Outcome {
        let parse = |url: &String| Url::parse(url).map_err(|problem| format!("{url}: {problem}"));
        let urls = self.serve.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
        if self.requests == 0
            || (self.rate == 0.0 && self.streams == 0)
            || !self.rate.is_finite()
            || self.rate < 0.0
        {
            return Err("nothing to send: check --requests, --streams and --rate".into());
        }
        // Report problems with files before measuring anything.
        for path in [json, html].into_iter().flatten() {
            try_to_write(path)?;
        }
        let mut servers = Vec::with_capacity(urls.len());
        for (url, name) in urls.iter().zip(&self.serve) {
            servers.push(self.measure(url, name)?);
            if json.is_none() {
                print(&servers[servers.len() - 1]);
            }
        }
        let reports: Vec<Value> = servers.iter().map(|server| server.report.clone()).collect();
        let text = match &reports[..] {
            [one] => serde_json::to_string_pretty(one)?,
            all => serde_json::to_string_pretty(all)?,
        };
        match json {
            Some(path) if path == Path::new("-") => outln!("{text}"),
            Some(path) => write(path, &(text + "\n"))?,
            None => {}
        }
        if let Some(path) = html {
            let loads: Vec<wootz_report::Load> = servers.iter().map(|server| server.load.clone()).collect();
            write(path, &wootz_report::load_page(&self.description(), &loads))?;
        }
        let failed = servers.iter().any(|server| server.load.failed > 0);
        Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    /// What is sent, in words.
    fn description(&self) -> String {
        let Load { requests, streams, rate, prompt_words, shared_words, tokens, .. } = self;
        let arrival = match *rate > 0.0 {
            true => format!("{rate} per second at random"),
            false => format!("{streams} at a time"),
        };
        format!(
            "{requests} requests, {arrival}: prompts of {prompt_words} words ({shared_words} of them shared), answers of {tokens} tokens"
        )
    }

    fn measure(&self, url: &Url, name: &str) -> Result<Server, Failure> {
        let model = self.model(url)?;
        let (samples, errors) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
        let started = Instant::now();
        let one = |index: usize| match self.ask(url, &model, index) {
            Ok(sample) => samples.lock().unwrap_or_else(|e| e.into_inner()).push(sample),
            Err(problem) => errors.lock().unwrap_or_else(|e| e.into_inner()).push(problem),
        };
        std::thread::scope(|scope| {
            if self.rate > 0.0 {
                let mut random = fastrand::Rng::with_seed(1);
                for index in 0..self.requests {
                    scope.spawn(move || one(index));
                    // Poisson arrivals.
                    let gap = -(1.0 - random.f64()).ln() / self.rate;
                    std::thread::sleep(Duration::from_secs_f64(gap.min(60.0)));
                }
            } else {
                for stream in 0..self.streams {
                    scope.spawn(move || (stream..self.requests).step_by(self.streams).for_each(one));
                }
            }
        });
        let time = started.elapsed();
        let samples = samples.into_inner().unwrap_or_else(|e| e.into_inner());
        let errors = errors.into_inner().unwrap_or_else(|e| e.into_inner());
        let load = load(name, &model, &samples, errors.len(), time);
        let report = report(&load, &errors, time, samples.iter().map(|s| s.tokens).sum());
        Ok(Server { load, report })
    }

    fn model(&self, url: &Url) -> Result<String, Failure> {
        let answer = http::request(url, "/v1/models", self.key.as_deref(), None)?;
        let (status, text) = (answer.status, answer.text()?);
        let list: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
        let name = list.pointer("/data/0/id").and_then(Value::as_str);
        Ok(name.ok_or_else(|| format!("/v1/models: status {status}: {text}"))?.to_owned())
    }

    /// A prompt: the shared prefix, then words that differ from request to request.
    fn prompt(&self, index: usize) -> String {
        let mut shared = fastrand::Rng::with_seed(7);
        let mut own = fastrand::Rng::with_seed((self.seed << 32) + 1000 + index as u64);
        let word = |random: &mut fastrand::Rng| WORDS[random.usize(..WORDS.len())];
        let first = (0..self.shared_words).map(|_| word(&mut shared)).collect::<Vec<_>>();
        let rest = (self.shared_words..self.prompt_words.max(self.shared_words + 1)).map(|_| word(&mut own));
        first.into_iter().chain(rest).collect::<Vec<_>>().join(" ")
    }

    fn ask(&self, url: &Url, model: &str, index: usize) -> Result<Sample, String> {
        let body = json!({
            "model": model, "prompt": self.prompt(index), "max_tokens": self.tokens, "temperature": 0,
            "ignore_eos": true, "stream": true, "stream_options": {"include_usage": true},
        });
        let started = Instant::now();
        let mut answer = http::request(url, "/v1/completions", self.key.as_deref(), Some(&body))?;
        if answer.status != 200 {
            let status = answer.status;
            return Err(format!("status {status}: {}", answer.text()?));
        }
        let mut sample = Sample { first: Duration::ZERO, gaps: vec![], tokens: 0, prompt: 0, cached: 0 };
        let (mut last, mut chunks, mut ended) = (None::<Instant>, 0, false);
        while let Some(event) = answer.event()? {
            if let Some(problem) = event.get("error") {
                return Err(problem.to_string());
            }
            let count = |path: &str| event.pointer(path).and_then(Value::as_u64).map(|count| count as usize);
            sample.tokens = count("/usage/completion_tokens").unwrap_or(sample.tokens);
            sample.prompt = count("/usage/prompt_tokens").unwrap_or(sample.prompt);
            sample.cached = count("/usage/prompt_tokens_details/cached_tokens").unwrap_or(sample.cached);
            ended |= event.pointer("/choices/0/finish_reason").is_some_and(|reason| !reason.is_null());
            let text = event.pointer("/choices/0/text").and_then(Value::as_str).unwrap_or_default();
            if text.is_empty() {
                continue;
            }
            let now = Instant::now();
            match last {
                Some(last) => sample.gaps.push(now - last),
                None => sample.first = now - started,
            }
            (last, chunks) = (Some(now), chunks + 1);
        }
        // Servers that report no usage send one token per chunk.
        sample.tokens = if sample.tokens == 0 { chunks } else { sample.tokens };
        if ended { Ok(sample) } else { Err("the stream ended before the answer was complete".into()) }
    }
}

fn load(name: &str, model: &str, samples: &[Sample], failed: usize, time: Duration) -> wootz_report::Load {
    let sum = |count: fn(&Sample) -> usize| samples.iter().map(count).sum::<usize>();
    wootz_report::Load {
        server: name.to_owned(),
        model: model.to_owned(),
        requests: samples.len() + failed,
        failed,
        tokens_per_second: sum(|s| s.tokens) as f64 / time.as_secs_f64().max(1e-9),
        prompt_tokens: sum(|s| s.prompt),
        cached_tokens: sum(|s| s.cached),
        first: samples.iter().map(|s| s.first.as_secs_f64()).collect(),
        between: samples.iter().flat_map(|s| &s.gaps).map(Duration::as_secs_f64).collect(),
    }
}

/// Percentiles in milliseconds.
fn percentiles(times: &[f64]) -> Value {
    let at = |part: f64| percentile(times, part).map(|time| time * 1e3);
    json!({"p50": at(0.5), "p90": at(0.9), "p99": at(0.99)})
}

fn report(load: &wootz_report::Load, errors: &[String], time: Duration, tokens: usize) -> Value {
    json!({
        "server": load.server,
        "model": load.model,
        "requests": load.requests,
        "errors": errors,
        "seconds": time.as_secs_f64(),
        "prompt_tokens": load.prompt_tokens,
        "cached_tokens": load.cached_tokens,
        "tokens": tokens,
        "tokens_per_second": load.tokens_per_second,
        "first_token_ms": percentiles(&load.first),
        "between_tokens_ms": percentiles(&load.between),
    })
}

fn print(server: &Server) {
    let (report, load) = (&server.report, &server.load);
    outln!("{}", paint(HEAD, format!("{} at {}: {} requests", load.model, load.server, load.requests)));
    let number = |value: &Value| value.as_f64().map_or("-".into(), |v| format!("{v:.1}"));
    let times = |name: &str| {
        let times = &report[name];
        format!(
            "p50 {:>8}  p90 {:>8}  p99 {:>8} ms",
            number(&times["p50"]),
            number(&times["p90"]),
            number(&times["p99"])
        )
    };
    outln!("first token     {}", times("first_token_ms"));
    outln!("between tokens  {}", times("between_tokens_ms"));
    outln!("throughput      {} tokens/s", number(&report["tokens_per_second"]));
    let (prompt, cached) = (&report["prompt_tokens"], &report["cached_tokens"]);
    outln!("{}", paint(DIM, format!("{prompt} prompt tokens, {cached} of them cached")));
    let errors = report["errors"].as_array().map_or(&[][..], Vec::as_slice);
    if let Some(first) = errors.first() {
        outln!("{} errors; the first: {}", errors.len(), first.as_str().unwrap_or(""));
    }
}
