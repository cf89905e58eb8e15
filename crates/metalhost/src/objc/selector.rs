//! Selectors: unique C strings.

use crate::abi::Sel;
use parking_lot::RwLock;
use rustc_hash::FxHashMap;
use std::ffi::{CStr, CString, c_char};
use std::sync::LazyLock;

static SELECTORS: LazyLock<RwLock<FxHashMap<&'static [u8], Sel>>> = LazyLock::new(RwLock::default);

/// The selector of this name.
pub fn register(name: &[u8]) -> Sel {
    if let Some(found) = SELECTORS.read().get(name) {
        return *found;
    }
    let mut all = SELECTORS.write();
    if let Some(found) = all.get(name) {
        return *found;
    }
    let end = name.iter().position(|&b| b == 0).unwrap_or(name.len());
    let owned: &'static CStr = Box::leak(CString::new(&name[..end]).unwrap_or_default().into_boxed_c_str());
    let selector = Sel(owned.as_ptr());
    all.insert(owned.to_bytes(), selector);
    selector
}

/// The name of a selector.
pub fn text(selector: Sel) -> String {
    if selector.0.is_null() {
        return "(null)".into();
    }
    // SAFETY: selectors are C strings that live as long as the process.
    unsafe { CStr::from_ptr(selector.0) }.to_string_lossy().into_owned()
}

/// # Safety
/// `name` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sel_registerName(name: *const c_char) -> Sel {
    // SAFETY: the caller's promise.
    register(unsafe { CStr::from_ptr(name) }.to_bytes())
}

/// # Safety
/// `name` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sel_getUid(name: *const c_char) -> Sel {
    // SAFETY: the caller's promise.
    unsafe { sel_registerName(name) }
}

/// The C string of a selector.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn sel_getName(selector: Sel) -> *const c_char {
    selector.0
}

/// Whether two selectors are one.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn sel_isEqual(a: Sel, b: Sel) -> u8 {
    u8::from(a == b)
}
