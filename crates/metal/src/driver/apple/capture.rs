//! A GPU trace of the first batch, for Xcode.

use super::*;
use objc2_foundation::NSURL;
use objc2_metal::{MTLCaptureDescriptor, MTLCaptureDestination, MTLCaptureManager};

/// Where a trace goes, until it is written.
pub struct Capture(Mutex<Option<String>>);

impl Capture {
    pub fn current() -> Capture {
        Capture(Mutex::new(std::env::var("WOOTZ_METAL_CAPTURE").ok().filter(|path| !path.is_empty())))
    }

    /// Starts the trace if one was requested and none was written yet. It records the command buffers that are created
    /// and committed while it runs.
    pub fn begin(&self, device: &ProtocolObject<dyn MTLDevice>) -> Result<Option<Capturing>> {
        let Some(path) = self.0.lock().take() else { return Ok(None) };
        let manager = manager();
        let descriptor = MTLCaptureDescriptor::new();
        descriptor.setDestination(MTLCaptureDestination::GPUTraceDocument);
        descriptor.setOutputURL(Some(&NSURL::fileURLWithPath(&NSString::from_str(&path))));
        // SAFETY: a device is one of the objects that can be captured.
        unsafe { descriptor.setCaptureObject(Some(device.as_ref())) };
        match manager.startCaptureWithDescriptor_error(&descriptor) {
            Ok(()) => Ok(Some(Capturing)),
            Err(error) => Err(DriverError::Failed(format!("WOOTZ_METAL_CAPTURE={path}: {}", text(&error)))),
        }
    }
}

/// A running trace. Dropping it ends the trace.
pub struct Capturing;

impl Drop for Capturing {
    fn drop(&mut self) {
        manager().stopCapture();
    }
}

fn manager() -> Retained<MTLCaptureManager> {
    // SAFETY: the manager is a singleton that lives as long as the process.
    unsafe { MTLCaptureManager::sharedCaptureManager() }
}
