//! Which columns and which cases of two runs are the same one.
//!
//! A case is known by what the user would call the same: description, variables, repeat, and the
//! pair of columns; not by its number, which moves with every edit, and not by prompt, provider
//! or assertions, whose change is what one wants to see the effect of. Rows of a data file may repeat
//! the variables of other tests, and what they are given by a conversation or a register of their file stands
//! nowhere in them. So of cases equal in all of it those pair first that are tested alike as rows of one
//! data file, or of none; then those of one data file, or of none; the others in order.
//!
//! A column is a provider and a prompt. First the columns pair that have the same names; of the
//! others those with the same provider (its prompt was edited: an unnamed prompt is called by
//! its text), then those with the same prompt (another model); each in order. Where several providers of a run have one
//! name, those pair first that are told from the others by the same of their configs. What is then left is in one run only.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::Hash;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// Provider, what tells it from others of this name, name and text of a column's prompt.
pub type ColumnNames<'a> = [&'a str; 4];

/// For each column of the later run its partner in the earlier.
pub fn columns<'a>(before: &[ColumnNames<'a>], after: &[ColumnNames<'a>]) -> Vec<Option<usize>> {
    let rules: [fn(&ColumnNames<'a>) -> ColumnNames<'a>; 7] = [
        |names| *names,
        |[provider, variant, label, _]| [provider, variant, label, ""],
        |[provider, variant, _, _]| [provider, variant, "", ""],
        |[provider, _, label, raw]| [provider, "", label, raw],
        |[provider, _, label, _]| [provider, "", label, ""],
        |[provider, _, _, _]| [provider, "", "", ""],
        |[_, _, label, _]| ["", "", label, ""],
    ];
    paired(before, after, &rules)
}

/// What a case is, for whoever looks for the same one in another run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CaseKey {
    /// What it is by [`content`], and its column.
    pub content: u128,
    /// A hash of the data file of which it is a row, if of one.
    pub file: u64,
    /// A hash of how it is tested.
    pub tested: u64,
}

/// For each case of the later run its partner in the earlier.
pub fn cases(before: &[CaseKey], after: &[CaseKey]) -> Vec<Option<usize>> {
    let rules: [fn(&CaseKey) -> CaseKey; 3] = [
        |key| *key,
        |key| CaseKey { tested: 0, ..*key },
        |key| CaseKey {
            tested: 0,
            file: 0,
            ..*key
        },
    ];
    paired(before, after, &rules)
}

/// For each later item the first earlier one that is free and has as much in common, by the rules in their order.
pub(crate) fn paired<T, K: Eq + Hash>(
    before: &[T],
    after: &[T],
    rules: &[fn(&T) -> K],
) -> Vec<Option<usize>> {
    let mut partners = vec![None; after.len()];
    let mut taken = vec![false; before.len()];
    for part in rules {
        let mut free: HashMap<K, VecDeque<usize>> = HashMap::new();
        for (idx, earlier) in before.iter().enumerate().filter(|(idx, _)| !taken[*idx]) {
            free.entry(part(earlier)).or_default().push_back(idx);
        }
        if free.is_empty() {
            break;
        }
        for (later, partner) in after.iter().zip(&mut partners) {
            if partner.is_none() {
                *partner = free.get_mut(&part(later)).and_then(VecDeque::pop_front);
                if let Some(idx) = *partner {
                    taken[idx] = true;
                }
            }
        }
    }
    partners
}

/// A digest of what a case is, but for its column. `test` is the test as written.
pub fn content(test: &Value, vars: &Map<String, Value>, repeat: u32) -> u128 {
    let description = given_description(test);
    // In order of their names: whoever sorts the variables of a test does not change it.
    let vars: BTreeMap<&String, &Value> = vars.iter().collect();
    let digest = Sha256::digest(json!([description, vars, repeat]).to_string());
    let first: [u8; 16] = digest[..16].try_into().expect("a sha256 has 32 bytes");
    u128::from_be_bytes(first)
}

/// The description that somebody gave a test. Rows of a CSV file that have none are called
/// `Row #3` by their place, which says nothing about what they are.
pub fn given_description(test: &Value) -> Option<&str> {
    let description = test.get("description")?.as_str()?;
    let number = description.strip_prefix("Row #");
    let by_place = number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    (!by_place).then_some(description)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_a_data_file_takes_no_partner_of_an_equal_test_that_has_one() {
        let key = |file, tested| CaseKey {
            content: 1,
            file,
            tested,
        };
        let (own, edited) = (key(0, 1), key(0, 2));
        for (before, after, expected) in [
            // Another's assertions; a copy of all of it; the same after an edit of all tests.
            (vec![own], vec![key(9, 5), own], vec![None, Some(0)]),
            (vec![own], vec![key(9, 1), own], vec![None, Some(0)]),
            (
                vec![key(9, 1), own],
                vec![key(9, 2), key(9, 3), edited],
                vec![Some(0), None, Some(1)],
            ),
            // What was edited, or moved into a file, is the same case for all that.
            (vec![own], vec![edited], vec![Some(0)]),
            (vec![own], vec![key(9, 1)], vec![Some(0)]),
            (
                vec![own, own],
                vec![own, own, own],
                vec![Some(0), Some(1), None],
            ),
        ] {
            assert_eq!(cases(&before, &after), expected, "{before:?} {after:?}");
        }
    }

    #[test]
    fn a_row_that_is_called_by_its_place_has_no_description() {
        let of = |text: &str| given_description(&json!({ "description": text })).is_some();
        assert_eq!(
            ["Row #12", "Row #twelve", "Row 12", "Greets"].map(of),
            [false, true, true, true]
        );
        assert_eq!(given_description(&Value::Null), None);
    }

    #[test]
    fn columns_pair_by_names_then_by_what_is_left_of_them() {
        let before = [
            ["a", "", "p", "p"],
            ["a", "", "q", "q"],
            ["b", "", "p", "p"],
            ["gone", "", "old", "old"],
        ];
        let after = [
            ["c", "", "p", "p"],
            ["a", "", "q2", "q2"],
            ["a", "", "p", "p"],
            ["new", "", "fresh", "fresh"],
        ];
        assert_eq!(columns(&before, &after), [Some(2), Some(1), Some(0), None]);
        assert_eq!(columns(&[], &after), [None; 4]);
        let twice = [["a", "", "p", "p"], ["a", "", "p", "p"]];
        assert_eq!(columns(&twice, &twice), [Some(0), Some(1)]);
        let [cold, warm, hot] = ["t 0", "t 1", "t 2"].map(|variant| ["a", variant, "p", "p"]);
        assert_eq!(columns(&[cold, warm], &[warm, cold]), [Some(1), Some(0)]);
        assert_eq!(columns(&[cold, warm], &[warm, hot]), [Some(1), Some(0)]);
        assert_eq!(
            columns(&[["a", "", "p", "p"]], &[cold, warm]),
            [Some(0), None]
        );
    }
}
