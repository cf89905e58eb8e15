//! SoftMetal: the native half of `wootz.softmetal`. Structured data is passed as JSON text, which the Python half
//! parses.

use crate::errors::raise;
use crate::run::interruptible;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use softmetal::check::CheckOptions;
use softmetal::{
    CompileOptions, ConstantValue, Device, DeviceOptions, DispatchType, Error, FunctionConstants, Library,
    Size,
};
use std::path::PathBuf;
use std::time::Duration;

fn from_metal(error: &Error) -> PyErr {
    let class = match error {
        Error::Compile { .. } | Error::Fault { .. } | Error::Timeout { .. } | Error::Check(_) => {
            "KernelError"
        }
        Error::UnknownFunction { .. } | Error::Constant { .. } | Error::Invalid(_) => "ArgumentError",
        Error::Io { .. } | Error::Metallib { .. } => "FileError",
        Error::NoCompiler { .. } | Error::Tool { .. } | Error::Skipped => "DeviceError",
    };
    raise(class, error.to_string())
}

/// A software Metal device.
#[pyclass(name = "_SoftDevice", module = "wootz._native", frozen)]
pub struct PySoftDevice(Device);

/// Options of a software device from Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Behaviour {
    family: String,
    simd_width: Option<u32>,
    check: bool,
    max_reports: usize,
    profile: bool,
    shuffle: Option<u64>,
    time_limit: f64,
}

#[pymethods]
impl PySoftDevice {
    #[new]
    fn new(py: Python<'_>, options: Behaviour) -> PyResult<PySoftDevice> {
        if !(options.time_limit > 0.0 && options.time_limit < 1e9) {
            return Err(raise("ArgumentError", "time_limit: expected a positive number of seconds"));
        }
        let options = DeviceOptions {
            family: options.family.parse().map_err(|e| from_metal(&e))?,
            simd_width: options.simd_width,
            check: options.check.then_some(CheckOptions { max_reports: options.max_reports }),
            profile: options.profile,
            shuffle: options.shuffle,
            time_limit: Duration::from_secs_f64(options.time_limit),
            ..DeviceOptions::default()
        };
        py.detach(|| Device::new(options)).map(PySoftDevice).map_err(|e| from_metal(&e))
    }

    /// Reads Metal source.
    fn library(
        &self,
        py: Python<'_>,
        source: String,
        file_name: String,
        defines: Vec<(String, String)>,
        include_dirs: Vec<PathBuf>,
    ) -> PyResult<PySoftLibrary> {
        let device = self.0.clone();
        let options = CompileOptions { defines, include_dirs, file_name, ..CompileOptions::default() };
        let made = interruptible(py, {
            let device = device.clone();
            move || device.new_library(&source, &options)
        })?;
        Ok(PySoftLibrary { device, library: made.map_err(|e| from_metal(&e))? })
    }
}

/// A Metal source.
#[pyclass(name = "_SoftLibrary", module = "wootz._native", frozen)]
pub struct PySoftLibrary {
    device: Device,
    library: Library,
}

/// A dispatch, as given from Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Dispatch {
    kernel: String,
    /// Name or index, type and value.
    constants: Vec<(String, String, f64)>,
    /// Index and content.
    buffers: Vec<(u32, Vec<u8>)>,
    /// Index and content of values in constant memory.
    values: Vec<(u32, Vec<u8>)>,
    /// Index and bytes of threadgroup memory.
    threadgroup: Vec<(u32, u32)>,
    grid: (u32, u32, u32),
    threads: (u32, u32, u32),
    /// Whether the grid counts threadgroups instead of threads.
    groups: bool,
}

/// The results of a dispatch.
struct Outcome {
    buffers: Vec<(u32, Vec<u8>)>,
    seconds: f64,
    facts: String,
    error: Option<Error>,
}

#[pymethods]
impl PySoftLibrary {
    /// The kernels' names.
    fn functions(&self) -> Vec<String> {
        self.library.function_names()
    }

    /// The parameters of a kernel, as JSON.
    fn bindings(&self, name: &str) -> PyResult<String> {
        let function = self.library.function_unspecialised(name).map_err(|e| from_metal(&e))?;
        serde_json::to_string(function.bindings()).map_err(|e| raise("InternalError", e.to_string()))
    }

    /// Compiles kernels; returns the error of each, or None.
    fn check(&self, py: Python<'_>, names: Vec<String>) -> PyResult<Vec<Option<String>>> {
        let (library, device) = (self.library.clone(), self.device.clone());
        let errors = interruptible(py, move || library.check_all(&device, &names))?;
        Ok(errors.into_iter().map(|error| error.map(|e| e.to_string())).collect())
    }

    /// Runs a kernel: the buffers' contents afterwards, seconds, reports and counters as JSON, and the error, if any.
    #[allow(clippy::type_complexity, reason = "a tuple that Python unpacks immediately")]
    fn run<'py>(
        &self,
        py: Python<'py>,
        dispatch: Dispatch,
    ) -> PyResult<(Vec<(u32, Bound<'py, PyBytes>)>, f64, String, Option<String>)> {
        let (library, device) = (self.library.clone(), self.device.clone());
        let outcome =
            interruptible(py, move || run(&device, &library, &dispatch))?.map_err(|e| from_metal(&e))?;
        let buffers = outcome.buffers.iter().map(|(i, bytes)| (*i, PyBytes::new(py, bytes))).collect();
        Ok((buffers, outcome.seconds, outcome.facts, outcome.error.map(|e| e.to_string())))
    }
}

fn constant(type_name: &str, value: f64) -> Result<ConstantValue, Error> {
    Ok(match type_name {
        "bool" => ConstantValue::Bool(value != 0.0),
        "char" => ConstantValue::Char(value as i8),
        "uchar" => ConstantValue::UChar(value as u8),
        "short" => ConstantValue::Short(value as i16),
        "ushort" => ConstantValue::UShort(value as u16),
        "int" => ConstantValue::Int(value as i32),
        "uint" => ConstantValue::UInt(value as u32),
        "long" => ConstantValue::Long(value as i64),
        "ulong" => ConstantValue::ULong(value as u64),
        "half" => ConstantValue::Half(half::f16::from_f64(value)),
        "float" => ConstantValue::Float(value as f32),
        other => {
            return Err(Error::Invalid(format!("a function constant of type `{other}` is not supported")));
        }
    })
}

fn run(device: &Device, library: &Library, dispatch: &Dispatch) -> Result<Outcome, Error> {
    let mut constants = FunctionConstants::new();
    for (name, type_name, value) in &dispatch.constants {
        let value = constant(type_name, *value)?;
        constants = match name.parse() {
            Ok(index) => constants.with(index, value),
            Err(_) => constants.with_name(name, value),
        };
    }
    let pipeline = device.new_pipeline(&library.function_with_constants(&dispatch.kernel, &constants)?)?;
    let command = device.new_queue().command_buffer();
    let mut held = Vec::new();
    {
        let mut encoder = command.compute_encoder(DispatchType::Serial);
        encoder.set_pipeline(&pipeline);
        for (index, bytes) in &dispatch.buffers {
            let buffer = device.new_buffer_with_bytes(bytes)?;
            encoder.set_buffer(*index, &buffer, 0)?;
            held.push((*index, buffer));
        }
        for (index, bytes) in &dispatch.values {
            encoder.set_bytes(*index, bytes)?;
        }
        for (index, length) in &dispatch.threadgroup {
            encoder.set_threadgroup_memory_length(*index, *length)?;
        }
        let size = |(x, y, z): (u32, u32, u32)| Size(x, y, z);
        if dispatch.groups {
            encoder.dispatch_threadgroups(size(dispatch.grid), size(dispatch.threads))?;
        } else {
            encoder.dispatch_threads(size(dispatch.grid), size(dispatch.threads))?;
        }
        encoder.end_encoding();
    }
    let error = command.run().err();
    let reports = match &error {
        Some(Error::Check(reports)) => serde_json::to_value(reports).unwrap_or_default(),
        _ => serde_json::json!([]),
    };
    let profiles = serde_json::to_value(command.profiles()).unwrap_or_default();
    let facts = serde_json::json!({ "reports": reports, "profiles": profiles }).to_string();
    let mut buffers = Vec::new();
    for (index, buffer) in held {
        buffers.push((index, buffer.read_bytes(0, buffer.length())?));
    }
    let seconds = command.gpu_end_time() - command.gpu_start_time();
    Ok(Outcome { buffers, seconds, facts, error })
}
