//! Threadgroup variables: AIR globals of which every threadgroup has its own copy. Here they are fields of a struct
//! in the memory of the running group.

use super::text::{closing, first_type, globals, name_end, unquoted};
use rustc_hash::FxHashMap;
use std::fmt::Write;

/// The threadgroup variables of a module.
#[derive(Debug, Default)]
pub struct GroupVariables {
    numbers: FxHashMap<String, usize>,
    fields: Vec<String>,
    /// How many, at the front, are zero when a group begins.
    zeroed: usize,
    used: bool,
}

impl GroupVariables {
    /// Finds them among the globals of a module.
    pub fn find(air: &str) -> GroupVariables {
        let mut found = GroupVariables::default();
        let variables = air.lines().filter(|l| l.starts_with('@'));
        let variables = variables.filter_map(|l| Some((l, l.split_once(" addrspace(3) global ")?.1)));
        // `threadgroup float x[32] = {0}` is zero when a group begins; what has no initialiser holds anything.
        let (zeroed, others): (Vec<_>, Vec<_>) = variables.partition(|(_, rest)| !is_undefined(rest));
        found.zeroed = zeroed.len();
        for (line, rest) in zeroed.into_iter().chain(others) {
            let name = unquoted(&line[..name_end(line, 1)]).to_string();
            let ty = first_type(rest).replace(" addrspace(3)", "").replace(" addrspace(1)", "");
            let align = rest.rsplit("align ").next().and_then(|a| a.parse().ok()).unwrap_or(16u32);
            // An empty array of a vector takes no room and aligns what follows.
            let lanes = (align.clamp(16, 64) / 4).next_power_of_two();
            found.numbers.insert(name, found.fields.len());
            found.fields.push(format!("[0 x <{lanes} x i32>], {ty}"));
        }
        found
    }

    /// Whether a global is one of them.
    pub fn contains(&self, name: &str) -> bool {
        self.numbers.contains_key(name)
    }

    /// Whether any function uses them.
    pub fn is_used(&self) -> bool {
        self.used
    }

    /// Replaces them in an instruction. Constant expressions of them become instructions, which `hoisted` gets.
    pub fn replace(&mut self, line: &mut String, hoisted: &mut String) -> bool {
        if self.numbers.is_empty() {
            return false;
        }
        let mut found = false;
        while let Some((range, number)) = self.first(line) {
            line.replace_range(range, &format!("{LOCAL}{number}"));
            found = true;
        }
        while let Some(range) = enclosing_expression(line) {
            let expression = line[range.clone()].to_string();
            // `bitcast (ptr %x to ptr)` is `bitcast ptr %x to ptr` as an instruction.
            let open = expression.find('(').unwrap_or(0);
            let instruction =
                format!("{}{}", &expression[..open], &expression[open + 1..expression.len() - 1]);
            let name = format!("{HOISTED}{}", hoisted.len());
            let _ = writeln!(hoisted, "  {name} = {instruction}");
            line.replace_range(range, &name);
        }
        self.used |= found;
        found
    }

    /// Their addresses, at the head of a function.
    pub fn prologue(&self) -> String {
        let mut s = String::from("  %softmetal.base = call ptr @softmetal_air_group_memory()\n");
        for number in 0..self.fields.len() {
            let _ = writeln!(
                s,
                "  {LOCAL}{number} = getelementptr %softmetal.group, ptr %softmetal.base, i32 0, i32 {}",
                2 * number + 1
            );
        }
        s
    }

    /// The struct, which has to stand before its size.
    pub fn storage(&self) -> String {
        format!("%softmetal.group = type {{ {} }}\n", self.fields.join(", "))
    }

    /// The struct's size, for the device.
    pub fn size(&self, suffix: &str) -> String {
        let size = if self.fields.is_empty() {
            "0"
        } else {
            "ptrtoint (ptr getelementptr (%softmetal.group, ptr null, i32 1) to i32)"
        };
        let zeroed = match self.zeroed {
            0 => "0".to_string(),
            n if n == self.fields.len() => size.to_string(),
            n => format!(
                "ptrtoint (ptr getelementptr (%softmetal.group, ptr null, i32 0, i32 {}) to i32)",
                2 * n
            ),
        };
        format!(
            "@softmetal_static_memory{suffix} = constant i32 {size}\n@softmetal_zeroed_memory{suffix} = constant i32 {zeroed}\n"
        )
    }

    /// A metadata line without them.
    pub fn forgotten(&self, line: &str) -> String {
        let mut line = line.to_string();
        while let Some((range, _)) = self.first(&line) {
            line.replace_range(range, "null");
        }
        line
    }

    /// Where the first of them stands in a line, and which it is.
    fn first(&self, line: &str) -> Option<(std::ops::Range<usize>, usize)> {
        globals(line).find_map(|(at, g)| Some((at..at + g.len(), *self.numbers.get(unquoted(g))?)))
    }
}

fn is_undefined(rest: &str) -> bool {
    let value = rest[first_type(rest).len()..].trim_start();
    value.starts_with("undef") || value.starts_with("poison")
}

const LOCAL: &str = "%softmetal.group.";
const HOISTED: &str = "%softmetal.hoisted.";

/// The innermost constant expression around one of our names, if there is one.
fn enclosing_expression(line: &str) -> Option<std::ops::Range<usize>> {
    line.match_indices("%softmetal.").find_map(|(at, _)| {
        let mut depth = 0;
        for (i, b) in line.bytes().enumerate().take(at).collect::<Vec<_>>().into_iter().rev() {
            match b {
                b')' | b']' | b'}' | b'>' => depth += 1,
                b'(' if depth == 0 => return expression_at(line, i),
                b'[' | b'{' | b'<' if depth == 0 => return None,
                b'(' | b'[' | b'{' | b'<' => depth -= 1,
                _ => {}
            }
        }
        None
    })
}

/// The constant expression whose bracket opens at `open`; `None` for the bracket of a call.
fn expression_at(line: &str, open: usize) -> Option<std::ops::Range<usize>> {
    let before = line[..open].strip_suffix(' ')?;
    let mut start = before.len();
    for word in before.rsplit(' ') {
        start = start.saturating_sub(word.len());
        match word {
            "inbounds" | "nuw" | "nusw" | "nsw" => start -= 1,
            "getelementptr" | "bitcast" | "ptrtoint" | "inttoptr" | "add" | "sub" | "xor" | "trunc" => {
                return Some(start..closing(line, open)?);
            }
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_expressions_become_instructions() {
        let mut g =
            GroupVariables::find("@\"a b\" = internal addrspace(3) global [4 x float] undef, align 4\n");
        let mut hoisted = String::new();
        let mut line = "  %3 = load float, ptr getelementptr inbounds ([4 x float], ptr bitcast (ptr @\"a b\" to ptr), i64 0, i64 1), align 4".to_string();
        assert!(g.replace(&mut line, &mut hoisted));
        let lines: Vec<&str> = hoisted.lines().collect();
        assert_eq!(lines[0], "  %softmetal.hoisted.0 = bitcast ptr %softmetal.group.0 to ptr");
        assert!(
            lines[1].ends_with("getelementptr inbounds [4 x float], ptr %softmetal.hoisted.0, i64 0, i64 1")
        );
        assert!(
            line.starts_with("  %3 = load float, ptr %softmetal.hoisted.") && line.ends_with(", align 4")
        );
        let mut call = "  call void @f(ptr @\"a b\")".to_string();
        g.replace(&mut call, &mut hoisted);
        assert_eq!(call, "  call void @f(ptr %softmetal.group.0)");
        assert!(g.storage().contains("{ [0 x <4 x i32>], [4 x float] }"));
    }
}
