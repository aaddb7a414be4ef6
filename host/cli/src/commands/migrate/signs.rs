//! By what a config shows that it meets a difference: one rule for each row of the list that can be seen.
//!
//! A sign is a hint and no proof: it may stand where it means nothing. What can only be seen in files that the
//! config names, or in answers, has no sign, and the list says it.

use super::places::ConfigValue;

/// A row of the list, by its first cell, and what shows it.
pub(super) struct Sign {
    pub(super) row: &'static str,
    pub(super) shows: fn(&ConfigValue<'_>) -> bool,
}

/// Types whose verdict is a model's reply.
const ASKING: [&str; 11] = [
    "llm-rubric",
    "factuality",
    "model-graded-factuality",
    "model-graded-closedqa",
    "g-eval",
    "answer-relevance",
    "context-recall",
    "context-relevance",
    "context-faithfulness",
    "conversation-relevance",
    "select-best",
];

/// Types whose threshold may be above 1.
const UNBOUNDED: [&str; 7] = [
    "latency",
    "cost",
    "perplexity",
    "levenshtein",
    "word-count",
    "similar:euclidean",
    "similar",
];

/// The rules, in the order of the list.
pub(super) const SIGNS: &[Sign] = &[
    sign("`cost` of models", |it| it.is_type(&["cost"])),
    sign("templates", |it| {
        it.fills_in(&["env."]) && !it.is_below("env")
    }),
    sign("reasoning in answers", |it| {
        it.is_key(&["showThinking", "thinking", "reasoning", "reasoning_effort"])
    }),
    sign("`timeoutMs`", |it| it.is_key(&["timeoutMs"])),
    sign(
        "`commandLineOptions` that say what to run (`filterPattern`, `vars`, `envPath`, …)",
        |it| it.is_key(&["commandLineOptions"]),
    ),
    sign("`-o x.txt`", |it| {
        it.is_below("outputPath") && it.ends(&[".txt"])
    }),
    sign("code: Python, JavaScript", is_code),
    sign("a program's environment", |it| {
        it.is_provider() && (is_code(it) || it.begins(&["exec:"]))
    }),
    sign("answers of code and commands", |it| {
        it.is_provider() && (is_code(it) || it.begins(&["exec:"]))
    }),
    sign("`context.provider` of code", |it| {
        it.contains(&[
            "context.provider",
            "context[\"provider\"]",
            "context['provider']",
        ])
    }),
    sign("code that grades and lacks a package or a function", |it| {
        it.is_value_of(&["python", "javascript"]) && it.contains(&["import ", "require("])
    }),
    sign("ES modules", |it| it.ends(&[".mjs", ".mts"])),
    sign("Python: texts of several lines in inline code", |it| {
        it.is_value_of(&["python"]) && it.contains(&["\"\"\"", "'''"])
    }),
    sign("Python: `math` in one line of inline code", |it| {
        it.is_value_of(&["python"]) && it.contains(&["math."]) && !it.contains(&["\n"])
    }),
    sign("a grader's reply that can't be read", |it| {
        it.is_type(&ASKING)
    }),
    sign("a grader's reply with several verdicts that differ", |it| {
        it.is_type(&ASKING)
    }),
    sign("a JSON answer in a `rubricPrompt`", |it| {
        it.is_key(&["rubricPrompt"])
    }),
    sign("a score of `NaN` or `Infinity`", |it| {
        it.is_value_of(&["python", "javascript"])
    }),
    sign("a `threshold` above 1 where scores end at 1", |it| {
        let is_above = it.value.as_f64().is_some_and(|number| number > 1.0);
        it.is_key(&["threshold"]) && is_above && !it.is_beside_type(&UNBOUNDED)
    }),
    sign("maps in templates", |it| {
        it.is_variable() && it.value.is_object()
    }),
    sign(
        "`{{ data.key }}` of a variable that is a text of a JSON object, such as `file://x.json` or `x.yaml`",
        |it| it.is_variable() && it.ends(&[".json", ".yaml", ".yml"]),
    ),
    sign("a quote in a value of a chat prompt", is_chat),
    sign("whole numbers in JSON prompts", is_chat),
    sign("`_conversation`, `storeOutputAs`", |it| {
        it.is_key(&["storeOutputAs"]) || it.contains(&["_conversation"])
    }),
    sign("repeats of a conversation", |it| {
        it.is_key(&["conversationId"])
    }),
    sign("`delay`", |it| it.is_key(&["delay"])),
    sign("a test's own `provider`", |it| {
        it.is_key(&["provider"]) && it.is_in_test()
    }),
    sign("http: answers that are no 2xx", is_http),
    sign("http, `webhook`: variables in an address", |it| {
        let is_address = it.begins(&["http://", "https://"]);
        is_address && it.fills_in(&[""]) && !it.is_below("prompts")
    }),
    sign("`similar` and thresholds of vectors", |it| {
        it.is_type(&[
            "similar",
            "similar:cosine",
            "similar:dot",
            "similar:euclidean",
        ])
    }),
    sign("`select-best`, `max-score`", |it| {
        it.is_type(&["select-best", "max-score"])
    }),
    sign("words and formats that JSON Schema doesn't know", |it| {
        it.is_value_of(&["is-json", "contains-json"])
    }),
    sign("a pattern of files", |it| {
        it.begins(&["file://"]) && it.contains(&["*"])
    }),
    sign(
        "configs and generators of tests that are programs",
        is_generator,
    ),
    sign("generators of tests", is_generator),
    sign("Python providers", |it| {
        it.is_provider() && (it.begins(&["python:"]) || it.names_file(&[".py"]))
    }),
    sign("`not-factuality`, `not-model-graded-closedqa`", |it| {
        it.is_exactly(&["not-factuality", "not-model-graded-closedqa"])
    }),
    sign(
        "`select-best` whose judge replies with several numbers, or with `-1` or `1.5`",
        |it| it.is_type(&["select-best"]),
    ),
    sign("`classifier` whose class was not scored", |it| {
        it.is_type(&["classifier"])
    }),
    sign("`webhook`", |it| it.is_type(&["webhook"])),
    sign("`$ref` in a JSON Schema", |it| {
        it.key == "$ref" && it.is_below("value")
    }),
    sign("Google: system messages beside `systemInstruction`", |it| {
        it.is_key(&["systemInstruction"])
    }),
    sign("`providerOutput: ''`", |it| {
        it.is_key(&["providerOutput"]) && it.value == ""
    }),
    sign("dates in spreadsheets", |it| {
        it.names_file(&[".xlsx", ".xls"])
    }),
    sign(
        "a CSV or XLSX column with a special name in its own (`x;__expected`, an unseen character before it)",
        is_table,
    ),
    sign("two CSV columns of one name", is_table),
    sign(
        "`auth`, `apiBaseUrl`, `apiKey` among options of a test or in a prompt's `config`",
        |it| {
            let is_elsewhere = it.is_below("options") || it.is_below("prompts");
            it.is_key(&["auth", "apiBaseUrl", "apiKey"]) && is_elsewhere
        },
    ),
    sign(
        "what a row stores (`storeOutputAs`), and its turns in a conversation",
        |it| it.is_key(&["storeOutputAs", "conversationId"]),
    ),
    sign("`nunjucksFilters`", |it| it.is_key(&["nunjucksFilters"])),
    sign("`beforeAll`", |it| is_hook(it, "beforeAll")),
    sign("`beforeEach`", |it| is_hook(it, "beforeEach")),
    sign("`afterAll`", |it| is_hook(it, "afterAll")),
    sign("`derivedMetrics`", |it| it.is_key(&["derivedMetrics"])),
    sign("`not-is-valid-function-call`", |it| {
        it.is_exactly(&["not-is-valid-function-call"])
    }),
    sign("braces within texts of JSON (`contains-json`)", |it| {
        it.is_type(&["contains-json"])
    }),
    sign(
        "`postprocess` of a test under `transform` of `defaultTest`",
        |it| it.is_key(&["postprocess"]),
    ),
    sign("`prompts: NAME` of a test, not a list", |it| {
        it.is_key(&["prompts"]) && it.is_in_test() && it.value.is_string()
    }),
    sign("`meteor`", |it| it.is_type(&["meteor"])),
    sign("http: blanks in `queryParams`", |it| {
        it.is_key(&["queryParams"])
    }),
    sign("a test with `disableConversationVar`", |it| {
        it.is_key(&["disableConversationVar"])
    }),
    sign("regular expressions in templates (`r/x/g`)", |it| {
        it.fills_in(&[" r/", "(r/"])
    }),
    sign("`random` in templates", |it| {
        it.fills_in(&["| random", "|random"])
    }),
];

const fn sign(row: &'static str, shows: fn(&ConfigValue<'_>) -> bool) -> Sign {
    Sign { row, shows }
}

/// Files of code.
const CODE: [&str; 8] = [".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".rb"];

/// Code, inline or in a file.
fn is_code(it: &ConfigValue<'_>) -> bool {
    let is_inline = it.is_type(&["javascript", "python"])
        || it.begins(&["javascript:", "python:"])
        || it.is_key(&["transform", "transformVars", "contextTransform"]) && it.value.is_string();
    is_inline || it.names_file(&CODE)
}

/// Code that makes tests, as a name or as a map with its `path`.
fn is_generator(it: &ConfigValue<'_>) -> bool {
    (it.key == "tests" || it.is_in_test() && it.key == "path") && it.names_file(&CODE)
}

/// A prompt that is JSON.
fn is_chat(it: &ConfigValue<'_>) -> bool {
    let text = it.value.as_str().unwrap_or_default().trim_start();
    it.is_below("prompts")
        && (it.names_file(&[".json"]) || text.starts_with(['[', '{']) && !text.starts_with("{{"))
}

fn is_http(it: &ConfigValue<'_>) -> bool {
    it.is_provider() && (it.begins(&["http://", "https://"]) || it.is_exactly(&["http", "https"]))
}

fn is_table(it: &ConfigValue<'_>) -> bool {
    it.names_file(&[".csv", ".xlsx", ".xls"])
}

/// A file of hooks that is called for this one; a file alone is called for all.
fn is_hook(it: &ConfigValue<'_>, name: &str) -> bool {
    let text = it.value.as_str().unwrap_or_default();
    let named = text
        .rsplit(['/', '\\'])
        .next()
        .and_then(|file| file.split_once(':'));
    let is_meant = named.is_none_or(|(_, function)| function == name);
    it.is_below("extensions") && !text.is_empty() && is_meant
}

#[cfg(test)]
mod tests {
    use super::super::page::differences;
    use super::*;

    #[test]
    fn every_sign_is_of_a_row_of_the_list_and_in_its_order() {
        let rows: Vec<String> = differences().into_iter().map(|it| it.what).collect();
        for sign in SIGNS {
            assert!(rows.iter().any(|row| row == sign.row), "{}", sign.row);
        }
    }
}
