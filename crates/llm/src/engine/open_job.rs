//! The number of open jobs, counted so that whoever has seen the end of one can submit the next.

use super::job::{Event, Listener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A listener whose job counts as open until it has received the end, or is dropped.
pub struct OpenJob {
    listener: Box<dyn Listener>,
    open: Option<Arc<AtomicUsize>>,
}

impl OpenJob {
    pub fn take(listener: Box<dyn Listener>, open: &Arc<AtomicUsize>) -> OpenJob {
        open.fetch_add(1, Relaxed);
        OpenJob { listener, open: Some(open.clone()) }
    }

    fn free(&mut self) {
        if let Some(open) = self.open.take() {
            open.fetch_sub(1, Relaxed);
        }
    }
}

impl Listener for OpenJob {
    fn hear(&mut self, event: Event) {
        if matches!(event, Event::Done(_) | Event::Failed(_)) {
            self.free();
        }
        self.listener.hear(event);
    }

    fn is_listening(&self) -> bool {
        self.listener.is_listening()
    }
}

impl Drop for OpenJob {
    fn drop(&mut self) {
        self.free();
    }
}
