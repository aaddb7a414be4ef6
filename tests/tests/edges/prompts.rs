//! Prompts: JSON that has to survive its data, and files of every kind.

use super::{Edge, edge};

pub(crate) const JSON: [Edge; 9] = [
    edge(
        "quotes, line breaks and backslashes in a JSON prompt",
        "prompts: [file://p.json]\nproviders: [echo]\ntests: [{ vars: { q: \"say \\\"hi\\\"\\nC:\\\\new\" } }]",
        &[("p.json", r#"{"text":"{{q}}"}"#)],
        &["{\n  \"text\": \"say \\\"hi\\\"\\nC:\\\\new\"\n}"],
    ),
    edge(
        "a prompt that is JSON only when it is filled in, and data that would break it",
        "prompts: [file://p.json]\nproviders: [echo]\ntests: [{ vars: { n: 5, q: 'say \"hi\"' } }]",
        &[("p.json", r#"{"n": {{n}}, "text": "{{q}}"}"#)],
        &["{\n  \"n\": 5,\n  \"text\": \"say \\\"hi\\\"\"\n}"],
    ),
    edge(
        "large numbers of a JSON prompt",
        "prompts: [file://p.json]\nproviders: [echo]\ntests: [{ vars: { q: x } }]",
        &[(
            "p.json",
            r#"{"id": 9007199254740993, "r": 1.0, "q": "{{q}}"}"#,
        )],
        &["{\n  \"id\": 9007199254740993,\n  \"r\": 1,\n  \"q\": \"x\"\n}"],
    ),
    edge(
        "a JSON prompt whose data has an opening",
        "prompts: [file://p.json]\nproviders: [echo]\ntests: [{ vars: { q: '{{ {% {#' } }]",
        &[("p.json", r#"["{{q}}"]"#)],
        &["[\n  \"{{ {% {#\"\n]"],
    ),
    Edge {
        name: "a JSON prompt in which nothing is escaped",
        config: "prompts: [file://p.json]\nproviders: [echo]\ntests: [{ vars: { q: '\"quoted\"' } }]",
        files: &[("p.json", r#"{"text":{"v":"{{q}}"}}"#)],
        env: &[("PROMPTFOO_DISABLE_JSON_AUTOESCAPE", "true")],
        rows: &[r#"{"text":{"v":""quoted""}}"#],
    },
    edge(
        "files in a JSON prompt",
        "prompts: [file://p.json]\nproviders: [echo]\ntests: [{ vars: { q: x } }]",
        &[
            ("p.json", r#"[{"role": "user", "content": "file://c.txt"}]"#),
            ("c.txt", "hello {{q}}\n"),
        ],
        &["[\n  {\n    \"role\": \"user\",\n    \"content\": \"hello x\\n\"\n  }\n]"],
    ),
    edge(
        "a chat in YAML whose data has a colon and a quote",
        "prompts: [file://p.txt]\nproviders: [echo]\ntests: [{ vars: { q: 'a: \"b\" # c' } }]",
        &[("p.txt", "- role: user\n  content: {{q}}\n")],
        &["[\n  {\n    \"role\": \"user\",\n    \"content\": \"a: \\\"b\\\" # c\"\n  }\n]"],
    ),
    edge(
        "a JSON Schema that refers to its own parts",
        "prompts: ['{\"n\": {{q}}}']\nproviders: [echo]\ndefaultTest: { assert: [{ type: is-json, value: file://s.json }] }\ntests: [{ vars: { q: 1 } }, { vars: { q: 2 } }]",
        &[(
            "s.json",
            r##"{"$id": "https://example.com/s", "properties": {"n": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "integer"}}}"##,
        )],
        &["{\"n\": 1}", "{\"n\": 2}"],
    ),
    edge(
        "keys of a JSON prompt, which are no templates",
        "prompts: [file://p.json]\nproviders: [echo]\ntests: [{ vars: { q: x } }]",
        &[("p.json", r#"{"{{q}}": "{{q}}", "": ""}"#)],
        &["{\n  \"{{q}}\": \"x\",\n  \"\": \"\"\n}"],
    ),
];

pub(crate) const PROMPTS: [Edge; 10] = [
    edge(
        "sentences that look like paths",
        "prompts: ['yes and/or no {{q}}', 'Is it 3.14', '2 * 3 = {{q}}', 'see docs.md for {{q}}', 'C:\\{{q}}']\nproviders: [echo]\ntests: [{ vars: { q: x } }]",
        &[],
        &[
            "yes and/or no x",
            "Is it 3.14",
            "2 * 3 = x",
            "see docs.md for x",
            "C:\\x",
        ],
    ),
    edge(
        "a text file with Windows lines, a byte order mark and parts",
        "prompts: [file://p.txt]\nproviders: [echo]\ntests: [{ vars: { q: x } }]",
        &[(
            "p.txt",
            "\u{feff}one {{q}}\r\n---\r\n\r\ntwo\r\nlines {{q}}\r\n---\r\n",
        )],
        &["one x", "two\nlines x"],
    ),
    edge(
        "rules in a Markdown prompt",
        "prompts: [p.md]\nproviders: [echo]\ntests: [{ vars: { q: x } }]",
        &[("p.md", "# {{q}}\n---\n{# note #}text")],
        &["# x\n---\ntext"],
    ),
    edge(
        "prompts by path with labels, and by pattern",
        "prompts: { a.txt: first, 'more/*.txt': others }\nproviders: [echo]\ntests: [{ vars: { q: x } }]",
        &[
            ("a.txt", "a {{q}}"),
            ("more/2.txt", "2 {{q}}"),
            ("more/1.txt", "1 {{q}}"),
        ],
        &["a x", "1 x", "2 x"],
    ),
    edge(
        "prompts in a table, and one a line",
        "prompts: [p.csv, l.csv]\nproviders: [echo]\ntests: [{ vars: { q: x } }]",
        &[
            ("p.csv", "label,prompt\nA,\"a, {{q}}\"\nB,b {{q}}\n"),
            ("l.csv", "prompt\nonly {{q}}\nsecond\n"),
        ],
        &["a, x", "b x", "only x", "second"],
    ),
    edge(
        "the same prompt twice",
        "prompts: ['{{q}}', '{{q}}']\nproviders: [echo]\ntests: [{ vars: { q: x } }]",
        &[],
        &["x"],
    ),
    edge(
        "no prompts at all, and an empty prefix over the default one",
        "providers: [echo]\ndefaultTest: { options: { prefix: 'never ' } }\ntests: [{ vars: { prompt: hi }, options: { prefix: '', suffix: '{{mark}}' } , description: d }, { vars: { prompt: yo, mark: '!' }, options: { prefix: '> ' } }]",
        &[],
        &["hi", "> yo"],
    ),
    edge(
        "a label that is no template, and a raw text that looks like a file",
        "prompts: [{ label: '{{q}} {%', raw: 'say {{q}}' }, { id: 'file://p.txt', label: p.txt }]\nproviders: [echo]\ntests: [{ vars: { q: x } }]",
        &[("p.txt", "file {{q}}")],
        &["say x", "file x"],
    ),
    edge(
        "a config with Windows lines, a byte order mark and tabs in a text",
        "\u{feff}prompts:\r\n  - \"a\\t{{q}}\"\r\nproviders: echo\r\ntests:\r\n  - vars:\r\n      q: \"x\ty\"\r\n",
        &[],
        &["a\tx\ty"],
    ),
    edge(
        "files as values: text, JSON, YAML and an image",
        "prompts: ['{{t}}|{{j.a}}|{{y}}|{{i}}']\nproviders: [echo]\ntests: [{ vars: { t: file://t.txt, j: file://j.json, y: file://y.yaml, i: file://i.gif } }]",
        &[
            ("t.txt", "\u{feff}  text {{ x\r\n"),
            ("j.json", "{\"a\": 1.0}"),
            ("y.yaml", "- b: c\n"),
            ("i.gif", "GIF89a"),
        ],
        &["text {{ x|1|[{\"b\":\"c\"}]|data:image/gif;base64,R0lGODlh"],
    ),
];
