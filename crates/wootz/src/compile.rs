//! Functions of tensors, compiled once per signature and replayed.

use crate::device::Device;
use crate::eval::run;
use crate::tensor::Tensor;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use wootz_backend::Executable;
use wootz_ir::graph::{Leaf, Node, NodeRef, Trace};
use wootz_ir::{DType, Error, Layout, Number, Result, Shape};
use wootz_plan::Plan;

/// What a plan of a function depends on: device, shapes and dtypes of the arguments, and which of them are donated.
type Signature = Vec<(DType, Shape, bool)>;

type Function = dyn Fn(&[Tensor]) -> Result<Vec<Tensor>> + Send + Sync;

/// A function that is traced once for each signature of its arguments; later calls bind buffers and run the plan.
pub struct Compiled {
    function: Box<Function>,
    device: Device,
    plans: Mutex<FxHashMap<Signature, Arc<Traced>>>,
}

/// The plan of one signature.
struct Traced {
    executable: Arc<dyn Executable>,
    leaves: Vec<Bound>,
    constants: Vec<Number>,
    dtypes: Vec<DType>,
}

/// Where a leaf of the plan comes from.
enum Bound {
    /// The n-th argument.
    Argument(usize),
    /// A tensor that the function captured.
    Captured(Leaf),
}

/// Marks the leaf that stands for an argument while the function is traced.
struct Placeholder(usize);

/// Compiles a function for a device. The function must build its results from its arguments without looking at values.
pub fn compile(
    device: &Device,
    function: impl Fn(&[Tensor]) -> Result<Vec<Tensor>> + Send + Sync + 'static,
) -> Compiled {
    Compiled { function: Box::new(function), device: device.clone(), plans: Mutex::default() }
}

impl Compiled {
    /// Calls the function. Arguments are evaluated first; results come back evaluated.
    pub fn call(&self, arguments: &[&Tensor]) -> Result<Vec<Tensor>> {
        let mut leaves = Vec::with_capacity(arguments.len());
        for argument in arguments {
            if argument.device != self.device {
                return Err(Error::DeviceMismatch {
                    op: "compiled call",
                    a: self.device.name().into(),
                    b: argument.device.name().into(),
                });
            }
            leaves.push(self.argument(argument)?);
        }
        let signature: Signature =
            arguments.iter().zip(&leaves).map(|(t, l)| (t.dtype(), t.shape().clone(), l.donated)).collect();
        let known = self.plans.lock().get(&signature).cloned();
        let traced = match known {
            Some(traced) => traced,
            None => {
                let traced = Arc::new(self.trace(&signature)?);
                self.plans.lock().insert(signature, traced.clone());
                traced
            }
        };
        let bound = traced.leaves.iter().map(|leaf| match leaf {
            Bound::Argument(i) => &leaves[*i].payload,
            Bound::Captured(leaf) => &leaf.payload,
        });
        let mut results = Vec::with_capacity(traced.dtypes.len());
        let mut dtypes = traced.dtypes.iter();
        run(&self.device.home(), &traced.executable, bound, &traced.constants, |leaf| {
            let dtype = *dtypes.next().expect("a plan has a dtype for each output");
            results.push(Tensor::new(Node::leaf(leaf, dtype), &self.device));
        })?;
        Ok(results)
    }

    /// The plan for arguments like these.
    pub fn explain(&self, arguments: &[&Tensor]) -> Result<String> {
        let signature: Signature =
            arguments.iter().map(|t| (t.dtype(), t.shape().clone(), is_donated(t))).collect();
        Ok(self.trace(&signature)?.executable.plan().explain())
    }

    /// An argument's value in row-major order from the start of its buffer, as the plan expects it.
    fn argument(&self, tensor: &Tensor) -> Result<Leaf> {
        tensor.eval()?;
        let leaf = tensor.node.value().expect("just evaluated");
        if leaf.layout == Layout::contiguous(tensor.shape()) {
            return Ok(leaf);
        }
        let copy = tensor.copied()?;
        copy.node.value().ok_or_else(|| Error::argument("compiled call", "an argument has no value"))
    }

    fn trace(&self, signature: &Signature) -> Result<Traced> {
        let arguments: Vec<Tensor> = signature
            .iter()
            .enumerate()
            .map(|(i, (dtype, shape, donated))| {
                let leaf = Leaf {
                    layout: Layout::contiguous(shape),
                    donated: *donated,
                    payload: Arc::new(Placeholder(i)),
                };
                Tensor::new(Node::leaf(leaf, *dtype), &self.device)
            })
            .collect();
        let outputs = (self.function)(&arguments)?;
        let nodes: Vec<NodeRef> = outputs.iter().map(|t| t.node.clone()).collect();
        let trace = Trace::of(&nodes);
        let plan = Arc::new(Plan::new(&trace.graph, &self.device.home().backend().capabilities()));
        let executable = self.device.home().backend().compile(plan)?;
        let leaves = trace
            .leaves
            .into_iter()
            .map(|leaf| match leaf.payload.downcast_ref::<Placeholder>() {
                Some(Placeholder(i)) => Bound::Argument(*i),
                None => Bound::Captured(leaf),
            })
            .collect();
        let dtypes = nodes.iter().map(|n| n.dtype()).collect();
        Ok(Traced { executable, leaves, constants: trace.constants, dtypes })
    }
}

fn is_donated(tensor: &Tensor) -> bool {
    tensor.node.value().is_some_and(|leaf| leaf.donated)
}
