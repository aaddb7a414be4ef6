//! What a run that goes on has already: rows that stay, and answers that are compared anew.

use std::sync::Arc;
use std::time::Duration;

use runner_config::plan::{Case, CaseId, Plan};
use runner_store::{Row, StoreError};

use super::{Input, Loop};
use crate::error::RunError;
use crate::event::Event;
use crate::finish::Held;
use crate::record::CaseRecord;
use crate::resume::{Member, Rest, Resumed};
use crate::state::{Kept, Left};

impl Loop {
    /// Tells of the rows that there are already; gives the cases that are run.
    pub(super) fn go_on<'a>(
        &mut self,
        plan: &'a Plan,
        mut resumed: Resumed,
    ) -> Result<Rest<'a>, RunError> {
        self.emit(&Event::Resumed(resumed.resumption.clone()));
        for (id, left) in resumed.compared(plan)? {
            self.leave(id, Some(left));
        }
        for kept in resumed.kept()? {
            let (row, record, moved) = kept?;
            let record = Arc::new(record);
            let id = record.case_id();
            if let Some(needs) = resumed.tied.kept.get(&id) {
                self.leave(id, Left::of(needs, &record));
            }
            self.keep(row, record, moved);
        }
        Ok(resumed.rest(plan)?)
    }

    /// Hands on what a case that is not run leaves to later ones.
    fn leave(&mut self, id: CaseId, left: Option<Left>) {
        let kept = Kept {
            id,
            row: None,
            left,
        };
        self.state.on(Duration::ZERO, Input::Kept(kept));
    }

    /// Sums up and tells of a row that stays; `moved`: what the store has of it is to be put right.
    pub(super) fn keep(&mut self, row: Row, record: Arc<CaseRecord>, moved: bool) {
        self.totals.add(&record, &row.record_json);
        if moved {
            // A failure is told by the next row, or by the end.
            self.outlets.recorder.rewrite(row, record.clone());
        }
        self.emit(&Event::CaseKept(record));
    }

    /// Holds what the row of this case has already, if it is compared anew and this is its first.
    pub(super) fn hold_again(
        &mut self,
        case: &Case,
        cases: &mut Rest<'_>,
    ) -> Result<(), StoreError> {
        for member in cases.members(case.id.test_idx)? {
            let Member {
                id,
                record,
                identity,
                bytes,
            } = member;
            let held = record.map(|record| Held {
                record: Arc::new(record),
                identity,
            });
            if held.is_some() {
                // It fitted when it was answered.
                self.context.memory.keep_answer(id.test_idx, bytes);
            }
            let kept = Kept {
                id,
                row: Some((self.cases_of_row(case), held)),
                left: None,
            };
            self.state.on(Duration::ZERO, Input::Kept(kept));
        }
        Ok(())
    }
}
