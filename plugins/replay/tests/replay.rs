//! What `replay` answers.

use plugin_replay::Replay;
use runner_plugin::json::{Value, json, read};
use runner_plugin::testing::{self, Script};
use runner_plugin::{Completion, Error, Provider, Request};

fn replayed(id: &str, options: Option<&Value>) -> Result<Completion, Error> {
    let mut request = Request::new("the prompt does not count");
    request.options_json = options.map(ToString::to_string);
    let target = testing::target(id, &json!({}));
    let played = Script::new().play(|| Replay::complete(&target, &request, &testing::context()));
    assert!(played.requests.is_empty());
    played.result
}

#[test]
fn the_answer_is_the_variable_that_the_id_names() {
    let options =
        json!({ "vars": { "output": "saved {{ name }}", "b": "other", "n": 5, "empty": "" } });
    let cases = [
        ("replay", "saved {{ name }}"),
        ("replay:", "saved {{ name }}"),
        ("replay:b", "other"),
        ("replay:empty", ""),
    ];
    for (id, expected) in cases {
        let completion = replayed(id, Some(&options)).expect("an answer");
        assert_eq!(completion.message.text(), expected, "{id}");
        assert_eq!(completion.output_json, None);
    }
    let number = replayed("replay:n", Some(&options)).expect("an answer");
    assert_eq!(number.output_json.as_deref(), Some("5"));
}

#[test]
fn values_that_are_no_text_stay_values() {
    let options = json!({ "vars": { "output": { "city": "Paris", "n": [1, null] } } });
    let completion = replayed("replay", Some(&options)).expect("an answer");
    let output: Value =
        read("output", &completion.output_json.expect("a value")).expect("it is JSON");
    assert_eq!(output, options["vars"]["output"]);
}

#[test]
fn a_test_without_the_variable_is_told_its_name() {
    for options in [None, Some(json!({})), Some(json!({ "vars": { "a": 1 } }))] {
        let error = replayed("replay:saved", options.as_ref()).expect_err("nothing to replay");
        assert!(
            error.message.contains("no variable 'saved'"),
            "{}",
            error.message
        );
    }
}

#[test]
fn it_wants_nothing() {
    let info = Replay::describe();
    assert_eq!(info.provider_prefixes, ["replay"]);
    assert!(info.wants.hosts.is_empty() && info.wants.credentials.is_empty());
}
