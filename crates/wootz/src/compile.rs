//! Functions of tensors, compiled once per signature and replayed.

use crate::device::Device;
use crate::eval::{run, work_of};
use crate::tensor::Tensor;
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use wootz_backend::Executable;
use wootz_ir::graph::{Leaf, Node, NodeRef, Payload, Trace};
use wootz_ir::{DType, Error, Layout, Number, Result, Shape};
use wootz_plan::Plan;

/// What a plan of a function depends on: device, shapes and dtypes of the arguments, and which of them are donated.
type Signature = Vec<(DType, Shape, bool)>;

type Function = dyn Fn(&[Tensor]) -> Result<Vec<Tensor>> + Send + Sync;

/// A function that is traced once for each signature of its arguments; later calls bind buffers and run the plan.
pub struct Compiled {
    function: Box<Function>,
    device: Device,
    /// By the hash of their signatures, which is made without copying shapes.
    plans: Mutex<FxHashMap<u64, SmallVec<[Arc<Traced>; 1]>>>,
}

/// The plan of one signature.
struct Traced {
    signature: Signature,
    executable: Arc<dyn Executable>,
    leaves: Vec<Bound>,
    constants: Vec<Number>,
    dtypes: Vec<DType>,
    work: f64,
}

/// An argument's value, and whether it is donated.
type Argument = (Payload, bool);

/// A call whose plan is known and whose arguments are bound, for callers that decide how to run it by how much work it is.
pub struct Call {
    traced: Arc<Traced>,
    arguments: SmallVec<[Argument; 4]>,
    device: Device,
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
        self.bind(arguments)?.run()
    }

    /// A call that only has to run: arguments are evaluated, and the function is traced if their signature is new.
    pub fn bind(&self, arguments: &[&Tensor]) -> Result<Call> {
        let values = self.arguments(arguments)?;
        let traced = match self.known(arguments, &values) {
            Some(traced) => traced,
            None => {
                let signed = arguments.iter().zip(&values);
                let signature: Signature =
                    signed.map(|(t, value)| (t.dtype(), t.shape().clone(), value.1)).collect();
                let traced = Arc::new(self.trace(signature)?);
                self.plans.lock().entry(key_of(arguments, &values)).or_default().push(traced.clone());
                traced
            }
        };
        Ok(Call { traced, arguments: values, device: self.device.clone() })
    }

    /// The same, if arguments of this signature have been seen before.
    pub fn find(&self, arguments: &[&Tensor]) -> Result<Option<Call>> {
        let values = self.arguments(arguments)?;
        let known = self.known(arguments, &values);
        Ok(known.map(|traced| Call { traced, arguments: values, device: self.device.clone() }))
    }

    /// The device that it was compiled for.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The plan for arguments like these.
    pub fn explain(&self, arguments: &[&Tensor]) -> Result<String> {
        let signature: Signature =
            arguments.iter().map(|t| (t.dtype(), t.shape().clone(), is_donated(t))).collect();
        Ok(self.trace(signature)?.executable.plan().explain())
    }

    fn known(&self, arguments: &[&Tensor], values: &[Argument]) -> Option<Arc<Traced>> {
        let plans = self.plans.lock();
        let mut candidates = plans.get(&key_of(arguments, values))?.iter();
        candidates.find(|traced| traced.is_for(arguments, values)).cloned()
    }

    /// The arguments' values in row-major order from the start of their buffers, as plans expect them.
    fn arguments(&self, tensors: &[&Tensor]) -> Result<SmallVec<[Argument; 4]>> {
        let mut values = SmallVec::new();
        for tensor in tensors {
            if tensor.device != self.device {
                return Err(Error::DeviceMismatch {
                    op: "compiled call",
                    a: self.device.name().into(),
                    b: tensor.device.name().into(),
                });
            }
            tensor.eval()?;
            values.push(match row_major(tensor) {
                Some(value) => value,
                None => row_major(&tensor.copied()?)
                    .ok_or_else(|| Error::argument("compiled call", "an argument has no value"))?,
            });
        }
        Ok(values)
    }

    fn trace(&self, signature: Signature) -> Result<Traced> {
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
        let work = work_of(executable.plan());
        Ok(Traced { signature, executable, leaves, constants: trace.constants, dtypes, work })
    }
}

impl Traced {
    fn is_for(&self, arguments: &[&Tensor], values: &[Argument]) -> bool {
        let own = self.signature.iter();
        self.signature.len() == arguments.len()
            && own.zip(arguments).zip(values).all(|(((dtype, shape, donated), tensor), value)| {
                *dtype == tensor.dtype() && shape == tensor.shape() && *donated == value.1
            })
    }
}

impl Call {
    /// The device that runs it.
    pub fn device(&self) -> Device {
        self.device.home()
    }

    /// Bytes touched plus operations of products.
    pub fn work(&self) -> f64 {
        self.traced.work
    }

    /// Runs it; the results have values.
    pub fn run(self) -> Result<Vec<Tensor>> {
        let traced = &*self.traced;
        let bound = traced.leaves.iter().map(|leaf| match leaf {
            Bound::Argument(i) => &self.arguments[*i].0,
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
}

fn key_of(arguments: &[&Tensor], values: &[Argument]) -> u64 {
    let mut hasher = FxHasher::default();
    for (tensor, value) in arguments.iter().zip(values) {
        (tensor.dtype(), tensor.shape(), value.1).hash(&mut hasher);
    }
    hasher.finish()
}

/// A tensor's value, if it lies in row-major order from the start of its buffer.
fn row_major(tensor: &Tensor) -> Option<Argument> {
    let whole = |leaf: &Leaf| leaf.layout.offset == 0 && leaf.layout.is_contiguous();
    let value = |leaf: &Leaf| whole(leaf).then(|| (leaf.payload.clone(), leaf.donated));
    tensor.node.with_value(value).flatten()
}

fn is_donated(tensor: &Tensor) -> bool {
    tensor.node.value().is_some_and(|leaf| leaf.donated)
}
