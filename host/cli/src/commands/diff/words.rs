//! The changed words of two texts, for a terminal: `[-old-]` and `{+new+}`, as git writes them.
//!
//! Colour would be lost in a pipe, and who can't see it would see two texts. Of what both have only some words
//! beside the changes are shown.

use runner_view::words::{self, Stretch};

use crate::visible;

/// Characters of a stretch that both texts have which are shown at each of its ends.
const NEAR_CHARS: usize = 30;
/// Characters of a stretch that one of them has.
const CHANGED_CHARS: usize = 200;
/// Characters of a text that is shown.
const MOST_CHARS: usize = 600;

/// Both texts, each on a line of its own, with what the other one lacks in brackets.
pub(super) fn beside(before: &str, after: &str) -> [String; 2] {
    let [was, is] = words::beside(before, after);
    [line(&was, ["[-", "-]"]), line(&is, ["{+", "+}"])]
}

fn line(stretches: &[Stretch], [open, close]: [&str; 2]) -> String {
    let mut text = String::new();
    let last = stretches.len().saturating_sub(1);
    for (
        at,
        Stretch {
            is_changed,
            text: words,
        },
    ) in stretches.iter().enumerate()
    {
        let words = visible::line(words);
        if *is_changed {
            // Brackets are put around words, and not around the blanks beside them.
            let inner = words.trim();
            let begins = words.len() - words.trim_start().len();
            let ends = begins + inner.len();
            let inner = visible::cut_middle(inner, CHANGED_CHARS);
            for part in [&words[..begins], open, &*inner, close, &words[ends..]] {
                text.push_str(part);
            }
        } else {
            text += &near(&words, at == 0, at == last);
        }
    }
    visible::cut(text.trim(), MOST_CHARS).into_owned()
}

/// The ends of what both texts have: only that which is beside a change.
fn near(words: &str, is_first: bool, is_last: bool) -> String {
    let chars: Vec<char> = words.chars().collect();
    let most = if is_first || is_last {
        NEAR_CHARS
    } else {
        2 * NEAR_CHARS
    };
    if chars.len() <= most + 1 {
        return words.to_owned();
    }
    let head: String = chars[..NEAR_CHARS].iter().collect();
    let tail: String = chars[chars.len() - NEAR_CHARS..].iter().collect();
    match (is_first, is_last) {
        (true, true) => visible::cut(words, 2 * NEAR_CHARS).into_owned(),
        (true, false) => format!("…{tail}"),
        (false, true) => format!("{head}…"),
        (false, false) => format!("{head}…{tail}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_words_stand_in_brackets_and_far_ones_are_left_out() {
        let told = beside("Hello Ada, how are you?", "Good day Ada, how are you?");
        assert_eq!(
            told,
            [
                "[-Hello-] Ada, how are you?",
                "{+Good day+} Ada, how are you?"
            ]
        );
        let far = "word ".repeat(40);
        let told = beside(&format!("{far}old {far}"), &format!("{far}new {far}"));
        assert_eq!(
            told[0],
            "…word word word word word word [-old-] word word word word word word…"
        );
        let told = beside("a\u{1b}[2J", "");
        assert_eq!(told, ["[-a␛[2J-]".to_owned(), String::new()]);
    }

    #[test]
    fn a_text_of_any_length_takes_little_room() {
        let long = |word: &str| word.repeat(100_000);
        let told = beside(&long("a b "), &long("c d "));
        assert!(
            told.iter()
                .all(|line| line.chars().count() <= MOST_CHARS + 1)
        );
    }
}
