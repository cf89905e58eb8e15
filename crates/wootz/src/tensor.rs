//! The tensor type.

use crate::device::Device;
use crate::element::Element;
use crate::eval;
use crate::value::{Value, value_of};
use std::sync::Arc;
use wootz_backend::inject::{Point, fails};
use wootz_backend::{Buffer, HostMemory};
use wootz_ir::graph::{Leaf, Node, NodeRef};
use wootz_ir::{DType, Error, Layout, Number, Result, Shape, build};

/// An n-dimensional array, lazy and cheap to clone.
#[derive(Clone)]
pub struct Tensor {
    pub(crate) node: NodeRef,
    pub(crate) device: Device,
}

/// The location of a tensor's value.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The device that holds it.
    pub device: Device,
    /// Its memory there, which lives as long as this handle.
    pub buffer: Buffer,
    /// The layout of the elements in it.
    pub layout: Layout,
}

/// An axis, counted from the front or, if negative, from the end.
pub type Axis = isize;

impl Tensor {
    pub(crate) fn new(node: NodeRef, device: &Device) -> Tensor {
        Tensor { node, device: device.clone() }
    }

    /// The result of an op on this tensor's device.
    pub(crate) fn wrap(&self, node: Result<NodeRef>) -> Result<Tensor> {
        Ok(Tensor::new(node?, &self.device))
    }

    /// The shape.
    pub fn shape(&self) -> &Shape {
        self.node.shape()
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.node.dtype()
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.shape().rank()
    }

    /// The number of elements.
    pub fn count(&self) -> usize {
        self.shape().count()
    }

    /// The device that computes the tensor.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Whether the value is available or being computed.
    pub fn is_evaluated(&self) -> bool {
        self.node.has_value()
    }

    /// Whether the value is available, so that reading it does not wait.
    pub fn is_ready(&self) -> bool {
        let ready = |leaf: &Leaf| value_of(leaf).is_ok_and(|value| value.pending().is_none());
        self.node.with_value(ready).unwrap_or(false)
    }

    /// A vector from a slice, on the default device.
    pub fn from_slice<T: Element>(data: &[T]) -> Result<Tensor> {
        Tensor::from_slice_on(data, &Device::current()?)
    }

    /// A vector from a slice.
    pub fn from_slice_on<T: Element>(data: &[T], device: &Device) -> Result<Tensor> {
        let bytes: &[u8] = bytemuck::cast_slice(data);
        Tensor::from_bytes_on(bytes, T::DTYPE, [data.len()], device)
    }

    /// A tensor from its elements in row-major order.
    pub fn from_vec<T: Element>(data: Vec<T>, shape: impl Into<Shape>) -> Result<Tensor> {
        Tensor::from_vec_on(data, shape, &Device::current()?)
    }

    /// A tensor from its elements in row-major order, on a device.
    pub fn from_vec_on<T: Element>(data: Vec<T>, shape: impl Into<Shape>, device: &Device) -> Result<Tensor> {
        let shape = shape.into();
        shape.check("from_vec")?;
        if data.len() != shape.count() {
            let detail =
                format!("got {} elements for shape {shape}, which has {}", data.len(), shape.count());
            return Err(Error::argument("from_vec", detail));
        }
        Tensor::from_slice_on(&data, device)?.reshape(shape)
    }

    /// A tensor from a copy of the bytes of its elements in row-major order.
    pub fn from_bytes(bytes: &[u8], dtype: DType, shape: impl Into<Shape>) -> Result<Tensor> {
        Tensor::from_bytes_on(bytes, dtype, shape, &Device::current()?)
    }

    /// A tensor from the bytes of its elements in row-major order, copied to a device.
    pub fn from_bytes_on(
        bytes: &[u8],
        dtype: DType,
        shape: impl Into<Shape>,
        device: &Device,
    ) -> Result<Tensor> {
        let shape = shape.into();
        check_bytes("from_bytes", bytes.len(), dtype, &shape)?;
        check_bools("from_bytes", bytes, dtype)?;
        let value = Value::upload(&device.home(), bytes)?;
        Ok(Tensor::from_value(value, Layout::contiguous(&shape), dtype, device))
    }

    /// A tensor over memory that someone else owns and never changes, without a copy if the device supports it. The
    /// elements are stored as `layout` says, which must stay inside the memory.
    pub fn from_host(memory: HostMemory, dtype: DType, layout: Layout) -> Result<Tensor> {
        Tensor::from_host_on(memory, dtype, layout, &Device::current()?)
    }

    /// Like [`Tensor::from_host`], on a device.
    pub fn from_host_on(memory: HostMemory, dtype: DType, layout: Layout, device: &Device) -> Result<Tensor> {
        let bytes = memory.bytes();
        layout.check_within("from_host", bytes.len() / dtype.size())?;
        let misaligned = !(bytes.as_ptr() as usize).is_multiple_of(dtype.size());
        check_bools("from_host", bytes, dtype)?;
        let home = device.home();
        let value = if misaligned {
            Value::upload(&home, bytes)?
        } else {
            let buffer = home.backend().import(memory)?;
            Value::new(home, buffer)
        };
        Ok(Tensor::from_value(value, layout, dtype, device))
    }

    pub(crate) fn from_value(value: Value, layout: Layout, dtype: DType, device: &Device) -> Tensor {
        let leaf = Leaf { layout, donated: false, payload: Arc::new(value) };
        Tensor::new(Node::leaf(leaf, dtype), device)
    }

    /// A zero-dimensional constant of a dtype.
    pub fn scalar(value: impl Into<Number>, dtype: DType) -> Result<Tensor> {
        Ok(Tensor::scalar_on(value, dtype, &Device::current()?))
    }

    /// A zero-dimensional constant of a dtype, on a device.
    pub fn scalar_on(value: impl Into<Number>, dtype: DType, device: &Device) -> Tensor {
        Tensor::new(Node::constant(value.into(), dtype), device)
    }

    /// This tensor, with the promise that nothing else needs its current value: `write_at` may then update its buffer
    /// in place. The tensor is evaluated now unless it already is or is being computed; imported memory (see
    /// [`Tensor::from_host`]), and memory that the host is reading in place, is copied.
    pub fn donate(&self) -> Result<Tensor> {
        let (value, layout) = self.value()?;
        let (value, layout) = match value.bind().is_writable() {
            true => (value, layout),
            false => self.copied()?.value()?,
        };
        let leaf = Leaf { layout, donated: true, payload: Arc::new(value) };
        Ok(Tensor::new(Node::leaf(leaf, self.dtype()), &self.device))
    }

    /// Evaluates the tensor now.
    pub fn eval(&self) -> Result<&Tensor> {
        eval::eval_one(self)?;
        Ok(self)
    }

    /// Starts to evaluate the tensor and returns without waiting, if the device is asynchronous; see
    /// [`eval_async`](crate::eval_async).
    pub fn eval_async(&self) -> Result<&Tensor> {
        eval::eval_async([self])?;
        Ok(self)
    }

    /// The value, available or being computed, and its layout in the buffer.
    pub(crate) fn value(&self) -> Result<(Value, Layout)> {
        self.eval_async()?;
        let leaf = self.node.value().expect("evaluation gives a value or an error");
        Ok((value_of(&leaf)?.clone(), leaf.layout))
    }

    /// The tensor's buffer, computed if necessary, and the layout of its elements: for reading it in place.
    pub fn stored(&self) -> Result<Stored> {
        let (value, layout) = self.value()?;
        let buffer = value.buffer()?.clone();
        Ok(Stored { device: value.device, buffer, layout })
    }

    /// The elements in row-major order; `T` must match the dtype.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        if T::DTYPE != self.dtype() {
            let expected = format!("{} (cast first)", T::DTYPE);
            return Err(Error::dtype("to_vec", &[self.dtype()], expected));
        }
        let bytes = self.to_bytes()?;
        let mut values = room_for("to_vec", self.count())?;
        for chunk in bytes.chunks_exact(size_of::<T>()) {
            let value = bytemuck::checked::try_pod_read_unaligned(chunk)
                .map_err(|_| Error::argument("to_vec", "a bool tensor contains a byte other than 0 or 1"))?;
            values.push(value);
        }
        Ok(values)
    }

    /// The bytes of the elements in row-major order.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let contiguous = self.contiguous()?;
        let (value, layout) = contiguous.value()?;
        let length = self.count() * self.dtype().size();
        let mut bytes = room_for("to_bytes", length)?;
        bytes.resize(length, 0);
        let offset = layout.offset * self.dtype().size();
        value.read(offset, &mut bytes)?;
        Ok(bytes)
    }

    /// The only element, as a number.
    pub fn item(&self) -> Result<Number> {
        if self.count() != 1 {
            return Err(Error::shape("item", &[self.shape()], "exactly one element"));
        }
        if let Some(number) = self.node.with_value(|leaf| self.element(leaf)).transpose()?.flatten() {
            return Ok(number);
        }
        Ok(self.to_numbers()?[0])
    }

    /// The first element of an available value; `None` if it is still being computed.
    fn element(&self, leaf: &Leaf) -> Result<Option<Number>> {
        let value = value_of(leaf)?;
        if value.pending().is_some() {
            return Ok(None);
        }
        let size = self.dtype().size();
        let mut bytes = [0; 8];
        value.read(leaf.layout.offset * size, &mut bytes[..size])?;
        Ok(Some(Number::from_bytes(&bytes[..size], self.dtype())))
    }

    /// The elements as numbers, for any dtype.
    pub fn to_numbers(&self) -> Result<Vec<Number>> {
        let bytes = self.to_bytes()?;
        let mut numbers = room_for("to_numbers", self.count())?;
        macro_rules! numbers {
            ($t:ty) => {
                numbers.extend(
                    bytes
                        .chunks_exact(size_of::<$t>())
                        .map(|c| Number::from(bytemuck::pod_read_unaligned::<$t>(c))),
                )
            };
        }
        match self.dtype() {
            DType::Bool => numbers.extend(bytes.iter().map(|&b| Number::Bool(b != 0))),
            DType::U8 => numbers!(u8),
            DType::U16 => numbers!(u16),
            DType::U32 => numbers!(u32),
            DType::U64 => numbers!(u64),
            DType::I8 => numbers!(i8),
            DType::I16 => numbers!(i16),
            DType::I32 => numbers!(i32),
            DType::I64 => numbers!(i64),
            DType::F16 => numbers!(half::f16),
            DType::BF16 => numbers!(half::bf16),
            DType::F32 => numbers!(f32),
            DType::F64 => numbers!(f64),
        }
        Ok(numbers)
    }

    /// The tensor, evaluated and in row-major order.
    pub fn contiguous(&self) -> Result<Tensor> {
        let (_, layout) = self.value()?;
        if layout.is_contiguous() {
            return Ok(self.clone());
        }
        // A reshape to one axis and back moves the elements into order.
        let flat = self.wrap(build::reshape(&self.node, &Shape::from([self.count()])))?;
        let copied = flat.copied()?;
        self.wrap(build::reshape(&copied.node, self.shape()))
    }

    /// A copy of the value in its own buffer.
    pub fn copied(&self) -> Result<Tensor> {
        let spans: Vec<_> = self.shape().iter().map(|&d| wootz_ir::Span::all(d)).collect();
        let copy = self.wrap(build::update_slice(&self.node, &spans, &self.node))?;
        copy.eval()?;
        Ok(copy)
    }

    /// The tensor on another device. If it is already there, it is returned as is; otherwise it is evaluated and
    /// copied.
    pub fn to_device(&self, device: &Device) -> Result<Tensor> {
        if *device == self.device {
            return Ok(self.clone());
        }
        let (value, layout) = self.value()?;
        let home = device.home_of(&value.device);
        let moved = value.to_device(&home)?;
        Ok(Tensor::from_value(moved, layout, self.dtype(), device))
    }

    /// The tensor computed on another device: what is not evaluated yet will be evaluated there, and values move when
    /// they are needed. Unlike [`Tensor::to_device`], this runs nothing for a lazy tensor.
    pub fn computed_on(&self, device: &Device) -> Result<Tensor> {
        if self.is_evaluated() {
            return self.to_device(device);
        }
        Ok(Tensor::new(self.node.clone(), device))
    }

    /// Casts to another dtype: integers wrap, floats to integers truncate and saturate.
    pub fn cast(&self, dtype: DType) -> Result<Tensor> {
        Ok(Tensor::new(build::cast(&self.node, dtype), &self.device))
    }

    /// A readable form of the plan that evaluation would run, and its device.
    pub fn explain(&self) -> Result<String> {
        Ok(eval::explain([self])?.to_string())
    }
}

/// An empty vector with this capacity, or an out-of-memory error.
pub(crate) fn room_for<T>(op: &str, count: usize) -> Result<Vec<T>> {
    let mut values = Vec::new();
    let refused = fails(Point::Memory);
    values.try_reserve_exact(if refused { usize::MAX } else { count }).map_err(|_| {
        let requested = count as u128 * size_of::<T>() as u128;
        Error::OutOfMemory { device: "host".into(), op: op.into(), requested, live: 0, limit: usize::MAX }
    })?;
    Ok(values)
}

fn check_bytes(op: &'static str, bytes: usize, dtype: DType, shape: &Shape) -> Result<()> {
    shape.check(op)?;
    let expected = shape.count() * dtype.size();
    if bytes != expected {
        let detail = format!("got {bytes} bytes for {dtype}{shape}, which needs {expected}");
        return Err(Error::argument(op, detail));
    }
    Ok(())
}

fn check_bools(op: &'static str, bytes: &[u8], dtype: DType) -> Result<()> {
    if dtype == DType::Bool && bytes.iter().any(|&b| b > 1) {
        return Err(Error::argument(op, "a bool must be a byte of 0 or 1"));
    }
    Ok(())
}
