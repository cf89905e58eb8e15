//! Assignment of nodes to kernels.
//!
//! Walking from outputs to leaves, an elementwise node joins the kernel of its reader: its value then never has to be
//! stored, and no cycle can arise. A kernel that reads a node through several views computes it once per view, and a
//! node with readers in several kernels is computed in each: every such (kernel, view) is a *copy*. A node is copied
//! only if recomputing all copies costs less than one round trip through memory; otherwise it is stored. So every
//! node adds a bounded number of instructions to the plan, whatever its views, and planning takes a bounded number of
//! visits. A structured node (matmul, reduction, …) takes the elementwise code after it as its epilogue if that code
//! is its only reader.

use crate::canonical::Canonical;
use crate::plan::Capabilities;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use wootz_ir::{ElementwiseOp, Op, Reads, Role};

/// A kernel under construction.
struct Group {
    /// The node that it ends in, or whose operand it computes.
    root: u32,
    /// Whether it computes an operand of the root, a structured node.
    is_input: bool,
    /// The number of elementwise ops in it, including copies.
    ops: usize,
    /// Whether it is the epilogue of a structured node.
    has_kernel: bool,
}

/// One copy of a node: the group that computes it, and the views through which that group reads it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Copy {
    group: u32,
    path: PathId,
}

/// A chain of views from a group's iteration space to a node.
type PathId = u32;

/// The path without views.
const DIRECT: PathId = 0;

/// All paths that a group reads through, by their last view and the preceding path.
struct Paths {
    known: FxHashMap<(PathId, u32), PathId>,
    lengths: Vec<usize>,
    /// Whether a view of the path broadcasts.
    repeats: Vec<bool>,
}

impl Paths {
    fn new() -> Paths {
        Paths { known: FxHashMap::default(), lengths: vec![0], repeats: vec![false] }
    }

    /// The path extended through a view, if it is not too long.
    fn through(&mut self, path: PathId, view: u32, graph: &Canonical) -> Option<PathId> {
        let length = self.lengths[path as usize] + 1;
        if length > MAX_VIEWS {
            return None;
        }
        Some(*self.known.entry((path, view)).or_insert_with(|| {
            self.lengths.push(length);
            self.repeats.push(self.repeats[path as usize] || graph.enlarges(view));
            self.lengths.len() as PathId - 1
        }))
    }
}

/// All readers of a node.
#[derive(Clone, Default)]
struct Readers {
    /// Something needs the value in memory.
    stored: bool,
    copies: SmallVec<[Copy; 2]>,
}

impl Readers {
    fn add(&mut self, copy: Copy) {
        if self.stored || self.copies.contains(&copy) {
            return;
        }
        if self.copies.len() == MAX_COPIES {
            return self.store();
        }
        self.copies.push(copy);
    }

    fn store(&mut self) {
        self.stored = true;
        self.copies.clear();
    }
}

/// The result of [`Grouping::of`].
pub(crate) struct Grouping {
    /// Nodes whose value is stored by a step of their own.
    pub is_root: Vec<bool>,
    /// For each structured node, the root whose code is its epilogue.
    pub fused_into: Vec<Option<u32>>,
    /// How often a node was visited on behalf of a reader.
    pub visits: usize,
}

/// Arithmetic that is recomputed rather than stored: at most this many instructions, over this many loads.
const CHEAP_COST: usize = 4;
const CHEAP_LOADS: usize = 2;
/// The cost of storing a value and reading it back, in instructions and loads: all copies but one may cost no more.
const ROUND_TRIP: usize = 10;
/// Minimum cost of a copy, in instructions.
const MAX_COPIES: usize = ROUND_TRIP + 1;
/// Maximum number of kernels in which a node is computed: each of them reads its operands again.
const MAX_KERNELS: usize = 3;
/// Maximum length of a chain of views through which code is computed.
const MAX_VIEWS: usize = 16;

impl Grouping {
    pub fn of(graph: &Canonical, capabilities: &Capabilities) -> Grouping {
        let count = graph.nodes.len();
        let mut walk = Walk {
            graph,
            capabilities,
            effort: Effort::of(graph),
            readers: vec![Readers::default(); count],
            groups: Vec::new(),
            paths: Paths::new(),
            result: Grouping { is_root: vec![false; count], fused_into: vec![None; count], visits: 0 },
        };
        for i in (0..count as u32).rev() {
            let mut readers = std::mem::take(&mut walk.readers[i as usize]);
            if graph.is_output[i as usize] {
                readers.store();
            }
            walk.result.visits += 1 + readers.copies.len();
            match graph.nodes[i as usize].op.role() {
                Role::Source => {}
                Role::View => walk.view(i, &readers),
                Role::Code => walk.code(i, readers),
                Role::Kernel => walk.structured(i, &readers),
            }
        }
        walk.result
    }
}

/// The walk from outputs to leaves.
struct Walk<'a> {
    graph: &'a Canonical,
    capabilities: &'a Capabilities,
    effort: Effort,
    readers: Vec<Readers>,
    groups: Vec<Group>,
    paths: Paths,
    result: Grouping,
}

impl Walk<'_> {
    fn view(&mut self, node: u32, readers: &Readers) {
        let operand = self.graph.nodes[node as usize].operands[0];
        let source = &mut self.readers[operand as usize];
        if readers.stored {
            source.store();
        }
        if !self.graph.is_code(operand) && !self.graph.is_view(operand) {
            // Only elementwise code can be recomputed behind a view.
            return source.store();
        }
        for copy in &readers.copies {
            match self.paths.through(copy.path, node, self.graph) {
                Some(path) => source.add(Copy { path, ..*copy }),
                None => source.store(),
            }
        }
    }

    fn code(&mut self, node: u32, mut readers: Readers) {
        if !self.joins(node, &readers) {
            self.result.is_root[node as usize] = true;
            let group = self.group(node, false);
            self.groups[group as usize].ops = 1;
            readers.copies = SmallVec::from_slice(&[Copy { group, path: DIRECT }]);
        }
        for &operand in &self.graph.nodes[node as usize].operands {
            if !self.graph.is_in_memory(operand) && !self.graph.is_free(operand) {
                let operand = &mut self.readers[operand as usize];
                readers.copies.iter().for_each(|&copy| operand.add(copy));
            }
        }
    }

    fn group(&mut self, root: u32, is_input: bool) -> u32 {
        self.groups.push(Group { root, is_input, ops: 0, has_kernel: false });
        self.groups.len() as u32 - 1
    }

    /// Whether a node is computed inside the kernels of its readers; if so, it is counted there.
    fn joins(&mut self, node: u32, readers: &Readers) -> bool {
        let copies = &readers.copies;
        if readers.stored || copies.is_empty() {
            return false;
        }
        let repeats = copies.iter().any(|copy| self.paths.repeats[copy.path as usize]);
        if (repeats || copies.len() > 1) && !self.effort.is_cheap(node, copies.len()) {
            return false;
        }
        let mut kernels: SmallVec<[(u32, usize); MAX_KERNELS]> = SmallVec::new();
        for copy in copies {
            match kernels.iter_mut().find(|(group, _)| *group == copy.group) {
                Some((_, copies)) => *copies += 1,
                None => kernels.push((copy.group, 1)),
            }
        }
        let has_room = |&(group, copies): &(u32, usize)| {
            self.groups[group as usize].ops + copies <= self.capabilities.max_ops
        };
        if kernels.len() > MAX_KERNELS || !kernels.iter().all(has_room) {
            return false;
        }
        kernels.iter().for_each(|&(group, copies)| self.groups[group as usize].ops += copies);
        true
    }

    fn structured(&mut self, index: u32, readers: &Readers) {
        let node = &self.graph.nodes[index as usize];
        let epilogue = self.epilogue(index, readers);
        self.result.fused_into[index as usize] = epilogue;
        self.result.is_root[index as usize] = epilogue.is_none();
        for (slot, &operand) in node.operands.iter().enumerate() {
            if !fuses(&node.op, slot, self.capabilities)
                || !(self.graph.is_code(operand) || self.graph.is_view(operand))
            {
                self.readers[operand as usize].store();
                continue;
            }
            let group = self.group(index, true);
            self.readers[operand as usize].add(Copy { group, path: DIRECT });
        }
    }

    /// The root whose code is the epilogue of a structured node.
    fn epilogue(&mut self, index: u32, readers: &Readers) -> Option<u32> {
        let node = &self.graph.nodes[index as usize];
        let [Copy { group, path: DIRECT }] = *readers.copies.as_slice() else { return None };
        let group = &mut self.groups[group as usize];
        let fits = !group.is_input
            && !group.has_kernel
            && takes_epilogue(&node.op, self.capabilities)
            && self.graph.nodes[group.root as usize].shape == node.shape;
        group.has_kernel |= fits;
        fits.then_some(group.root)
    }
}

/// Whether operand `slot` of a kernel can be fused into it on a device.
pub(crate) fn fuses(op: &Op, slot: usize, capabilities: &Capabilities) -> bool {
    op.family().reads(slot) == Reads::Fused && (capabilities.fuses_input)(op.family(), slot)
}

/// Whether an op can have an epilogue. Ops that write into parts of a buffer cannot.
fn takes_epilogue(op: &Op, capabilities: &Capabilities) -> bool {
    !matches!(op, Op::Concat { .. } | Op::UpdateSlice(_))
        && op.family().takes_epilogue()
        && (capabilities.fuses_output)(op.family())
}

/// An upper bound on the work of computing a node from memory.
struct Effort {
    cost: Vec<usize>,
    loads: Vec<usize>,
}

impl Effort {
    fn of(graph: &Canonical) -> Effort {
        let mut effort = Effort { cost: vec![0; graph.nodes.len()], loads: vec![0; graph.nodes.len()] };
        for (i, node) in graph.nodes.iter().enumerate() {
            let own = match (node.op.role(), &node.op) {
                (Role::Code, Op::Elementwise(op)) => own_cost(*op),
                (Role::Code, _) => 1,
                (Role::View, _) => 0,
                (Role::Source | Role::Kernel, _) => {
                    effort.loads[i] = usize::from(!graph.is_free(i as u32));
                    continue;
                }
            };
            let operands = || node.operands.iter().map(|&o| o as usize);
            effort.cost[i] = operands().fold(own, |sum, o| sum.saturating_add(effort.cost[o]));
            effort.loads[i] = operands().fold(0usize, |sum, o| sum.saturating_add(effort.loads[o]));
        }
        effort
    }

    /// Whether computing this many copies of a node costs less than storing it.
    fn is_cheap(&self, node: u32, copies: usize) -> bool {
        let (cost, loads) = (self.cost[node as usize], self.loads[node as usize]);
        cost <= CHEAP_COST
            && loads <= CHEAP_LOADS
            && (copies - 1) * (cost + loads).saturating_sub(1).max(1) <= ROUND_TRIP
    }
}

/// Plain arithmetic is counted by instructions; anything evaluated by a series is never cheap.
fn own_cost(op: ElementwiseOp) -> usize {
    use ElementwiseOp::*;
    match op {
        Neg | Abs | Square | Floor | Ceil | Round | Trunc | LogicalNot | BitwiseNot | Relu | IsNan | Add
        | Sub | Mul | Minimum | Maximum | Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual
        | LogicalAnd | LogicalOr | LogicalXor | BitwiseAnd | BitwiseOr | BitwiseXor | ShiftLeft
        | ShiftRight | Where | Fma | Deg2Rad | Rad2Deg => 1,
        Sign | IsInf | IsFinite | SignBit | Clip | CopySign | MulHi => 2,
        // An op of the table that is not named here is stored rather than computed twice.
        _ => CHEAP_COST + 1,
    }
}
