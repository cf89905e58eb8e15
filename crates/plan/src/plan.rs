//! The parts of a plan.

use crate::kernel::Kernel;
use smallvec::SmallVec;
use wootz_ir::scalar::Program;
use wootz_ir::{DType, Family, Layout, Shape};

/// A buffer of a plan, by its index in [`Plan::buffers`].
pub type BufferId = u32;

/// An immutable plan: run `steps` in order over `buffers`; `outputs` then locate the results.
#[derive(Debug)]
pub struct Plan {
    /// All buffers that steps touch.
    pub buffers: Vec<Buffer>,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// The locations of the requested values.
    pub outputs: Vec<Output>,
    /// The dtypes of the scalar parameters.
    pub params: Vec<DType>,
    /// The number of leaves of the graph; leaf buffers are bound by position.
    pub leaves: usize,
    /// Bytes of each result buffer that a run allocates.
    pub results: Vec<usize>,
    /// Bytes of scratch memory that a run needs.
    pub scratch: usize,
    /// Scratch bytes without reuse.
    pub scratch_without_reuse: usize,
    /// The number of nodes in the graph, before merging and fusing.
    pub graph_nodes: usize,
    /// Whether a row's result must not depend on the number of rows computed with it.
    pub batch_invariant: bool,
    /// The number of visits to nodes and views during planning: a measure of its cost.
    pub visits: usize,
}

/// A range of memory with a dtype.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// Dtype of its elements.
    pub dtype: DType,
    /// Size in bytes.
    pub bytes: usize,
    /// Its location.
    pub place: Place,
}

/// The location of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Bound by the caller: the n-th leaf.
    Leaf(usize),
    /// Allocated per run and handed to the caller: the n-th result.
    Result(usize),
    /// At this byte offset of the scratch memory.
    Scratch(usize),
}

/// A requested value.
#[derive(Clone, Debug)]
pub struct Output {
    /// The buffer that holds it.
    pub buffer: BufferId,
    /// Its layout there.
    pub layout: Layout,
}

/// The source of a fused load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The element of a buffer at the position that the layout computes.
    Buffer(BufferId),
    /// That position itself, as an i64.
    Iota,
    /// The value that the step's kernel computed for this element.
    Kernel,
}

/// An operand of fused code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Load {
    /// The source.
    pub source: Source,
    /// The dtype it is stored in; code sees it widened to the compute type.
    pub dtype: DType,
    /// The position for each point of the iteration space.
    pub layout: Layout,
}

/// Values computed elementwise over an iteration space, in row-major order of `shape`.
///
/// The space has as few axes as the loads allow; only its linear order is meaningful to a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fused {
    /// The iteration space.
    pub shape: Shape,
    /// The loads.
    pub loads: Vec<Load>,
    /// The code.
    pub program: Program,
}

impl Fused {
    /// The single load, if the code only passes it through.
    pub fn plain(&self) -> Option<&Load> {
        if self.program.is_identity() { self.loads.first() } else { None }
    }

    /// The number of leading axes that make up `outer` points, if there is one; the others are the inner ones.
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

/// A store of an epilogue result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    /// The buffer written.
    pub buffer: BufferId,
    /// The dtype that values are narrowed to.
    pub dtype: DType,
    /// The position for each point of the step's result shape.
    pub layout: Layout,
}

/// A step: inputs are computed, the kernel combines them, the epilogue finishes each element, stores write it.
#[derive(Clone, Debug)]
pub struct Step {
    /// The kernel.
    pub kernel: Kernel,
    /// The inputs, each over its own iteration space, in the shape given by the op.
    pub inputs: Vec<Fused>,
    /// The shapes of the inputs, uncollapsed.
    pub input_shapes: SmallVec<[Shape; 3]>,
    /// Code over the result shape; [`Source::Kernel`] is the kernel's value.
    pub epilogue: Fused,
    /// One store per result of the epilogue's program.
    pub stores: Vec<Store>,
    /// The result's shape, uncollapsed.
    pub shape: Shape,
    /// The dtype in which the kernel computes.
    pub dtype: DType,
    /// The fused ops, for display.
    pub label: String,
    /// Whether the step needs a barrier: an earlier step since the last one touches the same memory in a conflicting
    /// way.
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

    /// Floating-point operations of the step's kernel, a multiply-add counted as two; none if it is memory-bound.
    pub fn flops(&self) -> f64 {
        self.kernel.family().flops(&self.input_shapes, &self.shape)
    }

    /// Whether it can end in a fault.
    pub fn can_fault(&self) -> bool {
        self.kernel.family().can_fault()
            || self.epilogue.program.can_fault()
            || self.inputs.iter().any(|input| input.program.can_fault())
    }
}

/// What a device supports in one step.
#[derive(Clone, Copy)]
pub struct Capabilities {
    /// Whether elementwise code may be fused into input `slot` of a kernel.
    pub fuses_input: fn(family: Family, slot: usize) -> bool,
    /// Whether elementwise code may be fused as a kernel's epilogue.
    pub fuses_output: fn(family: Family) -> bool,
    /// Maximum number of loads in one step; at least [`Capabilities::LEAST_LOADS`] must be supported.
    pub max_loads: usize,
    /// Maximum number of elementwise ops in one step.
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
