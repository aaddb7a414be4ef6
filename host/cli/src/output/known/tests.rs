//! Files that are results, and files that only look like them. That what our own writers write is
//! known is tested with them.

use std::io::{Seek as _, Write as _};

use super::*;

fn holds(format: Format, text: &str) -> bool {
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(text.as_bytes()).expect("written");
    file.rewind().expect("rewound");
    holds_results(&file, format).expect("read")
}

const RECORD: &str = r#"{"promptIdx":0,"testIdx":0,"testCase":{},"provider":{"id":"x"},"prompt":{"raw":"p"},"vars":{},"success":true,"score":1,"latencyMs":5}"#;

fn document(records: &str, metadata: &str) -> String {
    format!(
        r#"{{"evalId":"eval-a","results":{{"version":3,"timestamp":"2026-01-01T00:00:00Z","prompts":[{{"raw":"p"}}],"results":[{records}],"stats":{{"successes":1,"failures":0,"errors":0,"tokenUsage":{{}}}}}},"config":{{"prompts":["p"]}},"shareableUrl":null,"metadata":{metadata}}}"#
    )
}

const SIGNED: &str = r#"{"promptfooVersion":"0.123.1"}"#;

const YAML: &str = "evalId: eval-a\nresults:\n  version: 3\n  timestamp: '2026-01-01T00:00:00Z'\n  prompts:\n    - raw: |-\n        a: 1\n\n        b\n  results: []\n  stats:\n    successes: 1\nconfig:\n  description: x\nshareableUrl: null\nmetadata:\n  promptfooVersion: 0.123.1\n";

const PAGE: &str = "<!doctype html>\n<html>\n  <head>\n    <style>\n      td[data-status='pass'] {\n      }\n    </style>\n  </head>\n  <body>\n    <div class=\"brand-lockup\" aria-label=\"Promptfoo\">\n    </div>\n  </body>\n</html>\n";

#[test]
fn results_of_promptfoo_are_results() {
    let records = format!("{RECORD}\n{RECORD}\n");
    let cut_off = format!("{records}{}", &RECORD[..40]);
    let pretty: serde_json::Value =
        serde_json::from_str(&document(RECORD, SIGNED)).expect("a document");
    let pretty = format!("{pretty:#}\n");
    let cases = [
        (Format::Json, pretty.as_str()),
        (Format::Jsonl, &records),
        (Format::Jsonl, &cut_off),
        (Format::Yaml, YAML),
        (Format::Txt, YAML),
        (
            Format::Csv,
            "q,[openai:m] p,Status,Score,Named Scores,Grader Reason,Comment\n1,\"a\nb\",PASS,1.00,{},,\n2,b,ERROR,0.00,,no,\n3,,,,,,\n",
        ),
        (Format::Html, PAGE),
        (
            Format::Junit,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<promptfoo>\n  <evalId>eval-a</evalId>\n  <results>\n  </results>\n</promptfoo>\n",
        ),
        (
            Format::Junit,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"promptfoo\" tests=\"1\">\n  <testsuite>\n  </testsuite>\n</testsuites>\n",
        ),
    ];
    for (format, text) in cases {
        assert!(holds(format, text), "{format:?} {text}");
        assert!(holds(format, ""), "{format:?}");
    }
}

/// As they were before they had a mark.
#[test]
fn documents_of_an_earlier_promptfoo_are_results() {
    let earlier = document(RECORD, "").replace(",\"metadata\":", "");
    assert!(holds(Format::Json, &earlier));
    are_none(&[
        (Format::Json, &earlier.replace(",\"shareableUrl\":null", "")),
        (
            Format::Json,
            &earlier.replace("\"version\":3", "\"version\":2"),
        ),
    ]);
}

#[test]
fn suites_of_earlier_builds_are_results() {
    let suites = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"mine\" tests=\"1\" failures=\"0\" errors=\"0\" skipped=\"0\" time=\"0.1\">\n<testsuite id=\"0\" name=\"(0) echo · p\" tests=\"1\">\n<testcase classname=\"(0) echo · p\" name=\"x\" time=\"0.1\"/>\n</testsuite>\n</testsuites>\n";
    assert!(holds(Format::Junit, suites));
}

#[track_caller]
fn are_none(files: &[(Format, &str)]) {
    for (format, text) in files {
        assert!(!holds(*format, text), "{format:?} {text}");
    }
}

#[test]
fn other_documents_are_none() {
    let unsigned = document(RECORD, "{}");
    let other_rows = document("{\"name\":\"mine\"}", SIGNED);
    let behind = document(RECORD, SIGNED) + "{}";
    let other_version = document(RECORD, SIGNED).replace("\"version\":3", "\"version\":4");
    let mixed = format!("{RECORD}\n{{\"promptIdx\":0,\"testIdx\":1}}\n");
    let cut_off = &RECORD[..40];
    let other_keys = format!("{YAML}mine: 1\n");
    let unsigned_yaml = YAML.replace("promptfooVersion", "author");
    are_none(&[
        (
            Format::Json,
            "{ \"name\": \"app\", \"version\": \"1.0.0\" }",
        ),
        (Format::Json, "{ \"evalId\": \"mine\", \"savings\": 1 }"),
        (Format::Json, "{\"results\":{\"version\":2,\"mine\":1}}"),
        (Format::Json, "{ \"evalId\": "),
        (Format::Json, "\u{0}\u{ff}"),
        (Format::Json, &unsigned),
        (Format::Json, &other_rows),
        (Format::Json, &behind),
        (Format::Json, &other_version),
        (Format::Jsonl, "{\"messages\":[]}\n"),
        (
            Format::Jsonl,
            "{\"promptIdx\":0,\"testIdx\":0,\"mine\":1}\n",
        ),
        (Format::Jsonl, &mixed),
        (Format::Jsonl, cut_off),
        (Format::Jsonl, "no JSON"),
        (Format::Yaml, "on: push\njobs:\n  a: 1\n"),
        (Format::Yaml, "evalId: mine\nsecrets:\n  a: 1\n"),
        (Format::Yaml, "results:\n  version: 3\n  mine: 1\n"),
        (Format::Yaml, &other_keys),
        (Format::Yaml, &unsigned_yaml),
        (Format::Txt, "numpy==2.0\n"),
        (Format::Txt, "alias ls='ls · 2 · x'\n"),
        (Format::Txt, "notes · 2026-01-01T00:00:00Z\n\npass rate\n"),
        (Format::Txt, "run-1 · 2026-01-01T00:00:00.000Z\nmine\n"),
        (Format::Txt, "run-1 · 2026-01-01T00:00:00.000Z\n\nmine\n"),
        (
            Format::Txt,
            "run-1 · 2026-01-01T00:00:00.000Z\n\nmy notes\nabout the pass rate\n",
        ),
    ]);
}

#[test]
fn other_tables_and_pages_are_none() {
    let unended = PAGE.replace("</html>\n", "</html>\n<p>mine\n");
    are_none(&[
        (Format::Csv, "name,Status,Score\na,b,c\n"),
        (Format::Csv, "question,answer\na,b\n"),
        (
            Format::Csv,
            "who,Status,Score,Grader Reason,Comment\nAda,married,10,,\n",
        ),
        (
            Format::Csv,
            "who,Status,Score,Grader Reason,Comment\nAda,PASS,10\n",
        ),
        (Format::Html, "<!doctype html>\n<title>my page</title>\n"),
        (
            Format::Html,
            "<!doctype html>\n<html>\n<body>\n<p>I like Promptfoo.\n</html>\n",
        ),
        (
            Format::Html,
            "<!doctype html>\n<meta name=\"generator\" content=\"runner\">\n</html>\n",
        ),
        (Format::Html, &unended),
        (Format::Html, "ä"),
        (
            Format::Junit,
            "<?xml version=\"1.0\"?>\n<testsuites name=\"pytest\" tests=\"3\">\n<testsuite id=\"0\" name=\"a\">\n</testsuite>\n</testsuites>\n",
        ),
        (
            Format::Junit,
            "<?xml version=\"1.0\"?>\n<testsuites name=\"x\" tests=\"0\" failures=\"0\" errors=\"0\" skipped=\"0\">\n</testsuites>\n",
        ),
        (Format::Junit, "<project><modelVersion>"),
    ]);
}

#[test]
fn a_hole_without_end_is_not_read() {
    for format in [Format::Html, Format::Junit, Format::Yaml, Format::Txt] {
        let file = tempfile::tempfile().expect("a file");
        file.set_len(1 << 40).expect("a hole");
        let error = holds_results(&file, format).expect_err("it is too large");
        assert_eq!(error.to_string(), "the existing file is larger than 4 GiB");
    }
}

#[test]
fn a_long_line_is_passed_over() {
    let long = "x".repeat(1 << 20);
    let text = YAML.replace("description: x", &format!("description: {long}"));
    assert!(holds(Format::Yaml, &text));
    assert!(!holds(Format::Yaml, &long));
}

/// What stands in a report has its place in it, and nothing else has one.
#[test]
fn a_report_is_one_from_beginning_to_end() {
    let report = "run-1 · 2026-01-01T00:00:00.000Z · mine\n\n\
        Test 0, column 1: echo · p\nFAIL, score 0.00, 5 ms\nDescription: x\n\nPrompt:\n  my text\n\n\
        Answer (5 tokens):\n  mine\n----\n\n\
        column      pass rate\n(0) echo       50.0 %\nall            50.0 %\n\n\
        1 of 2 cases passed (50.0 %), 1 failed; 1 s, at most 4 at once.\n1 case has no assertion: any answer passes.\n1,000 requests were sent again.\n\n\
        Failed assertions:\n  1× contains\n";
    let report = report.replace("----", crate::output::txt::RULE);
    assert!(holds(Format::Txt, &report));
    let lines: Vec<&str> = report.lines().collect();
    for at in 0..=lines.len() {
        let mut more = lines.clone();
        more.insert(at, "mine, about the pass rate");
        assert!(!holds(Format::Txt, &(more.join("\n") + "\n")), "line {at}");
    }
    let begun = lines[..lines.len() - 6].join("\n");
    assert!(!holds(Format::Txt, &begun), "{begun}");
}
