//! What a file of a stranger's can make of the memory: the peak of everything that is allocated
//! while a config is loaded and planned, against what the readers promise.
//!
//! An allocator that counts stands in for the system's, so that the numbers are the same on every
//! machine. One test alone, since all threads share the counters.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use miniz_oxide::deflate::compress_to_vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use runner_config::{Catalog, LoadRequest, load};

/// The system's allocator, with the sum of what lives.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count(size: usize) {
    let live = LIVE.fetch_add(size, Ordering::Relaxed) + size;
    PEAK.fetch_max(live, Ordering::Relaxed);
}

#[expect(unsafe_code, reason = "counts and hands everything on as it is")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both are there while one is copied to the other.
        count(size);
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(place, layout, size) }
    }
}

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// What planning takes that has nothing to do with the files.
const BASE: usize = 8 * MIB;

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

/// The same, with tests in this file.
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
            assertion_types: names("equals"),
            ..Catalog::default()
        };
        let request = LoadRequest {
            cwd: folder.path().to_owned(),
            ..LoadRequest::default()
        };
        let before = LIVE.load(Ordering::Relaxed);
        PEAK.store(before, Ordering::Relaxed);
        let planned = load(&request).and_then(|loaded| loaded.config.plan(&catalog));
        let peak = PEAK.load(Ordering::Relaxed) - before;
        let said = match planned {
            Ok((plan, _)) => format!("{} cases", plan.case_count()),
            Err(error) => error.to_string(),
        };
        (peak, said)
    }

    /// Asserts that the peak is at most `times` the size.
    fn takes(&self, name: &str, times: usize, expected: &str) {
        self.takes_at_most(name, times * self.size() + BASE, expected);
    }

    /// Asserts that the peak is at most what the tests of a plan may take that is made of this.
    fn plans(&self, name: &str) {
        let bound = (256 * MIB + 512 * self.size()).min(4 << 30) + BASE;
        self.takes_at_most(name, bound, "");
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

/// A zip archive of these parts, deflated.
fn archive(parts: &[(&str, String)]) -> Vec<u8> {
    let le = |number: usize, len: usize| number.to_le_bytes()[..len].to_vec();
    let (mut bytes, mut list) = (Vec::new(), Vec::new());
    for (name, text) in parts {
        let content = compress_to_vec(text.as_bytes(), 6);
        let sizes = [le(0, 4), le(content.len(), 4), le(text.len(), 4)].concat();
        let lengths = [le(name.len(), 2), le(0, 2)].concat();
        let head = [le(20, 2), le(0, 2), le(8, 2), le(0, 4), sizes, lengths].concat();
        let offset = le(bytes.len(), 4);
        bytes.extend([&b"PK\x03\x04"[..], &head, name.as_bytes(), &content].concat());
        list.extend(
            [
                &b"PK\x01\x02"[..],
                &le(20, 2),
                &head,
                &[0; 10],
                &offset,
                name.as_bytes(),
            ]
            .concat(),
        );
    }
    let (count, offset) = (le(parts.len(), 2), le(bytes.len(), 4));
    let end = [
        b"PK\x05\x06\0\0\0\0".to_vec(),
        count.clone(),
        count,
        le(list.len(), 4),
        offset,
        le(0, 2),
    ];
    [bytes, list, end.concat()].concat()
}

/// A workbook of one sheet with these shared texts and cells.
fn workbook(texts: &str, rows: &str) -> Input {
    let book = r#"<workbook xmlns:r="r"><sheets><sheet name="S" r:id="a"/></sheets></workbook>"#;
    let relations = r#"<Relationships><Relationship Id="a" Target="s.xml"/></Relationships>"#;
    let head = r#"<row><c t="inlineStr"><is><t>q</t></is></c></row>"#;
    let sheet = format!("<worksheet><sheetData>{head}{rows}</sheetData></worksheet>");
    let parts = [
        ("xl/workbook.xml", book.to_owned()),
        ("xl/_rels/workbook.xml.rels", relations.to_owned()),
        ("xl/sharedStrings.xml", format!("<sst>{texts}</sst>")),
        ("xl/s.xml", sheet),
    ];
    tests("t.xlsx", archive(&parts))
}

/// Files of YAML and JSON: what a value costs, and what copies values.
fn trees() {
    let flow = |value: &str| format!("[{}1]", value.repeat(MIB / value.len()));
    for value in ["1,", "{},", "[1],", "a,", "{a: 1},", "\"\","] {
        let yaml = config(&format!("x: {}", flow(value)));
        yaml.takes(&format!("YAML {value}"), 128, "1 cases");
        if value != "a," && value != "{a: 1}," {
            let json = format!(r#"[{{"vars":{{"q":{{"x":{}}}}}}}]"#, flow(value));
            tests("t.json", json).takes(&format!("JSON {value}"), 128, "1 cases");
        }
    }
    let block = "- a\n".repeat(MIB / 4);
    config(&format!("x:\n{block}")).takes("YAML, a list in lines", 128, "1 cases");
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
    config(&format!("x: {nested}")).takes("nested anchors", 8, "1 cases");
    let asked = each(60, |n| format!("*a{n}, "));
    let asked = config(&format!("x: {nested}\ny: [{asked}]"));
    asked.takes(
        "nested anchors that are asked for",
        40,
        "aliases copy more than 16 MiB",
    );
    let references = "{ $ref: '#/x' }, ".repeat(1000);
    let references = config(&format!("x: {text}\ny: [{references}]"));
    references.takes("references to a long text", 140, "brings more than 64 MiB");
}

/// Rows: what a test costs, and what multiplies it.
fn rows() {
    tests("t.csv", format!("q\n{}", ",".repeat(MIB))).takes("CSV of delimiters", 8, "0 cases");
    tests("t.csv", format!("q\n{}", "\n".repeat(MIB))).takes("CSV of line breaks", 8, "0 cases");
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
    tests("t.csv", format!("q\n{}", "a\n".repeat(MIB))).plans("CSV of many rows");
    tests("t.csv", format!("a,b,c\n{}", "1,2,3\n".repeat(MIB))).plans("CSV of rows of three");
    let lines = |line: &str| tests("t.jsonl", line.repeat(MIB / line.len()));
    lines("{\"vars\":{}}\n").plans("JSONL of empty rows");
    lines("{\"vars\":{\"q\":[1,2,3,{\"a\":{}}]}}\n").plans("JSONL of rows with lists");
    lines("{\"assert\":[{\"type\":\"equals\"}]}\n").plans("JSONL of rows with assertions");
    let named = "{ id: echo, config: { a: file://big.yaml } }, ".repeat(500);
    let named = Input {
        config: format!("prompts: [p]\nproviders: [{named}]"),
        files: vec![("big.yaml", format!("[{}1]", "1,".repeat(MIB)).into_bytes())],
    };
    let refused = "all files of the config together take more than 2 GiB";
    named.takes_at_most("a file that is named often", 3000 * MIB, refused);
    let parts = "{ vars: { q: 1 } }, ".repeat(5000);
    let scenario = config(&format!(
        "scenarios: [{{ config: [{parts}], tests: [{parts}] }}]"
    ));
    scenario.plans("a scenario");
    let many = each(1000, |n| format!("{{ type: equals, value: {n} }}, "));
    let default = config(&format!(
        "defaultTest: {{ assert: [{many}] }}\ntests: t.csv"
    ));
    let files = vec![("t.csv", format!("q\n{}", "1\n".repeat(10_000)).into_bytes())];
    Input { files, ..default }.plans("a default of many assertions");
    let many = |name: &str| each(1000, |n| format!("'{name}{n}', "));
    let columns = Input {
        config: format!("prompts: [{}]\nproviders: [{}]", many("p"), many("echo:")),
        files: Vec::new(),
    };
    columns.takes_at_most("columns", 64 * MIB, "more than 100000 columns");
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
    workbook(&shared, &cells).takes_at_most(
        "a shared text",
        300 * MIB,
        "more than 128 MiB of text",
    );
    let hints = "<rPh>".repeat(60) + &"<t>a</t>".repeat(MIB / 8) + &"</rPh>".repeat(60);
    workbook(&format!("<si>{hints}</si>"), "").takes_at_most("hints", 24 * MIB, "");
    let names = each(50_000, |n| format!(" xmlns:a{n}='b'"));
    let spaces = format!("<a{names}>{}</a>", "<a xmlns:b='c'/>".repeat(50_000));
    workbook(&spaces, "").takes_at_most("names of namespaces", 16 * MIB, "");
    let cells = r#"<row><c r="XFD1"><v>1</v></c></row>"#.repeat(100);
    let cells = cells + "<row><c/></row>";
    workbook("", &cells).takes_at_most("wide rows", 200 * MIB, "cases");
    let empty = "<si/>".repeat(4_000_000);
    workbook(&empty, "").takes_at_most("empty texts", 150 * MIB, "more than 2000000 shared texts");
    let many = "<row><c><v>1</v></c></row>".repeat(100_000);
    workbook("", &many).takes_at_most("many cells", 300 * MIB, "100000 cases");
}

/// Templates: what a tag costs.
fn templates() {
    for tag in [
        "{{a}}",
        "{{a|upper}}",
        "{%if a%}{%endif%}",
        "{{[1,2,3]}}",
        "{{a.b.c}}",
        "{#a#}",
    ] {
        let prompt = Input {
            config: format!(
                "providers: [echo]\nprompts: [\"{}\"]",
                tag.repeat(MIB / tag.len())
            ),
            files: Vec::new(),
        };
        prompt.takes(&format!("template {tag}"), 80, "1 cases");
    }
    let env = each(1000, |n| format!("  K{n}: '{}'\n", "x".repeat(1000)));
    let prompts = each(1000, |n| format!("'{{{{q}}}} {{{{env.K1}}}} {n}', "));
    let env = Input {
        config: format!("env:\n{env}prompts: [{prompts}]\nproviders: [echo]"),
        files: Vec::new(),
    };
    env.takes("a large env and many prompts", 80, "1000 cases");
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
            // A row of a few bytes is a test: `rows` looks at those.
            let times = if name.ends_with('l') || name == "t.json" {
                400
            } else {
                1500
            };
            prop_assert!(
                peak <= times * input.size() + BASE,
                "{name}: {peak} of {}",
                input.size()
            );
        }
        Ok(())
    });
    result.expect("every text keeps the bound");
}

#[test]
fn files_take_what_their_readers_promise() {
    trees();
    rows();
    spreadsheets();
    templates();
    chance();
}
