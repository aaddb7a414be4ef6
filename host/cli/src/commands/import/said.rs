//! What people said of the cases of a run, from a file: what the viewer saves, or CSV from a spreadsheet.
//!
//! All of it is kept, or nothing. What the file says of a case replaces what was said before; a case that it
//! doesn't name keeps that.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use runner_store::{Annotation, Store};
use runner_view::people;
use serde::Deserialize;
use serde_json::json;

use super::CommandContext;
use crate::arguments::Import;
use crate::exit::SUCCESS;
use crate::failure::Failure;
use crate::figures;
use crate::stdout;
use crate::stored;
use crate::visible;

/// Bytes of such a file: nobody grades more by hand.
const MAX_FILE: u64 = 64 << 20;

/// What the viewer saves.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SavedFile {
    eval_id: Option<String>,
    annotations: Vec<SaidCase>,
}

/// What was said of a case; of a CSV file, a row.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SaidCase {
    #[serde(alias = "test")]
    test_idx: u32,
    #[serde(alias = "column")]
    prompt_idx: u32,
    /// Of its row, where the file knows it.
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    thumb: Option<String>,
    #[serde(default)]
    score: Option<f64>,
    #[serde(default)]
    label: Option<String>,
    #[serde(default)]
    comment: Option<String>,
}

impl SaidCase {
    fn annotation(self) -> Result<Annotation, String> {
        let thumb = match self.thumb.as_deref().map(str::trim) {
            None | Some("") => None,
            Some("up") => Some(true),
            Some("down") => Some(false),
            Some(other) => return Err(format!("the thumb is `up` or `down`, not `{other}`")),
        };
        if let Some(score) = self.score.filter(|it| !(0.0..=1.0).contains(it)) {
            return Err(format!("the score is from 0 to 1, not {score}"));
        }
        let given = |text: Option<String>| text.filter(|it| !it.trim().is_empty());
        Ok(Annotation {
            thumb,
            score: self.score,
            label: given(self.label),
            comment: given(self.comment),
        })
    }
}

/// Whether a file is what the viewer saves, and no results file.
pub(super) fn is_said(path: &Path) -> bool {
    let is_json = path
        .extension()
        .is_some_and(|it| it.eq_ignore_ascii_case("json"));
    let is_small = fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() <= MAX_FILE);
    is_json
        && is_small
        && fs::read(path).is_ok_and(|text| serde_json::from_slice::<SavedFile>(&text).is_ok())
}

/// Keeps what a file says.
pub(super) fn run(
    file: &Path,
    arguments: &Import,
    setting: &CommandContext,
) -> Result<u8, Failure> {
    let named = visible::line(&file.display().to_string()).into_owned();
    let refuse = |why: &str| {
        Failure::usage(format!("can't import {named}: {}", visible::line(why))).help(
            "what people said is a file that `runner view` saves (\"People and judges\"), or CSV with the columns \
             test, column, thumb, score, label, comment; tests and columns are counted from 0",
        )
    };
    let (of, cases) = read(&setting.cwd.join(file)).map_err(|why| refuse(&why))?;
    // Whose verdicts are changed is the person's word, and not the file's.
    let Some(run) = arguments.into.clone() else {
        let of = of.as_deref().map_or("RUN".into(), visible::line);
        let line = format!(
            "runner import --into {} {named}",
            shlex::try_quote(&of).unwrap_or_default()
        );
        return Err(
            refuse("it is what people said of a run, and you don't say of which")
                .help(format!("to keep it: {line}")),
        );
    };
    let store = setting.store()?;
    let id = store.find_run(&run).map_err(stored::unfound)?.id;
    let said = matched(&store, &id, cases)?.map_err(|why| refuse(&why))?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_millis() as i64);
    let pairs = said.iter().map(|(id, said)| (id.as_str(), said));
    people::annotate(&store, &id, pairs, now).map_err(anyhow::Error::from)?;
    if arguments.json {
        stdout::json(&json!({ "id": id, "annotations": said.len() }))?;
        return Ok(SUCCESS);
    }
    let cases = figures::counted(said.len() as u64, "case", "cases");
    let text = format!("kept: what people said of {cases} of {id}\nnext: runner view");
    stdout::print(&format!("{}\n", visible::block(&text)))?;
    Ok(SUCCESS)
}

/// What is said of a case, and where in the file.
type Placed = (String, SaidCase);

/// The run that a file names, and what it says.
fn read(path: &Path) -> Result<(Option<String>, Vec<Placed>), String> {
    let size = fs::metadata(path).map_err(|error| error.to_string())?.len();
    if size > MAX_FILE {
        return Err(format!("it is larger than {} MiB", MAX_FILE >> 20));
    }
    let content = fs::read(path).map_err(|error| error.to_string())?;
    if path
        .extension()
        .is_some_and(|it| it.eq_ignore_ascii_case("csv"))
    {
        let mut reader = csv::ReaderBuilder::new()
            .trim(csv::Trim::Headers)
            .from_reader(&*content);
        let rows = reader
            .deserialize()
            .map(|row: Result<SaidCase, csv::Error>| {
                let line = |error: &csv::Error| error.position().map_or(0, csv::Position::line);
                row.map_err(|error| format!("line {}: {error}", line(&error)))
            });
        let rows = rows.collect::<Result<Vec<_>, _>>()?;
        let lines = rows.into_iter().zip(2..);
        return Ok((
            None,
            lines
                .map(|(row, line)| (format!("row {line}"), row))
                .collect(),
        ));
    }
    let saved: SavedFile = serde_json::from_slice(&content).map_err(|error| error.to_string())?;
    let cases = saved.annotations.into_iter().zip(0..);
    let cases = cases.map(|(case, at): (_, usize)| (format!("annotations[{at}]"), case));
    Ok((saved.eval_id, cases.collect()))
}

/// The rows of the cases, and what is said of them; the inner error says which the run doesn't have.
fn matched(
    store: &Store,
    id: &str,
    cases: Vec<Placed>,
) -> anyhow::Result<Result<Vec<(String, Annotation)>, String>> {
    let rows = store.rows_by_key(id)?;
    let mut said = Vec::with_capacity(cases.len());
    for (place, case) in cases {
        let (test, column) = (case.test_idx, case.prompt_idx);
        let row = rows.row(test, column)?;
        let known = case.id.clone().filter(|it| !it.is_empty());
        let Some(row) = row else {
            return Ok(Err(format!(
                "{place}: the run {id} has no such result of test {test} in column {column}"
            )));
        };
        if known.is_some_and(|known| known != row.row_id) {
            return Ok(Err(format!(
                "{place}: it is about the answer of another run, and not that of the run {id} of test {test} in column {column}; \
                 without `id` it is taken for that one"
            )));
        }
        match case.annotation() {
            Ok(annotation) => said.push((row.row_id, annotation)),
            Err(why) => return Ok(Err(format!("{place}: {why}"))),
        }
    }
    Ok(Ok(said))
}
