//! What is measured, as data: each case names its work and says how to get ready on a device.

mod core;
mod llm;
mod memory;
mod overhead;

use serde_json::Value;
use wootz::{DType, Device, Tensor};
use wootz_report::Arithmetic;

/// Any error, reported to the user.
pub type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// A group of cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Suite {
    /// Kernels: elementwise, reductions, norms, products, attention, sort
    Core,
    /// Tiny graphs: the overhead of the engine itself
    Overhead,
    /// Device memory used by evaluation
    Memory,
    /// Language models: prefill and decode
    Llm,
    /// Language models next to busy processes; not part of the default
    Load,
    /// Collectives, and models over the ranks of an MPI launcher (mpirun -n 2 wootz bench …)
    Distributed,
    /// Array programs in Python (WOOTZ_PYTHON, with the modules wootz and numpy) beside NumPy
    Everyday,
}

impl Suite {
    pub fn name(self) -> &'static str {
        match self {
            Suite::Core => "core",
            Suite::Overhead => "overhead",
            Suite::Memory => "memory",
            Suite::Llm => "llm",
            Suite::Load => "load",
            Suite::Distributed => "distributed",
            Suite::Everyday => "everyday",
        }
    }
}

/// A benchmark case.
pub struct Case {
    pub suite: Suite,
    /// The family of kernels.
    pub family: &'static str,
    pub name: String,
    /// Its name for peers.
    pub op: &'static str,
    pub work: Work,
    /// Number of busy processes next to it.
    pub neighbours: usize,
    pub prepare: Box<Prepare>,
}

/// Creates inputs on a device and a function to time.
pub type Prepare = dyn Fn(&Device) -> Fallible<Ready>;

/// The work of one execution.
#[derive(Clone, Copy, Default)]
pub struct Work {
    /// Minimum number of bytes read and written.
    pub bytes: f64,
    /// The bytes written.
    pub written: f64,
    /// The working set, if some bytes are touched more than once; otherwise 0.
    pub working_set: f64,
    /// The type of arithmetic.
    pub arithmetic: Arithmetic,
    /// Arithmetic operations of the definition.
    pub flops: f64,
    /// Tokens of a language model.
    pub tokens: Option<f64>,
    /// Bytes of inputs and outputs, in the memory suite.
    pub least_memory: Option<u64>,
}

/// A case that is ready to run on a device.
pub struct Ready {
    /// The inputs for peers.
    pub inputs: Vec<Tensor>,
    /// Other parameters for peers.
    pub extra: Value,
    /// Runs one execution.
    pub run: Box<dyn FnMut() -> Fallible<()>>,
}

/// The cases of some suites; `models` are for the llm suite.
pub fn of(suites: &[Suite], models: &[llm::ModelFile]) -> Vec<Case> {
    let mut cases = Vec::new();
    for suite in suites {
        match suite {
            Suite::Core => cases.extend(core::cases()),
            Suite::Overhead => cases.extend(overhead::cases()),
            Suite::Memory => cases.extend(memory::cases()),
            Suite::Llm => cases.extend(llm::cases(models)),
            Suite::Load => cases.extend(llm::beside_neighbours(models)),
            // These are no cases of the runner: see `distributed.rs` and `everyday.rs`.
            Suite::Distributed | Suite::Everyday => {}
        }
    }
    cases
}

pub use llm::find_models;

/// An input: uniform numbers in −1…1.
#[derive(Clone)]
struct Input {
    shape: Vec<usize>,
    dtype: DType,
    seed: u64,
}

fn input(shape: impl Into<Vec<usize>>, seed: u64) -> Input {
    Input { shape: shape.into(), dtype: DType::F32, seed }
}

impl Input {
    fn of(self, dtype: DType) -> Input {
        Input { dtype, ..self }
    }

    fn tensor(&self, device: &Device) -> wootz::Result<Tensor> {
        let unit = Tensor::uniform(self.shape.as_slice(), self.seed, DType::F32)?;
        let tensor = unit.mul(2.0)?.add(-1.0)?.cast(self.dtype)?;
        tensor.eval()?;
        tensor.to_device(device)
    }
}

/// A case that evaluates a graph over inputs.
fn graph(
    (suite, family, op): (Suite, &'static str, &'static str),
    name: impl Into<String>,
    work: Work,
    inputs: Vec<Input>,
    run: impl Fn(&[Tensor]) -> wootz::Result<Tensor> + Clone + 'static,
) -> Case {
    let prepare = move |device: &Device| -> Fallible<Ready> {
        let inputs: Vec<Tensor> = inputs.iter().map(|i| i.tensor(device)).collect::<wootz::Result<_>>()?;
        Ok(evaluating(inputs, run.clone()))
    };
    Case { suite, family, name: name.into(), op, work, neighbours: 0, prepare: Box::new(prepare) }
}

/// A function of tensors, ready to be evaluated repeatedly.
fn evaluating(inputs: Vec<Tensor>, run: impl Fn(&[Tensor]) -> wootz::Result<Tensor> + 'static) -> Ready {
    let own = inputs.clone();
    let run = move || -> Fallible<()> {
        run(&own)?.eval()?;
        Ok(())
    };
    Ready { inputs, extra: Value::Null, run: Box::new(run) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_work_is_counted() {
        let cases = of(&[Suite::Core, Suite::Overhead, Suite::Memory], &[]);
        for (i, case) in cases.iter().enumerate() {
            assert!(cases[..i].iter().all(|other| other.name != case.name), "{} twice", case.name);
            assert!(case.suite != Suite::Core || case.work.bytes > 0.0, "{} moves no bytes", case.name);
            assert_eq!(case.work.least_memory.is_some(), case.suite == Suite::Memory, "{}", case.name);
        }
    }
}
