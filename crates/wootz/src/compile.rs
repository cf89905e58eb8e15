//! Functions of tensors, compiled once per signature and replayed.

use crate::device::Device;
use crate::dispatch::{self, Quote};
use crate::eval::Explanation;
use crate::program::{Program, Residence};
use crate::standing::OnProgress;
use crate::tensor::Tensor;
use crate::value::{Value, value_in};
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use wootz_ir::graph::{Leaf, Node, NodeRef, Payload, Trace};
use wootz_ir::{DType, Error, Layout, Number, Result, Shape};

/// The signature that a function's plan depends on: shapes and dtypes of the arguments, and which of them are
/// donated.
type Signature = Vec<(DType, Shape, bool)>;

type Function = dyn Fn(&[Tensor]) -> Result<Vec<Tensor>> + Send + Sync;

/// A function that is traced once per signature of its arguments; later calls bind buffers and run the plan. On an
/// automatic device, the first call with a signature chooses the device for all later ones.
pub struct Compiled {
    function: Box<Function>,
    device: Device,
    batch_invariant: bool,
    /// Keyed by the hash of their signatures, which is computed without copying shapes.
    plans: Mutex<FxHashMap<u64, SmallVec<[Arc<Traced>; 1]>>>,
    /// Maximum number of plans.
    limit: usize,
    /// Counts calls.
    clock: AtomicU64,
    /// Captured tensors that were moved to a plan's device, so that plans of several signatures share one copy.
    moved: Mutex<Vec<Moved>>,
}

/// A captured tensor's own value, and a copy of it on another device.
struct Moved {
    own: Payload,
    copy: Payload,
    device: Device,
}

/// The program of one signature.
struct Traced {
    signature: Signature,
    program: Program,
    leaves: Vec<Bound>,
    constants: Vec<Number>,
    dtypes: Vec<DType>,
    /// The call that used it last.
    used: AtomicU64,
}

/// An argument's value, and whether it is donated.
type Argument = (Payload, bool);

/// A call with a known plan and bound arguments, for callers that decide how to run it depending on its amount of
/// work.
pub struct Call {
    traced: Arc<Traced>,
    arguments: SmallVec<[Argument; 4]>,
    /// The value of each parameter that the plan reads, in the order of its leaves.
    parameters: SmallVec<[Payload; 4]>,
    device: Device,
}

/// The source of a plan's leaf.
enum Bound {
    /// The n-th argument.
    Argument(usize),
    /// A tensor that the function captured.
    Captured(Payload),
    /// A number that is passed with each call.
    Parameter { slot: usize, dtype: DType },
}

/// Marks the leaf that represents an argument while the function is traced.
struct Placeholder(usize);

/// Marks the leaf that represents a number while the function is traced.
struct Parameter {
    slot: usize,
    dtype: DType,
}

impl Tensor {
    /// A placeholder for number `slot` of those passed to [`Compiled::bind_with`], as a scalar of a dtype. It only
    /// has a value in calls of the compiled function that uses it.
    pub fn parameter(slot: usize, dtype: DType, device: &Device) -> Tensor {
        let layout = Layout::contiguous(&Shape::scalar());
        let leaf = Leaf { layout, donated: false, payload: Arc::new(Parameter { slot, dtype }) };
        Tensor::new(Node::leaf(leaf, dtype), device)
    }
}

/// Compiles a function for a device. The function must build its results without inspecting the values of its
/// arguments.
pub fn compile(
    device: &Device,
    function: impl Fn(&[Tensor]) -> Result<Vec<Tensor>> + Send + Sync + 'static,
) -> Compiled {
    Compiled {
        function: Box::new(function),
        device: device.clone(),
        batch_invariant: false,
        plans: Mutex::default(),
        limit: usize::MAX,
        clock: AtomicU64::new(0),
        moved: Mutex::default(),
    }
}

impl Compiled {
    /// Makes every row's result independent of the rows that are computed with it, bit for
    /// bit: a sequence gets the same values alone and in a batch. On a CPU, quantised products then always use tiles,
    /// and one worker processes all keys of a query, so single rows cost more. GPUs still choose kernels by the
    /// number of rows: there the caller must use row counts that share a kernel.
    pub fn batch_invariant(self, on: bool) -> Compiled {
        Compiled { batch_invariant: on, plans: Mutex::default(), ..self }
    }

    /// Keeps at most so many plans, those used last. Each signature has its own (dtypes and shapes of the arguments, and
    /// which of them are donated); without a limit, all are kept.
    pub fn keep_plans(self, limit: usize) -> Compiled {
        Compiled { limit: limit.max(1), ..self }
    }

    /// Calls the function. Arguments are evaluated first; results come back evaluated.
    pub fn call(&self, arguments: &[&Tensor]) -> Result<Vec<Tensor>> {
        self.bind(arguments)?.run()
    }

    /// Starts the function and returns without waiting, if the device is asynchronous; see
    /// [`eval_async`](crate::eval_async).
    pub fn call_async(&self, arguments: &[&Tensor]) -> Result<Vec<Tensor>> {
        self.bind(arguments)?.start()
    }

    /// Prepares a call: evaluates the arguments, and traces the function if their signature is new.
    pub fn bind(&self, arguments: &[&Tensor]) -> Result<Call> {
        self.bind_with(arguments, &[])
    }

    /// [`Compiled::bind`] with numbers for the [parameters](Tensor::parameter) that the function uses: different
    /// numbers need no new plan.
    pub fn bind_with(&self, arguments: &[&Tensor], numbers: &[Number]) -> Result<Call> {
        let values = self.arguments(arguments)?;
        let traced = match self.known(arguments, &values) {
            Some(traced) => traced,
            None => {
                let signed = arguments.iter().zip(&values);
                let signature: Signature =
                    signed.map(|(t, value)| (t.dtype(), t.shape().clone(), value.1)).collect();
                let traced = Arc::new(self.prepare(signature, &values)?);
                self.remember(key_of(arguments, &values), traced.clone());
                traced
            }
        };
        self.call_of(traced, values, numbers)
    }

    /// The same, if arguments of this signature have been seen before.
    pub fn find_with(&self, arguments: &[&Tensor], numbers: &[Number]) -> Result<Option<Call>> {
        let values = self.arguments(arguments)?;
        let known = self.known(arguments, &values);
        known.map(|traced| self.call_of(traced, values, numbers)).transpose()
    }

    fn call_of(
        &self,
        traced: Arc<Traced>,
        arguments: SmallVec<[Argument; 4]>,
        numbers: &[Number],
    ) -> Result<Call> {
        let mut parameters = SmallVec::new();
        for leaf in &traced.leaves {
            let Bound::Parameter { slot, dtype } = leaf else { continue };
            let number = numbers.get(*slot).ok_or_else(|| {
                let detail = format!("parameter {slot} has no value: got {} numbers", numbers.len());
                Error::argument("compiled call", detail)
            })?;
            let bytes = number.to_bytes(*dtype);
            let value: Payload = Arc::new(Value::upload(&traced.program.device, &bytes)?);
            parameters.push(value);
        }
        Ok(Call { traced, arguments, parameters, device: self.device.clone() })
    }

    /// The device that it was compiled for.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The plan for these arguments, and where it would run.
    pub fn explain(&self, arguments: &[&Tensor]) -> Result<Explanation> {
        let (values, trace) = self.traced(arguments)?;
        let residences = self.residences(&trace, &values)?;
        let (device, plan) = Program::plan(&self.device, &trace.graph, &residences)?;
        Ok(Explanation { device, plan })
    }

    /// The cost of a call with these arguments on a device that has all of them, or why the device cannot run it.
    /// Families that have not been validated on the device are validated now.
    pub fn quote(
        &self,
        device: &Device,
        arguments: &[&Tensor],
        on_progress: &mut OnProgress<'_>,
    ) -> Result<std::result::Result<Quote, String>> {
        let (_, trace) = self.traced(arguments)?;
        Ok(dispatch::quote(device, &trace.graph, 0, on_progress))
    }

    fn known(&self, arguments: &[&Tensor], values: &[Argument]) -> Option<Arc<Traced>> {
        let plans = self.plans.lock();
        let mut candidates = plans.get(&key_of(arguments, values))?.iter();
        let found = candidates.find(|traced| traced.is_for(arguments, values)).cloned();
        found.inspect(|traced| traced.used.store(self.clock.fetch_add(1, Relaxed), Relaxed))
    }

    /// Adds a plan, in place of the one that was not used for the longest time if there are too many.
    fn remember(&self, key: u64, traced: Arc<Traced>) {
        traced.used.store(self.clock.fetch_add(1, Relaxed), Relaxed);
        let mut plans = self.plans.lock();
        plans.entry(key).or_default().push(traced);
        if plans.values().map(|alike| alike.len()).sum::<usize>() <= self.limit {
            return;
        }
        let all = plans.iter().flat_map(|(key, alike)| alike.iter().map(|traced| (*key, traced.clone())));
        if let Some((key, oldest)) = all.min_by_key(|(_, traced)| traced.used.load(Relaxed))
            && let Some(alike) = plans.get_mut(&key)
        {
            alike.retain(|traced| !Arc::ptr_eq(traced, &oldest));
            if alike.is_empty() {
                plans.remove(&key);
            }
            drop(plans);
            // Otherwise the device would keep what this function drops.
            oldest.program.forget(&self.device);
        }
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
            tensor.eval_async()?;
            values.push(match row_major(tensor) {
                Some(value) => value,
                None => row_major(&tensor.copied()?)
                    .ok_or_else(|| Error::argument("compiled call", "an argument has no value"))?,
            });
        }
        Ok(values)
    }

    /// The graph for these arguments, and their values.
    fn traced(&self, arguments: &[&Tensor]) -> Result<(SmallVec<[Argument; 4]>, Trace)> {
        let values = self.arguments(arguments)?;
        let signed = arguments.iter().zip(&values);
        let signature: Signature = signed.map(|(t, v)| (t.dtype(), t.shape().clone(), v.1)).collect();
        Ok((values, self.trace(&signature)?.0))
    }

    /// The function's graph over placeholders for its arguments, and the dtypes of its results.
    fn trace(&self, signature: &Signature) -> Result<(Trace, Vec<DType>)> {
        let argument = |(i, (dtype, shape, donated)): (usize, &(DType, Shape, bool))| {
            let leaf = Leaf {
                layout: Layout::contiguous(shape),
                donated: *donated,
                payload: Arc::new(Placeholder(i)),
            };
            Tensor::new(Node::leaf(leaf, *dtype), &self.device)
        };
        let arguments: Vec<Tensor> = signature.iter().enumerate().map(argument).collect();
        let outputs = (self.function)(&arguments)?;
        let nodes: Vec<NodeRef> = outputs.iter().map(|t| t.node.clone()).collect();
        let dtypes = nodes.iter().map(|n| n.dtype()).collect();
        let mut trace = Trace::of(&nodes);
        trace.graph.batch_invariant = self.batch_invariant;
        Ok((trace, dtypes))
    }

    /// The locations of a trace's leaves: arguments where they are now, captured tensors where they were created.
    fn residences(&self, trace: &Trace, values: &[Argument]) -> Result<Vec<Residence>> {
        let moved = trace.leaves.iter().filter(|leaf| !leaf.payload.is::<Parameter>());
        let bound = moved.map(|leaf| match leaf.payload.downcast_ref::<Placeholder>() {
            Some(Placeholder(i)) => &values[*i].0,
            None => &leaf.payload,
        });
        Residence::list(&self.device, bound)
    }

    fn prepare(&self, signature: Signature, values: &[Argument]) -> Result<Traced> {
        let (trace, dtypes) = self.trace(&signature)?;
        let program = Program::of(&self.device, &trace.graph, &self.residences(&trace, values)?)?;
        let bind = |leaf: &Leaf| {
            if let Some(Placeholder(i)) = leaf.payload.downcast_ref() {
                return Ok(Bound::Argument(*i));
            }
            if let Some(&Parameter { slot, dtype }) = leaf.payload.downcast_ref() {
                return Ok(Bound::Parameter { slot, dtype });
            }
            self.captured(&leaf.payload, &program.device).map(Bound::Captured)
        };
        let leaves = trace.leaves.iter().map(bind).collect::<Result<_>>()?;
        let used = AtomicU64::new(0);
        Ok(Traced { signature, program, leaves, constants: trace.constants, dtypes, used })
    }

    /// A captured tensor's value on a plan's device: copied there once, not at every call.
    fn captured(&self, own: &Payload, device: &Device) -> Result<Payload> {
        let value = value_in(own)?;
        if value.device == *device {
            return Ok(own.clone());
        }
        let mut moved = self.moved.lock();
        if let Some(known) = moved.iter().find(|m| Arc::ptr_eq(&m.own, own) && m.device == *device) {
            return Ok(known.copy.clone());
        }
        let copy: Payload = Arc::new(value.to_device(device)?);
        moved.push(Moved { own: own.clone(), copy: copy.clone(), device: device.clone() });
        Ok(copy)
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
    pub fn device(&self) -> &Device {
        &self.traced.program.device
    }

    /// Amount of work: bytes touched plus operations.
    pub fn work(&self) -> f64 {
        self.traced.program.work
    }

    /// Runs it and waits; the results have values.
    pub fn run(self) -> Result<Vec<Tensor>> {
        self.execute(true)
    }

    /// Starts it; the results get values that become available when the run ends.
    pub fn start(self) -> Result<Vec<Tensor>> {
        self.execute(false)
    }

    fn execute(self, wait: bool) -> Result<Vec<Tensor>> {
        let Traced { program, leaves, constants, dtypes, .. } = &*self.traced;
        let mut parameters = self.parameters.iter();
        let bound = leaves.iter().map(|leaf| match leaf {
            Bound::Argument(i) => &self.arguments[*i].0,
            Bound::Captured(payload) => payload,
            Bound::Parameter { .. } => parameters.next().expect("a call has a value for each parameter"),
        });
        let mut results = Vec::with_capacity(dtypes.len());
        let mut dtypes = dtypes.iter();
        let take = |leaf| {
            let dtype = *dtypes.next().expect("a plan has a dtype for each output");
            results.push(Tensor::new(Node::leaf(leaf, dtype), &self.device));
        };
        if wait {
            program.run(bound, constants, take)?
        } else {
            program.start(bound, constants, take)?
        }
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

/// A tensor's value, if it is in row-major order from the start of its buffer.
fn row_major(tensor: &Tensor) -> Option<Argument> {
    let whole = |leaf: &Leaf| leaf.layout.offset == 0 && leaf.layout.is_contiguous();
    let value = |leaf: &Leaf| whole(leaf).then(|| (leaf.payload.clone(), leaf.donated));
    tensor.node.with_value(value).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Weak;

    #[test]
    fn plans_that_are_not_kept_are_dropped() {
        let device = Device::cpu();
        let function = compile(&device, |x| Ok(vec![x[0].mul(3.25)?.add(&x[0])?.exp()?])).keep_plans(2);
        let mut seen: Vec<Weak<_>> = Vec::new();
        for count in 1100..1110 {
            let x = Tensor::zeros_on([count], DType::F32, &device).unwrap();
            function.call(&[&x]).unwrap();
            let plans = function.plans.lock();
            let all = plans.values().flatten().map(|traced| Arc::downgrade(&traced.program.executable));
            seen.extend(all.filter(|new| seen.iter().all(|old| !old.ptr_eq(new))).collect::<Vec<_>>());
        }
        assert_eq!(seen.len(), 10);
        assert_eq!(seen.iter().filter(|plan| plan.strong_count() > 0).count(), 2);
    }
}
