//! Gathers the elementwise code of one group into a program.

use crate::canonical::Canonical;
use crate::plan::{BufferId, Fused, Load, Source};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};
use wootz_ir::scalar::{Builder, Instr, Reg};
use wootz_ir::{Layout, Op, View};

/// A value in memory.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub buffer: BufferId,
    pub layout: Layout,
}

/// The code cannot be gathered until this node is stored in memory.
#[derive(Debug)]
pub(crate) struct Blocked(pub u32);

/// A chain of views from the group's iteration space to a node, by its index in [`Fuser::paths`].
type PathId = u32;

/// No views.
const DIRECT: PathId = 0;

/// The last view of a path, the node under it, and the path before it.
struct Segment<'a> {
    view: &'a View,
    source: u32,
    before: PathId,
}

/// The context of the traversal.
pub(crate) struct Context<'a> {
    pub graph: &'a Canonical,
    pub stored: &'a [Option<Stored>],
    pub params: &'a [Option<u32>],
    pub max_loads: usize,
}

pub(crate) struct Fuser<'a> {
    context: &'a Context<'a>,
    builder: Builder,
    loads: Vec<Load>,
    /// Path `i + 1` ends with segment `i`.
    paths: Vec<Segment<'a>>,
    known_paths: FxHashMap<(PathId, u32), PathId>,
    memo: FxHashMap<(u32, PathId), Reg>,
    /// The structured node whose value the epilogue reads.
    kernel: Option<u32>,
    pub names: Vec<&'static str>,
    /// How many nodes and views have been visited.
    pub visits: usize,
}

/// The code of a group.
pub(crate) struct Gathered {
    pub fused: Fused,
    /// The fused ops.
    pub names: Vec<&'static str>,
}

impl<'a> Fuser<'a> {
    pub fn new(context: &'a Context<'a>, kernel: Option<u32>) -> Fuser<'a> {
        Fuser {
            context,
            builder: Builder::new(),
            loads: Vec::new(),
            paths: Vec::new(),
            known_paths: FxHashMap::default(),
            memo: FxHashMap::default(),
            kernel,
            names: Vec::new(),
            visits: 0,
        }
    }

    /// The value of `root` seen through `views` (outermost first), as fused code.
    pub fn fuse(&mut self, root: u32, views: &'a [View]) -> Result<Gathered, Blocked> {
        let source = &self.context.graph.nodes[root as usize].shape;
        let shape = views.iter().rev().fold(source.clone(), |s, v| v.shape(&s));
        let path = views.iter().fold(DIRECT, |path, view| self.extend(path, view, root));
        let result = self.value(root, path)?;
        if self.loads.len() > self.context.max_loads {
            return Err(self.too_many_loads(root));
        }
        let program = std::mem::take(&mut self.builder).finish(vec![result]);
        let (loads, names) = (std::mem::take(&mut self.loads), std::mem::take(&mut self.names));
        Ok(Gathered { fused: Fused { shape, loads, program }, names })
    }

    fn extend(&mut self, before: PathId, view: &'a View, source: u32) -> PathId {
        self.paths.push(Segment { view, source, before });
        self.paths.len() as PathId
    }

    /// The path extended through a view node.
    fn through_node(&mut self, path: PathId, node: u32, view: &'a View, source: u32) -> PathId {
        if let Some(&known) = self.known_paths.get(&(path, node)) {
            return known;
        }
        let extended = self.extend(path, view, source);
        self.known_paths.insert((path, node), extended);
        extended
    }

    /// The layout of a stored value seen through a path.
    fn layout(&mut self, stored: &Layout, mut path: PathId) -> Result<Layout, Blocked> {
        let mut layout = stored.clone();
        while path != DIRECT {
            let Segment { view, source, before } = self.paths[path as usize - 1];
            layout = layout.view(view).ok_or(Blocked(source))?;
            path = before;
            self.visits += 1;
        }
        Ok(layout)
    }

    /// Recursion is bounded by the number of ops in a group.
    fn value(&mut self, mut node: u32, mut path: PathId) -> Result<Reg, Blocked> {
        let context = self.context;
        loop {
            self.visits += 1;
            if self.kernel == Some(node) {
                let shape = &context.graph.nodes[node as usize].shape;
                let reg = self.load(Source::Kernel, node, Layout::contiguous(shape));
                // As if the value had been stored and read back.
                return Ok(self.builder.value(reg).narrow(context.graph.nodes[node as usize].dtype).reg);
            }
            if let Some(stored) = &context.stored[node as usize] {
                let layout = self.layout(&stored.layout, path)?;
                return Ok(self.load(Source::Buffer(stored.buffer), node, layout));
            }
            let this = &context.graph.nodes[node as usize];
            match &this.op {
                Op::View(view) => {
                    path = self.through_node(path, node, view, this.operands[0]);
                    node = this.operands[0];
                }
                Op::Constant => {
                    let param = context.params[node as usize].expect("every constant is a parameter");
                    return Ok(self.builder.emit(Instr::Param(param, this.dtype.compute())).reg);
                }
                Op::Iota => {
                    let layout = self.layout(&Layout::contiguous(&this.shape), path)?;
                    return Ok(self.load(Source::Iota, node, layout));
                }
                _ => break,
            }
        }
        if let Some(&reg) = self.memo.get(&(node, path)) {
            return Ok(reg);
        }
        let this = &context.graph.nodes[node as usize];
        let mut args: SmallVec<[Reg; 3]> = SmallVec::new();
        for &operand in &this.operands {
            args.push(self.value(operand, path)?);
        }
        let args: SmallVec<[_; 3]> = args.into_iter().map(|reg| self.builder.value(reg)).collect();
        let result = match &this.op {
            Op::Elementwise(op) => op.lower(&args, this.dtype),
            Op::Cast => {
                let from = context.graph.nodes[this.operands[0] as usize].dtype;
                args[0].cast(from, this.dtype)
            }
            _ => return Err(Blocked(node)),
        };
        let reg = result.reg;
        self.names.push(this.op.name());
        self.memo.insert((node, path), reg);
        Ok(reg)
    }

    fn load(&mut self, source: Source, node: u32, layout: Layout) -> Reg {
        let dtype = self.context.graph.nodes[node as usize].dtype;
        let load = Load { source, dtype, layout };
        let index = self.loads.iter().position(|known| *known == load).unwrap_or_else(|| {
            self.loads.push(load);
            self.loads.len() - 1
        });
        self.builder.emit(Instr::Load(index as u16, dtype.compute())).reg
    }

    /// The part of the code that gets its own step: it has as many loads as one step may have.
    fn too_many_loads(&self, root: u32) -> Blocked {
        let mut loads: Vec<LoadSet> = Vec::with_capacity(self.builder.len());
        for reg in 0..self.builder.len() as Reg {
            let instr = self.builder.instr(reg);
            let mut set: LoadSet = smallvec![0; self.loads.len().div_ceil(64)];
            if let Instr::Load(index, _) = instr {
                set[index as usize / 64] |= 1 << (index % 64);
            }
            for argument in instr.arguments() {
                set.iter_mut().zip(&loads[argument as usize]).for_each(|(own, other)| *own |= other);
            }
            loads.push(set);
        }
        let count =
            |reg: Reg| loads[reg as usize].iter().map(|word| word.count_ones() as usize).sum::<usize>();
        let inner = self.memo.iter().filter(|((node, _), _)| *node != root);
        let fitting = inner.map(|(&(node, _), &reg)| (count(reg), node));
        let best = fitting.filter(|(loads, _)| *loads <= self.context.max_loads).max();
        Blocked(best.map_or(root, |(_, node)| node))
    }
}

/// The loads that a value depends on, as a bit set.
type LoadSet = SmallVec<[u64; 2]>;

/// Merges axes, in order: neighbours that every layout walks with a single stride become one.
pub(crate) fn collapse(shape: &mut wootz_ir::Shape, mut layouts: Vec<&mut Layout>) {
    let mut merged: Vec<(usize, Vec<isize>)> = Vec::new();
    for axis in 0..shape.rank() {
        let extent = shape[axis];
        if extent == 1 {
            continue;
        }
        let strides: Vec<isize> = layouts.iter().map(|l| l.strides[axis]).collect();
        match merged.last_mut() {
            Some((outer, steps)) if steps.iter().zip(&strides).all(|(&o, &s)| o == s * extent as isize) => {
                *outer *= extent;
                *steps = strides;
            }
            _ => merged.push((extent, strides)),
        }
    }
    *shape = merged.iter().map(|(extent, _)| *extent).collect();
    for (i, layout) in layouts.iter_mut().enumerate() {
        layout.shape = shape.clone();
        layout.strides = merged.iter().map(|(_, strides)| strides[i]).collect();
    }
}
