//! The flags that choose a part of a config.
//!
//! Each is parsed to what it means here, so that a bad expression is a bad argument; what the
//! flags leave is decided in `runner-config`, when there is something to choose from.

use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroUsize;
use std::str::FromStr;

use clap::Args;
use runner_config::plan::Shard;
use runner_config::{Filters, MetadataFilter, Pattern, Sample, TestRange};

use super::numbers::some;
use super::words::Words;
use crate::failure::Failure;

/// Flags of `runner eval` that choose.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "What to run")]
pub(crate) struct Filtering {
    /// Run only tests whose description matches
    #[arg(
        long = "filter-pattern",
        value_name = "REGEX",
        allow_hyphen_values = true
    )]
    pub(crate) pattern: Option<Pattern>,
    /// Run only the first N tests
    #[arg(
        short = 'n',
        long = "filter-first-n",
        value_name = "N", value_parser = some::<NonZeroUsize>
    )]
    pub(crate) first_n: Option<NonZeroUsize>,
    /// Run only tests with these numbers, counted from 0, without END: 0:10, 10:, :5
    #[arg(long = "filter-range", value_name = "START:END")]
    pub(crate) range: Option<TestRange>,
    /// Run only N tests, chosen at random
    #[arg(long = "filter-sample", value_name = "N", value_parser = some::<NonZeroUsize>)]
    pub(crate) sample: Option<NonZeroUsize>,
    /// Choose those tests by SEED, any text; the same SEED chooses the same tests again
    #[arg(long = "filter-sample-seed", value_name = "SEED", requires = "sample")]
    pub(crate) sample_seed: Option<String>,
    /// Run only tests whose metadata have VALUE under KEY; repeatable, all must match
    #[arg(long = "filter-metadata", value_name = "KEY=VALUE")]
    pub(crate) metadata: Vec<MetadataFilter>,
    /// Run only providers whose label or id matches
    #[arg(
        id = "filter_providers",
        long = "filter-providers",
        value_name = "REGEX",
        visible_alias = "filter-targets",
        allow_hyphen_values = true
    )]
    pub(crate) providers: Option<Pattern>,
    /// Run only prompts whose label or id matches
    #[arg(
        id = "filter_prompts",
        long = "filter-prompts",
        value_name = "REGEX",
        allow_hyphen_values = true
    )]
    pub(crate) prompts: Option<Pattern>,
    /// Run only the cases that did not pass in a kept run, or in a results file (.json, .jsonl)
    #[arg(long = "filter-failing", value_name = "RUN|FILE", group = "former")]
    pub(crate) failing: Option<String>,
    /// Run only the cases that were graded and failed there
    #[arg(
        long = "filter-failing-only",
        value_name = "RUN|FILE",
        group = "former"
    )]
    pub(crate) failing_only: Option<String>,
    /// Run only the cases that ended in an error there
    #[arg(long = "filter-errors-only", value_name = "RUN|FILE", group = "former")]
    pub(crate) errors_only: Option<String>,
    /// Run only the test that has this number in a kept run, as `runner show` counts them
    #[arg(long = "filter-test", value_name = "RUN:N", group = "former")]
    pub(crate) test: Option<KeptTest>,
    /// Run only the I-th of N parts of the tests; `runner merge` puts the results of all parts together
    #[arg(long, value_name = "I/N")]
    pub(crate) shard: Option<Shard>,
}

/// Which rows of a former run are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FormerRows {
    /// Everything that did not pass.
    NotPassed,
    /// Graded, and not good enough.
    Failed,
    /// Not graded.
    Errors,
    /// The test of this number.
    Test(u32),
}

/// A test of a kept run, by its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeptTest {
    run: String,
    number: u32,
}

impl FromStr for KeptTest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.rsplit_once(':');
        let parts = parts.and_then(|(run, number)| Some((run.to_owned(), number.parse().ok()?)));
        let (run, number) = parts.ok_or("it takes a run and a number, for example latest:17")?;
        Ok(Self { run, number })
    }
}

impl Filtering {
    /// Whether the flags mean something together.
    ///
    /// # Errors
    /// When each part of a run would draw tests of its own.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.shard.is_some() && self.sample.is_some() && self.sample_seed.is_none() {
            let message = "--shard would take parts of another sample each time";
            return Err(
                Failure::usage(message).help("give all parts the same --filter-sample-seed")
            );
        }
        Ok(())
    }

    /// Chooses the seed of a sample now, if none was given; gives the seed that holds.
    pub(crate) fn settle_seed(&mut self) -> Option<&str> {
        if self.sample.is_some() {
            self.sample_seed.get_or_insert_with(any_seed);
        }
        self.sample_seed.as_deref()
    }

    /// Returns the name of the former run, to be made more exact.
    pub(crate) fn former_name(&mut self) -> Option<&mut String> {
        let names = [
            &mut self.failing,
            &mut self.failing_only,
            &mut self.errors_only,
        ];
        let test = self.test.as_mut().map(|it| &mut it.run);
        names.into_iter().find_map(Option::as_mut).or(test)
    }

    /// What the config needs, but for the former run, which has to be read first.
    pub(crate) fn filters(&self) -> Filters {
        let sample = self.sample.map(|count| Sample {
            count: count.get(),
            seed: self.sample_seed.clone().unwrap_or_else(any_seed),
        });
        Filters {
            prompts: self.prompts.clone(),
            providers: self.providers.clone(),
            metadata: self.metadata.clone(),
            former: None,
            pattern: self.pattern.clone(),
            range: self.range,
            first: self.first_n.map(NonZeroUsize::get),
            sample,
            shard: self.shard,
        }
    }

    /// Writes these flags down.
    pub(super) fn add_to(&self, words: &mut Words) {
        words.flags("--filter-pattern", &self.pattern);
        words.flags("-n", self.first_n);
        if let Some(range) = &self.range {
            words.written("--filter-range", &range.to_string());
        }
        words.flags("--filter-sample", self.sample);
        words.flags("--filter-sample-seed", &self.sample_seed);
        for metadata in &self.metadata {
            words.written("--filter-metadata", &metadata.to_string());
        }
        words.flags("--filter-providers", &self.providers);
        words.flags("--filter-prompts", &self.prompts);
        if let Some(shard) = self.shard {
            words.written("--shard", &shard.to_string());
        }
        match self.former() {
            Some((flag, FormerRows::Test(number), run)) => {
                words.flag(flag, &format!("{run}:{number}"));
            }
            Some((flag, _, name)) => words.flag(flag, name),
            None => {}
        }
    }

    /// The former run: its flag, which rows, and its name.
    pub(crate) fn former(&self) -> Option<(&'static str, FormerRows, &str)> {
        let flags = [
            ("--filter-failing", FormerRows::NotPassed, &self.failing),
            (
                "--filter-failing-only",
                FormerRows::Failed,
                &self.failing_only,
            ),
            (
                "--filter-errors-only",
                FormerRows::Errors,
                &self.errors_only,
            ),
        ];
        let test = self.test.as_ref();
        let test = test.map(|it| ("--filter-test", FormerRows::Test(it.number), &*it.run));
        flags
            .into_iter()
            .find_map(|(flag, wanted, name)| Some((flag, wanted, name.as_deref()?)))
            .or(test)
    }
}

/// A seed that nobody chose; short, because a person will type it. The standard library's hash
/// keys are random in every process, which is all the chance that this needs.
fn any_seed() -> String {
    (RandomState::new().hash_one("seed") % 1_000_000).to_string()
}
