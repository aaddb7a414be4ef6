//! What `agreed` asks, and what it makes of the opinion.

use agreed::Agreed;
use runner_plugin::json::Value;
use runner_plugin::testing::{self, Script};
use runner_plugin::{Assertion, Completion, Error, ErrorCode};

#[test]
fn the_models_opinion_is_the_grade() {
    for (opinion, pass) in [("It is fine.", true), ("It is not.", false)] {
        let input = testing::input("agreed", &Value::Null, "4");
        let played = Script::new()
            .answer("judge", Completion::text(opinion))
            .play(|| Agreed::evaluate(&input, &testing::context()));
        assert_eq!(played.result.expect("a grade").pass, pass, "{opinion}");
        assert_eq!(played.asked[0].1.prompt, "Is this fine? 4");
    }
}

#[test]
fn no_opinion_is_no_grade() {
    let input = testing::input("agreed", &Value::Null, "4");
    let played = Script::new()
        .refuse("judge", Error::new(ErrorCode::Budget, "spent"))
        .play(|| Agreed::evaluate(&input, &testing::context()));
    assert_eq!(played.result.expect_err("no grade").code, ErrorCode::Budget);
}
