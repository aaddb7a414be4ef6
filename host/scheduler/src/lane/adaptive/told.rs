//! What a lane said last of its window and of the rate that was found by trying: only news are told.

use std::cmp::Ordering;
use std::time::Duration;

use super::Surroundings;
use crate::event::Event;

/// The last word.
#[derive(Debug)]
pub(super) struct LastAnnouncement {
    window: u32,
    rate: Option<(u64, Duration)>,
}

impl LastAnnouncement {
    /// Of a lane that opens with this window, and has no need to say so.
    pub(super) fn new(window: u32) -> Self {
        Self { window, rate: None }
    }

    /// Tells what is new of the window, and of how many may be sent in how long.
    pub(super) fn tell(
        &mut self,
        window: u32,
        rate: Option<(u64, Duration)>,
        around: &mut Surroundings<'_>,
    ) {
        let (from, to) = (std::mem::replace(&mut self.window, window), window);
        match to.cmp(&from) {
            Ordering::Equal => {}
            Ordering::Greater => around.tell(Event::ConcurrencyIncreased { from, to }),
            Ordering::Less => around.tell(Event::ConcurrencyDecreased { from, to }),
        }
        let before = std::mem::replace(&mut self.rate, rate);
        if let Some((limit, window)) = rate.filter(|_| rate != before) {
            around.tell(Event::RateLimitLearned {
                dimension: None,
                limit,
                window: Some(window),
            });
        }
    }
}
