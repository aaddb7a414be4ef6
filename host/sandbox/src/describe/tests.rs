//! Descriptions that are refused, each for one reason.

use serde_json::json;

use super::*;
use crate::abi::{AssertionType, CredentialWant, Inputs, Wants};

const GRADER: Exported = Exported {
    provider: false,
    assertion: true,
};

fn assertion(name: &str, schema: Option<&str>) -> AssertionType {
    AssertionType {
        name: name.into(),
        value_schema_json: schema.map(Into::into),
        reads: Inputs::empty(),
    }
}

fn grader() -> Info {
    Info {
        name: "acme".into(),
        version: "1.0.0".into(),
        description: String::new(),
        homepage: None,
        license: None,
        provider_prefixes: Vec::new(),
        assertion_types: vec![assertion(
            "loud",
            Some(r#"{"type": "integer", "minimum": 3}"#),
        )],
        wants: Wants {
            hosts: Vec::new(),
            host_config_key: None,
            credentials: Vec::new(),
            settings: Vec::new(),
            llm: Vec::new(),
        },
        config_schema_json: None,
        metadata_json: None,
    }
}

fn refusal(change: impl FnOnce(&mut Info)) -> Finding {
    let mut info = grader();
    change(&mut info);
    check(&info, GRADER).expect_err("refused")
}

#[test]
fn a_good_description_gives_its_schemas() {
    let schemas = check(&grader(), GRADER).expect("good");
    assert_eq!(schemas.value("loud", &json!(4)), []);
    let problems = schemas.value("loud", &json!({"secret": "hunter2"}));
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].0, "");
    assert!(!problems[0].1.contains("hunter2"), "{problems:?}");
    assert_eq!(schemas.value("other", &json!("anything")), []);
}

#[test]
fn a_problem_has_the_pointer_to_its_place() {
    let mut info = grader();
    info.config_schema_json =
        Some(r#"{"properties": {"a": {"items": {"type": "string"}}}}"#.into());
    let schemas = check(&info, GRADER).expect("good");
    assert_eq!(schemas.config(&json!({"a": ["x", 1]}))[0].0, "/a/1");
}

#[test]
fn names_are_kebab() {
    for bad in [
        "",
        "Acme",
        "a b",
        "-a",
        "a-",
        "1a",
        "a:b",
        "é",
        &"a".repeat(65),
    ] {
        let finding = refusal(|info| info.name = bad.into());
        assert_eq!(finding.code, Code::P011, "{bad}");
    }
}

#[test]
fn types_are_unique_and_without_not() {
    let twice = refusal(|info| info.assertion_types.push(assertion("loud", None)));
    assert!(twice.message.contains("twice"), "{}", twice.message);
    let not = refusal(|info| info.assertion_types.push(assertion("not-loud", None)));
    assert!(not.message.contains("added by the host"), "{}", not.message);
}

#[test]
fn claims_agree_with_exports() {
    assert_eq!(
        refusal(|info| info.assertion_types.clear()).code,
        Code::P011
    );
    assert_eq!(
        refusal(|info| info.provider_prefixes.push("acme".into())).code,
        Code::P011
    );
}

#[test]
fn credential_schemes_are_known() {
    for (scheme, good) in [
        ("bearer", true),
        ("header:x-api-key", true),
        ("query:key", true),
        ("header:", false),
        ("cookie", false),
    ] {
        let mut info = grader();
        info.wants.credentials.push(CredentialWant {
            name: "key".into(),
            reason: String::new(),
            env: "KEY".into(),
            env_config_key: None,
            value_config_key: None,
            scheme: scheme.into(),
        });
        assert_eq!(check(&info, GRADER).is_ok(), good, "{scheme}");
    }
}

#[test]
fn schemas_parse_and_compile_without_fetching() {
    for bad in [
        "{",
        r#"{"type": "strin"}"#,
        r#"{"pattern": "("}"#,
        r#"{"$ref": "https://example.com/schema.json"}"#,
    ] {
        let finding = refusal(|info| info.config_schema_json = Some(bad.into()));
        assert_eq!(finding.code, Code::P012, "{bad}");
    }
}
