//! What each metric says of which answers, as tables.

use plugin_overlap::Overlap;
use runner_plugin::json::{Value, json};
use runner_plugin::{Assertion, Error, ErrorCode, Grade, Input, testing};

fn evaluate(input: &Input) -> Result<Grade, Error> {
    Overlap::evaluate(input, &testing::context())
}

/// Each row: reference, answer, score. `not-` must say the opposite, with the rest as score.
fn table(kind: &str, threshold: f64, rows: &[(Value, &str, f64)]) {
    for (value, output, score) in rows {
        let grade = evaluate(&testing::input(kind, value, output)).expect("a grade");
        let about = format!("{kind} {value} of {output:?}: {}", grade.reason);
        assert!(
            (grade.score - score).abs() < 1e-6,
            "{about}; expected {score}"
        );
        assert_eq!(grade.pass, *score >= threshold, "{about}");
        let opposite = testing::input(&format!("not-{kind}"), value, output);
        let opposite = evaluate(&opposite).expect("a grade");
        assert!((opposite.score - (1.0 - score)).abs() < 1e-6, "{about}");
        assert_eq!(opposite.pass, !grade.pass, "{about}");
    }
}

#[test]
fn rouge_is_the_f1_of_words() {
    table(
        "rouge-n",
        0.75,
        &[
            (
                json!("the cat sat on the mat"),
                "the cat sat on the mat",
                1.0,
            ),
            (json!("The cat."), "the CAT.", 1.0),
            (json!("the cat sat"), "the cat", 0.8),
            (json!("the cat"), "the cat sat", 0.8),
            (json!("the the cat"), "the dog", 0.4),
            (json!("the cat"), "the the the the", 1.0 / 3.0),
            (json!("cat the"), "the cat", 1.0),
            (json!("a b c d"), "e f g h", 0.0),
            (json!("yes, sir"), "yes sir", 0.8),
            (json!("don't"), "do", 2.0 / 3.0),
            (json!("it's fine."), "it is fine.", 0.75),
            (json!("3.14"), "3.14", 1.0),
            (json!("the end."), "the end", 0.8),
            (json!("a"), "", 0.0),
            (json!(""), "a", 0.0),
            (json!(""), "", 0.0),
            (json!("ÄPFEL"), "äpfel", 1.0),
            (json!("a b\nc"), "a\tb c", 1.0),
            (json!("(a)"), "a", 0.5),
            (json!("a-b"), "a b", 0.0),
        ],
    );
}

#[test]
fn bleu_is_a_mean_of_precisions() {
    let quarter = |a: f64, b: f64, c: f64, d: f64| (a * b * c * d).powf(0.25);
    table(
        "bleu",
        0.5,
        &[
            (
                json!("the cat sat on the mat"),
                "the cat sat on the mat",
                1.0,
            ),
            (json!("The Cat"), "the  cat", 1.0),
            (json!("cat"), "cat", 1.0),
            (
                json!("a b c d e"),
                "a b c d x",
                quarter(0.8, 0.75, 2.0 / 3.0, 0.5),
            ),
            (json!("a b c d e f"), "a b c d", (1.0_f64 - 1.5).exp()),
            (
                json!("a b c d"),
                "a b c d e f",
                quarter(4.0 / 6.0, 0.6, 0.5, 1.0 / 3.0),
            ),
            (json!("a b"), "b a", (1.0 * 1e-7_f64).sqrt()),
            (json!("x y z w"), "a b c d", 1e-7),
            (json!("the cat"), "the the", (0.5 * 1e-7_f64).sqrt()),
            (json!(["x", "a b c d"]), "a b c d", 1.0),
            // The nearest reference decides on the penalty; of two as near, the shorter one.
            (json!(["a b", "a b c d"]), "a b c", 1.0),
            (json!(["a b c d", "a b"]), "a b c", 1.0),
            (json!(["a b c d e f", "x y z w"]), "a b c d", 1.0),
            (json!("a b c d"), "a b", (-1.0_f64).exp()),
            (json!("a b."), "a b", (0.5 * 1e-7_f64).sqrt()),
            (json!("a"), "", 0.0),
            (json!("a"), " \n", 0.0),
            (json!(""), "a", 1e-7),
            (json!("ä ö ü"), "Ä Ö Ü", 1.0),
            (json!("a b c"), "a b c a b c", quarter(0.5, 0.4, 0.25, 1e-7)),
        ],
    );
}

#[test]
fn gleu_is_the_lesser_of_precision_and_recall() {
    table(
        "gleu",
        0.5,
        &[
            (
                json!("the cat sat on the mat"),
                "the cat sat on the mat",
                1.0,
            ),
            (json!("The cat."), "the cat", 1.0),
            (json!("cat..."), "cat", 1.0),
            (json!("cat"), "cat", 1.0),
            (json!("a b c d"), "a b c", 0.6),
            (json!("a b c"), "a b c d", 0.6),
            (json!("a b c d"), "a b c x", 0.6),
            (json!("a b"), "b a", 2.0 / 3.0),
            (json!("x y z"), "a b c", 0.0),
            (json!("a a a"), "a", 1.0 / 6.0),
            (json!("a"), "a a a", 1.0 / 6.0),
            (json!(["x", "a b c"]), "a b c", 1.0),
            (json!(["a b c d", "a b c x"]), "a b c", 0.6),
            (json!("a. b."), "a b", 1.0),
            (json!("a.b"), "a b", 0.0),
            (json!("a"), "", 0.0),
            (json!(""), "a", 0.0),
            (json!(""), " ", 0.0),
            (json!("a b c d e"), "a b c d x", 10.0 / 14.0),
            (json!("Ä"), "ä", 1.0),
        ],
    );
}

#[test]
fn meteor_aligns_words_and_stems() {
    let penalised =
        |mean: f64, pieces: f64, matches: f64| mean * (1.0 - 0.5 * (pieces / matches).powi(3));
    let mean = |precision: f64, recall: f64| precision * recall / (0.9 * precision + 0.1 * recall);
    table(
        "meteor",
        0.5,
        &[
            (
                json!("the cat sat on the mat"),
                "the cat sat on the mat",
                penalised(1.0, 1.0, 6.0),
            ),
            (json!("cat"), "cat", 0.5),
            (json!("Cat."), "cat", 0.5),
            (json!("a b"), "b a", penalised(1.0, 2.0, 2.0)),
            (json!("a b c d"), "a b", penalised(mean(1.0, 0.5), 1.0, 2.0)),
            (json!("a b"), "a b c d", penalised(mean(0.5, 1.0), 1.0, 2.0)),
            (
                json!("the cats run"),
                "the cat runs",
                penalised(1.0, 1.0, 3.0),
            ),
            (json!("running dogs"), "runs dog", penalised(1.0, 1.0, 2.0)),
            (json!("a b c d"), "c d a b", penalised(1.0, 2.0, 4.0)),
            (
                json!("a x b"),
                "a b",
                penalised(mean(1.0, 2.0 / 3.0), 2.0, 2.0),
            ),
            (json!("big"), "large", 0.0),
            (json!("x"), "a", 0.0),
            (json!(["x", "a b"]), "a b", penalised(1.0, 1.0, 2.0)),
            (json!("a a"), "a", penalised(mean(1.0, 0.5), 1.0, 1.0)),
            // Words are paired from the end.
            (
                json!("a b a"),
                "a",
                penalised(mean(1.0, 1.0 / 3.0), 1.0, 1.0),
            ),
            (json!("a b a c"), "a c", penalised(mean(1.0, 0.5), 1.0, 2.0)),
            (json!("a"), "", 0.0),
            (json!(""), "a", 0.0),
            (json!("hopping"), "hop", 0.5),
            (json!("a b c."), "a b c", penalised(1.0, 1.0, 3.0)),
        ],
    );
}

#[test]
fn the_weights_of_meteor_are_in_the_config() {
    let with = |config: Value| {
        let mut input = testing::input("meteor", &json!("a b c d"), "a b");
        input.config_json = Some(config.to_string());
        evaluate(&input).map(|grade| grade.score)
    };
    for (config, score) in [
        (json!({}), 0.5 / 0.95 * (1.0 - 0.5 / 8.0)),
        (json!({ "gamma": 0 }), 0.5 / 0.95),
        (json!({ "gamma": 0, "alpha": 1 }), 0.5),
        (json!({ "gamma": 0, "alpha": 0 }), 1.0),
        (json!({ "beta": 1, "other": true }), 0.5 / 0.95 * 0.75),
    ] {
        let got = with(config.clone()).expect("a score");
        assert!((got - score).abs() < 1e-9, "{config}: {got}");
    }
    for config in [
        json!({ "alpha": 2 }),
        json!({ "beta": -1 }),
        json!({ "gamma": "x" }),
    ] {
        let error = with(config).expect_err("no weight");
        assert_eq!(error.code, ErrorCode::InvalidRequest);
    }
}

#[test]
fn the_threshold_decides_and_the_reason_says_so() {
    for (threshold, pass, reason) in [
        (
            0.8,
            true,
            "The ROUGE-1 score 0.8000 reaches the threshold 0.8",
        ),
        (
            0.81,
            false,
            "The ROUGE-1 score 0.8000 is below the threshold 0.81",
        ),
    ] {
        let mut input = testing::input("rouge-n", &json!("the cat sat"), "the cat");
        input.threshold = Some(threshold);
        let grade = evaluate(&input).expect("a grade");
        assert_eq!((grade.pass, &*grade.reason), (pass, reason));
    }
}

#[test]
fn a_reference_that_is_no_text_is_no_grade() {
    for kind in ["rouge-n", "bleu", "not-gleu", "meteor"] {
        for value in [Value::Null, json!(1), json!([]), json!([1]), json!({})] {
            let error = evaluate(&testing::input(kind, &value, "a")).expect_err("no grade");
            assert_eq!(error.code, ErrorCode::InvalidRequest, "{kind} {value}");
        }
    }
    let error = evaluate(&testing::input("rouge-n", &json!(["a"]), "a")).expect_err("no grade");
    assert_eq!(error.code, ErrorCode::InvalidRequest);
    let unknown = evaluate(&testing::input("rouge-l", &json!("a"), "a")).expect_err("no type");
    assert_eq!(unknown.code, ErrorCode::Unsupported);
}

#[test]
fn scores_of_any_texts_are_shares() {
    // Texts of few words in a fixed disorder, long ones among them.
    let mut state = 1_u32;
    let mut text = |length: usize| -> String {
        let word = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            [
                "a", "b.", "'s", "\"", "...", "runs", "running", "ä", "--", "n't",
            ][(state >> 24) as usize % 10]
        };
        (0..length).map(word).collect::<Vec<&str>>().join(" ")
    };
    for length in [1, 2, 3, 5, 8, 13, 100, 20_000] {
        let (answer, reference) = (text(length), text(length + 1));
        for kind in ["rouge-n", "bleu", "gleu", "meteor"] {
            let grade = evaluate(&testing::input(kind, &json!(reference), &answer));
            let score = grade.expect("a grade").score;
            assert!((0.0..=1.0).contains(&score), "{kind}: {score}");
        }
    }
}
