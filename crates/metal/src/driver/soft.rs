//! The driver over SoftMetal.

use super::*;
use softmetal::check::CheckOptions;
use softmetal::{
    CommandBuffer, CompileOptions, ConstantValue, DeviceOptions, DispatchType, Family, FunctionConstants,
    Limits, Queue, Recipe, Size, StorageMode,
};
use std::path::PathBuf;

/// How the software device behaves.
#[derive(Clone, Debug, Default)]
pub struct SoftOptions {
    /// The GPU family to imitate; `None` is Apple7 (M1).
    pub family: Option<Family>,
    /// Lanes of a simdgroup, where the family leaves a choice.
    pub simd_width: Option<u32>,
    /// Checks every memory access.
    pub sanitize: bool,
    /// Runs threads, groups and unordered launches in another order, by this seed.
    pub shuffle: Option<u64>,
    /// Counts what kernels do.
    pub profile: bool,
    /// Where compiled kernels are kept; `None` is SoftMetal's own choice.
    pub cache: Option<PathBuf>,
}

/// A software device.
pub struct SoftDevice {
    device: softmetal::Device,
    queue: Queue,
    facts: Facts,
}

impl SoftDevice {
    /// A device; an error where clang is missing.
    pub fn new(options: &SoftOptions) -> Result<SoftDevice> {
        let family = options.family.unwrap_or_default();
        let device = softmetal::Device::new(DeviceOptions {
            family,
            simd_width: options.simd_width,
            check: options.sanitize.then(CheckOptions::default),
            profile: options.profile,
            shuffle: options.shuffle,
            cache_dir: options.cache.clone(),
            ..DeviceOptions::default()
        })
        .map_err(|e| DriverError::Unavailable(e.to_string()))?;
        let facts = facts(options)?;
        Ok(SoftDevice { queue: device.new_queue(), device, facts })
    }
}

/// What a software device with these options is; it need not be opened for that.
pub fn facts(options: &SoftOptions) -> Result<Facts> {
    let family = options.family.unwrap_or_default();
    let limits =
        Limits::of(family, options.simd_width).map_err(|e| DriverError::Unavailable(e.to_string()))?;
    Ok(Facts {
        name: format!("SoftMetal ({family})"),
        family: family.to_string(),
        simd_width: limits.simd_width,
        simdgroup_matrix: family.has_simdgroup_matrix(),
        bfloat: family.has_bfloat(),
        max_threads: limits.max_threads_per_threadgroup,
        max_threadgroup_memory: limits.max_threadgroup_memory,
        max_buffer: limits.max_buffer_length as usize,
        working_set: limits.max_buffer_length as usize,
        unified: true,
        page: 1,
        software: true,
    })
}

struct SoftMemory(softmetal::Buffer);

impl MemoryObject for SoftMemory {
    fn length(&self) -> usize {
        self.0.length()
    }

    fn contents(&self) -> Option<*mut u8> {
        let start = self.0.contents();
        (!start.is_null()).then_some(start)
    }
}

struct SoftPipeline(softmetal::Pipeline);

impl PipelineObject for SoftPipeline {
    fn max_threads(&self) -> u32 {
        self.0.max_total_threads_per_threadgroup()
    }

    fn simd_width(&self) -> u32 {
        self.0.thread_execution_width()
    }

    fn static_memory(&self) -> u32 {
        self.0.static_threadgroup_memory_length()
    }
}

/// Our own object behind a handle; another driver's is a mistake of the caller.
fn own<'a, T: Any>(object: &'a dyn Any, what: &str) -> Result<&'a T> {
    object.downcast_ref().ok_or_else(|| DriverError::Failed(format!("cannot use a {what} of another device")))
}

fn buffer(memory: &Memory) -> Result<&softmetal::Buffer> {
    Ok(&own::<SoftMemory>(&**memory as &dyn Any, "buffer")?.0)
}

fn failed(e: softmetal::Error) -> DriverError {
    DriverError::Failed(e.to_string())
}

/// A program as SoftMetal takes it.
fn recipe<'a>(program: &Program<'a>) -> Recipe<'a> {
    let mut constants = FunctionConstants::new();
    for (key, value) in program.constants {
        let value = match *value {
            Constant::Bool(v) => ConstantValue::Bool(v),
            Constant::Int(v) => ConstantValue::Int(v),
            Constant::Uint(v) => ConstantValue::UInt(v),
            Constant::Float(v) => ConstantValue::Float(v),
        };
        constants = match key {
            ConstantKey::Index(index) => constants.with(*index, value),
            ConstantKey::Name(name) => constants.with_name(name, value),
        };
    }
    let options = CompileOptions {
        fast_math: program.fast_math,
        file_name: format!("{}.metal", program.kernel),
        ..CompileOptions::default()
    };
    Recipe { source: program.source, options, function: program.kernel, constants }
}

impl Device for SoftDevice {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn buffer(&self, bytes: usize, storage: Storage) -> Result<Memory> {
        let mode = match storage {
            Storage::Shared => StorageMode::Shared,
            Storage::Private => StorageMode::Private,
        };
        let buffer = self.device.new_buffer(bytes, mode);
        Ok(Arc::new(SoftMemory(buffer.map_err(|e| DriverError::OutOfMemory(e.to_string()))?)))
    }

    unsafe fn wrap(
        &self,
        start: *const u8,
        bytes: usize,
        owner: Box<dyn Any + Send + Sync>,
    ) -> Result<Memory> {
        // SAFETY: the caller's promise; kernels only read it, so that the pointer may be made mutable.
        let buffer = unsafe { self.device.new_buffer_no_copy(start.cast_mut(), bytes, owner) };
        Ok(Arc::new(SoftMemory(buffer.map_err(failed)?)))
    }

    fn prepare(&self, programs: &[Program<'_>]) {
        let recipes: Vec<Recipe<'_>> = programs.iter().map(recipe).collect();
        self.device.prepare(&recipes);
    }

    fn pipeline(&self, program: &Program<'_>) -> Result<Pipeline> {
        let Recipe { source, options, function, constants } = recipe(program);
        let compile = || {
            let library = self.device.new_library(source, &options)?;
            let function = library.function_with_constants(function, &constants)?;
            self.device.new_pipeline(&function)
        };
        let pipeline = compile().map_err(|e| DriverError::Compile {
            kernel: program.label.to_string(),
            message: e.to_string(),
        })?;
        Ok(Arc::new(SoftPipeline(pipeline)))
    }

    fn submit(&self, batch: Batch<'_>) -> Result<Box<dyn Running>> {
        let command = self.queue.command_buffer();
        let keep: Keep = Arc::new(parking_lot::Mutex::new(Some(batch.keep)));
        let kept = keep.clone();
        command.add_completed_handler(move |_| drop(kept.lock().take()));
        encode(&command, batch.commands).and_then(|()| command.commit().map_err(failed))?;
        Ok(Box::new(SoftRunning { command, keep }))
    }
}

fn encode(command: &CommandBuffer, commands: &[Command<'_>]) -> Result<()> {
    let mut encoder = None;
    for item in commands {
        match item {
            Command::Barrier => {
                if let Some(encoder) = &mut encoder {
                    softmetal::ComputeEncoder::memory_barrier(encoder);
                }
            }
            Command::Dispatch(dispatch) => {
                let encoder =
                    encoder.get_or_insert_with(|| command.compute_encoder(DispatchType::Concurrent));
                launch(encoder, dispatch)
                    .map_err(|e| DriverError::Failed(format!("{}: {e}", dispatch.label)))?;
            }
        }
    }
    Ok(())
}

fn launch(encoder: &mut softmetal::ComputeEncoder<'_>, dispatch: &Dispatch<'_>) -> Result<()> {
    encoder.set_pipeline(&own::<SoftPipeline>(&**dispatch.pipeline as &dyn Any, "pipeline")?.0);
    for (index, argument) in dispatch.arguments.iter().enumerate() {
        match argument {
            Argument::Buffer(memory, offset) => {
                check_offset(dispatch, index, memory, *offset)?;
                encoder.set_buffer(index as u32, buffer(memory)?, *offset)
            }
            Argument::Bytes(bytes) => encoder.set_bytes(index as u32, bytes),
        }
        .map_err(failed)?;
    }
    if dispatch.threadgroup_memory > 0 {
        encoder.set_threadgroup_memory_length(0, dispatch.threadgroup_memory).map_err(failed)?;
    }
    let size = |[x, y, z]: [u32; 3]| Size(x, y, z);
    match dispatch.grid {
        Grid::Groups(groups) => encoder.dispatch_threadgroups(size(groups), size(dispatch.threads)),
        Grid::Threads(threads) => encoder.dispatch_threads(size(threads), size(dispatch.threads)),
    }
    .map_err(failed)
}

struct SoftRunning {
    command: CommandBuffer,
    keep: Keep,
}

impl Running for SoftRunning {
    fn wait(self: Box<Self>) -> Result<Finished> {
        let outcome = self.command.wait_until_completed();
        drop(self.keep.lock().take());
        outcome.map_err(failed)?;
        let seconds = self.command.gpu_end_time() - self.command.gpu_start_time();
        Ok(Finished { seconds, command_buffers: 1, profiles: self.command.profiles() })
    }
}
