//! Findings in the formats of CI systems: SARIF, GitHub workflow commands, JUnit.

use serde_json::{Value, json};
use softmetal::{Diagnostic, Error};
use std::collections::BTreeSet;
use std::fmt::Write;

/// The outcome for one kernel.
pub struct Line {
    /// The file, as given on the command line.
    pub file: String,
    /// The kernel; empty if the file could not be read at all.
    pub kernel: String,
    /// The error, if any.
    pub error: Option<Error>,
}

impl Line {
    /// The locations of its error. An error without one is reported at the start of the file.
    fn findings(&self) -> Vec<Diagnostic> {
        match &self.error {
            None => Vec::new(),
            Some(Error::Compile { diagnostics }) => diagnostics.clone(),
            Some(Error::Check(reports)) => reports.iter().map(|r| self.finding(r)).collect(),
            Some(e) => {
                vec![Diagnostic { file: self.file.clone(), line: 1, column: 0, message: e.to_string() }]
            }
        }
    }
}

impl Line {
    /// The location of a checker report.
    fn finding(&self, r: &softmetal::check::Report) -> Diagnostic {
        let file = if r.file.is_empty() { self.file.clone() } else { r.file.clone() };
        Diagnostic { file, line: r.line.max(1), column: r.column, message: r.to_string() }
    }
}

/// Every finding once, even if several kernels share it.
fn distinct(lines: &[Line]) -> Vec<Diagnostic> {
    let mut seen = BTreeSet::new();
    let all = lines.iter().flat_map(Line::findings);
    all.filter(|d| seen.insert((d.file.clone(), d.line, d.column, d.message.clone()))).collect()
}

/// A SARIF 2.1.0 log (Static Analysis Results Interchange Format).
pub fn sarif(lines: &[Line]) -> String {
    let results: Vec<Value> = distinct(lines)
        .iter()
        .map(|d| {
            let mut region = json!({ "startLine": d.line.max(1) });
            if d.column > 0 {
                region["startColumn"] = d.column.into();
            }
            json!({
                "ruleId": "softmetal",
                "level": "error",
                "message": { "text": d.message },
                "locations": [{ "physicalLocation": { "artifactLocation": { "uri": uri(&d.file) }, "region": region } }],
            })
        })
        .collect();
    let rule = json!({
        "id": "softmetal",
        "shortDescription": { "text": "Metal code that does not compile, or violates a rule at run time" },
    });
    let driver = json!({ "name": "softmetal", "version": env!("CARGO_PKG_VERSION"), "rules": [rule] });
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{ "tool": { "driver": driver }, "results": results }],
    });
    serde_json::to_string_pretty(&log).unwrap_or_default()
}

/// A path as a SARIF URI.
fn uri(path: &str) -> String {
    let mut out = String::new();
    for b in path.trim_start_matches("./").replace('\\', "/").bytes() {
        match b {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => out.push(b.into()),
            _ => {
                let _ = write!(out, "%{b:02X}");
            }
        }
    }
    out
}

/// Workflow commands: an annotation per line, and a notice with the totals.
pub fn github(lines: &[Line], what: &str) -> String {
    let data = |s: &str| s.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let property = |s: &str| data(s).replace(':', "%3A").replace(',', "%2C");
    let mut out = String::new();
    for d in distinct(lines) {
        let column = if d.column > 0 { format!(",col={}", d.column) } else { String::new() };
        let _ = writeln!(
            out,
            "::error file={},line={}{column},title=softmetal::{}",
            property(&d.file),
            d.line.max(1),
            data(&d.message)
        );
    }
    let failed = lines.iter().filter(|l| l.error.is_some()).count();
    let _ = writeln!(out, "::notice title=softmetal::{} of {} {what} ok", lines.len() - failed, lines.len());
    out
}

/// JUnit XML: a suite per file, a test per kernel.
pub fn junit(lines: &[Line]) -> String {
    let failed = lines.iter().filter(|l| l.error.is_some()).count();
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"softmetal\" tests=\"{}\" failures=\"{failed}\">\n",
        lines.len()
    );
    let mut rest = lines;
    while let Some(first) = rest.first() {
        let count = rest.iter().take_while(|l| l.file == first.file).count();
        let (suite, behind) = rest.split_at(count);
        rest = behind;
        let failed = suite.iter().filter(|l| l.error.is_some()).count();
        let file = escaped(&first.file);
        let _ = writeln!(out, "  <testsuite name=\"{file}\" tests=\"{count}\" failures=\"{failed}\">");
        for l in suite {
            let name = if l.kernel.is_empty() { "(file)".into() } else { escaped(&l.kernel) };
            let _ = match &l.error {
                None => writeln!(out, "    <testcase classname=\"{file}\" name=\"{name}\"/>"),
                Some(e) => writeln!(
                    out,
                    "    <testcase classname=\"{file}\" name=\"{name}\"><failure message=\"failed\">{}</failure></testcase>",
                    escaped(&e.to_string())
                ),
            };
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

/// Escapes text for XML, including attributes; characters not allowed in XML become `?`.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() => out.push('?'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines() -> Vec<Line> {
        let place =
            Diagnostic { file: "a b.metal".into(), line: 3, column: 7, message: "x < y\n& 100%".into() };
        let error = || Some(Error::Compile { diagnostics: vec![place.clone()] });
        let line = |kernel: &str, error| Line { file: "a b.metal".into(), kernel: kernel.into(), error };
        vec![line("good", None), line("bad", error()), line("worse", error())]
    }

    #[test]
    fn sarif_has_each_finding_once_with_its_place() {
        let log: Value = serde_json::from_str(&sarif(&lines())).unwrap();
        let results = log["runs"][0]["results"].as_array().unwrap();
        assert_eq!(results.len(), 1);
        let place = &results[0]["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "a%20b.metal");
        assert_eq!((&place["region"]["startLine"], &place["region"]["startColumn"]), (&json!(3), &json!(7)));
    }

    #[test]
    fn github_escapes_what_would_end_a_command() {
        let text = github(&lines(), "kernels");
        assert_eq!(
            text.lines().next(),
            Some("::error file=a b.metal,line=3,col=7,title=softmetal::x < y%0A& 100%25")
        );
        assert!(text.ends_with("1 of 3 kernels ok\n"));
    }

    #[test]
    fn junit_counts_and_escapes() {
        let text = junit(&lines());
        assert!(text.contains("tests=\"3\" failures=\"2\">"));
        assert!(text.contains("name=\"good\"/>") && text.contains("x &lt; y\n&amp; 100%"));
    }
}
