//! Evaluation: trace, plan (or find the plan), submit, and give the nodes their values.

use crate::device::Device;
use crate::tensor::Tensor;
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};
use wootz_backend::{Buffer, Executable, Run};
use wootz_ir::graph::{Graph, Leaf, NodeRef, Trace};
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
    leaf.payload.downcast_ref().ok_or_else(|| {
        Error::argument(
            "eval",
            "a value was asked for while a function is compiled; its arguments have none yet",
        )
    })
}

/// Computes several tensors in one batch. They must be on one device.
pub fn eval<'a>(tensors: impl IntoIterator<Item = &'a Tensor>) -> Result<()> {
    let tensors: smallvec::SmallVec<[&Tensor; 4]> =
        tensors.into_iter().filter(|t| t.node.value().is_none()).collect();
    let Some(first) = tensors.first() else { return Ok(()) };
    check_devices(&tensors)?;
    let nodes: smallvec::SmallVec<[NodeRef; 4]> = tensors.iter().map(|t| t.node.clone()).collect();
    let trace = Trace::of(&nodes);
    let device = first.device.for_graph(&trace)?;
    check_dtypes(&trace.graph, &device)?;
    let executable = device.cache().executable(&device, &trace.graph)?;
    let values = run(&device, &executable, &trace.leaves, &trace.constants)?;
    for (node, leaf) in nodes.iter().zip(values) {
        node.fulfil(leaf);
    }
    Ok(())
}

/// The plan that [`eval`] would run for these tensors.
pub fn explain<'a>(tensors: impl IntoIterator<Item = &'a Tensor>) -> Result<Plan> {
    let tensors: Vec<&Tensor> = tensors.into_iter().collect();
    check_devices(&tensors)?;
    let device = tensors.first().map_or_else(Device::default, |t| t.device.home());
    let nodes: Vec<NodeRef> = tensors.iter().map(|t| t.node.clone()).collect();
    Ok(Plan::new(&Trace::of(&nodes).graph, &device.backend().capabilities()))
}

fn check_devices(tensors: &[&Tensor]) -> Result<()> {
    let Some(first) = tensors.first() else { return Ok(()) };
    match tensors.iter().find(|t| t.device != first.device) {
        Some(other) => Err(Error::DeviceMismatch {
            op: "eval",
            a: first.device.name().into(),
            b: other.device.name().into(),
        }),
        None => Ok(()),
    }
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

/// Runs a compiled plan over leaves and constants; the outputs come back as leaves.
pub(crate) fn run(
    device: &Device,
    executable: &Arc<dyn Executable>,
    leaves: &[Leaf],
    constants: &[Number],
) -> Result<Vec<Leaf>> {
    let mut buffers: smallvec::SmallVec<[Buffer; 8]> = smallvec::SmallVec::with_capacity(leaves.len());
    for leaf in leaves {
        let value = value_of(leaf)?;
        buffers.push(if value.device == *device {
            value.buffer.clone()
        } else {
            move_value(value, device)?.buffer
        });
    }
    let fence = device.backend().submit(executable, Run { leaves: &buffers, params: constants })?;
    let results = fence.wait()?;
    let plan = executable.plan();
    let outputs = plan.outputs.iter().map(|output| {
        let buffer = match plan.buffers[output.buffer as usize].place {
            Place::Leaf(i) => buffers[i].clone(),
            Place::Result(i) => results[i].clone(),
            Place::Scratch(_) => unreachable!("outputs are leaves or results"),
        };
        let payload = Arc::new(Value { device: device.clone(), buffer });
        Leaf { layout: output.layout.clone(), donated: false, payload }
    });
    Ok(outputs.collect())
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

/// Compiled plans by the structure of their graphs.
#[derive(Default)]
pub(crate) struct PlanCache {
    entries: Mutex<FxHashMap<u64, Vec<Arc<Entry>>>>,
}

struct Entry {
    graph: Graph,
    plan: Arc<Plan>,
    /// Made at the first run: a plan may be looked at, and its device not chosen.
    executable: OnceLock<Arc<dyn Executable>>,
}

/// Plans that are kept; beyond it the cache starts over, which costs planning again but never correctness.
const MAX_PLANS: usize = 4096;

impl PlanCache {
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

    fn entry(&self, device: &Device, graph: &Graph) -> Arc<Entry> {
        let mut hasher = FxHasher::default();
        graph.hash(&mut hasher);
        let key = hasher.finish();
        if let Some(entries) = self.entries.lock().get(&key)
            && let Some(entry) = entries.iter().find(|e| e.graph == *graph)
        {
            return entry.clone();
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
        self.entries.lock().clear();
    }
}
