//! `wootz chat`: a conversation in the terminal.

use crate::models::{self, Choice, Draft, Failure};
use crate::output::{DIM, HEAD, Outcome, paint};
use crate::remote::Remote;
use crate::run::SamplingArgs;
use rustyline::error::ReadlineError;
use std::io::Write;
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wootz_llm::chat::{ChatTemplate, Message};
use wootz_llm::sampling::Sampling;
use wootz_llm::tokenizer::Encoding;
use wootz_llm::{Finish, Request, Session, Speculation};

/// Chat with a language model
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    choice: Choice,
    #[command(flatten)]
    sampling: SamplingArgs,
    #[command(flatten)]
    draft: Draft,
    /// System prompt
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,
    /// Maximum number of tokens per answer
    #[arg(short = 'n', long, alias = "max-tokens", default_value_t = 1024, value_name = "TOKENS")]
    limit: usize,
    /// Chat with the model of a server that speaks OpenAI's API, such as `wootz serve`, instead of one loaded here
    #[arg(long, value_name = "URL", conflicts_with_all = ["model", "device", "context", "cache", "fast"])]
    url: Option<String>,
    /// API key of the server
    #[arg(long, env = "WOOTZ_API_KEY", hide_env_values = true, value_name = "KEY", requires = "url")]
    key: Option<String>,
}

const HELP: &str = "Press Enter to send. End a line with \\ to continue on the next, or put longer text between \"\"\".\n\
                    Ctrl-C stops the answer. /clear starts a new conversation, /quit or Ctrl-D exits.";

pub fn run(args: &Args) -> Outcome {
    args.sampling.check()?;
    if let Some(url) = &args.url {
        return remote(args, url);
    }
    let model = args.choice.load()?;
    let Some(template) = model.template() else {
        return Err(format!(
            "{} has no chat template; `wootz run --raw` continues a text",
            args.choice.model
        )
        .into());
    };
    let mut chat = Chat {
        args,
        template,
        session: args.choice.session(&model)?,
        speculation: args.draft.speculation(&args.choice, &model)?,
        messages: args.system.iter().map(|s| Message::new("system", s)).collect(),
        stop: Arc::default(),
    };
    let stop = chat.stop.clone();
    // A rank cannot stop on its own: under MPI, Ctrl-C ends all of them.
    if model.share().is_none() {
        ctrlc::set_handler(move || stop.store(true, Ordering::Relaxed))?;
    }
    crate::output::outln!(
        "{} on {}. {}\n",
        paint(HEAD, &args.choice.model),
        models::home(&model),
        paint(DIM, "Type /help for help.")
    );
    talk(|said| match said {
        Said::Clear => chat.clear(),
        Said::Text(text) => chat.answer(text),
    })
}

/// Chats with a model on a server.
fn remote(args: &Args, url: &str) -> Outcome {
    let mut remote = Remote::connect(url, args.key.as_deref(), args.system.as_deref())?;
    let stop = Arc::new(AtomicBool::new(false));
    let on_interrupt = stop.clone();
    ctrlc::set_handler(move || on_interrupt.store(true, Ordering::Relaxed))?;
    crate::output::outln!("{} at {url}. {}\n", remote.title(), paint(DIM, "Type /help for help."));
    let sampling = args.sampling.over(Sampling::default());
    talk(|said| {
        stop.store(false, Ordering::Relaxed);
        match said {
            Said::Clear => remote.clear(),
            Said::Text(text) => remote.answer(text, &sampling, (args.limit, args.sampling.seed()), &stop)?,
        }
        Ok(())
    })
}

/// A line of user input.
enum Said<'a> {
    Text(&'a str),
    /// Start a new conversation.
    Clear,
}

/// Reads input until it ends, passing each message to `answer`.
fn talk(mut answer: impl FnMut(Said<'_>) -> Result<(), Failure>) -> Outcome {
    let mut editor = rustyline::DefaultEditor::new()?;
    while let Some(text) = crate::ranks::shared(|| read(&mut editor))? {
        match text.trim() {
            "" => {}
            "/quit" | "/exit" => break,
            "/help" => crate::output::outln!("{}\n", paint(DIM, HELP)),
            "/clear" => {
                answer(Said::Clear)?;
                crate::output::outln!("{}\n", paint(DIM, "(new conversation)"));
            }
            text if is_command(text) => {
                crate::output::outln!(
                    "{}\n",
                    paint(DIM, format!("unknown command {text}; type /help for a list"))
                );
            }
            text => answer(Said::Text(text))?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether a message looks like a command: one word after a slash. Paths and fractions do not.
fn is_command(text: &str) -> bool {
    text.strip_prefix('/').is_some_and(|word| !word.is_empty() && word.chars().all(char::is_alphanumeric))
}

/// The next message, of one or more lines; `None` at the end of input.
fn read(editor: &mut rustyline::DefaultEditor) -> Result<Option<String>, Failure> {
    let mut text = String::new();
    let mut quoted = false;
    loop {
        let prompt = if text.is_empty() && !quoted { "> " } else { "… " };
        let line = match editor.readline(prompt) {
            Ok(line) => line,
            // Drop what was typed so far, but keep running.
            Err(ReadlineError::Interrupted) => return Ok(Some(String::new())),
            Err(ReadlineError::Eof) if text.is_empty() => return Ok(None),
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(error.into()),
        };
        let marks = line.matches("\"\"\"").count();
        quoted ^= marks % 2 == 1;
        let goes_on = !quoted && line.ends_with('\\');
        text.push_str(&line.replace("\"\"\"", ""));
        if goes_on {
            text.pop();
        }
        if !quoted && !goes_on {
            break;
        }
        text.push('\n');
    }
    if !text.trim().is_empty() {
        editor.add_history_entry(text.as_str())?;
    }
    Ok(Some(text))
}

struct Chat<'a> {
    args: &'a Args,
    template: &'a ChatTemplate,
    session: Session,
    speculation: Option<Speculation>,
    messages: Vec<Message>,
    stop: Arc<AtomicBool>,
}

impl Chat<'_> {
    fn clear(&mut self) -> Result<(), Failure> {
        self.messages.retain(|m| m.role == "system");
        Ok(self.session.clear()?)
    }

    /// The tokens of the conversation. The oldest messages are dropped if there would be no room for an answer.
    fn prompt(&mut self) -> Result<(Vec<u32>, usize), Failure> {
        // Reserve a quarter of the context for the answer, or the token limit if that is less.
        let room = self.args.limit.min(self.session.context() / 4);
        let first = self.messages.iter().take_while(|m| m.role == "system").count();
        let mut dropped = 0;
        loop {
            let text = self.template.render(&self.messages, true)?;
            let tokens = self.session.model().tokenizer().encode(&text, Encoding::TEMPLATE);
            // Drop questions together with their answers, but never the last question.
            let can_drop = self.messages.len() > first + 2;
            if tokens.len() + room <= self.session.context() || !can_drop {
                return Ok((tokens, dropped));
            }
            self.messages.drain(first..first + 2);
            dropped += 2;
        }
    }

    /// Streams the answer. A message that failed is not kept in the conversation.
    fn answer(&mut self, text: &str) -> Result<(), Failure> {
        self.messages.push(Message::new("user", text));
        let (prompt, dropped) = self.prompt()?;
        if dropped > 0 {
            let what = if dropped == 1 { "message" } else { "messages" };
            crate::output::outln!(
                "{}",
                paint(DIM, format!("(the context is full: dropped {dropped} old {what})"))
            );
        }
        let request = Request {
            prompt,
            limit: self.args.limit,
            sampling: self.args.sampling.over(self.session.model().sampling()),
            seed: crate::ranks::shared_seed(self.args.sampling.seed())?,
            stops: vec![],
        };
        self.stop.store(false, Ordering::Relaxed);
        let (mut out, stop) = (std::io::stdout(), self.stop.clone());
        let generated = self.session.generate_with(&request, self.speculation.as_mut(), |piece| {
            let shown = write!(out, "{piece}").and_then(|()| out.flush());
            match shown.is_err() || stop.load(Ordering::Relaxed) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        let generated = match generated {
            Ok(generated) => generated,
            Err(error) => {
                // With a rank lost, there is nothing to talk to.
                if self.session.model().share().is_some_and(|share| share.group().failure().is_some()) {
                    return Err(error.into());
                }
                self.messages.pop();
                if crate::ranks::speaks() {
                    anstream::eprintln!("{error}; /clear starts a new conversation\n");
                }
                return Ok(());
            }
        };
        let note = match generated.finish {
            Finish::End | Finish::Stop => String::new(),
            Finish::Cancelled => " (stopped)".into(),
            Finish::Limit => {
                format!(" (stopped at the limit of {} tokens; raise it with -n)", self.args.limit)
            }
            Finish::Context => " (the context is full; /clear starts a new conversation)".into(),
        };
        let note = if note.is_empty() { note } else { paint(DIM, note) };
        crate::output::outln!("{note}\n");
        self.messages.push(Message::new("assistant", generated.text));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::is_command;

    #[test]
    fn commands_are_words_after_a_slash() {
        assert!(is_command("/help") && is_command("/nonsense"));
        assert!(!is_command("/usr/bin") && !is_command("1/2") && !is_command("/") && !is_command("/help me"));
    }
}
