//! `runner list`: the runs that are kept, newest first.

use anyhow::Context as _;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use runner_config::plan::Shard;
use runner_store::{Outcome, RunInfo, RunState, Store};
use serde_json::{Value, json};

use super::CommandContext;
use crate::arguments::{List, ListedState, SinceTime};
use crate::exit::SUCCESS;
use crate::failure::Failure;
use crate::figures;
use crate::findings::text_of;
use crate::listing::{self, Side};
use crate::output::instant;
use crate::stdout;
use crate::visible;

/// Characters of a description.
const DESCRIPTION_CHARS: usize = 60;

/// Lists runs.
pub(super) fn run(arguments: &List, setting: &CommandContext) -> Result<u8, Failure> {
    let wanted = ListFilter {
        tags: &arguments.tag,
        states: &arguments.status,
        since_ms: arguments.since.map(began_at).transpose()?,
    };
    let runs = match setting.existing_store()? {
        Some(store) => chosen(&store, &wanted, arguments.limit)?,
        None => Vec::new(),
    };
    if arguments.json {
        stdout::json(&runs.iter().map(run_json).collect())?;
    } else if runs.is_empty() {
        let why = if wanted.is_all() {
            "no runs yet: make one with `runner eval`"
        } else {
            "no such runs"
        };
        setting.talk.line(why);
    } else {
        let terminal = setting.terminal;
        let text = table(&runs, &TimeZone::system(), terminal.width);
        stdout::print(&text)?;
    }
    Ok(SUCCESS)
}

/// Which runs are listed.
struct ListFilter<'a> {
    tags: &'a [(String, Option<String>)],
    states: &'a [ListedState],
    since_ms: Option<i64>,
}

impl ListFilter<'_> {
    fn is_all(&self) -> bool {
        self.tags.is_empty() && self.states.is_empty() && self.since_ms.is_none()
    }

    /// Whether it may be a run whose rows are not counted.
    fn may_be(&self, run: &RunInfo) -> bool {
        let tags: Value = serde_json::from_str(&run.tags_json).unwrap_or_default();
        let has = |(name, value): &(String, Option<String>)| {
            let found = tags.get(name);
            found.is_some_and(|found| value.as_ref().is_none_or(|value| text_of(found) == *value))
        };
        self.tags.iter().all(has)
    }

    /// Whether it is a run whose rows are counted.
    fn is(&self, run: &RunInfo) -> bool {
        let passed = run.outcomes.of(Outcome::Passed) == total(run) && total(run) > 0;
        let is = |state: &ListedState| match state {
            ListedState::Running => run.state == RunState::Running,
            ListedState::Finished => run.state == RunState::Finished,
            ListedState::Interrupted => run.state == RunState::Interrupted,
            ListedState::Passed => run.state == RunState::Finished && passed,
            ListedState::Failed => run.state != RunState::Running && !passed,
        };
        self.states.is_empty() || self.states.iter().any(is)
    }
}

/// Runs that are asked for at once.
const PAGE: usize = 200;

/// The newest of them, newest first. Rows are counted only where it is not known before that the run is
/// none of them.
fn chosen(store: &Store, wanted: &ListFilter<'_>, limit: usize) -> anyhow::Result<Vec<RunInfo>> {
    if wanted.is_all() {
        return Ok(store.runs(limit)?);
    }
    let mut chosen = Vec::new();
    for page in 0.. {
        let runs = store.search_runs("", page * PAGE, PAGE)?;
        for run in &runs {
            // They come newest first.
            let is_older = wanted
                .since_ms
                .is_some_and(|since| run.created_at_ms < since);
            if chosen.len() == limit || is_older {
                return Ok(chosen);
            }
            if wanted.may_be(run) {
                let counted = store.find_run(&run.id)?;
                chosen.extend(Some(counted).filter(|run| wanted.is(run)));
            }
        }
        if runs.len() < PAGE {
            break;
        }
    }
    Ok(chosen)
}

/// When that was, in milliseconds since 1970.
fn began_at(since: SinceTime) -> anyhow::Result<i64> {
    Ok(match since {
        SinceTime::Age(age) => {
            let ms = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
            Timestamp::now().as_millisecond().saturating_sub(ms)
        }
        SinceTime::Day(day) => {
            let begins = day.to_zoned(TimeZone::system());
            begins
                .context("that day has no beginning here")?
                .timestamp()
                .as_millisecond()
        }
        SinceTime::At(at) => at.as_millisecond(),
    })
}

pub(super) fn table(runs: &[RunInfo], zone: &TimeZone, width: u16) -> String {
    let headings = [
        ("run", Side::Left),
        ("when", Side::Left),
        ("cases", Side::Right),
        ("pass rate", Side::Right),
        ("cost", Side::Right),
        ("status", Side::Left),
        ("description", Side::Left),
    ];
    let rows: Vec<Vec<String>> = runs.iter().map(|run| row(run, zone)).collect();
    listing::render(&headings, &rows, width)
}

fn row(run: &RunInfo, zone: &TimeZone) -> Vec<String> {
    let (done, total) = (ended(run), total(run));
    let cases = match total {
        total if total == done => figures::count(total),
        total => format!("{}/{}", figures::count(done), figures::count(total)),
    };
    let description = run.description.as_deref().unwrap_or_default();
    let description = visible::cut(description, DESCRIPTION_CHARS);
    let part = part(run).unwrap_or_default();
    vec![
        visible::line(&run.id).into_owned(),
        when(run.created_at_ms, zone),
        cases,
        figures::percent(run.outcomes.of(Outcome::Passed), total),
        run.cost_usd.map_or("–".to_owned(), figures::dollars),
        run.state.as_str().to_owned(),
        visible::line(format!("{description}{part}").trim_start()).into_owned(),
    ]
}

/// Which part of a run it is, if it is one.
fn part(run: &RunInfo) -> Option<String> {
    let tags: Value = serde_json::from_str(&run.tags_json).ok()?;
    let Shard { index, count } = tags["shard"].as_str()?.parse().ok()?;
    Some(format!(" (part {index} of {count})"))
}

/// Local time to the minute.
pub(super) fn when(ms: i64, zone: &TimeZone) -> String {
    Timestamp::from_millisecond(ms).map_or_else(
        |_| "?".to_owned(),
        |at| {
            at.to_zoned(zone.clone())
                .strftime("%Y-%m-%d %H:%M")
                .to_string()
        },
    )
}

/// Cases of the plan, as far as the run told; else its rows.
fn total(run: &RunInfo) -> u64 {
    let left: Option<Value> = run
        .summary_json
        .as_deref()
        .and_then(|text| serde_json::from_str(text).ok());
    left.and_then(|summary| summary["total"].as_u64())
        .unwrap_or(0)
        .max(run.outcomes.total())
}

/// Cases that have ended: one that was stopped before it was graded has a row and has not.
fn ended(run: &RunInfo) -> u64 {
    run.outcomes.total() - run.outcomes.of(Outcome::Cancelled)
}

/// A run, for programs.
pub(super) fn run_json(run: &RunInfo) -> Value {
    let total = total(run);
    let passed = run.outcomes.of(Outcome::Passed);
    let tags: Value = serde_json::from_str(&run.tags_json).unwrap_or(Value::Null);
    json!({
        "id": run.id,
        "description": run.description,
        "tags": tags,
        "createdAt": instant(run.created_at_ms),
        "endedAt": run.ended_at_ms.map(instant),
        "status": run.state.as_str(),
        "cases": total,
        "passed": passed,
        "failed": run.outcomes.of(Outcome::Failed),
        "waiting": run.outcomes.of(Outcome::Waiting),
        "errors": run.outcomes.of(Outcome::Error),
        "budgetExceeded": run.outcomes.of(Outcome::BudgetExceeded),
        "notRun": if run.state == RunState::Running { 0 } else { total - ended(run) },
        "cost": run.cost_usd,
        "passRate": if total == 0 { Value::Null } else { json!(passed as f64 / total as f64) },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::tests::record;
    use crate::stored::tests::{TempStore, keep};

    #[test]
    fn the_newest_run_stands_first() -> anyhow::Result<()> {
        let kept = keep(
            &[
                record(0, 0, Outcome::Passed, "yes"),
                record(0, 1, Outcome::Failed, "no"),
            ],
            2,
        )?;
        kept.add("run-2", &[record(0, 0, Outcome::Passed, "yes")], 8)?;
        let runs = kept.store.runs(10)?;
        assert_eq!(
            table(&runs, &TimeZone::UTC, 100),
            "\
run    when              cases  pass rate       cost  status       description
run-2  2023-11-14 22:13    1/8     12.5 %  $0.001000  interrupted  greetings
run-1  2023-11-14 22:13      2     50.0 %  $0.002000  finished     greetings
"
        );
        Ok(())
    }

    #[test]
    fn a_part_of_a_run_is_told_from_the_whole() -> anyhow::Result<()> {
        let kept = keep(&[record(0, 0, Outcome::Passed, "yes")], 1)?;
        let mut run = kept.store.find_run("run-1")?;
        run.tags_json = r#"{"shard":"2/3"}"#.to_owned();
        let told = |run: &RunInfo| row(run, &TimeZone::UTC).pop();
        assert_eq!(told(&run).as_deref(), Some("greetings (part 2 of 3)"));
        run.description = None;
        assert_eq!(told(&run).as_deref(), Some("(part 2 of 3)"));
        run.tags_json = r#"{"shard":"mine"}"#.to_owned();
        assert_eq!(told(&run).as_deref(), Some(""));
        Ok(())
    }

    #[test]
    fn runs_are_chosen_by_tag_state_and_time() -> anyhow::Result<()> {
        let kept = keep(&[record(0, 0, Outcome::Passed, "yes")], 1)?;
        kept.add("run-2", &[record(0, 0, Outcome::Failed, "no")], 1)?;
        kept.add("run-3", &[record(0, 0, Outcome::Passed, "yes")], 8)?;
        let tag = |text: &str, value: Option<&str>| [(text.to_owned(), value.map(str::to_owned))];
        let ids = |wanted: &ListFilter<'_>, limit| -> anyhow::Result<Vec<String>> {
            let runs = chosen(&kept.store, wanted, limit)?;
            Ok(runs.into_iter().map(|run| run.id).collect())
        };
        let all = ListFilter {
            tags: &[],
            states: &[],
            since_ms: None,
        };
        for (states, expected) in [
            (&[ListedState::Passed][..], &["run-1"][..]),
            (&[ListedState::Failed], &["run-3", "run-2"]),
            (&[ListedState::Finished], &["run-2", "run-1"]),
            (
                &[ListedState::Interrupted, ListedState::Passed],
                &["run-3", "run-1"],
            ),
            (&[ListedState::Running], &[]),
        ] {
            assert_eq!(
                ids(&ListFilter { states, ..all }, 9)?,
                expected,
                "{states:?}"
            );
        }
        for (tags, found) in [
            (tag("team", None), 3),
            (tag("team", Some("a")), 3),
            (tag("team", Some("b")), 0),
            (tag("who", None), 0),
        ] {
            let found_now = ids(&ListFilter { tags: &tags, ..all }, 9)?.len();
            assert_eq!(found_now, found, "{tags:?}");
        }
        let began = kept.store.find_run("run-1")?.created_at_ms;
        let since = |ms| ListFilter {
            since_ms: Some(ms),
            ..all
        };
        assert_eq!(ids(&since(began), 9)?.len(), 3);
        assert_eq!(ids(&since(began), 2)?.len(), 2);
        assert_eq!(ids(&since(began + 1), 9)?.len(), 0);
        Ok(())
    }

    #[test]
    fn json_has_what_the_table_has() -> anyhow::Result<()> {
        let kept: TempStore = keep(
            &[
                record(0, 0, Outcome::Passed, "yes"),
                record(0, 1, Outcome::Error, "no"),
            ],
            4,
        )?;
        let mut run = run_json(&kept.store.find_run("latest")?);
        assert_eq!(run["endedAt"].take(), "2023-11-14T22:13:22.500Z");
        assert_eq!(
            run,
            json!({
                "id": "run-1", "description": "greetings", "tags": { "team": "a" },
                "createdAt": "2023-11-14T22:13:20.000Z", "endedAt": null, "status": "interrupted",
                "cases": 4, "passed": 1, "failed": 0, "waiting": 0, "errors": 1, "budgetExceeded": 0, "notRun": 2, "cost": 0.001,
                "passRate": 0.25,
            })
        );
        Ok(())
    }
}
