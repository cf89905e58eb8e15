//! Vectorised access: `inN_4(i)` and `finish_4(i, v)` for the four points from `i` on, `i` a multiple of four.
//!
//! Contiguous elements are accessed together, which costs a memory system, and even more so a software adapter, about
//! as much as a single access. Other elements are read one by one; the values are the same either way.

use crate::bindings::Access;
use crate::code::Code;
use crate::language::{Function, Language, QuadValues};
use std::fmt::Write;
use wootz_ir::{Layout, ScalarType, Shape};
use wootz_plan::{Fused, Load, Source, Step, Store};

const PARTS: [&str; 4] = ["x", "y", "z", "w"];

/// The points of a quad, and the variable that runs over them.
const POINTS: [&str; 5] = ["0", "1", "2", "3", "k"];

/// How four consecutive points find their elements of a load.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Contiguous.
    Quad,
    /// All at the same position.
    Same,
    /// Each at its own position.
    Each,
}

/// Whether four points from a multiple of four on never cross a row of the iteration space.
fn in_rows(shape: &Shape) -> bool {
    shape.rank() == 1 || shape.last().is_some_and(|&extent| extent % 4 == 0)
}

/// Whether the positions of a quad of points are contiguous.
pub fn quads_of_layout(layout: &Layout) -> bool {
    let Some((last, outer)) = layout.strides.split_last() else { return false };
    *last == 1 && layout.offset.is_multiple_of(4) && outer.iter().all(|s| s % 4 == 0)
}

fn reach<L: Language>(load: &Load) -> Reach {
    match load.source {
        Source::Kernel => Reach::Quad,
        Source::Buffer(_) if L::has_quads(load.dtype) && quads_of_layout(&load.layout) => Reach::Quad,
        Source::Buffer(_) if load.layout.strides.last() == Some(&0) => Reach::Same,
        Source::Buffer(_) | Source::Iota => Reach::Each,
    }
}

/// Whether a step's epilogue can store quads.
pub fn in_quads<L: Language>(step: &Step) -> bool {
    in_rows(&step.epilogue.shape)
        && step.stores.iter().all(|s| L::has_quads(s.dtype) && quads_of_layout(&s.layout))
}

impl<L: Language> Code<'_, L> {
    /// `NAME_4(i)` beside `NAME(i)`, which must exist where quads of points may cross rows.
    pub fn function_4(&mut self, name: &str, fused: &Fused) {
        let t = fused.program.result_type(0);
        let four = L::four(t);
        let (lines, values) = if in_rows(&fused.shape) {
            let (lines, mut values) = self.four_points(name, fused, &[]);
            let [each @ .., _] = values.remove(0);
            (lines, each)
        } else {
            (String::new(), [0, 1, 2, 3].map(|j| L::call(name, &[&format!("i + {j}u")])))
        };
        let body = format!("{lines}    return {four}({});\n", values.join(", "));
        let name = &format!("{name}_4");
        let function = Function { name, parameters: &[("i", L::INDEX)], result: Some(&four) };
        self.push(&L::function(&function, &body));
    }

    /// `finish_4(i, v)`, with `finish` where the stores are not quads.
    pub fn finish_4(&mut self, value: Option<ScalarType>) {
        let step = self.step;
        let body = if in_quads::<L>(step) {
            self.finish_quads()
        } else {
            self.finish(value);
            let call = |j: usize| {
                let (at, part) = (format!("i + {j}u"), format!("v.{}", PARTS[j]));
                let arguments = if value.is_some() { vec![&*at, &part] } else { vec![&*at] };
                format!("    {};\n", L::call("finish", &arguments))
            };
            (0..4).map(call).collect()
        };
        let four = value.map(L::four).unwrap_or_default();
        let parameters = [("i", L::INDEX), ("v", &*four)];
        let parameters = &parameters[..1 + usize::from(value.is_some())];
        self.push(&L::function(&Function { name: "finish_4", parameters, result: None }, &body));
    }

    fn finish_quads(&mut self) -> String {
        let step = self.step;
        let (mut lines, values) = self.four_points("out", &step.epilogue, &step.stores);
        let loops = L::LOOPS && step.epilogue.loads.iter().all(|load| reach::<L>(load) != Reach::Each);
        for ((n, store), [each @ .., of_k]) in step.stores.iter().enumerate().zip(values) {
            let buffer = self.open_buffer(store.buffer, Access::Write);
            self.as_quads(buffer);
            let at = format!("p{}", step.epilogue.loads.len() + n);
            let values = if loops { QuadValues::Loop(of_k) } else { QuadValues::Each(each) };
            let _ = writeln!(lines, "    {}", L::store_quad(buffer, store.dtype, &at, &values));
        }
        lines
    }

    /// A function of the program alone for each result; the statements that name the positions of loads and stores and read four
    /// points' loads; and a call for each result and point, the last for point `k`.
    fn four_points(&mut self, name: &str, fused: &Fused, stores: &[Store]) -> (String, Vec<[String; 5]>) {
        let space = self.space_of(name, fused, stores);
        let mut lines = space.coordinates;
        for (n, position) in space.positions.iter().enumerate() {
            if fused.loads.get(n).is_none_or(|load| load.source != Source::Kernel) {
                let _ = writeln!(lines, "    {}", L::position(&format!("p{n}"), position));
            }
        }
        let mut elements: Vec<[String; 5]> = Vec::with_capacity(fused.loads.len());
        let mut parameters = Vec::with_capacity(fused.loads.len());
        for (n, load) in fused.loads.iter().enumerate() {
            parameters.push((format!("l{n}"), L::name(load.dtype.compute())));
            elements.push(self.four_elements((n, load), &space.steps[n], &mut lines));
        }
        let program = self.program(&fused.program, |load| format!("l{load}"));
        let parameters: Vec<(&str, &str)> = parameters.iter().map(|(name, t)| (&**name, *t)).collect();
        let calls = (0..fused.program.results.len()).map(|result| {
            let name = if result == 0 { format!("{name}_of") } else { format!("{name}_of{result}") };
            let t = L::name(fused.program.result_type(result));
            let body = format!("{program}    return r{};\n", fused.program.results[result]);
            let function = Function { name: &name, parameters: &parameters, result: Some(t) };
            self.text.push_str(&L::function(&function, &body));
            [0, 1, 2, 3, 4].map(|j| {
                let arguments: Vec<&str> = elements.iter().map(|four| four[j].as_str()).collect();
                L::call(&name, &arguments)
            })
        });
        let calls = calls.collect();
        (lines, calls)
    }

    /// Load `n` at each of four points, and at point `k` where they are read together, as expressions over what is added to
    /// `lines`.
    fn four_elements(&mut self, (n, load): (usize, &Load), step: &str, lines: &mut String) -> [String; 5] {
        match (reach::<L>(load), load.source) {
            (_, Source::Kernel) => POINTS.map(|k| format!("v[{k}]")),
            (Reach::Quad, Source::Buffer(id)) => {
                let buffer = self.open_buffer(id, Access::Read);
                self.as_quads(buffer);
                let name = format!("w{n}");
                let _ = writeln!(lines, "    {}", L::load_quad(&name, buffer, load.dtype, &format!("p{n}")));
                POINTS.map(|k| L::of_quad(&name, load.dtype, k))
            }
            (Reach::Same, _) => {
                let value = self.element(load, &format!("p{n}"));
                let _ = writeln!(lines, "    {}", L::value(&format!("w{n}"), load.dtype.compute(), &value));
                POINTS.map(|_| format!("w{n}"))
            }
            (Reach::Quad | Reach::Each, _) => [0, 1, 2, 3, 4].map(|j| {
                if j == 4 {
                    return String::new();
                }
                let position = L::position(&format!("p{n}_{j}"), &format!("p{n} + {j}u * {step}"));
                let value = self.element(load, &format!("p{n}_{j}"));
                let value = L::value(&format!("w{n}_{j}"), load.dtype.compute(), &value);
                let _ = writeln!(lines, "    {position}\n    {value}");
                format!("w{n}_{j}")
            }),
        }
    }
}
