//! Writes one run: a thread with its own connection that commits rows in groups.
//!
//! A commit costs as much CPU time as three rows with a log, and as thirty without, so rows
//! travel together; and SQLite takes one writer at a time, so more threads would only wait for
//! each other. A group is complete in memory before its transaction begins: the lock on the file
//! is held for the milliseconds that the inserts take, never while waiting for a model to answer,
//! and other processes get their turn.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread::JoinHandle;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, named_params};

use super::lanes::{LaneMoment, Slots};
use super::liveness::Claim;
use super::queue::{Failure, Queue, Refused};
use super::{Row, RunEnd, saturating};
use crate::database::{Database, tidy_journal};
use crate::digest::Digest;
use crate::error::{StoreError, WriterFailure};

const PUT_ROW: &str = "
INSERT OR REPLACE INTO rows (run, test_idx, prompt_idx, record, row_id, outcome, score,
                             latency_ms, cost_usd, grading_usd, saved_usd, input_tokens, output_tokens, cached, identity)
VALUES (:run, :test_idx, :prompt_idx, :record, :row_id, :outcome, :score,
        :latency_ms, :cost_usd, :grading_usd, :saved_usd, :input_tokens, :output_tokens, :cached, :identity)";

const RECORD_OF: &str =
    "SELECT record FROM rows WHERE run = ?1 AND test_idx = ?2 AND prompt_idx = ?3";

const PUT_RECORD: &str = "INSERT OR REPLACE INTO records (key, json) VALUES (?1, ?2)";

const NEXT_RECORD: &str = "SELECT coalesce(max(key), 0) + 1 FROM records";

const END_RUN: &str = "UPDATE runs SET state = ?2, ended_at_ms = ?3, summary = ?4 WHERE key = ?1";

/// Takes the rows of one run.
///
/// What was pushed is on disk once [`RunWriter::committed`] has counted it, after
/// [`RunWriter::flush`], and after [`RunWriter::finish`]. Dropping a writer without `finish` still
/// writes what it was given, and leaves a run that readers call interrupted.
#[derive(Debug)]
pub struct RunWriter {
    id: String,
    queue: Arc<Queue>,
    thread: Option<JoinHandle<()>>,
}

/// Takes how the lanes of a run stand while its rows are written.
#[derive(Debug, Clone)]
pub struct LaneLog(Arc<Queue>);

impl LaneLog {
    /// Lanes of one moment at most; the others are left out. Few runs have more than four.
    pub const MOST_LANES: usize = 32;

    /// Hands over how the lanes stand now. Returns at once, and nobody is told whether it is kept: what
    /// comes faster than it can be written takes the place of what was there before.
    pub fn note(&self, mut moment: LaneMoment) {
        moment.lanes.truncate(Self::MOST_LANES);
        if !moment.lanes.is_empty() {
            self.0.note(moment);
        }
    }
}

/// Why a row was not taken at once.
#[derive(Debug)]
pub enum PushError {
    /// The disk is behind: the row, to be handed over again when [`RunWriter::poll_room`] is
    /// ready.
    Full(Box<Row>),
    /// As [`RunWriter::push`] fails.
    Failed(StoreError),
}

impl RunWriter {
    /// Starts the thread for a run that is in the file.
    pub(super) fn start(
        database: Database,
        connection: Connection,
        run: Run,
    ) -> Result<Self, StoreError> {
        let Run { id, key, claim } = run;
        let queue = Arc::new(Queue::default());
        let theirs = Arc::clone(&queue);
        let thread = std::thread::Builder::new()
            .name("runner-store".to_owned())
            .spawn(move || {
                write_all(&theirs, &database, connection, key);
                drop(claim);
            })
            .map_err(|source| StoreError::NoThread { source })?;
        Ok(Self {
            id,
            queue,
            thread: Some(thread),
        })
    }

    /// The run's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Hands over a row. Returns at once as long as the disk keeps up; otherwise waits for the
    /// group ahead.
    ///
    /// # Errors
    /// [`StoreError::Writing`] once the writer has failed: neither this row nor those that were
    /// not committed by then will be stored.
    pub fn push(&self, row: Row) -> Result<(), StoreError> {
        self.queue.push(row).map_err(|failure| self.failed(failure))
    }

    /// Hands over a row if it can be taken at once.
    ///
    /// # Errors
    /// The row where a whole group is ahead of it; and as [`RunWriter::push`].
    pub fn try_push(&self, row: Row) -> Result<(), PushError> {
        self.queue.try_push(row).map_err(|refused| match refused {
            Refused::Full(row) => PushError::Full(row),
            Refused::Failed(failure) => PushError::Failed(self.failed(failure)),
        })
    }

    /// Ready when [`RunWriter::try_push`] takes any row, or fails.
    pub fn poll_room(&self, context: &mut Context<'_>) -> Poll<()> {
        self.queue.poll_room(context)
    }

    /// What takes how the lanes stand while rows are written.
    pub fn lane_log(&self) -> LaneLog {
        LaneLog(Arc::clone(&self.queue))
    }

    /// How many rows were handed over. It serves as a ticket: all of them are on disk once
    /// [`RunWriter::committed`] has reached this number.
    pub fn pushed(&self) -> u64 {
        self.queue.counts().pushed
    }

    /// How many rows are on disk. Rows are committed in the order in which they were pushed.
    pub fn committed(&self) -> u64 {
        self.queue.counts().committed
    }

    /// Commits what was pushed so far and waits for it.
    ///
    /// # Errors
    /// [`StoreError::Writing`] when the writer has failed.
    pub fn flush(&self) -> Result<(), StoreError> {
        self.queue.flush().map_err(|failure| self.failed(failure))
    }

    /// Writes what is left, marks how the run ended, and tidies up the journal.
    ///
    /// # Errors
    /// [`StoreError::Writing`] when not everything could be written; the run counts as
    /// interrupted then.
    pub fn finish(mut self, end: RunEnd) -> Result<(), StoreError> {
        self.end(end);
        self.join();
        self.queue.check().map_err(|failure| self.failed(failure))
    }

    /// Begins what [`RunWriter::finish`] does; no rows may follow.
    pub fn end(&self, end: RunEnd) {
        self.queue.end(end);
    }

    /// Ready when everything is written after [`RunWriter::end`], or nothing more will be; says
    /// what [`RunWriter::finish`] says.
    pub fn poll_ended(&self, context: &mut Context<'_>) -> Poll<Result<(), StoreError>> {
        let done = self.queue.poll_done(context);
        done.map(|()| self.queue.check().map_err(|failure| self.failed(failure)))
    }

    fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            // A panic was noted by `Watch`.
            drop(thread.join());
        }
    }

    fn failed(&self, source: Failure) -> StoreError {
        let counts = self.queue.counts();
        StoreError::Writing {
            id: self.id.clone(),
            committed: counts.committed,
            pushed: counts.pushed,
            source,
        }
    }
}

impl Drop for RunWriter {
    fn drop(&mut self) {
        self.queue.close();
        self.join();
    }
}

/// The run that a thread writes.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) id: String,
    pub(super) key: i64,
    /// Held until the thread has written the end.
    pub(super) claim: Claim,
}

/// Tells those who wait when the thread ends, also by a panic: nobody else would.
struct Watch<'a>(&'a Queue);

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail(WriterFailure::Panicked);
        }
        self.0.done();
    }
}

fn write_all(queue: &Queue, database: &Database, mut connection: Connection, run: i64) {
    let _watch = Watch(queue);
    let outcome = write_groups(queue, database, &mut connection, run).and_then(|()| {
        end(queue, &connection, run).map_err(|error| database.failed("end the run", error))
    });
    if let Err(error) = outcome {
        queue.fail(WriterFailure::Store(error));
    }
}

fn write_groups(
    queue: &Queue,
    database: &Database,
    connection: &mut Connection,
    run: i64,
) -> Result<(), StoreError> {
    let mut slots = Slots::of(run);
    while let Some(group) = queue.take_group() {
        if !group.is_empty() {
            let bytes: usize = group.iter().map(Row::weight).sum();
            database.check_room(bytes as u64)?;
            write_group(connection, run, &group)
                .map_err(|error| database.failed("write results", error))?;
            queue.commit(group.len() as u64);
        }
        // In a transaction of its own: what is only looked at can't cost a result.
        if let Some(moment) = queue.take_moment()
            && database.check_room(0).is_ok()
        {
            drop(slots.put(connection, &moment));
        }
    }
    Ok(())
}

fn write_group(connection: &mut Connection, run: i64, group: &[Row]) -> rusqlite::Result<()> {
    let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    {
        let mut record_of = change.prepare_cached(RECORD_OF)?;
        let mut put_row = change.prepare_cached(PUT_ROW)?;
        let mut put_record = change.prepare_cached(PUT_RECORD)?;
        let mut next: i64 = change
            .prepare_cached(NEXT_RECORD)?
            .query_row([], |row| row.get(0))?;
        for row in group {
            // A row that takes the place of another one also takes the place of its record. Asked
            // first: for what an insert gives back SQLite opens a table, and a cache of its own.
            let known = record_of.query_row((run, row.test_idx, row.prompt_idx), |row| row.get(0));
            let record: i64 = known.optional()?.unwrap_or(next);
            put_row.execute(named_params! {
                ":run": run,
                ":test_idx": row.test_idx,
                ":prompt_idx": row.prompt_idx,
                ":record": record,
                ":row_id": row.row_id,
                ":outcome": row.outcome.as_str(),
                ":score": row.score,
                ":latency_ms": row.latency_ms.map(saturating),
                ":cost_usd": row.cost_usd,
                ":grading_usd": row.grading_usd,
                ":saved_usd": row.saved_usd,
                ":input_tokens": row.input_tokens.map(saturating),
                ":output_tokens": row.output_tokens.map(saturating),
                ":cached": row.cached,
                ":identity": row.identity.as_ref().map(Digest::as_bytes),
            })?;
            put_record.execute((record, &row.record_json))?;
            next += i64::from(record == next);
        }
    }
    change.commit()
}

fn end(queue: &Queue, connection: &Connection, run: i64) -> rusqlite::Result<()> {
    if let Some(end) = queue.take_end() {
        connection.execute(
            END_RUN,
            (run, end.status.word(), end.ended_at_ms, end.summary_json),
        )?;
    }
    tidy_journal(connection);
    Ok(())
}

#[cfg(test)]
mod tests;
