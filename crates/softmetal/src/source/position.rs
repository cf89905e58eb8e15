//! Maps clang's messages back to the user's columns.

use crate::error::Diagnostic;
use std::path::Path;

/// The file that launch code and instantiations are said to be in.
pub const LAUNCH: &str = "softmetal-launch";

/// Errors by the line of the launch code that led to them; those that no such line led to are under `None`.
pub fn by_launch_line<'a>(stderr: &'a str) -> Vec<(Option<u32>, Vec<&'a str>)> {
    let mut out: Vec<(Option<u32>, Vec<&'a str>)> = Vec::new();
    let mut group: Vec<&str> = Vec::new();
    let mut lines = stderr.lines().filter(|l| parse(l).is_some()).peekable();
    while let Some(line) = lines.next() {
        group.push(line);
        let ends = lines.peek().is_none_or(|next| parse(next).is_some_and(|p| p.level != "note"));
        if ends {
            let launch = group.iter().filter_map(|l| parse(l)).find(|p| p.file == LAUNCH).map(|p| p.line);
            match out.iter_mut().find(|(l, _)| *l == launch) {
                Some((_, list)) => list.append(&mut group),
                None => out.push((launch, std::mem::take(&mut group))),
            }
        }
    }
    out
}

/// Reads the errors from clang's stderr. `rewritten` is the text that clang saw, `shim` the folder of our headers.
pub fn diagnostics(stderr: &str, rewritten: &str, shim: &Path, main: (&str, &str)) -> Vec<Diagnostic> {
    let lines: Vec<Parsed> = stderr.lines().filter_map(parse).collect();
    let mut out: Vec<Diagnostic> = Vec::new();
    for (i, p) in lines.iter().enumerate().filter(|(_, p)| p.level == "error") {
        // An error inside our headers belongs to the user's line that led there.
        let in_shim = |p: &Parsed| {
            Path::new(p.file).starts_with(shim) || p.file == LAUNCH || p.file == "<scratch space>"
        };
        let place = if in_shim(p) {
            lines[i + 1..].iter().take_while(|n| n.level == "note").find(|n| !in_shim(n))
        } else {
            Some(p)
        };
        let (file, line, column) = place.map_or((p.file, p.line, 0), |q| (q.file, q.line, q.column));
        let column = column_in_source(rewritten, file, line, column, main);
        let message = if in_shim(p) { asserted(p.message) } else { p.message };
        let d = Diagnostic { file: file.to_string(), line, column, message: vectors_named(message) };
        if !out.contains(&d) {
            out.push(d);
        }
    }
    out.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
    out
}

/// What an assertion of our headers says, without the condition that only they know.
fn asserted(message: &str) -> &str {
    let failed = message.strip_prefix("static assertion failed");
    failed.and_then(|rest| rest.split_once(": ")).map_or(message, |(_, says)| says)
}

/// The message with `vec<float, 4>` for our class `_vec<float[4]>`.
fn vectors_named(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(at) = rest.find("_vec<") {
        let (before, class) = rest.split_at(at);
        let parsed = class.split_once("]>").and_then(|(inner, after)| {
            let (element, length) = inner["_vec<".len()..].rsplit_once('[')?;
            Some((element, length, after))
        });
        let Some((element, length, after)) = parsed else { break };
        out.push_str(before.strip_suffix("_packed").map_or(before, |b| b));
        out.push_str(if before.ends_with("_packed") { "packed_vec<" } else { "vec<" });
        out.push_str(&format!("{element}, {length}>"));
        rest = after;
    }
    out + rest
}

/// One line of clang's output.
pub struct Parsed<'a> {
    pub file: &'a str,
    pub line: u32,
    pub column: u32,
    level: &'a str,
    pub message: &'a str,
}

/// An error or a warning with its notes.
pub struct Message<'a> {
    pub head: Parsed<'a>,
    pub notes: Vec<Parsed<'a>>,
}

/// All errors and warnings.
pub fn messages(stderr: &str) -> Vec<Message<'_>> {
    let mut out: Vec<Message<'_>> = Vec::new();
    for line in stderr.lines().filter_map(parse) {
        match (line.level, out.last_mut()) {
            ("note", Some(last)) => last.notes.push(line),
            ("note", None) => {}
            _ => out.push(Message { head: line, notes: Vec::new() }),
        }
    }
    out
}

/// `file:line:column: level: message`
fn parse(text: &str) -> Option<Parsed<'_>> {
    for level in ["error", "note", "fatal error", "warning"] {
        let Some((place, message)) = text.split_once(&format!(": {level}: ")) else { continue };
        let mut parts = place.rsplitn(3, ':');
        let column = parts.next()?.parse().ok()?;
        let line = parts.next()?.parse().ok()?;
        let file = parts.next()?;
        return Some(Parsed {
            file,
            line,
            column,
            level: if level == "fatal error" { "error" } else { level },
            message,
        });
    }
    None
}

/// The same token on the user's line: the preprocessor and the rewriter move columns, not lines.
pub fn column_in_source(
    rewritten: &str,
    file: &str,
    line: u32,
    column: u32,
    (main, source): (&str, &str),
) -> u32 {
    let own =
        if file == main { source.to_string() } else { std::fs::read_to_string(file).unwrap_or_default() };
    let Some(original) = own.lines().nth(line.saturating_sub(1) as usize) else { return column };
    let seen = physical_line(rewritten, file, line).unwrap_or("");
    let word = word_at(seen, column);
    if word.is_empty() {
        return column;
    }
    let before = seen.get(..column.saturating_sub(1) as usize).unwrap_or("");
    let ordinal = occurrences(before, word).len();
    let places = occurrences(original, word);
    places.get(ordinal).or(places.last()).map_or(0, |&p| p as u32 + 1)
}

fn word_at(line: &str, column: u32) -> &str {
    let Some(rest) = line.get(column.saturating_sub(1) as usize..) else { return "" };
    let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
    match (end, rest.chars().next()) {
        (0, Some(c)) => &rest[..c.len_utf8()],
        _ => &rest[..end],
    }
}

/// Where `word` stands as a whole word.
fn occurrences(line: &str, word: &str) -> Vec<usize> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let wordy = word.chars().all(is_word);
    line.match_indices(word)
        .map(|(i, _)| i)
        .filter(|&i| {
            !wordy
                || !line[..i].chars().next_back().is_some_and(is_word)
                    && !line[i + word.len()..].chars().next().is_some_and(is_word)
        })
        .collect()
}

/// The last text line that a line marker calls `file:line`.
fn physical_line<'a>(text: &'a str, file: &str, line: u32) -> Option<&'a str> {
    let (mut at_file, mut at_line, mut found) = (String::new(), 0u32, None);
    for l in text.lines() {
        if let Some(rest) = l.strip_prefix("# ") {
            let mut parts = rest.splitn(2, ' ');
            if let (Some(Ok(n)), Some(name)) = (parts.next().map(str::parse::<u32>), parts.next()) {
                at_line = n;
                at_file = name.trim_start_matches('"').split('"').next().unwrap_or("").to_string();
                continue;
            }
        }
        if at_line == line && at_file == file && !l.trim().is_empty() {
            found = Some(l);
        }
        at_line += 1;
    }
    found
}
