//! Links between machines, and the time that messages and collectives take on them.

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

/// Bytes of the header of a message between ranks.
const HEADER: f64 = 64.0;
/// Up to so many bytes, data goes along with the header.
const SMALL: f64 = 16384.0;

impl Link {
    /// Links by name, with latencies and rates as makers and MPI users commonly report them.
    pub const ALL: [Link; 4] = [
        Link { name: "1gbe", latency: 50e-6, bandwidth: 0.117e9 },
        Link { name: "10gbe", latency: 25e-6, bandwidth: 1.17e9 },
        Link { name: "thunderbolt5", latency: 15e-6, bandwidth: 7e9 },
        Link { name: "infiniband", latency: 2e-6, bandwidth: 23e9 },
    ];

    /// The link of this name.
    pub fn from_name(name: &str) -> Result<Link, String> {
        let names = Link::ALL.map(|link| link.name);
        let found = Link::ALL.into_iter().find(|link| link.name == name);
        found.ok_or_else(|| format!("unknown link '{name}'; use one of {}", names.join(", ")))
    }

    /// Seconds of a message of so many bytes.
    pub fn message(&self, bytes: f64) -> f64 {
        self.latency + (HEADER + bytes) / self.bandwidth
    }

    /// Seconds of a sum, on all ranks, of so many bytes of each.
    pub fn sum(&self, bytes: f64, ranks: usize) -> f64 {
        // Large ones are scattered and gathered.
        self.collective(bytes, ranks, 2.0 * (ranks as f64 - 1.0) / ranks as f64)
    }

    /// Seconds until all ranks have so many bytes of each.
    pub fn gather(&self, bytes: f64, ranks: usize) -> f64 {
        self.collective(bytes, ranks, ranks as f64 - 1.0)
    }

    /// Seconds until all ranks have the bytes of one.
    pub fn broadcast(&self, bytes: f64, ranks: usize) -> f64 {
        self.collective(bytes, ranks, rounds(ranks))
    }

    /// A collective that, if it is large, passes its bytes through a link `turns` times after it has been announced.
    fn collective(&self, bytes: f64, ranks: usize, turns: f64) -> f64 {
        let announced =
            |bytes| rounds(ranks) * self.latency + (ranks as f64 - 1.0) * (HEADER + bytes) / self.bandwidth;
        match bytes <= SMALL {
            true => announced(bytes),
            false => announced(0.0) + rounds(ranks) * self.latency + turns * bytes / self.bandwidth,
        }
    }
}

/// Rounds in which all ranks hear of all others.
pub fn rounds(ranks: usize) -> f64 {
    f64::from(ranks.next_power_of_two().trailing_zeros())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_collectives_are_one_exchange_and_large_ones_follow_it() {
        let link = Link { name: "test", latency: 1.0, bandwidth: 64.0 };
        assert_eq!(link.message(128.0), 1.0 + 3.0);
        assert_eq!(link.sum(64.0, 1), 0.0);
        // Two rounds, in which a rank sends three blocks of a header and 64 bytes.
        assert_eq!(link.sum(64.0, 4), 2.0 + 3.0 * 2.0);
        assert_eq!(link.gather(64.0, 4), link.sum(64.0, 4));
        // Three headers in two rounds; then two rounds, and 1.5, 3 or 2 times 64 KiB.
        let large = 65536.0;
        assert_eq!(link.sum(large, 4), 2.0 + 3.0 + 2.0 + 1.5 * 1024.0);
        assert_eq!(link.gather(large, 4), 2.0 + 3.0 + 2.0 + 3.0 * 1024.0);
        assert_eq!(link.broadcast(large, 4), 2.0 + 3.0 + 2.0 + 2.0 * 1024.0);
        assert_eq!(rounds(3), 2.0);
    }
}
