//! Sharing arrays in place: the buffer protocol.

use crate::array::PyArray;
use crate::errors::raise;
use crate::run::evaluate;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::{CStr, c_int, c_void};
use wootz::{DType, Layout, Tensor};

/// Host memory that holds a tensor's elements.
pub struct HostView {
    /// Keeps the memory alive.
    pub tensor: Tensor,
    buffer: wootz::Buffer,
    pub layout: Layout,
}

impl HostView {
    /// The first element.
    pub fn start(&self) -> *const u8 {
        let base = self
            .buffer
            .host_bytes()
            .map_or(std::ptr::NonNull::dangling().as_ptr() as *const u8, <[u8]>::as_ptr);
        base.wrapping_add(self.layout.offset * self.tensor.dtype().size())
    }

    /// Strides in bytes.
    pub fn byte_strides(&self) -> Vec<isize> {
        self.layout.strides.iter().map(|s| s * self.tensor.dtype().size() as isize).collect()
    }
}

/// The memory of an array, computed if necessary; copied to the host if the device has its own memory.
pub fn host_view(py: Python<'_>, tensor: &Tensor) -> PyResult<HostView> {
    evaluate(py, &[tensor])?;
    let place = |tensor: &Tensor| -> wootz::Result<Option<HostView>> {
        let stored = tensor.stored()?;
        let visible = stored.buffer.host_bytes().is_some();
        Ok(visible.then(|| HostView { tensor: tensor.clone(), buffer: stored.buffer, layout: stored.layout }))
    };
    crate::run::detached(py, || {
        if let Some(view) = place(tensor)? {
            return Ok(view);
        }
        let host = Tensor::from_bytes_on(
            &tensor.to_bytes()?,
            tensor.dtype(),
            tensor.shape(),
            &wootz::Device::cpu(),
        )?;
        place(&host)?.ok_or_else(|| wootz::Error::device("cpu", "host memory cannot be read in place"))
    })
}

/// The format character of a dtype in the buffer protocol.
fn format(dtype: DType) -> Option<&'static CStr> {
    Some(match dtype {
        DType::Bool => c"?",
        DType::U8 => c"B",
        DType::U16 => c"H",
        DType::U32 => c"I",
        DType::U64 => c"Q",
        DType::I8 => c"b",
        DType::I16 => c"h",
        DType::I32 => c"i",
        DType::I64 => c"q",
        DType::F16 => c"e",
        DType::F32 => c"f",
        DType::F64 => c"d",
        DType::BF16 => return None,
    })
}

/// What an exported view owns until it is released.
struct Export {
    _view: HostView,
    shape: Vec<isize>,
    strides: Vec<isize>,
}

#[pymethods]
impl PyArray {
    /// # Safety
    /// Called by Python with a view to fill.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("no view to fill"));
        }
        if flags & ffi::PyBUF_WRITABLE == ffi::PyBUF_WRITABLE {
            return Err(PyBufferError::new_err("arrays are immutable: the buffer is read-only"));
        }
        let tensor = slf.get().tensor();
        let Some(format) = format(tensor.dtype()) else {
            return Err(raise(
                "DTypeError",
                "bfloat16 has no format in the buffer protocol; cast to float32 first",
            ));
        };
        let contiguous_only = flags & ffi::PyBUF_STRIDES != ffi::PyBUF_STRIDES
            || flags & ffi::PyBUF_C_CONTIGUOUS == ffi::PyBUF_C_CONTIGUOUS;
        let mut host = host_view(slf.py(), &tensor)?;
        if contiguous_only && !host.layout.is_contiguous() {
            let copy = crate::run::detached(slf.py(), || tensor.contiguous())?;
            host = host_view(slf.py(), &copy)?;
        }
        let size = tensor.dtype().size();
        let export = Box::new(Export {
            shape: tensor.shape().iter().map(|&d| d as isize).collect(),
            strides: host.byte_strides(),
            _view: host,
        });
        let rank = tensor.rank();
        // SAFETY: Python hands over a view to fill. Shape and strides live in `export`, which the view's `internal` field
        // owns until `__releasebuffer__`; the view holds a reference to the array.
        unsafe {
            (*view).buf = export._view.start() as *mut c_void;
            (*view).len = (tensor.count() * size) as isize;
            (*view).itemsize = size as isize;
            (*view).readonly = 1;
            (*view).ndim = rank as c_int;
            (*view).format = if flags & ffi::PyBUF_FORMAT == ffi::PyBUF_FORMAT {
                format.as_ptr() as *mut _
            } else {
                std::ptr::null_mut()
            };
            (*view).shape = if flags & ffi::PyBUF_ND == ffi::PyBUF_ND {
                export.shape.as_ptr() as *mut isize
            } else {
                std::ptr::null_mut()
            };
            (*view).strides = if flags & ffi::PyBUF_STRIDES == ffi::PyBUF_STRIDES {
                export.strides.as_ptr() as *mut isize
            } else {
                std::ptr::null_mut()
            };
            (*view).suboffsets = std::ptr::null_mut();
            (*view).internal = Box::into_raw(export) as *mut c_void;
            (*view).obj = slf.into_any().into_ptr();
        }
        Ok(())
    }

    /// # Safety
    /// Called by Python with a view that `__getbuffer__` filled.
    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: `internal` was made by `__getbuffer__` for this view alone.
        unsafe { drop(Box::from_raw((*view).internal as *mut Export)) };
    }

    /// The address of the first element in host memory, valid while the array lives. Evaluates the array.
    #[getter]
    fn data_ptr(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(host_view(py, &self.tensor())?.start() as usize)
    }

    /// The strides in bytes. Evaluates the array.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyTuple>> {
        pyo3::types::PyTuple::new(py, host_view(py, &self.tensor())?.byte_strides())
    }
}
