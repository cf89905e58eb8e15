//! A translation unit in MSL's terms: entry points by host name, and function constants.

use super::binding::{Binding, at, bindings};
use super::items::{Item, ItemKind, scan};
use super::lexer::{Lexed, lex};
use super::numbers;
use super::overloads::Overloads;
use super::params::{attributes, integer, space_of, split_commas};
use super::rewrite::plain;
use crate::error::Result;
use rustc_hash::{FxHashMap, FxHashSet};

/// A kernel that a host can name.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The name a host uses.
    pub host_name: String,
    /// Index of the kernel in [`Unit::items`].
    pub item: usize,
    /// Index of the explicit instantiation, where the kernel is a template.
    pub instance: Option<usize>,
    /// The function as a C++ expression, such as `add<float, 4>`.
    pub expression: String,
    /// Parameter types when the instantiation leaves template arguments to deduction.
    pub deduced: Option<(usize, usize)>,
    /// Namespaces in which the expression is valid.
    pub scope: Vec<String>,
}

/// A `[[function_constant(n)]]` variable.
#[derive(Debug, Clone)]
pub struct FunctionConstant {
    /// Variable name.
    pub name: String,
    /// Index.
    pub index: u32,
    /// Type as written.
    pub type_name: String,
    /// Index in [`Unit::items`].
    pub item: usize,
}

/// The full name of a kernel, which a function of the library with the same name cannot hide.
fn qualified(item: &Item) -> String {
    item.scope.iter().chain([&item.name]).map(|n| format!("::{n}")).collect()
}

/// How many arguments a template takes that have no default; a pack takes any number.
fn template_parameters(lx: &Lexed, item: &Item) -> usize {
    let (from, to) = item.template;
    let list = split_commas(lx, from + 2, to.saturating_sub(1).max(from + 2));
    let needed = |(a, b): &&(usize, usize)| !(*a..*b).any(|k| matches!(lx.str(k), "=" | "..."));
    list.iter().filter(needed).count()
}

/// The analysed source.
#[derive(Debug)]
pub struct Unit {
    /// Tokens.
    pub lx: Lexed,
    /// Declarations.
    pub items: Vec<Item>,
    /// Entry points in order of appearance.
    pub entries: Vec<Entry>,
    /// Function constants in order of appearance.
    pub constants: Vec<FunctionConstant>,
    /// Overloads by address space, and what calls mean; the judging pass fills it in.
    pub overloads: Overloads,
}

/// A bracket that is not closed, or closes nothing: what follows reads sources by their brackets.
fn unbalanced(lx: &Lexed) -> Option<usize> {
    let mut open: Vec<(usize, &str)> = Vec::new();
    for i in 0..lx.tokens.len() {
        match lx.str(i) {
            "(" => open.push((i, ")")),
            "{" => open.push((i, "}")),
            "[" => open.push((i, "]")),
            "[[" => open.extend([(i, "]"); 2]),
            close @ (")" | "}" | "]") if open.pop().is_none_or(|(_, expected)| expected != close) => {
                return Some(i);
            }
            _ => {}
        }
    }
    open.pop().map(|(i, _)| i)
}

impl Unit {
    /// Analyses preprocessed text.
    pub fn new(text: &str) -> Result<Unit> {
        // A qualifier that says who may see writes to a buffer: here everybody does.
        let mut lx = lex(&text.replace("coherent device", "         device"));
        if let Some(i) = unbalanced(&lx) {
            return Err(at(&lx, i, format!("`{}` has no counterpart", lx.str(i))));
        }
        let items = scan(&lx);
        lx.numbers = numbers::find(&lx, &items);
        let mut unit =
            Unit { lx, items, entries: Vec::new(), constants: Vec::new(), overloads: Overloads::default() };
        unit.find_constants()?;
        unit.find_entries()?;
        unit.overloads = Overloads::find(&unit);
        Ok(unit)
    }

    /// The bindings of an entry point.
    pub fn bindings(&self, entry: &Entry) -> Result<Vec<Binding>> {
        bindings(&self.lx, &self.items[entry.item].parameters(&self.lx))
    }

    /// `max_total_threads_per_threadgroup` of an entry point, when written as a number.
    pub fn max_threads(&self, entry: &Entry) -> Option<u32> {
        let item = &self.items[entry.item];
        attributes(&self.lx, item.start, item.body.0.max(item.params.1))
            .iter()
            .find(|a| a.name == "max_total_threads_per_threadgroup")
            .and_then(|a| integer(&a.argument))
    }

    fn find_constants(&mut self) -> Result<()> {
        let lx = &self.lx;
        for (i, item) in self.items.iter().enumerate().filter(|(_, it)| it.kind == ItemKind::Variable) {
            let Some(attr) =
                attributes(lx, item.start, item.end).into_iter().find(|a| a.name == "function_constant")
            else {
                continue;
            };
            let index = integer(&attr.argument).ok_or_else(|| {
                at(lx, attr.token, format!("`{}` is not a function constant index", attr.argument))
            })?;
            let type_name = (item.start..item.end)
                .take_while(|&k| !lx.is(k, &item.name))
                .map(|k| lx.str(k))
                .filter(|s| {
                    space_of(s).is_none() && !matches!(*s, "const" | "static" | "constexpr" | "inline")
                })
                .collect::<Vec<_>>()
                .join(" ");
            self.constants.push(FunctionConstant { name: item.name.clone(), index, type_name, item: i });
        }
        Ok(())
    }

    fn find_entries(&mut self) -> Result<()> {
        let mut entries = Vec::new();
        for (i, item) in self.items.iter().enumerate() {
            match item.kind {
                ItemKind::Kernel if !item.is_template() => entries.push(self.plain_entry(i, item)),
                ItemKind::Instantiation => entries.extend(self.instance(i, item)?),
                _ => {}
            }
        }
        let mut seen = FxHashSet::default();
        entries.retain(|e| seen.insert(e.host_name.clone()));
        self.entries = entries;
        Ok(())
    }

    fn plain_entry(&self, i: usize, item: &Item) -> Entry {
        let host =
            attributes(&self.lx, item.start, item.params.0).into_iter().find(|a| a.name == "host_name");
        Entry {
            host_name: host.map_or(item.name.clone(), |a| a.argument),
            item: i,
            instance: None,
            expression: qualified(item),
            deduced: None,
            scope: item.scope.clone(),
        }
    }

    /// Reads `template [[host_name("x")]] kernel T f<A>;` in its three spellings.
    fn instance(&self, number: usize, item: &Item) -> Result<Option<Entry>> {
        let lx = &self.lx;
        let Some(host) = attributes(lx, item.start, item.end).into_iter().find(|a| a.name == "host_name")
        else {
            return Ok(None);
        };
        let (mut i, mut from, mut to, mut params) = (item.start + 1, 0, 0, None);
        while i < item.end {
            match lx.str(i) {
                "[[" => i = lx.matching(i),
                "decltype" => i = lx.matching(i + 1),
                "(" => {
                    params = Some((i, lx.matching(i)));
                    break;
                }
                ";" => break,
                _ if lx.is_ident(i) => {
                    if !lx.is(i - 1, "::") {
                        from = i;
                    }
                    if lx.is(i + 1, "<") {
                        i = lx.skip_angles(i + 1) - 1;
                    }
                    to = i + 1;
                }
                _ => {}
            }
            i += 1;
        }
        if to == 0 {
            let message = format!("the instantiation `{}` names no kernel template", host.argument);
            return Err(at(lx, item.start, message));
        }
        let base_end = (from..to).find(|&k| lx.is(k, "<")).unwrap_or(to);
        let base = lx.str(base_end - 1);
        let Some(kernel) =
            self.items.iter().position(|k| k.kind == ItemKind::Kernel && k.name == base && k.has_body())
        else {
            return Err(at(
                lx,
                item.start,
                format!("the instantiation `{}` names no kernel template `{base}`", host.argument),
            ));
        };
        let expression = format!("{}{}", qualified(&self.items[kernel]), plain(lx, base_end, to));
        let takes = template_parameters(lx, &self.items[kernel]);
        let given = if lx.is(to - 1, ">") { split_commas(lx, base_end + 1, to - 1).len() } else { 0 };
        let deduced = params.filter(|_| given == 0 || given < takes);
        Ok(Some(Entry {
            host_name: host.argument,
            item: kernel,
            instance: Some(number),
            expression,
            deduced,
            scope: item.scope.clone(),
        }))
    }

    /// Names of function constants, and of the constants that are computed from them: values that no compiler knows.
    pub fn unknown_constants(&self) -> FxHashSet<&str> {
        let lx = &self.lx;
        let mut unknown: FxHashSet<&str> = self.constants.iter().map(|c| c.name.as_str()).collect();
        for item in self.items.iter().filter(|it| it.kind == ItemKind::Variable && !it.in_type) {
            let uses = |k: usize| lx.is_ident(k) && unknown.contains(lx.str(k)) && lx.str(k) != item.name;
            let asks = |k: usize| lx.is(k, "is_function_constant_defined");
            let equals = (item.start..item.end).find(|&k| lx.is(k, "="));
            if equals.is_some_and(|equals| (equals..item.end).any(|k| uses(k) || asks(k))) {
                unknown.insert(&item.name);
            }
        }
        unknown
    }

    /// Namespace-scope items whose names are reachable from an entry point, by name alone.
    pub fn reachable(&self, entry: &Entry) -> Vec<usize> {
        let mut by_name: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
        for (i, item) in self.items.iter().enumerate() {
            if !item.name.is_empty() && item.kind != ItemKind::Kernel {
                by_name.entry(&item.name).or_default().push(i);
            }
        }
        let mut seen = FxHashSet::default();
        let mut queue = vec![entry.item];
        let lexed_expression = lex(&entry.expression);
        for k in 0..lexed_expression.tokens.len() {
            queue.extend(by_name.get(lexed_expression.str(k)).into_iter().flatten().copied());
        }
        while let Some(i) = queue.pop() {
            if !seen.insert(i) {
                continue;
            }
            let item = &self.items[i];
            for k in item.start..item.end {
                if self.lx.is_ident(k)
                    && let Some(next) = by_name.get(self.lx.str(k))
                {
                    queue.extend(next.iter().copied().filter(|n| !seen.contains(n)));
                }
            }
        }
        let mut list: Vec<_> = seen.into_iter().collect();
        list.sort_unstable();
        list
    }
}
