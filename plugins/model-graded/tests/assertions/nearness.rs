//! `similar` with its metrics, and `answer-relevance`.

use runner_plugin::json::{Value, json};
use runner_plugin::testing::Script;
use runner_plugin::{Completion, Error, ErrorCode, Grade};

use super::{failed_to_grade, input, input_with, metadata, near, play, refused};

/// The answer's vector first, then those of the values.
fn similar(kind: &str, value: &Value, threshold: Option<f64>, vectors: &[[f32; 2]]) -> Grade {
    let mut input = input(kind, value, "out");
    input.threshold = threshold;
    let vectors = vectors.iter().map(|vector| vector.to_vec()).collect();
    let script = Script::new().embed("embedding", Ok(vectors));
    play(&input, script).result.expect("a grade")
}

/// Type, threshold, vector of the value; what is said of an answer whose vector is [1, 0].
type Row = (&'static str, Option<f64>, [f32; 2], bool, f64, &'static str);

fn table(rows: &[Row]) {
    for (kind, threshold, other, pass, score, reason) in rows {
        let grade = similar(kind, &json!("x"), *threshold, &[[1.0, 0.0], *other]);
        assert_eq!(grade.pass, *pass, "{kind} {other:?} {grade:?}");
        assert!(near(grade.score, *score), "{kind} {other:?} {grade:?}");
        assert!(grade.reason.contains(reason), "{kind} {other:?} {grade:?}");
    }
}

#[test]
fn similarity_reaches_the_threshold_or_not() {
    let (same, half) = ([2.0, 0.0], [0.6, 0.8]);
    let odd = [0.7, (1.0_f32 - 0.49).sqrt()];
    let above = "Similarity 1.00 is greater than or equal to threshold 0.75";
    let below = "Similarity 0.60 is less than threshold 0.75";
    table(&[
        ("similar", None, same, true, 1.0, above),
        ("similar", None, half, false, 0.6, below),
        ("similar:cosine", Some(0.6), half, true, 0.6, "or equal"),
        ("similar", Some(0.7), odd, true, 0.7, "to threshold 0.7"),
        ("not-similar", None, half, true, 0.4, below),
        ("not-similar", None, same, false, 0.0, above),
        ("not-similar", Some(0.6), half, true, 0.4, "less than"),
    ]);
}

#[test]
fn the_metric_is_part_of_the_type() {
    let (long, up, same) = ([3.0, 1.0], [1.0, 1.0], [1.0, 0.0]);
    let apart = "Distance 1.00 is greater than threshold 0.9";
    let close = "Distance 1.00 is less than or equal to threshold 1";
    let none = "Distance 0.00 is less than or equal";
    table(&[
        ("similar:dot", Some(2.0), long, true, 3.0, "Similarity 3.00"),
        ("not-similar:dot", Some(2.0), long, false, 0.0, "3.00"),
        ("similar:euclidean", Some(1.0), up, true, 0.5, close),
        ("similar:euclidean", Some(0.9), up, false, 0.5, apart),
        ("not-similar:euclidean", Some(0.9), up, true, 0.5, apart),
        ("not-similar:euclidean", Some(2.0), same, false, 0.0, none),
    ]);
}

#[test]
fn the_metric_may_be_a_knob() {
    for (measure, reason) in [
        ("cosine", "Similarity 0.71"),
        ("dot", "Similarity 1.00"),
        ("euclidean", "Distance 1.00"),
    ] {
        let mut input = input("similar", &json!("x"), "out");
        input.config_json = Some(json!({ "measure": measure }).to_string());
        let vectors = vec![vec![1.0, 0.0], vec![1.0, 1.0]];
        let script = Script::new().embed("embedding", Ok(vectors));
        let grade = play(&input, script).result.expect("a grade");
        assert!(grade.reason.starts_with(reason), "{}", grade.reason);
    }
    for measure in [json!("manhattan"), json!(2)] {
        let mut input = input("similar", &json!("x"), "out");
        input.config_json = Some(json!({ "measure": measure }).to_string());
        refused(&input, "cosine, dot or euclidean");
    }
}

#[test]
fn one_of_several_is_enough_and_not_means_none() {
    let two = json!(["x", "y"]);
    let (same, half, far) = ([1.0, 0.0], [0.6, 0.8], [0.0, 1.0]);
    for (kind, vectors, pass, score) in [
        ("similar", [same, far, same], true, 1.0),
        ("similar", [same, far, half], false, 0.6),
        ("not-similar", [same, far, half], true, 0.4),
        ("not-similar", [same, far, same], false, 0.0),
    ] {
        let grade = similar(kind, &two, None, &vectors);
        assert_eq!(grade.pass, pass, "{kind} {vectors:?} {grade:?}");
        assert!(near(grade.score, score), "{kind} {vectors:?} {grade:?}");
    }
    let grade = similar("similar", &two, None, &[same, far, half]);
    assert!(
        grade.reason.starts_with("no value is near enough"),
        "{}",
        grade.reason
    );
}

#[test]
fn vectors_that_cannot_be_compared_are_a_failure_of_the_embedding() {
    let nan = f32::NAN;
    for vectors in [
        vec![vec![1.0, 0.0]],
        vec![vec![1.0, 0.0], vec![1.0]],
        vec![vec![], vec![]],
        vec![vec![nan, 0.0], vec![1.0, 0.0]],
    ] {
        for kind in ["similar", "not-similar"] {
            let script = Script::new().embed("embedding", Ok(vectors.clone()));
            let grade = play(&input(kind, &json!("x"), "out"), script)
                .result
                .expect("a grade");
            assert!(!grade.pass && failed_to_grade(&grade), "{kind} {vectors:?}");
        }
    }
    let script = Script::new().embed("embedding", Err(Error::unsupported("makes no embeddings")));
    let error = play(&input("similar", &json!("x"), "out"), script)
        .result
        .expect_err("no grade");
    assert_eq!(error.code, ErrorCode::Unsupported);
    for value in [Value::Null, json!([]), json!(""), json!([1]), json!(5)] {
        refused(&input("similar", &value, "out"), "text or a list of texts");
    }
}

fn guesses(vectors: &[[f32; 2]]) -> Script {
    let vectors = vectors.iter().map(|vector| vector.to_vec()).collect();
    ["a?", " b?\n", "c?"]
        .iter()
        .fold(Script::new(), |script, text| {
            script.answer("grader", Completion::text(*text))
        })
        .embed("embedding", Ok(vectors))
}

#[test]
fn relevance_is_how_near_the_guessed_questions_are() {
    let asked = [1.0, 0.0];
    let (same, half, far) = ([1.0, 0.0], [0.6, 0.8], [0.0, 1.0]);
    for (kind, vectors, pass, score) in [
        ("answer-relevance", [asked, same, same, same], true, 1.0),
        (
            "answer-relevance",
            [asked, same, half, far],
            true,
            1.6 / 3.0,
        ),
        (
            "answer-relevance",
            [asked, same, far, far],
            false,
            1.0 / 3.0,
        ),
        (
            "not-answer-relevance",
            [asked, same, far, far],
            true,
            2.0 / 3.0,
        ),
        (
            "not-answer-relevance",
            [asked, same, same, same],
            false,
            0.0,
        ),
    ] {
        let grade = play(&input(kind, &Value::Null, "out"), guesses(&vectors))
            .result
            .expect("a grade");
        assert_eq!(grade.pass, pass, "{kind} {vectors:?} {grade:?}");
        assert!(near(grade.score, score), "{kind} {vectors:?} {grade:?}");
        assert!(grade.reason.contains("threshold 0.5"), "{}", grade.reason);
        let guessed = metadata(&grade)["generatedQuestions"].clone();
        assert_eq!(guessed[1]["question"], json!("b?"));
    }
}

#[test]
fn three_different_requests_make_three_guesses() {
    let vars = json!({ "query": "Where?" });
    let input = input_with("answer-relevance", &Value::Null, "out", &vars);
    let played = play(&input, guesses(&[[1.0, 0.0]; 4]));
    let mut prompts: Vec<&str> = played
        .asked
        .iter()
        .map(|(_, request)| &*request.prompt)
        .collect();
    prompts.dedup();
    assert_eq!(prompts.len(), 3);
    let script = Script::new()
        .answer("grader", Completion::text("a?"))
        .refuse("grader", Error::timeout("late"))
        .answer("grader", Completion::text("c?"));
    let grade = play(&input, script).result.expect("a grade");
    assert!(!grade.pass && failed_to_grade(&grade));
}
