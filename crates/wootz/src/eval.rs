//! Evaluation: trace, plan (or find the plan), submit, and give the nodes their values.

use crate::device::Device;
use crate::dispatch::flops;
use crate::tensor::Tensor;
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};
use wootz_backend::{Buffer, Executable, Run};
use wootz_ir::flat::FlatMap;
use wootz_ir::graph::{Graph, Leaf, NodeRef, Payload, Trace};
use wootz_ir::{Error, Number, Result};
use wootz_plan::{Place, Plan};

/// A tensor's elements on a device.
#[derive(Clone)]
pub(crate) struct Value {
    pub device: Device,
    pub buffer: Buffer,
}

/// The value inside a leaf. While a function is being compiled, its arguments have none.
pub(crate) fn value_of(leaf: &Leaf) -> Result<&Value> {
    value_in(&leaf.payload)
}

fn value_in(payload: &Payload) -> Result<&Value> {
    payload.downcast_ref().ok_or_else(|| {
        Error::argument(
            "eval",
            "a value was asked for while a function is compiled; its arguments have none yet",
        )
    })
}

/// Computes several tensors in one batch. They must be on one device.
pub fn eval<'a>(tensors: impl IntoIterator<Item = &'a Tensor>) -> Result<()> {
    Evaluation::of(tensors)?.map_or(Ok(()), Evaluation::run)
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
    /// The plan is still to be found or made.
    Traced(Box<Trace>),
    /// There is a plan.
    Ready(Ready),
}

/// A plan on the device that runs it.
#[derive(Clone)]
struct Ready {
    device: Device,
    executable: Arc<dyn Executable>,
    work: f64,
}

impl Ready {
    fn new(device: Device, executable: Arc<dyn Executable>) -> Ready {
        let work = work_of(executable.plan());
        Ready { device, executable, work }
    }
}

/// Bytes touched plus operations of products.
pub(crate) fn work_of(plan: &Plan) -> f64 {
    plan.steps.iter().map(|step| plan.step_bytes(step) as f64 + flops(step)).sum()
}

impl Evaluation {
    /// Traces the tensors that have no value yet, which must be on one device; `None` if all have one. A plan that is in
    /// the cache is found here; nothing is planned yet.
    pub fn of<'a>(tensors: impl IntoIterator<Item = &'a Tensor>) -> Result<Option<Evaluation>> {
        let mut nodes: SmallVec<[NodeRef; 4]> = SmallVec::new();
        let mut asked: Option<Device> = None;
        for tensor in tensors.into_iter().filter(|t| !t.node.has_value()) {
            match &asked {
                None => asked = Some(tensor.device.clone()),
                Some(device) => check_devices(device, tensor)?,
            }
            nodes.push(tensor.node.clone());
        }
        let Some(asked) = asked else { return Ok(None) };
        if let [node] = &nodes[..]
            && !asked.is_auto()
            && let Some((leaves, constants, ready)) = asked.cache().find_flat(&asked, node)
        {
            return Ok(Some(Evaluation { nodes, asked, leaves, constants, state: State::Ready(ready) }));
        }
        let trace = Trace::of(&nodes);
        let leaves = trace.leaves.iter().map(|leaf| leaf.payload.clone()).collect();
        let constants = trace.constants.iter().copied().collect();
        let known = if asked.is_auto() { None } else { asked.cache().find(&trace.graph) };
        let state = match known {
            Some(executable) => {
                let ready = Ready::new(asked.clone(), executable);
                asked.cache().remember_flat(&nodes, &ready);
                State::Ready(ready)
            }
            None => State::Traced(Box::new(trace)),
        };
        Ok(Some(Evaluation { nodes, asked, leaves, constants, state }))
    }

    /// Chooses the device and makes the plan, where that is not done.
    pub fn prepare(&mut self) -> Result<()> {
        self.ready().map(|_| ())
    }

    fn ready(&mut self) -> Result<&Ready> {
        if let State::Traced(trace) = &self.state {
            let device = self.asked.for_graph(trace)?;
            check_dtypes(&trace.graph, &device)?;
            let executable = device.cache().executable(&device, &trace.graph)?;
            let ready = Ready::new(device, executable);
            if !self.asked.is_auto() {
                ready.device.cache().remember_flat(&self.nodes, &ready);
            }
            self.state = State::Ready(ready);
        }
        match &self.state {
            State::Ready(ready) => Ok(ready),
            State::Traced(_) => unreachable!("just made ready"),
        }
    }

    /// The device that will run it, once that is known.
    pub fn device(&self) -> Option<&Device> {
        match &self.state {
            State::Ready(ready) => Some(&ready.device),
            State::Traced(_) => None,
        }
    }

    /// Bytes touched plus operations of products, once the plan is known.
    pub fn work(&self) -> Option<f64> {
        match &self.state {
            State::Ready(ready) => Some(ready.work),
            State::Traced(_) => None,
        }
    }

    /// Runs it, and gives the tensors their values.
    pub fn run(mut self) -> Result<()> {
        self.prepare()?;
        let (nodes, leaves, constants) = (&self.nodes, &self.leaves, &self.constants);
        if let State::Ready(Ready { device, executable, .. }) = &self.state {
            let mut nodes = nodes.iter();
            run(device, executable, leaves.iter(), constants, |leaf| {
                nodes.next().expect("a plan has an output for each node asked for").fulfil(leaf);
            })?;
        }
        Ok(())
    }
}

/// The plan that [`eval`] would run for these tensors.
pub fn explain<'a>(tensors: impl IntoIterator<Item = &'a Tensor>) -> Result<Plan> {
    let tensors: Vec<&Tensor> = tensors.into_iter().collect();
    if let Some(first) = tensors.first() {
        tensors.iter().try_for_each(|t| check_devices(&first.device, t))?;
    }
    let device = tensors.first().map_or_else(Device::default, |t| t.device.home());
    let nodes: Vec<NodeRef> = tensors.iter().map(|t| t.node.clone()).collect();
    Ok(Plan::new(&Trace::of(&nodes).graph, &device.backend().capabilities()))
}

/// The plan of a node, if the device takes its dtypes.
pub(crate) fn planned(device: &Device, node: &NodeRef) -> Option<Arc<Plan>> {
    let graph = Trace::of(std::slice::from_ref(node)).graph;
    check_dtypes(&graph, device).ok()?;
    Some(device.cache().plan(device, &graph))
}

fn check_devices(device: &Device, tensor: &Tensor) -> Result<()> {
    if tensor.device == *device {
        return Ok(());
    }
    let (a, b) = (device.name().into(), tensor.device.name().into());
    Err(Error::DeviceMismatch { op: "eval", a, b })
}

/// Refuses graphs with a dtype that the device lacks.
fn check_dtypes(graph: &Graph, device: &Device) -> Result<()> {
    for node in &graph.nodes {
        if let Some(reason) = device.backend().refuses(node.dtype) {
            return Err(Error::Unsupported {
                op: node.op.name().into(),
                dtype: node.dtype,
                device: device.name().into(),
                reason: reason.into(),
            });
        }
    }
    Ok(())
}

/// Runs a compiled plan over the values of leaves and constants; `take` gets the outputs as leaves, in their order.
pub(crate) fn run<'a>(
    device: &Device,
    executable: &Arc<dyn Executable>,
    leaves: impl Iterator<Item = &'a Payload>,
    constants: &[Number],
    mut take: impl FnMut(Leaf),
) -> Result<()> {
    let mut buffers: SmallVec<[Buffer; 8]> = SmallVec::new();
    for leaf in leaves {
        let value = value_in(leaf)?;
        buffers.push(if value.device == *device {
            value.buffer.clone()
        } else {
            move_value(value, device)?.buffer
        });
    }
    let fence = device.backend().submit(executable, Run { leaves: &buffers, params: constants })?;
    let results = fence.wait()?;
    let plan = executable.plan();
    for output in &plan.outputs {
        let buffer = match plan.buffers[output.buffer as usize].place {
            Place::Leaf(i) => buffers[i].clone(),
            Place::Result(i) => results[i].clone(),
            Place::Scratch(_) => unreachable!("outputs are leaves or results"),
        };
        let payload = Arc::new(Value { device: device.clone(), buffer });
        take(Leaf { layout: output.layout.clone(), donated: false, payload });
    }
    Ok(())
}

/// A value copied to another device, through the host.
pub(crate) fn move_value(value: &Value, device: &Device) -> Result<Value> {
    if value.device == *device {
        return Ok(value.clone());
    }
    let buffer = device.backend().allocate(value.buffer.len())?;
    match value.buffer.host_bytes() {
        Some(bytes) => device.backend().upload(&buffer, 0, bytes)?,
        None => {
            let mut bytes = vec![0; value.buffer.len()];
            value.device.backend().download(&value.buffer, 0, &mut bytes)?;
            device.backend().upload(&buffer, 0, &bytes)?;
        }
    }
    Ok(Value { device: device.clone(), buffer })
}

/// The values of leaves and constants, and the plan over them.
type FlatRun = (SmallVec<[Payload; 3]>, SmallVec<[Number; 1]>, Ready);

/// Compiled plans by the structure of their graphs.
#[derive(Default)]
pub(crate) struct PlanCache {
    entries: Mutex<FxHashMap<u64, Vec<Arc<Entry>>>>,
    /// Plans of one op over values, which are found without a graph.
    flat: Mutex<FlatMap<(Arc<dyn Executable>, f64)>>,
}

struct Entry {
    graph: Graph,
    plan: Arc<Plan>,
    /// Made at the first run: a plan may be looked at, and its device not chosen.
    executable: OnceLock<Arc<dyn Executable>>,
}

/// Plans that are kept; beyond it the cache starts over, which costs planning again but never correctness.
const MAX_PLANS: usize = 4096;

fn key_of(graph: &Graph) -> u64 {
    let mut hasher = FxHasher::default();
    graph.hash(&mut hasher);
    hasher.finish()
}

impl PlanCache {
    /// The plan of a graph, if it has been made ready to run.
    pub fn find(&self, graph: &Graph) -> Option<Arc<dyn Executable>> {
        self.find_by(key_of(graph), graph)?.executable.get().cloned()
    }

    /// The plan of one op over values, and those values.
    fn find_flat(&self, device: &Device, node: &NodeRef) -> Option<FlatRun> {
        let found = self.flat.lock().find(node)?;
        let (executable, work) = found.value;
        Some((found.leaves, found.constants, Ready { device: device.clone(), executable, work }))
    }

    /// Keeps the plan of a node that is one op over values.
    fn remember_flat(&self, nodes: &[NodeRef], ready: &Ready) {
        let [node] = nodes else { return };
        let mut flat = self.flat.lock();
        if flat.len() >= MAX_PLANS {
            flat.clear();
        }
        flat.insert(node, (ready.executable.clone(), ready.work));
    }

    /// The plan of a graph, made ready to run.
    pub fn executable(&self, device: &Device, graph: &Graph) -> Result<Arc<dyn Executable>> {
        let entry = self.entry(device, graph);
        if let Some(executable) = entry.executable.get() {
            return Ok(executable.clone());
        }
        let executable = device.backend().compile(entry.plan.clone())?;
        Ok(entry.executable.get_or_init(|| executable).clone())
    }

    /// The plan of a graph.
    pub fn plan(&self, device: &Device, graph: &Graph) -> Arc<Plan> {
        self.entry(device, graph).plan.clone()
    }

    fn find_by(&self, key: u64, graph: &Graph) -> Option<Arc<Entry>> {
        self.entries.lock().get(&key)?.iter().find(|e| e.graph == *graph).cloned()
    }

    fn entry(&self, device: &Device, graph: &Graph) -> Arc<Entry> {
        let key = key_of(graph);
        if let Some(entry) = self.find_by(key, graph) {
            return entry;
        }
        let plan = Arc::new(Plan::new(graph, &device.backend().capabilities()));
        let entry = Arc::new(Entry { graph: graph.clone(), plan, executable: OnceLock::new() });
        let mut entries = self.entries.lock();
        if entries.len() >= MAX_PLANS {
            entries.clear();
        }
        entries.entry(key).or_default().push(entry.clone());
        entry
    }

    pub fn clear(&self) {
        self.flat.lock().clear();
        self.entries.lock().clear();
    }
}
