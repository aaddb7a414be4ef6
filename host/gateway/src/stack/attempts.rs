//! What became of the requests of a case, attempt by attempt: what each waited for its lane, how long it was
//! on the wire, and how it ended.
//!
//! Noted when an attempt is over, in whatever way: also by being dropped, so that a case which is cut off in a
//! queue says that it was there. What goes well at once is not: most requests do, and their answer says it. Nor is
//! what was refused before it waited.
//! A request that several callers share is noted for the one that leads.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use runner_scheduler::Class;

/// Attempts that are kept of one case: more than the retries of a request, and of a few graders.
const MOST: usize = 32;

/// How long the first attempt may have waited where that goes without saying: below it people see no wait.
const AT_ONCE: Duration = Duration::from_secs(1);

/// An attempt, or a wait that none came of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// What people call its lane.
    pub lane: Arc<str>,
    /// Which attempt of its request; the first is 1.
    pub number: u32,
    /// When it began to wait for its turn, from the beginning of the log.
    pub queued: Duration,
    /// How long it waited; after a failure with the pause before it.
    pub waited: Duration,
    /// How long it was on the wire; `None`: it never was.
    pub worked: Option<Duration>,
    /// HTTP status, where there was a response.
    pub status: Option<u16>,
    /// How it ended; `None`: it was cut off.
    pub class: Option<Class>,
}

/// Keeps the attempts of a case, a bounded number of them.
#[derive(Debug)]
pub struct AttemptLog {
    began: Instant,
    kept: Mutex<Vec<Attempt>>,
}

impl Default for AttemptLog {
    /// Begins now.
    fn default() -> Self {
        Self {
            began: Instant::now(),
            kept: Mutex::default(),
        }
    }
}

impl AttemptLog {
    /// The attempts that are over, in the order in which they ended; the first ones, if there were many.
    pub fn attempts(&self) -> Vec<Attempt> {
        let kept = self.kept.lock();
        kept.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn keep(&self, attempt: Attempt) {
        let kept = self.kept.lock();
        let mut kept = kept.unwrap_or_else(PoisonError::into_inner);
        if kept.len() < MOST {
            kept.push(attempt);
        }
    }
}

/// An attempt that goes on; kept when it is dropped.
pub(super) struct Note<'a> {
    log: Option<&'a AttemptLog>,
    lane: &'a Arc<str>,
    number: u32,
    queued: Instant,
    sent: Option<Instant>,
    ended: Option<(Option<u16>, Class)>,
}

impl<'a> Note<'a> {
    /// An attempt begins to wait for its turn.
    pub(super) fn queued(log: Option<&'a AttemptLog>, lane: &'a Arc<str>, number: u32) -> Self {
        Self {
            log,
            lane,
            number,
            queued: Instant::now(),
            sent: None,
            ended: None,
        }
    }

    /// It goes on the wire.
    pub(super) fn sent(&mut self) {
        self.sent = Some(Instant::now());
    }

    /// It ended so.
    pub(super) fn ended(mut self, status: Option<u16>, class: Class) {
        self.ended = Some((status, class));
    }
}

impl Drop for Note<'_> {
    fn drop(&mut self) {
        let Some(log) = self.log else { return };
        let now = Instant::now();
        let (status, class) = self.ended.unzip();
        let waited = self.sent.unwrap_or(now) - self.queued;
        let is_told = self.sent.is_some() && !matches!(self.ended, Some((_, Class::Ok)));
        if !is_told && self.number == 1 && waited < AT_ONCE {
            return;
        }
        log.keep(Attempt {
            lane: self.lane.clone(),
            number: self.number,
            queued: self.queued.saturating_duration_since(log.began),
            waited,
            worked: self.sent.map(|sent| now - sent),
            status: status.flatten(),
            class,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_is_kept_however_it_ends() {
        let (log, lane) = (AttemptLog::default(), Arc::from("a.example"));
        let note = |number| Note::queued(Some(&log), &lane, number);
        drop(note(2));
        let mut cut_off = note(1);
        cut_off.sent();
        drop(cut_off);
        let mut refused = note(1);
        refused.sent();
        refused.ended(Some(429), Class::Throttled);
        let kept = log.attempts();
        let told: Vec<_> = kept
            .iter()
            .map(|it| (it.number, it.worked.is_some(), it.status, it.class))
            .collect();
        let expected = [
            (2, false, None, None),
            (1, true, None, None),
            (1, true, Some(429), Some(Class::Throttled)),
        ];
        assert_eq!(told, expected);
        assert!(kept.is_sorted_by_key(|it| it.queued));
    }

    #[test]
    fn what_goes_well_at_once_goes_without_saying() {
        let (log, lane) = (AttemptLog::default(), Arc::from("a.example"));
        let note = |number, queued| {
            let mut note = Note::queued(Some(&log), &lane, number);
            note.queued = queued;
            note.sent();
            note
        };
        let now = Instant::now();
        note(1, now).ended(Some(200), Class::Ok);
        drop(Note::queued(Some(&log), &lane, 1));
        assert_eq!(log.attempts(), []);
        note(2, now).ended(Some(200), Class::Ok);
        let long_ago = now.checked_sub(AT_ONCE).expect("the machine is up longer");
        note(1, long_ago).ended(Some(200), Class::Ok);
        note(1, now).ended(Some(400), Class::Permanent);
        let numbers: Vec<u32> = log.attempts().iter().map(|it| it.number).collect();
        assert_eq!(numbers, [2, 1, 1]);
    }

    #[test]
    fn a_log_is_bounded_and_nobody_needs_one() {
        let (log, lane) = (AttemptLog::default(), Arc::from("a.example"));
        for number in 1..=100 {
            drop(Note::queued(Some(&log), &lane, number + 1));
        }
        let numbers: Vec<u32> = log.attempts().iter().map(|it| it.number).collect();
        assert_eq!(numbers, (2..=33).collect::<Vec<_>>());
        Note::queued(None, &lane, 1).ended(None, Class::Throttled);
    }
}
