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
    /// Who judges, by id or label, where no test and no assertion names somebody
    #[arg(long, value_name = "PROVIDER")]
    pub(crate) grader: Option<String>,

    /// Which part of the config
    #[command(flatten)]
    pub(crate) filtering: Filtering,

    /// Only warn of keys of the config that are nearly those that exist; otherwise they are errors
    #[arg(long, overrides_with = "strict")]
    pub(crate) lenient: bool,
    /// Take every key of the config that nothing reads for an error
    #[arg(long, overrides_with = "lenient")]
    pub(crate) strict: bool,

    /// Refuse tests without an assertion, which any answer passes
    #[arg(long)]
    pub(crate) require_assertions: bool,

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
    use crate::arguments::tests::eval;

    /// Every flag of it: written down, they mean what they meant.
    #[test]
    fn flags_that_are_written_down_and_read_again_are_the_same() {
        let lines = [
            "",
            "-c a.yaml -c b.yaml -p one two -r echo -r other -t t.csv --var a=1 --var b==",
            "--vars v.csv --prompt-prefix=-a --prompt-suffix b -x file://h.js:f --grader g",
            "--model-outputs o.json -a a.yaml --plugin p.wasm --plugin dir",
            "--filter-pattern=-x -n 3 --filter-range 2: --filter-sample 5 --filter-sample-seed s",
            "--filter-metadata a=b --filter-metadata c=d --filter-providers ^x --filter-prompts y",
            "--filter-failing latest",
            "--filter-failing-only r",
            "--filter-errors-only r",
            "--lenient",
            "--strict",
            "--require-assertions",
        ];
        for line in lines {
            let typed = eval(&format!("runner eval {line}")).inputs;
            let words = typed.words().words.join(" ");
            let again = eval(&format!("runner eval {words}")).inputs;
            assert_eq!(format!("{again:?}"), format!("{typed:?}"), "{words}");
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
