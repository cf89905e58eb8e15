//! Metal without tensors: devices, buffers and user-defined kernels.
//!
//! ```no_run
//! use wootz_metal::{Argument, Device, Grid};
//! # fn main() -> wootz_ir::Result<()> {
//! let device = Device::system_default()?;
//! let source = "#include <metal_stdlib>
//!     kernel void twice(device float* x, uint i [[thread_position_in_grid]]) { x[i] *= 2; }";
//! let twice = device.kernel(source, "twice", &[])?;
//! let x = device.buffer_from(&[1.0f32, 2.0, 3.0])?;
//! device.batch().dispatch(&twice, &[Argument::from(&x)], Grid::Threads([3, 1, 1]), [3, 1, 1])?.run()?;
//! assert_eq!(&*x.read::<f32>()?, [2.0, 4.0, 6.0]);
//! # Ok(()) }
//! ```
//!
//! **Promised**: sizes, bindings and devices are checked before anything runs; a buffer that a batch uses cannot be
//! read or written until the batch has completed, and one that is being read cannot be used by a batch; both are
//! errors, not races. **Not promised**: that a kernel stays inside its buffers. On Apple's GPUs nothing checks that;
//! SoftMetal does with [`SoftOptions::sanitize`].

mod batch;
mod buffer;
mod kernel;

pub use batch::{Argument, Batch, Pending, Timing};
pub use buffer::{Buffer, Contents};
pub use kernel::Kernel;

#[cfg(feature = "softmetal")]
use crate::driver::soft::SoftOptions;
use crate::driver::{self, Constant, ConstantKey, DriverError, Facts, Storage};
use crate::memory::Pools;
use bytemuck::NoUninit;
use std::sync::Arc;
use wootz_backend::MemoryStats;
use wootz_ir::{Error, Result};

/// A Metal device. Clones refer to the same device.
#[derive(Clone)]
pub struct Device(Arc<Inner>);

struct Inner {
    driver: Arc<dyn driver::Device>,
    pools: Pools,
}

/// Blocks that a pool keeps for reuse.
const CACHED_BLOCKS: usize = 128;

impl Device {
    /// The system's GPU on Apple's systems, or an error if it is unusable; the software device elsewhere.
    pub fn system_default() -> Result<Device> {
        #[cfg(any(target_vendor = "apple", feature = "apple-on-linux"))]
        return match driver::apple::AppleDevice::new() {
            Ok(device) => Ok(Device::over(Arc::new(device))),
            Err(e) => Err(Error::driver("metal", e)),
        };
        #[cfg(all(feature = "softmetal", not(any(target_vendor = "apple", feature = "apple-on-linux"))))]
        return Device::soft(&SoftOptions::default());
        #[cfg(not(any(feature = "softmetal", target_vendor = "apple")))]
        Err(Error::device("metal", crate::backend::NO_DEVICE))
    }

    /// The software device; an error where clang is missing.
    #[cfg(feature = "softmetal")]
    pub fn soft(options: &SoftOptions) -> Result<Device> {
        match driver::open_soft(options) {
            Ok(device) => Ok(Device::over(device)),
            Err(e) => Err(Error::driver("metal", e)),
        }
    }

    /// Every device that can be opened: Apple's GPU if there is one, and the software device.
    pub fn all() -> Vec<Device> {
        let mut list = Vec::new();
        #[cfg(any(target_vendor = "apple", feature = "apple-on-linux"))]
        if let Ok(device) = driver::apple::AppleDevice::new() {
            list.push(Device::over(Arc::new(device)));
        }
        #[cfg(feature = "softmetal")]
        list.extend(Device::soft(&SoftOptions::default()));
        list
    }

    /// Whether any device can be opened.
    pub fn is_available() -> bool {
        Device::system_default().is_ok()
    }

    fn over(driver: Arc<dyn driver::Device>) -> Device {
        let facts = driver.facts();
        let pools = Pools::new(&driver, &facts.name, facts.working_set, CACHED_BLOCKS);
        Device(Arc::new(Inner { driver, pools }))
    }

    /// Properties and limits of the device.
    pub fn facts(&self) -> &Facts {
        self.0.driver.facts()
    }

    /// A buffer with unspecified content.
    pub fn buffer(&self, bytes: usize, storage: Storage) -> Result<Buffer> {
        let limit = self.facts().max_buffer;
        if bytes == 0 || bytes > limit {
            let detail = format!("invalid buffer size of {bytes} bytes; must be 1 to {limit}");
            return Err(self.error(detail));
        }
        Ok(Buffer::new(self, self.0.pools.take(bytes, storage, "a buffer")?))
    }

    /// A shared buffer with a copy of these values.
    pub fn buffer_from<T: NoUninit>(&self, values: &[T]) -> Result<Buffer> {
        let buffer = self.buffer(size_of_val(values), Storage::Shared)?;
        buffer.write(values)?;
        Ok(buffer)
    }

    /// Compiles a kernel of MSL source, specialised by function constants. Maths is exact: no fast maths.
    pub fn kernel(&self, source: &str, name: &str, constants: &[(ConstantKey, Constant)]) -> Result<Kernel> {
        let program = driver::Program { source, kernel: name, constants, label: name, fast_math: false };
        let pipeline = self.0.driver.pipeline(&program).map_err(|e| self.failed(e))?;
        Ok(Kernel::new(self, name, pipeline))
    }

    /// An empty batch.
    pub fn batch(&self) -> Batch {
        Batch::new(self)
    }

    /// How memory is used: by buffers that live, and by blocks kept for the next ones.
    pub fn memory(&self) -> MemoryStats {
        self.0.pools.stats()
    }

    /// Gives cached memory back to the system.
    pub fn trim(&self) {
        self.0.pools.trim();
    }

    fn driver(&self) -> &dyn driver::Device {
        &*self.0.driver
    }

    fn error(&self, detail: String) -> Error {
        Error::device(self.facts().name.clone(), detail)
    }

    fn failed(&self, e: DriverError) -> Error {
        Error::driver(self.facts().name.clone(), e)
    }
}

impl PartialEq for Device {
    fn eq(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "metal::Device({})", self.facts().name)
    }
}
