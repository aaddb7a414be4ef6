//! What `shouting` says of which answers.

use runner_plugin::json::Value;
use runner_plugin::{Assertion, testing};
use shouting::Shouting;

#[test]
fn upper_case_passes() {
    for (kind, output, pass) in [
        ("shouting", "HELLO!", true),
        ("shouting", "Hello!", false),
        ("not-shouting", "Hello!", true),
    ] {
        let input = testing::input(kind, &Value::Null, output);
        let grade = Shouting::evaluate(&input, &testing::context()).expect("a grade");
        assert_eq!(grade.pass, pass, "{kind} {output}");
    }
}
