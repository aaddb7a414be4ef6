//! From a config to a plan.
//!
//! Each key is read by its own file under `elements`; here they are put in order: prompts and
//! providers make the columns, which the filters of tests choose from.

use std::sync::Arc;

use serde_json::Value;

use crate::catalog::Catalog;
use crate::elements::providers::Listed;
use crate::elements::test_case::TestReader;
use crate::elements::{
    PROGRAM_HELP, Reading, default_test, names_match, options, output_path, prompts, providers,
    test_sources,
};
use crate::entry::Entry;
use crate::load::Config;
use crate::plan::{Column, Plan, Prompt, RunOptions, Test};
use crate::problem::{ConfigError, Findings, Warning};

/// Keys of a config.
const KNOWN: [&str; 26] = [
    "$schema",
    "assertionTemplates",
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
const UNSUPPORTED: [(&str, &str); 9] = [
    ("$ref", "YAML anchors (&name, *name) work"),
    ("assertionTemplates", "YAML anchors (&name, *name) work"),
    (
        "derivedMetrics",
        "metrics of metrics come with a later release",
    ),
    ("extensions", PROGRAM_HELP),
    ("nunjucksFilters", PROGRAM_HELP),
    ("redteam", "red teaming is not what this program does"),
    (
        "scenarios",
        "write the tests out; lists in `vars` multiply them",
    ),
    ("strategies", "red teaming is not what this program does"),
    ("tracing", "remove the key"),
];

/// Rows of a run: the results count them with 32 bits.
const MAX_ROWS: u64 = u32::MAX as u64;

impl Config {
    /// How the run will be carried out, for whoever must size something before the plan is
    /// made. What is wrong with the options is reported by [`Config::plan`].
    pub fn run_options(&self) -> RunOptions {
        let root = Entry::root(&self.root, &self.path);
        options::read(&root, &self.overrides, &self.process, &Findings::default())
    }

    /// Reads and checks everything else against what the plugins serve.
    ///
    /// # Errors
    /// All problems together.
    pub fn plan(self, catalog: &Catalog) -> Result<(Plan, Vec<Warning>), ConfigError> {
        let findings = Findings::default();
        let root = Entry::root(&self.root, &self.path);
        let reading = Reading {
            files: &self.files,
            findings: &findings,
            declared: &self.declared,
            catalog,
            config: &self.path,
            process: &self.process,
        };
        root.warn_unknown(&findings, &KNOWN);
        root.refuse(&findings, &UNSUPPORTED);
        if let Some(sharing) = root
            .get("sharing")
            .filter(|sharing| sharing.node.json() != Value::Bool(false))
        {
            findings.warn(
                sharing.at(),
                "results are never shared: 'sharing' is ignored",
                None,
            );
        }
        let options = options::read(&root, &self.overrides, &self.process, &findings);
        let prompts = prompts::read(&root, reading);
        refuse_conversations(&prompts, &findings);
        let columns = columns(&prompts, &providers::read(&root, reading), &findings);
        let tests = TestReader::new(reading, &columns, options.repeat);
        let default = default_test::read(&root, &tests, &self.overrides.vars);
        let found = test_sources::read(&root, &tests, &default);
        check_size(&found, &findings);
        let text = |key| {
            root.get(key)
                .and_then(|entry: Entry<'_>| entry.want_text(&findings))
        };
        let description = self
            .overrides
            .description
            .clone()
            .or_else(|| text("description"));
        let tags = root
            .get("tags")
            .and_then(|tags| tags.want_map(&findings))
            .unwrap_or_default();
        let output_paths =
            output_path::read(&root, &self.overrides.output_paths, &self.files, &findings);
        let var_files = Arc::new(tests.vars.into_files());
        let config_json = self.json.clone();
        let env = self.env.clone();
        let plan = Plan {
            description,
            tags,
            columns,
            tests: found,
            options,
            output_paths,
            config_json,
            env,
            var_files,
        };
        findings.verdict(plan)
    }
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

/// `_conversation` makes cases depend on each other, which nothing here arranges yet.
fn refuse_conversations(prompts: &[Arc<Prompt>], findings: &Findings) {
    for prompt in prompts {
        let reads = prompt
            .prepared
            .templates()
            .into_iter()
            .any(|template| template.names().any(|name| name == "_conversation"));
        if reads {
            findings.error_help(
                prompt.at.clone(),
                "conversations (`_conversation`) are not supported yet",
                "write the earlier turns into the prompt",
            );
        }
    }
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
