//! Devices, and the default one.

use crate::check::CheckReport;
use crate::dispatch::CostModel;
use crate::program::Programs;
use crate::standing::{OnProgress, Standing};
use crate::traffic::{Traffic, TrafficStats};
#[cfg(feature = "webgpu")]
use parking_lot::Mutex;
use parking_lot::RwLock;
use std::sync::{Arc, LazyLock};
use wootz_backend::{Backend, DeviceInfo, DeviceKind, MemoryStats};
use wootz_cpu::CpuBackend;
use wootz_ir::{Error, Result};
use wootz_metal::MetalBackend;

/// A device that computes tensors. Clones refer to the same device.
#[derive(Clone)]
pub struct Device(Arc<Inner>);

struct Inner {
    info: DeviceInfo,
    programs: Programs,
    kind: Kind,
}

#[allow(clippy::large_enum_variant, reason = "a process has a handful of devices, each behind an Arc")]
enum Kind {
    /// A device that runs plans itself.
    Concrete { backend: Arc<dyn Backend>, standing: Standing, traffic: Traffic },
    /// A choice between devices, made for each graph.
    Auto(Vec<Device>),
}

static CPU: LazyLock<Device> = LazyLock::new(|| Device::of_this_machine(Arc::new(CpuBackend::new())));

/// The software device is opened at first use, so that listing it is free.
static METAL: LazyLock<Vec<Device>> = LazyLock::new(|| {
    MetalBackend::all().into_iter().map(|backend| Device::of_this_machine(Arc::new(backend))).collect()
});

/// GPUs through wgpu: the device, or the reason why there was none at the last attempt.
#[cfg(feature = "webgpu")]
static WEBGPU: LazyLock<Mutex<Result<Device>>> = LazyLock::new(|| Mutex::new(open_webgpu()));

#[cfg(feature = "webgpu")]
fn open_webgpu() -> Result<Device> {
    Ok(Device::of_this_machine(Arc::new(wootz_webgpu::WebGpuBackend::new()?)))
}

/// Tries again to open a device that is requested by name and was unavailable: a driver may have been installed, or
/// freed, since.
fn look_again(name: &str) {
    #[cfg(feature = "webgpu")]
    if name == "webgpu" {
        let mut known = WEBGPU.lock();
        if known.is_err() {
            *known = open_webgpu();
        }
    }
    let _ = name;
}

/// The device set with [`Device::set_current`].
static CHOSEN: RwLock<Option<Device>> = RwLock::new(None);

/// Names of software devices that `auto` treats as real: a hook for tests, which have no GPU.
const PRETEND_REAL: &str = "WOOTZ_PRETEND_REAL";

/// The costs of a device that pretends to be real: almost nothing, so that `auto` chooses it whenever it can.
const PRETENDED: CostModel =
    CostModel { submit: 1e-7, step: 1e-9, byte: 1e-14, flop: 1e-15, transfer: 1e-14 };

/// Whether the system may have a GPU. Where it has none, WebGPU could only find software, and opening it would load drivers
/// and let them print what they miss.
fn has_graphics() -> bool {
    /// What Linux calls the devices of kernel drivers: Mesa's, NVIDIA's, Windows' in a subsystem, ARM's, Qualcomm's.
    const NODES: [&str; 6] =
        ["/dev/dri", "/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg", "/dev/mali0", "/dev/kgsl-3d0"];
    !cfg!(target_os = "linux") || NODES.iter().any(|node| std::path::Path::new(node).exists())
}

fn pretends(info: &DeviceInfo) -> bool {
    let names = std::env::var(PRETEND_REAL).unwrap_or_default();
    info.kind == DeviceKind::Software && names.split(',').any(|name| name.trim() == info.name)
}

impl Device {
    /// The number of CPU threads.
    pub fn cpu_threads() -> usize {
        wootz_cpu::team::Team::global().size()
    }

    /// Sets the number of CPU threads, of which no more are used than the machine runs in parallel. This is possible only before
    /// the CPU is first used.
    pub fn set_cpu_threads(count: usize) -> Result<()> {
        let most = wootz_cpu::team::LARGEST;
        if !(1..=most).contains(&count) {
            return Err(Error::argument("set_cpu_threads", format!("1 to {most} threads, not {count}")));
        }
        wootz_cpu::team::Team::set_global_size(count).map_err(|size| {
            let detail = format!("the CPU is already in use with {size} threads");
            Error::argument("set_cpu_threads", detail)
        })
    }

    /// The host's CPU.
    pub fn cpu() -> Device {
        CPU.clone()
    }

    /// Whether this is the host's CPU, as [`Device::cpu`] gives it.
    pub(crate) fn is_host(&self) -> bool {
        Arc::ptr_eq(&self.0, &CPU.0)
    }

    /// A device with a custom backend.
    pub fn from_backend(backend: Arc<dyn Backend>) -> Device {
        Device::concrete(backend, Standing::default())
    }

    /// A device with a custom backend and known costs, which need no measuring.
    pub fn with_costs(backend: Arc<dyn Backend>, costs: CostModel) -> Device {
        Device::concrete(backend, Standing::default().with_costs(costs))
    }

    /// One of this machine's own devices: its validation results are stored on disk.
    fn of_this_machine(backend: Arc<dyn Backend>) -> Device {
        let standing = Standing::remembered();
        let pretends = pretends(backend.info());
        Device::concrete(backend, if pretends { standing.with_costs(PRETENDED) } else { standing })
    }

    fn concrete(backend: Arc<dyn Backend>, standing: Standing) -> Device {
        let info = backend.info().clone();
        let kind = Kind::Concrete { backend, standing, traffic: Traffic::default() };
        Device(Arc::new(Inner { info, programs: Programs::default(), kind }))
    }

    /// All devices of this machine.
    pub fn all() -> Vec<Device> {
        #[cfg_attr(not(feature = "webgpu"), expect(unused_mut))]
        let mut list = Device::without_webgpu();
        #[cfg(feature = "webgpu")]
        list.extend(WEBGPU.lock().as_ref().ok().cloned());
        list
    }

    fn without_webgpu() -> Vec<Device> {
        [Device::cpu()].into_iter().chain(METAL.iter().cloned()).collect()
    }

    /// Kinds of devices that are unavailable on this machine, with the reason.
    pub fn missing() -> Vec<(&'static str, String)> {
        let mut missing = Vec::new();
        if METAL.is_empty() {
            missing.push(("metal", wootz_metal::NO_DEVICE.to_string()));
        }
        #[cfg(feature = "webgpu")]
        if let Err(error) = &*WEBGPU.lock() {
            missing.push(match error {
                Error::Device { detail, .. } => ("webgpu", detail.clone()),
                other => ("webgpu", other.to_string()),
            });
        }
        #[cfg(not(feature = "webgpu"))]
        missing.push(("webgpu", "wgpu is not part of this build (feature `webgpu`)".into()));
        missing
    }

    /// The best validated device for each graph. Software devices are for testing and never chosen.
    pub fn auto() -> Device {
        static AUTO: LazyLock<Device> = LazyLock::new(|| {
            let real = |d: &Device| d.info().kind != DeviceKind::Software || pretends(d.info());
            let known = if has_graphics() || std::env::var_os(PRETEND_REAL).is_some() {
                Device::all()
            } else {
                Device::without_webgpu()
            };
            Device::auto_over(known.into_iter().filter(real).collect())
        });
        AUTO.clone()
    }

    /// The best of the given devices for each graph. A single candidate is returned as is; with none, the CPU is
    /// used.
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
        Device(Arc::new(Inner { info, programs: Programs::default(), kind: Kind::Auto(candidates) }))
    }

    /// The device with this name.
    pub fn from_name(name: &str) -> Result<Device> {
        if name == "auto" || name == "cpu" {
            check_environment()?;
            return Ok(if name == "cpu" { Device::cpu() } else { Device::auto() });
        }
        look_again(name);
        if let Some((_, reason)) = Device::missing().into_iter().find(|(missing, _)| *missing == name) {
            return Err(Error::device(name, reason));
        }
        let all = Device::all();
        all.iter().find(|d| d.name() == name).cloned().ok_or_else(|| Error::UnknownDevice {
            name: name.into(),
            known: ["auto".to_string()].into_iter().chain(all.iter().map(|d| d.name().to_string())).collect(),
        })
    }

    /// The default device: set by [`Device::set_current`], by `WOOTZ_DEVICE`, or otherwise the best one for each
    /// graph. An unknown name is an error of every call that needs a device.
    pub fn current() -> Result<Device> {
        static CURRENT: LazyLock<Result<Device>> = LazyLock::new(|| match std::env::var("WOOTZ_DEVICE") {
            Ok(name) if !name.is_empty() => Device::from_name(&name).map_err(|error| match error {
                Error::Device { device, detail, source } => {
                    Error::Device { device, detail: format!("{detail} (requested by WOOTZ_DEVICE)"), source }
                }
                other => other,
            }),
            _ => check_environment().map(|()| Device::auto()),
        });
        if let Some(chosen) = &*CHOSEN.read() {
            return Ok(chosen.clone());
        }
        CURRENT.clone()
    }

    /// Makes this the default device.
    pub fn set_current(&self) {
        *CHOSEN.write() = Some(self.clone());
    }

    /// The name that selects the device.
    pub fn name(&self) -> &str {
        &self.0.info.name
    }

    /// A description of the device.
    pub fn info(&self) -> &DeviceInfo {
        &self.0.info
    }

    /// Memory use; for an automatic device, that of the host.
    pub fn memory(&self) -> MemoryStats {
        self.home().backend().memory()
    }

    /// Frees cached memory and plans.
    pub fn trim(&self) {
        self.0.programs.clear();
        match &self.0.kind {
            Kind::Concrete { backend, .. } => backend.trim(),
            Kind::Auto(candidates) => candidates.iter().for_each(Device::trim),
        }
    }

    /// The backend; for an automatic device, that of the host.
    pub fn backend(&self) -> &Arc<dyn Backend> {
        self.parts().0
    }

    /// Validates every family with its quick cases, at the first call.
    pub fn validation(&self) -> CheckReport {
        let home = self.home();
        home.standing().report(&home).clone()
    }

    /// Whether the device can run a family of ops; if not, why. At first use the family's quick cases run now, with a
    /// call of `on_progress` for each.
    pub fn prove(&self, family: &str, on_progress: &mut OnProgress<'_>) -> std::result::Result<(), String> {
        let home = self.home();
        home.standing().prove(&home, family, on_progress)
    }

    /// Counters of submissions, waits, and bytes copied between host and device.
    pub fn traffic_stats(&self) -> TrafficStats {
        self.traffic().stats()
    }

    /// The device's costs; `None` if they could not be measured.
    pub(crate) fn costs(&self) -> Option<&CostModel> {
        self.standing().costs(self)
    }

    /// The candidates of an automatic device.
    pub fn candidates(&self) -> Option<&[Device]> {
        match &self.0.kind {
            Kind::Concrete { .. } => None,
            Kind::Auto(candidates) => Some(candidates),
        }
    }

    /// The programs that are ready to run.
    pub(crate) fn programs(&self) -> &Programs {
        &self.0.programs
    }

    pub(crate) fn traffic(&self) -> &Traffic {
        self.parts().2
    }

    fn standing(&self) -> &Standing {
        self.parts().1
    }

    fn parts(&self) -> (&Arc<dyn Backend>, &Standing, &Traffic) {
        match &self.0.kind {
            Kind::Concrete { backend, standing, traffic } => (backend, standing, traffic),
            Kind::Auto(candidates) => host(candidates).parts(),
        }
    }

    /// The concrete device for new values of this device: itself, or the host.
    pub(crate) fn home(&self) -> Device {
        match &self.0.kind {
            Kind::Concrete { .. } => self.clone(),
            Kind::Auto(candidates) => host(candidates).clone(),
        }
    }

    /// The device for a value that is on `current` and moved to this device: it stays if possible.
    pub(crate) fn home_of(&self, current: &Device) -> Device {
        match &self.0.kind {
            Kind::Auto(candidates) if candidates.contains(current) => current.clone(),
            _ => self.home(),
        }
    }
}

/// The CPU if it is among the candidates, otherwise the first of them.
fn host(candidates: &[Device]) -> &Device {
    let cpu = candidates.iter().find(|d| d.info().kind == DeviceKind::Cpu);
    cpu.unwrap_or(&candidates[0])
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

/// Checks the CPU settings in the environment, since every device needs the CPU.
fn check_environment() -> Result<()> {
    wootz_cpu::check_environment().map_err(|detail| Error::device("cpu", detail))
}
