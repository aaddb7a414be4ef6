//! What texts of each origin may do, and what they ask for.

use serde_json::json;

use super::*;
use crate::fixture::Folder;

mod hidden;
mod imports;
mod rows;
mod shown;

/// A config with the tests of `name`, which holds `rows`.
fn data(name: &str, rows: &str) -> Folder {
    Folder::new(&format!(
        "prompts: ['{{{{q}}}}']\nproviders: [echo, {{ id: 'openai:m', label: mine }}]\ntests: file://{name}"
    ))
    .file(name, rows)
}

#[test]
fn what_is_remembered_reads_back_as_it_was() {
    let subjects = [
        TrustSubject::Read {
            path: "/a/b".into(),
        },
        TrustSubject::Variable {
            name: "X".to_owned(),
            to: "https://a.example".to_owned(),
        },
        TrustSubject::Requests {
            code: "javascript".to_owned(),
            to: "https://*.a.example".to_owned(),
        },
    ];
    for subject in subjects {
        let text = serde_json::to_string(&subject).expect("plain data");
        let back: TrustSubject = serde_json::from_str(&text).expect("what was written");
        assert_eq!(back, subject, "{text}");
    }
}

#[test]
fn a_row_brings_no_provider_no_judge_and_no_code_of_its_own() {
    let evil =
        r#"{ "id": "openai:x", "config": { "apiBaseUrl": "http://evil", "apiKeyEnvar": "AWS" } }"#;
    let rubric = r#""type": "llm-rubric", "value": "v""#;
    let cases = [
        (format!(r#""provider": {evil}"#), "provider"),
        (r#""provider": "openai:other""#.to_owned(), "provider"),
        (
            format!(r#""options": {{ "provider": {evil} }}"#),
            "options.provider",
        ),
        (
            format!(r#""options": {{ "provider": {{ "text": {evil} }} }}"#),
            "options.provider.text",
        ),
        (
            format!(r#""assert": [{{ {rubric}, "provider": {evil} }}]"#),
            "assert[0].provider",
        ),
    ];
    for (rest, key) in cases {
        let row = format!(r#"{{ "vars": {{ "q": "1" }}, {rest} }}"#);
        for name in ["t.jsonl", "t.json"] {
            let requests = data(name, &row).env("OPENAI_API_KEY", "k").requests();
            let asked: Vec<_> = requests.iter().filter(|one| one.contains(key)).collect();
            assert_eq!(asked.len(), 1, "{row}: {requests:?}");
            assert!(asked[0].contains("the provider 'openai:"), "{asked:?}");
            let sends = asked[0].contains("(sends the environment variable AWS, apiBaseUrl: ");
            assert_eq!(sends, rest.contains("AWS"), "{asked:?}");
        }
    }
}

#[test]
fn a_row_may_choose_among_what_the_config_declares() {
    for name in ["mine", "openai:m", "echo"] {
        let row = json!({
            "vars": { "q": "1" }, "provider": name, "options": { "provider": name },
            "assert": [{ "type": "llm-rubric", "value": "v", "provider": name }],
        });
        let folder = data("t.jsonl", &row.to_string());
        assert_eq!(folder.requests(), [""; 0], "{name}");
        let plan = folder.plan();
        assert!(
            plan.judges
                .iter()
                .all(|judge| judge.id != "openai:m" || judge.label.as_deref() == Some("mine"))
        );
    }
}

#[test]
fn a_provider_of_a_row_names_files_as_a_row_may() {
    let row = r#"{ "vars": { "q": "1" }, "provider": { "id": "openai:x", "config": { "a": "file:///etc/hostname" } } }"#;
    let requests = data("t.jsonl", row).requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(
        requests[0],
        "t.jsonl:1:74: provider.config.a: read the file /etc/hostname"
    );
    // What the file says, and not its name.
    let asked = "t.jsonl:1:37: provider: ask the provider 'openai:x' ('a: ";
    assert!(requests[1].starts_with(asked), "{}", requests[1]);
    assert!(!requests[1].contains("file://"), "{}", requests[1]);
}

#[test]
fn a_provider_of_a_row_that_answers_cases_may_not_grade_them() {
    let asked = |row: &str| data("t.jsonl", row).requests();
    let provider = r#""provider": "openai:x""#;
    let case = asked(&format!(r#"{{ "vars": {{ "q": 1 }}, {provider} }}"#));
    let judge = asked(&format!(
        r#"{{ "vars": {{ "q": 1 }}, "assert": [{{ "type": "llm-rubric", "value": "v", {provider} }}] }}"#
    ));
    let options = asked(&format!(
        r#"{{ "vars": {{ "q": 1 }}, "options": {{ {provider} }} }}"#
    ));
    assert!(
        case[0].contains(": ask the provider 'openai:x' (sha256 "),
        "{case:?}"
    );
    for judge in [judge, options] {
        assert!(
            judge[0].contains(": let the provider 'openai:x' grade answers (sha256 "),
            "{judge:?}"
        );
    }
    let both = asked(&format!(
        r#"{{ "vars": {{ "q": 1 }}, {provider}, "options": {{ {provider} }} }}"#
    ));
    assert_eq!(both.len(), 2, "{both:?}");
    let former = r#"{ "provider": { "id": "a", "config": "", "sha256": "b" } }"#;
    let former: TrustSubject = serde_json::from_str(former).expect("it was remembered");
    assert!(former.to_string().starts_with("ask the provider 'a'"));
}

/// Everything that a row can name a file by.
const NAMING: [&str; 5] = [
    r#"{ "vars": { "q": "FILE" } }"#,
    r#"{ "vars": { "q": ["FILE"] } }"#,
    r#"{ "assert": [{ "type": "equals", "value": "FILE" }] }"#,
    r#"{ "assert": [{ "type": "contains-any", "value": ["FILE"] }] }"#,
    r#"{ "vars": { "q": 1 }, "options": { "rubricPrompt": "FILE" } }"#,
];

/// A folder with the places that rows may and may not name, and how the rows at `data/` see them.
fn places(row: &str) -> Folder {
    let folder = Folder::new("prompts: [p]\nproviders: [echo]\ntests: file://data/t.jsonl")
        .file("data/t.jsonl", row)
        .file("data/plain.txt", "x")
        .file("data/sub/plain.txt", "x")
        .file("data/.env", "KEY=x")
        .file("data/.git/config", "x")
        .file("data/.aws/credentials", "x")
        .file("data/sub/.x/y.txt", "x")
        .file("prompt.txt", "x");
    #[cfg(unix)]
    {
        let link = |to: &str, at: &str| {
            std::os::unix::fs::symlink(folder.path().join(to), folder.path().join(at))
                .expect("a link");
        };
        link("prompt.txt", "data/link.txt");
        link(".", "data/up");
        link("data/sub", "data/inner");
        link("data/.env", "data/innocent.txt");
    }
    folder
}

#[test]
fn rows_name_what_lies_in_their_folder_and_nothing_hidden() {
    for naming in NAMING {
        for (file, real) in [
            ("file://data/plain.txt", None),
            ("file://data/sub/plain.txt", None),
            ("file://data/inner/plain.txt", None),
            ("file://data/../data/plain.txt", None),
            ("file://prompt.txt", Some("~/prompt.txt")),
            ("file://data/.env", Some("~/data/.env")),
            ("file://data/.git/config", Some("~/data/.git/config")),
            (
                "file://data/.aws/credentials",
                Some("~/data/.aws/credentials"),
            ),
            ("file://data/sub/.x/y.txt", Some("~/data/sub/.x/y.txt")),
            ("file://data/link.txt", Some("~/prompt.txt")),
            ("file://data/up/prompt.txt", Some("~/prompt.txt")),
            ("file://data/innocent.txt", Some("~/data/.env")),
            ("file:///etc/hostname", Some("/etc/hostname")),
        ] {
            let row = naming.replace("FILE", file);
            let requests = places(&row).requests();
            match real {
                None => assert_eq!(requests, [""; 0], "{row}"),
                Some(real) => {
                    assert_eq!(requests.len(), 1, "{row}: {requests:?}");
                    let expected = format!("read the file {real}");
                    assert!(requests[0].ends_with(&expected), "{row}: {requests:?}");
                }
            }
        }
    }
}

#[test]
fn patterns_of_rows_are_held_to_the_same_rule() {
    let requests = places(r#"{ "vars": { "q": "file://data/*.txt" } }"#).requests();
    let asked = |real: &str| requests.iter().any(|one| one.ends_with(real));
    assert!(
        asked("~/prompt.txt") && asked("~/data/.env"),
        "{requests:?}"
    );
    assert_eq!(requests.len(), 2, "{requests:?}");
}

#[test]
fn an_agreed_pattern_outside_the_folder_matches_the_files_there() {
    let outside = tempfile::tempdir().expect("a folder");
    std::fs::write(outside.path().join("a.txt"), "from {{q}} outside").expect("written");
    let name = outside
        .path()
        .file_name()
        .expect("a name")
        .display()
        .to_string();
    let config = |pattern: &str| {
        format!("prompts: ['{pattern}']\nproviders: [echo]\ntests: [{{ vars: {{ q: far }} }}]")
    };
    for pattern in [format!("../{name}/*.txt"), format!("x/.././../{name}/a*")] {
        let folder = Folder::new(&config(&pattern));
        assert_eq!(folder.texts(), ["from far outside"], "{pattern}");
    }
}

#[test]
fn variables_that_a_row_has_in_a_file_are_the_rows() {
    let folder = Folder::new(
        "env: { KEY: s3cret }\nprompts: ['{{a}}']\nproviders: [echo]\ntests: file://t.jsonl",
    )
    .file("t.jsonl", r#"{ "vars": "file://more.yaml" }"#)
    .file("more.yaml", "a: '{{ env.KEY }}'");
    assert_eq!(folder.texts(), ["{{ env.KEY }}"]);
    let folder = folder.file("more.yaml", "a: file:///etc/hostname");
    assert_eq!(
        folder.requests(),
        ["more.yaml:1:4: a: read the file /etc/hostname"]
    );
}

#[test]
fn what_rows_put_around_a_prompt_sees_no_env() {
    let config = "env: { KEY: s3cret }\nprompts: ['{{ env.KEY }}!']\nproviders: [echo]\n";
    let csv = Folder::new(&format!("{config}tests: file://t.csv")).file(
        "t.csv",
        "q,__prefix,__suffix\n1,\"a{{ env.KEY }}\",\"b{{ env.KEY ~ q }}\"\n",
    );
    assert_eq!(csv.texts(), ["as3cret!bundefined1"]);
    let row = r#"{ "vars": { "q": 1 }, "options": { "prefix": "{{ env.KEY }}{{ q }} " } }"#;
    let jsonl = Folder::new(&format!("{config}tests: file://t.jsonl")).file("t.jsonl", row);
    assert_eq!(jsonl.texts(), ["1 s3cret!"]);
    let own = Folder::new(&format!("{config}tests: [{row}]"));
    assert_eq!(own.texts(), ["s3cret1 s3cret!"]);
}

#[test]
fn what_a_generator_gives_is_data() {
    let folder = Folder::new(
        "env: { KEY: s3cret }\nprompts: ['{{a}}']\nproviders: [echo]\ntests: file://gen.js",
    )
    .code("gen.js", |_| {
        Ok(Some(json!([
            { "vars": { "a": "{{ env.KEY }}" } },
            { "vars": { "a": "file:///etc/hostname" } },
        ])))
    });
    assert_eq!(folder.texts()[0], "{{ env.KEY }}");
    assert_eq!(
        folder.requests(),
        ["gen.js: tests[1].vars.a: read the file /etc/hostname"]
    );
}

#[test]
fn a_config_vouches_for_a_source_and_data_for_nothing() {
    let tests = "tests: [{ path: file://t.jsonl, trust: config }]";
    let row = r#"{ "vars": { "q": "file://.github/idden" }, "provider": "openai:x" }"#;
    let folder = Folder::new(&format!("prompts: [p]\nproviders: [echo]\n{tests}"))
        .file("t.jsonl", row)
        .file(".github/idden", "x");
    assert_eq!(folder.requests(), [""; 0]);
    let inner = r#"[{ "path": "file://t.jsonl", "trust": "config" }]"#;
    let folder = Folder::new("prompts: [p]\nproviders: [echo]\ntests: file://t.json")
        .file("t.json", inner)
        .file("t.jsonl", row)
        .file(".github/idden", "x");
    assert_eq!(folder.requests().len(), 2);
    let folder = Folder::new(
        &format!("prompts: [p]\nproviders: [echo]\n{tests}").replace("config }", "me }"),
    )
    .file("t.jsonl", row);
    assert!(folder.problems()[0].contains("must be `config`"));
}

#[test]
fn a_config_names_what_lies_in_its_folder() {
    let config = |file: &str| {
        let mut folder = Folder::new("")
            .file("evals/c.yaml", format!("prompts: ['{file}']\nproviders: [{{ id: 'openai:m', config: {{ a: '{file}' }} }}]\ntests: [{{ vars: {{ a: '{file}' }} }}]"))
            .file("evals/in.txt", "x")
            .file("evals/.github/in.txt", "x")
            .file("evals/.env", "KEY=x")
            .file("evals/.npmrc", "x")
            .file("evals/.aws/credentials", "x")
            .file("evals/.streamlit/secrets.txt", "x")
            .file("out.txt", "x");
        #[cfg(unix)]
        std::os::unix::fs::symlink("../out.txt", folder.path().join("evals/link.txt"))
            .expect("a link");
        folder.configs = vec!["evals/c.yaml".into()];
        folder.requests()
    };
    assert_eq!(config("file://in.txt"), [""; 0]);
    assert_eq!(config("file://.github/in.txt"), [""; 0]);
    for (file, real) in [
        ("file://../out.txt", "~/out.txt"),
        ("file://.aws/credentials", "~/evals/.aws/credentials"),
        (
            "file://.streamlit/secrets.txt",
            "~/evals/.streamlit/secrets.txt",
        ),
        ("file://link.txt", "~/out.txt"),
        ("file://.env", "~/evals/.env"),
        ("file://.npmrc", "~/evals/.npmrc"),
        ("file:///etc/hostname", "/etc/hostname"),
    ] {
        let requests = config(file);
        // A file is asked for once, wherever it is named.
        assert_eq!(requests.len(), 1, "{requests:?}");
        assert!(requests[0].starts_with("evals/c.yaml:"), "{requests:?}");
        assert!(
            requests[0].ends_with(&format!("read the file {real}")),
            "{requests:?}"
        );
    }
}

#[test]
fn what_the_person_names_asks_nothing_and_what_it_holds_is_data() {
    let mut folder = Folder::new("").file("evals/c.yaml", "prompts: ['{{a}}']\nproviders: [echo]");
    folder.configs = vec!["evals/c.yaml".into()];
    folder
        .overrides
        .vars
        .insert("a".to_owned(), "file:///etc/hostname".into());
    assert_eq!(folder.requests(), [""; 0]);
    folder.overrides.vars.clear();
    let mut folder = folder.file("t.csv", "a\nfile:///etc/hostname\n");
    folder.overrides.given.tests = Some("t.csv".to_owned());
    assert_eq!(
        folder.requests(),
        ["t.csv:2:1: vars.a: read the file /etc/hostname"]
    );
}

#[test]
fn variables_that_texts_take_in_are_known() {
    let plan = Folder::new(
        "env: { A: '{{ env.OUT }}', B: b, C: }\n\
         prompts: ['{{ env.A }}', '{{ env.B }}', '{{ env.C ~ x }}']\n\
         providers: [{ id: 'openai:m', config: { k: '{{ env.PLAIN }}', l: '{{ env.A }}' } }, echo]\n\
         tests: [{ vars: { x: '{{ env.A }}' }, options: { prefix: '{{ env.A ~ x }}' } }]",
    )
    .env("OUT", "1")
    .env("C", "2")
    .env("PLAIN", "3")
    .plan();
    let shown = |reads: &[crate::plan::EnvRead]| -> Vec<String> {
        let shown = reads
            .iter()
            .map(|read| format!("{} {}", read.at.line, read.name));
        shown.collect()
    };
    let mut others = shown(&plan.env_reads);
    others.sort();
    assert_eq!(others, ["2 C", "2 OUT", "4 OUT", "4 OUT"]);
    let providers: Vec<_> = plan
        .columns
        .iter()
        .map(|one| shown(&one.provider.env_reads))
        .collect();
    assert_eq!(providers[0], ["3 OUT", "3 PLAIN"]);
    assert!(providers.iter().any(Vec::is_empty));
    let sources: Vec<_> = plan.env_sources.iter().collect();
    assert_eq!(format!("{sources:?}"), r#"[("A", {"OUT"}), ("C", {"C"})]"#);
}

#[test]
fn references_of_the_config_itself_are_asked_for() {
    for (config, key) in [
        ("prompts: { $ref: 'FILE' }\nproviders: [echo]", "prompts"),
        (
            "prompts: [p]\nproviders: [echo]\ntests: [{ assert: [{ type: equals, value: { $ref: 'FILE' } }] }]",
            "assert[0].value",
        ),
        (
            "prompts: [p]\nproviders: [{ id: 'openai:m', config: { body: { $ref: 'FILE' } } }]",
            "body",
        ),
    ] {
        for (file, real) in [
            ("file:///etc/hostname", "/etc/hostname"),
            (".env", "~/.env"),
        ] {
            let folder = Folder::new(&config.replace("FILE", file)).file(".env", "KEY");
            let requests = folder.requests();
            assert_eq!(requests.len(), 1, "{config}: {requests:?}");
            assert!(
                requests[0].ends_with(&format!("read the file {real}")),
                "{requests:?}"
            );
            assert!(requests[0].contains(key), "{requests:?}");
        }
    }
}

#[test]
fn a_file_that_the_config_named_is_asked_for_when_a_row_names_it() {
    let config = |default: &str| {
        format!("prompts: [p]\nproviders: [echo]\ndefaultTest: {default}\ntests: file://r/t.jsonl")
    };
    let cases = [
        (
            "{ vars: { x: 'file://.github/x.txt' } }",
            r#"{ "vars": { "q": "file://.github/x.txt" } }"#,
        ),
        (
            "{ vars: { x: 'file://.vscode/*.txt' } }",
            r#"{ "vars": { "q": "file://.vscode/a.txt" } }"#,
        ),
        (
            "{ vars: { x: 'file://.vscode/*.txt' } }",
            r#"{ "vars": { "q": "file://.vscode/*.txt" } }"#,
        ),
        (
            "{ vars: { x: 'file://g.js' } }",
            r#"{ "vars": { "q": "file://g.js" } }"#,
        ),
        (
            "{ assert: [{ type: equals, value: 'file://.github/x.txt' }] }",
            r#"{ "assert": [{ "type": "equals", "value": "file://.github/x.txt" }] }"#,
        ),
    ];
    for (default, row) in cases {
        let folder = Folder::new(&config(default))
            .file("r/t.jsonl", row)
            .file(".github/x.txt", "x")
            .file(".vscode/a.txt", "x")
            .file("g.js", "1");
        let requests = folder.requests();
        assert!(!requests.is_empty(), "{row}");
        assert!(
            requests.iter().all(|one| one.starts_with("r/t.jsonl:")),
            "{requests:?}"
        );
    }
}

#[test]
fn a_secret_is_one_under_whatever_name_a_config_takes_it() {
    let folder = Folder::new(
        "env: { K: '{{ env.AWS_SECRET_ACCESS_KEY }}', L: l }\nprompts: [p]\nproviders: [echo]",
    )
    .env("AWS_SECRET_ACCESS_KEY", "s3cret-value");
    let plan = folder.plan();
    let secrets: Vec<&str> = plan.secrets().collect();
    assert_eq!(secrets, ["s3cret-value"]);
    let folder = Folder::new(
        "prompts: [p]\nproviders: [echo]\ntests: [{ options: { headers: { X-Api-Key: k-1, Accept: a/b } } }]",
    );
    let plan = folder.plan();
    let secrets: Vec<&str> = plan.secrets().collect();
    assert_eq!(secrets, ["k-1"]);
}

#[test]
fn a_row_that_runs_nowhere_is_an_error() {
    for list in ["providers", "prompts"] {
        let row = format!(r#"{{ "vars": {{ "q": 1 }}, "{list}": [] }}"#);
        let problems = data("t.jsonl", &row).problems();
        assert!(
            problems[0].contains("the test would run nowhere"),
            "{problems:?}"
        );
    }
}
