//! What is said of a provider that a row brings, so that a person can judge it: the variable that it
//! sends and where it leads first, no secrets, cut to size.
//!
//! Where it leads is shown as it will be asked, with its path and by which method: an address may be
//! written so that a person reads another one, and a long one so that its end is not read.

use serde_json::{Map, Value};
use url::Url;

use crate::redacted::redacted;

/// Ends of the names of keys and variables that hold addresses.
const ADDRESS_ENDS: [&str; 5] = ["URL", "URI", "BASE", "HOST", "ENDPOINT"];

/// The key of a config that names the variable that is sent.
const VARIABLE: &str = "apiKeyEnvar";

/// The key of a config that says what is done there, and the one whose text begins with it.
const METHOD: &str = "method";
const REQUEST: &str = "request";

/// The key of a config that adds to an address, how many of its parameters are shown, and characters of
/// each.
const PARAMETERS: &str = "queryParams";
const MOST_PARAMETERS: usize = 10;
const PARAMETER: usize = 60;

/// The key of a config whose code makes what is asked.
const MADE: &str = "transformRequest";

/// Characters of all of it; addresses may take more.
const CHARACTERS: usize = 200;

/// Characters of the rest that are shown beside addresses.
const REST: usize = 40;

/// Characters of an address as it is written.
const WRITTEN: usize = 100;

/// Characters of the beginning and of the end of an address as it is asked.
const BEGIN: usize = 160;
const END: usize = 80;

/// What is said of a provider beside its id.
pub(super) fn in_short(written: &Value) -> String {
    let mut said = said(written);
    let mut addresses = Vec::new();
    if let Some(id) = said.shift_remove("id") {
        let id = id.as_str().unwrap_or_default();
        let is_hidden = id.contains("://") && asked(id).is_some_and(|asked| asked != id);
        addresses.extend(is_hidden.then(|| shown("id", id)));
    }
    take_addresses(&mut said, false, &mut addresses);
    let Value::Object(mut said) = redacted(Value::Object(said)) else {
        unreachable!("a map stays one")
    };
    let mut config = match said.shift_remove("config") {
        Some(Value::Object(config)) => config,
        _ => Map::new(),
    };
    let sent = config.get(VARIABLE).and_then(Value::as_str);
    let sent = sent.map(|name| format!("sends the environment variable {name}"));
    let first = sent
        .iter()
        .cloned()
        .chain(said_short(&mut config, METHOD))
        .chain(addresses)
        .chain(said_short(&mut config, MADE));
    let first: Vec<String> = first.collect();
    let is_said = |key: &str| sent.is_some() && key == VARIABLE;
    let rest = config.iter().filter(|(key, _)| !is_said(key)).chain(&said);
    let rest = rest.filter(|(_, value)| !value.as_object().is_some_and(Map::is_empty));
    let rest = rest.map(|(key, value)| match value {
        Value::String(text) => format!("{key}: {text}"),
        other => format!("{key}: {other}"),
    });
    let least = first.join(", ").chars().count();
    let whole: Vec<String> = first.iter().cloned().chain(rest).collect();
    cut(&whole.join(", "), CHARACTERS.max(least + REST))
}

/// What a key says that changes what is asked, as far as it fits.
fn said_short(config: &mut Map<String, Value>, key: &str) -> Option<String> {
    let is_text = config.get(key).is_some_and(Value::is_string);
    let written = is_text.then(|| config.shift_remove(key)).flatten()?;
    Some(format!("{key}: {}", cut(written.as_str()?, WRITTEN)))
}

/// Parameters of an address that stand beside it, each by itself: a long one hides no other.
fn parameters(fields: &Map<String, Value>) -> String {
    let one = |(name, value): (&String, &Value)| {
        let value = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        cut(&format!("{}={value}", cut(name, PARAMETER / 2)), PARAMETER)
    };
    let shown: Vec<String> = fields.iter().take(MOST_PARAMETERS).map(one).collect();
    let more = match fields.len().saturating_sub(MOST_PARAMETERS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{PARAMETERS}: {}{more}", shown.join("&"))
}

/// The provider's own keys. In the older form the only key is the id.
fn said(written: &Value) -> Map<String, Value> {
    match written {
        Value::String(id) => Map::from_iter([("id".to_owned(), Value::from(id.as_str()))]),
        Value::Object(said) if said.contains_key("id") => said.clone(),
        Value::Object(said) => match said.iter().next() {
            Some((id, Value::Object(inner))) => {
                let mut said = inner.clone();
                said.insert("id".to_owned(), Value::from(id.as_str()));
                said
            }
            _ => said.clone(),
        },
        _ => Map::new(),
    }
}

/// Takes what leads somewhere out of `fields`, as it is shown.
fn take_addresses(fields: &mut Map<String, Value>, is_env: bool, addresses: &mut Vec<String>) {
    fields.retain(|key, value| match value {
        Value::String(text) if is_address(key, text, is_env) => {
            addresses.push(shown(key, text));
            false
        }
        Value::Object(inner) if key == PARAMETERS && !inner.is_empty() => {
            // A key among them is none of ours to show.
            if let Value::Object(inner) = redacted(Value::Object(std::mem::take(inner))) {
                addresses.push(parameters(&inner));
            }
            false
        }
        Value::Object(inner) => {
            take_addresses(inner, is_env || key == "env", addresses);
            true
        }
        Value::Array(items) => {
            take_from_list(key, items, is_env, addresses);
            true
        }
        _ => true,
    });
}

/// Takes what leads somewhere out of the list that stands under `key`.
fn take_from_list(key: &str, items: &mut Vec<Value>, is_env: bool, addresses: &mut Vec<String>) {
    items.retain_mut(|item| {
        let mut field = Map::from_iter([(key.to_owned(), item.take())]);
        take_addresses(&mut field, is_env, addresses);
        let rest = field.shift_remove(key);
        let is_kept = rest.is_some();
        *item = rest.unwrap_or_default();
        is_kept
    });
}

fn is_address(key: &str, text: &str, is_env: bool) -> bool {
    let ends = |end: &&str| key.to_ascii_uppercase().ends_with(*end);
    // What asks takes `http:host` and `https:\\host` as well.
    let is_asked = || Url::parse(text).is_ok_and(|url| url.has_host());
    key == REQUEST
        || ADDRESS_ENDS.iter().any(ends)
        || (is_env && is_host(text))
        || (text.contains("://") && origin(text).is_some())
        || is_asked()
}

/// Whether a text that nothing calls an address looks like a host.
fn is_host(text: &str) -> bool {
    let is_label = |label: &str| !label.is_empty() && label.len() <= 63;
    let has_parts = text.contains('.') && text.split('.').all(is_label);
    (has_parts || text.starts_with("localhost")) && origin(text).is_some()
}

/// An address as it is asked, and as it is written where one reads another host there.
fn shown(key: &str, text: &str) -> String {
    if key == REQUEST {
        return format!("{key}: {}", first_line(text));
    }
    let written = cut(text, WRITTEN);
    let (Some(origin), Some(asked)) = (origin(text), asked(text)) else {
        return format!("{key}: {written}");
    };
    // Whose a host is stands at its end: it is never cut.
    let asked = without_middle(&asked, BEGIN.max(origin.chars().count()));
    if begins_with(text, &origin) {
        format!("{key}: {asked}")
    } else {
        format!("{key}: {asked} (written '{written}')")
    }
}

/// The whole address that a text leads to, without who asks.
fn asked(text: &str) -> Option<String> {
    let (mut url, scheme) = match Url::parse(text).ok().filter(Url::has_host) {
        Some(url) => (url, ""),
        None => (Url::parse(&format!("https://{text}")).ok()?, "https://"),
    };
    // An address with a host has room for both.
    let _ = (url.set_username(""), url.set_password(None));
    let asked = url.as_str().strip_prefix(scheme)?;
    let is_bare = url.path() == "/" && !text.ends_with('/');
    let asked = asked.strip_suffix('/').filter(|_| is_bare).unwrap_or(asked);
    // A template in it is filled in before it is asked.
    Some(asked.replace("%7B", "{").replace("%7D", "}"))
}

/// Method and path of a request that is written as text.
fn first_line(text: &str) -> String {
    let line = text.trim_start().lines().next().unwrap_or_default();
    let (method, rest) = line.split_once(' ').unwrap_or(("", line));
    let rest = rest.trim();
    let target = rest
        .rsplit_once(" HTTP/")
        .map_or(rest, |(target, _)| target);
    let path = Url::parse("http://-").and_then(|base| base.join(target));
    let path = path.ok().filter(|_| target.starts_with('/'));
    let path = path.and_then(|url| Some(url.as_str().strip_prefix("http://-")?.to_owned()));
    let target = path
        .or_else(|| asked(target))
        .unwrap_or_else(|| target.to_owned());
    let shown = format!("{} {target}", cut(method, WRITTEN));
    without_middle(shown.trim_start(), BEGIN)
}

/// A text of which so much of the beginning is shown, and the end.
fn without_middle(text: &str, begin: usize) -> String {
    let characters = text.chars().count();
    if characters <= begin + END {
        return text.to_owned();
    }
    let end: String = text.chars().skip(characters - END).collect();
    cut(text, begin) + &end
}

/// Where an address leads, as it is asked: scheme, host and port, or the host of one without a
/// scheme.
fn origin(text: &str) -> Option<String> {
    let url = Url::parse(text).ok().filter(Url::has_host);
    if let Some(url) = url {
        return url
            .origin()
            .is_tuple()
            .then(|| url.origin().ascii_serialization());
    }
    let url = Url::parse(&format!("https://{text}")).ok()?;
    let origin = url.origin().ascii_serialization();
    origin.strip_prefix("https://").map(str::to_owned)
}

/// Whether one reads in `text` where it leads.
fn begins_with(text: &str, origin: &str) -> bool {
    let rest = text.strip_prefix(origin);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', ':', '?', '#']))
}

fn cut(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_host_is_shown_to_its_end() {
        let host = format!("https://api.openai.com.{}evil.example", "v1.".repeat(60));
        for (id, key) in [("ollama:x", "apiBaseUrl"), ("http", "url")] {
            let written = json!({"id": id, "config": {key: format!("{host}/v1/chat")}});
            let shown = in_short(&written);
            assert!(shown.starts_with(&format!("{key}: {host}")), "{shown}");
        }
    }

    #[test]
    fn what_else_changes_what_is_asked_is_shown_beside_a_long_address() {
        let address = format!("http://127.0.0.1/{}", "x/".repeat(200));
        let written = json!({"id": "http", "config": {
            "url": address,
            "queryParams": {"a".repeat(300): "1", "confirm": "yes", "api_key": "sk-123"},
            "auth": {"tokenUrl": address},
            "transformRequest": "x".repeat(300),
            "body": "y".repeat(300),
        }});
        let shown = in_short(&written);
        for part in [
            "&confirm=yes&",
            "tokenUrl: http://127.0.0.1/x/",
            "transformRequest: xx",
        ] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        assert!(!shown.contains("sk-123"), "{shown}");
        let many: Map<String, Value> = (0..50).map(|n| (format!("p{n}"), json!(n))).collect();
        let shown = in_short(&json!({"id": "http", "config": {"queryParams": many}}));
        assert!(shown.contains("p9=9 and 40 more"), "{shown}");
    }

    #[test]
    fn addresses_come_first_wherever_they_stand_and_as_they_are_asked() {
        let cases = [
            (
                json!({"id": "ollama:x", "env": {"OLLAMA_BASE_URL": "http://evil.example", "K": "k"}}),
                "OLLAMA_BASE_URL: http://evil.example, env: {\"K\":\"[hidden]\"}",
            ),
            (
                json!({"id": "azure:x", "env": {"AZURE_API_HOST": "evil.example"}}),
                "AZURE_API_HOST: evil.example",
            ),
            (
                json!({"id": "x", "env": {"A": "evil.example", "B": "https://b.example/v1"}}),
                "A: evil.example, B: https://b.example/v1",
            ),
            (
                json!({"id": "x", "config": {"apiBaseUrl": "http://\u{430}pi.openai.com"}}),
                "apiBaseUrl: http://xn--pi-6kc.openai.com (written 'http://\u{430}pi.openai.com')",
            ),
            (
                json!({"id": "x", "config": {"apiHost": "api.openai.com\u{3002}evil.example"}}),
                "apiHost: api.openai.com.evil.example (written 'api.openai.com\u{3002}evil.example')",
            ),
            (
                json!({"id": "x", "config": {"url": "https://api.openai.com@evil.example/"}}),
                "url: https://evil.example/ (written 'https://api.openai.com@evil.example/')",
            ),
            (
                json!("https://\u{430}pi.openai.com"),
                "id: https://xn--pi-6kc.openai.com (written 'https://\u{430}pi.openai.com')",
            ),
            (
                json!({"https://A.example": {"config": {"a": 1}}}),
                "id: https://a.example (written 'https://A.example'), a: 1",
            ),
            (json!("openai:gpt-4o"), ""),
            (
                json!({"id": "x", "config": {"n": 1, "apiKeyEnvar": "KEY", "body": {"to": "http://b.example:81/"}}}),
                "sends the environment variable KEY, to: http://b.example:81/, n: 1",
            ),
            (
                json!({"id": "http", "config": {"headers": {"h": "x"}, "method": "DELETE",
                    "url": "http://b.example/v1/./chat/../../admin?q={{x}}"}}),
                "method: DELETE, url: http://b.example/admin?q={{x}}, headers: {\"h\":\"x\"}",
            ),
            (
                json!({"id": "http", "config": {"url": "http://b.example",
                    "request": "DELETE /v1/../admin?x HTTP/1.1\nHost: a.example\n\nbody"}}),
                "url: http://b.example, request: DELETE /admin?x",
            ),
        ];
        for (written, expected) in cases {
            assert_eq!(in_short(&written), expected, "{written}");
        }
    }

    /// What asks takes them all.
    #[test]
    fn addresses_are_known_in_every_spelling_and_in_lists() {
        let cases = [
            (json!("https://a.example/v1/x"), ""),
            (
                json!("http://a.example/v1/%2e%2E/admin"),
                "id: http://a.example/admin",
            ),
            (
                json!({"id": "x", "config": {"n": 1, "auth": {"tokenUrl": "http:b.example:9/x", "a": "http:/c.example"}}}),
                "tokenUrl: http://b.example:9/x (written 'http:b.example:9/x'), a: http://c.example \
                 (written 'http:/c.example'), n: 1",
            ),
            (
                json!({"id": "x", "config": {"endpoint": "b.example", "l": [{"to": "https:\\\\c.example"}, 1, "http:d.example"]}}),
                "endpoint: b.example, to: https://c.example (written 'https:\\\\c.example'), \
                 l: http://d.example (written 'http:d.example'), l: [{},1]",
            ),
        ];
        for (written, expected) in cases {
            assert_eq!(in_short(&written), expected, "{written}");
        }
    }

    #[test]
    fn no_length_of_one_thing_hides_where_another_one_leads() {
        let long = format!("http://a.example/{}", "x".repeat(500));
        let written = json!({
            "id": "x", "config": { "url": long, "body": "b".repeat(500) }, "env": { "B_URL": "http://b.example" },
        });
        let short = in_short(&written);
        assert!(short.starts_with("url: http://a.example/xxx"), "{short}");
        assert!(
            short.contains("x, B_URL: http://b.example, body: bbb"),
            "{short}"
        );
        let address = BEGIN + 1 + END;
        let least = "url: , B_URL: http://b.example".len() + address;
        assert_eq!(short.chars().count(), least + REST + 1);
    }

    #[test]
    fn of_a_long_address_the_end_is_shown_as_it_is_asked() {
        let text = format!(
            "http://b.example/v1/{}{}admin/delete-all?confirm=yes",
            "x/".repeat(60),
            "../".repeat(61)
        );
        let config = json!({"id": "http", "config": {"url": text}});
        assert_eq!(
            in_short(&config),
            "url: http://b.example/admin/delete-all?confirm=yes"
        );
        let behind = json!({"a": "x".repeat(500)});
        let config = json!({"id": "http", "config": {"headers": behind, "url": "http://b.example/", "method": "PUT"}});
        let first = "method: PUT, url: http://b.example/, headers: ";
        assert!(
            in_short(&config).starts_with(first),
            "{}",
            in_short(&config)
        );
        let text = format!("http://b.example/{}/admin", "x/".repeat(500));
        let short = in_short(&json!({"id": "http", "config": {"url": text}}));
        assert!(
            short.starts_with("url: http://b.example/x/x") && short.ends_with("x//admin"),
            "{short}"
        );
    }
}
