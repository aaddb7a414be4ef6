//! `runner import`: the results of a file, kept like a run of this machine.
//!
//! A file is read twice: once to see that every row can be understood, and only then into the
//! database, so a broken file leaves nothing behind. Both times row by row, whatever its size.
//! An imported run is shown, compared and exported like any other. It has no identities of its
//! cases, so nothing in it is ever taken for work that a run here has done already.
//! What people said of a run's cases is imported into that run (`said`).

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use jiff::Timestamp;
use runner_eval::record::{CaseRecord, Outcome};
use runner_store::{Annotation, NewRun, RunEnd, RunStatus, RunWriter, Store, StoreError};
use runner_view::people;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::CommandContext;
use crate::arguments::{Import, NEWEST};
use crate::exit::SUCCESS;
use crate::failure::Failure;
use crate::figures;
use crate::output::ColumnRecord;
use crate::results_file::Unreadable;
use crate::stdout;
use crate::stored;
use crate::thresholds;
use crate::visible;

mod file;
mod promptfoo;
mod row;
mod said;

pub(super) use file::ResultsFile;

/// What the id of every imported run begins with.
pub(super) const IMPORTED: &str = "import-";
/// Characters of an id.
const ID_CHARS: usize = 100;
/// Columns: what no run has, and what a file can't make us hold memory for.
const MAX_COLUMNS: usize = 10_000;

/// What the first reading found.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// Rows.
    pub(super) rows: u64,
    /// Rows of cases that have ended.
    pub(super) ended: u64,
    /// Rows in a place that another row has.
    pub(super) twice: u64,
    /// One more than the largest number of a test.
    pub(super) tests: u64,
    columns: Vec<ColumnRecord>,
}

/// Imports a file, or what promptfoo has kept.
pub(super) fn run(arguments: &Import, setting: &CommandContext) -> Result<u8, Failure> {
    match &arguments.file {
        Some(file) if arguments.into.is_some() || said::is_said(&setting.cwd.join(file)) => {
            said::run(file, arguments, setting)
        }
        Some(file) => of_file(file, arguments, setting),
        None => promptfoo::run(arguments, setting),
    }
}

fn of_file(file: &Path, arguments: &Import, setting: &CommandContext) -> Result<u8, Failure> {
    let named = file.display().to_string();
    let named = visible::line(&named).into_owned();
    let refuse = |error: Unreadable| {
        let help =
            "it takes a file that `runner eval -o` or `promptfoo eval -o` wrote, .json or .jsonl";
        Failure::usage(format!("can't import {named}: {}", visible::line(&error.0))).help(help)
    };
    let path = setting.cwd.join(file);
    let file = ResultsFile::open(&path).map_err(refuse)?;
    let survey = survey(&file).map_err(refuse)?;
    if survey.rows == 0 {
        let why = Unreadable("there are no results in it".to_owned());
        return Err(refuse(why));
    }
    if survey.twice > 0 {
        setting.talk.warning(&said_twice(&named, &survey));
    }
    let store = setting.store()?;
    let id = match file.id.as_deref().filter(|id| is_id(id)) {
        Some(id) if !arguments.new_id => imported(id),
        _ => new_id(&path),
    };
    keep_as(&id, &file, &survey, &path, arguments.force, &store)?.map_err(|error| {
        Failure::usage(error).help("--new-id imports it beside the other, --force in its place")
    })?;
    let count = survey.rows - survey.twice;
    if arguments.json {
        stdout::json(&json!({ "id": id, "results": count }))?;
        return Ok(SUCCESS);
    }
    let results = figures::counted(count, "result", "results");
    let text = format!("imported: {id}, {results}\nnext: runner show {id}");
    stdout::print(&format!("{}\n", visible::block(&text)))?;
    Ok(SUCCESS)
}

fn said_twice(named: &str, survey: &Survey) -> String {
    let rows = figures::counted(survey.twice, "row replaces", "rows replace");
    format!("{named}: {rows} an earlier one of the same case")
}

/// Keeps a file as a run of this id; the inner error says that there is one already.
fn keep_as(
    id: &str,
    file: &ResultsFile,
    survey: &Survey,
    path: &Path,
    force: bool,
    store: &Store,
) -> Result<Result<(), StoreError>, Failure> {
    if force {
        match store.delete_run(id) {
            Ok(()) | Err(StoreError::NoSuchRun { .. }) => {}
            Err(error @ StoreError::RunIsLive { .. }) => return Err(Failure::usage(error)),
            Err(error) => return Err(anyhow::Error::new(error).into()),
        }
    }
    let writer = match store.begin_run(new_run(file, survey, id, path)) {
        Ok(writer) => writer,
        Err(error @ StoreError::RunExists { .. }) => return Ok(Err(error)),
        Err(error) => return Err(stored::unfound(error)),
    };
    keep(file, survey, writer, store, id)?;
    Ok(Ok(()))
}

/// Reads all rows; whether each can be kept.
pub(super) fn survey(file: &ResultsFile) -> Result<Survey, Unreadable> {
    let mut survey = Survey {
        columns: file.columns.clone(),
        ..Survey::default()
    };
    let mut places = HashSet::new();
    let fixed = !survey.columns.is_empty();
    file.rows(&mut |record: CaseRecord| {
        let idx = record.prompt_idx as usize;
        if (fixed && idx >= survey.columns.len()) || idx >= MAX_COLUMNS {
            let columns = figures::counted(survey.columns.len() as u64, "column", "columns");
            let why = format!("its promptIdx is {idx}, and there are {columns}");
            return Err(Unreadable(why));
        }
        // Rows alone say what their column is.
        while survey.columns.len() <= idx {
            survey.columns.push(unknown_column());
        }
        if survey.columns[idx].provider.is_empty() {
            survey.columns[idx] = column_of(&record);
        }
        survey.rows += 1;
        survey.tests = survey.tests.max(u64::from(record.test_idx) + 1);
        let again = !places.insert((record.test_idx, record.prompt_idx));
        survey.twice += u64::from(again);
        survey.ended += u64::from(!again && record.conclusion.outcome() != Outcome::Cancelled);
        Ok(())
    })?;
    Ok(survey)
}

fn unknown_column() -> ColumnRecord {
    ColumnRecord {
        id: String::new(),
        raw: String::new(),
        label: String::new(),
        provider: String::new(),
        variant: None,
        config: None,
    }
}

fn column_of(record: &CaseRecord) -> ColumnRecord {
    ColumnRecord {
        id: record.prompt_id.clone(),
        raw: record.prompt.label.clone(),
        label: record.prompt.label.clone(),
        provider: record.provider.name().to_owned(),
        variant: None,
        config: None,
    }
}

/// Reads the file a second time, into the database; takes a run back that can't be completed.
fn keep(
    file: &ResultsFile,
    survey: &Survey,
    writer: RunWriter,
    store: &Store,
    id: &str,
) -> Result<(), Failure> {
    let mut intake = Intake::new(writer);
    let taken = intake.take(file, 0);
    let Intake { writer, said, .. } = intake;
    let kept = taken.and_then(|()| {
        end(file, survey, writer)?;
        annotate(store, id, &said)
    });
    if kept.is_err()
        && let Err(error) = store.delete_run(id)
    {
        return Err(Failure::from(anyhow::Error::new(error)));
    }
    Ok(kept?)
}

/// Puts rows of files into the database.
pub(super) struct Intake {
    pub(super) writer: RunWriter,
    ids: RowIds,
    /// What people said of them, by the rows' ids.
    pub(super) said: Vec<(String, Annotation)>,
}

impl Intake {
    pub(super) fn new(writer: RunWriter) -> Self {
        Self {
            writer,
            ids: RowIds::default(),
            said: Vec::new(),
        }
    }

    /// Takes the rows of a file, each so many rows further down.
    pub(super) fn take(&mut self, file: &ResultsFile, down: u32) -> anyhow::Result<()> {
        let mut failed = None;
        let read = file.rows(&mut |mut record: CaseRecord| {
            self.ids.settle(&mut record);
            let annotation = record.annotation.take();
            self.said
                .extend(annotation.map(|annotation| (record.id.clone(), annotation)));
            record.test_idx = record.test_idx.saturating_add(down);
            let json = serde_json::to_string(&record).map_err(anyhow::Error::new);
            let pushed = json.and_then(|json| Ok(self.writer.push(record.to_row(None, json))?));
            pushed.map_err(|error| {
                let why = Unreadable(format!("{error:#}"));
                failed = Some(error);
                why
            })
        });
        if let Some(error) = failed {
            return Err(error);
        }
        read.map_err(|error| anyhow::anyhow!("{error}"))
            .context("the file has changed meanwhile")
    }
}

/// Hashes of the ids of rows. Two files, or one, may have two rows of one id, and what somebody said of the one
/// is not said of the other.
#[derive(Default)]
struct RowIds(HashSet<u64>);

impl RowIds {
    /// Gives a row an id of its own if it has none.
    fn settle(&mut self, record: &mut CaseRecord) {
        let mut hasher = DefaultHasher::new();
        record.id.hash(&mut hasher);
        if record.id.is_empty() || !self.0.insert(hasher.finish()) {
            record.id = Uuid::now_v7().to_string();
        }
    }
}

/// Keeps what people said of rows.
pub(super) fn annotate(
    store: &Store,
    id: &str,
    said: &[(String, Annotation)],
) -> anyhow::Result<()> {
    let said = said.iter().map(|(row, said)| (row.as_str(), said));
    Ok(people::annotate(
        store,
        id,
        said,
        Timestamp::now().as_millisecond(),
    )?)
}

/// What is kept of how the run ended.
fn end(file: &ResultsFile, survey: &Survey, writer: RunWriter) -> anyhow::Result<()> {
    let total = survey.ended.saturating_add(file.not_run);
    let complete = file.not_run == 0 && survey.ended == survey.rows - survey.twice;
    let (status, end) = if complete {
        (RunStatus::Finished, "finished")
    } else {
        (RunStatus::Interrupted, "interrupted")
    };
    writer.finish(RunEnd {
        status,
        ended_at_ms: began(file).saturating_add(file.duration_ms() as i64),
        summary_json: json!({
            "end": end, "total": total.max(survey.rows - survey.twice), "durationMs": file.duration_ms(), "throttled": 0, "retries": 0,
            "lanes": file.stats["lanes"], "budgets": file.stats["budgets"],
        })
        .to_string(),
    })?;
    Ok(())
}

fn new_run(file: &ResultsFile, survey: &Survey, id: &str, path: &Path) -> NewRun {
    let config = &file.config;
    let description = config.get("description").and_then(Value::as_str);
    let tags = config.get("tags").filter(|tags| tags.is_object());
    let concurrency = file.stats["maxConcurrency"].as_u64().unwrap_or(1);
    NewRun {
        id: id.to_owned(),
        created_at_ms: began(file),
        description: description.map(str::to_owned),
        tags_json: tags.cloned().unwrap_or_else(|| json!({})).to_string(),
        config_json: config.to_string(),
        columns_json: json!(survey.columns).to_string(),
        plugins_json: "[]".to_owned(),
        options_json: json!({
            "maxConcurrency": concurrency.max(1), "repeat": 1,
            "total": survey.ended.saturating_add(file.not_run), "importedFrom": path.to_string_lossy(),
            "thresholds": thresholds::asked(&file.stats["thresholds"]), "shard": file.stats["shard"],
        })
        .to_string(),
        seed: 0,
    }
}

/// When the run began; the file's own time if it does not say, or else now. No run began later than
/// now: it would be the latest one for ever.
pub(super) fn began(file: &ResultsFile) -> i64 {
    let stated = file.timestamp.as_deref();
    let stated = stated.and_then(|text| text.parse::<Timestamp>().ok());
    let stated = stated.map(Timestamp::as_millisecond);
    let began = stated.unwrap_or_else(|| {
        let since = file.modified.duration_since(UNIX_EPOCH).unwrap_or_default();
        since.as_millis() as i64
    });
    began.min(Timestamp::now().as_millisecond())
}

/// Whether a text from a file can name a run: what can be typed, and doesn't mean another.
fn is_id(id: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    !id.is_empty() && id.len() <= ID_CHARS && id != NEWEST && id.chars().all(plain)
}

/// The id of an imported run, which is none that a run of this machine can have: a file must not
/// say which of those is deleted, or be taken for one.
fn imported(id: &str) -> String {
    if id.starts_with(IMPORTED) {
        return id.to_owned();
    }
    format!("{IMPORTED}{id}")
}

/// `import-20261120-4f3a21`: the day, and digits that no other import has.
fn new_id(path: &Path) -> String {
    let now = SystemTime::now();
    let seed = format!("{} {now:?} {}", path.display(), std::process::id());
    let digest = Sha256::digest(seed);
    let day = Timestamp::now().strftime("%Y%m%d-%H%M%S").to_string();
    format!(
        "{IMPORTED}{day}-{:02x}{:02x}{:02x}",
        digest[0], digest[1], digest[2]
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::tests::record;

    #[test]
    fn rows_of_one_id_get_ids_of_their_own() {
        let mut ids = RowIds::default();
        let mut rows = ["a", "b", "a", "", ""].map(|id| {
            let mut row = record(0, 0, Outcome::Passed, "x");
            id.clone_into(&mut row.id);
            row
        });
        for row in &mut rows {
            ids.settle(row);
        }
        assert_eq!([&*rows[0].id, &*rows[1].id], ["a", "b"]);
        let all: HashSet<&str> = rows.iter().map(|row| &*row.id).collect();
        assert_eq!(all.len(), rows.len());
    }

    #[test]
    fn an_id_from_a_file_is_one_that_can_be_typed() {
        for id in ["run-20261120-155854-c4a0c7", "eval-aBc-2024-11-20T12:00:00"] {
            assert!(is_id(id), "{id}");
        }
        for id in ["", "latest", "a b", "\u{1b}[2J", "ä", &"x".repeat(101)] {
            assert!(!is_id(id), "{id}");
        }
        assert!(is_id(&new_id(Path::new("x"))));
        assert!(new_id(Path::new("x")).starts_with(IMPORTED));
    }

    #[test]
    fn an_imported_run_is_never_called_as_one_of_this_machine_or_as_a_flag() {
        for (id, kept) in [
            (
                "run-20261120-155854-c4a0c7",
                "import-run-20261120-155854-c4a0c7",
            ),
            ("--json", "import---json"),
            ("import-a", "import-a"),
        ] {
            assert_eq!(imported(id), kept);
        }
    }
}
