//! Internals exposed to this repository's fuzzers: the steps between MSL text and clang, and the files of the cache.
//! Not part of the library's public API.

use crate::compile::cache::Cache;
use crate::compile::preprocessed;
use crate::device::Family;
use crate::source::rewrite::{ConstantValues, may_wait, required_constants, rewrite};
use crate::source::thunk::{LaunchStyle, thunk};
use crate::source::unit::Unit;
use crate::{judge, lint};
use std::path::Path;

/// Analyses a preprocessed text and writes everything that clang would be given for it. Whether it has an entry point.
pub fn source(text: &str) -> bool {
    let Ok(unit) = Unit::new(text) else { return false };
    let main = ("program.metal", text);
    let _ = lint::check(&unit, 310, main);
    std::hint::black_box(judge::text(&unit, "unit"));
    std::hint::black_box(rewrite(&unit, None, &ConstantValues::default(), false));
    for entry in &unit.entries {
        let _ = lint::check_entry(&unit, entry, Family::default(), main);
        std::hint::black_box((
            unit.max_threads(entry),
            required_constants(&unit, entry),
            may_wait(&unit, entry),
        ));
        std::hint::black_box(rewrite(&unit, Some(entry), &ConstantValues::default(), true));
        if let Ok(bindings) = unit.bindings(entry) {
            std::hint::black_box(thunk(&unit, entry, &bindings, LaunchStyle::Lane, ""));
        }
    }
    !unit.entries.is_empty()
}

/// Reads bytes as a file of the cache, in the folder given, and as the content of an intact one. Whether they are the
/// record of a source.
pub fn cache_file(folder: &Path, bytes: &[u8]) -> bool {
    let Ok(cache) = Cache::open(Some(folder)) else { return false };
    let path = cache.path("record");
    if std::fs::write(&path, bytes).is_err() {
        return false;
    }
    assert!(!cache.holds(&cache.path("record.so")), "nothing was made");
    if let Some(text) = cache.recall(&path) {
        assert!(bytes.starts_with(text.as_bytes()), "what is recalled is what was written");
    }
    std::str::from_utf8(bytes).is_ok_and(|text| preprocessed::fresh(text).is_some())
}

/// The record of a source.
pub fn make_record(folder: &Path, text: &str) -> Vec<u8> {
    preprocessed::record(text, folder, "main.metal").into_bytes()
}
