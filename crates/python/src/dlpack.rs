//! DLPack, both ways: tensors exchanged with other libraries without a copy.
//!
//! The structs are those of the DLPack header, version 1.0. Exported memory is marked read-only where the consumer knows the
//! flag (versioned capsules); consumers of the older form are trusted not to write, as the protocol has no way to say it.

use crate::array::PyArray;
use crate::convert::{Copying, byte_range, restride};
use crate::errors::{OrRaise, raise};
use crate::export::{HostView, host_view};
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyDict};
use std::ffi::{CStr, c_void};
use wootz::{DType, Device, DeviceKind, HostMemory, Layout, Shape, Tensor};

const PLAIN: &CStr = c"dltensor";
const USED_PLAIN: &CStr = c"used_dltensor";
const VERSIONED: &CStr = c"dltensor_versioned";
const USED_VERSIONED: &CStr = c"used_dltensor_versioned";

const CPU: i32 = 1;
const READ_ONLY: u64 = 1;

#[repr(C)]
struct DlTensor {
    data: *mut c_void,
    device_type: i32,
    device_id: i32,
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

#[repr(C)]
struct Managed {
    tensor: DlTensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

#[repr(C)]
struct ManagedVersioned {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut ManagedVersioned)>,
    flags: u64,
    tensor: DlTensor,
}

/// What an exported tensor owns.
struct Context {
    _view: HostView,
    shape: Vec<i64>,
    strides: Vec<i64>,
}

fn code_of(dtype: DType) -> (u8, u8) {
    let code = match dtype {
        DType::Bool => 6,
        DType::BF16 => 4,
        _ => match dtype.kind() {
            wootz_ir::Kind::Bool => 6,
            wootz_ir::Kind::Signed => 0,
            wootz_ir::Kind::Unsigned => 1,
            wootz_ir::Kind::Float => 2,
        },
    };
    (code, dtype.size() as u8 * 8)
}

fn dtype_of(tensor: &DlTensor) -> Option<DType> {
    let known = DType::ALL.into_iter().find(|&d| code_of(d) == (tensor.code, tensor.bits));
    known.filter(|_| tensor.lanes == 1)
}

fn describe(context: &mut Context) -> DlTensor {
    let (code, bits) = code_of(context._view.tensor.dtype());
    DlTensor {
        data: context._view.start() as *mut c_void,
        device_type: CPU,
        device_id: 0,
        ndim: context.shape.len() as i32,
        code,
        bits,
        lanes: 1,
        shape: context.shape.as_mut_ptr(),
        strides: context.strides.as_mut_ptr(),
        byte_offset: 0,
    }
}

/// Frees an exported tensor.
///
/// # Safety
/// The tensor was exported by `export_plain`, and is not used afterwards.
unsafe extern "C" fn delete(managed: *mut Managed) {
    // SAFETY: both boxes were made by `export_plain`, and a deleter is called once.
    unsafe {
        drop(Box::from_raw((*managed).context as *mut Context));
        drop(Box::from_raw(managed));
    }
}

/// Frees an exported tensor of the versioned kind.
///
/// # Safety
/// The tensor was exported by `export_versioned`, and is not used afterwards.
unsafe extern "C" fn delete_versioned(managed: *mut ManagedVersioned) {
    // SAFETY: both boxes were made by `export_versioned`, and a deleter is called once.
    unsafe {
        drop(Box::from_raw((*managed).context as *mut Context));
        drop(Box::from_raw(managed));
    }
}

/// Frees a capsule that nobody consumed; a consumer renames it and frees the tensor itself.
///
/// # Safety
/// Called by Python, once, with a capsule that an export here made.
unsafe extern "C" fn drop_capsule(capsule: *mut ffi::PyObject) {
    // SAFETY: called by Python with a capsule that one of the functions below made.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, PLAIN.as_ptr()) == 1 {
            let managed = ffi::PyCapsule_GetPointer(capsule, PLAIN.as_ptr()) as *mut Managed;
            delete(managed);
        } else if ffi::PyCapsule_IsValid(capsule, VERSIONED.as_ptr()) == 1 {
            delete_versioned(ffi::PyCapsule_GetPointer(capsule, VERSIONED.as_ptr()) as *mut ManagedVersioned);
        }
    }
}

fn capsule(py: Python<'_>, pointer: *mut c_void, name: &'static CStr) -> PyResult<Py<PyAny>> {
    // SAFETY: the pointer is a box given away to the capsule, whose destructor frees it.
    unsafe {
        let object = ffi::PyCapsule_New(pointer, name.as_ptr(), Some(drop_capsule));
        Bound::from_owned_ptr_or_err(py, object).map(Bound::unbind)
    }
}

fn export(py: Python<'_>, tensor: &Tensor, versioned: bool, copied: bool) -> PyResult<Py<PyAny>> {
    let view = host_view(py, tensor)?;
    let shape = tensor.shape().iter().map(|&d| d as i64).collect();
    let strides = view.layout.strides.iter().map(|&s| s as i64).collect();
    let mut context = Box::new(Context { _view: view, shape, strides });
    let described = describe(&mut context);
    let context = Box::into_raw(context) as *mut c_void;
    if versioned {
        let managed = Box::new(ManagedVersioned {
            major: 1,
            minor: 0,
            context,
            deleter: Some(delete_versioned),
            flags: if copied { 2 } else { READ_ONLY },
            tensor: described,
        });
        capsule(py, Box::into_raw(managed) as *mut c_void, VERSIONED)
    } else {
        let managed = Box::new(Managed { tensor: described, context, deleter: Some(delete) });
        capsule(py, Box::into_raw(managed) as *mut c_void, PLAIN)
    }
}

#[pymethods]
impl PyArray {
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__(
        &self,
        py: Python<'_>,
        stream: Option<&Bound<'_, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Py<PyAny>> {
        if stream.is_some() {
            return Err(raise("ArgumentError", "__dlpack__: host memory has no stream"));
        }
        if let Some((kind, id)) = dl_device
            && (kind, id) != (CPU, 0)
        {
            return Err(PyBufferError::new_err(format!(
                "only the host (1, 0) is supported, not ({kind}, {id})"
            )));
        }
        let tensor = self.evaluated(py)?;
        let on_host = tensor.stored().or_raise()?.buffer.host_bytes().is_some();
        if copy == Some(false) && !on_host {
            return Err(PyBufferError::new_err("the array is not in host memory: a copy is needed"));
        }
        let tensor = if copy == Some(true) { crate::run::detached(py, || tensor.copied())? } else { tensor };
        let versioned = max_version.is_some_and(|(major, _)| major >= 1);
        export(py, &tensor, versioned, copy == Some(true))
    }

    fn __dlpack_device__(&self) -> (i32, i32) {
        (CPU, 0)
    }
}

/// Keeps another library's tensor alive.
struct Imported {
    managed: *mut c_void,
    versioned: bool,
    start: *const u8,
    len: usize,
}

// SAFETY: DLPack's deleters may be called from any thread; the memory is only read.
unsafe impl Send for Imported {}
// SAFETY: a shared handle gives out a shared slice of memory that nobody here writes.
unsafe impl Sync for Imported {}

impl AsRef<[u8]> for Imported {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: the producer promises the memory until its deleter is called.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

impl Drop for Imported {
    fn drop(&mut self) {
        // Deleters may touch Python objects; after interpreter shutdown there is nothing left to delete.
        let _ = Python::try_attach(|_| {
            // SAFETY: the pointer came out of a capsule that we renamed, so that we own it.
            unsafe {
                if self.versioned {
                    let managed = self.managed as *mut ManagedVersioned;
                    if let Some(deleter) = (*managed).deleter {
                        deleter(managed);
                    }
                } else {
                    let managed = self.managed as *mut Managed;
                    if let Some(deleter) = (*managed).deleter {
                        deleter(managed);
                    }
                }
            }
        });
    }
}

/// The capsule of an object, in the newest version that it supports.
fn request<'py>(object: &Bound<'py, PyAny>, copying: Copying) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    let arguments = PyDict::new(py);
    arguments.set_item("max_version", (1, 0))?;
    match copying {
        Copying::IfNeeded => {}
        Copying::Always => arguments.set_item("copy", true)?,
        Copying::Never => arguments.set_item("copy", false)?,
    }
    match object.call_method("__dlpack__", (), Some(&arguments)) {
        // Producers older than version 1.0 take neither argument.
        Err(error) if error.is_instance_of::<pyo3::exceptions::PyTypeError>(py) => {
            object.call_method0("__dlpack__")
        }
        result => result,
    }
}

/// A tensor over another library's tensor.
pub fn import(object: &Bound<'_, PyAny>, device: &Device, copying: Copying) -> PyResult<Tensor> {
    let (kind, _): (i32, i32) = object.call_method0("__dlpack_device__")?.extract()?;
    if kind != CPU {
        let message = format!("from_dlpack: the memory is on a device of kind {kind}, not on the host (1)");
        return Err(raise("DeviceError", message));
    }
    let capsule = request(object, copying)?;
    let capsule = capsule
        .cast::<PyCapsule>()
        .map_err(|_| raise("ConversionError", "__dlpack__ did not return a capsule"))?;
    let versioned = capsule.is_valid_checked(Some(VERSIONED));
    let (name, used) = if versioned { (VERSIONED, USED_VERSIONED) } else { (PLAIN, USED_PLAIN) };
    let pointer = capsule
        .pointer_checked(Some(name))
        .map_err(|_| raise("ConversionError", "the capsule holds no unconsumed DLPack tensor"))?;
    let managed = pointer.as_ptr();
    if versioned {
        // SAFETY: the capsule's name says that it holds this struct; the version comes first in every version.
        let major = unsafe { (*(managed as *const ManagedVersioned)).major };
        if major != 1 {
            return Err(raise("FormatError", format!("unsupported DLPack version {major}")));
        }
    }
    // SAFETY: the capsule's name says which struct it holds.
    let tensor = unsafe {
        if versioned {
            &(*(managed as *const ManagedVersioned)).tensor
        } else {
            &(*(managed as *const Managed)).tensor
        }
    };
    let Some(dtype) = dtype_of(tensor) else {
        let message = format!(
            "from_dlpack: unsupported dtype: code {}, {} bits, {} lanes",
            tensor.code, tensor.bits, tensor.lanes
        );
        return Err(raise("DTypeError", message));
    };
    let (layout, start, len) = place(tensor, dtype)?;
    // SAFETY: from here on the tensor is ours: renaming the capsule keeps its own destructor away.
    unsafe {
        if ffi::PyCapsule_SetName(capsule.as_ptr(), used.as_ptr()) != 0 {
            return Err(PyErr::fetch(object.py()));
        }
    }
    let memory = Imported { managed, versioned, start, len };
    if layout.shape.count() == 0 {
        return Tensor::from_bytes_on(&[], dtype, layout.shape, device).or_raise();
    }
    if copying == Copying::Always {
        let flat = Tensor::from_bytes_on(memory.as_ref(), dtype, [len / dtype.size()], device).or_raise()?;
        return restride(&flat, &layout, dtype, device);
    }
    if copying == Copying::Never && device.info().kind != DeviceKind::Cpu {
        return Err(raise("ArgumentError", format!("cannot share this memory with {device} without a copy")));
    }
    Tensor::from_host_on(HostMemory::new(memory), dtype, layout, device).or_raise()
}

/// A tensor's memory: its layout from the lowest byte on, that byte, and the length.
fn place(tensor: &DlTensor, dtype: DType) -> PyResult<(Layout, *const u8, usize)> {
    let rank = usize::try_from(tensor.ndim)
        .map_err(|_| raise("FormatError", "from_dlpack: negative number of axes"))?;
    if rank > wootz_ir::shape::MAX_RANK {
        let most = wootz_ir::shape::MAX_RANK;
        return Err(raise(
            "ShapeError",
            format!("from_dlpack: {rank} axes, but at most {most} are supported"),
        ));
    }
    if rank > 0 && tensor.shape.is_null() {
        return Err(raise("FormatError", "from_dlpack: the tensor has axes but no shape"));
    }
    let read = |pointer: *const i64| -> Vec<i64> {
        // SAFETY: the producer promises `ndim` entries.
        (0..rank).map(|i| unsafe { *pointer.add(i) }).collect()
    };
    let extents = if rank == 0 { vec![] } else { read(tensor.shape) };
    if extents.iter().any(|&d| d < 0) {
        return Err(raise("FormatError", format!("negative extents: {extents:?}")));
    }
    let shape: Shape = extents.iter().map(|&d| d as usize).collect();
    shape.check("from_dlpack").or_raise()?;
    let mut layout = Layout::contiguous(&shape);
    if rank > 0 && !tensor.strides.is_null() {
        layout.strides = read(tensor.strides).iter().map(|&s| s as isize).collect();
    }
    let first = (tensor.data as *const u8).wrapping_add(tensor.byte_offset as usize);
    if shape.count() == 0 {
        return Ok((Layout::contiguous(&shape), first, 0));
    }
    if tensor.data.is_null() {
        return Err(raise("FormatError", "from_dlpack: the tensor has elements but no memory"));
    }
    let size = dtype.size();
    let too_far = || raise("ArgumentError", "from_dlpack: strides are out of range");
    let strides = layout.strides.iter().map(|&s| s.checked_mul(size as isize).ok_or_else(too_far));
    let strides: Vec<isize> = strides.collect::<PyResult<_>>()?;
    let (low, high) = byte_range(&shape, &strides, size)?;
    layout.offset = low.unsigned_abs() / size;
    Ok((layout, first.wrapping_offset(low), (high - low) as usize))
}

/// An array that shares the memory of another library's tensor if the device supports it.
#[pyfunction]
#[pyo3(signature = (x, /, *, device=None, copy=None))]
pub fn from_dlpack(
    x: &Bound<'_, PyAny>,
    device: Option<&Bound<'_, PyAny>>,
    copy: Option<bool>,
) -> PyResult<PyArray> {
    if !x.hasattr("__dlpack__")? {
        let message = format!("from_dlpack: {} has no __dlpack__", x.get_type().name()?);
        return Err(raise("ConversionError", message));
    }
    let device = crate::device::device_of(device)?;
    import(x, &device, Copying::from_option(copy)).map(PyArray::new)
}
