//! Hands finished cases to the store, without ever waiting for it.
//!
//! It is no `Consumer` like the others, because its failure matters: a run whose results can't be
//! kept must stop spending. A row that the store has no room for waits here, and the run starts
//! nothing until it has gone. A result is told when the store has its row, so that a killed process
//! loses no more of what it told than the store's bound. Until a row is on the disk its record is
//! held, too, so that it can be rescued.

use std::collections::{HashSet, VecDeque};
use std::future::{pending, poll_fn};
use std::sync::Arc;

use runner_store::{LaneLog, PushError, Row, RunEnd, RunStatus, RunWriter, StoreError};

use crate::finish::Finished;
use crate::memory::Account;
use crate::record::CaseRecord;
use crate::state::StoreState;
use crate::summary::{End, Summary};

/// Writes a run's rows.
#[derive(Debug)]
pub(crate) struct Recorder {
    writer: RunWriter,
    /// Rows that were not handed over yet, in order.
    backlog: VecDeque<WaitingRow>,
    /// How many rows came.
    came: u64,
    /// Records that are not on the disk yet, each with its number among those that came: what
    /// the store holds, which bounds it, and the backlog.
    unsaved: VecDeque<(u64, Arc<CaseRecord>)>,
    /// The first failure; later ones say the same.
    error: Option<StoreError>,
}

/// A row that was not handed over yet.
#[derive(Debug)]
struct WaitingRow {
    row: Row,
    /// What is told when the store takes it; `None`: it is not the case's last, or not new.
    result: Option<Arc<CaseRecord>>,
    /// What its case holds of the memory.
    memory: Option<Arc<Account>>,
}

/// Results that could not be stored.
#[derive(Debug)]
pub(crate) struct Unsaved {
    /// What the store said first.
    pub(crate) error: Box<StoreError>,
    /// Every record of this session that is not in the database.
    pub(crate) records: Vec<Arc<CaseRecord>>,
}

impl Recorder {
    /// Records into a run that was begun.
    pub(crate) fn new(writer: RunWriter) -> Self {
        Self {
            came: writer.pushed(),
            writer,
            backlog: VecDeque::new(),
            unsaved: VecDeque::new(),
            error: None,
        }
    }

    /// What takes how the lanes stand meanwhile.
    pub(crate) fn lane_log(&self) -> LaneLog {
        self.writer.lane_log()
    }

    /// Whether the store takes rows.
    pub(crate) fn state(&self) -> StoreState {
        if self.error.is_some() {
            StoreState::Failed
        } else if self.backlog.is_empty() {
            StoreState::Ready
        } else {
            StoreState::Behind
        }
    }

    /// Takes the row of a case; `is_result`: it is the case's last and new, and is to be told. Once nothing can
    /// be stored any more its record is kept for the rescue.
    pub(crate) fn record(
        &mut self,
        Finished { record, row }: Finished,
        is_result: bool,
        memory: Option<Arc<Account>>,
    ) {
        self.came += 1;
        self.unsaved.push_back((self.came, record.clone()));
        self.backlog.push_back(WaitingRow {
            row,
            result: is_result.then_some(record),
            memory,
        });
    }

    /// Notes that the store failed.
    fn fail(&mut self, error: StoreError) {
        self.error.get_or_insert(error);
    }

    /// Waits until the store has room for what waits, or has failed; for ever if nothing waits.
    pub(crate) async fn has_room(&mut self) {
        if self.state() != StoreState::Behind {
            return pending().await;
        }
        poll_fn(|context| self.writer.poll_room(context)).await;
    }

    /// Hands rows to the store up to the next result, which may be told then; also one that will
    /// never be stored. `None`: nothing waits, or only for room.
    pub(crate) fn hand_over(&mut self) -> Option<Arc<CaseRecord>> {
        while let Some(WaitingRow {
            row,
            result,
            memory,
        }) = self.backlog.pop_front()
        {
            let pushed = if self.error.is_none() {
                self.writer.try_push(row)
            } else {
                Ok(())
            };
            match pushed {
                Ok(()) => {}
                Err(PushError::Full(row)) => {
                    let row = *row;
                    self.backlog.push_front(WaitingRow {
                        row,
                        result,
                        memory,
                    });
                    break;
                }
                Err(PushError::Failed(error)) => self.fail(error),
            }
            self.forget();
            if result.is_some() {
                return result;
            }
        }
        None
    }

    /// Waits until everything is on disk and the run's end is marked. It can be dropped and asked
    /// for again.
    pub(crate) async fn close(&mut self, summary: &Summary) {
        let status = match summary.end {
            // After a retry of the errors alone, cases may still have no row.
            End::Finished if summary.not_run() == 0 => RunStatus::Finished,
            End::Finished | End::Interrupted | End::TimeLimit | End::StoreFailed => {
                RunStatus::Interrupted
            }
        };
        self.writer.end(RunEnd {
            status,
            ended_at_ms: jiff::Timestamp::now().as_millisecond(),
            summary_json: summary.to_json().to_string(),
        });
        let ended = poll_fn(|context| self.writer.poll_ended(context)).await;
        if let Err(error) = ended {
            self.fail(error);
        }
    }

    /// Says whether everything is kept, once the run was closed.
    ///
    /// # Errors
    /// When rows could not be written, now or before.
    pub(crate) fn finish(mut self) -> Result<(), Unsaved> {
        self.forget();
        let Some(error) = self.error else {
            return Ok(());
        };
        // Of what was on its way, the first ones may have got through.
        let safe = match &error {
            StoreError::Writing { committed, .. } => *committed,
            _ => 0,
        };
        let lost = self
            .unsaved
            .into_iter()
            .filter(|(number, _)| *number > safe);
        Err(Unsaved {
            error: Box::new(error),
            records: last_of_each(lost.map(|(_, record)| record)),
        })
    }

    fn forget(&mut self) {
        let committed = self.writer.committed();
        let is_saved = |(number, _): &mut (u64, _)| *number <= committed;
        while self.unsaved.pop_front_if(is_saved).is_some() {}
    }
}

/// One record for each case: of an answer that waited and was compared, the later one.
fn last_of_each(records: impl DoubleEndedIterator<Item = Arc<CaseRecord>>) -> Vec<Arc<CaseRecord>> {
    let mut seen = HashSet::new();
    let mut last: Vec<_> = records
        .rev()
        .filter(|record| seen.insert((record.test_idx, record.prompt_idx)))
        .collect();
    last.reverse();
    last
}

#[cfg(test)]
mod tests {
    use runner_store::{NewRun, OpenOptions, Outcome, Store};

    use super::*;
    use crate::memory::Memory;
    use crate::record::samples::record;

    fn writer(folder: &std::path::Path) -> RunWriter {
        let store = Store::open(&folder.join("runs.db"), OpenOptions::default());
        let run = NewRun {
            id: "run-1".to_owned(),
            created_at_ms: 0,
            description: None,
            tags_json: "{}".to_owned(),
            config_json: "{}".to_owned(),
            columns_json: "[]".to_owned(),
            plugins_json: "[]".to_owned(),
            options_json: "{}".to_owned(),
            seed: 0,
        };
        let begun = store.expect("it opens").begin_run(run);
        begun.expect("it begins")
    }

    fn finished(test_idx: u32) -> Finished {
        Finished {
            record: Arc::new(record(test_idx)),
            row: Row {
                test_idx,
                prompt_idx: 0,
                row_id: test_idx.to_string(),
                identity: None,
                outcome: Outcome::Passed,
                score: 1.0,
                latency_ms: None,
                cost_usd: None,
                grading_usd: None,
                saved_usd: None,
                input_tokens: None,
                output_tokens: None,
                cached: false,
                record_json: "x".repeat(10 << 20),
            },
        }
    }

    #[tokio::test]
    async fn a_case_is_told_and_gives_its_memory_back_when_the_store_has_its_row() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut recorder = Recorder::new(writer(folder.path()));
        let memory = Arc::new(Memory::default());
        let hand_over =
            |recorder: &mut Recorder| std::iter::from_fn(|| recorder.hand_over()).count();
        let (mut accounts, mut told) = (Vec::new(), 0);
        let held = |accounts: &[std::sync::Weak<Account>]| {
            accounts.iter().filter(|it| it.strong_count() > 0).count()
        };
        for row in 0..6 {
            let account = memory.open(None);
            accounts.push(Arc::downgrade(&account));
            recorder.record(finished(row), true, Some(account));
            told += hand_over(&mut recorder);
            assert_eq!(held(&accounts), recorder.backlog.len());
            assert_eq!(told + held(&accounts), accounts.len());
        }
        while recorder.state() == StoreState::Behind {
            recorder.has_room().await;
            told += hand_over(&mut recorder);
            assert_eq!(held(&accounts), recorder.backlog.len());
            assert_eq!(told + held(&accounts), accounts.len());
        }
        assert_eq!((held(&accounts), recorder.error.is_none()), (0, true));
    }
}
