//! The driver for Apple's Metal over SoftMetal: the code of a Mac, running on the machine that the options describe.

use super::apple::AppleDevice;
use super::soft::SoftOptions;
use super::*;
use metalhost::Options;
use softmetal::DeviceOptions;
use softmetal::check::CheckOptions;
use std::sync::Mutex;

/// Apple's driver on a software device, with the counters that only a software device has.
pub struct HostDevice(AppleDevice);

/// One device is opened at a time: what it is like is a setting of the process.
static OPENING: Mutex<()> = Mutex::new(());

impl HostDevice {
    /// A device like these options say.
    pub fn new(options: &SoftOptions) -> Result<HostDevice> {
        let _alone = OPENING.lock().unwrap_or_else(|e| e.into_inner());
        let mut machine = Options::from_environment();
        machine.device = DeviceOptions {
            family: options.family.unwrap_or_default(),
            simd_width: options.simd_width,
            check: options.sanitize.then(CheckOptions::default),
            profile: options.profile,
            shuffle: options.shuffle,
            cache_dir: options.cache.clone(),
            time_limit: machine.device.time_limit,
            ..DeviceOptions::default()
        };
        metalhost::configure(machine);
        let device = AppleDevice::new().map(HostDevice);
        let device = device.map_err(|e| metalhost::why_no_device().map_or(e, DriverError::Unavailable));
        metalhost::configure(Options::from_environment());
        device
    }
}

impl Device for HostDevice {
    fn facts(&self) -> &Facts {
        self.0.facts()
    }

    fn buffer(&self, bytes: usize, storage: Storage) -> Result<Memory> {
        self.0.buffer(bytes, storage)
    }

    unsafe fn wrap(
        &self,
        start: *const u8,
        bytes: usize,
        owner: Box<dyn Any + Send + Sync>,
    ) -> Result<Memory> {
        // SAFETY: the caller's promise.
        unsafe { self.0.wrap(start, bytes, owner) }
    }

    fn pipeline(&self, program: &Program<'_>) -> Result<Pipeline> {
        self.0.pipeline(program)
    }

    fn persist(&self) {
        self.0.persist();
    }

    fn submit(&self, batch: Batch<'_>) -> Result<Box<dyn Running>> {
        Ok(Box::new(HostRunning(self.0.submit(batch)?)))
    }

    fn allocated(&self) -> Option<usize> {
        self.0.allocated()
    }
}

struct HostRunning(Box<dyn Running>);

impl Running for HostRunning {
    fn wait(self: Box<Self>) -> Result<Finished> {
        let finished = self.0.wait()?;
        Ok(Finished { profiles: metalhost::take_profiles(), ..finished })
    }
}
