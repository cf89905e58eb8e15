//! Pipelines by source.

use crate::codegen::{Dispatch, UserKernel};
use crate::device::{Gpu, failure};
use crate::raw;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::num::NonZeroU64;
use std::sync::Arc;
use wootz_ir::Result;

/// A compiled shader and how its bindings are laid out.
pub(crate) struct Pipeline {
    pub pipeline: wgpu::ComputePipeline,
    pub layout: wgpu::BindGroupLayout,
}

/// What has been compiled on a device; with a driver's own cache behind it where the adapter has one.
pub(crate) struct Pipelines {
    known: Mutex<FxHashMap<String, Arc<Pipeline>>>,
    cache: Option<wgpu::PipelineCache>,
}

impl Pipelines {
    pub fn new(device: &wgpu::Device, features: wgpu::Features, _about: &wgpu::AdapterInfo) -> Pipelines {
        let cache = features.contains(wgpu::Features::PIPELINE_CACHE).then(|| {
            let descriptor = wgpu::PipelineCacheDescriptor { label: None, data: None, fallback: true };
            // SAFETY: no data is given that could be invalid.
            unsafe { device.create_pipeline_cache(&descriptor) }
        });
        Pipelines { known: Mutex::default(), cache }
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
        self.known.lock().insert(key.into_owned(), made.clone());
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
        Pipeline { pipeline, layout }
    }
}

fn compile_user(gpu: &Gpu, dispatch: &Dispatch, user: &UserKernel) -> Result<Pipeline> {
    let (layout, pipeline_layout) = gpu.guarded("laying out bindings", || layouts(&gpu.device, dispatch))?;
    let constants: Vec<(&str, f64)> =
        user.constants.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let pipeline = raw::compile(gpu, &dispatch.source, &dispatch.entry, &constants, Some(&pipeline_layout))?;
    Ok(Pipeline { pipeline, layout })
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
            4,
        ));
    }
    entries
}

/// A bind group of a launch, made under an error scope of the caller.
pub(crate) fn entry(
    binding: usize,
    buffer: &wgpu::Buffer,
    offset: usize,
    bytes: usize,
) -> Result<wgpu::BindGroupEntry<'_>> {
    if offset + bytes > buffer.size() as usize {
        let size = buffer.size();
        return Err(failure(format!("{bytes} bytes at {offset} were to be bound of a buffer of {size}")));
    }
    Ok(wgpu::BindGroupEntry {
        binding: binding as u32,
        resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
            buffer,
            offset: offset as u64,
            size: NonZeroU64::new(bytes as u64),
        }),
    })
}
