//! Tests in files of every kind.

use serde_json::{Value, json};

use crate::fixture::Folder;
use crate::plan::{Check, Plan};

fn folder(tests: &str) -> Folder {
    Folder::new(&format!("prompts: [p]\nproviders: [echo]\ntests: {tests}"))
}

/// Description and variables of every test.
fn tests(folder: &Folder) -> Vec<(Option<String>, Value)> {
    let plan = folder.plan();
    plan.tests
        .iter()
        .map(|test| (test.description.clone(), Value::Object(test.vars.clone())))
        .collect()
}

fn assertions(plan: &Plan) -> Vec<Value> {
    let mut all = Vec::new();
    for test in plan.tests.iter() {
        for check in test.assertions.iter() {
            let Check::One(one) = check else {
                panic!("no set here")
            };
            let kind = format!("{}{}", if one.inverse { "not-" } else { "" }, one.kind);
            all.push(json!([kind, one.value, one.threshold, one.metric]));
        }
    }
    all
}

#[test]
fn a_list_mixes_files_and_inline_tests() {
    let folder = folder("['a.yaml', { vars: { n: 3 } }, file://b.json, 'c/*.jsonl', one.yml]")
        .file("a.yaml", "- vars: { n: 1 }\n- vars: { n: 2 }\n")
        .file("b.json", r#"[{"vars": {"n": 4}}]"#)
        .file(
            "c/1.jsonl",
            "{\"vars\": {\"n\": 5}}\n\n{\"vars\": {\"n\": 6}}\n",
        )
        .file("c/2.jsonl", "{\"vars\": {\"n\": 7}}")
        .file("one.yml", "vars: { n: 8 }\n");
    let numbers: Vec<Value> = tests(&folder)
        .into_iter()
        .map(|(_, vars)| vars["n"].clone())
        .collect();
    assert_eq!(numbers, (1..=8).map(Value::from).collect::<Vec<_>>());
}

#[test]
fn files_that_name_files_end_however_many_ways_there_are() {
    let each = |name: &str| format!("- file://{name}\n").repeat(100);
    let problems = folder("file://a.yaml")
        .file("a.yaml", each("b.yaml"))
        .file("b.yaml", each("c.yaml"))
        .file("c.yaml", each("d.yaml"))
        .file("d.yaml", "[]")
        .problems();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(
        problems[0].contains("files of tests are named more than 100000 times"),
        "{problems:?}"
    );
}

#[test]
fn a_cell_that_no_prompt_may_hold_is_refused_when_it_is_read() {
    let csv = format!("q\nshort\n{}\n", "x".repeat(17 << 20));
    let problems = folder("file://t.csv").file("t.csv", csv).problems();
    assert_eq!(
        problems,
        [
            "t.csv:3:1: a cell of more than 16 MiB\nhelp: no prompt may be that long; name a file of the text, or cut it"
        ]
    );
}

#[test]
fn a_metric_is_not_copied_into_thousands_of_assertions() {
    let headers: Vec<String> = (1..10_000).map(|n| format!("__expected{n}")).collect();
    let csv = format!(
        "__metric,{}\n{}{}\n",
        headers.join(","),
        "x".repeat(1 << 20),
        ",x".repeat(headers.len())
    );
    let problems = folder("file://t.csv").file("t.csv", csv).problems();
    assert_eq!(
        problems,
        [
            "t.csv:2:1: its `__metric` stands in each of its assertions, and all of them take more than 16 MiB\n\
             help: a metric is a short name"
        ]
    );
}

#[test]
fn every_column_of_a_csv_is_a_variable_but_the_special_ones() {
    let csv = "\u{feff}q, lang ,__expected,__expected2,__description,__metric,__threshold,__prefix,__suffix,__metadata:k,__metadata:l[],__config:__expected2:threshold\n\
               hi,fr,contains: bonjour,equals: x,first,m,0.5,P,S,v,\"a, b\\,c\",0.25\n\
               \n\
               \" ho \",de,,,,,,,,,,\n";
    let folder = folder("file://t.csv").file("t.csv", csv);
    let expected = [
        (Some("first".to_owned()), json!({"q": "hi", "lang": "fr"})),
        (
            Some("Row #2".to_owned()),
            json!({"q": " ho ", "lang": "de"}),
        ),
    ];
    assert_eq!(tests(&folder), expected);
    let plan = folder.plan();
    assert_eq!(
        assertions(&plan),
        [
            json!(["contains", "bonjour", null, "m"]),
            json!(["equals", "x", 0.25, "m"])
        ]
    );
    let test = &plan.tests.get(0).expect("a test");
    assert_eq!(test.threshold, Some(0.5));
    assert_eq!(json!(test.options), json!({"prefix": "P", "suffix": "S"}));
    assert_eq!(json!(test.metadata), json!({"k": "v", "l": ["a", "b,c"]}));
    assert_eq!((test.at.file.to_str(), test.at.line), (Some("t.csv"), 2));
    assert_eq!(plan.tests.get(1).expect("a test").at.line, 4);
}

#[test]
fn expected_texts_are_assertions() {
    let csv = "v,__expected\n1,Paris\n2,not-contains: x\n3,is-json\n4,\"contains-any: a, \"\"b\"\"\"\n5,latency(100)\n6,\n";
    let folder = folder("t.csv").file("t.csv", csv);
    let expected = [
        json!(["equals", "Paris", null, null]),
        json!(["not-contains", "x", null, null]),
        json!(["is-json", null, null, null]),
        json!(["contains-any", ["a", "b"], null, null]),
        json!(["latency", null, 100.0, null]),
    ];
    assert_eq!(assertions(&folder.plan()), expected);
}

/// Else a plugin would grade whatever begins with a word that it claims.
#[test]
fn a_plugin_s_type_that_could_be_any_word_is_a_text_in_a_cell() {
    let csv = "v,__expected\n1,https://a.example\n2,not-yes\n3,is-json\n4,Yes\n";
    let mut folder = folder("t.csv").file("t.csv", csv);
    for name in ["https", "yes"] {
        let types = &mut folder.catalog.assertion_types;
        types.insert(name.to_owned(), "evil".to_owned());
        folder.catalog.wordlike_types.insert(name.to_owned());
    }
    let expected = [
        json!(["equals", "https://a.example", null, null]),
        json!(["equals", "not-yes", null, null]),
        json!(["is-json", null, null, null]),
        json!(["equals", "Yes", null, null]),
    ];
    assert_eq!(assertions(&folder.plan()), expected);
    assert_eq!(folder.warnings().len(), 2, "{:?}", folder.warnings());
}

#[test]
fn the_delimiter_is_a_matter_of_the_environment() {
    let folder = folder("t.csv")
        .file("t.csv", "a;b\n1,5;2\n")
        .env("PROMPTFOO_CSV_DELIMITER", ";");
    assert_eq!(tests(&folder)[0].1, json!({"a": "1,5", "b": "2"}));
}

#[test]
fn short_and_long_rows_are_fine() {
    let folder = folder("t.csv").file("t.csv", "a,b\n1\n1,2,3\n");
    assert_eq!(tests(&folder)[0].1, json!({"a": "1"}));
    assert_eq!(tests(&folder)[1].1, json!({"a": "1", "b": "2"}));
    // A cell that is there and empty is a value, and one that isn't leaves the default.
    let config = "prompts: ['{{a}}{{b}}']\nproviders: [echo]\ntests: t.csv\n\
                  defaultTest: { vars: { b: '!' } }";
    let folder = Folder::new(config).file("t.csv", "a,b\n1\n2,\n");
    assert_eq!(folder.texts(), ["1!", "2"]);
}

#[test]
fn what_is_wrong_in_a_file_names_the_line() {
    let cases = [
        (
            "t.csv",
            "a,__expected\n1,moderation: x\n",
            "t.csv:2:1: assert[0].type: the assertion type 'moderation' is not supported yet\nhelp: there are: answer, answer-relevance, contains, contains-any, equals, is-json, javascript, latency, llm-rubric, max-score, regex, select-best, similar",
        ),
        (
            "t.csv",
            "a,__threshold\n1,x\n",
            "t.csv:2:1: threshold: must be a number, not text",
        ),
        (
            "t.csv",
            "a,a\n1,2\n",
            "t.csv:1:1: two columns have the name 'a'",
        ),
        (
            "t.csv",
            "a\n\"x\n",
            "t.csv:2:1: not valid CSV: the quote that opens here is never closed",
        ),
        ("t.csv", "", "t.csv: has no header line"),
        (
            "t.jsonl",
            "{\"vars\": {}}\n{\"vars\" 1}\n",
            "t.jsonl:2:9: not valid JSON: expected ':'",
        ),
        (
            "t.jsonl",
            "{\"vars\": {\"a\": 1}, \"threshold\": []}\n",
            "t.jsonl:1:33: threshold: must be a number, not a list",
        ),
        (
            "t.yaml",
            "- vars: { a: 1 }\n- 5\n",
            "t.yaml:2:3: [1]: must be a map with `vars`, `assert`, …, not a number",
        ),
        (
            "t.yaml",
            "hello\n",
            "t.yaml:1:1: must be a list of tests, not text",
        ),
        (
            "t.txt",
            "",
            "promptfooconfig.yaml:3:8: tests: 't.txt': tests come from CSV, XLSX, JSON, JSONL and YAML files",
        ),
    ];
    for (name, content, expected) in cases {
        assert_eq!(
            folder(name).file(name, content).problems(),
            [expected],
            "{content}"
        );
    }
}

#[test]
fn a_file_without_tests_beside_others_is_said() {
    for (name, content) in [("t.csv", "a\n"), ("t.json", "[]"), ("t.jsonl", "\n")] {
        let folder = Folder::new(&format!(
            "prompts: ['{{{{a}}}}']\nproviders: [echo]\ntests: [file://{name}, {{ vars: {{ a: 1 }} }}]\n"
        ))
        .file(name, content);
        let expected = format!("promptfooconfig.yaml:3:9: tests[0]: '{name}' has no tests");
        assert_eq!(folder.warnings(), [expected]);
        assert_eq!(folder.cases().len(), 1);
    }
}

#[test]
fn sources_that_don_t_exist_here_are_refused() {
    let at = "promptfooconfig.yaml:3:";
    let help = "code can be javascript (.js, .cjs, .mjs)";
    let cases = [
        (
            "none.csv",
            format!("{at}8: tests: 'none.csv': there is no such file"),
        ),
        (
            "file://gen.rb:make",
            format!("{at}8: tests: 'gen.rb': no plugin runs code of this kind\nhelp: {help}"),
        ),
        (
            "[{ path: gen.rb, config: {} }]",
            format!(
                "{at}17: tests[0].path: 'gen.rb': no plugin runs code of this kind\nhelp: {help}"
            ),
        ),
        (
            "s3://bucket/x",
            format!(
                "{at}8: tests: tests from 's3://' are not supported yet\nhelp: save them as CSV, JSONL or YAML"
            ),
        ),
    ];
    for (tests, expected) in cases {
        assert_eq!(folder(tests).problems(), [expected], "{tests}");
    }
}

#[test]
fn odd_columns_and_texts_warn() {
    let csv = "a,__author,__expected\n1,x,contians: y\n";
    let expected = [
        "t.csv:1:1: unknown column '__author' is ignored",
        "t.csv:2:1: 'contians' is no assertion type, so the output must equal the whole text\nhelp: did you mean 'contains'?",
    ];
    assert_eq!(folder("t.csv").file("t.csv", csv).warnings(), expected);
}

#[test]
fn a_misspelt_column_is_wrong() {
    let csv = "a,__expcted\n1,contains: y\n";
    let expected = "t.csv:1:1: unknown column '__expcted'\nhelp: did you mean '__expected'? If not, --lenient or `strict: false` in the config lets it pass";
    assert_eq!(folder("t.csv").file("t.csv", csv).problems(), [expected]);
}

#[test]
fn a_column_with_a_special_name_in_it_is_wrong() {
    let separated = |sign: &str| {
        format!(
            "if the columns are separated by '{sign}': RUNNER_CSV_DELIMITER='{sign}' reads a CSV file so; \
             else write one name into each cell of the first row"
        )
    };
    let unseen = |code: &str| {
        format!("the character U+{code} stands there, which may not be seen; remove it")
    };
    let alone = |name: &str| format!("write '{name}' and nothing else");
    for (header, column, name, help) in [
        ("x;__expected", 1, "__expected", separated(";")),
        ("a,x\t__metric", 3, "__metric", separated("\\t")),
        ("a,\"x,__Prefix\"", 4, "__prefix", separated(",")),
        (
            "a,__description;__expected",
            3,
            "__expected",
            separated(";"),
        ),
        (
            "a,__metadata:k|__threshold",
            3,
            "__threshold",
            separated("|"),
        ),
        (
            "\u{e9},\u{200b}__expected2",
            3,
            "__expected",
            unseen("200B"),
        ),
        ("a,_\u{2060}_suffix", 3, "__suffix", unseen("2060")),
        (
            "a, to __config:__expected:threshold",
            4,
            "__expected",
            alone("__expected"),
        ),
    ] {
        let csv = format!("\n{header}\n1,equals: b\n");
        let cell = header.split(',').next_back().expect("a cell");
        let cell = if header.contains('"') {
            "x,__Prefix"
        } else {
            cell.trim()
        };
        let expected = format!(
            "t.csv:2:{column}: the column '{cell}' has '{name}' in its name, and is not that column\n\
             help: {help}"
        );
        assert_eq!(folder("t.csv").file("t.csv", csv).problems(), [expected]);
    }
    let folder = folder("t.csv").file("t.csv", "my__expected,a;b\n1,2\n");
    let expected = "t.csv:1:1: the column 'my__expected' is a variable like any other\n\
                    help: did you mean '__expected'?";
    assert_eq!(folder.warnings(), [expected]);
}

#[test]
fn a_file_that_names_itself_ends() {
    let problems = folder("a.yaml").file("a.yaml", "- a.yaml\n").problems();
    assert_eq!(
        problems,
        ["a.yaml:1:3: [0]: files of tests name each other more than 8 deep"]
    );
}

#[test]
fn expectations_are_trimmed_and_saved_answers_are_not() {
    let csv = "v,__expected,__providerOutput,_expected\n1,\" Paris \",\" said \",x\n2,,,y\n";
    let folder = folder("t.csv").file("t.csv", csv);
    let plan = folder.plan();
    assert_eq!(assertions(&plan), [json!(["equals", "Paris", null, null])]);
    let outputs: Vec<Option<Value>> = plan.tests.iter().map(|test| test.output.clone()).collect();
    assert_eq!(outputs, [Some(json!(" said ")), None]);
    assert_eq!(
        folder.warnings(),
        [
            "t.csv:1:1: the column '_expected' is a variable like any other\nhelp: did you mean '__expected'?"
        ]
    );
}

#[test]
fn blanks_around_cells_belong_to_variables_and_not_to_special_columns() {
    let folder = Folder::new("prompts: ['[{{a}}][{{b}}]']\nproviders: [echo]\ntests: file://t.csv")
        .file(
            "t.csv",
            " a , b,__description, __expected\n x , y, d , equals: z\n\" q \",z ,,\n",
        );
    assert_eq!(folder.texts(), ["[ x ][ y]", "[ q ][z ]"]);
    let plan = folder.plan();
    assert_eq!(
        plan.tests.get(0).expect("a test").description.as_deref(),
        Some("d")
    );
    assert_eq!(
        plan.tests.get(0).expect("a test").assertions[0].members()[0].kind,
        "equals"
    );
}

#[test]
fn assertions_that_are_called_otherwise_are_wrong() {
    for header in [
        "__expected99999999999999999999",
        "__expected0",
        "__expected_2",
        "__Expected",
        "__EXPECTED2",
        "\u{ff3f}\u{ff3f}expected",
        "__\u{ff45}xpected",
        "--expected",
        "\u{2014}expected3",
        "#expected",
    ] {
        let csv = format!("a,{header}\n1,equals: b\n");
        let problems = folder("t.csv").file("t.csv", csv).problems();
        let expected = format!(
            "t.csv:1:3: the column '{header}' has '__expected' in its name, and is not that column"
        );
        assert_eq!(problems.len(), 1, "{header}: {problems:?}");
        assert!(problems[0].starts_with(&expected), "{header}: {problems:?}");
    }
    for fine in ["expected", "expected2", "expectedly", "what expected", "e"] {
        let csv = format!("a,{fine}\n1,b\n");
        folder("t.csv").file("t.csv", csv).plan();
    }
}

#[test]
fn names_of_columns_that_stand_below_the_first_row_are_wrong() {
    let expected = "t.csv:2:1: the names of columns stand here, and not in the first row\n\
                    help: remove what stands above them: the first row of a CSV file names its columns";
    for first in ["# note", "Table 1,,", "sep=;;"] {
        let csv = format!("{first}\nx,__expected\na,equals: b\n");
        let problems = folder("t.csv").file("t.csv", csv).problems();
        assert_eq!(problems, [expected], "{first}");
    }
    let text = "t.csv:1:1: holds NUL characters, which no text has\n\
                help: if it is UTF-16 without a byte order mark: save it as UTF-8";
    let csv = "x,__expected\na,equals: b\n".bytes().flat_map(|it| [it, 0]);
    let csv: Vec<u8> = csv.collect();
    let csv = String::from_utf8(csv).expect("NUL is a character");
    assert_eq!(folder("t.csv").file("t.csv", csv).problems(), [text]);
}

#[test]
fn a_separator_that_the_first_line_states_is_meant() {
    let csv = "sep=;\nx;__expected\na,b;equals: c\n";
    let plan = folder("t.csv").file("t.csv", csv).plan();
    let test = plan.tests.iter().next().expect("a test");
    assert_eq!(test.vars["x"], "a,b");
    assert_eq!(test.assertions.len(), 1);
    assert_eq!(test.at.line, 3);
}

#[test]
fn the_name_of_a_column_of_assertions_is_no_variable() {
    let row = r#"{"vars":{"x":"a","__expected":"equals: b"}}"#;
    let problems = folder("t.jsonl").file("t.jsonl", row).problems();
    let expected = "'__expected' is a column of CSV files, not a variable\n\
                    help: as a variable it checks nothing; write `assert` beside `vars`";
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].ends_with(expected), "{problems:?}");
}
