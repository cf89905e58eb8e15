//! Arrays of a thread stay in registers only where every loop that indexes them is unrolled, so every such loop asks for it.

use std::path::Path;

/// Names of the arrays that a file declares in thread memory.
fn arrays(source: &str) -> Vec<String> {
    let types =
        ["float ", "float2 ", "float4 ", "uint4 ", "Pair ", "simdgroup_float8x8 ", "simdgroup_matrix<"];
    let mut names = Vec::new();
    for line in source.lines() {
        let line = line.trim_start();
        if !types.iter().any(|t| line.starts_with(t)) || !line.ends_with("];") {
            continue;
        }
        for part in line.split('[').filter(|part| !part.ends_with(']')) {
            let name: String = part.chars().rev().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) {
                names.push(name.chars().rev().collect());
            }
        }
    }
    names
}

/// The counter of a loop from a constant to a constant.
fn counter(line: &str) -> Option<&str> {
    let rest = line.trim_start().trim_start_matches("UNROLL ").strip_prefix("for (uint ")?;
    let (name, rest) = rest.split_once(" = ")?;
    let bound = rest.split_once("; ")?.1.split_once(';')?.0.split_once(" < ")?.1;
    let is_constant = bound
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .all(|word| !word.starts_with(|c: char| c.is_ascii_lowercase()));
    is_constant.then_some(name)
}

/// The lines of the block that a line opens, by indentation.
fn body<'a>(lines: &'a [&'a str], at: usize) -> impl Iterator<Item = &'a str> {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let own = depth(lines[at]);
    lines[at + 1..].iter().copied().take_while(move |line| depth(line) > own || line.trim().is_empty())
}

/// Whether a line indexes one of the arrays by this counter.
fn indexes(line: &str, arrays: &[String], counter: &str) -> bool {
    arrays.iter().any(|array| {
        line.match_indices(&format!("{array}[")).any(|(at, _)| {
            let is_whole = !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.');
            let indices: String = line[at + array.len()..]
                .split_inclusive(']')
                .take_while(|part| part.starts_with('['))
                .collect();
            let mut words = indices.split(|c: char| !c.is_alphanumeric() && c != '_');
            is_whole && words.any(|word| word == counter)
        })
    })
}

#[test]
fn loops_over_arrays_of_a_thread_are_unrolled() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    let (mut hinted, mut missing) = (0, Vec::new());
    for file in std::fs::read_dir(&folder).expect("the kernels") {
        let path = file.expect("a file").path();
        let source = std::fs::read_to_string(&path).expect("a kernel");
        let (arrays, lines) = (arrays(&source), source.lines().collect::<Vec<_>>());
        for (at, line) in lines.iter().enumerate() {
            let Some(counter) = counter(line) else { continue };
            if !body(&lines, at).any(|line| indexes(line, &arrays, counter)) {
                continue;
            }
            hinted += 1;
            if !line.trim_start().starts_with("UNROLL ") {
                missing.push(format!("{}:{}: {}", path.display(), at + 1, line.trim()));
            }
        }
    }
    assert!(missing.is_empty(), "loops without UNROLL:\n{}", missing.join("\n"));
    assert!(hinted > 40, "only {hinted} loops were found");
}
