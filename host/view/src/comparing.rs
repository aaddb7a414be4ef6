//! Two columns of two runs, or of one, case by case: what got better and what worse.
//!
//! Both are read once from their lookups, put into the order of their contents, and walked side by
//! side: some fifty bytes a case, so that a run of a million can be compared with another. What differs is told by
//! case; whether it is more than chance by test (`by_test`).

use std::collections::HashMap;

use runner_store::{Outcome, Store, StoreError};

use crate::pairing::{self, CaseKey};
use crate::repeats::Firsts;
use crate::significance::Pairs;
use crate::significance::means::Means;
use crate::significance::rate::PassRate;

/// Cases that are kept of those which are tested otherwise.
const MOST_EDITED: usize = 200;

mod by_test;
pub(crate) mod measures;

/// What there is to say about one case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Worse,
    Better,
    /// It passed one of the two times, but its own repeats within a run went both ways, too.
    Flaky,
    /// It did not pass in another way.
    Otherwise,
    /// Its verdict is as before, its score another.
    Score,
    /// Verdict and score are as before, the answer is another.
    Answer,
}

impl Kind {
    /// Each with its word in an address, and in words.
    pub(crate) const ALL: [(Self, &'static str, &'static str); 6] = [
        (Self::Worse, "worse", "got worse"),
        (Self::Better, "better", "got better"),
        (Self::Flaky, "flaky", "flaky"),
        (Self::Otherwise, "otherwise", "failed in another way"),
        (Self::Score, "score", "another score"),
        (Self::Answer, "answer", "another answer"),
    ];
}

/// A case that came out differently.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Difference {
    pub(crate) kind: Kind,
    /// Which pair of columns.
    pub(crate) pair: usize,
    pub(crate) before: u32,
    pub(crate) after: u32,
}

/// Two columns beside each other.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ColumnComparison {
    pub(crate) before: u32,
    pub(crate) after: u32,
    /// Its cases.
    pub(crate) pairs: Pairs,
    /// Its tests.
    pub(crate) rate: PassRate,
    /// By kind.
    pub(crate) kinds: [u64; Kind::ALL.len()],
    /// Cases by their two scores, each in tenths.
    pub(crate) scores: Box<[[u64; 11]; 11]>,
    /// By unit.
    means: [Means; 3],
}

/// A case of both sides: which pair of columns, its places, and the place of its test's first repeat.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Matched {
    pair: u32,
    before: u32,
    after: u32,
    first: u32,
}

/// Whether it passed, score, cost, latency: before and after.
type Figures = [[f32; 2]; 4];

/// What the figure of a measure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Score,
    /// US dollars, of which people want the sum.
    Dollars,
    Milliseconds,
}

/// A comparison.
#[derive(Debug, Clone, Default)]
pub(crate) struct Comparison {
    pub(crate) columns: Vec<ColumnComparison>,
    /// The worst first, then in the later run's order.
    pub(crate) differences: Vec<Difference>,
    pub(crate) only_before: u64,
    pub(crate) only_after: u64,
    /// Cases that are tested otherwise than before.
    pub(crate) tested: u64,
    /// The first of them: pair of columns, and places before and after.
    pub(crate) edited: Vec<(usize, u32, u32)>,
    /// Of all pairs of columns together, by test.
    pub(crate) rate: PassRate,
    means: [Means; 3],
    /// Test by test.
    matched: Vec<Matched>,
}

/// A case, as far as it is compared; ordered by what makes it the same one.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Case {
    pair: u32,
    content: u64,
    file: u64,
    tested: u64,
    test: u32,
    /// The place of the first repeat of its test.
    first: u32,
    outcome: Outcome,
    score: f32,
    cost: f32,
    latency_ms: f32,
    answer: u64,
    /// Which repeats it is one of, if of several; none once it is known that they agree.
    repeats: Option<u64>,
}

impl Case {
    fn key(&self) -> (u32, u64) {
        (self.pair, self.content)
    }

    fn case_key(&self) -> CaseKey {
        CaseKey {
            content: self.content.into(),
            file: self.file,
            tested: self.tested,
        }
    }
}

/// Compares columns of one run with columns of another; both must have been looked up.
pub(crate) fn compare(
    store: &Store,
    before: &str,
    after: &str,
    columns: &[(u32, u32)],
) -> Result<Comparison, StoreError> {
    let earlier = cases(store, before, columns.iter().map(|it| it.0))?;
    let later = cases(store, after, columns.iter().map(|it| it.1))?;
    let beside = |(before, after): &(u32, u32)| ColumnComparison {
        before: *before,
        after: *after,
        ..ColumnComparison::default()
    };
    let columns = columns.iter().map(beside).collect();
    Ok(walk(columns, &earlier, &later))
}

fn cases(
    store: &Store,
    id: &str,
    columns: impl Iterator<Item = u32>,
) -> Result<Vec<Case>, StoreError> {
    let columns: Vec<u32> = columns.collect();
    let mut cases = Vec::new();
    let mut firsts = Firsts::default();
    store.contents(id, |it| {
        if columns.contains(&it.prompt_idx) {
            firsts.see(it.test_idx, it.prompt_idx, it.repeats);
        }
        for (pair, _) in columns
            .iter()
            .enumerate()
            .filter(|(_, column)| **column == it.prompt_idx)
        {
            cases.push(Case {
                pair: pair as u32,
                content: it.content,
                file: it.file,
                tested: it.tested,
                test: it.test_idx,
                first: firsts.of(it.test_idx),
                outcome: it.outcome,
                score: it.score as f32,
                cost: it.cost as f32,
                latency_ms: it.latency_ms as f32,
                answer: it.answer,
                repeats: it.repeats,
            });
        }
    })?;
    keep_flaky(&mut cases);
    cases.sort_unstable_by_key(|case| (case.key(), case.test));
    Ok(cases)
}

/// Leaves the group of repeats to those cases of which some repeats passed and some did not.
fn keep_flaky(cases: &mut [Case]) {
    let mut ways: HashMap<(u32, u64), [bool; 2]> = HashMap::new();
    for case in &*cases {
        if let Some(repeats) = case.repeats.filter(|_| case.outcome.has_verdict()) {
            let ways = ways.entry((case.pair, repeats)).or_default();
            ways[usize::from(case.outcome == Outcome::Passed)] = true;
        }
    }
    for case in cases {
        let is_flaky = |repeats: &u64| ways.get(&(case.pair, *repeats)) == Some(&[true; 2]);
        case.repeats = case.repeats.filter(is_flaky);
    }
}

/// Both in the order of their keys.
fn walk(columns: Vec<ColumnComparison>, mut earlier: &[Case], mut later: &[Case]) -> Comparison {
    let mut comparison = Comparison {
        columns,
        ..Comparison::default()
    };
    let mut matched = Vec::new();
    while let Some(key) = [earlier.first(), later.first()]
        .into_iter()
        .flatten()
        .map(Case::key)
        .min()
    {
        let (before, after) = (equal(&mut earlier, key), equal(&mut later, key));
        comparison.add_equal(before, after, &mut matched);
    }
    comparison.add_up(matched);
    comparison
        .differences
        .sort_unstable_by_key(|it| (it.kind, it.after, it.pair));
    comparison
}

/// Takes the cases of this key from the beginning.
fn equal<'a>(cases: &mut &'a [Case], key: (u32, u64)) -> &'a [Case] {
    let count = cases.iter().take_while(|case| case.key() == key).count();
    let (equal, rest) = cases.split_at(count);
    *cases = rest;
    equal
}

impl Comparison {
    /// Adds cases that are the same one.
    fn add_equal(
        &mut self,
        before: &[Case],
        after: &[Case],
        matched: &mut Vec<(Matched, Figures)>,
    ) {
        // Nearly all are.
        if let ([before], [after]) = (before, after) {
            matched.push(self.add(before, after));
            return;
        }
        let keys = |cases: &[Case]| cases.iter().map(Case::case_key).collect::<Vec<_>>();
        let partners = pairing::cases(&keys(before), &keys(after));
        let mut paired = 0;
        for (case, partner) in after.iter().zip(partners) {
            match partner {
                Some(place) => matched.push(self.add(&before[place], case)),
                None => self.only_after += 1,
            }
            paired += u64::from(partner.is_some());
        }
        self.only_before += before.len() as u64 - paired;
    }

    fn add(&mut self, before: &Case, after: &Case) -> (Matched, Figures) {
        let column = &mut self.columns[after.pair as usize];
        let passed = |case: &Case| case.outcome == Outcome::Passed;
        // What waits for a person or was not carried out has no verdict to compare.
        let are_open = !before.outcome.has_verdict() || !after.outcome.has_verdict();
        if !are_open {
            column.pairs.add(passed(before), passed(after));
        }
        let tenth = |score: f32| (score.clamp(0.0, 1.0) * 10.0).round() as usize;
        column.scores[tenth(before.score)][tenth(after.score)] += 1;
        let as_figure = |case: &Case| {
            if are_open {
                f32::NAN
            } else {
                f32::from(u8::from(passed(case)))
            }
        };
        let figures: Figures = [
            [as_figure(before), as_figure(after)],
            [before.score, after.score],
            [before.cost, after.cost],
            [before.latency_ms, after.latency_ms],
        ];
        let matched = Matched {
            pair: after.pair,
            before: before.test,
            after: after.test,
            first: after.first,
        };
        if before.tested != after.tested {
            self.tested += 1;
            if self.edited.len() < MOST_EDITED {
                self.edited
                    .push((after.pair as usize, before.test, after.test));
            }
        }
        let is_flaky = before.repeats.is_some() || after.repeats.is_some();
        let kind = match (passed(before), passed(after)) {
            (true, false) | (false, true) if !are_open && is_flaky => Kind::Flaky,
            (true, false) if !are_open => Kind::Worse,
            (false, true) if !are_open => Kind::Better,
            _ if !are_open && before.outcome != after.outcome => Kind::Otherwise,
            _ if (before.score - after.score).abs() > 1e-6 => Kind::Score,
            _ if before.answer != after.answer => Kind::Answer,
            _ => return (matched, figures),
        };
        column.kinds[kind as usize] += 1;
        self.differences.push(Difference {
            kind,
            pair: after.pair as usize,
            before: before.test,
            after: after.test,
        });
        (matched, figures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(content: u64, test: u32, outcome: Outcome, answer: u64) -> Case {
        let score = if outcome == Outcome::Passed { 1.0 } else { 0.0 };
        Case {
            pair: 0,
            content,
            file: 0,
            tested: 0,
            test,
            first: test,
            outcome,
            score,
            cost: 0.5,
            latency_ms: if test == 9 { f32::NAN } else { 40.0 },
            answer,
            repeats: None,
        }
    }

    #[test]
    fn a_case_whose_repeats_went_both_ways_is_neither_worse_nor_better() {
        use Outcome::{Failed, Passed};
        let repeat = |content, outcome, group| Case {
            repeats: Some(group),
            ..case(content, content as u32, outcome, 1)
        };
        let mut before = [
            repeat(1, Passed, 7),
            repeat(2, Passed, 7),
            repeat(3, Passed, 8),
            repeat(4, Passed, 8),
        ];
        let mut after = [
            repeat(1, Passed, 7),
            repeat(2, Failed, 7),
            repeat(3, Failed, 8),
            repeat(4, Failed, 8),
        ];
        keep_flaky(&mut before);
        keep_flaky(&mut after);
        let comparison = walk(vec![ColumnComparison::default()], &before, &after);
        assert_eq!(comparison.columns[0].kinds, [2, 0, 1, 0, 0, 0]);
        // What may be chance is told by test; no case is left out of it.
        assert_eq!(comparison.columns[0].pairs.worse, 3);
        // Of another column, or another group, nothing is said.
        let mut others = [repeat(1, Passed, 7), repeat(2, Failed, 8)];
        keep_flaky(&mut others);
        assert!(others.iter().all(|it| it.repeats.is_none()));
    }

    #[test]
    fn a_row_that_repeats_another_s_variables_does_not_take_its_partner() {
        use Outcome::{Failed, Passed};
        let own = Case {
            tested: 7,
            ..case(1, 0, Passed, 1)
        };
        let strange = Case {
            tested: 8,
            ..case(1, 0, Passed, 1)
        };
        let broken = Case {
            test: 1,
            outcome: Failed,
            ..own
        };
        let comparison = walk(
            vec![ColumnComparison::default()],
            &[own],
            &[strange, broken],
        );
        assert_eq!(comparison.columns[0].kinds, [1, 0, 0, 0, 0, 0]);
        assert_eq!((comparison.only_before, comparison.only_after), (0, 1));
        // A test that was changed is the same case for all that.
        let comparison = walk(vec![ColumnComparison::default()], &[own], &[strange]);
        assert_eq!((comparison.only_before, comparison.only_after), (0, 0));
        assert_eq!(comparison.tested, 1);
    }

    #[test]
    fn cases_pair_by_content_and_equal_ones_in_order() {
        use Outcome::{Error, Failed, Passed};
        let before = [
            case(1, 0, Passed, 1),
            case(2, 1, Failed, 1),
            case(2, 2, Passed, 1),
            case(4, 3, Failed, 1),
        ];
        let after = [
            case(1, 9, Failed, 2),
            case(2, 7, Passed, 2),
            case(2, 8, Passed, 2),
            case(3, 1, Passed, 1),
            case(4, 2, Error, 1),
        ];
        let comparison = walk(vec![ColumnComparison::default()], &before, &after);
        let found: Vec<_> = comparison
            .differences
            .iter()
            .map(|it| (it.kind, it.before, it.after))
            .collect();
        assert_eq!(
            found,
            [
                (Kind::Worse, 0, 9),
                (Kind::Better, 1, 7),
                (Kind::Otherwise, 3, 2),
                (Kind::Answer, 2, 8)
            ]
        );
        assert_eq!((comparison.only_before, comparison.only_after), (0, 1));
        let pairs = comparison.columns[0].pairs;
        assert_eq!(
            pairs,
            Pairs {
                both: 1,
                worse: 1,
                better: 1,
                neither: 1
            }
        );
        assert_eq!(comparison.columns[0].kinds, [1, 1, 0, 1, 0, 1]);
        assert_eq!(comparison.columns[0].scores[10][0], 1);
        let measures = comparison.measures().map(|it| (it.unit, it.columns[0]));
        let told = measures.map(|(unit, means)| (unit, means.count, means.sums()));
        assert_eq!(
            told,
            [
                (Unit::Score, 4, [2.0, 2.0]),
                (Unit::Dollars, 4, [2.0, 2.0]),
                (Unit::Milliseconds, 3, [120.0, 120.0])
            ]
        );
    }
}
