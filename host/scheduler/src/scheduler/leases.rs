//! The user's limits: a lease for each attempt, and who waits for which limit.

use super::{Job, Later, Scheduler};
use crate::hint::Dimension;
use crate::job::{Demand, JobId, LaneId, Refusal};
use crate::limits::{Denied, LeaseId, LimitId, LimitMeasure};
use crate::sent::Amounts;
use crate::time::Time;
use crate::view::WaitReason;

impl Scheduler {
    /// Lets time pass: holds of attempts in flight are renewed before they can end.
    pub(super) fn pass(&mut self, now: Time) {
        self.now = self.now.max(now);
        while let Some((due, lease)) = self.limits.renewal()
            && due <= self.now
        {
            if self.leased.contains(&lease) {
                self.limits.renew(self.now, lease);
            } else {
                self.limits.release(self.now, lease);
            }
        }
    }

    /// Takes the user's limits for an attempt; `Err(None)`: the job was refused.
    pub(super) fn reserve(
        &mut self,
        id: LaneId,
        job: JobId,
    ) -> Result<Option<LeaseId>, Option<Later>> {
        let waiting = &self.jobs[&job];
        if waiting.demand.limits.is_empty() {
            return Ok(None);
        }
        // Who came earlier and waits for one of these limits goes first, even where this job would fit: small
        // jobs would take what becomes free before a large one ever fits.
        let earlier = waiting.demand.limits.iter().find(|limit| {
            let first = self.waiters.range((**limit, JobId(0), LaneId(0))..).next();
            first.is_some_and(|(other, ticket, _)| other == *limit && *ticket < job)
        });
        if let Some(&limit) = earlier {
            self.wait_for(job, id, limit);
            // No time: the end of the other's waiting rouses this lane.
            return Err(Some((self.why_full(limit), None)));
        }
        let requirements = self.requirements(&waiting.demand, &waiting.amounts);
        // A new one for each try, since a denied id is never good again.
        let lease = LeaseId(self.next_lease);
        self.next_lease += 1;
        match self.limits.reserve(self.now, lease, &requirements) {
            Ok(()) => {
                self.leased.insert(lease);
                Ok(Some(lease))
            }
            Err(Denied::Full { limit, retry_at }) => {
                self.wait_for(job, id, limit);
                Err(Some((self.why_full(limit), retry_at)))
            }
            Err(Denied::ExceedsCapacity {
                limit,
                asked,
                capacity,
            }) => {
                // Waiting would not help, and all behind it would wait as well.
                let limit = self.limits.limit(limit).map(|limit| limit.name.clone());
                let why = Refusal::Oversize {
                    limit: limit.unwrap_or_default(),
                    asked,
                    capacity,
                };
                self.refuse(job, why);
                Err(None)
            }
            Err(Denied::UnknownLimit(_) | Denied::InvalidLease) => {
                self.refuse(job, Refusal::UnknownLimit);
                Err(None)
            }
        }
    }

    pub(super) fn requirements(&self, demand: &Demand, amounts: &Amounts) -> Vec<(LimitId, u64)> {
        let amount = |limit: &LimitId| match self.limits.limit(*limit).map(|l| l.counts) {
            Some(LimitMeasure::Tokens(_)) => amounts[Dimension::Tokens].max(1),
            Some(LimitMeasure::Requests(_) | LimitMeasure::Concurrency) | None => 1,
        };
        demand.limits.iter().map(|id| (*id, amount(id))).collect()
    }

    fn why_full(&self, limit: LimitId) -> Option<WaitReason> {
        let declared = self.limits.limit(limit)?;
        Some(WaitReason::Declared {
            name: declared.name.clone(),
            used: self.limits.used(self.now, limit),
            capacity: declared.capacity,
        })
    }

    /// Notes that a head waits for a limit.
    fn wait_for(&mut self, job: JobId, lane: LaneId, limit: LimitId) {
        let waiting = self.jobs.get_mut(&job).expect("the head is a job");
        if !waiting.waits_for.contains(&limit) {
            waiting.waits_for.push(limit);
            self.waiters.insert((limit, job, lane));
        }
    }

    /// Ends the waiting of a job that leaves the queue; those behind it have a look.
    pub(super) fn stop_waiting(&mut self, job: &mut Job, id: JobId) {
        for limit in std::mem::take(&mut job.waits_for) {
            self.waiters.remove(&(limit, id, job.lane));
            self.rouse(limit);
        }
    }

    /// Ends the waiting of a job that stays in the queue.
    pub(super) fn leave_limit(&mut self, id: JobId) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        let lane = job.lane;
        for limit in std::mem::take(&mut job.waits_for) {
            self.waiters.remove(&(limit, id, lane));
            self.rouse(limit);
        }
    }

    /// Looks at the lane that waits for a limit with the oldest ticket.
    pub(super) fn rouse(&mut self, limit: LimitId) {
        let first = self.waiters.range((limit, JobId(0), LaneId(0))..).next();
        if let Some(&(_, _, lane)) = first.filter(|(other, ..)| *other == limit) {
            self.dirty.insert(lane);
        }
    }

    pub(super) fn settle(&mut self, job: JobId, lease: Option<LeaseId>, used: &Amounts) {
        let demand = self.jobs[&job].demand.clone();
        self.settle_lease(lease, &demand, used);
    }

    pub(super) fn settle_lease(&mut self, lease: Option<LeaseId>, demand: &Demand, used: &Amounts) {
        let Some(lease) = lease else {
            return;
        };
        self.leased.remove(&lease);
        let actual = self.requirements(demand, used);
        self.limits.settle(self.now, lease, &actual);
        for limit in demand.limits.iter() {
            self.rouse(*limit);
        }
    }
}
