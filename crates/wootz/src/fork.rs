//! Children made by `fork` have none of their parent's threads, by which the drivers of GPUs work: a call into a driver that
//! the parent has used would wait forever. It is refused instead. The CPU works in a child, on one thread.

use crate::device::Device;
use std::sync::atomic::{AtomicU32, Ordering};
use wootz_backend::DeviceKind;
use wootz_ir::{Error, Result};

/// The process that used a GPU first; 0 until one does.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// Refuses a GPU, real or imitated, that another process has opened: this one's parent.
pub(crate) fn check(device: &Device) -> Result<()> {
    if device.info().kind == DeviceKind::Cpu {
        return Ok(());
    }
    let process = std::process::id();
    match OWNER.compare_exchange(0, process, Ordering::Relaxed, Ordering::Relaxed) {
        Err(owner) if owner != process => Err(Error::Device {
            device: device.name().into(),
            detail: "this process was forked after its parent had used a GPU, and has none of the driver's threads; \
                     use the CPU here, or start processes afresh (in Python: multiprocessing with \"spawn\")"
                .into(),
        }),
        _ => Ok(()),
    }
}
