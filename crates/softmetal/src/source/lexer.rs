//! Tokens of preprocessed MSL. Only what the rewriter needs: identifiers, numbers, strings and
//! punctuation with byte ranges, and the presumed file and line of each token.

use std::sync::Arc;

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// An identifier or keyword.
    Ident,
    /// A number, with its suffix.
    Number,
    /// A string or character literal.
    Literal,
    /// One punctuation character, or one of the pairs `[[`, `::`, `->`.
    Punct,
    /// A whole preprocessor line that survived preprocessing (pragmas).
    Directive,
}

/// A token: its kind, its byte range in the text, and where the user wrote it.
#[derive(Debug, Clone, Copy)]
pub struct Token {
    /// Kind of token.
    pub kind: TokenKind,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// Index into [`Lexed::files`].
    pub file: u32,
    /// Line in that file, from 1.
    pub line: u32,
}

/// The tokens of one preprocessed text.
#[derive(Debug, Clone)]
pub struct Lexed {
    /// The text that the ranges refer to.
    pub text: Arc<str>,
    /// All tokens in order. The first is an empty directive, so that every token of the text has one before it.
    pub tokens: Vec<Token>,
    /// File names from line markers.
    pub files: Vec<String>,
    /// Names that stand for whole numbers; known once declarations are.
    pub numbers: super::numbers::Numbers,
}

impl Lexed {
    /// The text of token `i`, or an empty string past the end.
    pub fn str(&self, i: usize) -> &str {
        self.tokens.get(i).map_or("", |t| &self.text[t.start..t.end])
    }

    /// Whether token `i` reads `s`.
    pub fn is(&self, i: usize, s: &str) -> bool {
        self.str(i) == s
    }

    /// Whether token `i` is an identifier or keyword.
    pub fn is_ident(&self, i: usize) -> bool {
        self.tokens.get(i).is_some_and(|t| t.kind == TokenKind::Ident)
    }

    /// The index of the bracket that closes the one at `open`, or the token count.
    pub fn matching(&self, open: usize) -> usize {
        let (o, c) = match self.str(open) {
            "(" => ("(", ")"),
            "{" => ("{", "}"),
            "[" => ("[", "]"),
            "[[" => return self.matching_attribute(open),
            _ => return open,
        };
        let mut depth = 0usize;
        for i in open..self.tokens.len() {
            if self.is(i, o) {
                depth += 1;
            } else if self.is(i, c) {
                depth -= 1;
                if depth == 0 {
                    return i;
                }
            } else if o == "[" && self.is(i, "[[") {
                depth += 2;
            }
        }
        self.tokens.len()
    }

    /// The second `]` of the attribute that opens at `open`.
    fn matching_attribute(&self, open: usize) -> usize {
        let mut depth = 0usize;
        for i in open..self.tokens.len() {
            match self.str(i) {
                "[[" => depth += 2,
                "[" => depth += 1,
                "]" => {
                    depth -= 1;
                    if depth == 0 {
                        return i;
                    }
                }
                _ => {}
            }
        }
        self.tokens.len()
    }

    /// One past the `>` that closes the `<` at `open`; brackets inside are skipped.
    pub fn skip_angles(&self, open: usize) -> usize {
        let mut depth = 0usize;
        let mut i = open;
        while i < self.tokens.len() {
            match self.str(i) {
                "<" => depth += 1,
                ">" => {
                    depth -= 1;
                    if depth == 0 {
                        return i + 1;
                    }
                }
                "(" | "[" | "{" => i = self.matching(i),
                ";" => return i,
                _ => {}
            }
            i += 1;
        }
        i
    }

    /// The source text of tokens `from..to`.
    pub fn span(&self, from: usize, to: usize) -> &str {
        if from >= to || from >= self.tokens.len() {
            return "";
        }
        &self.text[self.tokens[from].start..self.tokens[to.min(self.tokens.len()) - 1].end]
    }

    /// The tokens that `keep` maps to text, joined as they stood: neighbours stay neighbours, others get one space.
    pub fn joined<'a>(
        &'a self,
        tokens: impl Iterator<Item = usize>,
        keep: impl Fn(usize) -> Option<&'a str>,
    ) -> String {
        let mut out = String::new();
        let mut end = usize::MAX;
        for i in tokens {
            if let Some(text) = keep(i) {
                if !out.is_empty() && self.tokens[i].start != end {
                    out.push(' ');
                }
                out.push_str(text);
                end = self.tokens[i].end;
            }
        }
        out
    }

    /// `file:line` of token `i`, for messages.
    pub fn place(&self, i: usize) -> (String, u32) {
        match self.tokens.get(i).or(self.tokens.last()) {
            Some(t) => (self.files[t.file as usize].clone(), t.line),
            None => (String::new(), 0),
        }
    }
}

/// Splits preprocessed text (with line markers) into tokens.
pub fn lex(text: &str) -> Lexed {
    let mut lx = Lexer {
        bytes: text.as_bytes(),
        text,
        pos: 0,
        file: 0,
        line: 1,
        files: vec![String::new()],
        tokens: Vec::new(),
    };
    lx.push(TokenKind::Directive, 0);
    lx.run();
    Lexed { text: Arc::from(text), tokens: lx.tokens, files: lx.files, numbers: Default::default() }
}

struct Lexer<'a> {
    bytes: &'a [u8],
    text: &'a str,
    pos: usize,
    file: u32,
    line: u32,
    files: Vec<String>,
    tokens: Vec<Token>,
}

impl Lexer<'_> {
    fn run(&mut self) {
        let mut line_start = true;
        while self.pos < self.bytes.len() {
            let b = self.bytes[self.pos];
            match b {
                b'\n' => {
                    self.line += 1;
                    self.pos += 1;
                    line_start = true;
                    continue;
                }
                b' ' | b'\t' | b'\r' => {
                    self.pos += 1;
                    continue;
                }
                b'#' if line_start => self.directive(),
                b'"' | b'\'' => self.literal(b),
                b'/' if self.comment() => {}
                _ if b.is_ascii_digit() || (b == b'.' && self.at(1).is_ascii_digit()) => self.number(),
                _ if is_ident_byte(b) => self.ident(),
                _ => self.punct(b),
            }
            line_start = false;
        }
    }

    fn at(&self, ahead: usize) -> u8 {
        self.bytes.get(self.pos + ahead).copied().unwrap_or(0)
    }

    fn push(&mut self, kind: TokenKind, end: usize) {
        self.tokens.push(Token { kind, start: self.pos, end, file: self.file, line: self.line });
        self.pos = end;
    }

    /// A line marker sets file and line; any other directive is a token.
    fn directive(&mut self) {
        let end = self.bytes[self.pos..]
            .iter()
            .position(|&c| c == b'\n')
            .map_or(self.bytes.len(), |n| self.pos + n);
        let body = &self.text[self.pos..end];
        match parse_marker(body) {
            Some((line, file)) => {
                self.file = match self.files.iter().position(|f| *f == file) {
                    Some(i) => i as u32,
                    None => {
                        self.files.push(file);
                        self.files.len() as u32 - 1
                    }
                };
                // The newline that ends the marker is counted by the main loop.
                self.line = line.wrapping_sub(1);
                self.pos = end;
            }
            None => self.push(TokenKind::Directive, end),
        }
    }

    fn literal(&mut self, quote: u8) {
        let mut i = self.pos + 1;
        while i < self.bytes.len() && self.bytes[i] != quote && self.bytes[i] != b'\n' {
            i += if self.bytes[i] == b'\\' { 2 } else { 1 };
        }
        let end = (i + 1).min(self.bytes.len());
        self.push(TokenKind::Literal, end);
    }

    fn comment(&mut self) -> bool {
        if self.at(1) == b'/' {
            while self.pos < self.bytes.len() && self.bytes[self.pos] != b'\n' {
                self.pos += 1;
            }
            return true;
        }
        if self.at(1) == b'*' {
            self.pos += 2;
            while self.pos < self.bytes.len() && !(self.at(0) == b'*' && self.at(1) == b'/') {
                if self.at(0) == b'\n' {
                    self.line += 1;
                }
                self.pos += 1;
            }
            self.pos = (self.pos + 2).min(self.bytes.len());
            return true;
        }
        self.punct(b'/');
        true
    }

    fn number(&mut self) {
        let mut i = self.pos;
        while i < self.bytes.len() {
            let c = self.bytes[i];
            let exponent_sign =
                (c == b'+' || c == b'-') && matches!(self.bytes[i - 1], b'e' | b'E' | b'p' | b'P');
            let separates = c == b'\'' && self.bytes.get(i + 1).is_some_and(u8::is_ascii_alphanumeric);
            if !(is_ident_byte(c) || c == b'.' || separates || exponent_sign && !self.is_hex_integer(i)) {
                break;
            }
            i += 1;
        }
        self.push(TokenKind::Number, i);
    }

    /// In `0xE+1` the `E` is a digit, not an exponent.
    fn is_hex_integer(&self, at: usize) -> bool {
        let s = &self.bytes[self.pos..at];
        s.len() > 1 && s[0] == b'0' && (s[1] | 32) == b'x' && (s[s.len() - 1] | 32) == b'e'
    }

    fn ident(&mut self) {
        let mut i = self.pos;
        while i < self.bytes.len() && is_ident_byte(self.bytes[i]) {
            i += 1;
        }
        self.push(TokenKind::Ident, i);
    }

    fn punct(&mut self, b: u8) {
        let pair = matches!((b, self.at(1)), (b'[', b'[') | (b':', b':') | (b'-', b'>'));
        let mut width = if pair { 2 } else { 1 };
        while !self.text.is_char_boundary(self.pos + width) {
            width += 1;
        }
        self.push(TokenKind::Punct, self.pos + width);
    }
}

fn is_ident_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b >= 0x80
}

/// Parses `# 12 "file" 1` into the line and the file.
fn parse_marker(body: &str) -> Option<(u32, String)> {
    let rest = body.strip_prefix('#')?.trim_start();
    let rest = rest.strip_prefix("line").map_or(rest, str::trim_start);
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let line = rest[..digits].parse().ok()?;
    let name = rest[digits..].trim_start().strip_prefix('"')?;
    let end = name.rfind('"')?;
    Some((line, name[..end].replace("\\\\", "\\")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_set_file_and_line() {
        let lx = lex("# 7 \"a.metal\" 1\nint x;\n\n# 1 \"b.h\"\nfloat\ny;\n");
        let y = lx.tokens.iter().position(|t| &lx.text[t.start..t.end] == "y").unwrap();
        assert_eq!(lx.place(1), ("a.metal".into(), 7));
        assert_eq!(lx.place(y), ("b.h".into(), 2));
    }

    #[test]
    fn numbers_and_brackets() {
        let lx = lex("a[b[1.0e-3f]] 0xE+1 x [[buffer(0)]]");
        let words: Vec<_> = (1..lx.tokens.len()).map(|i| lx.str(i)).collect();
        assert_eq!(&words[..6], ["a", "[", "b", "[", "1.0e-3f", "]"]);
        assert_eq!(&words[7..10], ["0xE", "+", "1"]);
        let open = words.iter().position(|w| *w == "[[").unwrap();
        assert_eq!(lx.matching(open + 1), words.len());
    }
}
