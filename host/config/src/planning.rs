//! From a config to a plan.
//!
//! Each key is read by its own file under `elements`; here they are put in order: prompts and
//! providers make the columns, which the filters of tests choose from.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::catalog::Catalog;
use crate::elements::code::CodeBook;
use crate::elements::judges::JudgeBook;
use crate::elements::limits::Groups;
use crate::elements::providers::Listed;
use crate::elements::test_case::TestReader;
use crate::elements::vars::VarCollector;
use crate::elements::{
    Document, PROGRAM_HELP, Reading, default_test, last, names_match, options, output_path,
    prompts, providers, scenarios, test_sources,
};
use crate::entry::Entry;
use crate::load::{Config, Source};
use crate::plan::{Column, Order, Plan, Prompt, RunOptions, Test};
use crate::problem::{ConfigError, Findings, Warning};

mod unset;

/// Keys of a config.
pub(crate) const KNOWN: [&str; 27] = [
    "$schema",
    "assertionTemplates",
    "budget",
    "commandLineOptions",
    "defaultTest",
    "derivedMetrics",
    "description",
    "env",
    "evaluateOptions",
    "extensions",
    "limits",
    "metadata",
    "nunjucksFilters",
    "outputPath",
    "plugins",
    "prompts",
    "providers",
    "redteam",
    "scenarios",
    "sharing",
    "strategies",
    "tags",
    "targets",
    "tests",
    "tracing",
    "writeLatestResults",
    "$ref",
];

/// Keys whose effect is missing.
pub(crate) const UNSUPPORTED: [(&str, &str); 6] = [
    (
        "derivedMetrics",
        "metrics of metrics come with a later release",
    ),
    ("extensions", PROGRAM_HELP),
    ("nunjucksFilters", PROGRAM_HELP),
    ("redteam", "red teaming is not what this program does"),
    ("strategies", "red teaming is not what this program does"),
    ("tracing", "remove the key"),
];

/// Rows of a run: the results count them with 32 bits.
const MAX_ROWS: u64 = u32::MAX as u64;

impl Config {
    /// How the run will be carried out, for whoever must size something before the plan is
    /// made. What is wrong with the options is reported by [`Config::plan`].
    pub fn run_options(&self) -> RunOptions {
        options::read(
            &self.ranked(),
            &self.overrides,
            &self.process,
            &Findings::default(),
        )
    }

    /// Reads and checks everything else against what the plugins serve.
    ///
    /// # Errors
    /// All problems together.
    pub fn plan(self, catalog: &Catalog) -> Result<(Plan, Vec<Warning>), ConfigError> {
        let findings = Findings::default();
        let code = CodeBook::default();
        let documents = self.documents(catalog, &code, &findings);
        for document in &documents {
            whole(&document.root, &findings);
        }
        let roots: Vec<Entry<'_>> = documents.iter().map(|one| one.root.clone()).collect();
        let ranked = self.ranked();
        let options = options::read(&ranked, &self.overrides, &self.process, &findings);
        let prompts = prompts::read(&documents);
        let groups = Groups::read(&roots, &findings);
        let listed = providers::read(&documents, &groups);
        let columns = columns(&prompts, &listed, &findings);
        let judges = JudgeBook::new(&columns, &groups);
        let collector = VarCollector::default();
        let repeat = options.repeat;
        let readings = documents.iter().map(|one| one.reading);
        let readers: Vec<TestReader<'_>> = readings
            .map(|reading| TestReader::new(reading, &collector, &judges, &columns, repeat))
            .collect();
        let default = default_test::read(&roots, &readers, &self.overrides);
        let mut tests = test_sources::read(&roots, &readers, &default);
        tests.extend(scenarios::read(&roots, &readers, &default));
        drop(readers);
        let judges = judges.into_judges();
        groups.warn_unused(&findings);
        check_size(&tests, &findings);
        let var_files = Arc::new(collector.into_files());
        let mut filters = self.overrides.filters.clone();
        let range = options::filter_range(&ranked, &findings);
        filters.range = filters.range.or(range);
        let chosen = filters.choose(columns, tests, &var_files, &findings);
        unset::warn(&chosen.columns, &chosen.tests, &findings);
        let plan = Plan {
            order: Order::new(&chosen.columns, &chosen.tests),
            description: self.description(&documents, &findings),
            tags: tags(&roots, &findings),
            columns: chosen.columns,
            tests: chosen.tests,
            providers: listed.into_iter().map(|one| one.provider).collect(),
            judges,
            narrowings: chosen.narrowings,
            options,
            output_paths: self.output_paths(&documents, &findings),
            config_json: self.json.clone(),
            env: self.env.clone(),
            var_files,
        };
        findings.verdict(plan)
    }

    /// The configs, in the order named.
    fn documents<'a>(
        &'a self,
        catalog: &'a Catalog,
        code: &'a CodeBook,
        findings: &'a Findings,
    ) -> Vec<Document<'a>> {
        let sources = self.sources.iter().enumerate();
        let document = |(index, source): (usize, &'a Source)| Document {
            root: Entry::root(&source.root, &source.path),
            reading: Reading {
                files: &source.files,
                findings,
                declared: &self.declared,
                catalog,
                code,
                config: &source.path,
                process: &self.process,
                is_further: index > 0,
            },
        };
        sources.map(document).collect()
    }

    /// The configs, the one whose options count first.
    fn ranked(&self) -> Vec<Entry<'_>> {
        let sources = self.sources.iter().rev();
        sources
            .map(|source| Entry::root(&source.root, &source.path))
            .collect()
    }

    fn description(&self, documents: &[Document<'_>], findings: &Findings) -> Option<String> {
        let flag = self.overrides.description.clone();
        flag.or_else(|| last(documents, "description")?.want_text(findings))
    }

    fn output_paths(&self, documents: &[Document<'_>], findings: &Findings) -> Vec<PathBuf> {
        let has = |one: &&Document<'_>| one.root.get("outputPath").is_some();
        let source = documents.iter().rev().find(has).or(documents.first());
        let flags = &self.overrides.output_paths;
        source.map_or_else(Vec::new, |one| {
            output_path::read(&one.root, flags, one.reading.files, findings)
        })
    }
}

/// What is odd about the keys of one config.
fn whole(root: &Entry<'_>, findings: &Findings) {
    root.warn_unknown(findings, &KNOWN);
    root.refuse(findings, &UNSUPPORTED);
    let sharing = root.get("sharing");
    if let Some(sharing) = sharing.filter(|sharing| sharing.node.json() != Value::Bool(false)) {
        let message = "results are never shared: 'sharing' is ignored";
        findings.warn(sharing.at(), message, None);
    }
}

fn tags(roots: &[Entry<'_>], findings: &Findings) -> Map<String, Value> {
    let tags = roots.iter().filter_map(|root| root.get("tags"));
    let tags = tags.filter_map(|tags| tags.want_map(findings));
    tags.flatten().collect()
}

/// Providers by prompts: for each provider, the prompts that it allows.
fn columns(prompts: &[Arc<Prompt>], listed: &[Listed], findings: &Findings) -> Vec<Arc<Column>> {
    let mut columns: Vec<Arc<Column>> = Vec::new();
    let is = |prompt: &Prompt, filter: &str| names_match(&prompts::names(prompt), filter);
    for Listed {
        provider,
        prompts: filter,
    } in listed
    {
        for (name, at) in filter.iter().flatten() {
            if !prompts.iter().any(|prompt| is(prompt, name)) {
                findings.error(at.clone(), format!("there is no prompt '{name}'"));
            }
        }
        let allowed = prompts.iter().filter(|prompt| match filter {
            Some(names) => names.iter().any(|(name, _)| is(prompt, name)),
            None => true,
        });
        for prompt in allowed {
            let prompt_idx = columns.len() as u32;
            columns.push(Arc::new(Column {
                prompt_idx,
                prompt: prompt.clone(),
                provider: provider.clone(),
            }));
        }
    }
    columns
}

fn check_size(tests: &[Arc<Test>], findings: &Findings) {
    let rows = |test: &Test| {
        test.axes
            .combinations()?
            .checked_mul(u64::from(test.repeat))
    };
    let mut sum = 0_u64;
    for test in tests {
        sum = match rows(test).and_then(|rows| sum.checked_add(rows)) {
            Some(sum) if sum <= MAX_ROWS => sum,
            _ => {
                let help = "`options: { disableVarExpansion: true }` keeps a list as one value";
                let message = format!("the variables and repeats make more than {MAX_ROWS} rows");
                return findings.error_help(test.at.clone(), message, help);
            }
        };
    }
}

#[cfg(test)]
mod tests;
