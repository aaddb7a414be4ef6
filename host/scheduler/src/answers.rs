//! How long a lane's answers take, and whether they keep coming.
//!
//! The window reads it: where answers come steadily it may grow with them, and where they stop
//! or slow down it goes back to the published speed. Attempts that hang are not in it at all:
//! they say nothing about the others, and nobody waits for them to grow.
//!
//! It is a running mean and no list of attempts in flight, because a hanging attempt must
//! neither be guessed at nor searched for: what counts is only that others are answered.

use std::time::Duration;

use crate::time::Time;
use crate::tuning::answers::{FIRST_ANSWERS, SLOW};

/// The answers of a lane.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    count: u32,
    mean: Duration,
    /// The shortest mean there was.
    quickest: Duration,
    last: Time,
}

impl Answers {
    /// An answer has come that took so long.
    pub(crate) fn came(&mut self, now: Time, took: Duration) {
        // The newest counts for an eighth, as in RFC 6298.
        self.mean = match self.count {
            0 => took,
            _ => (self.mean * 7 + took) / 8,
        };
        self.count = self.count.saturating_add(1);
        self.last = now;
        if self.count <= FIRST_ANSWERS || self.mean < self.quickest {
            self.quickest = self.mean;
        }
    }

    /// Whether there were any.
    pub(crate) fn any(&self) -> bool {
        self.count > 0
    }

    /// What one takes, if they keep coming and don't become slower. Calls of a small window may
    /// all have started together, and end a mean apart: who is longer silent has stopped.
    pub(crate) fn steady(&self, now: Time) -> Option<Duration> {
        let flows = self.any() && now - self.last <= self.mean;
        let quick = self.mean <= self.quickest * SLOW;
        (flows && quick).then_some(self.mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn at(span: u64) -> Time {
        Time::ZERO + ms(span)
    }

    /// A hundred answers that took 50 ms, the last of them at 1 s.
    fn answers() -> Answers {
        let mut answers = Answers::default();
        for n in 1..=100 {
            answers.came(at(n * 10), ms(50));
        }
        answers
    }

    #[test]
    fn nothing_is_steady_before_the_first_answer() {
        let answers = Answers::default();
        assert_eq!((answers.any(), answers.steady(at(9))), (false, None));
    }

    #[test]
    fn one_answer_is_enough_to_go_by() {
        let mut answers = Answers::default();
        answers.came(at(50), ms(50));
        assert_eq!(answers.steady(at(51)), Some(ms(50)));
    }

    #[test]
    fn answers_have_stopped_when_the_next_is_late() {
        let answers = answers();
        assert_eq!(answers.steady(at(1050)), Some(ms(50)));
        assert_eq!(answers.steady(at(1051)), None);
    }

    #[test]
    fn a_server_where_everything_becomes_slower_is_not_steady_until_it_is_quick_again() {
        let mut answers = answers();
        for n in 1..=8 {
            answers.came(at(1000 + n * 10), ms(500));
        }
        assert_eq!(answers.steady(at(1081)), None);
        for n in 1..=40 {
            answers.came(at(2000 + n * 10), ms(50));
        }
        assert!(answers.steady(at(2401)).is_some_and(|mean| mean < ms(60)));
    }

    #[test]
    fn a_quick_first_answer_does_not_make_the_others_slow() {
        let mut answers = Answers::default();
        answers.came(at(10), ms(5));
        for n in 1..=10 {
            answers.came(at(50 + n), ms(50));
        }
        assert!(answers.steady(at(61)).is_some());
    }
}
