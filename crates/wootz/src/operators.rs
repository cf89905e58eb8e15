//! Elementwise methods, generated from the op table, and operator overloads.

use crate::tensor::Tensor;
use wootz_ir::{DType, ElementwiseOp, Error, Kind, Number, Result, build};

/// An operand of an elementwise op: a tensor, or a number, which takes the tensor's dtype.
pub trait Operand {
    /// The operand as a tensor that matches `like`.
    fn to_tensor(&self, op: &'static str, like: &Tensor) -> Result<Tensor>;
}

impl Operand for Tensor {
    fn to_tensor(&self, op: &'static str, like: &Tensor) -> Result<Tensor> {
        if self.device != like.device {
            return Err(Error::DeviceMismatch {
                op,
                a: like.device.name().into(),
                b: self.device.name().into(),
            });
        }
        Ok(self.clone())
    }
}

impl<O: Operand> Operand for &O {
    fn to_tensor(&self, op: &'static str, like: &Tensor) -> Result<Tensor> {
        (*self).to_tensor(op, like)
    }
}

impl<O: Operand> Operand for Result<O> {
    fn to_tensor(&self, op: &'static str, like: &Tensor) -> Result<Tensor> {
        match self {
            Ok(operand) => operand.to_tensor(op, like),
            Err(error) => Err(error.clone()),
        }
    }
}

impl Operand for Number {
    /// A number takes the tensor's dtype, like a Python scalar: only its kind can widen it.
    fn to_tensor(&self, op: &'static str, like: &Tensor) -> Result<Tensor> {
        let dtype = match (self, like.dtype().kind()) {
            (Number::Bool(_), _) => like.dtype(),
            (Number::Float(_), Kind::Float) => like.dtype(),
            (Number::Float(_), _) => DType::F32,
            (_, Kind::Bool) => DType::I64,
            _ => like.dtype(),
        };
        let integer = match *self {
            Number::Int(i) => Some(i as i128),
            Number::Uint(u) => Some(u as i128),
            Number::Bool(_) | Number::Float(_) => None,
        };
        if let (Some(value), Some((low, high))) = (integer, dtype.integer_range())
            && !(low..=high).contains(&value)
        {
            return Err(Error::argument(op, format!("{value} does not fit {dtype} ({low} to {high})")));
        }
        Ok(Tensor::scalar_on(*self, dtype, &like.device))
    }
}

macro_rules! number_operand {
    ($($t:ty),*) => {$(
        impl Operand for $t {
            fn to_tensor(&self, op: &'static str, like: &Tensor) -> Result<Tensor> {
                Number::from(*self).to_tensor(op, like)
            }
        }
    )*};
}
number_operand!(bool, i8, i16, i32, i64, u8, u16, u32, u64, usize, f32, f64, half::f16, half::bf16);

impl Tensor {
    /// An op of the elementwise table by its row.
    pub fn elementwise(op: ElementwiseOp, operands: &[&Tensor]) -> Result<Tensor> {
        let Some(first) = operands.first() else {
            return Err(Error::argument(op.name(), "expected operands"));
        };
        if let Some(other) = operands.iter().find(|t| t.device != first.device) {
            other.to_tensor(op.name(), first)?;
        }
        let nodes: smallvec::SmallVec<[_; 3]> = operands.iter().map(|t| &t.node).collect();
        first.wrap(build::elementwise(op, &nodes))
    }
}

macro_rules! method {
    ($doc:literal unary $variant:ident $name:ident) => {
        #[doc = $doc]
        pub fn $name(&self) -> Result<Tensor> {
            self.wrap(build::elementwise(ElementwiseOp::$variant, &[&self.node]))
        }
    };
    ($doc:literal binary $variant:ident $name:ident) => {
        #[doc = $doc]
        pub fn $name(&self, b: impl Operand) -> Result<Tensor> {
            let b = b.to_tensor(ElementwiseOp::$variant.name(), self)?;
            self.wrap(build::elementwise(ElementwiseOp::$variant, &[&self.node, &b.node]))
        }
    };
    ($doc:literal ternary Where $name:ident) => {
        #[doc = $doc]
        ///
        /// The tensor is the condition; at least one of `a` and `b` should be a tensor, since two numbers become f32 or i64.
        pub fn $name(&self, a: impl Operand, b: impl Operand) -> Result<Tensor> {
            let bare = Tensor::scalar_on(0.0, DType::F32, &self.device);
            let (mut x, mut y) = (a.to_tensor("where", &bare)?, b.to_tensor("where", &bare)?);
            if x.rank() == 0 && y.rank() > 0 {
                x = a.to_tensor("where", &y)?;
            } else if y.rank() == 0 && x.rank() > 0 {
                y = b.to_tensor("where", &x)?;
            }
            self.wrap(build::elementwise(ElementwiseOp::Where, &[&self.node, &x.node, &y.node]))
        }
    };
    ($doc:literal ternary $variant:ident $name:ident) => {
        #[doc = $doc]
        pub fn $name(&self, b: impl Operand, c: impl Operand) -> Result<Tensor> {
            let name = ElementwiseOp::$variant.name();
            let (b, c) = (b.to_tensor(name, self)?, c.to_tensor(name, self)?);
            self.wrap(build::elementwise(ElementwiseOp::$variant, &[&self.node, &b.node, &c.node]))
        }
    };
}

macro_rules! methods {
    ($(#[doc = $doc:literal] $arity:ident $variant:ident $name:ident $accepts:ident $gives:ident $numpy:literal
       |$($arg:ident),+| $body:block)*) => {
        /// Elementwise ops: one method per row of the op table.
        impl Tensor {
            $(method!($doc $arity $variant $name);)*
        }
    };
}
wootz_ir::for_each_elementwise!(methods);

macro_rules! operator {
    ($($trait:ident $method:ident => $op:ident),* $(,)?) => {$(
        impl<O: Operand> std::ops::$trait<O> for &Tensor {
            type Output = Result<Tensor>;
            fn $method(self, other: O) -> Result<Tensor> {
                Tensor::$op(self, other)
            }
        }
        impl<O: Operand> std::ops::$trait<O> for Tensor {
            type Output = Result<Tensor>;
            fn $method(self, other: O) -> Result<Tensor> {
                Tensor::$op(&self, other)
            }
        }
        impl std::ops::$trait<&Tensor> for Result<Tensor> {
            type Output = Result<Tensor>;
            fn $method(self, other: &Tensor) -> Result<Tensor> {
                Tensor::$op(&self?, other)
            }
        }
    )*};
}
operator! {
    Add add => add, Sub sub => sub, Mul mul => mul, Div div => div, Rem rem => remainder,
    BitAnd bitand => bitwise_and, BitOr bitor => bitwise_or, BitXor bitxor => bitwise_xor,
    Shl shl => shift_left, Shr shr => shift_right,
}

/// A number before a tensor: `2.0 * &x`. One float and one integer type, so that literals need no suffix.
macro_rules! number_in_front {
    ($($t:ty),*) => {$(
        number_in_front!(@one $t: Add add => add, Sub sub => sub, Mul mul => mul, Div div => div, Rem rem => remainder);
    )*};
    (@one $t:ty: $($trait:ident $method:ident => $op:ident),*) => {$(
        impl std::ops::$trait<&Tensor> for $t {
            type Output = Result<Tensor>;
            fn $method(self, tensor: &Tensor) -> Result<Tensor> {
                Tensor::$op(&self.to_tensor(stringify!($op), tensor)?, tensor)
            }
        }
        impl std::ops::$trait<Tensor> for $t {
            type Output = Result<Tensor>;
            fn $method(self, tensor: Tensor) -> Result<Tensor> {
                std::ops::$trait::$method(self, &tensor)
            }
        }
    )*};
}
number_in_front!(i64, f64);

impl std::ops::Neg for &Tensor {
    type Output = Result<Tensor>;
    fn neg(self) -> Result<Tensor> {
        Tensor::neg(self)
    }
}

impl std::ops::Not for &Tensor {
    type Output = Result<Tensor>;
    fn not(self) -> Result<Tensor> {
        self.bitwise_not()
    }
}
