//! The waiting queue: bounded, and alternating between clients.

use super::job::{Event, Failure, Job, Listener};
use std::collections::VecDeque;
use std::time::Instant;

/// A queued job.
pub struct Waiting {
    pub job: Job,
    pub listener: Box<dyn Listener>,
    pub arrived: Instant,
}

impl Waiting {
    /// Whether it was cancelled, or its deadline has passed.
    pub fn is_over(&self, now: Instant) -> bool {
        !self.listener.is_listening() || self.job.deadline.is_some_and(|at| now >= at)
    }
}

/// One queue per client, served in turn.
#[derive(Default)]
pub struct Queue {
    lines: VecDeque<(u64, VecDeque<Waiting>)>,
    count: usize,
}

impl Queue {
    pub fn len(&self) -> usize {
        self.count
    }

    pub fn push(&mut self, waiting: Waiting) {
        let client = waiting.job.client;
        self.count += 1;
        match self.lines.iter_mut().find(|line| line.0 == client) {
            Some((_, line)) => line.push_back(waiting),
            None => self.lines.push_back((client, VecDeque::from([waiting]))),
        }
    }

    /// The first job of the next client.
    pub fn pop(&mut self) -> Option<Waiting> {
        let (client, mut line) = self.lines.pop_front()?;
        let first = line.pop_front();
        if !line.is_empty() {
            self.lines.push_back((client, line));
        }
        self.count -= usize::from(first.is_some());
        first
    }

    /// Removes jobs for which `is_over` holds.
    pub fn remove(&mut self, is_over: impl Fn(&Waiting) -> bool) -> Vec<Waiting> {
        let mut removed = Vec::new();
        for (_, line) in &mut self.lines {
            let (over, kept): (VecDeque<_>, VecDeque<_>) = line.drain(..).partition(&is_over);
            *line = kept;
            removed.extend(over);
        }
        self.lines.retain(|line| !line.1.is_empty());
        self.count -= removed.len();
        removed
    }

    /// Tells everyone that it failed.
    pub fn fail_all(&mut self, why: &Failure) {
        for mut waiting in self.remove(|_| true) {
            waiting.listener.hear(Event::Failed(why.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Deaf;
    impl Listener for Deaf {
        fn hear(&mut self, _: Event) {}
        fn is_listening(&self) -> bool {
            true
        }
    }

    fn waiting(client: u64, limit: usize) -> Waiting {
        let job = Job { client, ..Job::new(vec![1], limit) };
        Waiting { job, listener: Box::new(Deaf), arrived: Instant::now() }
    }

    #[test]
    fn clients_take_turns() {
        let mut queue = Queue::default();
        for (client, limit) in [(1, 0), (1, 1), (1, 2), (2, 10), (3, 20), (2, 11)] {
            queue.push(waiting(client, limit));
        }
        assert_eq!(queue.len(), 6);
        let order: Vec<usize> = std::iter::from_fn(|| queue.pop()).map(|w| w.job.limit).collect();
        assert_eq!(order, [0, 10, 20, 1, 11, 2]);
        assert_eq!(queue.len(), 0);
    }

    #[test]
    fn those_that_are_over_leave() {
        let mut queue = Queue::default();
        (0..5).for_each(|i| queue.push(waiting(i % 2, i as usize)));
        let gone = queue.remove(|w| w.job.limit % 2 == 1);
        assert_eq!(gone.len(), 2);
        assert_eq!(queue.len(), 3);
        assert_eq!(std::iter::from_fn(|| queue.pop()).count(), 3);
    }
}
