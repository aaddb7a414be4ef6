//! Which columns and which cases of two runs are the same one.
//!
//! A case is known by what the user would call the same: description, variables, repeat, and the
//! pair of columns; not by its number, which moves with every edit, and not by prompt, provider
//! or assertions, whose change is what one wants to see the effect of. Of cases equal in all of it
//! those pair first that are also tested alike, as rows of one data file or none; the others in order.
//!
//! A column is a provider and a prompt. First the columns pair that have the same names; of the
//! others those with the same provider (its prompt was edited: an unnamed prompt is called by
//! its text), then those with the same prompt (another model); each in order. What is then left
//! is in one run only.

use std::collections::{BTreeMap, HashMap, VecDeque};

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// Provider, name and text of a column's prompt.
pub type Names<'a> = [&'a str; 3];

/// For each column of the later run its partner in the earlier.
pub fn columns(before: &[Names<'_>], after: &[Names<'_>]) -> Vec<Option<usize>> {
    type Part = for<'a> fn(&Names<'a>) -> Names<'a>;
    let rules: [Part; 4] = [
        |names| *names,
        |[provider, label, _]| [provider, label, ""],
        |[provider, _, _]| [provider, "", ""],
        |[_, label, _]| ["", label, ""],
    ];
    let mut partners = vec![None; after.len()];
    let mut taken = vec![false; before.len()];
    for part in rules {
        let mut free: HashMap<Names<'_>, VecDeque<usize>> = HashMap::new();
        for (idx, earlier) in before.iter().enumerate().filter(|(idx, _)| !taken[*idx]) {
            free.entry(part(earlier)).or_default().push_back(idx);
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
    fn a_row_that_is_called_by_its_place_has_no_description() {
        let of = |text: &str| given_description(&json!({ "description": text })).is_some();
        assert_eq!(
            ["Row #12", "Row #twelve", "Row 12", "Greets"].map(of),
            [false, true, true, true]
        );
        assert_eq!(given_description(&Value::Null), None);
    }
}
