//! Conversion of Python objects to tensors: numbers, nested sequences, and objects with a buffer.

use crate::array::PyArray;
use crate::dtype::{find_dtype, python_name};
use crate::errors::{OrRaise, raise};
use crate::trace::PyParameter;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyList, PySequence, PyString, PyTuple};
use wootz::{DType, Device, HostMemory, Layout, Number, Shape, Tensor};

/// Whether a conversion may, must or must not copy.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Copying {
    IfNeeded,
    Always,
    Never,
}

impl Copying {
    pub fn from_option(copy: Option<bool>) -> Copying {
        match copy {
            None => Copying::IfNeeded,
            Some(true) => Copying::Always,
            Some(false) => Copying::Never,
        }
    }
}

/// Whether an object is a Python number, which has no dtype of its own. Its value is not inspected.
pub fn is_number(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyFloat>()
        || object.is_instance_of::<PyInt>()
        || object.is_instance_of::<PyParameter>()
}

/// A Python number, if the object is one.
pub fn number_of(object: &Bound<'_, PyAny>) -> PyResult<Option<Number>> {
    if let Ok(value) = object.cast::<PyFloat>() {
        return Ok(Some(Number::Float(value.value())));
    }
    if let Ok(value) = object.cast::<PyBool>() {
        return Ok(Some(Number::Bool(value.is_true())));
    }
    if object.is_instance_of::<PyInt>() {
        return integer_of(object).map(Some);
    }
    if let Ok(parameter) = object.cast::<PyParameter>() {
        return Ok(Some(parameter.get().look()));
    }
    Ok(None)
}

/// A number with a dtype, such as a NumPy scalar, if the object is one.
pub fn typed_number(object: &Bound<'_, PyAny>) -> PyResult<Option<(Number, DType)>> {
    let plain = object.is_exact_instance_of::<PyFloat>()
        || object.is_exact_instance_of::<PyInt>()
        || object.is_exact_instance_of::<PyBool>();
    if plain || object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        return Ok(None);
    }
    let Some(dtype) = object.getattr_opt("dtype")? else { return Ok(None) };
    // Arrays have a length, or at least a writable interface to their memory; scalars have neither.
    let scalar = object.hasattr("item")? && !object.hasattr("__setitem__")?;
    let Some(dtype) = scalar.then(|| find_dtype(&dtype)).transpose()?.flatten() else { return Ok(None) };
    Ok(number_of(&object.call_method0("item")?)?.map(|number| (number, dtype)))
}

fn integer_of(object: &Bound<'_, PyAny>) -> PyResult<Number> {
    if let Ok(value) = object.extract::<i64>() {
        return Ok(Number::Int(value));
    }
    match object.extract::<u64>() {
        Ok(value) => Ok(Number::Uint(value)),
        Err(_) => Err(raise("ArgumentError", format!("{object} does not fit 64 bits"))),
    }
}

/// An integer argument. Overflow is a wootz error, like any other invalid argument.
pub struct Int<T>(pub T);

impl<'a, 'py, T: FromPyObject<'a, 'py>> FromPyObject<'a, 'py> for Int<T> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Int<T>> {
        if let Ok(value) = T::extract(object) {
            return Ok(Int(value));
        }
        let small = size_of::<T>() * 8;
        let message = format!("{} is not a valid {small}-bit integer", &*object);
        Err(raise("ArgumentError", message))
    }
}

/// The dtype of a bare number.
pub fn default_dtype(number: Number) -> DType {
    match number {
        Number::Bool(_) => DType::Bool,
        Number::Int(_) => DType::I64,
        Number::Uint(_) => DType::U64,
        Number::Float(_) => DType::F32,
    }
}

/// Converts any object to a tensor on a device.
pub fn tensor_of(
    object: &Bound<'_, PyAny>,
    dtype: Option<DType>,
    device: &Device,
    copying: Copying,
) -> PyResult<Tensor> {
    tensor_within(object, (dtype, device, copying), 0)
}

/// Options of a conversion: dtype, device, copying.
type Wanted<'a> = (Option<DType>, &'a Device, Copying);

/// [`tensor_of`] for an object nested inside another, or given in its place.
fn tensor_within(object: &Bound<'_, PyAny>, wanted: Wanted<'_>, depth: usize) -> PyResult<Tensor> {
    let (dtype, device, copying) = wanted;
    if depth > MAX_DEPTH {
        return Err(too_deep());
    }
    if let Ok(array) = object.cast::<PyArray>() {
        let tensor = array.get().tensor();
        let moved = if tensor.device() == device { tensor } else { tensor.computed_on(device).or_raise()? };
        return cast(moved, dtype, copying);
    }
    if let Some((number, own)) = typed_number(object)? {
        refuse_copy(copying, "a scalar")?;
        return scalar(number, Some(dtype.unwrap_or(own)), device);
    }
    if let Some(number) = number_of(object)? {
        refuse_copy(copying, "a Python number")?;
        return scalar(number, dtype, device);
    }
    if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        refuse_copy(copying, "a sequence")?;
        return from_sequence(object, dtype, device, depth);
    }
    if let Some((tensor, copied)) = from_buffer(object, device, copying)? {
        if copied && copying == Copying::Never {
            return Err(raise("ArgumentError", "cannot share this memory with the device without a copy"));
        }
        return cast(tensor, dtype, copying);
    }
    if object.hasattr("__dlpack__")? {
        let tensor = crate::dlpack::import(object, device, copying)?;
        return cast(tensor, dtype, copying);
    }
    if let Some(method) = object.getattr_opt("__array__")? {
        return tensor_within(&method.call0()?, wanted, depth + 1);
    }
    // Ranges and the like; text and bytes are sequences too, but not of numbers.
    let text = object.is_instance_of::<PyString>() || object.is_instance_of::<PyBytes>();
    if !text && let Ok(sequence) = object.cast::<PySequence>() {
        refuse_copy(copying, "a sequence")?;
        return from_sequence(sequence.to_list()?.as_any(), dtype, device, depth + 1);
    }
    Err(raise("ConversionError", format!("cannot create an array from a {}", object.get_type().name()?)))
}

fn refuse_copy(copying: Copying, what: &str) -> PyResult<()> {
    match copying {
        Copying::Never => {
            Err(raise("ArgumentError", format!("{what} has no memory to share; copy=False is impossible")))
        }
        Copying::IfNeeded | Copying::Always => Ok(()),
    }
}

fn cast(tensor: Tensor, dtype: Option<DType>, copying: Copying) -> PyResult<Tensor> {
    match dtype {
        Some(dtype) if dtype != tensor.dtype() => {
            if copying == Copying::Never {
                let (from, to) = (python_name(tensor.dtype()), python_name(dtype));
                return Err(raise("ArgumentError", format!("cannot convert {from} to {to} without a copy")));
            }
            tensor.cast(dtype).or_raise()
        }
        _ => Ok(tensor),
    }
}

/// A single number as a tensor; an integer must fit the requested dtype.
pub fn scalar(number: Number, dtype: Option<DType>, device: &Device) -> PyResult<Tensor> {
    let dtype = dtype.unwrap_or(default_dtype(number));
    check_fits(number, dtype)?;
    Ok(Tensor::scalar_on(number, dtype, device))
}

/// Integers must fit an integer dtype.
pub fn check_fits(number: Number, dtype: DType) -> PyResult<()> {
    let value = match number {
        Number::Int(i) => i as i128,
        Number::Uint(u) => u as i128,
        Number::Bool(_) | Number::Float(_) => return Ok(()),
    };
    match dtype.integer_range() {
        Some((low, high)) if !(low..=high).contains(&value) => {
            let name = python_name(dtype);
            Err(raise("ArgumentError", format!("{value} does not fit {name} ({low} to {high})")))
        }
        _ => Ok(()),
    }
}

/// The contents of a nested sequence.
#[derive(Default)]
struct Collected {
    shape: Vec<usize>,
    numbers: Vec<Number>,
    /// The common dtype of scalars that have a dtype.
    typed: Option<DType>,
    /// Set when something other than a number was found; arrays are then joined instead.
    has_arrays: bool,
}

fn from_sequence(
    object: &Bound<'_, PyAny>,
    dtype: Option<DType>,
    device: &Device,
    depth: usize,
) -> PyResult<Tensor> {
    let mut found = Collected::default();
    collect(object, 0, &mut found)?;
    if found.has_arrays {
        return join(object, (dtype, device, Copying::IfNeeded), depth);
    }
    let dtype = dtype.unwrap_or_else(|| match found.typed {
        Some(dtype) => dtype,
        None => common_dtype(&found.numbers),
    });
    from_numbers(&found.numbers, dtype, &found.shape, device)
}

/// Depth beyond which an object is assumed to contain itself, or to return itself as its own array.
const MAX_DEPTH: usize = 64;

fn too_deep() -> PyErr {
    raise(
        "ArgumentError",
        format!("objects are nested deeper than {MAX_DEPTH} levels, or contain themselves"),
    )
}

impl Collected {
    fn push(&mut self, number: Number, depth: usize) -> PyResult<()> {
        if depth != self.shape.len() {
            return Err(ragged(depth));
        }
        self.numbers.push(number);
        Ok(())
    }
}

fn collect(object: &Bound<'_, PyAny>, depth: usize, found: &mut Collected) -> PyResult<()> {
    if found.has_arrays {
        return Ok(());
    }
    if let Some((number, dtype)) = typed_number(object)? {
        found.typed = Some(match found.typed {
            None if found.numbers.is_empty() => dtype,
            None => common_dtype(&found.numbers).promote(dtype).unwrap_or(DType::F64),
            Some(known) => known.promote(dtype).unwrap_or(DType::F64),
        });
        return found.push(number, depth);
    }
    if let Some(number) = number_of(object)? {
        if let Some(known) = found.typed {
            found.typed = Some(known.promote(default_dtype(number)).unwrap_or(DType::F64));
        }
        return found.push(number, depth);
    }
    let items = if let Ok(list) = object.cast::<PyList>() {
        list.to_tuple()
    } else if let Ok(tuple) = object.cast::<PyTuple>() {
        tuple.clone()
    } else {
        found.has_arrays = true;
        return Ok(());
    };
    if depth > MAX_DEPTH {
        return Err(too_deep());
    }
    match found.shape.get(depth) {
        Some(&extent) if extent != items.len() => return Err(ragged(depth)),
        Some(_) => {}
        None if !found.numbers.is_empty() => return Err(ragged(depth)),
        None => found.shape.push(items.len()),
    }
    for item in items.iter_borrowed() {
        collect(&item, depth + 1, found)?;
    }
    Ok(())
}

fn ragged(depth: usize) -> PyErr {
    raise(
        "ArgumentError",
        format!("cannot create an array: sequences at depth {depth} have different lengths"),
    )
}

fn common_dtype(numbers: &[Number]) -> DType {
    let mut common: Option<DType> = None;
    for number in numbers {
        let own = default_dtype(*number);
        common = Some(match common {
            None => own,
            // A mixture of large and negative integers fits no integer dtype.
            Some(dtype) => dtype.promote(own).unwrap_or(DType::F32),
        });
    }
    common.unwrap_or(DType::F32)
}

fn from_numbers(numbers: &[Number], dtype: DType, shape: &[usize], device: &Device) -> PyResult<Tensor> {
    let mut bytes: Vec<u8> = Vec::with_capacity(numbers.len() * dtype.size());
    for &number in numbers {
        check_fits(number, dtype)?;
        bytes.extend_from_slice(&number.to_bytes(dtype));
    }
    Tensor::from_bytes_on(&bytes, dtype, shape, device).or_raise()
}

/// A sequence that contains arrays: each item becomes a tensor, and they are stacked.
fn join(object: &Bound<'_, PyAny>, wanted: Wanted<'_>, depth: usize) -> PyResult<Tensor> {
    let mut parts = Vec::new();
    for item in object.try_iter()? {
        let item = item?;
        if item.is_instance_of::<PyString>() {
            return Err(raise("ConversionError", "cannot create an array from text"));
        }
        parts.push(tensor_within(&item, wanted, depth + 1)?);
    }
    Tensor::stack(&parts.iter().collect::<Vec<_>>(), 0).or_raise()
}

/// Keeps a Python buffer alive, and knows its bytes.
struct Exported {
    _buffer: PyUntypedBuffer,
    start: *const u8,
    len: usize,
}

// SAFETY: the memory belongs to the buffer, which lives as long as this; it is only read.
unsafe impl Send for Exported {}
// SAFETY: a shared handle gives out a shared slice of memory that nobody here writes.
unsafe impl Sync for Exported {}

impl AsRef<[u8]> for Exported {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: the exporter promises this memory while the buffer is held. Not writing to it while a computation
        // reads it is documented as the caller's responsibility, as in every library that shares memory with NumPy.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

/// The dtype of a buffer's elements by its format and item size.
fn buffer_dtype(buffer: &PyUntypedBuffer) -> Option<DType> {
    let format = buffer.format().to_bytes();
    let (order, code) = match format {
        [order @ (b'@' | b'=' | b'<' | b'>' | b'!'), code] => (*order, *code),
        [code] => (b'@', *code),
        _ => return None,
    };
    let foreign = if cfg!(target_endian = "little") { matches!(order, b'>' | b'!') } else { order == b'<' };
    if foreign && buffer.item_size() > 1 {
        return None;
    }
    let size = buffer.item_size();
    DType::ALL.into_iter().find(|dtype| {
        let kind = match code {
            b'?' => wootz_ir::Kind::Bool,
            b'b' | b'h' | b'i' | b'l' | b'q' | b'n' => wootz_ir::Kind::Signed,
            b'B' | b'H' | b'I' | b'L' | b'Q' | b'N' => wootz_ir::Kind::Unsigned,
            b'e' | b'f' | b'd' => wootz_ir::Kind::Float,
            _ => return false,
        };
        dtype.kind() == kind && dtype.size() == size && *dtype != DType::BF16
    })
}

/// A tensor over an object's buffer, and whether it had to be copied; `None` for objects without a buffer.
fn from_buffer(
    object: &Bound<'_, PyAny>,
    device: &Device,
    copying: Copying,
) -> PyResult<Option<(Tensor, bool)>> {
    let mut source = object.clone();
    let mut forced = None;
    // NumPy arrays of ml_dtypes.bfloat16 have no buffer of their own, but their bits do.
    if let Some(dtype) = object.getattr_opt("dtype")?
        && dtype.str()?.to_cow()? == "bfloat16"
        && object.hasattr("__array_interface__")?
    {
        source = object.call_method1("view", ("uint16",))?;
        forced = Some(DType::BF16);
    }
    let Ok(buffer) = PyUntypedBuffer::get(&source) else { return Ok(None) };
    let Some(dtype) = forced.or_else(|| buffer_dtype(&buffer)) else {
        let format = buffer.format().to_string_lossy().into_owned();
        return Err(raise("DTypeError", format!("unsupported buffer format {format:?}")));
    };
    let size = buffer.item_size();
    let shape: Shape = buffer.shape().into();
    let strides = buffer.strides();
    if shape.count() == 0 {
        return Ok(Some((Tensor::from_bytes_on(&[], dtype, shape, device).or_raise()?, false)));
    }
    let (low, high) = byte_range(&shape, strides, size)?;
    let whole = strides.iter().all(|stride| stride % size as isize == 0);
    if !whole || buffer.suboffsets().is_some() {
        let odd = || raise("ConversionError", "the buffer's strides are not multiples of its item size");
        let copy = source.call_method0("copy").map_err(|_| odd())?;
        let regular = PyUntypedBuffer::get(&copy).is_ok_and(|b| b.is_c_contiguous());
        if !regular {
            return Err(odd());
        }
        return Ok(from_buffer(&copy, device, copying)?.map(|(tensor, _)| (tensor, true)));
    }
    let start = (buffer.buf_ptr() as *const u8).wrapping_offset(low);
    let layout = Layout {
        shape: shape.clone(),
        strides: strides.iter().map(|stride| stride / size as isize).collect(),
        offset: (-low) as usize / size,
    };
    let aligned = (start as usize).is_multiple_of(size);
    let exported = Exported { _buffer: buffer, start, len: (high - low) as usize };
    if copying == Copying::Always {
        let bytes = exported.as_ref();
        let flat = Tensor::from_bytes_on(bytes, dtype, [bytes.len() / size], device).or_raise()?;
        return Ok(Some((restride(&flat, &layout, dtype, device)?, true)));
    }
    let shared = aligned && device.info().kind == wootz::DeviceKind::Cpu;
    let tensor = Tensor::from_host_on(HostMemory::new(exported), dtype, layout, device).or_raise()?;
    Ok(Some((tensor, !shared)))
}

/// The lowest and the highest byte offset that any element touches, relative to the first element.
pub fn byte_range(shape: &[usize], strides: &[isize], size: usize) -> PyResult<(isize, isize)> {
    let wrong = || raise("ArgumentError", format!("strides {strides:?} of shape {shape:?} are out of range"));
    let (mut low, mut high) = (0isize, size as isize);
    for (&extent, &stride) in shape.iter().zip(strides) {
        let steps = isize::try_from(extent).map_err(|_| wrong())? - 1;
        let span = steps.checked_mul(stride).ok_or_else(wrong)?;
        let end = if span < 0 { &mut low } else { &mut high };
        *end = end.checked_add(span).ok_or_else(wrong)?;
    }
    high.checked_sub(low).ok_or_else(wrong)?;
    Ok((low, high))
}

/// Copied memory viewed through its original layout.
pub fn restride(flat: &Tensor, layout: &Layout, dtype: DType, device: &Device) -> PyResult<Tensor> {
    if layout.is_contiguous() && layout.offset == 0 {
        return flat.reshape(&layout.shape).or_raise();
    }
    let stored = flat.stored().or_raise()?;
    match stored.buffer.host_bytes() {
        Some(_) => {
            let memory = HostMemory::new(Held(stored.buffer));
            Tensor::from_host_on(memory, dtype, layout.clone(), device).or_raise()
        }
        None => {
            let bytes = flat.to_bytes().or_raise()?;
            let host = Tensor::from_host_on(HostMemory::new(bytes), dtype, layout.clone(), &Device::cpu());
            host.and_then(|t| t.to_device(device)).or_raise()
        }
    }
}

/// Host memory from a buffer, as backing for a tensor.
struct Held(wootz::Buffer);

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        self.0.host_bytes().unwrap_or(&[])
    }
}
