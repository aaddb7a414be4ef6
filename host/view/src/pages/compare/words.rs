//! Which words of two texts are different.

use std::time::Duration;

use maud::{Markup, html};
use runner_telling::visible;
use similar::{ChangeTag, TextDiff};

use super::super::block;

/// Characters of a text that are compared.
const MOST_CHARS: usize = 8_000;
/// How long two texts may take; then the rest of them is one change.
const PATIENCE: Duration = Duration::from_millis(50);

/// Both texts, with what is in one of them only marked.
pub(super) fn beside(before: &str, after: &str) -> (Markup, Markup) {
    let texts = [before, after].map(|text| block(&visible::cut(text, MOST_CHARS)));
    let diff = TextDiff::configure()
        .timeout(PATIENCE)
        .diff_words(&texts[0], &texts[1]);
    // What changes in a row is one mark.
    let side = |own: ChangeTag| {
        let mut parts: Vec<(bool, String)> = Vec::new();
        let shown = |tag| tag == own || tag == ChangeTag::Equal;
        for change in diff.iter_all_changes().filter(|it| shown(it.tag())) {
            let is_own = change.tag() == own;
            match parts.last_mut() {
                Some((marked, text)) if *marked == is_own => text.push_str(change.value()),
                _ => parts.push((is_own, change.value().to_owned())),
            }
        }
        html! {
            @for (is_own, text) in &parts {
                @if !is_own { (text) } @else if own == ChangeTag::Delete { del { (text) } } @else { ins { (text) } }
            }
        }
    };
    (side(ChangeTag::Delete), side(ChangeTag::Insert))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_that_changed_are_marked() {
        let (before, after) = beside("the <b>old</b> answer is here", "the new answer is here");
        assert_eq!(
            before.0,
            "the <del>&lt;b&gt;old&lt;/b&gt;</del> answer is here"
        );
        assert_eq!(after.0, "the <ins>new</ins> answer is here");
        let long = "x y ".repeat(MOST_CHARS);
        let (before, after) = beside(&long, "");
        assert!(before.0.len() < 2 * MOST_CHARS && after.0.is_empty());
    }
}
