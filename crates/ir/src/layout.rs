//! Layouts: how a tensor's elements are stored in a buffer, and the views that change only the layout.

use crate::error::{Error, Result};
use crate::shape::{MAX_ELEMENTS, Shape};
use smallvec::SmallVec;
use std::fmt;
use std::hash::{Hash, Hasher};

/// Strides in elements; negative for reversed axes, zero for broadcast ones.
pub type Strides = SmallVec<[isize; 4]>;

/// The layout of a tensor: element `i` is at `offset + Σ i[k]·strides[k]`, in elements of its dtype.
#[derive(PartialEq, Eq)]
pub struct Layout {
    /// Extent of each axis.
    pub shape: Shape,
    /// Stride of each axis.
    pub strides: Strides,
    /// Position of the first element.
    pub offset: usize,
}

// By hand, as for shapes.
impl Clone for Layout {
    fn clone(&self) -> Layout {
        Layout {
            shape: self.shape.clone(),
            strides: SmallVec::from_slice(&self.strides),
            offset: self.offset,
        }
    }
}

impl Hash for Layout {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.shape.hash(state);
        self.strides.iter().for_each(|&stride| state.write_isize(stride));
        state.write_usize(self.offset);
    }
}

/// A slice of one axis: `len` elements from `start` on, `step` apart (never zero).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// First index.
    pub start: usize,
    /// Distance between indices.
    pub step: isize,
    /// Number of elements.
    pub len: usize,
}

impl Span {
    /// The entire axis.
    pub fn all(extent: usize) -> Span {
        Span { start: 0, step: 1, len: extent }
    }
}

/// A movement op: it changes where elements are found, not the elements.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum View {
    /// The same elements in row-major order in another shape.
    Reshape(Shape),
    /// Axis `k` of the result is axis `permutation[k]` of the source.
    Permute(SmallVec<[u8; 8]>),
    /// Broadcasting: axes of extent 1 repeated, and new leading axes.
    Expand(Shape),
    /// A slice along each axis.
    Slice(SmallVec<[Span; 4]>),
}

impl View {
    /// The op's name in messages and explanations.
    pub fn name(&self) -> &'static str {
        match self {
            View::Reshape(_) => "reshape",
            View::Permute(_) => "permute",
            View::Expand(_) => "expand",
            View::Slice(_) => "slice",
        }
    }

    /// The shape of this view of a tensor of shape `source`.
    pub fn shape(&self, source: &Shape) -> Shape {
        match self {
            View::Reshape(shape) | View::Expand(shape) => shape.clone(),
            View::Permute(permutation) => permutation.iter().map(|&axis| source[axis as usize]).collect(),
            View::Slice(spans) => spans.iter().map(|span| span.len).collect(),
        }
    }
}

impl Layout {
    /// The row-major layout of a shape, from the start of its buffer.
    pub fn contiguous(shape: &Shape) -> Layout {
        Layout { shape: shape.clone(), strides: shape.row_major_strides(), offset: 0 }
    }

    /// True when the elements lie in row-major order without gaps. Axes of extent 1 may have any stride.
    pub fn is_contiguous(&self) -> bool {
        let mut expected = 1isize;
        for (&extent, &stride) in self.shape.iter().zip(&self.strides).rev() {
            if extent == 0 {
                return true;
            }
            if extent != 1 && stride != expected {
                return false;
            }
            expected *= extent as isize;
        }
        true
    }

    /// The position of the element at these coordinates.
    pub fn position(&self, coords: &[usize]) -> usize {
        let delta: isize = coords.iter().zip(&self.strides).map(|(&c, &s)| c as isize * s).sum();
        (self.offset as isize + delta) as usize
    }

    /// The lowest and highest position reached, or `None` when the layout has no element.
    ///
    /// # Panics
    /// If a position is negative or out of the address space. Layouts of tensors are [checked](Layout::check).
    pub fn reach(&self) -> Option<(usize, usize)> {
        self.checked_reach().expect("layouts of tensors are checked when they are made")
    }

    /// [`Layout::reach`], or `Err` if a position is negative or out of the address space.
    fn checked_reach(&self) -> std::result::Result<Option<(usize, usize)>, ()> {
        if self.shape.contains(&0) {
            return Ok(None);
        }
        let offset = isize::try_from(self.offset).map_err(|_| ())?;
        let (mut low, mut high) = (offset, offset);
        for (&extent, &stride) in self.shape.iter().zip(&self.strides) {
            let steps = isize::try_from(extent - 1).map_err(|_| ())?;
            let span = steps.checked_mul(stride).ok_or(())?;
            let end = if span < 0 { &mut low } else { &mut high };
            *end = end.checked_add(span).ok_or(())?;
        }
        if low < 0 || high as usize >= MAX_ELEMENTS {
            Err(())
        } else {
            Ok(Some((low as usize, high as usize)))
        }
    }

    /// Rejects invalid layouts: an invalid shape, the wrong number of strides, positions that are negative or out of
    /// the address space.
    pub fn check(&self, op: &'static str) -> Result<()> {
        self.shape.check(op)?;
        if self.strides.len() != self.shape.rank() {
            let detail = format!("got {} strides for shape {}", self.strides.len(), self.shape);
            return Err(Error::argument(op, detail));
        }
        if self.checked_reach().is_err() {
            let (strides, offset) = (self.strides.as_slice(), self.offset);
            let detail =
                format!("strides {strides:?} and offset {offset} of shape {} are out of range", self.shape);
            return Err(Error::argument(op, detail));
        }
        Ok(())
    }

    /// [`Layout::check`], and rejects positions beyond this number of elements.
    pub fn check_within(&self, op: &'static str, elements: usize) -> Result<()> {
        self.check(op)?;
        match self.reach() {
            Some((_, high)) if high >= elements => {
                let detail = format!("{self} reaches element {high}, but the memory has {elements}");
                Err(Error::argument(op, detail))
            }
            _ => Ok(()),
        }
    }

    /// The layout of `view` applied to this one, or `None` for a reshape that has to move elements.
    pub fn view(&self, view: &View) -> Option<Layout> {
        Some(match view {
            View::Reshape(shape) => return self.reshape(shape),
            View::Permute(permutation) => Layout {
                shape: view.shape(&self.shape),
                strides: permutation.iter().map(|&axis| self.strides[axis as usize]).collect(),
                offset: self.offset,
            },
            View::Expand(shape) => self.expand(shape),
            View::Slice(spans) => self.slice(spans),
        })
    }

    fn expand(&self, shape: &Shape) -> Layout {
        let new_axes = shape.rank() - self.shape.rank();
        let strides = (0..shape.rank())
            .map(|axis| match axis.checked_sub(new_axes) {
                Some(own) if self.shape[own] == shape[axis] => self.strides[own],
                _ => 0,
            })
            .collect();
        Layout { shape: shape.clone(), strides, offset: self.offset }
    }

    fn slice(&self, spans: &[Span]) -> Layout {
        let delta: isize = spans.iter().zip(&self.strides).map(|(span, &s)| span.start as isize * s).sum();
        let empty = spans.iter().any(|span| span.len == 0);
        Layout {
            shape: spans.iter().map(|span| span.len).collect(),
            strides: spans.iter().zip(&self.strides).map(|(span, &s)| span.step * s).collect(),
            offset: if empty { self.offset } else { (self.offset as isize + delta) as usize },
        }
    }

    /// Reshapes without moving elements, if the strides allow it: each run of source axes that can be walked with one
    /// stride is split into axes of the new shape.
    fn reshape(&self, shape: &Shape) -> Option<Layout> {
        if shape.contains(&0) {
            return Some(Layout { offset: self.offset, ..Layout::contiguous(shape) });
        }
        let runs = self.collapse();
        let mut strides: Strides = SmallVec::from_elem(0, shape.rank());
        let mut axis = shape.rank();
        for (&extent, &stride) in runs.shape.iter().zip(&runs.strides).rev() {
            let (mut left, mut step) = (extent, stride);
            while left > 1 {
                axis = axis.checked_sub(1)?;
                if shape[axis] != 1 {
                    if !left.is_multiple_of(shape[axis]) {
                        return None;
                    }
                    strides[axis] = step;
                    step *= shape[axis] as isize;
                    left /= shape[axis];
                }
            }
        }
        Some(Layout { shape: shape.clone(), strides, offset: self.offset })
    }

    /// The same elements in the same order, with as few axes as possible.
    pub fn collapse(&self) -> Layout {
        let mut shape = Shape::scalar();
        let mut strides = Strides::new();
        for (&extent, &stride) in self.shape.iter().zip(&self.strides) {
            if extent == 1 {
                continue;
            }
            match (shape.extents_mut().last_mut(), strides.last_mut()) {
                (Some(outer_extent), Some(outer)) if *outer == stride * extent as isize => {
                    *outer_extent *= extent;
                    *outer = stride;
                }
                _ => {
                    shape.extents_mut().push(extent);
                    strides.push(stride);
                }
            }
        }
        Layout { shape, strides, offset: self.offset }
    }

    /// The positions of all elements in row-major order.
    pub fn positions(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.shape.count()).map(|i| self.position(&self.shape.unravel(i)))
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.shape)?;
        if !self.is_contiguous() {
            write!(f, " strides {:?}", self.strides.as_slice())?;
        }
        if self.offset != 0 {
            write!(f, " offset {}", self.offset)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smallvec::smallvec;

    fn row_major(extents: &[usize]) -> Layout {
        Layout::contiguous(&Shape::from(extents))
    }

    #[test]
    fn a_transpose_reshapes_only_where_strides_allow() {
        let transposed = row_major(&[4, 6]).view(&View::Permute(smallvec![1, 0])).unwrap();
        assert!(!transposed.is_contiguous());
        assert!(transposed.view(&View::Reshape([24].into())).is_none());
        let split = transposed.view(&View::Reshape([2, 3, 4].into())).unwrap();
        assert_eq!(split.strides.as_slice(), [3, 1, 6]);
        assert_eq!(split.positions().collect::<Vec<_>>(), transposed.positions().collect::<Vec<_>>());
    }

    #[test]
    fn a_reversed_slice_reaches_the_right_elements() {
        let spans = smallvec![Span { start: 8, step: -3, len: 3 }];
        let reversed = row_major(&[10]).view(&View::Slice(spans)).unwrap();
        assert_eq!(reversed.positions().collect::<Vec<_>>(), [8, 5, 2]);
        assert_eq!(reversed.reach(), Some((2, 8)));
    }

    #[test]
    fn layouts_that_reach_outside_are_refused_at_both_ends() {
        let layout = |shape: &[usize], strides: &[isize], offset: usize| Layout {
            shape: Shape::from(shape),
            strides: SmallVec::from_slice(strides),
            offset,
        };
        let message = |layout: Layout, n| layout.check_within("test", n).unwrap_err().to_string();
        assert!(message(layout(&[4], &[-1], 2), 10).contains("out of range"));
        assert!(message(layout(&[3, 3], &[isize::MAX, isize::MAX], 0), 10).contains("out of range"));
        assert!(message(layout(&[3], &[isize::MIN], usize::MAX), 10).contains("out of range"));
        assert!(message(layout(&[4], &[1, 1], 0), 10).contains("2 strides"));
        assert!(message(layout(&[1; 13], &[1; 13], 0), 10).contains("at most 12 axes"));
        assert!(message(layout(&[4], &[3], 1), 10).contains("element 10, but the memory has 10"));
        assert!(layout(&[4], &[-3], 9).check_within("test", 10).is_ok());
        assert!(layout(&[0, 4], &[1, isize::MAX], 0).check_within("test", 0).is_ok(), "nothing is read");
    }

    #[test]
    fn collapse_keeps_the_order_of_positions() {
        let layout = row_major(&[2, 1, 3, 4, 5]).view(&View::Permute(smallvec![0, 1, 4, 2, 3])).unwrap();
        let collapsed = layout.collapse();
        assert_eq!(collapsed.shape.as_ref(), [2, 5, 12]);
        assert_eq!(collapsed.positions().collect::<Vec<_>>(), layout.positions().collect::<Vec<_>>());
    }

    #[test]
    fn broadcast_axes_reshape_when_kept_apart() {
        let expanded = row_major(&[3, 1]).view(&View::Expand([3, 4].into())).unwrap();
        assert!(expanded.view(&View::Reshape([12].into())).is_none());
        let split = expanded.view(&View::Reshape([3, 2, 2].into())).unwrap();
        assert_eq!(split.strides.as_slice(), [1, 0, 0]);
    }
}
