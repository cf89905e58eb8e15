//! Leaves: values and their memory layout.

use std::fmt;
use wootz_ir::layout::Strides;
use wootz_ir::reference::HostTensor;
use wootz_ir::{DType, Kind, Layout, Number, Shape};

/// A class of memory layouts of a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LayoutClass {
    /// Row-major from the start of the buffer.
    Contiguous,
    /// Axes in reverse order.
    Transposed,
    /// Every second (last axis) or third element, with gaps between rows.
    Sliced,
    /// Negative steps.
    Reversed,
    /// An axis with stride 0.
    Broadcast,
    /// Row-major from an odd position of the buffer.
    Offset,
    /// No elements.
    Empty,
    /// Zero-dimensional.
    ZeroDim,
}

impl LayoutClass {
    /// All classes.
    pub const ALL: [LayoutClass; 8] = [
        LayoutClass::Contiguous,
        LayoutClass::Transposed,
        LayoutClass::Sliced,
        LayoutClass::Reversed,
        LayoutClass::Broadcast,
        LayoutClass::Offset,
        LayoutClass::Empty,
        LayoutClass::ZeroDim,
    ];

    /// The classes that differ only in the positions of elements, for any shape.
    pub const STRIDED: [LayoutClass; 5] = [
        LayoutClass::Contiguous,
        LayoutClass::Transposed,
        LayoutClass::Sliced,
        LayoutClass::Reversed,
        LayoutClass::Offset,
    ];

    /// The class in one word.
    pub fn name(self) -> &'static str {
        match self {
            LayoutClass::Contiguous => "contiguous",
            LayoutClass::Transposed => "transposed",
            LayoutClass::Sliced => "sliced",
            LayoutClass::Reversed => "reversed",
            LayoutClass::Broadcast => "broadcast",
            LayoutClass::Offset => "offset",
            LayoutClass::Empty => "empty",
            LayoutClass::ZeroDim => "zero-dim",
        }
    }

    /// A layout of this class for a shape. For [`LayoutClass::Broadcast`] the caller specifies the repeated axis.
    pub fn layout(self, shape: &Shape, broadcast_axis: usize) -> Layout {
        match self {
            LayoutClass::Contiguous | LayoutClass::Empty | LayoutClass::ZeroDim => Layout::contiguous(shape),
            LayoutClass::Offset => Layout { offset: 5, ..Layout::contiguous(shape) },
            LayoutClass::Transposed => {
                let mut strides = Strides::from_elem(1, shape.rank());
                for axis in 1..shape.rank() {
                    strides[axis] = strides[axis - 1] * shape[axis - 1].max(1) as isize;
                }
                Layout { shape: shape.clone(), strides, offset: 0 }
            }
            LayoutClass::Sliced => spread(shape, 2, 3),
            LayoutClass::Reversed => reversed(shape),
            LayoutClass::Broadcast => {
                let mut layout = Layout::contiguous(&shape.with(broadcast_axis, 1));
                layout.strides[broadcast_axis] = 0;
                layout.shape = shape.clone();
                layout
            }
        }
    }
}

impl fmt::Display for LayoutClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Steps of `inner` along the last axis, and `gap` unused elements after each row.
fn spread(shape: &Shape, inner: isize, gap: isize) -> Layout {
    let mut strides = Strides::from_elem(inner, shape.rank());
    for axis in (0..shape.rank().saturating_sub(1)).rev() {
        strides[axis] = strides[axis + 1] * shape[axis + 1].max(1) as isize + gap;
    }
    Layout { shape: shape.clone(), strides, offset: 1 }
}

/// Every axis walked backwards, the last one in steps of 3.
fn reversed(shape: &Shape) -> Layout {
    let forward = spread(shape, 3, 2);
    let span: isize =
        shape.iter().zip(&forward.strides).map(|(&extent, &s)| (extent as isize - 1).max(0) * s).sum();
    Layout {
        shape: shape.clone(),
        strides: forward.strides.iter().map(|s| -s).collect(),
        offset: 1 + span as usize,
    }
}

/// An input tensor of a case.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// Its elements in logical order.
    pub tensor: HostTensor,
    /// Its layout in the physical buffer.
    pub layout: Layout,
    /// Whether the graph may overwrite the buffer.
    pub donated: bool,
}

/// Elements before the end of a physical buffer that no layout reaches.
const PADDING: usize = 3;

impl Leaf {
    /// A leaf in row-major order.
    pub fn contiguous(tensor: HostTensor) -> Leaf {
        Leaf { layout: Layout::contiguous(&tensor.shape), tensor, donated: false }
    }

    /// A leaf laid out by class. [`LayoutClass::Broadcast`] repeats the first slice along `broadcast_axis`.
    pub fn new(mut tensor: HostTensor, class: LayoutClass, broadcast_axis: usize) -> Leaf {
        let layout = class.layout(&tensor.shape, broadcast_axis);
        if class == LayoutClass::Broadcast {
            let source = tensor.clone();
            for (i, value) in tensor.data.iter_mut().enumerate() {
                let mut coords = source.shape.unravel(i);
                coords[broadcast_axis] = 0;
                *value = source.at(&coords);
            }
        }
        Leaf { tensor, layout, donated: false }
    }

    /// The same leaf, donated: an op may write into its buffer.
    pub fn donated(self) -> Leaf {
        Leaf { donated: true, ..self }
    }

    /// The dtype.
    pub fn dtype(&self) -> DType {
        self.tensor.dtype
    }

    /// The physical buffer, element by element: values where the layout puts them, poison elsewhere.
    pub fn physical(&self) -> Vec<Number> {
        let reach = self.layout.reach().map_or(0, |(_, high)| high + 1);
        let padding = if self.layout.is_contiguous() && self.layout.offset == 0 { 0 } else { PADDING };
        let mut buffer = vec![poison(self.dtype()); reach + padding];
        for (position, &value) in self.layout.positions().zip(&self.tensor.data) {
            buffer[position] = value;
        }
        buffer
    }

    /// The physical buffer as little-endian bytes, ready for upload.
    pub fn bytes(&self) -> Vec<u8> {
        encode(self.dtype(), &self.physical())
    }
}

/// A value that spoils any result that it contributes to.
fn poison(dtype: DType) -> Number {
    match dtype.kind() {
        Kind::Float => Number::Float(f64::NAN),
        Kind::Bool => Number::Bool(true),
        Kind::Signed | Kind::Unsigned => Number::Int(0x5a5a_5a5a_5a5a_5a5b).cast(dtype),
    }
}

/// Numbers of a dtype as little-endian bytes.
pub fn encode(dtype: DType, numbers: &[Number]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(numbers.len() * dtype.size());
    for n in numbers {
        match dtype {
            DType::F16 => bytes.extend(half::f16::from_f64(n.to_f64()).to_le_bytes()),
            DType::BF16 => bytes.extend(half::bf16::from_f64(n.to_f64()).to_le_bytes()),
            DType::F32 => bytes.extend((n.to_f64() as f32).to_le_bytes()),
            DType::F64 => bytes.extend(n.to_f64().to_le_bytes()),
            _ => bytes.extend(&n.to_i64().to_le_bytes()[..dtype.size()]),
        }
    }
    bytes
}

/// A row-major tensor from little-endian bytes. Bytes other than 0 read as true.
pub fn decode(shape: &Shape, dtype: DType, bytes: &[u8]) -> HostTensor {
    let number = |b: &[u8]| {
        let mut wide = [0u8; 8];
        wide[..b.len()].copy_from_slice(b);
        let bits = u64::from_le_bytes(wide);
        match dtype {
            DType::Bool => Number::Bool(bits != 0),
            DType::U8 | DType::U16 | DType::U32 | DType::U64 => Number::Uint(bits),
            DType::I8 => Number::Int(bits as i8 as i64),
            DType::I16 => Number::Int(bits as i16 as i64),
            DType::I32 => Number::Int(bits as i32 as i64),
            DType::I64 => Number::Int(bits as i64),
            DType::F16 => half::f16::from_bits(bits as u16).into(),
            DType::BF16 => half::bf16::from_bits(bits as u16).into(),
            DType::F32 => f32::from_bits(bits as u32).into(),
            DType::F64 => f64::from_bits(bits).into(),
        }
    };
    HostTensor { shape: shape.clone(), dtype, data: bytes.chunks_exact(dtype.size()).map(number).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_finds_its_elements_in_the_physical_buffer() {
        let shape = Shape::from([2, 3, 4]);
        let tensor = HostTensor::new(shape.clone(), DType::I32, (0..24).map(Number::Int));
        for class in
            LayoutClass::ALL.into_iter().filter(|c| !matches!(c, LayoutClass::Empty | LayoutClass::ZeroDim))
        {
            for axis in 0..3 {
                let leaf = Leaf::new(tensor.clone(), class, axis);
                let physical = leaf.physical();
                let found: Vec<Number> = leaf.layout.positions().map(|p| physical[p]).collect();
                assert_eq!(found, leaf.tensor.data, "{class}");
                assert_eq!(
                    leaf.layout.is_contiguous(),
                    matches!(class, LayoutClass::Contiguous | LayoutClass::Offset)
                );
            }
        }
    }

    #[test]
    fn bytes_round_trip() {
        for dtype in DType::ALL {
            let tensor = HostTensor::new([3], dtype, [0, 1, 101].map(Number::Int));
            let leaf = Leaf::contiguous(tensor.clone());
            assert_eq!(decode(&tensor.shape, dtype, &leaf.bytes()), tensor);
        }
    }

    #[test]
    fn poison_surrounds_the_elements() {
        let leaf = Leaf::new(
            HostTensor::new([2], DType::F32, [1.0, 2.0].map(Number::Float)),
            LayoutClass::Sliced,
            0,
        );
        let poisoned = leaf.physical().iter().filter(|n| n.to_f64().is_nan()).count();
        assert_eq!(poisoned, leaf.physical().len() - 2);
        assert!(poisoned >= 4);
    }
}
