//! A forked child has none of its parent's threads, which GPU drivers depend on: a call into a driver that the parent
//! has used would wait forever. It is rejected instead. The CPU works in a child, with a single thread.

use crate::device::Device;
use std::sync::atomic::{AtomicU32, Ordering};
use wootz_backend::DeviceKind;
use wootz_ir::{Error, Result};

/// The id of the process that first used a GPU; 0 if none has.
static OWNER: AtomicU32 = AtomicU32::new(0);

const FORKED: &str = "this process was forked after its parent had used a GPU, and has none of the driver's threads; \
                      use the CPU here, or start new processes without fork (in Python: multiprocessing with \"spawn\")";

/// Rejects a GPU, real or emulated, that the parent of this process has opened.
pub(crate) fn check(device: &Device) -> Result<()> {
    if device.info().kind == DeviceKind::Cpu {
        return Ok(());
    }
    let process = std::process::id();
    match OWNER.compare_exchange(0, process, Ordering::Relaxed, Ordering::Relaxed) {
        Err(owner) if owner != process => Err(Error::device(device.name(), FORKED)),
        _ => Ok(()),
    }
}
