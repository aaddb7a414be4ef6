//! Which words of two texts are different: what a page marks, and what a terminal brackets.

use std::time::Duration;

use runner_telling::visible;
use similar::{ChangeTag, TextDiff};

/// Characters of a text that are compared.
const MOST_CHARS: usize = 8_000;
/// How long two texts may take; then the rest of them is one change.
const PATIENCE: Duration = Duration::from_millis(50);

/// Words in a row of which all are in both texts, or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    /// Whether they are in this text only.
    pub is_changed: bool,
    /// The words, with what stands between them.
    pub text: String,
}

/// Both texts, safe to show, cut to what is compared, in stretches.
pub fn beside(before: &str, after: &str) -> [Vec<Stretch>; 2] {
    let texts = [before, after].map(|text| {
        let cut = visible::cut(text, MOST_CHARS);
        visible::block(&cut).into_owned()
    });
    let diff = TextDiff::configure()
        .timeout(PATIENCE)
        .diff_words(&texts[0], &texts[1]);
    [ChangeTag::Delete, ChangeTag::Insert].map(|own| {
        let mut stretches: Vec<Stretch> = Vec::new();
        let shown = |tag| tag == own || tag == ChangeTag::Equal;
        for change in diff.iter_all_changes().filter(|it| shown(it.tag())) {
            let is_changed = change.tag() == own;
            match stretches.last_mut() {
                Some(last) if last.is_changed == is_changed => last.text.push_str(change.value()),
                _ => stretches.push(Stretch {
                    is_changed,
                    text: change.value().to_owned(),
                }),
            }
        }
        joined(stretches)
    })
}

/// With changes that only a blank parts as one: a phrase that was replaced is no list of words.
fn joined(stretches: Vec<Stretch>) -> Vec<Stretch> {
    let mut joined: Vec<Stretch> = Vec::new();
    let mut rest = stretches.into_iter().peekable();
    while let Some(stretch) = rest.next() {
        let is_parted =
            stretch.text.trim().is_empty() && rest.peek().is_some_and(|next| next.is_changed);
        match joined.last_mut() {
            Some(last) if last.is_changed && (stretch.is_changed || is_parted) => {
                last.text.push_str(&stretch.text);
            }
            _ => joined.push(stretch),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_both_have_is_told_from_what_one_has() {
        let told = beside("the old answer is here", "the new answer is here").map(|side| {
            let marked = side.into_iter().map(|it| {
                if it.is_changed {
                    format!("<{}>", it.text)
                } else {
                    it.text
                }
            });
            marked.collect::<String>()
        });
        assert_eq!(
            told,
            ["the <old> answer is here", "the <new> answer is here"]
        );
        assert_eq!(beside("", ""), [vec![], vec![]]);
        let [_, phrase] = beside("Thank you.", "Thank you. Let me know at once.");
        let last = phrase.last().map(|it| (it.is_changed, it.text.trim()));
        assert_eq!(
            (phrase.len(), last),
            (2, Some((true, "Let me know at once.")))
        );
    }
}
