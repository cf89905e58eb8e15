//! LLVM's textual form, as far as the translation needs it: names, brackets, lists.

/// The position behind the bracket that closes the one at `open`. Strings may hold brackets.
pub fn closing(text: &str, open: usize) -> Option<usize> {
    let (mut depth, mut quoted) = (0i32, false);
    for (i, b) in text.bytes().enumerate().skip(open) {
        match b {
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'(' | b'[' | b'{' | b'<' => depth += 1,
            b')' | b']' | b'}' | b'>' => {
                depth -= 1;
                if depth == 0 {
                    return Some(i + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// The parts between commas that no bracket or string encloses.
pub fn list(text: &str) -> Vec<&str> {
    let (mut depth, mut quoted, mut start) = (0i32, false, 0);
    let mut parts = Vec::new();
    for (i, b) in text.bytes().enumerate() {
        match b {
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'(' | b'[' | b'{' | b'<' => depth += 1,
            b')' | b']' | b'}' | b'>' => depth -= 1,
            b',' if depth == 0 => {
                parts.push(text[start..i].trim());
                start = i + 1;
            }
            _ => {}
        }
    }
    let last = text[start..].trim();
    if !last.is_empty() {
        parts.push(last);
    }
    parts
}

/// The first type of a text, such as `ptr` of `ptr nocapture %0`.
pub fn first_type(text: &str) -> &str {
    let text = text.trim_start();
    let end = match text.as_bytes().first() {
        Some(b'<' | b'[' | b'{') => closing(text, 0).unwrap_or(text.len()),
        Some(b'%') => name_end(text, 1),
        _ => text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len()),
    };
    &text[..end]
}

/// Where a name ends that begins at `start`, quoted or plain.
pub fn name_end(text: &str, start: usize) -> usize {
    let rest = &text[start..];
    if let Some(quoted) = rest.strip_prefix('"') {
        return quoted.find('"').map_or(text.len(), |i| start + i + 2);
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$' | '-');
    rest.find(|c| !plain(c)).map_or(text.len(), |i| start + i)
}

/// Every global name (`@name`) of a text with its place.
pub fn globals(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices('@').map(|(at, _)| (at, &text[at..name_end(text, at + 1)]))
}

/// A global name with its sigil and, where needed, quotes.
pub fn unquoted(name: &str) -> &str {
    name.trim_start_matches('@').trim_matches('"')
}

/// Elements and element type of a vector, or one and the type itself.
pub fn vector(ty: &str) -> (usize, &str) {
    let inner = ty.strip_prefix('<').and_then(|t| t.strip_suffix('>')).and_then(|t| t.split_once(" x "));
    inner.and_then(|(n, element)| Some((n.parse().ok()?, element))).unwrap_or((1, ty))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_types_of_llvm_text() {
        assert_eq!(
            list("i32 %0, <2 x i64> %1, ptr \"a,b\" %2"),
            ["i32 %0", "<2 x i64> %1", "ptr \"a,b\" %2"]
        );
        assert_eq!(first_type("ptr nocapture readonly"), "ptr");
        assert_eq!(first_type("<64 x float> %3"), "<64 x float>");
        assert_eq!(first_type("[4 x { i32, ptr }] undef"), "[4 x { i32, ptr }]");
        assert_eq!(first_type("%\"struct.a b\" zeroinitializer"), "%\"struct.a b\"");
        assert_eq!(vector("<4 x half>"), (4, "half"));
        assert_eq!(vector("float"), (1, "float"));
        assert_eq!(globals("load @\"a b\", @c.d)").map(|g| g.1).collect::<Vec<_>>(), ["@\"a b\"", "@c.d"]);
        assert_eq!(closing("(a(b)c)d", 0), Some(7));
    }
}
