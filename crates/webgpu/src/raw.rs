//! The device without tensors: byte buffers, user-defined WGSL kernels, batches of launches, GPU timing.
//!
//! ```no_run
//! use wootz_webgpu::raw::{Device, Kernel};
//!
//! # fn main() -> wootz_webgpu::raw::Result<()> {
//! let device = Device::new()?;
//! let source = "@group(0) @binding(0) var<storage, read_write> x: array<f32>;
//!     @compute @workgroup_size(64) fn double(@builtin(global_invocation_id) id: vec3<u32>) {
//!         if id.x < arrayLength(&x) { x[id.x] = 2.0 * x[id.x]; }
//!     }";
//! let double = device.kernel(source, "double", &[])?;
//! let x = device.buffer_with(&1.5f32.to_le_bytes())?;
//! device.run(&double, &[&x], [1, 1, 1])?;
//! assert_eq!(x.read()?, 3f32.to_le_bytes());
//! # Ok(())
//! # }
//! ```

use crate::device::{Gpu, Options, failure};
use crate::memory::{GpuMemory, Staging};
use std::sync::Arc;
use std::time::Duration;
use wootz_backend::{DeviceInfo, MemoryStats};

pub use wootz_ir::{Error, Result};

/// A GPU for user-defined kernels. Clones refer to the same device.
#[derive(Clone)]
pub struct Device(Arc<Gpu>);

/// Bytes on a device.
pub struct Buffer(GpuMemory);

/// A compiled WGSL entry point. Its bindings are those of group 0, in ascending order, each an entire buffer.
pub struct Kernel {
    pipeline: wgpu::ComputePipeline,
    name: String,
}

impl Device {
    /// The adapter that the environment names, else the most capable one.
    pub fn new() -> Result<Device> {
        Device::with_options(&Options::current())
    }

    /// The adapter and the bounds that `options` name.
    pub fn with_options(options: &Options) -> Result<Device> {
        Ok(Device(Arc::new(Gpu::open(options)?)))
    }

    /// Description of the device.
    pub fn info(&self) -> &DeviceInfo {
        &self.0.info
    }

    /// Memory use.
    pub fn memory(&self) -> MemoryStats {
        self.0.pool.stats()
    }

    /// A buffer with unspecified content.
    pub fn buffer(&self, bytes: usize) -> Result<Buffer> {
        Ok(Buffer(GpuMemory::new(&self.0, bytes, "a buffer")?))
    }

    /// A buffer with these bytes.
    pub fn buffer_with(&self, bytes: &[u8]) -> Result<Buffer> {
        let buffer = self.buffer(bytes.len())?;
        buffer.write(0, bytes)?;
        Ok(buffer)
    }

    /// Compiles a kernel, with values for its `override` constants. An error names the line and the column.
    pub fn kernel(&self, source: &str, entry: &str, constants: &[(&str, f64)]) -> Result<Kernel> {
        let pipeline = compile(&self.0, source, entry, constants, None)?;
        Ok(Kernel { pipeline, name: entry.to_string() })
    }

    /// Runs one kernel to completion over `groups` workgroups.
    pub fn run(&self, kernel: &Kernel, buffers: &[&Buffer], groups: [u32; 3]) -> Result<()> {
        let mut batch = self.batch();
        batch.add(kernel, buffers, groups)?;
        batch.run().map(|_| ())
    }

    /// An empty batch of launches.
    pub fn batch(&self) -> Batch<'_> {
        Batch { gpu: &self.0, launches: Vec::new(), timed: false }
    }
}

impl Buffer {
    /// Size in bytes.
    pub fn len(&self) -> usize {
        wootz_backend::DeviceMemory::len(&self.0)
    }

    /// True when there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Host bytes into the buffer, from byte `offset` on.
    pub fn write(&self, offset: usize, bytes: &[u8]) -> Result<()> {
        self.check(offset, bytes.len())?;
        self.0.upload(offset, bytes)
    }

    /// The entire content.
    pub fn read(&self) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.len()];
        self.read_into(0, &mut bytes)?;
        Ok(bytes)
    }

    /// Bytes from byte `offset` on.
    pub fn read_into(&self, offset: usize, bytes: &mut [u8]) -> Result<()> {
        self.check(offset, bytes.len())?;
        self.0.download(offset, bytes)
    }

    fn check(&self, offset: usize, bytes: usize) -> Result<()> {
        if offset.checked_add(bytes).is_some_and(|end| end <= self.len()) {
            return Ok(());
        }
        Err(failure(format!("{bytes} bytes at offset {offset} exceed a buffer of {}", self.len())))
    }
}

/// Launches that go to the device as one submission, in order.
pub struct Batch<'a> {
    gpu: &'a Arc<Gpu>,
    launches: Vec<(wgpu::ComputePipeline, wgpu::BindGroup, [u32; 3])>,
    timed: bool,
}

impl Batch<'_> {
    /// Adds a launch.
    pub fn add(&mut self, kernel: &Kernel, buffers: &[&Buffer], groups: [u32; 3]) -> Result<()> {
        let limit = self.gpu.facts.max_groups;
        if groups.iter().any(|&g| g > limit) {
            return Err(failure(format!(
                "{}: {groups:?} workgroups exceed the limit of {limit}",
                kernel.name
            )));
        }
        let group = self.gpu.guarded(&format!("binding buffers to {}", kernel.name), || {
            let entries: Vec<wgpu::BindGroupEntry<'_>> = buffers
                .iter()
                .enumerate()
                .map(|(i, b)| wgpu::BindGroupEntry {
                    binding: i as u32,
                    resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                        buffer: b.0.raw(),
                        offset: 0,
                        size: std::num::NonZeroU64::new(b.len().next_multiple_of(4).max(4) as u64),
                    }),
                })
                .collect();
            self.gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some(&kernel.name),
                layout: &kernel.pipeline.get_bind_group_layout(0),
                entries: &entries,
            })
        })?;
        self.launches.push((kernel.pipeline.clone(), group, groups));
        Ok(())
    }

    /// Asks for the time that the GPU takes.
    #[must_use]
    pub fn timed(mut self) -> Self {
        self.timed = true;
        self
    }

    /// Runs everything to completion. The time is available if it was requested and the adapter has timestamps.
    pub fn run(self) -> Result<Option<Duration>> {
        let gpu = &**self.gpu;
        let timed = self.timed && gpu.features.contains(wgpu::Features::TIMESTAMP_QUERY);
        let times = timed.then(|| Times::new(self.gpu)).transpose()?;
        let submission = gpu.guarded("running a batch", || {
            let mut encoder = gpu.device.create_command_encoder(&Default::default());
            {
                let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                    label: None,
                    timestamp_writes: times.as_ref().map(|t| wgpu::ComputePassTimestampWrites {
                        query_set: &t.queries,
                        beginning_of_pass_write_index: Some(0),
                        end_of_pass_write_index: Some(1),
                    }),
                });
                for (pipeline, group, [x, y, z]) in &self.launches {
                    pass.set_pipeline(pipeline);
                    pass.set_bind_group(0, group, &[]);
                    pass.dispatch_workgroups(*x, *y, *z);
                }
            }
            if let Some(t) = &times {
                encoder.resolve_query_set(&t.queries, 0..2, &t.resolved, 0);
                encoder.copy_buffer_to_buffer(&t.resolved, 0, t.staging.raw(), 0, 16);
            }
            gpu.queue.submit([encoder.finish()])
        })?;
        match times {
            Some(times) => times.read(submission).map(Some),
            None => gpu.wait(submission).map(|()| None),
        }
    }
}

/// Two timestamps on their way to the host.
struct Times<'a> {
    gpu: &'a Arc<Gpu>,
    queries: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    staging: Staging,
}

impl<'a> Times<'a> {
    fn new(gpu: &'a Arc<Gpu>) -> Result<Times<'a>> {
        let staging = Staging::new(gpu, 16)?;
        let (queries, resolved) = gpu.guarded("making timestamps", || {
            let queries = gpu.device.create_query_set(&wgpu::QuerySetDescriptor {
                label: None,
                ty: wgpu::QueryType::Timestamp,
                count: 2,
            });
            let resolved = gpu.device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size: 16,
                usage: wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
                mapped_at_creation: false,
            });
            (queries, resolved)
        })?;
        Ok(Times { gpu, queries, resolved, staging })
    }

    fn read(&self, submission: wgpu::SubmissionIndex) -> Result<Duration> {
        let bytes = self.staging.read(submission, 16)?;
        let tick = |at: usize| bytes[at..at + 8].iter().rev().fold(0u64, |n, &b| n << 8 | u64::from(b));
        let ticks = tick(8).saturating_sub(tick(0));
        Ok(Duration::from_nanos((ticks as f64 * f64::from(self.gpu.queue.get_timestamp_period())) as u64))
    }
}

/// Compiles a user's source, with all run-time checks in it.
pub(crate) fn compile(
    gpu: &Gpu,
    source: &str,
    entry: &str,
    constants: &[(&str, f64)],
    layout: Option<&wgpu::PipelineLayout>,
) -> Result<wgpu::ComputePipeline> {
    let mut messages = Vec::new();
    let parsed = gpu.guarded(&format!("compiling {entry}"), || {
        let module = gpu.device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some(entry),
            source: wgpu::ShaderSource::Wgsl(source.into()),
        });
        messages = pollster::block_on(module.get_compilation_info()).messages;
        module
    });
    if let Some(message) = first_error(&messages) {
        return Err(failure(format!("compiling {entry}: {message}")));
    }
    let module = parsed?;
    gpu.guarded(&format!("making a pipeline of {entry}"), || {
        gpu.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(entry),
            layout,
            module: &module,
            entry_point: Some(entry),
            compilation_options: wgpu::PipelineCompilationOptions { constants, ..Default::default() },
            cache: None,
        })
    })
}

fn first_error(messages: &[wgpu::CompilationMessage]) -> Option<String> {
    let message = messages.iter().find(|m| m.message_type == wgpu::CompilationMessageType::Error)?;
    let place = message.location.map(|l| format!("line {}, column {}: ", l.line_number, l.line_position));
    Some(format!("{}{}", place.unwrap_or_default(), message.message))
}
