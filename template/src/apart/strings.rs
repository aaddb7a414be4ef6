//! Strings of JSON: where they are in a text, and what stands between their quotes.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde_json::Value as Json;

/// A text as it stands between the quotes of a JSON string.
pub(super) fn within_quotes(text: &str) -> Cow<'_, str> {
    let is_changed = |sign: char| matches!(sign, '"' | '\\' | '\0'..='\x1f');
    if !text.contains(is_changed) {
        return Cow::Borrowed(text);
    }
    let json = Json::from(text).to_string();
    Cow::Owned(json[1..json.len() - 1].to_owned())
}

/// Whether a text is one JSON value that has no parts.
pub(super) fn is_scalar(text: &str) -> bool {
    !text.trim_start().starts_with(['[', '{']) && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// What is no string's, of a text that is JSON.
pub(super) fn outside_of_strings(json: &str) -> impl Iterator<Item = char> {
    let mut strings = Strings::default();
    json.chars()
        .filter(move |sign| strings.step(*sign) && !sign.is_whitespace())
}

/// Where the strings of a JSON text are.
#[derive(Debug, Default)]
pub struct Strings {
    inside: bool,
    escaped: bool,
}

impl Strings {
    /// Whether what comes next belongs to a string.
    pub fn is_inside(&self) -> bool {
        self.inside
    }

    /// Passes a part of it.
    pub fn pass(&mut self, part: &str) {
        for sign in part.chars() {
            self.step(sign);
        }
    }

    /// Passes a character, and says whether it belongs to no string; their quotes do not.
    pub(super) fn step(&mut self, sign: char) -> bool {
        let was_inside = self.inside;
        match sign {
            _ if self.escaped => self.escaped = false,
            '\\' => self.escaped = self.inside,
            '"' => self.inside = !self.inside,
            _ => {}
        }
        !was_inside || !self.inside
    }
}
