//! How many rows of the results one row of a data file makes.
//!
//! Lists of variables and `repeat` multiply: a row of two thousand bytes could ask for any number of
//! cases, ahead of all rows behind it, and each may cost money. So do the parts and tests of a scenario
//! that is a data file's, which counts as one row. What the config says itself has no such bound:
//! whoever wrote it says how much is run.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;

use serde_json::{Map, Value};

use crate::elements::test_options::repeat;
use crate::elements::vars::ReadVars;
use crate::model::{Findings, Position, TextOrigin};
use crate::plan::{Axes, weight};
use crate::read::files::names_file;

/// Rows of the results that one row of a data file makes at most.
const MOST: u64 = 10_000;

/// Bytes that these take together at most: each keeps the variables of its own, in the database and in files.
const MOST_BYTES: u64 = 1 << 30;

/// What multiplies a test's cases and is a data file's word.
#[derive(Debug, Clone, Default)]
pub(super) struct Multiplied {
    /// Variables with several values that it brings.
    vars: BTreeSet<String>,
    /// Whether `options.repeat` is.
    repeats: bool,
    /// What all tests of its scenario make so far, if a data file brought that.
    of_scenario: Option<Rc<Cell<u64>>>,
}

impl Multiplied {
    /// Of a test with these variables and options, of which so much is a data file's word: all of a row, and what a
    /// file of variables gives.
    pub(super) fn by(
        vars: &ReadVars,
        (options, origin): (&Map<String, Value>, &TextOrigin),
    ) -> Self {
        let is_meant = |name: &String| origin.is_data() || vars.of_data.contains(name);
        let several = vars
            .values
            .iter()
            .filter(|(name, value)| has_several(value) && is_meant(name));
        Self {
            vars: several.map(|(name, _)| name.clone()).collect(),
            repeats: origin.is_data() && repeat(options).is_some(),
            of_scenario: None,
        }
    }

    /// Of a part of a scenario of a data file, whose tests have made so many rows.
    pub(super) fn in_scenario(&mut self, made: Rc<Cell<u64>>) {
        self.of_scenario = Some(made);
    }

    /// Of a test that lies over this one, with these variables of its own.
    pub(super) fn under(&self, mut over: Self, own: &Map<String, Value>) -> Self {
        let stay = self.vars.iter().filter(|name| !own.contains_key(*name));
        over.vars.extend(stay.cloned());
        Self {
            vars: over.vars,
            repeats: self.repeats || over.repeats,
            of_scenario: over.of_scenario.or_else(|| self.of_scenario.clone()),
        }
    }

    /// Reports a row that makes too many, or the scenario that has made too many with it.
    pub(super) fn check(
        &self,
        axes: &Axes,
        options: &Map<String, Value>,
        vars: &Map<String, Value>,
        (at, findings): (&Position, &Findings),
    ) {
        let repeats = repeat(options).filter(|_| self.repeats).unwrap_or(1);
        let combinations = axes.combinations_of(|name| self.vars.contains(name));
        let rows = combinations.saturating_mul(repeats.into());
        let help = "write rows of their own, or say it in the config, where lists and `repeat` \
                    have no such bound; `disableVarExpansion: true` in the options keeps a list \
                    as one value";
        if let Some(made) = &self.of_scenario {
            made.set(made.get().saturating_add(rows));
            if made.get() > MOST {
                let message = format!(
                    "the scenario's parts, its tests and the lists among their variables make more than \
                     {MOST} rows of the results, the most that a scenario of a data file may make"
                );
                findings.stop(at.clone(), message, help);
            }
        } else if rows > MOST {
            let message = format!(
                "the lists among its variables and its `repeat` make {rows} rows of the results; \
                 a row of a data file makes at most {MOST}"
            );
            findings.error_help(at.clone(), message, help);
            return;
        }
        if rows == 1 {
            return;
        }
        let bytes = rows.saturating_mul(self.one_of(vars));
        if bytes > MOST_BYTES {
            let (made, most) = (bytes >> 20, MOST_BYTES >> 20);
            let message = format!(
                "the lists among its variables and its `repeat` make {rows} rows of the results with some {made} MiB \
                 of variables; those of a row of a data file take at most {most} MiB"
            );
            findings.error_help(at.clone(), message, help);
        }
    }

    /// Bytes of the variables of one of the rows that are made, about.
    fn one_of(&self, vars: &Map<String, Value>) -> u64 {
        let weight = |(name, value): (&String, &Value)| {
            let whole = weight::of_value(value);
            match value {
                Value::Array(items) if self.vars.contains(name) => whole / items.len().max(1),
                _ => whole,
            }
        };
        vars.iter().map(weight).sum::<usize>() as u64
    }
}

/// Whether a variable may have several values: a list, or the files that a pattern finds.
fn has_several(value: &Value) -> bool {
    match value {
        Value::Array(_) => true,
        Value::String(text) => names_file(text),
        _ => false,
    }
}
