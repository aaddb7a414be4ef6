//! What people say of a run and of its cases: kept apart from its rows, which stay as they were
//! written, unless they wait for a person's verdict.
//!
//! An annotation is about an answer, so it belongs to a row by the row's id: it moves with its case
//! when a run is resumed under another plan, and is not shown beside an answer that came since.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};
use serde::{Deserialize, Serialize};

use super::{Outcome, Store};
use crate::database::Purpose;
use crate::error::StoreError;

/// What a person says of one case: each absent where nothing was said.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Annotation {
    /// Thumb up; a file says `up` or `down`.
    #[serde(with = "thumb", skip_serializing_if = "Option::is_none", default)]
    pub thumb: Option<bool>,
    /// A score.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub score: Option<f64>,
    /// A word to sort cases by.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub label: Option<String>,
    /// Anything else.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub comment: Option<String>,
}

impl Annotation {
    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// An annotation and the case that it is about.
#[derive(Debug, Clone, PartialEq)]
pub struct AnnotatedCase {
    /// The case's test.
    pub test_idx: u32,
    /// Its column.
    pub prompt_idx: u32,
    /// The id of its row.
    pub row_id: String,
    /// What was said.
    pub annotation: Annotation,
}

fn write_one(
    change: &Connection,
    (run, row_id, at_ms): (i64, &str, i64),
    said: &Annotation,
) -> rusqlite::Result<usize> {
    if said.is_empty() {
        let sql = "DELETE FROM annotations WHERE run = ?1 AND row_id = ?2";
        return change.prepare_cached(sql)?.execute((run, row_id));
    }
    let Annotation {
        thumb,
        score,
        label,
        comment,
    } = said;
    let sql = "INSERT OR REPLACE INTO annotations (run, row_id, thumb, score, label, comment, at_ms) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let row = (run, row_id, thumb, score, label, comment, at_ms);
    change.prepare_cached(sql)?.execute(row)
}

/// The rows of a run with these ids, and their records: looked through once, since nothing orders rows by their ids.
fn wanted(
    change: &Connection,
    run: i64,
    row_ids: &HashSet<&str>,
) -> rusqlite::Result<Vec<(String, i64)>> {
    let sql = "SELECT row_id, record FROM rows WHERE run = ?1 AND record IS NOT NULL";
    let mut rows = change.prepare(sql)?;
    let mut rows = rows.query([run])?;
    let mut wanted = Vec::new();
    while let Some(row) = rows.next()? {
        let row_id = row.get_ref(0)?.as_str()?;
        if row_ids.contains(row_id) {
            wanted.push((row_id.to_owned(), row.get(1)?));
        }
    }
    Ok(wanted)
}

impl Store {
    /// Keeps what a person says of cases, by the ids of their rows, instead of what was said before; an empty
    /// annotation takes it away. All of it is kept, or nothing.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`]; otherwise when the file can't be written.
    pub fn annotate<'a>(
        &self,
        id: &str,
        said: impl IntoIterator<Item = (&'a str, &'a Annotation)>,
        at_ms: i64,
    ) -> Result<(), StoreError> {
        let mut connection = self.database().connect(Purpose::Write)?;
        let run = self.key(&connection, id)?;
        let write = || {
            let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for (row_id, said) in said {
                write_one(&change, (run, row_id, at_ms), said)?;
            }
            change.commit()
        };
        write().map_err(|error| self.database().failed("keep an annotation", error))
    }

    /// Gives the cases with these rows the verdict that `settle` makes of a row's id and its record: outcome, score,
    /// and the record that says so; where it makes none, nothing changes. The lookup reads such records anew. All
    /// are settled, or none.
    ///
    /// # Errors
    /// As [`Store::annotate`].
    pub fn settle(
        &self,
        id: &str,
        row_ids: &HashSet<&str>,
        settle: impl Fn(&str, &str) -> Option<(Outcome, f64, String)>,
    ) -> Result<(), StoreError> {
        let mut connection = self.database().connect(Purpose::Write)?;
        let run = self.key(&connection, id)?;
        let mut write = || {
            let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut settled = Vec::new();
            for (row_id, record) in wanted(&change, run, row_ids)? {
                let sql = "SELECT json FROM records WHERE key = ?1";
                let json: String = change
                    .prepare_cached(sql)?
                    .query_row([record], |row| row.get(0))?;
                let Some((outcome, score, json)) = settle(&row_id, &json) else {
                    continue;
                };
                let sql = "UPDATE rows SET outcome = ?3, score = ?4 WHERE run = ?1 AND record = ?2";
                change
                    .prepare_cached(sql)?
                    .execute((run, record, outcome.as_str(), score))?;
                let sql = "UPDATE records SET json = ?2 WHERE key = ?1";
                change.prepare_cached(sql)?.execute((record, json))?;
                settled.push(record);
            }
            change.commit()?;
            Ok(settled)
        };
        let settled = write().map_err(|error| self.database().failed("settle cases", error))?;
        self.read_anew(run, &settled)
    }

    /// What was said of a case.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`]; otherwise when the file can't be read.
    pub fn annotation(&self, id: &str, row_id: &str) -> Result<Annotation, StoreError> {
        let connection = self.database().connect(Purpose::Read)?;
        let run = self.key(&connection, id)?;
        let sql =
            "SELECT thumb, score, label, comment FROM annotations WHERE run = ?1 AND row_id = ?2";
        let found = connection
            .query_row(sql, (run, row_id), |row| annotation(row, 0))
            .optional();
        Ok(found
            .map_err(|error| self.database().failed("read an annotation", error))?
            .unwrap_or_default())
    }

    /// Every case of the run with this id of which something was said, in the plan's order.
    ///
    /// # Errors
    /// As [`Store::annotation`].
    pub fn annotations(&self, id: &str) -> Result<Vec<AnnotatedCase>, StoreError> {
        let connection = self.database().connect(Purpose::Read)?;
        let run = self.key(&connection, id)?;
        let read = || {
            let none: i64 = connection.query_row(
                "SELECT count(*) FROM annotations WHERE run = ?1",
                [run],
                |row| row.get(0),
            )?;
            if none == 0 {
                return Ok(Vec::new());
            }
            let sql = "SELECT test_idx, prompt_idx, row_id, thumb, annotations.score, label, comment \
                       FROM rows CROSS JOIN annotations USING (run, row_id) WHERE run = ?1 ORDER BY test_idx, prompt_idx";
            let case = |row: &rusqlite::Row<'_>| {
                Ok(AnnotatedCase {
                    test_idx: row.get(0)?,
                    prompt_idx: row.get(1)?,
                    row_id: row.get(2)?,
                    annotation: annotation(row, 3)?,
                })
            };
            connection
                .prepare(sql)?
                .query_map([run], case)?
                .collect::<Result<_, _>>()
        };
        read().map_err(|error| self.database().failed("read annotations", error))
    }

    /// Gives the run with this id another description.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`]; otherwise when the file can't be written.
    pub fn rename_run(&self, id: &str, description: Option<&str>) -> Result<(), StoreError> {
        self.set(
            id,
            "UPDATE runs SET description = ?2 WHERE key = ?1",
            description,
        )
    }

    /// Keeps a note about the run with this id, instead of the one before.
    ///
    /// # Errors
    /// As [`Store::rename_run`].
    pub fn note_run(&self, id: &str, note: Option<&str>) -> Result<(), StoreError> {
        self.set(id, "UPDATE runs SET note = ?2 WHERE key = ?1", note)
    }

    /// Reads the note about the run with this id.
    ///
    /// # Errors
    /// As [`Store::annotation`].
    pub fn run_note(&self, id: &str) -> Result<Option<String>, StoreError> {
        let connection = self.database().connect(Purpose::Read)?;
        let run = self.key(&connection, id)?;
        connection
            .query_row("SELECT note FROM runs WHERE key = ?1", [run], |row| {
                row.get(0)
            })
            .map_err(|error| self.database().failed("read a note", error))
    }

    fn set(&self, id: &str, sql: &str, value: Option<&str>) -> Result<(), StoreError> {
        let connection = self.database().connect(Purpose::Write)?;
        let run = self.key(&connection, id)?;
        let changed = connection.execute(sql, (run, value));
        changed
            .map(drop)
            .map_err(|error| self.database().failed("change a run", error))
    }
}

fn annotation(row: &rusqlite::Row<'_>, at: usize) -> rusqlite::Result<Annotation> {
    Ok(Annotation {
        thumb: row.get(at)?,
        score: row.get(at + 1)?,
        label: row.get(at + 2)?,
        comment: row.get(at + 3)?,
    })
}

/// A thumb as a word; any other word is none.
mod thumb {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(
        clippy::ref_option,
        clippy::trivially_copy_pass_by_ref,
        reason = "serde hands over a reference"
    )]
    pub(super) fn serialize<S: Serializer>(thumb: &Option<bool>, to: S) -> Result<S::Ok, S::Error> {
        thumb.map(|up| if up { "up" } else { "down" }).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<bool>, D::Error> {
        let word = Option::<String>::deserialize(from)?;
        Ok(match word.as_deref() {
            Some("up") => Some(true),
            Some("down") => Some(false),
            _ => None,
        })
    }
}
