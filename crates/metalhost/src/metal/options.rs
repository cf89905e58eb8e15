//! Options of the device, and fault injection.

use crate::abi::{Id, Out};
use parking_lot::Mutex;
use softmetal::check::CheckOptions;
use softmetal::profile::DispatchProfile;
use softmetal::{DeviceOptions, Family};
use std::collections::VecDeque;
use std::time::Duration;

/// The machine that is imitated.
#[derive(Clone, Debug)]
pub struct Options {
    /// The device under Metal.
    pub device: DeviceOptions,
    /// There is no GPU at all.
    pub no_device: bool,
    /// `MTLCreateSystemDefaultDevice` gives nil, as in a program that does not link CoreGraphics.
    pub no_default_device: bool,
    /// The GPU says that it is of this Apple family and no newer one; `None` follows `device`.
    pub apple_family: Option<u32>,
    /// The GPU has the family Metal3. Virtual machines lack it.
    pub metal3: bool,
    /// The system has residency sets (macOS 15).
    pub residency_sets: bool,
    /// Sources are compiled whole when a library is made, not kernel by kernel when a pipeline is.
    pub eager: bool,
    /// A call that succeeds sets its error to nil. Metal seems to; by Cocoa's rules the error of such a call is not to be read.
    pub clear_errors: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            device: DeviceOptions::default(),
            no_device: false,
            no_default_device: false,
            apple_family: None,
            metal3: true,
            residency_sets: true,
            eager: false,
            clear_errors: false,
        }
    }
}

impl Options {
    /// What the environment asks for: `METALHOST_FAMILY`, `METALHOST_SIMD_WIDTH`, `METALHOST_CHECK`, `METALHOST_SHUFFLE`,
    /// `METALHOST_TIME_LIMIT` (seconds), `METALHOST_APPLE_FAMILY`, `METALHOST_NO_DEVICE`, `METALHOST_NO_DEFAULT_DEVICE`,
    /// `METALHOST_NO_METAL3`, `METALHOST_NO_RESIDENCY_SETS`, `METALHOST_EAGER`, `METALHOST_CLEAR_ERRORS`.
    pub fn from_environment() -> Options {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty() && v != "0");
        let text = |name: &str| std::env::var(name).ok().filter(|v| !v.is_empty());
        let mut options = Options::default();
        if let Some(family) = text("METALHOST_FAMILY") {
            options.device.family = family
                .parse::<Family>()
                .unwrap_or_else(|e| crate::report::raise(format!("METALHOST_FAMILY: {e}")));
        }
        let number = |name: &str| {
            text(name).map(|v| {
                v.parse::<u64>()
                    .unwrap_or_else(|_| crate::report::raise(format!("{name}={v} is not a number")))
            })
        };
        options.device.simd_width = number("METALHOST_SIMD_WIDTH").map(|v| v as u32);
        options.device.check = is_set("METALHOST_CHECK").then(CheckOptions::default);
        options.device.shuffle = number("METALHOST_SHUFFLE");
        if let Some(seconds) = number("METALHOST_TIME_LIMIT") {
            options.device.time_limit = Duration::from_secs(seconds);
        }
        options.apple_family = number("METALHOST_APPLE_FAMILY").map(|v| v as u32);
        options.no_device = is_set("METALHOST_NO_DEVICE");
        options.no_default_device = is_set("METALHOST_NO_DEFAULT_DEVICE");
        options.metal3 = !is_set("METALHOST_NO_METAL3");
        options.residency_sets = !is_set("METALHOST_NO_RESIDENCY_SETS");
        options.eager = is_set("METALHOST_EAGER");
        options.clear_errors = is_set("METALHOST_CLEAR_ERRORS");
        options
    }
}

static CHOSEN: Mutex<Option<Options>> = Mutex::new(None);

/// Sets what the next device is like; devices that exist stay as they are.
pub fn configure(options: Options) {
    *CHOSEN.lock() = Some(options);
    super::device::forget();
}

/// What the next device is like.
pub(crate) fn current() -> Options {
    CHOSEN.lock().get_or_insert_with(Options::from_environment).clone()
}

/// A call begins that may hand out an error.
pub(crate) fn begin(error: Out) {
    if CHOSEN.lock().get_or_insert_with(Options::from_environment).clear_errors {
        error.set(Id::NIL);
    }
}

/// Something that goes wrong once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The next command buffer that is committed fails with this `MTLCommandBufferError`.
    CommandBuffer(isize),
    /// The next queue asked for a command buffer gives nil.
    NoCommandBuffer,
    /// The next command buffer asked for an encoder gives nil.
    NoEncoder,
    /// The next buffer is not to be had.
    NoBuffer,
    /// The next library does not compile.
    NoLibrary,
}

static FAULTS: Mutex<VecDeque<Fault>> = Mutex::new(VecDeque::new());

/// Lets something go wrong once.
pub fn fail_next(fault: Fault) {
    FAULTS.lock().push_back(fault);
}

/// Takes a fault of this kind, if one was asked for.
pub(crate) fn take_fault(wanted: impl Fn(&Fault) -> bool) -> Option<Fault> {
    let mut faults = FAULTS.lock();
    let at = faults.iter().position(wanted)?;
    faults.remove(at)
}

static PROFILES: Mutex<Vec<DispatchProfile>> = Mutex::new(Vec::new());

/// Counters of the dispatches of the last command buffer that ended, when the device counts.
pub fn take_profiles() -> Vec<DispatchProfile> {
    std::mem::take(&mut PROFILES.lock())
}

pub(crate) fn keep_profiles(profiles: Vec<DispatchProfile>) {
    *PROFILES.lock() = profiles;
}
