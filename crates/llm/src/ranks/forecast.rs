//! Performance estimates for a cluster: tokens per second from counted bytes, operations and messages, and what machines and the
//! link between them do.
//!
//! It is a model, not a measurement. Decoding reads every weight that a token needs once, and computes two operations with it,
//! whichever takes longer; attention over the context, caches and the operating system are left out. Messages cost latency and
//! bytes ([`Link`]):
//!
//! - tensor and expert: `max(work of a rank) + sums · sum(4 · width) + gather(4 · ⌈vocab / ranks⌉)`, with two sums per layer, and
//!   a third one where every token takes a shared expert
//! - pipeline: `sum(work of ranks) + (ranks − 1) · message(handed on) + 2 · broadcast(4)`, where what is handed on is `4 · width`
//!   bytes, and `8 · width` in RWKV-7

use super::{Link, Parallel, Share};
use crate::config::Config;
use crate::error::Result;
use crate::family::Family;
use std::time::Instant;
use wootz::distributed::Group;
use wootz::{DType, Device, Tensor};
use wootz_gguf::Gguf;

/// What a machine does in a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// Bytes that it reads from memory.
    pub bandwidth: f64,
    /// Additions and multiplications.
    pub flops: f64,
}

/// What ranks and the links between them do, measured on all of them at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cluster {
    /// The slowest rank.
    pub machine: Machine,
    /// The slowest link.
    pub link: Link,
    /// Bytes of memory of the smallest rank.
    pub memory: u64,
}

impl Cluster {
    /// Measures for about a tenth of a second; all ranks get the same.
    pub fn measure(group: &Group) -> Result<Cluster> {
        const READ: usize = 16 << 20;
        const SENT: usize = 256 << 10;
        const SUMS: usize = 32;
        const SIDE: usize = 256;
        let host = Device::cpu();
        let values = |shape: &[usize]| -> Result<Tensor> {
            let tensor = Tensor::full_on(shape, 1.0, DType::F32, &host)?;
            tensor.eval()?;
            Ok(tensor)
        };
        let (many, some, one, square) =
            (values(&[READ])?, values(&[SENT])?, values(&[1])?, values(&[SIDE, SIDE])?);
        let run = |tensor: wootz::Result<Tensor>| -> Result<()> { Ok(tensor?.eval().map(|_| ())?) };
        let read = best(group, || run(many.sum_axes([0], false)))?;
        let product = best(group, || run(square.matmul(&square)))?;
        let small = best(group, || (0..SUMS).try_for_each(|_| run(group.all_sum(&one))))? / SUMS as f64;
        let large = best(group, || run(group.all_sum(&some)))?;
        let limit = host.info().memory_limit as f64;
        let own = Tensor::from_slice_on(&[read, product, small, large, -limit], &host)?;
        let slowest = group.all_max(&own)?.to_vec::<f64>()?;
        let [read, product, small, large, limit] = slowest[..] else { unreachable!("five numbers went in") };
        let latency = small / super::link::rounds(group.size()).max(1.0);
        // What a sum takes beside latency, against what it would take at one byte per second.
        let unit = Link { name: "measured", latency: 0.0, bandwidth: 1.0 };
        let moved = (large
            - Link { latency, bandwidth: f64::INFINITY, ..unit }.sum((4 * SENT) as f64, group.size()))
        .max(1e-9);
        Ok(Cluster {
            machine: Machine {
                bandwidth: (4 * READ) as f64 / read,
                flops: 2.0 * SIDE.pow(3) as f64 / product,
            },
            link: Link {
                latency,
                bandwidth: unit.sum((4 * SENT) as f64, group.size()).max(1.0) / moved,
                ..unit
            },
            memory: -limit as u64,
        })
    }
}

/// The least seconds of a few turns that all ranks begin together.
fn best(group: &Group, mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    work()?;
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        group.barrier()?;
        let begin = Instant::now();
        work()?;
        best = best.min(begin.elapsed().as_secs_f64());
    }
    Ok(best)
}

/// Seconds of a token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// Reading weights.
    pub reading: f64,
    /// Computing with them, at the same time.
    pub computing: f64,
    /// Messages.
    pub messages: f64,
}

impl Forecast {
    /// The most likely token after one sequence, by a model over so many machines.
    pub fn new(
        gguf: &Gguf,
        config: &Config,
        (parallel, size): (Parallel, usize),
        machine: &Machine,
        link: &Link,
    ) -> Result<Forecast> {
        let work =
            |rank| Ok(Share::planned(gguf, config, (rank, size), parallel)?.work_per_token(gguf, config));
        let parts = (0..size).map(work).collect::<Result<Vec<Work>>>()?;
        let hidden = 4.0 * config.width as f64;
        let together = |part: fn(&Work) -> f64| match parallel {
            Parallel::Tensor | Parallel::Expert => parts.iter().map(part).fold(0.0, f64::max),
            Parallel::Pipeline => parts.iter().map(part).sum(),
        };
        let messages = match parallel {
            _ if size == 1 => 0.0,
            Parallel::Tensor | Parallel::Expert => {
                let logits = 4.0 * config.vocab.div_ceil(size) as f64;
                sums(config) as f64 * link.sum(hidden, size) + link.gather(logits, size)
            }
            Parallel::Pipeline => {
                // RWKV's layers read the values of the first one, too.
                let handed_on = if config.family == Family::Rwkv7 { 2.0 * hidden } else { hidden };
                (size - 1) as f64 * link.message(handed_on) + 2.0 * link.broadcast(4.0, size)
            }
        };
        let (reading, computing) = (together(|work| work.bytes), together(|work| work.flops));
        Ok(Forecast { reading: reading / machine.bandwidth, computing: computing / machine.flops, messages })
    }

    /// Tokens per second of one sequence.
    pub fn rate(&self) -> f64 {
        1.0 / (self.reading.max(self.computing) + self.messages)
    }
}

/// What a rank does for a token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Work {
    /// Bytes of weights that it reads.
    pub bytes: f64,
    /// Additions and multiplications with them.
    pub flops: f64,
}

/// Sums over ranks for a token, where heads and columns are divided.
fn sums(config: &Config) -> usize {
    let shared = config.experts.filter(|experts| experts.shared_ffn.is_some());
    let with_shared = shared.map_or(0, |experts| config.layers.saturating_sub(experts.dense_layers));
    2 * config.layers + with_shared
}
