//! Finds the declarations of a translation unit by their shape: namespaces, types, functions,
//! kernels, explicit instantiations and program-scope variables. No type is resolved; the C++ compiler does that.

use super::lexer::{Lexed, TokenKind};
use super::params::{Param, attributes, parse_params};

/// The kind of a declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemKind {
    /// A function or method, with or without a body.
    Function,
    /// A compute kernel.
    Kernel,
    /// A vertex, fragment or other graphics entry point.
    Graphics,
    /// A class, struct, union or enum.
    Type,
    /// A variable at namespace scope.
    Variable,
    /// An explicit template instantiation.
    Instantiation,
    /// `using`, `typedef`, `static_assert` and the like.
    Other,
}

/// One declaration as token ranges.
#[derive(Debug, Clone)]
pub struct Item {
    /// Kind.
    pub kind: ItemKind,
    /// Declared name, empty when it has none.
    pub name: String,
    /// Enclosing namespaces and types, outermost first.
    pub scope: Vec<String>,
    /// Whether the innermost scope is a type.
    pub in_type: bool,
    /// First token of the enclosing type, or zero: specialisations share a name, not their members.
    pub owner: usize,
    /// First token (of `template` where there is one).
    pub start: usize,
    /// One past the last token.
    pub end: usize,
    /// Tokens of `template <…>`, empty when not a template.
    pub template: (usize, usize),
    /// Parameter list brackets `(`, `)`; zero when there are none.
    pub params: (usize, usize),
    /// Body brackets `{`, `}`; zero when there is no body.
    pub body: (usize, usize),
}

impl Item {
    /// Whether the declaration is a template.
    pub fn is_template(&self) -> bool {
        self.template.1 > self.template.0
    }

    /// Whether it has a body.
    pub fn has_body(&self) -> bool {
        self.body.1 > self.body.0
    }

    /// The parsed parameters.
    pub fn parameters(&self, lx: &Lexed) -> Vec<Param> {
        if self.params.1 > self.params.0 {
            parse_params(lx, self.params.0 + 1, self.params.1)
        } else {
            Vec::new()
        }
    }
}

/// All declarations, in order; members of types follow their type.
pub fn scan(lx: &Lexed) -> Vec<Item> {
    let mut s = Scanner { lx, items: Vec::new(), scope: Vec::new(), in_type: false, owner: 0 };
    s.block(0, lx.tokens.len());
    s.items
}

struct Scanner<'a> {
    lx: &'a Lexed,
    items: Vec<Item>,
    scope: Vec<String>,
    in_type: bool,
    owner: usize,
}

impl Scanner<'_> {
    fn block(&mut self, from: usize, to: usize) {
        let mut i = from;
        while i < to {
            let next = self.declaration(i, to);
            i = next.max(i + 1);
        }
    }

    fn declaration(&mut self, i: usize, to: usize) -> usize {
        let lx = self.lx;
        if lx.tokens[i].kind == TokenKind::Directive {
            return i + 1;
        }
        match lx.str(i) {
            ";" | "}" => i + 1,
            "public" | "private" | "protected" if lx.is(i + 1, ":") => i + 2,
            "namespace" | "inline" if lx.is(i, "namespace") || lx.is(i + 1, "namespace") => {
                self.namespace(i, to)
            }
            "extern" if lx.str(i + 1).starts_with('"') && lx.is(i + 2, "{") => i + 3,
            "using" | "static_assert" | "friend" => self.simple(i, to, ItemKind::Other),
            "typedef" => self.simple(i, to, ItemKind::Other),
            "template" if !lx.is(i + 1, "<") => self.instantiation(i, to),
            "template" => {
                let after = self.template_headers(i);
                if lx.is(after, "using") {
                    let end = self.simple(after, to, ItemKind::Other);
                    if let Some(item) = self.items.last_mut() {
                        (item.start, item.template) = (i, (i, after));
                    }
                    return end;
                }
                self.declared(i, after, to)
            }
            _ => self.declared(i, i, to),
        }
    }

    fn template_headers(&self, mut i: usize) -> usize {
        while self.lx.is(i, "template") && self.lx.is(i + 1, "<") {
            i = self.lx.skip_angles(i + 1);
        }
        i
    }

    fn push(&mut self, item: Item) {
        self.items.push(item);
    }

    fn item(&self, kind: ItemKind, name: &str, start: usize, end: usize) -> Item {
        Item {
            kind,
            name: name.to_string(),
            scope: self.scope.clone(),
            in_type: self.in_type,
            owner: self.owner,
            start,
            end,
            template: (0, 0),
            params: (0, 0),
            body: (0, 0),
        }
    }

    /// To the `;` at this level.
    fn semicolon(&self, mut i: usize, to: usize) -> usize {
        while i < to && !self.lx.is(i, ";") {
            if matches!(self.lx.str(i), "(" | "{" | "[" | "[[") {
                i = self.lx.matching(i);
            }
            i += 1;
        }
        (i + 1).min(to)
    }

    fn simple(&mut self, i: usize, to: usize, kind: ItemKind) -> usize {
        let end = self.semicolon(i, to);
        let name = if self.lx.is(i, "using") && self.lx.is(i + 2, "=") {
            self.lx.str(i + 1)
        } else {
            self.lx.str(end.saturating_sub(2))
        };
        self.push(self.item(kind, name, i, end));
        end
    }

    fn namespace(&mut self, i: usize, to: usize) -> usize {
        let lx = self.lx;
        let open = (i..to).find(|&k| matches!(lx.str(k), "{" | ";")).unwrap_or(to);
        if !lx.is(open, "{") {
            return open + 1;
        }
        let close = lx.matching(open);
        let depth = self.scope.len();
        for k in i..open {
            if lx.is_ident(k) && !matches!(lx.str(k), "namespace" | "inline") {
                self.scope.push(lx.str(k).to_string());
            }
        }
        self.block(open + 1, close.min(to));
        self.scope.truncate(depth);
        close + 1
    }

    fn instantiation(&mut self, i: usize, to: usize) -> usize {
        let end = self.semicolon(i, to);
        self.push(self.item(ItemKind::Instantiation, "", i, end));
        end
    }

    /// A type, function or variable whose specifiers begin at `at`.
    fn declared(&mut self, start: usize, at: usize, to: usize) -> usize {
        let lx = self.lx;
        let template = if at > start { (start, at) } else { (0, 0) };
        let mut i = at;
        let mut name = String::new();
        let mut type_name: Option<String> = None;
        let mut initialised = false;
        while i < to {
            match lx.str(i) {
                ";" => break,
                "[[" => i = lx.matching(i),
                "=" if !lx.is(i.wrapping_sub(1), "operator") => initialised = true,
                "struct" | "class" | "union" | "enum" if type_name.is_none() && !initialised => {
                    type_name = Some(self.type_name(i))
                }
                "decltype" | "alignas" | "__attribute__" | "__declspec" | "noexcept" => {
                    i = lx.matching(i + 1)
                }
                "operator" if !initialised => {
                    let (open, op) = self.operator_name(i);
                    return self.function(start, template, (open, op), to);
                }
                "<" if lx.is_ident(i - 1) && !initialised => {
                    i = lx.skip_angles(i);
                    continue;
                }
                "(" if !initialised && type_name.is_none() && !name.is_empty() => {
                    return self.function(start, template, (i, name), to);
                }
                "(" | "[" => i = lx.matching(i),
                "{" if type_name.is_some() && !initialised => {
                    return self.type_body(start, template, (i, type_name.unwrap_or_default()), to);
                }
                "{" => i = lx.matching(i),
                s if lx.is_ident(i) && !initialised => name = s.to_string(),
                _ => {}
            }
            i += 1;
        }
        let end = (i + 1).min(to);
        let kind = if type_name.is_some() && !initialised && i == at + 2 {
            ItemKind::Other
        } else {
            ItemKind::Variable
        };
        let mut item = self.item(kind, &self.variable_name(at, end), start, end);
        item.template = template;
        self.push(item);
        end
    }

    /// The declared name: the last identifier before `[`, `=`, `{`, an attribute or the end.
    fn variable_name(&self, at: usize, end: usize) -> String {
        let lx = self.lx;
        let mut name = "";
        let mut i = at;
        while i < end {
            match lx.str(i) {
                "=" | ";" | "[" | "{" | "[[" => break,
                "<" => {
                    i = lx.skip_angles(i);
                    continue;
                }
                "decltype" | "alignas" | "__attribute__" => i = lx.matching(i + 1),
                s if lx.is_ident(i) => name = s,
                _ => {}
            }
            i += 1;
        }
        name.to_string()
    }

    fn type_name(&self, at: usize) -> String {
        let lx = self.lx;
        let mut i = at + 1;
        while i < lx.tokens.len() {
            match lx.str(i) {
                "class" | "struct" => {}
                "alignas" | "__attribute__" => i = lx.matching(i + 1),
                "[[" => i = lx.matching(i),
                _ => break,
            }
            i += 1;
        }
        if lx.is_ident(i) { lx.str(i).to_string() } else { String::new() }
    }

    fn type_body(
        &mut self,
        start: usize,
        template: (usize, usize),
        (open, name): (usize, String),
        to: usize,
    ) -> usize {
        let close = self.lx.matching(open);
        let is_enum = (start.max(template.1)..open).any(|k| self.lx.is(k, "enum"));
        let end = self.semicolon(close, to);
        let mut item = self.item(ItemKind::Type, &name, start, end);
        item.template = template;
        item.body = (open, close);
        self.push(item);
        if !is_enum {
            self.scope.push(name);
            let was = (self.in_type, self.owner);
            (self.in_type, self.owner) = (true, start);
            self.block(open + 1, close.min(to));
            (self.in_type, self.owner) = was;
            self.scope.pop();
        }
        end
    }

    /// The parameter bracket and the name of an operator function.
    fn operator_name(&self, i: usize) -> (usize, String) {
        let lx = self.lx;
        if lx.is(i + 1, "(") && lx.is(i + 2, ")") {
            return (i + 3, "operator()".into());
        }
        let open = (i + 1..lx.tokens.len()).find(|&k| lx.is(k, "(")).unwrap_or(i);
        (open, format!("operator{}", lx.span(i + 1, open)))
    }

    fn function(
        &mut self,
        start: usize,
        template: (usize, usize),
        (open, name): (usize, String),
        to: usize,
    ) -> usize {
        let lx = self.lx;
        let close = lx.matching(open);
        let mut i = close + 1;
        let mut in_init = false;
        while i < to && !lx.is(i, ";") {
            match lx.str(i) {
                ":" => in_init = true,
                "(" | "[" | "[[" => i = lx.matching(i),
                // In a member initialiser list, `x{…}` follows a name and `{` of the body does not.
                "{" if in_init && lx.is_ident(i - 1) => i = lx.matching(i),
                "{" => break,
                _ => {}
            }
            i += 1;
        }
        let kind = self.function_kind(start.max(template.1), open);
        let has_body = lx.is(i, "{");
        let body = if has_body { (i, lx.matching(i)) } else { (0, 0) };
        let end = if has_body { body.1 + 1 } else { (i + 1).min(to) };
        let mut item = self.item(kind, &name, start, end);
        item.template = template;
        item.params = (open, close);
        item.body = body;
        self.push(item);
        end
    }

    fn function_kind(&self, from: usize, open: usize) -> ItemKind {
        let words = attributes(self.lx, from, open);
        let has = |w: &str| words.iter().any(|a| a.name == w) || (from..open).any(|k| self.lx.is(k, w));
        if has("kernel") {
            ItemKind::Kernel
        } else if has("vertex")
            || has("fragment")
            || words.iter().any(|a| matches!(a.name.as_str(), "mesh" | "object" | "intersection"))
        {
            ItemKind::Graphics
        } else {
            ItemKind::Function
        }
    }
}
