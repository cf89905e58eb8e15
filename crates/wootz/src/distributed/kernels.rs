//! The host kernels of collectives. Each is created once per group, so that graphs with it find their plans in the
//! cache.

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use wootz_ir::custom::HostArray;
use wootz_ir::{CustomKernel, DType, Result, Shape};
use wootz_mpi::{Group, ReduceOp};

/// The operation of a kernel. Receivers specify the shape and dtype, because there is no operand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Collective {
    AllReduce(ReduceOp),
    AllGather,
    ReduceScatter(ReduceOp),
    /// The root's tensor.
    BroadcastFrom(usize),
    /// What the root has.
    BroadcastTo(usize, Shape, DType),
    Send(usize),
    Receive(usize, Shape, DType),
}

#[derive(Default)]
pub struct Kernels(Mutex<FxHashMap<Collective, Arc<CustomKernel>>>);

impl Kernels {
    pub fn get(&self, group: &Group, collective: Collective) -> Arc<CustomKernel> {
        let mut known = self.0.lock();
        let made = known.entry(collective);
        made.or_insert_with_key(|collective| Arc::new(kernel(group.clone(), collective.clone()))).clone()
    }
}

fn kernel(group: Group, collective: Collective) -> CustomKernel {
    let name = collective.name(&group);
    CustomKernel::new(name).with_fallible_host(move |operands, result| {
        let x = &operands[0];
        collective.run(&group, x, result)
    })
}

impl Collective {
    fn name(&self, group: &Group) -> String {
        let size = group.size();
        match self {
            Collective::AllReduce(op) => format!("all_{} of {size} ranks", op.name()),
            Collective::AllGather => format!("all_gather of {size} ranks"),
            Collective::ReduceScatter(op) => format!("{}_scatter of {size} ranks", op.name()),
            Collective::BroadcastFrom(root) | Collective::BroadcastTo(root, ..) => {
                format!("broadcast from rank {root}")
            }
            Collective::Send(to) => format!("send to rank {to}"),
            Collective::Receive(from, ..) => format!("recv from rank {from}"),
        }
    }

    fn run(&self, group: &Group, x: &HostArray<'_>, result: &mut [u8]) -> Result<()> {
        match self {
            Collective::AllReduce(op) => group.all_reduce(*op, x.dtype, x.shape, x.bytes, result),
            Collective::AllGather => group.all_gather(x.dtype, x.shape, x.bytes, result),
            Collective::ReduceScatter(op) => group.reduce_scatter(*op, x.dtype, x.shape, x.bytes, result),
            Collective::BroadcastFrom(root) => {
                result.copy_from_slice(x.bytes);
                group.broadcast(*root, x.dtype, x.shape, result)
            }
            Collective::BroadcastTo(root, shape, dtype) => group.broadcast(*root, *dtype, shape, result),
            Collective::Send(to) => {
                group.send(*to, x.dtype, x.shape, x.bytes)?;
                // A send that is waited for as a mark has a result of one byte; one that passes its tensor on, all of it.
                if result.len() == x.bytes.len() {
                    result.copy_from_slice(x.bytes);
                }
                Ok(())
            }
            Collective::Receive(from, shape, dtype) => group.receive(*from, *dtype, shape, result),
        }
    }
}
