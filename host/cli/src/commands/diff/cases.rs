//! Which cases of two runs are the same one, and how they ended there and here.
//!
//! What makes a case the same one is said in [`pairing`]. Of the earlier run a digest and some figures of each case are kept while the
//! later one is read (some 200 bytes), so that two runs of a million fit.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use runner_eval::record::{CaseRecord, Outcome};
use runner_store::Digest;
use runner_view::pairing::{self, CaseKey};
use serde_json::{Value, json};

/// How a case ended, as far as it is compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CaseSummary {
    pub(super) test_idx: u32,
    pub(super) prompt_idx: u32,
    pub(super) outcome: Outcome,
    pub(super) score: f64,
    /// Of an answer that did not come from the cache: another run measured that one's.
    pub(super) latency_ms: Option<u64>,
    pub(super) is_cached: bool,
    pub(super) cost: Option<f64>,
    output: u64,
    prompt: u64,
    grader: u64,
    plugin: u64,
    identity: Option<Digest>,
    /// Which repeats it is one of, if of several.
    pub(super) repeats: Option<u64>,
    /// Whether it is none of the first.
    pub(super) is_repeat: bool,
}

impl CaseSummary {
    /// Of a record and the identity that the store has of it.
    pub(super) fn of(record: &CaseRecord, identity: Option<Digest>) -> Self {
        let response = record.response.as_ref();
        let by = record.provenance.as_ref();
        Self {
            test_idx: record.test_idx,
            prompt_idx: record.prompt_idx,
            outcome: record.conclusion.outcome(),
            score: record.conclusion.score(),
            latency_ms: response.filter(|it| !it.cached).map(|_| record.latency_ms),
            is_cached: response.is_some_and(|it| it.cached),
            cost: record.costs().priced(),
            output: hash(response.map(|response| response.output.to_string())),
            prompt: hash(&record.prompt.raw),
            grader: hash(grader(&record.test_case)),
            plugin: hash(by.map(|by| (&by.plugin, &by.version, &by.sha256))),
            identity,
            repeats: record
                .repeat_group
                .as_ref()
                .map(|group| hash((record.prompt_idx, group))),
            is_repeat: record.repeat_index > 0,
        }
    }

    /// For `--json`.
    pub(super) fn json(&self) -> Value {
        json!({
            "testIdx": self.test_idx, "promptIdx": self.prompt_idx, "outcome": self.outcome,
            "score": self.score, "latencyMs": self.latency_ms, "cost": self.cost,
        })
    }
}

/// What judges a case: its assertions, and what is said beside them.
fn grader(test: &Value) -> String {
    let part = |name: &str| test.get(name).cloned().unwrap_or_default();
    let provider = test.pointer("/options/provider").cloned();
    json!([part("assert"), part("threshold"), provider]).to_string()
}

fn hash(content: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    hasher.finish()
}

/// What there is to say about one case in two runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    /// It passed and does not any more.
    Broke,
    /// It passes now.
    Fixed,
    /// One of both, and its repeats within one of the runs went both ways.
    Flaky,
    /// It did not pass in another way: an error was a failure, or the like.
    Otherwise,
    /// Its score changed, and its verdict did not.
    Score,
    /// Its answer changed, and verdict and score did not.
    Answer,
    /// Nothing changed.
    Same,
}

impl Kind {
    /// Every kind that is worth a line, the worst first.
    pub(super) const TOLD: [Self; 6] = [
        Self::Broke,
        Self::Fixed,
        Self::Flaky,
        Self::Otherwise,
        Self::Score,
        Self::Answer,
    ];

    /// The word in JSON.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Broke => "broke",
            Self::Fixed => "fixed",
            Self::Flaky => "flaky",
            Self::Otherwise => "other-verdict",
            Self::Score => "score",
            Self::Answer => "answer",
            Self::Same => "same",
        }
    }

    /// How two endings compare, of which one may be of repeats that went both ways.
    pub(super) fn of(before: &CaseSummary, after: &CaseSummary, is_flaky: bool) -> Self {
        let passed = |ended: &CaseSummary| ended.outcome == Outcome::Passed;
        let are_open = are_open(before, after);
        match (passed(before), passed(after)) {
            (true, false) | (false, true) if !are_open && is_flaky => Self::Flaky,
            (true, false) if !are_open => Self::Broke,
            (false, true) if !are_open => Self::Fixed,
            _ if !are_open && before.outcome != after.outcome => Self::Otherwise,
            _ if (before.score - after.score).abs() > 1e-9 => Self::Score,
            _ if before.output != after.output => Self::Answer,
            _ => Self::Same,
        }
    }
}

/// What is different about a case itself, rather than about its end.
pub(super) fn causes(before: &CaseSummary, after: &CaseSummary) -> Vec<&'static str> {
    let mut causes = Vec::new();
    if before.prompt != after.prompt {
        causes.push("prompt");
    }
    if before.plugin != after.plugin {
        causes.push("plugin");
    }
    if before.grader != after.grader {
        causes.push("grader");
    }
    let known = before.identity.is_some() && after.identity.is_some();
    if causes.is_empty() && known && before.identity != after.identity {
        // The provider's config, options, or a file that an assertion names.
        causes.push("config");
    }
    causes
}

/// How the repeats of tests ended: whether some did not pass, and whether some did.
#[derive(Debug, Default)]
struct Repeats(HashMap<u64, [bool; 2]>);

impl Repeats {
    fn add(&mut self, ended: &CaseSummary) {
        if let Some(repeats) = ended.repeats.filter(|_| ended.outcome.has_verdict()) {
            let ways = self.0.entry(repeats).or_default();
            ways[usize::from(ended.outcome == Outcome::Passed)] = true;
        }
    }

    fn are_flaky(&self, ended: &CaseSummary) -> bool {
        let ways = ended.repeats.and_then(|it| self.0.get(&it));
        ways == Some(&[true; 2])
    }
}

/// The cases of the earlier run that no case of the later has claimed.
#[derive(Debug, Default)]
pub(super) struct Index {
    before: Repeats,
    after: Repeats,
    cases: Vec<Option<CaseSummary>>,
    /// What each of them is.
    keys: Vec<CaseKey>,
    /// What those of the later run are.
    expected: Vec<CaseKey>,
    /// Their numbers, in order, by what claims them.
    partners: HashMap<CaseKey, VecDeque<usize>>,
}

impl Index {
    /// Takes a case of the earlier run.
    pub(super) fn add(&mut self, record: &CaseRecord, ended: CaseSummary) {
        self.before.add(&ended);
        self.keys.push(key(record, record.prompt_idx));
        self.cases.push(Some(ended));
    }

    /// Takes in that the later run has such a case; `column` is the earlier run's.
    pub(super) fn expect(&mut self, record: &CaseRecord, ended: &CaseSummary, column: u32) {
        self.after.add(ended);
        self.expected.push(key(record, column));
    }

    /// Takes in that all of the later run's cases are known.
    pub(super) fn ready(&mut self) {
        let expected = std::mem::take(&mut self.expected);
        for (key, partner) in expected.iter().zip(pairing::cases(&self.keys, &expected)) {
            if let Some(number) = partner {
                self.partners.entry(*key).or_default().push_back(number);
            }
        }
        self.keys = Vec::new();
    }

    /// Takes the partner of a case of the later run; `column` is the earlier run's.
    pub(super) fn claim(&mut self, record: &CaseRecord, column: u32) -> Option<CaseSummary> {
        let numbers = self.partners.get_mut(&key(record, column))?;
        self.cases[numbers.pop_front()?].take()
    }

    /// Whether the repeats of a case went both ways, in the earlier run or the later.
    pub(super) fn is_flaky(&self, before: &CaseSummary, after: &CaseSummary) -> bool {
        self.before.are_flaky(before) || self.after.are_flaky(after)
    }

    /// The cases that are left, in index order.
    pub(super) fn rest(self) -> Vec<CaseSummary> {
        let mut rest: Vec<CaseSummary> = self.cases.into_iter().flatten().collect();
        rest.sort_unstable_by_key(|ended| (ended.test_idx, ended.prompt_idx));
        rest
    }
}

/// What the case is, with its column in bits of its own.
fn key(record: &CaseRecord, column: u32) -> CaseKey {
    let content = pairing::content(&record.test_case, &record.vars, record.repeat_index);
    CaseKey {
        content: content.wrapping_add(u128::from(column) << 64),
        file: hash(&record.data_file),
        tested: hash(record.test_case.to_string()),
    }
}

/// Whether one of the two has no verdict to compare: it waits for a person, or was not carried out.
pub(super) fn are_open(before: &CaseSummary, after: &CaseSummary) -> bool {
    !before.outcome.has_verdict() || !after.outcome.has_verdict()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::findings::tests::record;

    fn ended(outcome: Outcome, output: &str) -> CaseSummary {
        CaseSummary::of(&record(0, 0, outcome, output), None)
    }

    #[test]
    fn cases_are_compared_by_how_they_ended() {
        use Outcome::{Error, Failed, Passed, Waiting};
        let mut half = ended(Passed, "yes");
        half.score = 0.5;
        let table = [
            (ended(Passed, "yes"), ended(Failed, "no"), Kind::Broke),
            (ended(Error, ""), ended(Passed, "yes"), Kind::Fixed),
            (ended(Failed, "no"), ended(Error, ""), Kind::Otherwise),
            (ended(Passed, "yes"), half, Kind::Score),
            (ended(Passed, "yes"), ended(Passed, "yes!"), Kind::Answer),
            (ended(Passed, "yes"), ended(Passed, "yes"), Kind::Same),
            // What a person has not judged is neither broken nor fixed.
            (ended(Passed, "yes"), ended(Waiting, "yes"), Kind::Score),
            (ended(Waiting, "no"), ended(Failed, "no"), Kind::Same),
        ];
        for (before, after, expected) in table {
            let kind = Kind::of(&before, &after, false);
            assert_eq!(kind, expected, "{before:?} {after:?}");
        }
    }

    #[test]
    fn a_case_is_flaky_whose_repeats_went_both_ways_in_one_of_the_runs() {
        use Outcome::{Failed, Passed};
        let repeat = |outcome, group: &str| {
            let mut record = record(0, 0, outcome, "a");
            record.repeat_group = Some(group.to_owned());
            (CaseSummary::of(&record, None), record)
        };
        let mut index = Index::default();
        for (outcome, group) in [(Passed, "a"), (Passed, "a"), (Passed, "b")] {
            let (ended, record) = repeat(outcome, group);
            index.add(&record, ended);
        }
        for (outcome, group) in [(Passed, "a"), (Failed, "a"), (Failed, "b")] {
            let (ended, record) = repeat(outcome, group);
            index.expect(&record, &ended, 0);
        }
        let kind = |group: &str| {
            let (before, after) = (repeat(Passed, group).0, repeat(Failed, group).0);
            Kind::of(&before, &after, index.is_flaky(&before, &after))
        };
        assert_eq!([kind("a"), kind("b")], [Kind::Flaky, Kind::Broke]);
    }

    #[test]
    fn a_case_is_found_wherever_it_stands_and_only_once() {
        let mut index = Index::default();
        let mut twin = record(0, 0, Outcome::Passed, "b");
        twin.test_idx = 5;
        for record in [record(0, 0, Outcome::Passed, "a"), twin.clone()] {
            index.add(&record, CaseSummary::of(&record, None));
            index.expect(&record, &CaseSummary::of(&record, None), 0);
        }
        index.ready();
        let first = index.claim(&twin, 0).expect("equal");
        assert_eq!(first.test_idx, 0, "equal cases pair in order");
        assert_eq!(index.claim(&twin, 0).map(|ended| ended.test_idx), Some(5));
        assert_eq!(index.claim(&twin, 0), None);
        assert_eq!(index.rest(), []);
    }

    #[test]
    fn the_order_of_variables_is_nothing_and_their_values_are_all() {
        let mut one = record(0, 0, Outcome::Passed, "a");
        Arc::make_mut(&mut one.vars).insert("more".to_owned(), json!(1));
        let mut other = one.clone();
        other.vars = Arc::new((*one.vars).clone().into_iter().rev().collect());
        assert_eq!(key(&one, 0), key(&other, 0));
        assert_ne!(key(&one, 0), key(&one, 1));
        Arc::make_mut(&mut other.vars).insert("more".to_owned(), json!(2));
        assert_ne!(key(&one, 0), key(&other, 0));
    }

    #[test]
    fn what_changed_about_a_case_is_named() {
        let before = record(0, 0, Outcome::Passed, "yes");
        let mut after = before.clone();
        after.prompt.raw.push('!');
        after.test_case["assert"] = json!([{ "type": "equals" }]);
        let of = |record: &CaseRecord| CaseSummary::of(record, Some(Digest::new([1; 32])));
        assert_eq!(causes(&of(&before), &of(&after)), ["prompt", "grader"]);
        let mut other = of(&before);
        other.identity = Some(Digest::new([2; 32]));
        assert_eq!(causes(&of(&before), &other), ["config"]);
        assert!(causes(&of(&before), &of(&before)).is_empty());
    }
}
