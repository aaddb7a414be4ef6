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
        stretches
    })
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
    }
}
