//! `wootz run`: a prompt in, an answer out.

use crate::models::{self, Choice, Draft, Failure};
use crate::output::{DIM, HEAD, Outcome, bytes, paint};
use crate::ranks;
use serde_json::json;
use std::io::{IsTerminal, Read, Write};
use std::ops::ControlFlow;
use std::process::ExitCode;
use wootz_llm::chat::Message;
use wootz_llm::sampling::Sampling;
use wootz_llm::tokenizer::Encoding;
use wootz_llm::{Generated, Model, Request, Session, Speculation};

/// Answer a prompt with a language model
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    choice: Choice,
    /// The prompt [default: read from stdin]; several prompts are answered in one batch
    #[arg(value_name = "PROMPT")]
    prompts: Vec<String>,
    /// Maximum number of tokens to generate
    #[arg(short = 'n', long, alias = "max-tokens", default_value_t = 512, value_name = "TOKENS")]
    limit: usize,
    #[command(flatten)]
    sampling: SamplingArgs,
    #[command(flatten)]
    draft: Draft,
    /// System prompt
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,
    /// Stop at this text, which is left out of the answer (may be repeated)
    #[arg(long, value_name = "TEXT")]
    stop: Vec<String>,
    /// Complete the prompt as is, without the model's chat template
    #[arg(long)]
    raw: bool,
    /// Print one JSON object: text, token ids, throughput, device, memory
    #[arg(long)]
    json: bool,
}

/// Sampling options.
#[derive(clap::Args)]
pub struct SamplingArgs {
    /// Sampling temperature (0 = greedy) [default: the model's, otherwise 0]
    #[arg(long, alias = "temperature")]
    temp: Option<f32>,
    /// Sample from the k most likely tokens (0 = no limit) [default: the model's, otherwise 40]
    #[arg(long)]
    top_k: Option<usize>,
    /// Sample from the smallest set of tokens whose probabilities add up to this [default: the model's, otherwise 0.95]
    #[arg(long)]
    top_p: Option<f32>,
    /// Drop tokens less likely than this fraction of the most likely one [default: the model's, otherwise 0.05]
    #[arg(long)]
    min_p: Option<f32>,
    /// Repetition penalty on recent tokens (1 = off) [default: the model's, otherwise 1]
    #[arg(long)]
    repeat_penalty: Option<f32>,
    /// Random seed [default: random]
    #[arg(long)]
    seed: Option<u64>,
}

impl SamplingArgs {
    /// The options given on the command line, with the model's recommendations as defaults.
    pub fn over(&self, model: Sampling) -> Sampling {
        Sampling {
            temperature: self.temp.unwrap_or(model.temperature),
            top_k: self.top_k.unwrap_or(model.top_k),
            top_p: self.top_p.unwrap_or(model.top_p),
            min_p: self.min_p.unwrap_or(model.min_p),
            repeat_penalty: self.repeat_penalty.unwrap_or(model.repeat_penalty),
            repeat_last: model.repeat_last,
        }
    }

    /// Rejects invalid settings before a model is loaded.
    pub fn check(&self) -> Result<(), Failure> {
        Ok(self.over(Sampling::default()).check()?)
    }

    pub fn seed(&self) -> u64 {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        self.seed.unwrap_or_else(|| now.map_or(0, |time| time.as_nanos() as u64))
    }
}

pub fn run(args: &Args) -> Outcome {
    args.sampling.check()?;
    ranks::group()?;
    let texts = prompts(args)?;
    let model = args.choice.load()?;
    let seed = ranks::shared_seed(args.sampling.seed())?;
    let request = |text: &String| {
        Ok(Request {
            prompt: encode(args, &model, text)?,
            limit: args.limit,
            sampling: args.sampling.over(model.sampling()),
            seed,
            stops: args.stop.clone(),
        })
    };
    let requests = texts.iter().map(request).collect::<Result<Vec<_>, Failure>>()?;
    match requests.as_slice() {
        [request] => {
            let mut speculation = args.draft.speculation(&args.choice, &model)?;
            one(args, &mut args.choice.session(&model)?, request, speculation.as_mut())?;
        }
        _ => {
            let sessions = texts.iter().map(|_| args.choice.session(&model));
            several(args, &texts, &mut sessions.collect::<Result<Vec<_>, Failure>>()?, &requests)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Streams the answer to stdout.
fn one(
    args: &Args,
    session: &mut Session,
    request: &Request,
    mut speculation: Option<&mut Speculation>,
) -> Result<(), Failure> {
    let mut out = std::io::stdout();
    let generated = session.generate_with(request, speculation.as_deref_mut(), |piece| {
        let shown = if args.json { Ok(()) } else { write!(out, "{piece}").and_then(|()| out.flush()) };
        // The reader has closed the pipe; stop generating.
        if shown.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    let guesses = speculation.map(|speculation| speculation.counts());
    if args.json {
        let mut report = report(args, session, &generated);
        if let Some((read, kept)) = guesses {
            report["draft"] = json!({ "tokens": read, "kept": kept });
        }
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        println!();
        let kept = guesses.map_or(String::new(), |(read, kept)| format!(", {kept} of {read} guesses kept"));
        if ranks::speaks() {
            anstream::eprintln!("{}", paint(DIM, summary(session, &generated) + &kept));
        }
    }
    Ok(())
}

/// Prints each prompt with its answer, once all are done.
fn several(
    args: &Args,
    texts: &[String],
    sessions: &mut [Session],
    requests: &[Request],
) -> Result<(), Failure> {
    let answers = Session::generate_together(sessions, requests, |_, _| ControlFlow::Continue(()))?;
    if args.json {
        let reports = sessions.iter().zip(&answers).map(|(session, answer)| report(args, session, answer));
        println!("{}", serde_json::to_string_pretty(&reports.collect::<Vec<_>>())?);
        return Ok(());
    }
    for (text, answer) in texts.iter().zip(&answers) {
        crate::output::outln!("{}\n{}\n", paint(HEAD, text), answer.text.trim());
    }
    let count: usize = answers.iter().map(|a| a.tokens.len()).sum();
    let time = answers.iter().map(|a| a.decode_time).max().unwrap_or_default();
    let rate = count as f64 / time.as_secs_f64().max(1e-9);
    let what = format!("{count} tokens of {} answers at {rate:.1}/s in total", answers.len());
    if ranks::speaks() {
        anstream::eprintln!("{}", paint(DIM, what));
    }
    Ok(())
}

fn prompts(args: &Args) -> Result<Vec<String>, Failure> {
    let mut texts = args.prompts.clone();
    if texts.is_empty() {
        // Launchers pass stdin to rank 0 only.
        texts.extend(ranks::shared(|| read_prompt().map(Some))?);
    }
    if texts.iter().any(|text| text.trim().is_empty()) {
        return Err("the prompt is empty".into());
    }
    Ok(texts)
}

fn read_prompt() -> Result<String, Failure> {
    if std::io::stdin().is_terminal() {
        return Err(
            "no prompt was given; use `wootz run \"…\"` for one answer, or `wootz chat` for a conversation"
                .into(),
        );
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    Ok(text)
}

/// The prompt's tokens, with the chat template applied if the model has one.
fn encode(args: &Args, model: &Model, text: &str) -> Result<Vec<u32>, Failure> {
    let template = model.template().filter(|_| !args.raw);
    let Some(template) = template else {
        if args.system.is_some() {
            return Err(
                "--system needs a model with a chat template, and cannot be combined with --raw".into()
            );
        }
        return Ok(model.tokenizer().encode(text, Encoding::TEXT));
    };
    let system = args.system.iter().map(|s| Message::new("system", s));
    let messages: Vec<Message> = system.chain([Message::new("user", text)]).collect();
    Ok(model.tokenizer().encode(&template.render(&messages, true)?, Encoding::TEMPLATE))
}

fn summary(session: &Session, generated: &Generated) -> String {
    format!(
        "{} prompt tokens at {:.1}/s, {} tokens at {:.1}/s on {}, cache {}",
        generated.prompt_tokens,
        generated.prompt_rate(),
        generated.tokens.len(),
        generated.decode_rate(),
        models::home(session.model()),
        bytes(session.state_bytes()),
    )
}

fn report(args: &Args, session: &Session, generated: &Generated) -> serde_json::Value {
    let model = session.model();
    json!({
        "model": args.choice.model,
        "text": generated.text,
        "tokens": generated.tokens,
        "finish": generated.finish.name(),
        "prompt_tokens": generated.prompt_tokens,
        "prompt_tokens_per_second": generated.prompt_rate(),
        "decode_tokens_per_second": generated.decode_rate(),
        "device": model.device().name(),
        "ranks": model.share().map(|share| json!({
            "count": share.group().size(), "parallel": share.parallel().name(), "weights_bytes": share.bytes(model.gguf()),
            "operations": share.group().traffic().operations, "sent_bytes": share.group().traffic().bytes,
        })),
        "device_reason": model.placement().map(|placement| placement.reason(model.device())),
        "notices": session.notices().iter().map(ToString::to_string).collect::<Vec<_>>(),
        "memory": {
            "weights_bytes": model.gguf().file_bytes(),
            "cache_bytes": session.state_bytes(),
            "device_peak_bytes": model.device().memory().peak,
        },
    })
}
