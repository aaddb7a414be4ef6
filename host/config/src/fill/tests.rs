//! What `env` declares and who sees it.

use serde_json::json;

use crate::fixture::Folder;
use crate::model::Agreements;

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

/// What a config comes to where nothing is agreed to: its prompts and its providers, or nothing.
fn unseen(folder: &Folder) -> String {
    let Ok((plan, _)) = folder.plan_under(Agreements::default()) else {
        return String::new();
    };
    let case = |case: crate::plan::Case| {
        let text = case.render().map(|rendered| rendered.text);
        let provider = &case.column.provider;
        format!("{text:?} {} {:?}", json!(provider.config), case.test)
    };
    plan.cases().map(case).collect()
}

#[test]
fn what_is_not_agreed_to_is_not_seen_however_it_is_read() {
    let test = "tests: [{ vars: { q: 1 } }]";
    for rest in [
        "prompts: ['{{ env.1.5 }}']\nproviders: [echo]",
        "prompts: ['{{ env[\"S\"] }}']\nproviders: [echo]",
        "prompts: ['{{ env | dump }}']\nproviders: [echo]",
        "prompts: ['{{ q }}']\nproviders: [{ id: echo, config: { a: '{{ env[\"S\"] }}' } }]",
        "prompts: ['{{ q }}']\nproviders: [{ id: echo, config: { a: '{{ env | dump }}' } }]",
        "prompts: ['{{ q }}']\nproviders: [{ id: echo, config: { a: '{{ [env][0].S }}' } }]",
        "prompts: ['{{ q }}']\nproviders: [{ id: echo, config: { apiKey: '{{ [env][0].S }}' } }]",
        "prompts: ['S }} {{ q }}']\nproviders: [echo]\ndefaultTest: { options: { prefix: '{{ env.' } }",
        "prompts: ['{% raw %}#}{{ env.S }}{# {% endraw %}']\nproviders: [echo]\n\
         defaultTest: { options: { prefix: '{#', suffix: '#}' } }",
        "prompts: ['{\"{{ env.S }}\": \"{{ q }}\"}']\nproviders: [echo]\n\
         defaultTest: { options: { prefix: 'x ' } }",
    ] {
        let env = "env: { '1': x, S: '{{ env.OUT }}', '1.5': '{{ env.OUT }}' }";
        let folder = Folder::new(&format!("{env}\n{rest}\n{test}")).env("OUT", "host-42");
        let seen = unseen(&folder);
        assert!(!seen.contains("host-42"), "{rest}: {seen}");
    }
}

#[test]
fn a_provider_is_one_where_providers_stand_and_nowhere_else() {
    let secret = "{ provider: { config: { apiKey: '{{ env.OUT_KEY }}' } } }";
    for test in [
        format!("{{ options: {{ config: {{ options: {secret} }} }} }}"),
        format!("{{ assert: [{{ type: equals, value: x, config: {{ options: {secret} }} }}] }}"),
        format!("{{ assert: [{{ type: equals, value: x, config: {{ assert: [{secret}] }} }}] }}"),
        format!("{{ vars: {{ options: {secret} }} }}"),
        format!("{{ metadata: {{ assert: {secret} }} }}"),
    ] {
        for around in [
            "tests: [TEST]",
            "defaultTest: TEST\ntests: [{ vars: { q: 1 } }]",
        ] {
            let around = around.replace("TEST", &test);
            let config = format!("prompts: [p]\nproviders: [echo]\n{around}");
            let folder = Folder::new(&config).env("OUT_KEY", "key-of-the-person");
            let seen = unseen(&folder);
            assert!(!seen.contains("key-of-the-person"), "{config}: {seen}");
        }
    }
}

/// Its value would be said, and whether a file of this name is there.
#[test]
fn a_variable_in_a_credential_is_no_part_of_a_name() {
    for (key, value) in [
        ("apiKey", "file://../{{ env.OUT_KEY }}.txt"),
        ("apiKey", "{{ env.OUT_KEY }}"),
        ("headers", "file:///{{ env.OUT_KEY }}"),
        ("auth", "file://{{ env.OUT_KEY }}.json"),
        ("auth", "{{ env.OUT_KEY }}"),
    ] {
        let value = match key {
            "headers" => format!("{{ a: '{value}' }}"),
            "auth" => format!("{{ token: '{value}', value: '{value}' }}"),
            _ => format!("'{value}'"),
        };
        let config =
            format!("prompts: [p]\nproviders: [{{ id: echo, config: {{ {key}: {value} }} }}]");
        for secret in ["host-42-host-42", "file://host-42-host-42"] {
            let folder = Folder::new(&config).env("OUT_KEY", secret);
            let said = [folder.withheld(), folder.problems()].concat().join("\n");
            assert!(!said.contains("host-42"), "{config}: {said}");
        }
    }
}

/// How many columns there are would tell what a variable holds.
#[test]
fn providers_are_the_same_by_what_is_written() {
    let guess = "{ id: echo, config: { apiKey: host-42-host-42 } }";
    let read = "{ id: echo, config: { apiKey: '{{ env.OUT_KEY }}' } }";
    let columns = |providers: &str| {
        let config = format!("prompts: [p]\nproviders: [{providers}]");
        let folder = Folder::new(&config).env("OUT_KEY", "host-42-host-42");
        folder.plan().columns.len()
    };
    assert_eq!(columns(&format!("{read}, {guess}")), 2);
    assert_eq!(
        columns(&format!("{guess}, {guess}")),
        columns(&format!("{read}, {read}"))
    );
}

/// Each text was held against each other one.
#[test]
fn a_provider_may_have_as_many_variables_as_its_file_has_room_for() {
    const MANY: usize = 200_000;
    let texts = "    - '{{env.A}}'\n".repeat(MANY);
    let config = format!("prompts: [p]\nproviders:\n- id: echo\n  config:\n    a:\n{texts}");
    let plan = Folder::new(&config).env("A", "a").plan();
    assert_eq!(plan.providers[0].env_reads.len(), MANY);
}

#[test]
fn a_few_texts_can_not_take_in_all_names_a_million_times() {
    let names: Vec<String> = (0..1_100).map(|n| format!("N{n}: ")).collect();
    let texts = "{{ env | length }}', '".repeat(1_000);
    let folder = Folder::new(&format!(
        "env: {{ {} }}\nprompts: [p]\nproviders: [echo]\ntests: [{{ vars: {{ q: ['{texts}'] }} }}]",
        names.join(", ")
    ));
    let problems = folder.problems();
    assert_eq!(problems.len(), 1);
    assert!(
        problems[0].ends_with(
            "the config's texts take in names of `env` more than 1000000 times\n\
             help: write {{ env.NAME }} with the names that a text needs, not {{ env }}"
        ),
        "{problems:?}"
    );
}

/// Each of them had all the steps of a template.
#[test]
fn texts_that_are_filled_in_at_load_share_what_they_may_cost() {
    let costly = "{% for a in range(950) %}{% for b in range(1000) %}{% endfor %}{% endfor %}";
    let refused = |many: usize| {
        let names: Vec<String> = (0..many).map(|n| format!("N{n}: 'a{costly}'")).collect();
        let names = names.join(", ");
        let config = format!("env: {{ {names} }}\nprompts: [p]\nproviders: [echo]\n");
        let problems = Folder::new(&config).problems();
        let told = "takes, with the templates before it, too many steps";
        assert!(problems.iter().all(|it| it.contains(told)), "{problems:?}");
        !problems.is_empty()
    };
    assert!(!refused(20));
    assert!(refused(200));
}
