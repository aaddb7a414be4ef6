//! Cuts a text into what is a template and what isn't.
//!
//! Prompts and data hold `{{`, `{%` and `{#` that nobody meant as templates: code, LaTeX, other
//! template languages. An opening that never closes is text. So the template engine only sees
//! texts in which every opening has its end.

/// A stretch of a text, delimiters included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
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

/// Whether a text can't be a template.
pub(crate) fn is_plain(text: &str) -> bool {
    !text
        .as_bytes()
        .windows(2)
        .any(|pair| pair[0] == b'{' && matches!(pair[1], b'{' | b'%' | b'#'))
}

/// The pieces of `text`, in order; together they are `text`.
pub(crate) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut ends = Ends::default();
    let mut rest = text;
    while !rest.is_empty() {
        let opening = rest
            .as_bytes()
            .windows(2)
            .position(|pair| pair[0] == b'{' && matches!(pair[1], b'{' | b'%' | b'#'))
            .unwrap_or(rest.len());
        if opening > 0 {
            pieces.push(Piece::Text(&rest[..opening]));
            rest = &rest[opening..];
            continue;
        }
        let offset = text.len() - rest.len();
        let (piece, len) = match rest.as_bytes()[1] {
            b'{' => ends
                .closed(text, offset, "}}")
                .map(|len| (Piece::Expression(&rest[..len]), len)),
            b'%' => ends.closed(text, offset, "%}").map(|len| {
                let len = raw_end(&rest[..len], rest).unwrap_or(len);
                (Piece::Statement(&rest[..len]), len)
            }),
            _ => ends
                .comment(text, offset)
                .map(|len| (Piece::Comment(&rest[..len]), len)),
        }
        .unwrap_or((Piece::Stray(&rest[..2]), 2));
        pieces.push(piece);
        rest = &rest[len..];
    }
    pieces
}

/// Remembers which ends don't occur any more, so that a text of openings alone costs one pass.
#[derive(Default)]
struct Ends {
    no_more: Vec<&'static str>,
}

impl Ends {
    /// Length of the tag that opens at `offset`: quotes hide its end, unless they don't close
    /// before any end comes.
    fn closed(&mut self, text: &str, offset: usize, end: &'static str) -> Option<usize> {
        let plain = self.find(text, offset, end)?;
        let rest = &text[offset..];
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

    fn comment(&mut self, text: &str, offset: usize) -> Option<usize> {
        self.find(text, offset, "#}")
    }

    fn find(&mut self, text: &str, offset: usize, end: &'static str) -> Option<usize> {
        if self.no_more.contains(&end) {
            return None;
        }
        let found = text[offset + 2..].find(end).map(|index| index + 4);
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
pub(crate) fn tolerates_nothing(tag: &str) -> bool {
    words(tag).any(|word| CONDITIONS.contains(&word)) || tag.contains('?')
}

/// The words of a tag.
pub(crate) fn words(tag: &str) -> impl Iterator<Item = &str> {
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
            assert_eq!(pieces(text), expected, "{text}");
        }
    }

    #[test]
    fn a_megabyte_of_openings_takes_one_pass() {
        let text = "{{".repeat(500_000);
        assert_eq!(pieces(&text).len(), 500_000);
        assert_eq!(pieces(&"{% raw %}".repeat(100_000)).len(), 1);
        assert_eq!(
            pieces(&format!("{{% raw %}}{}%}}", "{%".repeat(500_000))).len(),
            1
        );
        assert_eq!(pieces(&"{{ '}}".repeat(100_000)).len(), 50_000);
    }
}
