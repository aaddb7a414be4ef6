//! A test's `options`.
//!
//! What isn't known here goes to the provider (`temperature`, `response_format`, …), so no key is
//! unknown. The code among them is read by `test_case`.

use std::time::Duration;

use serde_json::{Map, Value};

use super::reading::Reading;
use crate::model::{Findings, TextOrigin, TrustRequest, TrustSubject, misspelt};
use crate::plan::{CONVERSATION, RUN_OPTIONS, TestTimeout};
use crate::read::entry::Entry;
use crate::read::files::{names_file, without_scheme};

/// Variables are what they say: no templates in them, no `file://`, no list that stands for one
/// case each. For data that must not be read as anything but itself.
pub(crate) const RAW_VARS: &str = "rawVars";

/// How often a test is sent.
const REPEAT: &str = "repeat";

/// Has a test run alone, before all others.
const RUN_SERIALLY: &str = "runSerially";

/// What a row may ask of the model that the config chose: how it samples, how long and in which
/// form it answers. [`is_spelt`] finds the other spellings of a name. Tools are not among them:
/// some vendors call a server that a tool names.
///
/// A row sets nothing else of its request: what is not known here may be an address, a header, a
/// model at another price, or the whole body. The list is the host's own, whatever plugin reads
/// the options: a plugin may be a stranger's too, so it isn't asked what is harmless.
const OF_THE_ANSWER: [&str; 37] = [
    // Sampling.
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "typical_p",
    "seed",
    "random_seed",
    "presence_penalty",
    "frequency_penalty",
    "repetition_penalty",
    "repeat_penalty",
    "logit_bias",
    // Length.
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "max_new_tokens",
    "num_predict",
    "stop",
    "stop_sequences",
    // Form.
    "response_format",
    "response_schema",
    "response_json_schema",
    "response_mime_type",
    "output_format",
    "format",
    "text",
    "verbosity",
    "logprobs",
    "top_logprobs",
    "response_logprobs",
    // Reasoning.
    "reasoning",
    "reasoning_effort",
    "include_reasoning",
    "thinking",
    "thinking_config",
    "think",
    "effort",
];

/// What a provider's `config` says once for a whole run: where requests go, and with which key. It is
/// agreed to there, and means nothing in a request.
const OF_THE_PROVIDER: [&str; 5] = ["auth", "apiBaseUrl", "apiHost", "apiKey", "apiKeyEnvar"];

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
            reading
                .declared
                .note_reads_of_part(text, &affix.at(), findings);
        }
    }
    ask_for_steering(entry, findings);
    refuse_provider_keys(entry, findings);
    warn_of_slips(entry, findings);
    if let Some(timeout) = entry.get("timeoutMs") {
        timeout.want_count(findings, 0, MAX_TIMEOUT_MS);
    }
    if let Some(repeat) = entry.get(REPEAT) {
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
        RUN_SERIALLY,
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

/// Notes the options of a row, or of a prompt made of rows, that are not a row's to set.
pub(super) fn ask_for_steering(entry: &Entry<'_>, findings: &Findings) {
    let asked = entry.fields().filter(|_| entry.origin.is_data());
    for (key, value) in asked.filter(|(key, _)| !is_for_rows(key)) {
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

/// Says which options of a test, or keys of a prompt's `config`, are a provider's alone. What rows may
/// not set is asked for.
pub(super) fn refuse_provider_keys(entry: &Entry<'_>, findings: &Findings) {
    let keys = entry.fields().filter(|_| !entry.origin.is_data());
    for (key, value) in keys.filter(|(key, _)| OF_THE_PROVIDER.contains(key)) {
        let message =
            format!("'{key}' is one for all requests of a provider, and is not read here");
        let help = format!("write it into the provider's own entry: config: {{ {key}: … }}");
        findings.error_help(value.at(), message, help);
    }
}

/// Names of APIs that are nearly names of options of a run.
const OF_APIS: [&str; 2] = ["timeout", "transforms"];

/// Warns of options that go to the provider and were probably meant for the run.
fn warn_of_slips(entry: &Entry<'_>, findings: &Findings) {
    for (key, value) in entry.fields() {
        let is_known = RUN_OPTIONS.contains(&key) || OF_APIS.contains(&key);
        if !is_known
            && !is_of_the_answer(key)
            && let Some(meant) = misspelt(key, RUN_OPTIONS)
        {
            let message = format!("'{key}' is no option of a run and goes to the provider");
            let help = format!("did you mean '{meant}'?");
            findings.warn(value.at(), message, Some(help));
        }
    }
}

/// Whether a row may set an option unasked. What the run reads has checks of its own, but for how
/// often a row is sent, and before whom.
fn is_for_rows(key: &str) -> bool {
    let is_runs = RUN_OPTIONS.contains(&key) && ![REPEAT, RUN_SERIALLY].contains(&key);
    is_runs || is_of_the_answer(key)
}

/// Whether an option of a request says how a model answers, and nothing of where the request goes,
/// what it costs or what else stands in it.
pub fn is_of_the_answer(key: &str) -> bool {
    OF_THE_ANSWER.iter().any(|name| is_spelt(key, name))
}

/// Whether two names are one to a person: `maxTokens` and `max_tokens`.
fn is_spelt(one: &str, other: &str) -> bool {
    let letters = |name: &str| name.replace('_', "").to_ascii_lowercase();
    letters(one) == letters(other)
}

/// What the file holds that a value names, if it does.
fn file(entry: &Entry<'_>, reading: Reading<'_>) -> Option<Value> {
    let name = entry.text().filter(|text| names_file(text))?;
    reading.content(&reading.files.shown(without_scheme(name)), entry)
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

/// `timeoutMs` among the options; data can only ask for less than there is.
pub(crate) fn timeout(options: &Map<String, Value>, origin: &TextOrigin) -> TestTimeout {
    let ms = match options.get("timeoutMs") {
        Some(Value::String(text)) => text.trim().parse().ok(),
        Some(other) => other.as_u64(),
        None => None,
    };
    let time = Duration::from_millis(ms.unwrap_or_default());
    match ms {
        None => TestTimeout::OfRun,
        Some(0) if origin.is_data() => TestTimeout::OfRun,
        Some(0) => TestTimeout::Unlimited,
        Some(_) if origin.is_data() => TestTimeout::AtMost(time),
        Some(_) => TestTimeout::Limited(time),
    }
}

/// `repeat` among the options.
pub(crate) fn repeat(options: &Map<String, Value>) -> Option<u32> {
    options
        .get(REPEAT)?
        .as_u64()?
        .try_into()
        .ok()
        .filter(|repeat| *repeat > 0)
}

#[cfg(test)]
mod tests;
