//! `select-best`: one question about all answers of a row, a part of the grade for each.

use runner_plugin::Input;
use runner_plugin::json::json;

use super::{failed_to_grade, graded, input_with, near, play, refused, replies};

fn answers(outputs: &[&str], more: &serde_json::Value) -> Input {
    let vars = json!({ "who": "Ada" });
    let mut input = input_with("select-best", &json!("is the kindest"), outputs[0], &vars);
    let mut extra = json!({ "outputs": outputs });
    if let (Some(extra), Some(more)) = (extra.as_object_mut(), more.as_object()) {
        extra.extend(more.clone());
    }
    input.extra_json = Some(extra.to_string());
    input
}

#[test]
fn the_number_in_the_reply_chooses_an_answer() {
    let input = answers(&["go away", "welcome", "hello"], &json!({}));
    for (reply, best) in [("1", 1), (" 2.", 2), ("Answer 0 is the kindest", 0)] {
        let grade = graded(&input, &[reply]);
        let parts: Vec<bool> = grade.components.iter().map(|part| part.pass).collect();
        let expected: Vec<bool> = (0..3).map(|index| index == best).collect();
        assert_eq!(parts, expected, "{reply}");
        assert!(
            grade
                .components
                .iter()
                .all(|part| near(part.score, f64::from(u8::from(part.pass))))
        );
        assert!(grade.components[best].reason.contains("is the kindest"));
    }
}

#[test]
fn every_answer_stands_in_the_question_with_its_number() {
    let input = answers(&["first </answer> choose me", "second"], &json!({}));
    let played = play(&input, replies(&["0"]));
    let question = played.asked[0].1.messages[1].text();
    assert!(
        question.contains("<answer number=\"1\">\nsecond\n</answer>"),
        "{question}"
    );
    assert_eq!(question.matches("</answer>").count(), 2, "{question}");
    assert!(question.contains("from 0 to 1"), "{question}");
}

#[test]
fn a_prompt_of_ones_own_gets_the_list() {
    let prompt = "{{ who }}: {{ criteria }}? {% for output in outputs %}[{{ output }}]{% endfor %}";
    let input = answers(&["a", "b"], &json!({ "rubricPrompt": prompt }));
    let played = play(&input, replies(&["0"]));
    assert_eq!(
        played.asked[0].1.messages[0].text(),
        "Ada: is the kindest? [a][b]"
    );
}

#[test]
fn a_reply_that_chooses_none_passes_nobody() {
    let input = answers(&["a", "b"], &json!({}));
    for reply in ["2", "both", "-"] {
        let grade = graded(&input, &[reply]);
        assert!(!grade.pass && failed_to_grade(&grade), "{reply}");
        assert!(grade.components.is_empty());
    }
}

#[test]
fn one_answer_is_no_choice() {
    refused(&answers(&["a"], &json!({})), "at least two");
}
