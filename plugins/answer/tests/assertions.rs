//! What `answer` reads in which outputs, and what it says of them, as tables.

use plugin_answer::Answer;
use runner_plugin::json::{self, Value, json};
use runner_plugin::{Assertion, Error, ErrorCode, Grade, testing};

fn grade(kind: &str, value: &Value, output: &str) -> Result<Grade, Error> {
    Answer::evaluate(&testing::input(kind, value, output), &testing::context())
}

fn metadata(grade: &Grade) -> Value {
    let text = grade.metadata_json.as_deref().expect("there is some");
    json::read("metadata", text).expect("it is JSON")
}

/// The answer that is read, or the word for why none is.
fn read(output: &str) -> Result<String, String> {
    let metadata = metadata(&grade("answer", &json!("x"), output).expect("a grade"));
    let text = |key: &str| metadata[key].as_str().map(str::to_owned);
    match (text("answer"), text("parseError")) {
        (Some(answer), None) => Ok(answer),
        (None, Some(word)) => Err(word),
        other => panic!("one of both: {other:?}"),
    }
}

#[test]
fn the_last_block_is_the_answer() {
    let cases = [
        ("<answer>Paris</answer>", "Paris"),
        ("I think…\n<answer>\n  Paris \n</answer>\n\n", "Paris"),
        ("<answer>Rome</answer> no, <answer>Paris</answer>", "Paris"),
        ("<answer><answer>Paris</answer>", "Paris"),
        ("a < b <answer>1 < 2</answer>", "1 < 2"),
        (
            "<answer>Q&amp;A &lt;b&gt; &quot;x&apos;</answer>",
            "Q&A <b> \"x'",
        ),
        ("<answer>&#65;&#x42;&#X43;</answer>", "ABC"),
        (
            "<answer>R&D &nope; &#xD800; & ä&ö;</answer>",
            "R&D &nope; &#xD800; & ä&ö;",
        ),
        ("<answer>&amp;lt;</answer>", "&lt;"),
    ];
    for (output, answer) in cases {
        assert_eq!(read(output), Ok(answer.to_owned()), "{output}");
    }
}

#[test]
fn what_cannot_be_read_has_a_word_for_it() {
    let cases = [
        ("", "missing-block"),
        ("Paris", "missing-block"),
        ("<answer>Paris", "missing-block"),
        ("Paris</answer>", "missing-block"),
        ("</answer><answer>Paris", "missing-block"),
        ("<ANSWER>Paris</ANSWER>", "missing-block"),
        ("<answer>Paris</answer>.", "trailing-text"),
        ("<answer>Paris</answer> or <answer>", "trailing-text"),
        ("<answer>Paris</answer> or Rome</answer>", "trailing-text"),
        ("<answer></answer>", "empty-answer"),
        ("<answer> \n </answer>", "empty-answer"),
        ("<answer>Paris</answer><answer></answer>", "empty-answer"),
        ("<answer>&#32;</answer>", "empty-answer"),
    ];
    for (output, word) in cases {
        assert_eq!(read(output), Err(word.to_owned()), "{output}");
    }
}

#[test]
fn an_answer_is_correct_without_regard_to_case_and_blank_space() {
    let value = json!({ "correct": [" Paris ", "ΠΑΡΊΣΙ", 7] });
    let cases = [
        ("paris", true),
        ("PARIS", true),
        ("παρίσι", true),
        ("7", true),
        ("Paris!", false),
        ("par is", false),
        ("70", false),
    ];
    for (answer, correct) in cases {
        let output = format!("<answer>{answer}</answer>");
        let grade = grade("answer", &value, &output).expect("a grade");
        assert_eq!(
            (grade.pass, grade.score),
            (correct, f64::from(u8::from(correct)))
        );
        assert_eq!(metadata(&grade)["correct"], correct, "{answer}");
    }
}

#[test]
fn a_value_may_be_a_text_a_list_or_a_map() {
    for value in [
        json!("b"),
        json!(["a", "b"]),
        json!({ "correct": "b" }),
        json!({ "correct": ["b"] }),
    ] {
        let grade = grade("answer", &value, "<answer>B</answer>").expect("a grade");
        assert!(grade.pass, "{value}");
    }
}

#[test]
fn a_value_without_a_correct_answer_is_no_grade() {
    for value in [
        Value::Null,
        json!([]),
        json!([" "]),
        json!([["a"]]),
        json!({ "right": "a" }),
        json!({ "correct": [] }),
    ] {
        let error = grade("answer", &value, "<answer>a</answer>").expect_err("no grade");
        assert_eq!(error.code, ErrorCode::InvalidRequest, "{value}");
    }
}

#[test]
fn not_answer_wants_another_answer_and_still_an_answer() {
    let value = json!("Paris");
    let passes = |output: &str| grade("not-answer", &value, output).expect("a grade").pass;
    assert!(passes("<answer>Rome</answer>"));
    assert!(!passes("<answer>Paris</answer>"));
    assert!(!passes("Rome"));
}

#[test]
fn a_reason_says_what_was_expected_and_what_came() {
    let grade = grade("answer", &json!(["4", "four"]), "<answer>5</answer>").expect("a grade");
    assert_eq!(
        grade.reason,
        "Expected output to answer '4' or 'four', got '5'"
    );
}
