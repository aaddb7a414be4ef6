//! Texts without secrets.
//!
//! A config may have as many secrets as texts, so that one search finds all of them.

use std::collections::BTreeSet;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};
use serde_json::{Map, Value};

use crate::redacted::HIDDEN;

/// The shortest value that is left out of messages: `echo` or `test` for a dummy key would eat
/// words of the message itself. As short as what a run masks.
const SHORTEST_HIDDEN: usize = 8;

/// Leaves secrets out of texts. A clone shares what it searches with.
#[derive(Clone)]
pub(super) struct Hider {
    /// The values among which the declared secrets were looked for.
    values: Arc<Map<String, Value>>,
    /// How many secrets were filled in.
    filled_in: usize,
    /// `None` where there are more secrets than can be searched for.
    search: Option<AhoCorasick>,
}

impl Hider {
    pub(super) fn new<'a>(
        values: &Arc<Map<String, Value>>,
        filled_in: &'a BTreeSet<String>,
        declared: impl Iterator<Item = &'a str>,
    ) -> Self {
        let secrets = filled_in.iter().map(String::as_str).chain(declared);
        let secrets = secrets.filter(|secret| secret.len() >= SHORTEST_HIDDEN);
        // One may be a part of another.
        let kind = MatchKind::LeftmostLongest;
        let search = AhoCorasick::builder().match_kind(kind).build(secrets);
        Self {
            values: values.clone(),
            filled_in: filled_in.len(),
            search: search.ok(),
        }
    }

    /// Whether it is still that of these values, with so many secrets filled in: none is taken out.
    pub(super) fn is_of(&self, values: &Arc<Map<String, Value>>, filled_in: usize) -> bool {
        Arc::ptr_eq(&self.values, values) && self.filled_in == filled_in
    }

    pub(super) fn hide(&self, text: &str) -> String {
        match &self.search {
            Some(search) => {
                let mut hidden = String::with_capacity(text.len());
                search.replace_all_with(text, &mut hidden, |_, _, hidden| {
                    hidden.push_str(HIDDEN);
                    true
                });
                hidden
            }
            None => HIDDEN.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_secret_is_left_out_and_short_ones_stay() {
        let values = Arc::default();
        let secrets = ["12345678", "x12345678y", "short"].map(str::to_owned);
        let hider = Hider::new(&values, &secrets.into(), ["declared"].into_iter());
        assert_eq!(
            hider.hide("a x12345678y 12345678y declared short"),
            "a [hidden] [hidden]y [hidden] short"
        );
        assert!(hider.is_of(&values, 3));
        assert!(!hider.is_of(&values, 4));
    }
}
