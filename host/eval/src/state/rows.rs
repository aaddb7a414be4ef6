//! Answers that wait for the others of their row, so that they can be compared.
//!
//! `select-best` and `max-score` choose among the answers that the columns of one test gave. A
//! case of such a test is graded like any other when it ends, and then **held** until every other
//! case of its row has ended, too. A case that ended as an error has no answer to compare and
//! holds nothing up. One that was cut off, or that a budget kept from running, may still get its
//! answer when the run goes on: its row stays open, and so do the answers that are held for it.

use std::collections::BTreeMap;

use runner_config::plan::CaseId;

/// The rows of the results that are not complete, each with what is held for it.
#[derive(Debug)]
pub(super) struct Rows<A>(BTreeMap<u32, Row<A>>);

#[derive(Debug)]
struct Row<A> {
    /// Cases that have ended without an answer to compare.
    without: usize,
    /// Cases in the row.
    of: usize,
    /// By column.
    held: BTreeMap<u32, A>,
}

impl<A> Default for Rows<A> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<A> Rows<A> {
    /// Holds the answer of a case whose row has `of` cases.
    ///
    /// # Panics
    /// If its answer is held already.
    pub(super) fn hold(&mut self, id: CaseId, of: usize, answer: A) {
        let before = self.row(id, of).held.insert(id.prompt_idx, answer);
        assert!(before.is_none(), "a case ends once");
    }

    /// Notes that a case whose row has `of` cases ended without an answer to compare.
    pub(super) fn without(&mut self, id: CaseId, of: usize) {
        self.row(id, of).without += 1;
    }

    fn row(&mut self, id: CaseId, of: usize) -> &mut Row<A> {
        self.0.entry(id.test_idx).or_insert_with(|| Row {
            without: 0,
            of,
            held: BTreeMap::new(),
        })
    }

    /// Takes out what is held for a row if every case of it has ended, by column.
    pub(super) fn complete(&mut self, test_idx: u32) -> Option<BTreeMap<u32, A>> {
        let row = self.0.get(&test_idx)?;
        if row.held.len() + row.without < row.of {
            return None;
        }
        self.0.remove(&test_idx).map(|row| row.held)
    }

    /// Takes out everything that is still held, in the order of the results.
    pub(super) fn rest(&mut self) -> Vec<A> {
        let rows = std::mem::take(&mut self.0);
        rows.into_values()
            .flat_map(|row| row.held.into_values())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn id(test_idx: u32, prompt_idx: u32) -> CaseId {
        CaseId {
            test_idx,
            prompt_idx,
        }
    }

    #[test]
    fn a_row_is_complete_when_its_last_case_has_ended() {
        let mut held = Rows::default();
        held.hold(id(0, 2), 3, "c");
        assert_eq!(held.complete(0), None);
        held.without(id(0, 1), 3);
        assert_eq!(held.complete(0), None);
        held.hold(id(0, 0), 3, "a");
        let row = held.complete(0).expect("complete");
        assert_eq!(row.into_iter().collect::<Vec<_>>(), [(0, "a"), (2, "c")]);
        assert_eq!(held.complete(0), None, "once");
        assert!(held.rest().is_empty());
    }

    #[test]
    fn a_row_of_errors_is_complete_with_nothing_held() {
        let mut held = Rows::<()>::default();
        held.without(id(7, 0), 1);
        assert!(held.complete(7).is_some_and(|row| row.is_empty()));
    }

    /// How a case of the model ends.
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Ends {
        Answered,
        Failed,
        CutOff,
    }

    fn cases() -> impl Strategy<Value = Vec<(CaseId, Ends)>> {
        let ends = prop_oneof![
            4 => Just(Ends::Answered),
            1 => Just(Ends::Failed),
            1 => Just(Ends::CutOff),
        ];
        let rows = prop::collection::vec(prop::collection::vec(ends, 1..5), 1..6);
        rows.prop_flat_map(|rows| {
            let cases: Vec<(CaseId, Ends)> = (0..)
                .zip(rows)
                .flat_map(|(test, row)| {
                    (0..)
                        .zip(row)
                        .map(move |(column, ends)| (id(test, column), ends))
                })
                .collect();
            Just(cases).prop_shuffle()
        })
    }

    proptest! {
        /// In whatever order cases end: every answer comes out once, with its whole row if every
        /// case of it has ended, and at the end otherwise.
        #[test]
        fn no_answer_is_lost_and_none_is_compared_before_its_row_is_complete(cases in cases()) {
            let members = |test: u32| cases.iter().filter(move |(id, _)| id.test_idx == test);
            let mut held = Rows::default();
            let mut out: Vec<CaseId> = Vec::new();
            for (id, ends) in &cases {
                let of = members(id.test_idx).count();
                match ends {
                    Ends::Answered => held.hold(*id, of, *id),
                    Ends::Failed => held.without(*id, of),
                    Ends::CutOff => continue,
                }
                if let Some(row) = held.complete(id.test_idx) {
                    prop_assert!(members(id.test_idx).all(|(_, ends)| *ends != Ends::CutOff));
                    let answered = members(id.test_idx).filter(|(_, ends)| *ends == Ends::Answered);
                    prop_assert_eq!(row.len(), answered.count());
                    out.extend(row.into_values());
                }
            }
            for id in held.rest() {
                prop_assert!(members(id.test_idx).any(|(_, ends)| *ends == Ends::CutOff));
                out.push(id);
            }
            out.sort();
            let mut answered: Vec<CaseId> =
                cases.iter().filter(|(_, ends)| *ends == Ends::Answered).map(|(id, _)| *id).collect();
            answered.sort();
            prop_assert_eq!(out, answered);
        }
    }
}
