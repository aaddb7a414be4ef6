//! What must hold at every step, checked from outside.
//!
//! It keeps its own books about each job and each lane, from the calls that the client makes
//! and the events that the scheduler gives, and panics with scenario, seed and time when the
//! two differ or a promise is broken. Nothing of it is measured or has a tolerance.

use std::collections::{BTreeMap, VecDeque};

use runner_scheduler::{Class, Event, JobId, LimitMeasure, NextStep, Notice, QuotaUse, Time};

use super::plan::{Job, Plan};

/// Where a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Outside,
    Queued,
    Flying,
    Ended,
}

/// A retry that was announced.
#[derive(Debug, Clone, Copy)]
struct Due {
    number: u32,
    not_before: Time,
    told_at: Time,
    class: Class,
}

#[derive(Debug)]
struct Record {
    place: Place,
    attempts: u32,
    /// When the last of them was sent.
    sent: Time,
    due: Option<Due>,
}

#[derive(Debug, Default)]
struct LaneBook {
    in_flight: u32,
    newest_fresh: Option<usize>,
    /// When the breaker closed last: times that were announced before hold no more.
    reopened_at: Option<Time>,
    /// Its server is taken to be down: probes go in no order.
    is_broken: bool,
    /// Refusals since the last success that was sent after one, and the last of them. From the second on
    /// probes go in no order either.
    refusals: (u32, Time),
    /// Refused jobs that go first, once their pause is over.
    refused: BTreeMap<usize, Time>,
}

impl LaneBook {
    fn is_without_order(&self) -> bool {
        self.is_broken || self.refusals.0 > 1
    }
}

/// One attempt's share of a declared limit.
#[derive(Debug, Clone, Copy)]
struct Share {
    job: usize,
    at: Time,
    amount: u64,
}

/// The books.
#[derive(Debug)]
pub(crate) struct Watch {
    name: String,
    now: Time,
    jobs: Vec<Record>,
    lanes: Vec<LaneBook>,
    limits: Vec<(LimitMeasure, u64, VecDeque<Share>)>,
    /// Wake-ups at which nothing happened, since something did.
    idle_wakes: u32,
    queued: usize,
    /// The jobs in the order of their tickets.
    offered: Vec<usize>,
}

/// Wake-ups in a row without any effect that are too many: a busy loop if they are close, and
/// a lane that starves if they are far apart. A model of a limit that is right needs one.
const MOST_IDLE_WAKES: u32 = 64;

impl Watch {
    pub(crate) fn new(name: String, plan: &Plan) -> Self {
        let fresh = || Record {
            place: Place::Outside,
            attempts: 0,
            sent: Time::ZERO,
            due: None,
        };
        let limits = plan.limits.iter();
        Self {
            name,
            now: Time::ZERO,
            jobs: (0..plan.jobs).map(|_| fresh()).collect(),
            lanes: plan.lanes.iter().map(|_| LaneBook::default()).collect(),
            limits: limits
                .map(|(counts, most)| (*counts, *most, VecDeque::new()))
                .collect(),
            idle_wakes: 0,
            queued: 0,
            offered: Vec::new(),
        }
    }

    fn holds(&self, what: bool, claim: impl FnOnce() -> String) {
        let at = self.now.since(Time::ZERO);
        assert!(what, "{} at {at:?}: {}", self.name, claim());
    }

    /// Time goes on.
    pub(crate) fn tick(&mut self, now: Time) {
        self.holds(now >= self.now, || "time went back".to_owned());
        self.now = now;
    }

    /// A job was offered.
    pub(crate) fn offered(&mut self, index: usize) {
        self.jobs[index].place = Place::Queued;
        self.queued += 1;
        self.offered.push(index);
    }

    /// The job with this ticket.
    pub(crate) fn job(&self, id: JobId) -> usize {
        self.offered[id.ticket() as usize]
    }

    /// The scheduler said that an attempt is to be sent.
    pub(crate) fn started(&mut self, index: usize, job: &Job, limits: &[usize]) {
        let record = &self.jobs[index];
        self.holds(record.place == Place::Queued, || {
            format!("job {index} started, but it is {:?}", record.place)
        });
        let due = record.due;
        let book = &self.lanes[job.lane];
        if let Some(due) = due {
            let sooner = book.reopened_at.is_some_and(|at| at >= due.told_at);
            self.holds(due.not_before <= self.now || sooner, || {
                format!("job {index} was sent again before {:?}", due.not_before)
            });
        } else if !book.is_without_order() {
            let newest = book.newest_fresh;
            self.holds(newest.is_none_or(|newest| newest < index), || {
                format!("job {index} overtaken by {newest:?}")
            });
            let left = book.refused.iter().find(|(_, ready)| **ready <= self.now);
            self.holds(left.is_none(), || {
                format!("new job {index} started before the retry of {left:?}")
            });
        }
        for limit in limits {
            self.reserve(*limit, index, job.estimate);
        }
        let book = &mut self.lanes[job.lane];
        book.in_flight += 1;
        book.refused.remove(&index);
        if due.is_none() && !book.is_without_order() {
            book.newest_fresh = Some(index);
        }
        self.idle_wakes = 0;
        self.queued -= 1;
        let record = &mut self.jobs[index];
        record.place = Place::Flying;
        record.attempts += 1;
        record.sent = self.now;
        record.due = None;
    }

    fn reserve(&mut self, limit: usize, job: usize, estimate: QuotaUse) {
        let (now, (counts, most, shares)) = (self.now, &mut self.limits[limit]);
        let most = *most;
        let (window, amount) = match counts {
            LimitMeasure::Requests(window) => (Some(*window), 1),
            LimitMeasure::Tokens(window) => (Some(*window), estimate.tokens()),
            LimitMeasure::Concurrency => (None, 1),
        };
        if let Some(window) = window {
            while shares.front().is_some_and(|share| share.at + window <= now) {
                shares.pop_front();
            }
        }
        shares.push_back(Share {
            job,
            at: now,
            amount,
        });
        let used: u64 = shares.iter().map(|share| share.amount).sum();
        self.holds(used <= most, || {
            format!("job {job} brings declared limit {limit} to {used} of {most}")
        });
    }

    /// An attempt has left; `used` is what it really used, if that is known.
    fn landed(&mut self, index: usize, lane: usize, used: Option<QuotaUse>) {
        let place = self.jobs[index].place;
        self.holds(place == Place::Flying, || {
            format!("job {index} landed, but is {place:?}")
        });
        self.lanes[lane].in_flight -= 1;
        for (counts, _, shares) in &mut self.limits {
            match (counts, used) {
                (LimitMeasure::Concurrency, _) => shares.retain(|share| share.job != index),
                (LimitMeasure::Tokens(_), Some(used)) => {
                    if let Some(share) = shares.iter_mut().rev().find(|share| share.job == index) {
                        share.amount = share.amount.min(used.tokens());
                    }
                }
                _ => {}
            }
        }
        self.idle_wakes = 0;
    }

    /// An attempt's end was given to the scheduler.
    pub(crate) fn answered(
        &mut self,
        index: usize,
        lane: usize,
        class: Class,
        used: Option<QuotaUse>,
        next: NextStep,
    ) {
        self.landed(index, lane, used);
        let (book, sent) = (&mut self.lanes[lane], self.jobs[index].sent);
        match class {
            Class::Ok if sent > book.refusals.1 => book.refusals.0 = 0,
            Class::Throttled => {
                let more = if book.is_broken { 2 } else { 1 };
                book.refusals = (book.refusals.0 + more, self.now);
            }
            _ => {}
        }
        match next {
            NextStep::Return | NextStep::TooLong(_) => self.jobs[index].place = Place::Ended,
            NextStep::Again { retry, not_before } => {
                let attempts = self.jobs[index].attempts;
                self.holds(retry == attempts, || {
                    format!("retry {retry} of job {index} after {attempts} attempts")
                });
                self.holds(class != Class::Ok, || {
                    format!("job {index} is sent again after Ok")
                });
                let record = &mut self.jobs[index];
                record.place = Place::Queued;
                self.queued += 1;
                record.due = Some(Due {
                    number: retry,
                    not_before,
                    told_at: self.now,
                    class,
                });
                if class == Class::Throttled {
                    self.lanes[lane].refused.insert(index, not_before);
                }
            }
        }
    }

    /// The scheduler ended a job without an attempt.
    pub(crate) fn refused(&mut self, index: usize, lane: usize) {
        let place = self.jobs[index].place;
        self.holds(place == Place::Queued, || {
            format!("job {index} refused, but is {place:?}")
        });
        self.lanes[lane].refused.remove(&index);
        self.jobs[index].place = Place::Ended;
        self.queued -= 1;
        self.idle_wakes = 0;
    }

    /// The user cancelled a job.
    pub(crate) fn cancelled(&mut self, index: usize, lane: usize) {
        match self.jobs[index].place {
            Place::Flying => self.landed(index, lane, None),
            Place::Queued => self.queued -= 1,
            Place::Outside | Place::Ended => {}
        }
        self.lanes[lane].refused.remove(&index);
        self.jobs[index].place = Place::Ended;
    }

    /// The scheduler reported something.
    pub(crate) fn reported(&mut self, notice: &Notice) {
        self.holds(notice.at == self.now, || {
            format!("{notice:?} is not of now")
        });
        match &notice.event {
            Event::SlotAcquired {
                job,
                in_flight,
                window,
                ..
            } => {
                self.counted(notice, *job, *in_flight, true);
                self.holds(in_flight <= window, || {
                    format!("{notice:?}: above the window")
                });
            }
            Event::SlotReleased { job, in_flight } => {
                self.counted(notice, *job, *in_flight, false);
            }
            Event::RequestRetrying {
                job,
                retry,
                not_before,
            } => {
                let due = self.jobs[self.job(*job)].due;
                let told = due.map(|due| (due.number, due.not_before));
                self.holds(told == Some((*retry, *not_before)), || {
                    format!("{notice:?}, but finish said {due:?}")
                });
            }
            Event::RateLimitHit { job, .. } => {
                let due = self.jobs[self.job(*job)].due;
                let other = due.is_some_and(|due| due.class != Class::Throttled);
                self.holds(!other, || format!("{notice:?}, but {due:?}"));
            }
            Event::ConcurrencyIncreased { from, to } => {
                self.holds(from < to, || format!("{notice:?}"));
            }
            Event::ConcurrencyDecreased { from, to } => {
                self.holds(from > to, || format!("{notice:?}"));
            }
            Event::BreakerClosed => {
                let book = &mut self.lanes[notice.lane.index()];
                (book.is_broken, book.reopened_at) = (false, Some(self.now));
            }
            Event::BreakerOpened { .. } => self.lanes[notice.lane.index()].is_broken = true,
            Event::RateLimitLearned { .. } | Event::RateLimitWarning { .. } => {}
        }
    }

    /// A slot was taken or given back: by a job that is where it should be, and the number
    /// in flight is ours too.
    fn counted(&self, notice: &Notice, job: JobId, in_flight: u32, flies: bool) {
        let place = self.jobs[self.job(job)].place;
        self.holds((place == Place::Flying) == flies, || {
            format!("{notice:?}, but the job is {place:?}")
        });
        let books = self.lanes[notice.lane.index()].in_flight;
        self.holds(in_flight == books, || {
            format!("{notice:?}, but {books} are")
        });
    }

    /// The scheduler has nothing to do now and wants to be woken then.
    pub(crate) fn asleep(&mut self, wake: Option<Time>, woken: bool) {
        self.holds(wake.is_none_or(|wake| wake > self.now), || {
            format!("wakes at {wake:?}, which is not in the future")
        });
        let flying: u32 = self.lanes.iter().map(|lane| lane.in_flight).sum();
        self.holds(flying > 0 || wake.is_some() || self.queued == 0, || {
            "jobs are queued, none is in flight, and nothing will wake it".to_owned()
        });
        self.idle_wakes = if woken { self.idle_wakes + 1 } else { 0 };
        self.holds(self.idle_wakes < MOST_IDLE_WAKES, || {
            format!("woken {MOST_IDLE_WAKES} times for nothing, next at {wake:?}")
        });
    }

    /// The run is over.
    pub(crate) fn over(&self) {
        let left = self.jobs.iter().position(|job| job.place != Place::Ended);
        self.holds(left.is_none(), || format!("job {left:?} never ended"));
        let flying: u32 = self.lanes.iter().map(|lane| lane.in_flight).sum();
        self.holds(flying == 0, || format!("{flying} still in flight"));
    }
}
