//! The machine with its bookkeeping: which lane is which, and which turn waits for which job.
//!
//! Everything here happens under one lock and takes the time as an argument.
//!
//! How lanes *stand* (what the next request waits for) is not told with every change but looked
//! at, four times a second while anybody waits. A line on a screen needs no more, the rate is
//! bounded whatever the traffic, and a request pays nothing for it. What is over within a
//! quarter of a second is never told.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use runner_scheduler::{
    Action, JobId, LaneId, LanePolicy, Limit, LimitId, Refusal, Scheduler, Time, Wait,
};
use tokio::sync::oneshot;

use super::epoch::Epoch;
use super::summary::{LaneLoad, LaneSummary};
use super::together::{Common, FIRST_PORTION};
use crate::lane::{Lane, MOST_LANES};
use crate::observer::{LaneNotice, LaneStanding, Observer};
use crate::policy::masker::Masker;

/// Between two looks at how lanes stand.
pub(super) const LOOK: Duration = Duration::from_millis(250);

/// The machine's word to a turn: go, or why not.
pub(super) type Verdict = Result<(), Refusal>;

/// The machine and all that is known about its lanes and jobs.
pub(super) struct Book {
    pub(super) scheduler: Scheduler,
    keys: HashMap<Lane, LaneId>,
    /// How many of them each plugin has opened.
    opened: HashMap<String, usize>,
    /// By [`LaneId::index`].
    lanes: Vec<Page>,
    names: HashMap<String, u32>,
    limits: HashMap<String, LimitId>,
    /// Is told of what other programs may use, too, if somebody shares it with them.
    pub(super) commons: Option<Sender<Common>>,
    /// Turns that wait for a verdict.
    waiting: HashMap<JobId, (LaneId, oneshot::Sender<Verdict>)>,
    /// Changes of standings that are not told yet.
    changes: Vec<(LaneId, Option<Wait>)>,
    /// When to look at how lanes stand.
    look_at: Option<Time>,
    /// Until when the keeper sleeps.
    alarm: Option<Time>,
}

/// What is known about a lane.
struct Page {
    id: LaneId,
    name: Arc<str>,
    /// Policies that it obeys already.
    policies: Vec<LanePolicy>,
    /// Turns of it that wait for a verdict.
    waiting: usize,
    /// What was last told of its wait.
    told: Option<Wait>,
}

impl Book {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            scheduler: Scheduler::new(seed),
            keys: HashMap::new(),
            opened: HashMap::new(),
            lanes: Vec::new(),
            names: HashMap::new(),
            limits: HashMap::new(),
            commons: None,
            waiting: HashMap::new(),
            changes: Vec::new(),
            look_at: None,
            alarm: None,
        }
    }

    /// Returns the lane of this key, opened for `plugin` if need be, which obeys `policy` too.
    pub(super) fn lane(
        &mut self,
        key: &Lane,
        plugin: &str,
        policy: LanePolicy,
        masker: &Masker,
    ) -> LaneId {
        let opened = self.opened.get(plugin).copied().unwrap_or_default();
        let full = opened >= MOST_LANES && !self.keys.contains_key(key);
        let rest = full.then(|| Lane::rest_of(plugin));
        let own = rest.as_ref().unwrap_or(key);
        if let Some(&id) = self.keys.get(own) {
            let page = &mut self.lanes[id.index()];
            if !page.policies.contains(&policy) {
                page.policies.push(policy);
                self.scheduler.tighten(id, policy);
            }
            return id;
        }
        self.opened.insert(plugin.to_owned(), opened + 1);
        let name = if full {
            format!("all other lanes of {plugin}")
        } else {
            key.name(masker)
        };
        let name = self.unique(name);
        let id = self.scheduler.open(policy);
        if let Some(commons) = self.commons.as_ref().filter(|_| !full) {
            // Should nobody hear it, nothing is shared.
            drop(commons.send(Common::lane(id, key)));
        }
        self.keys.insert(own.clone(), id);
        self.lanes.push(Page {
            id,
            name: name.into(),
            policies: vec![policy],
            waiting: 0,
            told: None,
        });
        id
    }

    fn unique(&mut self, name: String) -> String {
        match self.names.entry(name) {
            Entry::Vacant(entry) => {
                let name = entry.key().clone();
                entry.insert(1);
                name
            }
            Entry::Occupied(mut entry) => {
                *entry.get_mut() += 1;
                format!("{} #{}", entry.key(), entry.get())
            }
        }
    }

    /// Returns the machine's ids of these limits, declared if need be, for a request of this lane.
    pub(super) fn limits(
        &mut self,
        now: Time,
        limits: &[Arc<Limit>],
        lane: &Lane,
    ) -> Arc<[LimitId]> {
        if limits.is_empty() {
            return Arc::default();
        }
        let id = |limit: &Arc<Limit>| {
            if let Some(&id) = self.limits.get(&limit.name) {
                return id;
            }
            let id = self.scheduler.declare((**limit).clone());
            if let Some(commons) = &self.commons
                && let Some(common) = Common::limit(id, limit, lane)
                && commons.send(common).is_ok()
            {
                self.scheduler.expect(now, id, FIRST_PORTION);
            }
            self.limits.insert(limit.name.clone(), id);
            id
        };
        limits.iter().map(id).collect()
    }

    pub(super) fn name(&self, lane: LaneId) -> Arc<str> {
        self.lanes[lane.index()].name.clone()
    }

    /// Returns what `job` waits for until the machine has spoken.
    pub(super) fn expect_verdict(
        &mut self,
        lane: LaneId,
        job: JobId,
    ) -> oneshot::Receiver<Verdict> {
        let (sender, receiver) = oneshot::channel();
        self.waiting.insert(job, (lane, sender));
        self.lanes[lane.index()].waiting += 1;
        receiver
    }

    /// Takes in that nobody wants the job any more, wherever it is.
    pub(super) fn cancel(&mut self, now: Time, job: JobId) {
        drop(self.take(job));
        self.scheduler.cancel(now, job);
    }

    fn take(&mut self, job: JobId) -> Option<oneshot::Sender<Verdict>> {
        let (lane, turn) = self.waiting.remove(&job)?;
        self.lanes[lane.index()].waiting -= 1;
        Some(turn)
    }

    /// Asks the machine until it has no more to say; gives the verdicts to send.
    pub(super) fn settle(&mut self, now: Time) -> Vec<(oneshot::Sender<Verdict>, Verdict)> {
        let mut verdicts = Vec::new();
        while let Some(action) = self.scheduler.start(now) {
            let (job, verdict) = match action {
                Action::Start(job) => (job, Ok(())),
                Action::Refuse(job, why) => (job, Err(why)),
            };
            let turn = self
                .take(job)
                .expect("a job that the machine starts or refuses has a turn that waits");
            verdicts.push((turn, verdict));
        }
        if self.look_at.is_none() && !self.waiting.is_empty() {
            self.look_at = Some(now + LOOK);
        }
        verdicts
    }

    /// Looks at how lanes stand, if it is time to.
    pub(super) fn look(&mut self, now: Time) {
        if self.look_at.is_none_or(|at| at > now) {
            return;
        }
        for page in &mut self.lanes {
            if page.waiting == 0 && page.told.is_none() {
                continue;
            }
            // In a lane where nobody waits nothing is waited for, whatever it was last.
            let wait = (page.waiting > 0)
                .then(|| self.scheduler.view(page.id).wait)
                .flatten();
            if wait != page.told {
                page.told.clone_from(&wait);
                self.changes.push((page.id, wait));
            }
        }
        self.look_at = (!self.waiting.is_empty()).then(|| now + LOOK);
    }

    /// Tells what has happened, in order.
    pub(super) fn tell(&mut self, epoch: &Epoch, observer: &dyn Observer) {
        while let Some(notice) = self.scheduler.event() {
            observer.lane(LaneNotice {
                lane: self.name(notice.lane),
                at: notice.at - Time::ZERO,
                event: notice.event,
            });
        }
        for (lane, wait) in std::mem::take(&mut self.changes) {
            let until = wait.as_ref().and_then(|wait| epoch.instant(wait.until?));
            observer.standing(LaneStanding {
                lane: self.name(lane),
                wait,
                until: until.map(Into::into),
            });
        }
    }

    fn due(&self) -> Option<Time> {
        [self.scheduler.wake(), self.look_at]
            .into_iter()
            .flatten()
            .min()
    }

    /// Moves the alarm forward; says whether the keeper would have slept too long.
    pub(super) fn rearm(&mut self) -> bool {
        let due = self.due();
        let sooner = due.is_some_and(|due| self.alarm.is_none_or(|alarm| due < alarm));
        if sooner {
            self.alarm = due;
        }
        sooner
    }

    /// Sets and returns until when the keeper sleeps from now on.
    pub(super) fn arm(&mut self) -> Option<Time> {
        self.alarm = self.due();
        self.alarm
    }

    /// Gives up after the machine has panicked: whoever waits gets no verdict.
    pub(super) fn abandon(&mut self) {
        self.waiting.clear();
    }

    pub(super) fn summaries(&self) -> Vec<LaneSummary> {
        let summary = |page: &Page| LaneSummary {
            lane: page.name.clone(),
            metrics: self.scheduler.view(page.id).metrics,
        };
        let mut summaries: Vec<_> = self.lanes.iter().map(summary).collect();
        summaries.sort_by(|a, b| a.lane.cmp(&b.lane));
        summaries
    }

    /// How the lanes stand that were opened first, at most `most`.
    pub(super) fn loads(&self, most: usize) -> Vec<LaneLoad> {
        let load = |page: &Page| {
            let view = self.scheduler.view(page.id);
            LaneLoad {
                lane: page.name.clone(),
                in_flight: view.in_flight,
                allowed: view.window,
                waiting: view.queued,
                refused: view.metrics.rate_limit_hits,
            }
        };
        self.lanes.iter().take(most).map(load).collect()
    }

    #[cfg(test)]
    pub(super) fn views(&self) -> impl Iterator<Item = runner_scheduler::View> {
        self.lanes.iter().map(|page| self.scheduler.view(page.id))
    }

    /// Nobody waits and nothing is left to be told.
    #[cfg(test)]
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty()
            && self.look_at.is_none()
            && self
                .lanes
                .iter()
                .all(|page| page.waiting == 0 && page.told.is_none())
    }
}
