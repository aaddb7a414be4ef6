//! Text from outside, made safe to show in a terminal.
//!
//! Outputs of models, log lines of guests and texts of configs are hostile until shown to be
//! otherwise: an escape sequence can rename the window, hide what follows, or write to the
//! clipboard; a bidirectional override can make a message read as another. Everything that is
//! printed for people goes through here. Nothing is dropped silently: a character that can't
//! be shown is replaced by a visible one, so that a strange output looks strange. JSON on standard
//! output keeps its meaning: such characters are escaped. Files for programs (`-o x.json`) are not
//! for here: they hold the text as it is.

use std::borrow::Cow;
use std::fmt::Write as _;

/// `text` on one line: line breaks and tabs become spaces.
pub fn line(text: &str) -> Cow<'_, str> {
    shown(text, |c| {
        matches!(c, '\n' | '\t' | '\r' | '\u{2028}' | '\u{2029}').then_some(' ')
    })
}

/// `text` with its line breaks; tabs become spaces, `\r\n` is one break.
pub fn block(text: &str) -> Cow<'_, str> {
    broken(text, ' ')
}

/// `text` with its line breaks and tabs; `\r\n` is one break.
pub fn cell(text: &str) -> Cow<'_, str> {
    broken(text, '\t')
}

fn broken(text: &str, tab: char) -> Cow<'_, str> {
    let text = if text.contains("\r\n") {
        Cow::Owned(text.replace("\r\n", "\n"))
    } else {
        Cow::Borrowed(text)
    };
    let keep = |c| match c {
        '\n' | '\u{2028}' | '\u{2029}' => Some('\n'),
        '\t' => Some(tab),
        _ => None,
    };
    match text {
        Cow::Borrowed(text) => shown(text, keep),
        Cow::Owned(text) => Cow::Owned(shown(&text, keep).into_owned()),
    }
}

/// JSON that means the same and holds no character that a terminal would obey, nor a command to a job
/// of GitHub's, Azure's or TeamCity's (`##[…]`, `##vso[…]`, which count anywhere in a line): they stand in
/// texts only, and there as `\uXXXX`. Below a space JSON escapes all of them itself.
pub fn json(json: &str) -> Cow<'_, str> {
    const COMMANDS: [&str; 3] = ["##[", "##vso[", "##teamcity["];
    if COMMANDS.iter().any(|it| json.contains(it)) {
        let apart = |json: String, it: &str| json.replace(it, &format!("#\\u0023{}", &it[2..]));
        let json = COMMANDS.into_iter().fold(json.to_owned(), apart);
        return Cow::Owned(escaped(&json).into_owned());
    }
    escaped(json)
}

fn escaped(json: &str) -> Cow<'_, str> {
    if !json.contains(is_obeyed) {
        return Cow::Borrowed(json);
    }
    let mut text = String::with_capacity(json.len() + 8);
    for c in json.chars() {
        if is_obeyed(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string can't fail.
                let _ = write!(text, "\\u{unit:04x}");
            }
        } else {
            text.push(c);
        }
    }
    Cow::Owned(text)
}

/// Whether nothing is seen of a character: white space, what is obeyed instead of shown, and what
/// has no width.
pub fn is_unseen(c: char) -> bool {
    c.is_whitespace()
        || stand_in(c).is_some()
        || matches!(
            c,
            '\u{ad}'
                | '\u{34f}'
                | '\u{115f}'
                | '\u{1160}'
                | '\u{17b4}'
                | '\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200d}'
                | '\u{2060}'..='\u{206f}'
                | '\u{2800}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fff8}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Whether it stands for a character that is obeyed instead of shown.
pub fn is_stand_in(c: char) -> bool {
    matches!(c, '\u{2400}'..='\u{2421}' | '\u{fffd}')
}

/// Whether a terminal obeys a character that is no control of ASCII's first 32.
pub fn is_obeyed(c: char) -> bool {
    c > ' ' && stand_in(c).is_some()
}

/// The first `max` characters of `text`, with `…` where something was cut off.
pub fn cut(text: &str, max: usize) -> Cow<'_, str> {
    match text.char_indices().nth(max) {
        None => Cow::Borrowed(text),
        Some((end, _)) => {
            let head: String = text[..end].chars().take(max.saturating_sub(1)).collect();
            Cow::Owned(head + "…")
        }
    }
}

/// `text` in at most `max` characters, its beginning and its end, with `…` for what was cut out
/// between them: for names whose both ends tell them apart.
pub fn cut_middle(text: &str, max: usize) -> Cow<'_, str> {
    let count = text.chars().count();
    if count <= max {
        return Cow::Borrowed(text);
    }
    let kept = max.saturating_sub(1);
    let head: String = text.chars().take(kept / 2).collect();
    let tail = text.chars().skip(count - kept.div_ceil(2));
    Cow::Owned(head + "…" + &tail.collect::<String>())
}

/// The first `max` lines of `text`, with `…` where something was cut off.
pub fn cut_lines(text: &str, max: usize) -> Cow<'_, str> {
    match text.match_indices('\n').nth(max.saturating_sub(1)) {
        Some((end, _)) if end + 1 < text.len() => Cow::Owned(format!("{}…", &text[..end])),
        _ => Cow::Borrowed(text),
    }
}

fn shown(text: &str, keep: impl Fn(char) -> Option<char>) -> Cow<'_, str> {
    let replace = |c| keep(c).or_else(|| stand_in(c));
    if text
        .chars()
        .all(|c| replace(c).is_none_or(|shown| shown == c))
    {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|c| replace(c).unwrap_or(c)).collect())
}

/// What stands for a character that a terminal would obey instead of show.
fn stand_in(c: char) -> Option<char> {
    match c {
        // Unicode has a picture of each of the 32 controls, in the same order.
        '\0'..='\u{1f}' => char::from_u32(0x2400 + c as u32),
        '\u{7f}' => Some('␡'),
        // C1 controls, among them one-character forms of CSI and OSC; bidirectional marks,
        // embeddings, overrides and isolates; line and paragraph separators; the interlinear
        // and tag characters that some terminals act on.
        '\u{80}'..='\u{9f}'
        | '\u{061c}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}' => Some('\u{fffd}'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_are_shown_and_not_obeyed() {
        assert_eq!(
            block("\u{1b}[31mred\u{1b}]0;title\u{7}"),
            "␛[31mred␛]0;title␇"
        );
        assert_eq!(block("\u{9b}31m\u{7f}"), "\u{fffd}31m␡");
    }

    #[test]
    fn a_carriage_return_cannot_overwrite_what_stands_before_it() {
        assert_eq!(block("PASS\rFAIL"), "PASS␍FAIL");
        assert_eq!(block("one\r\ntwo\tthree"), "one\ntwo three");
        assert_eq!(line("one\r\ntwo\tthree"), "one  two three");
        assert_eq!(cell("one\r\ntwo\tthree\r"), "one\ntwo\tthree␍");
    }

    #[test]
    fn text_cannot_be_made_to_read_backwards() {
        assert_eq!(block("a\u{202e}b\u{2066}c"), "a\u{fffd}b\u{fffd}c");
    }

    #[test]
    fn json_keeps_its_meaning_and_loses_what_a_terminal_obeys() {
        let texts = "\u{1b}[31m \u{7f}\u{9b}2J \u{202e}cba\u{2066} \u{e0041} \u{2028} ä 👩‍👩‍👧 ##[error]x ###[ ##vso[a] ##teamcity[b]\n";
        let told = serde_json::json!({ texts: [texts] });
        for written in [told.to_string(), format!("{told:#}")] {
            let shown = json(&written);
            let is_tame = |c: char| c == '\n' || stand_in(c).is_none();
            assert!(shown.chars().all(is_tame), "{shown}");
            assert!(
                !shown.contains("##[") && !shown.contains("##vso["),
                "{shown}"
            );
            let read: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
            assert_eq!(read, told);
        }
        assert!(json("\u{e0041}") == "\\udb40\\udc41");
        assert!(matches!(json("{\"ä\": 1}"), Cow::Borrowed(_)));
    }

    #[test]
    fn ordinary_text_is_borrowed() {
        for text in ["", "plain", "zwei Zeilen\n日本語 👩‍👩‍👧"] {
            assert!(matches!(block(text), Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn a_cut_says_that_it_cut() {
        assert_eq!(cut("日本語です", 3), "日本…");
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abc", 0), "…");
        assert_eq!(cut_middle("abcdefgh", 6), "ab…fgh");
        assert_eq!(cut_middle("日本語です", 4), "日…です");
        assert_eq!(cut_middle("abc", 3), "abc");
        assert_eq!(cut_middle("abc", 1), "…");
        assert_eq!(cut_lines("a\nb\nc", 2), "a\nb…");
        assert_eq!(cut_lines("a\nb\n", 2), "a\nb\n");
        assert_eq!(cut_lines("a\nb", 2), "a\nb");
    }
}
