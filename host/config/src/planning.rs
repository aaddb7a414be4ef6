//! From a config to a plan.
//!
//! Each key is read by its own file under `elements`; here they are put in order: prompts and
//! providers make the columns, which the filters of tests choose from.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::catalog::Catalog;
use crate::elements::books::{CodeBook, FilterBook};
use crate::elements::judges::JudgeBook;
use crate::elements::limits::Groups;
use crate::elements::names::NameIndex;
use crate::elements::process;
use crate::elements::providers::{self, Listed};
use crate::elements::reading::{Document, Reading, last};
use crate::elements::tasks::{self, Task};
use crate::elements::test_case::TestReader;
use crate::elements::test_sources::{self, Tree};
use crate::elements::vars::VarCollector;
use crate::elements::{
    default_test, derived_metrics, extensions, nunjucks_filters, options, output_path, plugins,
    prices, prompts, questions, scenarios, thresholds,
};
use crate::filters::Filters;
use crate::load::{Config, Source};
use crate::model::{ConfigError, Findings, LoadError, Warning};
use crate::overrides::{KeyOverrides, Overrides};
use crate::plan::weight;
use crate::plan::{
    Column, Extension, Order, OutputPath, Plan, Prompt, Provider, RunOptions, Tests,
};
use crate::read::entry::Entry;
use crate::read::node::Kind;
use crate::scripts::{NoScripts, Scripts};

mod before_all;
mod metrics;
mod together;
mod unset;

use before_all::Changed;

/// Keys of a config.
pub(crate) const KNOWN: [&str; 32] = [
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
    "prices",
    "prompts",
    "providers",
    "redteam",
    "runtime",
    "scenarios",
    "sharing",
    "strategies",
    "strict",
    "tags",
    "targets",
    "tasks",
    "tests",
    "thresholds",
    "tracing",
    "writeLatestResults",
    "$ref",
];

/// Keys whose effect is missing.
pub(crate) const UNSUPPORTED: [(&str, &str); 3] = [
    (
        "redteam",
        "remove the key; what `promptfoo redteam generate` makes is graded by promptfoo itself",
    ),
    (
        "strategies",
        "remove the key; red teaming is not what this program does",
    ),
    (
        "tracing",
        "remove the key: no traces are received; `--events FILE` writes what happens",
    ),
];

/// What is read once for all configs of a run.
#[derive(Default)]
struct Books {
    code: CodeBook,
    filters: FilterBook,
}

impl Books {
    fn of(sources: &[Source]) -> Self {
        let books = Self::default();
        (books.code).ran(sources.iter().flat_map(|source| &source.places));
        books
    }

    /// The languages that code is in; what of it is no program of its language is reported.
    fn languages(&self, reading: Reading<'_>) -> BTreeSet<String> {
        let Reading { files, scripts, .. } = reading;
        self.code.checked(files, scripts, reading.findings)
    }
}

/// Columns of a run: a few lines of providers and prompts make billions.
const MAX_COLUMNS: usize = 100_000;

/// Most bytes of prompts and labels, each counted in every column that it has: results say them there.
const MAX_COLUMN_TEXT: usize = 128 << 20;

impl Config {
    /// Decides how the run will be carried out, for whoever must size something before the plan is
    /// made. What is wrong with the options is reported by [`Config::plan`].
    pub fn run_options(&self) -> RunOptions {
        options::read(
            &self.ranked(),
            &self.overrides,
            &self.process,
            &Findings::default(),
        )
    }

    /// Reads and checks everything else against what the plugins serve. Code that would have to
    /// run for it is an error; see [`Config::draft_with`].
    ///
    /// # Errors
    /// All problems together, or what it asks to read that is not agreed to.
    pub fn plan(self, catalog: &Catalog) -> Result<(Plan, Vec<Warning>), LoadError> {
        self.plan_with(catalog, &NoScripts)
    }

    /// Reads and checks everything else, with something that runs the code which makes tests and changes
    /// the config.
    pub(crate) fn plan_with(
        self,
        catalog: &Catalog,
        scripts: &dyn Scripts,
    ) -> Result<(Plan, Vec<Warning>), LoadError> {
        let (plan, found) = self.draft_with(catalog, scripts)?;
        found.unless_wrong(plan)
    }

    /// The plan as far as it can be made, and what is wrong with the rest: whoever finds more wrong
    /// with the plan has all of it to tell together.
    ///
    /// # Errors
    /// What it asks to read that is not agreed to.
    pub fn draft_with(
        mut self,
        catalog: &Catalog,
        scripts: &dyn Scripts,
    ) -> Result<(Plan, ConfigError), LoadError> {
        let requests = std::mem::take(&mut self.trust_requests);
        let findings = Findings::new(self.agreements.clone(), requests);
        findings.take_keys(self.strictness);
        let mut plan = self.planned(catalog, scripts, &findings);
        plan.trust_requests = findings.take_trust_requests();
        plan.config_json = self.json;
        let found = self.declared.without_secrets(findings.found())?;
        Ok((plan, found))
    }

    /// Makes the plan, as far as it can be made; it has no requests and no config yet.
    fn planned(&mut self, catalog: &Catalog, scripts: &dyn Scripts, findings: &Findings) -> Plan {
        let books = Books::of(&self.sources);
        self.declared.permit_settings(&catalog.settings, findings);
        let (extensions, changed) = self.extended(catalog, scripts, &books, findings);
        let documents = self.documents(catalog, scripts, &books, findings);
        books.filters.fill(nunjucks_filters::read(&documents));
        let roots: Vec<Entry<'_>> = documents.iter().map(|one| one.root.clone()).collect();
        let ranked = self.ranked();
        let options = options::read(&ranked, &self.overrides, &self.process, findings);
        let prompts = questions::prompt(&documents).unwrap_or_else(|| prompts::read(&documents));
        let groups = Groups::read(&roots, findings);
        let asked = asked(&documents, &groups, &prompts, &self.overrides.given);
        let judges = JudgeBook::new(&asked.columns, &groups);
        let collector = VarCollector::default();
        let columns = &asked.columns[..asked.of_tests.unwrap_or_default()];
        let readers = readers(&documents, &judges, columns, (&collector, options.repeat));
        let tests = self.tests(&roots, &readers, &asked, changed.as_deref());
        drop(readers);
        let plugin_models = plugins::models(&self.plugins, &documents, &judges);
        let (judges, providers) = (judges.into_judges(), asked.providers());
        groups.warn_unused(findings);
        together::check_size(&tests, findings);
        let var_files = Arc::new(collector.into_files());
        let given = metrics::of(&tests, catalog).filter(|_| asked.tasks.is_empty());
        let filters = self.filters(&ranked, findings);
        let chosen = filters.choose(asked.columns, tests, &var_files, findings);
        together::check(&chosen, self.overrides.requires_assertions, findings);
        let (env_reads, env_sources) = self.declared.env_reads();
        let plan = Plan {
            order: Order::new(&chosen.columns, &chosen.tests),
            description: self.description(&documents, findings),
            tags: tags(&roots, &ranked, &self.overrides, findings),
            derived_metrics: derived_metrics::read(&documents, chosen.columns.len()),
            thresholds: thresholds::of_run(&self.overrides, &documents),
            columns: chosen.columns,
            tests: chosen.tests,
            providers,
            judges,
            plugin_models,
            narrowings: chosen.narrowings,
            shard: filters.shard,
            prices: prices::read(&documents, &self.overrides.prices, findings),
            options,
            output_paths: self.output_paths(&documents, findings),
            config_json: Value::Null,
            env: self.env.clone(),
            extensions,
            filters: books.filters.filters(),
            templates: Arc::default(),
            var_files,
            languages: books.languages(documents[0].reading),
            env_reads,
            provider_reads: self.declared.provider_reads(),
            processes: (books.code.processes).ask(self.declared.written(), &env_sources, findings),
            env_sources,
            code_places: books.code.places(),
            trust_requests: Vec::new(),
            filled_in: self.declared.secrets(),
        };
        metrics::check(&plan, given, &documents, findings);
        plan
    }

    /// The tests of every config, or those that hooks made of them, and those of the tasks.
    fn tests(
        &self,
        roots: &[Entry<'_>],
        readers: &[TestReader<'_>],
        asked: &AskedProviders,
        changed: Option<&[Tree]>,
    ) -> Tests {
        let default = default_test::read(roots, readers, &self.overrides);
        let mut tests = Tests::default();
        if let Some(of_tests) = asked.of_tests {
            match changed {
                Some(trees) => test_sources::of_trees(trees, readers, &default, &mut tests),
                None => test_sources::read(roots, readers, &default, &mut tests),
            }
            scenarios::read(roots, readers, &default, &mut tests);
            tasks::confine(&mut tests, of_tests, &asked.tasks);
        }
        tasks::tests(&asked.tasks, &asked.columns, readers, &default, &mut tests);
        tests
    }

    /// What narrows the run: the flags, and below them what the configs say.
    fn filters(&self, ranked: &[Entry<'_>], findings: &Findings) -> Filters {
        let mut filters = self.overrides.filters.clone();
        let range = options::filter_range(ranked, findings);
        filters.range = filters.range.or(range);
        let sample = options::filter_sample(ranked, findings);
        filters.sample = filters.sample.or(sample);
        filters
    }

    /// Reads the extensions, and the tests that they leave if there are others. What they change of the
    /// rest is in place from then on.
    fn extended(
        &mut self,
        catalog: &Catalog,
        scripts: &dyn Scripts,
        books: &Books,
        findings: &Findings,
    ) -> (Vec<Extension>, Option<Vec<Tree>>) {
        let documents = self.documents(catalog, scripts, books, findings);
        for document in &documents {
            whole(&document.root, findings);
        }
        let extensions = extensions::read(&documents, &self.overrides.extensions);
        let changed = before_all::call(&documents, &extensions);
        drop(documents);
        let tests = changed.and_then(|changed| self.change(changed));
        (extensions, tests)
    }

    /// Puts what hooks changed in place of what was written; gives the tests, if there are
    /// others.
    fn change(&mut self, changed: Changed) -> Option<Vec<Tree>> {
        let Kind::Map(keys) = changed.keys.kind else {
            return changed.tests;
        };
        if keys.is_empty() {
            return changed.tests;
        }
        for source in &mut self.sources {
            let Kind::Map(fields) = &mut source.root.kind else {
                continue;
            };
            let stays = |name: &str| keys.iter().all(|(changed, _)| *changed.name != *name);
            fields.retain(|(key, _)| stays(&key.name));
        }
        // As a config of their own, since it is not the config's text.
        let made = self.sources[0].made(keys, changed.origin);
        self.sources.push(made);
        changed.tests
    }

    /// The configs, in the order named.
    fn documents<'a>(
        &'a self,
        catalog: &'a Catalog,
        scripts: &'a dyn Scripts,
        books: &'a Books,
        findings: &'a Findings,
    ) -> Vec<Document<'a>> {
        let document = |(index, source): (usize, &'a Source)| Document {
            root: Entry::root(&source.root, &source.path, &source.origin),
            reading: Reading {
                files: &source.files,
                findings,
                declared: &self.declared,
                catalog,
                code: &books.code,
                scripts,
                filters: &books.filters,
                config: &source.path,
                process: &self.process,
                runtime: source.runtime(),
                granted: Some(&self.granted_code),
                is_further: index > 0,
            },
        };
        self.sources.iter().enumerate().map(document).collect()
    }

    /// The configs, the one whose options count first.
    fn ranked(&self) -> Vec<Entry<'_>> {
        let sources = self.sources.iter().rev();
        sources
            .map(|source| Entry::root(&source.root, &source.path, &source.origin))
            .collect()
    }

    fn description(&self, documents: &[Document<'_>], findings: &Findings) -> Option<String> {
        let flag = self.overrides.description.clone();
        flag.or_else(|| last(documents, "description")?.want_text(findings))
    }

    fn output_paths(&self, documents: &[Document<'_>], findings: &Findings) -> Vec<OutputPath> {
        let has = |one: &&Document<'_>| one.root.get("outputPath").is_some();
        let source = documents.iter().rev().find(has).or(documents.first());
        let flags = &self.overrides.output_paths;
        source.map_or_else(Vec::new, |one| {
            let secret = |text: &str| self.declared.hide(text) != text;
            output_path::read(&one.root, flags, one.reading.files, secret, findings)
        })
    }
}

/// Reports what is odd about the keys of one config.
fn whole(root: &Entry<'_>, findings: &Findings) {
    root.report_unknown(findings, &KNOWN);
    root.refuse_unless(&["tests", "scenarios", "tasks"], findings, &UNSUPPORTED);
    if let Some(entry) = root.get("runtime") {
        process::runtime(&entry, findings);
    }
    let sharing = root.get("sharing");
    if let Some(sharing) = sharing.filter(|sharing| sharing.node.json() != Value::Bool(false)) {
        let message = "results are never shared: 'sharing' is ignored";
        findings.warn(sharing.at(), message, None);
    }
}

/// The configs' own, those of their options, those of flags: the later win.
fn tags(
    roots: &[Entry<'_>],
    ranked: &[Entry<'_>],
    flags: &Overrides,
    findings: &Findings,
) -> Map<String, Value> {
    let of_options = options::tags(ranked, findings);
    let tags = roots.iter().filter_map(|root| root.get("tags"));
    let tags = tags.filter_map(|tags| tags.want_map(findings));
    let later = [of_options, flags.tags.clone()];
    tags.chain(later).flatten().collect()
}

/// Who is asked.
struct AskedProviders {
    /// Every provider of the configs.
    listed: Vec<Listed>,
    tasks: Vec<Task>,
    /// Those for tests, then those of the tasks.
    columns: Vec<Arc<Column>>,
    /// How many columns are for tests; `None`: the configs have tasks and no tests. Then their
    /// providers are only there to be named by tasks.
    of_tests: Option<usize>,
}

impl AskedProviders {
    /// Everybody who may be asked.
    fn providers(&self) -> Vec<Arc<Provider>> {
        let listed = self.listed.iter().cloned();
        let listed = listed.chain(tasks::listed(&self.tasks));
        listed.map(|one| one.provider).collect()
    }
}

fn asked(
    documents: &[Document<'_>],
    groups: &Groups,
    prompts: &[Arc<Prompt>],
    given: &KeyOverrides,
) -> AskedProviders {
    let findings = documents[0].reading.findings;
    let written = |key| documents.iter().any(|one| one.root.get(key).is_some());
    let has_tests = !written("tasks") || written("tests") || written("scenarios");
    let named = written("providers") || written("targets") || !given.providers.is_empty();
    let needs_providers = has_tests || named;
    let listed = needs_providers.then(|| providers::read(documents, groups, &given.providers));
    let listed = listed.unwrap_or_default();
    let tasks = tasks::read(documents, groups, &listed);
    let for_tests = if has_tests { &listed[..] } else { &[] };
    let mut columns = columns(prompts, for_tests, findings);
    let of_tests = has_tests.then_some(columns.len());
    for mut column in self::columns(prompts, &tasks::listed(&tasks), findings) {
        let own = Arc::get_mut(&mut column).expect("a column that was made just now");
        own.prompt_idx = columns.len() as u32;
        columns.push(column);
    }
    AskedProviders {
        listed,
        tasks,
        columns,
        of_tests,
    }
}

/// Providers by prompts: for each provider, the prompts that it allows.
fn columns(prompts: &[Arc<Prompt>], listed: &[Listed], findings: &Findings) -> Vec<Arc<Column>> {
    let mut columns: Vec<Arc<Column>> = Vec::new();
    let mut text = 0;
    let names = NameIndex::of(prompts.iter().map(|prompt| prompt.names()));
    for Listed {
        provider,
        prompts: filter,
        written: _,
    } in listed
    {
        let allowed: BTreeSet<u32> = match filter {
            None => names.meant("*"),
            Some(filter) => names.all_meant(filter, "prompt", findings),
        };
        for prompt in allowed {
            let prompt = &prompts[prompt as usize];
            text += weight::of_column(prompt, provider);
            let too_much = if columns.len() == MAX_COLUMNS {
                format!("providers and prompts make more than {MAX_COLUMNS} columns")
            } else if text > MAX_COLUMN_TEXT {
                let max = MAX_COLUMN_TEXT >> 20;
                format!("the prompts and labels of all columns together take more than {max} MiB")
            } else {
                String::new()
            };
            if !too_much.is_empty() {
                findings.stop(provider.at.clone(), too_much, "run them in parts");
                return columns;
            }
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

/// What reads the tests of each config.
fn readers<'a>(
    documents: &'a [Document<'a>],
    judges: &'a JudgeBook<'a>,
    columns: &'a [Arc<Column>],
    (collector, repeat): (&'a VarCollector, u32),
) -> Vec<TestReader<'a>> {
    let each = documents.iter().map(|one| one.reading);
    each.map(|reading| TestReader::new(reading, collector, judges, columns, repeat))
        .collect()
}

#[cfg(test)]
mod tests;
