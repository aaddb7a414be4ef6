//! How long a window is whose server says neither when it is filled again nor how long that takes.
//!
//! Mostly it is the clock's minute, and that is presumed. But a second and ten of them are stated just so.
//! What tells is refill: **what is left, together with what was sent, is never above where it began until
//! something comes back**, however late the server writes it and whoever overtakes whom.
//!
//! - Where nothing is left one attempt **looks** after a second, two, five and so on, up to half a minute. Each
//!   length costs one refusal, once in a lane: nothing came back in that time, so the window is longer.
//! - All at once is the end of a window. The first end that is seen says when it was, the second how
//!   long a window is: the shortest length that is not out of the question. At the end of the clock's minute
//!   one is enough if all shorter ones are.
//! - Some of it three times over is a limit that refills evenly.

use std::time::Duration;

use super::{ASSUMED_WINDOW, Bucket, CONVINCED, Level, Refill, next_end, slack};
use crate::evidence::TimedReading;
use crate::sent::Sent;
use crate::time::{Time, nanos};
use crate::tuning::bucket::{CLOCKS_APART, LOOKS};

/// What was seen of such a window.
#[derive(Debug, Clone, Copy)]
pub(super) struct Presumed {
    /// Nothing has come back since then.
    since: Time,
    /// When there last was credit for an attempt that was sent: what slides comes back until then, a window later.
    used_until: Time,
    /// A window began then.
    is_whole: bool,
    /// A window later there was credit for what was sent first, and no more.
    slides: bool,
    /// The longest of the lengths in which nothing came back: the window is longer.
    longer_than: Duration,
    /// What was left and what had been sent, together, at the beginning.
    highest: u64,
    /// By how much more that sum may be without refill, since answers overtake each other.
    loose: u64,
    /// When the attempt was sent that said so.
    from: Time,
}

impl Presumed {
    pub(super) fn new(seen: &TimedReading) -> Self {
        Self {
            since: seen.sent_at,
            used_until: seen.sent_at,
            is_whole: false,
            slides: false,
            longer_than: Duration::ZERO,
            highest: sum(seen),
            loose: seen.beside,
            from: seen.sent_at,
        }
    }

    /// How long after the beginning all of a window of `length` has come back, if it slides.
    fn slides_until(&self, length: Duration) -> Duration {
        length + self.used_until.since(self.since).min(length / 2)
    }

    /// The lengths that are not out of the question, shortest first.
    fn open_lengths(&self) -> impl Iterator<Item = Duration> {
        let lengths = LOOKS.into_iter().map(Duration::from_secs);
        lengths.filter(|length| *length > self.longer_than)
    }

    /// The shortest window that is not out of the question.
    fn shortest(&self) -> Duration {
        self.open_lengths().next().unwrap_or(ASSUMED_WINDOW)
    }

    /// When the next attempt looks whether something has come back: once what slides has come back, and
    /// before that where it is known when a window began that does not slide.
    fn next_look(&self, now: Time) -> Option<Time> {
        let looks = self.open_lengths().flat_map(|length| {
            let first = self.is_whole.then_some(length + slack(length));
            [first, Some(self.slides_until(length))]
        });
        let mut looks = looks.flatten().map(|look| self.since + look);
        looks.find(|at| *at > now)
    }

    /// Whether what comes back then slides, if it is not all: a window has passed, and not what was used in it.
    fn trickles(&self, sent_at: Time) -> bool {
        let span = sent_at.since(self.since);
        let length = self.shortest();
        self.is_whole && span >= length && span < self.slides_until(length)
    }

    /// Takes in that nothing had come back when an attempt was sent then.
    fn nothing_until(&mut self, sent_at: Time) {
        let span = sent_at.since(self.since);
        let passed = |length: &Duration| self.slides_until(*length) <= span;
        let longest = self.open_lengths().take_while(passed).last();
        self.longer_than = longest.unwrap_or(self.longer_than);
    }
}

/// What is left and what was sent, together.
fn sum(seen: &TimedReading) -> u64 {
    seen.remaining.saturating_add(seen.mark)
}

impl Bucket {
    /// The end of a minute that is presumed and not proven.
    pub(super) fn presumed_end(&self) -> Option<Time> {
        match self.kind {
            Refill::Fixed {
                end, proven: false, ..
            } if self.presumed.is_some() => Some(end),
            _ => None,
        }
    }

    /// When an attempt looks whether the window is shorter than presumed.
    pub(super) fn next_look(&self, now: Time) -> Option<Time> {
        let end = self.presumed_end().filter(|end| *end > now)?;
        let look = self.presumed?.next_look(now);
        Some(look.map_or(end, |look| look.min(end)))
    }

    /// Takes in that there was credit for an attempt that is sent now.
    pub(super) fn use_presumed(&mut self, now: Time) {
        if let Some(presumed) = &mut self.presumed {
            presumed.used_until = now;
        }
    }

    /// Takes in that an attempt was refused that looked whether something had come back.
    pub(super) fn looked_in_vain(&mut self, sent_at: Time) {
        if let Some(presumed) = &mut self.presumed {
            presumed.nothing_until(sent_at);
        }
    }

    /// Takes in what a reading says about a presumed window that ends at `end`.
    pub(super) fn look(
        &mut self,
        last: &TimedReading,
        seen: &TimedReading,
        end: Time,
        sent: &Sent,
    ) {
        let Some(mut presumed) = self.presumed else {
            return;
        };
        let gained = sum(seen).saturating_sub(presumed.highest);
        let between = seen.mark.saturating_sub(last.mark);
        let is_full = seen.remaining.saturating_add(between).saturating_mul(10) >= self.limit * 8;
        presumed.slides |= !is_full && presumed.trickles(seen.sent_at);
        let is_refill = gained >= 3 && gained > presumed.loose.max(seen.beside);
        if !is_refill {
            presumed.nothing_until(seen.sent_at);
            self.presumed = Some(presumed);
        } else if is_full && gained.saturating_mul(2) >= self.limit {
            self.open(presumed, seen, end);
            self.restart(seen, sent);
            return;
        } else if !is_full && !presumed.trickles(seen.sent_at) {
            self.presumed = Some(Presumed {
                longer_than: presumed.longer_than,
                ..Presumed::new(seen)
            });
            self.leaning += 1;
            if self.leaning >= CONVINCED {
                let span = nanos(seen.sent_at - presumed.from);
                let window = u128::from(span) * u128::from(self.limit) / u128::from(gained);
                let window = Duration::from_nanos(u64::try_from(window).unwrap_or(u64::MAX));
                self.kind = Refill::Continuous { window };
                return;
            }
        }
        self.pass_end(seen, end, sent);
    }

    /// Takes in that a window was filled again: how long it is, or when that was.
    fn open(&mut self, presumed: Presumed, seen: &TimedReading, end: Time) {
        let window = presumed.shortest();
        let is_minute = window == ASSUMED_WINDOW;
        let is_due = seen.sent_at >= end.before(CLOCKS_APART);
        let clock_end = next_end(end, ASSUMED_WINDOW, seen.sent_at.max(end));
        if presumed.is_whole || is_minute {
            self.kind = if presumed.slides && !is_minute {
                Refill::Log { window }
            } else {
                Refill::Fixed {
                    end: if is_minute && is_due {
                        clock_end
                    } else {
                        seen.sent_at + window
                    },
                    window: Some(window),
                    proven: true,
                }
            };
            self.presumed = None;
            return;
        }
        self.presumed = Some(Presumed {
            is_whole: true,
            longer_than: presumed.longer_than,
            ..Presumed::new(seen)
        });
        if is_due {
            self.presume(clock_end);
        }
    }

    /// Looks whether the presumed minute has passed, and with it what was used of it.
    fn pass_end(&mut self, seen: &TimedReading, end: Time, sent: &Sent) {
        if seen.sent_at < end {
            return;
        }
        let since = seen.mark.saturating_sub(sent.until(self.dimension, end));
        if seen.remaining.saturating_add(since).saturating_mul(10) >= self.limit * 8 {
            self.presume(next_end(end, ASSUMED_WINDOW, seen.sent_at));
            self.restart(seen, sent);
        } else if seen.sent_at > end + CLOCKS_APART {
            self.kind = Refill::Unsure;
        }
    }

    /// Counts anew from a reading of a new window.
    fn restart(&mut self, seen: &TimedReading, sent: &Sent) {
        let total = sent.total()[self.dimension];
        let after = self.charged(total.saturating_sub(seen.mark));
        self.level = Level::whole(seen.remaining) - after;
        self.drift = Level::ZERO;
    }
}
