//! `NSCharacterSet` and `NSScanner`, as far as programs use them to parse their own sources.

use super::{NSCHARACTER_SET, NSSCANNER, string};
use crate::abi::{Bool, Id, Out, methods};
use crate::objc::object::Strong;
use parking_lot::Mutex;

/// A set of characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Characters {
    /// None.
    None,
    /// Spaces and tabs.
    Spaces,
    /// Spaces, tabs and ends of lines.
    SpacesAndLines,
}

impl Characters {
    /// Whether a character is in the set.
    pub fn contains(self, c: char) -> bool {
        let is_line = matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}');
        match self {
            Characters::None => false,
            Characters::Spaces => c.is_whitespace() && !is_line,
            Characters::SpacesAndLines => c.is_whitespace(),
        }
    }
}

/// The set of an argument; the empty one of nil.
pub fn characters(set: Id) -> Characters {
    if set.is_nil() { Characters::None } else { *set.expect::<Characters>("the set of characters") }
}

methods! { pub CHARACTERS_CLASS;
    "whitespaceCharacterSet" (this) -> Id { Strong::new(&NSCHARACTER_SET, Characters::Spaces).autoreleased() }
    "whitespaceAndNewlineCharacterSet" (this) -> Id {
        Strong::new(&NSCHARACTER_SET, Characters::SpacesAndLines).autoreleased()
    }
}

struct Scan {
    text: String,
    at: usize,
    skipped: Characters,
}

impl Scan {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    /// Where the next thing starts, behind what is skipped.
    fn start(&self) -> usize {
        self.text.len() - self.rest().trim_start_matches(|c| self.skipped.contains(c)).len()
    }
}

struct Scanner(Mutex<Scan>);

fn own(this: Id) -> &'static Scanner {
    this.expect::<Scanner>("the scanner")
}

methods! { pub SCANNER;
    "setCharactersToBeSkipped:" (this, set: Id) { own(this).0.lock().skipped = characters(set); }
    "isAtEnd" (this) -> Bool {
        let scan = own(this).0.lock();
        (scan.start() == scan.text.len()).into()
    }
    "scanString:intoString:" (this, wanted: Id, out: Out) -> Bool {
        let wanted = string::expect(wanted, "the string");
        let mut scan = own(this).0.lock();
        let start = scan.start();
        if !scan.text[start..].starts_with(&wanted) {
            return false.into();
        }
        scan.at = start + wanted.len();
        if !out.0.is_null() {
            out.set(string::make(wanted).autoreleased());
        }
        true.into()
    }
    "scanUpToString:intoString:" (this, end: Id, out: Out) -> Bool {
        let end = string::expect(end, "the string");
        let mut scan = own(this).0.lock();
        let start = scan.start();
        let found = scan.text[start..].find(&end).map_or(scan.text.len(), |n| start + n);
        if found == start {
            return false.into();
        }
        let part = scan.text[start..found].to_string();
        scan.at = found;
        if !out.0.is_null() {
            out.set(string::make(part).autoreleased());
        }
        true.into()
    }
}

methods! { pub SCANNER_CLASS;
    "scannerWithString:" (this, text: Id) -> Id {
        let scan = Scan { text: string::expect(text, "the string"), at: 0, skipped: Characters::SpacesAndLines };
        Strong::new(&NSSCANNER, Scanner(Mutex::new(scan))).autoreleased()
    }
}
