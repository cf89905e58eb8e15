//! Four neighbouring points at once: `inN_4(i)` and `finish_4(i, v)` for the points from `i` on, `i` a multiple of four.
//!
//! Words that lie side by side are read and written as one quad, which costs a memory system, and a software adapter still
//! more, about as much as a word does. What lies otherwise is read word by word; values are the same either way.

use super::{Code, coordinate_list, element, program, types};
use std::fmt::Write;
use wootz_ir::{DType, Layout, ScalarType, Shape};
use wootz_plan::{Fused, Load, Source};

/// How four neighbouring points find their elements of a load.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// In one quad of words.
    Quad,
    /// All in the same place.
    Same,
    /// Each in a place of its own.
    Each,
}

/// Whether quads of points never cross a row of the iteration space.
fn in_rows(shape: &Shape) -> bool {
    shape.last().is_some_and(|&extent| extent % 4 == 0)
}

/// Whether the positions of a quad of points are a quad of positions.
fn aligned(layout: &Layout) -> bool {
    let Some((last, outer)) = layout.strides.split_last() else { return false };
    *last == 1 && layout.offset.is_multiple_of(4) && outer.iter().all(|s| s % 4 == 0)
}

fn reach(load: &Load) -> Reach {
    let words = types::per_word(load.dtype) == 1 && is_word(load.dtype.compute());
    match load.source {
        Source::Buffer(_) if words && aligned(&load.layout) => Reach::Quad,
        Source::Buffer(_) if load.layout.strides.last() == Some(&0) => Reach::Same,
        Source::Buffer(_) | Source::Iota | Source::Kernel => Reach::Each,
    }
}

fn is_word(t: ScalarType) -> bool {
    matches!(t, ScalarType::F32 | ScalarType::I32 | ScalarType::U32)
}

impl Code<'_> {
    /// `fn inN_4(i: u32) -> vec4<T>` besides `inN`.
    pub fn input_4(&mut self, slot: usize) {
        let fused = self.step.inputs[slot].clone();
        self.fused_4(&format!("in{slot}"), &fused);
    }

    /// As [`Code::input_4`], for fused code under a name of its own: without its quad of points, `NAME` must exist.
    pub fn fused_4(&mut self, name: &str, fused: &Fused) {
        let t = types::name(fused.program.result_type(0));
        let signature = format!("fn {name}_4(i: u32) -> vec4<{t}>");
        if !in_rows(&fused.shape) {
            let each = (0..4).map(|j| format!("{name}(i + {j}u)")).collect::<Vec<_>>().join(", ");
            let _ = writeln!(self.text, "{signature} {{\n    return vec4<{t}>({each});\n}}");
            return;
        }
        let (lines, calls) = self.four_calls(&format!("{name}_body"), fused, t);
        let calls = calls.join(", ");
        let _ = writeln!(self.text, "{signature} {{\n{lines}    return vec4<{t}>({calls});\n}}");
    }

    /// `fn atN_4(c0: u32, …) -> vec4<f32>`: four neighbours of a plain input from coordinates on whose last is a multiple
    /// of four. False, and no function, where they are no quad or no f32.
    pub fn plain_quads(&mut self, slot: usize) -> bool {
        let Some(load) = self.step.inputs[slot].plain().cloned() else { return false };
        let Source::Buffer(id) = load.source else { return false };
        if load.dtype != DType::F32 || reach(&load) != Reach::Quad {
            return false;
        }
        let position = self.strided_position(&load.layout);
        let k = self.open_load(id);
        self.as_quads(k);
        let _ = writeln!(
            self.text,
            "fn at{slot}_4({}) -> vec4<f32> {{\n    return bitcast<vec4<f32>>(q{k}(({position}) >> 2u));\n}}",
            coordinate_list(load.layout.shape.rank())
        );
        true
    }

    /// Whether the epilogue can store quads.
    pub fn finishes_in_quads(&self) -> bool {
        let [store] = self.step.stores.as_slice() else { return false };
        let word = types::per_word(store.dtype) == 1 && is_word(store.dtype.compute());
        word && in_rows(&self.step.epilogue.shape) && aligned(&store.layout)
    }

    fn finish_each(&mut self, t: ScalarType) {
        self.finish(t);
        let _ = writeln!(
            self.text,
            "fn finish_4(i: u32, v: vec4<{}>) {{\n    finish(i, v.x);\n    finish(i + 1u, v.y);\n    \
             finish(i + 2u, v.z);\n    finish(i + 3u, v.w);\n}}",
            types::name(t)
        );
    }

    /// `fn finish_4(i: u32, v: vec4<T>)`, in place of `finish`.
    pub fn finish_4(&mut self, t: ScalarType) {
        let step = self.step;
        let [store] = step.stores.as_slice() else { return self.finish_each(t) };
        if !self.finishes_in_quads() {
            return self.finish_each(t);
        }
        let result = step.epilogue.program.result_type(0);
        let (mut lines, calls) = self.four_calls("finish_body", &step.epilogue, types::name(result));
        let k = self.open_store(store, super::Access::Write);
        self.as_quads(k);
        let position = self.position(&store.layout);
        let words = calls.iter().map(|call| format!("bitcast<u32>({call})")).collect::<Vec<_>>().join(", ");
        let _ = writeln!(lines, "    let o0 = {position};");
        let signature = format!("fn finish_4(i: u32, v: vec4<{}>)", types::name(t));
        let _ = writeln!(self.text, "{signature} {{\n{lines}    t{k}(o0 >> 2u, vec4<u32>({words}));\n}}");
    }

    /// A function of the program alone, the lines that read four points' loads, and a call for each point.
    fn four_calls(&mut self, body: &str, fused: &Fused, t: &str) -> (String, [String; 4]) {
        let mut lines = self.coordinates(&fused.shape);
        let mut names: Vec<[String; 4]> = Vec::with_capacity(fused.loads.len());
        let mut parameters = Vec::with_capacity(fused.loads.len());
        for (n, load) in fused.loads.iter().enumerate() {
            let of = match load.source {
                Source::Kernel => self.kernel_type(),
                Source::Buffer(_) | Source::Iota => load.dtype.compute(),
            };
            parameters.push(format!("l{n}: {}", types::name(of)));
            names.push(self.four_elements(n, load, &mut lines));
        }
        let params = &mut self.params;
        let program = program::print(
            &fused.program,
            |load| format!("l{load}"),
            |index, t| Self::param(params, index, t),
        );
        let result = fused.program.results[0];
        let parameters = parameters.join(", ");
        let _ = writeln!(self.text, "fn {body}({parameters}) -> {t} {{\n{program}    return r{result};\n}}");
        let call = |j: usize| {
            let arguments = names.iter().map(|four| four[j].as_str()).collect::<Vec<_>>().join(", ");
            format!("{body}({arguments})")
        };
        (lines, [call(0), call(1), call(2), call(3)])
    }

    /// The compute type of the value that the kernel hands to its epilogue.
    fn kernel_type(&self) -> ScalarType {
        let of = |instr: &wootz_ir::scalar::Instr| match *instr {
            wootz_ir::scalar::Instr::Load(index, t)
                if self.step.epilogue.loads[index as usize].source == Source::Kernel =>
            {
                Some(t)
            }
            _ => None,
        };
        self.step.epilogue.program.instrs.iter().find_map(of).unwrap_or(ScalarType::U32)
    }

    /// Load `n` at each of four points, as expressions over what is added to `lines`.
    fn four_elements(&mut self, n: usize, load: &Load, lines: &mut String) -> [String; 4] {
        if load.source == Source::Kernel {
            return ["v.x", "v.y", "v.z", "v.w"].map(String::from);
        }
        let position = self.position(&load.layout);
        let _ = writeln!(lines, "    let p{n} = {position};");
        match (reach(load), load.source) {
            (Reach::Quad, Source::Buffer(id)) => {
                let k = self.open_load(id);
                self.as_quads(k);
                let cast = types::name(load.dtype.compute());
                let _ = writeln!(lines, "    let w{n} = bitcast<vec4<{cast}>>(q{k}(p{n} >> 2u));");
                ["x", "y", "z", "w"].map(|c| format!("w{n}.{c}"))
            }
            (Reach::Same, Source::Buffer(id)) => {
                let k = self.open_load(id);
                let _ = writeln!(lines, "    let w{n} = {};", element(k, load.dtype, &format!("p{n}")));
                [(); 4].map(|()| format!("w{n}"))
            }
            _ => {
                let stride = load.layout.strides.last().copied().unwrap_or(0);
                let stride = self.word(stride as i32 as u32);
                [0, 1, 2, 3].map(|j| {
                    let _ = writeln!(lines, "    let p{n}_{j} = p{n} + {j}u * {stride};");
                    let value = self.element(load, &format!("p{n}_{j}"));
                    let _ = writeln!(lines, "    let w{n}_{j} = {value};");
                    format!("w{n}_{j}")
                })
            }
        }
    }
}
