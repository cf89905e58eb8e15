//! `wootz serve`: a model behind HTTP.

use crate::models::{self, Choice, Failure};
use crate::output::{DIM, HEAD, Outcome, bytes, paint};
use std::io::IsTerminal;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use wootz::Device;
use wootz_llm::engine::{EngineOptions, PromptCache};
use wootz_llm::{Embedder, Model, Session};
use wootz_server::{Loaded, Offer, Server, ServerOptions, Shutdown};

/// Serve a language model over HTTP, for clients of OpenAI, Anthropic and Ollama
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    choice: Choice,
    /// Address to listen on; other machines can reach the server only if this is not a loopback address
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    host: IpAddr,
    /// Port to listen on (0 = any free port)
    #[arg(long, default_value_t = 8080)]
    port: u16,
    /// Name that clients call the model by [default: from the model's file name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Another model to offer, loaded when it is first asked for (may be repeated): anything that --model takes, after
    /// NAME= if clients are to call it by another name
    #[arg(long = "also", value_name = "[NAME=]MODEL")]
    others: Vec<String>,
    /// Memory for the weights of all models, in MiB: when more are loaded, idle ones are dropped [default: half of the
    /// device's memory]
    #[arg(long, value_name = "MIB")]
    model_memory: Option<u64>,
    /// Requests that are answered at the same time
    #[arg(long, default_value_t = 16, value_name = "COUNT")]
    parallel: usize,
    /// Requests that may wait beside them; more are refused with status 429
    #[arg(long, default_value_t = 256, value_name = "COUNT")]
    queue: usize,
    /// Memory for the KV caches of all requests, in MiB [default: a quarter of what is free]
    #[arg(long, value_name = "MIB")]
    cache_memory: Option<usize>,
    /// Folder in which KV caches are kept that find no room in memory, and when the server ends; files of other models
    /// and damaged ones are passed over
    #[arg(long, value_name = "DIR")]
    prompt_cache: Option<PathBuf>,
    /// Maximum size of that folder, in MiB
    #[arg(long, default_value_t = 4096, value_name = "MIB")]
    prompt_cache_size: u64,
    /// Do not keep the KV caches of finished requests for prompts that begin alike
    #[arg(long)]
    no_prefix_cache: bool,
    /// Let answers differ in the last bits with what else is running: quicker for a single request
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
    /// Origin whose web pages may call the server (may be repeated; * = every origin)
    #[arg(long = "cors", value_name = "ORIGIN")]
    origins: Vec<String>,
    /// Maximum number of tokens of an answer
    #[arg(long, default_value_t = 4096, value_name = "TOKENS")]
    max_tokens: usize,
    /// Maximum size of a request, in KiB
    #[arg(long, default_value_t = 8192, value_name = "KIB")]
    max_body: usize,
    /// Maximum number of connections
    #[arg(long, default_value_t = 512, value_name = "COUNT")]
    max_connections: usize,
    /// Time limit of a request in seconds
    #[arg(long, default_value_t = 600, value_name = "SECONDS")]
    timeout: u64,
    /// Log as JSON, one object per line
    #[arg(long)]
    log_json: bool,
}

pub fn run(args: &Args) -> Outcome {
    log(args.log_json);
    crate::ranks::refuse("serve")?;
    let loader =
        Loader { choice: args.choice.clone(), engine: args.engine(), cache_memory: args.cache_memory };
    let first = loader.load()?;
    let name = args.name.clone().unwrap_or_else(|| name_of(&args.choice.model));
    let mut offers = vec![loader.offer(name.clone(), Some(first.clone()))];
    for other in &args.others {
        let (name, model) = match other.split_once('=') {
            Some((name, model)) => (name.to_owned(), model),
            None => (name_of(other), other.as_str()),
        };
        let choice = Choice { model: model.to_owned(), ..args.choice.clone() };
        offers.push(Loader { choice, ..loader.clone() }.offer(name, None));
    }
    let options = args.options();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let server = Server::bind(offers, options.clone()).await?;
        banner(args, (&name, &first), &options, server.address());
        drop(first);
        watch_signals(server.shutdown())?;
        server.run().await;
        anstream::eprintln!("{}", paint(DIM, "stopped"));
        Ok(ExitCode::SUCCESS)
    })
}

/// What loads a model of the command line.
#[derive(Clone)]
struct Loader {
    choice: Choice,
    engine: EngineOptions,
    cache_memory: Option<usize>,
}

impl Loader {
    /// The model, with its engine's options if it generates text.
    fn load(&self) -> Result<Loaded, Failure> {
        let path = models::find(&self.choice.model)?;
        let gguf = models::open(&path)?;
        if Embedder::is_meant(&gguf) {
            let device = self.choice.device()?;
            let embedder = models::with_checks(|on_progress| Embedder::from_gguf(gguf, &device, on_progress));
            let embedder = embedder.map_err(|error| format!("{}: {error}", path.display()))?;
            return Ok(Loaded::Vectors(Arc::new(embedder)));
        }
        let model = self.choice.load()?;
        let budget = self.cache_memory.map_or_else(|| self.budget(&model), |mib| mib << 20);
        Ok(Loaded::Text(model, EngineOptions { budget, ..self.engine.clone() }))
    }

    /// The model under a name; one that is loaded already serves the first time.
    fn offer(&self, name: String, loaded: Option<Loaded>) -> Offer {
        let (own, loaded) = (self.clone(), Mutex::new(loaded));
        Offer::new(name, move || {
            let ready = loaded.lock().ok().and_then(|mut loaded| loaded.take());
            ready.map_or_else(|| own.load().map_err(|error| error.to_string()), Ok)
        })
    }

    /// A quarter of the free memory, and no more than all requests at their longest could use.
    fn budget(&self, model: &Model) -> usize {
        let free = model.device().info().memory_limit / 4;
        let longest = Session::bytes_for(model, self.choice.session_options(), model.config().context);
        // One more, for the memory that a cache moves to while it grows.
        let all = longest.saturating_mul(self.engine.slots + 1);
        free.clamp(longest.min(all), usize::MAX).min(all.max(64 << 20))
    }
}

impl Args {
    fn engine(&self) -> EngineOptions {
        EngineOptions {
            slots: self.parallel,
            queue: self.queue,
            context: self.choice.context,
            cache: self.choice.cache,
            keep_prefixes: !self.no_prefix_cache,
            invariant: !self.no_invariance,
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

/// A name for people: that of the file without its ending.
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
            line("device", models::device_line(model.device(), model.placement()));
            let memory = bytes(engine.budget);
            line("memory", format!("{memory} for KV caches, {} requests at once", engine.slots));
            let same = "greedy answers do not depend on other requests";
            line("answers", if engine.invariant { same } else { "may depend on other requests" }.into());
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
        line("also", format!("{} (loaded when asked for, {memory} for weights)", args.others.join(", ")));
    }
    let keys =
        if options.keys.is_empty() { "no key needed".into() } else { format!("{} keys", options.keys.len()) };
    line("address", format!("http://{address} ({keys})"));
    if !args.host.is_loopback() && options.keys.is_empty() {
        let warning = "warning: every machine that reaches this address can use the server; set --api-key";
        anstream::eprintln!("{}", paint(crate::output::KNOWN, warning));
    }
}

/// The first signal finishes what runs, the second ends at once.
fn watch_signals(shutdown: Shutdown) -> Result<(), Failure> {
    let ask = Arc::new(move || {
        let again = shutdown.is_asked();
        let what = if again { "stopping now" } else { "finishing what runs; once more to stop now" };
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

/// Logs to stderr; `RUST_LOG` says how much.
fn log(json: bool) {
    use tracing_subscriber::EnvFilter;
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let colours = std::io::stderr().is_terminal();
    let log =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
    let log = log.with_ansi(colours);
    // Failing means that somebody has set up a log before.
    let _ = if json { log.json().try_init() } else { log.compact().try_init() };
}
