//! What holds whatever is called, in whatever order, and whatever servers say.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;

/// Something that the caller does.
#[derive(Debug, Clone)]
enum Call {
    Offer {
        lane: usize,
        cost: QuotaUse,
        limits: u8,
        retries: Option<u32>,
    },
    /// Ends one of the attempts in flight.
    Finish {
        which: usize,
        class: Class,
        hint: Hint,
        usage: Option<QuotaUse>,
    },
    Cancel {
        which: usize,
    },
    Drain,
    /// Lets so many milliseconds pass, or as many as it takes to the next wake-up.
    Pass(u64),
    Sleep,
}

fn class() -> impl Strategy<Value = Class> {
    prop_oneof![
        4 => Just(Class::Ok),
        4 => Just(Class::Throttled),
        3 => Just(Class::Transient),
        1 => Just(Class::Timeout),
        1 => Just(Class::Permanent),
        1 => prop_oneof![Just(Class::QuotaExhausted), Just(Class::Auth), Just(Class::NotFound)],
    ]
}

/// Counts of a usual size, and absurd ones.
fn count() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0_u64..200, 1 => 0..=Reading::MOST, 1 => Just(Reading::MOST)]
}

fn span() -> impl Strategy<Value = Duration> {
    prop_oneof![
        4 => (0_u64..100_000).prop_map(Duration::from_millis),
        1 => Just(Duration::ZERO),
        1 => Just(Hint::LONGEST),
    ]
}

fn reading() -> impl Strategy<Value = Reading> {
    let dimension = prop_oneof![
        3 => Just(Dimension::Requests),
        2 => Just(Dimension::Tokens),
        1 => Just(Dimension::InputTokens),
        1 => Just(Dimension::TokensPerMonth),
    ];
    let limit = prop_oneof![9 => count(), 1 => Just(u64::MAX)];
    let counts = (prop::option::of(limit), prop::option::of(count()));
    let resolution = prop_oneof![Just(0), Just(1), Just(1000)];
    let spans = (
        prop::option::of(span()),
        resolution,
        prop::option::of(span()),
    );
    (dimension, counts, spans).prop_map(|(dimension, counts, spans)| Reading {
        dimension,
        limit: counts.0,
        remaining: counts.1,
        reset: spans.0,
        resolution: Duration::from_millis(spans.1),
        window: spans.2,
    })
}

fn hint() -> impl Strategy<Value = Hint> {
    let wait = prop::option::weighted(0.3, span());
    let readings = prop::collection::vec(reading(), 0..3);
    (wait, any::<bool>(), readings).prop_map(|(retry_after, useless, readings)| Hint {
        retry_after,
        useless: useless && readings.is_empty(),
        readings,
    })
}

fn cost() -> impl Strategy<Value = QuotaUse> {
    (count(), count()).prop_map(|(input_tokens, output_tokens)| QuotaUse {
        input_tokens,
        output_tokens,
    })
}

fn call() -> impl Strategy<Value = Call> {
    let retries = prop::option::weighted(0.2, 0_u32..5);
    let offer = (0..3_usize, cost(), 0_u8..8, retries);
    let finish = (any::<usize>(), class(), hint(), prop::option::of(cost()));
    prop_oneof![
        5 => offer.prop_map(|(lane, cost, limits, retries)| Call::Offer {
            lane, cost, limits, retries,
        }),
        8 => finish.prop_map(|(which, class, hint, usage)| Call::Finish {
            which, class, hint, usage,
        }),
        1 => any::<usize>().prop_map(|which| Call::Cancel { which }),
        // Rarely: what comes after it is quiet.
        1 => prop::bool::weighted(0.1).prop_map(|drain| if drain { Call::Drain } else { Call::Sleep }),
        3 => prop_oneof![0_u64..2000, 0_u64..200_000].prop_map(Call::Pass),
        3 => Just(Call::Sleep),
    ]
}

/// Where a job is, as the caller knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LeasePlace {
    Queued,
    Out,
    Ended,
}

/// A caller that believes nothing.
struct Caller {
    scheduler: Scheduler,
    lanes: [LaneId; 3],
    limits: [LimitId; 3],
    now: Time,
    jobs: BTreeMap<JobId, LeasePlace>,
    is_drained: bool,
    /// Everything that was decided.
    record: Vec<String>,
}

impl Caller {
    fn new(seed: u64) -> Self {
        let mut scheduler = Scheduler::new(seed);
        let unadaptive = LanePolicy {
            strategy: LaneStrategy::Fixed,
            ..slots(3)
        };
        let lanes = [LanePolicy::default(), slots(2), unadaptive].map(|p| scheduler.open(p));
        let counts = [
            (LimitMeasure::Concurrency, 2),
            (LimitMeasure::Requests(Duration::from_secs(10)), 5),
            (LimitMeasure::Tokens(MINUTE), 300),
        ];
        let limits = counts.map(|(counts, capacity)| {
            let name = "limit".to_owned();
            scheduler.declare(Limit {
                name,
                counts,
                capacity,
            })
        });
        Self {
            scheduler,
            lanes,
            limits,
            now: Time::ZERO,
            jobs: BTreeMap::new(),
            is_drained: false,
            record: Vec::new(),
        }
    }

    fn pick(&self, which: usize, place: LeasePlace) -> Option<JobId> {
        let there = self.jobs.iter().filter(|(_, known)| **known == place);
        let there: Vec<JobId> = there.map(|(job, _)| *job).collect();
        Some(there[which.checked_rem(there.len())?])
    }

    fn make(&mut self, call: &Call) {
        match call {
            Call::Offer {
                lane,
                cost,
                limits,
                retries,
            } => {
                let named = (0..3).filter(|n| limits & (1 << n) != 0);
                let limits: Arc<[LimitId]> = named.map(|n| self.limits[n]).collect();
                let demand = Demand {
                    cost: *cost,
                    max_retries: *retries,
                    limits,
                };
                let job = self.scheduler.offer(self.now, self.lanes[*lane], demand);
                assert_eq!(self.jobs.insert(job, LeasePlace::Queued), None);
            }
            Call::Finish {
                which,
                class,
                hint,
                usage,
            } => {
                if let Some(job) = self.pick(*which, LeasePlace::Out) {
                    let (class, usage) = (*class, *usage);
                    self.finish(job, &End { class, hint, usage });
                }
            }
            Call::Cancel { which } => {
                let places = [LeasePlace::Queued, LeasePlace::Out, LeasePlace::Ended];
                if let Some(job) = self.pick(*which, places[which % 3]) {
                    self.scheduler.cancel(self.now, job);
                    self.jobs.insert(job, LeasePlace::Ended);
                }
            }
            Call::Drain => {
                self.scheduler.drain(self.now);
                self.is_drained = true;
            }
            Call::Pass(ms) => self.now = self.now + Duration::from_millis(*ms),
            Call::Sleep => self.now = self.scheduler.wake().unwrap_or(self.now),
        }
        self.obey();
    }

    fn finish(&mut self, job: JobId, end: &End<'_>) {
        let next = self.scheduler.finish(self.now, job, end);
        self.record.push(format!("{next:?}"));
        let place = match next {
            NextStep::Return | NextStep::TooLong(_) => LeasePlace::Ended,
            NextStep::Again { not_before, .. } => {
                assert!(not_before >= self.now);
                LeasePlace::Queued
            }
        };
        self.jobs.insert(job, place);
    }

    /// Does what it is told, and looks at what it is told.
    fn obey(&mut self) {
        for _ in 0..=2 * self.jobs.len() {
            let Some(action) = self.scheduler.start(self.now) else {
                self.look();
                return;
            };
            self.record.push(format!("{action:?}"));
            let (job, place) = match action {
                Action::Start(job) => {
                    assert!(!self.is_drained, "{job:?} starts after the end");
                    (job, LeasePlace::Out)
                }
                Action::Refuse(job, why) => {
                    assert_eq!(why == Refusal::Draining, self.is_drained);
                    (job, LeasePlace::Ended)
                }
            };
            let before = self.jobs.insert(job, place);
            assert_eq!(
                before,
                Some(LeasePlace::Queued),
                "{job:?} goes or ends once"
            );
        }
        panic!("more to do than there are jobs");
    }

    fn look(&mut self) {
        let wake = self.scheduler.wake();
        assert!(wake.is_none_or(|wake| wake > self.now), "{wake:?}");
        while let Some(notice) = self.scheduler.event() {
            if let Event::SlotAcquired {
                in_flight, window, ..
            } = notice.event
            {
                assert!(in_flight <= window);
            }
            self.record.push(format!("{notice:?}"));
        }
        let views = self.lanes.map(|lane| self.scheduler.view(lane));
        let queued: usize = views.iter().map(|view| view.queued).sum();
        let out: u32 = views.iter().map(|view| view.in_flight).sum();
        let count = |place| self.jobs.values().filter(|p| **p == place).count();
        assert_eq!(queued, count(LeasePlace::Queued));
        assert!(
            !self.is_drained || queued == 0,
            "somebody waits for nothing"
        );
        assert_eq!(out as usize, count(LeasePlace::Out));
        for (view, most) in views.iter().zip([256, 2, 3]) {
            assert!((1..=most).contains(&view.window));
        }
        for (limit, most) in self.limits.into_iter().zip([2, 5]) {
            assert!(self.scheduler.limits.used(self.now, limit) <= most);
        }
    }
}

fn play(seed: u64, calls: &[Call]) -> Vec<String> {
    let mut caller = Caller::new(seed);
    for call in calls {
        caller.make(call);
    }
    caller.record
}

proptest! {
    #[test]
    fn every_job_goes_or_ends_once_within_windows_and_limits(
        calls in prop::collection::vec(call(), 1..120),
    ) {
        play(7, &calls);
    }

    #[test]
    fn the_same_calls_and_the_same_seed_give_the_same_decisions(
        seed in any::<u64>(),
        calls in prop::collection::vec(call(), 1..60),
    ) {
        prop_assert_eq!(play(seed, &calls), play(seed, &calls));
    }

    #[test]
    fn whoever_answers_everything_well_sees_every_job_through(
        calls in prop::collection::vec(call(), 1..80),
    ) {
        let mut caller = Caller::new(7);
        for call in &calls {
            caller.make(call);
        }
        let hint = Hint::default();
        let class = Class::Ok;
        let mut steps = 0;
        while caller.jobs.values().any(|place| *place != LeasePlace::Ended) {
            steps += 1;
            prop_assert!(steps < 20_000, "somebody waits for ever");
            if let Some(job) = caller.pick(0, LeasePlace::Out) {
                caller.finish(job, &End { class, hint: &hint, usage: None });
                caller.obey();
            } else {
                prop_assert!(caller.scheduler.wake().is_some(), "nothing will ever happen");
                caller.make(&Call::Sleep);
            }
        }
    }
}
