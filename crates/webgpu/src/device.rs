//! The adapter and its logical device.

use crate::NAME;
use crate::codegen::Facts;
use crate::groups::Groups;
use crate::memory::{Block, GpuMemory, memory};
use crate::pipelines::Pipelines;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use wootz_backend::{Buffer, DeviceInfo, DeviceKind, Pool, PoolLimits};
use wootz_ir::{Error, Result};

/// Options and limits for opening a device.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// An adapter by its index in the list, or by part of its name; by default the most capable one.
    pub adapter: Option<String>,
    /// Maximum live bytes; by default the host's memory.
    pub memory: Option<usize>,
    /// Maximum size of a storage binding; by default the adapter's limit.
    pub binding: Option<usize>,
    /// Use no optional feature of the adapter.
    pub plain: bool,
}

impl Options {
    /// The settings in `WOOTZ_WEBGPU_ADAPTER` and `WOOTZ_WEBGPU_PLAIN`.
    pub fn current() -> Options {
        let text = |name| std::env::var(name).ok().filter(|v| !v.is_empty());
        Options {
            adapter: text("WOOTZ_WEBGPU_ADAPTER"),
            plain: text("WOOTZ_WEBGPU_PLAIN").is_some(),
            ..Options::default()
        }
    }
}

/// An open device. A lost one is not repaired but replaced by another of the next generation.
pub(crate) struct Gpu {
    pub device: wgpu::Device,
    pub queue: wgpu::Queue,
    pub info: DeviceInfo,
    pub facts: Facts,
    pub features: wgpu::Features,
    /// Buffers for every use but mapping.
    pub pool: Pool<Block>,
    /// Buffers that the host reads from.
    pub staging: Pool<wgpu::Buffer>,
    pub pipelines: Pipelines,
    pub groups: Arc<Groups>,
    pub generation: u64,
    pub alignment: usize,
    reports: Arc<Reports>,
}

/// Errors that the driver reports asynchronously.
#[derive(Default)]
struct Reports {
    lost: Mutex<Option<String>>,
    stray: Mutex<Option<String>>,
}

static GENERATIONS: AtomicU64 = AtomicU64::new(0);

/// An error of the device.
pub(crate) fn failure(detail: impl Into<String>) -> Error {
    Error::device(NAME, detail)
}

impl Gpu {
    pub fn open(options: &Options) -> Result<Gpu> {
        let adapter = choose_adapter(options)?;
        let about = adapter.get_info();
        // Half-precision arithmetic is for users' kernels and cooperative matrices; all others compute in f32.
        let wanted = wgpu::Features::TIMESTAMP_QUERY
            | wgpu::Features::PIPELINE_CACHE
            | wgpu::Features::SUBGROUP
            | wgpu::Features::SHADER_F16
            | cooperative_matrices(&adapter);
        let features = if options.plain { wgpu::Features::empty() } else { adapter.features() & wanted };
        let limits = adapter.limits();
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("wootz"),
            required_features: features,
            required_limits: limits.clone(),
            memory_hints: wgpu::MemoryHints::Performance,
            experimental_features: if features.contains(wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX) {
                // SAFETY: this accepts that what is marked as experimental may have bugs. One of our kernels uses it, and
                // never leaves its memory.
                unsafe { wgpu::ExperimentalFeatures::enabled() }
            } else {
                wgpu::ExperimentalFeatures::disabled()
            },
            ..Default::default()
        };
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor))
            .map_err(|e| failure(format!("cannot open {}: {e}", about.name)).caused_by(e))?;
        let reports = Arc::new(Reports::default());
        let heard = reports.clone();
        device.set_device_lost_callback(move |reason, message| {
            *heard.lost.lock() = Some(format!("{reason:?} {message}").trim().to_string());
        });
        let heard = reports.clone();
        device.on_uncaptured_error(Arc::new(move |error| *heard.stray.lock() = Some(describe(&error))));
        let memory = options.memory.unwrap_or_else(host_memory);
        let binding = options.binding.unwrap_or(limits.max_storage_buffer_binding_size as usize);
        let pool_limits = PoolLimits { live: memory, cached: memory / 4, blocks: 1024 };
        let staging_limits = PoolLimits { live: memory, cached: 64 << 20, blocks: 16 };
        Ok(Gpu {
            info: device_info(&about, &limits, features, memory),
            facts: Facts {
                // Windows start at multiples of their size, which must be aligned; positions in words stay below 2³².
                max_binding: (binding.min(1 << 32) / 256 * 256).max(256),
                max_bindings: limits.max_storage_buffers_per_shader_stage as usize,
                max_groups: limits.max_compute_workgroups_per_dimension,
                subgroups: features
                    .contains(wgpu::Features::SUBGROUP)
                    .then_some((about.subgroup_min_size as usize, about.subgroup_max_size as usize)),
                cooperative: features.contains(wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX),
                cooperative_halves: features.contains(wgpu::Features::SHADER_F16)
                    && has_cooperative(&adapter, wgpu::CooperativeScalarType::F16),
                cpu: about.device_type == wgpu::DeviceType::Cpu,
            },
            pool: Pool::new(pool_limits),
            staging: Pool::new(staging_limits),
            pipelines: Pipelines::new(&device, features, &about),
            groups: Arc::default(),
            generation: GENERATIONS.fetch_add(1, Ordering::Relaxed),
            alignment: limits
                .min_storage_buffer_offset_alignment
                .max(limits.min_uniform_buffer_offset_alignment) as usize,
            features,
            device,
            queue,
            reports,
        })
    }

    /// The memory behind a buffer, if it is on this device.
    pub fn own<'b>(&self, buffer: &'b Buffer) -> Result<&'b GpuMemory> {
        let memory = memory(buffer)?;
        if memory.gpu().generation != self.generation {
            return Err(failure("a buffer was lost with its device; compute its tensor again"));
        }
        Ok(memory)
    }

    /// Why the device is gone, if it is.
    pub fn lost(&self) -> Option<String> {
        self.reports.lost.lock().clone()
    }

    /// Runs `f` and returns errors reported by wgpu. Calls cannot be nested.
    pub fn guarded<T>(&self, what: &str, f: impl FnOnce() -> T) -> Result<T> {
        let memory = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let internal = self.device.push_error_scope(wgpu::ErrorFilter::Internal);
        let validation = self.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let value = f();
        let found = [
            pollster::block_on(validation.pop()),
            pollster::block_on(internal.pop()),
            pollster::block_on(memory.pop()),
        ];
        if let Some(lost) = self.lost() {
            return Err(failure(format!("{what}: the device was lost ({lost})")));
        }
        match found.into_iter().flatten().next() {
            Some(error) => Err(failure(format!("{what}: {}", describe(&error))).caused_by(error)),
            None => Ok(value),
        }
    }

    /// Waits until a submission has completed.
    pub fn wait(&self, submission: wgpu::SubmissionIndex) -> Result<()> {
        let wait = wgpu::PollType::Wait { submission_index: Some(submission), timeout: None };
        let polled = self.device.poll(wait);
        if let Some(lost) = self.lost() {
            return Err(failure(format!("the device was lost ({lost})")));
        }
        polled.map_err(|e| failure(format!("waiting for a submission failed: {e}")).caused_by(e))?;
        match self.reports.stray.lock().take() {
            Some(error) => Err(failure(error)),
            None => Ok(()),
        }
    }
}

/// The complete error chain: the first link alone says little.
pub(crate) fn describe(error: &wgpu::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

/// Every adapter of the machine, in the order that indices name them by.
pub(crate) fn adapters() -> Vec<wgpu::Adapter> {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = wgpu::Backends::PRIMARY;
    let instance = wgpu::Instance::new(descriptor);
    pollster::block_on(instance.enumerate_adapters(wgpu::Backends::PRIMARY))
}

fn choose_adapter(options: &Options) -> Result<wgpu::Adapter> {
    let mut list = adapters();
    if list.is_empty() {
        return Err(failure(
            "no adapter: install a Vulkan, Metal or DirectX 12 driver (mesa-vulkan-drivers has a software one)",
        ));
    }
    let names: Vec<String> = list.iter().map(|a| a.get_info().name).collect();
    let index = match &options.adapter {
        Some(wanted) => {
            let by_index = wanted.parse::<usize>().ok().filter(|&i| i < list.len());
            let lower = wanted.to_lowercase();
            let by_name = || names.iter().position(|n| n.to_lowercase().contains(&lower));
            by_index.or_else(by_name).ok_or_else(|| {
                failure(format!("no adapter matches {wanted:?}; available: {}", names.join(", ")))
            })?
        }
        None => {
            let rank = |a: &wgpu::Adapter| match a.get_info().device_type {
                wgpu::DeviceType::DiscreteGpu => 0,
                wgpu::DeviceType::IntegratedGpu => 1,
                wgpu::DeviceType::VirtualGpu => 2,
                wgpu::DeviceType::Other => 3,
                wgpu::DeviceType::Cpu => 4,
            };
            (0..list.len()).min_by_key(|&i| rank(&list[i])).unwrap_or(0)
        }
    };
    Ok(list.swap_remove(index))
}

/// Whether the adapter multiplies matrices of 8×8 of this type, and adds up in f32.
fn has_cooperative(adapter: &wgpu::Adapter, ab_type: wgpu::CooperativeScalarType) -> bool {
    let types = (ab_type, wgpu::CooperativeScalarType::F32);
    let fits = |c: &wgpu::CooperativeMatrixProperties| {
        (c.m_size, c.n_size, c.k_size) == (8, 8, 8) && (c.ab_type, c.cr_type) == types
    };
    adapter.cooperative_matrix_properties().iter().any(fits)
}

/// The feature of cooperative matrices, if the adapter has them as our kernel needs them: 8×8 in f32, by subgroups of 32.
fn cooperative_matrices(adapter: &wgpu::Adapter) -> wgpu::Features {
    let about = adapter.get_info();
    // Metal promises no width of its SIMD-groups, but those of Apple's GPUs have 32 lanes.
    let apple = about.backend == wgpu::Backend::Metal && about.name.starts_with("Apple");
    let wide = (about.subgroup_min_size, about.subgroup_max_size) == (32, 32);
    if has_cooperative(adapter, wgpu::CooperativeScalarType::F32) && (apple || wide) {
        wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX
    } else {
        wgpu::Features::empty()
    }
}

fn device_info(
    about: &wgpu::AdapterInfo,
    limits: &wgpu::Limits,
    features: wgpu::Features,
    memory: usize,
) -> DeviceInfo {
    let kind = match about.device_type {
        wgpu::DeviceType::DiscreteGpu => DeviceKind::DiscreteGpu,
        wgpu::DeviceType::Cpu => DeviceKind::Software,
        _ => DeviceKind::IntegratedGpu,
    };
    let fact = |name: &str, value: String| (name.to_string(), value);
    let mut facts = vec![
        fact("api", about.backend.to_string()),
        fact("driver", format!("{} {}", about.driver, about.driver_info).trim().to_string()),
        fact("storage binding", format!("{} MiB", limits.max_storage_buffer_binding_size >> 20)),
        fact("storage bindings", limits.max_storage_buffers_per_shader_stage.to_string()),
    ];
    if features.contains(wgpu::Features::TIMESTAMP_QUERY) {
        facts.push(fact("timestamps", "yes".into()));
    }
    if features.contains(wgpu::Features::SHADER_F16) {
        facts.push(fact("f16", "yes".into()));
    }
    if features.contains(wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX) {
        facts.push(fact("cooperative matrices", "yes".into()));
    }
    if features.contains(wgpu::Features::SUBGROUP) {
        let (least, most) = (about.subgroup_min_size, about.subgroup_max_size);
        facts.push(fact(
            "subgroups",
            if least == most { least.to_string() } else { format!("{least}-{most}") },
        ));
    }
    DeviceInfo {
        name: NAME.into(),
        description: about.name.clone(),
        kind,
        facts,
        memory_limit: memory,
        buffer_limit: usize::try_from(limits.max_buffer_size).unwrap_or(usize::MAX),
    }
}

/// Bytes of memory in the host: wgpu does not say what a GPU has, and its driver refuses what does not fit.
fn host_memory() -> usize {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kilobytes = total.and_then(|t| t.trim().strip_suffix("kB")?.trim().parse::<usize>().ok());
    kilobytes.map_or(16 << 30, |k| k << 10)
}
