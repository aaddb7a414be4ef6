//! `assert`: assertions and sets of them, with their values loaded.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use super::assertion_text::PROMPTFOO_TYPES;
use super::code::{self, CodePurpose, Runs};
use super::judges::JudgeBook;
use super::programs::program;
use super::reading::Reading;
use crate::catalog::Catalog;
use crate::model::{Position, TrustRequest, TrustSubject, WEBHOOK};
use crate::plan::{Assertion, Check, Judges, MAX_WEIGHT_OF_DATA, SetRule, weight};
use crate::read::entry::Entry;
use crate::read::files::{names_file, without_scheme};
use crate::redacted::redacted_assertion;
use crate::template::{Template, is_plain, verbatim, without_env};

pub(crate) mod compared;
mod human;
mod knobs;
mod refused;
mod threshold;
pub(crate) mod when;

pub(crate) use threshold::threshold;

/// promptfoo's limit per test.
const MAX_ASSERTIONS: usize = 10_000;

/// What the files that one `assert` names may take in memory, each counted as often as it is named:
/// each assertion has a copy of its own.
const MAX_FROM_FILES: usize = 32 << 20;

/// Largest weight: beyond it one assertion would be all that counts.
const MAX_WEIGHT: f64 = 1e6;

pub(crate) const KNOWN: [&str; 16] = [
    "type",
    "value",
    "threshold",
    "weight",
    "metric",
    "config",
    "transform",
    "contextTransform",
    "provider",
    "rubricPrompt",
    "votes",
    "measure",
    "factuality",
    "windowSize",
    "when",
    // Means nothing: people write comments there.
    "description",
];
pub(crate) const KNOWN_IN_SET: [&str; 7] = [
    "type",
    "assert",
    "weight",
    "threshold",
    "metric",
    "config",
    "description",
];
/// Reads assertions; files of values are read once.
pub(crate) struct AssertionReader<'a> {
    reading: Reading<'a>,
    judges: &'a JudgeBook<'a>,
    values: RefCell<HashMap<PathBuf, Option<Value>>>,
    /// What the files take that the `assert` being read has named so far.
    from_files: Cell<usize>,
}

impl<'a> AssertionReader<'a> {
    pub(crate) fn new(reading: Reading<'a>, judges: &'a JudgeBook<'a>) -> Self {
        Self {
            reading,
            judges,
            values: RefCell::default(),
            from_files: Cell::default(),
        }
    }

    /// An `assert` list.
    pub(crate) fn list(&self, entry: &Entry<'_>) -> Vec<Check> {
        let findings = self.reading.findings;
        self.from_files.set(0);
        let items = entry.want_items(findings, "a list of assertions");
        let checks: Vec<Check> = items.filter_map(|item| self.check(&item)).collect();
        let all = checks.iter().flat_map(Check::members);
        all.for_each(|it| human::check(it, findings));
        let size = |check: &Check| match check {
            Check::One(_) => 1,
            Check::Set { assertions, .. } => assertions.len(),
        };
        let count: usize = checks.iter().map(size).sum();
        if count > MAX_ASSERTIONS {
            findings.error(
                entry.at(),
                format!("{count} assertions; at most {MAX_ASSERTIONS} per test"),
            );
        }
        checks
    }

    fn check(&self, entry: &Entry<'_>) -> Option<Check> {
        match set_rule(entry) {
            Some(rule) => self.set(rule, entry),
            None => self.one(entry).map(Check::One),
        }
    }

    fn set(&self, rule: SetRule, entry: &Entry<'_>) -> Option<Check> {
        let findings = self.reading.findings;
        let word = rule.word();
        entry.report_unknown(findings, &KNOWN_IN_SET);
        let Some(members) = entry.get("assert").filter(Entry::is_list) else {
            findings.error_help(
                entry.at(),
                format!("an {word} needs `assert`, a list"),
                "assert: [{ type: …, value: … }]",
            );
            return None;
        };
        if let Some(when) = entry.get("when") {
            let message = format!("an {word} can't have `when`");
            let help = "give each of its assertions the `when`";
            findings.error_help(when.at(), message, help);
        }
        if members.items().next().is_none() {
            match rule {
                // promptfoo runs it, and --require-assertions refuses it.
                SetRule::All => {
                    let message = format!("an {word} without an assertion passes every answer");
                    findings.warn(members.at(), message, None);
                }
                SetRule::Any => {
                    let message = format!("an {word} needs an assertion that may pass");
                    findings.error(members.at(), message);
                }
            }
        }
        let mut assertions = Vec::new();
        for member in members.items() {
            if let Some(inner) = set_rule(&member) {
                let message = format!("an {word} can't hold another {}", inner.word());
                findings.error(member.at(), message);
            } else {
                assertions.extend(self.one(&member));
            }
        }
        for one in assertions.iter().filter(|it| compared::is_one(&it.kind)) {
            let message = format!("'{}' compares rows and can't stand in a set", one.kind);
            let help = "move it into the test's own `assert`";
            findings.error_help(one.at.clone(), message, help);
        }
        when::check_members(&assertions, findings);
        Some(Check::Set {
            rule,
            assertions,
            weight: self.weight(entry),
            threshold: threshold(entry, self.reading.findings),
            metric: self.metric(entry),
            json: Arc::new(redacted_assertion(entry.node.json_as_written())),
        })
    }

    fn one(&self, entry: &Entry<'_>) -> Option<Assertion> {
        let findings = self.reading.findings;
        if !entry.is_map() {
            entry.mismatch(findings, "a map with `type`");
            return None;
        }
        let Some(kind) = entry.get("type") else {
            findings.error_help(
                entry.at(),
                "an assertion needs `type`",
                "for example: type: contains",
            );
            return None;
        };
        entry.report_unknown(findings, &KNOWN);
        let (name, inverse) = self.kind(&kind.want_text(findings)?, &kind)?;
        let value = entry.get("value");
        let Runs { process, sends } = self.check_code(&name, value.as_ref(), entry);
        let code = |entry: &Entry<'_>, usage| {
            code::read(entry, self.reading).map(|script| code::meant(script, usage))
        };
        let by_code = |value: &Entry<'_>| value.text().is_some_and(code::is_file);
        let value_at = value.as_ref().map_or_else(|| entry.at(), Entry::at);
        let (script, loaded) = match &value {
            Some(value) if by_code(value) => (code(value, CodePurpose::Assertion), None),
            Some(value) => (None, self.value(value)),
            None => (None, None),
        };
        if process.is_some() {
            self.check_filled_in(loaded.as_ref(), &value_at);
        }
        self.brings_address(&name, value.as_ref().unwrap_or(entry), loaded.as_ref());
        Some(Assertion {
            threshold: threshold::of_assertion(&name, entry, findings),
            knobs: knobs::read(&name, entry, findings, |it| self.raw_value(it)),
            kind: name,
            inverse,
            value: loaded,
            script,
            process,
            sends,
            transform: entry
                .get("transform")
                .and_then(|it| code(&it, CodePurpose::Transform)),
            context_transform: entry
                .get("contextTransform")
                .and_then(|it| code(&it, CodePurpose::Transform)),
            weight: self.weight(entry),
            metric: self.metric(entry),
            config: entry
                .get("config")
                .and_then(|config| config.want_map(findings)),
            judges: self.judges(entry),
            when: entry
                .get("when")
                .and_then(|when| when::read(&when, findings)),
            json: Arc::new(redacted_assertion(entry.node.json_as_written())),
            of_data: entry.origin.is_data(),
            at: entry.at(),
            value_at,
        })
    }

    /// Asks for trust in a row's own webhook: the config grants hosts for addresses that it writes
    /// itself. What a file holds is asked for, not its name.
    fn brings_address(&self, kind: &str, value: &Entry<'_>, loaded: Option<&Value>) {
        if kind != WEBHOOK || !value.origin.is_data() {
            return;
        }
        let written = || value.text().unwrap_or_default().into();
        self.reading.findings.trust_request(TrustRequest {
            subject: TrustSubject::RequestOption {
                name: WEBHOOK.to_owned(),
                value: loaded.cloned().unwrap_or_else(written).to_string(),
            },
            origin: value.origin.clone(),
            at: value.at(),
        });
    }

    /// An assertion in a language has its code as a text, or a file of it. What runs a text outside the
    /// sandbox.
    fn check_code(&self, kind: &str, value: Option<&Entry<'_>>, entry: &Entry<'_>) -> Runs {
        if !self.reading.catalog.script_languages.contains_key(kind) {
            return Runs::default();
        }
        let help = "value: an expression, the lines of a function, or file://path";
        let findings = self.reading.findings;
        match value {
            None => {
                let message = format!("'{kind}' needs code as its `value`");
                findings.error_help(entry.at(), message, help);
            }
            Some(value) if value.text().is_none_or(|text| text.trim().is_empty()) => {
                findings.error_help(value.at(), "must be code, a text", help);
            }
            Some(value) => {
                let (text, at) = (value.text().unwrap_or_default(), value.at());
                if !code::is_file(text) {
                    return code::graded(kind, text, (entry.origin, &at), self.reading);
                }
            }
        }
        Runs::default()
    }

    fn judges(&self, entry: &Entry<'_>) -> Judges {
        self.judges.of_assertion(entry, self.reading)
    }

    /// The type without `not-`, and whether it had it.
    fn kind(&self, written: &str, entry: &Entry<'_>) -> Option<(String, bool)> {
        let types = &self.reading.catalog.assertion_types;
        if types.contains_key(written) {
            return Some((written.to_owned(), false));
        }
        let (name, inverse) = written
            .strip_prefix("not-")
            .map_or((written, false), |name| (name, true));
        if types.contains_key(name) {
            return Some((name.to_owned(), inverse));
        }
        let findings = self.reading.findings;
        if let Some(absent) = self.reading.catalog.absent_languages.get(name) {
            findings.error_help(entry.at(), absent.message(name), absent.help.as_str());
            return None;
        }
        if PROMPTFOO_TYPES.contains(&name) || name.starts_with("trajectory:") {
            let there_are = || findings.list_once(Catalog::like(name, types));
            let help = refused::way_out(name).map(str::to_owned).or_else(there_are);
            findings.error_perhaps(
                entry.at(),
                format!("the assertion type '{name}' is not supported yet"),
                help,
            );
        } else {
            let message = format!("no plugin serves the assertion type '{name}'");
            let help = Catalog::instead(name, types, findings);
            findings.error_perhaps(entry.at(), message, help);
        }
        None
    }

    /// A text as it is, a file's content, or any other value: its templates are the grader's.
    fn raw_value(&self, entry: &Entry<'_>) -> Option<Value> {
        match entry.text() {
            Some(text) if names_file(text) => self.text_value(text, entry),
            _ => Some(entry.node.json()),
        }
    }

    /// `value`, files in it loaded. What a file holds is no template: it prints as it is.
    fn value(&self, entry: &Entry<'_>) -> Option<Value> {
        match entry.text() {
            Some(text) => {
                let mut value = self.text_value(text, entry)?;
                match &mut value {
                    _ if !names_file(text) => {}
                    Value::Array(items) => items.iter_mut().for_each(verbatim),
                    one => verbatim(one),
                }
                Some(value)
            }
            None if entry.is_list() => {
                let read = |item: Entry<'_>| match item.text() {
                    Some(text) => {
                        let mut value = self.text_value(text, &item).unwrap_or_default();
                        if names_file(text) {
                            verbatim(&mut value);
                        }
                        value
                    }
                    None => item.node.json(),
                };
                Some(entry.items().map(read).collect())
            }
            None => Some(entry.node.json()),
        }
    }

    fn text_value(&self, text: &str, entry: &Entry<'_>) -> Option<Value> {
        let findings = self.reading.findings;
        if !names_file(text) {
            let text = if entry.origin.is_data() {
                without_env(text)
            } else {
                Cow::Borrowed(text)
            };
            self.check_template(&text, entry);
            return Some(Value::from(text));
        }
        if let Some(path) = program(text) {
            let message = format!("'{path}': code can't make this value");
            let help = "it can make the whole `value` of an assertion, not an item of a list";
            findings.error_help(entry.at(), message, help);
            return None;
        }
        let path = self.reading.files.shown(without_scheme(text));
        if self.values.borrow().contains_key(&path) {
            let files = self.reading.files;
            files.permit(&path, &entry.at(), entry.origin, findings)?;
        } else {
            let value = self.reading.content(&path, entry);
            self.values.borrow_mut().insert(path.clone(), value);
        }
        self.copy(self.values.borrow()[&path].as_ref()?, entry)
    }

    /// A copy of what a file holds, unless the assertions of a test have too much of files.
    fn copy(&self, content: &Value, entry: &Entry<'_>) -> Option<Value> {
        let taken = self.from_files.get() + weight::of_value(content);
        self.from_files.set(taken);
        if taken <= MAX_FROM_FILES {
            return Some(content.clone());
        }
        let max = MAX_FROM_FILES >> 20;
        let message =
            format!("the files that the assertions of a test name take more than {max} MiB");
        let help = "what several of them name counts for each";
        self.reading.findings.stop(entry.at(), message, help);
        None
    }

    /// Says now what would fail in every case.
    fn check_template(&self, text: &str, entry: &Entry<'_>) {
        if is_plain(text) {
            return;
        }
        let findings = self.reading.findings;
        match Template::new(text, None) {
            Err(error) => {
                let help = "text that is not meant as a template goes between {% raw %} and {% endraw %}";
                findings.error_help(entry.at(), error.to_string(), help);
            }
            // Tags that read `env` alone were filled in, and there is no `env` later.
            Ok(template)
                if !entry.origin.is_data() && template.names().any(|name| name == "env") =>
            findings.error_help(
                entry.at(),
                "`env` can't be mixed with other variables in one tag here",
                "give it a tag of its own, {{ env.X }}, or a variable: vars: { x: \"{{ env.X }}\" }",
            ),
            Ok(template) => self.reading.filters.check(&template, &entry.at(), findings),
        }
    }

    /// Refuses variables in code that runs on the machine. Code outside the sandbox is the config's
    /// word alone. A value that is filled into it would be code as well, whoever brings it: a row,
    /// or a model.
    fn check_filled_in(&self, code: Option<&Value>, at: &Position) {
        let text = code.and_then(Value::as_str).unwrap_or_default();
        let Ok(Some(name)) = Template::new(text, None).map(|it| it.names().next()) else {
            return;
        };
        let message = format!("code that runs on your machine can't have '{name}' filled in");
        let help = "a value would be code there: read it from `context.vars` \
                    (Python: context['vars']), or keep the code in the sandbox";
        self.reading.findings.error_help(at.clone(), message, help);
    }

    fn number(&self, entry: &Entry<'_>, key: &str) -> Option<f64> {
        entry
            .get(key)
            .and_then(|number| number.want_number(self.reading.findings))
    }

    fn weight(&self, entry: &Entry<'_>) -> f64 {
        let weight = self.number(entry, "weight").unwrap_or(1.0);
        let most = if entry.origin.is_data() {
            MAX_WEIGHT_OF_DATA
        } else {
            MAX_WEIGHT
        };
        if !(0.0..=most).contains(&weight) {
            let at = entry
                .get("weight")
                .map_or_else(|| entry.at(), |weight| weight.at());
            let message = format!("must be between 0 and {most:e}, not {weight}");
            self.reading.findings.error(at, message);
        }
        weight
    }

    fn metric(&self, entry: &Entry<'_>) -> Option<String> {
        entry
            .get("metric")
            .and_then(|metric| metric.want_text(self.reading.findings))
    }
}

/// The rule of a set; `None` if the entry is an assertion.
fn set_rule(entry: &Entry<'_>) -> Option<SetRule> {
    SetRule::of(entry.get("type")?.text()?)
}

#[cfg(test)]
mod tests;
