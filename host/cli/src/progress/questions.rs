//! The stages of questions, a line each: told where much is wanted.
//!
//! A stage is told by the number of its case; the line names the question, which is known from
//! the first stage on.

use std::collections::HashMap;
use std::sync::Arc;

use runner_config::plan::{CaseId, Question};
use runner_eval::event::Stage;

use crate::visible;

/// The questions that have begun and not ended.
#[derive(Debug, Default)]
pub(super) struct Questions(HashMap<CaseId, Arc<Question>>);

impl Questions {
    /// Returns the line about a stage.
    pub(super) fn line(&mut self, id: CaseId, stage: &Stage) -> Option<String> {
        if let Stage::Queued(question) = stage {
            self.0.insert(id, question.clone());
        }
        let line = line(self.0.get(&id)?, id, stage);
        if matches!(stage, Stage::Ended(_)) {
            self.0.remove(&id);
        }
        Some(line)
    }
}

fn line(question: &Question, id: CaseId, stage: &Stage) -> String {
    let name = match &question.id {
        Some(id) => visible::line(id).into_owned(),
        None => format!("question {}", question.index),
    };
    let again = match stage {
        Stage::Reserved { attempt } | Stage::Running { attempt } if *attempt > 1 => {
            format!(" (attempt {attempt})")
        }
        _ => String::new(),
    };
    format!(
        "{}: {name} (test {}, column {}): {}{again}",
        visible::line(&question.task),
        id.test_idx,
        id.prompt_idx,
        stage.word()
    )
}

#[cfg(test)]
mod tests {
    use runner_config::plan::QuestionBudget;
    use runner_eval::record::QuestionEnd;

    use super::*;

    #[test]
    fn a_question_is_told_by_its_name_from_its_first_stage_to_its_last() {
        let question = Question {
            task: "capi\ntals".into(),
            index: 2,
            id: None,
            text: "q".to_owned(),
            answers: Vec::new(),
            correct_answers: Vec::new(),
            budget: QuestionBudget::default(),
            in_turn: false,
        };
        let named = Question {
            id: Some("fr".to_owned()),
            ..question.clone()
        };
        let id = |test_idx| CaseId {
            test_idx,
            prompt_idx: 1,
        };
        let mut questions = Questions::default();
        let mut told = |test, stage: Stage| questions.line(id(test), &stage);
        assert_eq!(told(7, Stage::Parsing), None, "it never began");
        let lines = [
            told(5, Stage::Queued(Arc::new(question))),
            told(6, Stage::Queued(Arc::new(named))),
            told(5, Stage::Reserved { attempt: 1 }),
            told(5, Stage::Running { attempt: 2 }),
            told(6, Stage::Ended(QuestionEnd::ParseError)),
        ];
        assert_eq!(
            lines.map(Option::unwrap_or_default),
            [
                "capi tals: question 2 (test 5, column 1): queued",
                "capi tals: fr (test 6, column 1): queued",
                "capi tals: question 2 (test 5, column 1): reserved",
                "capi tals: question 2 (test 5, column 1): running (attempt 2)",
                "capi tals: fr (test 6, column 1): parse_error",
            ]
        );
        assert_eq!(told(6, Stage::Parsing), None, "it has ended");
    }
}
