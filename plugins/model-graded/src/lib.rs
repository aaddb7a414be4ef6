//! The assertions that ask a model: is the answer good by a rubric, true to a reference, close
//! in meaning, faithful to its context, harmless.
//!
//! Each family is a module that says what to ask and how to read the reply. `bench` is what a
//! grader sees and the only place that asks, `chat` and `template` make the question, `found`
//! reads JSON out of replies, `panel` counts votes, `verdict` turns all of it into a grade.
//! Which model answers is not decided here: the component asks aliases (`grader` and its
//! kin), and the host knows what the config means by them.
//!
//! Templates are rendered here and not by the host, since later questions are made of earlier
//! replies (statements, steps), and because a stranger's template is safest where a bomb costs
//! one grade.
//!
//! `select-best` sees more than one answer: the host hands over those of a row, and gets a grade
//! with a part for each. `max-score` asks nobody and is the host's own.

mod answer_relevance;
mod bench;
mod chat;
mod classes;
mod closed_qa;
mod context;
mod conversation;
mod factuality;
mod found;
mod g_eval;
mod knobs;
mod panel;
mod rubric;
mod select_best;
mod similar;
mod template;
mod vectors;
mod verdict;

use runner_plugin::json::{Value, json};
use runner_plugin::{Assertion, AssertionType, CallContext, Error, Grade, Info, Input, Inputs};

use bench::{Bench, CLASSIFIER, EMBEDDING, GRADER, MODERATION};
use verdict::Failure;

/// The grader.
pub struct ModelGraded;

impl Assertion for ModelGraded {
    fn describe() -> Info {
        let info = runner_plugin::package_info!(
            "model-graded",
            "Asks models about the answer: rubrics, facts, relevance, similarity and more."
        )
        .llm(GRADER, "to judge answers: the text model chosen as grader")
        .llm(
            EMBEDDING,
            "to compare meanings: the model chosen for embeddings",
        )
        .llm(
            CLASSIFIER,
            "to sort answers into classes: the provider chosen for classification",
        )
        .llm(
            MODERATION,
            "to find harmful content: the provider chosen for moderation",
        );
        let with_type = |info: Info, (name, schema): (&str, Option<Value>)| {
            let kind = AssertionType::new(name).reads(Inputs::VARS | Inputs::PROMPT | Inputs::TEST);
            info.assertion_type(match schema {
                Some(schema) => kind.value_schema(&schema),
                None => kind,
            })
        };
        assertion_types().into_iter().fold(info, with_type)
    }

    fn evaluate(input: &Input, _context: &CallContext) -> Result<Grade, Error> {
        let bench = Bench::new(input)?;
        match grade(&bench) {
            Ok(grade) => Ok(grade),
            Err(Failure::Grader(problem)) => Ok(problem.grade(bench.used())),
            Err(Failure::Cannot(error)) => Err(error),
        }
    }
}

fn grade(bench: &Bench<'_>) -> Result<Grade, Failure> {
    let verdict = match bench.kind() {
        "llm-rubric" => rubric::grade(bench),
        "factuality" | "model-graded-factuality" => factuality::grade(bench),
        "model-graded-closedqa" => closed_qa::grade(bench),
        "g-eval" => g_eval::grade(bench),
        "answer-relevance" => answer_relevance::grade(bench),
        "context-recall" => context::recall(bench),
        "context-relevance" => context::relevance(bench),
        "context-faithfulness" => context::faithfulness(bench),
        "conversation-relevance" => conversation::grade(bench),
        // Whether it inverts is part of how it compares.
        "similar" | "similar:cosine" | "similar:dot" | "similar:euclidean" => {
            return Ok(similar::grade(bench)?.grade(false, bench.used()));
        }
        "select-best" => return select_best::grade(bench),
        "classifier" => classes::classifier(bench),
        "moderation" => classes::moderation(bench),
        other => Err(Error::no_type("model-graded", other).into()),
    }?;
    Ok(verdict.grade(bench.input.inverse, bench.used()))
}

/// Which types there are and what each takes as its value; `None` where a value is not read or
/// may be anything. A string is accepted wherever a template or a file may stand.
fn assertion_types() -> Vec<(&'static str, Option<Value>)> {
    let text = json!({ "title": "a text that is not empty", "type": "string", "minLength": 1 });
    let texts = json!({
        "title": "a text that is not empty, or a list of texts",
        "type": ["string", "array"],
        "minLength": 1,
        "minItems": 1,
        "items": { "type": "string" }
    });
    vec![
        ("llm-rubric", None),
        ("factuality", Some(text.clone())),
        ("model-graded-factuality", Some(text.clone())),
        ("model-graded-closedqa", Some(text.clone())),
        ("g-eval", Some(texts.clone())),
        ("answer-relevance", None),
        ("context-recall", Some(text.clone())),
        ("context-relevance", None),
        ("context-faithfulness", None),
        ("conversation-relevance", None),
        ("select-best", Some(text)),
        ("similar", Some(texts.clone())),
        ("similar:cosine", Some(texts.clone())),
        ("similar:dot", Some(texts.clone())),
        ("similar:euclidean", Some(texts)),
        ("classifier", Some(json!({ "type": ["string", "null"] }))),
        (
            "moderation",
            Some(json!({ "type": ["array", "null"], "items": { "type": "string" } })),
        ),
    ]
}

runner_plugin::export_assertion!(ModelGraded);
