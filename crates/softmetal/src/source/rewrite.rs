//! MSL to C++, for one entry point: address spaces and attributes are removed, function constants become values,
//! threadgroup variables become references into the group's memory. Line numbers are preserved.

use super::casts;
use super::edit::Edits;
use super::items::{Item, ItemKind};
use super::lexer::{Lexed, TokenKind};
use super::overloads::Overloads;
use super::params::{attributes, space_of, split_commas};
use super::unit::{Entry, Unit};
use rustc_hash::{FxHashMap, FxHashSet};

/// Values of function constants, as C++ text by variable name. A missing name is undefined.
pub type ConstantValues = FxHashMap<String, String>;

/// The whole unit as C++ with only `entry` kept among the kernels, or with all of them.
pub fn rewrite(unit: &Unit, entry: Option<&Entry>, constants: &ConstantValues, unroll: bool) -> String {
    let mut r = Rewriter { unit, lx: &unit.lx, edits: Edits::default(), locals: 0 };
    r.kernels(entry);
    r.duplicates();
    r.overloads();
    r.constants(constants);
    for (i, item) in unit.items.iter().enumerate() {
        if item.kind == ItemKind::Kernel && entry.is_none_or(|e| e.item == i) {
            r.group_variables(item);
        }
    }
    r.tokens(constants, unroll);
    r.edits.apply(&unit.lx.text)
}

struct Rewriter<'a> {
    unit: &'a Unit,
    lx: &'a Lexed,
    edits: Edits,
    locals: u32,
}

impl Rewriter<'_> {
    fn bytes(&self, from: usize, to: usize) -> (usize, usize) {
        (self.lx.tokens[from].start, self.lx.tokens[to - 1].end)
    }

    fn remove(&mut self, from: usize, to: usize) {
        let (a, b) = self.bytes(from, to);
        self.edits.replace(a, b, "");
    }

    /// Other kernels go; templates keep their declaration, which a typedef may name.
    fn kernels(&mut self, entry: Option<&Entry>) {
        for (i, item) in self.unit.items.iter().enumerate() {
            let is_constructor =
                item.kind == ItemKind::Function && item.in_type && item.scope.last() == Some(&item.name);
            if is_constructor && self.lx.is(item.params.1 + 1, "constant") {
                // A constructor has no `const`.
                self.remove(item.params.1 + 1, item.params.1 + 2);
            }
            match item.kind {
                ItemKind::Graphics if entry.is_none() => {}
                ItemKind::Instantiation | ItemKind::Graphics => self.remove(item.start, item.end),
                ItemKind::Kernel if entry.is_none_or(|e| e.item == i) => {}
                ItemKind::Kernel if item.is_template() && item.has_body() => {
                    let (a, b) = self.bytes(item.body.0, item.body.1 + 1);
                    self.edits.replace(a, b, ";");
                }
                ItemKind::Kernel => self.remove(item.start, item.end),
                _ => {}
            }
        }
    }

    /// Overloads that differ only in address space are one function now: the first stays.
    fn duplicates(&mut self) {
        let mut seen = FxHashSet::default();
        for (i, item) in self.unit.items.iter().enumerate() {
            if self.unit.overloads.items.contains_key(&i) {
                continue;
            }
            // A member may be declared only once; elsewhere a declaration may precede its definition.
            // Of types, specialisations alone can differ in an address space.
            let kind = item.kind == ItemKind::Function || item.kind == ItemKind::Type && item.is_template();
            let overloadable = kind
                && (item.has_body() || item.in_type && item.kind == ItemKind::Function)
                && !item.name.is_empty();
            if overloadable && !seen.insert(signature(self.lx, item)) {
                self.remove(item.start, item.end);
            }
        }
    }

    /// The text of tokens without attributes and address spaces.
    fn plain(&self, from: usize, to: usize) -> String {
        plain(self.lx, from, to)
    }

    /// Overloads by address space get names of their own.
    fn overloads(&mut self) {
        let overloads = &self.unit.overloads;
        let declared = overloads.items.iter().map(|(&i, &number)| (self.unit.items[i].params.0 - 1, number));
        for (token, number) in declared.chain(overloads.calls.iter().map(|(&k, &n)| (k, n))) {
            let t = self.lx.tokens[token];
            self.edits.replace(t.start, t.end, Overloads::name(self.unit, number));
        }
    }

    fn constants(&mut self, values: &ConstantValues) {
        let mut dependent: FxHashSet<&str> = FxHashSet::default();
        for c in &self.unit.constants {
            let item = &self.unit.items[c.item];
            let value = values.get(&c.name).cloned().unwrap_or_else(|| format!("{}()", c.type_name));
            let (a, b) = self.bytes(item.start, item.end);
            self.edits.replace(
                a,
                b,
                format!(
                    "typedef {t} softmetal_type_{n}; constexpr softmetal_type_{n} {n} = {value};",
                    t = c.type_name,
                    n = c.name,
                    value =
                        value.replace(&format!("{}()", c.type_name), &format!("softmetal_type_{}()", c.name))
                ),
            );
            dependent.insert(&c.name);
        }
        for item in self.unit.items.iter().filter(|it| it.kind == ItemKind::Variable && !it.in_type) {
            let uses = (item.start..item.end).any(|k| {
                self.lx.is_ident(k) && dependent.contains(self.lx.str(k)) && self.lx.str(k) != item.name
            });
            let fixed = (item.start..item.end).any(|k| self.lx.is(k, "constexpr"));
            if uses
                && !fixed
                && let Some(k) = (item.start..item.end).find(|&k| self.lx.is(k, "constant"))
            {
                let (a, b) = self.bytes(k, k + 1);
                self.edits.replace(a, b, "constexpr");
                dependent.insert(&item.name);
            } else if uses {
                dependent.insert(&item.name);
            }
        }
    }

    /// `threadgroup T a[4], b;` in a kernel body becomes a struct in the group's memory and references to its members.
    fn group_variables(&mut self, kernel: &Item) {
        for (from, to) in group_declarations(self.lx, kernel) {
            let mut members = String::new();
            let mut references = String::new();
            self.locals += 1;
            let tag = format!("softmetal_group_{}", self.locals);
            let parts = split_commas(self.lx, from, to);
            let first_name = declared_name(self.lx, parts[0].0, parts[0].1);
            for (k, &(a, b)) in parts.iter().enumerate() {
                let name = declared_name(self.lx, a, b);
                let base = if k == 0 {
                    String::new()
                } else {
                    self.plain(from, self.position_of(from, parts[0].1, &first_name))
                };
                members.push_str(&format!("{base} {}; ", self.storage(a, b)));
                references.push_str(&format!("auto &{name} = ::softmetal::group_local<{tag}>().{name}; "));
            }
            let (a, _) = self.bytes(from, to);
            let end = self.lx.tokens[to].end;
            self.edits.replace(a, end, format!("struct {tag} {{ {members}}}; {references}"));
        }
    }

    fn position_of(&self, from: usize, to: usize, name: &str) -> usize {
        (from..to).rev().find(|&k| self.lx.is(k, name)).unwrap_or(from)
    }

    fn storage(&self, from: usize, to: usize) -> String {
        let end = initialiser(self.lx, from, to);
        self.plain(from, end).replace("const ", "").replace("volatile ", "")
    }

    fn tokens(&mut self, values: &ConstantValues, unroll: bool) {
        // Then lanes hold elements of matrices; otherwise one lane holds them all, which is faster.
        let lane_matrices = (0..self.lx.tokens.len()).any(|k| self.lx.is(k, "thread_elements"));
        let mut i = 0;
        while i < self.lx.tokens.len() {
            let t = self.lx.tokens[i];
            match self.lx.str(i) {
                "[[" => {
                    let close = self.lx.matching(i);
                    let end = self.lx.tokens[close.min(self.lx.tokens.len() - 1)].end;
                    self.edits.replace(t.start, end, "");
                    i = close;
                }
                "constant" => self.edits.replace(t.start, t.end, "const"),
                "kernel" | "vertex" | "fragment" => self.edits.replace(t.start, t.end, "static"),
                "is_function_constant_defined" if self.lx.is(i + 1, "(") => {
                    let close = self.lx.matching(i + 1);
                    let defined = values.contains_key(self.lx.str(close - 1));
                    self.edits.replace(
                        t.start,
                        self.lx.tokens[close].end,
                        if defined { "true" } else { "false" },
                    );
                    i = close;
                }
                "static_assert" if let Some(close) = compares_spaces(self.lx, i) => {
                    self.edits.replace(t.start, self.lx.tokens[close].end, "static_assert(true)");
                    i = close;
                }
                s if lane_matrices && lane_matrix(s).is_some() => {
                    self.edits.replace(t.start, t.end, lane_matrix(s).unwrap_or_default());
                }
                s if space_of(s).is_some() => self.edits.replace(t.start, t.end, ""),
                s if t.kind == TokenKind::Number && bfloat_digits(s).is_some() => {
                    let digits = bfloat_digits(s).unwrap_or_default();
                    self.edits.replace(t.start, t.end, format!("bfloat({digits}f)"));
                }
                s if t.kind == TokenKind::Number && is_plain_float(s) => {
                    self.edits.replace(t.end, t.end, "f")
                }
                s if t.kind == TokenKind::Directive => {
                    let text = pragma(s, unroll);
                    self.edits.replace(t.start, t.end, text);
                }
                _ => {}
            }
            i += 1;
        }
        // Last, since an operand's suffix stands before the bracket that closes it.
        casts::rewrite(self.lx, &self.unit.items, &mut self.edits);
    }
}

/// What a function is without address spaces: scope, head, parameters and qualifiers.
pub fn signature(lx: &Lexed, item: &Item) -> String {
    let mut key = item.scope.join("::");
    key.push_str(&format!("#{}|", item.owner));
    let head_end = if item.params.1 > 0 { item.params.0 } else { item.body.0 };
    key.push_str(&once(&plain(lx, item.start, head_end)));
    for p in item.parameters(lx) {
        let constant = p.is_const || p.space == Some(super::params::Space::Constant);
        let words: Vec<_> = p.type_text.split(' ').filter(|w| *w != "const").collect();
        key.push_str(&format!("|{}{}", if constant { "const " } else { "" }, words.join(" ")));
    }
    let is_constructor = item.scope.last() == Some(&item.name);
    if item.params.1 > 0 && !is_constructor {
        let end =
            (item.params.1 + 1..item.end).find(|&k| matches!(lx.str(k), "{" | ";" | "=")).unwrap_or(item.end);
        key.push_str("|q");
        key.push_str(&once(&plain(lx, item.params.1 + 1, end)));
    }
    key
}

/// `const constant` is `const` twice: each run of a word counts once.
fn once(text: &str) -> String {
    let mut words: Vec<_> = text.split_whitespace().collect();
    words.dedup();
    words.join(" ")
}

/// The text of tokens without attributes and address spaces; `constant` becomes `const`.
pub fn plain(lx: &Lexed, from: usize, to: usize) -> String {
    let mut kept = Vec::new();
    let mut i = from;
    while i < to {
        if lx.is(i, "[[") {
            i = lx.matching(i);
        } else {
            kept.push(i);
        }
        i += 1;
    }
    lx.joined(kept.into_iter(), |i| match lx.str(i) {
        "constant" => Some("const"),
        "kernel" | "static" | "inline" => None,
        s if space_of(s).is_some() || lx.tokens[i].kind == TokenKind::Directive => None,
        s => Some(s),
    })
}

/// The number of a literal of bfloat, such as `1.0bf`.
pub fn bfloat_digits(text: &str) -> Option<&str> {
    text.strip_suffix("bf").or_else(|| text.strip_suffix("BF")).filter(|_| !text.starts_with("0x"))
}

/// A floating literal without suffix is a float in MSL.
pub fn is_plain_float(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let floating = if lower.starts_with("0x") { lower.contains('p') } else { lower.contains(['.', 'e']) };
    floating && !lower.ends_with(['f', 'h', 'l'])
}

/// The name of a matrix whose elements lie in the lanes, or of what makes one, for that of one that a lane holds as a whole.
fn lane_matrix(word: &str) -> Option<&'static str> {
    Some(match word {
        "simdgroup_matrix" => "_lane_matrix",
        "simdgroup_float8x8" => "_lane_float8x8",
        "simdgroup_half8x8" => "_lane_half8x8",
        "simdgroup_bfloat8x8" => "_lane_bfloat8x8",
        "make_filled_simdgroup_matrix" => "_make_filled_lane_matrix",
        "make_diagonal_simdgroup_matrix" => "_make_diagonal_lane_matrix",
        _ => return None,
    })
}

/// The closing bracket of a `static_assert` at `i` that compares types by their address spaces, which only the judging pass has.
pub fn compares_spaces(lx: &Lexed, i: usize) -> Option<usize> {
    let close = lx.matching(i + 1);
    let has = |word: fn(&str) -> bool| (i..close).any(|k| word(lx.str(k)));
    let compares = has(|w| w.starts_with("is_same")) && has(|w| space_of(w).is_some() || w == "decltype");
    (lx.is(i, "static_assert") && lx.is(i + 1, "(") && compares).then_some(close)
}

/// An unroll pragma may hold a macro, which the preprocessor leaves alone; a bare one is always valid.
fn pragma(text: &str, unroll: bool) -> String {
    let words: Vec<_> = text.trim_start_matches('#').split_whitespace().collect();
    let is_unroll = words.get(1).is_some_and(|w| w.starts_with("unroll") || w.starts_with("nounroll"))
        || text.contains("loop unroll");
    match (is_unroll, unroll) {
        (true, true) if text.contains("nounroll") || text.contains("disable") => "#pragma nounroll".into(),
        (true, true) => "#pragma unroll".into(),
        (true, false) => String::new(),
        _ if words.get(1).is_some_and(|w| *w == "METAL" || *w == "once" || *w == "mark") => String::new(),
        _ => text.to_string(),
    }
}

/// Token ranges `threadgroup … name […]` (without the `;`) of variables declared in a function body.
pub fn group_declarations(lx: &Lexed, function: &Item) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    for i in function.body.0..function.body.1 {
        if !lx.is(i, "threadgroup") {
            continue;
        }
        let mut start = i;
        while matches!(lx.str(start - 1), "const" | "volatile" | "static") {
            start -= 1;
        }
        if !matches!(lx.str(start - 1), "{" | "}" | ";") && lx.tokens[start - 1].kind != TokenKind::Directive
        {
            continue;
        }
        let mut k = i;
        let mut indirect = false;
        while k < function.body.1 && !lx.is(k, ";") {
            match lx.str(k) {
                "<" if lx.is_ident(k - 1) => {
                    k = lx.skip_angles(k);
                    continue;
                }
                "[" | "(" | "{" if !lx.is(k, "(") || !matches!(lx.str(k + 1), "*" | "&") => {
                    k = lx.matching(k)
                }
                "[[" => k = lx.matching(k),
                "*" | "&" => indirect = true,
                // An array may be written with an initialiser, which does nothing.
                "=" if lx.is(k - 1, "]") && lx.is(k + 1, "{") => k = lx.matching(k + 1),
                "=" => break,
                _ => {}
            }
            k += 1;
        }
        if !indirect && lx.is(k, ";") {
            out.push((start, k));
        }
    }
    out
}

/// The `=` of a declarator, outside all brackets, or its end.
pub fn initialiser(lx: &Lexed, from: usize, to: usize) -> usize {
    let mut k = from;
    while k < to && !lx.is(k, "=") {
        k = match lx.str(k) {
            "[" | "(" | "{" | "[[" => lx.matching(k) + 1,
            "<" => lx.skip_angles(k),
            _ => k + 1,
        };
    }
    k.min(to)
}

/// The name in a declarator: the last identifier before `[` or the end.
pub fn declared_name(lx: &Lexed, from: usize, to: usize) -> String {
    let mut name = "";
    let mut i = from;
    while i < to {
        match lx.str(i) {
            "[" | "=" | "[[" => break,
            "<" => {
                i = lx.skip_angles(i);
                continue;
            }
            "alignas" | "__attribute__" | "decltype" => i = lx.matching(i + 1),
            s if lx.is_ident(i) => name = s,
            _ => {}
        }
        i += 1;
    }
    name.to_string()
}

/// Function constants that an entry point uses, and of which the source never asks whether they are defined.
pub fn required_constants(unit: &Unit, entry: &Entry) -> Vec<String> {
    let lx = &unit.lx;
    let mut out: Vec<String> = Vec::new();
    let asked = |name: &str| {
        (0..lx.tokens.len()).any(|k| lx.is(k, "is_function_constant_defined") && lx.is(k + 2, name))
    };
    let needed: Vec<_> = unit.constants.iter().filter(|c| !asked(&c.name)).collect();
    for i in unit.reachable(entry) {
        let item = &unit.items[i];
        for c in needed.iter().filter(|c| c.item != i) {
            let mentions = (item.start..item.end).any(|k| lx.is(k, &c.name));
            // An argument's own condition is satisfied by an undefined constant: the argument is absent.
            let only_conditions = i == entry.item
                && (item.start..item.end)
                    .filter(|&k| lx.is(k, &c.name))
                    .all(|k| lx.is(k.wrapping_sub(2), "function_constant"));
            if mentions && !only_conditions && !out.contains(&c.name) {
                out.push(c.name.clone());
            }
        }
    }
    out
}

/// Whether an entry point can reach a barrier, a simd function or anything else that makes threads wait.
pub fn may_wait(unit: &Unit, entry: &Entry) -> bool {
    let lx = &unit.lx;
    unit.reachable(entry).into_iter().any(|i| {
        let item = &unit.items[i];
        let head = attributes(lx, item.start, item.params.1.max(item.start))
            .into_iter()
            .map(|a| a.token)
            .collect::<FxHashSet<_>>();
        (item.start..item.end).any(|k| lx.is_ident(k) && !head.contains(&k) && waits(lx.str(k)))
    })
}

fn waits(word: &str) -> bool {
    let word = word.strip_prefix("__metal_").unwrap_or(word);
    word.starts_with("simd_")
        || word.starts_with("quad_")
        || word.starts_with("simdgroup_") && !word.ends_with("_in_threadgroup")
        || word == "threadgroup_barrier"
        // What a table holds is not known here.
        || word == "visible_function_table"
}

#[cfg(test)]
mod tests {
    use super::is_plain_float;

    #[test]
    fn which_literals_become_floats() {
        for (text, want) in [
            ("1.0", true),
            ("1.", true),
            (".5e3", true),
            ("1e-3", true),
            ("1.0f", false),
            ("1.0h", false),
            ("1.0bf", false),
            ("0x1E", false),
            ("0x1p3", true),
            ("7", false),
            ("7u", false),
        ] {
            assert_eq!(is_plain_float(text), want, "{text}");
        }
    }
}
