//! A builder for the text of a definition.

use super::Declared;
use crate::air::text::vector;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Instructions, and the functions that they call.
#[derive(Debug, Default)]
pub struct Body {
    lines: String,
    next: usize,
    called: BTreeSet<String>,
}

impl Body {
    /// An empty body.
    pub fn new(declared: &Declared) -> Body {
        Body { next: declared.parameters.len(), ..Body::default() }
    }

    /// Adds an instruction with a result; gives the result's name.
    pub fn op(&mut self, instruction: impl std::fmt::Display) -> String {
        let name = format!("%v{}", self.next);
        self.next += 1;
        let _ = writeln!(self.lines, "  {name} = {instruction}");
        name
    }

    /// Adds an instruction without a result.
    pub fn act(&mut self, instruction: impl std::fmt::Display) {
        let _ = writeln!(self.lines, "  {instruction}");
    }

    /// Calls a function of LLVM or of the runtime library; arguments are pairs of type and value.
    pub fn call(&mut self, result: &str, name: &str, arguments: &[(&str, &str)]) -> String {
        let types: Vec<&str> = arguments.iter().map(|a| a.0).collect();
        self.called.insert(format!("declare {result} @{name}({})", types.join(", ")));
        let values: Vec<String> = arguments.iter().map(|(t, v)| format!("{t} {v}")).collect();
        let call = format!("call {result} @{name}({})", values.join(", "));
        if result == "void" {
            self.act(call);
            return String::new();
        }
        self.op(call)
    }

    /// An LLVM intrinsic on operands of one type.
    pub fn llvm(&mut self, name: &str, ty: &str, values: &[&str]) -> String {
        let arguments: Vec<(&str, &str)> = values.iter().map(|v| (ty, *v)).collect();
        self.call(ty, &format!("llvm.{name}.{}", mangled(ty)), &arguments)
    }

    /// Applies `one` to each element of the operands, which have vector type `ty` or are scalars of it.
    pub fn each(
        &mut self,
        ty: &str,
        result: &str,
        values: &[String],
        mut one: impl FnMut(&mut Body, &[String]) -> String,
    ) -> String {
        let (lanes, _) = vector(ty);
        if lanes == 1 {
            return one(self, values);
        }
        let element = vector(result).1.to_string();
        let mut sum = "poison".to_string();
        for i in 0..lanes {
            let parts: Vec<String> =
                values.iter().map(|v| self.op(format!("extractelement {ty} {v}, i32 {i}"))).collect();
            let part = one(self, &parts);
            sum = self.op(format!("insertelement {result} {sum}, {element} {part}, i32 {i}"));
        }
        sum
    }

    /// A float of any width as `float`.
    pub fn widened(&mut self, ty: &str, value: &str) -> String {
        if ty == "float" { value.to_string() } else { self.op(format!("fpext {ty} {value} to float")) }
    }

    /// A `float` as a float of any width.
    pub fn narrowed(&mut self, ty: &str, value: &str) -> String {
        if ty == "float" { value.to_string() } else { self.op(format!("fptrunc float {value} to {ty}")) }
    }

    /// The whole definition, behind declarations of what it calls.
    pub fn finish(self, declared: &Declared, value: &str, checked: bool) -> String {
        let mut parameters: Vec<String> =
            declared.parameters.iter().enumerate().map(|(i, p)| format!("{p} %p{i}")).collect();
        if declared.meets() {
            parameters.extend(["ptr %file".into(), "i32 %site".into()]);
        }
        let mut text: String = self.called.iter().map(|c| format!("{c}\n")).collect();
        let checks = if checked { " sanitize_thread" } else { "" };
        let _ = writeln!(
            text,
            "define internal {} @air.{}({}) nounwind{checks} {{\n{}  ret {}\n}}",
            declared.result,
            declared.name,
            parameters.join(", "),
            self.lines,
            if declared.result == "void" { "void".into() } else { format!("{} {value}", declared.result) }
        );
        text
    }
}

/// A type as LLVM's intrinsics name it: `v4f32` for `<4 x float>`.
pub fn mangled(ty: &str) -> String {
    let (lanes, element) = vector(ty);
    let element = match element {
        "float" => "f32",
        "half" => "f16",
        "bfloat" => "bf16",
        "ptr" => "p0",
        other => other,
    };
    if lanes == 1 { element.to_string() } else { format!("v{lanes}{element}") }
}
