//! The exchange that starts every collective: each rank's header, and the data of small operations, reach all others
//! in ⌈log₂ n⌉ rounds (Bruck et al., 1997).

use crate::group::Group;
use crate::header::{HEADER, Header};
use crate::messages::Span;
use crate::waiting::{Patience, Scene};
use wootz_ir::Result;

/// Data up to this many bytes goes along with the header. Above, the algorithms of MPI libraries are better than two or
/// three rounds of everything.
pub const SMALL: usize = 16 << 10;

/// The tag of the first round.
const ROUND: i32 = 16;

/// The headers and data of all ranks.
pub struct Blocks {
    /// Blocks in the order of ranks, from this one on.
    words: Vec<u64>,
    block: usize,
    rank: usize,
    size: usize,
}

impl Blocks {
    fn new(rank: usize, size: usize, payload: usize) -> Blocks {
        let block = (HEADER + payload).next_multiple_of(8);
        // The first message may be that of a rank that does something else.
        let room = (block * size).max(block + HEADER + SMALL);
        Blocks { words: vec![0; room.div_ceil(8)], block, rank, size }
    }

    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.words)
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.words)
    }

    /// The data of a rank, of this length.
    pub fn payload(&self, rank: usize, length: usize) -> &[u8] {
        let at = (rank + self.size - self.rank) % self.size * self.block + HEADER;
        &self.bytes()[at..at + length]
    }
}

impl Group {
    /// Exchanges headers and data. Ranks that do something else than this one make all of them fail.
    pub(crate) fn exchange(&self, header: Header, payload: &[u8], patience: Patience) -> Result<Blocks> {
        let (rank, size) = (self.rank(), self.size());
        let mut blocks = Blocks::new(rank, size, payload.len());
        let block = blocks.block;
        header.encode(blocks.bytes_mut());
        blocks.bytes_mut()[HEADER..HEADER + payload.len()].copy_from_slice(payload);
        let scene = Scene { header, members: self.members(), patience };
        let (mut known, mut tag) = (1, ROUND);
        while known < size {
            let count = known.min(size - known);
            let (to, from) = ((rank + size - known) % size, (rank + known) % size);
            let room = if known == 1 { HEADER + SMALL } else { count * block };
            let bytes = blocks.bytes_mut();
            let (have, missing) = bytes.split_at_mut(known * block);
            let comm = self.comm();
            let receive =
                self.world().messages.receive(comm, Span::of_mut(&mut missing[..room]), from, tag)?;
            let send = self.world().messages.send(comm, Span::of(&have[..count * block]), to, tag)?;
            self.counters().sent(count * block);
            self.world().wait(&mut [receive, send], &scene)?;
            if known == 1 {
                self.compare(&header, &blocks.bytes()[block..block + HEADER], from)?;
            }
            known += count;
            tag += 1;
        }
        Ok(blocks)
    }

    /// Whether the next rank does the same. Where all ranks find that, all do the same.
    fn compare(&self, own: &Header, bytes: &[u8], from: usize) -> Result<()> {
        let other = Header::decode(bytes);
        if other.as_ref() == Some(own) {
            return Ok(());
        }
        let world = self.world();
        let (me, you) = (self.members()[self.rank()], self.members()[from]);
        Err(world.abandon(&match other {
            Some(other) if other.sequence != own.sequence => format!(
                "ranks are out of step: rank {me} is at operation {} ({}) and rank {you} at operation {} ({})",
                own.sequence,
                own.describe(),
                other.sequence,
                other.describe(),
            ),
            Some(other) => {
                format!("ranks disagree: rank {me} does {}, rank {you} does {}", own.describe(), other.describe())
            }
            None => format!("rank {you} sent something that is not a Wootz message"),
        }))
    }
}
