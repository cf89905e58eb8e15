//! Elements that are read and written one by one, where they are in memory.

use crate::convert::check_fits;
use std::ops::Range;
use std::ptr::NonNull;
use wootz::{DType, Number, Tensor, Tiny};

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

/// What to write at consecutive positions.
#[derive(Clone, Copy)]
pub enum Elements<'a> {
    /// The same number everywhere, which has to fit the dtype.
    Number(Number),
    /// The same number everywhere, of the tensor's dtype.
    Tiny(&'a Tiny),
    /// The elements of a tensor of the same dtype.
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
    /// The spot of leading coordinates; `None` if they are out of range, or more than there are axes.
    pub fn of(shape: &[usize], coordinates: &[i64]) -> Option<Spot> {
        let mut start = 0;
        for (axis, &index) in coordinates.iter().enumerate() {
            let extent = *shape.get(axis)?;
            let at = if index < 0 { index + extent as i64 } else { index };
            if !(0..extent as i64).contains(&at) {
                return None;
            }
            start = start * extent + at as usize;
        }
        let count = shape[coordinates.len()..].iter().product();
        Some(Spot { start: start * count, axes: coordinates.len(), count })
    }

    fn bytes(&self, size: usize) -> Range<usize> {
        self.start * size..(self.start + self.count) * size
    }
}

/// Writes elements at leading coordinates; returns whether it did.
pub fn write(tensor: &Tensor, bytes: &mut [u8], coordinates: &[i64], elements: Elements<'_>) -> bool {
    let dtype = tensor.dtype();
    let Some(spot) = Spot::of(tensor.shape(), coordinates) else { return false };
    let Some(target) = bytes.get_mut(spot.bytes(dtype.size())) else { return false };
    if let Elements::Of(row) = elements {
        let alike = row.dtype() == dtype && **row.shape() == tensor.shape()[spot.axes..];
        return alike && row.copy_part(0, target);
    }
    let mut room = [0; 8];
    let element = elements.bytes(dtype, &mut room);
    element.inspect(|element| repeat(target, element)).is_some()
}

impl<'a> Elements<'a> {
    /// The bytes of a single element of a dtype; `None` if it does not fit, or if there are several.
    pub fn bytes<'b>(&self, dtype: DType, room: &'b mut [u8; 8]) -> Option<&'b [u8]>
    where
        'a: 'b,
    {
        match self {
            Elements::Number(number) => {
                check_fits(*number, dtype).ok()?;
                let element = number.to_bytes(dtype);
                room[..element.len()].copy_from_slice(&element);
                Some(&room[..element.len()])
            }
            Elements::Tiny(tiny) => {
                (tiny.dtype() == dtype && tiny.bytes().len() == dtype.size()).then(|| tiny.bytes())
            }
            Elements::Of(_) => None,
        }
    }
}

/// Writes an element as often as there is room for it.
pub fn repeat(target: &mut [u8], element: &[u8]) {
    if target.len() == element.len() {
        target.copy_from_slice(element);
    } else {
        target.chunks_exact_mut(element.len()).for_each(|to| to.copy_from_slice(element));
    }
}

/// The element at coordinates, if they are as many as the axes and in range.
pub fn element(tensor: &Tensor, bytes: &[u8], coordinates: &[i64]) -> Option<Tiny> {
    let spot = Spot::of(tensor.shape(), coordinates)?;
    if spot.axes != tensor.rank() {
        return None;
    }
    Tiny::scalar(bytes.get(spot.bytes(tensor.dtype().size()))?, tensor.dtype())
}

/// The same of a tensor that others have handles to, if its value is in order in host memory.
pub fn available(tensor: &Tensor, coordinates: &[i64]) -> Option<Tiny> {
    let spot = Spot::of(tensor.shape(), coordinates)?;
    let mut room = [0; 8];
    let element = &mut room[..tensor.dtype().size()];
    let found = spot.axes == tensor.rank() && tensor.copy_part(spot.start, element);
    found.then(|| Tiny::scalar(element, tensor.dtype()))?
}
