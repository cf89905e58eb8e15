//! Devices, and the one that is meant when none is named.

use crate::eval::PlanCache;
use std::sync::{Arc, LazyLock};
use wootz_backend::{Backend, DeviceInfo, MemoryStats};
use wootz_cpu::CpuBackend;
use wootz_ir::{Error, Result};

/// Where tensors are computed. Clones are the same device.
#[derive(Clone)]
pub struct Device(Arc<Inner>);

struct Inner {
    backend: Arc<dyn Backend>,
    cache: PlanCache,
}

static CPU: LazyLock<Device> = LazyLock::new(|| Device::from_backend(Arc::new(CpuBackend::new())));

impl Device {
    /// The host's cores.
    pub fn cpu() -> Device {
        CPU.clone()
    }

    /// A device over any backend.
    pub fn from_backend(backend: Arc<dyn Backend>) -> Device {
        Device(Arc::new(Inner { backend, cache: PlanCache::default() }))
    }

    /// Every device of this machine.
    pub fn all() -> Vec<Device> {
        vec![Device::cpu()]
    }

    /// The device with this name.
    pub fn from_name(name: &str) -> Result<Device> {
        let all = Device::all();
        if name == "auto" {
            return Ok(Device::cpu());
        }
        all.iter().find(|d| d.name() == name).cloned().ok_or_else(|| Error::UnknownDevice {
            name: name.into(),
            known: ["auto".to_string()].into_iter().chain(all.iter().map(|d| d.name().to_string())).collect(),
        })
    }

    /// The device named by `WOOTZ_DEVICE`, or the best there is.
    pub fn from_environment() -> Result<Device> {
        match std::env::var("WOOTZ_DEVICE") {
            Ok(name) if !name.is_empty() => Device::from_name(&name),
            _ => Ok(Device::cpu()),
        }
    }

    /// The name that the device is chosen by.
    pub fn name(&self) -> &str {
        &self.0.backend.info().name
    }

    /// What the device is.
    pub fn info(&self) -> &DeviceInfo {
        self.0.backend.info()
    }

    /// How its memory is used.
    pub fn memory(&self) -> MemoryStats {
        self.0.backend.memory()
    }

    /// Gives cached memory and plans back.
    pub fn trim(&self) {
        self.0.cache.clear();
        self.0.backend.trim();
    }

    /// The backend itself.
    pub fn backend(&self) -> &Arc<dyn Backend> {
        &self.0.backend
    }

    pub(crate) fn cache(&self) -> &PlanCache {
        &self.0.cache
    }

    /// The concrete device on which new values of this device are put.
    pub(crate) fn home(&self) -> Device {
        self.clone()
    }

    /// The same, for a value that is on `current` now.
    pub(crate) fn home_of(&self, _current: &Device) -> Device {
        self.clone()
    }
}

/// The device of `WOOTZ_DEVICE`, or the CPU where that names none.
impl Default for Device {
    fn default() -> Device {
        static DEFAULT: LazyLock<Device> = LazyLock::new(|| {
            Device::from_environment().unwrap_or_else(|error| {
                eprintln!("wootz: {error}; using the cpu");
                Device::cpu()
            })
        });
        DEFAULT.clone()
    }
}

impl PartialEq for Device {
    fn eq(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Device {}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Device({})", self.name())
    }
}

impl std::fmt::Display for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
