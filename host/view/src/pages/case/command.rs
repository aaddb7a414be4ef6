//! Commands about a case, to paste into a shell.

use runner_store::{Outcome, Row, RunHead};
use serde_json::Value;

use crate::pairing;
use crate::record::Record;

/// What each does, and the command.
pub(super) fn all(
    id: &str,
    head: &RunHead,
    row: &Row,
    record: &Record,
) -> Vec<(&'static str, String)> {
    let (test, column) = (row.test_idx.to_string(), row.prompt_idx.to_string());
    let mut all = Vec::new();
    all.extend(again(head, record).map(|command| ("Run its test again", command)));
    if row.outcome == Outcome::Error {
        all.push((
            "Run the errors of the run again",
            join(&["runner", "retry", id]),
        ));
    }
    all.push((
        "Show it",
        join(&["runner", "show", id, "--test", &test, "--column", &column]),
    ));
    all
}

/// The run's own command, and a filter for the test by its description: what else names a test
/// (its number) counts the cases of a plan, and not the tests of a config.
fn again(head: &RunHead, record: &Record) -> Option<String> {
    let description = pairing::given_description(&record.test_case)?;
    let options: Value = serde_json::from_str(&head.options_json).ok()?;
    let first = options["invocation"].get(0)?;
    let arguments = first["arguments"]
        .as_array()?
        .iter()
        .filter_map(Value::as_str);
    let pattern = format!("^{}$", escaped(description));
    let words: Vec<&str> = ["runner"]
        .into_iter()
        .chain(arguments)
        .chain(["--filter-pattern", &pattern])
        .collect();
    let run = join(&words);
    Some(match first["cwd"].as_str() {
        Some(folder) => format!("cd {} && {run}", join(&[folder])),
        None => run,
    })
}

/// Words as a shell reads them back; one that no shell can read is left as it is.
fn join(words: &[&str]) -> String {
    shlex::try_join(words.iter().copied()).unwrap_or_else(|_| words.join(" "))
}

/// A text that a regular expression takes for itself.
fn escaped(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for c in text.chars() {
        if r"\^$.|?*+()[]{}/".contains(c) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_safe_to_paste() {
        let record = Record {
            test_case: serde_json::json!({ "description": "it's $(rm -rf ~) (1+1)" }),
            ..Record::default()
        };
        let options = r#"{"invocation":[{"cwd":"/home/a b","arguments":["eval","-c","x.yaml"]}]}"#;
        let head = RunHead {
            config_json: String::new(),
            columns_json: String::new(),
            plugins_json: String::new(),
            options_json: options.to_owned(),
            seed: 0,
        };
        let command = again(&head, &record).expect("a command");
        let words = shlex::split(&command).expect("words");
        assert_eq!(words[..2], ["cd", "/home/a b"]);
        assert_eq!(
            words[3..],
            [
                "runner",
                "eval",
                "-c",
                "x.yaml",
                "--filter-pattern",
                r"^it's \$\(rm -rf ~\) \(1\+1\)$"
            ]
        );
    }
}
