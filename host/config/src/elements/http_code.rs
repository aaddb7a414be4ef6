//! Code in the `config` of the provider `http`: `transformRequest` and `transformResponse`.
//!
//! Both keys also take what is no code: a template, and a path into the answer. Those are the
//! plugin's, which needs no interpreter for them, and most configs have nothing else. Anything
//! more is taken out of the config here, to be run by the host around the plugin's call. A path
//! that is taken for code by mistake gives the same answer, only later; so what is not surely a
//! path is code.

use serde_json::{Map, Value};

use super::code::{self, CodePurpose};
use super::programs::program;
use super::reading::Reading;
use crate::model::ProviderCode;
use crate::read::entry::Entry;
use crate::read::files::names_file;

/// What ids of the provider begin with.
pub(super) const PREFIXES: [&str; 2] = ["http", "https"];

/// The key of what is sent.
const REQUEST: &str = "transformRequest";

/// The names of the key of what is read, the newest first; the first that is there counts.
const RESPONSE: [&str; 3] = ["transformResponse", "responseTransform", "responseParser"];

/// Takes the code out of the `config` of `provider`, if it has the id of one that may have any.
pub(crate) fn take(
    id: &str,
    provider: &Entry<'_>,
    config: &mut Map<String, Value>,
    reading: Reading<'_>,
) -> ProviderCode {
    let mut found = ProviderCode::default();
    let prefix = id.split(':').next().unwrap_or(id);
    let Some(written) = provider
        .get("config")
        .filter(|_| PREFIXES.contains(&prefix))
    else {
        return found;
    };
    let read = |entry: &Entry<'_>| {
        let script = code::read(entry, reading)?;
        Some(code::meant(script, CodePurpose::Transform))
    };
    if let Some(entry) = written.get(REQUEST)
        && entry.text().is_some_and(makes_request)
    {
        config.remove(REQUEST);
        found.request = read(&entry);
    }
    let response = RESPONSE.iter().find_map(|key| written.get(key));
    if let Some(entry) = response
        && entry.text().is_some_and(reads_response)
    {
        for key in RESPONSE {
            config.remove(key);
        }
        found.response = read(&entry);
    }
    found
}

/// Whether it names a file of code.
fn is_file(text: &str) -> bool {
    names_file(text) && program(text).is_some()
}

/// Whether a `transformRequest` is code: a file of it, or a text that is neither JSON nor has
/// anything to fill in. Where a text is both, words that only code has decide.
fn makes_request(text: &str) -> bool {
    const SIGNS: [&str; 4] = ["=>", "return ", "function", "JSON."];
    let text = text.trim();
    if names_file(text) {
        return is_file(text);
    }
    if text.is_empty() || serde_json::from_str::<Value>(text).is_ok() {
        return false;
    }
    let is_template = text.contains("{{") || text.contains("{%");
    !is_template || SIGNS.iter().any(|sign| text.contains(sign))
}

/// Whether a `transformResponse` is code: a file of it, or more than a path.
fn reads_response(text: &str) -> bool {
    let text = text.trim();
    if names_file(text) {
        return is_file(text);
    }
    !text.is_empty() && !is_path(text)
}

/// `json.a[0]`, `text`, a literal, or several of them with `||` or `??` between; also behind
/// `(json, text, context) =>`.
fn is_path(text: &str) -> bool {
    let mut body = text.trim_end_matches(';');
    if let Some((head, rest)) = body.split_once("=>") {
        let names = head.trim().trim_start_matches('(').trim_end_matches(')');
        let names: Vec<&str> = names.split(',').map(str::trim).collect();
        if !["json", "text", "context"].starts_with(&names) {
            return false;
        }
        body = rest;
    }
    body.replace("??", "||").split("||").all(is_source)
}

fn is_source(part: &str) -> bool {
    let part = part.trim();
    if part == "text" || is_literal(part) {
        return true;
    }
    let steps = part.strip_prefix("json").or(part.strip_prefix('$'));
    steps.is_some_and(are_steps)
}

/// A quoted text with nothing to unquote in it.
fn is_literal(part: &str) -> bool {
    let quoted = |quote: char| part.strip_prefix(quote)?.strip_suffix(quote);
    let inside = ['\'', '"'].into_iter().find_map(quoted);
    inside.is_some_and(|inside| !inside.contains(['\'', '"', '\\']))
}

/// `.key`, `?.key`, `[0]`, `['key']`, in a row. `length` is a key like any other to a path, and a
/// number that nothing holds to JavaScript.
fn are_steps(mut rest: &str) -> bool {
    while !rest.is_empty() {
        let dotted = rest.strip_prefix("?.").or(rest.strip_prefix('.'));
        if let Some(inside) = dotted.unwrap_or(rest).strip_prefix('[') {
            let Some((inside, more)) = inside.split_once(']') else {
                return false;
            };
            let inside = inside.trim();
            if inside.parse::<usize>().is_err() && !is_literal(inside) {
                return false;
            }
            rest = more;
            continue;
        }
        let Some(name) = dotted else {
            return false;
        };
        let letter = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let end = name.find(|c: char| !letter(c)).unwrap_or(name.len());
        let (key, more) = name.split_at(end);
        if key.is_empty() || key == "length" {
            return false;
        }
        rest = more;
    }
    true
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fixture::Folder;

    fn folder(config: &Value) -> Folder {
        let config = json!({
            "prompts": ["p"],
            "providers": [{ "id": "https://api.test/chat", "config": config }],
        });
        let mut folder = Folder::new(&config.to_string());
        let prefixes = &mut folder.catalog.provider_prefixes;
        for prefix in PREFIXES {
            prefixes.insert(prefix.to_owned(), "http".to_owned());
        }
        folder
    }

    #[test]
    fn a_path_is_no_code() {
        for path in [
            "json",
            "json.a[0].b_c",
            "json['a-b'][\"c\"]",
            "json?.a?.[0].n",
            "$.a.b;",
            "text",
            "(json, text) => json.a",
            "json => json.a",
            "json.e || json.f ?? 'none'",
            "",
            "file://note.md",
        ] {
            assert!(!reads_response(path), "{path}");
        }
    }

    #[test]
    fn anything_more_is_code() {
        for code in [
            "json.a.toUpperCase()",
            "json.a.length",
            "({ output: json.a })",
            "{ output: json.a }",
            "json.a ? json.b : json.c",
            "json.a + text",
            "`${json.a}`",
            "(data) => data.a",
            "(json, text) => { return text }",
            "context.response.status",
            "const a = json.a\nreturn a",
            "JSON.parse(text)",
            "json.",
            "json[a]",
            "json['a\\'b']",
            "file://parse.js",
            "file://parse.py:read",
        ] {
            assert!(reads_response(code), "{code}");
        }
    }

    #[test]
    fn a_request_is_a_template_or_code() {
        for template in [
            r#"{"message": "{{prompt}}"}"#,
            r#"{"message": "what does it return => {{prompt}}"}"#,
            r#"{"n": {{n}}}"#,
            "{{prompt}}",
            "{% if a %}b{% endif %}",
            "",
        ] {
            assert!(!makes_request(template), "{template}");
        }
        for code in [
            "({ message: prompt })",
            "{ message: prompt.trim() }",
            "(prompt, vars) => ({ message: `{{${prompt}}}` })",
            "return { message: prompt }",
            "JSON.stringify({ prompt })",
            "file://send.js:make",
        ] {
            assert!(makes_request(code), "{code}");
        }
    }

    #[test]
    fn code_leaves_the_config_and_a_path_stays() {
        let code = json!({ "transformResponse": "json.a.trim()", "responseParser": "json.b",
            "transformRequest": "({ q: prompt })", "method": "POST" });
        let plan = folder(&code).plan();
        let provider = &plan.columns[0].provider;
        assert_eq!(json!(provider.config), json!({ "method": "POST" }));
        let [request, response] = provider.code.scripts();
        let key = |script: &Option<_>| -> String {
            let script: &std::sync::Arc<crate::model::Script> = script.as_ref().expect("code");
            script.key.clone()
        };
        assert_eq!(key(request), "providers[0].config.transformRequest");
        assert_eq!(key(response), "providers[0].config.transformResponse");
        assert!(plan.languages.contains("javascript"));

        let path = json!({ "transformResponse": "json.a" });
        let plan = folder(&path).plan();
        let provider = &plan.columns[0].provider;
        assert_eq!(json!(provider.config), path);
        assert_eq!(provider.code, ProviderCode::default());
        assert!(!plan.languages.contains("javascript"));
    }

    #[test]
    fn a_file_of_code_is_read_with_the_config() {
        let config = json!({ "transformResponse": "file://parse.js:read" });
        let plan = folder(&config)
            .file("parse.js", "exports.read = json => json.a")
            .plan();
        assert!(plan.columns[0].provider.code.response.is_some());
        let problems = folder(&config).problems();
        assert!(problems[0].contains("parse.js"), "{problems:?}");
    }

    #[test]
    fn other_providers_keep_their_config() {
        let plan = Folder::new(
            "prompts: [p]\nproviders: [{ id: 'openai:m', config: { transformResponse: 'f()' } }]",
        )
        .plan();
        let provider = &plan.columns[0].provider;
        assert_eq!(provider.config["transformResponse"], "f()");
        assert_eq!(provider.code, ProviderCode::default());
    }
}
