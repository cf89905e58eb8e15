//! Groups of ranks, and their collectives over the bytes of any dtype.

use crate::exchange::SMALL;
use crate::failed;
use crate::header::{HEADER, Header, Operation};
use crate::messages::{Comm, Request, Span};
use crate::reduce::{self, ReduceOp};
use crate::traffic::{Counters, Traffic};
use crate::waiting::{Patience, Scene};
use crate::world::World;
use parking_lot::Mutex;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use wootz_ir::{DType, Result, Shape};

/// Tags of messages between two ranks: what they are, and their data.
const ANNOUNCED: i32 = 8;
const DATA: i32 = 9;

/// Elements of one message; more go in several.
const MOST: usize = 1 << 30;

/// A group of ranks that work together. Operations of a group run one at a time, and in the same order on all of its
/// ranks.
#[derive(Clone)]
pub struct Group(Arc<Inner>);

struct Inner {
    world: Arc<World>,
    comm: Comm,
    rank: usize,
    members: Vec<usize>,
    sequence: Mutex<u32>,
    counters: Counters,
}

impl Group {
    pub(crate) fn new(world: Arc<World>, comm: Comm, rank: usize, members: Vec<usize>) -> Group {
        let (sequence, counters) = (Mutex::new(0), Counters::default());
        Group(Arc::new(Inner { world, comm, rank, members, sequence, counters }))
    }

    /// This process's rank in the group.
    pub fn rank(&self) -> usize {
        self.0.rank
    }

    /// How many ranks the group has.
    pub fn size(&self) -> usize {
        self.0.members.len()
    }

    /// The world that the group is of.
    pub fn world(&self) -> &Arc<World> {
        &self.0.world
    }

    /// Its ranks, as ranks of the world.
    pub fn members(&self) -> &[usize] {
        &self.0.members
    }

    pub(crate) fn comm(&self) -> Comm {
        self.0.comm
    }

    /// Whether two handles are of one group.
    pub fn is(&self, other: &Group) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Statistics of this rank.
    pub fn traffic(&self) -> Traffic {
        self.0.counters.read()
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.0.counters
    }

    fn count(&self, bytes: usize) {
        self.counters().began(bytes);
    }

    /// Waits for a collective that the library does by itself.
    fn delegate(&self, request: Request, header: Header) -> Result<()> {
        self.counters().delegated();
        self.wait(request, header)
    }

    /// `work` as the next operation of the group.
    fn next<T>(&self, mut header: Header, work: impl FnOnce(Header) -> Result<T>) -> Result<T> {
        let mut sequence = self.0.sequence.lock();
        self.world().ready()?;
        header.sequence = *sequence;
        *sequence = sequence.wrapping_add(1);
        work(header)
    }

    fn wait(&self, request: Request, header: Header) -> Result<()> {
        let scene = Scene { header, members: self.members(), patience: Patience::Limited };
        self.world().wait(&mut [request], &scene)
    }

    /// Meets all others.
    pub(crate) fn meet(&self, header: Header, patience: Patience) -> Result<()> {
        self.next(header, |header| self.exchange(header, &[], patience).map(|_| ()))
    }

    /// Waits until all ranks have called it.
    pub fn barrier(&self) -> Result<()> {
        self.count(0);
        self.meet(Header::plain(Operation::Barrier), Patience::Limited)
    }

    /// The elements of all ranks combined, on every rank.
    pub fn all_reduce(
        &self,
        op: ReduceOp,
        dtype: DType,
        shape: &Shape,
        from: &[u8],
        into: &mut [u8],
    ) -> Result<()> {
        let operation = match op {
            ReduceOp::Sum => Operation::AllSum,
            ReduceOp::Max => Operation::AllMax,
            ReduceOp::Min => Operation::AllMin,
        };
        self.count(from.len());
        self.next(Header::new(operation, dtype, shape), |mut header| {
            if from.len() <= SMALL {
                header.payload = from.len() as u64;
                let blocks = self.exchange(header, from, Patience::Limited)?;
                let parts: Vec<&[u8]> =
                    (0..self.size()).map(|rank| blocks.payload(rank, from.len())).collect();
                reduce::combine(op, dtype, &parts, into);
                return Ok(());
            }
            self.exchange(header, &[], Patience::Limited)?;
            for (from, into) in from.chunks(MOST * dtype.size()).zip(into.chunks_mut(MOST * dtype.size())) {
                let (from, into) = (Span::elements(from, dtype), Span::elements_mut(into, dtype));
                let request = self.world().messages.all_reduce(self.comm(), op, dtype, from, into)?;
                self.delegate(request, header)?;
            }
            Ok(())
        })
    }

    /// Each rank's part of the elements of all ranks combined: rank `i` gets the `i`-th of as many parts as there are ranks.
    pub fn reduce_scatter(
        &self,
        op: ReduceOp,
        dtype: DType,
        shape: &Shape,
        from: &[u8],
        into: &mut [u8],
    ) -> Result<()> {
        let operation = match op {
            ReduceOp::Sum => Operation::SumScatter,
            ReduceOp::Max => Operation::MaxScatter,
            ReduceOp::Min => Operation::MinScatter,
        };
        if from.len() != into.len() * self.size() {
            let problem = format!("{} bytes are not {} times {}", from.len(), self.size(), into.len());
            return Err(failed(problem));
        }
        self.count(from.len());
        self.next(Header::new(operation, dtype, shape), |mut header| {
            if from.len() <= SMALL {
                header.payload = from.len() as u64;
                let blocks = self.exchange(header, from, Patience::Limited)?;
                let own = self.rank() * into.len()..(self.rank() + 1) * into.len();
                let part = |rank| &blocks.payload(rank, from.len())[own.clone()];
                let parts: Vec<&[u8]> = (0..self.size()).map(part).collect();
                // Parts may begin anywhere in a block; copies are aligned for every dtype.
                let aligned: Vec<Vec<u64>> = parts.iter().map(|part| aligned(part)).collect();
                let parts: Vec<&[u8]> =
                    aligned.iter().map(|words| &bytemuck::cast_slice(words)[..into.len()]).collect();
                reduce::combine(op, dtype, &parts, into);
                return Ok(());
            }
            self.exchange(header, &[], Patience::Limited)?;
            let (from, into) = (Span::elements(from, dtype), Span::elements_mut(into, dtype));
            let request = self.world().messages.reduce_scatter(self.comm(), op, dtype, from, into)?;
            self.delegate(request, header)
        })
    }

    /// The elements of all ranks, one after another, on every rank.
    pub fn all_gather(&self, dtype: DType, shape: &Shape, from: &[u8], into: &mut [u8]) -> Result<()> {
        if into.len() != from.len() * self.size() {
            let problem = format!("{} bytes are not {} times {}", into.len(), self.size(), from.len());
            return Err(failed(problem));
        }
        self.count(from.len());
        self.next(Header::new(Operation::AllGather, dtype, shape), |mut header| {
            if from.len() <= SMALL {
                header.payload = from.len() as u64;
                let blocks = self.exchange(header, from, Patience::Limited)?;
                for (rank, part) in into.chunks_mut(from.len().max(1)).enumerate() {
                    part.copy_from_slice(blocks.payload(rank, from.len()));
                }
                return Ok(());
            }
            self.exchange(header, &[], Patience::Limited)?;
            let (from, into) = (Span::elements(from, dtype), Span::elements_mut(into, dtype));
            let request = self.world().messages.all_gather(self.comm(), from, into)?;
            self.delegate(request, header)
        })
    }

    /// A few bytes of every rank, before anything else is known about them.
    pub(crate) fn gather_fixed(&self, from: &[u8]) -> Result<Vec<u8>> {
        let mut into = vec![0; from.len() * self.size()];
        self.all_gather(DType::U8, &Shape::from([from.len()]), from, &mut into)?;
        Ok(into)
    }

    /// Rank `root`'s elements, which it has in `data`, to the `data` of every rank.
    pub fn broadcast(&self, root: usize, dtype: DType, shape: &Shape, data: &mut [u8]) -> Result<()> {
        self.broadcast_with(root, dtype, shape, data, Patience::Limited)
    }

    fn broadcast_with(
        &self,
        root: usize,
        dtype: DType,
        shape: &Shape,
        data: &mut [u8],
        patience: Patience,
    ) -> Result<()> {
        self.check_rank("broadcast", root)?;
        let mut header = Header::new(Operation::Broadcast, dtype, shape);
        header.root = root as u16;
        self.count(if self.rank() == root { data.len() } else { 0 });
        self.next(header, |mut header| {
            if data.len() <= SMALL {
                header.payload = data.len() as u64;
                let blocks = self.exchange(header, data, patience)?;
                data.copy_from_slice(blocks.payload(root, data.len()));
                return Ok(());
            }
            self.exchange(header, &[], patience)?;
            for data in data.chunks_mut(MOST * dtype.size()) {
                let span = Span::elements_mut(data, dtype);
                let request = self.world().messages.broadcast(self.comm(), span, root)?;
                self.delegate(request, header)?;
            }
            Ok(())
        })
    }

    /// Rank 0's bytes, of any length, on every rank. The others wait as long as it takes: somebody may be typing.
    pub fn share(&self, bytes: &[u8]) -> Result<Vec<u8>> {
        // Short ones need no second message.
        const BEGINNING: usize = 504;
        let mut first = [0u8; 8 + BEGINNING];
        if self.rank() == 0 {
            let short = bytes.len().min(BEGINNING);
            first[..8].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
            first[8..8 + short].copy_from_slice(&bytes[..short]);
        }
        let patience = if self.rank() == 0 { Patience::Limited } else { Patience::Unlimited };
        self.broadcast_with(0, DType::U8, &Shape::from([first.len()]), &mut first, patience)?;
        let (length, beginning) = first.split_at(8);
        let length = length.iter().rev().fold(0, |sum, &byte| sum << 8 | usize::from(byte));
        let mut data = beginning[..length.min(BEGINNING)].to_vec();
        if length > BEGINNING {
            data.resize(length, 0);
            if self.rank() == 0 {
                data.copy_from_slice(bytes);
            }
            self.broadcast(0, DType::U8, &Shape::from([length]), &mut data)?;
        }
        Ok(data)
    }

    /// Fails on every rank unless all of them pass the same text; `what` names it in the error.
    pub fn agree(&self, what: &str, text: &str) -> Result<()> {
        const ROOM: usize = 512;
        let text = shortened(text, ROOM);
        let mut own = [0; ROOM];
        own[..text.len()].copy_from_slice(text.as_bytes());
        let all = self.gather_fixed(&own)?;
        let said = |rank: usize| String::from_utf8_lossy(&all[rank * ROOM..(rank + 1) * ROOM]).into_owned();
        let different = (1..self.size()).find(|&rank| said(rank) != said(0));
        let Some(other) = different else { return Ok(()) };
        let name = |rank: usize| self.world().name(self.members()[rank]);
        let (first, second) = (said(0), said(other));
        let (first, second) = (first.trim_end_matches('\0'), second.trim_end_matches('\0'));
        let detail =
            format!("ranks disagree on {what}: {} has {first}, {} has {second}", name(0), name(other));
        // Every rank has found it by itself.
        Err(self.world().note(failed(detail)))
    }

    fn check_rank(&self, operation: &str, rank: usize) -> Result<()> {
        if rank < self.size() {
            return Ok(());
        }
        Err(failed(format!("{operation}: there is no rank {rank} in a group of {}", self.size())))
    }

    /// Sends elements to a rank that receives as many.
    pub fn send(&self, to: usize, dtype: DType, shape: &Shape, from: &[u8]) -> Result<()> {
        self.check_rank("send", to)?;
        self.world().ready()?;
        self.count(from.len());
        let mut header = Header::new(Operation::Send, dtype, shape);
        header.payload = from.len() as u64;
        let mut words = [0u8; HEADER];
        header.encode(&mut words);
        let pair = [self.members()[to]];
        let scene = Scene { header, members: &pair, patience: Patience::Limited };
        let messages = &self.world().messages;
        let mut requests = vec![messages.send(self.comm(), Span::of(&words), to, ANNOUNCED)?];
        self.counters().sent(words.len());
        for part in from.chunks(MOST * dtype.size()) {
            self.counters().sent(part.len());
            requests.push(messages.send(self.comm(), Span::elements(part, dtype), to, DATA)?);
        }
        self.world().wait(&mut requests, &scene)
    }

    /// Receives elements from a rank that sends as many.
    pub fn receive(&self, from: usize, dtype: DType, shape: &Shape, into: &mut [u8]) -> Result<()> {
        self.check_rank("recv", from)?;
        self.world().ready()?;
        self.count(0);
        let mut own = Header::new(Operation::Receive, dtype, shape);
        own.payload = into.len() as u64;
        let mut words = [0u8; HEADER];
        let pair = [self.members()[from]];
        let scene = Scene { header: own, members: &pair, patience: Patience::Limited };
        let messages = &self.world().messages;
        let request = messages.receive(self.comm(), Span::of_mut(&mut words), from, ANNOUNCED)?;
        self.world().wait(&mut [request], &scene)?;
        let sent = Header::decode(&words);
        if !sent.is_some_and(|sent| sent.is_received_as(&own)) {
            let (me, you) = (self.members()[self.rank()], self.members()[from]);
            let sent = sent.map_or_else(|| "something else".into(), |sent| sent.describe());
            let cause = format!("ranks disagree: rank {me} does {}, rank {you} {sent}", own.describe());
            return Err(self.world().abandon(&cause));
        }
        for part in into.chunks_mut(MOST * dtype.size()) {
            let request = messages.receive(self.comm(), Span::elements_mut(part, dtype), from, DATA)?;
            self.world().wait(&mut [request], &scene)?;
        }
        Ok(())
    }

    /// The subgroup of ranks with the same colour, ordered by key, then by rank.
    pub fn split(&self, colour: i32, key: i32) -> Result<Group> {
        if colour < 0 {
            return Err(failed(format!("split: color {colour} is negative")));
        }
        self.next(Header::plain(Operation::Split), |mut header| {
            let mut own = [0; 8];
            own[..4].copy_from_slice(&colour.to_le_bytes());
            own[4..].copy_from_slice(&key.to_le_bytes());
            header.payload = own.len() as u64;
            let blocks = self.exchange(header, &own, Patience::Limited)?;
            let number = |bytes: &[u8]| i32::from_le_bytes(bytes.try_into().unwrap_or_default());
            let of = |rank: usize| {
                let bytes = blocks.payload(rank, 8);
                (number(&bytes[..4]), number(&bytes[4..]))
            };
            let mut mates: Vec<(i32, usize)> = (0..self.size())
                .filter(|&rank| of(rank).0 == colour)
                .map(|rank| (of(rank).1, rank))
                .collect();
            mates.sort_unstable();
            let rank = mates.iter().position(|&(_, rank)| rank == self.rank()).unwrap_or(0);
            let comm = self.world().messages.split(self.comm(), colour, rank as i32)?;
            let members = mates.iter().map(|&(_, rank)| self.members()[rank]).collect();
            Ok(Group::new(self.world().clone(), comm, rank, members))
        })
    }
}

/// A text that fits into `room` bytes; one that does not ends in a number that depends on all of it.
fn shortened(text: &str, room: usize) -> String {
    if text.len() <= room {
        return text.to_string();
    }
    let mut hash = DefaultHasher::new();
    text.hash(&mut hash);
    let mut length = room - 32;
    while !text.is_char_boundary(length) {
        length -= 1;
    }
    format!("{}… ({:016x})", &text[..length], hash.finish())
}

fn aligned(bytes: &[u8]) -> Vec<u64> {
    let mut words = vec![0u64; bytes.len().div_ceil(8)];
    bytemuck::cast_slice_mut::<u64, u8>(&mut words)[..bytes.len()].copy_from_slice(bytes);
    words
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn long_texts_are_told_apart_by_their_ends() {
        assert_eq!(shortened("short", 512), "short");
        let long = "é".repeat(400);
        let (a, b) = (shortened(&format!("{long}a"), 512), shortened(&format!("{long}b"), 512));
        assert!(a != b && a.len() <= 512 && a.starts_with("éé"));
    }
}
