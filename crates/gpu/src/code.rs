//! The fused code of a step, as functions that its kernel calls.
//!
//! `inN(i)` is input `N` at point `i` of its iteration space, and `finish(i, v)` passes the kernel's value through
//! the epilogue to the stores. Extents, strides and offsets are passed at run time: the text depends only on ranks,
//! dtypes and code, so one pipeline serves every shape.

use crate::bindings::{Access, Bound, Opened};
use crate::language::{Function, Language, statements};
use std::fmt::Write;
use wootz_ir::scalar::Program;
use wootz_ir::{Layout, ScalarType};
use wootz_plan::{BufferId, Fused, Load, Plan, Source, Step, Store};

/// A builder of the code around a kernel.
pub struct Code<'a, L> {
    /// The plan.
    pub plan: &'a Plan,
    /// The step.
    pub step: &'a Step,
    /// The language, with the run-time arguments of the code.
    pub language: L,
    /// The generated text.
    pub text: String,
    /// The memory that it accesses.
    pub opened: Vec<Opened>,
    /// The plan's scalar parameters that it uses.
    pub params: Vec<u32>,
}

/// An iteration space, and the positions of layouts over it at point `i`.
pub struct Space {
    /// Statements that define the coordinates `c0 …`.
    pub coordinates: String,
    /// The position of each layout.
    pub positions: Vec<String>,
    /// Each layout's stride to the next point of a row.
    pub steps: Vec<String>,
}

impl<'a, L: Language> Code<'a, L> {
    /// A builder without code.
    pub fn new(plan: &'a Plan, step: &'a Step, language: L) -> Code<'a, L> {
        Code { plan, step, language, text: String::new(), opened: vec![], params: vec![] }
    }

    /// Appends text.
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Opens memory; the same memory is opened only once.
    pub fn open(&mut self, bound: Bound, bytes: usize, access: Access) -> usize {
        if let Some(known) = self.opened.iter().position(|o| o.bound == bound) {
            let before = &mut self.opened[known].access;
            assert!(
                *before == access || access == Access::Read || *before == Access::Read,
                "one way of writing"
            );
            if access != Access::Read {
                *before = access;
            }
            return known;
        }
        self.opened.push(Opened { bound, bytes, access, quads: false });
        self.opened.len() - 1
    }

    /// Opens a buffer of the plan.
    pub fn open_buffer(&mut self, id: BufferId, access: Access) -> usize {
        self.open(Bound::Plan(id), self.plan.buffers[id as usize].bytes, access)
    }

    /// Requests access by quads of words for opened memory.
    pub fn as_quads(&mut self, opened: usize) {
        assert!(self.opened[opened].access != Access::Atomic, "atomics are words");
        self.opened[opened].quads = true;
    }

    /// The run-time arguments of an iteration space and its layouts.
    pub fn space(&mut self, name: &str, shape: &[usize], layouts: &[&Layout]) -> Space {
        let rank = shape.len();
        let extents: Vec<u64> = shape.iter().map(|&e| e as u64).collect();
        let extents = self.language.numbers(&format!("{name}_shape"), &extents);
        let offsets: Vec<u64> = layouts.iter().map(|l| l.offset as u64).collect();
        let offsets = self.language.numbers(&format!("{name}_offsets"), &offsets);
        let strides: Vec<u64> = layouts.iter().flat_map(|l| l.strides.iter().map(|&s| s as u64)).collect();
        let strides = self.language.numbers(&format!("{name}_strides"), &strides);
        let in_order = |layout: &Layout| rank > 1 && layout.is_contiguous() && layout.strides.len() == rank;
        // Innermost first; the outermost needs no remainder.
        let (mut coordinates, mut rest) = (String::new(), "i".to_string());
        let needed = if layouts.iter().all(|l| in_order(l)) { 0 } else { rank };
        for axis in (1..needed).rev() {
            let extent = &extents[axis];
            let at = L::position(&format!("c{axis}"), &format!("{rest} % {extent}"));
            let quotient = L::position(&format!("rest{axis}"), &format!("{rest} / {extent}"));
            let _ = writeln!(coordinates, "    {at}\n    {quotient}");
            rest = format!("rest{axis}");
        }
        if needed > 0 {
            let _ = writeln!(coordinates, "    {}", L::position("c0", &rest));
        }
        let position = |(n, layout): (usize, &&Layout)| {
            if in_order(layout) {
                return format!("{} + i", offsets[n]);
            }
            let along = (0..rank).map(|axis| format!(" + c{axis} * {}", strides[n * rank + axis]));
            format!("{}{}", offsets[n], along.collect::<String>())
        };
        let positions = layouts.iter().enumerate().map(position).collect();
        let last =
            |n: usize| rank.checked_sub(1).map_or_else(|| "0".into(), |l| strides[n * rank + l].clone());
        Space { coordinates, positions, steps: (0..layouts.len()).map(last).collect() }
    }

    /// An element of a load at a position.
    pub fn element(&mut self, load: &Load, position: &str) -> String {
        match load.source {
            Source::Kernel => "v".into(),
            Source::Iota => L::iota(position),
            Source::Buffer(id) => L::element(self.open_buffer(id, Access::Read), load.dtype, position),
        }
    }

    /// The statements of a program over expressions for its loads.
    pub(crate) fn program(&mut self, program: &Program, load: impl Fn(u16) -> String) -> String {
        let params = &mut self.params;
        let slot = |index: u32| {
            params.iter().position(|&p| p == index).unwrap_or_else(|| {
                params.push(index);
                params.len() - 1
            })
        };
        statements::<L>(program, load, slot)
    }

    /// The statements that compute fused code at point `i`, over a space whose first layouts are those of its loads.
    fn statements(&mut self, fused: &Fused, space: &Space) -> String {
        let mut text = space.coordinates.clone();
        let mut names = Vec::with_capacity(fused.loads.len());
        for (n, load) in fused.loads.iter().enumerate() {
            if load.source != Source::Kernel {
                let _ = writeln!(text, "    {}", L::position(&format!("p{n}"), &space.positions[n]));
            }
            names.push(self.element(load, &format!("p{n}")));
        }
        text + &self.program(&fused.program, |load| names[load as usize].clone())
    }

    /// The space of fused code, with the layouts of its loads and then of `stores`.
    pub(crate) fn space_of(&mut self, name: &str, fused: &Fused, stores: &[Store]) -> Space {
        let loads = fused.loads.iter().map(|l| &l.layout);
        let layouts: Vec<&Layout> = loads.chain(stores.iter().map(|s| &s.layout)).collect();
        self.space(name, &fused.shape, &layouts)
    }

    /// `NAME(i)`: the first result of fused code.
    pub fn function(&mut self, name: &str, fused: &Fused) {
        let space = self.space_of(name, fused, &[]);
        let result = fused.program.results[0];
        let body = format!("{}    return r{result};\n", self.statements(fused, &space));
        let function = Function {
            name,
            parameters: &[("i", L::INDEX)],
            result: Some(L::name(fused.program.result_type(0))),
        };
        self.push(&L::function(&function, &body));
    }

    /// `finish(i, v)`: the epilogue and the stores, over the kernel's value if there is one.
    pub fn finish(&mut self, value: Option<ScalarType>) {
        let step = self.step;
        let space = self.space_of("out", &step.epilogue, &step.stores);
        let mut body = self.statements(&step.epilogue, &space);
        for (n, store) in step.stores.iter().enumerate() {
            let at = L::position(&format!("o{n}"), &space.positions[step.epilogue.loads.len() + n]);
            let value = format!("r{}", step.epilogue.program.results[n]);
            let _ = write!(body, "    {at}\n    {}\n", self.store(store, &format!("o{n}"), &value));
        }
        let parameters = [("i", L::INDEX), ("v", value.map_or("", L::name))];
        let parameters = &parameters[..1 + usize::from(value.is_some())];
        self.push(&L::function(&Function { name: "finish", parameters, result: None }, &body));
    }

    /// The statement that stores a value at a position.
    pub fn store(&mut self, store: &Store, position: &str, value: &str) -> String {
        let known = self.opened.iter().position(|o| o.bound == Bound::Plan(store.buffer));
        let buffer = known.unwrap_or_else(|| self.open_buffer(store.buffer, Access::Write));
        L::store(buffer, store.dtype, position, value)
    }
}
