//! Devices, and the default one.

use crate::check::CheckReport;
use crate::dispatch::CostModel;
use crate::program::Programs;
use crate::standing::{OnProgress, Standing};
use crate::traffic::{Traffic, TrafficStats};
use parking_lot::{Mutex, RwLock};
use std::sync::{Arc, LazyLock};
use wootz_backend::{Backend, DeviceInfo, DeviceKind, MemoryStats};
use wootz_cpu::CpuBackend;
use wootz_ir::{Error, Result};
use wootz_metal::MetalBackend;

/// Where tensors are computed. Clones are the same device.
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

/// The software device is opened at its first use, so that listing it costs nothing.
static METAL: LazyLock<Vec<Device>> = LazyLock::new(|| {
    MetalBackend::all().into_iter().map(|backend| Device::of_this_machine(Arc::new(backend))).collect()
});

/// GPUs by wgpu: the device, or why there was none when it was last looked for.
#[cfg(feature = "webgpu")]
static WEBGPU: LazyLock<Mutex<Result<Device>>> = LazyLock::new(|| Mutex::new(open_webgpu()));

#[cfg(feature = "webgpu")]
fn open_webgpu() -> Result<Device> {
    Ok(Device::of_this_machine(Arc::new(wootz_webgpu::WebGpuBackend::new()?)))
}

/// Looks again for a device that is asked for by name and was not there: a driver may have been installed, or freed, since.
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

/// The device that [`Device::set_current`] named.
static CHOSEN: RwLock<Option<Device>> = RwLock::new(None);

/// Names of software devices that `auto` takes for real ones: a hook for tests, which have no GPU.
const PRETEND_REAL: &str = "WOOTZ_PRETEND_REAL";

/// What a device that pretends to be real is said to cost: next to nothing, so that `auto` takes it whenever it may.
const PRETENDED: CostModel =
    CostModel { submit: 1e-7, step: 1e-9, byte: 1e-14, flop: 1e-15, transfer: 1e-14 };

fn pretends(info: &DeviceInfo) -> bool {
    let names = std::env::var(PRETEND_REAL).unwrap_or_default();
    info.kind == DeviceKind::Software && names.split(',').any(|name| name.trim() == info.name)
}

impl Device {
    /// How many threads the CPU works with.
    pub fn cpu_threads() -> usize {
        wootz_cpu::team::Team::global().size()
    }

    /// Sets how many threads the CPU works with. That is possible before its first use only.
    pub fn set_cpu_threads(count: usize) -> Result<()> {
        wootz_cpu::team::Team::set_global_size(count).map_err(|size| {
            let detail = format!("the CPU works with {size} threads since its first use, which came before");
            Error::argument("set_cpu_threads", detail)
        })
    }

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
        Device::concrete(backend, Standing::default().with_costs(costs))
    }

    /// One of this machine's own devices: what it proves is remembered on disk.
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

    /// Every device of this machine.
    pub fn all() -> Vec<Device> {
        let mut list = vec![Device::cpu()];
        list.extend(METAL.iter().cloned());
        #[cfg(feature = "webgpu")]
        list.extend(WEBGPU.lock().as_ref().ok().cloned());
        list
    }

    /// Kinds of devices that this machine lacks, with the reason.
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

    /// The best device for each graph, of all that passed their checks. Devices imitated in software are for testing and take
    /// no part.
    pub fn auto() -> Device {
        static AUTO: LazyLock<Device> = LazyLock::new(|| {
            let real = |d: &Device| d.info().kind != DeviceKind::Software || pretends(d.info());
            Device::auto_over(Device::all().into_iter().filter(real).collect())
        });
        AUTO.clone()
    }

    /// The best of the devices given, for each graph. A single candidate is returned as is; with none, the CPU is used.
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
            return Err(Error::Device { device: name.into(), detail: reason });
        }
        let all = Device::all();
        all.iter().find(|d| d.name() == name).cloned().ok_or_else(|| Error::UnknownDevice {
            name: name.into(),
            known: ["auto".to_string()].into_iter().chain(all.iter().map(|d| d.name().to_string())).collect(),
        })
    }

    /// The default device: that of [`Device::set_current`], that of `WOOTZ_DEVICE`, or the best one for each graph. A name that
    /// nothing answers to is an error of every call that needs a device.
    pub fn current() -> Result<Device> {
        static CURRENT: LazyLock<Result<Device>> = LazyLock::new(|| match std::env::var("WOOTZ_DEVICE") {
            Ok(name) if !name.is_empty() => Device::from_name(&name).map_err(|error| match error {
                Error::Device { device, detail } => {
                    Error::Device { device, detail: format!("{detail} (asked for by WOOTZ_DEVICE)") }
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

    /// Makes this device the one that is meant when none is named.
    pub fn set_current(&self) {
        *CHOSEN.write() = Some(self.clone());
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
        self.0.programs.clear();
        match &self.0.kind {
            Kind::Concrete { backend, .. } => backend.trim(),
            Kind::Auto(candidates) => candidates.iter().for_each(Device::trim),
        }
    }

    /// The backend itself; of an automatic device, that of the host.
    pub fn backend(&self) -> &Arc<dyn Backend> {
        self.parts().0
    }

    /// The quick check of every family, run at the first call.
    pub fn validation(&self) -> CheckReport {
        let home = self.home();
        home.standing().report(&home).clone()
    }

    /// Whether the device may run a family of ops; if not, why. At first use the family's quick cases run now, with a call of
    /// `on_progress` for each.
    pub fn prove(&self, family: &str, on_progress: &mut OnProgress<'_>) -> std::result::Result<(), String> {
        let home = self.home();
        home.standing().prove(&home, family, on_progress)
    }

    /// Counters: submits, waits, and bytes copied between host and device.
    pub fn traffic_stats(&self) -> TrafficStats {
        self.traffic().stats()
    }

    /// What work costs on the device; none where it could not be measured.
    pub(crate) fn costs(&self) -> Option<&CostModel> {
        self.standing().costs(self)
    }

    /// The devices to choose from, if this is an automatic device.
    pub fn candidates(&self) -> Option<&[Device]> {
        match &self.0.kind {
            Kind::Concrete { .. } => None,
            Kind::Auto(candidates) => Some(candidates),
        }
    }

    /// What it has made ready to run.
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
}

/// The CPU among the candidates, or else the first of them.
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

/// What the environment asks of the CPU, which every device needs, must be possible.
fn check_environment() -> Result<()> {
    wootz_cpu::check_environment().map_err(|detail| Error::Device { device: "cpu".into(), detail })
}
