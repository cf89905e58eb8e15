//! The layout of an argument buffer: what the members of a struct are, and where they lie.

use super::items::{Item, ItemKind};
use super::lexer::Lexed;
use super::params::{Param, integer, parse_params};
use super::unit::{Entry, Unit};

/// A member of an argument buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its `[[id(n)]]`, or the next free number.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Whether it is the address of a buffer.
    pub pointer: bool,
    /// Bytes from the start.
    pub offset: usize,
    /// Bytes of one element.
    pub size: usize,
    /// Elements; 1 where it is no array.
    pub count: usize,
}

/// The layout of an argument buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// What it holds, in order.
    pub members: Vec<Member>,
    /// Bytes.
    pub length: usize,
    /// Its alignment.
    pub alignment: usize,
}

/// The members of the struct that a kernel's buffer parameter points to, with the bytes and the alignment of the struct; `None` where
/// it is no struct of the unit, or has members whose size only a compiler knows.
pub fn members(unit: &Unit, entry: &Entry, parameter: usize) -> Option<Layout> {
    let lx = &unit.lx;
    let params = unit.items[entry.item].parameters(lx);
    let name = params
        .get(parameter)?
        .type_text
        .split(' ')
        .rfind(|w| !matches!(*w, "const" | "volatile" | "*" | "&"))?
        .to_string();
    let item = unit.items.iter().find(|it| it.kind == ItemKind::Type && it.name == name && it.has_body())?;
    let (mut out, mut end, mut most) = (Vec::new(), 0usize, 1usize);
    for p in declarations(lx, item) {
        let at = (p.range.0..p.range.1).find(|&k| lx.is(k, &p.name))?;
        // An array among parameters is a pointer, and none among members.
        let pointer = (p.range.0..at).any(|k| matches!(lx.str(k), "*" | "&"));
        let (size, align) = if pointer { (8, 8) } else { size(&p)? };
        let count = extent(lx, at)?;
        let offset = end.next_multiple_of(align);
        end = offset + size * count;
        most = most.max(align);
        let next = out.last().map_or(0, |m: &Member| m.id + m.count as u32);
        let id = match p.attribute("id") {
            Some(a) => integer(&a.argument)?,
            None => next,
        };
        out.push(Member { id, name: p.name.clone(), pointer, offset, size, count });
    }
    Some(Layout { members: out, length: end.next_multiple_of(most), alignment: most })
}

/// What is declared between the brackets of a struct; methods are left out.
fn declarations(lx: &Lexed, item: &Item) -> Vec<Param> {
    let (mut out, mut start, mut k) = (Vec::new(), item.body.0 + 1, item.body.0 + 1);
    while k < item.body.1 {
        match lx.str(k) {
            "{" => {
                k = lx.matching(k);
                start = k + 1;
            }
            "[[" | "[" => k = lx.matching(k),
            ";" => {
                if k > start && !(start..k).any(|i| lx.is(i, "(") && !in_attribute(lx, start, i)) {
                    out.extend(parse_params(lx, start, k));
                }
                start = k + 1;
            }
            _ => {}
        }
        k += 1;
    }
    out
}

fn in_attribute(lx: &Lexed, from: usize, at: usize) -> bool {
    (from..at).any(|i| lx.is(i, "[[") && lx.matching(i) > at)
}

/// Elements of `name[n]`, where the name is a token.
fn extent(lx: &Lexed, name: usize) -> Option<usize> {
    if !lx.is(name + 1, "[") {
        return Some(1);
    }
    integer(lx.str(name + 2)).map(|n| n as usize).filter(|_| lx.is(name + 3, "]"))
}

/// Bytes and alignment of a member's element.
fn size(p: &Param) -> Option<(usize, usize)> {
    let name = p.type_text.split(' ').rfind(|w| !matches!(*w, "const" | "volatile" | "*"))?;
    if p.type_text.starts_with("texture") || p.type_text.starts_with("depth") || name == "sampler" {
        return Some((8, 8));
    }
    let (packed, name) = name.strip_prefix("packed_").map_or((false, name), |rest| (true, rest));
    let digits = name.trim_end_matches(['2', '3', '4']);
    let (base, lanes) = match name.len() - digits.len() {
        1 if !name.ends_with("_t") => (digits, name[digits.len()..].parse().ok()?),
        _ => (name, 1),
    };
    let one = match base {
        "bool" | "char" | "uchar" | "int8_t" | "uint8_t" => 1,
        "short" | "ushort" | "half" | "bfloat" | "int16_t" | "uint16_t" => 2,
        "int" | "uint" | "float" | "int32_t" | "uint32_t" => 4,
        "long" | "ulong" | "int64_t" | "uint64_t" | "size_t" => 8,
        _ => return None,
    };
    if packed {
        return Some((one * lanes, one));
    }
    let padded = if lanes == 3 { 4 } else { lanes };
    Some((one * padded, one * padded))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_lie_where_the_compiler_puts_them() {
        let source = "struct A { device float *a [[id(0)]]; int n [[id(1)]]; half4 h; packed_float3 p; constant uint *list[3] [[id(7)]]; float3 v; int get() const { return n; } char c; };
            kernel void k(device int *o [[buffer(0)]], constant A &a [[buffer(1)]]) { }";
        let unit = Unit::new(source).expect("a unit");
        let layout = members(&unit, &unit.entries[0], 1).expect("a layout");
        let got: Vec<_> = layout
            .members
            .iter()
            .map(|m| (m.name.as_str(), m.id, m.offset, m.size, m.count, m.pointer))
            .collect();
        let want = [
            ("a", 0, 0, 8, 1, true),
            ("n", 1, 8, 4, 1, false),
            ("h", 2, 16, 8, 1, false),
            ("p", 3, 24, 12, 1, false),
            ("list", 7, 40, 8, 3, true),
            ("v", 10, 64, 16, 1, false),
            ("c", 11, 80, 1, 1, false),
        ];
        assert_eq!(got, want);
        assert_eq!((layout.length, layout.alignment), (96, 16));
        assert!(members(&unit, &unit.entries[0], 0).is_none());
    }
}
