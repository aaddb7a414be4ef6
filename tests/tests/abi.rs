//! Components that were built for a version of the contract load and work for ever: `tests/abi/` keeps them as they
//! were built then, a folder a version, and nothing builds them again.

use std::path::PathBuf;

use runner_tests::{Answer, ModelApi, Run};

/// A component of a version of the contract.
fn built_for(version: &str, name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("abi");
    let file = folder.join(version).join(format!("{name}.wasm"));
    std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Versions of the contract that components were kept of.
const VERSIONS: &[&str] = &["0.1.1"];

#[test]
fn components_of_every_version_answer_grade_and_ask() {
    let api = ModelApi::start();
    api.always(Answer::json(
        &serde_json::json!({ "answer": "this is fine" }),
    ));
    for version in VERSIONS {
        let finished = Run::new()
            .file("brief.wasm", built_for(version, "brief"))
            .file("judge.wasm", built_for(version, "judge"))
            .file("provider.wasm", built_for(version, "provider"))
            .env("ACME_API_KEY", "acme-secret-value")
            .config(&format!(
                "prompts: [hello]\nproviders: [{{ id: 'acme:one', label: other, config: {{ url: '{url}/acme' }} }}]\n\
                 tests: [{{ assert: [{{ type: brief, value: 3 }}, {{ type: agreed }}] }}]\n\
                 plugins:\n  brief: {{ source: brief.wasm }}\n  agreed: {{ source: judge.wasm, permissions: {{ llm: {{ judge: other }} }} }}\n  \
                 acme:\n    source: provider.wasm\n    permissions:\n      hosts: ['{url}', 'https://api.acme.com']\n      \
                 credentials: {{ acme-key: {{ env: ACME_API_KEY }} }}\n",
                url = api.url()
            ))
            .args(["eval", "--trust-config"])
            .finish();
        finished.expect_code(0);
        let keys: Vec<_> = api
            .requests()
            .iter()
            .map(|request| request.header("authorization").map(str::to_owned))
            .collect();
        let key = Some("Bearer acme-secret-value".to_owned());
        assert!(
            !keys.is_empty() && keys.iter().all(|it| *it == key),
            "{keys:?}"
        );
    }
}
