//! Shapes and broadcasting.

use crate::dtype::DType;
use crate::error::{Error, Result};
use smallvec::SmallVec;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

/// The largest rank a tensor may have.
pub const MAX_RANK: usize = 12;

/// The maximum number of elements of a tensor, ignoring extents of 0: even in the widest dtype, they are addressable.
pub const MAX_ELEMENTS: usize = isize::MAX as usize / DType::MAX_SIZE;

/// The extents of a tensor, outermost first.
#[derive(PartialEq, Eq, Default)]
pub struct Shape(SmallVec<[usize; 4]>);

// By hand, because shapes are copied and hashed with every op: derived code goes through iterators of bytes.
impl Clone for Shape {
    fn clone(&self) -> Shape {
        Shape(SmallVec::from_slice(&self.0))
    }
}

impl Hash for Shape {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_usize(self.0.len());
        self.0.iter().for_each(|&extent| state.write_usize(extent));
    }
}

impl Shape {
    /// The shape of a zero-dimensional tensor.
    pub fn scalar() -> Shape {
        Shape::default()
    }

    /// The number of elements. Shapes of tensors are checked on creation, so this does not overflow.
    pub fn count(&self) -> usize {
        self.0.iter().product()
    }

    /// The number of elements, or `None` if it overflows `usize`.
    pub fn checked_count(&self) -> Option<usize> {
        if self.0.contains(&0) {
            return Some(0);
        }
        self.0.iter().try_fold(1usize, |n, &d| n.checked_mul(d))
    }

    /// Rejects invalid shapes: too many axes, or more elements than can be addressed in any dtype.
    pub fn check(&self, op: &'static str) -> Result<()> {
        if self.rank() > MAX_RANK {
            return Err(Error::shape(op, &[self], format!("at most {MAX_RANK} axes")));
        }
        let count = self.iter().filter(|&&d| d > 0).try_fold(1usize, |n, &d| n.checked_mul(d));
        match count {
            Some(count) if count <= MAX_ELEMENTS => Ok(()),
            _ => Err(Error::shape(op, &[self], format!("at most {MAX_ELEMENTS} elements"))),
        }
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// Converts an axis that may count from the end to a non-negative one.
    pub fn axis(&self, op: &'static str, axis: isize) -> Result<usize> {
        let rank = self.rank() as isize;
        let resolved = if axis < 0 { axis + rank } else { axis };
        if (0..rank).contains(&resolved) {
            Ok(resolved as usize)
        } else {
            Err(Error::Axis { op, axis, shape: self.clone() })
        }
    }

    /// Row-major strides, in elements.
    pub fn row_major_strides(&self) -> SmallVec<[isize; 4]> {
        let mut strides: SmallVec<[isize; 4]> = SmallVec::from_elem(1, self.rank());
        for axis in (0..self.rank().saturating_sub(1)).rev() {
            strides[axis] = strides[axis + 1] * self.0[axis + 1] as isize;
        }
        strides
    }

    /// The shape with `axis` removed.
    pub fn without(&self, axis: usize) -> Shape {
        self.0.iter().enumerate().filter(|(i, _)| *i != axis).map(|(_, &d)| d).collect()
    }

    /// The shape with the extent of `axis` replaced.
    pub fn with(&self, axis: usize, extent: usize) -> Shape {
        let mut shape = self.clone();
        shape.0[axis] = extent;
        shape
    }

    /// The broadcast shape of two operands, by NumPy's rules.
    pub fn broadcast(op: &'static str, a: &Shape, b: &Shape) -> Result<Shape> {
        if a == b {
            return Ok(a.clone());
        }
        let rank = a.rank().max(b.rank());
        let extent = |s: &Shape, i: usize| (i + s.rank()).checked_sub(rank).map_or(1, |j| s[j]);
        (0..rank)
            .map(|i| match (extent(a, i), extent(b, i)) {
                (x, y) if x == y => Ok(x),
                (1, y) => Ok(y),
                (x, 1) => Ok(x),
                _ => Err(Error::Broadcast { op, shapes: vec![a.clone(), b.clone()] }),
            })
            .collect()
    }

    /// The coordinates of the `index`-th element in row-major order.
    pub fn unravel(&self, mut index: usize) -> SmallVec<[usize; 4]> {
        let mut coords: SmallVec<[usize; 4]> = SmallVec::from_elem(0, self.rank());
        for axis in (0..self.rank()).rev() {
            let extent = self.0[axis].max(1);
            coords[axis] = index % extent;
            index /= extent;
        }
        coords
    }

    /// Mutable extents, for building shapes.
    pub fn extents_mut(&mut self) -> &mut SmallVec<[usize; 4]> {
        &mut self.0
    }
}

impl Deref for Shape {
    type Target = [usize];
    fn deref(&self) -> &[usize] {
        &self.0
    }
}

impl<const N: usize> PartialEq<[usize; N]> for Shape {
    fn eq(&self, other: &[usize; N]) -> bool {
        **self == *other
    }
}

impl<const N: usize> PartialEq<[usize; N]> for &Shape {
    fn eq(&self, other: &[usize; N]) -> bool {
        ***self == *other
    }
}

impl FromIterator<usize> for Shape {
    fn from_iter<I: IntoIterator<Item = usize>>(iter: I) -> Shape {
        Shape(iter.into_iter().collect())
    }
}

impl From<&[usize]> for Shape {
    fn from(extents: &[usize]) -> Shape {
        Shape(extents.into())
    }
}

impl From<Vec<usize>> for Shape {
    fn from(extents: Vec<usize>) -> Shape {
        Shape(extents.into())
    }
}

impl From<&Shape> for Shape {
    fn from(shape: &Shape) -> Shape {
        shape.clone()
    }
}

impl From<usize> for Shape {
    fn from(extent: usize) -> Shape {
        Shape::from_iter([extent])
    }
}

impl From<()> for Shape {
    fn from((): ()) -> Shape {
        Shape::scalar()
    }
}

impl<const N: usize> From<[usize; N]> for Shape {
    fn from(extents: [usize; N]) -> Shape {
        Shape::from_iter(extents)
    }
}

impl<const N: usize> From<&[usize; N]> for Shape {
    fn from(extents: &[usize; N]) -> Shape {
        Shape::from_iter(*extents)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, d) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{d}")?;
        }
        f.write_str("]")
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
