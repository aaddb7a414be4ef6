//! Running a part of a config: the `--filter-…` flags.
//!
//! Prompts and providers are chosen first, then tests, in promptfoo's order: metadata → a former
//! run's cases → pattern → range → first → sample → shard. Each filter sees what the one before it left.
//! What is left is numbered from 0 again, as in promptfoo: a filtered run's row 0 is the first
//! chosen test. Whoever compares runs matches cases by their content, which a filter never
//! changes.
//!
//! The whole config is read and checked before anything is left out, so that a filter can't
//! hide a mistake. A filter that leaves nothing stops the run: nobody meant to test nothing.

use std::sync::Arc;

use crate::model::{Findings, Position};
use crate::plan::{Column, Narrowing, Shard, Tests, VarFiles};

mod columns;
mod description;
mod former;
mod metadata;
mod pattern;
mod range;
mod sample;
mod shard;

pub use former::{FormerCase, FormerCases};
pub use metadata::{MetadataError, MetadataFilter};
pub use pattern::{Pattern, PatternError};
pub use range::{RangeError, TestRange};
pub use sample::Sample;

/// What to run of a config; by default everything.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filters {
    /// `--filter-prompts`: prompts by label or id.
    pub prompts: Option<Pattern>,
    /// `--filter-providers`: providers by label or id.
    pub providers: Option<Pattern>,
    /// `--filter-metadata`: tests that match all of these.
    pub metadata: Vec<MetadataFilter>,
    /// `--filter-failing` and its kin: cases that a former run has.
    pub former: Option<FormerCases>,
    /// `--filter-pattern`: tests by description.
    pub pattern: Option<Pattern>,
    /// `--filter-range`: tests by number.
    pub range: Option<TestRange>,
    /// `--filter-first-n`.
    pub first: Option<usize>,
    /// `--filter-sample`: tests by chance.
    pub sample: Option<Sample>,
    /// `--shard`: one of several parts.
    pub shard: Option<Shard>,
}

/// What is left of a config.
#[derive(Default)]
pub(crate) struct Chosen {
    pub(crate) columns: Vec<Arc<Column>>,
    pub(crate) tests: Tests,
    pub(crate) narrowings: Vec<Narrowing>,
}

impl Filters {
    /// Chooses; what leaves nothing is reported.
    pub(crate) fn choose(
        &self,
        columns: Vec<Arc<Column>>,
        tests: Tests,
        files: &VarFiles,
        findings: &Findings,
    ) -> Chosen {
        let mut chosen = Chosen {
            columns,
            tests,
            narrowings: Vec::new(),
        };
        if findings.is_clean() {
            // An emptied choice was reported, and the filters after it would only repeat that.
            let _ = self.narrow(&mut chosen, files, findings);
        }
        chosen
    }

    fn narrow(&self, chosen: &mut Chosen, files: &VarFiles, findings: &Findings) -> Option<()> {
        columns::choose(self, chosen, findings)?;
        for filter in &self.metadata {
            chosen.keep(findings, &filter.to_string(), &filter.help(), |tests| {
                tests.retain_mut(|test| filter.matches(test));
            })?;
        }
        if let Some(former) = &self.former {
            let help = former.help();
            chosen.keep(findings, &former.to_string(), &help, |tests| {
                former.retain(tests, files);
            })?;
        }
        if let Some(pattern) = &self.pattern {
            let help = description::help(&chosen.tests);
            let name = format!("--filter-pattern {pattern}");
            chosen.keep(findings, &name, &help, |tests| {
                tests.retain_mut(|test| description::matches(test, pattern));
            })?;
        }
        if let Some(range) = &self.range {
            let help = range::help(chosen.tests.len());
            chosen.keep(findings, &range.to_string(), &help, |tests| {
                range.cut(tests);
            })?;
        }
        if let Some(first) = self.first {
            let name = format!("--filter-first-n {first}");
            chosen.keep(findings, &name, "take at least one", |tests| {
                tests.keep(|index| index < first);
            })?;
        }
        if let Some(sample) = &self.sample {
            chosen.keep(
                findings,
                &sample.to_string(),
                "take at least one",
                |tests| {
                    sample.draw(tests);
                },
            )?;
        }
        if let Some(shard) = self.shard {
            let of = chosen.tests.len();
            shard::cut(shard, chosen);
            let narrowing = Narrowing {
                filter: shard.to_string(),
                kept: chosen.tests.len(),
                of,
                what: "tests",
            };
            chosen.note(narrowing, shard::HELP, findings)?;
        }
        Some(())
    }
}

impl Chosen {
    /// Applies one filter to the tests; `None`, and a problem, if none is left.
    fn keep(
        &mut self,
        findings: &Findings,
        filter: &str,
        help: &str,
        apply: impl FnOnce(&mut Tests),
    ) -> Option<()> {
        let of = self.tests.len();
        apply(&mut self.tests);
        let narrowing = Narrowing {
            filter: filter.to_owned(),
            kept: self.tests.len(),
            of,
            what: "tests",
        };
        self.note(narrowing, help, findings)
    }

    /// Keeps what a filter did; `None`, and a problem, if it left nothing.
    fn note(&mut self, narrowing: Narrowing, help: &str, findings: &Findings) -> Option<()> {
        if narrowing.kept == 0 {
            let Narrowing {
                filter, of, what, ..
            } = narrowing;
            let at = Position {
                key: filter,
                ..Position::default()
            };
            let message = match of {
                1 => format!("leaves none of the {what} (there is only one)"),
                _ => format!("leaves none of {of} {what}"),
            };
            findings.error_help(at, message, help);
            return None;
        }
        self.narrowings.push(narrowing);
        Some(())
    }
}

#[cfg(test)]
mod tests;
