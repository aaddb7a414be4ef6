//! Two texts side by side, with what is in one of them only marked.

use maud::{Markup, html};

use crate::words::{self, Stretch};

/// Both texts.
pub(super) fn beside(before: &str, after: &str) -> (Markup, Markup) {
    let [was, is] = words::beside(before, after);
    let side = |stretches: &[Stretch], is_old: bool| {
        html! {
            @for Stretch { is_changed, text } in stretches {
                @if !is_changed { (text) } @else if is_old { del { (text) } } @else { ins { (text) } }
            }
        }
    };
    (side(&was, true), side(&is, false))
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
        let long = "x y ".repeat(8_000);
        let (before, after) = beside(&long, "");
        assert!(before.0.len() < long.len() && after.0.is_empty());
    }
}
