//! The only way from a graph to a device.
//!
//! [`Program::of`] takes the structure of a graph and the location of its leaves, and returns an executable on a
//! device: from the cache, or checked, placed, planned and compiled. Evaluation, compiled functions, `explain`,
//! models and Python all use it.

use crate::device::Device;
use crate::dispatch;
use crate::value::{Pending, Value, value_in};
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};
use wootz_backend::inject::{Point, fails};
use wootz_backend::{Buffer, Executable, Fence, Run};
use wootz_ir::flat::{FlatMap, Found};
use wootz_ir::graph::{Graph, Leaf, NodeRef, Payload};
use wootz_ir::{Error, Number, Result};
use wootz_plan::{Fused, Kernel, Place, Plan, Step};

/// A compiled graph on the device that runs it.
#[derive(Clone)]
pub(crate) struct Program {
    pub device: Device,
    pub executable: Arc<dyn Executable>,
    /// Amount of work: bytes touched plus operations.
    pub work: f64,
}

/// The location and size of a leaf.
#[derive(Clone, Debug)]
pub(crate) struct Residence {
    pub device: Device,
    pub bytes: usize,
}

impl Residence {
    /// The locations of leaves. Only automatic devices need them, so for others the list is empty.
    pub fn list<'a>(asked: &Device, leaves: impl IntoIterator<Item = &'a Payload>) -> Result<Vec<Residence>> {
        if asked.candidates().is_none() {
            return Ok(Vec::new());
        }
        leaves.into_iter().map(Residence::of).collect()
    }

    pub fn of(payload: &Payload) -> Result<Residence> {
        let value = value_in(payload)?;
        Ok(Residence { device: value.device.clone(), bytes: value.len() })
    }
}

impl Program {
    /// The program of a graph for the requested device. An automatic device chooses by the cost of the graph with its
    /// leaves where they are.
    pub fn of(asked: &Device, graph: &Graph, leaves: &[Residence]) -> Result<Program> {
        if let Some(known) = Program::find(asked, graph, leaves) {
            return Ok(known);
        }
        let Some(candidates) = asked.candidates() else { return asked.programs().program(asked, graph) };
        let device = dispatch::choose(candidates, graph, leaves)?;
        let program = device.programs().program(&device, graph)?;
        asked.programs().remember_choice(asked, graph, homes(leaves), &program);
        Ok(program)
    }

    /// The same, if it has already been created.
    pub fn find(asked: &Device, graph: &Graph, leaves: &[Residence]) -> Option<Program> {
        match asked.candidates() {
            None => asked.programs().find(asked, graph),
            Some(_) => asked.programs().choice(asked, graph, &homes(leaves)),
        }
    }

    /// Drops it from the caches of its device and of the device that was asked for. A graph that needs it again is planned again.
    pub fn forget(&self, asked: &Device) {
        self.device.programs().forget(&self.executable);
        if self.device != *asked {
            asked.programs().forget(&self.executable);
        }
    }

    /// Whether all of these values are on its device.
    fn holds(&self, leaves: &[Payload]) -> bool {
        leaves.iter().all(|leaf| value_in(leaf).is_ok_and(|value| value.device == self.device))
    }

    /// The plan that [`Program::of`] would run, without compiling it.
    pub fn plan(asked: &Device, graph: &Graph, leaves: &[Residence]) -> Result<(Device, Arc<Plan>)> {
        let device = match asked.candidates() {
            None => asked.clone(),
            Some(candidates) => dispatch::choose(candidates, graph, leaves)?,
        };
        let plan = device.programs().plan(&device, graph)?;
        Ok((device, plan))
    }

    /// Runs with the values of leaves and constants, and waits; `take` gets the outputs as leaves, in order.
    pub fn run<'a>(
        &self,
        leaves: impl Iterator<Item = &'a Payload>,
        constants: &[Number],
        take: impl FnMut(Leaf),
    ) -> Result<()> {
        let Submitted { leaves, before, fence } = self.submit(leaves, constants)?;
        if !fence.is_done() {
            self.device.traffic().add_wait();
        }
        let results =
            fence.wait().and_then(|results| injected(Point::Submit, &self.device).map(|()| results))?;
        before.iter().try_for_each(|run| run.wait())?;
        self.outputs(&leaves, &results, |buffer| Value::new(self.device.clone(), buffer), take);
        Ok(())
    }

    /// The same without waiting: an error of the run is reported when one of its outputs is read.
    pub fn start<'a>(
        &self,
        leaves: impl Iterator<Item = &'a Payload>,
        constants: &[Number],
        take: impl FnMut(Leaf),
    ) -> Result<()> {
        let Submitted { leaves, before, fence } = self.submit(leaves, constants)?;
        if fence.is_done() && before.is_empty() {
            let results = fence.wait()?;
            self.outputs(&leaves, &results, |buffer| Value::new(self.device.clone(), buffer), take);
            return Ok(());
        }
        let results = fence.results().to_vec();
        let pending = Pending::new(&self.device, fence, leaves.clone(), before);
        self.outputs(&leaves, &results, |buffer| Value::written_by(&pending, buffer), take);
        Ok(())
    }

    fn submit<'a>(
        &self,
        leaves: impl Iterator<Item = &'a Payload>,
        constants: &[Number],
    ) -> Result<Submitted> {
        let mut buffers: SmallVec<[Buffer; 8]> = SmallVec::new();
        let mut before: SmallVec<[Arc<Pending>; 2]> = SmallVec::new();
        for leaf in leaves {
            let value = value_in(leaf)?;
            if value.device != self.device {
                buffers.push(value.to_device(&self.device)?.bind().clone());
                continue;
            }
            if let Some(run) = value.pending() {
                if run.is_deep() {
                    run.wait()?;
                } else if !before.iter().any(|known| Arc::ptr_eq(known, run)) {
                    before.push(run.clone());
                }
            }
            buffers.push(value.bind().clone());
        }
        crate::fork::check(&self.device)?;
        self.device.traffic().add_submit();
        let run = Run { leaves: &buffers, params: constants };
        injected(Point::Submit, &self.device)?;
        let fence = self.device.backend().submit(&self.executable, run)?;
        Ok(Submitted { leaves: buffers, before, fence })
    }

    /// The outputs: leaves that were updated in place, and results.
    fn outputs(
        &self,
        leaves: &[Buffer],
        results: &[Buffer],
        value: impl Fn(Buffer) -> Value,
        mut take: impl FnMut(Leaf),
    ) {
        let plan = self.executable.plan();
        for output in &plan.outputs {
            let buffer = match plan.buffers[output.buffer as usize].place {
                Place::Leaf(i) => &leaves[i],
                Place::Result(i) => &results[i],
                Place::Scratch(_) => unreachable!("outputs are leaves or results"),
            };
            let payload = Arc::new(value(buffer.clone()));
            take(Leaf { layout: output.layout.clone(), donated: false, payload });
        }
    }
}

/// A run in flight: its buffers, the runs that write them, and its fence.
struct Submitted {
    leaves: SmallVec<[Buffer; 8]>,
    before: SmallVec<[Arc<Pending>; 2]>,
    fence: Fence,
}

/// The failure injected by a test.
#[inline(always)]
pub(crate) fn injected(point: Point, device: &Device) -> Result<()> {
    if fails(point) {
        let detail = "failure injected by a test";
        return Err(Error::device(device.name(), detail));
    }
    Ok(())
}

/// The devices of a graph's leaves.
type Homes = SmallVec<[Device; 4]>;

fn homes(leaves: &[Residence]) -> Homes {
    leaves.iter().map(|leaf| leaf.device.clone()).collect()
}

/// The programs of a device, by the structure of their graphs.
#[derive(Default)]
pub(crate) struct Programs {
    /// For a device that runs plans itself.
    entries: Mutex<FxHashMap<u64, Vec<Arc<Entry>>>>,
    /// For an automatic device.
    choices: Mutex<FxHashMap<u64, Vec<Choice>>>,
    /// Programs of a single op over values, which are found without a graph.
    flat: Mutex<FlatMap<Kept>>,
}

/// A program as stored in its device's cache: a device that referenced itself would never be dropped.
#[derive(Clone)]
struct Kept {
    /// The device that an automatic one chose; otherwise the device whose programs these are.
    chosen: Option<Device>,
    executable: Arc<dyn Executable>,
    work: f64,
}

impl Kept {
    fn new(asked: &Device, program: &Program) -> Kept {
        let chosen = (program.device != *asked).then(|| program.device.clone());
        Kept { chosen, executable: program.executable.clone(), work: program.work }
    }

    fn program(self, asked: &Device) -> Program {
        let device = self.chosen.unwrap_or_else(|| asked.clone());
        Program { device, executable: self.executable, work: self.work }
    }
}

struct Entry {
    graph: Graph,
    plan: Arc<Plan>,
    /// Compiled at the first run: a plan may be inspected, and its device not chosen.
    program: OnceLock<Kept>,
}

/// The choice for a graph whose leaves were on these devices.
struct Choice {
    graph: Graph,
    homes: Homes,
    program: Kept,
}

/// Maximum number of cached programs. Beyond it the cache is cleared, which costs planning again but never
/// correctness.
const MAX_PROGRAMS: usize = 4096;

fn key_of(graph: &Graph) -> u64 {
    let mut hasher = FxHasher::default();
    graph.hash(&mut hasher);
    hasher.finish()
}

/// Makes room in a full map.
fn bound<V>(map: &mut FxHashMap<u64, V>) {
    if map.len() >= MAX_PROGRAMS {
        map.clear();
    }
}

impl Programs {
    /// The program of a single op over values, and those values. An automatic device's choice is valid while all of
    /// them are on the chosen device.
    pub fn find_flat(&self, asked: &Device, node: &NodeRef) -> Option<Found<Program>> {
        let Found { value, leaves, constants } = self.flat.lock().find(node)?;
        let program = value.program(asked);
        let valid = program.device == *asked || program.holds(&leaves);
        valid.then_some(Found { value: program, leaves, constants })
    }

    /// Caches the program of a node that is a single op over values.
    pub fn remember_flat(&self, asked: &Device, node: &NodeRef, leaves: &[Payload], program: &Program) {
        if program.device != *asked && !program.holds(leaves) {
            return;
        }
        let mut flat = self.flat.lock();
        if flat.len() >= MAX_PROGRAMS {
            flat.clear();
        }
        flat.insert(node, Kept::new(asked, program));
    }

    fn find(&self, asked: &Device, graph: &Graph) -> Option<Program> {
        let entry = self.find_by(key_of(graph), graph)?;
        Some(entry.program.get()?.clone().program(asked))
    }

    fn choice(&self, asked: &Device, graph: &Graph, homes: &Homes) -> Option<Program> {
        let choices = self.choices.lock();
        let mut known = choices.get(&key_of(graph))?.iter();
        let choice = known.find(|c| c.graph == *graph && c.homes == *homes)?;
        Some(choice.program.clone().program(asked))
    }

    fn remember_choice(&self, asked: &Device, graph: &Graph, homes: Homes, program: &Program) {
        let mut choices = self.choices.lock();
        bound(&mut choices);
        let choice = Choice { graph: graph.clone(), homes, program: Kept::new(asked, program) };
        choices.entry(key_of(graph)).or_default().push(choice);
    }

    fn program(&self, device: &Device, graph: &Graph) -> Result<Program> {
        let entry = self.entry(device, graph)?;
        if let Some(program) = entry.program.get() {
            return Ok(program.clone().program(device));
        }
        crate::fork::check(device)?;
        injected(Point::Compile, device)?;
        let executable = device.backend().compile(entry.plan.clone())?;
        let kept = Kept { chosen: None, executable, work: work_of(&entry.plan) };
        Ok(entry.program.get_or_init(|| kept).clone().program(device))
    }

    /// The plan of a graph on a concrete device.
    pub fn plan(&self, device: &Device, graph: &Graph) -> Result<Arc<Plan>> {
        Ok(self.entry(device, graph)?.plan.clone())
    }

    fn find_by(&self, key: u64, graph: &Graph) -> Option<Arc<Entry>> {
        self.entries.lock().get(&key)?.iter().find(|e| e.graph == *graph).cloned()
    }

    fn entry(&self, device: &Device, graph: &Graph) -> Result<Arc<Entry>> {
        let key = key_of(graph);
        if let Some(entry) = self.find_by(key, graph) {
            return Ok(entry);
        }
        check(device, graph)?;
        let plan = Arc::new(Plan::new(graph, &device.backend().capabilities()));
        let entry = Arc::new(Entry { graph: graph.clone(), plan, program: OnceLock::new() });
        let mut entries = self.entries.lock();
        bound(&mut entries);
        entries.entry(key).or_default().push(entry.clone());
        Ok(entry)
    }

    fn forget(&self, executable: &Arc<dyn Executable>) {
        let is_it = |kept: &Kept| Arc::ptr_eq(&kept.executable, executable);
        self.entries.lock().retain(|_, alike| {
            alike.retain(|entry| !entry.program.get().is_some_and(is_it));
            !alike.is_empty()
        });
        self.choices.lock().retain(|_, alike| {
            alike.retain(|choice| !is_it(&choice.program));
            !alike.is_empty()
        });
    }

    pub fn clear(&self) {
        self.flat.lock().clear();
        self.choices.lock().clear();
        self.entries.lock().clear();
    }
}

/// Amount of work in bytes touched plus operations: of products, of fused code (where an op costs about as much as
/// four bytes), and of sorts.
fn work_of(plan: &Plan) -> f64 {
    let code = |fused: &Fused| 4.0 * (fused.program.instrs.len() * fused.shape.count()) as f64;
    let sorting = |step: &Step| match step.kernel {
        Kernel::Sort { .. } | Kernel::ArgSort { .. } => {
            let shape = &step.input_shapes[0];
            let row = shape.last().copied().unwrap_or(1).max(2) as f64;
            16.0 * shape.count() as f64 * row.log2()
        }
        _ => 0.0,
    };
    let work = |step: &Step| {
        let fused: f64 = step.inputs.iter().chain([&step.epilogue]).map(code).sum();
        plan.step_bytes(step) as f64 + step.flops() + fused + sorting(step)
    };
    plan.steps.iter().map(work).sum()
}

/// Rejects graphs with a dtype that the device does not support.
fn check(device: &Device, graph: &Graph) -> Result<()> {
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
