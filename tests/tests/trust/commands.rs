//! `runner trust`: what it takes, shows and forgets, and for which configs its answers are.

use insta::assert_snapshot;
use runner_tests::{ModelApi, Run};

use super::{config, elsewhere, run};

/// A run of two configs of two folders, of which one asks for something.
fn two_folders(address: &str) -> Run {
    let more = "tests: [{ vars: { q: one } }]\n";
    let run = run(more).without_args();
    run.file("a/plain.yaml", more)
        .file("b/asks.yaml", config(address))
}

#[test]
fn what_two_folders_ask_for_together_is_agreed_to_for_both_together() {
    let api = ModelApi::start();
    let address = elsewhere(&api);
    let run = two_folders(&address);
    let both = ["-c", "a/plain.yaml", "-c", "b/asks.yaml"];
    let agreed = run.clone().args(["trust", "--yes"]).args(both).finish();
    agreed.expect_code(0);
    run.clone().arg("eval").args(both).finish().expect_code(0);
    assert_eq!(api.requests().len(), 1);
    // Neither folder has it alone: what is there now was written later.
    let mut told = String::new();
    for folder in ["a", "b"] {
        let run = run
            .clone()
            .file(&format!("{folder}/later.yaml"), config(&address));
        let later = run
            .args(["eval", "-c", &format!("{folder}/later.yaml")])
            .finish();
        told += &later.told_as(&format!("a config of {folder} that came later"));
    }
    assert_eq!(api.requests().len(), 1);
    let listed = run.clone().args(["trust", "--list"]).finish();
    told += &listed.told_as("what was agreed to");
    // Taken back from one, it is taken back from both.
    let revoked = run.clone().args(["trust", "--revoke", "b"]).finish();
    told += &revoked.told_as("taken back from b");
    assert_snapshot!(told);
    run.arg("eval").args(both).finish().expect_code(2);
}

#[test]
fn what_is_taken_back_has_to_be_there_or_to_be_remembered() {
    let api = ModelApi::start();
    let address = elsewhere(&api);
    let run = run(&config(&address))
        .without_args()
        .file("gone/asks.yaml", config(&address));
    for config in ["promptfooconfig.yaml", "gone/asks.yaml"] {
        let agreed = run.clone().args(["trust", "--yes", config]).finish();
        agreed.expect_code(0);
    }
    let refused = run
        .clone()
        .args(["trust", "--revoke", "promptfooconfig.yaml", "typo.yaml"])
        .finish();
    refused.expect_code(2);
    assert_eq!(
        refused.stderr,
        "error: typo.yaml does not exist, and nothing was agreed to for a folder of that name\n\
         help: `runner trust --list` names the folders\n"
    );
    run.clone().arg("eval").finish().expect_code(0);
    let project = run.project().canonicalize().expect("it is there");
    std::fs::remove_dir_all(project.join("gone")).expect("it is ours");
    let revoked = run
        .clone()
        .args(["trust", "--revoke", "promptfooconfig.yaml", "gone"])
        .finish();
    revoked.expect_code(0);
    assert_eq!(
        revoked.stdout,
        format!(
            "forgotten: 1 agreement for configs in {0}\n\
             forgotten: 1 agreement for configs in {0}/gone\n",
            project.display()
        )
    );
    let listed = run.args(["trust", "--list"]).finish();
    assert_eq!(listed.stdout, "nothing was agreed to\n");
}

#[test]
fn flags_that_change_nothing_that_is_asked_are_refused() {
    let run = run("prompts: [hi]\nproviders: [echo]\n").without_args();
    for flags in [
        &["-o", "x.json"][..],
        &["--resume"],
        &["-j", "2"],
        &["--no-cache"],
        &["--trust-config"],
        &["--watch"],
    ] {
        for command in [&["trust"][..], &["plugin", "lock"]] {
            let refused = run.clone().args(command.iter().chain(flags).copied());
            let refused = refused.finish();
            refused.expect_code(2);
            let told = format!("unexpected argument '{}'", flags[0]);
            assert!(refused.stderr.contains(&told), "{}", refused.stderr);
        }
    }
    let all = "trust -c promptfooconfig.yaml -p hi -r echo --var a=b -n 1 --filter-prompts hi \
               --prompt-prefix x --grader echo";
    let taken = run.args(all.split_whitespace()).finish();
    taken.expect_code(0);
    assert_eq!(taken.stdout, "nothing here needs your agreement\n");
}

#[test]
fn everything_is_shown_without_a_question_and_the_code_says_whether_it_is_agreed_to() {
    let api = ModelApi::start();
    let address = elsewhere(&api);
    let run = run(&config(&address)).without_args();
    let line = format!(
        "  promptfooconfig.yaml:5:19: send the environment variable OPENAI_API_KEY to {address}\n"
    );
    let show = run.clone().args(["trust", "--show"]);
    let open = show.clone().finish();
    open.expect_code(2);
    let heading = "the config asks for permissions that need your agreement; not agreed to:\n";
    assert_eq!(
        (&*open.stdout, &*open.stderr),
        (&*format!("{heading}{line}"), "")
    );
    run.args(["trust", "--yes"]).finish().expect_code(0);
    let agreed = show.finish();
    agreed.expect_code(0);
    assert_eq!(agreed.stdout, format!("agreed to:\n{line}"));
    assert!(api.requests().is_empty());
}

/// The command that a refusal names, its first word left out.
fn command(stderr: &str, run: &Run) -> Vec<String> {
    let command = stderr.split('`').nth(1).expect("a command");
    let words = format!("printf '%s\\n' {command}");
    let said = std::process::Command::new("sh")
        .args(["-c", &words])
        .current_dir(run.project())
        .output()
        .expect("there is a shell");
    let words = String::from_utf8(said.stdout).expect("text");
    words.lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn the_command_in_a_refusal_works_when_it_is_pasted() {
    let api = ModelApi::start();
    let address = elsewhere(&api);
    let flags = [
        "-c",
        "it's a/config one.yaml",
        "-p",
        "say $HOME {{q}}",
        "-t",
        "more tests.csv",
        "--var",
        "api_key=hunter2hunter2",
        "--env-file",
        "my own.env",
        "--prompt-prefix=-x",
    ];
    let run = run("")
        .file("it's a/config one.yaml", config(&address))
        .file("more tests.csv", "q\none\n")
        .file("my own.env", "A=b\n")
        .args(flags);
    let refused = run.clone().finish();
    assert_snapshot!(refused.told());
    assert!(!refused.stderr.contains("hunter2"), "{}", refused.stderr);
    let mut pasted = command(&refused.stderr, &run);
    assert_eq!(pasted[0], "trust");
    let home = pasted.iter().position(|word| word == "say $HOME {{q}}");
    assert!(home.is_some(), "{pasted:?}");
    pasted.push("--yes".to_owned());
    run.clone()
        .without_args()
        .args(pasted)
        .finish()
        .expect_code(0);
    run.finish().expect_code(0);
    assert_eq!(api.requests().len(), 1);
}

#[test]
fn more_than_a_question_holds_can_be_read_elsewhere() {
    let outside = (0..60).fold(Run::new(), |run, n| run.file(&format!("{n}.txt"), "x"));
    let outside = outside.project().display().to_string();
    let reads = (0..60).fold(String::new(), |reads, n| {
        reads + &format!("  - vars: {{ v: file://{outside}/{n}.txt }}\n")
    });
    let run = run(&format!(
        "prompts: ['{{{{v}}}}']\nproviders: [echo]\ntests:\n{reads}"
    ));
    let refused = run.clone().finish();
    refused.expect_code(2);
    // Fifty lines alike come before it.
    assert!(
        refused
            .stderr
            .contains("\n  and 10 more, see `runner trust --show`\n"),
        "{}",
        refused.stderr
    );
    let shown = run.without_args().args(["trust", "--show"]).finish();
    shown.expect_code(2);
    let lines = shown.stdout.lines();
    let reads = lines.filter(|line| line.contains(": read the file /"));
    assert_eq!(reads.count(), 60, "{}", shown.stdout);
}
