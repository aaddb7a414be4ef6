//! What the grades of a row may take together.
//!
//! A grader may say as much as crosses the boundary of the sandbox, and a row may have thousands.

use std::sync::atomic::{AtomicUsize, Ordering};

use runner_config::plan::Assertion;
use runner_gateway::Masker;

use super::ungraded;
use crate::failure::{CallFailure, FailureCode};
use crate::grading::MAX_REASON;
use crate::memory::{Account, of_fields, of_grade};
use crate::record::ComponentRecord;
use crate::record::size::{bytes, cut};

/// Bytes that all graders of a row may add to it.
const MAX_GRADES: usize = 16 << 20;

/// What the graders of a row have said.
pub(super) struct KeptGrades<'a> {
    masker: &'a Masker,
    memory: &'a Account,
    bytes: AtomicUsize,
}

impl<'a> KeptGrades<'a> {
    pub(super) fn new(masker: &'a Masker, memory: &'a Account) -> Self {
        Self {
            masker,
            memory,
            bytes: AtomicUsize::new(0),
        }
    }

    /// The grade with reasons that can be read; an assertion that can't be graded where it would
    /// be more than a row may have.
    pub(super) fn take(
        &self,
        assertion: &Assertion,
        mut grade: ComponentRecord,
    ) -> ComponentRecord {
        cut(&mut grade.reason, MAX_REASON, self.masker);
        for part in &mut grade.parts {
            cut(&mut part.reason, MAX_REASON, self.masker);
        }
        // The assertion itself is the config's, and is there anyway.
        let said = (
            &grade.reason,
            &grade.metadata,
            &grade.named_scores,
            &grade.parts,
        );
        // Many small values take more than their text.
        let said = bytes(&said).max(of_fields(&grade.metadata) as usize);
        let before = self.bytes.fetch_add(said, Ordering::Relaxed);
        if before + said <= MAX_GRADES {
            self.memory.add(of_grade(said));
            return grade;
        }
        let limit = MAX_GRADES >> 20;
        let message = format!("the results of this case's assertions take more than {limit} MiB");
        ungraded(assertion, CallFailure::new(FailureCode::TooLarge, message))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use std::sync::Arc;

    use super::*;
    use crate::grading::tests::assertion;
    use crate::memory::Memory;

    fn said(reason: usize, metadata: usize) -> ComponentRecord {
        let reason = "r".repeat(reason);
        let mut grade = ComponentRecord::plain(true, 1.0, reason, json!({}));
        grade
            .metadata
            .insert("m".to_owned(), json!("m".repeat(metadata)));
        grade
    }

    #[test]
    fn a_reason_that_nobody_reads_is_cut() {
        let (masker, memory) = (Masker::default(), Arc::new(Memory::default()).open(None));
        let kept = KeptGrades::new(&masker, &memory).take(&assertion(1.0), said(MAX_REASON + 5, 0));
        let end = "r… (5 more bytes are left out)";
        assert!(kept.reason.ends_with(end), "{}", kept.reason.len());
        assert_eq!(kept.reason.len(), MAX_REASON + end.len() - 1);
        let kept = KeptGrades::new(&masker, &memory).take(&assertion(1.0), said(MAX_REASON, 0));
        assert_eq!(kept, said(MAX_REASON, 0));
    }

    #[test]
    fn what_a_row_has_no_room_for_is_an_assertion_that_cannot_be_graded() {
        let (masker, memory) = (Masker::default(), Arc::new(Memory::default()).open(None));
        let kept = KeptGrades::new(&masker, &memory);
        let half = MAX_GRADES / 2 - 200;
        for _ in 0..2 {
            let grade = kept.take(&assertion(1.0), said(0, half));
            assert_eq!(grade.error_code, None);
        }
        let grade = kept.take(&assertion(1.0), said(0, half));
        assert_eq!(grade.error_code, Some(FailureCode::TooLarge));
        assert_eq!(
            grade.reason,
            "the results of this case's assertions take more than 16 MiB"
        );
        assert!(grade.metadata.is_empty());
    }

    #[test]
    fn values_count_for_what_they_take_and_not_for_their_text() {
        let (masker, memory) = (Masker::default(), Arc::new(Memory::default()).open(None));
        let mut grade = said(0, 0);
        let tiny = vec![json!({ "": 0 }); 40_000];
        grade.metadata.insert("tiny".to_owned(), json!(tiny));
        let grade = KeptGrades::new(&masker, &memory).take(&assertion(1.0), grade);
        assert_eq!(grade.error_code, Some(FailureCode::TooLarge));
    }
}
