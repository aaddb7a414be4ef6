//! How many rows of the results one row of a data file makes.
//!
//! Lists of variables and `repeat` multiply: a row of two thousand bytes could ask for any number of
//! cases, ahead of all rows behind it, and each may cost money. So do the parts and tests of a scenario
//! that is a data file's, which counts as one row. What the config says itself has no such bound:
//! whoever wrote it says how much is run.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::elements::test_options::repeat;
use crate::model::{Findings, Position};
use crate::plan::Axes;

/// Rows of the results that one row of a data file makes at most.
const MOST: u64 = 10_000;

/// What multiplies a test's cases and is a data file's word.
#[derive(Debug, Clone, Default)]
pub(super) struct Multiplied {
    /// Variables that may have several values.
    vars: BTreeSet<String>,
    /// Whether `options.repeat` is.
    repeats: bool,
    /// Tests that its scenario makes of parts and tests; 0 as 1.
    of_scenario: u64,
}

impl Multiplied {
    /// Of a row of a data file, with these variables and options.
    pub(super) fn by(axes: &Axes, options: &Map<String, Value>) -> Self {
        Self {
            vars: axes.names().map(str::to_owned).collect(),
            repeats: repeat(options).is_some(),
            of_scenario: 0,
        }
    }

    /// Of a part of a scenario that makes so many tests; whether these are too many whatever they hold.
    pub(super) fn in_scenario(&mut self, tests: u64) -> bool {
        self.of_scenario = tests;
        tests > MOST
    }

    /// Of a test that lies over this one.
    pub(super) fn under(&self, mut over: Self) -> Self {
        over.vars.extend(self.vars.iter().cloned());
        Self {
            vars: over.vars,
            repeats: self.repeats || over.repeats,
            of_scenario: self.of_scenario.max(over.of_scenario),
        }
    }

    /// Reports a row that makes too many.
    pub(super) fn check(
        &self,
        axes: &Axes,
        options: &Map<String, Value>,
        (at, findings): (&Position, &Findings),
    ) {
        let repeats = repeat(options).filter(|_| self.repeats).unwrap_or(1);
        let combinations = axes.combinations_of(|name| self.vars.contains(name));
        let rows = combinations.saturating_mul(repeats.into());
        let rows = rows.saturating_mul(self.of_scenario.max(1));
        if rows > MOST {
            let (what, of) = match self.of_scenario {
                0 => ("the lists among its variables and its `repeat`", "a row"),
                _ => (
                    "its parts, its tests and the lists among their variables",
                    "a scenario",
                ),
            };
            let message = format!(
                "{what} make {rows} rows of the results; {of} of a data file makes at most {MOST}"
            );
            let help = "write rows of their own, or say it in the config, where lists and `repeat` \
                        have no such bound; `disableVarExpansion: true` in the options keeps a list \
                        as one value";
            findings.error_help(at.clone(), message, help);
        }
    }
}
