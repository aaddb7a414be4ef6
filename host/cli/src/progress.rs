//! How far a run is, told while it runs.
//!
//! On a terminal a bar that redraws itself; elsewhere whole lines at each quarter and every half
//! minute, so that a log stays short and a long run is seen to be alive. Log lines of guests,
//! retries and notices are told by the same consumer, above the bar.

use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use runner_config::plan::CaseId;
use runner_eval::event::{Consumer, Event, LaneEvent, LaneNotice};
use runner_eval::record::Outcome;

mod bar;
pub(crate) mod lanes;
mod lines;
mod logged;
mod pace;
mod questions;

use bar::Bar;
use lines::Lines;
use logged::Logged;
use pace::{Pace, SharedPace};
use questions::Questions;

use crate::figures;
use crate::talk::Talk;
use crate::visible;

/// Cases that are named where a run drains; the others are counted.
const AWAITED_SHOWN: usize = 3;

/// How to tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// A bar that redraws itself.
    Bar,
    /// Plain lines.
    Lines,
    /// Warnings only.
    Silent,
}

/// Cases by how they ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    total: u64,
    passed: u64,
    failed: u64,
    waiting: u64,
    errors: u64,
    /// Whose rows are those of an earlier session, however they ended.
    kept: u64,
}

impl Counts {
    fn done(self) -> u64 {
        self.passed + self.failed + self.waiting + self.errors + self.kept
    }

    fn add(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::Failed => self.failed += 1,
            Outcome::Waiting => self.waiting += 1,
            Outcome::Error | Outcome::BudgetExceeded => self.errors += 1,
            // Not done: it is run again when the run goes on.
            Outcome::Cancelled => {}
        }
    }

    fn words(self) -> String {
        let Self {
            passed,
            failed,
            waiting,
            errors,
            kept,
            ..
        } = self;
        let count = figures::count;
        let any = |n: u64, told: String| if n == 0 { String::new() } else { told };
        format!(
            "{}{} passed, {} failed, {}{}",
            any(kept, format!("{} kept, ", count(kept))),
            count(passed),
            count(failed),
            any(waiting, format!("{} waiting, ", count(waiting))),
            figures::counted(errors, "error", "errors")
        )
    }
}

/// What shows the counts.
enum Display {
    Bar(Bar),
    Lines(Lines),
    Silent,
}

/// The consumer that talks.
pub(crate) struct Progress {
    talk: Talk,
    style: Style,
    verbose: bool,
    /// Of each column.
    providers: Vec<String>,
    counts: Counts,
    pace: SharedPace,
    waiting: lanes::Shared,
    questions: Questions,
    logged: Logged,
    display: Display,
}

impl Progress {
    /// Talks to `talk` in `style`; `verbose` adds what is only sometimes of interest.
    pub(crate) fn new(talk: Talk, style: Style, verbose: bool) -> Self {
        Self {
            talk,
            style,
            verbose,
            providers: Vec::new(),
            counts: Counts::default(),
            pace: SharedPace::default(),
            waiting: lanes::Shared::default(),
            questions: Questions::default(),
            logged: Logged::new(verbose),
            display: Display::Silent,
        }
    }

    fn begin(&mut self, total: u64) {
        self.counts.total = total;
        *self.pace() = Pace::new(total, self.providers.len());
        self.display = match self.style {
            Style::Bar => Display::Bar(Bar::new(total, &self.pace, &self.waiting, &self.talk)),
            Style::Lines => {
                Display::Lines(Lines::start(self.talk.clone(), self.waiting.clone(), total))
            }
            Style::Silent => Display::Silent,
        };
        self.show();
    }

    fn pace(&self) -> MutexGuard<'_, Pace> {
        self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn show(&self) {
        match &self.display {
            Display::Bar(bar) => bar.show(self.counts),
            Display::Lines(lines) => lines.show(self.counts),
            Display::Silent => {}
        }
    }
}

impl Consumer for Progress {
    fn on_event(&mut self, event: &Event) {
        match event {
            Event::RunStarted(head) => {
                let columns = head.columns.iter();
                self.providers = columns.map(|column| column.provider.clone()).collect();
                self.begin(head.total);
            }
            Event::CaseStarted { .. } => {}
            Event::Question { id, stage } => {
                if self.verbose
                    && let Some(line) = self.questions.line(*id, stage)
                {
                    self.talk.line(&line);
                }
            }
            Event::Resumed(resumption) => self.talk.note(&resumption.to_string()),
            Event::CaseFinished(record) => {
                self.counts.add(record.conclusion.outcome());
                self.pace().add(record.prompt_idx, false);
                self.show();
            }
            Event::CaseKept(record) => {
                self.counts.kept += 1;
                self.pace().add(record.prompt_idx, true);
                self.show();
            }
            Event::Log(line) => {
                if let Some(text) = self.logged.line(line) {
                    self.talk.line(&text);
                }
            }
            Event::Lane(notice) => {
                if let Some(line) = lane_line(notice).filter(|_| self.verbose) {
                    self.talk.line(&line);
                }
            }
            Event::LaneWaits(standing) => {
                let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
                waiting.on_standing(standing);
                let long = waiting.long_wait(standing, Instant::now());
                drop(waiting);
                if let Some(text) = long {
                    self.talk.warning(&text);
                }
            }
            Event::Notice { message } => self.talk.warning(&visible::line(message)),
            Event::Ordered { message } => self.talk.note(&visible::line(message)),
            Event::Draining { in_flight, grace } => {
                let line = draining_line(in_flight, &self.providers, *grace);
                self.talk.line(&line);
            }
            Event::RunFinished(_) => self.display = Display::Silent,
        }
    }
}

/// What is worth a line of its own when much is wanted.
fn lane_line(notice: &LaneNotice) -> Option<String> {
    match &notice.event {
        LaneEvent::RateLimitHit { retry_after, .. } => {
            Some(throttled_line(&notice.lane, *retry_after))
        }
        LaneEvent::RequestRetrying {
            retry, not_before, ..
        } => {
            let at = Duration::from_nanos(not_before.as_nanos());
            let wait = at.saturating_sub(notice.at);
            Some(retry_line(&notice.lane, *retry, wait))
        }
        _ => None,
    }
}

fn throttled_line(lane: &str, retry_after: Option<Duration>) -> String {
    let lane = visible::line(lane);
    match retry_after.map(figures::duration) {
        Some(wait) => format!("throttled: {lane}: the server asks for a wait of {wait}"),
        None => format!("throttled: {lane}"),
    }
}

fn retry_line(lane: &str, retry: u32, wait: Duration) -> String {
    let wait = figures::duration(wait);
    format!("retry: {}: retry {retry} in {wait}", visible::line(lane))
}

/// That no case starts any more, and whose end is waited for.
fn draining_line(
    in_flight: &[(CaseId, Duration)],
    providers: &[String],
    grace: Duration,
) -> String {
    let awaited = if in_flight.is_empty() {
        String::new()
    } else {
        let named = in_flight.iter().take(AWAITED_SHOWN).map(|(id, time)| {
            let provider = providers.get(id.prompt_idx as usize);
            let provider = visible::line(provider.map_or("", String::as_str));
            let time = figures::duration(*time);
            format!("test {} · {provider}, {time}", id.test_idx)
        });
        let mut named: Vec<String> = named.collect();
        let more = in_flight.len().saturating_sub(AWAITED_SHOWN);
        if more > 0 {
            named.push(format!("{} more", figures::count(more as u64)));
        }
        let cases = figures::counted(in_flight.len() as u64, "case", "cases");
        let grace = figures::duration(grace);
        let named = named.join("; ");
        format!("; {cases} in flight may finish within {grace} ({named})")
    };
    format!("stopping: no new case starts{awaited}. Ctrl-C again stops at once")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_told_in_words() {
        let (lane, wait) = ("api.example.com/m", Duration::from_millis(2_100));
        assert_eq!(
            retry_line(lane, 1, wait),
            "retry: api.example.com/m: retry 1 in 2.1 s"
        );
        assert_eq!(
            throttled_line(lane, Some(wait)),
            "throttled: api.example.com/m: the server asks for a wait of 2.1 s"
        );
        assert_eq!(throttled_line(lane, None), "throttled: api.example.com/m");
    }

    #[test]
    fn who_stops_a_run_is_told_which_cases_are_waited_for() {
        let flight = |test_idx, seconds| {
            let id = CaseId {
                test_idx,
                prompt_idx: test_idx % 2,
            };
            (id, Duration::from_secs(seconds))
        };
        let providers = ["a".to_owned(), "b\n".to_owned()];
        let line = |in_flight: &[_]| draining_line(in_flight, &providers, Duration::from_secs(10));
        assert_eq!(
            line(&[]),
            "stopping: no new case starts. Ctrl-C again stops at once"
        );
        assert_eq!(
            line(&[flight(7, 41)]),
            "stopping: no new case starts; 1 case in flight may finish within 10.0 s (test 7 · b , 41.0 s). Ctrl-C again stops at once"
        );
        let many: Vec<_> = (0..5).map(|n| flight(n, 9)).collect();
        let told = line(&many);
        let named = "(test 0 · a, 9.0 s; test 1 · b , 9.0 s; test 2 · a, 9.0 s; 2 more)";
        assert!(told.contains(named), "{told}");
    }

    #[test]
    fn a_budget_that_is_spent_counts_as_an_error() {
        let mut counts = Counts {
            total: 5,
            ..Counts::default()
        };
        for outcome in [
            Outcome::Passed,
            Outcome::Failed,
            Outcome::Error,
            Outcome::BudgetExceeded,
            Outcome::Waiting,
        ] {
            counts.add(outcome);
        }
        assert_eq!(counts.words(), "1 passed, 1 failed, 1 waiting, 2 errors");
        assert_eq!(counts.done(), counts.total);
        counts.kept = 3;
        assert_eq!(
            counts.words(),
            "3 kept, 1 passed, 1 failed, 1 waiting, 2 errors"
        );
    }
}
