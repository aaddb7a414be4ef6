//! The config as it stands in the results file.
//!
//! What came from the environment isn't in it, since templates stay unrendered. But people also
//! write keys straight into a config. So values of `env`, and of keys that are named like a
//! secret, are left out, unless they are templates.

use serde_json::Value;

use crate::template::is_plain;

/// What stands in a value's place.
pub(crate) const HIDDEN: &str = "[hidden]";

/// Ends of names (lower case, without `_` and `-`) of keys that hold secrets.
const SECRET_ENDS: [&str; 9] = [
    "accesskey",
    "accesskeyid",
    "apikey",
    "secret",
    "password",
    "passwd",
    "token",
    "authorization",
    "privatekey",
];

/// More ends of names of *variables* that hold secrets. Keys of a config are named like this for
/// other reasons (`metadataKey`).
const SECRET_VARIABLE_ENDS: [&str; 9] = [
    "key",
    "auth",
    "bearer",
    "cookie",
    "credential",
    "credentials",
    "pass",
    "passphrase",
    "pwd",
];

/// Variables of every shell that hold the folder, and end like a password.
const FOLDER_VARIABLES: [&str; 2] = ["PWD", "OLDPWD"];

/// `config` without values that look like secrets.
pub(crate) fn redacted(mut config: Value) -> Value {
    hide(&mut config, false);
    config
}

/// A part of a test, which graders and results see, without what looks like a secret in the provider
/// that it names, or those of its members.
pub(crate) fn with_redacted_provider(mut part: Value) -> Value {
    hide_in_provider(&mut part);
    part
}

fn hide_in_provider(part: &mut Value) {
    let Some(fields) = part.as_object_mut() else {
        return;
    };
    if let Some(provider) = fields.get_mut("provider") {
        hide(provider, false);
    }
    if let Some(Value::Array(members)) = fields.get_mut("assert") {
        members.iter_mut().for_each(hide_in_provider);
    }
}

fn hide(value: &mut Value, secret: bool) {
    match value {
        Value::String(text) if secret && is_plain(text) => HIDDEN.clone_into(text),
        Value::Number(_) if secret => *value = Value::from(HIDDEN),
        Value::Array(items) => items.iter_mut().for_each(|item| hide(item, secret)),
        Value::Object(fields) => {
            for (key, value) in fields {
                // A credential's `env` in `plugins` is a variable's name: text, not a map.
                let env = key == "env" && value.is_object();
                hide(value, secret || env || is_secret(key));
            }
        }
        _ => {}
    }
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
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_part_of_a_test_shows_no_key_of_the_provider_that_it_names() {
        let judge = |key: &str| json!({"id": "x", "config": {"apiKey": key, "temperature": 0}});
        let part = |key: &str| {
            json!({
                "provider": judge(key),
                "value": {"provider": judge("the grader's own")},
                "assert": [{"type": "a", "provider": judge(key)}],
            })
        };
        assert_eq!(with_redacted_provider(part("sk-1")), part(HIDDEN));
        assert_eq!(with_redacted_provider(json!("text")), json!("text"));
    }

    #[test]
    fn values_of_env_and_of_keys_named_like_secrets_are_left_out() {
        let config = json!({
            "env": {"A": "literal", "B": "{{ env.B }}", "C": 5, "D": null},
            "providers": [{"id": "x", "config": {
                "apiKey": "sk-1", "headers": {"Authorization": "Bearer 1", "x-api-key": "k"}, "max_tokens": 5,
                "apiKeyEnvar": "OTHER", "client_secret": "{{ env.S }}",
                "accessKeyId": "AKID", "secretAccessKey": "s",
            }}],
            "plugins": {"acme": {"permissions": {"credentials": {"key": {"env": "ACME_API_KEY"}}}}},
        });
        let expected = json!({
            "env": {"A": HIDDEN, "B": "{{ env.B }}", "C": HIDDEN, "D": null},
            "providers": [{"id": "x", "config": {
                "apiKey": HIDDEN, "headers": {"Authorization": HIDDEN, "x-api-key": HIDDEN}, "max_tokens": 5,
                "apiKeyEnvar": "OTHER", "client_secret": "{{ env.S }}",
                "accessKeyId": HIDDEN, "secretAccessKey": HIDDEN,
            }}],
            "plugins": {"acme": {"permissions": {"credentials": {"key": {"env": "ACME_API_KEY"}}}}},
        });
        assert_eq!(redacted(config), expected);
    }
}
