//! Pipelines by source.

use crate::codegen::{Dispatch, UserKernel};
use crate::device::Gpu;
use crate::{disk, raw};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use wootz_ir::Result;

/// A compiled shader and how its bindings are laid out.
pub(crate) struct Pipeline {
    /// What tells it from every other.
    pub id: u64,
    pub pipeline: wgpu::ComputePipeline,
    pub layout: wgpu::BindGroupLayout,
}

/// What has been compiled on a device; with a driver's own cache behind it where the adapter has one.
pub(crate) struct Pipelines {
    known: Mutex<FxHashMap<String, Arc<Pipeline>>>,
    cache: Option<wgpu::PipelineCache>,
    /// Where the driver's cache is kept, how many pipelines there were when it was last written, and when that was.
    file: Option<PathBuf>,
    written: Mutex<(usize, Option<Instant>)>,
}

static PIPELINES: AtomicU64 = AtomicU64::new(0);

fn fresh() -> u64 {
    PIPELINES.fetch_add(1, Ordering::Relaxed)
}

/// Pipelines that are remembered; with one more, all are forgotten. Plans hold on to theirs.
const MOST: usize = 4096;

/// The least time between two writes of the driver's cache.
const PAUSE: Duration = Duration::from_secs(5);

impl Pipelines {
    pub fn new(device: &wgpu::Device, features: wgpu::Features, about: &wgpu::AdapterInfo) -> Pipelines {
        let file = features.contains(wgpu::Features::PIPELINE_CACHE).then(|| disk::path(about)).flatten();
        let cache = features.contains(wgpu::Features::PIPELINE_CACHE).then(|| {
            let data = file.as_deref().and_then(disk::read);
            let data = data.as_deref();
            let descriptor = wgpu::PipelineCacheDescriptor { label: None, data, fallback: true };
            // SAFETY: the data is what `get_data` gave for this adapter, which a checksum confirms; wgpu compares the
            // adapter and the driver's version, and starts afresh where they differ.
            unsafe { device.create_pipeline_cache(&descriptor) }
        });
        Pipelines { known: Mutex::default(), cache, file, written: Mutex::default() }
    }

    /// Writes the driver's cache to disk if there is something new in it and the last time is a while ago. Not to be able
    /// to is no failure: the next process compiles again.
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
            let _ = disk::write(file, &data);
        }
        *written = (count, Some(Instant::now()));
    }

    /// How many pipelines there are.
    pub fn count(&self) -> usize {
        self.known.lock().len()
    }

    /// The pipeline of a launch, compiled at its first use.
    pub fn get(&self, gpu: &Gpu, dispatch: &Dispatch, label: &str) -> Result<Arc<Pipeline>> {
        let key = match &dispatch.user {
            // A user's text has several pipelines: by entry point, constants, and how many bindings it is given.
            Some(user) => {
                let count = dispatch.bindings.len();
                Cow::from(format!("{} {:?} {count}\n{}", dispatch.entry, user.constants, dispatch.source))
            }
            None => Cow::from(&dispatch.source),
        };
        if let Some(known) = self.known.lock().get(&*key) {
            return Ok(known.clone());
        }
        let made = Arc::new(match &dispatch.user {
            Some(user) => compile_user(gpu, dispatch, user)?,
            None => gpu.guarded(&format!("compiling {} for {label}", dispatch.entry), || {
                self.compile(&gpu.device, dispatch)
            })?,
        });
        let mut known = self.known.lock();
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(key.into_owned(), made.clone());
        Ok(made)
    }

    fn compile(&self, device: &wgpu::Device, dispatch: &Dispatch) -> Pipeline {
        let checks = wgpu::ShaderRuntimeChecks {
            bounds_checks: false,
            force_loop_bounding: false,
            ..wgpu::ShaderRuntimeChecks::checked()
        };
        let descriptor = wgpu::ShaderModuleDescriptor {
            label: Some(&dispatch.entry),
            source: wgpu::ShaderSource::Wgsl(dispatch.source.as_str().into()),
        };
        // SAFETY: the planner keeps every position inside its buffer, indices from data are checked by the shader itself,
        // and every loop counts towards a bound.
        let module = unsafe { device.create_shader_module_trusted(descriptor, checks) };
        let (layout, pipeline_layout) = layouts(device, dispatch);
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(&dispatch.entry),
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some(&dispatch.entry),
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

fn compile_user(gpu: &Gpu, dispatch: &Dispatch, user: &UserKernel) -> Result<Pipeline> {
    let (layout, pipeline_layout) = gpu.guarded("laying out bindings", || layouts(&gpu.device, dispatch))?;
    let constants: Vec<(&str, f64)> =
        user.constants.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let pipeline = raw::compile(gpu, &dispatch.source, &dispatch.entry, &constants, Some(&pipeline_layout))?;
    Ok(Pipeline { id: fresh(), pipeline, layout })
}

fn layouts(device: &wgpu::Device, dispatch: &Dispatch) -> (wgpu::BindGroupLayout, wgpu::PipelineLayout) {
    let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some(&dispatch.entry),
        entries: &layout_entries(dispatch),
    });
    let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some(&dispatch.entry),
        bind_group_layouts: &[Some(&layout)],
        immediate_size: 0,
    });
    (layout, pipeline_layout)
}

fn layout_entries(dispatch: &Dispatch) -> Vec<wgpu::BindGroupLayoutEntry> {
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
    if !dispatch.uniform.is_empty() {
        entries.push(entry(0, uniform, dispatch.uniform.len() * 4));
    }
    if !dispatch.params.is_empty() {
        entries.push(entry(1, uniform, dispatch.params.len().next_multiple_of(2) * 8));
    }
    for (i, binding) in dispatch.bindings.iter().enumerate() {
        entries.push(entry(
            dispatch.first_slot() + i,
            wgpu::BufferBindingType::Storage { read_only: binding.read_only },
            // Ours may be declared as quads; what a user's declares is compared when it runs.
            if dispatch.user.is_some() { 0 } else { binding.bytes.min(16) },
        ));
    }
    entries
}
