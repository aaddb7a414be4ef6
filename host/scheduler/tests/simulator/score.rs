//! One run held against the oracle's, and many runs held against a gate.

use std::ops::Range;
use std::time::Duration;

use runner_scheduler::{LaneStrategy, Time};

use super::catalogue::Scenario;
use super::client::{self, Ended, Run, Way};
use super::gate::{Gate, Share};
use super::oracle::{self, Ideal};
use super::plan::Plan;
use super::service::Service;

/// A change of the world, after which a lane has to find its rate again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Change {
    pub(crate) at: Time,
    /// Calls a minute that are possible afterwards.
    pub(crate) per_minute: u64,
}

/// Calls are counted over this much when a rate is looked for.
const RATE_SPAN: Duration = Duration::from_secs(10);

/// What a run was worth. Shares and spans: less is better, but for fairness.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Score {
    pub(crate) regret: Share,
    pub(crate) wasted: Share,
    pub(crate) queued_p50: Duration,
    pub(crate) queued_p99: Duration,
    /// Jain's index over lanes while all of them had work.
    pub(crate) fairness: Option<Share>,
    pub(crate) recovery: Option<Duration>,
    /// The median latency above the oracle's, where the server queues.
    pub(crate) slower: Option<Share>,
    /// And the 95th percentile.
    pub(crate) late: Option<Share>,
    pub(crate) idle: Option<Duration>,
    /// Jobs that the oracle got an answer for and the scheduler didn't.
    pub(crate) lost: u64,
}

/// Scores of a scenario's seeds.
#[derive(Debug, Clone)]
pub(crate) struct Scores {
    pub(crate) each: Vec<Score>,
}

/// Runs one seed of a scenario.
pub(crate) fn run(scenario: &Scenario, seed: u64) -> Score {
    of_plan(&scenario.plan, scenario.name, scenario.change, seed)
}

/// Runs one seed of a plan.
pub(crate) fn of_plan(plan: &Plan, name: &str, change: Option<Change>, seed: u64) -> Score {
    let way = Way {
        name: name.to_owned(),
        trace: false,
        explain: false,
    };
    let ideal = oracle::run(plan.world(seed));
    let run = client::run(plan.world(seed), way.clone());
    let mut score = judge(plan, change, &run, &ideal);
    if let Some(plan) = at_the_knee(plan) {
        let best = client::run(plan.world(seed), way);
        let above = |percent| {
            let (ours, theirs) = (
                percentile(&run.took, percent),
                percentile(&best.took, percent),
            );
            Some(Share::above(ours, theirs))
        };
        (score.slower, score.late) = (above(50), above(95));
    }
    score
}

fn judge(plan: &Plan, change: Option<Change>, run: &Run, ideal: &Ideal) -> Score {
    let lost = run.ended.iter().zip(&ideal.answered).enumerate();
    let lost = lost.filter(|(job, (ended, answered))| {
        let ends = plan.lanes[job % plan.lanes.len()].ends;
        !ends && **answered && **ended != Some(Ended::Answered)
    });
    let shared = plan.lanes.len() > 1 && plan.lanes.iter().all(|lane| !lane.ends);
    Score {
        regret: Share::above(run.makespan, ideal.makespan),
        wasted: Share::of(run.throttled, run.attempts),
        queued_p50: percentile(&run.queued, 50),
        queued_p99: percentile(&run.queued, 99),
        fairness: shared.then(|| fairness(plan, run)),
        recovery: change.map(|change| recovery(change, run)),
        slower: None,
        late: None,
        idle: run.idle,
        lost: lost.count() as u64,
    }
}

/// The plan with one more at once than the server has slots, whatever happens; `None` if it has none.
fn at_the_knee(plan: &Plan) -> Option<Plan> {
    let Service::Slots { slots, .. } = plan.servers[0].service else {
        return None;
    };
    let mut plan = plan.clone();
    for lane in &mut plan.lanes {
        lane.policy.strategy = LaneStrategy::Fixed;
        lane.policy.max_window = slots + 1;
    }
    Some(plan)
}

/// The span that so many per cent are no longer than; of nothing it is nothing.
fn percentile(spans: &[Duration], percent: usize) -> Duration {
    let mut spans = spans.to_vec();
    spans.sort_unstable();
    let last = spans.len().saturating_sub(1);
    spans.get(last * percent / 100).copied().unwrap_or_default()
}

/// Jain's index over what each lane got until the first of them had nothing left to do.
fn fairness(plan: &Plan, run: &Run) -> Share {
    let lanes = plan.lanes.len();
    let last = |lane| run.left.iter().rev().find(|(_, other)| *other == lane);
    let contended = (0..lanes)
        .filter_map(|lane| last(lane).map(|(at, _)| *at))
        .min();
    let mut got = vec![0u64; lanes];
    for (at, lane) in &run.accepted {
        got[*lane] += u64::from(Some(*at) <= contended);
    }
    let sum: u64 = got.iter().sum();
    let squares: u64 = got.iter().map(|got| got * got).sum();
    Share::of(sum * sum, squares * lanes as u64)
}

/// From the change to the begin of the first span with 95 % of the new rate.
fn recovery(change: Change, run: &Run) -> Duration {
    let wanted = change.per_minute * RATE_SPAN.as_secs() * 95 / (60 * 100);
    let times: Vec<Time> = run.accepted.iter().map(|(at, _)| *at).collect();
    let from = times.partition_point(|at| *at < change.at);
    for (index, begin) in times.iter().enumerate().skip(from) {
        let end = times.partition_point(|at| *at < *begin + RATE_SPAN);
        if (end - index) as u64 >= wanted {
            return begin.since(change.at);
        }
    }
    Duration::MAX
}

impl Scores {
    /// Runs a scenario with each of the seeds.
    pub(crate) fn of(scenario: &Scenario, seeds: Range<u64>) -> Self {
        Self {
            each: seeds.map(|seed| run(scenario, seed)).collect(),
        }
    }

    /// The worst of all seeds, figure by figure.
    pub(crate) fn worst(&self) -> Score {
        self.pick(|values| values.last().copied())
    }

    /// The median of all seeds, figure by figure.
    pub(crate) fn median(&self) -> Score {
        self.pick(|values| values.get(values.len() / 2).copied())
    }

    fn pick(&self, choose: impl Fn(&[u128]) -> Option<u128>) -> Score {
        let of = |figure: &dyn Fn(&Score) -> Option<u128>| {
            let mut values: Vec<u128> = self.each.iter().filter_map(figure).collect();
            values.sort_unstable();
            choose(&values)
        };
        let share = |figure: fn(&Score) -> Share| {
            Share(of(&|score| Some(u128::from(figure(score).0))).unwrap_or(0) as u64)
        };
        let span = |figure: fn(&Score) -> Option<Duration>| {
            let nanos = of(&|score| figure(score).map(|span| span.as_nanos()));
            nanos.map(|nanos| Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
        };
        // More is better there, so the worst is the smallest.
        let unfairness = of(&|score| score.fairness.map(|share| u128::from(100_000 - share.0)));
        Score {
            regret: share(|score| score.regret),
            wasted: share(|score| score.wasted),
            queued_p50: span(|score| Some(score.queued_p50)).unwrap_or_default(),
            queued_p99: span(|score| Some(score.queued_p99)).unwrap_or_default(),
            fairness: unfairness.map(|unfair| Share(100_000 - unfair as u64)),
            recovery: span(|score| score.recovery),
            slower: of(&|score| score.slower.map(|share| u128::from(share.0)))
                .map(|share| Share(share as u64)),
            late: of(&|score| score.late.map(|share| u128::from(share.0)))
                .map(|share| Share(share as u64)),
            idle: span(|score| score.idle),
            lost: of(&|score| Some(u128::from(score.lost))).unwrap_or(0) as u64,
        }
    }

    /// What of a gate the worst seed misses, in words; empty if nothing.
    pub(crate) fn misses(&self, gate: &Gate) -> Vec<String> {
        let worst = self.worst();
        let mut misses = Vec::new();
        let mut must = |holds: bool, miss: String| {
            if !holds {
                misses.push(miss);
            }
        };
        let (regret, wasted) = (worst.regret, worst.wasted);
        must(
            regret <= gate.regret,
            format!("regret {regret} of {}", gate.regret),
        );
        must(
            wasted <= gate.wasted,
            format!("wasted {wasted} of {}", gate.wasted),
        );
        must(worst.lost == 0, format!("{} lost", worst.lost));
        if let (Some(most), Some(idle)) = (gate.idle, worst.idle) {
            must(idle < most, format!("idle {idle:?} of {most:?}"));
        }
        if let (Some(wanted), Some(needed)) = (gate.recovery, worst.recovery) {
            must(
                needed <= wanted,
                format!("recovery {needed:?} of {wanted:?}"),
            );
        }
        if let (Some(most), Some(slower)) = (gate.slower, worst.slower) {
            must(
                slower <= most,
                format!("answers slower by {slower} of {most}"),
            );
        }
        if let (Some(most), Some(late)) = (gate.late, worst.late) {
            must(late <= most, format!("late answers by {late} of {most}"));
        }
        if let (Some(wanted), Some(fairness)) = (gate.fairness, worst.fairness) {
            must(
                fairness >= wanted,
                format!("fairness {fairness} of {wanted}"),
            );
        }
        misses
    }
}
