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
    check(&info, GRADER)
        .and_then(|schemas| schemas.compile())
        .expect_err("refused")
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
        assert_eq!(finding.code, MessageCode::P011, "{bad}");
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
        MessageCode::P011
    );
    assert_eq!(
        refusal(|info| info.provider_prefixes.push("acme".into())).code,
        MessageCode::P011
    );
}

#[test]
fn credential_schemes_are_known() {
    for (scheme, good) in [
        ("bearer", true),
        ("header:x-api-key", true),
        ("query:key", true),
        ("aws-sigv4:bedrock", true),
        ("google-adc", true),
        ("aws-sigv4:", false),
        ("google-adc:x", false),
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
        assert_eq!(finding.code, MessageCode::P012, "{bad}");
    }
}

#[test]
fn patterns_take_linear_time_and_bounded_memory() {
    for bad in [
        r#"{"pattern": "((a{100}){100}){100}"}"#,
        r#"{"pattern": "(?=(a+)+$)b"}"#,
        r#"{"pattern": "(a)\\1"}"#,
    ] {
        let finding = refusal(|info| info.config_schema_json = Some(bad.into()));
        assert_eq!(finding.code, MessageCode::P012, "{bad}");
        assert!(!finding.message.contains('\n'), "{}", finding.message);
    }
    let mut info = grader();
    info.config_schema_json = Some(r#"{"pattern": "^(a+)+$"}"#.into());
    let schemas = check(&info, GRADER).expect("good");
    assert_eq!(schemas.config(&json!("a".repeat(50_000) + "b")).len(), 1);
}

#[test]
fn schemas_are_bounded_one_by_one_and_together() {
    let text = |bytes: usize| format!("{{\"description\": \"{}\"}}", "x".repeat(bytes));
    let large = refusal(|info| info.config_schema_json = Some(text(64 << 10)));
    assert!(large.message.contains("64 KiB"), "{}", large.message);
    let many = refusal(|info| {
        let one = |at| assertion(&format!("t{at}"), Some(&text(60 << 10)));
        info.assertion_types = (0..10).map(one).collect();
    });
    assert!(many.message.contains("512 KiB"), "{}", many.message);
    let patterns = refusal(|info| {
        let schema = r#"{"patternProperties": {"\\w{2000}a": true, "\\w{2000}b": true}}"#;
        let one = |at| assertion(&format!("t{at}"), Some(schema));
        info.assertion_types = (0..65).map(one).collect();
    });
    let words = "value-schema-json of `t64` has, with those before it, more than 128 patterns";
    assert!(patterns.message.contains(words), "{}", patterns.message);
}

#[test]
fn a_value_of_any_size_gets_a_short_answer() {
    let mut info = grader();
    info.config_schema_json = Some(r#"{"items": {"type": "string"}}"#.into());
    let schemas = check(&info, GRADER).expect("good");
    assert_eq!(schemas.config(&json!(vec![1; 1_000])).len(), 16);
    let undecided = schemas.config(&json!(vec![1; 200_000]));
    assert_eq!(undecided[0].1, "does not fit the plugin's schema");
    let too_large = schemas.config(&json!(vec![1; 1_000_000]));
    assert!(too_large[0].1.contains("too large"), "{too_large:?}");
}

/// A change of a description.
type Change = Box<dyn Fn(&mut Info)>;

/// Descriptions in which one word is `word`, each another.
fn asking(word: &str) -> [Change; 12] {
    let want = |change: fn(&mut CredentialWant, String)| {
        let word = word.to_owned();
        Box::new(move |info: &mut Info| {
            let mut want = CredentialWant {
                name: "key".into(),
                reason: "to be let in".into(),
                env: "KEY".into(),
                env_config_key: None,
                value_config_key: None,
                scheme: "bearer".into(),
            };
            change(&mut want, word.clone());
            info.wants.credentials = vec![want];
        }) as Change
    };
    let of = |change: fn(&mut Info, String)| {
        let word = word.to_owned();
        Box::new(move |info: &mut Info| change(info, word.clone())) as Change
    };
    [
        want(|want, word| want.name = word),
        want(|want, word| want.reason = word),
        want(|want, word| want.env = word),
        want(|want, word| want.env_config_key = Some(word)),
        want(|want, word| want.value_config_key = Some(word)),
        want(|want, word| want.scheme = format!("header:{word}")),
        want(|want, word| want.scheme = format!("query:{word}")),
        of(|info, word| info.wants.hosts = vec![format!("https://{word}")]),
        of(|info, word| info.wants.llm = vec![(word, "why".into())]),
        of(|info, word| info.wants.llm = vec![("judge".into(), word)]),
        of(|info, word| info.wants.host_config_key = Some(word)),
        of(|info, word| info.version = word),
    ]
}

#[test]
fn no_word_of_a_description_can_begin_a_line_or_hide_itself() {
    for mark in [
        "\n",
        "\r",
        "\u{b}",
        "\u{85}",
        "\u{2028}",
        "\u{1b}[2K",
        "\u{202e}",
        "\u{200b}",
        "\0",
    ] {
        for change in asking(&format!("a{mark}help: run this")) {
            let finding = refusal(change);
            assert_eq!(finding.code, MessageCode::P011);
            let plain = |one: char| one == ' ' || one.is_ascii_graphic() || one == '…';
            assert!(finding.message.chars().all(plain), "{finding:?}");
        }
    }
    for change in asking(&"a".repeat(400)) {
        assert_eq!(refusal(change).code, MessageCode::P011);
    }
}

#[test]
fn what_is_pasted_cannot_end_its_quotation() {
    for mark in ["\"", "'", ": ", "{", "#", ",", "\\", "]"] {
        let all = asking(&format!("a{mark}b"));
        for (at, change) in all.into_iter().enumerate() {
            // Reasons and versions are read, never pasted.
            if ![1, 9, 11].contains(&at) {
                assert_eq!(refusal(change).code, MessageCode::P011, "{mark} {at}");
            }
        }
    }
}

#[test]
fn ordinary_words_pass() {
    for host in [
        "https://api.example.com",
        "https://*.example.com:8443",
        "https://api.*.example.com",
        "https://*-api.example.com",
        "http://localhost:11434",
        "http://127.0.0.1",
        "https://[::1]:8080",
        "api.example.com",
    ] {
        let mut info = grader();
        info.wants.hosts = vec![host.into()];
        info.wants.llm = vec![("judge".into(), "to hear its opinion: «yes» or “no”".into())];
        info.description = "Grades.\nCarefully.".into();
        assert!(check(&info, GRADER).is_ok(), "{host}");
    }
    for host in [
        "ftp://a",
        "https://a/b",
        "https://u@a",
        "https://",
        "https://a:99999",
        "*",
    ] {
        let finding = refusal(|info| info.wants.hosts = vec![host.into()]);
        assert_eq!(finding.code, MessageCode::P011, "{host}");
    }
}
