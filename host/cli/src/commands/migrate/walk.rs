//! A config walked through, each of its places held against the signs.

use serde_json::Value;

use super::places::ConfigValue;
use super::signs::SIGNS;

/// Places of one row that are told.
const TOLD: usize = 3;
/// How deep a config is looked at; deeper ones are refused when they are loaded.
const DEEPEST: usize = 100;

/// The rows that a config shows, in the order of the list, each with some places and how many others there are.
pub(super) fn signs(config: &Value) -> Vec<(&'static str, Vec<String>)> {
    let mut met: Vec<Vec<String>> = vec![Vec::new(); SIGNS.len()];
    let mut look = |spot: &ConfigValue<'_>, at: &str| {
        for (sign, met) in SIGNS.iter().zip(&mut met) {
            if met.len() <= TOLD && (sign.shows)(spot) {
                met.push(at.to_owned());
            }
        }
    };
    walk(config, &mut Vec::new(), "", None, &mut look);
    let rows = SIGNS.iter().zip(met).filter(|(_, met)| !met.is_empty());
    rows.map(|(sign, mut met)| {
        if met.len() > TOLD {
            met.truncate(TOLD);
            met.push("…".to_owned());
        }
        (sign.row, met)
    })
    .collect()
}

/// Each value with its place: `tests[2].assert[0].type`.
fn walk<'a>(
    value: &'a Value,
    path: &mut Vec<&'a str>,
    at: &str,
    beside: Option<&'a Value>,
    look: &mut dyn FnMut(&ConfigValue<'_>, &str),
) {
    if path.len() > DEEPEST {
        return;
    }
    if let Some(key) = path.last() {
        let spot = ConfigValue {
            path,
            key,
            value,
            beside,
        };
        look(&spot, at);
    }
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                let below = if at.is_empty() {
                    key.clone()
                } else {
                    format!("{at}.{key}")
                };
                path.push(key);
                walk(inner, path, &below, Some(value), look);
                path.pop();
            }
        }
        Value::Array(items) => {
            for (number, inner) in items.iter().enumerate() {
                walk(inner, path, &format!("{at}[{number}]"), beside, look);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shows_in_a_config_that_meets_it_and_not_in_another() {
        let plain = "prompts: ['Say {{x}}']\nproviders: [openai:gpt-4o]\ntests: [{ vars: { x: a }, assert: [{ type: contains, value: a }] }]";
        let table = [
            ("prompts: ['{{ env.HOME }}']", "templates"),
            ("providers: [file://a/b.py:call]", "Python providers"),
            ("providers: ['exec: ./x']", "a program's environment"),
            (
                "tests: [{ options: { storeOutputAs: a } }]",
                "`_conversation`, `storeOutputAs`",
            ),
            (
                "tests: [{ assert: [{ type: not-select-best, value: x }] }]",
                "`select-best`, `max-score`",
            ),
            (
                "tests: [{ assert: [{ type: contains, threshold: 5 }] }]",
                "a `threshold` above 1 where scores end at 1",
            ),
            ("tests: [{ provider: openai:x }]", "a test's own `provider`"),
            ("tests: file://rows.csv", "two CSV columns of one name"),
            ("extensions: ['file://h.js:afterAll']", "`afterAll`"),
            ("extensions: ['file://h.js']", "`beforeEach`"),
            ("tests: [{ vars: { a: { b: 1 } } }]", "maps in templates"),
            (
                "prompts: ['[{\"role\": \"user\"}]']",
                "a quote in a value of a chat prompt",
            ),
            (
                "defaultTest: { assert: [{ type: is-json, value: { $ref: '#/x' } }] }",
                "`$ref` in a JSON Schema",
            ),
        ];
        let met = |text: &str| -> Vec<&str> {
            let config = runner_config::document(text, false).expect("it is YAML");
            let found = signs(&config);
            found.into_iter().map(|(row, _)| row).collect()
        };
        assert_eq!(met(plain), Vec::<&str>::new());
        for (text, row) in table {
            assert!(met(text).contains(&row), "{text}: {:?}", met(text));
        }
        assert!(!met("extensions: ['file://h.js:afterAll']").contains(&"`beforeAll`"));
        assert!(!met("evaluateOptions: { delay: 0 }").contains(&"`delay`"));
    }
}
