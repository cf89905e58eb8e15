//! What a cluster that nobody has here would do: tokens per second from counted bytes and messages, the memory bandwidth of a machine
//! and a link between machines.
//!
//! It is a model, not a measurement. Decoding reads every weight of a rank once per token, and is as quick as that; arithmetic, caches
//! and the operating system are left out. Messages cost latency and bytes:
//!
//! - tensor: `max(bytes of a rank) / bandwidth + 2 · layers · collective(4 · width) + collective(4 · vocab / ranks)`
//! - pipeline: `sum(bytes of ranks) / bandwidth + (ranks − 1) · message(4 · width) + collective(4 · vocab)`
//!
//! with `message(b) = latency + b / link` and `collective(b) = ⌈log₂ ranks⌉ · message(b)`.

use super::{Parallel, Share};
use crate::config::Config;
use crate::error::Result;
use wootz_gguf::Gguf;

/// A connection between machines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Its name.
    pub name: &'static str,
    /// Seconds that a message takes, however small.
    pub latency: f64,
    /// Bytes per second.
    pub bandwidth: f64,
}

impl Link {
    /// Links by name, with latencies and rates as makers and MPI users commonly report them.
    pub const ALL: [Link; 4] = [
        Link { name: "1gbe", latency: 50e-6, bandwidth: 0.117e9 },
        Link { name: "10gbe", latency: 25e-6, bandwidth: 1.17e9 },
        Link { name: "thunderbolt5", latency: 15e-6, bandwidth: 7e9 },
        Link { name: "infiniband", latency: 2e-6, bandwidth: 23e9 },
    ];

    /// The link of this name.
    pub fn from_name(name: &str) -> std::result::Result<Link, String> {
        let names = Link::ALL.map(|link| link.name);
        let found = Link::ALL.into_iter().find(|link| link.name == name);
        found.ok_or_else(|| format!("'{name}' is none of {}", names.join(", ")))
    }

    /// Seconds of a message of so many bytes.
    pub fn message(&self, bytes: f64) -> f64 {
        self.latency + bytes / self.bandwidth
    }
}

/// Seconds of a token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// Reading weights.
    pub reading: f64,
    /// Messages.
    pub messages: f64,
}

impl Forecast {
    /// A model over so many machines, each of which reads `bandwidth` bytes per second from memory.
    pub fn new(
        gguf: &Gguf,
        config: &Config,
        (parallel, size): (Parallel, usize),
        bandwidth: f64,
        link: &Link,
    ) -> Result<Forecast> {
        let bytes = |rank| Ok(Share::planned(gguf, config, (rank, size), parallel)?.bytes(gguf) as f64);
        let parts = (0..size).map(bytes).collect::<Result<Vec<f64>>>()?;
        let rounds = (size as f64).log2().ceil();
        let (hidden, logits) = (4.0 * config.width as f64, 4.0 * config.vocab as f64);
        let collective = |bytes: f64| rounds * link.message(bytes);
        let (read, messages) = match parallel {
            Parallel::Tensor => {
                let sums = 2.0 * config.layers as f64 * collective(hidden);
                (parts.iter().copied().fold(0.0, f64::max), sums + collective(logits / size as f64))
            }
            Parallel::Pipeline => {
                (parts.iter().sum(), (size - 1) as f64 * link.message(hidden) + collective(logits))
            }
        };
        Ok(Forecast { reading: read / bandwidth, messages: if size > 1 { messages } else { 0.0 } })
    }

    /// Tokens per second of one sequence.
    pub fn rate(&self) -> f64 {
        1.0 / (self.reading + self.messages)
    }
}
