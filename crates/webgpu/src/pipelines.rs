//! Pipelines by source.

use crate::codegen::{Launch, UserKernel};
use crate::device::Gpu;
use crate::raw;
use parking_lot::Mutex;
use std::borrow::Cow;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use wootz_gpu::Cache;
use wootz_ir::Result;
use wootz_system::cache;

/// A compiled shader and how its bindings are laid out.
pub(crate) struct Pipeline {
    /// A unique key.
    pub id: u64,
    pub pipeline: wgpu::ComputePipeline,
    pub layout: wgpu::BindGroupLayout,
}

/// What has been compiled on a device; with a driver's own cache behind it where the adapter has one.
pub(crate) struct Pipelines {
    known: Cache<Arc<Pipeline>>,
    cache: Option<wgpu::PipelineCache>,
    /// Where the driver's cache is kept, how many pipelines there were when it was last written, and when that was.
    file: Option<PathBuf>,
    written: Mutex<(usize, Option<Instant>)>,
}

static PIPELINES: AtomicU64 = AtomicU64::new(0);

fn fresh() -> u64 {
    PIPELINES.fetch_add(1, Ordering::Relaxed)
}

/// The least time between two writes of the driver's cache.
const PAUSE: Duration = Duration::from_secs(5);

/// Where the driver's pipeline cache of an adapter is; `None` without a home folder, or if wgpu has no key for it.
fn cache_file(about: &wgpu::AdapterInfo) -> Option<PathBuf> {
    Some(cache::folder("pipelines")?.join(wgpu::util::pipeline_cache_key(about)?))
}

impl Pipelines {
    pub fn new(device: &wgpu::Device, features: wgpu::Features, about: &wgpu::AdapterInfo) -> Pipelines {
        let file = features.contains(wgpu::Features::PIPELINE_CACHE).then(|| cache_file(about)).flatten();
        let cache = features.contains(wgpu::Features::PIPELINE_CACHE).then(|| {
            let data = file.as_deref().and_then(cache::read);
            let data = data.as_deref();
            let descriptor = wgpu::PipelineCacheDescriptor { label: None, data, fallback: true };
            // SAFETY: the data is what `get_data` gave for this adapter, which a checksum confirms; wgpu compares the
            // adapter and the driver's version, and starts afresh where they differ.
            unsafe { device.create_pipeline_cache(&descriptor) }
        });
        Pipelines { known: Cache::default(), cache, file, written: Mutex::default() }
    }

    /// Writes the driver's cache to disk if it has new entries and was not written recently. Failing to write it is not an
    /// error: the next process compiles again.
    pub fn keep(&self) {
        self.keep_after(PAUSE);
    }

    fn keep_after(&self, pause: Duration) {
        let (Some(cache), Some(file)) = (&self.cache, &self.file) else { return };
        let count = self.count();
        let mut written = self.written.lock();
        if count == written.0 || written.1.is_some_and(|last| last.elapsed() < pause) {
            return;
        }
        if let Some(data) = cache.get_data() {
            let _ = cache::write(file, &data);
        }
        *written = (count, Some(Instant::now()));
    }

    /// How many pipelines there are.
    pub fn count(&self) -> usize {
        self.known.count()
    }

    /// The pipeline of a launch, compiled at its first use.
    pub fn get(&self, gpu: &Gpu, launch: &Launch, label: &str) -> Result<Arc<Pipeline>> {
        let key = match &launch.user {
            // A user's text has several pipelines: by entry point, constants, and how many bindings it is given.
            Some(user) => {
                let count = launch.bindings.len();
                Cow::from(format!("{} {:?} {count}\n{}", launch.entry, user.constants, launch.source))
            }
            None => Cow::from(&launch.source),
        };
        self.known.get_or_make(&key, || {
            Ok(Arc::new(match &launch.user {
                Some(user) => compile_user(gpu, launch, user)?,
                None => gpu.guarded(&format!("compiling {} for {label}", launch.entry), || {
                    self.compile(&gpu.device, launch)
                })?,
            }))
        })
    }

    fn compile(&self, device: &wgpu::Device, launch: &Launch) -> Pipeline {
        let checks = wgpu::ShaderRuntimeChecks {
            bounds_checks: false,
            force_loop_bounding: false,
            ..wgpu::ShaderRuntimeChecks::checked()
        };
        let descriptor = wgpu::ShaderModuleDescriptor {
            label: Some(&launch.entry),
            source: wgpu::ShaderSource::Wgsl(launch.source.as_str().into()),
        };
        // SAFETY: the planner keeps every position inside its buffer, indices from data are checked by the shader itself,
        // and every loop counts towards a bound.
        let module = unsafe { device.create_shader_module_trusted(descriptor, checks) };
        let (layout, pipeline_layout) = layouts(device, launch);
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(&launch.entry),
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some(&launch.entry),
            compilation_options: wgpu::PipelineCompilationOptions {
                zero_initialize_workgroup_memory: false,
                ..Default::default()
            },
            cache: self.cache.as_ref(),
        });
        Pipeline { id: fresh(), pipeline, layout }
    }
}

impl Drop for Pipelines {
    fn drop(&mut self) {
        self.keep_after(Duration::ZERO);
    }
}

fn compile_user(gpu: &Gpu, launch: &Launch, user: &UserKernel) -> Result<Pipeline> {
    let (layout, pipeline_layout) = gpu.guarded("laying out bindings", || layouts(&gpu.device, launch))?;
    let constants: Vec<(&str, f64)> =
        user.constants.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let pipeline = raw::compile(gpu, &launch.source, &launch.entry, &constants, Some(&pipeline_layout))?;
    Ok(Pipeline { id: fresh(), pipeline, layout })
}

fn layouts(device: &wgpu::Device, launch: &Launch) -> (wgpu::BindGroupLayout, wgpu::PipelineLayout) {
    let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some(&launch.entry),
        entries: &layout_entries(launch),
    });
    let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some(&launch.entry),
        bind_group_layouts: &[Some(&layout)],
        immediate_size: 0,
    });
    (layout, pipeline_layout)
}

fn layout_entries(launch: &Launch) -> Vec<wgpu::BindGroupLayoutEntry> {
    let entry = |binding: usize, ty, bytes: usize| wgpu::BindGroupLayoutEntry {
        binding: binding as u32,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer {
            ty,
            has_dynamic_offset: false,
            min_binding_size: NonZeroU64::new(bytes as u64),
        },
        count: None,
    };
    let uniform = wgpu::BufferBindingType::Uniform;
    let mut entries = Vec::new();
    if !launch.uniform.is_empty() {
        entries.push(entry(0, uniform, launch.uniform.len() * 4));
    }
    if !launch.params.is_empty() {
        entries.push(entry(1, uniform, launch.params.len().next_multiple_of(2) * 8));
    }
    for (i, binding) in launch.bindings.iter().enumerate() {
        entries.push(entry(
            launch.first_slot() + i,
            wgpu::BufferBindingType::Storage { read_only: binding.read_only },
            // Ours may be declared as quads; what a user's declares is compared when it runs.
            if launch.user.is_some() { 0 } else { binding.bytes.min(16) },
        ));
    }
    entries
}
