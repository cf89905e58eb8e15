//! Captures: there is no GPU to trace, and calls report that.

use super::{CAPTURE_MANAGER, CAPTURE_SCOPE};
use crate::abi::{Bool, Id, Out, methods};
use crate::foundation::{error, root};
use crate::objc::object::Strong;
use std::sync::LazyLock;

static SHARED: LazyLock<Strong> = LazyLock::new(|| root::plain(&CAPTURE_MANAGER));

methods! { pub MANAGER;
    "supportsDestination:" (this, _destination: isize) -> Bool { false.into() }
    "startCaptureWithDescriptor:error:" (this, _wanted: Id, out: Out) -> Bool {
        error::fail(out, "MTLCaptureErrorDomain", 1, "SoftMetal writes no GPU traces; `softmetal run --profile` counts what a kernel does");
        false.into()
    }
    "stopCapture" (this) { }
    "isCapturing" (this) -> Bool { false.into() }
    "newCaptureScopeWithDevice:" (this, _device: Id) -> Id { root::plain(&CAPTURE_SCOPE).into_owned() }
    "newCaptureScopeWithCommandQueue:" (this, _queue: Id) -> Id { root::plain(&CAPTURE_SCOPE).into_owned() }
    "defaultCaptureScope" (this) -> Id { Id::NIL }
    "setDefaultCaptureScope:" (this, _scope: Id) { }
}

methods! { pub MANAGER_CLASS;
    "sharedCaptureManager" (this) -> Id { SHARED.id() }
}

methods! { pub SCOPE;
    "beginScope" (this) { }
    "endScope" (this) { }
}
