//! The syntax that differs between shading languages, and scalar programs in any of them.

use std::fmt::Write;
use wootz_ir::scalar::{BinaryFn, Instr, Program, UnaryFn};
use wootz_ir::{DType, Number, ScalarType};

/// A function to generate.
pub struct Function<'f> {
    /// Its name.
    pub name: &'f str,
    /// Names and types of its parameters.
    pub parameters: &'f [(&'f str, &'f str)],
    /// Its return type, if any.
    pub result: Option<&'f str>,
}

/// Values to store contiguously.
pub enum QuadValues {
    /// One expression for each.
    Each([String; 4]),
    /// One expression in `k`, which takes all four values.
    Loop(String),
}

/// A shading language, and the run-time arguments of code in it.
///
/// Expressions are text. Buffers are identified by the order in which they were opened; positions in them count
/// elements.
pub trait Language {
    /// The type of positions.
    const INDEX: &'static str;

    /// The compute type.
    fn name(t: ScalarType) -> &'static str;
    /// The vector of four.
    fn four(t: ScalarType) -> String;
    /// A literal.
    fn literal(value: Number, t: ScalarType) -> String;
    /// `f(a)`.
    fn unary(f: UnaryFn, t: ScalarType, a: &str) -> String;
    /// `f(a, b)`.
    fn binary(f: BinaryFn, t: ScalarType, a: &str, b: &str) -> String;
    /// `a·b + c` of floats.
    fn multiply_add(a: &str, b: &str, c: &str) -> String;
    /// One of two values.
    fn select(t: ScalarType, condition: &str, yes: &str, no: &str) -> String;
    /// A conversion between compute types.
    fn convert(from: ScalarType, to: ScalarType, a: &str) -> String;
    /// A value as it reads back after being stored in a narrower dtype.
    fn round_trip(dtype: DType, a: &str) -> String;

    /// A statement that names a value.
    fn value(name: &str, t: ScalarType, value: &str) -> String;
    /// A statement that names a position.
    fn position(name: &str, value: &str) -> String;
    /// A function definition.
    fn function(function: &Function<'_>, body: &str) -> String;
    /// A call of a function defined with [`Language::function`].
    fn call(name: &str, arguments: &[&str]) -> String;

    /// A position as an element of an iota.
    fn iota(position: &str) -> String;
    /// An element of a buffer, widened.
    fn element(buffer: usize, dtype: DType, position: &str) -> String;
    /// The statement that stores a value.
    fn store(buffer: usize, dtype: DType, position: &str, value: &str) -> String;
    /// Whether four contiguous elements of a dtype can be read and written in one access.
    fn has_quads(dtype: DType) -> bool;
    /// The statement that reads four contiguous elements from a position on, under a name.
    fn load_quad(name: &str, buffer: usize, dtype: DType, position: &str) -> String;
    /// One of them, widened: `index` is a number, or a variable where the language [loops](Language::LOOPS).
    fn of_quad(name: &str, dtype: DType, index: &str) -> String;
    /// Whether the values of a quad are best written as a loop over `k`.
    const LOOPS: bool;
    /// The statement that stores four contiguous elements from a position on.
    fn store_quad(buffer: usize, dtype: DType, position: &str, values: &QuadValues) -> String;

    /// Scalar parameter `slot` of the launch.
    fn param(slot: usize, t: ScalarType) -> String;
    /// The run-time arguments of the code, as expressions.
    fn numbers(&mut self, name: &str, values: &[u64]) -> Vec<String>;
}

/// The statements of a program: instruction `i` defines `r{i}`.
pub(crate) fn statements<L: Language>(
    program: &Program,
    load: impl Fn(u16) -> String,
    mut param: impl FnMut(u32) -> usize,
) -> String {
    let r = |reg: u16| format!("r{reg}");
    let mut text = String::new();
    for (i, instr) in program.instrs.iter().enumerate() {
        let value = match *instr {
            Instr::Load(index, _) => load(index),
            Instr::Param(index, t) => L::param(param(index), t),
            Instr::Literal(value, t) => L::literal(value, t),
            Instr::Unary(f, t, a) => L::unary(f, t, &r(a)),
            Instr::Binary(f, t, a, b) => L::binary(f, t, &r(a), &r(b)),
            Instr::Fma(t, a, b, c) if t.is_float() => L::multiply_add(&r(a), &r(b), &r(c)),
            Instr::Fma(t, a, b, c) => {
                L::binary(BinaryFn::Add, t, &L::binary(BinaryFn::Mul, t, &r(a), &r(b)), &r(c))
            }
            Instr::Select(t, c, a, b) => L::select(t, &r(c), &r(a), &r(b)),
            Instr::Convert(from, to, a) => L::convert(from, to, &r(a)),
            Instr::Narrow(dtype, a) => L::round_trip(dtype, &r(a)),
        };
        let _ = writeln!(text, "    {}", L::value(&r(i as u16), instr.result(), &value));
    }
    text
}
