//! What other programs on this machine use, too: visits to a common quota, and what they bring.

use std::time::Duration;

use super::Scheduler;
use crate::job::{JobId, LaneId};
use crate::limits::LimitId;
use crate::shared::{QuotaReply, QuotaReport};
use crate::time::Time;

/// What may be common to several programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Shareable {
    /// What a lane finds out by trying.
    Lane(LaneId),
    /// What the user declares.
    Limit(LimitId),
}

impl Scheduler {
    /// What to say at a visit now; `None`: this is never common. Where others are here nothing more is sent
    /// until [`Scheduler::hear`].
    pub fn visit(&mut self, now: Time, what: Shareable) -> Option<QuotaReport> {
        self.pass(now);
        match what {
            Shareable::Lane(id) => {
                let lane = &mut self.lanes[id.index()];
                let is_waiting = lane.queue.len() > 0;
                lane.visit(self.now, is_waiting)
            }
            Shareable::Limit(limit) => {
                let needs = self.needs(limit);
                self.limits.visit(self.now, limit, needs)
            }
        }
    }

    /// Takes in what a visit brought whose words were asked for at `asked`.
    pub fn hear(&mut self, now: Time, what: Shareable, asked: Time, portion: &QuotaReply) {
        self.pass(now);
        match what {
            Shareable::Lane(id) => {
                self.lanes[id.index()].hear(asked, self.now, portion);
                self.dirty.insert(id);
            }
            Shareable::Limit(limit) => {
                self.limits.hear(asked, self.now, limit, portion);
                self.rouse(limit);
            }
        }
    }

    /// Lets nothing fall under a declared limit before the first portion is heard, for so long at most: the
    /// limit may be used up by others.
    pub fn expect(&mut self, now: Time, limit: LimitId, patience: Duration) {
        self.pass(now);
        self.limits.expect(self.now, limit, patience);
    }

    /// How much the first who waits for a limit needs of it.
    fn needs(&self, limit: LimitId) -> Option<u64> {
        let first = self.waiters.range((limit, JobId(0), LaneId(0))..).next();
        let (_, job, _) = first.filter(|(other, ..)| *other == limit)?;
        let job = &self.jobs[job];
        let asked = self.requirements(&job.demand, &job.amounts);
        let asked = asked.iter().filter(|(other, _)| *other == limit);
        Some(asked.map(|(_, amount)| amount).sum())
    }
}
