//! Chat templates: the Jinja program in the metadata that turns messages into the prompt format of the model.
//!
//! Templates are written for Python's Jinja, so Python's string and list methods are available (`strip`, `split`,
//! `items`, …), and the helpers that template authors expect: `raise_exception`, `strftime_now`, `tojson` with
//! `indent`. A template is pure: it sees only its arguments, and its time, memory and nesting are bounded: see
//! [`TemplateLimits`].

mod limits;

pub use limits::TemplateLimits;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{Environment, ErrorKind, State, UndefinedBehavior};
use serde::{Deserialize, Serialize};
use wootz_gguf::Gguf;

use crate::error::{Error, Result};
use crate::tokenizer::Tokenizer;

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// `system`, `user`, `assistant`, or another role that the template supports.
    pub role: String,
    /// The text.
    pub content: String,
}

impl Message {
    /// A message.
    pub fn new(role: impl Into<String>, content: impl Into<String>) -> Message {
        Message { role: role.into(), content: content.into() }
    }

    fn value(&self) -> Value {
        Value::from_pairs([("role", self.role.as_str()), ("content", self.content.as_str())])
    }
}

/// A model's chat template.
#[derive(Debug)]
pub struct ChatTemplate {
    environment: Environment<'static>,
    bos: String,
    eos: String,
    limits: TemplateLimits,
    source: String,
    /// Why the template is unusable: reported when it is used, because the model is useful without it.
    broken: Option<String>,
}

const NAME: &str = "chat";

/// What ChatML models expect; used when a model has the tokens but no template.
const CHATML: &str = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}\
                      {% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

/// What Gemma models expect; used when a model has the tokens but no template.
const GEMMA: &str = "{{ bos_token }}{% for m in messages %}<start_of_turn>\
                     {{ 'model' if m.role == 'assistant' else 'user' }}\n{{ m.content | trim }}<end_of_turn>\n\
                     {% endfor %}{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}";

impl ChatTemplate {
    /// The template in a model file; otherwise the usual one for the vocabulary; or `None` for models without chat.
    pub fn from_gguf(gguf: &Gguf, tokenizer: &Tokenizer) -> Result<Option<ChatTemplate>> {
        let vocab = tokenizer.vocab();
        let text = |id: Option<u32>| {
            let bytes = id.and_then(|i| vocab.text(i)).unwrap_or_default();
            String::from_utf8_lossy(bytes).into_owned()
        };
        let stored = gguf.metadata().optional("tokenizer.chat_template", "a string", |v| v.as_str())?;
        let has = |token: &str| vocab.id(token.as_bytes()).is_some();
        let source = match stored {
            Some(source) => source,
            None if has("<|im_start|>") && has("<|im_end|>") => CHATML,
            None if has("<start_of_turn>") && has("<end_of_turn>") => GEMMA,
            None => return Ok(None),
        };
        let (bos, eos) = (text(vocab.bos), text(vocab.eos));
        Ok(Some(ChatTemplate::new(source, bos.as_str(), eos.as_str()).unwrap_or_else(|error| ChatTemplate {
            environment: Environment::empty(),
            bos,
            eos,
            limits: TemplateLimits::default(),
            source: source.to_owned(),
            broken: Some(match error {
                Error::Template(detail) => detail,
                other => other.to_string(),
            }),
        })))
    }

    /// Compiles a template, within the default limits.
    pub fn new(source: &str, bos: impl Into<String>, eos: impl Into<String>) -> Result<ChatTemplate> {
        ChatTemplate::within(TemplateLimits::default(), source, bos, eos)
    }

    /// Compiles a template with custom limits.
    pub fn within(
        limits: TemplateLimits,
        source: &str,
        bos: impl Into<String>,
        eos: impl Into<String>,
    ) -> Result<ChatTemplate> {
        let admitted = limits::admit(source, &limits)?;
        let environment = on_deep_stack(|| ChatTemplate::compile(admitted, &limits))??;
        let source = source.to_owned();
        Ok(ChatTemplate { environment, bos: bos.into(), eos: eos.into(), limits, source, broken: None })
    }

    fn compile(source: String, limits: &TemplateLimits) -> Result<Environment<'static>> {
        let mut environment = Environment::new();
        let mut syntax = SyntaxConfig::builder();
        let syntax = syntax.trim_blocks(true).lstrip_blocks(true).build().map_err(|e| failed(&e))?;
        environment.set_syntax(syntax);
        environment.set_undefined_behavior(UndefinedBehavior::Lenient);
        environment.set_unknown_method_callback(python_method);
        environment.add_function(
            "raise_exception",
            |message: String| -> std::result::Result<String, minijinja::Error> {
                Err(minijinja::Error::new(ErrorKind::InvalidOperation, message))
            },
        );
        environment.add_function("strftime_now", |format: String| strftime(&format, seconds_now()));
        environment.add_filter("tojson", tojson);
        environment.add_filter("join", join);
        ["escape", "e"].into_iter().for_each(|name| environment.add_filter(name, escape));
        environment.add_filter("replace", |s: String, from: String, to: String| replace(&s, &from, &to));
        // These make as much as they are told to, and no chat needs them.
        ["batch", "slice", "format", "indent", "pprint", "urlencode"]
            .into_iter()
            .for_each(|name| environment.remove_filter(name));
        environment.add_function(limits::BOUNDED, bounded);
        environment.set_formatter(|out, state, value| {
            limits::write(value.as_str().map_or(24, str::len))?;
            minijinja::escape_formatter(out, state, value)
        });
        environment.set_fuel(Some(limits.steps));
        environment.add_template_owned(NAME, source).map_err(|e| failed(&e))?;
        Ok(environment)
    }

    /// The prompt for a conversation; `answer` appends the start of the assistant's turn.
    pub fn render(&self, messages: &[Message], answer: bool) -> Result<String> {
        let given = messages.iter().map(|m| m.role.len() + m.content.len()).sum();
        let messages = messages.iter().map(Message::value).collect::<Vec<Value>>();
        self.render_values(given, Value::from(messages), answer, Value::UNDEFINED)
    }

    /// The same for messages with more than role and text (`tool_calls`, `tool_call_id`, …). `extra` has the other
    /// variables that the template reads, such as `tools`.
    pub fn render_json(
        &self,
        messages: &serde_json::Value,
        answer: bool,
        extra: &serde_json::Value,
    ) -> Result<String> {
        let given = messages.to_string().len() + extra.to_string().len();
        let value = |json: &serde_json::Value| {
            Value::deserialize(json).map_err(|error| Error::Template(error.to_string()))
        };
        self.render_values(given, value(messages)?, answer, value(extra)?)
    }

    /// The source of the template.
    pub fn source(&self) -> &str {
        &self.source
    }

    fn render_values(&self, given: usize, messages: Value, answer: bool, extra: Value) -> Result<String> {
        if let Some(problem) = &self.broken {
            return Err(Error::Template(problem.clone()));
        }
        let most = self.limits.bytes.saturating_add(given.saturating_mul(4));
        let rendered = on_deep_stack(|| {
            limits::start(most);
            let template = self.environment.get_template(NAME).map_err(|e| self.failed(&e))?;
            let own = minijinja::context! {
                messages => messages,
                add_generation_prompt => answer,
                bos_token => self.bos.as_str(),
                eos_token => self.eos.as_str(),
            };
            let context = match extra.is_undefined() || extra.is_none() {
                true => own,
                false => minijinja::context! { ..own, ..extra },
            };
            let mut out = Prompt { bytes: Vec::new(), most };
            let done =
                template.render_captured_to(context, &mut out).map(|_| ()).map_err(|e| self.failed(&e));
            done.map(|()| String::from_utf8_lossy(&out.bytes).into_owned())
        });
        rendered?
    }

    fn failed(&self, error: &minijinja::Error) -> Error {
        match error.kind() {
            ErrorKind::OutOfFuel => {
                limits::exceeded("steps", format!("more than {} instructions", self.limits.steps))
            }
            ErrorKind::WriteFailure => limits::exceeded("bytes", "the prompt is too long".into()),
            _ => failed(error),
        }
    }
}

/// An output buffer for the prompt, bounded in size.
struct Prompt {
    bytes: Vec<u8>,
    most: usize,
}

impl std::io::Write for Prompt {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.bytes.len() + bytes.len() > self.most {
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Runs `f` on a thread whose stack is large enough for the deepest values and expressions within the limits.
fn on_deep_stack<T: Send>(f: impl FnOnce() -> T + Send) -> Result<T> {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().name("wootz-template".into()).stack_size(limits::STACK);
        let thread = builder.spawn_scoped(scope, f);
        let thread = thread.map_err(|e| Error::Template(format!("cannot start a thread: {e}")))?;
        thread.join().map_err(|_| Error::Template("the template engine failed".into()))
    })
}

/// The error with its line, without the wrapping of nested calls.
fn failed(error: &minijinja::Error) -> Error {
    Error::Template(error.to_string())
}

/// Returns the value, if it is not too large to keep.
fn bounded(value: Value) -> std::result::Result<Value, minijinja::Error> {
    let size = value.as_str().map(str::len).or_else(|| value.len().map(|items| items.saturating_mul(8)));
    limits::make(size.unwrap_or(0))?;
    Ok(value)
}

fn replace(s: &str, from: &str, to: &str) -> std::result::Result<String, minijinja::Error> {
    let found = if from.is_empty() { s.len() + 1 } else { s.matches(from).count() };
    limits::make(s.len().saturating_add(found.saturating_mul(to.len())))?;
    Ok(s.replace(from, to))
}

fn join(items: Value, by: Option<String>) -> std::result::Result<String, minijinja::Error> {
    let by = by.unwrap_or_default();
    let mut text = String::new();
    for (i, item) in items.try_iter()?.enumerate() {
        if i > 0 {
            text.push_str(&by);
        }
        match item.as_str() {
            Some(part) => text.push_str(part),
            None => text.push_str(&item.to_string()),
        }
        limits::fits(text.len())?;
    }
    Ok(text)
}

/// `tojson` with Python's formatting: `", "` and `": "` separators, or indentation.
fn tojson(value: Value, options: Kwargs) -> std::result::Result<Value, minijinja::Error> {
    let indent: Option<usize> = options.get("indent")?;
    for name in ["ensure_ascii", "separators", "sort_keys"] {
        let _: Option<Value> = options.get(name)?;
    }
    options.assert_all_used()?;
    let fail = |e: serde_json::Error| minijinja::Error::new(ErrorKind::BadSerialization, e.to_string());
    let mut out = Bounded::default();
    match indent {
        Some(n) => {
            let spaces = " ".repeat(n.min(16));
            let formatter = serde_json::ser::PrettyFormatter::with_indent(spaces.as_bytes());
            value
                .serialize(&mut serde_json::Serializer::with_formatter(&mut out, formatter))
                .map_err(fail)?;
        }
        None => {
            value.serialize(&mut serde_json::Serializer::with_formatter(&mut out, Spaced)).map_err(fail)?;
        }
    }
    limits::make(out.0.len())?;
    Ok(Value::from_safe_string(String::from_utf8_lossy(&out.0).into_owned()))
}

/// An output buffer for JSON, bounded like a value: JSON of JSON of JSON doubles the backslashes each time.
#[derive(Default)]
struct Bounded(Vec<u8>);

impl std::io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        limits::fits(self.0.len() + bytes.len()).map_err(std::io::Error::other)?;
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Escapes text for HTML, unless it is marked as safe.
fn escape(value: Value) -> std::result::Result<Value, minijinja::Error> {
    if value.is_safe() {
        return Ok(value);
    }
    let text = value.to_string();
    let longer = text.bytes().filter(|byte| b"<>&\"'/".contains(byte)).count().saturating_mul(5);
    limits::make(text.len().saturating_add(longer))?;
    Ok(Value::from_safe_string(minijinja::HtmlEscape(&text).to_string()))
}

/// JSON on one line, with Python's spacing.
struct Spaced;

impl serde_json::ser::Formatter for Spaced {
    fn begin_array_value<W: ?Sized + std::io::Write>(
        &mut self,
        w: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        if first { Ok(()) } else { w.write_all(b", ") }
    }
    fn begin_object_key<W: ?Sized + std::io::Write>(
        &mut self,
        w: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        if first { Ok(()) } else { w.write_all(b", ") }
    }
    fn begin_object_value<W: ?Sized + std::io::Write>(&mut self, w: &mut W) -> std::io::Result<()> {
        w.write_all(b": ")
    }
}

/// The methods of Python's strings, dicts and lists that templates use.
fn python_method(
    _state: &mut State<'_, '_>,
    value: &Value,
    name: &str,
    args: &[Value],
) -> std::result::Result<Value, minijinja::Error> {
    let unknown =
        || minijinja::Error::new(ErrorKind::UnknownMethod, format!("{} has no method {name}", value.kind()));
    match value.kind() {
        ValueKind::String => {
            let text = value.as_str().unwrap_or_default();
            match (name, args) {
                ("replace", [from, to, ..]) => {
                    let (from, to) = (from.as_str().unwrap_or_default(), to.as_str().unwrap_or_default());
                    replace(text, from, to).map(Value::from)
                }
                ("join", [items]) => join(items.clone(), Some(text.to_owned())).map(Value::from),
                _ => string_method(text, name, args).ok_or_else(unknown),
            }
        }
        ValueKind::Map => map_method(value, name, args).ok_or_else(unknown),
        _ => Err(unknown()),
    }
}

fn string_method(s: &str, name: &str, args: &[Value]) -> Option<Value> {
    let text = |i: usize| args.get(i).and_then(|a| a.as_str());
    let set: Option<Vec<char>> = text(0).map(|t| t.chars().collect());
    let strips = |c: char| set.as_ref().map_or(c.is_whitespace(), |set| set.contains(&c));
    let limit =
        args.get(1).and_then(|a| i64::try_from(a.clone()).ok()).filter(|n| *n >= 0).map(|n| n as usize);
    Some(match name {
        "strip" => s.trim_matches(strips).into(),
        "lstrip" => s.trim_start_matches(strips).into(),
        "rstrip" => s.trim_end_matches(strips).into(),
        "upper" => s.to_uppercase().into(),
        "lower" => s.to_lowercase().into(),
        "title" => title(s).into(),
        "capitalize" => capitalize(s).into(),
        "startswith" => any_of(args, |p| s.starts_with(p))?.into(),
        "endswith" => any_of(args, |p| s.ends_with(p))?.into(),
        "removeprefix" => s.strip_prefix(text(0)?).unwrap_or(s).into(),
        "removesuffix" => s.strip_suffix(text(0)?).unwrap_or(s).into(),
        "find" => s.find(text(0)?).map_or(-1, |at| s[..at].chars().count() as i64).into(),
        "count" => (s.matches(text(0)?).count() as i64).into(),
        "split" => match (text(0), limit) {
            (Some(""), _) => return None,
            (Some(by), Some(n)) => list(s.splitn(n + 1, by)),
            (Some(by), None) => list(s.split(by)),
            (None, _) => list(s.split_whitespace()),
        },
        "rsplit" => match (text(0), limit) {
            (Some(by), Some(n)) if !by.is_empty() => {
                let mut parts: Vec<_> = s.rsplitn(n + 1, by).collect();
                parts.reverse();
                list(parts.into_iter())
            }
            _ => return string_method(s, "split", args),
        },
        "splitlines" => list(s.lines()),
        "isdigit" => (!s.is_empty() && s.chars().all(|c| c.is_numeric())).into(),
        "isalpha" => (!s.is_empty() && s.chars().all(char::is_alphabetic)).into(),
        "isspace" => (!s.is_empty() && s.chars().all(char::is_whitespace)).into(),
        "isupper" => (s.chars().any(char::is_uppercase) && !s.chars().any(char::is_lowercase)).into(),
        "islower" => (s.chars().any(char::is_lowercase) && !s.chars().any(char::is_uppercase)).into(),
        _ => return None,
    })
}

fn list<'a>(items: impl Iterator<Item = &'a str>) -> Value {
    Value::from(items.map(Value::from).collect::<Vec<Value>>())
}

/// Whether a test holds for the argument, or for one of them if it is a list.
fn any_of(args: &[Value], test: impl Fn(&str) -> bool) -> Option<bool> {
    let first = args.first()?;
    if let Some(s) = first.as_str() {
        return Some(test(s));
    }
    Some(first.try_iter().ok()?.any(|v| v.as_str().is_some_and(&test)))
}

fn capitalize(s: &str) -> String {
    let mut chars = s.chars();
    chars
        .next()
        .map_or_else(String::new, |c| c.to_uppercase().chain(chars.flat_map(char::to_lowercase)).collect())
}

fn title(s: &str) -> String {
    let mut inside = false;
    let cased = |c: char| -> String {
        let out = if inside { c.to_lowercase().collect() } else { c.to_uppercase().collect() };
        inside = c.is_alphabetic();
        out
    };
    s.chars().map(cased).collect()
}

fn map_method(map: &Value, name: &str, args: &[Value]) -> Option<Value> {
    let entries =
        || map.try_iter().ok().map(|keys| keys.map(|k| (k.clone(), map.get_item(&k).unwrap_or_default())));
    Some(match name {
        "get" => {
            let found = map.get_item(args.first()?).ok().filter(|v| !v.is_undefined());
            found.unwrap_or_else(|| args.get(1).cloned().unwrap_or_else(|| Value::from(())))
        }
        "items" => entries()?.map(|(k, v)| Value::from(vec![k, v])).collect::<Vec<_>>().into(),
        "keys" => entries()?.map(|e| e.0).collect::<Vec<_>>().into(),
        "values" => entries()?.map(|e| e.1).collect::<Vec<_>>().into(),
        _ => return None,
    })
}

fn seconds_now() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |d| d.as_secs() as i64)
}

/// The time (UTC) in strftime format; unsupported directives are copied.
fn strftime(format: &str, seconds: i64) -> String {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    const DAYS: [&str; 7] = ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil(days);
    let (month_name, day_name) = (MONTHS[month - 1], DAYS[days.rem_euclid(7) as usize]);
    let mut out = String::new();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('Y') => out += &year.to_string(),
            Some('y') => out += &format!("{:02}", year.rem_euclid(100)),
            Some('m') => out += &format!("{month:02}"),
            Some('d') => out += &format!("{day:02}"),
            Some('e') => out += &format!("{day:2}"),
            Some('B') => out += month_name,
            Some('b') => out += &month_name[..3],
            Some('A') => out += day_name,
            Some('a') => out += &day_name[..3],
            Some('H') => out += &format!("{:02}", second / 3600),
            Some('M') => out += &format!("{:02}", second / 60 % 60),
            Some('S') => out += &format!("{:02}", second % 60),
            Some('%') => out.push('%'),
            Some(other) => out.extend(['%', other]),
            None => out.push('%'),
        }
    }
    out
}

/// Year, month and day of a day counted from 1970-01-01, in the Gregorian calendar.
fn civil(days: i64) -> (i64, usize, i64) {
    // Years are counted from March, so that the leap day is the last.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month as usize, day)
}

#[cfg(test)]
mod tests;
