//! How a bucket takes in a reading: what it says about the kind of refill, about others who use
//! the same limit, and about how much is left. The policy is written above the bucket.

use std::time::Duration;

use super::{
    Bucket, CONVINCED, FOREIGN_MEMORY, LARGEST_LIMIT, Level, ObservedChange, Presumed, Refill,
    probe_pause, slack,
};
use crate::evidence::{RefillEvidence, TimedReading, lean};
use crate::hint::{Dimension, Reading};
use crate::sent::Sent;
use crate::time::{Time, nanos};
use crate::tuning::PER_MILLE;
use crate::tuning::bucket::COARSE;
use crate::tuning::evidence::JITTER;

/// Readings over which those that overtook each other cancel out, at least: a memory, and no decision.
/// With one twice as long all of the simulation comes out as before.
const DRIFT_MEMORY: i128 = 64;

/// How a reading moves the level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pull {
    /// The first one, or the first in a window: to what this lane left over if it is the only
    /// user, else to the least that there can be.
    First,
    /// The kind of refill has just become clear: to what there is by it.
    Most,
    /// The newest: into its bounds.
    Into,
    /// An older one: below its upper bound; its lower one is overtaken.
    Below,
}

impl Bucket {
    /// Takes in that the server said more about this limit. `seen.mark` is the lane's total of this
    /// dimension right after the request was sent.
    pub(crate) fn observe(
        &mut self,
        now: Time,
        reading: &Reading,
        mut seen: TimedReading,
        sent: &Sent,
    ) -> ObservedChange {
        let mut news = self.resize(reading);
        self.advance(now, sent);
        if seen.reset.is_some() {
            self.finest = self.finest.min(seen.resolution);
            seen.resolution = self.finest;
        }
        self.longest_reset = self.longest_reset.max(seen.reset.unwrap_or(Duration::ZERO));
        let known_before = self.kind;
        let newest = self.last.is_none_or(|last| seen.sent_at >= last.sent_at);
        if let Some(last) = self.last
            && newest
            && self.stated
        {
            self.learn(&last, &seen, reading, sent);
            self.notice_others(&last, &seen, reading.window, sent);
        }
        let proven = |kind| matches!(kind, Refill::Fixed { proven: true, .. });
        news.learned |= proven(self.kind) && !proven(known_before);
        let converted = std::mem::discriminant(&known_before) != std::mem::discriminant(&self.kind);
        news.learned |= converted;
        if self.last.is_none() && matches!(self.kind, Refill::Fixed { .. }) {
            self.presumed = Some(Presumed::new(&seen));
        }
        let pull = match self.last {
            None => Pull::First,
            Some(_) if converted && matches!(self.kind, Refill::Continuous { .. }) => Pull::Most,
            Some(_) if converted && matches!(self.kind, Refill::Fixed { .. }) => Pull::First,
            Some(_) if newest => Pull::Into,
            Some(_) => Pull::Below,
        };
        self.pull(now, &seen, pull, sent);
        if newest {
            self.last = Some(seen);
            self.probe_at = match (seen.reset, self.kind) {
                (Some(reset), _) => seen.sent_at + reset + seen.resolution.min(reset / COARSE),
                (None, Refill::Fixed { end, .. }) if end < Time::NEVER => {
                    self.next_look(now).unwrap_or(end)
                }
                (None, _) => now + probe_pause(self.probes),
            }
            .max(now);
        }
        news.scarce = newest && self.became_scarce(seen.remaining);
        news
    }

    fn resize(&mut self, reading: &Reading) -> ObservedChange {
        let limit = reading
            .limit
            .or(reading.remaining.filter(|left| *left > self.limit))
            .unwrap_or(self.limit)
            .min(LARGEST_LIMIT);
        self.stated |= reading.limit.is_some();
        let learned = limit != self.limit;
        self.limit = limit;
        ObservedChange {
            learned,
            scarce: false,
        }
    }

    /// Weighs what two readings say about the kind.
    pub(super) fn learn(
        &mut self,
        last: &TimedReading,
        seen: &TimedReading,
        reading: &Reading,
        sent: &Sent,
    ) {
        if let Refill::Fixed {
            end, proven: false, ..
        } = self.kind
            && seen.sent_at >= end.before(seen.resolution.min(self.longest_reset / COARSE) + JITTER)
        {
            // One that states no reset is presumed, and asked about with each reading.
            if seen.reset.is_some() {
                self.prove(seen, end, sent);
                return;
            }
        }
        if let Some(end) = self.presumed_end()
            && seen.reset.is_none()
        {
            self.look(last, seen, end, sent);
            return;
        }
        self.doubt(seen);
        self.follow_end(seen);
        match lean(last, seen, self.limit) {
            // No reset of a continuous bucket is longer than its window.
            RefillEvidence::Continuous { window } if window + window / 8 < self.longest_reset => {}
            RefillEvidence::Continuous { window } => {
                self.leaning = (self.leaning + 1).min(2 * CONVINCED);
                if self.leaning >= CONVINCED {
                    self.settle_window(window, seen);
                }
            }
            RefillEvidence::Fixed { end } => {
                self.leaning = (self.leaning - 1).max(-2 * CONVINCED);
                if self.leaning <= -CONVINCED {
                    self.settle_end(end, reading.window);
                }
            }
            RefillEvidence::Neither => {}
        }
    }

    /// Doubts the window where a reset is longer than it, which none of a bucket or a log is.
    fn doubt(&mut self, seen: &TimedReading) {
        if let (Refill::Continuous { window } | Refill::Log { window }, Some(reset)) =
            (self.kind, seen.reset)
            && reset > window + window / 4 + 2 * seen.resolution + JITTER
        {
            self.kind = Refill::Unsure;
            self.leaning = 0;
        }
    }

    fn settle_window(&mut self, window: Duration, seen: &TimedReading) {
        let exact = seen.reset.is_some_and(|reset| reset >= 4 * seen.resolution);
        self.kind = match self.kind {
            Refill::Continuous { window: known } if exact => Refill::Continuous {
                window: (known * 7 + window) / 8,
            },
            Refill::Continuous { .. } => self.kind,
            _ => Refill::Continuous { window },
        };
    }

    fn settle_end(&mut self, end: Time, stated: Option<Duration>) {
        match &mut self.kind {
            Refill::Fixed { end: known, .. } if *known != Time::NEVER => *known = (*known).max(end),
            Refill::Fixed { end: known, .. } => *known = end,
            // A log looks like a window whose end doesn't come; it was found out before.
            Refill::Log { .. } => {}
            Refill::Unsure | Refill::Continuous { .. } => {
                self.kind = Refill::Fixed {
                    end,
                    window: stated,
                    proven: false,
                };
            }
        }
    }

    /// Follows the end of the window. In a proven fixed window: a reset that points much further is
    /// the next window's. One that points a little further is this one's and came from a request
    /// that travelled for less time: a reset counts from when the server had the request, so every
    /// end is too early by its way. The next request may travel faster than all of this window.
    fn follow_end(&mut self, seen: &TimedReading) {
        let Some(reset) = seen.reset else {
            return;
        };
        if let Refill::Fixed {
            end,
            window,
            proven: true,
        } = &mut self.kind
        {
            let longest = window.map_or(self.longest_reset, |known| known.max(reset));
            // Of a short window whole seconds say little, and too late an end is a window lost.
            let coarse = seen.resolution.min(longest / COARSE);
            let new_end = seen.sent_at + reset + coarse + JITTER / 2;
            if *end == Time::NEVER || new_end > *end + longest / 20 {
                *end = new_end;
                *window = Some(longest);
            } else if seen.resolution <= JITTER {
                *end = (*end).max(new_end);
            }
        }
    }

    /// Takes the first reading after the presumed end of a fixed window.
    fn prove(&mut self, seen: &TimedReading, end: Time, sent: &Sent) {
        let begin = end.before(seen.resolution + JITTER);
        let since = seen.mark.saturating_sub(sent.until(self.dimension, begin));
        let most = |used: u64| used.saturating_mul(10) <= self.limit * 2;
        let full = most(
            self.limit
                .saturating_sub(seen.remaining.saturating_add(since)),
        );
        let window = self.longest_reset.max(Duration::from_millis(1));
        // What was used in one burst comes back in one from a log too, which suits both.
        let from = seen.sent_at.before(window);
        let burst = most(seen.mark.saturating_sub(sent.until(self.dimension, from)));
        // A window that has just begun is not over in a moment.
        let goes_on = seen.sent_at > end + window / 4
            || seen
                .reset
                .is_none_or(|reset| reset + seen.resolution >= window / 2);
        if full && !burst && goes_on {
            self.kind = Refill::Fixed {
                end: seen.reset.map_or(Time::NEVER, |reset| {
                    seen.sent_at + reset + seen.resolution + slack(reset)
                }),
                window: seen.reset.map(|reset| reset.max(window)),
                proven: true,
            };
            let total = sent.total()[self.dimension];
            let after = self.charged(total.saturating_sub(seen.mark));
            self.level = Level::whole(seen.remaining) - after;
            self.drift = Level::ZERO;
        } else if full || seen.sent_at > end + seen.resolution + JITTER {
            self.kind = Refill::Log { window };
        } else {
            // Sent so close to the end that it may have been before it.
            return;
        }
        self.leaning = 0;
    }

    /// Notes what vanished between two readings without this lane's doing, and how the server
    /// charges against the estimates.
    fn notice_others(
        &mut self,
        last: &TimedReading,
        seen: &TimedReading,
        stated: Option<Duration>,
        sent: &Sent,
    ) {
        if !matches!(self.kind, Refill::Continuous { .. }) {
            self.notice_refill(last, seen, stated);
            return;
        }
        let span = seen.sent_at - last.sent_at;
        let refilled = self.refill(last.sent_at, seen.sent_at, sent) + self.others(span);
        let full = Level::whole(self.limit);
        let before = (Level::whole(last.remaining) + refilled).min(full);
        let estimated = seen.mark.saturating_sub(last.mark);
        let used = before - Level::whole(seen.remaining);
        if self.dimension != Dimension::Requests && estimated > 0 {
            let ratio = used
                .ratio(estimated, 1100)
                .clamp(i128::from(PER_MILLE) / 16, PER_MILLE.into()) as u64;
            self.charge = (self.charge * 31 + ratio).div_ceil(32);
        }
        let others = used - self.charged(estimated);
        self.foreign.learn(others, span, FOREIGN_MEMORY);
    }

    /// Notes refill. Without resets, refill itself is the evidence: more is left than what this lane's own
    /// attempts left over.
    fn notice_refill(
        &mut self,
        last: &TimedReading,
        seen: &TimedReading,
        stated: Option<Duration>,
    ) {
        let telling = seen.reset.is_some_and(|reset| reset > 2 * seen.resolution);
        let span = seen.sent_at - last.sent_at;
        if self.kind != Refill::Unsure || telling || span < JITTER {
            return;
        }
        let spent = seen.mark.saturating_sub(last.mark);
        let gained = seen
            .remaining
            .saturating_add(spent)
            .saturating_sub(last.remaining);
        let vanished = last
            .remaining
            .saturating_sub(seen.remaining.saturating_add(spent));
        if vanished >= 3 {
            self.leaning = self.leaning.min(0);
        }
        let full = seen.remaining.saturating_add(spent) >= self.limit;
        if gained < 3 || full {
            return;
        }
        self.leaning += 1;
        if self.leaning >= CONVINCED {
            let window = u128::from(nanos(span)) * u128::from(self.limit) / u128::from(gained);
            let measured = Duration::from_nanos(u64::try_from(window).unwrap_or(u64::MAX));
            self.kind = Refill::Continuous {
                window: stated.unwrap_or(measured),
            };
        }
    }

    /// Pulls the level into what the reading allows.
    fn pull(&mut self, now: Time, seen: &TimedReading, pull: Pull, sent: &Sent) {
        if let Refill::Fixed {
            end,
            window: Some(window),
            proven: true,
        } = self.kind
            && end != Time::NEVER
            && seen.sent_at < end.before(window + slack(window) + seen.resolution + JITTER)
        {
            // From the window before.
            return;
        }
        let total = sent.total()[self.dimension];
        let after = self.charged(total.saturating_sub(seen.mark));
        let base = Level::whole(seen.remaining) - after;
        let least = base - self.others(now - seen.sent_at);
        let most = base + self.refill(seen.sent_at, now, sent).max(Level::ZERO);
        let untouched = Level::whole(self.limit) - self.charged(total);
        self.level = match (pull, self.kind) {
            (Pull::First, _) if (untouched - least).abs() <= self.looseness().scaled(3, 1) => {
                untouched
            }
            (Pull::First, _) => least,
            (Pull::Most, _) => most,
            // Nothing was sent since, and all that was is counted there.
            (Pull::Into, Refill::Fixed { .. }) if after == Level::ZERO && seen.reset.is_none() => {
                self.level.max(most)
            }
            (_, Refill::Fixed { .. }) => self.level + self.drift_by(most - self.level, seen, sent),
            (_, Refill::Unsure) if (most - self.level).abs() <= self.looseness() => self.level,
            (Pull::Into, _) if self.cap.is_none() => self.level.max(least).min(most),
            _ => self.level.min(most),
        };
        if self.level >= Level::whole(1) {
            self.probes = 0;
            self.false_zeros = 0;
        }
        self.trim();
    }

    /// Measures the drift of readings. Where nothing refills between two readings, what this lane
    /// counted itself is exact, and a reading is off by the requests that overtook each other on
    /// the way. These cancel out over some readings; what remains is somebody else's doing.
    ///
    /// They cancel out once all are answered, and those that overtook are answered first: of `n`
    /// together the first half says up to `n² / 4` too much in sum. So the more there are, the longer
    /// is the memory.
    fn drift_by(&mut self, gap: Level, seen: &TimedReading, sent: &Sent) -> Level {
        let (total, beside) = (sent.total(), i128::from(seen.beside));
        let calls = total[Dimension::Requests].max(1);
        let each = Level::whole(total[self.dimension]).scaled(1, calls.into());
        let early = each.scaled(beside * beside, 4);
        let looseness = self.looseness();
        let memory = early.ratio(looseness.units(), 1).max(DRIFT_MEMORY);
        self.drift += (gap - self.drift).scaled(1, memory);
        if self.drift.abs() <= looseness {
            return Level::ZERO;
        }
        std::mem::take(&mut self.drift)
    }

    /// How far a reading may be off because requests overtake each other: some calls.
    fn looseness(&self) -> Level {
        Level::whole((self.limit / 50).max(2))
    }

    fn became_scarce(&mut self, remaining: u64) -> bool {
        let scarce = remaining.saturating_mul(10) < self.limit;
        let news = scarce && !self.warned;
        // Twice the threshold before it is said again.
        self.warned = scarce || (self.warned && remaining.saturating_mul(5) < self.limit);
        news
    }
}
