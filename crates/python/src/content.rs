//! What an array object holds: a tensor, or something smaller that becomes one when it is needed.

use parking_lot::RwLock;
use wootz::{Tensor, Tiny, is_small};
use wootz_ir::ElementwiseOp;

enum State {
    Tensor(Tensor),
    /// A few numbers on the CPU.
    Tiny(Tiny),
    /// An op of two small tensors that nobody has asked for yet.
    Pair(ElementwiseOp, Tensor, Tensor),
}

/// The value of an array object.
pub struct Content(RwLock<State>);

impl From<Tensor> for Content {
    fn from(tensor: Tensor) -> Content {
        Content(RwLock::new(State::Tensor(tensor)))
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
        if matches!(&*self.0.read_recursive(), State::Tiny(_)) {
            self.settle();
        }
        match &*self.0.read_recursive() {
            State::Tensor(tensor) if is_small(tensor) && tensor.is_ready() => Some(tensor.clone()),
            State::Tensor(_) | State::Tiny(_) | State::Pair(..) => None,
        }
    }

    /// Passes the tensor to `look`, which may call Python.
    pub fn read<T>(&self, look: impl FnOnce(&Tensor) -> T) -> T {
        self.settle();
        // Recursive, because a collection of garbage that `look` sets off may come back here.
        match &*self.0.read_recursive() {
            State::Tensor(tensor) => look(tensor),
            State::Tiny(_) | State::Pair(..) => unreachable!("a tensor remains one"),
        }
    }

    /// Passes the tensor to `change`, in which nothing may use the array.
    pub fn write<T>(&self, change: impl FnOnce(&mut Tensor) -> T) -> T {
        self.settle();
        match &mut *self.0.write() {
            State::Tensor(tensor) => change(tensor),
            State::Tiny(_) | State::Pair(..) => unreachable!("a tensor remains one"),
        }
    }

    /// Whether the value is available; `None` if it is a tensor, which knows.
    pub fn is_available(&self) -> Option<bool> {
        match &*self.0.read_recursive() {
            State::Tensor(_) => None,
            State::Tiny(_) => Some(true),
            State::Pair(..) => Some(false),
        }
    }

    /// The only number of a tiny value.
    pub fn number(&self) -> Option<wootz::Number> {
        match &*self.0.read_recursive() {
            State::Tiny(tiny) => tiny.number(),
            State::Tensor(_) | State::Pair(..) => None,
        }
    }

    /// Computes a pair. Returns whether the value is available without more ado.
    pub fn eval(&self) -> bool {
        match &*self.0.read_recursive() {
            State::Tensor(_) => return false,
            State::Tiny(_) => return true,
            // Nobody calls Python while holding the lock of a pair, so that waiting for it is short.
            State::Pair(..) => {}
        }
        let mut state = self.0.write();
        let value = match &*state {
            State::Tensor(_) | State::Tiny(_) => None,
            State::Pair(op, a, b) => {
                let tiny = Tiny::binary(*op, a, b).map(State::Tiny);
                tiny.or_else(|| Tensor::binary_now(*op, a, b).map(State::Tensor))
            }
        };
        let Some(value) = value else { return false };
        let old = std::mem::replace(&mut *state, value);
        drop(state);
        // Dropped here, after the lock: a drop may run arbitrary code.
        drop(old);
        true
    }

    /// Makes it a tensor.
    fn settle(&self) {
        if matches!(&*self.0.read_recursive(), State::Tensor(_)) {
            return;
        }
        let mut state = self.0.write();
        let tensor = match &*state {
            State::Tensor(_) => return,
            State::Tiny(tiny) => tiny.tensor(),
            State::Pair(op, a, b) => {
                Tensor::elementwise(*op, &[a, b]).expect("a pair has equal shapes and dtypes")
            }
        };
        let old = std::mem::replace(&mut *state, State::Tensor(tensor));
        drop(state);
        drop(old);
    }
}
