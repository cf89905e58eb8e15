//! Plans made ready, and their runs.
//!
//! A run is one command buffer: launches in step order on a concurrent encoder, with a barrier where the plan says that a step
//! depends on an earlier one. What a plan needs beyond its own memory (fault word, memory between passes) is allocated with its
//! scratch.

use crate::backend::Ready;
use crate::codegen::{Args, Binding, StepCode, step_code};
use crate::driver::{Argument, Batch, Command, Dispatch, DriverError, Facts, Finished, Pipeline, Running};
use crate::exec::{self, Launch};
use crate::memory::{MetalMemory, memory};
use crate::pipelines::Recipe;
use crate::source::source;
use smallvec::SmallVec;
use std::sync::Arc;
use wootz_backend::{Buffer, Executable, Fence, Run};
use wootz_ir::custom::Language;
use wootz_ir::{Error, Fault, Number, Result};
use wootz_plan::{Kernel, Place, Plan, Step};

/// A plan compiled for a Metal device.
pub(crate) struct MetalExecutable {
    plan: Arc<Plan>,
    launches: Vec<Compiled>,
    /// Bytes of scratch: the plan's own, then what passes of a step hand on.
    scratch: usize,
    faults: bool,
    /// Which leaves a step writes.
    written: Vec<usize>,
    /// Where a new command buffer starts: launches whose forerunners fill the time budget.
    cuts: Vec<usize>,
    /// For each launch its kernel's name and its step, to tell what failed.
    kernels: Arc<Vec<(String, usize)>>,
}

/// Estimated seconds after which a run goes on in another command buffer: systems stop those that take many seconds.
const BUDGET: f64 = 0.5;
/// A slow GPU, for the estimate: bytes and multiply-adds per second.
const SLOW_BYTES: f64 = 30e9;
const SLOW_PRODUCTS: f64 = 250e9;

/// A launch with its pipeline.
struct Compiled {
    step: usize,
    launch: Launch,
    pipeline: Pipeline,
    bindings: Vec<Binding>,
    args: Args,
    /// Whether a barrier stands in front.
    barrier: bool,
    /// Where the step's own scratch starts.
    scratch_at: usize,
}

/// Inline constants that Metal takes at most.
const MAX_INLINE: usize = 4096;
/// Buffer indices that Metal has.
const MAX_BINDINGS: usize = 31;
/// Scratch of steps starts at multiples of this.
const ALIGNMENT: usize = 256;

impl MetalExecutable {
    pub fn new(ready: &Ready, plan: Arc<Plan>) -> Result<MetalExecutable> {
        let mut launches = Vec::new();
        let mut recipes = Vec::new();
        let own = plan.scratch.next_multiple_of(ALIGNMENT);
        let (mut scratch, mut cursor) = (own, own);
        for (index, step) in plan.steps.iter().enumerate() {
            let of_step = exec::launches(&plan, step, ready.device.facts())?;
            if step.barrier {
                // Everything before has ended: its scratch is free again.
                cursor = own;
            }
            for (pass, launch) in of_step.list.into_iter().enumerate() {
                let code = code_of(&plan, index, &launch);
                if code.bindings.len() > MAX_BINDINGS {
                    let reason =
                        format!("it needs {} buffers; Metal binds {MAX_BINDINGS}", code.bindings.len());
                    return exec::refuse(step, ready.device.facts(), &reason);
                }
                recipes.push(recipe(step, &launch, &code));
                let barrier = if pass == 0 { step.barrier } else { launch.barrier };
                launches.push((index, launch, code.bindings, code.args, barrier, cursor));
            }
            cursor += of_step.scratch.next_multiple_of(ALIGNMENT);
            scratch = scratch.max(cursor);
        }
        let pipelines =
            ready.pipelines.get_all(&*ready.device, &recipes).map_err(|e| ready.error(e.to_string()))?;
        let launches: Vec<Compiled> = launches
            .into_iter()
            .zip(pipelines)
            .map(|((step, launch, bindings, args, barrier, scratch_at), pipeline)| Compiled {
                step,
                launch,
                pipeline,
                bindings,
                args,
                barrier,
                scratch_at,
            })
            .collect();
        let faults = plan.steps.iter().any(|step| step.can_fault());
        let written = plan.steps.iter().flat_map(|s| s.writes()).filter_map(|id| {
            match plan.buffers[id as usize].place {
                Place::Leaf(i) => Some(i),
                Place::Result(_) | Place::Scratch(_) => None,
            }
        });
        let written = written.collect();
        let cuts = cuts(&plan, &launches);
        let kernels = recipes.into_iter().zip(&launches).map(|(recipe, l)| (recipe.kernel, l.step)).collect();
        Ok(MetalExecutable { launches, scratch, faults, written, cuts, kernels: Arc::new(kernels), plan })
    }

    /// Starts a run.
    pub fn submit(&self, ready: &Arc<Ready>, run: Run<'_>) -> Result<Fence> {
        let plan = &*self.plan;
        self.check(ready, &run)?;
        let mut results = Vec::with_capacity(plan.results.len());
        for &bytes in &plan.results {
            results.push(Buffer::new(ready.reserve(bytes, "a result")?));
        }
        if self.launches.is_empty() {
            return Ok(Fence::done(results));
        }
        let scratch = match self.scratch {
            0 => None,
            bytes => Some(Buffer::new(ready.reserve_private(bytes, "scratch")?)),
        };
        let fault = if self.faults { Some(Buffer::new(ready.reserve(4, "the fault word")?)) } else { None };
        if let Some(word) = fault.as_ref().and_then(memory).and_then(MetalMemory::start) {
            // SAFETY: the word was just taken from the pool, is four bytes long, and no run uses it yet.
            unsafe { word.cast::<u32>().write(u32::MAX) };
        }
        let places = Places {
            plan,
            leaves: run.leaves,
            results: &results,
            scratch: scratch.as_ref(),
            fault: fault.as_ref(),
        };
        let running = self.encode(ready, &places, run.params)?;
        let (step_facts, kernels) = (self.plan.clone(), self.kernels.clone());
        let ready = ready.clone();
        Ok(Fence::pending(results, move || {
            let outcome = wait_for_all(&ready, running).map_err(|e| {
                ready.error(format!("{e}{}", failed_step(&step_facts, &kernels, &e.to_string())))
            });
            // A fault in the data is the better explanation where both are there: a kernel that finds one may leave its result unwritten,
            // which a checking device reports.
            match fault.as_ref().and_then(memory).and_then(MetalMemory::start) {
                // SAFETY: the run has ended; the word is four bytes of memory that the host sees.
                Some(word) => match unsafe { word.cast::<u32>().read() } {
                    u32::MAX => outcome,
                    code => Err(describe(&step_facts, code, &ready.name)),
                },
                None => outcome,
            }
        }))
    }

    fn check(&self, ready: &Ready, run: &Run<'_>) -> Result<()> {
        let plan = &*self.plan;
        if run.leaves.len() != plan.leaves || run.params.len() != plan.params.len() {
            return Err(ready.error(format!(
                "a plan with {} leaves and {} parameters was given {} and {}",
                plan.leaves,
                plan.params.len(),
                run.leaves.len(),
                run.params.len()
            )));
        }
        for buffer in &plan.buffers {
            let Place::Leaf(i) = buffer.place else { continue };
            let Some(own) = memory(&run.leaves[i]).filter(|m| ready.owns(m)) else {
                return Err(ready.error(format!("leaf {i} is a buffer of another device")));
            };
            if run.leaves[i].len() < buffer.bytes {
                let (has, needs) = (run.leaves[i].len(), buffer.bytes);
                return Err(ready.error(format!("leaf {i} has {has} bytes where the plan needs {needs}")));
            }
            if self.written.contains(&i) && !own.is_writable() {
                return Err(ready.error(format!("leaf {i} is imported memory, which is not written")));
            }
        }
        Ok(())
    }

    fn encode(&self, ready: &Ready, places: &Places<'_>, params: &[Number]) -> Result<Vec<Box<dyn Running>>> {
        let blobs: Vec<SmallVec<[u8; 512]>> =
            self.launches.iter().map(|l| l.args.bytes(&l.launch.dims, params)).collect();
        // Arguments too long to be passed inline get a buffer of their own.
        let mut long: Vec<Option<Buffer>> = Vec::with_capacity(blobs.len());
        for blob in &blobs {
            long.push(if blob.len() > MAX_INLINE { Some(ready.with_bytes(blob)?) } else { None });
        }
        let arguments: Vec<Vec<Argument<'_>>> = self
            .launches
            .iter()
            .zip(blobs.iter().zip(&long))
            .map(|(launch, (blob, long))| {
                let bound = launch.bindings.iter().map(|binding| match binding {
                    Binding::Plan(id) => places.of(*id),
                    Binding::Args => match long {
                        Some(buffer) => place(buffer, 0),
                        None => Argument::Bytes(blob),
                    },
                    Binding::Fault => place(places.fault.expect("plans that fault have a word"), 0),
                    Binding::Scratch => {
                        place(places.scratch.expect("the step asked for scratch"), launch.scratch_at)
                    }
                });
                bound.collect()
            })
            .collect();
        let keep: Arc<Vec<Buffer>> = Arc::new(places.all().chain(long.iter().flatten()).cloned().collect());
        let mut running = Vec::with_capacity(self.cuts.len() + 1);
        let mut start = 0;
        for end in self.cuts.iter().copied().chain([self.launches.len()]) {
            let commands = self.commands(start..end, &arguments);
            let batch = Batch { label: "wootz plan", commands: &commands, keep: Box::new(keep.clone()) };
            running.push(ready.submit(batch)?);
            start = end;
        }
        Ok(running)
    }

    fn commands<'a>(
        &'a self,
        range: std::ops::Range<usize>,
        arguments: &'a [Vec<Argument<'a>>],
    ) -> Vec<Command<'a>> {
        let mut commands = Vec::with_capacity(range.len() * 2);
        for (compiled, arguments) in self.launches[range.clone()].iter().zip(&arguments[range]) {
            if compiled.barrier {
                commands.push(Command::Barrier);
            }
            commands.push(Command::Dispatch(Dispatch {
                pipeline: &compiled.pipeline,
                label: &self.plan.steps[compiled.step].label,
                arguments,
                threadgroup_memory: compiled.launch.threadgroup_memory,
                grid: compiled.launch.grid(),
                threads: compiled.launch.threads,
            }));
        }
        commands
    }
}

/// Waits for every command buffer of a run, also where an earlier one failed, and notes what they tell.
fn wait_for_all(ready: &Ready, running: Vec<Box<dyn Running>>) -> std::result::Result<(), DriverError> {
    let mut all = Finished::default();
    let mut outcome = Ok(());
    for part in running {
        match part.wait() {
            Ok(finished) => {
                all.seconds += finished.seconds;
                all.profiles.extend(finished.profiles);
                all.command_buffers += finished.command_buffers;
            }
            Err(e) => outcome = outcome.and(Err(e)),
        }
    }
    ready.note(all);
    outcome
}

/// The op, shape and dtype of the step whose kernel a driver's message names.
fn failed_step(plan: &Plan, kernels: &[(String, usize)], message: &str) -> String {
    let named = kernels.iter().find(|(name, _)| message.contains(&format!("`{name}`")));
    named.map_or_else(String::new, |(_, step)| {
        let step = &plan.steps[*step];
        format!(" (in {}, shape {}, {})", step.label, step.shape, step.dtype)
    })
}

/// Launches at which a new command buffer starts, by the estimated time of those before.
fn cuts(plan: &Plan, launches: &[Compiled]) -> Vec<usize> {
    let mut cuts = Vec::new();
    let mut seconds = 0.0;
    for (i, compiled) in launches.iter().enumerate() {
        let step = &plan.steps[compiled.step];
        let own = plan.step_bytes(step) as f64 / SLOW_BYTES + products(step) / SLOW_PRODUCTS;
        // A command buffer holds one launch at least, and starts at a step's first.
        if seconds > 0.0 && seconds + own > BUDGET && compiled.step != launches[i - 1].step {
            cuts.push(i);
            seconds = 0.0;
        }
        seconds += own;
    }
    cuts
}

/// Multiply-adds of a step; other kernels are bound by memory.
fn products(step: &Step) -> f64 {
    match &step.kernel {
        Kernel::Matmul { batch, m, n, k } => (batch * m * n) as f64 * *k as f64,
        Kernel::QuantMatmul { .. } => {
            step.input_shapes[0].count() as f64 * step.input_shapes[1].first().copied().unwrap_or(0) as f64
        }
        Kernel::Attention(_) => 2.0 * step.shape.count() as f64 * step.input_shapes[1][2] as f64,
        _ => 0.0,
    }
}

impl Executable for MetalExecutable {
    fn plan(&self) -> &Plan {
        &self.plan
    }
}

/// The code around a launch's kernel; a user's kernel has none, and binds operands and result.
fn code_of(plan: &Plan, index: usize, launch: &Launch) -> StepCode {
    if launch.custom.is_none() {
        return step_code(plan, index, &launch.parts);
    }
    let step = &plan.steps[index];
    let bindings = step.reads().chain(step.writes()).map(Binding::Plan).collect();
    StepCode { text: String::new(), bindings, args: Args::default() }
}

/// What the pipelines of a plan are made from; of steps that cannot run, nothing.
pub(crate) fn recipes(plan: &Plan, facts: &Facts) -> Vec<Recipe> {
    let steps = plan.steps.iter().enumerate();
    let launches =
        steps.filter_map(|(i, step)| Some((i, step, exec::launches(plan, step, facts).ok()?.list)));
    let of_step = |(i, step, list): (usize, &Step, Vec<Launch>)| -> Vec<Recipe> {
        list.iter().map(|launch| recipe(step, launch, &code_of(plan, i, launch))).collect()
    };
    launches.flat_map(of_step).collect()
}

/// What a launch's pipeline is made from.
fn recipe(step: &Step, launch: &Launch, code: &StepCode) -> Recipe {
    let msl = launch.custom.as_ref().and_then(|kernel| kernel.source(Language::Msl));
    let (text, kernel) = match msl {
        Some(own) => (own.text.clone(), own.entry.clone()),
        None => (source(launch, &code.text), launch.kernel.to_string()),
    };
    let label = format!("{kernel} ({}, {}, {})", step.label, step.shape, step.dtype);
    Recipe { source: text, kernel, constants: launch.constants.clone(), label }
}

/// The generated code around each launch of a plan, for people: a title, and the text between prelude and family.
pub fn generated_code(plan: &Plan, facts: &Facts) -> Result<Vec<(String, String)>> {
    let mut list = Vec::new();
    for (index, step) in plan.steps.iter().enumerate() {
        for launch in exec::launches(plan, step, facts)?.list {
            let defines: Vec<String> = launch.defines.iter().map(|(n, v)| format!("{n}={v}")).collect();
            let title = format!("{} {} {}", launch.kernel, step.label, defines.join(" "));
            list.push((title.trim_end().to_string(), code_of(plan, index, &launch).text));
        }
    }
    Ok(list)
}

/// Where the buffers of a run are.
struct Places<'a> {
    plan: &'a Plan,
    leaves: &'a [Buffer],
    results: &'a [Buffer],
    scratch: Option<&'a Buffer>,
    fault: Option<&'a Buffer>,
}

impl<'a> Places<'a> {
    fn of(&self, id: u32) -> Argument<'a> {
        match self.plan.buffers[id as usize].place {
            Place::Leaf(i) => place(&self.leaves[i], 0),
            Place::Result(i) => place(&self.results[i], 0),
            Place::Scratch(offset) => place(self.scratch.expect("the plan has scratch"), offset),
        }
    }

    fn all(&self) -> impl Iterator<Item = &'a Buffer> {
        self.leaves.iter().chain(self.results).chain(self.scratch).chain(self.fault)
    }
}

fn place(buffer: &Buffer, offset: usize) -> Argument<'_> {
    let (memory, start) = memory(buffer).expect("buffers were checked").place();
    Argument::Buffer(memory, start + offset)
}

/// A fault as its word tells it: which step, and what.
fn describe(plan: &Plan, code: u32, device: &str) -> Error {
    let step = &plan.steps[(code >> 4) as usize % plan.steps.len()];
    match Fault::from_code(code & 15) {
        Some(fault) => Error::Fault {
            op: step.label.clone(),
            fault,
            shape: step.shape.clone(),
            dtype: step.dtype,
            device: device.into(),
        },
        None => Error::Device {
            device: device.into(),
            detail: format!("{}: the fault word holds {code:#x}, which no kernel writes", step.label),
        },
    }
}
