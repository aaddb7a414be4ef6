//! Names that a prompt prints and nobody sets: nearly always a typing mistake, and silent, since
//! what is undefined prints as nothing.
//!
//! Only what is printed without a condition counts: `{{ name }}`, `{{ name.part | upper }}`. A
//! name that a statement mentions (`{% if name %}`), or an expression with a condition or a
//! default in it, is known to be missing at times; so are names of the run (`env`, `__…`). One
//! test of the run that sets the name is enough: tests may leave some out on purpose.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use crate::model::Findings;
use crate::plan::{CONVERSATION, Column, Prompt, Tests};
use crate::template::{Piece, Template, pieces, tolerates_nothing, words};

/// Names that no test has to set.
const GIVEN: [&str; 3] = ["env", "range", CONVERSATION];

/// Warns once of each name, where the first prompt that prints it stands.
pub(super) fn warn(columns: &[Arc<Column>], tests: &Tests, findings: &Findings) {
    // A test that could not be read may set it.
    if !findings.is_clean() {
        return;
    }
    let mut set: BTreeSet<&str> = BTreeSet::new();
    for test in tests.models() {
        set.extend(test.vars.keys().map(String::as_str));
        // A register is a variable of the tests after it.
        let register = test.options.get("storeOutputAs");
        set.extend(register.and_then(|name| name.as_str()));
    }
    let mut seen: HashSet<*const Prompt> = HashSet::new();
    let mut told: BTreeSet<String> = BTreeSet::new();
    for column in columns {
        let prompt = &column.prompt;
        if !seen.insert(Arc::as_ptr(prompt)) {
            continue;
        }
        for name in printed(prompt) {
            let given = GIVEN.contains(&name.as_str()) || name.starts_with("__");
            if given || set.contains(name.as_str()) || told.contains(&name) {
                continue;
            }
            let help = match findings.did_you_mean(&name, set.iter().copied()) {
                Some(meant) => format!("did you mean '{{{{{meant}}}}}'?"),
                None => format!(
                    "set it in `vars`, or write {{{{ {name} | default('') }}}} if it may be missing"
                ),
            };
            let message = format!("no test sets '{name}', which the prompt prints: it is empty");
            findings.warn(prompt.at.clone(), message, Some(help));
            told.insert(name);
        }
    }
}

/// The names that a prompt reads in order to print them, whatever happens.
fn printed(prompt: &Prompt) -> BTreeSet<String> {
    let templates = prompt.prepared.templates();
    // Free names of the whole: what a loop or `set` binds is not among them.
    let free: BTreeSet<String> = templates
        .iter()
        .flat_map(|template| template.names())
        .collect();
    if free.is_empty() {
        return BTreeSet::new();
    }
    let (mut printed, mut conditional) = (BTreeSet::new(), BTreeSet::new());
    for piece in pieces(&prompt.raw) {
        match piece {
            Piece::Expression(tag) => {
                let Ok(template) = Template::new(tag, None) else {
                    continue;
                };
                let names = template.names();
                if tolerates_nothing(tag) {
                    conditional.extend(names);
                } else {
                    printed.extend(names);
                }
            }
            Piece::Statement(tag) => conditional.extend(words(tag).map(str::to_owned)),
            Piece::Text(_) | Piece::Stray(_) | Piece::Comment(_) => {}
        }
    }
    printed.retain(|name| free.contains(name) && !conditional.contains(name));
    printed
}

#[cfg(test)]
mod tests {
    use crate::fixture::Folder;

    fn warnings(prompt: &str, tests: &str) -> Vec<String> {
        let prompt = serde_json::Value::from(prompt);
        Folder::new(&format!(
            "prompts: [{prompt}]\nproviders: [echo, 'echo:x']\ntests: {tests}"
        ))
        .warnings()
    }

    #[test]
    fn a_misspelt_name_is_warned_of_once_with_a_guess() {
        assert_eq!(
            warnings("{{qestion}} {{ qestion }}", "[{ vars: { question: why } }]"),
            [
                "promptfooconfig.yaml:1:11: prompts[0]: no test sets 'qestion', which the prompt prints: it is empty\n\
                 help: did you mean '{{question}}'?"
            ]
        );
        assert_eq!(
            warnings("{{colour}}", "[{ vars: { question: why } }]"),
            [
                "promptfooconfig.yaml:1:11: prompts[0]: no test sets 'colour', which the prompt prints: it is empty\n\
                 help: set it in `vars`, or write {{ colour | default('') }} if it may be missing"
            ]
        );
    }

    #[test]
    fn only_what_is_printed_whatever_happens_counts() {
        let tests = "[{ vars: { a: 1 } }, { vars: { b: { c: 2 } } }]";
        let fine = [
            "{{a}} {{b.c | upper}} {{ range(3) }} {{ __repeatIndex }}",
            "{% if x %}{{x}}{% endif %}",
            "{% if x is defined %}{{ x.y }}{% endif %}",
            "{{ x | default('none') }}",
            "{{ x or a }}",
            "{{ 'y' if x else 'n' }}",
            "{% for x in b %}{{ x }}{{ loop.index }}{% endfor %}",
            "{% for x in items %}{{ x }}{% endfor %}",
            "{% set x = a %}{{ x }}",
            "{% raw %}{{ x }}{% endraw %}",
            "{# {{ x }} #}",
            "[{\"role\": \"user\", \"content\": \"{{a}}\"}]",
        ];
        for prompt in fine {
            assert_eq!(warnings(prompt, tests), Vec::<String>::new(), "{prompt}");
        }
        let odd = [
            "{{x}}",
            "{{ x.y }}",
            "{{ x | upper }}",
            "{{ a ~ x }}",
            "[{\"role\": \"user\", \"content\": \"{{x}}\"}]",
            "{% if a %}{{ x }}{% endif %}",
        ];
        for prompt in odd {
            let warnings = warnings(prompt, tests);
            assert_eq!(warnings.len(), 1, "{prompt}: {warnings:?}");
            assert!(warnings[0].contains("no test sets 'x'"), "{warnings:?}");
        }
    }

    #[test]
    fn defaults_and_flags_set_names_for_every_test() {
        let config = "prompts: ['{{a}} {{b}}']\nproviders: [echo]\ndefaultTest: { vars: { a: 1 } }\ntests: [{ vars: { c: 1 } }]";
        let mut folder = Folder::new(config);
        assert_eq!(folder.warnings().len(), 1);
        folder.overrides.vars.insert("b".to_owned(), "x".into());
        assert_eq!(folder.warnings(), Vec::<String>::new());
    }
}
