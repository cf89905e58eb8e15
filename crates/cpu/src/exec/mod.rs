//! Plan execution: each step consists of tapes for its inputs and its epilogue, and a kernel between them.
//!
//! An entire plan is a single parallel region. Workers walk the steps together, split each step's points between
//! them, and synchronise at a barrier only where the plan says that a step depends on an earlier one.

mod access;
mod loops;
mod tape;
mod workspace;

mod arg_reduce;
mod attention;
mod custom;
mod division;
mod experts;
mod gather;
mod map;
mod matmul;
mod narrow;
mod quant;
mod reduce;
mod rope;
mod rows;
mod scatter;
mod search_sorted;
pub(crate) mod small;
mod sort;
mod wkv7;

use crate::backend::CpuBackend;
use crate::profile;
use crate::scratch::NoMemory;
use crate::stop::{self, Stopped};
use crate::team::{SyncPtr, Team, Worker};
use smallvec::SmallVec;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use tape::{RunBuffers, Tape};
use wootz_backend::{Buffer, Executable, Run, Stop};
use wootz_ir::{DType, Error, Result};
use wootz_plan::fault::NO_FAULT;
use wootz_plan::{Kernel, Place, Plan, Step};
use workspace::{Workspace, with_workspace};

/// A plan compiled for the CPU.
pub(crate) struct CpuExecutable {
    plan: Arc<Plan>,
    steps: Vec<Compiled>,
    /// Bytes of working memory that kernels share between workers.
    shared: usize,
    /// Whether the work is worth waking the team.
    parallel: bool,
    /// Whether the bits do not depend on the number of workers, so that a busy machine may use fewer.
    adaptive: bool,
    /// The leaves that a step updates in place.
    written_leaves: Vec<usize>,
}

/// A step with its code compiled.
struct Compiled {
    inputs: Vec<Tape>,
    epilogue: Tape,
    /// Reductions over columns read their input in another order.
    columns: bool,
    /// Whether workers must have finished all earlier steps: the plan says so, or both use the shared memory.
    barrier: bool,
    /// Whether shared memory holds this product's coded activations from an earlier one.
    coded: bool,
}

/// Everything that a kernel needs: the step, its code, and this worker's share.
pub(crate) struct Task<'a> {
    step: &'a Step,
    inputs: &'a [Tape],
    epilogue: &'a Tape,
    columns: bool,
    coded: bool,
    run: &'a RunBuffers<'a>,
    worker: &'a Worker<'a>,
    shared: SyncPtr<u8>,
    /// The error of a user-defined kernel.
    failure: &'a OnceLock<Error>,
}

/// Whether workers add up partial sums, whose rounding depends on how many there are.
fn depends_on_workers(step: &Step, workers: usize) -> bool {
    match step.kernel {
        Kernel::Reduce { .. } => reduce::shared_bytes(step, workers) > 0,
        Kernel::Matmul { m, n, k, .. } => crate::gemm::divides_depth(m, n, k),
        _ => false,
    }
}

/// Elementary operations below which one thread is faster than two.
const PARALLEL_WORK: usize = 1 << 15;

impl CpuExecutable {
    pub fn new(plan: Arc<Plan>) -> Result<CpuExecutable> {
        for step in &plan.steps {
            if let Kernel::Custom(kernel) = &step.kernel
                && kernel.host().is_none()
            {
                return Err(kernel.unavailable("cpu", step.dtype));
            }
        }
        let workers = Team::global().size();
        let mut steps: Vec<Compiled> =
            plan.steps.iter().map(|step| Compiled::new(step, &plan.params)).collect();
        let shared: Vec<usize> = plan.steps.iter().map(|step| shared_bytes(step, workers)).collect();
        mark_shared(&plan.steps, &mut steps, &shared);
        let shared = shared.into_iter().max().unwrap_or(0);
        let parallel =
            workers > 1 && plan.steps.iter().map(work).fold(0, usize::saturating_add) > PARALLEL_WORK;
        let adaptive = !plan.steps.iter().any(|step| depends_on_workers(step, workers));
        let written =
            plan.steps.iter().flat_map(Step::writes).filter_map(|id| match plan.buffers[id as usize].place {
                Place::Leaf(i) => Some(i),
                Place::Result(_) | Place::Scratch(_) => None,
            });
        let written_leaves = written.collect();
        Ok(CpuExecutable { plan, steps, shared, parallel, adaptive, written_leaves })
    }

    /// Runs the plan to completion.
    pub fn run(&self, backend: &CpuBackend, run: Run<'_>) -> Result<Vec<Buffer>> {
        let plan = &*self.plan;
        if run.leaves.len() != plan.leaves || run.params.len() != plan.params.len() {
            let detail = format!(
                "expected {} leaves and {} parameters, got {} and {}",
                plan.leaves,
                plan.params.len(),
                run.leaves.len(),
                run.params.len()
            );
            return Err(Error::device("cpu", detail));
        }
        if self.written_leaves.iter().any(|&leaf| !run.leaves[leaf].is_writable()) {
            let detail = "a donated buffer is imported memory or is being read in place by the host";
            return Err(Error::device("cpu", detail));
        }
        let mut results = Vec::with_capacity(plan.results.len());
        for &bytes in &plan.results {
            results.push(Buffer::new(backend.reserve(bytes, "a result")?));
        }
        let own = plan.scratch.next_multiple_of(64) + self.shared;
        let scratch = if own > 0 { Some(backend.reserve(own, "scratch")?) } else { None };
        // Empty values have a place too, though nobody reads it: aligned, for slices of nothing.
        let nowhere = std::ptr::without_provenance_mut(64);
        let base = scratch.as_ref().map_or(nowhere, |m| m.start());
        let mut pointers: SmallVec<[*mut u8; 16]> = SmallVec::with_capacity(plan.buffers.len());
        for buffer in &plan.buffers {
            pointers.push(match buffer.place {
                Place::Leaf(i) => bound(&run.leaves[i], buffer)?,
                Place::Result(i) => bound(&results[i], buffer)?,
                Place::Scratch(offset) => base.wrapping_add(offset),
            });
        }
        let binding =
            RunBuffers { pointers: &pointers, params: run.params, batch_invariant: plan.batch_invariant };
        let shared = SyncPtr::new(base.wrapping_add(plan.scratch.next_multiple_of(64)));
        let fault = AtomicU32::new(NO_FAULT);
        let watched = profile::is_watched();
        let failure = OnceLock::new();
        let request = Stop::current();
        let flag = request.as_ref().map(Stop::flag);
        let walk = |worker: &Worker<'_>| {
            stop::heeding(flag, || self.walk(&binding, worker, shared, &fault, &failure, watched));
        };
        let run = || match (self.parallel, self.adaptive) {
            (true, true) => Team::global().run_adaptively(&walk),
            (true, false) => Team::global().run(&walk),
            (false, _) => walk(&Worker::solo()),
        };
        if let Err(payload) = catch_unwind(AssertUnwindSafe(run)) {
            if payload.is::<Stopped>() {
                return Err(Error::Stopped { device: "cpu".into() });
            }
            match payload.downcast::<NoMemory>() {
                Ok(missing) => return Err(backend.out_of_memory(missing.0, "working memory")),
                Err(payload) => resume_unwind(payload),
            }
        }
        if let Some(error) = failure.into_inner() {
            return Err(error);
        }
        plan.fault(fault.into_inner(), "cpu")?;
        Ok(results)
    }

    fn walk(
        &self,
        run: &RunBuffers<'_>,
        worker: &Worker<'_>,
        shared: SyncPtr<u8>,
        fault: &AtomicU32,
        failure: &OnceLock<Error>,
        watched: bool,
    ) {
        with_workspace(|workspace| {
            // What a run that did not come to its end has noted is not this one's.
            loops::take_fault();
            for (i, (step, compiled)) in self.plan.steps.iter().zip(&self.steps).enumerate() {
                if compiled.barrier {
                    worker.barrier();
                }
                stop::check();
                workspace.reset();
                let begin = watched.then(Instant::now);
                let task = Task {
                    step,
                    inputs: &compiled.inputs,
                    epilogue: &compiled.epilogue,
                    columns: compiled.columns,
                    coded: compiled.coded,
                    run,
                    worker,
                    shared,
                    failure,
                };
                task.execute(workspace);
                if let Some(begin) = begin {
                    worker.barrier();
                    if worker.index() == 0 {
                        profile::note(step, begin);
                    }
                }
                if let Some(found) = loops::take_fault() {
                    fault.fetch_min(wootz_plan::fault::word(i, found), Ordering::Relaxed);
                }
            }
        });
    }
}

impl Executable for CpuExecutable {
    fn plan(&self) -> &Plan {
        &self.plan
    }
}

/// The first byte of a buffer that is as large as the plan says, aligned for its dtype, and has a value everywhere.
fn bound(bound: &Buffer, planned: &wootz_plan::Buffer) -> Result<*mut u8> {
    let refused = |detail: String| Error::device("cpu", detail);
    let memory = crate::memory::memory(bound).ok_or_else(|| refused("a leaf is on another device".into()))?;
    if bound.len() < planned.bytes {
        let detail = format!("a leaf has {} bytes, but the plan needs {}", bound.len(), planned.bytes);
        return Err(refused(detail));
    }
    if !(memory.start() as usize).is_multiple_of(planned.dtype.size()) {
        return Err(refused(format!("a leaf of {} is not aligned", planned.dtype)));
    }
    memory.fill(None);
    Ok(memory.start())
}

impl Compiled {
    fn new(step: &Step, params: &[DType]) -> Compiled {
        let by_columns = match step.kernel {
            Kernel::Reduce { inner, .. } => reduce::by_columns(&step.inputs[0], inner),
            _ => None,
        };
        let columns = by_columns.is_some();
        let inputs = match by_columns {
            Some(input) => vec![Tape::new(&input, &[], params)],
            None => step.inputs.iter().map(|input| Tape::new(input, &[], params)).collect(),
        };
        let epilogue = Tape::new(&step.epilogue, &step.stores, params);
        Compiled { inputs, epilogue, columns, barrier: step.barrier, coded: false }
    }
}

/// Barriers between steps that use the shared memory, and which products find their activations coded there: query,
/// key and value of a layer read one input, and so do gate and up.
fn mark_shared(steps: &[Step], compiled: &mut [Compiled], bytes: &[usize]) {
    let (mut in_use, mut has_results) = (false, false);
    let mut coder: Option<&Step> = None;
    for ((step, compiled), &bytes) in steps.iter().zip(compiled).zip(bytes) {
        compiled.coded = coder.is_some_and(|coder| quant::same_codes(coder, step));
        let keeps_results = bytes > 0 && quant::keeps_results(step);
        let clash = if compiled.coded { keeps_results && has_results } else { bytes > 0 && in_use };
        compiled.barrier |= clash;
        if compiled.barrier {
            (in_use, has_results) = (false, false);
        }
        in_use |= bytes > 0;
        has_results |= keeps_results;
        if bytes > 0 && !compiled.coded {
            coder = quant::codes(step).then_some(step);
        }
        let input = coder.map(|coder| coder.inputs[0].buffers().collect::<Vec<_>>()).unwrap_or_default();
        if step.writes().any(|buffer| input.contains(&buffer)) {
            coder = None;
        }
    }
}

/// Shared working memory of a step.
fn shared_bytes(step: &Step, workers: usize) -> usize {
    match &step.kernel {
        Kernel::Matmul { .. } => matmul::shared_bytes(step, workers),
        Kernel::Reduce { .. } => reduce::shared_bytes(step, workers),
        Kernel::Attention(_) => attention::shared_bytes(step, workers),
        Kernel::QuantMatmul { .. } | Kernel::ExpertMatmul { .. } => quant::shared_bytes(step, workers),
        Kernel::Sort { .. } | Kernel::ArgSort { .. } => sort::shared_bytes(step, workers),
        Kernel::ArgReduce(_) => arg_reduce::shared_bytes(step, workers),
        Kernel::Map
        | Kernel::Scan(_)
        | Kernel::Softmax { .. }
        | Kernel::RmsNorm { .. }
        | Kernel::LayerNorm { .. }
        | Kernel::Rope(_)
        | Kernel::SearchSorted { .. }
        | Kernel::Gather { .. }
        | Kernel::Scatter { .. }
        | Kernel::WriteAt { .. }
        | Kernel::QuantGather { .. }
        | Kernel::Wkv7
        | Kernel::Custom(_) => 0,
    }
}

/// A rough count of elementary operations.
fn work(step: &Step) -> usize {
    let product = |factors: &[usize]| factors.iter().fold(1usize, |n, &f| n.saturating_mul(f));
    let fused = |f: &wootz_plan::Fused| product(&[f.shape.count(), f.program.cost() + 1]);
    let around = step.inputs.iter().chain([&step.epilogue]).map(fused).fold(0, usize::saturating_add);
    let own = match step.kernel {
        Kernel::Matmul { batch, m, n, k } => product(&[batch, m, n, k]) / 4,
        Kernel::QuantMatmul { .. } => product(&[step.input_shapes[0].count(), step.input_shapes[1][0]]) / 4,
        Kernel::ExpertMatmul { .. } => product(&[step.shape.count(), step.input_shapes[0][1]]) / 4,
        Kernel::Attention(_) => product(&[step.shape.count(), step.input_shapes[1][2]]) / 2,
        Kernel::Softmax { .. } | Kernel::Sort { .. } | Kernel::ArgSort { .. } => product(&[around, 7]),
        Kernel::SearchSorted { .. } => {
            product(&[step.shape.count(), 2 * step.input_shapes[0][0].checked_ilog2().unwrap_or(0) as usize])
        }
        _ => 0,
    };
    around.saturating_add(own)
}

impl Task<'_> {
    fn execute(&self, workspace: &Workspace) {
        match &self.step.kernel {
            Kernel::Map => map::run(self, workspace),
            Kernel::Reduce { op, inner } => reduce::run(self, workspace, *op, *inner),
            Kernel::ArgReduce(op) => arg_reduce::run(self, workspace, *op),
            Kernel::Scan(op) => rows::scan(self, workspace, *op),
            Kernel::Sort { descending, limit } => sort::values(self, workspace, *descending, *limit),
            Kernel::ArgSort { descending, limit } => sort::positions(self, workspace, *descending, *limit),
            Kernel::Softmax { log } => rows::softmax(self, workspace, *log),
            Kernel::RmsNorm { eps } => rows::rms_norm(self, workspace, eps.get()),
            Kernel::LayerNorm { eps } => rows::layer_norm(self, workspace, eps.get()),
            Kernel::Rope(style) => rope::run(self, workspace, *style),
            Kernel::Matmul { batch, m, n, k } => {
                matmul::run(self, workspace, matmul::BatchedShape { batch: *batch, m: *m, n: *n, k: *k });
            }
            Kernel::Attention(spec) => attention::run(self, workspace, spec),
            Kernel::SearchSorted { right } => search_sorted::run(self, workspace, *right),
            Kernel::Gather { axis } => gather::run(self, workspace, *axis as usize),
            Kernel::Scatter { axis, mode } => scatter::scatter(self, workspace, *axis as usize, *mode),
            Kernel::WriteAt { axis } => scatter::write_at(self, workspace, *axis as usize),
            Kernel::QuantMatmul { .. } | Kernel::ExpertMatmul { .. } => quant::matmul(self, workspace),
            Kernel::QuantGather { format } => quant::gather(self, workspace, *format),
            Kernel::Wkv7 => wkv7::run(self, workspace),
            Kernel::Custom(kernel) => custom::run(self, kernel),
        }
    }
}
