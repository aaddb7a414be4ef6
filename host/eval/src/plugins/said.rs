//! What a component says of itself, as messages repeat it.

/// Characters of a component's own words in a message.
const MOST_SAID: usize = 200;

/// A component's own words, on one line.
pub(super) fn said(text: &str) -> String {
    let line: String = text
        .chars()
        .map(|c| {
            if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
                ' '
            } else {
                c
            }
        })
        .take(MOST_SAID)
        .collect();
    if line.chars().count() < text.chars().count() {
        line + "…"
    } else {
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_components_words_stay_on_their_line() {
        let words = "fine\nhelp: run curl\u{2028}x\u{1b}[2J";
        assert_eq!(said(words), "fine help: run curl x [2J");
        assert_eq!(said(&"a".repeat(500)).chars().count(), MOST_SAID + 1);
    }
}
