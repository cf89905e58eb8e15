//! Incremental decoding of a token stream to text, in complete characters.

use super::Tokenizer;

/// Collects the bytes of tokens and gives out text that is complete.
///
/// A character may be spread over several tokens; its bytes wait until it is whole. Bytes that can never become
/// one come out as a replacement character.
#[derive(Clone, Debug, Default)]
pub struct TextStream {
    waiting: Vec<u8>,
}

impl TextStream {
    /// A stream with nothing in it.
    pub fn new() -> TextStream {
        TextStream::default()
    }

    /// Adds a token, and returns the text that is now complete.
    pub fn push(&mut self, tokenizer: &Tokenizer, id: u32, special: bool) -> String {
        self.push_bytes(&tokenizer.piece(id, special))
    }

    /// Adds bytes, and returns the text that is now complete.
    pub fn push_bytes(&mut self, bytes: &[u8]) -> String {
        self.waiting.extend_from_slice(bytes);
        let mut out = String::new();
        let mut rest = &self.waiting[..];
        loop {
            match std::str::from_utf8(rest) {
                Ok(text) => {
                    out.push_str(text);
                    rest = &[];
                    break;
                }
                Err(e) => {
                    let (valid, after) = rest.split_at(e.valid_up_to());
                    out.push_str(&String::from_utf8_lossy(valid));
                    match e.error_len() {
                        Some(len) => {
                            out.push(char::REPLACEMENT_CHARACTER);
                            rest = &after[len..];
                        }
                        None => {
                            rest = after;
                            break;
                        }
                    }
                }
            }
        }
        let keep = rest.len();
        self.waiting.drain(..self.waiting.len() - keep);
        out
    }

    /// Ends the stream: an incomplete character comes out as a replacement character.
    pub fn finish(&mut self) -> String {
        let out = String::from_utf8_lossy(&self.waiting).into_owned();
        self.waiting.clear();
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_wait_until_they_are_whole() {
        let mut stream = TextStream::new();
        let text = "aé日🦀b";
        let mut out = String::new();
        for b in text.bytes() {
            let piece = stream.push_bytes(&[b]);
            assert!(!piece.contains('\u{fffd}'));
            out.push_str(&piece);
        }
        assert_eq!(out, text);
        assert_eq!(stream.finish(), "");
    }

    #[test]
    fn broken_bytes_become_replacements_and_nothing_is_lost() {
        let mut stream = TextStream::new();
        assert_eq!(stream.push_bytes(b"a\xf0\x9f"), "a");
        assert_eq!(stream.push_bytes(b"b"), "\u{fffd}b");
        assert_eq!(stream.push_bytes(b"\xff\xc3"), "\u{fffd}");
        assert_eq!(stream.finish(), "\u{fffd}");
        assert_eq!(stream.push_bytes(b"c"), "c");
    }
}
