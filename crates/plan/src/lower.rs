//! Lowers nodes to steps.

use crate::canonical::Canonical;
use crate::fuse::{Blocked, Context, Fuser, Gathered, Stored, collapse};
use crate::group::{Grouping, fuses};
use crate::kernel::Kernel;
use crate::memory;
use crate::plan::*;
use smallvec::{SmallVec, smallvec};
use wootz_ir::graph::{Graph, GraphNode};
use wootz_ir::op::ScatterMode;
use wootz_ir::scalar::Builder;
use wootz_ir::{DType, Layout, Number, Op, Role, Shape, Span, View};

impl Plan {
    /// Plans a graph for a device with these capabilities.
    pub fn new(graph: &Graph, capabilities: &Capabilities) -> Plan {
        let canonical = Canonical::of(graph);
        let grouping = Grouping::of(&canonical, capabilities);
        let mut lowering = Lowering::new(&canonical, &grouping, capabilities);
        for node in 0..canonical.nodes.len() as u32 {
            lowering.visit(node);
        }
        let outputs: Vec<Stored> = canonical.outputs.iter().map(|&o| lowering.in_memory(o)).collect();
        lowering.visits += grouping.visits;
        let mut plan = lowering.finish(outputs);
        plan.graph_nodes = graph.nodes.len();
        plan.batch_invariant = graph.batch_invariant;
        memory::place(&mut plan, capabilities.alignment);
        plan
    }
}

struct Lowering<'a> {
    graph: &'a Canonical,
    grouping: &'a Grouping,
    capabilities: &'a Capabilities,
    stored: Vec<Option<Stored>>,
    params: Vec<Option<u32>>,
    /// For each root of fused code, the structured node whose epilogue it is.
    kernel_of: Vec<Option<u32>>,
    buffers: Vec<Buffer>,
    steps: Vec<Step>,
    param_types: Vec<DType>,
    leaves: usize,
    visits: usize,
}

impl<'a> Lowering<'a> {
    fn new(graph: &'a Canonical, grouping: &'a Grouping, capabilities: &'a Capabilities) -> Lowering<'a> {
        let count = graph.nodes.len();
        let mut kernel_of = vec![None; count];
        for (i, root) in grouping.fused_into.iter().enumerate() {
            if let Some(root) = root {
                kernel_of[*root as usize] = Some(i as u32);
            }
        }
        Lowering {
            graph,
            grouping,
            capabilities,
            stored: vec![None; count],
            params: vec![None; count],
            kernel_of,
            buffers: Vec::new(),
            steps: Vec::new(),
            param_types: Vec::new(),
            leaves: 0,
            visits: 0,
        }
    }

    fn node(&self, index: u32) -> &'a GraphNode {
        &self.graph.nodes[index as usize]
    }

    fn visit(&mut self, index: u32) {
        let node = self.node(index);
        match &node.op {
            Op::Leaf { layout, .. } => {
                let bytes = layout.reach().map_or(0, |(_, high)| (high + 1) * node.dtype.size());
                let place = Place::Leaf(self.leaves);
                self.leaves += 1;
                let buffer = self.buffer(Buffer { dtype: node.dtype, bytes, place });
                self.stored[index as usize] = Some(Stored { buffer, layout: layout.clone() });
            }
            Op::Constant => {
                self.params[index as usize] = Some(self.param_types.len() as u32);
                self.param_types.push(node.dtype);
            }
            Op::View(view) => self.locate(index, view),
            _ if self.grouping.is_root[index as usize] => self.emit(index),
            _ => {}
        }
    }

    /// A view of something in memory needs no step, unless it is a reshape that has to move elements.
    fn locate(&mut self, index: u32, view: &View) {
        let source = self.node(index).operands[0];
        let Some(stored) = &self.stored[source as usize] else { return };
        let (buffer, layout) = match stored.layout.view(view) {
            Some(layout) => (stored.buffer, layout),
            None => {
                let copy = self.emit_copy(source);
                (copy.buffer, copy.layout.view(view).expect("every view of row-major elements is a layout"))
            }
        };
        self.stored[index as usize] = Some(Stored { buffer, layout });
    }

    /// The location of a node's value, which is stored now if necessary.
    fn in_memory(&mut self, index: u32) -> Stored {
        if let Some(stored) = &self.stored[index as usize] {
            return stored.clone();
        }
        self.emit_code(index);
        self.stored[index as usize].clone().expect("code was just given a place")
    }

    fn buffer(&mut self, buffer: Buffer) -> BufferId {
        self.buffers.push(buffer);
        self.buffers.len() as BufferId - 1
    }

    /// A new buffer for a node's value; it becomes a result or scratch buffer when memory is allocated.
    fn fresh(&mut self, shape: &Shape, dtype: DType) -> Stored {
        let bytes = shape.count() * dtype.size();
        let buffer = self.buffer(Buffer { dtype, bytes, place: Place::Scratch(usize::MAX) });
        Stored { buffer, layout: Layout::contiguous(shape) }
    }

    /// Gathers the code of a node, storing the values that prevent it.
    fn gather(&mut self, index: u32, views: &[View], kernel: Option<u32>) -> Gathered {
        loop {
            let context = Context {
                graph: self.graph,
                stored: &self.stored,
                params: &self.params,
                max_loads: self.capabilities.max_loads.max(Capabilities::LEAST_LOADS),
            };
            let mut fuser = Fuser::new(&context, kernel);
            let gathered = fuser.fuse(index, views);
            self.visits += fuser.visits;
            match gathered {
                Ok(gathered) => return gathered,
                Err(Blocked(node)) => match &self.node(node).op {
                    // Stored, but laid out so that a reshape has to move its elements: a copy replaces it.
                    _ if self.stored[node as usize].is_some() => drop(self.emit_copy(node)),
                    op => match op.role() {
                        Role::View | Role::Source => drop(self.emit_copy(node)),
                        Role::Code | Role::Kernel => self.emit(node),
                    },
                },
            }
        }
    }

    /// An operand of a structured node: fused code, or a plain load if the kernel requires one.
    fn operand(&mut self, node: &GraphNode, slot: usize, views: &[View]) -> Gathered {
        let index = node.operands[slot];
        let plain = !fuses(&node.op, slot, self.capabilities);
        if plain {
            self.in_memory(index);
        }
        let gathered = self.gather(index, views, None);
        let read = gathered.fused.plain();
        let first_in_order = |load: &Load| load.layout.is_contiguous() && load.layout.offset == 0;
        let misplaced = matches!(node.op, Op::Custom(_)) && !read.is_some_and(first_in_order);
        if plain && (misplaced || read.is_none()) {
            // A view chain whose reshape moves elements, a constant, or an order that a user's kernel does not
            // expect: give it a place of its own.
            self.emit_copy(index);
            return self.gather(index, views, None);
        }
        gathered
    }

    fn emit(&mut self, index: u32) {
        if self.stored[index as usize].is_some() {
            return;
        }
        if self.graph.is_code(index) {
            self.emit_code(index);
        } else {
            self.emit_structured(index, index);
        }
    }

    /// A step that ends in elementwise code, with a structured kernel in front of it if one was fused.
    fn emit_code(&mut self, index: u32) {
        match self.kernel_of[index as usize] {
            Some(kernel) if self.stored[kernel as usize].is_none() => self.emit_structured(kernel, index),
            _ => drop(self.emit_copy(index)),
        }
    }

    /// A map step that puts a node's value in row-major order into a buffer of its own.
    fn emit_copy(&mut self, index: u32) -> Stored {
        let target = self.fresh(&self.node(index).shape, self.node(index).dtype);
        self.map(index, &target);
        self.stored[index as usize] = Some(target.clone());
        target
    }

    /// A map step that writes a node's value to a given location.
    fn map(&mut self, index: u32, target: &Stored) {
        let node = self.node(index);
        let Gathered { fused, names } = self.gather(index, &[], None);
        let store = Store { buffer: target.buffer, dtype: node.dtype, layout: target.layout.clone() };
        let label = if names.is_empty() { copy_label(&fused).to_string() } else { label(&names, None) };
        self.push(Draft { kernel: Kernel::Map, inputs: vec![], node, label }, fused, store);
    }

    /// Adds a step, if there is anything to store.
    fn push(&mut self, draft: Draft<'_>, mut epilogue: Fused, mut store: Store) {
        if store.layout.shape.count() == 0 {
            return;
        }
        let shape = draft.node.shape.clone();
        let shape = if store.layout.shape == shape { shape } else { store.layout.shape.clone() };
        let mut layouts: Vec<&mut Layout> = epilogue.loads.iter_mut().map(|l| &mut l.layout).collect();
        let keeps_axes = matches!(draft.kernel, Kernel::Scatter { .. } | Kernel::WriteAt { .. });
        if !keeps_axes {
            layouts.push(&mut store.layout);
            collapse(&mut epilogue.shape, layouts);
        }
        let mut input_shapes = SmallVec::new();
        let mut inputs = Vec::with_capacity(draft.inputs.len());
        for mut input in draft.inputs {
            input_shapes.push(input.shape.clone());
            let is_plain = input.program.is_identity() && !input.loads.is_empty();
            if !is_plain {
                collapse(&mut input.shape, input.loads.iter_mut().map(|l| &mut l.layout).collect());
            }
            inputs.push(input);
        }
        self.steps.push(Step {
            kernel: draft.kernel,
            inputs,
            input_shapes,
            epilogue,
            stores: vec![store],
            shape,
            dtype: draft.node.dtype,
            label: draft.label,
            barrier: false,
            wide: false,
        });
    }

    /// A structured node with the epilogue that ends in `root` (or none, if that is the node itself).
    fn emit_structured(&mut self, index: u32, root: u32) {
        let node = self.node(index);
        match &node.op {
            Op::Concat { axis } => return self.emit_concat(index, *axis as usize),
            Op::UpdateSlice(spans) => return self.emit_update(index, spans),
            Op::WriteAt { axis } => return self.emit_write_at(index, *axis),
            Op::Scatter { axis, mode } => return self.emit_scatter(index, *axis, *mode),
            _ => {}
        }
        if let Some(value) = self.value_of_nothing(node) {
            return self.emit_fill(index, root, value);
        }
        let (kernel, input_views) = Kernel::of(node, |slot| &self.node(node.operands[slot]).shape);
        let mut names = Vec::new();
        let mut inputs = Vec::new();
        for (slot, views) in input_views.iter().enumerate() {
            let input = self.operand(node, slot, views);
            inputs.push(input.fused);
            names.extend(input.names);
        }
        let (epilogue, behind) = if root == index {
            let load =
                Load { source: Source::Kernel, dtype: node.dtype, layout: Layout::contiguous(&node.shape) };
            let program = wootz_ir::scalar::Program::identity(node.dtype.compute());
            (Fused { shape: node.shape.clone(), loads: vec![load], program }, vec![])
        } else {
            let gathered = self.gather(root, &[], Some(index));
            (gathered.fused, gathered.names)
        };
        let label = label(&names, Some((node.op.name(), &behind)));
        let target = self.fresh(&node.shape, self.node(root).dtype);
        let store =
            Store { buffer: target.buffer, dtype: self.node(root).dtype, layout: target.layout.clone() };
        self.push(Draft { kernel, inputs, node, label }, epilogue, store);
        self.stored[root as usize] = Some(target);
    }

    /// The value of a structured node that combines no elements at all, so that no device ever sees an empty operand.
    fn value_of_nothing(&self, node: &GraphNode) -> Option<Number> {
        let is_empty = node.operands.first().is_some_and(|&x| self.node(x).shape.count() == 0);
        if is_empty { node.op.of_nothing(node.dtype.compute()) } else { None }
    }

    /// A structured node with a constant value, and its epilogue.
    fn emit_fill(&mut self, index: u32, root: u32, value: Number) {
        let node = self.node(index);
        let target = self.fresh(&node.shape, node.dtype);
        let builder = Builder::new();
        let literal = builder.literal(value, node.dtype.compute()).reg;
        let epilogue =
            Fused { shape: node.shape.clone(), loads: vec![], program: builder.finish(vec![literal]) };
        let store = Store { buffer: target.buffer, dtype: node.dtype, layout: target.layout.clone() };
        let label = format!("{} of nothing", node.op.name());
        self.push(Draft { kernel: Kernel::Map, inputs: vec![], node, label }, epilogue, store);
        self.stored[index as usize] = Some(target);
        if root != index {
            self.emit_copy(root);
        }
    }

    /// Each operand is computed directly into its part of the result.
    fn emit_concat(&mut self, index: u32, axis: usize) {
        let node = self.node(index);
        let whole = self.fresh(&node.shape, node.dtype);
        let mut start = 0;
        for &operand in &node.operands {
            let shape = &self.node(operand).shape;
            let mut spans: SmallVec<[Span; 4]> = node.shape.iter().map(|&d| Span::all(d)).collect();
            spans[axis] = Span { start, step: 1, len: shape[axis] };
            start += shape[axis];
            let layout = whole.layout.view(&View::Slice(spans)).expect("slices are views");
            if shape.count() > 0 {
                self.map(operand, &Stored { buffer: whole.buffer, layout });
            }
        }
        self.stored[index as usize] = Some(whole);
    }

    fn emit_update(&mut self, index: u32, spans: &SmallVec<[Span; 4]>) {
        let node = self.node(index);
        let whole = self.fresh(&node.shape, node.dtype);
        self.map(node.operands[0], &whole);
        let layout = whole.layout.view(&View::Slice(spans.clone())).expect("slices are views");
        if layout.shape.count() > 0 {
            self.map(node.operands[1], &Stored { buffer: whole.buffer, layout });
        }
        self.stored[index as usize] = Some(whole);
    }

    /// In place in a donated leaf that nothing else reads; otherwise into a copy.
    fn emit_write_at(&mut self, index: u32, axis: u8) {
        let node = self.node(index);
        let state = node.operands[0];
        let donated = matches!(self.node(state).op, Op::Leaf { donated: true, .. });
        let only_reader = self.graph.uses[state as usize] == 1 && !self.graph.is_output[state as usize];
        let target = if donated && only_reader {
            self.in_memory(state)
        } else {
            let copy = self.fresh(&node.shape, node.dtype);
            self.map(state, &copy);
            copy
        };
        if self.node(node.operands[1]).shape.count() > 0 {
            let Gathered { fused: rows, names } = self.operand(node, 1, &[]);
            let start = self.operand(node, 2, &[]).fused;
            let label = label(&names, Some((node.op.name(), &[])));
            let draft = Draft { kernel: Kernel::WriteAt { axis }, inputs: vec![rows, start], node, label };
            let store = Store { buffer: target.buffer, dtype: node.dtype, layout: target.layout.clone() };
            self.push(draft, nothing(node), store);
        }
        self.stored[index as usize] = Some(target);
    }

    fn emit_scatter(&mut self, index: u32, axis: u8, mode: ScatterMode) {
        let node = self.node(index);
        let target = self.fresh(&node.shape, node.dtype);
        self.map(node.operands[0], &target);
        if self.node(node.operands[1]).shape.count() > 0 {
            let Gathered { fused: at, mut names } = self.operand(node, 1, &[]);
            let values = self.operand(node, 2, &[]);
            names.extend(values.names);
            let label = label(&names, Some((node.op.name(), &[])));
            let kernel = Kernel::Scatter { axis, mode };
            let draft = Draft { kernel, inputs: vec![at, values.fused], node, label };
            let store = Store { buffer: target.buffer, dtype: node.dtype, layout: target.layout.clone() };
            self.push(draft, nothing(node), store);
        }
        self.stored[index as usize] = Some(target);
    }

    fn finish(self, outputs: Vec<Stored>) -> Plan {
        Plan {
            buffers: self.buffers,
            steps: self.steps,
            outputs: outputs.into_iter().map(|s| Output { buffer: s.buffer, layout: s.layout }).collect(),
            params: self.param_types,
            leaves: self.leaves,
            results: Vec::new(),
            scratch: 0,
            scratch_without_reuse: 0,
            graph_nodes: 0,
            batch_invariant: false,
            visits: self.visits,
        }
    }
}

/// The parts of a step before its axes are merged.
struct Draft<'a> {
    kernel: Kernel,
    inputs: Vec<Fused>,
    node: &'a GraphNode,
    label: String,
}

/// The epilogue of kernels that write their store themselves.
fn nothing(node: &GraphNode) -> Fused {
    Fused { shape: node.shape.clone(), loads: vec![], program: Default::default() }
}

fn copy_label(fused: &Fused) -> &'static str {
    match fused.loads.first().map(|load| load.source) {
        None => "fill",
        Some(Source::Iota) => "iota",
        Some(_) => "copy",
    }
}

/// `exp·add → sum → div`: input code, the kernel, the epilogue.
fn label(front: &[&str], kernel: Option<(&str, &[&str])>) -> String {
    let chain = |names: &[&str]| {
        let shown: SmallVec<[&str; 8]> = names.iter().copied().take(8).collect();
        let more = names.len() - shown.len();
        if more > 0 { format!("{}·(+{more})", shown.join("·")) } else { shown.join("·") }
    };
    let mut parts: SmallVec<[String; 3]> = smallvec![];
    if !front.is_empty() {
        parts.push(chain(front));
    }
    if let Some((name, behind)) = kernel {
        parts.push(name.to_string());
        if !behind.is_empty() {
            parts.push(chain(behind));
        }
    }
    parts.join(" → ")
}
