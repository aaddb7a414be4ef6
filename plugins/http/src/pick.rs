//! Where the answer stands in a response: `transformResponse`.
//!
//! A path into the body as JavaScript writes it (`json.choices[0].message.content`), `text`,
//! or several with `||` or `??` between, of which the first that holds counts; also behind
//! `(json, text) =>`. That is what nearly every config says. Anything more is code, which is
//! for the script plugin.

use std::fmt;

use runner_plugin::json::{Value, json};

/// Alternatives, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pick {
    alternatives: Vec<Source>,
    written: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    /// Into the body as JSON.
    Json(Vec<Step>),
    /// The body as it came.
    Text,
    /// A text of the config's own.
    Literal(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

impl Pick {
    /// Reads the knob; the error says what to do instead.
    pub(crate) fn read(written: &str) -> Result<Self, String> {
        let mut body = written.trim().trim_end_matches(';');
        if let Some((parameters, rest)) = body.split_once("=>") {
            let names = parameters
                .trim()
                .trim_start_matches('(')
                .trim_end_matches(')');
            let names: Vec<&str> = names.split(',').map(str::trim).collect();
            if ["json", "text", "context"].starts_with(&names) {
                body = rest;
            }
        }
        let parts = body.replace("??", "||");
        let alternatives: Option<Vec<Source>> = parts.split("||").map(source).collect();
        let alternatives = alternatives.ok_or_else(|| {
            "is JavaScript beyond a path. A path into the response works here, such as `json.choices[0].message.content`, `text`, or two of them with `||` between; for anything more use the `transform` of the provider or the test, which runs in a sandbox".to_owned()
        })?;
        Ok(Self {
            alternatives,
            written: written.trim().to_owned(),
        })
    }

    /// Reads a knob whose path begins at the whole response: `data.body.id`, `data.headers['x-id']`.
    pub(crate) fn read_in_response(written: &str) -> Result<Self, String> {
        let path = written.trim().trim_start_matches("data =>").trim_start();
        let path = path.strip_prefix("data").unwrap_or(path);
        Self::read(&format!("json{path}"))
    }

    /// The first alternative that holds something in this response.
    pub(crate) fn from(&self, body: Option<&Value>, text: &str) -> Option<Value> {
        let found = self.alternatives.iter().map(|source| match source {
            Source::Json(steps) => steps.iter().try_fold(body?, follow).cloned(),
            Source::Text => Some(json!(text)),
            Source::Literal(text) => Some(json!(text)),
        });
        let mut last = None;
        for value in found.flatten().filter(|value| !value.is_null()) {
            let empty = value == "" || value == false || value == 0;
            if !empty {
                return Some(value);
            }
            // Like `||`: the last one counts, whatever it holds.
            last = Some(value);
        }
        last
    }
}

impl fmt::Display for Pick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

fn follow<'a>(value: &'a Value, step: &Step) -> Option<&'a Value> {
    match step {
        Step::Key(key) => value.get(key),
        Step::Index(index) => value.get(index),
    }
}

fn source(written: &str) -> Option<Source> {
    let written = written.trim();
    let quoted = |quote: char| written.strip_prefix(quote)?.strip_suffix(quote);
    if let Some(literal) = ['\'', '"'].into_iter().find_map(quoted) {
        let plain = !literal.contains(['\'', '"', '\\']);
        return plain.then(|| Source::Literal(literal.to_owned()));
    }
    if written == "text" {
        return Some(Source::Text);
    }
    let rest = written.strip_prefix("json").or(written.strip_prefix('$'))?;
    steps(rest).map(Source::Json)
}

fn steps(mut rest: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    while !rest.is_empty() {
        let before = rest;
        rest = rest.strip_prefix('?').map_or(rest, |more| more);
        let after_dot = rest.strip_prefix('.');
        if before.len() != rest.len() && after_dot.is_none() {
            return None; // a ternary, not `?.`
        }
        if let Some(inside) = after_dot.unwrap_or(rest).strip_prefix('[') {
            let (inside, more) = inside.split_once(']')?;
            steps.push(bracketed(inside.trim())?);
            rest = more;
            continue;
        }
        let name = after_dot?;
        let letter = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let end = name.find(|c: char| !letter(c)).unwrap_or(name.len());
        let (key, more) = name.split_at(end);
        if key.is_empty() {
            return None;
        }
        steps.push(Step::Key(key.to_owned()));
        rest = more;
    }
    Some(steps)
}

fn bracketed(inside: &str) -> Option<Step> {
    if let Ok(index) = inside.parse() {
        return Some(Step::Index(index));
    }
    let quoted = |quote: char| inside.strip_prefix(quote)?.strip_suffix(quote);
    let key = ['\'', '"'].into_iter().find_map(quoted)?;
    (!key.contains(['\'', '"', '\\'])).then(|| Step::Key(key.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_into_the_body() {
        let body = json!({ "a": [{ "b-c": "x", "n": 0 }], "e": "", "z": null });
        for (written, found) in [
            ("json", Some(body.clone())),
            ("json.a[0]['b-c']", Some(json!("x"))),
            ("$.a[0][\"b-c\"];", Some(json!("x"))),
            ("json?.a?.[0].n", Some(json!(0))),
            ("(json, text) => json.a", Some(body["a"].clone())),
            ("text", Some(json!("raw"))),
            ("json.z ?? json.a[0].n", Some(json!(0))),
            ("json.e || json.missing.deep || 'none'", Some(json!("none"))),
            ("json.a[1]", None),
            ("json.z", None),
            ("json.e", Some(json!(""))),
        ] {
            let pick = Pick::read(written).expect("a path");
            assert_eq!(pick.from(Some(&body), "raw"), found, "{written}");
        }
        let pick = Pick::read("json.a || text").expect("a path");
        assert_eq!(pick.from(None, "raw"), Some(json!("raw")), "no JSON");
    }

    #[test]
    fn a_path_may_begin_at_the_whole_response() {
        let whole = json!({ "body": { "id": 7 }, "headers": { "x-session": "s" } });
        for (written, found) in [
            ("data.body.id", json!(7)),
            ("data => data.headers['x-session']", json!("s")),
            ("data?.headers?.['x-session']", json!("s")),
        ] {
            let pick = Pick::read_in_response(written).expect("a path");
            assert_eq!(pick.from(Some(&whole), ""), Some(found), "{written}");
        }
        for code in [
            "data.body.id.split('-')[0]",
            "file://session.js",
            "({ body }) => body.id",
        ] {
            assert!(Pick::read_in_response(code).is_err(), "{code}");
        }
    }

    #[test]
    fn code_is_refused_with_the_way_out() {
        for written in [
            "file://parse.js",
            "file://parse.js:named",
            "json.a.map(x => x.b).join('')",
            "JSON.parse(text)",
            "json.a ? json.b : json.c",
            "({ output: json.a })",
            "(json) => { return json.a }",
            "context.response.status",
            "json.",
            "jsonx",
            "json[",
            "json['a\\'b']",
            "",
        ] {
            let why = Pick::read(written).expect_err("code");
            assert!(why.contains("`transform`"), "{written}: {why}");
        }
    }
}
