//! What a file of a stranger's can make of the memory: the peak of everything that is allocated
//! while a config is loaded and planned, against what the readers promise.
//!
//! An allocator that counts stands in for the system's, so that the numbers are the same on every
//! machine. One test alone, since all threads share the counters.

mod expressions;

use std::fmt::Write as _;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use runner_config::bounds::{self, Bound};
use runner_config::{Catalog, LoadRequest, load};
use runner_tests::{Counting, Packing, archive};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// What planning takes that has nothing to do with the files.
const BASE: usize = 8 * MIB;

/// The bound of trees where nothing in them is copied.
const TREE: Bound = multiple(bounds::TREE.times);

/// What rows of one form take, however short they are.
const ROWS: Bound = multiple(bounds::TESTS.times);

/// A spreadsheet: four times what may be unpacked, and a hundred bytes for each cell.
const SPREADSHEET: Bound = Bound {
    times: 1056,
    base: 120 * MIB,
};

/// And of a file of any size.
const MAX_SPREADSHEET: usize = 500_000_000;

const fn multiple(times: usize) -> Bound {
    Bound { times, base: 0 }
}

/// A config with its files.
struct Input {
    config: String,
    files: Vec<(&'static str, Vec<u8>)>,
}

/// A config of one prompt and one provider with this below.
fn config(more: &str) -> Input {
    Input {
        config: format!("prompts: ['{{{{q}}}}']\nproviders: [echo]\n{more}"),
        files: Vec::new(),
    }
}

/// A config of one prompt and one provider, with tests in this file.
fn tests(name: &'static str, content: impl Into<Vec<u8>>) -> Input {
    Input {
        files: vec![(name, content.into())],
        ..config(&format!("tests: {name}"))
    }
}

impl Input {
    /// The size of everything in it.
    fn size(&self) -> usize {
        self.config.len()
            + self
                .files
                .iter()
                .map(|(_, bytes)| bytes.len())
                .sum::<usize>()
    }

    /// The peak while it is loaded and planned, and what is said.
    fn peak(&self) -> (usize, String) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |name: &str, bytes: &[u8]| {
            std::fs::write(folder.path().join(name), bytes).expect("it can be written");
        };
        write("promptfooconfig.yaml", self.config.as_bytes());
        for (name, bytes) in &self.files {
            write(name, bytes);
        }
        let names = |name: &str| [(name.to_owned(), "p".to_owned())].into();
        let catalog = Catalog {
            provider_prefixes: names("echo"),
            assertion_types: ["equals", "answer"]
                .map(|name| (name.to_owned(), "p".to_owned()))
                .into(),
            script_languages: [("javascript".to_owned(), vec!["js".to_owned()])].into(),
            ..Catalog::default()
        };
        let request = LoadRequest {
            cwd: folder.path().to_owned(),
            ..LoadRequest::default()
        };
        let plan = || load(&request).and_then(|(config, _)| config.plan(&catalog));
        let (planned, peak) = runner_tests::peak(plan);
        let said = match planned {
            Ok((plan, _)) => format!("{} cases", plan.case_count()),
            Err(error) => error.to_string(),
        };
        (peak, said)
    }

    /// Asserts that the peak is within a bound.
    fn takes(&self, name: &str, bound: Bound, expected: &str) {
        self.takes_at_most(name, bound.of(self.size()) + BASE, expected);
    }

    /// Asserts that the peak is at most what the tests of a plan may take that is made of this.
    fn plans(&self, name: &str) {
        let bound = bounds::TESTS.of(self.size()).min(bounds::MAX_TESTS);
        self.takes_at_most(name, bound + BASE, "");
    }

    /// Asserts that the peak is at most what a spreadsheet may take, with the tests of a few rows.
    fn reads(&self, name: &str, expected: &str) {
        let bound = SPREADSHEET.of(self.size()).min(MAX_SPREADSHEET);
        self.takes_at_most(name, bound + BASE, expected);
    }

    fn takes_at_most(&self, name: &str, bound: usize, expected: &str) {
        let (peak, said) = self.peak();
        let size = self.size();
        println!(
            "{name}: {} KiB of {} KiB, {} times: {said:.80}",
            peak / KIB,
            size / KIB,
            peak / size
        );
        assert!(peak <= bound, "{name}: {peak} bytes of {bound}");
        assert!(said.contains(expected), "{name}: {said:.200}");
    }
}

/// The texts of so many numbers, one after the other.
fn each(count: usize, text: impl Fn(usize) -> String) -> String {
    (0..count).map(text).collect::<Vec<_>>().concat()
}

/// A workbook of one sheet with these shared texts and cells.
fn workbook(texts: &str, rows: &str) -> Input {
    let book = r#"<workbook xmlns:r="r"><sheets><sheet name="S" r:id="a"/></sheets></workbook>"#;
    let relations = r#"<Relationships><Relationship Id="a" Target="s.xml"/></Relationships>"#;
    let head = r#"<row><c t="inlineStr"><is><t>q</t></is></c></row>"#;
    let sheet = format!("<worksheet><sheetData>{head}{rows}</sheetData></worksheet>");
    let texts = format!("<sst>{texts}</sst>");
    let parts = [
        ("xl/workbook.xml", book),
        ("xl/_rels/workbook.xml.rels", relations),
        ("xl/sharedStrings.xml", &texts),
        ("xl/s.xml", &sheet),
    ];
    let parts = parts.map(|(name, text)| (name, text.as_bytes()));
    tests("t.xlsx", archive(&parts, Packing::Deflated))
}

/// Files of YAML and JSON: what a value costs, and what copies values.
fn trees() {
    let flow = |value: &str| format!("[{}1]", value.repeat(MIB / value.len()));
    for value in ["1,", "{},", "[1],", "a,", "{a: 1},", "\"\","] {
        let yaml = config(&format!("x: {}", flow(value)));
        yaml.takes(&format!("YAML {value}"), TREE, "1 cases");
        if value != "a," && value != "{a: 1}," {
            let json = format!(r#"[{{"vars":{{"q":{{"x":{}}}}}}}]"#, flow(value));
            tests("t.json", json).takes(&format!("JSON {value}"), TREE, "1 cases");
        }
    }
    for value in ["a,", ":,", "\"\",", "{a: b},"] {
        let list = tests("t.yaml", format!("- {}", flow(value)));
        let name = format!("YAML {value} where a key may stand");
        list.takes(&name, bounds::TREE, "more than 200000 commas");
    }
    config(&format!("x: {}", flow(":,"))).takes("YAML :,", TREE, "more maps and lists than text");
    let json = format!(r#"[{{"vars":{{"q":{{"x":{}}}}}}}]"#, flow("1,"));
    tests("t.yaml", json).takes("JSON as YAML", TREE, "1 cases");
    let block = "- a\n".repeat(MIB / 4);
    config(&format!("x:\n{block}")).takes("YAML, a list in lines", TREE, "1 cases");
    let too_many = config(&format!("x: {}", flow("1,").repeat(9).replace("][", ",")));
    too_many.takes_at_most(
        "YAML of too many values",
        1200 * MIB,
        "more than 4000000 values",
    );
    let text = "x".repeat(MIB);
    let anchors: String = (0..60).fold(String::new(), |mut all, n| {
        write!(all, "&a{n} [").expect("a string");
        all
    });
    let nested = format!("{anchors}{text}{}", "]".repeat(60));
    config(&format!("x: {nested}")).takes("nested anchors", multiple(8), "1 cases");
    let asked = each(60, |n| format!("*a{n}, "));
    let asked = config(&format!("x: {nested}\ny: [{asked}]"));
    asked.takes(
        "nested anchors that are asked for",
        bounds::TREE,
        "aliases copy more than 16 MiB",
    );
    let references = "{ $ref: '#/x' }, ".repeat(1000);
    let references = config(&format!("x: {text}\ny: [{references}]"));
    references.takes(
        "references to a long text",
        TREE.and(bounds::REFERENCES),
        "brings more than 64 MiB",
    );
}

/// Rows: what a test costs.
fn rows() {
    tests("t.csv", format!("q\n{}", ",".repeat(MIB))).takes(
        "CSV of delimiters",
        multiple(8),
        "0 cases",
    );
    tests("t.csv", format!("q\n{}", "\n".repeat(MIB))).takes(
        "CSV of line breaks",
        multiple(8),
        "0 cases",
    );
    let header = (0..4000).fold("q".to_owned(), |mut all, n| {
        write!(all, ",v{n}").expect("a string");
        all
    });
    let wide = tests("t.csv", format!("{header}\n{}", "a\n".repeat(10_000)));
    wide.takes_at_most(
        "CSV of many headers and short rows",
        32 * MIB,
        "10000 cases",
    );
    let row = format!("a{}\n", ",".repeat(4000));
    tests("t.csv", format!("{header}\n{}", row.repeat(1000))).plans("CSV of many cells");
    tests("t.csv", format!("q\n{}", "a\n".repeat(MIB))).takes(
        "CSV of many rows",
        ROWS,
        "1048576 cases",
    );
    tests("t.csv", format!("a,b,c\n{}", "1,2,3\n".repeat(MIB))).takes(
        "CSV of rows of three",
        ROWS,
        "1048576 cases",
    );
    let asserted = format!("q,__expected\n{}", "1,2\n3,\n".repeat(MIB / 4));
    tests("t.csv", asserted).takes("CSV of rows with assertions", ROWS, "524288 cases");
    let lines = |line: &str| tests("t.jsonl", line.repeat(MIB / line.len()));
    lines("{\"vars\":{}}\n").takes("JSONL of empty rows", ROWS, "cases");
    lines("{\"vars\":{\"q\":[1,2,3,{\"a\":{}}]}}\n").takes(
        "JSONL of rows with lists",
        ROWS,
        "cases",
    );
    lines("{\"assert\":[{\"type\":\"equals\"}]}\n").takes(
        "JSONL of rows with assertions",
        ROWS,
        "cases",
    );
}

/// What multiplies tests, files and columns.
fn multiplied() {
    let named = "{ id: echo, config: { a: file://big.yaml } }, ".repeat(500);
    let named = Input {
        config: format!("prompts: [p]\nproviders: [{named}]"),
        files: vec![("big.yaml", format!("[{}1]", "1,".repeat(MIB)).into_bytes())],
    };
    let refused = "all files of the config together take more than 2 GiB";
    named.takes_at_most("a file that is named often", 3000 * MIB, refused);
    let scenario = |tests: &str| {
        let parts = "{ vars: { q: 1 } }, ".repeat(1000);
        config(&format!(
            "scenarios: [{{ config: [{parts}], tests: [{tests}] }}]"
        ))
    };
    let alike = "{ vars: { a: 1 } }, ".repeat(1000);
    scenario(&alike).takes_at_most("a scenario", 128 * MIB, "1000000 cases");
    let unlike = each(1000, |n| format!("{{ vars: {{ a{n}: 1 }} }}, "));
    scenario(&unlike).plans("a scenario of tests that are unlike");
    let many = each(1000, |n| format!("{{ type: equals, value: {n} }}, "));
    let default = config(&format!(
        "defaultTest: {{ assert: [{many}] }}\ntests: t.csv"
    ));
    let files = vec![("t.csv", format!("q\n{}", "1\n".repeat(1000)).into_bytes())];
    Input { files, ..default }.takes_at_most(
        "a default of many assertions",
        16 * MIB,
        "1000 cases",
    );
    from_one_file();
    questions();
    prompts();
    let many = |name: &str| each(1000, |n| format!("'{name}{n}', "));
    let columns = Input {
        config: format!("prompts: [{}]\nproviders: [{}]", many("p"), many("echo:")),
        files: Vec::new(),
    };
    columns.takes_at_most("columns", 64 * MIB, "more than 100000 columns");
}

/// Questions that are unlike, each with all assertions of a default.
fn questions() {
    let many = each(1000, |n| format!("{{ type: equals, value: {n} }}, "));
    let answers = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>();
    let asked = each(1000, |n| {
        let answers = answers(n % 100 + 1).join("', '");
        format!("- {{ question: a, answers: ['{answers}'], correct_answers: ['0'] }}\n")
    });
    let task = "{ id: t, type: question_eval, provider: echo, questions_file: q.yaml }";
    let input = Input {
        config: format!("defaultTest: {{ assert: [{many}] }}\ntasks: [{task}]"),
        files: vec![(
            "q.yaml",
            format!("version: 1\nquestions:\n{asked}").into_bytes(),
        )],
    };
    input.plans("questions that are unlike");
}

/// Files that many prompts name.
fn prompts() {
    let named = |file: &str, count| {
        each(count, |n| {
            format!("{{ raw: 'file://{file}', label: 'p{n}' }}, ")
        })
    };
    let with_file = |prompts: String, name, text: String| Input {
        config: format!("providers: [echo]\nprompts: [{prompts}]\ntests: [{{ vars: {{ q: 1 }} }}]"),
        files: vec![(name, text.into_bytes())],
    };
    let code = format!("module.exports = () => 'a';\n//{}", "x".repeat(MIB));
    let code = with_file(named("p.js", 2000), "p.js", code);
    let refused = "the prompts take more than 512 MiB";
    code.takes_at_most("a file of code in many prompts", 640 * MIB, refused);
    let tags = with_file(named("p.txt", 200), "p.txt", "{{q}}".repeat(MIB / 5));
    tags.takes_at_most("templates of one file", 1200 * MIB, refused);
    let long = with_file(named("p.txt", 140), "p.txt", "x".repeat(MIB));
    let refused = "the prompts and labels of all columns together take more than 128 MiB";
    long.takes_at_most("long prompts of many columns", 320 * MIB, refused);
}

/// What copies a file into assertions.
fn from_one_file() {
    let refused = "take more than 32 MiB";
    let with_file = |input: Input| Input {
        files: vec![("big.txt", "x".repeat(MIB).into_bytes())],
        ..input
    };
    let named = |times: usize| "{ type: equals, value: file://big.txt }, ".repeat(times);
    let list = format!("value: [{}]", "file://big.txt, ".repeat(1000));
    for assertions in [named(1000), format!("{{ type: equals, {list} }}")] {
        let test = with_file(config(&format!("tests: [{{ assert: [{assertions}] }}]")));
        test.takes_at_most("a file in many assertions", 96 * MIB, refused);
    }
    let default = format!("defaultTest: {{ assert: [{}] }}", named(30));
    let test = format!("{{ vars: {{ q: 1 }}, assert: [{}] }}, ", named(30)).repeat(30);
    let default = with_file(config(&format!("{default}\ntests: [{test}]")));
    default.plans("a file in a default and in tests");
    let part = format!("{{ assert: [{}] }}, ", named(30)).repeat(30);
    let parts = with_file(config(&format!(
        "scenarios: [{{ config: [{part}], tests: [{{ vars: {{ q: 1 }} }}] }}]"
    )));
    parts.plans("a file in the parts of a scenario");
}

/// Spreadsheets: what nests, what is shared, what is wide.
fn spreadsheets() {
    let text = "x".repeat(MIB);
    let nested = format!("{}<t>{text}</t>{}", "<si>".repeat(50), "</si>".repeat(50));
    workbook(&nested, "<row><c t=\"s\"><v>0</v></c></row>").takes_at_most(
        "nested texts",
        16 * MIB,
        "1 cases",
    );
    let deep = format!(
        "{}<t>{text}</t>{}",
        "<si>".repeat(12_000),
        "</si>".repeat(12_000)
    );
    workbook(&deep, "").takes_at_most("deeply nested texts", 16 * MIB, "nest deeper than 64");
    let shared = format!("<si><t>{text}</t></si>");
    let cells = "<row><c t=\"s\"><v>0</v></c></row>".repeat(2000);
    workbook(&shared, &cells).reads("a shared text", "MiB of text, which is more");
    let hints = "<rPh>".repeat(60) + &"<t>a</t>".repeat(MIB / 8) + &"</rPh>".repeat(60);
    workbook(&format!("<si>{hints}</si>"), "").takes_at_most("hints", 24 * MIB, "");
    let names = each(50_000, |n| format!(" xmlns:a{n}='b'"));
    let spaces = format!("<a{names}>{}</a>", "<a xmlns:b='c'/>".repeat(50_000));
    workbook(&spaces, "").takes_at_most("names of namespaces", 16 * MIB, "");
    let cells = r#"<row><c r="XFD1"><v>1</v></c></row>"#.repeat(100);
    let cells = cells + "<row><c/></row>";
    workbook("", &cells).reads("wide rows", "cells, which is more");
    let empty = "<si/>".repeat(4_000_000);
    workbook(&empty, "").reads("empty texts", "shared texts, which is more");
    let blank = " ".repeat(100 * MIB);
    workbook(&blank, "").reads(
        "much that is packed well",
        "when it is unpacked, which is more",
    );
    let many = "<row><c><v>1</v></c></row>".repeat(100_000);
    workbook("", &many).takes_at_most("many cells", 300 * MIB, "100000 cases");
}

/// Texts of no plan at all, some of them long.
fn chance() {
    let words = || {
        let word = prop::sample::select(vec![
            "a",
            "1",
            ",",
            ": ",
            "[",
            "]",
            "{",
            "}",
            "\n",
            "- ",
            "&a ",
            "*a",
            "\"",
            "'",
            "\\",
            "|",
            "<<: ",
            "#",
            "  ",
            "? ",
            "\"a\":",
            "!!str ",
            "%",
            "{{a}}",
            "{% if a %}",
            "{% endif %}",
            "---\n",
            "\u{e9}",
            "q",
            "null",
            "1e9",
        ]);
        prop::collection::vec(word, 0..200).prop_map(|words| words.concat())
    };
    let text = (words(), words(), 1..2000_usize);
    let mut runner = TestRunner::new(Config::with_cases(100));
    let result = runner.run(&text, |(start, middle, times)| {
        let text = format!("{start}{}", middle.repeat(times));
        for name in ["t.yaml", "t.json", "t.jsonl", "t.csv"] {
            let input = tests(name, text.clone());
            let (peak, _) = input.peak();
            let size = input.size();
            // What aliases copy is far below what they may.
            let bound = bounds::TREE.and(multiple(bounds::TESTS.times)).of(size);
            prop_assert!(peak <= bound, "{name}: {peak} of {size}");
        }
        Ok(())
    });
    result.expect("every text keeps the bound");
}

#[test]
fn files_take_what_their_readers_promise() {
    trees();
    rows();
    multiplied();
    spreadsheets();
    expressions::templates();
    expressions::made();
    chance();
}
