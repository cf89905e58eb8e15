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

    /// Starts the trace if one was asked for and none was written yet; says so on failure, and goes on without.
    pub fn begin(&self, device: &ProtocolObject<dyn MTLDevice>) -> bool {
        let Some(path) = self.0.lock().take() else { return false };
        // SAFETY: the manager is a singleton that lives as long as the process.
        let manager = unsafe { MTLCaptureManager::sharedCaptureManager() };
        let descriptor = MTLCaptureDescriptor::new();
        descriptor.setDestination(MTLCaptureDestination::GPUTraceDocument);
        descriptor.setOutputURL(Some(&NSURL::fileURLWithPath(&NSString::from_str(&path))));
        // SAFETY: a device is one of the objects that can be captured.
        unsafe { descriptor.setCaptureObject(Some(device.as_ref())) };
        match manager.startCaptureWithDescriptor_error(&descriptor) {
            Ok(()) => true,
            Err(error) => {
                eprintln!("wootz: WOOTZ_METAL_CAPTURE={path}: {}", text(&error));
                false
            }
        }
    }

    pub fn end(&self) {
        // SAFETY: as above.
        unsafe { MTLCaptureManager::sharedCaptureManager() }.stopCapture();
    }
}
