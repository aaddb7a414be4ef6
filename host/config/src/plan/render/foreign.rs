//! Templates in what code made of a prompt that are not the code's own words: it may pass on what a
//! model said in an earlier case, which is never read as a template.

use std::borrow::Cow;

use serde_json::Value;

use crate::template::{Piece, pieces};

/// What begins a tag.
const OPENINGS: [&str; 3] = ["{{", "{%", "{#"];

/// What ends the region in which tags are text.
const END_RAW: &str = "endraw";

/// Texts that somebody else wrote.
#[derive(Debug, Default)]
pub(super) struct Foreign(Vec<String>);

impl Foreign {
    /// Adds the texts of a value that hold tags, as they are and as they stand in JSON.
    pub(super) fn add(&mut self, value: &Value) {
        match value {
            Value::String(text) if OPENINGS.iter().any(|opening| text.contains(opening)) => {
                self.0.push(text.clone());
                let json = value.to_string();
                self.0.push(json[1..json.len() - 1].to_owned());
            }
            Value::Array(items) => items.iter().for_each(|item| self.add(item)),
            Value::Object(fields) => fields.values().for_each(|field| self.add(field)),
            _ => {}
        }
    }

    /// `made` with their tags as text; `None` if that can't be said in a template.
    pub(super) fn shield<'t>(&self, made: &'t str) -> Option<Cow<'t, str>> {
        if self.0.is_empty() {
            return Some(Cow::Borrowed(made));
        }
        let mut shielded = String::with_capacity(made.len());
        for piece in pieces(made) {
            let source = piece.source();
            let is_tag = !matches!(piece, Piece::Text(_) | Piece::Stray(_));
            if !is_tag || !self.wrote(source) {
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
        assert!(matches!(
            Foreign::default().shield("{{ a }}"),
            Some(Cow::Borrowed(_))
        ));
    }
}
