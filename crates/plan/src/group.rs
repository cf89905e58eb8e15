//! Which kernel each node is computed in.
//!
//! Walking from outputs to leaves, an elementwise node joins the kernel of its readers when they all sit in one: then
//! its value need never be stored, and no cycle can arise. A node with several readers is computed again in each when
//! that is cheaper than memory. A structured node (matmul, reduction, …) takes the elementwise code behind it as its
//! epilogue when that code is its only reader.

use crate::canonical::Canonical;
use crate::lower::family;
use crate::plan::Capabilities;
use smallvec::SmallVec;
use wootz_ir::{ElementwiseOp, Op};

/// A kernel in the making: the root node, or an input slot of a structured node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Group {
    pub root: u32,
    /// `None`: the code that ends in the root; else the code in front of this slot of it.
    pub slot: Option<u8>,
}

/// How a group reads a node.
#[derive(Clone, Copy)]
struct Reader {
    group: Group,
    /// Never through a view.
    direct: bool,
    /// Through a view that repeats elements.
    repeated: bool,
}

/// Everything that reads a node.
#[derive(Clone, Default)]
struct Readers {
    /// Something needs the value in memory.
    stored: bool,
    groups: SmallVec<[Reader; 2]>,
}

impl Readers {
    fn add(&mut self, reader: Reader) {
        match self.groups.iter_mut().find(|r| r.group == reader.group) {
            Some(known) => {
                known.direct &= reader.direct;
                known.repeated |= reader.repeated;
            }
            None => self.groups.push(reader),
        }
    }
}

/// What [`Grouping::of`] decides.
pub(crate) struct Grouping {
    /// Nodes whose value is put in memory by a step of their own.
    pub is_root: Vec<bool>,
    /// For each structured node: the root whose code is its epilogue.
    pub fused_into: Vec<Option<u32>>,
}

/// Arithmetic that is done again rather than stored: at most this many instructions, over this many loads.
const CHEAP_COST: usize = 4;
const CHEAP_LOADS: usize = 2;
const MAX_COPIES: usize = 3;

impl Grouping {
    pub fn of(graph: &Canonical, capabilities: &Capabilities) -> Grouping {
        let count = graph.nodes.len();
        let effort = Effort::of(graph);
        let mut readers: Vec<Readers> = vec![Readers::default(); count];
        let mut grouping = Grouping { is_root: vec![false; count], fused_into: vec![None; count] };
        let mut sizes: rustc_hash::FxHashMap<Group, usize> = Default::default();
        let mut has_kernel = vec![false; count];
        for i in (0..count as u32).rev() {
            let mut here = std::mem::take(&mut readers[i as usize]);
            here.stored |= graph.is_output[i as usize];
            let node = &graph.nodes[i as usize];
            match &node.op {
                Op::Leaf { .. } | Op::Constant | Op::Iota => {}
                Op::View(_) => {
                    let repeated = graph.enlarges(i);
                    let source = &mut readers[node.operands[0] as usize];
                    source.stored |= here.stored;
                    for reader in here.groups {
                        let repeated = reader.repeated | repeated;
                        source.add(Reader { direct: false, repeated, ..reader });
                    }
                }
                Op::Elementwise(_) | Op::Cast => {
                    let joined = join(&here, effort.is_cheap(i), &mut sizes, capabilities.max_ops);
                    if joined {
                        for &operand in &node.operands {
                            here.groups.iter().for_each(|&r| readers[operand as usize].add(r));
                        }
                    } else {
                        grouping.is_root[i as usize] = true;
                        let group = Group { root: i, slot: None };
                        sizes.insert(group, 1);
                        for &operand in &node.operands {
                            readers[operand as usize].add(Reader { group, direct: true, repeated: false });
                        }
                    }
                }
                _ => {
                    let epilogue = match here.groups.as_slice() {
                        [only] if !here.stored && only.direct && only.group.slot.is_none() => {
                            let root = only.group.root as usize;
                            let fits = takes_epilogue(&node.op)
                                && (capabilities.fuses_output)(family(&node.op))
                                && !has_kernel[root]
                                && graph.nodes[root].shape == node.shape;
                            has_kernel[root] |= fits;
                            fits.then_some(only.group.root)
                        }
                        _ => None,
                    };
                    grouping.fused_into[i as usize] = epilogue;
                    grouping.is_root[i as usize] = epilogue.is_none();
                    for (slot, &operand) in node.operands.iter().enumerate() {
                        let slot = slot.min(255) as u8;
                        let group = Group { root: i, slot: Some(slot) };
                        let source = &mut readers[operand as usize];
                        if (capabilities.fuses_input)(family(&node.op), slot as usize)
                            && !needs_plain(&node.op, slot)
                        {
                            source.add(Reader { group, direct: false, repeated: false });
                        } else {
                            source.stored = true;
                        }
                    }
                }
            }
        }
        grouping
    }
}

/// Whether a node can be computed inside the kernels of its readers, and is counted there.
fn join(
    readers: &Readers,
    cheap: bool,
    sizes: &mut rustc_hash::FxHashMap<Group, usize>,
    max_ops: usize,
) -> bool {
    let few = readers.groups.len() == 1 || (cheap && readers.groups.len() <= MAX_COPIES);
    let repeats = readers.groups.iter().any(|r| r.repeated);
    let has_room = readers.groups.iter().all(|r| sizes.get(&r.group).copied().unwrap_or(0) < max_ops);
    let joins = !readers.stored && !readers.groups.is_empty() && few && has_room && (!repeats || cheap);
    if joins {
        readers.groups.iter().for_each(|r| *sizes.entry(r.group).or_default() += 1);
    }
    joins
}

/// Operands that a kernel reads at places of its own choosing, so that no code can stand in front of them.
pub(crate) fn needs_plain(op: &Op, slot: u8) -> bool {
    match op {
        Op::Gather { .. } => slot == 0,
        Op::QuantMatmul { .. } => slot == 1,
        Op::QuantGather { .. } => slot == 0,
        Op::Attention(_) | Op::Wkv7 | Op::Custom(_) => true,
        Op::WriteAt { .. } => slot != 1,
        _ => false,
    }
}

/// Ops that write straight into a buffer which others have written before leave no room for code behind them.
fn takes_epilogue(op: &Op) -> bool {
    !matches!(
        op,
        Op::Concat { .. }
            | Op::UpdateSlice(_)
            | Op::WriteAt { .. }
            | Op::Scatter { .. }
            | Op::Wkv7
            | Op::Custom(_)
    )
}

/// An upper bound of the work to compute a node from memory.
struct Effort {
    cost: Vec<usize>,
    loads: Vec<usize>,
}

impl Effort {
    fn of(graph: &Canonical) -> Effort {
        let mut effort = Effort { cost: vec![0; graph.nodes.len()], loads: vec![0; graph.nodes.len()] };
        for (i, node) in graph.nodes.iter().enumerate() {
            let (own, transparent) = match &node.op {
                Op::Elementwise(op) => (own_cost(*op), true),
                Op::Cast => (1, true),
                Op::View(_) => (0, true),
                _ => (0, false),
            };
            if !transparent {
                effort.loads[i] = usize::from(!graph.is_free(i as u32));
                continue;
            }
            let operands = || node.operands.iter().map(|&o| o as usize);
            effort.cost[i] = operands().fold(own, |sum, o| sum.saturating_add(effort.cost[o]));
            effort.loads[i] = operands().fold(0usize, |sum, o| sum.saturating_add(effort.loads[o]));
        }
        effort
    }

    fn is_cheap(&self, node: u32) -> bool {
        self.cost[node as usize] <= CHEAP_COST && self.loads[node as usize] <= CHEAP_LOADS
    }
}

/// Plain arithmetic counts by instruction; anything with a series in it is never cheap.
fn own_cost(op: ElementwiseOp) -> usize {
    use ElementwiseOp::*;
    match op {
        Neg | Abs | Square | Floor | Ceil | Round | Trunc | LogicalNot | BitwiseNot | Relu | IsNan | Add
        | Sub | Mul | Minimum | Maximum | Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual
        | LogicalAnd | LogicalOr | LogicalXor | BitwiseAnd | BitwiseOr | BitwiseXor | ShiftLeft
        | ShiftRight | Where | Fma | Deg2Rad | Rad2Deg => 1,
        Sign | IsInf | IsFinite | SignBit | Clip | CopySign | MulHi => 2,
        _ => CHEAP_COST + 1,
    }
}
