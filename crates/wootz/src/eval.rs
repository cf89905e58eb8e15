//! Evaluation: trace, find or make the program, run it, and give the nodes their values.

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

/// Computes several tensors in one batch, and waits for it. They must be on one device.
pub fn eval<'a>(tensors: impl IntoIterator<Item = &'a Tensor>) -> Result<()> {
    let tensors: SmallVec<[&Tensor; 4]> = tensors.into_iter().collect();
    if let Some(evaluation) = Evaluation::of(tensors.iter().copied())? {
        evaluation.run()?;
    }
    tensors.iter().try_for_each(|tensor| settle(tensor))
}

/// Computes one tensor, and waits for it.
pub(crate) fn eval_one(tensor: &Tensor) -> Result<()> {
    if !tensor.node.has_value()
        && let Some(evaluation) = Evaluation::of_one(tensor)?
    {
        evaluation.run()?;
    }
    settle(tensor)
}

/// Waits for what was started before and not waited for.
fn settle(tensor: &Tensor) -> Result<()> {
    let settle = |leaf: &Leaf| value_of(leaf).and_then(|value| value.wait());
    tensor.node.with_value(settle).unwrap_or(Ok(()))
}

/// Starts to compute several tensors in one batch and returns without waiting, where the device can work on its own. Reading
/// a value waits for it and reports what went wrong; more work on the same device need not wait.
pub fn eval_async<'a>(tensors: impl IntoIterator<Item = &'a Tensor>) -> Result<()> {
    Evaluation::of(tensors)?.map_or(Ok(()), Evaluation::start)
}

/// An evaluation in its parts, for callers that decide how to run it by how much work it is.
pub struct Evaluation {
    nodes: SmallVec<[NodeRef; 4]>,
    asked: Device,
    leaves: SmallVec<[Payload; 3]>,
    constants: SmallVec<[Number; 1]>,
    state: State,
}

enum State {
    /// The program is still to be found or made.
    Traced(Box<Trace>),
    /// There is a program.
    Prepared(Program),
}

impl Evaluation {
    /// Traces the tensors that have no value yet, which must be on one device; `None` if all have one, or if the only one that
    /// had none was so small that it was computed at once. A program that is in the cache is found here; nothing
    /// is planned yet.
    pub fn of<'a>(tensors: impl IntoIterator<Item = &'a Tensor>) -> Result<Option<Evaluation>> {
        let lazy: SmallVec<[&Tensor; 4]> = tensors.into_iter().filter(|t| !t.node.has_value()).collect();
        match &lazy[..] {
            [] => Ok(None),
            [tensor] => Evaluation::of_one(tensor),
            _ => Evaluation::traced(&lazy).map(Some),
        }
    }

    /// The same for one tensor that has no value.
    fn of_one(tensor: &Tensor) -> Result<Option<Evaluation>> {
        if small::run(tensor)? {
            return Ok(None);
        }
        Evaluation::of_nodes(tensor.device.clone(), smallvec![tensor.node.clone()]).map(Some)
    }

    /// Traces tensors, however small they are.
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

    /// Looks the program up.
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

    /// How many nodes are still to be planned; none once there is a plan.
    pub fn unplanned(&self) -> usize {
        match &self.state {
            State::Traced(trace) => trace.graph.nodes.len(),
            State::Prepared(_) => 0,
        }
    }

    /// Chooses the device and makes the program, where that is not done.
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

    /// The device that will run it, once that is known.
    pub fn device(&self) -> Option<&Device> {
        self.program().map(|program| &program.device)
    }

    /// Bytes touched plus operations done, once the plan is known.
    pub fn work(&self) -> Option<f64> {
        self.program().map(|program| program.work)
    }

    /// Runs it, waits, and gives the tensors their values.
    pub fn run(self) -> Result<()> {
        self.execute(true)
    }

    /// Starts it, and gives the tensors values that will be there when the run has ended.
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

/// What an evaluation would do: the device that would run it, and the plan.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The device.
    pub device: Device,
    /// Its plan.
    pub plan: Arc<Plan>,
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "on {}\n{}", self.device, self.plan.explain())
    }
}

/// The plan that [`eval`] would run for these tensors, and where.
pub fn explain<'a>(tensors: impl IntoIterator<Item = &'a Tensor>) -> Result<Explanation> {
    let tensors: Vec<&Tensor> = tensors.into_iter().collect();
    let Some(first) = tensors.first() else {
        return Err(Error::argument("explain", "no tensors were given"));
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
    /// What evaluating it would cost on a device that had all of its leaves, or why the device may not run it. Families that the
    /// device has not proven yet are proven now.
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
