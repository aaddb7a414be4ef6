//! The text in what an endpoint answers: where `responseFormat.path` says, else where containers of
//! its kind have it, else all of it as JSON.

use plugin_model_api::answer::usage;
use runner_plugin::json::Value;
use runner_plugin::{Completion, Error};

use crate::body::Kind;

/// Reads a whole response of status 2xx.
pub(crate) fn completion(
    kind: Kind,
    body: &Value,
    path: Option<&str>,
) -> Result<Completion, Error> {
    let found = match path.map(pointer) {
        // What is not there is the whole, as in promptfoo.
        Some(pointer) => body
            .pointer(&pointer.map_err(Error::invalid_request)?)
            .unwrap_or(body),
        None => usual(kind, body),
    };
    let completion = match found {
        Value::String(text) => Completion::text(text.clone()),
        other => Completion::text(other.to_string()).output(other),
    };
    Ok(completion.usage(usage(&body["usage"])).raw(body))
}

/// Where containers of this kind have the text.
fn usual(kind: Kind, body: &Value) -> &Value {
    let places: &[&str] = match kind {
        Kind::OpenAi => &[
            "/generated_text",
            "/choices/0/message/content",
            "/choices/0/text",
            "/generation",
        ],
        Kind::Llama => &[
            "/generated_text",
            "/generation",
            "/choices/0/message/content",
            "/choices/0/text",
        ],
        Kind::HuggingFace => &["/generated_text", "/0/generated_text", "/0"],
        Kind::JumpStart => &["/generated_text"],
        Kind::Custom => &[
            "/output",
            "/generation",
            "/response",
            "/text",
            "/generated_text",
            "/choices/0/message/content",
            "/choices/0/text",
        ],
    };
    let mut found = places.iter().filter_map(|place| body.pointer(place));
    let is_something = |value: &&Value| !value.is_null() && *value != "";
    found.find(is_something).unwrap_or(body)
}

/// The JSON Pointer for a path as people write it in JavaScript: `json.choices[0].text`. It is no
/// code, and more than that is refused.
pub(crate) fn pointer(path: &str) -> Result<String, String> {
    let refused = || {
        format!(
            "`{path}` is no path such as `json.choices[0].text`; work it out by the provider's `transform`"
        )
    };
    let mut rest = path.trim();
    rest = rest
        .strip_prefix("json")
        .or(rest.strip_prefix('$'))
        .ok_or_else(refused)?;
    let mut pointer = String::new();
    while !rest.is_empty() {
        let (step, after) = step(rest).ok_or_else(refused)?;
        pointer.push('/');
        pointer.push_str(&step.replace('~', "~0").replace('/', "~1"));
        rest = after;
    }
    Ok(pointer)
}

/// The first step of a path, and what comes after it.
fn step(path: &str) -> Option<(&str, &str)> {
    if let Some(rest) = path.strip_prefix('[') {
        let (inner, after) = rest.split_once(']')?;
        let quoted = ['"', '\''].iter().find_map(|quote| {
            let inner = inner.strip_prefix(*quote)?.strip_suffix(*quote)?;
            (!inner.contains(*quote)).then_some(inner)
        });
        let is_number = !inner.is_empty() && inner.bytes().all(|it| it.is_ascii_digit());
        return Some((quoted.or(is_number.then_some(inner))?, after));
    }
    let rest = path
        .strip_prefix('.')
        .map(|rest| rest.strip_prefix('?').unwrap_or(rest));
    let rest = rest.or_else(|| path.strip_prefix("?."))?;
    if rest.starts_with('[') {
        return step(rest);
    }
    let end = rest.find(['.', '[', '?']).unwrap_or(rest.len());
    let (name, after) = rest.split_at(end);
    let is_name = |sign: char| sign.is_alphanumeric() || sign == '_' || sign == '$';
    (!name.is_empty() && name.chars().all(is_name)).then_some((name, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_read_and_code_is_not() {
        for (path, expected) in [
            ("json", ""),
            (
                "json.choices[0].message.content",
                "/choices/0/message/content",
            ),
            ("json?.a?.b", "/a/b"),
            ("json[\"a/b\"]['c~d']", "/a~1b/c~0d"),
            ("$.generated_text", "/generated_text"),
        ] {
            assert_eq!(pointer(path).as_deref(), Ok(expected), "{path}");
        }
        for path in [
            "",
            "data.text",
            "json.",
            "json..a",
            "json[x]",
            "json.a + 1",
            "json.a()",
            "jsonx",
            "json.text || 'none'",
        ] {
            assert!(pointer(path).is_err(), "{path}");
        }
    }
}
