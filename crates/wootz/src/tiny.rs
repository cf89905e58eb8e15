//! Tiny values: a few numbers in the hands of whoever computes with them, without a node and without a buffer.
//!
//! For front ends whose own objects hold the value: of sixteen numbers, making a node and a buffer takes far longer than adding
//! them. Results have the bits of a plan, because the loops are the same.

use crate::device::Device;
use crate::tensor::Tensor;
use wootz_ir::small::MAX_COUNT;
use wootz_ir::{DType, ElementwiseOp, Number, Shape};

/// Bytes of a tiny value.
const ROOM: usize = 64;

/// Up to 64 bytes of numbers with at most one axis, on the CPU.
#[derive(Clone, Copy, Debug)]
pub struct Tiny {
    words: [u64; ROOM / 8],
    count: u8,
    rank: u8,
    dtype: DType,
}

/// Whether an op gives numbers of its operands' dtype and cannot fault.
fn is_plain(op: ElementwiseOp, dtype: DType) -> bool {
    let computed_as_stored = dtype != DType::Bool && dtype.compute().dtype() == dtype;
    computed_as_stored
        && match op {
            ElementwiseOp::Add | ElementwiseOp::Sub | ElementwiseOp::Mul => true,
            ElementwiseOp::Div => dtype.is_float(),
            _ => false,
        }
}

/// Whether a tensor of the CPU has few enough elements to be computed without a graph.
pub fn is_small(tensor: &Tensor) -> bool {
    (1..=MAX_COUNT).contains(&tensor.count()) && tensor.device.is_host()
}

impl Tiny {
    /// Whether `op` of two tensors is computed by [`Tiny::binary`] or [`Tensor::binary_now`], once they have values.
    pub fn takes(op: ElementwiseOp, a: &Tensor, b: &Tensor) -> bool {
        is_plain(op, a.dtype())
            && a.dtype() == b.dtype()
            && a.shape() == b.shape()
            && is_small(a)
            && is_small(b)
    }

    /// Whether a tensor's value would be a tiny one.
    fn fits(tensor: &Tensor) -> bool {
        let bytes = tensor.count() * tensor.dtype().size();
        tensor.rank() <= 1 && (1..=ROOM).contains(&bytes) && tensor.device.is_host()
    }

    /// `op` of two tensors that have values; `None` if one has not, or if it is not an op for tiny values.
    pub fn binary(op: ElementwiseOp, a: &Tensor, b: &Tensor) -> Option<Tiny> {
        if !(Tiny::fits(a) && Tiny::takes(op, a, b)) {
            return None;
        }
        let (mut a, b) = (Tiny::of(a)?, Tiny::of(b)?);
        let operands = (a.words, b.words);
        wootz_cpu::tiny_binary(op, a.dtype, (&operands.0, &operands.1), a.count.into(), &mut a.words)
            .then_some(a)
    }

    /// A single element of a dtype, from its bytes; `None` if they are not as many as it needs.
    pub fn scalar(bytes: &[u8], dtype: DType) -> Option<Tiny> {
        let mut tiny = Tiny { words: [0; ROOM / 8], count: 1, rank: 0, dtype };
        if bytes.len() != dtype.size() {
            return None;
        }
        bytemuck::bytes_of_mut(&mut tiny.words)[..bytes.len()].copy_from_slice(bytes);
        Some(tiny)
    }

    /// The available value of a tensor of the CPU with few elements.
    fn of(tensor: &Tensor) -> Option<Tiny> {
        let (count, rank) = (tensor.count(), tensor.rank());
        Tiny::part(tensor, 0, (count, rank))
    }

    /// The available element at a position of a vector on the CPU, which counts from the end if it is negative.
    pub fn element(tensor: &Tensor, at: i64) -> Option<Tiny> {
        if tensor.rank() != 1 || !tensor.device.is_host() {
            return None;
        }
        let extent = tensor.count() as i64;
        let at = if at < 0 { at + extent } else { at };
        (0..extent).contains(&at).then(|| Tiny::part(tensor, at as usize, (1, 0))).flatten()
    }

    /// Elements from one position of a tensor of the CPU on, with the rank that they are to have.
    fn part(tensor: &Tensor, at: usize, (count, rank): (usize, usize)) -> Option<Tiny> {
        let (dtype, size) = (tensor.dtype(), tensor.dtype().size());
        let mut tiny = Tiny { words: [0; ROOM / 8], count: count as u8, rank: rank as u8, dtype };
        let bytes = bytemuck::bytes_of_mut(&mut tiny.words).get_mut(..count * size)?;
        tensor.copy_part(at, bytes).then_some(tiny)
    }

    /// The value as a tensor.
    pub fn tensor(&self) -> Tensor {
        let shape = if self.rank == 0 { Shape::scalar() } else { Shape::from([usize::from(self.count)]) };
        let tensor = Tensor::from_bytes_on(self.bytes(), self.dtype, shape, &Device::cpu());
        tensor.expect("so few bytes are kept in the buffer's handle, which takes no memory from the pool")
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The bytes of the numbers.
    pub fn bytes(&self) -> &[u8] {
        &bytemuck::bytes_of(&self.words)[..usize::from(self.count) * self.dtype.size()]
    }

    /// The only element, if there is one.
    pub fn number(&self) -> Option<Number> {
        (self.count == 1).then(|| Number::from_bytes(self.bytes(), self.dtype))
    }
}
