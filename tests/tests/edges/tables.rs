//! CSV and lists of JSON as people and programs leave them.

use super::{Edge, edge};

pub(crate) const TABLES: [Edge; 16] = [
    edge(
        "a CSV file with a byte order mark and Windows lines",
        "Q:\ntests: file://t.csv",
        &[("t.csv", "\u{feff}q,__expected\r\na,contains: a\r\nb,b\r\n")],
        &["a", "b"],
    ),
    edge(
        "lines of an old Macintosh, and none at the end",
        "Q:\ntests: file://t.csv",
        &[("t.csv", "q,w\ra,1\rb,2")],
        &["a", "b"],
    ),
    edge(
        "blank lines, and cells that are not there",
        "Q:\ntests: file://t.csv",
        &[(
            "t.csv",
            "q,__expected,__config:__expected:threshold\n\na,a\n  \nb,,\n,,\nc,\"c\",\n\n",
        )],
        &["a", "b", "c"],
    ),
    edge(
        "quotes that nobody closed the right way",
        "Q:\ntests: file://t.csv",
        &[(
            "t.csv",
            "q,w\n5\" disk,1\n\"say \"hi\" now\",2\n\"a \"\"b\"\"\",3\n",
        )],
        &["5\" disk", "say \"hi\" now", "a \"b\""],
    ),
    edge(
        "line breaks and delimiters in quotes, and blank space",
        "Q:\ntests: file://t.csv",
        &[("t.csv", "w , q\n1,\"a,\nb\"\n2,  c  \n3,\"  d  \"\n")],
        &["a,\nb", "  c  ", "  d  "],
    ),
    Edge {
        name: "another delimiter",
        config: "Q:\ntests: file://t.csv",
        files: &[("t.csv", "q;w\na,b;1\n")],
        env: &[("PROMPTFOO_CSV_DELIMITER", ";")],
        rows: &["a,b"],
    },
    Edge {
        name: "tabs",
        config: "Q:\ntests: file://t.csv",
        files: &[("t.csv", "q\tw\na, b\t1\n \t2\n")],
        env: &[("RUNNER_CSV_DELIMITER", "\\t")],
        rows: &["a, b", " "],
    },
    edge(
        "columns without a name, too few cells and too many",
        "prompts: ['{{q}}-{{w}}']\nproviders: [echo]\ntests: file://t.csv",
        &[("t.csv", "q,w,\na\nb,2,3,4\n")],
        &["a-", "b-2"],
    ),
    edge(
        "templates and openings in cells",
        "Q:\ntests: file://t.csv",
        &[(
            "t.csv",
            "q,w\n{{w}}!,x\n{{ w,x\n\"{\"\"a\"\": {\"\"b\"\": 1}}\",x\n",
        )],
        &["x!", "{{ w", "{\"a\": {\"b\": 1}}"],
    ),
    edge(
        "cells that look like numbers, dates and truth stay text",
        "Q:\ntests: file://t.csv",
        &[(
            "t.csv",
            "q,__expected\n007,007\n1.0,1.0\n2024-01-15,2024-01-15\ntrue,true\n1e3,1e3\nnull,null\n",
        )],
        &["007", "1.0", "2024-01-15", "true", "1e3", "null"],
    ),
    edge(
        "answers that exist already, and a row without one",
        "Q:\ntests: file://t.csv",
        &[(
            "t.csv",
            "q,__providerOutput,__expected\nasked,\"said {{q}}\",contains: said\necho,,echo\n",
        )],
        &["said {{q}}", "echo"],
    ),
    edge(
        "expectations that only look like assertions",
        "Q:\ntests: file://t.csv",
        &[(
            "t.csv",
            "q,__expected\n\"Note: see below\",\"Note: see below\"\nis-json is nice,is-json is nice\n\" x\",\"contains: x\"\n",
        )],
        &["Note: see below", "is-json is nice", " x"],
    ),
    edge(
        "JSON lines with blank ones, Windows lines and a byte order mark",
        "Q:\ntests: file://t.jsonl",
        &[(
            "t.jsonl",
            "\u{feff}{\"vars\": {\"q\": \"a\"}}\r\n\r\n  \r\n{\"vars\": {\"q\": \"b\"}}",
        )],
        &["a", "b"],
    ),
    edge(
        "JSON with comments and commas too many",
        "Q:\ntests: file://t.json",
        &[(
            "t.json",
            "[\n  # the first\n  {\"vars\": {\"q\": \"a\"}},\n]\n",
        )],
        &["a"],
    ),
    edge(
        "one test in a file instead of a list",
        "Q:\ntests: ['t.yaml', 't.json']",
        &[
            ("t.yaml", "\u{feff}vars: { q: a }\r\n"),
            ("t.json", "{\"vars\": {\"q\": \"b\"}}"),
        ],
        &["a", "b"],
    ),
    edge(
        "a pattern, in the order of names, with blanks in them",
        "Q:\ntests: ['data/*.csv']",
        &[
            ("data/b 2.csv", "q,w\nb,1\n"),
            ("data/a 1.csv", "q,w\na,1\n"),
        ],
        &["a", "b"],
    ),
];
