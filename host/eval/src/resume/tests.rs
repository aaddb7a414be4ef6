//! Which cases are run again, as a decision table and against a plain model.

use proptest::prelude::*;

use super::*;

#[test]
fn what_is_run_again_depends_on_how_it_ended() {
    let table = [
        (None, true, false),
        (Some(Outcome::Passed), false, false),
        (Some(Outcome::Failed), false, false),
        (Some(Outcome::Error), false, true),
        (Some(Outcome::BudgetExceeded), true, true),
        (Some(Outcome::Cancelled), true, false),
    ];
    for (row, rest, errors) in table {
        assert_eq!(ResumeScope::Rest.runs(row), rest, "{row:?}");
        assert_eq!(ResumeScope::Errors.runs(row), errors, "{row:?}");
    }
}

fn resumption(kept: u64, moved: u64, dropped: u64) -> Resumption {
    Resumption {
        run_id: "run-1".to_owned(),
        which: ResumeScope::Rest,
        kept,
        moved,
        new: 4,
        dropped,
        follow: 0,
    }
}

#[test]
fn a_plan_that_shares_less_than_half_of_the_rows_is_doubtful() {
    assert!(!resumption(1, 1, 2).is_doubtful());
    assert!(resumption(1, 1, 3).is_doubtful());
    assert!(resumption(0, 0, 1).is_doubtful());
    assert!(!resumption(0, 0, 0).is_doubtful());
    let retry = |dropped| Resumption {
        which: ResumeScope::Errors,
        ..resumption(9, 0, dropped)
    };
    assert!(retry(1).is_doubtful(), "nothing would take its place");
    assert!(!retry(0).is_doubtful());
}

#[test]
fn it_is_said_in_one_line() {
    assert_eq!(
        resumption(1, 2, 3).to_string(),
        "resuming run-1: 1 row kept, 2 moved, 3 dropped; 4 cases have no row yet"
    );
    let retry = Resumption {
        which: ResumeScope::Errors,
        ..resumption(1, 2, 3)
    };
    let begins = "retrying the errors of run-1: ";
    assert!(retry.to_string().starts_with(begins));
}

fn stored(place: (u32, u32), outcome: Outcome) -> StoredCase {
    StoredCase {
        test_idx: place.0,
        prompt_idx: place.1,
        identity: None,
        outcome,
    }
}

proptest! {
    /// Whatever rows there are: walking them beside the plan finds the same as a search.
    #[test]
    fn each_case_finds_its_row_and_no_other(
        rows in prop::collection::btree_map((0u32..8, 0u32..3), any::<bool>(), 0..20),
        plan in prop::collection::btree_set((0u32..8, 0u32..3), 0..20),
    ) {
        let outcome = |passed| if passed { Outcome::Passed } else { Outcome::Error };
        let walked = rows.iter().map(|(place, passed)| Ok(stored(*place, outcome(*passed))));
        let mut walked = walked.peekable();
        for place in plan {
            let id = CaseId { test_idx: place.0, prompt_idx: place.1 };
            let found = row_at(&mut walked, id).expect("no row is broken");
            prop_assert_eq!(found, rows.get(&place).copied().map(outcome));
        }
    }
}

#[test]
fn a_row_that_cannot_be_read_is_an_error_and_not_a_case_to_pay_for_again() {
    let broken: Vec<Result<StoredCase, StoreError>> =
        vec![Ok(stored((0, 0), Outcome::Passed)), Err(StoreError::NoRuns)];
    let mut walked = broken.into_iter().peekable();
    let id = CaseId {
        test_idx: 1,
        prompt_idx: 0,
    };
    assert!(row_at(&mut walked, id).is_err());
}
