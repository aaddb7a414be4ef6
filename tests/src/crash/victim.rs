//! A run that is killed and goes on: one home, one config, session after session.

use std::collections::HashMap;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use serde_json::Value;

use super::remains::{self, Expected, Remains};
use super::server::{Moment, News, Server, answer_to};
use super::{MAX_UNSAVED, MAX_UNTOLD, Places};
use crate::chance::Chance;
use crate::run::{Finished, Run};

/// How long a session may take before the test fails.
const PATIENCE: Duration = Duration::from_mins(2);

/// Where events are written; deleted before each session, so that it is this one's.
const EVENTS: &str = "events.jsonl";

/// How a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// By itself, with everything done.
    Finished,
    /// By `kill -9`.
    Killed,
}

/// A run and what it is run against.
pub(super) struct Victim {
    run: Run,
    server: Option<Server>,
    cases: usize,
    /// Prompts of cached answers, by key; an answer does not change.
    read: HashMap<String, String>,
    /// Cases in the order in which the last session reported them.
    reported: Vec<u32>,
}

impl Victim {
    /// Over a server: some dozens of cases, sometimes one after the other and mostly several at
    /// once, sometimes without a write-ahead log.
    pub(super) fn over_server(chance: &mut Chance) -> Self {
        let cases = 15 + chance.below(35) as usize;
        let at_once = chance.pick(&["2", "8", "8", "20"]);
        let latency = Duration::from_millis(chance.below(25));
        let server = Server::start(latency);
        let run = run("openai:m", cases)
            .env("OPENAI_API_KEY", "sk-test-key-of-a-test")
            .env("OPENAI_BASE_URL", server.api.url())
            .args(["-j", at_once]);
        let run = match chance.below(6) {
            0 => run.env("RUNNER_DISABLE_WAL_MODE", "true"),
            _ => run,
        };
        Self::new(run, Some(server), cases)
    }

    /// Over nothing: answers come at once.
    pub(super) fn alone(cases: usize) -> Self {
        Self::new(run("echo", cases), None, cases)
    }

    fn new(run: Run, server: Option<Server>, cases: usize) -> Self {
        Self {
            run,
            server,
            cases,
            read: HashMap::new(),
            reported: Vec::new(),
        }
    }

    pub(super) fn cases(&self) -> usize {
        self.cases
    }

    /// Requests of all sessions.
    pub(super) fn calls(&self) -> usize {
        let server = self.server.as_ref();
        server.map_or(0, |server| server.api.view().requests)
    }

    /// Looks at what is on the disk.
    pub(super) fn look(&mut self) -> Remains {
        let heard = self.server.is_some();
        let expected = move |test_idx| {
            let prompt = format!("This is case {test_idx}.");
            let output = if heard {
                answer_to(&prompt)
            } else {
                prompt.clone()
            };
            Expected { prompt, output }
        };
        remains::look(self.run.home(), &expected, &mut self.read)
    }

    /// Starts the program on what is `known` to be there, and kills it when the moment has come.
    pub(super) fn session(&mut self, moment: Option<Moment>, known: &Remains) -> Ending {
        let events = self.run.project().join(EVENTS);
        // There is none before the first session.
        let _ = std::fs::remove_file(&events);
        let (sender, news) = mpsc::channel();
        if let Some(server) = &self.server {
            server.begin(moment, &sender);
        }
        let run = self.run.clone();
        let run = if known.can_go_on() {
            run.arg("--resume")
        } else {
            run
        };
        let running = run.start();
        // Nobody listens any more when it was killed.
        running.on_end(move || {
            let _ = sender.send(News::Ended);
        });
        let (patience, by_time) = match moment {
            Some(Moment::After(span)) => (span, true),
            _ => (PATIENCE, false),
        };
        let kill = match news.recv_timeout(patience) {
            Ok(News::Due) => true,
            Ok(News::Ended) => false,
            Err(RecvTimeoutError::Timeout) => by_time,
            Err(RecvTimeoutError::Disconnected) => unreachable!("the process's end is told first"),
        };
        let finished = if kill {
            running.kill()
        } else {
            running.finish()
        };
        self.reported = reported(&std::fs::read_to_string(events).unwrap_or_default());
        ending(&finished)
    }

    /// Holds the rows against what was there before and what was reported since; gives how many
    /// that were reported are missing.
    pub(super) fn check_rows(&self, known: &Remains, seen: &Remains) -> usize {
        let lost: Vec<_> = known.rows.difference(&seen.rows).collect();
        assert!(lost.is_empty(), "rows are gone that were there: {lost:?}");
        let distinct: Places = self.reported.iter().copied().collect();
        assert_eq!(
            distinct.len(),
            self.reported.len(),
            "a case was reported twice"
        );
        assert!(
            distinct.is_disjoint(&known.rows),
            "a case was run that has its row"
        );
        let new: Places = seen.rows.difference(&known.rows).copied().collect();
        let there = self
            .reported
            .iter()
            .filter(|place| new.contains(place))
            .count();
        let first: Places = self.reported[..there].iter().copied().collect();
        assert!(
            first.is_subset(&new),
            "a row is missing that was reported before one that is there"
        );
        // A row is handed over, and then reported by a thread of its own.
        let unreported = new.len() - there;
        assert!(
            unreported <= MAX_UNTOLD,
            "{unreported} rows that nobody reported"
        );
        let missing = self.reported.len() - there;
        assert!(
            missing <= MAX_UNSAVED,
            "{missing} results were reported and are not in the database"
        );
        if seen.is_finished() {
            assert_eq!(missing, 0, "a finished run has every row");
        }
        missing
    }

    /// Holds the calls of the last session against what was cached before it.
    pub(super) fn check_calls(&self, known: &Remains, seen: &Remains) {
        let Some(server) = &self.server else { return };
        for (prompt, calls) in server.calls() {
            assert!(
                !known.cached.contains(&prompt),
                "'{prompt}' was paid for again: its answer was cached"
            );
            assert_eq!(calls, 1, "'{prompt}' was asked more than once in a session");
        }
        let forgotten: Vec<_> = known.cached.difference(&seen.cached).collect();
        assert!(forgotten.is_empty(), "answers are gone: {forgotten:?}");
        for place in self.reported.iter().chain(&seen.rows) {
            let prompt = format!("This is case {place}.");
            assert!(
                seen.cached.contains(&prompt),
                "'{prompt}' was reported before its answer was safe"
            );
        }
    }

    /// Looks at a run that came to its end.
    pub(super) fn check_end(&mut self) {
        let seen = self.look();
        let all: Places = (0..self.cases as u32).collect();
        assert_eq!(seen.rows, all, "each case has its row");
        let shown = self
            .run
            .clone()
            .without_args()
            .args(["show", "--json"])
            .finish();
        shown.expect_code(0);
        let rows = shown.stdout_json()["results"]["results"].clone();
        let rows = rows.as_array().expect("rows");
        let places = rows.iter().map(|row| row["testIdx"].as_u64());
        assert!(
            places.eq((0..self.cases as u64).map(Some)),
            "each row is shown once, in order"
        );
    }
}

/// A run of so many cases, each with a prompt of its own.
fn run(provider: &str, cases: usize) -> Run {
    let config = format!(
        "prompts: ['This is case {{{{n}}}}.']\nproviders: ['{provider}']\ntests: tests.csv\n\
         defaultTest:\n  assert: [{{ type: contains, value: 'case {{{{n}}}}.' }}]\n"
    );
    Run::new().config(&config).numbered_tests(cases).args([
        "eval",
        "--no-table",
        "--events",
        EVENTS,
    ])
}

/// The cases that a session reported, in order. A kill may cut the last line.
fn reported(events: &str) -> Vec<u32> {
    let whole = events.rfind('\n').map_or("", |end| &events[..end]);
    let line = |line: &str| {
        let event: Value = serde_json::from_str(line)
            .unwrap_or_else(|error| panic!("{error} in the event {line}"));
        let place = event["testIdx"].as_u64().map(|place| place as u32);
        place.filter(|_| event["event"] == "case:finished")
    };
    whole.lines().filter_map(line).collect()
}

fn ending(finished: &Finished) -> Ending {
    if finished.code.is_none() {
        return Ending::Killed;
    }
    finished.expect_code(0);
    Ending::Finished
}
