//! Commands about a case, to paste into a shell. They have no control characters: a terminal takes those
//! for keys before a shell sees the quotes around them.

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
    let command = match first["cwd"].as_str() {
        Some(folder) => format!("cd {} && {run}", join(&[folder])),
        None => run,
    };
    Some(command).filter(|command| !command.contains(char::is_control))
}

/// Words as a shell reads them back; one that no shell can read is left as it is.
fn join(words: &[&str]) -> String {
    shlex::try_join(words.iter().copied()).unwrap_or_else(|_| words.join(" "))
}

/// A regular expression for a text, in which control characters stand as any others of their kind.
fn escaped(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            pattern.push_str(if c.is_whitespace() { r"\s" } else { "." });
            continue;
        }
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

    fn command(description: &str, folder: &str) -> Option<String> {
        let record = Record {
            test_case: serde_json::json!({ "description": description }),
            ..Record::default()
        };
        let invocation =
            serde_json::json!({ "cwd": folder, "arguments": ["eval", "-c", "x.yaml"] });
        let head = RunHead {
            config_json: String::new(),
            columns_json: String::new(),
            plugins_json: String::new(),
            options_json: serde_json::json!({ "invocation": [invocation] }).to_string(),
            seed: 0,
        };
        again(&head, &record)
    }

    #[test]
    fn a_command_is_safe_to_paste() {
        let command = command("it's $(rm -rf ~) (1+1)", "/home/a b").expect("a command");
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

    #[test]
    fn a_command_has_no_keys_of_a_terminal() {
        let shown = command("a\u{3}\ntouch pwned\n\u{9b}b", "/home/a").expect("a command");
        let words = shlex::split(&shown).expect("words");
        assert_eq!(words.last().expect("the pattern"), r"^a.\stouch pwned\s.b$");
        assert!(!shown.contains(char::is_control));
        assert_eq!(command("a", "/home/\u{3}"), None);
    }
}
