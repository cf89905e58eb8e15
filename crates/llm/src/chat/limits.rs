//! Resource limits of chat templates. A template comes with a model file, which is not trusted: whatever it contains,
//! it must terminate, and quickly.
//!
//! Steps and output are counted while it runs. The rest is checked beforehand: the source is read once, tag by tag,
//! so that no nesting is deep enough to exhaust a stack, no namespace can contain itself, and every value that is
//! kept (by `set`, or as a macro's parameter) passes through `bounded`, which rejects oversized ones.

use std::cell::Cell;

use crate::error::{Error, Result};

/// Limits of a chat template, each named in the error of a template that exceeds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TemplateLimits {
    /// Source size in bytes.
    pub source: usize,
    /// Nesting of tags, brackets, prefixes and branches.
    pub nesting: usize,
    /// Words and operators per tag.
    pub tag: usize,
    /// Instructions per rendering.
    pub steps: u64,
    /// Bytes that a rendering may write, and that a value may have, in addition to four times the bytes of the
    /// messages.
    pub bytes: usize,
}

impl Default for TemplateLimits {
    fn default() -> TemplateLimits {
        TemplateLimits { source: 256 << 10, nesting: 100, tag: 1000, steps: 500_000, bytes: 4 << 20 }
    }
}

/// Stack of the thread that compiles or renders: values and syntax trees are walked recursively by the engine.
pub(super) const STACK: usize = 256 << 20;

/// The function that every kept value passes through; templates cannot name it.
pub(super) const BOUNDED: &str = "__bounded";

pub(super) fn exceeded(limit: &str, detail: String) -> Error {
    Error::Template(format!("{detail} (limit `{limit}`)"))
}

thread_local! {
    static LARGEST: Cell<usize> = const { Cell::new(0) };
    static WRITTEN: Cell<usize> = const { Cell::new(0) };
    static MADE: Cell<usize> = const { Cell::new(0) };
}

/// Resets the counters of this thread for a rendering.
pub(super) fn start(largest: usize) {
    LARGEST.set(largest);
    WRITTEN.set(0);
    MADE.set(0);
}

/// How many values of the maximum size a rendering may create.
const LARGE_VALUES: usize = 64;

/// Counts a kept value: each is within the limit, but all of them together would take minutes.
pub(super) fn make(bytes: usize) -> std::result::Result<(), minijinja::Error> {
    fits(bytes)?;
    MADE.set(MADE.get().saturating_add(bytes));
    let most = LARGEST.get().saturating_mul(LARGE_VALUES);
    if MADE.get() <= most {
        return Ok(());
    }
    let detail = format!("values of more than {most} bytes in total (limit `bytes`)");
    Err(minijinja::Error::new(minijinja::ErrorKind::InvalidOperation, detail))
}

/// Whether a value may have this size.
pub(super) fn fits(bytes: usize) -> std::result::Result<(), minijinja::Error> {
    if bytes <= LARGEST.get() {
        return Ok(());
    }
    let detail = format!("a value of more than {} bytes (limit `bytes`)", LARGEST.get());
    Err(minijinja::Error::new(minijinja::ErrorKind::InvalidOperation, detail))
}

/// Counts bytes written to the prompt or a value.
pub(super) fn write(bytes: usize) -> std::result::Result<(), minijinja::Error> {
    let written = WRITTEN.get().saturating_add(bytes);
    WRITTEN.set(written);
    fits(written)
}

/// The source with its kept values bounded, if it is within the limits.
pub(super) fn admit(source: &str, limits: &TemplateLimits) -> Result<String> {
    if source.len() > limits.source {
        let detail = format!("{} bytes of source; the limit is {}", source.len(), limits.source);
        return Err(exceeded("source", detail));
    }
    let mut reader =
        Reader { limits, out: String::with_capacity(source.len()), open: Vec::new(), spaces: vec![] };
    let mut rest = source;
    while let Some(at) = rest.find("{{").into_iter().chain(rest.find("{%")).chain(rest.find("{#")).min() {
        reader.out.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = match &rest[..2] {
            "{#" => rest.find("#}").map(|end| end + 2),
            _ => tag_end(rest),
        };
        // An unterminated construct is a syntax error, which the engine reports with its line.
        let Some(length) = length else { break };
        let (tag, behind) = rest.split_at(length);
        rest = behind;
        if tag.starts_with("{#") {
            reader.out.push_str(tag);
        } else if reader.tag(tag)? {
            let raw = rest.find("endraw").unwrap_or(rest.len());
            reader.out.push_str(&rest[..raw]);
            rest = &rest[raw..];
        }
    }
    reader.out.push_str(rest);
    Ok(reader.out)
}

/// The end of a tag, skipping quoted text.
fn tag_end(tag: &str) -> Option<usize> {
    let close = if tag.starts_with("{{") { "}}" } else { "%}" };
    let mut at = 2;
    // Closing braces of a dict may stand right before those of the tag, so brackets are counted.
    let mut depth = 0usize;
    while at < tag.len() {
        let rest = &tag[at..];
        let c = rest.chars().next()?;
        match c {
            '\'' | '"' => at += string_end(rest)?,
            _ if depth == 0 && rest.starts_with(close) => return Some(at + 2),
            _ => {
                match c {
                    '(' | '[' | '{' => depth += 1,
                    ')' | ']' | '}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                at += c.len_utf8();
            }
        }
    }
    None
}

/// The length of a quoted text with its quotes.
fn string_end(text: &str) -> Option<usize> {
    let quote = text.chars().next()?;
    let mut escaped = false;
    for (i, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return Some(i + 1),
            _ => {}
        }
    }
    None
}

/// A word or operator, and its position in the tag.
#[derive(Clone, Copy, PartialEq)]
struct Token<'a> {
    text: &'a str,
    at: usize,
}

fn tokens(tag: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut at = 2;
    let end = tag.len() - 2;
    while at < end {
        let rest = &tag[at..end];
        let Some(c) = rest.chars().next() else { break };
        let length = if matches!(c, '\'' | '"') {
            string_end(rest).unwrap_or(rest.len())
        } else if c.is_alphanumeric() || c == '_' {
            rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
        } else {
            c.len_utf8()
        };
        if !c.is_whitespace() {
            found.push(Token { text: &rest[..length], at });
        }
        at += length;
    }
    // The signs of whitespace control are not operators.
    if found.first().is_some_and(|t| t.at == 2 && matches!(t.text, "-" | "+")) {
        found.remove(0);
    }
    if found.last().is_some_and(|t| t.at + 1 == end && matches!(t.text, "-" | "+")) {
        found.pop();
    }
    found
}

struct Reader<'a> {
    limits: &'a TemplateLimits,
    out: String,
    /// Blocks that are open, each with the branches that it has so far.
    open: Vec<usize>,
    /// Names of namespaces.
    spaces: Vec<String>,
}

impl Reader<'_> {
    /// Copies a tag to the result; true if it starts raw text.
    fn tag(&mut self, tag: &str) -> Result<bool> {
        let tokens = tokens(tag);
        if tokens.len() > self.limits.tag {
            let detail = format!("a tag of {} words; the limit is {}", tokens.len(), self.limits.tag);
            return Err(exceeded("tag", detail));
        }
        self.check_nesting(&tokens)?;
        let is_block = tag.starts_with("{%");
        let words: Vec<&str> = tokens.iter().map(|t| t.text).collect();
        if is_block {
            self.check_blocks(&words)?;
        }
        self.check_namespaces(is_block, &words)?;
        let end = tag.len() - if tag[..tag.len() - 2].ends_with(['-', '+']) { 3 } else { 2 };
        match words.as_slice() {
            ["set", ..] if is_block && words.contains(&"=") => {
                let equals = tokens.iter().find(|t| t.text == "=").map_or(end, |t| t.at + 1);
                let (target, value) = (&tag[..equals], &tag[equals..end]);
                self.out.push_str(&format!("{target} {BOUNDED}(({value})) {}", &tag[end..]));
            }
            ["macro", _, parameters @ ..] if is_block => {
                self.out.push_str(tag);
                self.bound_parameters(parameters, &tag[end..]);
            }
            _ => self.out.push_str(tag),
        }
        Ok(is_block && words.as_slice() == ["raw"])
    }

    /// Bounds a macro's parameters, by assigning them to themselves after its first tag.
    fn bound_parameters(&mut self, parameters: &[&str], close: &str) {
        let is_name = |word: &&str| word.starts_with(|c: char| c.is_alphabetic() || c == '_');
        let mut depth = 0usize;
        for (i, word) in parameters.iter().enumerate() {
            match *word {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                name if depth == 1 && is_name(word) && matches!(parameters[i - 1], "(" | ",") => {
                    self.out.push_str(&format!("{{% set {name} = {BOUNDED}({name}) {close}"));
                }
                _ => {}
            }
        }
    }

    fn too_deep(&self) -> Error {
        exceeded("nesting", format!("nested deeper than {}", self.limits.nesting))
    }

    /// Brackets, and runs of prefixes and conditions, each of which the parser descends into.
    fn check_nesting(&self, tokens: &[Token<'_>]) -> Result<()> {
        let (mut depth, mut prefixes, mut conditions) = (0usize, 0usize, 0usize);
        for token in tokens {
            prefixes = if matches!(token.text, "not" | "-" | "+" | "*") { prefixes + 1 } else { 0 };
            match token.text {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                "if" | "else" => conditions += 1,
                _ => {}
            }
            if depth.max(prefixes).max(conditions) > self.limits.nesting {
                return Err(self.too_deep());
            }
        }
        Ok(())
    }

    fn check_blocks(&mut self, words: &[&str]) -> Result<()> {
        let opens = match words.first() {
            Some(&"if" | &"for" | &"macro" | &"call" | &"filter" | &"with" | &"block" | &"autoescape") => {
                true
            }
            Some(&"set") => !words.contains(&"="),
            _ => false,
        };
        if opens {
            self.open.push(1);
        } else if let (Some(&"elif"), Some(branches)) = (words.first(), self.open.last_mut()) {
            *branches += 1;
        } else if words.first().is_some_and(|word| word.starts_with("end") && *word != "endraw") {
            self.open.pop();
        }
        if self.open.iter().sum::<usize>() > self.limits.nesting {
            return Err(self.too_deep());
        }
        Ok(())
    }

    /// A namespace can only be used through its attributes: anything else could make it contain itself.
    fn check_namespaces(&mut self, is_block: bool, words: &[&str]) -> Result<()> {
        let refused = |name: &str| {
            let detail = format!("namespace `{name}` is used as a value; only its attributes can be used");
            Err(Error::Template(detail))
        };
        if words.contains(&BOUNDED) {
            return Err(Error::Template(format!("the name {BOUNDED} is reserved")));
        }
        let mut words = words;
        if let (true, ["set", name, "=", "namespace", "(", rest @ ..]) = (is_block, words) {
            self.spaces.push((*name).to_owned());
            words = rest;
        } else if let (true, ["set", name, ".", _, "=", rest @ ..]) = (is_block, words)
            && self.spaces.iter().any(|space| space == name)
        {
            words = rest;
        }
        for (i, word) in words.iter().enumerate() {
            let is_attribute = i > 0 && words[i - 1] == ".";
            let followed_by = words.get(i + 1).copied().unwrap_or_default();
            let keyword = followed_by == "=" && words.get(i + 2) != Some(&"=");
            if *word == "namespace" && !is_attribute && !keyword {
                return refused(word);
            }
            let is_space = self.spaces.iter().any(|space| space == word) && !is_attribute && !keyword;
            if is_space && !matches!(followed_by, "." | "[") {
                return refused(word);
            }
        }
        Ok(())
    }
}
