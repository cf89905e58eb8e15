//! Cached preprocessed sources, with the files that they included and the contents of those.

use super::cache::key;
use rustc_hash::FxHashSet;
use std::path::Path;

const END: &str = "\n--\n";

/// The text with a head that names each included file of the user and a key of its content.
pub fn record(text: &str, shim: &Path, main: &str) -> String {
    let mut files = FxHashSet::default();
    let mut head = String::new();
    for line in text.lines().filter_map(|l| l.strip_prefix("# ")) {
        let Some(file) = line.split('"').nth(1) else { continue };
        let own = file != main && !file.starts_with('<') && !Path::new(file).starts_with(shim);
        if own && files.insert(file) {
            let content = std::fs::read(file).unwrap_or_default();
            head.push_str(&format!("{} {file}\n", key([content.as_slice()])));
        }
    }
    format!("{head}{END}{text}")
}

/// The text of a record if every included file is still the same.
pub fn fresh(record: &str) -> Option<String> {
    let (head, text) = record.split_once(END)?;
    let same = |line: &str| {
        line.split_once(' ')
            .is_some_and(|(k, file)| std::fs::read(file).is_ok_and(|c| key([c.as_slice()]) == k))
    };
    head.lines().all(same).then(|| text.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_include_makes_the_record_stale() {
        let file = std::env::temp_dir().join(format!("softmetal-pre-{}.h", std::process::id()));
        std::fs::write(&file, "int a;").unwrap();
        let text = format!("# 1 \"main.metal\"\n# 1 \"{}\" 1\nint a;\n", file.display());
        let r = record(&text, Path::new("/shim"), "main.metal");
        assert_eq!(fresh(&r).as_deref(), Some(text.as_str()));
        std::fs::write(&file, "int b;").unwrap();
        assert_eq!(fresh(&r), None);
        std::fs::remove_file(&file).unwrap();
        assert_eq!(fresh(&r), None);
    }
}
