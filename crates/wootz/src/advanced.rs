//! Indexing with arrays, mixed with basic indexing, by NumPy's rules.
//!
//! Index arrays broadcast with each other and become one set of axes of the result: in their place if they are
//! adjacent, otherwise in front. Internally, the axes that they index are moved to the front and flattened, and a
//! single gather or scatter along that axis does the work.

use crate::indexing::Index;
use crate::tensor::Tensor;
use wootz_ir::{DType, Error, Result, Shape};

/// What to select along an axis: a basic index, or an integer tensor; a bool tensor covers as many axes as it has.
#[derive(Clone)]
pub enum Selector {
    /// As in [`Tensor::index`].
    Basic(Index),
    /// The elements at these positions. Negative ones count from the end.
    At(Tensor),
    /// The elements where this is true. The mask is evaluated, because the shape of the result depends on it.
    Where(Tensor),
    /// All axes not covered by the other selectors, like an ellipsis; there may be none. Index arrays on either side
    /// of it do not count as adjacent even then. At most one.
    Rest,
}

impl Selector {
    /// How many axes it covers; [`Selector::Rest`] covers none by itself.
    pub fn axes(&self) -> usize {
        match self {
            Selector::Basic(Index::New) | Selector::Rest => 0,
            Selector::Basic(_) | Selector::At(_) => 1,
            Selector::Where(mask) => mask.rank(),
        }
    }
}

impl From<Index> for Selector {
    fn from(index: Index) -> Selector {
        Selector::Basic(index)
    }
}

/// A selector without masks.
enum Part {
    Basic(Index),
    /// Positions along an axis.
    Along(Tensor),
    /// Positions along a new axis, which a zero-dimensional mask makes.
    AlongNew(Tensor),
    /// The position of an ellipsis.
    Gap,
}

/// A selection after its basic part has been applied.
struct Gathered {
    /// Axes of the basic result that arrays index, in order.
    axes: Vec<usize>,
    /// One position in the flattened indexed axes for each element of the broadcast index arrays.
    positions: Tensor,
    /// The axis of the result where the index axes go.
    place: usize,
}

impl Tensor {
    /// The selected elements. Axes without a selector are taken completely.
    pub fn select(&self, selectors: &[Selector]) -> Result<Tensor> {
        let parts = self.expand_masks("select", selectors)?;
        let Split { basic, arrays, apart } = split(self, &parts);
        let view = self.index(&basic)?;
        if arrays.is_empty() {
            return Ok(view);
        }
        let plan = view.gathered("select", arrays, apart)?;
        let taken = view.front(&plan.axes)?.take(&plan.positions, 0)?;
        taken.move_front(plan.positions.rank(), plan.place)
    }

    /// A copy with the selected elements replaced by `values`, which broadcast to them. If a position is selected
    /// twice, the last value wins.
    pub fn select_assign(&self, selectors: &[Selector], values: &Tensor) -> Result<Tensor> {
        if let [Selector::Where(mask)] = selectors
            && values.count() == 1
        {
            return self.assign_where(mask, values);
        }
        let parts = self.expand_masks("select_assign", selectors)?;
        let Split { basic, arrays, apart } = split(self, &parts);
        let view = self.index(&basic)?;
        if arrays.is_empty() {
            return self.index_assign(&basic, &values.drop_leading(view.rank())?);
        }
        let plan = view.gathered("select_assign", arrays, apart)?;
        let front = view.front(&plan.axes)?;
        let wanted = front.take(&plan.positions, 0)?.move_front(plan.positions.rank(), plan.place)?;
        let values = values.cast(self.dtype())?.drop_leading(wanted.rank())?.broadcast_to(wanted.shape())?;
        let values = values.move_back(plan.positions.rank(), plan.place)?;
        let count = plan.positions.count();
        let rest = &front.shape()[1..];
        let flat: Shape = [count].iter().chain(rest).copied().collect();
        let column: Shape = [count].into_iter().chain(rest.iter().map(|_| 1)).collect();
        let updated = front.scatter(&plan.positions.reshape(column)?, &values.reshape(flat)?, 0)?;
        let updated = updated.unfront(&plan.axes, view.shape())?;
        self.index_assign(&basic, &updated)
    }

    /// A single value wherever a mask is true; nothing has to be evaluated for that.
    fn assign_where(&self, mask: &Tensor, value: &Tensor) -> Result<Tensor> {
        self.check_mask("select_assign", mask, 0)?;
        let mut shape = mask.shape().clone();
        shape.extents_mut().resize(self.rank(), 1);
        mask.reshape(shape)?.where_(value.cast(self.dtype())?.reshape([])?, self)
    }

    fn check_mask(&self, op: &'static str, mask: &Tensor, axis: usize) -> Result<()> {
        let covered = self.shape().get(axis..axis + mask.rank());
        if mask.dtype() != DType::Bool || covered != Some(&**mask.shape()) {
            let expected = format!("a bool mask of the same extents from axis {axis} on");
            return Err(Error::shape(op, &[self.shape(), mask.shape()], expected));
        }
        Ok(())
    }

    /// Converts masks to the positions where they are true, one array per axis of the mask.
    fn expand_masks(&self, op: &'static str, selectors: &[Selector]) -> Result<Vec<Part>> {
        let named: usize = selectors.iter().map(Selector::axes).sum();
        let rests = selectors.iter().filter(|s| matches!(s, Selector::Rest)).count();
        if rests > 1 {
            return Err(Error::argument(op, "more than one selector covers the remaining axes"));
        }
        let mut parts = Vec::with_capacity(selectors.len());
        let mut axis = 0;
        for selector in selectors {
            match selector {
                Selector::Basic(index) => {
                    parts.push(Part::Basic(*index));
                    axis += usize::from(*index != Index::New);
                }
                Selector::At(array) => {
                    parts.push(Part::Along(array.clone()));
                    axis += 1;
                }
                Selector::Rest => {
                    let left = self.rank().saturating_sub(named);
                    parts.extend((0..left).map(|_| Part::Basic(Index::All)));
                    parts.push(Part::Gap);
                    axis += left;
                }
                Selector::Where(mask) if mask.rank() == 0 => {
                    self.check_mask(op, mask, axis)?;
                    let count = mask.to_bytes()?.iter().filter(|b| **b != 0).count();
                    parts.push(Part::AlongNew(Tensor::full_on([count], 0, DType::I64, self.device())?));
                }
                Selector::Where(mask) => {
                    self.check_mask(op, mask, axis)?;
                    let found = mask.nonzero()?;
                    for column in 0..mask.rank() {
                        parts.push(Part::Along(found.narrow(1, column, 1)?.flatten()?));
                    }
                    axis += mask.rank();
                }
            }
        }
        Ok(parts)
    }

    /// How index arrays, each with its axis of this tensor, select from it.
    fn gathered(&self, op: &'static str, arrays: Vec<(usize, Tensor)>, apart: bool) -> Result<Gathered> {
        let mut shape = Shape::scalar();
        for (_, array) in &arrays {
            if !array.dtype().is_integer() {
                return Err(Error::dtype(op, &[array.dtype()], "integer or bool indices"));
            }
            shape = Shape::broadcast(op, &shape, array.shape())?;
        }
        let axes: Vec<usize> = arrays.iter().map(|(axis, _)| *axis).collect();
        let adjacent = !apart && axes.windows(2).all(|pair| pair[1] == pair[0] + 1);
        let total: usize = axes.iter().map(|&axis| self.shape()[axis]).product();
        if total == 0 && shape.count() > 0 {
            return Err(Error::Index { op, index: 0, axis: axes[0], shape: self.shape().clone() });
        }
        let mut positions = Tensor::full_on(&shape, 0, DType::I64, self.device())?;
        let mut valid: Option<Tensor> = None;
        for (axis, array) in &arrays {
            let extent = self.shape()[*axis] as i64;
            let at = array.as_index()?.computed_on(self.device())?.broadcast_to(&shape)?;
            let at = at.less(0)?.where_(at.add(extent)?, &at)?;
            let inside = at.greater_equal(0)?.logical_and(at.less(extent)?)?;
            positions = positions.mul(extent)?.add(&at)?;
            valid = Some(match valid {
                Some(valid) => valid.logical_and(&inside)?,
                None => inside,
            });
        }
        // A position outside of its own axis must not alias one inside of another: it is sent beyond the end, where the
        // gather finds it.
        if let Some(valid) = valid {
            let beyond = Tensor::scalar_on(total as i64, DType::I64, self.device());
            positions = valid.where_(&positions, &beyond)?;
        }
        let place = if adjacent { axes[0] } else { 0 };
        Ok(Gathered { axes, positions, place })
    }

    /// `axes` flattened into a first axis, followed by the others.
    fn front(&self, axes: &[usize]) -> Result<Tensor> {
        let others = (0..self.rank()).filter(|a| !axes.contains(a));
        let order: Vec<isize> = axes.iter().copied().chain(others).map(|a| a as isize).collect();
        let moved = self.permute(&order)?;
        let total: usize = axes.iter().map(|&a| self.shape()[a]).product();
        let shape: Shape = [total].iter().chain(&moved.shape()[axes.len()..]).copied().collect();
        moved.reshape(shape)
    }

    /// The inverse of [`Tensor::front`]: a tensor of `shape`.
    fn unfront(&self, axes: &[usize], shape: &Shape) -> Result<Tensor> {
        let others = (0..shape.rank()).filter(|a| !axes.contains(a));
        let order: Vec<usize> = axes.iter().copied().chain(others).collect();
        let moved: Shape = order.iter().map(|&a| shape[a]).collect();
        let back: Vec<isize> = (0..order.len())
            .map(|a| order.iter().position(|&o| o == a).expect("a permutation has every axis") as isize)
            .collect();
        self.reshape(moved)?.permute(&back)
    }

    /// Moves the first `count` axes so that they start at `place`.
    fn move_front(&self, count: usize, place: usize) -> Result<Tensor> {
        let others = (count..self.rank()).collect::<Vec<_>>();
        let (before, after) = others.split_at(place);
        let order: Vec<isize> =
            before.iter().copied().chain(0..count).chain(after.iter().copied()).map(|a| a as isize).collect();
        self.permute(&order)
    }

    /// The inverse of [`Tensor::move_front`].
    fn move_back(&self, count: usize, place: usize) -> Result<Tensor> {
        let order: Vec<isize> = (place..place + count)
            .chain(0..place)
            .chain(place + count..self.rank())
            .map(|a| a as isize)
            .collect();
        self.permute(&order)
    }

    /// Drops leading axes of extent 1 beyond `rank`, as assignment allows.
    fn drop_leading(&self, rank: usize) -> Result<Tensor> {
        let mut tensor = self.clone();
        while tensor.rank() > rank && tensor.shape()[0] == 1 {
            tensor = tensor.squeeze(0)?;
        }
        Ok(tensor)
    }
}

/// A selection in two parts, applied one after the other.
struct Split {
    basic: Vec<Index>,
    /// Index arrays with the axes of the basic result that they index.
    arrays: Vec<(usize, Tensor)>,
    /// An ellipsis stands between arrays.
    apart: bool,
}

/// Combined with arrays, a single position counts as an array, which affects where the index axes go.
fn split(tensor: &Tensor, parts: &[Part]) -> Split {
    let any_array = parts.iter().any(|part| matches!(part, Part::Along(_) | Part::AlongNew(_)));
    let mut split = Split { basic: Vec::new(), arrays: Vec::new(), apart: false };
    let mut before_gap = None;
    let mut kept = 0;
    for part in parts {
        let (index, array) = match part {
            Part::Gap => {
                before_gap = Some(split.arrays.len());
                continue;
            }
            Part::Basic(Index::At(i)) if any_array => {
                (Index::All, Some(Tensor::scalar_on(*i, DType::I64, tensor.device())))
            }
            Part::Basic(index) => (*index, None),
            Part::Along(array) => (Index::All, Some(array.clone())),
            Part::AlongNew(array) => (Index::New, Some(array.clone())),
        };
        split.arrays.extend(array.map(|array| (kept, array)));
        split.basic.push(index);
        kept += usize::from(!matches!(index, Index::At(_)));
    }
    split.apart = before_gap.is_some_and(|before| 0 < before && before < split.arrays.len());
    split
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Tensor {
        Tensor::arange(0, 24, 1, DType::I64).unwrap().reshape([2, 3, 4]).unwrap()
    }

    fn ints(values: &[i64]) -> Selector {
        Selector::At(Tensor::from_slice(values).unwrap())
    }

    #[test]
    fn arrays_beside_each_other_stay_in_place_and_others_go_first() {
        let all = Selector::from(Index::All);
        let beside = grid().select(&[all.clone(), ints(&[0, 2, -1]), ints(&[3, 0, 1])]).unwrap();
        assert_eq!(beside.shape(), [2, 3]);
        assert_eq!(beside.to_vec::<i64>().unwrap(), [3, 8, 9, 15, 20, 21]);
        let apart = grid().select(&[ints(&[0, 1, 1]), all, ints(&[3, 0, 1])]).unwrap();
        assert_eq!(apart.shape(), [3, 3]);
        assert_eq!(apart.to_vec::<i64>().unwrap(), [3, 7, 11, 12, 16, 20, 13, 17, 21]);
    }

    #[test]
    fn an_ellipsis_that_stands_for_nothing_still_stands_between_arrays() {
        let key = [Index::All.into(), Index::At(0).into(), Selector::Rest, ints(&[1])];
        let apart = grid().select(&key).unwrap();
        assert_eq!(apart.shape(), [1, 2]);
        assert_eq!(apart.to_vec::<i64>().unwrap(), [1, 13]);
        let values = Tensor::from_slice(&[-1i64, -2]).unwrap().reshape([1, 2]).unwrap();
        let set = grid().select_assign(&key, &values).unwrap().to_vec::<i64>().unwrap();
        assert_eq!((set[1], set[13]), (-1, -2));
        let rest = grid().select(&[Selector::Rest, ints(&[0])]).unwrap();
        assert_eq!(rest.shape(), [2, 3, 1]);
        assert!(grid().select(&[Selector::Rest, Selector::Rest]).is_err());
    }

    #[test]
    fn a_position_outside_of_its_axis_is_an_error_even_if_it_is_inside_of_the_buffer() {
        let error = grid().select(&[ints(&[0]), ints(&[3])]).unwrap().eval().map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("out of range"), "{error}");
        assert!(grid().select(&[Selector::At(Tensor::from_slice(&[0.5f32]).unwrap())]).is_err());
    }

    #[test]
    fn masks_select_and_assign() {
        let mask = grid().remainder(5).unwrap().equal(0).unwrap();
        let taken = grid().select(&[Selector::Where(mask.clone())]).unwrap();
        assert_eq!(taken.to_vec::<i64>().unwrap(), [0, 5, 10, 15, 20]);
        let fives = Tensor::from_slice(&[-1i64, -2, -3, -4, -5]).unwrap();
        let set = grid().select_assign(&[Selector::Where(mask)], &fives).unwrap().to_vec::<i64>().unwrap();
        assert_eq!((set[0], set[5], set[20], set[21]), (-1, -2, -5, 21));
        let wrong = Tensor::full([3], true, DType::Bool).unwrap();
        assert!(grid().select(&[Selector::Where(wrong)]).is_err());
    }

    #[test]
    fn assignment_reaches_only_what_was_selected() {
        let rows = Tensor::from_slice(&[10i64, 20]).unwrap();
        let set = grid().select_assign(&[Index::At(1).into(), ints(&[2, 0]), Index::At(-1).into()], &rows);
        let set = set.unwrap().to_vec::<i64>().unwrap();
        let mut want: Vec<i64> = (0..24).collect();
        (want[12 + 11], want[12 + 3]) = (10, 20);
        assert_eq!(set, want);
    }
}
