//! Elements that are read and written one by one, where they are in memory.

use crate::errors::raise;
use pyo3::PyResult;
use smallvec::SmallVec;
use std::ops::Range;
use std::ptr::NonNull;
use wootz::{Tensor, Tiny};

/// Where the elements of a tensor are that nobody else has a handle to.
pub struct Place {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: it is an address; whoever makes bytes of it answers for the memory.
unsafe impl Send for Place {}
// SAFETY: as above.
unsafe impl Sync for Place {}

impl Place {
    /// The place of a tensor's elements; `None` if there are other handles to them, or if they are not in order in host memory.
    pub fn of(tensor: &mut Tensor) -> Option<Place> {
        let bytes = tensor.own_bytes()?;
        Some(Place { len: bytes.len(), start: NonNull::from(bytes).cast() })
    }

    /// The bytes.
    ///
    /// # Safety
    /// The tensor of [`Place::of`] is alive, was neither cloned nor read since, and nobody else calls [`Place::bytes_mut`].
    pub unsafe fn bytes(&self) -> &[u8] {
        // SAFETY: the memory belongs to the tensor's only handle, which the caller holds.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// The bytes, for writing.
    ///
    /// # Safety
    /// As for [`Place::bytes`].
    pub unsafe fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the memory belongs to the tensor's only handle, which the caller holds.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

/// Elements to write, at consecutive positions.
#[derive(Clone, Copy)]
pub enum Elements<'a> {
    /// The same bytes for each.
    Same(&'a [u8]),
    /// Those of a tensor.
    Of(&'a Tensor),
}

/// Where a key begins and which extents of the array are left behind it.
pub struct Spot {
    /// Elements before it.
    start: usize,
    /// Number of its axes that the key has named.
    axes: usize,
    /// Number of elements.
    count: usize,
}

impl Spot {
    /// The spot of leading coordinates; `None` if there are more of them than axes.
    pub fn of(shape: &[usize], coordinates: &[i64]) -> PyResult<Option<Spot>> {
        if coordinates.len() > shape.len() {
            return Ok(None);
        }
        let mut start = 0;
        for (axis, (&extent, &index)) in shape.iter().zip(coordinates).enumerate() {
            let at = if index < 0 { index + extent as i64 } else { index };
            if !(0..extent as i64).contains(&at) {
                let shape = SmallVec::<[usize; 4]>::from_slice(shape);
                let message = format!(
                    "index {index} is out of range for axis {axis} with extent {extent} (shape {shape:?})"
                );
                return Err(raise("OutOfRangeError", message));
            }
            start = start * extent + at as usize;
        }
        let count = shape[coordinates.len()..].iter().product();
        Ok(Some(Spot { start: start * count, axes: coordinates.len(), count }))
    }

    fn bytes(&self, size: usize) -> Range<usize> {
        self.start * size..(self.start + self.count) * size
    }
}

/// Writes elements at leading coordinates; returns whether it did.
pub fn write(
    tensor: &Tensor,
    bytes: &mut [u8],
    coordinates: &[i64],
    elements: Elements<'_>,
) -> PyResult<bool> {
    let Some(spot) = Spot::of(tensor.shape(), coordinates)? else { return Ok(false) };
    let Some(target) = bytes.get_mut(spot.bytes(tensor.dtype().size())) else { return Ok(false) };
    match elements {
        Elements::Same(element) if target.len() == element.len() => target.copy_from_slice(element),
        Elements::Same(element) => {
            target.chunks_exact_mut(element.len()).for_each(|to| to.copy_from_slice(element))
        }
        Elements::Of(row) => {
            let alike = row.dtype() == tensor.dtype() && **row.shape() == tensor.shape()[spot.axes..];
            return Ok(alike && row.copy_part(0, target));
        }
    }
    Ok(true)
}

/// The element at coordinates, if they are as many as the axes and in range.
pub fn element(tensor: &Tensor, bytes: &[u8], coordinates: &[i64]) -> Option<Tiny> {
    let spot = Spot::of(tensor.shape(), coordinates).ok()??;
    if spot.axes != tensor.rank() {
        return None;
    }
    Tiny::scalar(bytes.get(spot.bytes(tensor.dtype().size()))?, tensor.dtype())
}
