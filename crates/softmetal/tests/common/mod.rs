//! What the tests share: run one kernel and read its buffers.
#![allow(dead_code, reason = "each test file uses a part")]

use bytemuck::{AnyBitPattern, NoUninit};
use softmetal::*;

/// What to bind at an index.
#[derive(Clone)]
pub enum Arg {
    /// A buffer with these bytes.
    Data(Vec<u8>),
    /// Inline bytes.
    Inline(Vec<u8>),
    /// Threadgroup memory.
    Group(u32),
}

/// A buffer with values.
pub fn data<T: NoUninit>(values: &[T]) -> Arg {
    Arg::Data(bytemuck::cast_slice(values).to_vec())
}

/// A zeroed buffer of `n` values of `T`.
pub fn zeros<T>(n: usize) -> Arg {
    Arg::Data(vec![0; n * size_of::<T>()])
}

/// An inline value.
pub fn inline<T: NoUninit>(value: T) -> Arg {
    Arg::Inline(bytemuck::bytes_of(&value).to_vec())
}

/// What a run gives.
pub struct Outcome {
    buffers: Vec<Option<Buffer>>,
    /// Counters, when profiled.
    pub profiles: Vec<profile::DispatchProfile>,
}

impl Outcome {
    /// The values of the buffer at an index.
    pub fn get<T: AnyBitPattern>(&self, index: usize) -> Vec<T> {
        self.buffers[index].as_ref().expect("a buffer").read().expect("readable")
    }
}

/// Options of a run.
#[derive(Clone)]
pub struct Run {
    pub device: DeviceOptions,
    pub constants: FunctionConstants,
    pub compile: CompileOptions,
}

impl Default for Run {
    /// What the language defines; tests/hardware.rs has what GPUs make of it.
    fn default() -> Run {
        Run {
            device: DeviceOptions { hardware: false, ..DeviceOptions::default() },
            constants: FunctionConstants::default(),
            compile: CompileOptions::default(),
        }
    }
}

impl Run {
    /// With the checker.
    pub fn checked() -> Run {
        let mut run = Run::default();
        run.device.check = Some(check::CheckOptions::default());
        run
    }

    /// Runs one kernel over `grid` threads in groups of `threads`.
    pub fn run(
        &self,
        source: &str,
        kernel: &str,
        grid: impl Into<Size>,
        threads: impl Into<Size>,
        args: &[Arg],
    ) -> Result<Outcome> {
        let device = Device::new(self.device.clone())?;
        let source = if source.contains("#include") {
            source.to_string()
        } else {
            format!("#include <metal_stdlib>\nusing namespace metal;\n#line 1\n{source}")
        };
        let library = device.new_library(&source, &self.compile)?;
        let function = library.function_with_constants(kernel, &self.constants)?;
        let pipeline = device.new_pipeline(&function)?;
        let queue = device.new_queue();
        let command = queue.command_buffer();
        let mut encoder = command.compute_encoder(DispatchType::Serial);
        encoder.set_pipeline(&pipeline);
        let mut buffers = Vec::new();
        let mut group_index = 0;
        for (i, a) in args.iter().enumerate() {
            let i = i as u32;
            buffers.push(None);
            match a {
                Arg::Data(bytes) => {
                    let b = device.new_buffer_with_bytes(bytes)?;
                    encoder.set_buffer(i, &b, 0)?;
                    buffers[i as usize] = Some(b);
                }
                Arg::Inline(bytes) => encoder.set_bytes(i, bytes)?,
                Arg::Group(n) => {
                    encoder.set_threadgroup_memory_length(group_index, *n)?;
                    group_index += 1;
                }
            }
        }
        encoder.dispatch_threads(grid, threads)?;
        encoder.end_encoding();
        command.run()?;
        Ok(Outcome { buffers, profiles: command.profiles() })
    }
}

/// Runs with default options and expects success.
pub fn run(
    source: &str,
    kernel: &str,
    grid: impl Into<Size>,
    threads: impl Into<Size>,
    args: &[Arg],
) -> Outcome {
    Run::default().run(source, kernel, grid, threads, args).unwrap_or_else(|e| panic!("{e}"))
}
