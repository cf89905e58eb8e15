//! A thin driver: the part of Metal that a compute backend needs.
//!
//! It has two implementations: `apple` (Apple's GPUs, on macOS and iOS) and `soft` (SoftMetal, everywhere, behind a
//! feature). Nothing outside this folder knows which one runs. Objects are `Send + Sync`; batches of one device run
//! in order, on one queue. A driver checks what its platform checks; sizes and bindings are the caller's
//! responsibility, and a mistake there is an error of the batch.

#[cfg(any(target_vendor = "apple", feature = "apple-on-linux"))]
pub mod apple;
#[cfg(all(feature = "apple-on-linux", not(target_vendor = "apple")))]
pub mod host;
#[cfg(feature = "softmetal")]
pub mod soft;

#[cfg(feature = "softmetal")]
pub use softmetal::profile::DispatchProfile;
/// Counters of a dispatch, which only SoftMetal has.
#[cfg(not(feature = "softmetal"))]
pub type DispatchProfile = std::convert::Infallible;

use std::any::Any;
use std::sync::Arc;

/// The visibility of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Storage {
    /// Host and device, in one memory.
    Shared,
    /// Device only.
    Private,
}

/// Properties and limits of a device.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The device's name.
    pub name: String,
    /// The GPU family, such as `apple7` or `mac2`.
    pub family: String,
    /// Lanes of a simdgroup.
    pub simd_width: u32,
    /// Whether 8×8 matrices of simdgroups exist.
    pub simdgroup_matrix: bool,
    /// Whether the type `bfloat` exists.
    pub bfloat: bool,
    /// Threads of a threadgroup.
    pub max_threads: u32,
    /// Bytes of threadgroup memory.
    pub max_threadgroup_memory: u32,
    /// Bytes of one buffer.
    pub max_buffer: usize,
    /// Bytes that the device works well with in all.
    pub working_set: usize,
    /// Whether host and device share memory.
    pub unified: bool,
    /// Wrapped host memory starts and ends at multiples of this many bytes.
    pub page: usize,
    /// Whether it is imitated in software.
    pub software: bool,
}

/// Why the driver could not do something.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DriverError {
    /// There is no device, or it lacks something required.
    #[error("{0}")]
    Unavailable(String),
    /// The source of a kernel does not compile.
    #[error("kernel `{kernel}` does not compile: {message}")]
    Compile {
        /// The kernel.
        kernel: String,
        /// The compiler's message.
        message: String,
    },
    /// No memory.
    #[error("out of memory: {0}")]
    OutOfMemory(String),
    /// A batch ended in an error.
    #[error("{0}")]
    Failed(String),
}

/// The result of a driver call.
pub type Result<T> = std::result::Result<T, DriverError>;

/// A buffer's memory.
pub trait MemoryObject: Any + Send + Sync {
    /// Length in bytes.
    fn length(&self) -> usize;

    /// Address of its first byte, if the host can access it.
    fn contents(&self) -> Option<*mut u8>;
}

/// A compiled kernel.
pub trait PipelineObject: Any + Send + Sync {
    /// The most threads of a threadgroup.
    fn max_threads(&self) -> u32;

    /// Lanes of a simdgroup.
    fn simd_width(&self) -> u32;

    /// Bytes of threadgroup variables.
    fn static_memory(&self) -> u32;
}

/// Shared ownership of a buffer.
pub type Memory = Arc<dyn MemoryObject>;
/// Shared ownership of a pipeline.
pub type Pipeline = Arc<dyn PipelineObject>;

/// A value of a function constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Constant {
    /// `bool`
    Bool(bool),
    /// `int`
    Int(i32),
    /// `uint`
    Uint(u32),
    /// `float`
    Float(f32),
}

/// Which function constant is meant.
#[derive(Clone, Debug, PartialEq)]
pub enum ConstantKey {
    /// The one at this index.
    Index(u32),
    /// The one of this name.
    Name(String),
}

impl From<u32> for ConstantKey {
    fn from(index: u32) -> ConstantKey {
        ConstantKey::Index(index)
    }
}

/// The description of a pipeline.
#[derive(Clone, Debug)]
pub struct Program<'a> {
    /// The complete source.
    pub source: &'a str,
    /// The kernel's name in it.
    pub kernel: &'a str,
    /// Function constants.
    pub constants: &'a [(ConstantKey, Constant)],
    /// A name for people.
    pub label: &'a str,
    /// Whether the compiler may change results for speed.
    pub fast_math: bool,
}

/// What is bound at a buffer index.
#[derive(Clone, Copy)]
pub enum Argument<'a> {
    /// A buffer from a byte offset on, which is less than its length.
    Buffer(&'a Memory, usize),
    /// A copy of these bytes, 1 to 4096 of them.
    Bytes(&'a [u8]),
}

/// One launch of a kernel.
pub struct Dispatch<'a> {
    /// The kernel.
    pub pipeline: &'a Pipeline,
    /// A name for people.
    pub label: &'a str,
    /// Arguments, by index.
    pub arguments: &'a [Argument<'a>],
    /// Bytes of threadgroup memory at index 0, a multiple of 16; 0 for none.
    pub threadgroup_memory: u32,
    /// How much is launched.
    pub grid: Grid,
    /// Threads of a threadgroup.
    pub threads: [u32; 3],
}

/// The size of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grid {
    /// A number of complete threadgroups.
    Groups([u32; 3]),
    /// An exact number of threads; threadgroups at the edges are smaller.
    Threads([u32; 3]),
}

/// One command of a batch.
pub enum Command<'a> {
    /// Orders everything before it against everything after it.
    Barrier,
    /// A launch; launches between barriers may overlap.
    Dispatch(Dispatch<'a>),
}

/// Commands that run as one command buffer.
pub struct Batch<'a> {
    /// A name for people.
    pub label: &'a str,
    /// A dispatch.
    pub commands: &'a [Command<'a>],
    /// Dropped once the device is done with the batch.
    pub keep: Box<dyn Any + Send>,
}

/// What a batch uses. It is dropped by the handler of its end or by whoever waits, under the lock, so that it is gone for certain
/// once somebody has waited.
pub(crate) type Keep = Arc<parking_lot::Mutex<Option<Box<dyn Any + Send>>>>;

/// Statistics of a finished batch.
#[derive(Clone, Debug, Default)]
pub struct Finished {
    /// Seconds on the device.
    pub seconds: f64,
    /// Command buffers that it took.
    pub command_buffers: usize,
    /// Counters per dispatch, where the device counts.
    pub profiles: Vec<DispatchProfile>,
}

/// A submitted batch.
pub trait Running: Send {
    /// Waits for completion.
    fn wait(self: Box<Self>) -> Result<Finished>;
}

/// A device.
pub trait Device: Send + Sync {
    /// Properties of the device.
    fn facts(&self) -> &Facts;

    /// A buffer.
    fn buffer(&self, bytes: usize, storage: Storage) -> Result<Memory>;

    /// A buffer over host memory, without a copy. `owner` is dropped with it.
    ///
    /// # Safety
    /// The bytes stay valid while `owner` lives, and no kernel writes them.
    unsafe fn wrap(
        &self,
        start: *const u8,
        bytes: usize,
        owner: Box<dyn Any + Send + Sync>,
    ) -> Result<Memory>;

    /// Announces kernels that [`Device::pipeline`] will be asked for, if compiling many at once is cheaper. Reports
    /// no errors: those are reported when a kernel is requested.
    fn prepare(&self, programs: &[Program<'_>]) {
        let _ = programs;
    }

    /// Compiles a kernel.
    fn pipeline(&self, program: &Program<'_>) -> Result<Pipeline>;

    /// Saves compiled pipelines for the next process, if the device supports it.
    fn persist(&self) {}

    /// Starts a batch; it runs after those submitted before.
    fn submit(&self, batch: Batch<'_>) -> Result<Box<dyn Running>>;

    /// Bytes that the process has allocated on the device, if known.
    fn allocated(&self) -> Option<usize> {
        None
    }
}

/// Metal takes no buffer from its end on.
#[cfg(any(target_vendor = "apple", feature = "softmetal"))]
fn check_offset(dispatch: &Dispatch<'_>, index: usize, memory: &Memory, offset: usize) -> Result<()> {
    let length = memory.length();
    if offset < length {
        return Ok(());
    }
    let label = dispatch.label;
    Err(DriverError::Failed(format!(
        "{label}: argument {index} starts at byte {offset} of a buffer of {length}"
    )))
}

/// The software device. In a build with the driver for Apple's Metal on Linux, that driver over the same device.
#[cfg(feature = "softmetal")]
pub fn open_soft(options: &soft::SoftOptions) -> Result<Arc<dyn Device>> {
    #[cfg(all(feature = "apple-on-linux", not(target_vendor = "apple")))]
    return Ok(Arc::new(host::HostDevice::new(options)?));
    #[cfg(not(all(feature = "apple-on-linux", not(target_vendor = "apple"))))]
    Ok(Arc::new(soft::SoftDevice::new(options)?))
}
