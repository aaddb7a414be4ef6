//! The config as it stands in the results file.
//!
//! What came from the environment isn't in it, since templates stay unrendered. But people also
//! write keys straight into a config. So values of `env`, and of keys that are named like a
//! secret, are left out, unless they are templates; in providers also what stands for a secret in
//! addresses, headers and query parameters.

use serde_json::{Map, Value};

use crate::model::WEBHOOK;
use crate::template::{Piece, is_plain, pieces};

/// What stands in a value's place.
pub(crate) const HIDDEN: &str = "[hidden]";

/// What the first line of a private key in PEM ends with, of whatever kind.
const PRIVATE_KEY: &str = "PRIVATE KEY-----";

/// Ends of names (lower case, without `_` and `-`) of keys that hold secrets.
const SECRET_ENDS: [&str; 11] = [
    "accesskey",
    "accesskeyid",
    "apikey",
    "secret",
    "password",
    "passwd",
    "token",
    "authorization",
    "privatekey",
    "passphrase",
    "bearer",
];

/// More ends of names of *variables* that hold secrets. Keys of a config are named like this for
/// other reasons (`metadataKey`).
const SECRET_VARIABLE_ENDS: [&str; 7] = [
    "key",
    "auth",
    "cookie",
    "credential",
    "credentials",
    "pass",
    "pwd",
];

/// What of a provider's `auth` is no secret. `value` is one, as no name tells.
const PLAIN_IN_AUTH: [&str; 9] = [
    "type",
    "placement",
    "keyName",
    "grantType",
    "tokenUrl",
    "scopes",
    "username",
    "clientId",
    "audience",
];

/// Words before a secret that say of what kind it is.
const KINDS: [&str; 5] = ["", "basic", "bearer", "key", "token"];

/// Variables of every shell that hold the folder, and end like a password.
const FOLDER_VARIABLES: [&str; 2] = ["PWD", "OLDPWD"];

/// Tells a name that stands for a secret.
type Tells = fn(&str) -> bool;

/// Keys of a provider whose fields are named as a server names them, and what tells a secret there.
const FIELDS_OF_REQUESTS: [(&str, Tells); 2] = [
    ("headers", is_secret_variable),
    ("queryParams", is_secret_parameter),
];

/// Keys of a config that name providers, or hold what goes to one.
const PROVIDERS: [&str; 4] = ["provider", "providers", "targets", "options"];

/// A text that is sent.
#[derive(Debug, Clone, Copy)]
enum TextOf {
    Request,
    Body,
}

/// Where a value stands.
#[derive(Debug, Clone, Copy, Default)]
struct Standing {
    /// Below a key that is named like a secret.
    secret: bool,
    in_provider: bool,
    /// It is a provider's request, or the body of one, written as text.
    text: Option<TextOf>,
    /// Its fields go to a server under their names.
    sent: Option<Tells>,
    /// Its fields are the names of values that a schema describes.
    described: bool,
    /// It says how a provider's requests are let in.
    is_auth: bool,
}

impl Standing {
    /// A provider, or a part of its config.
    fn in_provider() -> Self {
        Self {
            in_provider: true,
            ..Self::default()
        }
    }
}

/// `config` without values that look like secrets.
pub(crate) fn redacted(mut config: Value) -> Value {
    hide(&mut config, Standing::default());
    config
}

/// Texts of a config, or of a part of it, that stand where a secret does, which results leave out.
pub fn written_secrets(part: &Value) -> Vec<String> {
    left_out(part, &redacted(part.clone()))
}

/// The texts of `before` that differ in `after`, which was made of it by leaving out.
fn left_out(before: &Value, after: &Value) -> Vec<String> {
    match (before, after) {
        (Value::String(text), Value::String(shown)) if text != shown => vec![text.clone()],
        (Value::Array(before), Value::Array(after)) => {
            let pairs = before.iter().zip(after);
            pairs
                .flat_map(|(before, after)| left_out(before, after))
                .collect()
        }
        (Value::Object(before), Value::Object(after)) => {
            let pairs = before.iter().zip(after.values());
            pairs
                .flat_map(|((_, before), after)| left_out(before, after))
                .collect()
        }
        _ => Vec::new(),
    }
}

/// Texts of a part of a program's config that are secrets by the names they stand under, which `tells` knows, or by what
/// they are.
pub(crate) fn secrets_of_program<'a>(part: &'a Map<String, Value>, tells: Tells) -> Vec<&'a str> {
    let secrets = |(key, value): (&'a String, &'a Value)| match value {
        Value::String(text) if is_plain(text) && (tells(key) || text.contains(PRIVATE_KEY)) => {
            vec![&**text]
        }
        Value::Object(inner) if key == "headers" || key == "env" => {
            secrets_of_program(inner, is_secret_variable)
        }
        Value::Object(inner) => secrets_of_program(inner, is_secret),
        Value::Array(items) => {
            let maps = items.iter().filter_map(Value::as_object);
            maps.flat_map(|inner| secrets_of_program(inner, is_secret))
                .collect()
        }
        _ => Vec::new(),
    };
    part.iter().flat_map(secrets).collect()
}

/// A provider, or a part of its config, without values that look like secrets.
pub fn redacted_provider(mut provider: Value) -> Value {
    hide(&mut provider, Standing::in_provider());
    provider
}

/// The config of a provider or a prompt, or the options of a test, likewise.
pub fn redacted_config(config: &Map<String, Value>) -> Map<String, Value> {
    match redacted_provider(Value::Object(config.clone())) {
        Value::Object(shown) => shown,
        _ => unreachable!("a map stays one"),
    }
}

/// An assertion, or a set of them, as graders and results see it, without what looks like a secret in its config
/// and in the provider that it names.
pub(crate) fn redacted_assertion(mut part: Value) -> Value {
    hide_in_assertion(&mut part);
    part
}

fn hide_in_assertion(part: &mut Value) {
    let Some(fields) = part.as_object_mut() else {
        return;
    };
    for key in ["provider", "config"] {
        if let Some(part) = fields.get_mut(key) {
            hide(part, Standing::in_provider());
        }
    }
    hide_in_webhook(fields);
    if let Some(Value::Array(members)) = fields.get_mut("assert") {
        members.iter_mut().for_each(hide_in_assertion);
    }
}

/// The value of such an assertion is an address.
fn hide_in_webhook(fields: &mut Map<String, Value>) {
    let kind = fields.get("type").and_then(Value::as_str);
    let is_webhook = kind.is_some_and(|kind| kind.trim_start_matches("not-") == WEBHOOK);
    if let Some(Value::String(text)) = fields.get_mut("value").filter(|_| is_webhook)
        && let Some(shown) = without_secrets_of_address(text)
    {
        *text = shown;
    }
}

fn hide(value: &mut Value, around: Standing) {
    match value {
        Value::String(text) if around.secret => *text = without_words(text),
        Value::String(text) if around.text.is_some() => {
            *text = match around.text {
                Some(TextOf::Request) => without_secrets_of_request(text),
                Some(TextOf::Body) | None => without_secrets_of_body(text),
            };
        }
        Value::String(text) if around.in_provider && text.contains(PRIVATE_KEY) => {
            HIDDEN.clone_into(text);
        }
        Value::String(text) if around.in_provider => {
            if let Some(shown) = without_secrets_of_address(text) {
                *text = shown;
            }
        }
        Value::Number(_) if around.secret => *value = Value::from(HIDDEN),
        Value::Array(items) => items.iter_mut().for_each(|item| hide(item, around)),
        Value::Object(fields) => {
            hide_in_webhook(fields);
            for (key, value) in fields {
                // A credential's `env` in `plugins` is a variable's name: text, not a map.
                let env = key == "env" && value.is_object();
                let is_schema = around.described && value.is_object();
                let named = is_secret(key)
                    || around.sent.is_some_and(|tells| tells(key))
                    || (around.is_auth && !PLAIN_IN_AUTH.contains(&&**key));
                let fields = FIELDS_OF_REQUESTS.iter().find(|(name, _)| name == key);
                // That of a scenario is a list of tests.
                let is_config = key == "config" && value.is_object();
                let inner = Standing {
                    secret: around.secret || env || (named && !is_schema),
                    in_provider: around.in_provider || is_config || PROVIDERS.contains(&&**key),
                    text: match &**key {
                        "request" if around.in_provider => Some(TextOf::Request),
                        "body" | "transformRequest" if around.in_provider => Some(TextOf::Body),
                        // The texts of a body that is an object.
                        _ => around.text.filter(|it| matches!(it, TextOf::Body)),
                    },
                    sent: fields.map(|(_, tells)| *tells),
                    described: key == "properties",
                    is_auth: around.in_provider && key == "auth",
                };
                hide(value, inner);
            }
        }
        _ => {}
    }
}

/// An address without its password and without the query parameters that are named like secrets;
/// `None` if it has none, or is no address. Templates in it stay as they are.
pub(crate) fn without_secrets_of_address(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    let (place, query) = rest.split_at(rest.find(['?', '#']).unwrap_or(rest.len()));
    let (host, path) = place.split_at(place.find('/').unwrap_or(place.len()));
    let host = match host.rsplit_once('@') {
        Some((user, host)) => match user.split_once(':') {
            Some((user, password)) => format!("{user}:{}@{host}", without_words(password)),
            // Alone it is a token.
            None => format!("{}@{host}", without_words(user)),
        },
        None => host.to_owned(),
    };
    let path = without_secrets_of_pairs(path, ';');
    let without = format!("{scheme}://{host}{path}{}", without_secrets_of_query(query));
    (without != text).then_some(without)
}

/// What stands behind a path, likewise.
fn without_secrets_of_query(behind: &str) -> String {
    let (query, fragment) = behind.split_at(behind.find('#').unwrap_or(behind.len()));
    without_secrets_of_pairs(query, '&') + &without_secrets_of_pairs(fragment, '&')
}

/// Names and values that a sign stands between, likewise.
fn without_secrets_of_pairs(text: &str, sign: char) -> String {
    let shown = |pair: &str| match pair.split_once('=') {
        Some((name, value)) if is_secret_parameter(name) => {
            format!("{name}={}", without_words(value))
        }
        _ => pair.to_owned(),
    };
    let pairs: Vec<String> = text.split(sign).map(shown).collect();
    pairs.join(&sign.to_string())
}

/// A secret's value with nothing but its templates, and the word that says of what kind it is.
fn without_words(value: &str) -> String {
    if is_plain(value) {
        return HIDDEN.to_owned();
    }
    let shown = |piece: Piece<'_>| {
        let source = piece.source();
        let is_kind = KINDS.contains(&source.trim().to_ascii_lowercase().as_str());
        match piece {
            Piece::Text(_) | Piece::Stray(_) if !is_kind => HIDDEN.to_owned(),
            _ => source.to_owned(),
        }
    };
    pieces(value).map(shown).collect()
}

/// A body as text, likewise: the members of JSON, or the fields of a form.
fn without_secrets_of_body(text: &str) -> String {
    if !text.trim_start().starts_with(['{', '[']) {
        return without_secrets_of_pairs(text, '&');
    }
    let mut shown = String::new();
    let mut rest = text;
    while let Some((name, behind)) = next_string(&mut shown, rest) {
        shown.push_str(name);
        rest = behind;
        let value = behind[1..].trim_start().strip_prefix(':');
        let is_text = value.is_some_and(|value| value.trim_start().starts_with('"'));
        if is_secret(name) && is_text {
            // The quote that ends the name goes with what is before the value.
            shown.push('"');
            if let Some((value, behind)) = next_string(&mut shown, &behind[1..]) {
                shown.push_str(&without_words(value));
                rest = behind;
            }
        }
        shown.push('"');
        rest = &rest[1..];
    }
    shown + rest
}

/// The next string of a JSON text, and what follows from its last quote on; what stands before it, with its first
/// quote, goes into `shown`.
fn next_string<'t>(shown: &mut String, text: &'t str) -> Option<(&'t str, &'t str)> {
    let begin = text.find('"')? + 1;
    let mut is_escaped = false;
    let end = text[begin..].find(|sign| {
        let ends = sign == '"' && !is_escaped;
        is_escaped = sign == '\\' && !is_escaped;
        ends
    })?;
    shown.push_str(&text[..begin]);
    Some(text[begin..].split_at(end))
}

/// An HTTP request as text, without what is named like a secret in its first line and its headers.
fn without_secrets_of_request(text: &str) -> String {
    let end = text.find("\n\n").or_else(|| text.find("\r\n\r\n"));
    let (head, body) = text.split_at(end.unwrap_or(text.len()));
    let first = |line: &str| {
        let (line, protocol) = line.split_at(line.rfind(" HTTP/").unwrap_or(line.len()));
        let (method, target) = line.split_at(line.find(' ').unwrap_or(line.len()));
        let shown = without_secrets_of_address(target).unwrap_or_else(|| {
            let (path, query) = target.split_at(target.find('?').unwrap_or(target.len()));
            without_secrets_of_pairs(path, ';') + &without_secrets_of_query(query)
        });
        format!("{method}{shown}{protocol}")
    };
    let line = |line: &str| match line.split_once(':') {
        Some((name, value)) if !name.trim().contains(' ') => {
            if is_secret_variable(name.trim()) {
                format!("{name}: {}", without_words(value.trim()))
            } else {
                line.to_owned()
            }
        }
        _ => first(line),
    };
    let lines: Vec<String> = head.split('\n').map(line).collect();
    lines.join("\n") + &without_secrets_of_body(body)
}

/// Whether a query parameter, with what is before it if it is the first, is named like a secret.
fn is_secret_parameter(name: &str) -> bool {
    let name = name.trim_start().trim_start_matches(['?', '#']);
    let plain = plain_name(name);
    let signs = ["signature", "sig", "sas", "jwt", "code"];
    is_secret_variable(name) || signs.iter().any(|end| plain.ends_with(end))
}

/// Whether a key is named like a secret.
pub(crate) fn is_secret(key: &str) -> bool {
    let name = plain_name(key);
    SECRET_ENDS.iter().any(|end| name.ends_with(end))
}

/// Whether a variable is named like a secret.
pub fn is_secret_variable(variable: &str) -> bool {
    if FOLDER_VARIABLES.contains(&variable) {
        return false;
    }
    let name = plain_name(variable);
    let mut ends = SECRET_VARIABLE_ENDS.iter();
    is_secret(variable) || ends.any(|end| name.ends_with(end))
}

/// Lower case, without `_` and `-`.
fn plain_name(name: &str) -> String {
    let name: String = name.chars().filter(|c| !matches!(c, '_' | '-')).collect();
    name.to_ascii_lowercase()
}

#[cfg(test)]
mod tests;
