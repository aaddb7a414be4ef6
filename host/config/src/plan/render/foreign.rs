//! Templates in what code made of a prompt that are not the code's own words: it may pass on what a
//! model said in an earlier case, which is never read as a template.

use std::borrow::Cow;

use serde_json::Value;

use crate::template::{Piece, pieces};

/// What begins a tag.
const OPENINGS: [&str; 3] = ["{{", "{%", "{#"];

/// Bytes that are looked through for the words of others in one text: some tenths of a second of a processor.
const MOST_WORK: usize = 1 << 30;

/// What ends the region in which tags are text.
const END_RAW: &str = "endraw";

/// Texts that somebody else wrote.
#[derive(Debug, Default)]
pub(super) struct Foreign(Vec<String>);

impl Foreign {
    /// Adds the texts of a value that hold tags, or parts of which code may make some, as they are and as they
    /// stand in JSON.
    pub(super) fn add(&mut self, value: &Value) {
        match value {
            Value::String(text) if text.contains('{') || text.starts_with(['%', '#']) => {
                self.0.push(text.clone());
                let json = value.to_string();
                self.0.push(json[1..json.len() - 1].to_owned());
            }
            Value::Array(items) => items.iter().for_each(|item| self.add(item)),
            Value::Object(fields) => fields.values().for_each(|field| self.add(field)),
            _ => {}
        }
    }

    /// `made` with their tags as text; `None` if that can't be said in a template, or would take too long to find.
    pub(super) fn shield<'t>(&self, made: &'t str) -> Option<Cow<'t, str>> {
        if self.0.is_empty() {
            return Some(Cow::Borrowed(made));
        }
        let texts: usize = self.0.iter().map(String::len).sum();
        let mut work = self.0.len().saturating_mul(made.len());
        if work > MOST_WORK {
            return None;
        }
        let passed_on = self.places(made);
        let mut shielded = String::with_capacity(made.len());
        let mut at = 0;
        for piece in pieces(made) {
            let source = piece.source();
            let place = at..at + source.len();
            at = place.end;
            let is_tag = !matches!(piece, Piece::Text(_) | Piece::Stray(_));
            work += if is_tag { texts } else { 0 };
            if work > MOST_WORK {
                return None;
            }
            if !is_tag || !(passed_on[place].contains(&true) || self.wrote(source)) {
                shielded.push_str(source);
                continue;
            }
            if source.contains(END_RAW) {
                return None;
            }
            shielded.push_str("{% raw %}");
            shielded.push_str(source);
            shielded.push_str("{% endraw %}");
        }
        Some(Cow::Owned(shielded))
    }

    /// Which bytes of a text are others', where they stand in it as they are: a brace of the code's and one of
    /// an answer's make a tag that neither wrote.
    fn places(&self, made: &str) -> Vec<bool> {
        let mut passed_on = vec![false; made.len()];
        for text in &self.0 {
            for (at, found) in made.match_indices(text.as_str()) {
                passed_on[at..at + found.len()].fill(true);
            }
        }
        passed_on
    }

    /// Whether a tag stands in one of them, or begins at the end of one.
    fn wrote(&self, tag: &str) -> bool {
        self.0.iter().any(|text| {
            let last = OPENINGS
                .iter()
                .filter_map(|opening| text.rfind(opening))
                .max();
            text.contains(tag) || last.is_some_and(|at| tag.starts_with(text[at..].trim_end()))
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tags_of_others_are_text_and_those_of_the_code_are_tags() {
        let mut foreign = Foreign::default();
        foreign
            .add(&json!([{ "output": "say {{ a }}, {% if b %} {# c #} and {{ d" }, "{{ \"q\" }}"]));
        let shield = |made: &str| foreign.shield(made).map(Cow::into_owned);
        for (made, expected) in [
            ("no tag {", "no tag {"),
            (
                "{{ own }} {{ a }}",
                "{{ own }} {% raw %}{{ a }}{% endraw %}",
            ),
            ("{{a}}", "{{a}}"),
            (
                "{% if b %}x{% endif %}",
                "{% raw %}{% if b %}{% endraw %}x{% endif %}",
            ),
            ("{{ d | up }}", "{% raw %}{{ d | up }}{% endraw %}"),
            (
                r#"["{{ \"q\" }}"]"#,
                r#"["{% raw %}{{ \"q\" }}{% endraw %}"]"#,
            ),
        ] {
            assert_eq!(shield(made).as_deref(), Some(expected));
        }
        foreign.add(&json!("{{ '{% endraw %}' }}"));

        assert_eq!(foreign.shield("{{ '{% endraw %}' }}"), None);
        let mut long = Foreign::default();
        long.add(&json!("{{ a }}".repeat(20_000)));
        assert_eq!(long.shield(&"{{ b }}".repeat(20_000)), None);
        let mut many = Foreign::default();
        many.add(&json!(vec!["{{ a }}"; 20_000]));
        assert_eq!(many.shield(&"b".repeat(30_000)), None);
        let mut braced = Foreign::default();
        braced.add(&json!(["{want}", "% raw", "plain"]));
        for (made, expected) in [
            (
                "\\boxed{{want}} {{ own }}",
                "\\boxed{% raw %}{{want}}{% endraw %} {{ own }}",
            ),
            ("{% raw %}", "{% raw %}{% raw %}{% endraw %}"),
            ("{{ plain }}", "{{ plain }}"),
        ] {
            assert_eq!(braced.shield(made).as_deref(), Some(expected));
        }
        assert!(matches!(
            Foreign::default().shield("{{ a }}"),
            Some(Cow::Borrowed(_))
        ));
    }
}
