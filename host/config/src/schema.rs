//! The JSON Schema of a config, for editors: completion, hovers, typos underlined.
//!
//! The keys come from the readers' own lists, so that a key cannot be read and be missing here;
//! this file says what may stand behind each. It is a help and no judge: what [`load`] accepts
//! counts. Of plugins it knows the program's own: their types, prefixes and keys are offered, and others, which
//! other plugins may serve, are let pass. A key without a line here takes anything.
//!
//! `host/config/config.schema.json` is the same on disk, for editors that want a file. A test
//! holds one against the other; `runner config schema` writes it anew.
//!
//! [`load`]: crate::load

use serde_json::{Map, Value, json};

use crate::elements::{
    assertions, budget, limits, options, providers, scenarios, tasks, test_case, thresholds,
};
use crate::planning;

mod keys;
mod knobs;
mod served;
mod words;

/// The schema's own name. It is no address: nothing is fetched.
const ID: &str = "urn:runner:promptfooconfig";

/// The keys of entries whose readers have them in place.
const PROMPT: [&str; 5] = ["id", "raw", "label", "config", "display"];
const PLUGIN: [&str; 6] = ["source", "sha256", "as", "permissions", "limits", "budget"];
const PERMISSIONS: [&str; 4] = ["hosts", "credentials", "llm", "wasi_http"];
const CREDENTIAL: [&str; 3] = ["env", "scheme", "hosts"];
const PLUGIN_LIMITS: [&str; 4] = ["usd", "requests", "memory_mb", "cpu_ms"];
const PRICE: [&str; 4] = ["input", "output", "cachedInput", "cacheWrite"];
const QUOTA: [&str; 2] = ["max", "per"];

/// The schema, draft 7: what editors know.
pub fn schema() -> Value {
    let mut schema = map(&planning::KNOWN, &planning::UNSUPPORTED, config);
    schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    schema["$id"] = json!(ID);
    schema["title"] = json!("promptfooconfig.yaml, as runner reads it");
    let mut definitions = json!({
        "test": map(&test_case::KNOWN, &[], test),
        "assertion": assertion(),
        "prompt": prompt(),
        "provider": provider(),
        "options": map(&options::KNOWN, &options::UNSUPPORTED, option),
        "budget": about(
            map(&budget::KNOWN, &[], |_| json!({ "type": ["number", "string"] })),
            "what may be spent",
        ),
        "config-of-code": keys::config_of_code(),
        "limits": map(&limits::KNOWN, &[], limit),
        "plugin": map(&PLUGIN, &[], plugin),
    });
    if let Some(definitions) = definitions.as_object_mut() {
        definitions.extend(served::definitions());
    }
    schema["definitions"] = definitions;
    schema
}

/// A map with these keys and no others but `$ref`, which may stand anywhere. A key that is
/// refused at load says so.
fn map(known: &[&str], refused: &[(&str, &str)], value: fn(&str) -> Value) -> Value {
    let property = |key: &&str| {
        let refused = refused.iter().find(|(name, _)| name == key);
        let schema = match refused {
            Some((_, help)) => {
                json!({ "const": null, "description": format!("not supported yet: {help}") })
            }
            None => with_words(value(key), key),
        };
        ((*key).to_owned(), schema)
    };
    let properties: Map<String, Value> = known.iter().map(property).collect();
    json!({
        "type": "object",
        "properties": properties,
        "patternProperties": { "^\\$ref$": { "type": "string" } },
        "additionalProperties": false,
    })
}

/// Every key is explained: what says nothing itself gets the words of its key.
fn with_words(schema: Value, key: &str) -> Value {
    let is_mute = schema.get("description").is_none() && schema.get("$ref").is_none();
    match keys::gist(key).filter(|_| is_mute) {
        Some(gist) => about(schema, gist),
        None => schema,
    }
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/definitions/{name}") })
}

/// One, or a list of them.
fn some(item: &Value) -> Value {
    json!({ "anyOf": [item, { "type": "array", "items": item }] })
}

/// A text, for example the name of a file, or what `schema` says.
fn or_text(schema: &Value) -> Value {
    json!({ "anyOf": [{ "type": "string" }, schema] })
}

/// A provider: its id, a list of such, or a map.
fn one_provider() -> Value {
    json!({ "anyOf": [reference("provider-id"), reference("provider")] })
}

/// The providers of a run.
fn run_providers() -> Value {
    let mut item = one_provider();
    item["defaultSnippets"] = served::snippets();
    json!({ "anyOf": [one_provider(), { "type": "array", "items": item }] })
}

fn about(mut schema: Value, description: &str) -> Value {
    schema["description"] = json!(description);
    schema
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

fn number(description: &str) -> Value {
    // Templates of the environment give numbers as texts.
    json!({ "type": ["number", "string"], "description": description })
}

fn truth(description: &str) -> Value {
    json!({ "type": ["boolean", "string"], "description": description })
}

fn any_map(description: &str) -> Value {
    json!({ "type": "object", "description": description })
}

fn config(key: &str) -> Value {
    match key {
        "$schema" => text("where this schema is; for editors"),
        "description" => text("what the run is called in lists"),
        "prompts" => about(
            json!({ "anyOf": [some(&or_text(&reference("prompt"))), { "type": "object" }] }),
            "texts, file:// names, or maps with `raw` and `label`; each is a column with each provider",
        ),
        "providers" | "targets" => about(
            run_providers(),
            "ids such as openai:gpt-4o-mini, or maps with `id` and `config`",
        ),
        "tests" | "extensions" | "nunjucksFilters" | "derivedMetrics" => with_code(key),
        "scenarios" => {
            let scenario = map(&scenarios::KNOWN, &[], scenario);
            about(
                some(&or_text(&scenario)),
                "every part of `config` with every test",
            )
        }
        "defaultTest" => about(or_text(&reference("test")), "what holds for every test"),
        "evaluateOptions" | "commandLineOptions" => {
            about(reference_in_all("options"), "how to run")
        }
        "budget" => about(
            reference_in_all("budget"),
            "what the run may spend: dollars, tokens, requests",
        ),
        "thresholds" => of_run(),
        "limits" => {
            json!({ "type": "object", "additionalProperties": reference("limits"), "description": "groups of limits that providers share" })
        }
        "tasks" => about(
            json!({ "type": "array", "items": map(&tasks::KNOWN, &[], task) }),
            "question sets, each with a provider and what every question may use",
        ),
        "plugins" => {
            json!({ "type": "object", "additionalProperties": reference("plugin"), "description": "components by alias, with what they are granted" })
        }
        "prices" => about(
            or_text(
                &json!({ "type": "object", "additionalProperties": map(&PRICE, &[], |_| number("US dollars for a million tokens")) }),
            ),
            "what models cost, by provider id or model; or a file with that",
        ),
        "strict" => truth(
            "false: nearly right keys only warn; true: every key that nothing reads is an error",
        ),
        "env" => {
            json!({ "type": "object", "description": "environment variables that templates may see" })
        }
        "tags" | "metadata" => any_map("values by name"),
        "runtime" => keys::runtime(),
        "outputPath" => about(
            some(&json!({ "type": "string" })),
            "results files: .json, .jsonl, .csv, .yaml, .txt, .html, .md, .junit.xml",
        ),
        "assertionTemplates" => any_map("assertions by name, for `$ref`"),
        _ => json!({}),
    }
}

fn of_run() -> Value {
    about(
        map(&thresholds::KNOWN, &[], threshold),
        "what the run has to come to, else its exit code is 100",
    )
}

fn threshold(key: &str) -> Value {
    if key == "passRate" {
        return number("percent of all cases that must pass, 0 to 100");
    }
    let bounds = map(&thresholds::KNOWN_OF_METRIC, &[], |key| match key {
        "min" => number("at least"),
        _ => number("at most"),
    });
    json!({
        "type": "object",
        "additionalProperties": { "anyOf": [{ "type": ["number", "string"] }, bounds] },
        "description": "by metric what its mean must be at least, or `min` and `max`, in every column",
    })
}

/// Keys that may name files of code.
fn with_code(key: &str) -> Value {
    match key {
        "tests" => {
            let generator = map(&["path", "config", "trust"], &[], |key| match key {
                "path" => text("a file of tests, or of code that makes them: file://gen.js"),
                "trust" => {
                    json!({ "const": "config", "description": "its tests have the rights of the config, not those of data" })
                }
                _ => json!({ "description": "what the code is called with" }),
            });
            let one = json!({ "anyOf": [{ "type": "string" }, reference("test"), generator] });
            about(
                some(&one),
                "tests, or files of them: CSV, JSON, JSONL, YAML, code that makes them",
            )
        }
        "extensions" => about(
            json!({ "type": "array", "items": { "type": "string" } }),
            "code that is called around the run: file://hooks.js:beforeAll, beforeEach, afterEach, afterAll",
        ),
        "nunjucksFilters" => {
            json!({ "type": "object", "additionalProperties": { "type": "string" }, "description": "filters of templates by name, each a file of code" })
        }
        "derivedMetrics" => {
            let metric = map(&["name", "value"], &[], |key| match key {
                "name" => text("what it is called"),
                _ => {
                    json!({ "type": ["string", "number"], "description": "a formula over named scores, or a file of code" })
                }
            });
            about(
                json!({ "type": "array", "items": metric }),
                "metrics that are worked out of others at the end",
            )
        }
        _ => json!({}),
    }
}

/// Beside `$ref`, draft 7 reads nothing, not even a description.
fn reference_in_all(name: &str) -> Value {
    json!({ "allOf": [reference(name)] })
}

fn test(key: &str) -> Value {
    match key {
        "description" => text("what the test is called"),
        "vars" => about(
            or_text(&json!({ "type": ["object", "array"] })),
            "values of the prompts' variables; a list is one case for each",
        ),
        "assert" => about(
            json!({ "type": "array", "items": reference("assertion") }),
            "what an answer must be like",
        ),
        "threshold" => number("the mean score that passes, 0 to 1"),
        "options" => keys::test_options(),
        "metadata" => any_map("values for filters and reports"),
        "providers" | "prompts" => about(
            some(&json!({ "type": "string" })),
            "run in these columns only",
        ),
        "provider" => about(
            one_provider(),
            "who is asked instead of the columns' providers",
        ),
        "providerOutput" => {
            json!({ "description": "an answer that is there already: it is graded, and nobody is asked" })
        }
        _ => json!({}),
    }
}

/// The long form of `when`.
fn when_those() -> Value {
    let mut those = map(&["is", "type", "metric"], &[], |key| match key {
        "is" => json!({ "enum": ["passed", "failed"] }),
        _ => json!({ "type": "string" }),
    });
    those["required"] = json!(["is"]);
    those
}

fn assertion() -> Value {
    let one = map(&assertions::KNOWN, &[], |key| match key {
        "type" => served::types(),
        "threshold" => number("the score that passes"),
        "weight" => number("how much its score counts; 0: reported only"),
        "metric" => text("the name under which its score is summed"),
        "votes" => number("how often a model is asked"),
        "when" => about(
            json!({ "anyOf": [
                { "enum": ["passed", "failed"] },
                when_those(),
            ] }),
            "grade it only if all before it passed, or one failed",
        ),
        "value" => {
            json!({ "description": "what it compares with; its type says what that may be" })
        }
        _ => json!({}),
    });
    let mut set = map(&assertions::KNOWN_IN_SET, &[], |key| match key {
        "type" => about(
            json!({ "enum": ["assert-set", "assert-any"] }),
            "assert-set: all of its members count; assert-any: one that passes is enough",
        ),
        "assert" => json!({ "type": "array", "items": reference("assertion") }),
        "threshold" | "weight" => number("of the set"),
        "metric" => text("the name under which its score is summed"),
        _ => json!({}),
    });
    set["required"] = json!(["type", "assert"]);
    let mut named = one;
    named["required"] = json!(["type"]);
    named["allOf"] = Value::Array(served::values());
    let shared = json!({ "type": "object", "required": ["$ref"] });
    json!({ "anyOf": [named, set, shared, { "type": "string" }] })
}

fn prompt() -> Value {
    map(&PROMPT, &[], |key| match key {
        "id" | "raw" => text("the template, or file:// and a name"),
        "label" => text("what the column is called"),
        "config" => any_map("options that go to the provider with it"),
        _ => json!({}),
    })
}

fn provider() -> Value {
    let mut full = map(&providers::KNOWN, &[], |key| match key {
        "id" => reference("provider-id"),
        "label" => text("what the column is called"),
        "config" => any_map("what the plugin takes: `runner plugin docs NAME` says it"),
        "delay" => number("pause after each call, in milliseconds"),
        "maxRetries" => number("of a request, 0 to 20"),
        "minConcurrency" | "maxConcurrency" => number("requests in flight in its lane"),
        "pool" => text("the lane's name"),
        "limits" => about(
            json!({ "anyOf": [some(&json!({ "type": "string" })), reference("limits")] }),
            "names of groups, or a group of its own",
        ),
        "budget" => reference("budget"),
        "prompts" => about(
            some(&json!({ "type": "string" })),
            "only with these prompts",
        ),
        "env" => any_map("environment variables of this provider"),
        _ => json!({}),
    });
    full["allOf"] = Value::Array(served::by_id());
    // `{ openai:gpt-4o: { … } }`: one key, which no list can have.
    let keyed = json!({ "type": "object", "minProperties": 1, "maxProperties": 1, "patternProperties": served::by_key(), "additionalProperties": { "type": "object" } });
    json!({ "anyOf": [full, keyed] })
}

fn scenario(key: &str) -> Value {
    match key {
        "config" => about(
            json!({ "type": "array", "items": reference("test") }),
            "parts of tests, each of which is joined with every test",
        ),
        "tests" => about(
            some(&or_text(&reference("test"))),
            "tests, or files of them",
        ),
        "description" => text("what the scenario is called"),
        _ => json!({}),
    }
}

fn task(key: &str) -> Value {
    match key {
        "id" => text("what the task is called; its column, too"),
        "type" => about(
            json!({ "const": tasks::TYPE }),
            "the one kind of task that there is",
        ),
        "provider" => about(
            one_provider(),
            "a label or id of `providers`, or a provider of its own",
        ),
        "questions_file" => text("the questions, YAML or JSON, version 1"),
        "budget" => about(
            map(&tasks::KNOWN_OF_BUDGET, &[], |_| number("0: no limit")),
            "what each question may use",
        ),
        "concurrency" => number("questions in flight at once; 1: one after the other"),
        _ => json!({}),
    }
}

fn option(key: &str) -> Value {
    match key {
        "maxConcurrency" => number("cases in flight at once, at most"),
        "repeat" => number("how often each test is run"),
        "delay" => number("pause after each call, in milliseconds"),
        "timeoutMs" => number("time a case may work, in milliseconds"),
        "maxEvalTimeMs" => number("time the run may take, in milliseconds"),
        "maxRetryAfter" => number("longest wait that a server may ask for, in milliseconds"),
        "retryTimeouts" => truth("whether a request that ran out of time is sent again"),
        "filterRange" => text("START:END, tests by number from 0"),
        "filterSample" => number("that many tests, by chance"),
        "filterSampleSeed" => text("the same text draws the same tests"),
        "tags" => any_map("kept with the run, over the config's `tags`"),
        "cache" => truth("whether answers are remembered"),
        _ => json!({}),
    }
}

fn limit(key: &str) -> Value {
    if key == "concurrency" {
        return number("requests in flight");
    }
    let quota = map(&QUOTA, &[], |key| {
        if key == "max" {
            number("how many")
        } else {
            text("a whole number and ms, s, m, h or d")
        }
    });
    about(or_text(&quota), "for example 500 per 1m")
}

fn plugin(key: &str) -> Value {
    match key {
        "source" => text(
            "the component's file; or of one that was added to the machine, NAME@sha256:DIGEST",
        ),
        "sha256" => text("what the file must be, in hexadecimal"),
        "as" => about(
            json!({ "type": "object", "additionalProperties": { "type": "string" } }),
            "new names of its assertion types and provider prefixes",
        ),
        "budget" => reference("budget"),
        "limits" => map(&PLUGIN_LIMITS, &[], |_| number("at most")),
        "permissions" => map(&PERMISSIONS, &[], |key| match key {
            "hosts" => about(
                some(&json!({ "type": "string" })),
                "origins that it may reach",
            ),
            "credentials" => {
                let credential = map(&CREDENTIAL, &[], |key| match key {
                    "env" => text("the environment variable that has it"),
                    "hosts" => some(&json!({ "type": "string" })),
                    _ => json!({}),
                });
                json!({ "type": "object", "additionalProperties": credential })
            }
            _ => json!({}),
        }),
        _ => json!({}),
    }
}

#[cfg(test)]
mod tests;
