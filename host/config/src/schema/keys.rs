//! What an editor says of keys that may hold anything, and the keys that the program itself reads beside those of
//! plugins: what runs a provider's code, and a test's `options`.

use serde_json::{Map, Value, json};

use super::{about, number, text, truth};
use crate::elements::process;
use crate::plan::RUN_OPTIONS;

/// What is said of a key whose value has no words of its own.
pub(super) fn gist(key: &str) -> Option<&'static str> {
    let found = GISTS.iter().find(|(known, _)| *known == key);
    found.map(|(_, gist)| *gist)
}

/// The part of `ids` of providers that name code.
pub(super) const CODE: &str = "^(file://|python:|javascript:|package:|exec:)";

const GISTS: [(&str, &str); 37] = [
    (
        "$ref",
        "what stands at this place is put here: '#/definitions/name', or a file's",
    ),
    ("sharing", "ignored: results are never shared"),
    ("delay", "ignored here: a provider has a `delay`"),
    ("tools_json", "ignored"),
    ("writeLatestResults", "ignored: every run is kept"),
    (
        "assertScoringFunction",
        "a file of code that makes the test's grade of its named scores",
    ),
    ("config", "what its code is called with"),
    (
        "transform",
        "code that changes the output before anything reads it",
    ),
    (
        "contextTransform",
        "code that takes the context out of the output",
    ),
    (
        "provider",
        "the model that judges: an id, a label of `providers`, or a map",
    ),
    (
        "rubricPrompt",
        "the question for the judge in your words, or a file of it",
    ),
    ("measure", "cosine, dot or euclidean"),
    (
        "factuality",
        "scores by category: subset, superset, agree, disagree, differButFactual",
    ),
    (
        "windowSize",
        "turns of a conversation that are judged together",
    ),
    ("description", "a comment"),
    ("is", "how those before it have to have come out"),
    ("type", "only those of this type"),
    ("metric", "only those of this metric"),
    ("assert", "its members"),
    ("display", "as label"),
    ("inputs", "not supported: remove the key"),
    (
        "showProgressBar",
        "ignored: a bar is shown where a terminal can",
    ),
    (
        "progressBar",
        "ignored: a bar is shown where a terminal can",
    ),
    ("silent", "ignored"),
    ("verbose", "ignored: --verbose says more"),
    ("table", "ignored: --no-table leaves the table out"),
    ("tableCellMaxLength", "ignored"),
    ("cost", "US dollars"),
    ("tokens", "of prompts and answers together"),
    ("requests", "how many may be sent"),
    ("permissions", "what it may do; you are asked to agree"),
    ("limits", "what it may use"),
    (
        "credentials",
        "keys that its requests may name, by the name that it has for them",
    ),
    (
        "llm",
        "providers of the config that it may ask, by label or id",
    ),
    (
        "wasi_http",
        "true: its requests may come through wasi:http, as those of `fetch` do",
    ),
    (
        "scheme",
        "bearer, basic, header:NAME, query:NAME, aws-sigv4:SERVICE or google-adc",
    ),
    ("hosts", "addresses that the key may go to"),
];

/// The `config` of a provider that is code: keys that are the host's; the code gets all of them.
pub(super) fn config_of_code() -> Value {
    let key = |key: &str| match key {
        "runtime" => runtime(),
        "pythonExecutable" => text("the Python that runs it, instead of python3"),
        "workers" => number("how many of its programs may run at once, 1 to 256"),
        "timeout" => number("time a call may take, in milliseconds; five minutes unless said"),
        "inheritEnv" => truth("true: it gets the whole environment, not only what it names of it"),
        "memoryMb" => number("memory that a program of it may take, in MiB; 4096 unless said"),
        "cache" => truth("true: its answers are remembered"),
        _ => json!({}),
    };
    let keys = process::KEYS.map(|name| (name.to_owned(), key(name)));
    about(
        json!({ "type": "object", "properties": Map::from_iter(keys) }),
        "How the code is run. It gets all that is written here.",
    )
}

/// Where code runs.
pub(super) fn runtime() -> Value {
    about(
        json!({ "enum": ["sandbox", "process"] }),
        "where code runs; unless said, in the sandbox if that has what it wants",
    )
}

/// A test's `options`; what is not the run's goes to the provider.
pub(super) fn test_options() -> Value {
    let key = |key: &str| match key {
        "prefix" => text("stands before every prompt"),
        "suffix" => text("stands behind every prompt"),
        "repeat" => number("how often the test is run"),
        "transform" | "postprocess" => text("code that changes the answer before it is graded"),
        "transformVars" => text("code that makes further variables"),
        "storeOutputAs" => text("the variable in which later tests find the answer"),
        "disableVarExpansion" => truth("true: a list is one value, and not a case for each"),
        "disableConversationVar" => truth("true: the test is no turn of the conversation"),
        "disableDefaultAsserts" => truth("true: without the assertions of `defaultTest`"),
        "rawVars" => truth("true: variables are what they say, without templates and files"),
        "runSerially" => truth("true: its cases run first, alone, one by one"),
        "timeoutMs" => number("time a case may work, in milliseconds; 0: no limit"),
        _ => gist(key).map_or(json!({}), |gist| about(json!({}), gist)),
    };
    let keys = RUN_OPTIONS.map(|name| (name.to_owned(), key(name)));
    about(
        json!({ "type": "object", "properties": Map::from_iter(keys) }),
        "how the test is run; what else is written here goes to the provider",
    )
}
