//! The format of `runs.db`: how a file of each older format becomes one of the next.
//!
//! A migration that was released is never edited: files that have it are not given it again.
//!
//! Why two tables for one row: `rows` is small and lies in key order, so that counting a million
//! outcomes, or finding the few that failed, reads a hundred bytes a row; `records` takes the
//! texts, thousands of bytes each, one after the other in the order in which they come. As one
//! table it would need the same two trees (the table and the index of its key), and every count
//! would page through every text.

use crate::database::Schema;

/// "RUNR" as a big-endian integer.
const APPLICATION_ID: i32 = 0x5255_4E52;

/// The formats of `runs.db`.
pub(super) const RUNS: Schema = Schema {
    application_id: APPLICATION_ID,
    migrations: &[FORMAT_1, FORMAT_2, FORMAT_3, FORMAT_4, FORMAT_5],
};

/// AUTOINCREMENT: the key of a deleted run is never given to another one, so that nothing that
/// still holds it can touch the wrong run. `seed` is an unsigned number in a signed column.
/// `score` may be NULL: SQLite has no NaN.
const FORMAT_1: &str = "
CREATE TABLE runs (
    key           INTEGER PRIMARY KEY AUTOINCREMENT,
    id            TEXT    NOT NULL UNIQUE,
    created_at_ms INTEGER NOT NULL,
    ended_at_ms   INTEGER,
    state         TEXT    NOT NULL,
    description   TEXT,
    seed          INTEGER NOT NULL,
    tags          TEXT    NOT NULL,
    columns       TEXT    NOT NULL,
    plugins       TEXT    NOT NULL,
    options       TEXT    NOT NULL,
    summary       TEXT,
    config        TEXT    NOT NULL
) STRICT;

CREATE INDEX runs_by_time ON runs (created_at_ms, key);

CREATE TABLE rows (
    run           INTEGER NOT NULL REFERENCES runs (key),
    test_idx      INTEGER NOT NULL,
    prompt_idx    INTEGER NOT NULL,
    record        INTEGER NOT NULL,
    row_id        TEXT    NOT NULL,
    outcome       TEXT    NOT NULL,
    score         REAL,
    latency_ms    INTEGER,
    cost_usd      REAL,
    input_tokens  INTEGER,
    output_tokens INTEGER,
    cached        INTEGER NOT NULL,
    PRIMARY KEY (run, test_idx, prompt_idx)
) STRICT, WITHOUT ROWID;

CREATE TABLE records (
    key  INTEGER PRIMARY KEY,
    json TEXT NOT NULL
) STRICT;
";

/// What a case is, beside where it stands. No index: a resume reads every row of its run once, in
/// key order, and an index would make each row that is written dearer.
const FORMAT_2: &str = "ALTER TABLE rows ADD COLUMN identity BLOB;";

/// What people say: of a run, and of a row by its id, which a row that takes its place has not.
const FORMAT_3: &str = "
ALTER TABLE runs ADD COLUMN note TEXT;

CREATE TABLE annotations (
    run     INTEGER NOT NULL REFERENCES runs (key),
    row_id  TEXT    NOT NULL,
    thumb   INTEGER,
    score   REAL,
    label   TEXT,
    comment TEXT,
    at_ms   INTEGER NOT NULL,
    PRIMARY KEY (run, row_id)
) STRICT, WITHOUT ROWID;
";

/// How the lanes of a run stood while it worked. One row for each lane and slot of time, so that each
/// second writes a few dozen bytes and not a series; `lanes.rs` bounds how many there are.
const FORMAT_4: &str = "
CREATE TABLE lane_samples (
    run       INTEGER NOT NULL REFERENCES runs (key),
    at_ms     INTEGER NOT NULL,
    lane      TEXT    NOT NULL,
    in_flight INTEGER NOT NULL,
    allowed   INTEGER NOT NULL,
    waiting   INTEGER NOT NULL,
    refused   INTEGER NOT NULL,
    PRIMARY KEY (run, at_ms, lane)
) STRICT, WITHOUT ROWID;
";

/// What grading took of a case's cost, and what the cache saved. Rows before say of an answer out of the cache
/// what it had cost another run.
const FORMAT_5: &str = "
ALTER TABLE rows ADD COLUMN grading_usd REAL;
ALTER TABLE rows ADD COLUMN saved_usd REAL;
UPDATE rows SET saved_usd = cost_usd, cost_usd = 0 WHERE cached <> 0 AND cost_usd IS NOT NULL;
";
