//! One test as written, and what `defaultTest` adds to it.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::assertions::{AssertionReader, compared, threshold, when};
use super::code::CodePurpose;
use super::judges::{self, JudgeBook};
use super::names::{Filter, NameIndex};
use super::reading::Reading;
use super::vars::{RawVar, VarCollector, VarReader};
use super::{code, providers, test_options};
use crate::environment;
use crate::model::{DataFile, Findings, Position, Script};
use crate::plan::{Assertion, Axes, Check, Column, Judges, Test, TestTimeout, Tests};
use crate::read::entry::Entry;
use crate::redacted::{redacted_config, redacted_provider};

mod multiplied;
mod own_answer;

use multiplied::Multiplied;
use own_answer::OwnAnswer;

pub(crate) const KNOWN: [&str; 11] = [
    "description",
    "vars",
    "assert",
    "options",
    "threshold",
    "metadata",
    "provider",
    "providers",
    "prompts",
    "providerOutput",
    "assertScoringFunction",
];

/// Keys of which a test needs at least one.
const SUBSTANCE: [&str; 7] = [
    "assert",
    "vars",
    "options",
    "metadata",
    "provider",
    "providerOutput",
    "threshold",
];

/// In which form a test stands somewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// A test in the config, or a row of data.
    Test,
    /// A test in a YAML or JSON file of tests, to which its files of variables are relative.
    InTestFile,
    /// What lies under tests, such as `defaultTest`; it may be empty.
    Part,
}

/// A test on its way, or the `defaultTest`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Draft {
    pub(crate) description: Option<String>,
    pub(crate) vars: Map<String, Value>,
    checks: Vec<Check>,
    threshold: Option<f64>,
    pub(crate) metadata: Map<String, Value>,
    pub(crate) options: Map<String, Value>,
    pub(crate) options_written: Map<String, Value>,
    /// Whether `options.prefix` or `suffix` is data's.
    affixes_are_data: bool,
    timeout: TestTimeout,
    /// The data file of which it is a row.
    pub(crate) data: Option<Arc<DataFile>>,
    /// Variables whose files were not read.
    raw: Vec<RawVar>,
    /// A data file that variables come from.
    words_of: Option<Arc<DataFile>>,
    /// What multiplies its cases and is a data file's word.
    multiplied: Multiplied,
    /// `options.provider`.
    pub(crate) judges: Judges,
    /// Where it stands, if it names nobody.
    nameless: Option<Position>,
    own: OwnAnswer,
    code: TestCode,
    providers: Option<Filter>,
    prompts: Option<Filter>,
    /// The variable that is what it says, whatever `rawVars` says.
    pub(super) literal: Option<&'static str>,
    at: Position,
}

/// The code of a test.
#[derive(Debug, Clone, Default)]
struct TestCode {
    transform: Option<Arc<Script>>,
    transform_vars: Option<Arc<Script>>,
    scoring: Option<Arc<Script>>,
}

impl TestCode {
    /// `over`, and `self` where it has none.
    fn under(&self, over: Self) -> Self {
        Self {
            transform: over.transform.or_else(|| self.transform.clone()),
            transform_vars: over.transform_vars.or_else(|| self.transform_vars.clone()),
            scoring: over.scoring.or_else(|| self.scoring.clone()),
        }
    }
}

/// Reads tests.
pub(crate) struct TestReader<'a> {
    pub(crate) reading: Reading<'a>,
    pub(crate) vars: VarReader<'a>,
    assertions: AssertionReader<'a>,
    judges: &'a JudgeBook<'a>,
    /// The names of every column's provider and prompt.
    providers: NameIndex<'a>,
    prompts: NameIndex<'a>,
    /// How often a test runs that doesn't say.
    repeat: u32,
    /// The environment's word for `disableVarExpansion`.
    keeps_lists: bool,
}

impl<'a> TestReader<'a> {
    pub(crate) fn new(
        reading: Reading<'a>,
        collector: &'a VarCollector,
        judges: &'a JudgeBook<'a>,
        columns: &'a [Arc<Column>],
        repeat: u32,
    ) -> Self {
        let vars = VarReader::new(reading, collector);
        let assertions = AssertionReader::new(reading, judges);
        Self {
            reading,
            vars,
            assertions,
            judges,
            providers: NameIndex::of(columns.iter().map(|column| column.provider.names())),
            prompts: NameIndex::of(columns.iter().map(|column| column.prompt.names())),
            repeat,
            keeps_lists: environment::flag(
                reading.process,
                environment::DISABLE_VAR_EXPANSION,
                reading.findings,
            ),
        }
    }

    /// Who judges a test, and where it names somebody without saying whom.
    fn judges_of(&self, entry: &Entry<'_>) -> (Judges, Option<Position>) {
        let judge = entry.get("options").and_then(|it| it.get("provider"));
        let Some(judge) = judge else {
            return (Judges::default(), None);
        };
        if !judges::is_nameless(&judge) {
            return (self.judges.read(&judge, self.reading), None);
        }
        let message = "names no provider: it is ignored where nobody is asked";
        let help = "give it an `id`, for example: id: openai:gpt-4.1";
        let findings = self.reading.findings;
        findings.warn(judge.at(), message, Some(help.to_owned()));
        (Judges::default(), Some(judge.at()))
    }

    /// Reads a test, or a part of one.
    pub(crate) fn read(&self, entry: &Entry<'_>, form: Form) -> Option<Draft> {
        let findings = self.reading.findings;
        if !entry.is_map() {
            entry.mismatch(findings, "a map with `vars`, `assert`, …");
            return None;
        }
        entry.report_unknown(findings, &KNOWN);
        if form != Form::Part && !entry.fields().any(|(key, _)| SUBSTANCE.contains(&key)) {
            findings.error_help(
                entry.at(),
                "the test is empty",
                "give it `vars` or `assert`",
            );
            return None;
        }
        let options = entry
            .get("options")
            .map(|options| test_options::read(&options, self.reading));
        let (judges, nameless) = self.judges_of(entry);
        let (options, options_written) = options.unwrap_or_default();
        let timeout = test_options::timeout(&options, entry.origin);
        let has_affix = ["prefix", "suffix"]
            .iter()
            .any(|key| options.contains_key(*key));
        let filter = |key| {
            entry
                .get(key)
                .map(|names| providers::filter(&names, self.reading))
        };
        let vars = self.vars.of_test(entry, form == Form::InTestFile);
        let multiplied = Multiplied::by(&vars, (&options, entry.origin));
        Some(Draft {
            code: self.code(entry),
            description: entry
                .get("description")
                .and_then(|text| text.want_text(findings)),
            vars: vars.values,
            raw: vars.raw,
            words_of: vars.data,
            checks: entry
                .get("assert")
                .map(|list| self.assertions.list(&list))
                .unwrap_or_default(),
            threshold: threshold(entry, findings),
            metadata: metadata(entry, findings).unwrap_or_default(),
            options,
            options_written,
            affixes_are_data: has_affix && entry.origin.is_data(),
            timeout,
            data: entry.origin.data_file().cloned(),
            multiplied,
            judges,
            nameless,
            own: self.own_answer(entry),
            providers: filter("providers"),
            prompts: filter("prompts"),
            literal: None,
            at: entry.at(),
        })
    }

    /// The judges that `--grader` names.
    pub(crate) fn judge(&self, grader: &str) -> Judges {
        self.judges.by_flag(grader, self.reading)
    }

    fn own_answer(&self, entry: &Entry<'_>) -> OwnAnswer {
        let named = entry.get("provider");
        OwnAnswer {
            provider: named
                .as_ref()
                .and_then(|named| self.judges.target(named, self.reading)),
            written: named.map(|named| redacted_provider(named.node.json_as_written())),
            output: entry.get("providerOutput").map(|saved| saved.node.json()),
        }
    }

    fn code(&self, entry: &Entry<'_>) -> TestCode {
        let option = |key| entry.get("options")?.get(key);
        let code = |entry: Entry<'_>| {
            let script = code::read(&entry, self.reading)?;
            Some(code::meant(script, CodePurpose::Transform))
        };
        let transform = option("transform").or_else(|| option("postprocess"));
        let scoring = entry.get("assertScoringFunction");
        TestCode {
            transform: transform.and_then(code),
            transform_vars: option("transformVars").and_then(code),
            scoring: scoring.and_then(|named| self.scoring(&named)),
        }
    }

    /// `assertScoringFunction`, which is always a file.
    fn scoring(&self, entry: &Entry<'_>) -> Option<Arc<Script>> {
        let text = entry.want_text(self.reading.findings)?;
        if code::is_file(&text) {
            let script = code::file(&text, &entry.at(), entry.origin, self.reading)?;
            return Some(code::meant(script, CodePurpose::Scoring));
        }
        let help = "assertScoringFunction: file://score.js, or file://score.js:function";
        let findings = self.reading.findings;
        findings.error_help(entry.at(), "must name a file of code", help);
        None
    }

    /// The test that a draft makes under `default`.
    pub(crate) fn finish(&self, default: &Draft, draft: Draft) -> Test {
        let mut merged = default.under(draft);
        for assertion in merged.checks.iter_mut().flat_map(Check::members_mut) {
            let chosen = assertion.judges.or(merged.judges);
            let Assertion { kind, at, .. } = &*assertion;
            if let Some(judge) = &merged.nameless {
                self.judges.needs_id(judge, chosen, kind, self.reading);
            }
            assertion.judges = self.judges.complete(chosen, kind, at, self.reading);
        }
        if !test_options::flag(&merged.options, test_options::RAW_VARS) {
            self.vars.read_late(&merged.raw, &mut merged.vars);
        }
        let disabled =
            self.keeps_lists || test_options::flag(&merged.options, "disableVarExpansion");
        let axes = if test_options::flag(&merged.options, test_options::RAW_VARS) {
            Axes::raw()
        } else {
            Axes::new(&merged.vars, &self.vars.files(), !disabled).but(merged.literal)
        };
        let said = (&merged.at, self.reading.findings);
        let vars = &merged.vars;
        merged.multiplied.check(&axes, &merged.options, vars, said);
        let columns = self.columns(&merged);
        let json = Arc::new(merged.json());
        let (comparisons, assertions) = compared::split(merged.checks, self.reading);
        when::check(&assertions, self.reading.findings);
        Test {
            json,
            repeat: test_options::repeat(&merged.options).unwrap_or(self.repeat),
            columns,
            axes,
            combinations: None,
            description: merged.description,
            vars: merged.vars,
            assertions: assertions.into(),
            comparisons,
            threshold: merged.threshold,
            metadata: merged.metadata,
            timeout: merged.timeout,
            options: merged.options,
            affixes_see_env: !merged.affixes_are_data,
            words_of: merged.data.clone().or(merged.words_of),
            data: merged.data,
            provider: merged.own.provider,
            output: merged.own.output,
            transform: merged.code.transform,
            transform_vars: merged.code.transform_vars,
            scoring: merged.code.scoring,
            question: None,
            at: merged.at,
        }
    }

    /// Adds a test, unless all of them would take too much.
    pub(crate) fn keep(&self, test: Test, tests: &mut Tests) {
        if self.reading.findings.has_stopped() {
            return;
        }
        let at = test.at.clone();
        let findings = self.reading.findings;
        if !self.vars.may_make(&test) {
            let message = format!(
                "{} tests come to more than 32 GiB, each with its record and all that `defaultTest` adds",
                tests.len()
            );
            let help = "run them in parts; what is large in `defaultTest` may be a file that a variable names";
            return findings.stop(at, message, help);
        }
        if let Err(max) = self.vars.make_room(tests.push(test)) {
            let max = max >> 20;
            let message = format!("the tests take more than {max} MiB of memory");
            let help = "run them in parts; variables that are large may be files. How much they may \
                        take grows with the size of what is read";
            findings.stop(at, message, help);
        }
    }

    /// The columns that a test's filters leave.
    fn columns(&self, draft: &Draft) -> Option<Arc<[u32]>> {
        let meant = |filter: &Filter, what: &str, names: &NameIndex<'_>| {
            let findings = self.reading.findings;
            if filter.is_empty() {
                let message = format!("names no {what}, so that the test would run nowhere");
                findings.error_help(draft.at.clone(), message, "leave the list away, or fill it");
            }
            names.all_meant(filter, what, findings)
        };
        let providers = draft.providers.as_ref();
        let providers = providers.map(|filter| meant(filter, "provider", &self.providers));
        let prompts = draft.prompts.as_ref();
        let prompts = prompts.map(|filter| meant(filter, "prompt", &self.prompts));
        let both = match (providers, prompts) {
            (Some(providers), Some(prompts)) => &providers & &prompts,
            (one, other) => one.or(other)?,
        };
        Some(both.into_iter().collect())
    }
}

/// `metadata`, as it is written.
fn metadata(entry: &Entry<'_>, findings: &Findings) -> Option<Map<String, Value>> {
    let metadata = entry.get("metadata")?;
    match metadata.node.json_as_written() {
        Value::Object(map) => Some(map),
        _ => metadata.want_map(findings),
    }
}

impl Draft {
    /// Takes in that it is a part of a data file's scenario, whose tests have made so many rows.
    pub(crate) fn in_scenario(&mut self, made: &Rc<Cell<u64>>) {
        self.multiplied.in_scenario(made.clone());
    }

    /// A test that has one assertion and is not written in this form.
    pub(super) fn made(
        description: String,
        check: Assertion,
        metadata: Map<String, Value>,
    ) -> Self {
        let at = check.at.clone();
        Self {
            description: Some(description),
            checks: vec![Check::One(check)],
            metadata,
            at,
            ..Self::default()
        }
    }

    /// `draft` with what it leaves out taken from `self`, the default.
    pub(crate) fn under(&self, draft: Draft) -> Draft {
        let over = |under: &Map<String, Value>, over: Map<String, Value>| {
            let mut merged = under.clone();
            merged.extend(over);
            merged
        };
        let options = over(&self.options, draft.options);
        let defaults = if test_options::flag(&options, "disableDefaultAsserts") {
            &[][..]
        } else {
            &self.checks
        };
        Draft {
            description: draft.description.or_else(|| self.description.clone()),
            multiplied: self.multiplied.under(draft.multiplied, &draft.vars),
            raw: later(&self.raw, draft.raw, &draft.vars),
            vars: over(&self.vars, draft.vars),
            checks: defaults.iter().cloned().chain(draft.checks).collect(),
            threshold: draft.threshold.or(self.threshold),
            metadata: over(&self.metadata, draft.metadata),
            options,
            options_written: over(&self.options_written, draft.options_written),
            affixes_are_data: draft.affixes_are_data || self.affixes_are_data,
            timeout: self.timeout.under(draft.timeout),
            data: draft.data.or_else(|| self.data.clone()),
            words_of: draft.words_of.or_else(|| self.words_of.clone()),
            judges: draft.judges.or(self.judges),
            nameless: draft.nameless.or_else(|| self.nameless.clone()),
            own: self.own.under(draft.own),
            code: self.code.under(draft.code),
            providers: draft.providers.or_else(|| self.providers.clone()),
            prompts: draft.prompts.or_else(|| self.prompts.clone()),
            literal: draft.literal,
            at: draft.at,
        }
    }

    /// For the results file: nothing that came from the environment.
    fn json(&self) -> Value {
        let mut test = Map::new();
        let mut put =
            |key: &str, value: Option<Value>| value.map(|value| test.insert(key.to_owned(), value));
        let some = |map: &Map<String, Value>| (!map.is_empty()).then(|| Value::Object(map.clone()));
        let check = |check: &Check| match check {
            Check::One(Assertion { json, .. }) | Check::Set { json, .. } => Value::clone(json),
        };
        let names = |filter: &Filter| {
            filter
                .iter()
                .map(|(name, _)| Value::from(name.as_str()))
                .collect::<Value>()
        };
        let options = Value::Object(redacted_config(&self.options_written));
        put("description", self.description.clone().map(Value::from));
        put("vars", Some(Value::Object(Map::new())));
        put("assert", Some(self.checks.iter().map(check).collect()));
        put("options", Some(options));
        put(
            "threshold",
            self.threshold.map(|threshold| json!(threshold)),
        );
        put("metadata", some(&self.metadata));
        put("provider", self.own.written.clone());
        put("providerOutput", self.own.output.clone());
        put("providers", self.providers.as_ref().map(names));
        put("prompts", self.prompts.as_ref().map(names));
        Value::Object(test)
    }
}

/// The variables of `over` whose files were not read, and those of `under` that it has not.
fn later(under: &[RawVar], mut over: Vec<RawVar>, vars: &Map<String, Value>) -> Vec<RawVar> {
    let stay = under.iter().filter(|raw| !vars.contains_key(&raw.name));
    over.extend(stay.cloned());
    over
}

#[cfg(test)]
mod tests;
