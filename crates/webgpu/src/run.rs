//! Executables: a plan's launches, and one run of them as one submission.

use crate::codegen::{Binding, Bound, Dispatch, Task, types};
use crate::device::{Gpu, failure};
use crate::exec;
use crate::groups::Slot;
use crate::memory::{GpuMemory, Staging, memory};
use crate::pipelines::Pipeline;
use parking_lot::Mutex;
use std::sync::Arc;
use wootz_backend::{Buffer, Executable, Fence, Run};
use wootz_ir::{Error, Fault, Number, Result};
use wootz_plan::{Place, Plan};

/// A plan compiled for WebGPU.
pub(crate) struct GpuExecutable {
    plan: Arc<Plan>,
    launches: Vec<Launch>,
    /// Bytes of working memory behind the plan's scratch.
    temp: usize,
    can_fault: bool,
    ready: Mutex<Option<Arc<Ready>>>,
}

struct Launch {
    dispatch: Dispatch,
    step: usize,
}

/// What an executable keeps on a device.
struct Ready {
    generation: u64,
    pipelines: Vec<Arc<Pipeline>>,
    /// The uniform blocks of all launches.
    blocks: GpuMemory,
    block_offsets: Vec<usize>,
    /// Where each launch's scalar parameters are in the memory of a run.
    param_offsets: Vec<usize>,
    param_bytes: usize,
}

impl GpuExecutable {
    pub fn new(gpu: &Arc<Gpu>, plan: Arc<Plan>) -> Result<GpuExecutable> {
        if let Some((step, dtype)) = exec::refused(&plan) {
            return Err(Error::Unsupported {
                op: step.label.clone(),
                dtype,
                device: crate::NAME.into(),
                reason: crate::backend::NO_F64.into(),
            });
        }
        let mut launches = Vec::with_capacity(plan.steps.len());
        for (number, step) in plan.steps.iter().enumerate() {
            let task = Task { plan: &plan, step, number, target: &gpu.target };
            launches
                .extend(exec::lower(&task)?.into_iter().map(|dispatch| Launch { dispatch, step: number }));
        }
        let temp = plan.steps.iter().map(|step| exec::temp_bytes(step, &gpu.target)).max().unwrap_or(0);
        let can_fault = plan.steps.iter().any(|s| s.can_fault());
        let executable = GpuExecutable { plan, launches, temp, can_fault, ready: Mutex::new(None) };
        executable.ready(gpu)?;
        Ok(executable)
    }

    /// Pipelines and uniform blocks on a device, made again when the device was replaced.
    fn ready(&self, gpu: &Arc<Gpu>) -> Result<Arc<Ready>> {
        let mut ready = self.ready.lock();
        if let Some(ready) = ready.as_ref().filter(|r| r.generation == gpu.generation) {
            return Ok(ready.clone());
        }
        let mut pipelines = Vec::with_capacity(self.launches.len());
        let (mut blocks, mut block_offsets) = (Vec::new(), Vec::new());
        let (mut param_bytes, mut param_offsets) = (0, Vec::new());
        for Launch { dispatch, step } in &self.launches {
            pipelines.push(gpu.pipelines.get(gpu, dispatch, &self.plan.steps[*step].label)?);
            block_offsets.push(blocks.len());
            blocks.extend(dispatch.uniform.iter().flat_map(|w| w.to_le_bytes()));
            blocks.resize(blocks.len().next_multiple_of(gpu.alignment), 0);
            param_offsets.push(param_bytes);
            param_bytes += (dispatch.params.len().next_multiple_of(2) * 8).next_multiple_of(gpu.alignment);
        }
        gpu.pipelines.keep();
        let memory = GpuMemory::new(gpu, blocks.len(), "launch parameters")?;
        memory.upload(0, &blocks)?;
        let made = Ready {
            generation: gpu.generation,
            pipelines,
            blocks: memory,
            block_offsets,
            param_offsets,
            param_bytes,
        };
        Ok(ready.insert(Arc::new(made)).clone())
    }

    /// Starts a run.
    pub fn submit(&self, gpu: &Arc<Gpu>, run: Run<'_>) -> Result<Fence> {
        let plan = &*self.plan;
        if run.leaves.len() != plan.leaves || run.params.len() != plan.params.len() {
            return Err(failure(format!(
                "a plan with {} leaves and {} parameters was given {} and {}",
                plan.leaves,
                plan.params.len(),
                run.leaves.len(),
                run.params.len()
            )));
        }
        let ready = self.ready(gpu)?;
        let mut results = Vec::with_capacity(plan.results.len());
        for &bytes in &plan.results {
            results.push(Buffer::new(GpuMemory::new(gpu, bytes, "a result")?));
        }
        let scratch_bytes = plan.scratch.next_multiple_of(256) + self.temp;
        let held = Held {
            scratch: GpuMemory::new(gpu, scratch_bytes, "scratch")?,
            params: self.upload_params(gpu, &ready, run.params)?,
            faults: if self.can_fault { Some(GpuMemory::new(gpu, 4, "faults")?) } else { None },
            detours: self.detours(gpu)?,
        };
        let bound = Binder { executable: self, gpu, leaves: run.leaves, results: &results, held: &held };
        let groups = bound.groups(&ready)?;
        let staging = if self.can_fault { Some(Staging::new(gpu, 4)?) } else { None };
        let submission = gpu.guarded("submitting a plan", || {
            let mut encoder = gpu.device.create_command_encoder(&Default::default());
            if let Some(faults) = &held.faults {
                encoder.clear_buffer(faults.raw(), 0, Some(4));
            }
            let mut pass = encoder.begin_compute_pass(&Default::default());
            for (i, launch) in self.launches.iter().enumerate() {
                pass.set_pipeline(&ready.pipelines[i].pipeline);
                pass.set_bind_group(0, &groups[i], &[]);
                let [x, y, z] = launch.dispatch.groups;
                pass.dispatch_workgroups(x, y, z);
                if let Some(detour) = &held.detours[i] {
                    drop(pass);
                    let (to, bytes) = (detour.to as u64, detour.bytes as u64);
                    encoder.copy_buffer_to_buffer(detour.memory.raw(), 0, held.scratch.raw(), to, bytes);
                    pass = encoder.begin_compute_pass(&Default::default());
                }
            }
            drop(pass);
            if let (Some(faults), Some(staging)) = (&held.faults, &staging) {
                encoder.copy_buffer_to_buffer(faults.raw(), 0, staging.raw(), 0, 4);
            }
            gpu.queue.submit([encoder.finish()])
        })?;
        if let Some(staging) = staging {
            // Plans that can fail are waited for here: the staging memory is read and given back.
            let word = staging.read(submission, 4)?;
            let code = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
            if code != 0 {
                return Err(self.describe(code));
            }
            return Ok(Fence::done(results));
        }
        let gpu = gpu.clone();
        Ok(Fence::pending(results, move || gpu.wait(submission)))
    }

    /// A user's kernel that reads and writes scratch gets memory of its own for the result: its text declares operands
    /// read-only, which memory that is written in the same launch cannot be.
    fn detours(&self, gpu: &Arc<Gpu>) -> Result<Vec<Option<Detour>>> {
        let place = |binding: &Binding| match binding.bound {
            Bound::Plan(id) => match self.plan.buffers[id as usize].place {
                Place::Scratch(offset) => Some(offset),
                Place::Leaf(_) | Place::Result(_) => None,
            },
            Bound::Temp(_) | Bound::Faults => None,
        };
        let detour = |launch: &Launch| {
            let bindings = &launch.dispatch.bindings;
            let reads = bindings.iter().any(|b| b.read_only && place(b).is_some());
            let written =
                bindings.iter().find(|b| !b.read_only).filter(|_| launch.dispatch.user.is_some() && reads);
            let Some((to, bytes)) = written.and_then(|b| Some((place(b)?, b.bytes))) else { return Ok(None) };
            Ok(Some(Detour { memory: GpuMemory::new(gpu, bytes, "a kernel's result")?, to, bytes }))
        };
        self.launches.iter().map(detour).collect()
    }

    /// The scalar parameters of a run, each launch's own together.
    fn upload_params(&self, gpu: &Arc<Gpu>, ready: &Ready, params: &[Number]) -> Result<Option<GpuMemory>> {
        if ready.param_bytes == 0 {
            return Ok(None);
        }
        let mut bytes = vec![0u8; ready.param_bytes];
        for (launch, &offset) in self.launches.iter().zip(&ready.param_offsets) {
            for (slot, &index) in launch.dispatch.params.iter().enumerate() {
                let words = types::words(params[index as usize], self.plan.params[index as usize]);
                let at = offset + slot * 8;
                bytes[at..at + 4].copy_from_slice(&words[0].to_le_bytes());
                bytes[at + 4..at + 8].copy_from_slice(&words[1].to_le_bytes());
            }
        }
        let memory = GpuMemory::new(gpu, bytes.len(), "parameters")?;
        memory.upload(0, &bytes)?;
        Ok(Some(memory))
    }

    fn describe(&self, code: u32) -> Error {
        let number = ((code >> 8) as usize).saturating_sub(1).min(self.plan.steps.len() - 1);
        let step = &self.plan.steps[number];
        match Fault::from_code(code & 0xff) {
            Some(fault) => Error::Fault {
                op: step.label.clone(),
                fault,
                shape: step.shape.clone(),
                dtype: step.dtype,
                device: crate::NAME.into(),
            },
            None => failure(format!("{}: an unknown fault ({code:#x})", step.label)),
        }
    }
}

/// Memory of one run; back in the pool at once, for later submissions come after this one.
struct Held {
    scratch: GpuMemory,
    params: Option<GpuMemory>,
    faults: Option<GpuMemory>,
    /// By launch.
    detours: Vec<Option<Detour>>,
}

/// A result that is written elsewhere and then copied to its place in scratch.
struct Detour {
    memory: GpuMemory,
    to: usize,
    bytes: usize,
}

struct Binder<'a> {
    executable: &'a GpuExecutable,
    gpu: &'a Gpu,
    leaves: &'a [Buffer],
    results: &'a [Buffer],
    held: &'a Held,
}

impl Binder<'_> {
    /// The bind group of each launch.
    fn groups(&self, ready: &Ready) -> Result<Vec<wgpu::BindGroup>> {
        let launch = |i: usize| Ok((&ready.pipelines[i], self.slots(ready, i)?));
        let launches = (0..self.executable.launches.len()).map(launch).collect::<Result<Vec<_>>>()?;
        self.gpu.groups.get(self.gpu, &launches)
    }

    /// What launch `i` is bound to.
    fn slots<'b>(&'b self, ready: &'b Ready, i: usize) -> Result<Vec<Slot<'b>>> {
        let dispatch = &self.executable.launches[i].dispatch;
        let mut slots = Vec::with_capacity(dispatch.bindings.len() + 2);
        if !dispatch.uniform.is_empty() {
            let bytes = dispatch.uniform.len() * 4;
            slots.push(Slot { binding: 0, memory: &ready.blocks, offset: ready.block_offsets[i], bytes });
        }
        if let (false, Some(memory)) = (dispatch.params.is_empty(), &self.held.params) {
            let bytes = dispatch.params.len().next_multiple_of(2) * 8;
            slots.push(Slot { binding: 1, memory, offset: ready.param_offsets[i], bytes });
        }
        for (slot, binding) in dispatch.bindings.iter().enumerate() {
            let (memory, base) = match &self.held.detours[i] {
                Some(detour) if !binding.read_only => (&detour.memory, 0),
                _ => self.resolve(binding)?,
            };
            slots.push(Slot {
                binding: dispatch.first_slot() + slot,
                memory,
                offset: base + binding.offset,
                bytes: binding.bytes,
            });
        }
        Ok(slots)
    }

    /// The memory behind a binding, and where in it the bound thing starts.
    fn resolve(&self, binding: &Binding) -> Result<(&GpuMemory, usize)> {
        let plan = &self.executable.plan;
        Ok(match binding.bound {
            Bound::Plan(id) => match plan.buffers[id as usize].place {
                Place::Leaf(i) => (self.own(&self.leaves[i])?, 0),
                Place::Result(i) => (self.own(&self.results[i])?, 0),
                Place::Scratch(offset) => (&self.held.scratch, offset),
            },
            Bound::Temp(offset) => (&self.held.scratch, plan.scratch.next_multiple_of(256) + offset),
            Bound::Faults => match &self.held.faults {
                Some(faults) => (faults, 0),
                None => return Err(failure("a launch that can fault in a plan that cannot")),
            },
        })
    }

    fn own<'b>(&self, buffer: &'b Buffer) -> Result<&'b GpuMemory> {
        let memory = memory(buffer)?;
        if memory.gpu().generation != self.gpu.generation {
            return Err(failure("a buffer was lost with the device that held it; compute its tensor again"));
        }
        Ok(memory)
    }
}

impl Executable for GpuExecutable {
    fn plan(&self) -> &Plan {
        &self.plan
    }
}
