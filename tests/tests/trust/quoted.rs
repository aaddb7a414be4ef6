//! What a config reads shows nowhere before that was agreed to: not in results, not in what is said
//! of the config.

use insta::assert_snapshot;
use runner_tests::{Answer, Finished, ModelApi, Run};

const SECRET: &str = "hunter2-of-the-person";
/// The secret as a filter makes it; no masker knows it.
const REVERSED: &str = "nosrep-eht-fo-2retnuh";

fn evaluates(config: &str) -> Run {
    let run = Run::new().config(config).env("SECRET", SECRET);
    run.arg("eval")
}

/// Every file below a folder holds it nowhere.
#[track_caller]
fn is_nowhere(text: &str, finished: &Finished) {
    assert!(!finished.stdout.contains(text), "{}", finished.stdout);
    assert!(!finished.stderr.contains(text), "{}", finished.stderr);
    let again = finished.again();
    let mut folders = vec![again.home().to_owned(), again.project().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.is_file() {
                let bytes = std::fs::read(&path).expect("a file");
                let found = bytes.windows(text.len()).any(|it| it == text.as_bytes());
                assert!(!found, "{}", path.display());
            }
        }
    }
}

#[test]
fn a_variable_is_written_into_results_only_when_that_was_agreed_to() {
    let config = "env: { SECRET: }\nprompts: ['{{ env.SECRET | reverse }}']\nproviders: [echo]\noutputPath: out.json\n";
    let refusal = "error: the config asks for permissions that need your agreement; nothing was sent:\n  \
         promptfooconfig.yaml:2:11: let the value of the environment variable SECRET appear in results and files\n\
         note: none of this is read before you agree; what else is asked for is found after it\n\
         help: to agree, run `runner trust`. In CI, if you trust everything it checks out, set RUNNER_TRUST=config.\n";
    let refused = evaluates(config).finish();
    refused.expect_code(2);
    assert_eq!(refused.stderr, refusal);
    assert_eq!(refused.stdout, "");
    is_nowhere(REVERSED, &refused);
    let agreed = refused.again().args(["trust", "--yes"]).finish();
    assert_eq!(
        agreed.stdout,
        "agreed to:\n  promptfooconfig.yaml:2:11: let the value of the environment variable SECRET appear in results and files\n"
    );
    let run = refused.again().arg("eval").finish();
    run.expect_code(0);
    assert!(run.read("out.json").contains(REVERSED));
}

#[test]
fn it_is_asked_for_wherever_the_text_stands() {
    let tag = "{{ env.SECRET | reverse }}";
    let configs = [
        format!("description: '{tag}'\nprompts: [hi]\nproviders: [echo]\n"),
        format!("prompts: [{{ raw: hi, label: '{tag}' }}]\nproviders: [echo]\n"),
        format!("prompts: [hi]\nproviders: [{{ id: echo, label: '{tag}' }}]\n"),
        format!("prompts: [hi]\nproviders: ['echo:{tag}']\n"),
        format!("prompts: [hi]\nproviders: [{{ id: echo, transform: '\"{tag}\"' }}]\n"),
        format!("prompts: [hi]\nproviders: [{{ id: echo, pool: '{tag}' }}]\n"),
        format!("prompts: [hi]\nproviders: [{{ 'echo:my-token': {{ label: '{tag}' }} }}]\n"),
        format!("prompts: [hi]\nproviders: [echo]\ntests: [{{ vars: {{ a: '{tag}' }} }}]\n"),
        format!("prompts: [hi]\nproviders: [echo]\ntests: [{{ metadata: {{ a: '{tag}' }} }}]\n"),
        format!(
            "prompts: [hi]\nproviders: [echo]\ntests: [{{ assert: [{{ type: equals, value: '{tag}' }}] }}]\n"
        ),
        format!(
            "prompts: [hi]\nproviders: [{{ id: 'http://127.0.0.1:1/', config: {{ method: POST, body: x, transformResponse: '\"{tag}\"' }} }}]\n"
        ),
    ];
    for config in configs {
        let refused = evaluates(&format!("env: {{ SECRET: }}\n{config}")).finish();
        refused.expect_code(2);
        assert!(
            refused.stderr.contains(
                "let the value of the environment variable SECRET appear in results and files\n"
            ),
            "{config}{}",
            refused.stderr
        );
        is_nowhere(REVERSED, &refused);
    }
}

#[test]
fn what_a_config_says_itself_and_what_stays_with_the_host_needs_nothing() {
    let own = "env: { WORD: of the config }\nprompts: ['{{ env.WORD }}']\nproviders: [echo]\n";
    evaluates(own).finish().expect_code(0);
    // A credential goes to the server and nowhere else, also one that was made of a variable.
    let api = ModelApi::start();
    api.always(Answer::text(&format!("you said {REVERSED}")));
    let config = format!(
        "prompts: [hi]\nproviders:\n  - id: openai:gpt-test\n    config: {{ apiBaseUrl: '{}/v1', apiKey: '{{{{ env.SECRET | reverse }}}}' }}\n",
        api.url()
    );
    let finished = evaluates(&config)
        .args(["--trust-config", "-o", "out.json"])
        .finish();
    finished.expect_code(0);
    let sent = api.requests();
    assert_eq!(
        sent[0].header("authorization"),
        Some(format!("Bearer {REVERSED}").as_str())
    );
    is_nowhere(REVERSED, &finished);
    is_nowhere(SECRET, &finished);
}

/// A config that reads what it may not, and quotes it where something is wrong with it.
fn quoting(run: &Run) -> [String; 4] {
    let outside = run.home().join("secret.yaml");
    std::fs::write(&outside, format!("{SECRET}\n")).expect("the home is ours");
    let request = run.home().join("secret.txt");
    std::fs::write(&request, format!("{SECRET} is no request\n")).expect("the home is ours");
    let (outside, request) = (outside.display(), request.display());
    [
        "prompts: [hi]\nproviders: [{ $ref: .env.local }]\n".to_owned(),
        format!("prompts: [hi]\nproviders: ['file://{outside}']\n"),
        format!(
            "prompts: [hi]\nproviders: [{{ id: http, config: {{ url: 'http://127.0.0.1:1', request: 'file://{request}' }} }}]\n"
        ),
        "prompts: [hi]\nproviders: [{ id: http, config: { url: '{{ env.WHO }}' } }]\n".to_owned(),
    ]
}

#[test]
fn problems_that_may_quote_are_told_once_it_is_agreed_to() {
    let commands: [&[&str]; 4] = [
        &["eval"],
        &["config", "check"],
        &["trust"],
        &["plugin", "lock"],
    ];
    let run = Run::new().env("WHO", SECRET);
    let run = run.file(".env.local", format!("{SECRET}\n"));
    for (index, config) in quoting(&run).iter().enumerate() {
        let run = run.clone().config(config);
        // What a plugin says of its config is no matter of the lock file.
        let commands = if index < 2 {
            &commands[..]
        } else {
            &commands[..3]
        };
        for command in commands {
            let refused = run.clone().args(*command).finish();
            refused.expect_code(2);
            let told = &refused.stderr;
            assert!(!told.contains(SECRET), "{command:?}: {told}");
            // The other commands never send.
            let end = if **command == ["eval"] {
                "; nothing was sent:\n"
            } else {
                ":\n"
            };
            let begins =
                format!("error: the config asks for permissions that need your agreement{end}  ");
            let note = "\nnote: none of this is read before you agree; what else is asked for is found after it\nhelp: ";
            assert!(
                told.starts_with(&begins) && told.contains(note),
                "{command:?}: {told}"
            );
        }
        let unseen = run.clone().args(["eval", "--trust-config"]).finish();
        unseen.expect_code(2);
        assert!(unseen.stderr.contains(SECRET), "{}", unseen.stderr);
        let agreed = run.clone().args(["trust", "--yes"]).finish();
        agreed.expect_code(2);
        assert!(agreed.stderr.contains(SECRET), "{}", agreed.stderr);
        for command in commands {
            let told = run.clone().args(*command).finish();
            told.expect_code(2);
            assert!(!told.stderr.contains("agree"), "{}", told.stderr);
            assert!(told.stderr.contains(SECRET), "{}", told.stderr);
        }
        run.args(["trust", "--revoke"]).finish().expect_code(0);
    }
}

/// Each was a way to have a variable or a file of the person's printed, looked up or written down by
/// a program that asked for it.
#[test]
fn what_is_asked_for_tells_nothing_of_it() {
    let run = Run::new().env("WHO", SECRET);
    let outside = run.home().join("secret.json");
    std::fs::write(&outside, format!("{{\"a\": \"{SECRET}\"}}")).expect("the home is ours");
    let lines = run.home().join("secret.txt");
    std::fs::write(&lines, format!("{SECRET}\n")).expect("the home is ours");
    #[cfg(unix)]
    std::os::unix::fs::symlink(&lines, run.project().join("rows.csv")).expect("a link");
    let hook = "export function beforeAll(context) { context.suite.tests = \
         [{ vars: { q: 'file://../' + JSON.stringify(context.suite) } }]; return context }";
    let run = run.file("hook.js", hook);
    let outside = outside.display();
    let echo = "prompts: ['{{q}}']\nproviders: [echo]\n";
    let configs = [
        format!("{echo}env: {{ A: '{{{{ env.WHO }}}}' }}\noutputPath: '../{{{{ env.A | reverse }}}}.json'\n"),
        format!("{echo}env: {{ A: {{ $ref: '{outside}#/a' }} }}\noutputPath: '../{{{{ env.A }}}}.json'\n"),
        format!("{echo}env: {{ A: {{ $ref: '{outside}#/a' }} }}\nplugins: {{ webhook: {{ permissions: {{ hosts: ['https://{{{{ env.A }}}}.example'] }} }} }}\n"),
        format!("{echo}extensions: ['file://hook.js:beforeAll']\ntests: file://rows.csv\n"),
        format!("{echo}extensions: ['file://hook.js:beforeAll']\ntests: [{{ assert: [{{ type: contains, value: {{ $ref: '{outside}#/a' }} }}] }}]\n"),
        "prompts: [hi]\nproviders: [{ id: http, config: { url: 'http://10.0.0.1:{{ env.WHO | length }}' } }]\n".to_owned(),
        "prompts: [hi]\nproviders: [{ id: \"{{ 'openai:m' if env.WHO[0] == 'h' else 'echo' }}\", config: { apiBaseUrl: 'https://x.invalid' } }]\n".to_owned(),
    ];
    let commands: [&[&str]; 5] = [
        &["eval"],
        &["config", "check"],
        &["trust"],
        &["trust", "--show"],
        &["plugin", "lock"],
    ];
    for config in &configs {
        for command in commands {
            let refused = run.clone().config(config).args(command).finish();
            refused.expect_code(2);
            let told = format!("{}{}", refused.stdout, refused.stderr);
            assert!(told.contains("none of this is read"), "{config}: {told}");
            for text in [SECRET, REVERSED, "10.0.0.1", "openai.com", "x.invalid"] {
                assert!(!told.contains(text), "{config}: {told}");
            }
            assert!(!refused.again().project().join("runner.lock").exists());
        }
    }
}

#[test]
fn warnings_wait_as_well_and_what_asks_nothing_is_told_at_once() {
    let run = Run::new().file("p.txt", "hi").arg("eval");
    let outside = run.home().join("outside.txt");
    std::fs::write(&outside, "{{ nobody_sets_this }}").expect("the home is ours");
    let config = format!(
        "prompts: [{{ id: 'file://{}', label: mine }}]\nproviders: [echo]\n",
        outside.display()
    );
    let refused = run.clone().config(&config).finish();
    refused.expect_code(2);
    assert!(
        !refused.stderr.contains("nobody_sets_this"),
        "{}",
        refused.stderr
    );
    let agreed = run.clone().config(&config).arg("--trust-config").finish();
    assert_snapshot!("a_warning_once_it_is_agreed_to", agreed.told());
    let wrong = run
        .config("prompts: [p.txt]\nproviders: [nobody:x]\n")
        .finish();
    assert_snapshot!("a_problem_that_asks_nothing", wrong.told());
}

#[test]
fn what_is_no_ordinary_file_is_refused_without_being_opened() {
    let run = Run::new();
    let pipe = run.project().join("pipe.yaml");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo is there").success());
    let special = [
        (
            "/proc/self/environ",
            "belongs to the system and is never read",
        ),
        ("/dev/zero", "belongs to the system and is never read"),
        (
            "/sys/kernel/notes",
            "belongs to the system and is never read",
        ),
        ("pipe.yaml", "is not an ordinary file"),
    ];
    for (path, reason) in special {
        let configs = [
            format!("prompts: ['file://{path}']\nproviders: [echo]\n"),
            format!(
                "prompts: [hi]\nproviders: [echo]\ntests: [{{ vars: {{ a: 'file://{path}' }} }}]\n"
            ),
            format!("prompts: [hi]\nproviders: {{ $ref: '{path}' }}\n"),
            format!(
                "prompts: [hi]\nproviders: [echo]\nplugins: {{ mine: {{ source: '{path}' }} }}\n"
            ),
            format!(
                "prompts: [hi]\nproviders: [{{ id: http, config: {{ url: 'http://127.0.0.1:1', request: 'file://{path}' }} }}]\n"
            ),
        ];
        for config in configs {
            for command in [&["eval"][..], &["trust", "--yes"], &["plugin", "lock"]] {
                let finished = run.clone().config(&config).args(command).finish();
                finished.expect_code(2);
                assert!(
                    finished.stderr.contains(reason) && !finished.stderr.contains("agree"),
                    "{config}{}",
                    finished.stderr
                );
            }
        }
    }
}

#[test]
fn a_variable_of_a_row_can_not_be_where_a_request_goes() {
    let mut told = String::new();
    for url in [
        "http://{{a}}:9701/",
        "http://api.example.com{{a}}/",
        "http://{{a}}.example.com/",
        "http://127.0.0.1:{{a}}/",
        "{{a}}",
        "{{a}}://127.0.0.1/",
    ] {
        let config = format!(
            "prompts: [hi]\nproviders: [{{ id: http, config: {{ url: '{url}', method: GET }} }}]\ntests: rows.csv\n"
        );
        let run = Run::new()
            .config(&config)
            .file("rows.csv", "a\nlocalhost\n");
        let finished = run.args(["config", "check"]).finish();
        told += &finished.told_as(url);
    }
    assert_snapshot!(told);
}
