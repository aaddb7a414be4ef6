//! One component that is a provider and a grader: both traits on one type, exported together.

use runner_plugin::wire::meta::exports::runner::plugin::meta::Guest as _;
use runner_plugin::{
    Assertion, AssertionType, CallContext, Completion, CredentialWant, Error, Grade, Info, Input,
    Inputs, Provider, Request, Target, export, testing,
};

struct Twin;

fn info() -> Info {
    Info::new("twin", "1.0.0", "Both.").host("https://a.test")
}

impl Provider for Twin {
    fn describe() -> Info {
        info()
            .prefix("twin")
            .credential(CredentialWant::header("key", "KEY", "x-key", "to ask"))
    }

    fn check_config(config: &serde_json::Value) -> Vec<(String, String)> {
        vec![("/a".to_owned(), config.to_string())]
    }

    fn check_target(target: &Target) -> Result<(), Error> {
        let config = &target.config_json;
        match target.name.as_str() {
            "good" => Ok(()),
            name => Err(Error::unsupported(format!(
                "{}: no {name} in {config}",
                target.id
            ))),
        }
    }

    fn complete(_: &Target, request: &Request, _: &CallContext) -> Result<Completion, Error> {
        Ok(Completion::text(&request.prompt))
    }
}

impl Assertion for Twin {
    fn describe() -> Info {
        let kind = AssertionType::new("same")
            .reads(Inputs::PROMPT)
            .reads(Inputs::VARS);
        info().assertion_type(kind).llm("grader", "to be sure")
    }

    fn evaluate(input: &Input, _: &CallContext) -> Result<Grade, Error> {
        Ok(input.judge(input.output == "same", "be the same"))
    }
}

runner_plugin::export_both!(Twin, Twin);

type Both = export::OfBoth<Twin, Twin>;

#[test]
fn what_both_say_of_themselves_is_joined() {
    let info = Both::describe();
    assert_eq!(info.name, "twin");
    assert_eq!(info.provider_prefixes, ["twin"]);
    assert_eq!(info.assertion_types[0].name, "same");
    assert_eq!(info.assertion_types[0].reads, Inputs::PROMPT | Inputs::VARS);
    assert_eq!(
        info.wants.hosts,
        ["https://a.test"],
        "said twice, wanted once"
    );
    assert_eq!(info.wants.credentials[0].scheme, "header:x-key");
    assert_eq!(
        info.wants.llm,
        [("grader".to_owned(), "to be sure".to_owned())]
    );
}

#[test]
fn a_config_is_handed_to_the_provider() {
    let problems = Both::check_config("{ \"b\": 1 }".to_owned());
    assert_eq!(problems, [("/a".to_owned(), "{\"b\":1}".to_owned())]);
    let problems = Both::check_config("{".to_owned());
    assert!(
        problems[0].1.starts_with("config is not JSON: "),
        "{problems:?}"
    );
}

#[test]
fn a_yes_or_no_is_inverted_for_not() {
    for (kind, output, pass, reason) in [
        ("same", "same", true, "Assertion passed"),
        ("same", "other", false, "Expected output to be the same"),
        (
            "not-same",
            "same",
            false,
            "Expected output not to be the same",
        ),
        ("not-same", "other", true, "Assertion passed"),
    ] {
        let input = testing::input(kind, &serde_json::Value::Null, output);
        let grade = Twin::evaluate(&input, &testing::context()).expect("a grade");
        assert_eq!((grade.pass, grade.reason.as_str()), (pass, reason));
    }
}

#[test]
fn an_id_is_checked_with_the_config_where_the_host_hands_it_over() {
    let extras: serde_json::Value =
        serde_json::from_str(&Both::describe().metadata_json.expect("some")).expect("JSON");
    let of_grader =
        serde_json::json!({ "hosts": ["https://a.test"], "credentials": [], "llm": ["grader"] });
    assert_eq!(
        extras,
        serde_json::json!({ "wantsOf": { "assertion:same": of_grader }, "checks": ["target"] }),
        "a grade needs no key"
    );
    let own = ("/a".to_owned(), r#"{"k":1}"#.to_owned());
    for (id, name, refused) in [
        ("twin:good", "good", None),
        ("twin:bad", "bad", Some(r#"twin:bad: no bad in {"k":1}"#)),
    ] {
        let target = serde_json::json!({ "id": id, "name": name });
        let config = serde_json::json!({ "k": 1, "$target": target });
        let refused = refused.map(|message| (String::new(), message.to_owned()));
        let expected: Vec<_> = [own.clone()].into_iter().chain(refused).collect();
        assert_eq!(Both::check_config(config.to_string()), expected);
    }
    assert_eq!(Both::check_config(r#"{"k":1}"#.to_owned()), [own]);
}

#[test]
fn what_the_contract_has_no_word_for_goes_into_the_metadata() {
    let info = Info::new("many", "1.0.0", "Several servers.")
        .wants_of("a", &["https://a.test"], &["a-key"], &["A_URL"])
        .wants_of("b", &[], &[], &[])
        .wants_of_type("c", &["https://a.test"], &[], &["judge"])
        .further_env("a-key", "A_TOKEN")
        .further_env("a-key", "A_SECRET")
        .credential_if_set("a-key")
        .credential_if_set("a-key");
    let extras: serde_json::Value =
        serde_json::from_str(&info.metadata_json.expect("some")).expect("JSON");
    assert_eq!(
        extras,
        serde_json::json!({
            "wantsOf": {
                "a": { "hosts": ["https://a.test"], "credentials": ["a-key"], "settings": ["A_URL"] },
                "b": { "hosts": [], "credentials": [], "settings": [] },
                "assertion:c": { "hosts": ["https://a.test"], "credentials": [], "llm": ["judge"] },
            },
            "credentialEnvs": { "a-key": ["A_TOKEN", "A_SECRET"] },
            "credentialsIfSet": ["a-key"],
        })
    );
}
