//! The list of cases, family by family.

mod attention;
mod cast;
mod elementwise;
mod experts;
mod index;
mod large;
mod matmul;
mod movement;
mod norm;
mod quant;
mod reduce;
mod rope;
mod scan;
mod softmax;
mod sort;
mod wkv7;

use crate::case::{Build, Case, Numpy};
use crate::leaf::{LayoutClass, Leaf};
use crate::random::Random;
use crate::tolerance::Tolerance;
use crate::values::Values;
use wootz_ir::graph::NodeRef;
use wootz_ir::{DType, Result};

/// The extent of the case list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// A few adversarial cases per family and dtype, for validation before a device's first use.
    Quick,
    /// Every op, dtype and layout class.
    Full,
}

/// The cases of a level; names are unique.
pub fn cases(level: Level) -> Vec<Case> {
    let mut list = Vec::new();
    for family in [
        elementwise::cases,
        cast::cases,
        movement::cases,
        reduce::cases,
        scan::cases,
        sort::cases,
        softmax::cases,
        norm::cases,
        rope::cases,
        matmul::cases,
        attention::cases,
        index::cases,
        quant::cases,
        experts::cases,
        wkv7::cases,
        large::cases,
    ] {
        family(level, &mut list);
    }
    list
}

pub(crate) const FLOATS: [DType; 4] = [DType::F16, DType::BF16, DType::F32, DType::F64];

/// The dtypes that a quick check of a family uses.
pub(crate) const QUICK: [DType; 6] = [DType::F32, DType::F16, DType::BF16, DType::F64, DType::I32, DType::U8];

/// The description of a case; its name seeds its values.
#[derive(Clone)]
pub(crate) struct Draft {
    pub family: &'static str,
    pub op: &'static str,
    pub dtype: DType,
    pub layout: LayoutClass,
    pub values: Values,
    pub detail: String,
}

impl Draft {
    pub fn new(family: &'static str, op: &'static str, dtype: DType) -> Draft {
        let (layout, values) = (LayoutClass::Contiguous, Values::Ordinary);
        Draft { family, op, dtype, layout, values, detail: String::new() }
    }

    pub fn layout(self, layout: LayoutClass) -> Draft {
        Draft { layout, ..self }
    }

    pub fn values(self, values: Values) -> Draft {
        Draft { values, ..self }
    }

    pub fn detail(self, detail: impl Into<String>) -> Draft {
        Draft { detail: detail.into(), ..self }
    }

    pub fn name(&self) -> String {
        let Draft { family, op, dtype, layout, values, detail } = self;
        let mut name = format!("{family}/{op}/{dtype}/{layout}");
        if *values != Values::Ordinary {
            name = format!("{name}/{}", values.name());
        }
        if !detail.is_empty() {
            name = format!("{name}/{detail}");
        }
        name
    }

    pub fn random(&self) -> Random {
        Random::named(&self.name())
    }

    /// The finished case.
    pub fn case(
        self,
        leaves: Vec<Leaf>,
        tolerance: Tolerance,
        build: impl Fn(&[NodeRef]) -> Result<NodeRef> + Send + Sync + 'static,
    ) -> Case {
        let name = self.name();
        let Draft { family, op, dtype, layout, values, .. } = self;
        let build: Build = Box::new(build);
        Case {
            name,
            family,
            op,
            dtype,
            layout,
            values,
            leaves,
            build,
            tolerance,
            magnitude: None,
            numpy: None,
        }
    }
}

impl Case {
    pub(crate) fn magnitude(
        mut self,
        build: impl Fn(&[NodeRef]) -> Result<NodeRef> + Send + Sync + 'static,
    ) -> Case {
        self.magnitude = Some(Box::new(build));
        self
    }

    pub(crate) fn numpy(mut self, expression: impl Into<String>) -> Case {
        self.numpy = Some(Numpy { expression: expression.into(), operands: None });
        self
    }

    pub(crate) fn numpy_in(mut self, operands: DType, expression: impl Into<String>) -> Case {
        self.numpy = Some(Numpy { expression: expression.into(), operands: Some(operands) });
        self
    }
}
