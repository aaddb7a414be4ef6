//! Dates, numbers, names and texts as values of variables.

use super::{Edge, edge};

pub(crate) const VALUES: [Edge; 14] = [
    edge(
        "dates without quotes",
        "Q:\ntests: [{ vars: { q: 2024-01-15 } }, { vars: { q: 2024-01-15T10:00:00Z } }]",
        &[],
        &["2024-01-15", "2024-01-15T10:00:00Z"],
    ),
    edge(
        "integers beyond what a float holds",
        "Q:\ntests: [{ vars: { q: 12345678901234567890 } }, { vars: { q: -9007199254740993 } }]",
        &[],
        &["12345678901234567890", "-9007199254740993"],
    ),
    edge(
        "numbers as JavaScript writes them",
        "Q:\ntests: [{ vars: { q: 1.0 } }, { vars: { q: 0.1 } }, { vars: { q: 1e21 } }, { vars: { q: 1e-7 } }, { vars: { q: 0x1F } }]",
        &[],
        &["1", "0.1", "1e+21", "1e-7", "31"],
    ),
    edge(
        "words that older YAML took for truth",
        "Q:\ntests: [{ vars: { q: no } }, { vars: { q: ON } }, { vars: { q: y } }, { vars: { q: true } }]",
        &[],
        &["no", "ON", "y", "true"],
    ),
    edge(
        "nothing, in three ways",
        "prompts: ['[{{q}}]']\nproviders: [echo]\ntests: [{ vars: { q: null } }, { vars: { q: '' } }, { vars: { other: 1 } }]",
        &[],
        &["[]", "[]", "[]"],
    ),
    edge(
        "names that every object of JavaScript has",
        "prompts: ['{{constructor}} {{toString}} {{__proto__}} {{hasOwnProperty}} {{length}}']\nproviders: [echo]\ntests: file://t.json",
        &[(
            "t.json",
            r#"[{"vars": {"constructor": "a", "toString": "b", "__proto__": "c", "hasOwnProperty": "d", "length": "e"}}]"#,
        )],
        &["a b c d e"],
    ),
    edge(
        "the same names where nothing is set",
        "prompts: ['[{{constructor}}{{ q.__proto__ }}{{ q.constructor.name }}{{toString}}]']\nproviders: [echo]\ntests: [{ vars: { q: x } }]",
        &[],
        &["[]"],
    ),
    edge(
        "lists and maps",
        "Q:\ntests: [{ vars: { q: [1, 2] } }, { vars: { q: { a: [x], b: null } } }, { vars: { q: [] } }]",
        &[],
        &["1,2", r#"{"a":["x"],"b":null}"#, ""],
    ),
    edge(
        "a list of one, and a list that stays one value",
        "Q:\ntests: [{ vars: { q: [a] } }, { vars: { q: [a, b] }, options: { disableVarExpansion: true } }]",
        &[],
        &["a", "a,b"],
    ),
    edge(
        "text from all over the world",
        "Q:\ntests: [{ vars: { q: '👩‍👩‍👧 ünï العربية \u{200b}x' } }]",
        &[],
        &["👩‍👩‍👧 ünï العربية \u{200b}x"],
    ),
    edge(
        "names with letters of all languages and with dashes",
        "prompts: ['{{größe}} {{名前}} {{user_1}}']\nproviders: [echo]\ntests: [{ vars: { größe: L, 名前: 花, user_1: u } }]",
        &[],
        &["L 花 u"],
    ),
    edge(
        "one line break at the end goes, others stay",
        "Q:\ntests:\n  - vars:\n      q: |\n        a\n\n        b\n  - vars: { q: \"c\\n\\n\" }",
        &[],
        &["a\n\nb", "c\n"],
    ),
    edge(
        "anchors and merge keys, of which the nearest wins",
        "metadata: { base: &base { a: 1, b: 2 } }\nprompts: ['{{a}} {{b}} {{c}}']\nproviders: [echo]\ntests: [{ vars: { <<: *base, b: 3, c: &c 4 } }, { vars: { c: *c, <<: [*base, { b: 9 }] } }]",
        &[],
        &["1 3 4", "1 2 4"],
    ),
    edge(
        "a variable that is called like the environment",
        "prompts: ['{{ environment }} {{ envoy }}']\nproviders: [echo]\ntests: [{ vars: { environment: prod, envoy: e } }]",
        &[],
        &["prod e"],
    ),
];
