//! What a plan consists of.

use crate::kernel::Kernel;
use smallvec::SmallVec;
use wootz_ir::scalar::Program;
use wootz_ir::{DType, Family, Layout, Shape};

/// A buffer of a plan, by position in [`Plan::buffers`].
pub type BufferId = u32;

/// An immutable recipe: run `steps` in order over `buffers`, then `outputs` say where the results are.
#[derive(Debug)]
pub struct Plan {
    /// Every buffer that a step touches.
    pub buffers: Vec<Buffer>,
    /// What runs, in order.
    pub steps: Vec<Step>,
    /// Where the values asked for are found.
    pub outputs: Vec<Output>,
    /// The dtypes of the scalar parameters.
    pub params: Vec<DType>,
    /// How many leaves the graph has; leaf buffers are bound by position.
    pub leaves: usize,
    /// Bytes of each result buffer that a run allocates.
    pub results: Vec<usize>,
    /// Bytes of scratch memory that a run needs.
    pub scratch: usize,
    /// What scratch would take with no reuse.
    pub scratch_without_reuse: usize,
    /// Nodes of the graph, before anything was removed or fused.
    pub graph_nodes: usize,
    /// Whether a row's result must not depend on how many rows are computed with it.
    pub batch_invariant: bool,
    /// Nodes and views that were looked at to make the plan, each as often as it was: what planning cost.
    pub visits: usize,
}

/// A range of memory with a dtype.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// The dtype of its elements.
    pub dtype: DType,
    /// Its size.
    pub bytes: usize,
    /// Where it is.
    pub place: Place,
}

/// Where a buffer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Bound by the caller: the n-th leaf.
    Leaf(usize),
    /// Allocated per run and handed to the caller: the n-th result.
    Result(usize),
    /// At this byte offset of the scratch memory.
    Scratch(usize),
}

/// A value asked for.
#[derive(Clone, Debug)]
pub struct Output {
    /// The buffer that holds it.
    pub buffer: BufferId,
    /// How it lies in there.
    pub layout: Layout,
}

/// What a fused load reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The element of a buffer at the position that the layout gives.
    Buffer(BufferId),
    /// That position itself, as an i64.
    Iota,
    /// The value that the step's kernel computed for this element.
    Kernel,
}

/// An operand of fused code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Load {
    /// What is read.
    pub source: Source,
    /// The dtype it is stored in; code sees it widened to its compute type.
    pub dtype: DType,
    /// Where, for each point of the iteration space.
    pub layout: Layout,
}

/// Values computed elementwise over an iteration space, in row-major order of `shape`.
///
/// The space has as few axes as the loads allow; only its linear order is meaningful to a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fused {
    /// The iteration space.
    pub shape: Shape,
    /// What the program reads.
    pub loads: Vec<Load>,
    /// What it computes.
    pub program: Program,
}

impl Fused {
    /// The single load, if the code only passes it on.
    pub fn plain(&self) -> Option<&Load> {
        if self.program.is_identity() { self.loads.first() } else { None }
    }

    /// How many leading axes make up `outer` points, where some do; the others are the inner ones.
    pub fn axes_of(&self, outer: usize) -> Option<usize> {
        (1..self.shape.rank()).find(|&axes| self.shape[..axes].iter().product::<usize>() == outer)
    }

    /// The buffers read.
    pub fn buffers(&self) -> impl Iterator<Item = BufferId> + '_ {
        self.loads.iter().filter_map(|load| match load.source {
            Source::Buffer(id) => Some(id),
            Source::Iota | Source::Kernel => None,
        })
    }
}

/// Where a result of the epilogue goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    /// The buffer written.
    pub buffer: BufferId,
    /// The dtype that values are narrowed to.
    pub dtype: DType,
    /// Where, for each point of the step's result shape.
    pub layout: Layout,
}

/// One launch: inputs are computed, the kernel combines them, the epilogue finishes each element, stores keep it.
#[derive(Clone, Debug)]
pub struct Step {
    /// The structured part.
    pub kernel: Kernel,
    /// What it reads, each over its own iteration space, in the shape that the op gave it.
    pub inputs: Vec<Fused>,
    /// The shapes of the inputs, uncollapsed.
    pub input_shapes: SmallVec<[Shape; 3]>,
    /// Code over the result shape; [`Source::Kernel`] is what the kernel computed.
    pub epilogue: Fused,
    /// One per result of the epilogue's program.
    pub stores: Vec<Store>,
    /// The result's shape, uncollapsed.
    pub shape: Shape,
    /// The dtype in which the kernel computes.
    pub dtype: DType,
    /// The ops that run in this step, for people.
    pub label: String,
    /// Whether an earlier step since the last barrier touches the same memory in a conflicting way.
    pub barrier: bool,
    /// Whether some position needs more than 31 bits.
    pub wide: bool,
}

impl Step {
    /// The buffers that the step reads.
    pub fn reads(&self) -> impl Iterator<Item = BufferId> + '_ {
        let own_target = match self.kernel {
            Kernel::Scatter { .. } => Some(self.stores[0].buffer),
            _ => None,
        };
        self.inputs.iter().chain([&self.epilogue]).flat_map(Fused::buffers).chain(own_target)
    }

    /// The buffers that the step writes.
    pub fn writes(&self) -> impl Iterator<Item = BufferId> + '_ {
        self.stores.iter().map(|store| store.buffer)
    }

    /// Floating-point operations of the step's kernel, a multiply-add counted as two; none where it is bound by memory.
    pub fn flops(&self) -> f64 {
        self.kernel.family().flops(&self.input_shapes, &self.shape)
    }

    /// Whether running it can end in a fault.
    pub fn can_fault(&self) -> bool {
        self.kernel.family().can_fault()
            || self.epilogue.program.can_fault()
            || self.inputs.iter().any(|input| input.program.can_fault())
    }
}

/// What a device can take in one step.
#[derive(Clone, Copy)]
pub struct Capabilities {
    /// Whether elementwise code may be fused into input `slot` of a kernel.
    pub fuses_input: fn(family: Family, slot: usize) -> bool,
    /// Whether elementwise code may be fused behind a kernel.
    pub fuses_output: fn(family: Family) -> bool,
    /// The most loads in one step; at least [`Capabilities::LEAST_LOADS`] are taken.
    pub max_loads: usize,
    /// The most elementwise ops in one step.
    pub max_ops: usize,
    /// Alignment of scratch buffers, in bytes.
    pub alignment: usize,
}

impl Capabilities {
    /// An op has up to three operands, and all of them may be in memory.
    pub const LEAST_LOADS: usize = 3;

    /// Everything fuses.
    pub const ALL: Capabilities = Capabilities {
        fuses_input: |_, _| true,
        fuses_output: |_| true,
        max_loads: 24,
        max_ops: 96,
        alignment: 256,
    };

    /// Nothing fuses: one op, one step.
    pub const UNFUSED: Capabilities = Capabilities {
        fuses_input: |_, _| false,
        fuses_output: |_| false,
        max_loads: 24,
        max_ops: 1,
        alignment: 256,
    };
}
