//! Compiled plans and their runs.
//!
//! A run is one command buffer: dispatches in step order on a concurrent encoder, with a barrier where the plan says
//! that a step depends on an earlier one. Memory beyond the plan's own (fault word, memory between passes) is
//! allocated with its scratch buffers.

use crate::backend::{NO_F64, OpenDevice};
use crate::codegen::{StepCode, step_code, user_code};
use crate::driver::{Argument, Batch, Command, Dispatch, DriverError, Facts, Finished, Pipeline, Running};
use crate::exec::{self, Launch};
use crate::memory::{MetalMemory, memory};
use crate::pipelines::Recipe;
use crate::source::source;
use smallvec::SmallVec;
use std::sync::Arc;
use wootz_backend::{Buffer, Executable, Fence, Run};
use wootz_gpu::{Buffers, Placed, Program, refuse_f64};
use wootz_ir::custom::Language;
use wootz_ir::{Number, Result};
use wootz_plan::fault::NO_FAULT;
use wootz_plan::{Plan, Step};

/// A plan compiled for a Metal device.
pub(crate) struct MetalExecutable {
    program: Program<Coded>,
    /// By launch.
    pipelines: Vec<Pipeline>,
    /// Where a new command buffer starts: launches whose forerunners fill the time budget.
    cuts: Vec<usize>,
    /// For each launch its kernel's name and its step, to tell what failed.
    kernels: Arc<Vec<(String, usize)>>,
}

/// A launch with the code around its kernel.
struct Coded {
    launch: Launch,
    code: StepCode,
}

/// Estimated seconds after which a run continues in another command buffer: systems kill those that take many seconds.
const BUDGET: f64 = 0.5;
/// A slow GPU, for the estimate: bytes and floating-point operations per second.
const SLOW_BYTES: f64 = 30e9;
const SLOW_FLOPS: f64 = 500e9;
/// Inline constants that Metal takes at most.
const MAX_INLINE: usize = 4096;
/// Buffer indices that Metal has.
const MAX_BINDINGS: usize = 31;

impl MetalExecutable {
    pub fn new(device: &OpenDevice, plan: Arc<Plan>) -> Result<MetalExecutable> {
        refuse_f64(&plan, &device.name, NO_F64)?;
        let program = coded(plan, device.driver.facts())?;
        let recipes = recipes(&program);
        let pipelines = device.pipelines.get_all(&*device.driver, &recipes).map_err(|e| device.failed(e))?;
        let kernels = recipes.into_iter().zip(&program.launches).map(|(r, l)| (r.kernel, l.step)).collect();
        Ok(MetalExecutable { cuts: cuts(&program), program, pipelines, kernels: Arc::new(kernels) })
    }

    /// Starts a run.
    pub fn submit(&self, device: &Arc<OpenDevice>, run: Run<'_>) -> Result<Fence> {
        self.program.check(&run, &device.name, |leaf| Ok(device.own(leaf)?.is_writable()))?;
        let shared = |bytes: usize, what: &str| Ok(Buffer::new(device.reserve(bytes, what)?));
        let private = |bytes: usize, what: &str| Ok(Buffer::new(device.reserve_private(bytes, what)?));
        let buffers = self.program.allocate(run.leaves, shared, private)?;
        if self.program.launches.is_empty() {
            return Ok(Fence::done(buffers.results));
        }
        if let Some(word) = fault_word(buffers.faults.as_ref()) {
            // SAFETY: the word was just taken from the pool, is four bytes long, and no run uses it yet.
            unsafe { word.write(NO_FAULT) };
        }
        let running = self.encode(device, &buffers, run.params)?;
        let (plan, kernels) = (self.program.plan.clone(), self.kernels.clone());
        let (device, Buffers { results, faults, .. }) = (device.clone(), buffers);
        Ok(Fence::pending(results, move || {
            let outcome = wait_for_all(&device, running)
                .map_err(|e| device.error(format!("{e}{}", failed_step(&plan, &kernels, &e.to_string()))));
            // A fault in the data is the better explanation where both are there: a kernel that finds one may leave its result unwritten,
            // which a checking device reports.
            let word = fault_word(faults.as_ref()).map_or(NO_FAULT, |word| {
                // SAFETY: the run has ended; the word is four bytes of memory that the host sees.
                unsafe { word.read() }
            });
            plan.fault(word, &device.name).and(outcome)
        }))
    }

    fn encode(
        &self,
        device: &OpenDevice,
        buffers: &Buffers<'_>,
        params: &[Number],
    ) -> Result<Vec<Box<dyn Running>>> {
        let launches = &self.program.launches;
        let bytes = |launch: &Coded| launch.code.args.bytes(&launch.launch.dims, params);
        let blobs: Vec<SmallVec<[u8; 512]>> = launches.iter().map(|l| bytes(&l.launch)).collect();
        // Arguments too long to be passed inline get a buffer of their own.
        let mut long: Vec<Option<Buffer>> = Vec::with_capacity(blobs.len());
        for blob in &blobs {
            long.push(if blob.len() > MAX_INLINE { Some(device.with_bytes(blob)?) } else { None });
        }
        let arguments: Vec<Vec<Argument<'_>>> = launches
            .iter()
            .zip(blobs.iter().zip(&long))
            .map(|(placed, (blob, long))| {
                let bound = placed.launch.code.bindings.iter().map(|binding| match (binding, long) {
                    (Some(bound), _) => argument(self.program.place(placed, *bound, buffers)),
                    (None, Some(buffer)) => argument((buffer, 0)),
                    (None, None) => Argument::Bytes(blob),
                });
                bound.collect()
            })
            .collect();
        let all =
            buffers.leaves.iter().chain(&buffers.results).chain(&buffers.scratch).chain(&buffers.faults);
        let keep: Arc<Vec<Buffer>> = Arc::new(all.chain(long.iter().flatten()).cloned().collect());
        let mut running = Vec::with_capacity(self.cuts.len() + 1);
        let mut start = 0;
        for end in self.cuts.iter().copied().chain([launches.len()]) {
            let commands = self.commands(start..end, &arguments);
            let batch = Batch { label: "wootz plan", commands: &commands, keep: Box::new(keep.clone()) };
            running.push(device.submit(batch)?);
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
        for i in range {
            let placed = &self.program.launches[i];
            let launch = &placed.launch.launch;
            if placed.barrier {
                commands.push(Command::Barrier);
            }
            commands.push(Command::Dispatch(Dispatch {
                pipeline: &self.pipelines[i],
                label: &self.program.plan.steps[placed.step].label,
                arguments: &arguments[i],
                threadgroup_memory: 0,
                grid: launch.grid(),
                threads: launch.threads,
            }));
        }
        commands
    }
}

fn argument((buffer, offset): (&Buffer, usize)) -> Argument<'_> {
    let (memory, start) = memory(buffer).expect("buffers were checked").place();
    Argument::Buffer(memory, start + offset)
}

/// The word that faults are noted in.
fn fault_word(buffer: Option<&Buffer>) -> Option<*mut u32> {
    Some(buffer.and_then(memory).and_then(MetalMemory::start)?.cast())
}

/// Waits for every command buffer of a run, even after one failed, and records their errors and timings.
fn wait_for_all(device: &OpenDevice, running: Vec<Box<dyn Running>>) -> std::result::Result<(), DriverError> {
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
    device.note(all);
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
fn cuts(program: &Program<Coded>) -> Vec<usize> {
    let mut cuts = Vec::new();
    let mut seconds = 0.0;
    for (i, placed) in program.launches.iter().enumerate() {
        let step = &program.plan.steps[placed.step];
        let own = program.plan.step_bytes(step) as f64 / SLOW_BYTES + step.flops() / SLOW_FLOPS;
        // A command buffer holds one launch at least, and starts at a step's first.
        if seconds > 0.0 && seconds + own > BUDGET && placed.step != program.launches[i - 1].step {
            cuts.push(i);
            seconds = 0.0;
        }
        seconds += own;
    }
    cuts
}

impl Executable for MetalExecutable {
    fn plan(&self) -> &Plan {
        &self.program.plan
    }
}

/// The launches of a plan, each with the code around its kernel.
fn coded(plan: Arc<Plan>, facts: &Facts) -> Result<Program<Coded>> {
    let steps = plan.clone();
    Program::new(plan, |index, step| {
        let launches = exec::launches(step, facts)?;
        let list = launches.list.into_iter().map(|launch| {
            let code = match launch.custom {
                Some(_) => user_code(step),
                None => step_code(&steps, index, &launch.parts),
            };
            let needed = code.bindings.len();
            if needed > MAX_BINDINGS {
                let reason = format!("it needs {needed} buffers; Metal binds at most {MAX_BINDINGS}");
                return exec::refuse(step, facts, &reason);
            }
            Ok(Coded { launch, code })
        });
        Ok(wootz_gpu::Launches { list: list.collect::<Result<_>>()?, scratch: launches.scratch })
    })
}

/// What the pipelines of a plan are made from; nothing for one that cannot run.
pub(crate) fn recipes_of(plan: &Arc<Plan>, facts: &Facts) -> Vec<Recipe> {
    coded(plan.clone(), facts).map_or_else(|_| Vec::new(), |program| recipes(&program))
}

fn recipes(program: &Program<Coded>) -> Vec<Recipe> {
    let recipe = |placed: &Placed<Coded>| {
        recipe(&program.plan.steps[placed.step], &placed.launch.launch, &placed.launch.code)
    };
    program.launches.iter().map(recipe).collect()
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

/// Each kernel of a plan with the whole source of its pipeline.
pub fn sources(plan: Arc<Plan>, facts: &Facts) -> Result<Vec<(String, String)>> {
    refuse_f64(&plan, &facts.name, NO_F64)?;
    Ok(recipes(&coded(plan, facts)?).into_iter().map(|r| (r.kernel, r.source)).collect())
}

/// The generated code around each launch of a plan, for people: a title, and the text between prelude and family.
pub fn generated_code(plan: Arc<Plan>, facts: &Facts) -> Result<Vec<(String, String)>> {
    let program = coded(plan, facts)?;
    let titled = |placed: Placed<Coded>| {
        let Coded { launch, code } = placed.launch;
        let told = launch.defines.iter().filter(|(name, _)| *name != "GRID");
        let defines: Vec<String> = told.map(|(n, v)| format!("{n}={v}")).collect();
        let label = &program.plan.steps[placed.step].label;
        let title = format!("{} {label} {}", launch.kernel, defines.join(" "));
        (title.trim_end().to_string(), code.text)
    };
    Ok(program.launches.into_iter().map(titled).collect())
}
