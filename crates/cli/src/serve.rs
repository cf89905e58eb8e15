//! `wootz serve`: serve models over HTTP.

use crate::models::{self, Choice, Failure};
use crate::output::{DIM, HEAD, Outcome, bytes, paint};
use crate::ranks;
use std::io::IsTerminal;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use wootz::Device;
use wootz::distributed::Group;
use wootz_llm::engine::{Engine, EngineOptions, PromptCache};
use wootz_llm::{Embedder, Model, Session};
use wootz_server::{Loaded, Offer, Server, ServerOptions, Shutdown};

/// Serve a language model over HTTP, for OpenAI, Anthropic and Ollama clients
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    choice: Choice,
    /// Address to listen on; a loopback address is reachable from this machine only
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    host: IpAddr,
    /// Port to listen on (0 = any free port)
    #[arg(long, default_value_t = 8080)]
    port: u16,
    /// Model name that clients use [default: from the model's file name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Another model to serve, loaded on first request (may be repeated): anything that --model takes, optionally as
    /// NAME=MODEL to set the name that clients use
    #[arg(long = "also", value_name = "[NAME=]MODEL")]
    others: Vec<String>,
    /// Memory for the weights of all models, in MiB; beyond it, idle models are unloaded [default: half of the device's
    /// memory]
    #[arg(long, value_name = "MIB")]
    model_memory: Option<u64>,
    /// Maximum number of concurrent requests
    #[arg(long, default_value_t = 16, value_name = "COUNT")]
    parallel: usize,
    /// Maximum number of queued requests; more are refused with status 429
    #[arg(long, default_value_t = 256, value_name = "COUNT")]
    queue: usize,
    /// Memory for the KV caches of each model's requests, in MiB [default: a quarter of the free memory]
    #[arg(long, value_name = "MIB")]
    cache_memory: Option<usize>,
    /// Folder to save KV caches to when they are evicted from memory or the server exits; damaged files and files of
    /// other models are ignored
    #[arg(long, value_name = "DIR")]
    prompt_cache: Option<PathBuf>,
    /// Maximum size of that folder, in MiB
    #[arg(long, default_value_t = 4096, value_name = "MIB")]
    prompt_cache_size: u64,
    /// Do not reuse the KV caches of finished requests for prompts with a common prefix
    #[arg(long)]
    no_prefix_cache: bool,
    /// Speculative decoding of greedy answers that are alone: draft tokens by `lookup` (what followed the same tokens earlier in the
    /// text); switched off while it does not pay
    #[arg(long, value_name = "lookup", value_parser = ["lookup"])]
    draft: Option<String>,
    /// Let the last bits of an answer depend on concurrent requests: lower latency for a single request
    #[arg(long)]
    no_invariance: bool,
    /// API key that clients must send (may be repeated)
    #[arg(
        long = "api-key",
        env = "WOOTZ_API_KEYS",
        value_delimiter = ',',
        hide_env_values = true,
        value_name = "KEY"
    )]
    keys: Vec<String>,
    /// Origin whose web pages may call the server (CORS; may be repeated; * = any origin)
    #[arg(long = "cors", value_name = "ORIGIN")]
    origins: Vec<String>,
    /// Maximum number of tokens per answer
    #[arg(long, default_value_t = 4096, value_name = "TOKENS")]
    max_tokens: usize,
    /// Maximum request size, in KiB
    #[arg(long, default_value_t = 8192, value_name = "KIB")]
    max_body: usize,
    /// Maximum number of connections
    #[arg(long, default_value_t = 512, value_name = "COUNT")]
    max_connections: usize,
    /// Request timeout in seconds
    #[arg(long, default_value_t = 600, value_name = "SECONDS")]
    timeout: u64,
    /// Log as JSON, one object per line
    #[arg(long)]
    log_json: bool,
}

pub fn run(args: &Args) -> Outcome {
    log(args.log_json);
    let group = ranks::group()?;
    if group.is_some() {
        args.check_over_ranks()?;
    }
    let loader =
        Loader { choice: args.choice.clone(), engine: args.engine(), cache_memory: args.cache_memory };
    let first = loader.load()?;
    if let Some(group) = group.as_ref().filter(|group| group.rank() > 0) {
        return follow(group, &first);
    }
    let name = args.name.clone().unwrap_or_else(|| name_of(&args.choice.model));
    let mut offers = vec![loader.offer(name.clone(), Some(first.clone()))];
    for other in &args.others {
        let (name, model) = match other.split_once('=') {
            Some((name, model)) => (name.to_owned(), model),
            None => (name_of(other), other.as_str()),
        };
        // Adapters were made for the first model.
        let choice = Choice { model: model.to_owned(), lora: Vec::new(), ..args.choice.clone() };
        offers.push(Loader { choice, ..loader.clone() }.offer(name, None));
    }
    let options = args.options();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let server = Server::bind(offers, options.clone()).await?;
        banner(args, (&name, &first), &options, server.address());
        drop(first);
        watch_signals(server.shutdown(), group.is_some())?;
        server.run().await;
        if let Some(error) = group.and_then(|group| group.failure()) {
            return Err(error.into());
        }
        anstream::eprintln!("{}", paint(DIM, "stopped"));
        Ok(ExitCode::SUCCESS)
    })
}

/// Another rank than the first, which runs what rank 0's engine orders. Launchers pass signals on to all ranks, and rank 0 decides
/// what becomes of them.
fn follow(group: &Group, first: &Loaded) -> Outcome {
    let Loaded::Text(model, engine) = first else {
        return Err("a model that gives embeddings is served on one rank".into());
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    #[cfg(unix)]
    let mut signals = {
        use tokio::signal::unix::{SignalKind, signal};
        let _inside = runtime.enter();
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
    };
    let result = Engine::follow(model, engine);
    // Rank 0 tells its clients that a rank is lost. Launchers end all ranks when the first one has failed, so this one waits to be ended.
    #[cfg(unix)]
    if result.is_err() && group.speaker() == 0 {
        runtime.block_on(async {
            tokio::select! {
                _ = signals.0.recv() => {}
                _ = signals.1.recv() => {}
            }
        });
    }
    result?;
    Ok(ExitCode::SUCCESS)
}

/// What loads a model of the command line.
#[derive(Clone)]
struct Loader {
    choice: Choice,
    engine: EngineOptions,
    cache_memory: Option<usize>,
}

impl Loader {
    /// The model, with engine options if it generates text.
    fn load(&self) -> Result<Loaded, Failure> {
        if ranks::group()?.is_none()
            && let Some(embedder) = self.embedder()?
        {
            return Ok(Loaded::Vectors(Arc::new(embedder)));
        }
        let model = self.choice.load()?;
        let budget = self.cache_memory.map_or_else(|| self.budget(&model), |mib| mib << 20);
        Ok(Loaded::Text(model, EngineOptions { budget, ..self.engine.clone() }))
    }

    /// The model, if it gives embeddings.
    fn embedder(&self) -> Result<Option<Embedder>, Failure> {
        let path = models::find(&self.choice.model)?;
        let gguf = models::open(&path)?;
        if !Embedder::is_meant(&gguf) {
            return Ok(None);
        }
        let device = self.choice.device()?;
        let embedder = models::with_checks(|on_progress| Embedder::from_gguf(gguf, &device, on_progress));
        Ok(Some(embedder.map_err(|error| format!("{}: {error}", path.display()))?))
    }

    /// The model under a name; one that is loaded already serves the first time.
    fn offer(&self, name: String, loaded: Option<Loaded>) -> Offer {
        // Finding a model that is only loaded later could download it.
        let is_here = loaded.is_some() || Path::new(&self.choice.model).exists();
        let file = is_here.then(|| models::find(&self.choice.model).ok()).flatten();
        let (own, loaded) = (self.clone(), Mutex::new(loaded));
        let offer = Offer::new(name, move || {
            let ready = loaded.lock().ok().and_then(|mut loaded| loaded.take());
            ready.map_or_else(|| own.load().map_err(|error| error.to_string()), Ok)
        });
        match file {
            Some(file) => offer.from_file(file),
            None => offer,
        }
    }

    /// A quarter of the free memory, but no more than all requests could use at full length.
    fn budget(&self, model: &Model) -> usize {
        let free = model.device().info().memory_limit / 4;
        let longest = Session::bytes_for(model, self.choice.session_options(), model.config().context);
        // One more, for the copy made while a cache grows.
        let all = longest.saturating_mul(self.engine.slots + 1);
        free.clamp(longest.min(all), usize::MAX).min(all.max(64 << 20))
    }
}

impl Args {
    fn check_over_ranks(&self) -> Result<(), Failure> {
        match (&self.others[..], &self.prompt_cache) {
            ([], None) => Ok(()),
            ([], Some(_)) => Err("--prompt-cache does not work over MPI ranks".into()),
            _ => Err("one model is served over MPI ranks; leave out --also".into()),
        }
    }

    fn engine(&self) -> EngineOptions {
        EngineOptions {
            slots: self.parallel,
            queue: self.queue,
            context: self.choice.context,
            cache: self.choice.cache,
            keep_prefixes: !self.no_prefix_cache,
            invariant: !self.no_invariance,
            lookup: self.draft.is_some(),
            prompt_cache: self
                .prompt_cache
                .clone()
                .map(|folder| PromptCache { folder, bytes: self.prompt_cache_size << 20 }),
            ..EngineOptions::default()
        }
    }

    fn options(&self) -> ServerOptions {
        let half = || Device::cpu().info().memory_limit as u64 / 2;
        ServerOptions {
            model_memory: self.model_memory.map_or_else(half, |mib| mib << 20),
            keys: self.keys.iter().filter(|key| !key.is_empty()).cloned().collect(),
            origins: self.origins.clone(),
            body_limit: self.max_body << 10,
            token_limit: self.max_tokens,
            connections: self.max_connections,
            timeout: Duration::from_secs(self.timeout),
            ..ServerOptions::new(SocketAddr::new(self.host, self.port))
        }
    }
}

/// A display name: the file name without its extension.
fn name_of(model: &str) -> String {
    let path = Path::new(model);
    let is_file = path.extension().is_some_and(|ending| ending == "gguf");
    let name = if is_file { path.file_stem() } else { path.file_name() };
    name.map_or_else(|| model.to_owned(), |name| name.to_string_lossy().into_owned())
}

fn banner(args: &Args, (name, first): (&str, &Loaded), options: &ServerOptions, address: SocketAddr) {
    let line = |name: &str, text: String| anstream::eprintln!("{} {text}", paint(DIM, format!("{name:<9}")));
    anstream::eprintln!("{}", paint(HEAD, format!("wootz serve: {name}")));
    match first {
        Loaded::Text(model, engine) => {
            let config = model.config();
            let context = if engine.context == 0 { config.context } else { engine.context };
            line("model", format!("{}, {} layers, context {context}", config.family.name(), config.layers));
            line("device", models::home(model));
            let memory = bytes(engine.budget);
            line("memory", format!("{memory} for KV caches, {} concurrent requests", engine.slots));
            let same = "greedy answers do not depend on concurrent requests";
            line("answers", if engine.invariant { same } else { "may depend on concurrent requests" }.into());
        }
        Loaded::Vectors(embedder) => {
            let config = embedder.config();
            let (family, width) = (config.family.name(), config.width);
            line("model", format!("{family}, embeddings of {width} values, context {}", config.context));
            line("device", models::device_line(&embedder.device(), embedder.placement()));
        }
    }
    if !args.others.is_empty() {
        let memory = bytes(options.model_memory as usize);
        line("also", format!("{} (loaded on first request, {memory} for weights)", args.others.join(", ")));
    }
    let keys = if options.keys.is_empty() {
        "no API key required".into()
    } else {
        format!("{} keys", options.keys.len())
    };
    line("address", format!("http://{address} ({keys})"));
    if !args.host.is_loopback() && options.keys.is_empty() {
        let warning = "warning: any machine that can reach this address can use the server; set --api-key";
        anstream::eprintln!("{}", paint(crate::output::KNOWN, warning));
    }
}

/// The first signal finishes what runs, the second ends at once.
fn watch_signals(shutdown: Shutdown, over_ranks: bool) -> Result<(), Failure> {
    let last = Mutex::new(None::<Instant>);
    let ask = Arc::new(move || {
        // A launcher passes on what the terminal has sent already.
        let before = last.lock().ok().and_then(|mut last| last.replace(Instant::now()));
        if over_ranks && before.is_some_and(|at| at.elapsed() < Duration::from_secs(1)) {
            return;
        }
        let again = shutdown.is_asked();
        let what =
            if again { "stopping now" } else { "finishing running requests; press Ctrl-C again to stop now" };
        anstream::eprintln!("{}", paint(DIM, what));
        shutdown.ask();
    });
    let on_interrupt = ask.clone();
    tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() {
            on_interrupt();
        }
    });
    #[cfg(unix)]
    {
        let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
        tokio::spawn(async move {
            while terminate.recv().await.is_some() {
                ask();
            }
        });
    }
    Ok(())
}

/// Logs to stderr; `RUST_LOG` sets the level.
fn log(json: bool) {
    use tracing_subscriber::EnvFilter;
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let colours = std::io::stderr().is_terminal();
    let log =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
    let log = log.with_ansi(colours);
    // This fails if a logger is already installed.
    let _ = if json { log.json().try_init() } else { log.compact().try_init() };
}
