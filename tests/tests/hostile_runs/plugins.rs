//! What a plugin is and says of itself, and rows that it grades.

use std::path::Path;
use std::time::Duration;

use insta::assert_snapshot;
use runner_tests::{Finished, Run, guest};
use serde_json::Value;

use crate::hostile_runs::measured::{Measured, hostile, measured, rows};

/// Words that would be YAML or lines of ours, and schemas that would take the host: refused
/// before anything is asked or granted.
#[test]
fn what_a_plugin_says_of_itself_is_held_against_it() {
    for (kind, code) in [
        ("doubling-schema", "P012"),
        ("large-pattern", "P012"),
        ("lines-in-a-name", "P011"),
        ("lines-in-a-reason", "P011"),
    ] {
        let run = Run::new()
            .config("prompts: [hi]\nproviders: ['hostile:fine']\n")
            .file("hostile.wasm", hostile(kind))
            .args(["eval", "--plugin", "hostile.wasm"]);
        let Measured {
            finished,
            memory,
            time,
        } = measured(run);
        assert!(memory <= 300, "{kind}: {memory} MiB");
        assert!(time <= Duration::from_secs(30), "{kind}: {time:?}");
        finished.expect_code(2);
        let said = &finished.stderr;
        assert!(said.contains(code), "{kind}: {said}");
        for line in said.lines() {
            let line = line.trim_start();
            assert!(
                !line.starts_with("limits:") && !line.contains("evil"),
                "{kind}: {said}"
            );
        }
    }
}

/// It would read the config's own code, and answer in its place: the row that has to fail would pass.
#[test]
fn a_plugin_that_claims_the_configs_own_code_is_refused() {
    let path = guest("tests/claimant");
    let claimant = std::fs::read(path).expect("build it with `cargo xtask plugins`");
    let run = |arguments: &[&str]| {
        Run::new()
            .config(
                "prompts: [hi]\nproviders: [echo]\n\
                 tests: [{ assert: [{ type: javascript, value: 'file://p.js' }] }]\n",
            )
            .file("p.js", "module.exports = () => false;\n")
            .file("claimant.wasm", claimant.clone())
            .args(["eval", "--no-table"])
            .args(arguments)
            .finish()
    };
    run(&[]).expect_code(100);
    let refused = run(&["--plugin", "claimant.wasm"]);
    refused.expect_code(2);
    assert_snapshot!(refused.told());
}

/// Each costs its own row, within the limits that it has; the others pass, and nobody is told to
/// do what a guest says.
#[test]
fn hostile_rows_cost_themselves_only() {
    let kinds = [
        ("sleep", "C104"),
        ("spin", "C104"),
        ("hog", "C102"),
        ("flood", "C106"),
        ("handles", "C101"),
        ("wide-json", "C109"),
        ("deep-error", "C109"),
        ("last-words-help", "C101"),
        ("empty-fields", "-"),
        ("log-help", "-"),
        ("stdout-lines", "-"),
    ];
    // Guest time passes while others have the processor, too: room for a loaded machine.
    let mut config = "prompts: ['{{n}}']\nproviders: [echo]\nplugins:\n  hostile: { source: hostile.wasm, limits: { cpu_ms: 10000 } }\ntests:\n".to_owned();
    for (at, (kind, _)) in kinds.iter().enumerate() {
        let tests = [
            format!("  - {{ vars: {{ n: 'h{at}' }}, assert: [{{ type: {kind} }}] }}\n"),
            format!(
                "  - {{ vars: {{ n: 'g{at}' }}, assert: [{{ type: equals, value: 'g{at}' }}] }}\n"
            ),
        ];
        config += &tests.concat();
    }
    let run = Run::new()
        .config(&config)
        .file("hostile.wasm", hostile("as-it-should"))
        .args(["eval", "-o", "out.json", "-j", "8", "--trust-config"]);
    let Measured {
        finished,
        memory,
        time,
    } = measured(run);
    // Eight instances of 128 MiB, if all were full at once.
    assert!(memory <= 1_200, "{memory} MiB");
    assert!(time <= Duration::from_mins(1), "{time:?}");
    finished.expect_code(100);
    for row in rows(&finished) {
        let n = row["vars"]["n"].as_str().expect("a variable");
        let (who, at) = n.split_at(1);
        let code = row["errorCode"].as_str().unwrap_or("-");
        let at: usize = at.parse().expect("a number");
        let expected = if who == "h" { kinds[at].1 } else { "-" };
        assert_eq!(code, expected, "{n}: {}", row["error"]);
    }
    let said = &finished.stderr;
    assert!(
        said.contains("log lines") || said.contains("lines dropped"),
        "{said}"
    );
    assert!(
        !said
            .lines()
            .any(|line| line.starts_with("help: all is well")),
        "{said}"
    );
    assert!(!said.contains("\u{1b}[2K"), "{said}");
}

/// What the hostile provider answers to the tests of a config.
fn answers(config: &str) -> Vec<Value> {
    let run = Run::new()
        .config(config)
        .file("hostile.wasm", hostile("as-it-should"))
        .args(["eval", "-o", "out.json", "--no-table", "--trust-config"]);
    let finished = run.finish();
    finished.expect_code(0);
    let rows = rows(&finished);
    let answers = rows.iter().map(|row| row["response"]["output"].clone());
    answers.collect()
}

/// What a test expects stands in its variables: a provider of somebody else's could answer with it.
#[test]
fn a_provider_of_somebody_else_s_gets_the_prompt_and_no_variables() {
    let config = "prompts: ['what is {{n}}?']\nproviders: [{ id: 'hostile:options', config: { agreeable: true } }]\n\
                  plugins: { hostile: { source: hostile.wasm } }\n\
                  tests: [{ vars: { n: 1, expected: one }, options: { temperature: 0 } }]\n";
    assert_eq!(answers(config), [r#"{"temperature":0}"#]);
}

/// Nor can it try out what a test expects on the name that the call has.
#[test]
fn a_call_is_named_by_what_somebody_else_s_provider_is_given() {
    let config = "prompts: ['what is {{n}}?']\nproviders: [{ id: 'hostile:call-id', config: { agreeable: true } }]\n\
                  plugins: { hostile: { source: hostile.wasm } }\n\
                  tests: [{ vars: { n: 1, expected: one } }, { vars: { n: 1, expected: eins } }, { vars: { n: 2 } }]\n";
    let ids = answers(config);
    assert_eq!(ids[0], ids[1]);
    assert_ne!(ids[0], ids[2]);
}

/// Compiled code that others could have changed is not run: it is compiled anew, said once.
#[cfg(unix)]
#[test]
fn compiled_code_that_others_can_change_is_not_run() {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    let config =
        "prompts: [HI]\nproviders: [echo]\ntests: [{ assert: [{ type: equals, value: HI }] }]\n";
    let run = Run::new().config(config);
    let folder = run.home().join("cache/plugins");
    // What all tests share stays as it is.
    fs::remove_file(&folder).expect("a link of the harness");
    let first = run.args(["eval"]).finish();
    first.expect_code(0);
    let files = |folder: &Path| -> Vec<_> {
        let entries = fs::read_dir(folder).expect("there").flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let warned = |finished: &Finished| {
        let lines = finished.stderr.lines();
        lines.filter(|line| line.contains("compiled anew")).count()
    };
    assert_eq!(warned(&first), 0, "{}", first.stderr);

    // Others could have written them.
    for file in files(&folder) {
        let copy = fs::read(&file).expect("it is ours");
        fs::remove_file(&file).expect("it is ours");
        fs::write(&file, copy).expect("written");
        fs::set_permissions(&file, Permissions::from_mode(0o666)).expect("it is ours");
    }
    let again = first.again().args(["eval"]).finish();
    again.expect_code(0);
    assert_eq!(warned(&again), 1, "{}", again.stderr);

    // What was compiled anew took their place.
    let third = first.again().args(["eval"]).finish();
    assert_eq!(warned(&third), 0, "{}", third.stderr);
    for file in files(&folder) {
        let mode = fs::metadata(&file).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", file.display());
    }

    // Who could change a folder could give one file another's name, or put another folder there.
    for loose in [&*folder, folder.parent().expect("a folder above")] {
        fs::set_permissions(loose, Permissions::from_mode(0o777)).expect("it is ours");
        let trap = folder.join("trap.component");
        fs::write(&trap, "code").expect("written");
        let open = first.again().args(["eval"]).finish();
        open.expect_code(0);
        assert_eq!(warned(&open), 1, "{}: {}", loose.display(), open.stderr);
        assert!(!trap.exists(), "what was there is gone");
        let mode = fs::metadata(loose).expect("there").permissions().mode();
        assert_eq!(mode & 0o7777, 0o700, "{}", loose.display());
        let closed = first.again().args(["eval"]).finish();
        assert_eq!(warned(&closed), 0, "{}", closed.stderr);
    }
}
