//! What the command says when it is called wrongly.
//!
//! This is also the test target that `program::build` names, so keep it free of libraries.

use std::process::{Command, Output};

fn xtask(words: &[&str]) -> std::io::Result<Output> {
    Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(words)
        .output()
}

#[test]
fn a_wrong_command_is_told_the_right_ones() -> std::io::Result<()> {
    let wrong: [&[&str]; 6] = [
        &[],
        &["plugin"],
        &["check", "lint"],
        &["plugins", "--toolchain", "gcc"],
        &["test", "x"],
        &["compat", "--promptfoo"],
    ];
    for words in wrong {
        let output = xtask(words)?;
        let talk = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {talk}");
        for command in ["quickstart", "test", "check", "plugins"] {
            assert!(
                talk.contains(&format!("\n  {command} ")),
                "{command} in {talk}"
            );
        }
        assert!(output.stdout.is_empty(), "stdout is for data");
    }
    Ok(())
}
