//! What `brief` says of which answers.

use brief::Brief;
use runner_plugin::json::json;
use runner_plugin::{Assertion, testing};

#[test]
fn short_answers_pass() {
    for (kind, most, pass) in [
        ("brief", 5, true),
        ("brief", 2, false),
        ("not-brief", 2, true),
    ] {
        let input = testing::input(kind, &json!(most), "one two three");
        let grade = Brief::evaluate(&input, &testing::context()).expect("a grade");
        assert_eq!(grade.pass, pass, "{kind} {most}");
    }
}
