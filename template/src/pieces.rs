//! Cuts a text into what is a template and what isn't.
//!
//! Prompts and data hold `{{`, `{%` and `{#` that nobody meant as templates: code, LaTeX, other
//! template languages. An opening that never closes is text. So the template engine only sees
//! texts in which every opening has its end.

/// A stretch of a text, delimiters included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// As it is.
    Text(&'a str),
    /// An opening delimiter without an end.
    Stray(&'a str),
    /// `{{ … }}`
    Expression(&'a str),
    /// `{% … %}`; for `raw` up to its `endraw`.
    Statement(&'a str),
    /// `{# … #}`
    Comment(&'a str),
}

impl<'a> Piece<'a> {
    /// What it is cut from.
    pub fn source(&self) -> &'a str {
        let (Self::Text(source)
        | Self::Stray(source)
        | Self::Expression(source)
        | Self::Statement(source)
        | Self::Comment(source)) = self;
        source
    }

    fn is_tag(&self) -> bool {
        !matches!(self, Self::Text(_) | Self::Stray(_))
    }

    /// Whether a tag takes the white space before it away.
    pub(crate) fn trims_before(&self) -> bool {
        self.is_tag() && self.source().as_bytes()[2] == b'-'
    }

    /// Whether a tag takes the white space after it away.
    pub(crate) fn trims_after(&self) -> bool {
        let source = self.source().as_bytes();
        self.is_tag() && source.len() > 4 && source[source.len() - 3] == b'-'
    }
}

/// Whether a text can't be a template.
pub fn is_plain(text: &str) -> bool {
    opening(text).is_none()
}

/// Where the first opening delimiter stands.
fn opening(text: &str) -> Option<usize> {
    let is_opening = |pair: &[u8]| pair[0] == b'{' && matches!(pair[1], b'{' | b'%' | b'#');
    text.as_bytes().windows(2).position(is_opening)
}

/// The pieces of `text`, in order; together they are `text`.
pub fn pieces(text: &str) -> Pieces<'_> {
    Pieces {
        text,
        at: 0,
        no_more: Vec::new(),
    }
}

/// The pieces of a text.
#[derive(Debug)]
pub struct Pieces<'a> {
    text: &'a str,
    at: usize,
    /// Ends that don't occur any more, so that a text of openings alone costs one pass.
    no_more: Vec<&'static str>,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let rest = &self.text[self.at..];
        if rest.is_empty() {
            return None;
        }
        let piece = match opening(rest) {
            Some(0) => self.tag(rest),
            start => Piece::Text(&rest[..start.unwrap_or(rest.len())]),
        };
        self.at += piece.source().len();
        Some(piece)
    }
}

impl<'a> Pieces<'a> {
    /// Takes the tag that opens where `rest` begins.
    fn tag(&mut self, rest: &'a str) -> Piece<'a> {
        let piece = match rest.as_bytes()[1] {
            b'{' => self
                .closed(rest, "}}")
                .map(|len| Piece::Expression(&rest[..len])),
            b'%' => self.closed(rest, "%}").map(|len| {
                let len = raw_end(&rest[..len], rest).unwrap_or(len);
                Piece::Statement(&rest[..len])
            }),
            _ => self
                .find(rest, "#}")
                .map(|len| Piece::Comment(&rest[..len])),
        };
        piece.unwrap_or(Piece::Stray(&rest[..2]))
    }

    /// Returns the length of the tag: quotes hide its end, unless they don't close before any end comes.
    fn closed(&mut self, rest: &str, end: &'static str) -> Option<usize> {
        let plain = self.find(rest, end)?;
        let (mut quote, mut escaped) = (None, false);
        for (index, byte) in rest.bytes().enumerate().skip(2) {
            match quote {
                _ if escaped => escaped = false,
                Some(_) if byte == b'\\' => escaped = true,
                Some(open) if byte == open => quote = None,
                None if matches!(byte, b'"' | b'\'') => quote = Some(byte),
                None if rest.as_bytes()[index..].starts_with(end.as_bytes()) => {
                    return Some(index + 2);
                }
                // Inside quotes, or code before the end.
                _ => {}
            }
            if index > plain + MAX_QUOTED {
                break;
            }
        }
        Some(plain)
    }

    fn find(&mut self, rest: &str, end: &'static str) -> Option<usize> {
        if self.no_more.contains(&end) {
            return None;
        }
        let found = rest[2..].find(end).map(|index| index + 4);
        if found.is_none() {
            self.no_more.push(end);
        }
        found
    }
}

/// How far beyond the first `}}` a quoted one may push a tag's end.
const MAX_QUOTED: usize = 10_000;

/// Where `{% raw %}` ends with its `{% endraw %}`.
fn raw_end(tag: &str, rest: &str) -> Option<usize> {
    let word = [("raw", "endraw"), ("verbatim", "endverbatim")]
        .iter()
        .find_map(|(begin, end)| is_tag(tag, &[begin]).then_some(*end))?;
    let ends = rest.match_indices(word).find_map(|(at, _)| {
        let filler = |c: char| c == '-' || c == '+' || c.is_whitespace();
        let after = rest[at + word.len()..].trim_start_matches(filler);
        let opened = rest[..at].trim_end_matches(filler).ends_with("{%");
        (opened && after.starts_with("%}")).then(|| rest.len() - after.len() + 2)
    });
    // Without an end the rest of the text is raw; the translation says what is missing.
    Some(ends.unwrap_or(rest.len()))
}

/// Words that make an expression one about what may be missing.
const CONDITIONS: [&str; 8] = ["if", "is", "or", "and", "not", "default", "d", "else"];

/// Whether an expression has a condition or a default in it, so that names in it may be missing.
pub fn tolerates_nothing(tag: &str) -> bool {
    words(tag).any(|word| CONDITIONS.contains(&word)) || tag.contains('?')
}

/// The words of a tag.
pub fn words(tag: &str) -> impl Iterator<Item = &str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    tag.split(move |c| !is_word(c))
        .filter(|word| !word.is_empty())
}

/// Whether a statement is one of these words alone.
pub(crate) fn is_tag(tag: &str, names: &[&str]) -> bool {
    let inner = tag.trim_start_matches("{%").trim_end_matches("%}");
    names.contains(&inner.trim_matches(|c: char| c == '-' || c == '+' || c.is_whitespace()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openings_without_an_end_are_text() {
        let cases = [
            ("plain", vec![Piece::Text("plain")]),
            (
                "a {{ b }} c",
                vec![
                    Piece::Text("a "),
                    Piece::Expression("{{ b }}"),
                    Piece::Text(" c"),
                ],
            ),
            (
                "a {{ b",
                vec![Piece::Text("a "), Piece::Stray("{{"), Piece::Text(" b")],
            ),
            ("{% if", vec![Piece::Stray("{%"), Piece::Text(" if")]),
            (
                "h1{#id",
                vec![Piece::Text("h1"), Piece::Stray("{#"), Piece::Text("id")],
            ),
            (
                "{# c #}x",
                vec![Piece::Comment("{# c #}"), Piece::Text("x")],
            ),
            ("{{ '}}' }}", vec![Piece::Expression("{{ '}}' }}")]),
            ("{{ it's }}", vec![Piece::Expression("{{ it's }}")]),
            ("{{ 'é' ~ ü }}", vec![Piece::Expression("{{ 'é' ~ ü }}")]),
            (
                "{%- raw -%} {{ {%- endraw -%}x",
                vec![
                    Piece::Statement("{%- raw -%} {{ {%- endraw -%}"),
                    Piece::Text("x"),
                ],
            ),
            ("{% raw %}{{", vec![Piece::Statement("{% raw %}{{")]),
            (
                "{%raw%}{{ x{%endraw%}",
                vec![Piece::Statement("{%raw%}{{ x{%endraw%}")],
            ),
            ("}} %} #}", vec![Piece::Text("}} %} #}")]),
        ];
        for (text, expected) in cases {
            assert_eq!(pieces(text).collect::<Vec<_>>(), expected, "{text}");
        }
    }

    #[test]
    fn a_megabyte_of_openings_takes_one_pass() {
        let text = "{{".repeat(500_000);
        assert_eq!(pieces(&text).count(), 500_000);
        assert_eq!(pieces(&"{% raw %}".repeat(100_000)).count(), 1);
        assert_eq!(
            pieces(&format!("{{% raw %}}{}%}}", "{%".repeat(500_000))).count(),
            1
        );
        assert_eq!(pieces(&"{{ '}}".repeat(100_000)).count(), 50_000);
    }
}
