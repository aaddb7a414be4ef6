//! Finds for each row of a run its place in another plan, by what its case is.
//!
//! A config that was edited between two sessions moves cases: a test put in front shifts all
//! others. Rows are known by their place, so each must follow its case before anything new is
//! written, or new rows would take the places of old ones that are still good.
//!
//! Equal cases are possible (a test that stands twice), so an identity is no key: the rows of one
//! identity are dealt out to its places. A row whose case stands where it stood stays; of the
//! others the good ones go first, to the first places.
//!
//! It is done by SQLite, in temporary tables: a plan of a million cases goes through in bounded
//! memory, and the file is not locked meanwhile.

use rusqlite::Connection;

use crate::digest::Digest;

/// A case of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedCase {
    /// Which test, in the plan's order, from 0.
    pub test_idx: u32,
    /// Which column, in the plan's order, from 0.
    pub prompt_idx: u32,
    /// The case by its content.
    pub identity: Digest,
}

/// How a run's rows and a plan's cases go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Placement {
    /// Rows whose case stands where it stood.
    pub kept: u64,
    /// Rows whose case stands elsewhere now.
    pub moved: u64,
    /// Rows whose case is in the plan no more (or no longer as often), and rows without identity.
    /// They are deleted when the run is started.
    pub dropped: u64,
    /// Cases of the plan that have no row.
    pub missing: u64,
}

/// `temp` is a database of its own that only this connection sees.
const TABLES: &str = "
DROP TABLE IF EXISTS temp.plan;
DROP TABLE IF EXISTS temp.places;
CREATE TEMP TABLE plan (
    test_idx   INTEGER NOT NULL,
    prompt_idx INTEGER NOT NULL,
    identity   BLOB    NOT NULL,
    PRIMARY KEY (test_idx, prompt_idx)
) STRICT, WITHOUT ROWID;
CREATE TEMP TABLE places (
    old_test   INTEGER NOT NULL,
    old_prompt INTEGER NOT NULL,
    new_test   INTEGER NOT NULL,
    new_prompt INTEGER NOT NULL,
    PRIMARY KEY (old_test, old_prompt)
) STRICT, WITHOUT ROWID;";

const PLAN: &str = "INSERT INTO temp.plan VALUES (?1, ?2, ?3)";

const STAY: &str = "
INSERT INTO temp.places
SELECT test_idx, prompt_idx, test_idx, prompt_idx
FROM main.rows AS stored JOIN temp.plan AS plan USING (test_idx, prompt_idx)
WHERE stored.run = ?1 AND stored.identity = plan.identity";

/// Both sides without what stays, numbered within each identity.
const MOVE: &str = "
INSERT INTO temp.places
WITH
loose AS (
    SELECT test_idx, prompt_idx, identity, row_number() OVER (
        PARTITION BY identity
        ORDER BY outcome NOT IN ('passed', 'failed', 'waiting'), test_idx, prompt_idx
    ) AS nth
    FROM main.rows AS stored
    WHERE run = ?1 AND identity IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM temp.places WHERE (old_test, old_prompt) = (stored.test_idx, stored.prompt_idx))
),
free AS (
    SELECT test_idx, prompt_idx, identity, row_number() OVER (
        PARTITION BY identity ORDER BY test_idx, prompt_idx
    ) AS nth
    FROM temp.plan AS plan
    WHERE NOT EXISTS (
        SELECT 1 FROM temp.places WHERE (old_test, old_prompt) = (plan.test_idx, plan.prompt_idx))
)
SELECT loose.test_idx, loose.prompt_idx, free.test_idx, free.prompt_idx
FROM loose JOIN free USING (identity, nth)";

const ROWS: &str = "SELECT count(*) FROM main.rows WHERE run = ?1";

const GONE: &str = "
FROM main.rows AS stored WHERE run = ?1 AND NOT EXISTS (
    SELECT 1 FROM temp.places WHERE (old_test, old_prompt) = (stored.test_idx, stored.prompt_idx))";

/// Away first, to places that no row has: one may have to go where another still stands.
const AWAY: &str = "
UPDATE main.rows SET test_idx = -1 - new_test, prompt_idx = new_prompt
FROM temp.places
WHERE run = ?1 AND test_idx = old_test AND prompt_idx = old_prompt
  AND (old_test, old_prompt) <> (new_test, new_prompt)";

const HOME: &str = "
UPDATE main.rows SET test_idx = -1 - test_idx WHERE run = ?1 AND test_idx < 0";

/// Reads the plan and finds the places. Changes nothing but this connection's temporary tables.
pub(super) fn find(
    connection: &mut Connection,
    run: i64,
    plan: impl IntoIterator<Item = PlannedCase>,
) -> rusqlite::Result<Placement> {
    connection.execute_batch(TABLES)?;
    let cases = fill(connection, plan)?;
    let kept = connection.execute(STAY, [run])? as u64;
    let moved = connection.execute(MOVE, [run])? as u64;
    let rows: i64 = connection.query_row(ROWS, [run], |row| row.get(0))?;
    Ok(Placement {
        kept,
        moved,
        dropped: rows.unsigned_abs() - kept - moved,
        missing: cases - kept - moved,
    })
}

/// One transaction, since each of its own would take longer than the insertion; it locks nothing,
/// for it does not look at the file.
fn fill(
    connection: &mut Connection,
    plan: impl IntoIterator<Item = PlannedCase>,
) -> rusqlite::Result<u64> {
    let change = connection.transaction()?;
    let mut cases = 0;
    {
        let mut insert = change.prepare(PLAN)?;
        for case in plan {
            let identity = case.identity.as_bytes().as_slice();
            insert.execute((case.test_idx, case.prompt_idx, identity))?;
            cases += 1;
        }
    }
    change.commit()?;
    Ok(cases)
}

/// Puts the rows where they belong, within the caller's transaction.
pub(super) fn apply(change: &Connection, run: i64) -> rusqlite::Result<()> {
    let records = format!("DELETE FROM main.records WHERE key IN (SELECT record {GONE})");
    change.execute(&records, [run])?;
    let rows = format!(
        "DELETE FROM main.rows WHERE run = ?1
         AND (test_idx, prompt_idx) IN (SELECT test_idx, prompt_idx {GONE})"
    );
    change.execute(&rows, [run])?;
    change.execute(AWAY, [run])?;
    change.execute(HOME, [run])?;
    change.execute_batch("DROP TABLE temp.plan; DROP TABLE temp.places;")
}
