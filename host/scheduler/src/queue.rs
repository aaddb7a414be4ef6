//! Who is next in a lane.
//!
//! Retries go before new work, both by ticket: whoever came first leaves first, and a job that
//! failed doesn't start again at the end of a long queue. The head of the line is the only
//! candidate. If it doesn't fit, everybody behind it waits, also those that would fit: letting
//! small jobs overtake is what starves long prompts elsewhere.
//!
//! A retry in its pause is not in the line; it holds up nobody.
//!
//! While probes are in vain there is no line: who is tried next is to say something new
//! ([`Queue::probe`]).

use std::collections::BTreeSet;

use crate::job::JobId;
use crate::time::Time;

/// The jobs of a lane that are not in flight.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    fresh: BTreeSet<JobId>,
    /// Retries whose pause is over.
    again: BTreeSet<JobId>,
    /// Retries in their pause, by its end.
    paused: BTreeSet<(Time, JobId)>,
}

/// The head of the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) job: JobId,
    pub(crate) is_retry: bool,
}

impl Queue {
    pub(crate) fn len(&self) -> usize {
        self.fresh.len() + self.again.len() + self.paused.len()
    }

    pub(crate) fn push(&mut self, job: JobId) {
        self.fresh.insert(job);
    }

    pub(crate) fn push_retry(&mut self, job: JobId, not_before: Time) {
        self.paused.insert((not_before, job));
    }

    /// Returns the head of the line at `now`.
    pub(crate) fn head(&mut self, now: Time) -> Option<Head> {
        while let Some(&(due, job)) = self.paused.first()
            && due <= now
        {
            self.paused.pop_first();
            self.again.insert(job);
        }
        let retry = self.again.first().map(|&job| Head {
            job,
            is_retry: true,
        });
        retry.or_else(|| {
            self.fresh.first().map(|&job| Head {
                job,
                is_retry: false,
            })
        })
    }

    /// Returns who is tried next at `now` where probes were in vain: with each of `strikes`
    /// pauses from another end of those that nobody has tried, or from between; of those that were
    /// tried where there are no others.
    pub(crate) fn probe(&mut self, now: Time, strikes: u32) -> Option<Head> {
        let line = self.head(now)?;
        let fresh = &self.fresh;
        let job = match strikes % 3 {
            0 => fresh.first(),
            1 => fresh.last(),
            _ => fresh.iter().nth(fresh.len() / 2),
        };
        let untried = job.map(|&job| Head {
            job,
            is_retry: false,
        });
        Some(untried.unwrap_or(line))
    }

    /// The first new job, for when no retry may go.
    pub(crate) fn fresh_head(&self) -> Option<Head> {
        self.fresh.first().map(|&job| Head {
            job,
            is_retry: false,
        })
    }

    /// When the next pause ends.
    pub(crate) fn next_pause_end(&self) -> Option<Time> {
        self.paused.first().map(|&(due, _)| due)
    }

    /// Takes a job out, wherever it is. `not_before` is what it was pushed with.
    pub(crate) fn remove(&mut self, job: JobId, not_before: Time) {
        let _ = self.fresh.remove(&job)
            || self.again.remove(&job)
            || self.paused.remove(&(not_before, job));
    }

    /// Takes every job out, oldest ticket first.
    pub(crate) fn drain(&mut self) -> Vec<JobId> {
        let paused = std::mem::take(&mut self.paused);
        let mut all = std::mem::take(&mut self.fresh);
        all.append(&mut self.again);
        all.extend(paused.into_iter().map(|(_, job)| job));
        all.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    fn leave(queue: &mut Queue, now: u64) -> Option<u64> {
        let head = queue.head(at(now))?;
        queue.remove(head.job, Time::ZERO);
        Some(head.job.ticket())
    }

    #[test]
    fn retries_whose_pause_is_over_go_first_by_their_first_ticket() {
        let mut queue = Queue::default();
        for ticket in [5, 6] {
            queue.push(JobId(ticket));
        }
        queue.push_retry(JobId(3), at(10));
        queue.push_retry(JobId(1), at(20));
        queue.push_retry(JobId(2), at(15));
        assert_eq!(leave(&mut queue, 9), Some(5), "nobody's pause is over");
        assert_eq!(queue.next_pause_end(), Some(at(10)));
        let order: Vec<_> = std::iter::from_fn(|| leave(&mut queue, 20)).collect();
        assert_eq!(order, [1, 2, 3, 6]);
    }

    #[test]
    fn a_server_that_is_down_is_probed_by_jobs_from_all_over_the_queue() {
        let mut queue = Queue::default();
        queue.push_retry(JobId(1), at(0));
        for ticket in 2..=6 {
            queue.push(JobId(ticket));
        }
        let mut probe = |strikes| {
            let head = queue.probe(at(0), strikes).expect("somebody is there");
            queue.remove(head.job, at(0));
            head.job.ticket()
        };
        let probes: Vec<u64> = (1..=6).map(&mut probe).collect();
        assert_eq!(probes, [6, 4, 2, 5, 3, 1]);
    }

    #[test]
    fn a_paused_retry_can_be_taken_out() {
        let mut queue = Queue::default();
        queue.push_retry(JobId(3), at(10));
        queue.remove(JobId(3), at(10));
        assert_eq!(queue.len(), 0);
        assert_eq!(queue.head(at(99)), None);
    }

    #[test]
    fn draining_gives_everybody_by_ticket() {
        let mut queue = Queue::default();
        queue.push(JobId(4));
        queue.push_retry(JobId(9), at(1));
        queue.push_retry(JobId(2), at(50));
        queue.head(at(5));
        assert_eq!(queue.drain(), [JobId(2), JobId(4), JobId(9)]);
        assert_eq!(queue.len(), 0);
    }
}
