//! Templates in the config: `{{prompt}}`, the variables of `vars`, filters.
//!
//! What is filled in is a stranger's, so it never becomes structure by accident: a JSON body
//! is taken apart first and its strings are filled one by one, and what goes into an address is
//! encoded as it goes, unless the template says `safe`. Only a body that is no JSON before it is
//! filled is read after it, and then no variable adds a member to it.

use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};
use runner_plugin::Error;
use runner_plugin::json::{Map, Value};
use runner_template::{Apart, Escape, Limits, Mixed, Printed, Scope, Template, is_plain};
use serde::de::IgnoredAny;
use sha2::{Digest as _, Sha256};

/// What templates see.
pub(crate) struct Filler {
    vars: Map<String, Value>,
    /// Whether the config has made the prompt what it is to send.
    is_made: bool,
}

impl Filler {
    /// A filler of these variables.
    pub(crate) fn new(vars: Map<String, Value>) -> Self {
        Self {
            vars,
            is_made: false,
        }
    }

    /// Gives `prompt` the value that the config has made of it.
    pub(crate) fn set_prompt(&mut self, prompt: Value) {
        self.is_made = true;
        self.vars.insert("prompt".to_owned(), prompt);
    }

    /// A text with its templates filled. `what` names it in errors.
    pub(crate) fn text(&self, what: &str, template: &str) -> Result<String, Error> {
        filled(what, template, &self.vars, None)
    }

    /// A value of a query or a header with its templates filled; in one that is JSON no variable adds to it.
    pub(crate) fn within(&self, what: &str, template: &str) -> Result<String, Error> {
        let text = self.text(what, template)?;
        if is_plain(template) || !text.trim_start().starts_with(['{', '[']) {
            return Ok(text);
        }
        Ok(self.begun(what, template, &text)?.unwrap_or(text))
    }

    /// An address with its templates filled. What is filled in stays one segment of the path or
    /// one value of the query; of the rest, what no address may hold is encoded.
    pub(crate) fn url(&self, template: &str) -> Result<String, Error> {
        let escape = |printed: &Printed<'_>| (!printed.is_safe).then(|| encoded(printed.text));
        let url = filled("url", template, &self.vars, Some(&escape))?;
        // These can't be encoded: `%2e%2e` is the same segment.
        if upward(&url) > upward(template) {
            return Err(Error::invalid_request(
                "a variable puts `.` or `..` into the path of `url`, which would lead elsewhere",
            ));
        }
        Ok(utf8_percent_encode(url.trim(), NO_PART).to_string())
    }

    /// A form with its templates filled. What is filled in stays one value; what of it ends none is left as it
    /// is, since templates and variables may be encoded already. In a field that is JSON it stays within its string.
    pub(crate) fn form(&self, what: &str, template: &str) -> Result<String, Error> {
        let text = self.text(what, template)?;
        let is_prompt = self.vars.get("prompt").and_then(Value::as_str) == Some(&text);
        if is_prompt && self.is_made {
            return Ok(text);
        }
        let form = self.apart(what, template, &text)?.form();
        form.ok_or_else(|| mixed(what))
    }

    /// A JSON value with the templates in its strings filled. A string that becomes a JSON
    /// object, array or string is one: that is how a chat goes into a body. No variable makes it one but with
    /// all of it, nor adds to it.
    pub(crate) fn value(&self, what: &str, value: &Value) -> Result<Value, Error> {
        Ok(match value {
            Value::String(template) => {
                let text = self.text(what, template)?;
                if is_plain(template) {
                    return Ok(as_json(text));
                }
                if !text.trim_start().starts_with(['{', '[', '"']) {
                    return Ok(Value::String(text));
                }
                let meant = self.begun(what, template, &text)?;
                meant.map_or(Value::String(text), as_json)
            }
            Value::Array(items) => {
                let items = items.iter().map(|item| self.value(what, item));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            Value::Object(fields) => {
                let fields = fields
                    .iter()
                    .map(|(key, value)| Ok((key.clone(), self.value(what, value)?)));
                Value::Object(fields.collect::<Result<_, Error>>()?)
            }
            other => other.clone(),
        })
    }

    /// A text that may be JSON. JSON before it is filled: its strings are filled. JSON after, also line by line: that,
    /// unless a variable broke it or added to it; then what was meant. Else a text.
    pub(crate) fn loose(&self, what: &str, template: &str) -> Result<Value, Error> {
        if let Ok(value @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(template) {
            return self.value(what, &value);
        }
        let text = self.text(what, template)?;
        if !text.trim_start().starts_with(['{', '[']) {
            return Ok(Value::String(text));
        }
        let apart = self.apart(what, template, &text)?;
        Ok(as_json(meant(what, &text, &apart)?))
    }

    /// What a text was meant to be that begins like JSON; `None` if a variable begins it that is not all of it.
    fn begun(&self, what: &str, template: &str, text: &str) -> Result<Option<String>, Error> {
        let apart = self.apart(what, template, text)?;
        let begin = &text.trim_start()[..1];
        let is_begun = apart.is_one_value() || apart.begins(begin);
        is_begun.then(|| meant(what, text, &apart)).transpose()
    }

    /// A text with its variables apart.
    fn apart(&self, what: &str, template: &str, text: &str) -> Result<Apart, Error> {
        let render = |escape: &Escape<'_>| filled(what, template, &self.vars, Some(escape));
        Apart::of(self.secret(), text, render)?.ok_or_else(|| mixed(what))
    }

    /// A number that no variable can know, and none can be tried for: it is made of all of them.
    pub(crate) fn secret(&self) -> u128 {
        let vars = serde_json::to_vec(&self.vars).unwrap_or_default();
        let digest = Sha256::digest(vars);
        u128::from_be_bytes(std::array::from_fn(|at| digest[at]))
    }
}

/// Whether a text is JSON, or JSON line by line.
fn is_json_lines(text: &str) -> bool {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    values.all(|value| value.is_ok())
}

/// What a text was meant to be that begins like JSON: that, unless a variable broke it or added to it.
fn meant(what: &str, text: &str, apart: &Apart) -> Result<String, Error> {
    if apart.is_one_value() {
        return Ok(text.to_owned());
    }
    let meant = apart.json(text, is_json_lines);
    Ok(meant
        .map_err(|_| mixed(what))?
        .unwrap_or_else(|| text.to_owned()))
}

/// JSON if a text is that and begins like it, else the text.
fn as_json(text: String) -> Value {
    let looks_like_json = text.trim_start().starts_with(['{', '[', '"']);
    let read = looks_like_json.then(|| serde_json::from_str(&text).ok());
    read.flatten().unwrap_or(Value::String(text))
}

fn mixed(what: &str) -> Error {
    Error::invalid_request(format!(
        "the template in `{what}` cannot be filled: {Mixed}"
    ))
}

fn filled(
    what: &str,
    template: &str,
    vars: &Map<String, Value>,
    escape: Option<&Escape<'_>>,
) -> Result<String, Error> {
    if is_plain(template) {
        return Ok(template.to_owned());
    }
    let scope = Scope {
        variables: vars,
        filters: None,
        allowance: None,
        escape,
    };
    let text = Template::parse(template).and_then(|it| it.render(scope, &Limits::default()));
    text.map_err(|error| {
        Error::invalid_request(format!(
            "the template in `{what}` cannot be filled: {error}"
        ))
    })
}

/// How many segments of an address's path are `.` or `..`.
fn upward(url: &str) -> usize {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    path.split(['/', '\\'])
        .map(|segment| segment.to_ascii_lowercase().replace("%2e", "."))
        .filter(|segment| matches!(segment.trim(), "." | ".."))
        .count()
}

/// All but what stands for itself anywhere in an address (RFC 3986, 2.3).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// What no part of an address holds as it is.
const NO_PART: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// A text as one segment of a path, or one name or value of a query.
fn encoded(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// Names and values as a query.
pub(crate) fn query(pairs: &[(String, String)]) -> String {
    let pair = |(name, value): &(String, String)| format!("{}={}", encoded(name), encoded(value));
    pairs.iter().map(pair).collect::<Vec<_>>().join("&")
}

#[cfg(test)]
#[path = "../../../template/tests/nunjucks/table.rs"]
mod confirmed;

#[cfg(test)]
mod tests {
    use runner_plugin::json::json;

    use super::*;

    #[test]
    fn a_variable_adds_no_field_to_a_form() {
        let vars = json!({"q": "x y%20&model=dear;a", "j": "x\",\"z\":\"%22,&"});
        let filler = Filler::new(vars.as_object().cloned().unwrap_or_default());
        let inside = "x%5C%22%2C%5C%22z%5C%22%3A%5C%22%2522%2C%26";
        for (form, expected) in [
            (
                "model=m&q={{q}}",
                "model=m&q=x y%20%26model=dear%3Ba".to_owned(),
            ),
            (
                "{% macro f(x) %}q={{x}}&b={% endmacro %}{{ f(q) | trim }}",
                "q=x y%20%26model=dear%3Ba&b=".to_owned(),
            ),
            (
                "p={\"q\": \"{{j}}\"}&r={{ 'a&b' }}",
                format!("p={{\"q\": \"{inside}\"}}&r=a%26b"),
            ),
            (
                "p=%7b%22q%22%3A%22{{j}}%22%7d",
                format!("p=%7b%22q%22%3A%22{inside}%22%7d"),
            ),
        ] {
            let got = filler.form("body", form);
            assert_eq!(got.map_err(|error| error.message), Ok(expected), "{form}");
        }
        let mixed = filler.form(
            "body",
            "{% set f %}a={{q}}&b=1{% endset %}{{ f | truncate(9) }}&",
        );
        assert!(mixed.is_ok_and(|it| it.starts_with("a=x")));
        let mixed = filler.form("body", "{% set f %}a={{q}}&b=1{% endset %}{{ f | upper }}");
        assert!(mixed.is_err_and(|error| error.message.contains("cannot be told")));
    }

    #[test]
    fn a_variable_adds_no_member_to_a_body() {
        let filler = Filler::new(Map::from_iter([
            ("no".to_owned(), json!(false)),
            ("q".to_owned(), json!("x\",\"model\":\"dear")),
            ("o".to_owned(), json!("{\"a\":\"")),
            ("o2".to_owned(), json!("{\"b\": 1}")),
        ]));
        let expected = json!({"model": "m", "q": "x\",\"model\":\"dear"});
        for body in [
            r#"{"model": "m", "q": "{{q}}"}"#,
            r#"{"model": "m", "q": "{{q}}"{% if no %}, "x": 1{% endif %}}"#,
            r#"{% set m = "m" %}{"model": "{{m}}", "q": "{{q}}"}"#,
            r#"{% macro w(x) %}"q": "{{x}}"{% endmacro %}{"model": "m", {{ w(q) }}}"#,
            r#"{% macro o(k) %}"{{k}}":"{% endmacro %}{"model":"m",{{ o("q") }}{{q}}"}"#,
            r#"{% set s %}Q {{q}}{% endset %}{"model":"m","q":"{{q}}"{% if s == "z" %},{}{% endif %}}"#,
            r#"{% set s %}{{q}}{% endset %}{"model":"m","q":{{ s | dump }}}"#,
        ] {
            let value = filler.loose("body", body);
            assert_eq!(
                value.map_err(|error| error.message),
                Ok(expected.clone()),
                "{body}"
            );
        }
        for (text, expected) in [
            (r#"{"model":"m","q":"{{q}}"}"#, expected.clone()),
            (
                "{{o}} and {{q}}",
                json!("{\"a\":\" and x\",\"model\":\"dear"),
            ),
            ("{{o2}}", json!({"b": 1})),
        ] {
            let body = json!({"payload": text});
            let value = filler.value("body", &body);
            assert_eq!(
                value.map_err(|error| error.message),
                Ok(json!({"payload": expected}))
            );
        }
        let header = filler.within("headers", r#"{"model":"m","q":"{{q}}"}"#);
        let header = header.map_err(|error| error.message);
        let header = header.map(|it| serde_json::from_str::<Value>(&it).ok());
        assert_eq!(
            header,
            Ok(Some(json!({"model": "m", "q": "x\",\"model\":\"dear"})))
        );
        let lines = filler.loose("body", "{\"index\": 1}\n{\"q\": \"{{q}}\"}\n");
        let expected = "{\"index\": 1}\n{\"q\": \"x\\\",\\\"model\\\":\\\"dear\"}\n";
        assert_eq!(lines.map_err(|error| error.message), Ok(json!(expected)));
    }

    #[test]
    fn templates_mean_what_they_mean_in_prompts() {
        confirmed::holds(|text, vars| {
            let filled = Filler::new(vars.clone()).text("body", text);
            filled.map_err(|error| error.message)
        });
    }
}
