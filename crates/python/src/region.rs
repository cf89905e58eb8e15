//! Writing a rectangular part of an array where it is in memory.

use crate::own::{Elements, repeat};
use pyo3::prelude::*;
use pyo3::types::{PyEllipsis, PyInt, PySlice, PyTuple};
use smallvec::SmallVec;
use wootz::Tensor;

/// The positions of an axis that a key names.
#[derive(Clone, Copy)]
struct Line {
    start: usize,
    step: isize,
    len: usize,
}

impl Line {
    /// All positions.
    fn whole(extent: usize) -> Line {
        Line { start: 0, step: 1, len: extent }
    }

    fn at(&self, i: usize) -> usize {
        self.start.wrapping_add_signed(self.step * i as isize)
    }
}

/// The part of an array that integers, slices and an ellipsis name.
pub struct Region {
    /// For each axis of the array.
    lines: SmallVec<[Line; 4]>,
    /// The extents of the part: those of axes that an integer names are gone.
    shape: SmallVec<[usize; 4]>,
}

impl Region {
    /// The region of a key; `None` for keys of another kind, or out of range.
    pub fn of(shape: &[usize], key: &Bound<'_, PyAny>) -> Option<Region> {
        let items: SmallVec<[Bound<'_, PyAny>; 4]> = match key.cast::<PyTuple>() {
            Ok(tuple) => tuple.iter().collect(),
            Err(_) => SmallVec::from_iter([key.clone()]),
        };
        let mut region = Region { lines: SmallVec::new(), shape: SmallVec::new() };
        let mut rest = (shape.len() + 1).checked_sub(items.len());
        for item in &items {
            let axis = region.lines.len();
            if item.is_instance_of::<PyEllipsis>() {
                let missing = rest.take()?;
                region.extend(shape.get(axis..axis + missing)?);
            } else {
                region.add(*shape.get(axis)?, item)?;
            }
        }
        region.extend(shape.get(region.lines.len()..)?);
        Some(region)
    }

    fn extend(&mut self, extents: &[usize]) {
        for &extent in extents {
            self.lines.push(Line::whole(extent));
            self.shape.push(extent);
        }
    }

    fn add(&mut self, extent: usize, item: &Bound<'_, PyAny>) -> Option<()> {
        if item.is_exact_instance_of::<PyInt>() {
            let index = item.extract::<i64>().ok()?;
            let at = if index < 0 { index + extent as i64 } else { index };
            let start = usize::try_from(at).ok().filter(|&at| at < extent)?;
            self.lines.push(Line { start, step: 1, len: 1 });
            return Some(());
        }
        let indices = item.cast::<PySlice>().ok()?.indices(extent as isize).ok()?;
        let line =
            Line { start: indices.start.max(0) as usize, step: indices.step, len: indices.slicelength };
        self.shape.push(line.len);
        self.lines.push(line);
        Some(())
    }

    /// The number of elements.
    pub fn count(&self) -> usize {
        self.shape.iter().product()
    }

    /// Calls `visit` with the position of the first element of each run along the last axis, in row-major order.
    fn runs(&self, extents: &[usize], mut visit: impl FnMut(usize)) {
        let outer = &self.lines[..self.lines.len() - 1];
        let runs = outer.iter().map(|line| line.len).product();
        let mut counter: SmallVec<[usize; 4]> = SmallVec::from_elem(0, outer.len());
        for _ in 0..runs {
            let fold = |place, axis: usize| place * extents[axis] + outer[axis].at(counter[axis]);
            visit((0..outer.len()).fold(0, fold) * extents[outer.len()]);
            for axis in (0..outer.len()).rev() {
                counter[axis] += 1;
                if counter[axis] < outer[axis].len {
                    break;
                }
                counter[axis] = 0;
            }
        }
    }

    /// Writes elements over the region; a tensor repeats along the axes in front of its own. Returns whether it did: what does not
    /// fit is left alone.
    pub fn write(&self, tensor: &Tensor, bytes: &mut [u8], elements: Elements<'_>) -> bool {
        let size = tensor.dtype().size();
        let Some(&last) = self.lines.last() else { return false };
        let mut room = [0; 8];
        let mut row = Vec::new();
        let source: &[u8] = match elements {
            Elements::Of(values) => {
                let extents: &[usize] = values.shape();
                let alike = values.dtype() == tensor.dtype() && self.shape.ends_with(extents);
                row.resize(values.count() * size, 0);
                if !alike || !values.copy_part(0, &mut row) {
                    return false;
                }
                &row
            }
            element => match element.bytes(tensor.dtype(), &mut room) {
                Some(bytes) => bytes,
                None => return false,
            },
        };
        if self.count() == 0 {
            return true;
        }
        let mut next = 0;
        self.runs(tensor.shape(), |base| {
            if last.step == 1 && (source.len() == size || source.len() >= last.len * size) {
                let start = (base + last.start) * size;
                let target = &mut bytes[start..start + last.len * size];
                let taken = target.len().min(source.len());
                repeat(target, &source[next..next + taken]);
                next = (next + taken) % source.len();
                return;
            }
            for i in 0..last.len {
                let start = (base + last.at(i)) * size;
                bytes[start..start + size].copy_from_slice(&source[next..next + size]);
                next = (next + size) % source.len();
            }
        });
        true
    }
}
