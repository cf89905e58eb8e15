//! Compiled plans and their runs: one submission each.

use crate::NAME;
use crate::backend::NO_F64;
use crate::codegen::{Facts, Launch, Task, wgsl};
use crate::device::Gpu;
use crate::exec;
use crate::groups::Slot;
use crate::memory::{GpuMemory, Staging, memory};
use crate::pipelines::Pipeline;
use parking_lot::Mutex;
use std::sync::Arc;
use wootz_backend::{Buffer, Executable, Fence, Run};
use wootz_gpu::{Buffers, Placed, Program, refuse_f64};
use wootz_ir::{Number, Result};
use wootz_plan::Plan;

/// A plan compiled for WebGPU.
pub(crate) struct GpuExecutable {
    program: Program<Launch>,
    resident: Mutex<Option<Arc<Resident>>>,
}

/// What an executable keeps on a device.
struct Resident {
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
        refuse_f64(&plan, NAME, NO_F64)?;
        let steps = plan.clone();
        let program = Program::new(plan, |number, step| {
            exec::launches(&Task { plan: &steps, step, number, facts: &gpu.facts })
        })?;
        let executable = GpuExecutable { program, resident: Mutex::new(None) };
        executable.resident(gpu)?;
        Ok(executable)
    }

    /// Pipelines and uniform blocks on a device, made again when the device was replaced.
    fn resident(&self, gpu: &Arc<Gpu>) -> Result<Arc<Resident>> {
        let mut resident = self.resident.lock();
        if let Some(resident) = resident.as_ref().filter(|r| r.generation == gpu.generation) {
            return Ok(resident.clone());
        }
        let mut pipelines = Vec::with_capacity(self.program.launches.len());
        let (mut blocks, mut block_offsets) = (Vec::new(), Vec::new());
        let (mut param_bytes, mut param_offsets) = (0, Vec::new());
        for Placed { launch, step, .. } in &self.program.launches {
            pipelines.push(gpu.pipelines.get(gpu, launch, &self.program.plan.steps[*step].label)?);
            block_offsets.push(blocks.len());
            blocks.extend(launch.uniform.iter().flat_map(|w| w.to_le_bytes()));
            blocks.resize(blocks.len().next_multiple_of(gpu.alignment), 0);
            param_offsets.push(param_bytes);
            param_bytes += (launch.params.len().next_multiple_of(2) * 8).next_multiple_of(gpu.alignment);
        }
        gpu.pipelines.keep();
        let memory = GpuMemory::new(gpu, blocks.len(), "launch parameters")?;
        memory.upload(0, &blocks)?;
        let made = Resident {
            generation: gpu.generation,
            pipelines,
            blocks: memory,
            block_offsets,
            param_offsets,
            param_bytes,
        };
        Ok(resident.insert(Arc::new(made)).clone())
    }

    /// Starts a run.
    pub fn submit(&self, gpu: &Arc<Gpu>, run: Run<'_>) -> Result<Fence> {
        self.program.check(&run, NAME, |leaf| gpu.own(leaf).map(|_| true))?;
        let resident = self.resident(gpu)?;
        let take = |bytes: usize, what: &str| Ok(Buffer::new(GpuMemory::new(gpu, bytes, what)?));
        let buffers = self.program.allocate(run.leaves, take, take)?;
        let bound = Bound {
            program: &self.program,
            resident: &resident,
            buffers: &buffers,
            params: self.upload_params(gpu, &resident, run.params)?,
            detours: self.detours(gpu, &buffers)?,
        };
        let launch = |i: usize| Ok((&resident.pipelines[i], bound.slots(i)?));
        let launches = (0..self.program.launches.len()).map(launch).collect::<Result<Vec<_>>>()?;
        let groups = gpu.groups.get(gpu, &launches)?;
        let staging = if buffers.faults.is_some() { Some(Staging::new(gpu, 4)?) } else { None };
        let faults = buffers.faults.as_ref().map(memory).transpose()?.map(GpuMemory::raw);
        let submission = gpu.guarded("submitting a plan", || {
            let mut encoder = gpu.device.create_command_encoder(&Default::default());
            if let Some(faults) = faults {
                encoder.clear_buffer(faults, 0, Some(4));
            }
            let mut pass = encoder.begin_compute_pass(&Default::default());
            for (i, placed) in self.program.launches.iter().enumerate() {
                pass.set_pipeline(&resident.pipelines[i].pipeline);
                pass.set_bind_group(0, &groups[i], &[]);
                let [x, y, z] = placed.launch.groups;
                pass.dispatch_workgroups(x, y, z);
                if let Some(Detour { memory, to: (scratch, at), bytes }) = &bound.detours[i] {
                    drop(pass);
                    encoder.copy_buffer_to_buffer(memory.raw(), 0, scratch, *at, *bytes);
                    pass = encoder.begin_compute_pass(&Default::default());
                }
            }
            drop(pass);
            if let (Some(faults), Some(staging)) = (faults, &staging) {
                encoder.copy_buffer_to_buffer(faults, 0, staging.raw(), 0, 4);
            }
            gpu.queue.submit([encoder.finish()])
        })?;
        let (gpu, plan) = (gpu.clone(), self.program.plan.clone());
        Ok(Fence::pending(buffers.results, move || match staging {
            // Kernels note complements of fault words.
            Some(staging) => {
                let word = staging.read(submission, 4)?;
                plan.fault(!u32::from_le_bytes([word[0], word[1], word[2], word[3]]), NAME)
            }
            None => gpu.wait(submission),
        }))
    }

    /// A user's kernel that reads and writes scratch gets memory of its own for the result: its text declares operands
    /// read-only, which memory that is written in the same launch cannot be.
    fn detours(&self, gpu: &Arc<Gpu>, buffers: &Buffers<'_>) -> Result<Vec<Option<Detour>>> {
        let plan = &*self.program.plan;
        let detour = |placed: &Placed<Launch>| {
            let bindings = &placed.launch.bindings;
            let reads = bindings.iter().any(|b| b.read_only && b.bound.is_scratch(plan));
            let written = bindings.iter().find(|b| !b.read_only && b.bound.is_scratch(plan));
            let Some(written) = written.filter(|_| placed.launch.user.is_some() && reads) else {
                return Ok(None);
            };
            let (scratch, at) = self.program.place(placed, written.bound, buffers);
            let to = (memory(scratch)?.raw().clone(), at as u64);
            let bytes = written.bytes as u64;
            Ok(Some(Detour { memory: GpuMemory::new(gpu, written.bytes, "a kernel's result")?, to, bytes }))
        };
        self.program.launches.iter().map(detour).collect()
    }

    /// The scalar parameters of a run, each launch's own together.
    fn upload_params(
        &self,
        gpu: &Arc<Gpu>,
        resident: &Resident,
        params: &[Number],
    ) -> Result<Option<GpuMemory>> {
        if resident.param_bytes == 0 {
            return Ok(None);
        }
        let mut bytes = vec![0u8; resident.param_bytes];
        for (placed, &offset) in self.program.launches.iter().zip(&resident.param_offsets) {
            for (slot, &index) in placed.launch.params.iter().enumerate() {
                let words = wgsl::words(params[index as usize], self.program.plan.params[index as usize]);
                bytes[offset + slot * 8..][..8].copy_from_slice(bytemuck::bytes_of(&words));
            }
        }
        let memory = GpuMemory::new(gpu, bytes.len(), "parameters")?;
        memory.upload(0, &bytes)?;
        Ok(Some(memory))
    }
}

/// A result that is written elsewhere and then copied to its place in scratch.
struct Detour {
    memory: GpuMemory,
    to: (wgpu::Buffer, u64),
    bytes: u64,
}

/// A run on its way to the device. Its memory is back in the pool at once, for later submissions come after this one.
struct Bound<'a> {
    program: &'a Program<Launch>,
    resident: &'a Resident,
    buffers: &'a Buffers<'a>,
    params: Option<GpuMemory>,
    /// By launch.
    detours: Vec<Option<Detour>>,
}

impl Bound<'_> {
    /// What launch `i` is bound to.
    fn slots(&self, i: usize) -> Result<Vec<Slot<'_>>> {
        let placed = &self.program.launches[i];
        let launch = &placed.launch;
        let mut slots = Vec::with_capacity(launch.bindings.len() + 2);
        if !launch.uniform.is_empty() {
            let (memory, offset) = (&self.resident.blocks, self.resident.block_offsets[i]);
            slots.push(Slot { binding: 0, memory, offset, bytes: launch.uniform.len() * 4 });
        }
        if let (false, Some(memory)) = (launch.params.is_empty(), &self.params) {
            let bytes = launch.params.len().next_multiple_of(2) * 8;
            slots.push(Slot { binding: 1, memory, offset: self.resident.param_offsets[i], bytes });
        }
        for (slot, binding) in launch.bindings.iter().enumerate() {
            let (memory, base) = match &self.detours[i] {
                Some(detour) if !binding.read_only => (&detour.memory, 0),
                _ => {
                    let (buffer, offset) = self.program.place(placed, binding.bound, self.buffers);
                    (memory(buffer)?, offset)
                }
            };
            let offset = base + binding.offset;
            slots.push(Slot { binding: launch.first_slot() + slot, memory, offset, bytes: binding.bytes });
        }
        Ok(slots)
    }
}

impl Executable for GpuExecutable {
    fn plan(&self) -> &Plan {
        &self.program.plan
    }
}

/// The launches of a plan on an adapter that is like `facts`, which need not be there.
pub fn launches(plan: &Plan, facts: &Facts) -> Result<Vec<Launch>> {
    let steps = plan.steps.iter().enumerate();
    let launches = steps.map(|(number, step)| exec::launches(&Task { plan, step, number, facts }));
    Ok(launches.collect::<Result<Vec<_>>>()?.into_iter().flat_map(|launches| launches.list).collect())
}
