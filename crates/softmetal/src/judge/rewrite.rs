//! MSL to C++ for OpenCL. Line numbers are preserved.

use super::calls::{FILE, MARK};
use super::kernels::OURS;
use crate::source::edit::Edits;
use crate::source::items::{Item, ItemKind};
use crate::source::lexer::{Lexed, TokenKind};
use crate::source::params::{Space, space_of, split_commas};
use crate::source::rewrite::{
    bfloat_digits, compares_spaces, declared_name, group_declarations, initialiser, is_plain_float, plain,
};
use crate::source::unit::Unit;

/// The whole unit, all kernels and instantiations included.
pub fn rewrite(unit: &Unit) -> String {
    let mut r = Rewriter { unit, lx: &unit.lx, edits: Edits::default(), groups: 0 };
    r.constants();
    r.overloads();
    for item in &unit.items {
        r.function_parameters(item.template);
        match item.kind {
            ItemKind::Kernel => r.group_variables(item),
            ItemKind::Function => r.method(item),
            _ => {}
        }
    }
    r.tokens();
    r.edits.apply(&unit.lx.text)
}

struct Rewriter<'a> {
    unit: &'a Unit,
    lx: &'a Lexed,
    edits: Edits,
    groups: u32,
}

impl Rewriter<'_> {
    /// Function constants, and what is computed from them, are values that nobody knows yet.
    fn constants(&mut self) {
        let lx = self.lx;
        let unknown = self.unit.unknown_constants();
        for c in &self.unit.constants {
            let item = &self.unit.items[c.item];
            let says = format!("the function constant `{}` must be a scalar or a vector", c.name);
            self.replace(
                item,
                format!(
                    "extern __constant const {t} {}; static_assert(::softmetal::is_value<{t}>::value, \"{OURS}{says}\");",
                    c.name,
                    t = c.type_name
                ),
            );
        }
        for item in self.unit.items.iter().filter(|it| it.kind == ItemKind::Variable && !it.in_type) {
            let equals = (item.start..item.end).find(|&k| lx.is(k, "="));
            let Some(equals) = equals.filter(|_| unknown.contains(item.name.as_str())) else { continue };
            let words = (item.start..equals).filter(|&k| {
                !matches!(lx.str(k), "static" | "constexpr" | "const" | "constant" | "inline" | "[[")
            });
            let declared = lx.joined(words, |k| Some(lx.str(k)));
            if !declared.contains("]]") {
                self.replace(item, format!("extern __constant const {declared};"));
            }
        }
    }

    /// A pointer to a function has an address space here that no function lies in; a reference has none.
    fn function_parameters(&mut self, (from, to): (usize, usize)) {
        for k in from..to {
            if self.lx.is(k, "(")
                && self.lx.is(k + 1, "*")
                && self.lx.is(k + 3, ")")
                && self.lx.is(k + 4, "(")
            {
                let star = self.lx.tokens[k + 1];
                self.edits.replace(star.start, star.end, "&");
            }
        }
    }

    /// Marks overloads by address space, and the calls that may mean them.
    fn overloads(&mut self) {
        for (&i, &number) in &self.unit.overloads.items {
            let item = &self.unit.items[i];
            let at = self.lx.tokens[item.start.max(item.template.1)].start;
            self.edits.replace(
                at,
                at,
                format!("__attribute__((diagnose_if(true, \"{MARK}{number}\", \"warning\"))) "),
            );
        }
        for token in self.unit.overloads.sites(self.unit) {
            let t = self.lx.tokens[token];
            let (file, line) = self.lx.place(token);
            let name = self.lx.str(token);
            self.edits.replace(
                t.start,
                t.end,
                format!("\n# {token} \"{FILE}\"\n{name}\n# {line} \"{file}\"\n"),
            );
        }
    }

    fn replace(&mut self, item: &Item, text: String) {
        let range = (self.lx.tokens[item.start].start, self.lx.tokens[item.end - 1].end);
        self.edits.replace(range.0, range.1, text);
    }

    /// A threadgroup variable is an object at some address of threadgroup memory.
    fn group_variables(&mut self, kernel: &Item) {
        for (from, to) in group_declarations(self.lx, kernel) {
            self.groups += 1;
            let tag = format!("softmetal_group_{}", self.groups);
            let parts = split_commas(self.lx, from, to);
            let first = declared_name(self.lx, parts[0].0, parts[0].1);
            let base_end = (from..parts[0].1).rev().find(|&k| self.lx.is(k, &first)).unwrap_or(from);
            let (mut members, mut names) = (String::new(), String::new());
            for (k, &(a, b)) in parts.iter().enumerate() {
                let base = if k == 0 { String::new() } else { plain(self.lx, from, base_end) };
                let end = initialiser(self.lx, a, b);
                let declarator = plain(self.lx, a, end).replace("const ", "").replace("volatile ", "");
                let name = declared_name(self.lx, a, b);
                members.push_str(&format!("{base} {}; ", renamed_words(&declarator)));
                names.push_str(&format!("auto &{name} = ((__local {tag} *)0)->{name}; "));
            }
            let (a, b) = (self.lx.tokens[from].start, self.lx.tokens[to].end);
            self.edits.replace(a, b, format!("struct {tag} {{ {members}}}; {names}"));
        }
    }

    /// A method without an address space works on objects in thread memory only.
    fn method(&mut self, item: &Item) {
        let lx = self.lx;
        let close = item.params.1;
        let outside = !item.in_type && self.defines_a_member(item);
        let head = item.start.max(item.template.1)..item.params.0;
        let is_static = head.clone().any(|k| matches!(lx.str(k), "static" | "friend"));
        let constructor = item.scope.last() == Some(&item.name) || head.clone().any(|k| lx.is(k, "~"));
        if item.in_type && constructor {
            self.constructor(item);
        }
        if close == 0 || is_static || constructor || !(item.in_type || outside) {
            return;
        }
        let mut k = close + 1;
        while matches!(lx.str(k), "const" | "volatile") {
            k += 1;
        }
        // An assignment between address spaces has no default here.
        if let Some(equals) = (k..item.end)
            .find(|&e| lx.is(e, "=") && lx.is(e + 1, "default"))
            .filter(|_| item.name.ends_with('='))
        {
            self.edits.replace(lx.tokens[equals].start, lx.tokens[equals + 1].end, "");
        }
        if space_of(lx.str(k)).is_none() {
            let at = lx.tokens[k - 1].end;
            self.edits.replace(at, at, " __private ");
        }
    }

    /// A constructor makes objects in any address space here; those for other spaces than thread would be the same again.
    fn constructor(&mut self, item: &Item) {
        let at = item.params.1 + 1;
        match space_of(self.lx.str(at)) {
            Some(Space::Thread) => {
                let t = self.lx.tokens[at];
                self.edits.replace(t.start, t.end, "");
            }
            Some(Space::Device | Space::Threadgroup) => self.replace(item, String::new()),
            Some(Space::Constant) | None => {}
        }
    }

    /// `R S::f(…)` for a type `S` of the unit whose member is not static.
    fn defines_a_member(&self, item: &Item) -> bool {
        let (lx, open) = (self.lx, item.params.0);
        if open < 3 || !lx.is(open - 2, "::") || !lx.is_ident(open - 3) || lx.is(open - 3, lx.str(open - 1)) {
            return false;
        }
        let owner = lx.str(open - 3);
        let is_static = |m: &Item| (m.start..m.params.0).any(|k| lx.is(k, "static"));
        self.unit
            .items
            .iter()
            .any(|m| m.name == item.name && m.scope.last().is_some_and(|s| s == owner) && !is_static(m))
    }

    fn tokens(&mut self) {
        let lx = self.lx;
        let bfloat = (0..lx.tokens.len()).any(|i| lx.str(i).contains("bfloat"));
        let mut i = 0;
        while i < lx.tokens.len() {
            let t = lx.tokens[i];
            let word = lx.str(i);
            if word == "[[" {
                let close = lx.matching(i).min(lx.tokens.len() - 1);
                self.edits.replace(t.start, lx.tokens[close].end, "");
                i = close + 1;
                continue;
            }
            match t.kind {
                TokenKind::Directive if !word.starts_with("# ") => self.edits.replace(t.start, t.end, ""),
                TokenKind::Number if bfloat_digits(word).is_some() => {
                    let digits = bfloat_digits(word).unwrap_or_default();
                    self.edits.replace(t.start, t.end, format!("bfloat({digits}f)"));
                }
                TokenKind::Number if bfloat && float_value(word).is_some() => {
                    let value = float_value(word).map_or(String::new(), inexact);
                    self.edits.replace(t.start, t.end, value);
                }
                TokenKind::Number if is_plain_float(word) => self.edits.replace(t.end, t.end, "f"),
                TokenKind::Ident if let Some(close) = compares_spaces(lx, i) => {
                    let said = lx.tokens[close - 1];
                    let failed = format!("\"{OURS}static assertion failed\"");
                    if said.kind == TokenKind::Literal {
                        self.edits.replace(said.start, said.start, format!("{failed} \": \" "));
                    } else {
                        self.edits.replace(said.end, said.end, format!(", {failed}"));
                    }
                }
                _ if let Some(close) = cast_to_reference(lx, i) => {
                    // clang overlooks an address space that such a cast changes, and not that of a pointer.
                    let and = lx.tokens[close - 1];
                    self.edits.replace(t.start, t.start, "*");
                    self.edits.replace(and.start, and.end, "*");
                    let at = lx.tokens[close].end;
                    self.edits.replace(at, at, "&");
                }
                // Thread memory is what is meant where nothing is said, so another space wins.
                TokenKind::Ident if word == "thread" && beside_a_space(lx, i) => {
                    self.edits.replace(t.start, t.end, "");
                }
                TokenKind::Ident => {
                    if let Some(new) = renamed(word) {
                        self.edits.replace(t.start, t.end, new);
                    } else if let Some(end) = self.called_vector(i) {
                        let type_text = renamed_words(&plain(lx, i, end));
                        self.edits.replace(
                            t.start,
                            lx.tokens[end - 1].end,
                            format!("softmetal_make<{type_text}>"),
                        );
                        i = end;
                        continue;
                    } else if let Some(name) = self.initialised_vector(i) {
                        let type_text = renamed_words(&plain(lx, i, name));
                        let at = lx.tokens[name].end;
                        self.edits.replace(at, at, format!(" = softmetal_make<{type_text}>"));
                    }
                }
                _ => {}
            }
            i += 1;
        }
    }

    /// One past the vector type at `i`.
    fn vector_type(&self, i: usize) -> Option<usize> {
        match self.lx.str(i) {
            "vec" | "packed_vec" if self.lx.is(i + 1, "<") => Some(self.lx.skip_angles(i + 1)),
            word if is_vector(word) => Some(i + 1),
            _ => None,
        }
    }

    /// The name that is declared where a local vector has an initialiser in parentheses: `float4 v(a, b);`
    fn initialised_vector(&self, i: usize) -> Option<usize> {
        let (lx, name) = (self.lx, self.vector_type(i)?);
        let declares = lx.is_ident(name) && lx.is(name + 1, "(") && !lx.is(name + 2, ")");
        let functions = || self.unit.items.iter().filter(|it| it.has_body() && it.kind != ItemKind::Type);
        (declares && functions().any(|it| it.body.0 < i && i < it.body.1)).then_some(name)
    }

    /// One past the type, where a vector type is called like a function: `float4(`, `vec<T, 4>(`.
    fn called_vector(&self, i: usize) -> Option<usize> {
        let (lx, end) = (self.lx, self.vector_type(i)?);
        let declares = i > 0 && (lx.is(i - 1, "operator") || lx.is_ident(i - 1) && !lx.is(i - 1, "return"));
        (lx.is(end, "(") && !declares && !matches!(lx.str(end + 1), "*" | "&")).then_some(end)
    }
}

/// The bracket that closes a cast to a reference at `i`: `(device float &)x`.
fn cast_to_reference(lx: &Lexed, i: usize) -> Option<usize> {
    if !lx.is(i, "(")
        || lx.is_ident(i - 1) && !lx.is(i - 1, "return")
        || matches!(lx.str(i - 1), ">" | ")" | "]")
    {
        return None;
    }
    let close = lx.matching(i);
    let names_a_type = (i + 1..close - 1).all(|k| lx.is_ident(k) || lx.is(k, "::"));
    let spaced = (i + 1..close).any(|k| space_of(lx.str(k)).is_some());
    let after = close + 1;
    let operand = lx.is_ident(after)
        && !matches!(lx.str(after), "const" | "volatile")
        && space_of(lx.str(after)).is_none();
    let operand = operand || matches!(lx.str(after), "(" | "*");
    (close > i + 2 && lx.is(close - 1, "&") && names_a_type && spaced && operand).then_some(close)
}

/// Whether another address space stands beside the one at `i`, as in `thread const device T *`.
fn beside_a_space(lx: &Lexed, i: usize) -> bool {
    let qualifier = |k: &usize| matches!(lx.str(*k), "const" | "volatile");
    let after = (i + 1..).find(|k| !qualifier(k)).unwrap_or(i);
    let before = (0..i).rev().find(|k| !qualifier(k)).unwrap_or(i);
    let other = |k: usize| k != i && space_of(lx.str(k)).is_some_and(|s| s != Space::Thread);
    other(after) || other(before)
}

/// The value of a decimal literal of float.
fn float_value(text: &str) -> Option<f32> {
    let digits = text.strip_suffix(['f', 'F']).filter(|_| !text.starts_with("0x")).unwrap_or(text);
    (is_plain_float(text) || digits.len() < text.len() && digits.contains(['.', 'e', 'E']))
        .then(|| digits.parse().ok())
        .flatten()
}

/// A literal of about this value that no bfloat has: clang does not mind the conversion of a constant that loses nothing, and Apple does.
fn inexact(value: f32) -> String {
    let bits = value.to_bits();
    let near = if value.is_finite() && bits & 0xffff == 0 { f32::from_bits(bits + 1) } else { value };
    format!("{near:e}f")
}

/// `float4`, `packed_half2` and the like.
fn is_vector(word: &str) -> bool {
    let word = word.strip_prefix("packed_").unwrap_or(word);
    let base = word.trim_end_matches(['2', '3', '4']);
    word.len() == base.len() + 1
        && matches!(
            base,
            "bool"
                | "char"
                | "uchar"
                | "short"
                | "ushort"
                | "int"
                | "uint"
                | "long"
                | "ulong"
                | "half"
                | "bfloat"
                | "float"
        )
}

/// What a word of MSL is called in C++ for OpenCL; its own keywords and types get another name.
fn renamed(word: &str) -> Option<&'static str> {
    Some(match word {
        "device" => "__global",
        "constant" => "__constant",
        "threadgroup" => "__local",
        "thread" => "__private",
        "kernel" | "vertex" | "fragment" => "",
        "global" => "sm_global",
        "local" => "sm_local",
        "generic" => "sm_generic",
        "pipe" => "sm_pipe",
        "read_only" => "sm_read_only",
        "write_only" => "sm_write_only",
        "read_write" => "sm_read_write",
        "vec_step" => "sm_vec_step",
        "event_t" => "sm_event_t",
        "queue_t" => "sm_queue_t",
        "sampler_t" => "sm_sampler_t",
        "atomic" => "sm_atomic",
        "atomic_int" => "sm_atomic_int",
        "atomic_uint" => "sm_atomic_uint",
        "atomic_bool" => "sm_atomic_bool",
        "atomic_float" => "sm_atomic_float",
        "atomic_ulong" => "sm_atomic_ulong",
        "atomic_flag" => "sm_atomic_flag",
        "atomic_long" => "sm_atomic_long",
        "atomic_double" => "sm_atomic_double",
        "kernel_exec" => "sm_kernel_exec",
        _ => return None,
    })
}

/// Tokens as the judging pass spells them, without attributes.
pub fn spaced(lx: &Lexed, from: usize, to: usize) -> String {
    let mut kept = Vec::new();
    let mut k = from;
    while k < to {
        if lx.is(k, "[[") {
            k = lx.matching(k);
        } else if lx.tokens[k].kind != TokenKind::Directive {
            kept.push(lx.str(k));
        }
        k += 1;
    }
    let words = kept.into_iter().map(|word| renamed(word).unwrap_or(word));
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The same for text whose words are apart.
pub fn renamed_words(text: &str) -> String {
    let (mut out, mut word) = (String::with_capacity(text.len()), String::new());
    for c in text.chars().chain([' ']) {
        if c.is_alphanumeric() || c == '_' {
            word.push(c);
        } else {
            out.push_str(renamed(&word).unwrap_or(&word));
            word.clear();
            out.push(c);
        }
    }
    out.pop();
    out
}
