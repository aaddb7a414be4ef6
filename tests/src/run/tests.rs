//! The harness itself, with the shell as the program.

use super::*;

fn shell(script: &str) -> Run {
    Run::new().program("/bin/sh").args(["-c", script])
}

#[test]
fn the_environment_is_empty_but_for_what_is_given() {
    let run = Run::new().program("/usr/bin/env").env("GIVEN", "1");
    let home = format!("RUNNER_HOME={}", run.home().display());
    let finished = run.finish();
    let mut lines: Vec<&str> = finished.stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["GIVEN=1", home.as_str()]);
}

#[test]
fn streams_and_exit_code_are_told_apart() {
    let finished = shell("echo out; echo err >&2; exit 7").finish();
    finished.expect_code(7);
    assert_eq!(
        (finished.stdout.as_str(), finished.stderr.as_str()),
        ("out\n", "err\n")
    );
}

#[test]
fn what_differs_from_run_to_run_is_told_by_words() {
    let finished = shell(
        "echo \"$PWD/a run-20261123-074927-0eb717 took   12.5 ms, x  0 s; 127.0.0.1:8080\"; \
         echo '0.0.0.0:80 2026-11-23 07:49 p50   p95 sha256 0123abcd…'; echo '  2026-11-23 x'; \
         echo '50 % · 1 of 2 cases · 0 passed' >&2; echo 0123456789abcdef >&2; \
         echo '100 % · 1 of 1 case · 1 passed' >&2; exit 3",
    );
    assert_eq!(
        finished.finish().told(),
        "exit code 3\n--- stdout\n[project]/a [run] took [time], x [time]; 127.0.0.1:[port]\n\
         0.0.0.0:[port] [when] p50 p95 sha256 [digest]…\n  [day] x\n\
         --- stderr\n[digest]"
    );
}

#[test]
fn runs_share_their_folders() {
    let run = shell("cat promptfooconfig.yaml; echo '{\"a\":1}' > out.json").config("prompts: [x]");
    let finished = run.finish();
    assert_eq!(finished.stdout, "prompts: [x]");
    assert_eq!(finished.json("out.json")["a"], 1);
    let again = finished.again().args(["-c", "cat out.json"]).finish();
    assert_eq!(again.stdout_json()["a"], 1);
}

#[test]
fn an_interrupt_reaches_the_program() {
    let running =
        shell("trap 'echo caught >&2; exit 130' INT; echo ready; while :; do sleep 0.05; done")
            .start();
    running.wait_for_stdout("ready");
    running.interrupt();
    running.wait_for_stderr("caught");
    running.finish().expect_code(130);
}

#[test]
#[should_panic(expected = "'never' did not appear in:\nonly this")]
fn a_text_that_does_not_come_fails_the_test_with_what_came() {
    shell("printf 'only this'").start().wait_for_stdout("never");
}

#[test]
#[should_panic(expected = "build it with `cargo xtask test`")]
fn a_missing_program_says_how_to_build_it() {
    Run::new().program("/nowhere/runner").finish();
}
