//! `--shard I/N`: the I-th of N parts of the tests, for jobs that run side by side.
//!
//! Parts are of tests that follow each other, so that their rows, put together in order, are those of the
//! whole run. Tests of which a later one sees what an earlier one left (a conversation, `storeOutputAs`)
//! stay in one part: where a part would begin between them it begins after them. So parts may be of
//! different sizes, and none may be left for some.

use std::collections::HashMap;

use super::Chosen;
use crate::plan::{CaseResource, Needs, Order, Shard};

/// Leaves the tests of a part.
pub(super) fn cut(shard: Shard, chosen: &mut Chosen) {
    let count = chosen.tests.len();
    let order = Order::new(&chosen.columns, &chosen.tests);
    let tied = order.map(|order| tied(&order, count, chosen.columns.len() as u32));
    let begin = |part: u32| {
        let ideal = (count as u64 * u64::from(part) / u64::from(shard.count)) as usize;
        match &tied {
            Some(tied) => (ideal..count).find(|at| !tied[*at]).unwrap_or(count),
            None => ideal,
        }
    };
    let part = begin(shard.index - 1)..begin(shard.index);
    chosen.tests.keep(|index| part.contains(&index));
}

/// For each test whether it has to be where the one before it is.
fn tied(order: &Order, count: usize, columns: u32) -> Vec<bool> {
    // From the first test that leaves something on a strand to the last that reads it.
    let mut spans: HashMap<CaseResource, (usize, usize)> = HashMap::new();
    for test in 0..count {
        for column in 0..columns {
            let Needs { reads, writes, .. } = order.needs(test, 0, column);
            for strand in reads.into_iter().filter(CaseResource::carries) {
                if let Some((_, last)) = spans.get_mut(&strand) {
                    *last = test;
                }
            }
            for strand in writes.into_iter().filter(CaseResource::carries) {
                spans.entry(strand).or_insert((test, test));
            }
        }
    }
    let mut tied = vec![false; count];
    let mut spans: Vec<(usize, usize)> = spans.into_values().collect();
    spans.sort_unstable();
    // Each test is looked at once, however many spans are over it.
    let mut looked = 0;
    for (first, last) in spans {
        for test in tied.iter_mut().take(last + 1).skip(first.max(looked) + 1) {
            *test = true;
        }
        looked = looked.max(last);
    }
    tied
}

/// What to say when a part has no tests.
pub(super) const HELP: &str =
    "take fewer parts: tests that depend on each other are in one part, and no test is in two";

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::fixture::Folder;

    /// The values of `n` that each part has.
    fn parts(config: &str, count: u32) -> Vec<Vec<String>> {
        let part = |index| {
            let mut folder = Folder::new(config);
            folder.overrides.filters.shard = Some(Shard { index, count });
            let value = |value: &Value| {
                value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned)
            };
            folder
                .cases()
                .iter()
                .map(|case| value(&case.vars["n"]))
                .collect()
        };
        (1..=count).map(part).collect()
    }

    #[test]
    fn parts_put_together_are_the_whole_in_its_order() {
        let tests: Vec<String> = (0..7)
            .map(|n| format!("{{ vars: {{ n: {n} }} }}"))
            .collect();
        let config = format!(
            "prompts: ['{{{{n}}}}']\nproviders: [echo]\ntests: [{}]\n",
            tests.join(", ")
        );
        for count in 1..=7 {
            let parts = parts(&config, count);
            let sizes: Vec<usize> = parts.iter().map(Vec::len).collect();
            let (least, most) = (sizes.iter().min(), sizes.iter().max());
            assert!(
                most.zip(least)
                    .is_some_and(|(most, least)| most - least <= 1),
                "{sizes:?}"
            );
            let all: Vec<String> = parts.concat();
            assert_eq!(all, ["0", "1", "2", "3", "4", "5", "6"], "{count}");
        }
    }

    #[test]
    fn a_part_without_tests_is_an_error() {
        let mut folder =
            Folder::new("prompts: [p]\nproviders: [echo]\ntests: [{ vars: { n: 1 } }]\n");
        folder.overrides.filters.shard = Some(Shard { index: 1, count: 2 });
        let problems = folder.problems();
        assert!(
            problems[0].contains("--shard 1/2: leaves none of the tests (there is only one)"),
            "{problems:?}"
        );
    }

    #[test]
    fn tests_that_depend_on_each_other_are_in_one_part() {
        let register = "\
prompts: ['{{n}}']
providers: [echo]
tests:
  - { vars: { n: a } }
  - { vars: { n: b }, options: { storeOutputAs: kept } }
  - { vars: { n: c } }
  - { vars: { n: '{{kept}}' } }
  - { vars: { n: e } }
  - { vars: { n: f } }
";
        let sizes: Vec<usize> = parts(register, 2).iter().map(Vec::len).collect();
        assert_eq!(sizes, [4, 2]);
        let turn = |id: &str, n: u32| {
            format!("  - {{ vars: {{ n: {n} }}, metadata: {{ conversationId: {id} }} }}\n")
        };
        let turns: String = [("x", 1), ("x", 2), ("x", 3), ("y", 4), ("y", 5), ("z", 6)]
            .map(|(id, n)| turn(id, n))
            .concat();
        let config = format!(
            "prompts: ['{{{{_conversation}}}} {{{{n}}}}']\nproviders: [echo]\ntests:\n{turns}"
        );
        assert_eq!(
            parts(&config, 3),
            [vec!["1", "2", "3"], vec!["4", "5"], vec!["6"]]
        );
    }
}
