//! Evaluation: trace the graph, find or create the program, run it, and assign the results to the nodes.

use crate::device::Device;
use crate::dispatch::{self, Quote};
use crate::program::{Program, Residence};
use crate::small;
use crate::standing::OnProgress;
use crate::tensor::Tensor;
use crate::value::value_of;
use smallvec::{SmallVec, smallvec};
use std::fmt;
use std::sync::Arc;
use wootz_ir::flat::Found;
use wootz_ir::graph::{Leaf, NodeRef, Payload, Trace};
use wootz_ir::{Error, Number, Result};
use wootz_plan::Plan;

/// Evaluates several tensors in one batch, and waits. They must be on the same device.
pub fn eval<'a>(tensors: impl IntoIterator<Item = &'a Tensor>) -> Result<()> {
    let tensors: SmallVec<[&Tensor; 4]> = tensors.into_iter().collect();
    if let Some(evaluation) = Evaluation::of(tensors.iter().copied())? {
        evaluation.run()?;
    }
    tensors.iter().try_for_each(|tensor| settle(tensor))
}

/// Evaluates a tensor, and waits.
pub(crate) fn eval_one(tensor: &Tensor) -> Result<()> {
    if !tensor.node.has_value()
        && let Some(evaluation) = Evaluation::of_one(tensor)?
    {
        evaluation.run()?;
    }
    settle(tensor)
}

/// Waits for evaluations that were started earlier.
fn settle(tensor: &Tensor) -> Result<()> {
    let settle = |leaf: &Leaf| value_of(leaf).and_then(|value| value.wait());
    tensor.node.with_value(settle).unwrap_or(Ok(()))
}

/// Starts to evaluate several tensors in one batch and returns without waiting, if the device is asynchronous.
/// Reading a value waits for it and reports any error; more work on the same device need not wait.
pub fn eval_async<'a>(tensors: impl IntoIterator<Item = &'a Tensor>) -> Result<()> {
    Evaluation::of(tensors)?.map_or(Ok(()), Evaluation::start)
}

/// An evaluation in stages, for callers that decide how to run it depending on its amount of work.
pub struct Evaluation {
    nodes: SmallVec<[NodeRef; 4]>,
    asked: Device,
    leaves: SmallVec<[Payload; 3]>,
    constants: SmallVec<[Number; 1]>,
    state: State,
}

enum State {
    /// The program has not been found or created yet.
    Traced(Box<Trace>),
    /// The program.
    Prepared(Program),
}

impl Evaluation {
    /// Traces the tensors without a value, which must be on one device; `None` if all have one, or if the only one
    /// without was small enough to be computed immediately. A cached program is found here; nothing is planned yet.
    pub fn of<'a>(tensors: impl IntoIterator<Item = &'a Tensor>) -> Result<Option<Evaluation>> {
        let lazy: SmallVec<[&Tensor; 4]> = tensors.into_iter().filter(|t| !t.node.has_value()).collect();
        match &lazy[..] {
            [] => Ok(None),
            [tensor] => Evaluation::of_one(tensor),
            _ => Evaluation::traced(&lazy).map(Some),
        }
    }

    /// The same for a single tensor without a value.
    fn of_one(tensor: &Tensor) -> Result<Option<Evaluation>> {
        if small::run(tensor)? {
            return Ok(None);
        }
        Evaluation::of_nodes(tensor.device.clone(), smallvec![tensor.node.clone()]).map(Some)
    }

    /// Traces tensors, even if they are small.
    pub(crate) fn traced(tensors: &[&Tensor]) -> Result<Evaluation> {
        let asked = tensors[0].device.clone();
        tensors.iter().try_for_each(|tensor| check_devices(&asked, tensor))?;
        Evaluation::of_nodes(asked, tensors.iter().map(|tensor| tensor.node.clone()).collect())
    }

    fn of_nodes(asked: Device, nodes: SmallVec<[NodeRef; 4]>) -> Result<Evaluation> {
        if let [node] = &nodes[..]
            && let Some(Found { value, leaves, constants }) = asked.programs().find_flat(&asked, node)
        {
            let state = State::Prepared(value);
            return Ok(Evaluation { nodes, asked, leaves, constants, state });
        }
        let trace = Trace::of(&nodes);
        let leaves = trace.leaves.iter().map(|leaf| leaf.payload.clone()).collect();
        let constants = trace.constants.iter().copied().collect();
        let mut evaluation =
            Evaluation { nodes, asked, leaves, constants, state: State::Traced(Box::new(trace)) };
        evaluation.find()?;
        Ok(evaluation)
    }

    /// Looks up the program in the cache.
    fn find(&mut self) -> Result<()> {
        let State::Traced(trace) = &self.state else { return Ok(()) };
        if let Some(program) = Program::find(&self.asked, &trace.graph, &self.residences()?) {
            self.settle(program);
        }
        Ok(())
    }

    fn residences(&self) -> Result<Vec<Residence>> {
        Residence::list(&self.asked, &self.leaves)
    }

    fn settle(&mut self, program: Program) {
        if let [node] = &self.nodes[..] {
            self.asked.programs().remember_flat(&self.asked, node, &self.leaves, &program);
        }
        self.state = State::Prepared(program);
    }

    /// The number of nodes still to be planned; 0 once there is a plan.
    pub fn unplanned(&self) -> usize {
        match &self.state {
            State::Traced(trace) => trace.graph.nodes.len(),
            State::Prepared(_) => 0,
        }
    }

    /// Chooses the device and creates the program, if that has not been done.
    pub fn prepare(&mut self) -> Result<()> {
        if let State::Traced(trace) = &self.state {
            let program = Program::of(&self.asked, &trace.graph, &self.residences()?)?;
            self.settle(program);
        }
        Ok(())
    }

    fn program(&self) -> Option<&Program> {
        match &self.state {
            State::Prepared(program) => Some(program),
            State::Traced(_) => None,
        }
    }

    /// The device that will run it, once it has been chosen.
    pub fn device(&self) -> Option<&Device> {
        self.program().map(|program| &program.device)
    }

    /// Amount of work, in bytes touched plus operations, once the plan exists.
    pub fn work(&self) -> Option<f64> {
        self.program().map(|program| program.work)
    }

    /// Runs it, waits, and assigns the values to the tensors.
    pub fn run(self) -> Result<()> {
        self.execute(true)
    }

    /// Starts it, and assigns values that become available when the run ends.
    pub fn start(self) -> Result<()> {
        self.execute(false)
    }

    fn execute(mut self, wait: bool) -> Result<()> {
        self.prepare()?;
        let Some(program) = self.program() else { return Ok(()) };
        let mut nodes = self.nodes.iter();
        let take = |leaf| nodes.next().expect("a plan has an output for each node asked for").fulfil(leaf);
        let (leaves, constants) = (self.leaves.iter(), &self.constants);
        if wait { program.run(leaves, constants, take) } else { program.start(leaves, constants, take) }
    }
}

/// The outcome of planning an evaluation: the device and the plan.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The device.
    pub device: Device,
    /// The plan.
    pub plan: Arc<Plan>,
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "on {}\n{}", self.device, self.plan.explain())
    }
}

/// The plan that [`eval`] would run for these tensors, and its device.
pub fn explain<'a>(tensors: impl IntoIterator<Item = &'a Tensor>) -> Result<Explanation> {
    let tensors: Vec<&Tensor> = tensors.into_iter().collect();
    let Some(first) = tensors.first() else {
        return Err(Error::argument("explain", "expected at least one tensor"));
    };
    tensors.iter().try_for_each(|t| check_devices(&first.device, t))?;
    let nodes: Vec<NodeRef> = tensors.iter().map(|t| t.node.clone()).collect();
    explain_nodes(&first.device, &nodes)
}

/// The plan of nodes on a device.
pub(crate) fn explain_nodes(asked: &Device, nodes: &[NodeRef]) -> Result<Explanation> {
    let trace = Trace::of(nodes);
    let residences = Residence::list(asked, trace.leaves.iter().map(|leaf| &leaf.payload))?;
    let (device, plan) = Program::plan(asked, &trace.graph, &residences)?;
    Ok(Explanation { device, plan })
}

impl Tensor {
    /// The cost of evaluating it on a device that has all of its leaves, or why the device cannot run it. Families
    /// that have not been validated on the device are validated now.
    pub fn quote(
        &self,
        device: &Device,
        on_progress: &mut OnProgress<'_>,
    ) -> std::result::Result<Quote, String> {
        let trace = Trace::of(std::slice::from_ref(&self.node));
        dispatch::quote(device, &trace.graph, 0, on_progress)
    }
}

fn check_devices(device: &Device, tensor: &Tensor) -> Result<()> {
    if tensor.device == *device {
        return Ok(());
    }
    let (a, b) = (device.name().into(), tensor.device.name().into());
    Err(Error::DeviceMismatch { op: "eval", a, b })
}
