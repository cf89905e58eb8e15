//! Apple's intrinsics: each `air.*` function that a kernel declares gets a definition in LLVM text.
//!
//! Arithmetic becomes instructions or LLVM's own intrinsics; operations that involve other threads or the device call
//! the C functions of `shim/air.cpp`. A name that is in no table is an error that names it: nothing is guessed.

mod arithmetic;
mod body;
mod convert;
mod matrix;
mod memory;
mod simd;

use super::text::{first_type, list, unquoted};
pub use body::{Body, mangled};

/// An `air.*` function as a module declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    /// The name behind `air.`.
    pub name: String,
    /// Return type.
    pub result: String,
    /// Parameter types.
    pub parameters: Vec<String>,
}

impl Declared {
    /// Reads a line such as `declare float @air.fma.f32(float, float, float) #1`, with address spaces removed already.
    pub fn parse(line: &str) -> Option<Declared> {
        let rest = line.strip_prefix("declare ")?;
        let at = rest.find('@')?;
        let open = at + rest[at..].find('(')?;
        let close = super::text::closing(rest, open)?;
        let name = unquoted(&rest[at..open]).strip_prefix("air.")?;
        Some(Declared {
            name: name.to_string(),
            // Attributes such as `noundef` stand before the type.
            result: result_type(&rest[..at]).to_string(),
            parameters: list(&rest[open + 1..close - 1]).iter().map(|p| first_type(p).to_string()).collect(),
        })
    }

    /// The family, and what stands behind its dot: `min` and `s.i32`.
    fn family(&self) -> (&str, &str) {
        self.name.split_once('.').unwrap_or((&self.name, ""))
    }

    /// Whether its calls are told where they stand: lanes meet there.
    pub fn meets(&self) -> bool {
        let family = self.family().0;
        ["simd_", "quad_", "simdgroup_matrix_8x8_"].iter().any(|p| family.starts_with(p))
            || matches!(self.name.as_str(), "wg.barrier" | "simdgroup.barrier" | "threadgroup.barrier")
    }
}

/// The type at the end of what stands before a function's name.
fn result_type(head: &str) -> &str {
    let head = head.trim_end();
    if head.ends_with('>') || head.ends_with('}') || head.ends_with(']') {
        let open = head.rfind(['<', '{', '[']).unwrap_or(0);
        return &head[open..];
    }
    head.rsplit(' ').next().unwrap_or(head)
}

/// The definition of a declared function; `None` for a name that is not known. `checked` code reports its atomic accesses.
pub fn define(declared: &Declared, checked: bool) -> Option<String> {
    let mut body = Body::new(declared);
    let value = arithmetic::define(declared, &mut body)
        .or_else(|| convert::define(declared, &mut body))
        .or_else(|| simd::define(declared, &mut body))
        .or_else(|| matrix::define(declared, &mut body))
        .or_else(|| memory::define(declared, &mut body, checked))?;
    Some(body.finish(declared, &value, checked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_read() {
        let d = Declared::parse("declare noundef <64 x float> @air.simdgroup_matrix_8x8_load.v64f32.p1f32(ptr nocapture readonly, i64, <2 x i64>, i1) #5").unwrap();
        assert_eq!(
            (d.name.as_str(), d.result.as_str()),
            ("simdgroup_matrix_8x8_load.v64f32.p1f32", "<64 x float>")
        );
        assert_eq!(d.parameters, ["ptr", "i64", "<2 x i64>", "i1"]);
        assert!(d.meets());
        assert_eq!(Declared::parse("declare void @llvm.assume(i1 noundef)"), None);
    }

    #[test]
    fn unknown_names_have_no_definition() {
        let d = Declared {
            name: "frobnicate.f32".into(),
            result: "float".into(),
            parameters: vec!["float".into()],
        };
        assert_eq!(define(&d, false), None);
        let known = Declared { name: "fast_exp.f32".into(), ..d };
        assert!(define(&known, false).unwrap().contains("@expf(float"));
    }
}
