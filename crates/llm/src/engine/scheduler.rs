//! The loop of the engine's thread: which sequence runs next, and whose memory is freed.

use super::EngineOptions;
use super::disk::{Disk, PromptCache};
use super::groups::groups;
use super::job::Failure;
use super::prefix::{PrefixCache, Reuse, shared};
use super::queue::{Queue, Waiting};
use super::ranks::{self, Leader, Order};
use super::sequence::Sequence;
use super::slot::{Next, Slot};
use super::stats::Stats;
use crate::error::Result;
use crate::generate::Finish;
use crate::model::Model;
use crate::passes::CHUNK;
use crate::scores::Want;
use crate::session::{Session, SessionOptions};
use std::sync::Arc;
use std::time::Instant;
use wootz::DeviceKind;

/// Maximum number of sequences for the GPU kernels for few rows; larger batches use kernels that sum in another
/// order.
const ROWS_ON_GPU: usize = 8;

pub struct Scheduler {
    model: Arc<Model>,
    options: EngineOptions,
    reuse: Reuse,
    /// Maximum number of sequences per pass.
    rows: usize,
    pub slots: Vec<Slot>,
    cache: PrefixCache,
    disk: Option<Disk>,
    stats: Arc<Stats>,
    admitted: u64,
    clock: u64,
    /// Tells the other ranks of a divided model what to run.
    leader: Option<Arc<Leader>>,
}

/// Whether a slot got the memory that it needs.
enum Room {
    Made,
    /// Other slots have priority.
    Later,
    /// Nothing is left to free.
    Never,
}

impl Scheduler {
    pub fn new(model: &Arc<Model>, mut options: EngineOptions, stats: Arc<Stats>) -> Result<Scheduler> {
        let leader = match ranks::lead(model, options.session(), options.budget)? {
            Some((leader, budget)) => {
                options.budget = budget;
                Some(leader)
            }
            None => None,
        };
        let on_cpu = model.device().info().kind == DeviceKind::Cpu;
        let open = |cache: &PromptCache| Disk::open(cache, model, options.session());
        let disk = options.prompt_cache.as_ref().map(open).transpose()?;
        Ok(Scheduler {
            model: model.clone(),
            disk,
            reuse: Reuse { exact: on_cpu || !options.invariant, chunk: CHUNK },
            rows: if on_cpu || !options.invariant { options.slots } else { options.slots.min(ROWS_ON_GPU) },
            slots: Vec::new(),
            cache: PrefixCache::default(),
            stats,
            admitted: 0,
            clock: 0,
            leader,
            options,
        })
    }

    fn session_options(&self) -> SessionOptions {
        self.options.session()
    }

    /// Ends cancelled and late jobs, and admits jobs to free slots.
    pub fn admit(&mut self, queue: &mut Queue) {
        let now = Instant::now();
        for waiting in queue.remove(|w| w.is_over(now)) {
            let abandoned = !waiting.listener.is_listening();
            self.admitted += 1;
            let mut slot = Slot::new(waiting, self.admitted);
            if abandoned { slot.finish(Finish::Cancelled, &self.stats) } else { self.late(&mut slot) }
        }
        let mut at = 0;
        while at < self.slots.len() {
            let slot = &self.slots[at];
            if slot.is_abandoned() {
                self.end(at, Finish::Cancelled);
            } else if slot.job.deadline.is_some_and(|deadline| now >= deadline) {
                let mut slot = self.slots.swap_remove(at);
                self.late(&mut slot);
            } else {
                at += 1;
            }
        }
        while self.slots.len() < self.options.slots {
            let Some(waiting) = queue.pop() else { break };
            self.accept(waiting);
        }
    }

    fn late(&self, slot: &mut Slot) {
        self.stats.failed();
        slot.fail(Failure::Late);
    }

    fn accept(&mut self, waiting: Waiting) {
        self.admitted += 1;
        let mut slot = Slot::new(waiting, self.admitted);
        if slot.job.limit == 0 {
            return slot.finish(Finish::Limit, &self.stats);
        }
        self.slots.push(slot);
    }

    /// One step: a chunk of one prompt, and a token for every sequence whose prompt has been processed.
    pub fn step(&mut self) -> Result<()> {
        self.read()?;
        self.decode()?;
        self.report();
        Ok(())
    }

    fn report(&self) {
        let active = self.slots.iter().filter_map(|s| s.session.as_ref()).map(|s| s.state_bytes()).sum();
        self.stats.memory(active, self.cache.bytes(), self.cache.len());
    }

    /// Processes a chunk of the prompt that has waited longest for one.
    fn read(&mut self) -> Result<()> {
        let chunk = self.reuse.chunk;
        let reads = |s: &Slot| matches!(s.next(chunk, self.reuse.exact), Next::Read(_));
        let mut order: Vec<usize> = (0..self.slots.len()).filter(|&i| reads(&self.slots[i])).collect();
        order.sort_by_key(|&i| (self.slots[i].served, self.slots[i].number));
        let mut may_start = true;
        for at in order {
            if self.slots[at].session.is_none() {
                if !may_start || self.waits_for_another(at) {
                    continue;
                }
                match self.start(at)? {
                    Room::Made => {}
                    Room::Later => {
                        // Who comes later must not take the memory that this one waits for.
                        may_start = false;
                        continue;
                    }
                    Room::Never => return self.too_small(at),
                }
            }
            let Next::Read(count) = self.slots[at].next(chunk, self.reuse.exact) else { continue };
            // Padding needs room too.
            let growth =
                self.slots[at].session.as_ref().map_or(0, |s| s.growth_for(count.next_multiple_of(16)));
            match if growth > 0 { self.make_room(at, growth) } else { Room::Made } {
                Room::Made => return self.read_chunk(at, count),
                Room::Later => {
                    // What it has is of more use to those before it.
                    self.slots[at].session = None;
                    self.stats.preempted();
                    may_start = false;
                }
                Room::Never => return self.too_small(at),
            }
        }
        Ok(())
    }

    fn too_small(&mut self, at: usize) -> Result<()> {
        self.fail(at, "the cache memory is too small for this prompt");
        Ok(())
    }

    /// Whether another prompt with the same prefix is being processed.
    fn waits_for_another(&self, at: usize) -> bool {
        let own = &self.slots[at];
        let best = self.longest_prefix(&own.tokens);
        self.slots.iter().enumerate().any(|(i, other)| {
            let shared = shared(&other.tokens, &own.tokens);
            let will_have = shared.min(own.tokens.len() - 1) / self.reuse.chunk * self.reuse.chunk;
            i != at && other.session.is_some() && other.fed() < other.prompt && will_have > best
        })
    }

    fn longest_prefix(&self, tokens: &[u32]) -> usize {
        let active = self.slots.iter().filter_map(|s| s.session.as_ref().map(|session| (s, session)));
        let active = active.map(|(s, session)| self.reuse.usable(session, s.prompt, tokens));
        active.max().unwrap_or(0).max(self.cache.longest(self.reuse, tokens))
    }

    /// Gives a slot its state: a copy of the longest available prefix, or an empty one.
    fn start(&mut self, at: usize) -> Result<Room> {
        self.fetch(at);
        let found = self.longest_prefix(&self.slots[at].tokens);
        let needed = Session::bytes_for(&self.model, self.session_options(), found + 1);
        match self.make_room(at, needed) {
            Room::Made => {}
            other => return Ok(other),
        }
        let tokens = self.slots[at].tokens.clone();
        let kept = self.cache.longest(self.reuse, &tokens);
        let from = self.slots.iter().filter_map(|s| s.session.as_ref().map(|session| (s, session)));
        let from = from.map(|(s, session)| (self.reuse.usable(session, s.prompt, &tokens), session));
        let session = match from.max_by_key(|best| best.0).filter(|best| best.0 > kept) {
            Some((count, session)) => session.fork(count)?,
            None => self.cache.fork(self.reuse, &tokens)?,
        };
        let session = match session {
            Some(session) => session,
            None => Sequence::new(&self.model, self.session_options(), self.leader.as_ref())?,
        };
        let known =
            self.slots.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, s)| shared(&s.tokens, &tokens));
        let branch = known.max().unwrap_or(0).max(self.cache.shared(&tokens));
        let slot = &mut self.slots[at];
        slot.branch = branch / self.reuse.chunk * self.reuse.chunk;
        slot.cached.get_or_insert(session.tokens().len());
        slot.session = Some(session);
        Ok(Room::Made)
    }

    /// Loads a prefix that is only in a file.
    fn fetch(&mut self, at: usize) {
        let tokens = &self.slots[at].tokens;
        let Some((file, count)) = self.disk.as_ref().and_then(|disk| disk.longest(self.reuse, tokens)) else {
            return;
        };
        let bytes = self.disk.as_ref().map_or(0, |disk| disk.bytes(file));
        if count < self.longest_prefix(tokens) + self.reuse.chunk / 2
            || !matches!(self.make_room(at, bytes), Room::Made)
        {
            return;
        }
        // Making room may have written a file, in the place of another.
        let tokens = &self.slots[at].tokens;
        if let Some(disk) = &mut self.disk
            && let Some((file, _)) = disk.longest(self.reuse, tokens)
            && let Some((session, read)) = disk.load(file)
        {
            self.cache.keep(session.into(), read);
        }
    }

    /// Saves what is kept to files, at the end.
    pub fn save(&mut self) {
        let Some(disk) = &mut self.disk else { return };
        while let Some((session, read)) = self.cache.pop_oldest() {
            disk.store(&session, read);
        }
    }

    fn read_chunk(&mut self, at: usize, count: usize) -> Result<()> {
        self.clock += 1;
        let model = self.model.clone();
        let slot = &mut self.slots[at];
        slot.served = self.clock;
        let fed = slot.fed();
        let is_last = fed + count == slot.tokens.len();
        let want = if is_last { slot.want(&model) } else { Want::Nothing };
        let tokens = &slot.tokens[fed..fed + count];
        let session = slot.session.as_mut().expect("started before it reads");
        let read = match is_last {
            true => session.advance_for(want, tokens).and_then(|scores| scores.read()).map(|mut o| o.pop()),
            false => session.feed(tokens).map(|()| None),
        };
        let offer = match read {
            Ok(offer) => offer,
            Err(error) => {
                self.fail(at, &error.to_string());
                return Ok(());
            }
        };
        self.stats.read(count);
        self.keep_checkpoint(at)?;
        if let Some(offer) = offer {
            self.choose(at, offer);
        }
        Ok(())
    }

    /// Recurrent states and windows cannot be truncated, so they are kept in the middle of a prompt, for others to
    /// continue from: where it parts from other prompts, as after a shared system prompt; at its last complete chunk;
    /// and after 4, 8, 16 … chunks.
    fn keep_checkpoint(&mut self, at: usize) -> Result<()> {
        let slot = &self.slots[at];
        let (fed, chunk) = (slot.fed(), self.reuse.chunk);
        let Some(session) = slot.session.as_ref().filter(|session| !session.can_rewind()) else {
            return Ok(());
        };
        if fed == 0 || !fed.is_multiple_of(chunk) || fed > slot.prompt {
            return Ok(());
        }
        let chunks = fed / chunk;
        let is_wanted =
            slot.prompt - fed < chunk || fed == slot.branch || (chunks >= 4 && chunks.is_power_of_two());
        if is_wanted
            && self.used() + session.state_bytes() <= self.options.budget
            && let Some(copy) = session.fork(fed)?
        {
            self.cache.keep(copy, fed);
        }
        Ok(())
    }

    fn used(&self) -> usize {
        let active: usize =
            self.slots.iter().filter_map(|s| s.session.as_ref()).map(|s| s.state_bytes()).sum();
        active + self.cache.bytes()
    }

    /// Frees memory until `bytes` more fit: first kept sequences, then the states of later slots, which are
    /// recomputed.
    fn make_room(&mut self, at: usize, bytes: usize) -> Room {
        let number = self.slots[at].number;
        while self.used() + bytes > self.options.budget {
            if let Some((session, read)) = self.cache.pop_oldest() {
                if let Some(disk) = &mut self.disk {
                    disk.store(&session, read);
                }
                continue;
            }
            let later = self.slots.iter_mut().filter(|s| s.number > number && s.session.is_some());
            if let Some(last) = later.max_by_key(|s| s.number) {
                last.session = None;
                self.stats.preempted();
                continue;
            }
            let others = self.slots.iter().any(|s| s.number < number && s.session.is_some());
            return if others { Room::Later } else { Room::Never };
        }
        Room::Made
    }

    /// Decodes one token for all slots whose prompts have been processed.
    fn decode(&mut self) -> Result<()> {
        let decodes =
            |s: &Slot| s.session.is_some() && s.next(self.reuse.chunk, self.reuse.exact) == Next::Decode;
        let mut numbers: Vec<u64> = self.slots.iter().filter(|s| decodes(s)).map(|s| s.number).collect();
        numbers.sort_unstable();
        for number in &numbers {
            let Some(at) = self.slots.iter().position(|s| s.number == *number) else { continue };
            let Some(growth) = self.slots[at].session.as_ref().map(|s| s.growth_for(1)) else { continue };
            match if growth > 0 { self.make_room(at, growth) } else { Room::Made } {
                Room::Made => {}
                Room::Later => self.slots[at].session = None,
                Room::Never => self.end(at, Finish::Context),
            }
        }
        let mut going: Vec<usize> =
            (0..self.slots.len()).filter(|&i| numbers.contains(&self.slots[i].number)).collect();
        going.retain(|&i| self.slots[i].session.is_some());
        let capacity = |i: usize| self.slots[i].session.as_ref().map_or(0, |s| s.capacity());
        going.sort_by_key(|&i| (capacity(i), self.slots[i].number));
        let sizes: Vec<usize> = going.iter().map(|&i| capacity(i)).collect();
        let numbers: Vec<u64> = going.iter().map(|&i| self.slots[i].number).collect();
        for group in groups(&sizes, self.rows) {
            let group: Vec<u64> = group.iter().map(|&i| numbers[i]).collect();
            self.decode_group(&group)?;
        }
        Ok(())
    }

    fn decode_group(&mut self, numbers: &[u64]) -> Result<()> {
        let model = self.model.clone();
        let place = |slots: &[Slot], number: u64| slots.iter().position(|s| s.number == number);
        let want = numbers.iter().filter_map(|&n| place(&self.slots, n)).map(|i| self.slots[i].want(&model));
        let want = want.max().unwrap_or(Want::Best);
        let mut picked: Vec<&mut Slot> =
            self.slots.iter_mut().filter(|s| numbers.contains(&s.number)).collect();
        picked.sort_by_key(|s| numbers.iter().position(|n| *n == s.number));
        let tokens: Vec<u32> = picked.iter().map(|s| s.tokens[s.fed()]).collect();
        let begin = Instant::now();
        let mut sessions: Vec<&mut Sequence> = picked.iter_mut().filter_map(|s| s.session.as_mut()).collect();
        let result = Sequence::step_together(want, &mut sessions, &tokens);
        let offers = match result.and_then(|scores| scores.read()) {
            Ok(offers) => offers,
            Err(error) => {
                // Their states may be half updated.
                let why = error.to_string();
                for number in numbers {
                    if let Some(at) = place(&self.slots, *number) {
                        self.fail(at, &why);
                    }
                }
                return Ok(());
            }
        };
        self.stats.decoded(numbers.len(), begin.elapsed());
        for (number, offer) in numbers.iter().zip(offers) {
            let Some(at) = place(&self.slots, *number) else { continue };
            // An answer that is read again is known up to its last token.
            if self.slots[at].fed() == self.slots[at].tokens.len() {
                self.choose(at, offer);
            }
        }
        Ok(())
    }

    fn choose(&mut self, at: usize, offer: crate::sampling::Offer) {
        let context = match self.options.context {
            0 => self.model.config().context,
            context => context,
        };
        match self.slots[at].choose(&self.model, offer, context, &self.stats) {
            Ok(None) => {}
            Ok(Some(finish)) => self.end(at, finish),
            Err(error) => self.fail(at, &error.to_string()),
        }
    }

    /// Finishes an answer, and keeps its state.
    fn end(&mut self, at: usize, finish: Finish) {
        let mut slot = self.slots.swap_remove(at);
        if let Some(session) = slot.session.take()
            && self.options.keep_prefixes
            && !session.tokens().is_empty()
        {
            self.cache.keep(session, slot.prompt);
        }
        self.report();
        slot.finish(finish, &self.stats);
    }

    fn fail(&mut self, at: usize, why: &str) {
        let why = self.failure(why);
        self.fail_for(at, why);
    }

    /// What has gone wrong, for who waits for an answer.
    pub fn failure(&self, why: &str) -> Failure {
        self.lost().map_or_else(|| Failure::Internal(why.to_owned()), Failure::Unavailable)
    }

    fn fail_for(&mut self, at: usize, why: Failure) {
        let mut slot = self.slots.swap_remove(at);
        self.stats.failed();
        slot.fail(why);
    }

    /// Why no pass can be run any more, where a rank is lost.
    pub fn lost(&self) -> Option<String> {
        self.leader.as_ref()?.failure()
    }

    /// Whether other ranks run the passes too.
    pub fn leads(&self) -> bool {
        self.leader.is_some()
    }

    /// Looks whether the other ranks are still there.
    pub fn look(&self) {
        if let Some(leader) = &self.leader {
            // What has gone wrong is remembered.
            let _ = leader.tell(Order::Wait);
        }
    }

    /// Ends all answers with an error.
    pub fn fail_all(&mut self, why: &Failure) {
        for at in (0..self.slots.len()).rev() {
            self.fail_for(at, why.clone());
        }
    }

    /// Drops kept sequences.
    pub fn forget(&mut self) {
        self.cache.clear();
        self.report();
    }
}
