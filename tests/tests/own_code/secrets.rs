//! What code of a config is given of the environment, and what is shown of it.

use crate::own_code::{on_this_machine, outputs, rows, trusted};

#[test]
fn what_code_says_while_a_config_is_read_is_masked() {
    const LOUD: &str = "import os, openai_like\ndef gen(config=None):\n    all = os.environ['MY_KEY'] + ' at ' + os.environ['DATABASE_URL']\n    print('with', all)\n    raise ValueError('no ' + all)";
    let run = trusted()
        .env("MY_KEY", "a-key-of-my-own")
        .env("DATABASE_URL", "postgres://me:pw@db")
        .file("loud.py", LOUD)
        .file("openai_like.py", "import subprocess")
        .config("prompts: [p]\nproviders: [echo]\ntests: file://loud.py:gen");
    let finished = run.args(["eval", "-v"]).finish();
    finished.expect_code(2);
    let told = finished.told();
    for value in ["a-key-of-my-own", "postgres://me:pw@db"] {
        assert!(!told.contains(value), "{told}");
    }
    for said in [
        "with [masked] at [masked]",
        "ValueError: no [masked] at [masked]",
    ] {
        assert!(told.contains(said), "{told}");
    }
}

/// What rows bring is agreed to apart, and has an interpreter of its own.
#[test]
fn code_of_rows_has_no_part_in_what_the_config_s_is_given() {
    const SAYS: &str = "import fs from 'node:fs'; const name = ['MY', 'KEY'].join('_'); export default () => ({ pass: true, score: 1, reason: `${process.pid} ${process.env[name]}` });";
    let run = on_this_machine()
        .env("RUNNER_TRUST", "data")
        .env("MY_KEY", "a key of mine")
        .file("own.mjs", format!("{SAYS} process.env.MY_KEY;"))
        .file("theirs.mjs", SAYS)
        .file("rows.jsonl", "{\"assert\": [{\"type\": \"javascript\", \"value\": \"file://theirs.mjs\"}]}")
        .config("prompts: [p]\nproviders: [echo]\ndefaultTest: { assert: [{ type: javascript, value: file://own.mjs }] }\ntests: rows.jsonl");
    let finished = run.args(["eval", "-o", "out.json", "--no-table"]).finish();
    finished.expect_code(0);
    let grades = &rows(&finished)[0]["gradingResult"]["componentResults"];
    let mut said: Vec<Vec<&str>> = (0..2)
        .map(|index| {
            grades[index]["reason"]
                .as_str()
                .expect("a reason")
                .split(' ')
                .collect()
        })
        .collect();
    said.sort_by_key(|words| words[1]);
    assert_ne!(said[0][0], said[1][0], "{said:?}");
    assert_eq!(
        said.iter().filter(|words| words[1] == "undefined").count(),
        1,
        "{said:?}"
    );
}

/// A driver of a database quotes its address in an error.
#[test]
fn what_a_program_was_given_does_not_show_whatever_it_is_called() {
    let says = "import os, socket\ndef call_api(p, o, c): return {'output': ' '.join([os.environ['DATABASE_URL'], os.environ['NOTE'], os.environ['TAKEN']])}";
    let run = trusted()
        .file("db.py", says)
        .config("env: { TAKEN: 'from {{ env.SOURCE }}' }\nprompts: [p]\nproviders: [file://db.py]")
        .env("DATABASE_URL", "postgres://me:pw@db")
        .env("SOURCE", "source-of-mine")
        .env("NOTE", "a note of mine");
    let eval = ["eval", "-o", "out.json", "--no-table"];
    let finished = run.args(eval).finish();
    assert_eq!(outputs(&finished), ["[masked] [masked] from [masked]"]);
    // Unless it was agreed that it appears.
    let shown = finished.again().config(
        "env: { TAKEN: '', NOTE: '{{ env.NOTE }}' }\nprompts: ['{{ env.NOTE }}']\nproviders: [file://db.py]",
    );
    let shown = shown.args(eval).finish();
    assert_eq!(outputs(&shown), ["[masked] a note of mine "]);
}

/// Logs are told line by line, and errors keep the last lines.
#[test]
fn no_line_of_a_key_of_several_lines_shows() {
    let line = |nth: u8| format!("{nth:02}{}", "Qw8+x/Zt".repeat(7));
    let lines: Vec<String> = (0..50).map(line).collect();
    let key = format!(
        "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----",
        lines.join("\n")
    );
    let run = trusted()
        .file("x.sh", "echo \"no key: $MY_PRIVATE_KEY\" >&2\nexit 3\n")
        .file("x.py", "import os, sys\ndef call_api(p, o, c):\n    print(os.environ['MY_PRIVATE_KEY'])\n    raise ValueError('no key: ' + os.environ['MY_PRIVATE_KEY'])")
        .env("MY_PRIVATE_KEY", key)
        .config("env: { MY_PRIVATE_KEY: '{{ env.MY_PRIVATE_KEY }}' }\nprompts: [p]\nproviders: ['exec: sh x.sh', 'file://x.py']");
    let finished = run
        .args(["eval", "-v", "-o", "out.json", "--no-table"])
        .finish();
    finished.expect_code(100);
    let kept = std::fs::read_to_string(finished.again().project().join("out.json"));
    let said = kept.expect("results") + &finished.told();
    assert!(said.contains("[masked]"), "{said}");
    for line in &lines {
        assert!(!said.contains(line), "{said}");
    }
}

/// Nobody masks what is logged where programs are started.
#[test]
fn what_a_program_prints_between_its_calls_is_not_in_the_diagnostics() {
    const LATE: &str = "import atexit, os\natexit.register(lambda: os.write(2, os.environ['MY_KEY'].encode() + b'\\n'))\ndef call_api(p, o, c): return {'output': 'ok'}";
    let run = trusted()
        .env("MY_KEY", "a-key-of-my-own")
        .env("RUNNER_LOG", "runner_process=debug")
        .file("late.py", LATE)
        .config("prompts: [p]\nproviders: [file://late.py]");
    let finished = run.args(["eval", "--no-table"]).finish();
    finished.expect_code(0);
    let told = finished.told();
    assert!(
        told.contains("a program printed beside its calls bytes=15"),
        "{told}"
    );
    assert!(!told.contains("a-key-of-my-own"), "{told}");
}

/// A program is handed all of its config; who commits a recording of it commits no key.
#[test]
fn a_key_that_a_config_writes_for_a_program_does_not_show() {
    let run = trusted()
        .file("says.py", "def call_api(p, o, c):\n    print(o['config']['apiKey'])\n    return {'output': o['config']['apiKey']}")
        .file("x.sh", "echo \"$2\" >&2; echo \"$2\"")
        .config("prompts: [p]\nproviders: [{ id: 'exec: sh x.sh', config: { apiKey: literal-key-777 } }, { id: file://says.py, config: { apiKey: literal-key-888 } }]");
    let finished = run
        .args([
            "eval",
            "-v",
            "--record",
            "tape.jsonl",
            "-o",
            "out.json",
            "--no-table",
        ])
        .finish();
    finished.expect_code(0);
    let read =
        |name| std::fs::read_to_string(finished.again().project().join(name)).expect("written");
    for said in [finished.told(), read("tape.jsonl"), read("out.json")] {
        assert!(
            said.contains("[masked]") && !said.contains("literal-key"),
            "{said}"
        );
    }
}

const KEYS: &str = r#"
import os, openai_like

def call_api(prompt, options, context):
    names = ["MY_KEY", "DECLARED", "OTHER_KEY", "HOME"]
    return {"output": " ".join(f"{name}={os.environ.get(name)}" for name in names)}
"#;

#[test]
fn a_program_sees_what_it_was_given_and_what_it_says_is_masked() {
    let run = trusted()
        .file("keys.py", KEYS.replace("OTHER_KEY", "OTHER\" \"_KEY"))
        .file("openai_like.py", "import socket")
        .config("env: { DECLARED: here }\nprompts: [p]\nproviders: [file://keys.py]")
        .env("MY_KEY", "sk-secret-12345678")
        .env("OTHER_KEY", "sk-other-12345678")
        .env("HOME", "/home/ada")
        .args(["eval", "-o", "out.json", "--no-table"]);
    let finished = run.finish();
    assert_eq!(
        outputs(&finished),
        ["MY_KEY=[masked] DECLARED=here OTHER_KEY=None HOME=/home/ada"]
    );
    let stored = std::fs::read(finished.again().home().join("runs.db")).unwrap_or_default();
    let secret = b"sk-secret-12345678";
    assert!(!stored.windows(secret.len()).any(|window| window == secret));
}

#[test]
fn what_a_program_prints_in_latin_1_is_masked() {
    const SAYS: &str = "printf 'login failed for p\\344ssw\\366rd-geheim'\nprintf 'warn p\\344ssw\\366rd-geheim\\n' >&2\n";
    let run = trusted()
        .env("A_PASSWORD", "pässwörd-geheim")
        .file("x.sh", SAYS)
        .config("env: { A_PASSWORD: '{{ env.A_PASSWORD }}' }\nprompts: [p]\nproviders: ['exec: sh x.sh']");
    let finished = run.args(["eval", "-o", "out.json"]).finish();
    finished.expect_code(0);
    let said = &rows(&finished)[0]["response"]["output"];
    assert_eq!(said, "login failed for [masked]");
    assert!(
        finished.stderr.contains("warn [masked]"),
        "{}",
        finished.stderr
    );
}
