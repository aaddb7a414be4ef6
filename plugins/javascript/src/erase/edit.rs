//! A text of which parts become blanks: nothing moves but what stands behind an insertion on its own
//! line.

use std::collections::BTreeMap;

use oxc_span::Span;

/// Words before a name that say something of its type alone.
const MODIFIERS: [&str; 7] = [
    "public",
    "private",
    "protected",
    "readonly",
    "override",
    "abstract",
    "declare",
];

/// A text and what is changed in it.
pub(super) struct Text<'a> {
    source: &'a str,
    /// Whether a byte is erased.
    erased: Vec<bool>,
    /// Signs in the place of others.
    put: BTreeMap<u32, char>,
    /// What is inserted before a place.
    inserted: BTreeMap<u32, String>,
}

impl<'a> Text<'a> {
    pub(super) fn new(source: &'a str) -> Self {
        Self {
            source,
            erased: vec![false; source.len()],
            put: BTreeMap::new(),
            inserted: BTreeMap::new(),
        }
    }

    pub(super) fn source(&self, span: Span) -> &'a str {
        &self.source[span.start as usize..span.end as usize]
    }

    pub(super) fn blank(&mut self, span: Span) {
        self.erased[span.start as usize..span.end as usize].fill(true);
    }

    pub(super) fn put(&mut self, at: u32, sign: char) {
        self.put.insert(at, sign);
    }

    pub(super) fn insert(&mut self, at: u32, text: &str) {
        self.inserted.entry(at).or_default().push_str(text);
    }

    /// Blanks an item of a list with the comma behind it.
    pub(super) fn blank_with_comma(&mut self, span: Span) {
        self.blank(span);
        let next = self.skipped(span.end);
        if self.source[next as usize..].starts_with(',') {
            self.blank(Span::sized(next, 1));
        }
    }

    /// Blanks words before a name that say something of its type alone.
    pub(super) fn blank_modifiers(&mut self, start: u32, end: u32) {
        let mut at = self.skipped(start);
        while at < end {
            let rest = &self.source[at as usize..end as usize];
            let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
            let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            if MODIFIERS.contains(&&rest[..length]) {
                self.blank(Span::sized(at, length as u32));
            }
            let sign = rest.chars().next().map_or(1, char::len_utf8);
            at = self.skipped(at + length.max(sign) as u32);
        }
    }

    /// Finds where one of these signs stands, outside of comments.
    pub(super) fn find(&self, from: u32, until: u32, signs: &[char]) -> Option<u32> {
        let mut at = self.skipped(from);
        while at < until {
            let next = self.source[at as usize..].chars().next()?;
            if signs.contains(&next) {
                return Some(at);
            }
            at = self.skipped(at + next.len_utf8() as u32);
        }
        None
    }

    /// The last such sign before a place; comments between are taken for none.
    pub(super) fn last_before(&self, at: u32, sign: char) -> Option<u32> {
        let before = &self.source[..at as usize];
        before.rfind(sign).map(|at| at as u32)
    }

    /// Where a word stands that comes before a place.
    pub(super) fn word_before(&self, at: u32, word: &str) -> Option<u32> {
        let before = &self.source[..at as usize];
        before.rfind(word).map(|at| at as u32)
    }

    pub(super) fn starts(&self, at: u32, sign: char) -> bool {
        self.source[at as usize..].starts_with(sign)
    }

    pub(super) fn has_line_end(&self, span: Span) -> bool {
        self.source(span).contains('\n')
    }

    /// Whether what follows a place stands on another line, and would go on with an expression there.
    pub(super) fn next_line_goes_on(&self, at: u32) -> bool {
        let next = self.skipped(at);
        let between = Span::new(at, next);
        let rest = &self.source[next as usize..];
        self.has_line_end(between) && rest.starts_with(['(', '[', '`'])
    }

    /// The next place that is neither white space nor in a comment.
    pub(super) fn skipped(&self, at: u32) -> u32 {
        let mut at = at as usize;
        loop {
            let rest = &self.source[at..];
            let blank = rest.len() - rest.trim_start().len();
            let comment = match &rest[blank..] {
                rest if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
                rest if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
                _ => 0,
            };
            if comment == 0 {
                return (at + blank) as u32;
            }
            at += blank + comment;
        }
    }

    /// The changed text.
    pub(super) fn finish(self) -> String {
        let mut text = String::with_capacity(self.source.len());
        for (at, sign) in self.source.char_indices() {
            let place = at as u32;
            if let Some(inserted) = self.inserted.get(&place) {
                text.push_str(inserted);
            }
            let is_line_end = matches!(sign, '\n' | '\r' | '\u{2028}' | '\u{2029}');
            match self.put.get(&place) {
                Some(other) => text.push(*other),
                None if self.erased[at] && !is_line_end => {
                    // Engines count columns in these units.
                    text.extend(std::iter::repeat_n(' ', sign.len_utf16()));
                }
                None => text.push(sign),
            }
        }
        if let Some(inserted) = self.inserted.get(&(self.source.len() as u32)) {
            text.push_str(inserted);
        }
        text
    }
}
