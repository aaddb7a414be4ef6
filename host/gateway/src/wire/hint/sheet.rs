//! One pass over a response's headers, and the readings that come of it.
//!
//! The pass only recognises names and keeps the values; they are read after it, when the
//! response's `date` is known. The places for values are counted out below, and what does not
//! fit is not read. No server needs that much, so whoever sends it gets less attention, not more.

use std::time::Duration;

use runner_scheduler::{Dimension, Reading};

use super::counter::{self, Counter, PartialCounter};
use super::families::{self, Name, NumberPlace, Part};
use super::ietf::{self, Ietf};
use super::reset::{self, Clock};

/// Bytes of a value that is read. The longest real one, an RFC 3339 time with nanoseconds and
/// an offset, has 35.
pub(super) const MAX_VALUE: usize = 256;

/// Bytes of a structured value that is read: eight policies of 128.
const MAX_LINE: usize = 1024;

/// Parts of counters that are kept. Cerebras sends 18, the most that is known.
const MAX_PARTS: usize = 32;

/// Counters: what each subject may name, at most.
const MAX_COUNTERS: usize = families::SUBJECTS.len();

/// In the order of the readings.
const DIMENSIONS: [Dimension; 6] = [
    Dimension::Requests,
    Dimension::Tokens,
    Dimension::InputTokens,
    Dimension::OutputTokens,
    Dimension::ProjectTokens,
    Dimension::TokensPerMonth,
];

/// The values of the headers that mean something, not yet read.
#[derive(Debug, Default)]
pub(super) struct Sheet<'a> {
    pub(super) date: Option<&'a [u8]>,
    pub(super) retry_after: Option<&'a [u8]>,
    pub(super) retry_after_ms: Option<&'a [u8]>,
    pub(super) should_retry: Option<&'a [u8]>,
    parts: [Option<(NumberPlace, &'a str)>; MAX_PARTS],
    count: usize,
    ietf: Ietf,
}

/// A counter that headers with the same subject and window fill in.
#[derive(Debug, Clone, Copy)]
struct Subject {
    dimension: Dimension,
    window: Option<Duration>,
    draft: PartialCounter,
}

impl<'a> Sheet<'a> {
    /// The one pass.
    pub(super) fn new(headers: &'a [(String, String)]) -> Self {
        let mut sheet = Self::default();
        for (name, value) in headers {
            if let Some(name) = families::recognise(name) {
                sheet.keep(name, value);
            }
        }
        sheet
    }

    /// Keeps a value in its place. Of one header sent twice the first counts, but for
    /// counters, where the first that can be read does.
    fn keep(&mut self, name: Name, value: &'a str) {
        let structured = matches!(name, Name::State | Name::Policies);
        if value.len() > if structured { MAX_LINE } else { MAX_VALUE } {
            return;
        }
        let value = value.trim_ascii();
        let single = match name {
            Name::Date => &mut self.date,
            Name::RetryAfter => &mut self.retry_after,
            Name::RetryAfterMs => &mut self.retry_after_ms,
            Name::ShouldRetry => &mut self.should_retry,
            Name::State => return self.ietf.state(value),
            Name::Policies => return self.ietf.policies(value),
            Name::Part(place) => return self.keep_part(place, value),
        };
        single.get_or_insert(value.as_bytes());
    }

    fn keep_part(&mut self, place: NumberPlace, value: &'a str) {
        if place.rank.is_draft() && place.part == Part::Limit && value.contains(';') {
            self.ietf.policies(value);
        }
        if let Some(free) = self.parts.get_mut(self.count) {
            *free = Some((place, value));
            self.count += 1;
        }
    }

    /// What is believed of all counters, at most one reading per dimension.
    pub(super) fn readings(&self, clock: &Clock, failed: bool) -> Vec<Reading> {
        let subjects = self.subjects(clock);
        let reading = |dimension| {
            let stated = subjects.iter().flatten();
            let stated = stated
                .filter(|subject| subject.dimension == dimension)
                .map(|subject| subject.draft.counter(subject.window));
            let structured = Some(dimension)
                .filter(|dimension| *dimension == Dimension::Requests)
                .and_then(|_| self.ietf.counter());
            stated
                .chain(structured)
                .filter_map(|counter| self.dated(counter, dimension).reading(dimension, failed))
                .min_by_key(counter::order)
        };
        DIMENSIONS.into_iter().filter_map(reading).collect()
    }

    /// The counter with the window that a structured policy lends it.
    fn dated(&self, mut counter: Counter, dimension: Dimension) -> Counter {
        if let (Dimension::Requests, None, Some(limit)) = (dimension, counter.window, counter.limit)
        {
            counter.window = self.ietf.window_of(limit);
        }
        counter
    }

    /// Sorts the parts by what they are parts of, and reads them.
    fn subjects(&self, clock: &Clock) -> [Option<Subject>; MAX_COUNTERS] {
        let mut subjects = [None; MAX_COUNTERS];
        for (place, value) in self.parts.iter().flatten() {
            let text = value.as_bytes();
            let Some(draft) = draft_of(&mut subjects, place) else {
                continue;
            };
            match place.part {
                Part::Limit => draft.limit(place.rank, limit(value, place)),
                Part::Remaining => draft.remaining(place.rank, counter::count(text)),
                Part::Reset => draft.reset(place.rank, reset::read(text, clock)),
                Part::Window => {
                    let window = counter::count(text).and_then(counter::window);
                    draft.window(place.rank, window);
                }
            }
        }
        subjects
    }
}

/// A limit, which in one early draft is the first of a list.
fn limit(text: &str, place: &NumberPlace) -> Option<u64> {
    counter::count(text.as_bytes()).or_else(|| {
        let list = Some(text).filter(|_| place.rank.is_draft());
        ietf::first_limit(list?)
    })
}

/// The counter that `place` is a part of.
fn draft_of<'s>(
    subjects: &'s mut [Option<Subject>],
    place: &NumberPlace,
) -> Option<&'s mut PartialCounter> {
    let free = subjects.iter_mut().find(|subject| {
        subject
            .is_none_or(|known| (known.dimension, known.window) == (place.dimension, place.window))
    })?;
    let subject = free.get_or_insert(Subject {
        dimension: place.dimension,
        window: place.window,
        draft: PartialCounter::default(),
    });
    Some(&mut subject.draft)
}
