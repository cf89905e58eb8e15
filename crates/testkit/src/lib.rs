//! Conformance cases, tolerances and expected exceptions, shared by every Wootz backend.
