//! Text edits that preserve the number of lines, so that line markers stay valid.

/// Replacements of byte ranges, applied all at once.
#[derive(Debug, Default)]
pub struct Edits {
    list: Vec<(usize, usize, String)>,
}

impl Edits {
    /// Replaces `start..end`; newlines of the old text are kept.
    pub fn replace(&mut self, start: usize, end: usize, text: impl Into<String>) {
        self.list.push((start, end, text.into()));
    }

    /// The text with all edits; an edit inside an earlier and longer one is ignored.
    pub fn apply(mut self, text: &str) -> String {
        self.list.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
        let mut out = String::with_capacity(text.len() + 256);
        let mut pos = 0;
        for (start, end, new) in self.list {
            if start < pos {
                continue;
            }
            out.push_str(&text[pos..start]);
            out.push_str(&new);
            let old_lines = text[start..end].matches('\n').count();
            let new_lines = new.matches('\n').count();
            out.extend(std::iter::repeat_n('\n', old_lines.saturating_sub(new_lines)));
            pos = end;
        }
        out.push_str(&text[pos..]);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_lines_and_ignores_nested() {
        let mut e = Edits::default();
        e.replace(2, 9, "X");
        e.replace(4, 5, "Y");
        assert_eq!(e.apply("ab\ncd\nef\ngh"), "abX\n\n\ngh");
    }
}
