//! `defaultTest`, with what else lies under every test: `metadata` of the config, `--var`.

use serde_json::{Map, Value};

use super::programs::program;
use super::reading::Reading;
use super::test_case::{Draft, Form, TestReader};
use crate::model::{COMMAND_LINE, Position, TextOrigin};
use crate::overrides::Overrides;
use crate::read::entry::Entry;
use crate::read::files::{FileContents, without_scheme};

/// Reads the key of every config, with the reader that belongs to it, and what flags say.
pub(crate) fn read(
    roots: &[Entry<'_>],
    readers: &[TestReader<'_>],
    overrides: &Overrides,
) -> Draft {
    let drafts = roots
        .iter()
        .zip(readers)
        .map(|(root, tests)| one(root, tests));
    let merged = drafts.reduce(|default, later| default.under(later));
    let mut default = merged.unwrap_or_default();
    if let Some(tests) = readers.first() {
        variables(&mut default, &overrides.vars, tests);
        if let Some(grader) = &overrides.grader {
            default.judges = tests.judge(grader).or(default.judges);
        }
    }
    for (option, flag) in [
        ("prefix", &overrides.prompt_prefix),
        ("suffix", &overrides.prompt_suffix),
    ] {
        if let (Some(text), Some(tests)) = (flag, readers.first()) {
            affix(&mut default, option, text, tests.reading);
        }
    }
    default
}

/// The key of one config; a text is the path of a YAML or JSON file.
fn one(root: &Entry<'_>, tests: &TestReader<'_>) -> Draft {
    let reading = tests.reading;
    let mut default = match root.get("defaultTest") {
        None => Draft::default(),
        Some(entry) => match entry.text() {
            None => tests.read(&entry, Form::Part).unwrap_or_default(),
            Some(path) if program(path).is_some() => {
                let message = format!("'{path}': code can't make `defaultTest`");
                let help = "write it as YAML or JSON; code in it may be file://x.js";
                reading.findings.error_help(entry.at(), message, help);
                Draft::default()
            }
            Some(path) => {
                let shown = reading.files.shown(without_scheme(path));
                let files = reading.files;
                let tree = files.tree(&shown, &entry.at(), entry.origin, reading.findings);
                let draft = tree.and_then(|mut node| {
                    let findings = reading.findings;
                    let declared = reading.declared;
                    let origin = files.origin_of(&shown, FileContents::Tests, entry.origin);
                    let is_data = origin.is_data();
                    if !is_data && !declared.fill_tests(&mut node, &shown, findings) {
                        return None;
                    }
                    tests.read(&Entry::root(&node, &shown, &origin), Form::Part)
                });
                draft.unwrap_or_default()
            }
        },
    };
    if let Some(metadata) = root.get("metadata") {
        match metadata.node.json_as_written() {
            Value::Object(mut common) => {
                common.extend(std::mem::take(&mut default.metadata));
                default.metadata = common;
            }
            _ => metadata.mismatch(reading.findings, "a map"),
        }
    }
    default
}

/// Adds the variables of `--var`: a file in one is relative to the first config.
fn variables(default: &mut Draft, flags: &Map<String, Value>, tests: &TestReader<'_>) {
    for (name, value) in flags {
        if let Some(text) = value.as_str() {
            let at = Position {
                key: format!("--var {name}"),
                ..Position::default()
            };
            tests.vars.value(text, &at, &TextOrigin::Person, true);
        }
        default.vars.insert(name.clone(), value.clone());
    }
}

/// Sets `--prompt-prefix` or `--prompt-suffix`: over the option of `defaultTest`, under that of a test.
fn affix(default: &mut Draft, option: &str, text: &str, reading: Reading<'_>) {
    let at = Position {
        file: COMMAND_LINE.into(),
        ..Position::default()
    };
    let declared = reading.declared;
    declared.note_reads_of_part(text, &at, reading.findings);
    for options in [&mut default.options, &mut default.options_written] {
        options.insert(option.to_owned(), text.into());
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::Folder;

    #[test]
    fn a_prefix_by_flag_stands_over_the_default_and_under_a_tests_own() {
        let mut folder = Folder::new(
            "prompts: ['{{q}}']\nproviders: [echo]\ndefaultTest: { options: { prefix: 'd ', suffix: ' d' } }\n\
             tests: [{ vars: { q: 1, w: x } }, { vars: { q: 2 }, options: { prefix: 't ' } }]",
        );
        assert_eq!(folder.texts(), ["d 1 d", "t 2 d"]);
        folder.overrides.prompt_prefix = Some("{{w}} ".to_owned());
        assert_eq!(folder.texts(), ["x 1 d", "t 2 d"]);
        folder.overrides.prompt_suffix = Some(String::new());
        assert_eq!(folder.texts(), ["x 1", "t 2"]);
        let options = &folder.plan().tests.get(0).expect("a test").json["options"];
        assert_eq!(options["prefix"], "{{w}} ");
    }

    /// Only YAML is a part of the config; whatever else is named gives values.
    #[test]
    fn what_a_file_of_another_kind_gives_are_values() {
        let vars = r#"{"z": "{{ env.WORD }}", "q": "1"}"#;
        let test = format!(r#"{{"vars": {vars}}}"#);
        for (name, sees_env) in [("d.yaml", true), ("d.json", false), ("d.txt", false)] {
            for (key, content) in [
                (
                    format!("defaultTest: file://{name}\ntests: [{{ vars: {{ a: 1 }} }}]"),
                    &*test,
                ),
                (format!("tests: [{{ vars: 'file://{name}' }}]"), vars),
            ] {
                let config = format!(
                    "env: {{ WORD: w0rd }}\nprompts: ['{{{{z}}}}']\nproviders: [echo]\n{key}"
                );
                let folder = Folder::new(&config).file(name, content);
                assert_eq!(folder.texts() == ["w0rd"], sees_env, "{key}");
            }
        }
    }

    #[test]
    fn a_prefix_by_flag_asks_for_what_the_config_puts_under_its_names() {
        let mut folder =
            Folder::new("env: { TOPIC: '{{ env.OUT }}' }\nprompts: [p]\nproviders: [echo]")
                .env("OUT", "host-42");
        folder.overrides.prompt_prefix = Some("{{ env.TOPIC }} ".to_owned());
        assert_eq!(folder.texts(), ["host-42 p"]);
        assert_eq!(
            folder.withheld(),
            [
                "command line: : let the value of the environment variable OUT appear in results and files"
            ]
        );
        folder.overrides.prompt_prefix = None;
        folder.overrides.given.prompts = vec!["{{ env.TOPIC }}".to_owned()];
        assert_eq!(folder.withheld().len(), 1);
    }

    #[test]
    fn a_grader_by_flag_stands_over_the_default_and_under_a_tests_own() {
        let mut folder = Folder::new(
            "prompts: [p]\nproviders: [echo]\ndefaultTest: { assert: [{ type: llm-rubric, value: v }], options: { provider: 'openai:d' } }\n\
             tests: [{ vars: { q: 1 } }, { vars: { q: 2 }, options: { provider: 'openai:t' } }]",
        );
        folder.overrides.grader = Some("openai:flag".to_owned());
        let plan = folder.plan();
        let judge = |test: usize| {
            let judges = plan.tests.get(test).expect("a test").assertions[0].members()[0].judges;
            let id = judges.text.expect("somebody is asked");
            plan.judges[id.0 as usize].id.clone()
        };
        assert_eq!(
            (judge(0).as_str(), judge(1).as_str()),
            ("openai:flag", "openai:t")
        );
        folder.overrides.grader = Some("nobody:x".to_owned());
        let problems = folder.problems();
        assert!(problems[0].contains("--grader"), "{problems:?}");
    }

    #[test]
    fn a_variable_by_flag_stands_over_the_default_and_under_a_tests_own() {
        let mut folder = Folder::new(
            "prompts: ['{{a}} {{b}} {{c}}']\nproviders: [echo]\ndefaultTest: { vars: { a: d, b: d, c: d } }\n\
             tests: [{ vars: { a: t } }]",
        );
        folder.overrides.vars.insert("a".to_owned(), "flag".into());
        folder.overrides.vars.insert("b".to_owned(), "flag".into());
        assert_eq!(folder.texts(), ["t flag d"]);
    }
}
