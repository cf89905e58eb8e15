//! A plan as a list of launches, with the memory that they need.

use crate::bindings::Bound;
use std::sync::Arc;
use wootz_backend::{Buffer, Run};
use wootz_ir::{DType, Error, Result, ScalarType};
use wootz_plan::{Place, Plan, Step};

/// Alignment of the scratch memory of steps, in bytes.
const ALIGNMENT: usize = 256;

/// The launches of a step, and the scratch memory that they share.
#[derive(Clone, Debug)]
pub struct Launches<T> {
    /// In order; each waits for the previous one.
    pub list: Vec<T>,
    /// Bytes of scratch beyond the plan's own.
    pub scratch: usize,
}

impl<T> Default for Launches<T> {
    fn default() -> Launches<T> {
        Launches { list: Vec::new(), scratch: 0 }
    }
}

impl<T> From<T> for Launches<T> {
    fn from(launch: T) -> Launches<T> {
        Launches { list: vec![launch], scratch: 0 }
    }
}

/// A launch of a program.
#[derive(Clone, Debug)]
pub struct Placed<T> {
    /// The launch.
    pub launch: T,
    /// Its step.
    pub step: usize,
    /// Whether it waits for the launches before it.
    pub barrier: bool,
    /// The start of its step's own scratch memory.
    scratch_at: usize,
}

/// A plan as a list of launches.
pub struct Program<T> {
    /// The plan.
    pub plan: Arc<Plan>,
    /// In order.
    pub launches: Vec<Placed<T>>,
    /// Whether a run can end in a fault.
    pub can_fault: bool,
    /// Bytes of scratch memory: the plan's own, then that of steps.
    pub scratch: usize,
    /// Leaves that a step writes.
    written: Vec<usize>,
}

/// The buffers of a run.
pub struct Buffers<'a> {
    /// Bound by the caller.
    pub leaves: &'a [Buffer],
    /// Returned to the caller.
    pub results: Vec<Buffer>,
    /// Scratch memory, if the program has any.
    pub scratch: Option<Buffer>,
    /// The fault word, if a run can fault.
    pub faults: Option<Buffer>,
}

/// Rejects plans with 64-bit floats, which shading languages lack.
pub fn refuse_f64(plan: &Plan, device: &str, reason: &str) -> Result<()> {
    let has_f64 = |step: &&Step| {
        let fused = step.inputs.iter().chain([&step.epilogue]);
        let in_code = fused.flat_map(|f| &f.program.instrs).any(|i| i.result() == ScalarType::F64);
        in_code || step.dtype == DType::F64 || step.stores.iter().any(|s| s.dtype == DType::F64)
    };
    match plan.steps.iter().find(has_f64) {
        Some(step) => Err(step.refused(DType::F64, device, reason)),
        None => Ok(()),
    }
}

impl<T> Program<T> {
    /// Lowers each step of a plan, and allocates its scratch memory: steps without a barrier between them may run at
    /// the same time and get separate memory.
    pub fn new(
        plan: Arc<Plan>,
        mut lower: impl FnMut(usize, &Step) -> Result<Launches<T>>,
    ) -> Result<Program<T>> {
        let own = plan.scratch.next_multiple_of(ALIGNMENT);
        let (mut scratch, mut cursor) = (plan.scratch, own);
        let mut launches = Vec::with_capacity(plan.steps.len());
        for (index, step) in plan.steps.iter().enumerate() {
            let of_step = lower(index, step)?;
            if step.barrier {
                cursor = own;
            }
            launches.extend(of_step.list.into_iter().enumerate().map(|(pass, launch)| Placed {
                launch,
                step: index,
                barrier: pass > 0 || step.barrier,
                scratch_at: cursor,
            }));
            if of_step.scratch > 0 {
                cursor += of_step.scratch.next_multiple_of(ALIGNMENT);
                scratch = scratch.max(cursor);
            }
        }
        let can_fault = plan.steps.iter().any(Step::can_fault);
        let written =
            plan.steps.iter().flat_map(Step::writes).filter_map(|id| match plan.buffers[id as usize].place {
                Place::Leaf(i) => Some(i),
                Place::Result(_) | Place::Scratch(_) => None,
            });
        let written = written.collect();
        Ok(Program { launches, can_fault, scratch, written, plan })
    }

    /// Whether a run's buffers can be bound to the plan's leaves. `own` says whether a buffer may be written, or why
    /// it does not belong to the device.
    pub fn check(&self, run: &Run<'_>, device: &str, own: impl Fn(&Buffer) -> Result<bool>) -> Result<()> {
        let plan = &*self.plan;
        let error = |detail: String| Err(Error::device(device, detail));
        if run.leaves.len() != plan.leaves || run.params.len() != plan.params.len() {
            let (leaves, params) = (plan.leaves, plan.params.len());
            let (has_leaves, has_params) = (run.leaves.len(), run.params.len());
            return error(format!(
                "expected {leaves} leaves and {params} parameters, got {has_leaves} and {has_params}"
            ));
        }
        for buffer in &plan.buffers {
            let Place::Leaf(i) = buffer.place else { continue };
            let is_writable = own(&run.leaves[i])?;
            let (has, needs) = (run.leaves[i].len(), buffer.bytes);
            if has < needs {
                return error(format!("leaf {i} has {has} bytes, but the plan needs {needs}"));
            }
            if self.written.contains(&i) && !is_writable {
                return error(format!("leaf {i} is imported memory, which cannot be written"));
            }
        }
        Ok(())
    }

    /// Allocates the memory of a run: `shared` is visible to the host, `private` need not be. Both get a description
    /// of its purpose.
    pub fn allocate<'a>(
        &self,
        leaves: &'a [Buffer],
        shared: impl Fn(usize, &str) -> Result<Buffer>,
        private: impl Fn(usize, &str) -> Result<Buffer>,
    ) -> Result<Buffers<'a>> {
        let results = self.plan.results.iter().map(|&bytes| shared(bytes, "a result"));
        Ok(Buffers {
            leaves,
            results: results.collect::<Result<_>>()?,
            scratch: (self.scratch > 0).then(|| private(self.scratch, "scratch")).transpose()?,
            faults: self.can_fault.then(|| shared(4, "the fault word")).transpose()?,
        })
    }

    /// The buffer that contains memory used by a launch, and its offset there.
    pub fn place<'b>(&self, of: &Placed<T>, bound: Bound, buffers: &'b Buffers<'_>) -> (&'b Buffer, usize) {
        let scratch = || buffers.scratch.as_ref().expect("programs that use scratch have it");
        match bound {
            Bound::Plan(id) => match self.plan.buffers[id as usize].place {
                Place::Leaf(i) => (&buffers.leaves[i], 0),
                Place::Result(i) => (&buffers.results[i], 0),
                Place::Scratch(offset) => (scratch(), offset),
            },
            Bound::Scratch(offset) => (scratch(), of.scratch_at + offset),
            Bound::Faults => (buffers.faults.as_ref().expect("programs that fault have a word"), 0),
        }
    }
}
