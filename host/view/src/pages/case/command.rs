//! Commands about a case, to paste into a shell. They have no control characters: a terminal takes those
//! for keys before a shell sees the quotes around them.

use runner_store::{Outcome, Row, RunHead};
use serde_json::Value;

use crate::pairing;
use crate::record::Record;
use crate::site::Column;

/// Flags with a value that another run of one test shall not have.
const LEFT_OUT: [&str; 4] = ["--output", "--tag", "--shard", "--baseline"];

/// Characters of a column's name, of which the rest is left open.
const NAME_CHARS: usize = 200;

/// What each does, and the command.
pub(super) fn all(
    id: &str,
    head: &RunHead,
    row: &Row,
    record: &Record,
) -> Vec<(&'static str, String)> {
    let (test, column) = (row.test_idx.to_string(), row.prompt_idx.to_string());
    let mut all = Vec::new();
    all.extend(again(id, head, row, record).map(|command| ("Run its test again", command)));
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

/// The run's own command, with filters for the test and the column: by the test's description, which finds it on
/// any machine, or else as the test of this number in the kept run.
fn again(id: &str, head: &RunHead, row: &Row, record: &Record) -> Option<String> {
    let options: Value = serde_json::from_str(&head.options_json).ok()?;
    let first = options["invocation"].get(0)?;
    let arguments = first["arguments"].as_array()?.iter();
    let arguments = without_choice(arguments.filter_map(Value::as_str));
    let test = match pairing::given_description(&record.test_case) {
        Some(text) => [
            "--filter-pattern".to_owned(),
            format!("^{}$", escaped(text)),
        ],
        None => ["--filter-test".to_owned(), format!("{id}:{}", row.test_idx)],
    };
    let column = of_column(&head.columns_json, row.prompt_idx as usize);
    let filters = test.iter().chain(&column).map(String::as_str);
    let words: Vec<&str> = ["runner"]
        .into_iter()
        .chain(arguments)
        .chain(filters)
        .collect();
    let run = join(&words);
    let command = match first["cwd"].as_str() {
        Some(folder) => format!("cd {} && {run}", join(&[folder])),
        None => run,
    };
    Some(command).filter(|command| !command.contains(char::is_control))
}

/// A command line without what it chose of the config, what it wrote where, and what its run was tagged with.
fn without_choice<'a>(mut words: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        let flag = word.split_once('=').map_or(word, |(flag, _)| flag);
        let takes_value = LEFT_OUT.contains(&flag) || flag.starts_with("--filter-");
        let short = !word.starts_with("--") && ["-o", "-n"].iter().any(|it| word.starts_with(it));
        if takes_value && flag == word || short && word.len() == 2 {
            words.next();
        } else if !takes_value && !short && word != "--no-table" {
            kept.push(word);
        }
    }
    kept
}

/// The flags that tell a column from the others of its run.
fn of_column(columns_json: &str, idx: usize) -> Vec<String> {
    let columns: Vec<Column> = serde_json::from_str(columns_json).unwrap_or_default();
    let Some(own) = columns.get(idx) else {
        return Vec::new();
    };
    let filter = |flag: &str, of: fn(&Column) -> &str| {
        let name = of(own);
        let begins: String = name.chars().take(NAME_CHARS).collect();
        let end = if begins.len() == name.len() { "$" } else { "" };
        let pattern = format!("^{}{end}", escaped(&begins));
        let differs = columns.iter().any(|it| of(it) != name);
        differs.then(|| [flag.to_owned(), pattern])
    };
    let filters = [
        filter("--filter-providers", |it| &it.provider),
        filter("--filter-prompts", |it| &it.label),
    ];
    filters.into_iter().flatten().flatten().collect()
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
    use serde_json::json;

    use super::*;

    fn command(test: &Value, folder: &str, flags: &[&str]) -> Option<String> {
        let record = Record {
            test_case: test.clone(),
            ..Record::default()
        };
        let arguments = [&["eval", "-c", "x.yaml"], flags].concat();
        let invocation = json!({ "cwd": folder, "arguments": arguments });
        let columns = ["a", "b"].map(|it| json!({ "provider": it, "label": "Hello {{n}}" }));
        let head = RunHead {
            config_json: String::new(),
            columns_json: json!(columns).to_string(),
            plugins_json: String::new(),
            options_json: json!({ "invocation": [invocation] }).to_string(),
            seed: 0,
        };
        let row = Row {
            test_idx: 17,
            prompt_idx: 1,
            row_id: "row".to_owned(),
            identity: None,
            outcome: Outcome::Failed,
            score: 0.0,
            latency_ms: None,
            cost_usd: None,
            grading_usd: None,
            saved_usd: None,
            input_tokens: None,
            output_tokens: None,
            cached: false,
            record_json: String::new(),
        };
        again("run-1", &head, &row, &record)
    }

    fn described(description: &str) -> Value {
        json!({ "description": description })
    }

    #[test]
    fn a_test_without_a_description_is_found_by_its_run_and_number() {
        let flags = [
            "-o",
            "x.json",
            "-oy.md",
            "--output=z.html",
            "-n",
            "5",
            "-n5",
            "--tag",
            "build=28",
            "--no-table",
            "-j",
            "2",
            "--filter-range",
            "0:9",
            "--filter-failing=run-0",
            "--shard",
            "1/2",
            "--var",
            "n=1",
        ];
        let command = command(&json!({}), "/x", &flags).expect("a command");
        assert_eq!(
            command,
            "cd /x && runner eval -c x.yaml -j 2 --var 'n=1' --filter-test run-1:17 --filter-providers '^b$'"
        );
    }

    #[test]
    fn a_command_is_safe_to_paste() {
        let command =
            command(&described("it's $(rm -rf ~) (1+1)"), "/home/a b", &[]).expect("a command");
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
                r"^it's \$\(rm -rf ~\) \(1\+1\)$",
                "--filter-providers",
                "^b$"
            ]
        );
    }

    #[test]
    fn a_command_has_no_keys_of_a_terminal() {
        let shown =
            command(&described("a\u{3}\ntouch pwned\n\u{9b}b"), "/home/a", &[]).expect("a command");
        let words = shlex::split(&shown).expect("words");
        assert_eq!(words[words.len() - 3], r"^a.\stouch pwned\s.b$");
        assert!(!shown.contains(char::is_control));
        assert_eq!(command(&described("a"), "/home/\u{3}", &[]), None);
    }
}
