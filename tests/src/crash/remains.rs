//! What a killed program left: read from a copy, so that the next session finds the files as
//! they are.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use runner_store::{Cache, CacheOptions, OpenOptions, Outcome, Row, RunState, Store};
use serde_json::Value;
use tempfile::TempDir;

use super::Places;
use super::server::prompt_of;

/// The run's database and the cache at one moment.
#[derive(Debug, Default)]
pub(super) struct Remains {
    /// What is said of the run; `None` before it was begun.
    pub(super) state: Option<RunState>,
    /// Cases that have their row.
    pub(super) rows: Places,
    /// Prompts whose answers are cached.
    pub(super) cached: HashSet<String>,
}

impl Remains {
    /// Whether the run came to its end.
    pub(super) fn is_finished(&self) -> bool {
        self.state == Some(RunState::Finished)
    }

    /// Whether there is a run to go on with.
    pub(super) fn can_go_on(&self) -> bool {
        self.state == Some(RunState::Interrupted)
    }
}

/// Copies the databases of a home and looks at everything in them. `read` has the prompts of
/// cached answers that were read before.
///
/// # Panics
/// When a file does not open, is damaged, or holds a row or an answer that is not whole.
pub(super) fn look(
    home: &Path,
    expected: &dyn Fn(u32) -> Expected,
    read: &mut HashMap<String, String>,
) -> Remains {
    let copy = TempDir::new().expect("the system has a folder for temporary files");
    copy_files(home, copy.path(), "runs.db");
    copy_files(&home.join("cache"), copy.path(), "cache.db");
    let mut remains = Remains::default();
    look_at_runs(&copy.path().join("runs.db"), expected, &mut remains);
    look_at_cache(&copy.path().join("cache.db"), read, &mut remains);
    remains
}

/// What a case must come to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Expected {
    pub(super) prompt: String,
    pub(super) output: String,
}

fn look_at_runs(path: &Path, expected: &dyn Fn(u32) -> Expected, remains: &mut Remains) {
    if !path.exists() {
        return;
    }
    let store = Store::open(path, OpenOptions::default()).expect("runs.db opens after a crash");
    let problems = store.problems().expect("runs.db can be checked");
    assert_eq!(problems, [""; 0], "runs.db is damaged");
    let mut runs = store.runs(2).expect("runs.db can be read");
    let Some(run) = runs.pop() else { return };
    assert_eq!(runs.len(), 0, "a run that goes on stays one run");
    let mut identities = HashSet::new();
    for row in store.rows(&run.id).expect("the run is there") {
        let row = row.expect("the row can be read");
        check(&row, expected);
        assert!(
            identities.insert(row.identity.expect("cases have identities")),
            "two rows of one case"
        );
        remains.rows.insert(row.test_idx);
    }
    // In the copy nobody holds the run: it can't be called running.
    remains.state = Some(run.state);
}

/// A row that is whole says what its case must come to.
fn check(row: &Row, expected: &dyn Fn(u32) -> Expected) {
    let record: Value = serde_json::from_str(&row.record_json)
        .unwrap_or_else(|error| panic!("{error} in the row {}", row.record_json));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let found = Expected {
        prompt: text(&record["prompt"]["raw"]),
        output: text(&record["response"]["output"]),
    };
    assert_eq!(found, expected(row.test_idx), "{}", row.record_json);
    assert_eq!(row.outcome, Outcome::Passed, "{}", row.record_json);
    assert_eq!(record["testIdx"], row.test_idx);
    assert_eq!(record["id"], row.row_id.as_str());
}

fn look_at_cache(path: &Path, read: &mut HashMap<String, String>, remains: &mut Remains) {
    if !path.exists() {
        return;
    }
    let options = CacheOptions {
        key_version: 2,
        ..CacheOptions::default()
    };
    let cache = Cache::open(path, options).expect("cache.db opens after a crash");
    let problems = cache.problems().expect("cache.db can be checked");
    assert_eq!(problems, [""; 0], "cache.db is damaged");
    for item in cache.list(None, usize::MAX).expect("cache.db can be read") {
        let key = item.key.to_string();
        let prompt = read.entry(key).or_insert_with_key(|key| {
            let (_, response) = cache.show(key).expect("an answer that is there is whole");
            let body: Value = serde_json::from_slice(&response.body).expect("a whole answer");
            let answer = body["choices"][0]["message"]["content"].as_str();
            let prompt = prompt_of(answer.expect("the server's answers have a text"));
            prompt.expect("the server repeats the prompt").to_owned()
        });
        remains.cached.insert(prompt.clone());
    }
}

/// The file of this name and its journals. A file that vanishes meanwhile was not there.
fn copy_files(from: &Path, to: &Path, name: &str) {
    for suffix in ["", "-wal", "-journal"] {
        let file = format!("{name}{suffix}");
        match std::fs::copy(from.join(&file), to.join(&file)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => panic!("{file}: {error}"),
            _ => {}
        }
    }
}
