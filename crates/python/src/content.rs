//! What an array object holds: a tensor, or something smaller that becomes one when it is needed.

use crate::own::{self, Elements, Place};
use crate::region::Region;
use parking_lot::RwLock;
use wootz::{DType, Number, Shape, Tensor, Tiny, is_small};
use wootz_ir::ElementwiseOp;

enum State {
    /// A tensor. While its elements are read and written one by one, their place is at hand; nobody gets to see the tensor then,
    /// so that this remains its only handle.
    Tensor(Tensor, Option<Place>),
    /// A few numbers on the CPU.
    Tiny(Tiny),
    /// An op of two small tensors that nobody has asked for yet.
    Pair(ElementwiseOp, Tensor, Tensor),
}

/// The value of an array object.
pub struct Content(RwLock<State>);

impl From<Tensor> for Content {
    fn from(tensor: Tensor) -> Content {
        Content(RwLock::new(State::Tensor(tensor, None)))
    }
}

impl From<Tiny> for Content {
    fn from(tiny: Tiny) -> Content {
        Content(RwLock::new(State::Tiny(tiny)))
    }
}

impl Content {
    /// `op` of two arrays that have values, if it is computed without a graph.
    pub fn pair(op: ElementwiseOp, a: &Content, b: &Content) -> Option<Content> {
        let (a, b) = (a.ready()?, b.ready()?);
        Tiny::takes(op, &a, &b).then(|| Content(RwLock::new(State::Pair(op, a, b))))
    }

    /// The tensor, if its value is available and small.
    fn ready(&self) -> Option<Tensor> {
        if let State::Pair(..) = &*self.0.read_recursive() {
            return None;
        }
        self.read(|tensor| (is_small(tensor) && tensor.is_ready()).then(|| tensor.clone()))
    }

    /// Passes the tensor to `look`, which may call Python.
    pub fn read<T>(&self, look: impl FnOnce(&Tensor) -> T) -> T {
        loop {
            // Recursive, because a collection of garbage that `look` sets off may come back here.
            if let State::Tensor(tensor, None) = &*self.0.read_recursive() {
                return look(tensor);
            }
            self.settle();
        }
    }

    /// Passes the shape and the dtype to `look`.
    pub fn describe<T>(&self, look: impl FnOnce(&Shape, DType) -> T) -> T {
        if let State::Tensor(tensor, _) = &*self.0.read_recursive() {
            return look(tensor.shape(), tensor.dtype());
        }
        self.read(|tensor| look(tensor.shape(), tensor.dtype()))
    }

    /// Passes the tensor to `change`, in which nothing may use the array.
    pub fn write<T>(&self, change: impl FnOnce(&mut Tensor) -> T) -> T {
        loop {
            if let State::Tensor(tensor, place) = &mut *self.0.write() {
                *place = None;
                return change(tensor);
            }
            self.settle();
        }
    }

    /// Writes elements at leading coordinates, where they are in memory; returns whether it did: not if there is no memory of its
    /// own that could be written, nor if the elements or coordinates are not as they should be.
    pub fn write_own(&self, coordinates: &[i64], elements: Elements<'_>) -> bool {
        self.with_own(|tensor, bytes| own::write(tensor, bytes, coordinates, elements))
    }

    /// The same over a region.
    pub fn write_region(&self, region: &Region, elements: Elements<'_>) -> bool {
        self.with_own(|tensor, bytes| region.write(tensor, bytes, elements))
    }

    /// Passes the tensor and its bytes to `write`; `false` if it has no memory of its own.
    fn with_own(&self, write: impl FnOnce(&Tensor, &mut [u8]) -> bool) -> bool {
        loop {
            if let State::Tensor(tensor, place) = &mut *self.0.write() {
                if place.is_none() {
                    *place = Place::of(tensor);
                }
                let Some(place) = place else { return false };
                // SAFETY: the tensor is alive. While its place is known it is neither cloned nor read elsewhere: whoever gets it
                // from here settles it first. The lock is held.
                let bytes = unsafe { place.bytes_mut() };
                return write(tensor, bytes);
            }
            self.settle();
        }
    }

    /// The available element at coordinates of an array in the CPU's memory.
    pub fn element(&self, coordinates: &[i64]) -> Option<Tiny> {
        match (&*self.0.read_recursive(), coordinates) {
            (State::Tensor(tensor, Some(place)), _) => {
                // SAFETY: as in `with_own`; nobody writes, because the lock is held for reading.
                let bytes = unsafe { place.bytes() };
                own::element(tensor, bytes, coordinates)
            }
            (State::Tensor(tensor, None), &[at]) => Tiny::element(tensor, at),
            (State::Tensor(tensor, None), _) => own::available(tensor, coordinates),
            (State::Tiny(_) | State::Pair(..), _) => None,
        }
    }

    /// Whether the value is available; `None` if it is a tensor, which knows.
    pub fn is_available(&self) -> Option<bool> {
        match &*self.0.read_recursive() {
            State::Tensor(_, None) => None,
            State::Tensor(_, Some(_)) | State::Tiny(_) => Some(true),
            State::Pair(..) => Some(false),
        }
    }

    /// The only number of a tiny value.
    pub fn number(&self) -> Option<Number> {
        match &*self.0.read_recursive() {
            State::Tiny(tiny) => tiny.number(),
            State::Tensor(..) | State::Pair(..) => None,
        }
    }

    /// The tiny value.
    pub fn tiny(&self) -> Option<Tiny> {
        match &*self.0.read_recursive() {
            State::Tiny(tiny) => Some(*tiny),
            State::Tensor(..) | State::Pair(..) => None,
        }
    }

    /// Computes a pair. Returns whether the value is available without more ado.
    pub fn eval(&self) -> bool {
        match &*self.0.read_recursive() {
            State::Tensor(_, place) => return place.is_some(),
            State::Tiny(_) => return true,
            // Nobody calls Python while holding the lock of a pair, so that waiting for it is short.
            State::Pair(..) => {}
        }
        let mut state = self.0.write();
        let value = match &*state {
            State::Tensor(..) | State::Tiny(_) => None,
            State::Pair(op, a, b) => {
                let tiny = Tiny::binary(*op, a, b).map(State::Tiny);
                tiny.or_else(|| Tensor::binary_now(*op, a, b).map(|tensor| State::Tensor(tensor, None)))
            }
        };
        let Some(value) = value else { return false };
        let old = std::mem::replace(&mut *state, value);
        drop(state);
        // Dropped here, after the lock: a drop may run arbitrary code.
        drop(old);
        true
    }

    /// Makes it a tensor that may be shared.
    fn settle(&self) {
        let mut state = self.0.write();
        let tensor = match &mut *state {
            State::Tensor(_, place) => {
                *place = None;
                return;
            }
            State::Tiny(tiny) => tiny.tensor(),
            State::Pair(op, a, b) => {
                Tensor::elementwise(*op, &[a, b]).expect("a pair has equal shapes and dtypes")
            }
        };
        let old = std::mem::replace(&mut *state, State::Tensor(tensor, None));
        drop(state);
        drop(old);
    }
}
