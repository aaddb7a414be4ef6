//! A disk that is full and a database that is locked: said once, and no result is lost.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use runner_store::{OpenOptions, RunState, Store};
use runner_tests::{Answer, Finished, Gate, ModelApi, Run, built_program};
use serde_json::Value;

/// Cases of the run that fills its disk: some megabytes.
const CASES: usize = 2_500;

/// Files may not grow beyond 4096 blocks, of 512 bytes or of 1024: shells differ. Without the
/// signal's default, which kills, a write beyond it fails as on a full disk. Below the eight
/// megabytes at which the journal is emptied, and above all that is in memory at once.
const ON_A_SMALL_DISK: &str = r#"trap '' XFSZ; ulimit -f 4096; exec "$0" "$@""#;

fn store(home: &Path) -> Store {
    Store::open(&home.join("runs.db"), OpenOptions::default()).expect("the database opens")
}

/// Places of the rows of the only run; all of them whole.
fn stored(home: &Path) -> HashSet<u64> {
    let store = store(home);
    assert_eq!(store.problems().expect("checked"), [""; 0]);
    let runs = store.runs(10).expect("read");
    assert_eq!(runs.len(), 1);
    let rows = store.rows(&runs[0].id).expect("there");
    rows.map(|row| place(&row.expect("read").record_json))
        .collect()
}

/// The place of a record that is whole.
fn place(record: &str) -> u64 {
    let record: Value = serde_json::from_str(record).unwrap_or_else(|e| panic!("{e}: {record}"));
    assert_eq!(record["outcome"], "passed", "{record}");
    assert_eq!(record["response"]["output"], record["prompt"]["raw"]);
    record["testIdx"].as_u64().expect("a place")
}

/// The rescue file that was told, and the places in it.
fn rescued(finished: &Finished) -> (PathBuf, HashSet<u64>) {
    let line = finished
        .stderr
        .lines()
        .find(|line| line.contains("did not take"));
    let line = line.unwrap_or_else(|| panic!("no file is named: {}", finished.stderr));
    let path = PathBuf::from(line.rsplit(": ").next().expect("a path"));
    let text = std::fs::read_to_string(&path).expect("the file is there");
    assert!(text.ends_with('\n'), "the last line is whole");
    let places: HashSet<u64> = text.lines().map(place).collect();
    assert_eq!(places.len(), text.lines().count(), "each result once");
    (path, places)
}

/// Exit 1, one error that says what is the matter. What else is told depends on when it happens and
/// on the machine.
fn told_once(finished: &Finished, why: &str) {
    finished.expect_code(1);
    let errors: Vec<_> = finished
        .stderr
        .lines()
        .filter(|line| line.starts_with("error: "))
        .collect();
    assert_eq!(errors.len(), 1, "{}", finished.stderr);
    assert!(
        finished.stderr.contains(why),
        "no '{why}' in: {}",
        finished.stderr
    );
}

#[test]
fn a_full_disk_is_told_once_and_what_is_in_memory_is_rescued() {
    // All results are larger than the disk, those of a moment fit into another file of its size.
    let filler = "two kilobytes in all ".repeat(15);
    let small = Run::new()
        .config("prompts: ['hi']\nproviders: [echo]\n")
        .args(["eval", "--no-table"])
        .finish();
    // So that the plugins are compiled: that takes files as well.
    small.expect_code(0);
    let run = Run::new()
        .config(&format!(
            "prompts: ['{{{{n}}}} {filler}']\nproviders: [echo]\ntests: tests.csv\n"
        ))
        .numbered_tests(CASES);
    let limited = run.clone().program("/bin/sh").args(["-c", ON_A_SMALL_DISK]);
    let finished = limited
        .arg(built_program())
        .args(["eval", "--no-table", "-j", "64"])
        .finish();
    told_once(&finished, "the results could not be stored");
    let (path, rescued) = rescued(&finished);
    assert_eq!(path.parent(), Some(run.home()), "beside the database");
    let stored = stored(run.home());
    assert!(!stored.is_empty() && !rescued.is_empty());
    assert!(
        stored.is_disjoint(&rescued),
        "what is stored needs no rescue"
    );
    assert!(
        stored.len() + rescued.len() < CASES,
        "the run stopped spending"
    );

    // With room again the run goes on.
    let resumed = run
        .clone()
        .args(["eval", "--no-table", "--resume"])
        .finish();
    resumed.expect_code(0);
    assert_eq!(self::stored(run.home()).len(), CASES);
}

#[test]
fn a_database_that_stays_locked_is_told_once_and_what_is_in_memory_is_rescued() {
    let api = ModelApi::start();
    let gate = Gate::closed();
    let behind = gate.clone();
    api.rule(move |seen| Some(Answer::text(seen.last_user_message()?).behind(&behind)));
    let run = Run::new()
        .config("prompts: ['word {{n}}']\nproviders: ['openai:m']\ntests: tests.csv\n")
        .numbered_tests(12)
        .env("OPENAI_API_KEY", "sk-test-key-of-a-test")
        .env("OPENAI_BASE_URL", api.url())
        .env("RUNNER_LOCK_TIMEOUT", "1");
    let running = run.clone().args(["eval", "--no-table", "-j", "12"]).start();
    api.wait_for_requests(12);
    let store = store(run.home());
    let hold = store
        .hold_writers()
        .expect("nobody writes while nothing is answered");
    gate.open();
    let finished = running.finish();
    drop(hold);
    told_once(&finished, "is locked by another process");
    let (_, rescued) = rescued(&finished);
    assert_eq!(rescued, (0..12).collect(), "all that were answered");
    assert_eq!(stored(run.home()).len(), 0);
    assert_eq!(store.runs(1).expect("read")[0].state, RunState::Interrupted);

    let resumed = run
        .clone()
        .args(["eval", "--no-table", "--resume"])
        .finish();
    resumed.expect_code(0);
    assert_eq!(stored(run.home()), (0..12).collect());
    assert_eq!(api.requests().len(), 12, "nothing is paid for twice");
}

#[test]
fn a_run_that_can_not_be_begun_spends_nothing() {
    let api = ModelApi::start();
    let run = Run::new()
        .config("prompts: ['hi']\nproviders: ['openai:m']\n")
        .env("OPENAI_API_KEY", "sk-test-key-of-a-test")
        .env("OPENAI_BASE_URL", api.url())
        .env("RUNNER_LOCK_TIMEOUT", "0");
    let hold = store(run.home()).hold_writers().expect("nobody is there");
    let finished = run.clone().args(["eval"]).finish();
    drop(hold);
    assert_snapshot!(finished.told());
    assert!(api.requests().is_empty());
    run.args(["eval", "--no-table"]).finish().expect_code(0);
}

#[test]
fn a_disk_with_too_little_room_is_told_before_anything_is_spent() {
    let api = ModelApi::start();
    let run = Run::new()
        .config("prompts: ['hi']\nproviders: ['openai:m']\n")
        .env("OPENAI_API_KEY", "sk-test-key-of-a-test")
        .env("OPENAI_BASE_URL", api.url());
    // More than any disk has: a pebibyte.
    let full = run.clone().env("RUNNER_LEFT_FREE", "1073741824");
    let finished = full.args(["eval"]).finish();
    told_once(&finished, "MiB free, and results leave 1073741824 MiB");
    assert!(
        finished
            .stderr
            .ends_with("\nhelp: make room on the disk, or set RUNNER_LEFT_FREE to less\n"),
        "{}",
        finished.stderr
    );
    assert!(api.requests().is_empty());
    run.args(["eval", "--no-table"]).finish().expect_code(0);
}

/// What the bounds of all parts miss ends here; as the program begins with more than one mebibyte,
/// it does so at once.
#[cfg(target_os = "linux")]
#[test]
fn a_program_that_takes_too_much_memory_ends_itself_and_says_so() {
    let run = Run::new()
        .config("prompts: ['hi']\nproviders: [echo]\n")
        .env("RUNNER_MEMORY_LIMIT", "1")
        .args(["eval"]);
    assert_snapshot!(run.finish().told());
}

/// Tests of some sixty mebibytes, which are read for much longer than it takes to look.
#[cfg(target_os = "linux")]
#[test]
fn tests_that_take_more_than_the_program_may_end_it() {
    let rows = "{\"vars\":{\"a\":1}}\n".repeat(600_000);
    let run = Run::new()
        .config("prompts: ['{{a}}']\nproviders: [echo]\ntests: file://rows.jsonl\n")
        .file("rows.jsonl", &rows)
        .env("RUNNER_MEMORY_LIMIT", "24")
        .args(["config", "check"]);
    assert_snapshot!(run.finish().told());
}
