//! A whole entry, defaults, and what is wrong.

use super::*;
use crate::fixture::Folder;
use crate::load;

fn plugins(yaml: &str) -> (Folder, Vec<PluginEntry>) {
    let folder = Folder::new(yaml);
    let config = load(&folder.request()).expect("a config").0;
    (folder, config.plugins)
}

#[test]
#[expect(clippy::too_many_lines, reason = "most of it is one entry")]
fn an_entry_is_read_whole() {
    let digest = "9F".repeat(32);
    let (folder, entries) = plugins(&format!(
        "plugins:\n  acme:\n    source: ./plugins/acme.wasm\n    sha256: {digest}\n    as: {{ tone: acme-tone }}\n    permissions:\n      hosts: ['https://api.acme.com']\n      \
         credentials: {{ key: {{ env: ACME_API_KEY }} }}\n      llm: [grader]\n      wasi_http: true\n    limits: {{ usd: 2.00, requests: 500, memory_mb: 128, cpu_ms: 2000 }}"
    ));
    let expected = PluginEntry {
        alias: "acme".into(),
        added: None,
        written: "./plugins/acme.wasm".into(),
        source: folder.path().join("plugins/acme.wasm"),
        sha256: Some("9f".repeat(32)),
        renamed: BTreeMap::from([(
            "tone".to_owned(),
            (
                "acme-tone".to_owned(),
                Position {
                    file: "promptfooconfig.yaml".into(),
                    line: 5,
                    column: 17,
                    key: "plugins.acme.as.tone".into(),
                },
            ),
        )]),
        permissions: Permissions {
            hosts: vec!["https://api.acme.com".into()],
            credentials: BTreeMap::from([(
                "key".to_owned(),
                CredentialGrant {
                    env: "ACME_API_KEY".into(),
                    scheme: "bearer".into(),
                    hosts: vec!["https://api.acme.com".into()],
                },
            )]),
            llm: vec!["grader".into()],
            llm_providers: BTreeMap::new(),
            wasi_http: true,
        },
        limits: PluginLimits {
            usd: Some(2.0),
            requests: Some(500),
            tokens: None,
            memory_mb: Some(128),
            cpu_ms: Some(2000),
        },
        at: Position {
            file: "promptfooconfig.yaml".into(),
            line: 3,
            column: 5,
            key: "plugins.acme".into(),
        },
        places: entries[0].places.clone(),
    };
    assert_eq!(entries, [expected]);
    let place = |pointer| {
        let at = entries[0].at_of(pointer);
        (at.line, at.key.as_str())
    };
    assert_eq!(
        place("/permissions/hosts/0"),
        (7, "plugins.acme.permissions.hosts[0]")
    );
    assert_eq!(place("/budget"), (3, "plugins.acme"));
}

#[test]
fn nothing_is_granted_unless_written() {
    let (_folder, entries) = plugins("plugins: { a: { source: a.wasm } }");
    assert_eq!(entries[0].permissions, Permissions::default());
    assert_eq!(entries[0].limits, PluginLimits::default());
}

#[test]
fn what_is_wrong_is_said() {
    let cases = [
        (
            "plugins: [a]",
            "promptfooconfig.yaml:1:10: plugins: must be a map of aliases to plugins, not a list",
        ),
        (
            "plugins: { a: x.wasm }",
            "promptfooconfig.yaml:1:15: plugins.a: must be a map with `source`, not text",
        ),
        (
            "plugins: { a: { } }",
            "promptfooconfig.yaml:1:15: plugins.a: has no `source`\nhelp: for example: source: ./plugins/acme.wasm",
        ),
        (
            "plugins: { a: { source: 'oci://x/y' } }",
            "promptfooconfig.yaml:1:25: plugins.a.source: 'oci://x/y': a run fetches no components\n\
             help: download the component and write its path",
        ),
        (
            "plugins: { a: { source: 'https://a.example/x.wasm' } }",
            "promptfooconfig.yaml:1:25: plugins.a.source: 'https://a.example/x.wasm': a run fetches no components\n\
             help: `runner plugin add` fetches it once, and says what to write here",
        ),
        (
            "plugins: { a: { source: 'acme@sha256:9f' } }",
            "promptfooconfig.yaml:1:25: plugins.a.source: 'acme@sha256:9f' must be a name, @sha256: and 64 hexadecimal digits\n\
             help: `runner plugin list` has what was added",
        ),
        (
            "plugins: { a: { source: '../acme@sha256:9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f' } }",
            "promptfooconfig.yaml:1:25: plugins.a.source: '../acme@sha256:9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f' must be a name, @sha256: and 64 hexadecimal digits\n\
             help: `runner plugin list` has what was added",
        ),
        (
            "plugins: { a: { source: 'acme@sha256:9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f' } }",
            "promptfooconfig.yaml:1:25: plugins.a.source: the plugin acme of this digest was not added to this machine\n\
             help: runner plugin add FILE|URL --sha256 9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f9f",
        ),
        (
            "plugins: { a: { source: x, sha256: abc } }",
            "promptfooconfig.yaml:1:36: plugins.a.sha256: must be 64 hexadecimal digits, not 'abc'",
        ),
        (
            "plugins: { a: { source: x, permissions: { credentials: { k: { } } } } }",
            "promptfooconfig.yaml:1:61: plugins.a.permissions.credentials.k: has no `env`\n\
             help: name the environment variable that holds the value, never the value itself",
        ),
        (
            "plugins: { a: { source: x, limits: { requests: -1 } } }",
            "promptfooconfig.yaml:1:48: plugins.a.limits.requests: must be a whole number from 0 to 4294967295, not -1",
        ),
    ];
    for (yaml, expected) in cases {
        assert_eq!(Folder::new(yaml).problems(), [expected], "{yaml}");
    }
}

#[test]
fn a_misspelt_key_is_wrong() {
    let folder = Folder::new(
        "prompts: [p]\nproviders: [echo]\nplugins: { a: { source: x, permisions: { } } }",
    );
    assert_eq!(
        folder.problems(),
        [
            "promptfooconfig.yaml:3:28: plugins.a.permisions: unknown key 'permisions'\nhelp: did you mean 'permissions'? If not, --lenient or `strict: false` in the config lets it pass"
        ]
    );
}

#[test]
fn a_budget_says_limits_by_the_names_of_other_budgets() {
    let (_folder, entries) = plugins(
        "plugins: { a: { source: a.wasm, budget: { cost: 0.5, tokens: 9, requests: 3 }, limits: { cpu_ms: 7 } } }",
    );
    let expected = PluginLimits {
        usd: Some(0.5),
        requests: Some(3),
        tokens: Some(9),
        memory_mb: None,
        cpu_ms: Some(7),
    };
    assert_eq!(entries[0].limits, expected);
    let folder =
        Folder::new("plugins: { a: { source: a.wasm, budget: { cost: 1 }, limits: { usd: 2 } } }");
    assert_eq!(
        folder.problems(),
        ["promptfooconfig.yaml:1:49: plugins.a.budget.cost: is set by `limits.usd` already"]
    );
}

#[test]
fn an_entry_without_a_file_grants_hosts_and_nothing_else() {
    let (_, entries) = plugins("plugins: { webhook: { permissions: { hosts: ['https://a.b'] } } }");
    assert_eq!(entries[0].source, PathBuf::new());
    assert_eq!(entries[0].permissions.hosts, ["https://a.b"]);
    let more = "plugins: { webhook: { permissions: { hosts: ['https://a.b'] }, budget: { requests: 1 } } }";
    let error = load(&Folder::new(more).request()).expect_err("too much");
    let message = error.to_string();
    assert!(message.contains("and nothing else"), "{message}");
    // What runs code may be given keys for it, too.
    let keys = |alias: &str| {
        format!(
            "plugins: {{ {alias}: {{ permissions: {{ hosts: ['https://a.b'], credentials: {{ k: {{ env: K }} }} }} }} }}"
        )
    };
    let (_, entries) = plugins(&keys("python"));
    assert_eq!(entries[0].permissions.credentials["k"].env, "K");
    let error = load(&Folder::new(&keys("webhook")).request()).expect_err("too much");
    let message = error.to_string();
    assert!(message.contains("and nothing else"), "{message}");
}
