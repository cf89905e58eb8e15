//! Devices, and the one that is meant when none is named.

use crate::check::CheckReport;
use crate::dispatch::{self, CostModel, Standing};
use crate::eval::PlanCache;
use std::sync::{Arc, LazyLock};
use wootz_backend::{Backend, DeviceInfo, DeviceKind, MemoryStats};
use wootz_cpu::CpuBackend;
use wootz_ir::graph::Trace;
use wootz_ir::{Error, Result};
use wootz_metal::MetalBackend;

/// Where tensors are computed. Clones are the same device.
#[derive(Clone)]
pub struct Device(Arc<Inner>);

struct Inner {
    info: DeviceInfo,
    kind: Kind,
}

#[allow(clippy::large_enum_variant, reason = "a process has a handful of devices, each behind an Arc")]
enum Kind {
    /// A device that runs plans itself.
    Concrete { backend: Arc<dyn Backend>, cache: PlanCache, standing: Standing },
    /// A choice between devices, made anew for each plan.
    Auto(Vec<Device>),
}

static CPU: LazyLock<Device> = LazyLock::new(|| Device::from_backend(Arc::new(CpuBackend::new())));

/// The software device is opened at its first use, so that listing it costs nothing.
static METAL: LazyLock<Vec<Device>> = LazyLock::new(|| {
    MetalBackend::all().into_iter().map(|backend| Device::from_backend(Arc::new(backend))).collect()
});

/// GPUs by wgpu, looked for once: the device, or why there is none.
#[cfg(feature = "webgpu")]
static WEBGPU: LazyLock<Result<Device>> =
    LazyLock::new(|| Ok(Device::from_backend(Arc::new(wootz_webgpu::WebGpuBackend::new()?))));

impl Device {
    /// The host's cores.
    pub fn cpu() -> Device {
        CPU.clone()
    }

    /// A device over any backend.
    pub fn from_backend(backend: Arc<dyn Backend>) -> Device {
        Device::concrete(backend, Standing::default())
    }

    /// A device over any backend whose costs are known and need no measuring.
    pub fn with_costs(backend: Arc<dyn Backend>, costs: CostModel) -> Device {
        Device::concrete(backend, Standing::with_costs(costs))
    }

    fn concrete(backend: Arc<dyn Backend>, standing: Standing) -> Device {
        let info = backend.info().clone();
        Device(Arc::new(Inner {
            info,
            kind: Kind::Concrete { backend, cache: PlanCache::default(), standing },
        }))
    }

    /// Every device of this machine.
    pub fn all() -> Vec<Device> {
        let mut list = vec![Device::cpu()];
        list.extend(METAL.iter().cloned());
        #[cfg(feature = "webgpu")]
        list.extend(WEBGPU.as_ref().ok().cloned());
        list
    }

    /// Kinds of devices that this machine lacks, with the reason.
    pub fn missing() -> Vec<(&'static str, String)> {
        #[cfg(feature = "webgpu")]
        let webgpu = WEBGPU.as_ref().err().map(|error| match error {
            Error::Device { detail, .. } => ("webgpu", detail.clone()),
            other => ("webgpu", other.to_string()),
        });
        #[cfg(not(feature = "webgpu"))]
        let webgpu = None;
        webgpu.into_iter().collect()
    }

    /// The best device for each plan, of all that passed their checks. Devices imitated in software are for testing and take no
    /// part.
    pub fn auto() -> Device {
        static AUTO: LazyLock<Device> = LazyLock::new(|| {
            let real = |device: &Device| device.info().kind != DeviceKind::Software;
            Device::auto_over(Device::all().into_iter().filter(real).collect())
        });
        AUTO.clone()
    }

    /// The best for each plan of the devices given. One device alone is itself; of none there is the CPU.
    pub fn auto_over(mut candidates: Vec<Device>) -> Device {
        match candidates.len() {
            0 => return Device::cpu(),
            1 => return candidates.remove(0),
            _ => {}
        }
        let names: Vec<&str> = candidates.iter().map(Device::name).collect();
        let info = DeviceInfo {
            name: "auto".into(),
            description: format!("the best of {}", names.join(", ")),
            kind: DeviceKind::Cpu,
            facts: vec![],
            memory_limit: candidates.iter().map(|d| d.info().memory_limit).max().unwrap_or(0),
            buffer_limit: candidates.iter().map(|d| d.info().buffer_limit).max().unwrap_or(0),
        };
        Device(Arc::new(Inner { info, kind: Kind::Auto(candidates) }))
    }

    /// The device with this name.
    pub fn from_name(name: &str) -> Result<Device> {
        if name == "auto" {
            return Ok(Device::auto());
        }
        if name == "cpu" {
            return Ok(Device::cpu());
        }
        if let Some((_, reason)) = Device::missing().into_iter().find(|(missing, _)| *missing == name) {
            return Err(Error::Device { device: name.into(), detail: reason });
        }
        let all = Device::all();
        all.iter().find(|d| d.name() == name).cloned().ok_or_else(|| Error::UnknownDevice {
            name: name.into(),
            known: ["auto".to_string()].into_iter().chain(all.iter().map(|d| d.name().to_string())).collect(),
        })
    }

    /// The device named by `WOOTZ_DEVICE`, or the best there is.
    pub fn from_environment() -> Result<Device> {
        match std::env::var("WOOTZ_DEVICE") {
            Ok(name) if !name.is_empty() => Device::from_name(&name),
            _ => Ok(Device::auto()),
        }
    }

    /// The name that the device is chosen by.
    pub fn name(&self) -> &str {
        &self.0.info.name
    }

    /// What the device is.
    pub fn info(&self) -> &DeviceInfo {
        &self.0.info
    }

    /// How its memory is used; of an automatic device, that of the host.
    pub fn memory(&self) -> MemoryStats {
        self.home().backend().memory()
    }

    /// Gives cached memory and plans back.
    pub fn trim(&self) {
        match &self.0.kind {
            Kind::Concrete { backend, cache, .. } => {
                cache.clear();
                backend.trim();
            }
            Kind::Auto(candidates) => candidates.iter().for_each(Device::trim),
        }
    }

    /// The backend itself; of an automatic device, that of the host.
    pub fn backend(&self) -> &Arc<dyn Backend> {
        self.parts().0
    }

    /// What the device proved at first use, family by family.
    pub fn validation(&self) -> CheckReport {
        let home = self.home();
        home.standing().report(&home).clone()
    }

    /// Whether this is a choice between devices.
    pub(crate) fn is_auto(&self) -> bool {
        matches!(self.0.kind, Kind::Auto(_))
    }

    pub(crate) fn cache(&self) -> &PlanCache {
        self.parts().1
    }

    pub(crate) fn standing(&self) -> &Standing {
        self.parts().2
    }

    fn parts(&self) -> (&Arc<dyn Backend>, &PlanCache, &Standing) {
        match &self.0.kind {
            Kind::Concrete { backend, cache, standing } => (backend, cache, standing),
            Kind::Auto(candidates) => host(candidates).parts(),
        }
    }

    /// The concrete device on which new values of this device are put: itself, or the host.
    pub(crate) fn home(&self) -> Device {
        match &self.0.kind {
            Kind::Concrete { .. } => self.clone(),
            Kind::Auto(candidates) => host(candidates).clone(),
        }
    }

    /// Where a value that is on `current` is put when it is moved to this device: it stays where it is if it may.
    pub(crate) fn home_of(&self, current: &Device) -> Device {
        match &self.0.kind {
            Kind::Auto(candidates) if candidates.contains(current) => current.clone(),
            _ => self.home(),
        }
    }

    /// The concrete device that runs a graph.
    pub(crate) fn for_graph(&self, trace: &Trace) -> Result<Device> {
        match &self.0.kind {
            Kind::Concrete { .. } => Ok(self.clone()),
            Kind::Auto(candidates) => dispatch::choose(candidates, trace),
        }
    }
}

/// The CPU among the candidates, or else the first of them.
fn host(candidates: &[Device]) -> &Device {
    let cpu = candidates.iter().find(|d| d.info().kind == DeviceKind::Cpu);
    cpu.unwrap_or(&candidates[0])
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
