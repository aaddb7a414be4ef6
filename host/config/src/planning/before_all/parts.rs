//! Which of the tests that a hook changed were rows, and which the config's own.
//!
//! A row may put no words into a conversation of the config's own tests, nor store variables for them. A
//! hook hands all of them back in one list, and the code is the config's: it is believed, but what it
//! changes is no row's place to claim. So a changed test counts as what those were that had its variables;
//! where both had them, or none, nobody knows, and it shares with no other.

use std::collections::HashMap;

use serde_json::Value;

use crate::elements::test_sources::Tree;
use crate::several::ContentDigest;

/// The part of rows.
const ROWS: usize = 0;

/// The part of the config's own tests.
const OWN: usize = 1;

/// Those that nobody can tell follow.
const UNKNOWN: usize = 2;

/// What had which variables before a hook changed it.
pub(super) struct VariableOwners {
    /// `None`: rows and the config's own tests had these. Nothing is known of any where only one of the two
    /// was handed over.
    known: Option<HashMap<ContentDigest, Option<usize>>>,
}

impl VariableOwners {
    /// Of the tests of `before`, which are these.
    pub(super) fn of(before: &Value, trees: &[Tree]) -> Self {
        let rows = trees.iter().filter(|tree| tree.origin.is_data()).count();
        if rows == 0 || rows == trees.len() {
            return Self { known: None };
        }
        let mut known = HashMap::new();
        let tests = before["tests"].as_array().into_iter().flatten();
        for (test, tree) in tests.zip(trees) {
            let part = if tree.origin.is_data() { ROWS } else { OWN };
            known
                .entry(ContentDigest::of_value(&test["vars"]))
                .and_modify(|known: &mut Option<usize>| {
                    *known = known.filter(|known| *known == part);
                })
                .or_insert(Some(part));
        }
        Self { known: Some(known) }
    }

    /// The part of the test that came back at this place.
    pub(super) fn of_test(&self, index: usize, test: &Value) -> usize {
        let Some(known) = &self.known else {
            return ROWS;
        };
        let part = known
            .get(&ContentDigest::of_value(&test["vars"]))
            .copied()
            .flatten();
        part.unwrap_or(UNKNOWN + index)
    }
}
