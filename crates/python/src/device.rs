//! Devices by name.

use crate::errors::OrRaise;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use wootz::Device;

/// A device that computes arrays. Compares equal to its name.
#[pyclass(name = "Device", module = "wootz", frozen, from_py_object)]
#[derive(Clone)]
pub struct PyDevice(pub Device);

/// The device that an object names; the default one for None.
pub fn device_of(object: Option<&Bound<'_, PyAny>>) -> PyResult<Device> {
    let Some(object) = object else { return Device::current().or_raise() };
    if let Ok(device) = object.cast::<PyDevice>() {
        return Ok(device.get().0.clone());
    }
    match object.cast::<PyString>() {
        Ok(name) => Device::from_name(&name.to_cow()?).or_raise(),
        Err(_) => {
            let message = format!("a device is a wootz.Device or a name, not {}", object.get_type().name()?);
            Err(crate::errors::raise("ConversionError", message))
        }
    }
}

#[pymethods]
impl PyDevice {
    #[new]
    #[pyo3(signature = (name=None))]
    fn new(name: Option<&Bound<'_, PyAny>>) -> PyResult<PyDevice> {
        device_of(name).map(PyDevice)
    }

    /// The name that selects the device.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// A human-readable description of the device.
    #[getter]
    fn description(&self) -> &str {
        &self.0.info().description
    }

    /// ``cpu``, ``integrated gpu``, ``discrete gpu`` or ``software``.
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.info().kind.name()
    }

    /// Properties such as instruction set, threads, driver and limits.
    #[getter]
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let facts = PyDict::new(py);
        for (name, value) in &self.0.info().facts {
            facts.set_item(name, value)?;
        }
        Ok(facts)
    }

    /// Memory use in bytes, and buffers: ``live``, ``cached``, ``peak``, ``buffers``, ``limit``.
    fn memory<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = self.0.memory();
        let facts = PyDict::new(py);
        facts.set_item("live", stats.live)?;
        facts.set_item("cached", stats.cached)?;
        facts.set_item("peak", stats.peak)?;
        facts.set_item("buffers", stats.buffers)?;
        facts.set_item("limit", self.0.info().memory_limit)?;
        Ok(facts)
    }

    /// Why the device does not support a dtype, or None if it does.
    fn refuses(&self, dtype: &Bound<'_, PyAny>) -> PyResult<Option<&'static str>> {
        Ok(self.0.backend().refuses(crate::dtype::dtype_of(dtype)?))
    }

    /// Duration of the last evaluation in seconds, as measured by the device, if it can.
    fn last_run_seconds(&self) -> Option<f64> {
        self.0.backend().last_run_seconds()
    }

    /// Frees cached memory and plans.
    fn trim(&self) {
        self.0.trim();
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        if let Ok(name) = other.cast::<PyString>() {
            return name.to_cow().is_ok_and(|name| name == self.0.name());
        }
        other.cast::<PyDevice>().is_ok_and(|other| other.get().0 == self.0)
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        PyString::new(py, self.0.name()).hash()
    }

    fn __repr__(&self) -> String {
        format!("wootz.Device('{}')", self.0.name())
    }

    fn __str__(&self) -> &str {
        self.0.name()
    }

    fn __reduce__(&self, py: Python<'_>) -> PyResult<(Py<PyAny>, (String,))> {
        Ok((py.get_type::<PyDevice>().into_any().unbind(), (self.0.name().to_string(),)))
    }
}

/// All devices of this machine.
#[pyfunction]
pub fn devices() -> Vec<PyDevice> {
    Device::all().into_iter().map(PyDevice).collect()
}

/// Sets the default device.
#[pyfunction]
pub fn set_default_device(device: &Bound<'_, PyAny>) -> PyResult<()> {
    device_of(Some(device))?.set_current();
    Ok(())
}

/// The number of CPU threads.
#[pyfunction]
pub fn get_num_threads() -> usize {
    Device::cpu_threads()
}

/// Sets the number of CPU threads, before the first use of the CPU (like ``WOOTZ_THREADS``).
#[pyfunction]
pub fn set_num_threads(count: i64) -> PyResult<()> {
    let wanted = usize::try_from(count).ok().filter(|n| (1..=1024).contains(n));
    let wanted = wanted.ok_or_else(|| {
        crate::errors::raise("ArgumentError", format!("set_num_threads: 1 to 1024 threads, not {count}"))
    })?;
    Device::set_cpu_threads(wanted).or_raise()
}

/// The default device.
#[pyfunction]
pub fn default_device() -> PyResult<PyDevice> {
    Device::current().or_raise().map(PyDevice)
}
