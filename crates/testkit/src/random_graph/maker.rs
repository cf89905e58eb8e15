//! Steps of random graphs.

use std::sync::Arc;
use wootz_conformance::Random;
use wootz_ir::build;
use wootz_ir::graph::{Node, NodeRef};
use wootz_ir::op::{ArgOp, Axes, ReduceOp, ScanOp};
use wootz_ir::{DType, ElementwiseOp, Result, Shape, Span};

/// The nodes so far, and the numbers that decide what comes next.
pub struct Maker {
    pub random: Random,
    pub floats: Vec<NodeRef>,
    pub integers: Vec<NodeRef>,
}

fn apply(op: ElementwiseOp, operands: &[&NodeRef]) -> Result<NodeRef> {
    build::elementwise(op, operands)
}

/// `x·factor`.
fn scaled(x: &NodeRef, factor: f64) -> Result<NodeRef> {
    apply(ElementwiseOp::Mul, &[x, &Node::constant(factor.into(), x.dtype())])
}

fn constant(value: i64) -> NodeRef {
    Node::constant(value.into(), DType::I32)
}

/// The largest number of elements that a step may leave; more is sliced off.
const LIMIT: usize = 96;

impl Maker {
    /// A node of a pool: a late one, for depth; the oldest that nothing uses yet, so that little is left out; or any.
    fn pick(&mut self, float: bool) -> NodeRef {
        let pool = if float { &self.floats } else { &self.integers };
        let n = pool.len();
        let at = match self.random.below(3) {
            0 => n - 1 - self.random.below(n.min(4)),
            1 => pool.iter().position(|node| Arc::strong_count(node) == 1).unwrap_or(n - 1),
            _ => self.random.below(n),
        };
        pool[at].clone()
    }

    /// What nothing uses yet, combined into one node, so that all of the graph counts.
    pub fn gathered(&self, float: bool) -> Result<NodeRef> {
        let pool = if float { &self.floats } else { &self.integers };
        let mut all = pool[0].clone();
        for node in pool.iter().filter(|node| Arc::strong_count(node) == 1) {
            let node = fit(node, all.shape())?;
            all = match float {
                true => scaled(&apply(ElementwiseOp::Add, &[&all, &node])?, 0.5)?,
                false => apply(ElementwiseOp::BitwiseXor, &[&all, &node])?,
            };
        }
        Ok(all)
    }

    fn keep(&mut self, node: NodeRef) -> Result<()> {
        let count = node.shape().count();
        let node = if count <= LIMIT {
            node
        } else {
            build::slice(
                &build::reshape(&node, &[count].into())?,
                &[Span { start: 1, step: 1, len: LIMIT - 1 }],
            )?
        };
        if node.dtype().is_float() {
            self.floats.push(node)
        } else {
            self.integers.push(node)
        }
        Ok(())
    }

    /// Adds one node.
    pub fn step(&mut self) -> Result<()> {
        let node = match self.random.below(16) {
            0..=3 => self.float_unary()?,
            4..=6 => self.float_binary()?,
            7 => self.float_reduction()?,
            8 => self.rows()?,
            9 => self.product()?,
            10 => self.lookup()?,
            11 => self.mixed()?,
            12 | 13 => self.integer()?,
            14 => self.integer_rows()?,
            _ => {
                let float = self.random.once_in(2);
                self.movement(float)?
            }
        };
        self.keep(node)
    }

    fn float_unary(&mut self) -> Result<NodeRef> {
        use ElementwiseOp::*;
        let x = self.pick(true);
        let op = self.random.pick(&[
            Tanh, Sin, Cos, Sigmoid, Relu, Abs, Neg, Atan, Asinh, Erf, Silu, Gelu, GeluTanh, Softplus, Log1p,
            Exp, Sqrt, Rsqrt, Square, Reciprocal,
        ]);
        let one = Node::constant(1.0.into(), x.dtype());
        match op {
            Erf | Silu | Gelu | GeluTanh | Softplus => scaled(&apply(op, &[&x])?, 0.8),
            Log1p => apply(op, &[&apply(Abs, &[&x])?]),
            Exp => apply(op, &[&apply(Neg, &[&apply(Abs, &[&x])?])?]),
            Sqrt => scaled(&apply(op, &[&apply(Add, &[&apply(Square, &[&x])?, &one])?])?, 0.8),
            Rsqrt => apply(op, &[&apply(Add, &[&apply(Square, &[&x])?, &one])?]),
            Reciprocal => apply(op, &[&apply(Add, &[&apply(Abs, &[&x])?, &one])?]),
            Square => scaled(&apply(op, &[&x])?, 0.25),
            _ => apply(op, &[&x]),
        }
    }

    fn float_binary(&mut self) -> Result<NodeRef> {
        use ElementwiseOp::*;
        let a = self.pick(true);
        let b = self.pick(true);
        let b = fit(&b, a.shape())?;
        match self.random.below(7) {
            0 => scaled(&apply(Add, &[&a, &b])?, 0.5),
            1 => scaled(&apply(Sub, &[&a, &b])?, 0.5),
            2 => scaled(&apply(Mul, &[&a, &b])?, 0.25),
            3 => apply(Maximum, &[&a, &b]),
            4 => apply(Minimum, &[&a, &b]),
            5 => scaled(&apply(Hypot, &[&a, &b])?, 0.5),
            // Broadcast along one axis.
            _ if a.shape().count() > 0 && a.shape().rank() > 0 => {
                let axis = self.random.below(a.shape().rank());
                let row = build::reduce(ReduceOp::Max, &b, [axis].into_iter().collect(), true)?;
                scaled(&apply(Sub, &[&a, &row])?, 0.5)
            }
            _ => scaled(&apply(Add, &[&a, &b])?, 0.5),
        }
    }

    fn axes(&mut self, x: &NodeRef) -> Axes {
        (0..x.shape().rank()).filter(|_| self.random.once_in(2)).collect()
    }

    fn float_reduction(&mut self) -> Result<NodeRef> {
        let x = self.pick(true);
        let axes = self.axes(&x);
        let keep = self.random.once_in(2);
        let terms: usize = axes.iter().map(|axis| x.shape()[axis]).product();
        // Nothing has no greatest element.
        match self.random.below(3) {
            0 | 1 if terms == 0 => scaled(&build::reduce(ReduceOp::Sum, &x, axes, keep)?, 0.5),
            0 => build::reduce(ReduceOp::Max, &x, axes, keep),
            1 => build::reduce(ReduceOp::Min, &x, axes, keep),
            _ => scaled(&build::reduce(ReduceOp::Sum, &x, axes, keep)?, 1.0 / terms.max(1) as f64),
        }
    }

    /// Softmax, norms, running means.
    fn rows(&mut self) -> Result<NodeRef> {
        let x = self.pick(true);
        if x.shape().rank() == 0 {
            return apply(ElementwiseOp::Tanh, &[&x]);
        }
        let axis = self.random.below(x.shape().rank());
        match self.random.below(5) {
            0 => build::softmax(&x, axis as isize, false),
            1 => scaled(&build::softmax(&x, axis as isize, true)?, 0.2),
            2 => build::rms_norm(&x, None, 1.0),
            3 => scaled(&build::layer_norm(&x, None, None, 1.0)?, 0.5),
            _ => scaled(&build::scan(ScanOp::Sum, &x, axis as isize)?, 1.0 / x.shape()[axis].max(1) as f64),
        }
    }

    fn product(&mut self) -> Result<NodeRef> {
        let [m, k, n] = [0; 3].map(|_| self.random.below(8));
        let a = self.pick(true);
        let b = self.pick(true);
        let a = fit(&a, &[m, k].into())?;
        let b = build::permute(&fit(&b, &[n, k].into())?, &[1, 0])?;
        scaled(&build::matmul(&a, &b)?, 0.25 / k.max(1) as f64)
    }

    /// Rows by position, the positions being computed.
    fn lookup(&mut self) -> Result<NodeRef> {
        let x = self.pick(true);
        let positions = self.pick(false);
        if x.shape().rank() == 0 {
            return apply(ElementwiseOp::Neg, &[&x]);
        }
        let axis = self.random.below(x.shape().rank());
        if x.shape()[axis] == 0 {
            return apply(ElementwiseOp::Neg, &[&x]);
        }
        let extent = constant(x.shape()[axis] as i64);
        let positions = fit(&positions, &[3].into())?;
        build::take(&x, &apply(ElementwiseOp::Remainder, &[&positions, &extent])?, axis as isize)
    }

    /// Integers into floats: as small numbers, or as a choice.
    fn mixed(&mut self) -> Result<NodeRef> {
        let whole = self.pick(false);
        if self.random.once_in(2) {
            let small = apply(ElementwiseOp::Remainder, &[&whole, &constant(16)])?;
            return scaled(&build::cast(&small, DType::F32), 0.125);
        }
        let a = self.pick(true);
        let b = self.pick(true);
        let b = fit(&b, a.shape())?;
        let choice = apply(ElementwiseOp::Less, &[&fit(&whole, a.shape())?, &constant(0)])?;
        apply(ElementwiseOp::Where, &[&choice, &a, &b])
    }

    fn integer(&mut self) -> Result<NodeRef> {
        use ElementwiseOp::*;
        let a = self.pick(false);
        let b = self.pick(false);
        let b = fit(&b, a.shape())?;
        match self.random.below(10) {
            0 => apply(FloorDivide, &[&a, &constant(3)]),
            1 => apply(Remainder, &[&a, &constant(-7)]),
            2 => apply(ShiftRight, &[&a, &constant(2)]),
            3 => Ok(build::cast(&apply(LessEqual, &[&a, &b])?, DType::I32)),
            4 => Ok(build::cast(&build::cast(&a, DType::U8), DType::I32)),
            _ => {
                let op = self.random.pick(&[Add, Sub, Mul, BitwiseXor, BitwiseAnd, Maximum, Minimum]);
                apply(op, &[&a, &b])
            }
        }
    }

    /// Sorting, positions, sums and running sums of integers, which are 64 bits wide.
    fn integer_rows(&mut self) -> Result<NodeRef> {
        let x = self.pick(false);
        if x.shape().rank() == 0 {
            return apply(ElementwiseOp::Abs, &[&x]);
        }
        let axis = self.random.below(x.shape().rank()) as isize;
        let falling = self.random.once_in(2);
        let axes = self.axes(&x);
        let node = match self.random.below(5) {
            0 => build::sort(&x, axis, falling, None)?,
            1 => build::argsort(&x, axis, falling, None)?,
            2 if x.shape()[axis as usize] == 0 => build::scan(ScanOp::Prod, &x, axis)?,
            2 => build::arg_reduce(if falling { ArgOp::Max } else { ArgOp::Min }, &x, axis)?,
            3 => build::scan(ScanOp::Sum, &x, axis)?,
            _ => build::reduce(ReduceOp::Sum, &x, axes, falling)?,
        };
        Ok(build::cast(&node, DType::I32))
    }

    fn movement(&mut self, float: bool) -> Result<NodeRef> {
        let x = self.pick(float);
        let rank = x.shape().rank();
        if rank == 0 {
            return build::expand("expand", &x, &[2, 3].into());
        }
        match self.random.below(6) {
            0 => {
                let mut axes: Vec<usize> = (0..rank).collect();
                axes.rotate_left(self.random.below(rank));
                axes.reverse();
                build::permute(&x, &axes)
            }
            1 => {
                let spans: Vec<Span> = x.shape().iter().map(|&extent| self.span(extent)).collect();
                build::slice(&x, &spans)
            }
            2 => {
                let count = x.shape().count();
                let divisor = (2..=4).find(|d| count > 0 && count.is_multiple_of(*d)).unwrap_or(1);
                build::reshape(&x, &[divisor, count / divisor].into())
            }
            3 => build::concat(&[x.clone(), self.pick_like(&x, float)?], self.random.below(rank) as isize),
            4 if x.shape()[rank - 1] > 0 => {
                let row = build::reduce(ReduceOp::Max, &x, [rank - 1].into_iter().collect(), true)?;
                build::expand("expand", &row, x.shape())
            }
            _ => {
                let spans: Vec<Span> = x.shape().iter().map(|&extent| self.span(extent)).collect();
                let shape: Shape = spans.iter().map(|span| span.len).collect();
                let part = self.pick(float);
                build::update_slice(&x, &spans, &fit(&part, &shape)?)
            }
        }
    }

    fn pick_like(&mut self, x: &NodeRef, float: bool) -> Result<NodeRef> {
        let other = self.pick(float);
        fit(&other, x.shape())
    }

    /// A part of an axis, forwards or backwards.
    fn span(&mut self, extent: usize) -> Span {
        match self.random.below(5) {
            0 if extent > 0 => Span { start: extent - 1, step: -1, len: extent },
            1 if extent > 2 => Span { start: 1, step: 1, len: extent - 1 },
            2 if extent > 3 => Span { start: 0, step: 2, len: extent / 2 },
            3 if self.random.once_in(4) => Span { start: 0, step: 1, len: 0 },
            _ => Span::all(extent),
        }
    }
}

/// Elements of `x` under another shape: the first ones, or its maximum repeated, or zeros if it has none.
fn fit(x: &NodeRef, shape: &Shape) -> Result<NodeRef> {
    let (have, want) = (x.shape().count(), shape.count());
    if x.shape() == shape {
        return Ok(x.clone());
    }
    if have >= want {
        let flat = build::reshape(x, &[have].into())?;
        return build::reshape(
            &build::slice(&flat, &[Span { start: have - want, step: 1, len: want }])?,
            shape,
        );
    }
    if have == 0 {
        return build::full(shape, 0.into(), x.dtype());
    }
    let most = build::reduce(ReduceOp::Max, x, (0..x.shape().rank()).collect(), false)?;
    build::expand("fit", &most, shape)
}
