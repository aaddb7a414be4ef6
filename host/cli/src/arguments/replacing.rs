//! The flags that give prompts, providers, tests or saved outputs in place of a config's own.
//!
//! promptfoo has them as `-p -r -t -a`; its `-v` for `--vars` is `--verbose` here, as on any other
//! command. What they mean together with a config is decided by the config's reader.

use std::path::{Path, PathBuf};

use clap::Args;
use runner_config::KeyOverrides;

use super::words::Words;

/// The flags as typed.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Instead of the config's")]
pub(crate) struct Replacing {
    /// Use these prompts in place of the config's: files, patterns or texts
    #[arg(short, long, value_name = "FILE|TEXT", num_args = 1..)]
    prompts: Vec<String>,
    /// Use these providers in place of the config's: ids, files, or labels of those that the config has
    #[arg(short = 'r', long, value_name = "ID|FILE", num_args = 1..)]
    providers: Vec<String>,
    /// Use these tests in place of the config's: a file or pattern
    #[arg(short, long, value_name = "FILE")]
    tests: Option<String>,
    /// Use these tests in place of the config's (promptfoo's name for --tests)
    #[arg(long, value_name = "FILE", conflicts_with = "tests")]
    vars: Option<String>,
    /// Grade the outputs in FILE, a JSON list of texts or of { output, tags }, without asking a provider
    #[arg(long, value_name = "FILE", requires = "assertions", conflicts_with_all = ["prompts", "providers", "tests", "vars"])]
    model_outputs: Option<PathBuf>,
    /// Grade --model-outputs with the assertions in FILE: a YAML or JSON list
    #[arg(short, long, value_name = "FILE", requires = "model_outputs")]
    assertions: Option<PathBuf>,
}

impl Replacing {
    /// As the config's reader takes them.
    pub(crate) fn given(&self) -> KeyOverrides {
        KeyOverrides {
            prompts: self.prompts.clone(),
            providers: self.providers.clone(),
            tests: self.tests.clone().or_else(|| self.vars.clone()),
            model_outputs: self.model_outputs.clone(),
            assertions: self.assertions.clone(),
            made: None,
        }
    }

    /// Writes these flags down.
    pub(super) fn add_to(&self, words: &mut Words) {
        words.flags("-p", &self.prompts);
        words.flags("-r", &self.providers);
        words.flags("-t", &self.tests);
        words.flags("--vars", &self.vars);
        words.paths("--model-outputs", &self.model_outputs);
        words.paths("-a", &self.assertions);
    }

    /// These flags, and where they say nothing, those of `before`.
    pub(super) fn over(self, before: Self) -> Self {
        let tests = if self.tests.is_some() || self.vars.is_some() {
            (self.tests, self.vars)
        } else {
            (before.tests, before.vars)
        };
        Self {
            prompts: list(self.prompts, before.prompts),
            providers: list(self.providers, before.providers),
            tests: tests.0,
            vars: tests.1,
            model_outputs: self.model_outputs.or(before.model_outputs),
            assertions: self.assertions.or(before.assertions),
        }
    }

    /// Makes paths independent of the folder. A text that names a file of `cwd` is one.
    pub(super) fn make_absolute(&mut self, cwd: &Path) {
        for path in [&mut self.model_outputs, &mut self.assertions]
            .into_iter()
            .flatten()
        {
            *path = cwd.join(&*path);
        }
        let lists = [&mut self.prompts, &mut self.providers]
            .into_iter()
            .flatten();
        let sources = [&mut self.tests, &mut self.vars].into_iter().flatten();
        for name in lists.chain(sources) {
            let path = name.strip_prefix("file://").unwrap_or(name);
            let full = cwd.join(path);
            if full.is_file()
                && let Some(full) = full.to_str()
            {
                let scheme = &name[..name.len() - path.len()];
                *name = format!("{scheme}{full}");
            }
        }
    }
}

pub(super) fn list<T>(now: Vec<T>, before: Vec<T>) -> Vec<T> {
    if now.is_empty() { before } else { now }
}
