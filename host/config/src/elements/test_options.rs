//! A test's `options`.
//!
//! What isn't known here goes to the provider (`temperature`, `response_format`, …), so no key is
//! unknown. The code among them is read by `test_case`.

use std::time::Duration;

use serde_json::{Map, Value};

use super::Reading;
use crate::entry::Entry;
use crate::files::{has_extension, without_scheme};
use crate::plan::{CONVERSATION, TestTimeout};
use crate::problem::Findings;
use crate::trust::{TrustRequest, TrustSubject};

/// Variables are what they say: no templates in them, no `file://`, no list that stands for one
/// case each. For data that must not be read as anything but itself.
pub(crate) const RAW_VARS: &str = "rawVars";

/// What says where and how a request is sent. Values may go into a request; who wrote the request
/// is the config. The list is the host's own, whatever plugin reads such an option: a plugin may be
/// a stranger's too, so it isn't asked which of its options are dangerous in a stranger's rows.
const TRANSPORT: [&str; 18] = [
    "url",
    "basePath",
    "useHttps",
    "method",
    "headers",
    "body",
    "queryParams",
    "request",
    "transformRequest",
    "transformResponse",
    "responseTransform",
    "responseParser",
    "validateStatus",
    "apiBaseUrl",
    "apiHost",
    "apiKey",
    "apiKeyEnvar",
    // How often it is sent.
    "repeat",
];

/// The longest time that a test may work, a day, in milliseconds.
const MAX_TIMEOUT_MS: u64 = 86_400_000;

/// Options, environment templates filled in and as written.
pub(crate) fn read(
    entry: &Entry<'_>,
    reading: Reading<'_>,
) -> (Map<String, Value>, Map<String, Value>) {
    let findings = reading.findings;
    for key in ["prefix", "suffix"] {
        if let Some(value) = entry.get(key).filter(|value| value.text().is_none()) {
            value.mismatch(findings, "text");
        }
    }
    for affix in ["prefix", "suffix"].iter().filter_map(|key| entry.get(key)) {
        if let Some(text) = affix.text().filter(|_| !entry.origin.is_data()) {
            reading.declared.note_reads_of_part(text, &affix.at());
        }
    }
    ask_for_transport(entry, findings);
    if let Some(timeout) = entry.get("timeoutMs") {
        timeout.want_count(findings, 0, MAX_TIMEOUT_MS);
    }
    if let Some(repeat) = entry.get("repeat") {
        repeat.want_count(findings, 1, u64::from(u32::MAX));
    }
    if let Some(register) = entry.get("storeOutputAs")
        && register
            .want_text(findings)
            .is_some_and(|name| !is_name(&name))
    {
        let help =
            "letters, digits and _; not a digit first, and no name of the run (_conversation, env)";
        findings.error_help(
            register.at(),
            "is not a name that a template can read",
            help,
        );
    }
    for key in [
        "disableVarExpansion",
        "disableDefaultAsserts",
        "disableConversationVar",
        "runSerially",
        RAW_VARS,
    ] {
        entry.get(key).map(|value| value.want_bool(findings));
    }
    let mut filled = entry.want_map(findings).unwrap_or_default();
    if let Some(prompt) = entry.get("rubricPrompt").and_then(|it| file(&it, reading)) {
        filled.insert("rubricPrompt".to_owned(), prompt);
    }
    match entry.node.json_as_written() {
        Value::Object(written) => {
            // It was read as a provider; variables that were filled in are for its plugin alone.
            if let Some(provider) = written.get("provider") {
                filled.insert("provider".to_owned(), provider.clone());
            }
            (filled, written)
        }
        _ => (filled, Map::new()),
    }
}

/// Notes the options of a row that change how its request is sent.
fn ask_for_transport(entry: &Entry<'_>, findings: &Findings) {
    let asked = entry.fields().filter(|_| entry.origin.is_data());
    for (key, value) in asked.filter(|(key, _)| TRANSPORT.contains(key)) {
        findings.trust_request(TrustRequest {
            subject: TrustSubject::RequestOption {
                name: key.to_owned(),
                value: value.node.json().to_string(),
            },
            origin: entry.origin.clone(),
            at: value.at(),
        });
    }
}

/// What the file holds that a value names, if it does.
fn file(entry: &Entry<'_>, reading: Reading<'_>) -> Option<Value> {
    let name = entry.text().filter(|text| text.starts_with("file://"))?;
    let path = reading.files.shown(without_scheme(name));
    if has_extension(&path, &["json", "yaml", "yml"]) {
        let tree = reading
            .files
            .tree(&path, &entry.at(), entry.origin, reading.findings);
        tree.map(|node| node.json())
    } else {
        let text = reading
            .files
            .read_named(&path, &entry.at(), entry.origin, reading.findings);
        text.map(|text| text.trim().into())
    }
}

/// Whether a template can read a variable of this name.
fn is_name(name: &str) -> bool {
    let first = name.chars().next();
    first.is_some_and(|c| c.is_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_alphanumeric() || c == '_')
        && ![CONVERSATION, "env"].contains(&name)
}

/// A switch among the options.
pub(crate) fn flag(options: &Map<String, Value>, key: &str) -> bool {
    options.get(key) == Some(&Value::Bool(true))
}

/// `timeoutMs` among the options.
pub(crate) fn timeout(options: &Map<String, Value>) -> TestTimeout {
    let ms = match options.get("timeoutMs") {
        Some(Value::String(text)) => text.trim().parse().ok(),
        Some(other) => other.as_u64(),
        None => None,
    };
    match ms {
        None => TestTimeout::OfRun,
        Some(0) => TestTimeout::Unlimited,
        Some(ms) => TestTimeout::Limited(Duration::from_millis(ms)),
    }
}

/// `repeat` among the options.
pub(crate) fn repeat(options: &Map<String, Value>) -> Option<u32> {
    options
        .get("repeat")?
        .as_u64()?
        .try_into()
        .ok()
        .filter(|repeat| *repeat > 0)
}
