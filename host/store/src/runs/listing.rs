//! Finds runs: by what a user calls them, by what a list is searched for.
//!
//! How the rows of a run ended is counted each time, since only that is true of a run that died. A
//! million rows take a quarter of a second, so there are questions that leave it out.
//!
//! Descriptions, tags and summaries are texts of a config's or a file's, of any length. One run is
//! told whole; a list has the beginning of each text, so that one of them can't fill it.

use rusqlite::{Connection, OptionalExtension, params_from_iter};

use super::store::no_such_run;
use super::{Outcome, OutcomeCounts, RunInfo, RunState, Store, liveness, saturating};
use crate::database::Purpose;
use crate::error::{RunRef, StoreError};

/// Runs that an ambiguous prefix is answered with.
const CANDIDATES: u32 = 10;

/// Words that runs are searched for.
const MOST_WORDS: usize = 20;

/// Characters of their descriptions.
const CANDIDATE_CHARS: u32 = 200;

const RUN_COLUMNS: &str =
    "SELECT key, id, created_at_ms, ended_at_ms, state, description, tags, summary FROM runs";

/// What a list has of a run: texts are cut, and of a long summary only the sums are left. What is longer
/// still is not parsed at all.
const LISTED_COLUMNS: &str = "
SELECT key, id, created_at_ms, ended_at_ms, state,
       iif(octet_length(description) <= 8000 AND length(description) <= 2000, description,
           substr(description, 1, 1999) || '…'),
       CASE WHEN octet_length(tags) <= 8000 THEN tags
            WHEN octet_length(tags) <= 1000000 AND json_valid(tags) THEN
                (SELECT json_group_object(iif(octet_length(key) <= 200, key, substr(key, 1, 199) || '…'),
                                          iif(octet_length(value) <= 200, value, substr(value, 1, 199) || '…'))
                 FROM (SELECT key, value FROM json_each(tags) LIMIT 20))
            ELSE json_object('…', '…') END,
       CASE WHEN octet_length(summary) <= 8000 THEN summary
            WHEN octet_length(summary) <= 1000000 AND json_valid(summary) THEN
                json_object('total', summary ->> 'total', 'passed', summary ->> 'passed',
                            'failed', summary ->> 'failed', 'waiting', summary ->> 'waiting', 'errors', summary ->> 'errors', 'cost', summary ->> 'cost')
            END
FROM runs";

/// The word that names the newest run.
const LATEST: &str = "latest";

/// A run as its row says, before the rest of the world is asked.
struct RunEntry {
    key: i64,
    info: RunInfo,
    state: String,
}

/// Whether the rows of runs are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counting {
    Counted,
    NotCounted,
}

impl Store {
    /// The newest runs, newest first, at most `limit`, with the beginnings of their texts.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn runs(&self, limit: usize) -> Result<Vec<RunInfo>, StoreError> {
        let connection = self.database().connect(Purpose::Read)?;
        self.newest(&connection, LISTED_COLUMNS, limit)
    }

    /// Finds the run that `wanted` names: `latest`, an id, or the beginning of just one id.
    ///
    /// # Errors
    /// [`StoreError::NoRuns`], [`StoreError::NoSuchRun`], [`StoreError::AmbiguousRun`] with the
    /// runs that could be meant; otherwise when the file can't be read.
    pub fn find_run(&self, wanted: &str) -> Result<RunInfo, StoreError> {
        let connection = self.database().connect(Purpose::Read)?;
        if wanted == LATEST {
            let newest = self.newest(&connection, RUN_COLUMNS, 1)?.pop();
            return newest.ok_or(StoreError::NoRuns);
        }
        let id = self.resolve(&connection, wanted)?;
        let of = (RUN_COLUMNS, "WHERE id = ?1");
        self.select(&connection, of, [id], Counting::Counted)?
            .pop()
            .ok_or_else(|| StoreError::NoSuchRun {
                wanted: wanted.to_owned(),
            })
    }

    /// Reads the run with this id, its rows not counted.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`]; otherwise when the file can't be read.
    pub fn run(&self, id: &str) -> Result<RunInfo, StoreError> {
        let connection = self.database().connect(Purpose::Read)?;
        let of = (RUN_COLUMNS, "WHERE id = ?1");
        let found = self.select(&connection, of, [id], Counting::NotCounted)?;
        found.into_iter().next().ok_or_else(|| no_such_run(id))
    }

    /// The runs that have every word of `text` in their id, description or tags, newest
    /// first: `limit` of them after the first `skip`, their rows not counted, with the beginnings of
    /// their texts.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn search_runs(
        &self,
        text: &str,
        skip: usize,
        limit: usize,
    ) -> Result<Vec<RunInfo>, StoreError> {
        let connection = self.database().connect(Purpose::Read)?;
        let words: Vec<String> = text
            .split_whitespace()
            .take(MOST_WORDS)
            .map(str::to_ascii_lowercase)
            .collect();
        let has = |number| {
            format!(
                "AND (instr(lower(id || ' ' || coalesce(description, '') || ' ' || tags), ?{number}) \
                 OR EXISTS (SELECT 1 FROM json_each(tags) WHERE instr(lower(key || '=' || value), ?{number}))) "
            )
        };
        let found = format!(
            "WHERE true {} ORDER BY created_at_ms DESC, key DESC LIMIT {} OFFSET {}",
            (1..=words.len()).map(has).collect::<String>(),
            saturating(limit),
            saturating(skip)
        );
        let of = (LISTED_COLUMNS, &*found);
        self.select(
            &connection,
            of,
            params_from_iter(words),
            Counting::NotCounted,
        )
    }

    /// The runs that are called as the one with this id, or have the same config where it has no
    /// description; newest first, at most `limit`, their rows not counted, with the beginnings of
    /// their texts.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn runs_like(&self, id: &str, limit: usize) -> Result<Vec<RunInfo>, StoreError> {
        self.alike(id, "", limit)
    }

    /// Those of them that began before it, the newest first.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn runs_before(&self, id: &str, limit: usize) -> Result<Vec<RunInfo>, StoreError> {
        let earlier = "AND (runs.created_at_ms, runs.key) < (it.created_at_ms, it.key)";
        self.alike(id, earlier, limit)
    }

    fn alike(&self, id: &str, and: &str, limit: usize) -> Result<Vec<RunInfo>, StoreError> {
        let connection = self.database().connect(Purpose::Read)?;
        let alike = format!(
            "WHERE EXISTS (SELECT 1 FROM runs AS it WHERE it.id = ?1 AND \
             iif(it.description IS NULL, runs.config = it.config, runs.description = it.description) {and}) \
             ORDER BY created_at_ms DESC, key DESC LIMIT ?2"
        );
        let of = (LISTED_COLUMNS, &*alike);
        self.select(
            &connection,
            of,
            (id, saturating(limit)),
            Counting::NotCounted,
        )
    }

    fn newest(
        &self,
        connection: &Connection,
        columns: &str,
        limit: usize,
    ) -> Result<Vec<RunInfo>, StoreError> {
        let of = (columns, "ORDER BY created_at_ms DESC, key DESC LIMIT ?1");
        self.select(connection, of, [saturating(limit)], Counting::Counted)
    }

    /// Resolves the id that `wanted` is or begins.
    fn resolve(&self, connection: &Connection, wanted: &str) -> Result<String, StoreError> {
        let exact = connection
            .query_row("SELECT id FROM runs WHERE id = ?1", [wanted], |row| {
                row.get(0)
            })
            .optional();
        if let Some(id) = exact.map_err(|error| self.reading(error))? {
            return Ok(id);
        }
        let (mut candidates, total) =
            candidates(connection, wanted).map_err(|error| self.reading(error))?;
        match (total, candidates.pop()) {
            (1, Some(only)) => Ok(only.id),
            (_, None) => Err(no_such_run(wanted)),
            (_, Some(last)) => {
                candidates.push(last);
                Err(StoreError::AmbiguousRun {
                    wanted: wanted.to_owned(),
                    candidates,
                    total,
                })
            }
        }
    }

    /// The runs that are so, with what these columns have of them.
    fn select<P: rusqlite::Params>(
        &self,
        connection: &Connection,
        (columns, which): (&str, &str),
        params: P,
        rows: Counting,
    ) -> Result<Vec<RunInfo>, StoreError> {
        let found = || {
            connection
                .prepare(&format!("{columns} {which}"))?
                .query_map(params, read)?
                .collect::<Result<Vec<_>, _>>()
        };
        let found = found().map_err(|error| self.reading(error))?;
        found
            .into_iter()
            .map(|found| self.complete(connection, columns, found, rows))
            .collect()
    }

    /// Adds what the run's own row doesn't say: how its rows ended, and whether it lives.
    fn complete(
        &self,
        connection: &Connection,
        columns: &str,
        found: RunEntry,
        rows: Counting,
    ) -> Result<RunInfo, StoreError> {
        let RunEntry {
            key,
            mut info,
            state,
        } = found;
        info.state = self.state(&state)?;
        if info.state == RunState::Running && !liveness::is_live(self.path(), key) {
            // It may have ended in the right way between the two questions.
            let question = format!("{columns} WHERE key = ?1");
            let again = connection.query_row(&question, [key], read).optional();
            let Some(again) = again.map_err(|error| self.reading(error))? else {
                return Err(no_such_run(&info.id));
            };
            info = again.info;
            info.state = match self.state(&again.state)? {
                RunState::Running => RunState::Interrupted,
                ended => ended,
            };
        }
        if rows == Counting::Counted {
            (info.outcomes, info.cost_usd) = self.row_sums(connection, key)?;
        }
        Ok(info)
    }

    /// Counted here and not by SQL, which would sort the run's rows first: half the time.
    fn row_sums(
        &self,
        connection: &Connection,
        key: i64,
    ) -> Result<(OutcomeCounts, Option<f64>), StoreError> {
        let failed = |error| self.reading(error);
        let question = "SELECT outcome, cost_usd FROM rows WHERE run = ?1";
        let mut question = connection.prepare_cached(question).map_err(failed)?;
        let mut found = question.query([key]).map_err(failed)?;
        let (mut counts, mut cost) = (OutcomeCounts::default(), None);
        while let Some(row) = found.next().map_err(failed)? {
            let word = row.get_ref(0).map_err(failed)?;
            let word = word.as_str().map_err(|error| failed(error.into()))?;
            counts.add(Outcome::from_word(word).ok_or_else(|| self.unreadable("outcome", word))?);
            if let Some(usd) = row.get::<_, Option<f64>>(1).map_err(failed)? {
                *cost.get_or_insert(0.0) += usd;
            }
        }
        Ok((counts, cost))
    }

    fn state(&self, word: &str) -> Result<RunState, StoreError> {
        RunState::from_word(word).ok_or_else(|| self.unreadable("state of a run", word))
    }
}

fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<RunEntry> {
    let info = RunInfo {
        id: row.get(1)?,
        created_at_ms: row.get(2)?,
        ended_at_ms: row.get(3)?,
        state: RunState::Running,
        description: row.get(5)?,
        tags_json: row.get(6)?,
        summary_json: row.get(7)?,
        outcomes: OutcomeCounts::default(),
        cost_usd: None,
    };
    Ok(RunEntry {
        key: row.get(0)?,
        info,
        state: row.get(4)?,
    })
}

/// The newest runs whose id begins with `prefix`, and how many there are. Nothing begins with an
/// empty one: it is a variable that was not set, and must not name the only run there is.
fn candidates(connection: &Connection, prefix: &str) -> rusqlite::Result<(Vec<RunRef>, u64)> {
    let begins = "FROM runs WHERE ?1 <> '' AND substr(id, 1, length(?1)) = ?1";
    let total: i64 =
        connection.query_row(&format!("SELECT count(*) {begins}"), [prefix], |row| {
            row.get(0)
        })?;
    let question = format!(
        "SELECT id, created_at_ms, substr(description, 1, {CANDIDATE_CHARS}) {begins} ORDER BY created_at_ms DESC, key DESC LIMIT {CANDIDATES}"
    );
    let mut question = connection.prepare(&question)?;
    let read = |row: &rusqlite::Row<'_>| {
        Ok(RunRef {
            id: row.get(0)?,
            created_at_ms: row.get(1)?,
            description: row.get(2)?,
        })
    };
    let candidates = question
        .query_map([prefix], read)?
        .collect::<Result<Vec<_>, _>>()?;
    Ok((candidates, total.unsigned_abs()))
}
