//! What `env` declares and who sees it.

use crate::fixture::Folder;
use serde_json::json;

#[test]
fn declared_names_come_from_the_config_or_the_environment() {
    let folder = Folder::new(
        "env:\n  A: plain\n  B: '{{ env.SECRET }}'\n  C:\n  D: 5\n  E: \"{{ env.NONE | default('x') }}\"\n  F: '{{ env.NONE }}'\n\
         prompts: [p]\nproviders: [echo]",
    )
    .env("SECRET", "s3cret")
    .env("C", "from outside");
    let plan = folder.plan();
    let expected = json!({"A": "plain", "B": "s3cret", "C": "from outside", "D": "5", "E": "x"});
    assert_eq!(serde_json::Value::Object(plan.env.clone()), expected);
    assert!(!format!("{plan:?}").contains("s3cret"));
}

#[test]
fn templates_see_what_is_declared_and_results_don_t() {
    let folder = Folder::new(
        "env: { KEY: '{{ env.KEY }}' }\n\
         prompts: ['{{ env.KEY }} {{ v }}']\n\
         providers: [{ id: echo, config: { key: '{{env.KEY}}', other: '{{ v }}' } }]\n\
         tests: [{ vars: { v: 'var {{env.KEY}}' }, assert: [{ type: equals, value: '{{ env.KEY }}' }] }]",
    )
    .env("KEY", "s3cret");
    let plan = folder.plan();
    let case = plan.cases().next().expect("one case");
    assert_eq!(case.render().expect("renders").text, "s3cret var s3cret");
    assert_eq!(
        json!(case.column.provider.config),
        json!({"key": "s3cret", "other": "{{ v }}"})
    );
    assert!(!plan.config_json.to_string().contains("s3cret"));
    assert!(!case.test.json.to_string().contains("s3cret"));
    assert!(!case.column.prompt.raw.contains("s3cret"));
    assert!(!format!("{plan:?} {case:?}", case = case.column).contains("s3cret"));
}

#[test]
fn the_process_s_environment_is_not_seen() {
    let folder = Folder::new("prompts: ['{{ env.PATH }}']\nproviders: [echo]").env("PATH", "/bin");
    assert_eq!(
        folder.problems(),
        ["promptfooconfig.yaml:1:11: env.PATH is not declared\n\
          help: templates see only what the config declares; add to the config: env: { PATH: \"{{ env.PATH }}\" }"]
    );
    let folder = Folder::new("env: { PATHS: x }\nprompts: [file://p.txt]\nproviders: [echo]")
        .file("p.txt", "{{ env.PATH }}");
    assert_eq!(
        folder.problems(),
        ["p.txt:1:1: env.PATH is not declared\nhelp: did you mean env.PATHS?"]
    );
}

#[test]
fn a_declared_name_without_a_value_warns() {
    let folder = Folder::new("env: { KEY: }\nprompts: ['[{{ env.KEY }}]']\nproviders: [echo]");
    assert_eq!(folder.texts(), ["[]"]);
    assert_eq!(
        folder.warnings(),
        ["promptfooconfig.yaml:2:11: env.KEY is declared, but not set: it is empty"]
    );
}

#[test]
fn rows_of_data_files_don_t_see_it() {
    let folder = Folder::new(
        "env: { KEY: s3cret }\nprompts: ['{{ v }}']\nproviders: [echo]\ntests: file://t.csv",
    )
    .file("t.csv", "v\n{{ env.KEY }}\n");
    assert_eq!(folder.texts(), ["{{ env.KEY }}"]);
}
