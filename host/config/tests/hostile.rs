//! Whatever stands in a config, loading it ends in a plan or an error, never in a panic; and a
//! plan that was made can be walked and rendered.

use std::path::Path;

use proptest::prelude::*;
use runner_config::{Catalog, LoadRequest, load};
use serde_json::{Map, Value, json};

fn catalog() -> Catalog {
    let names = |names: &[&str]| {
        names
            .iter()
            .map(|name| ((*name).to_owned(), "p".to_owned()))
            .collect()
    };
    Catalog {
        provider_prefixes: names(&["echo"]),
        assertion_types: names(&["equals", "is-json"]),
        ..Catalog::default()
    }
}

/// Loads the folder's config and does with it what a run does, for some cases.
fn exercise(folder: &Path) {
    let env = [("HOME".to_owned(), "/root".to_owned())].into();
    let request = LoadRequest {
        cwd: folder.to_owned(),
        env,
        ..LoadRequest::default()
    };
    let Ok(loaded) = load(&request) else { return };
    let Ok((plan, _)) = loaded.0.plan(&catalog()) else {
        return;
    };
    let mut seen = 0;
    for case in plan.cases().take(50) {
        seen += 1;
        let _ = case.render();
        for check in case.test.assertions.iter() {
            if let runner_config::plan::Check::One(assertion) = check {
                let _ = assertion.render_value(&case.vars);
                let _ = assertion.render_metric(&case.vars);
            }
        }
    }
    assert_eq!(seen, plan.case_count().min(50));
}

fn folder(config: &[u8]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("promptfooconfig.yaml"), config).expect("it can be written");
    folder
}

/// Texts that mean something somewhere in a config.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(vec![
            "echo", "echo:x", "equals", "is-json", "not-equals", "assert-set", "file://data.csv", "file://*.csv",
            "file://x.py", "{{a}}", "{{ a.b | dump }}", "{{", "{% if a %}x{% endif %}", "{% for a, b in a %}", "{#", "",
            "- role: user\n  content: {{a}}", "[{\"role\": \"user\", \"content\": \"{{a}}\"}]", "a\n", "{{env.HOME}}", "*",
            "{{ range(99999999) }}", "contains: x", "javascript: 1", "..", "/", "data.csv", "https://x", "a/b",
        ]).prop_map(str::to_owned),
        1 => "\\PC{0,12}",
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (0..5_i64).prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key(), inner), 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn key() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "a",
        "b",
        "id",
        "raw",
        "label",
        "config",
        "prompts",
        "providers",
        "tests",
        "vars",
        "assert",
        "type",
        "value",
        "weight",
        "threshold",
        "metric",
        "options",
        "repeat",
        "prefix",
        "metadata",
        "env",
        "description",
        "path",
        "",
        "disableVarExpansion",
        "$ref",
        "delay",
        "hosts",
        "source",
        "permissions",
        "credentials",
        "limits",
    ])
    .prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn arbitrary_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        exercise(folder(&bytes).path());
    }

    #[test]
    fn arbitrary_yaml_like_text(text in "[a-z{}\\[\\]:,&*!|>'\"#%@` \n\t-]{0,200}") {
        exercise(folder(text.as_bytes()).path());
    }

    #[test]
    fn arbitrary_values_under_known_keys(
        keys in prop::collection::vec((prop::sample::select(vec![
            "prompts", "providers", "tests", "defaultTest", "env", "evaluateOptions", "commandLineOptions", "plugins",
            "outputPath", "tags", "description", "metadata", "targets", "scenarios",
        ]), value()), 0..6),
    ) {
        let config: Map<String, Value> = keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        exercise(folder(Value::Object(config).to_string().as_bytes()).path());
    }

    #[test]
    fn arbitrary_tests_in_a_config_that_is_fine(
        prompts in prop::collection::vec(text(), 1..3),
        vars in prop::collection::vec((key(), value()), 0..4),
        values in prop::collection::vec(value(), 0..3),
        options in value(),
    ) {
        let vars: Map<String, Value> = vars.into_iter().collect();
        let assert: Vec<Value> = values.into_iter().map(|value| json!({ "type": "equals", "value": value })).collect();
        let config = json!({
            "prompts": prompts.iter().map(|raw| json!({ "raw": format!("{raw}\n"), "label": "l" })).collect::<Vec<_>>(),
            "providers": ["echo"],
            "tests": [{ "vars": vars, "assert": assert, "options": options }],
        });
        exercise(folder(config.to_string().as_bytes()).path());
    }

    #[test]
    fn arbitrary_data_files(
        csv in "[a-c_,\"\n\r {}%#;:()-]{0,120}",
        jsonl in "([\\[\\]{}:,\"a-c0-9\n ]{0,120}|(\\{\"vars\": \\{\"a\": \"[{}%#a-c ]{0,12}\"\\}\\}\n){1,3})",
    ) {
        let config = "prompts: ['{{a}} {{b}}']\nproviders: [echo]\ntests: [data.csv, data.jsonl]";
        let folder = folder(config.as_bytes());
        std::fs::write(folder.path().join("data.csv"), csv).expect("it can be written");
        std::fs::write(folder.path().join("data.jsonl"), jsonl).expect("it can be written");
        exercise(folder.path());
    }
}
