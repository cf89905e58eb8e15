//! Stop strings: generation ends before a given text, which is not emitted.

/// Watches a stream of text for stop strings.
///
/// Text that could be the beginning of a stop string is held back until it is decided.
#[derive(Clone, Debug, Default)]
pub struct StopStrings {
    stops: Vec<String>,
    held: String,
    stopped: Option<String>,
}

impl StopStrings {
    /// Watches for these strings; empty ones are ignored.
    pub fn new(stops: impl IntoIterator<Item = String>) -> StopStrings {
        let stops = stops.into_iter().filter(|s| !s.is_empty()).collect();
        StopStrings { stops, held: String::new(), stopped: None }
    }

    /// Adds text, and returns what may be shown. After a stop string everything is dropped.
    pub fn push(&mut self, text: &str) -> String {
        if self.stopped() {
            return String::new();
        }
        self.held.push_str(text);
        let found = self.stops.iter().filter_map(|s| self.held.find(s.as_str()).map(|at| (at, s)));
        if let Some((at, stop)) = found.min_by_key(|found| found.0) {
            self.stopped = Some(stop.clone());
            self.held.truncate(at);
            return std::mem::take(&mut self.held);
        }
        let keep = self.stops.iter().map(|s| overlap(&self.held, s)).max().unwrap_or(0);
        let rest = self.held.split_off(self.held.len() - keep);
        std::mem::replace(&mut self.held, rest)
    }

    /// Whether a stop string was found.
    pub fn stopped(&self) -> bool {
        self.stopped.is_some()
    }

    /// The stop string that was found.
    pub fn which(&self) -> Option<&str> {
        self.stopped.as_deref()
    }

    /// Ends the stream: returns what was held back, which was not a stop string.
    pub fn finish(&mut self) -> String {
        std::mem::take(&mut self.held)
    }
}

/// The number of bytes at the end of `text` that are a prefix of `stop`.
fn overlap(text: &str, stop: &str) -> usize {
    let longest = text.len().min(stop.len() - 1);
    let ends = (1..=longest).rev().filter(|&n| stop.is_char_boundary(n));
    ends.into_iter().find(|&n| text.as_bytes().ends_with(&stop.as_bytes()[..n])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pushes the text in pieces of every size.
    fn shown(stops: &[&str], text: &str) -> Vec<(String, bool)> {
        let chars: Vec<char> = text.chars().collect();
        (1..=chars.len().max(1))
            .map(|size| {
                let mut stop = StopStrings::new(stops.iter().map(|s| s.to_string()));
                let mut out: String =
                    chars.chunks(size).map(|c| stop.push(&c.iter().collect::<String>())).collect();
                out += &stop.finish();
                (out, stop.stopped())
            })
            .collect()
    }

    #[test]
    fn stops_before_the_string_however_it_arrives() {
        assert!(
            shown(&["\nUser:"], "Hi there.\nUser: more").iter().all(|r| *r == ("Hi there.".into(), true))
        );
        assert!(shown(&["</a>", "</b>"], "x </b> y </a>").iter().all(|r| *r == ("x ".into(), true)));
        assert!(shown(&["日本語"], "日本 日本語!").iter().all(|r| *r == ("日本 ".into(), true)));
    }

    #[test]
    fn beginnings_that_come_to_nothing_are_shown() {
        assert!(shown(&["aab"], "aaab").iter().all(|r| *r == ("a".into(), true)));
        assert!(shown(&["END"], "EN EN ENE").iter().all(|r| *r == ("EN EN ENE".into(), false)));
        assert!(shown(&[], "all").iter().all(|r| *r == ("all".into(), false)));
        assert!(shown(&[""], "all").iter().all(|r| *r == ("all".into(), false)));
    }

    #[test]
    fn only_the_possible_beginning_waits() {
        let mut stop = StopStrings::new(["<end>".to_owned()]);
        assert_eq!(stop.push("text <"), "text ");
        assert_eq!(stop.push("em>"), "<em>");
        assert_eq!(stop.push("<end>x"), "");
        assert_eq!(stop.push("y"), "");
    }
}
