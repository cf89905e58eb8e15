//! The elementwise code of one group, gathered into a program.

use crate::canonical::Canonical;
use crate::plan::{BufferId, Fused, Load, Source};
use rustc_hash::FxHashMap;
use wootz_ir::scalar::{Builder, Instr, Reg};
use wootz_ir::{Layout, Op, View};

/// A value in memory.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub buffer: BufferId,
    pub layout: Layout,
}

/// The code cannot be gathered before this node has a place in memory.
#[derive(Debug)]
pub(crate) struct Blocked(pub u32);

/// A node as seen from the group's iteration space: through these views, the innermost last.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
struct Path(Vec<(View, u32)>);

/// What the walk may rely on.
pub(crate) struct Context<'a> {
    pub graph: &'a Canonical,
    pub stored: &'a [Option<Stored>],
    pub params: &'a [Option<u16>],
    pub max_loads: usize,
}

pub(crate) struct Fuser<'a> {
    context: &'a Context<'a>,
    builder: Builder,
    loads: Vec<Load>,
    memo: FxHashMap<(u32, Path), Reg>,
    /// The structured node whose value is at hand.
    kernel: Option<u32>,
    pub names: Vec<&'static str>,
}

impl<'a> Fuser<'a> {
    pub fn new(context: &'a Context<'a>, kernel: Option<u32>) -> Fuser<'a> {
        Fuser {
            context,
            builder: Builder::new(),
            loads: Vec::new(),
            memo: FxHashMap::default(),
            kernel,
            names: Vec::new(),
        }
    }

    /// The value of `root` seen through `views` (outermost first), as fused code.
    pub fn fuse(mut self, root: u32, views: &[View]) -> Result<(Fused, Vec<&'static str>), Blocked> {
        let path = Path(views.iter().map(|v| (v.clone(), root)).collect());
        let shape = views
            .iter()
            .rev()
            .fold(self.context.graph.nodes[root as usize].shape.clone(), |s, v| v.shape(&s));
        let result = self.value(root, path)?;
        if self.loads.len() > self.context.max_loads {
            return Err(self.too_many_loads(root));
        }
        let program = self.builder.finish(vec![result]);
        Ok((Fused { shape, loads: self.loads, program }, self.names))
    }

    /// Recursion is bounded by the number of ops in a group.
    fn value(&mut self, mut node: u32, mut path: Path) -> Result<Reg, Blocked> {
        loop {
            if self.kernel == Some(node) {
                let shape = &self.context.graph.nodes[node as usize].shape;
                let reg = self.load(Source::Kernel, node, Layout::contiguous(shape));
                // As if the value had been stored and read back.
                return Ok(self.builder.value(reg).narrow(self.context.graph.nodes[node as usize].dtype).reg);
            }
            if let Some(stored) = &self.context.stored[node as usize] {
                let layout = through(&stored.layout, &path)?;
                return Ok(self.load(Source::Buffer(stored.buffer), node, layout));
            }
            let this = &self.context.graph.nodes[node as usize];
            match &this.op {
                Op::View(view) => {
                    path.0.push((view.clone(), this.operands[0]));
                    node = this.operands[0];
                }
                Op::Constant => {
                    let param = self.context.params[node as usize].expect("every constant is a parameter");
                    return Ok(self.builder.emit(Instr::Param(param, this.dtype.compute())).reg);
                }
                Op::Iota => {
                    let layout = through(&Layout::contiguous(&this.shape), &path)?;
                    return Ok(self.load(Source::Iota, node, layout));
                }
                _ => break,
            }
        }
        if let Some(&reg) = self.memo.get(&(node, path.clone())) {
            return Ok(reg);
        }
        let this = &self.context.graph.nodes[node as usize];
        let mut args = Vec::with_capacity(this.operands.len());
        for &operand in &this.operands {
            args.push(self.value(operand, path.clone())?);
        }
        let args: Vec<_> = args.into_iter().map(|reg| self.builder.value(reg)).collect();
        let result = match &this.op {
            Op::Elementwise(op) => op.lower(&args, this.dtype),
            Op::Cast => {
                let from = self.context.graph.nodes[this.operands[0] as usize].dtype;
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

    /// The largest piece of code inside the group to be given a step of its own.
    fn too_many_loads(&self, root: u32) -> Blocked {
        let inner = self.memo.keys().filter(|(node, _)| *node != root).map(|(node, _)| *node).max();
        Blocked(inner.unwrap_or(root))
    }
}

/// The layout of a stored value seen through a path.
fn through(layout: &Layout, path: &Path) -> Result<Layout, Blocked> {
    let mut layout = layout.clone();
    for (view, source) in path.0.iter().rev() {
        layout = layout.view(view).ok_or(Blocked(*source))?;
    }
    Ok(layout)
}

/// Fewer axes, same order: neighbours that every layout walks with one stride become one axis.
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
