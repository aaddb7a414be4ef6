//! How the lanes of a run stood over time: samples that its process takes while it works.
//!
//! They are for looking at, and never worth a row: one that can't be written is left out. A run of
//! days keeps no more of them than one of minutes. Each belongs to a slot of time; slots are a second
//! wide at first, and twice as wide whenever there would be more than [`MOST_SLOTS`] of them. Every
//! second slot is deleted then, and what comes after lies in the wider ones. The newest sample of a slot
//! stays, so that the last one is always as it was a moment ago.

use rusqlite::{Connection, TransactionBehavior};

use super::saturating;

/// Slots of one run at most: as many points as a chart on a page can tell apart.
const MOST_SLOTS: u64 = 240;

/// Milliseconds of the narrowest slot.
const NARROWEST: u64 = 1000;

const PUT: &str = "INSERT OR REPLACE INTO lane_samples \
    (run, at_ms, lane, in_flight, allowed, waiting, refused) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

const THIN: &str = "DELETE FROM lane_samples WHERE run = ?1 AND at_ms % ?2 <> 0";

const LAST: &str = "SELECT coalesce(max(at_ms), 0) FROM lane_samples WHERE run = ?1";

/// How one lane stands at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneSample {
    /// What people call it.
    pub lane: String,
    /// Requests in flight.
    pub in_flight: u32,
    /// How many may be.
    pub allowed: u32,
    /// Requests that wait for their turn.
    pub waiting: u64,
    /// Attempts that the server has refused since this session of the run began.
    pub refused: u64,
}

/// How the lanes of a run stand at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneMoment {
    /// Milliseconds that the run has worked until then: in this session, where one is written; in all
    /// of its sessions, where one is read.
    pub at_ms: u64,
    /// Each lane, by name where one is read.
    pub lanes: Vec<LaneSample>,
}

/// Reads every moment of a run.
pub(super) fn read(connection: &Connection, run: i64) -> rusqlite::Result<Vec<LaneMoment>> {
    let mut statement = connection.prepare(
        "SELECT at_ms, lane, in_flight, allowed, waiting, refused FROM lane_samples \
         WHERE run = ?1 ORDER BY at_ms, lane",
    )?;
    let mut rows = statement.query([run])?;
    let mut moments: Vec<LaneMoment> = Vec::new();
    while let Some(row) = rows.next()? {
        let at_ms = row.get::<_, i64>(0)?.unsigned_abs();
        let sample = LaneSample {
            lane: row.get(1)?,
            in_flight: row.get(2)?,
            allowed: row.get(3)?,
            waiting: row.get::<_, i64>(4)?.unsigned_abs(),
            refused: row.get::<_, i64>(5)?.unsigned_abs(),
        };
        match moments.last_mut().filter(|last| last.at_ms == at_ms) {
            Some(moment) => moment.lanes.push(sample),
            None => moments.push(LaneMoment {
                at_ms,
                lanes: vec![sample],
            }),
        }
    }
    Ok(moments)
}

/// Writes the moments of one session of a run. For the run's writer.
#[derive(Debug)]
pub(super) struct Slots {
    run: i64,
    /// Where this session begins: the last slot of those before. `None`: nothing was written yet.
    begins: Option<u64>,
    width: u64,
}

impl Slots {
    pub(super) fn of(run: i64) -> Self {
        Self {
            run,
            begins: None,
            width: 0,
        }
    }

    /// Writes a moment, and deletes what the run has too many of.
    pub(super) fn put(
        &mut self,
        connection: &mut Connection,
        moment: &LaneMoment,
    ) -> rusqlite::Result<()> {
        let begins = match self.begins {
            Some(begins) => begins,
            None => connection
                .query_row(LAST, [self.run], |row| row.get::<_, i64>(0))?
                .unsigned_abs(),
        };
        let at_ms = begins.saturating_add(moment.at_ms);
        let width = width(at_ms);
        let slot = saturating(slot(at_ms, width));
        let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if width != self.width {
            change.execute(THIN, (self.run, saturating(width)))?;
        }
        for lane in &moment.lanes {
            change.prepare_cached(PUT)?.execute((
                self.run,
                slot,
                &lane.lane,
                lane.in_flight,
                lane.allowed,
                saturating(lane.waiting),
                saturating(lane.refused),
            ))?;
        }
        change.commit()?;
        (self.begins, self.width) = (Some(begins), width);
        Ok(())
    }
}

/// Milliseconds of a slot, of a run that has worked for so long.
fn width(at_ms: u64) -> u64 {
    let mut width = NARROWEST;
    while at_ms / MOST_SLOTS >= width {
        width = width.saturating_mul(2);
    }
    width
}

/// The slot of a moment: the nearest one, so that a clock which is a little early or late leaves none out.
fn slot(at_ms: u64, width: u64) -> u64 {
    (at_ms.saturating_add(width / 2) / width).max(1) * width
}

#[cfg(test)]
mod tests;
