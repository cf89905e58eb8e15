//! RWKV World: longest-match tokenization with a trie over bytes.

use super::vocab::Vocab;

/// A trie over the bytes of all tokens.
#[derive(Debug)]
pub(super) struct Rwkv {
    nodes: Vec<Node>,
    /// What each token stands for, escapes resolved.
    bytes: Vec<Box<[u8]>>,
}

#[derive(Debug, Default)]
struct Node {
    /// Sorted by byte.
    children: Vec<(u8, u32)>,
    token: Option<u32>,
}

impl Rwkv {
    pub fn new(vocab: &mut Vocab) -> Rwkv {
        let bytes: Vec<Box<[u8]>> = vocab.texts.iter().map(|t| unescape(t).into_boxed_slice()).collect();
        let mut trie = Rwkv { nodes: vec![Node::default()], bytes: Vec::new() };
        for (id, text) in bytes.iter().enumerate().filter(|(_, t)| !t.is_empty()) {
            trie.insert(text, id as u32);
        }
        trie.bytes = bytes;
        trie
    }

    fn insert(&mut self, text: &[u8], id: u32) {
        let mut at = 0;
        for &b in text {
            at = match self.nodes[at].children.binary_search_by_key(&b, |c| c.0) {
                Ok(i) => self.nodes[at].children[i].1 as usize,
                Err(i) => {
                    let new = self.nodes.len();
                    self.nodes[at].children.insert(i, (b, new as u32));
                    self.nodes.push(Node::default());
                    new
                }
            };
        }
        self.nodes[at].token = Some(id);
    }

    /// The bytes that a token stands for.
    pub fn bytes(&self, id: u32) -> &[u8] {
        self.bytes.get(id as usize).map_or(&[], |b| &**b)
    }

    pub fn encode(&self, vocab: &Vocab, text: &str, out: &mut Vec<u32>) {
        let text = text.as_bytes();
        let mut start = 0;
        while start < text.len() {
            let (mut node, mut best) = (0, None);
            for (i, b) in text[start..].iter().enumerate() {
                let children = &self.nodes[node].children;
                let Ok(child) = children.binary_search_by_key(b, |c| c.0) else { break };
                node = children[child].1 as usize;
                if let Some(id) = self.nodes[node].token {
                    best = Some((id, i + 1));
                }
            }
            match best {
                Some((id, len)) => {
                    out.push(id);
                    start += len;
                }
                None => {
                    out.extend(vocab.unknown);
                    start += 1;
                }
            }
        }
    }
}

/// Resolves the escapes that the converter writes: `\t`, `\n`, `\r`, `\xNN`, and a backslash before anything else.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.iter().copied();
    while let Some(b) = bytes.next() {
        if b != b'\\' {
            out.push(b);
            continue;
        }
        match bytes.next() {
            Some(b't') => out.push(b'\t'),
            Some(b'n') => out.push(b'\n'),
            Some(b'r') => out.push(b'\r'),
            Some(b'x') => {
                let mut digit = || bytes.next().and_then(|d| (d as char).to_digit(16)).unwrap_or(0) as u8;
                let (high, low) = (digit(), digit());
                out.push(high << 4 | low);
            }
            Some(other) => out.push(other),
            None => out.push(b'\\'),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes() {
        assert_eq!(unescape(br"a\tb\n\r\\\x00\xff\'"), b"a\tb\n\r\\\x00\xff'");
    }
}
