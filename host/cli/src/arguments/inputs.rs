//! The flags that say what is read: configs, what takes the place of their parts, plugins.
//!
//! They alone decide what a run asks the person's agreement for, so they are what `runner trust`
//! takes of the flags of `eval`; and they can be written down again, as the command that asks.

use std::path::PathBuf;

use clap::Args;
use runner_config::Strictness;

use super::words::Words;
use super::{Filtering, Replacing, variable};

/// The flags as typed.
#[derive(Debug, Clone, Args)]
pub(crate) struct Inputs {
    /// The config to run; several are read as one [default: promptfooconfig.yaml in this folder]
    #[arg(short, long, value_name = "FILE", num_args = 1..)]
    pub(crate) config: Vec<PathBuf>,

    /// What takes the place of the config's own
    #[command(flatten)]
    pub(crate) replacing: Replacing,
    /// Set a variable in every test that doesn't set it itself; repeatable
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    pub(crate) var: Vec<(String, String)>,
    /// Put TEXT before every prompt, unless a test has a prefix of its own
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) prompt_prefix: Option<String>,
    /// Put TEXT after every prompt, unless a test has a suffix of its own
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) prompt_suffix: Option<String>,
    /// Call code around the run and its cases, in place of the config's extensions: file://hooks.js:beforeEach; repeatable
    #[arg(short = 'x', long, value_name = "FILE")]
    pub(crate) extension: Vec<String>,
    /// Grade with PROVIDER (an id or label) where neither test nor assertion names one
    #[arg(long, value_name = "PROVIDER")]
    pub(crate) grader: Option<String>,

    /// Which part of the config
    #[command(flatten)]
    pub(crate) filtering: Filtering,

    /// Only warn about keys of the config that look misspelt; without it they are errors
    #[arg(long, overrides_with = "strict")]
    pub(crate) lenient: bool,
    /// Treat every key of the config that nothing reads as an error
    #[arg(long, overrides_with = "lenient")]
    pub(crate) strict: bool,
    /// Undo a --strict, also one that a run was begun with
    #[arg(long, hide = true, overrides_with = "strict")]
    pub(crate) no_strict: bool,

    /// Refuse tests without an assertion, which any answer passes
    #[arg(long, overrides_with = "no_require_assertions")]
    pub(crate) require_assertions: bool,
    /// Undo a --require-assertions, also one that a run was begun with
    #[arg(long, hide = true, overrides_with = "require_assertions")]
    pub(crate) no_require_assertions: bool,

    /// Load a plugin (.wasm), or every plugin of a folder; repeatable
    #[arg(long, value_name = "FILE|DIR", help_heading = "Plugins")]
    pub(crate) plugin: Vec<PathBuf>,
}

impl Inputs {
    /// The words that are typed for these flags. They will be shown, so the values of variables
    /// that are named like secrets are left out.
    pub(crate) fn words(&self) -> Words {
        let mut words = Words::default();
        words.paths("-c", &self.config);
        self.replacing.add_to(&mut words);
        for (name, value) in &self.var {
            let is_secret = runner_config::is_secret_variable(name);
            let value = if is_secret { "" } else { value };
            words.flag("--var", &format!("{name}={value}"));
            if is_secret {
                words.left_out.push(name.clone());
            }
        }
        words.flags("--prompt-prefix", &self.prompt_prefix);
        words.flags("--prompt-suffix", &self.prompt_suffix);
        words.flags("-x", &self.extension);
        words.flags("--grader", &self.grader);
        self.filtering.add_to(&mut words);
        match self.strictness() {
            Some(Strictness::Lenient) => words.words.push("--lenient".to_owned()),
            Some(Strictness::Strict) => words.words.push("--strict".to_owned()),
            Some(Strictness::Usual) | None => {}
        }
        if self.require_assertions {
            words.words.push("--require-assertions".to_owned());
        }
        words.paths("--plugin", &self.plugin);
        words
    }

    /// How keys that nothing reads are taken, if a flag says it.
    pub(crate) fn strictness(&self) -> Option<Strictness> {
        match (self.lenient, self.strict) {
            (true, _) => Some(Strictness::Lenient),
            (false, true) => Some(Strictness::Strict),
            (false, false) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::tests::{eval, with_value};

    /// Every flag, as clap has it: written down, it means what it meant.
    #[test]
    fn flags_that_are_written_down_and_read_again_are_the_same() {
        let typed = |line: &str| format!("{:?}", eval(&format!("runner eval {line}")).inputs);
        let flags = Inputs::augment_args(clap::Command::new("inputs"));
        let mut lines = vec![
            "-c a -c b -p 1 2 -r x --var a=1 --var b==".to_owned(),
            "--filter-metadata a=b --filter-metadata c=d --prompt-prefix=-a -n 3".to_owned(),
            "--filter-pattern=-x --filter-range 2: --filter-failing-only latest".to_owned(),
        ];
        lines.extend(flags.get_arguments().map(with_value));
        for line in lines {
            let words = eval(&format!("runner eval {line}")).inputs.words();
            let again = typed(&words.words.join(" "));
            if line.starts_with("--no-") {
                assert_eq!(again, typed(""), "what is undone is not written down");
            } else {
                assert_eq!(again, typed(&line), "{words:?}");
                assert_ne!(again, typed(""), "{line}");
            }
        }
    }

    #[test]
    fn values_that_are_secret_by_their_names_are_not_written_down() {
        let typed = eval("runner eval --var api_key=sk-1 --var city=Rome").inputs;
        let written = typed.words();
        assert_eq!(written.words, ["--var", "api_key=", "--var", "city=Rome"]);
        assert_eq!(written.left_out, ["api_key"]);
    }
}
