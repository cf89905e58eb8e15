//! What is measured: each case as a function of tensors, as a NumPy expression, and as an amount of work.

use wootz::{DType, Device, Result, Tensor};

/// What a case moves or computes.
#[derive(Clone, Copy)]
pub enum Work {
    /// Bytes read and written at the least.
    Bytes(usize),
    /// Floating-point operations.
    Flops(usize),
    /// Nothing to speak of: the time is the engine's own.
    Overhead,
}

/// An input: uniform f32 in a range.
pub struct Input {
    pub shape: &'static [usize],
    pub low: f64,
    pub high: f64,
    pub seed: u64,
}

impl Input {
    pub fn tensor(&self, device: &Device) -> Result<Tensor> {
        let unit = Tensor::uniform(self.shape, self.seed, DType::F32)?;
        let tensor = unit.mul(self.high - self.low)?.add(self.low)?;
        tensor.eval()?;
        tensor.to_device(device)
    }
}

/// One thing to measure.
pub struct Case {
    pub name: &'static str,
    pub inputs: Vec<Input>,
    pub work: Work,
    pub run: fn(&[Tensor]) -> Result<Tensor>,
    /// The same over `x`, `y` in NumPy.
    pub numpy: &'static str,
}

fn input(shape: &'static [usize], seed: u64) -> Input {
    Input { shape, low: -1.0, high: 1.0, seed }
}

const LONG: &[usize] = &[10_000_000];
const SQUARE: &[usize] = &[4096, 4096];

fn vector(
    name: &'static str,
    operands: usize,
    work: Work,
    run: fn(&[Tensor]) -> Result<Tensor>,
    numpy: &'static str,
) -> Case {
    let inputs = (0..operands).map(|i| input(LONG, i as u64 + 1)).collect();
    Case { name, inputs, work, run, numpy }
}

/// A square product of a given size.
macro_rules! matmul {
    ($name:literal, $n:literal) => {
        Case {
            name: $name,
            inputs: vec![input(&[$n, $n], 1), input(&[$n, $n], 2)],
            work: Work::Flops(2 * $n * $n * $n),
            run: |t| t[0].matmul(&t[1]),
            numpy: "x @ y",
        }
    };
}

/// The suite: the speed list of the engine.
pub fn all() -> Vec<Case> {
    let n = LONG[0];
    let square = SQUARE[0] * SQUARE[1];
    vec![
        matmul!("matmul 256", 256),
        matmul!("matmul 512", 512),
        matmul!("matmul 1024", 1024),
        matmul!("matmul 2048", 2048),
        vector("add 10M", 2, Work::Bytes(12 * n), |t| t[0].add(&t[1]), "x + y"),
        vector("exp 10M", 1, Work::Bytes(8 * n), |t| t[0].exp(), "np.exp(x)"),
        vector("sum 10M", 1, Work::Bytes(4 * n), |t| t[0].sum(), "x.sum()"),
        vector("chain 10M", 2, Work::Bytes(12 * n), chain, "np.exp(-(x * x + y * y)) * x / (1 + np.abs(y))"),
        Case {
            name: "softmax 1024x4096",
            inputs: vec![input(&[1024, 4096], 1)],
            work: Work::Bytes(8 * 1024 * 4096),
            run: |t| t[0].softmax(-1),
            numpy: "(lambda e: e / e.sum(-1, keepdims=True))(np.exp(x - x.max(-1, keepdims=True)))",
        },
        Case {
            name: "sum axis 0 4096x4096",
            inputs: vec![input(SQUARE, 1)],
            work: Work::Bytes(4 * square),
            run: |t| t[0].sum_axes([0], false),
            numpy: "x.sum(0)",
        },
        Case {
            name: "sum axis 1 4096x4096",
            inputs: vec![input(SQUARE, 1)],
            work: Work::Bytes(4 * square),
            run: |t| t[0].sum_axes([1], false),
            numpy: "x.sum(1)",
        },
        Case {
            name: "ten ops on 16",
            inputs: vec![input(&[16], 1), input(&[16], 2)],
            work: Work::Overhead,
            run: ten_ops,
            numpy: "np.abs((np.maximum(((x + y) * x - y) / 2.0, x) + 1.0) * y - x) + y",
        },
    ]
}

fn chain(t: &[Tensor]) -> Result<Tensor> {
    let (x, y) = (&t[0], &t[1]);
    x.mul(x)?.add(y.mul(y)?)?.neg()?.exp()?.mul(x)?.div(y.abs()?.add(1.0)?)
}

fn ten_ops(t: &[Tensor]) -> Result<Tensor> {
    let (x, y) = (&t[0], &t[1]);
    let a = x.add(y)?.mul(x)?.sub(y)?.div(2.0)?.maximum(x)?;
    a.add(1.0)?.mul(y)?.sub(x)?.abs()?.add(y)
}
