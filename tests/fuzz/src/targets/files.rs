//! Configs and data files: loading ends in a plan or an error, and a plan can be walked.

use std::path::Path;
use std::sync::LazyLock;

use runner_config::plan::Check;
use runner_config::{Catalog, LoadRequest, bounds, load};
use runner_tests::{Packing, archive, peak};

/// YAML, and what configs say in it.
pub(super) const YAML: &[&str] = &[
    "prompts: ",
    "providers: ",
    "tests: ",
    "vars: ",
    "assert: ",
    "defaultTest: ",
    "scenarios: ",
    "config: ",
    "env: ",
    "type: equals",
    "$ref: '#/",
    "file://c.yaml",
    "options: ",
    "metadata: ",
    "threshold: ",
    "limits: ",
    "prices: ",
    "<<: ",
    "&a ",
    "*a",
    "- ",
    "\n",
    "  ",
    "{",
    "}",
    "[",
    "]",
    ": ",
    ", ",
    "'",
    "\"",
    "|",
    ">-",
    "!!str ",
    "!!int ",
    "? ",
    "---\n",
    "...",
    "#",
    "%TAG ",
    "null",
    "1e9",
    "{{a}}",
    "{{ env.HOME }}",
    "\u{feff}",
    "\t",
    "\\u0041",
];

/// JSON, and what tests say in it.
pub(super) const JSON: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "\\",
    "\\u0041",
    "\\ud83d",
    "1e999",
    "-0",
    "null",
    "true",
    "\"vars\":{",
    "\"q\":",
    "\"assert\":[",
    "\"type\":\"equals\"",
    "\"value\":",
    "\"options\":{",
    "\"provider\":\"echo\"",
    "{\"vars\":{\"q\":1}}\n",
    "\n",
    "\u{feff}",
    "// a",
    ",]",
];

/// CSV, and what columns are called.
pub(super) const CSV: &[&str] = &[
    ",",
    "\"",
    "\"\"",
    "\n",
    "\r\n",
    "\r",
    "q",
    "__expected",
    "__expected2",
    "__prefix",
    "__suffix",
    "__description",
    "__metric",
    "__threshold",
    "__metadata:a[]",
    "__config:__expected:threshold",
    "equals: a",
    "contains-any: a,b",
    "similar(0.8): x",
    "file://c.yaml",
    "{{q}}",
    "\\,",
    " ",
];

/// Office Open XML.
pub(super) const XLSX: &[&str] = &[
    "<sst>",
    "</sst>",
    "<si>",
    "</si>",
    "<t>",
    "</t>",
    "<rPh>",
    "</rPh>",
    "<row>",
    "</row>",
    "<c t=\"s\">",
    "<c t=\"inlineStr\">",
    "<c s=\"1\">",
    "</c>",
    "<v>",
    "</v>",
    "<is>",
    "</is>",
    "r=\"XFD1\"",
    "r=\"1\"",
    "<xf numFmtId=\"14\"/>",
    "<cellXfs>",
    "</cellXfs>",
    "<!DOCTYPE a [",
    "]>",
    "&amp;",
    "&#x41;",
    "&a;",
    "<![CDATA[",
    "]]>",
    "<!--",
    "-->",
    "<?a",
    "?>",
    " xmlns:a=\"b\"",
    "\u{1}",
];

struct Folder(tempfile::TempDir);

/// The folder that every input is written to.
static FOLDER: LazyLock<Folder> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("c.yaml"), "{ a: 1, q: [x, y] }").expect("it can be written");
    Folder(folder)
});

fn catalog() -> Catalog {
    let names = |names: &[&str]| {
        names
            .iter()
            .map(|name| ((*name).to_owned(), "p".to_owned()))
            .collect()
    };
    Catalog {
        provider_prefixes: names(&["echo"]),
        assertion_types: names(&["equals", "contains-any", "is-json"]),
        ..Catalog::default()
    }
}

/// Loads the config with this file beside it, and does with it what a run does, for some cases.
/// What reading takes that has nothing to do with the files.
pub(super) const BASE: usize = 8 << 20;

fn loaded(config: &[u8], name: &str, content: &[u8]) -> String {
    let folder: &Path = FOLDER.0.path();
    let write = |name: &str, bytes: &[u8]| {
        std::fs::write(folder.join(name), bytes).expect("it can be written");
    };
    write("promptfooconfig.yaml", config);
    if !name.is_empty() {
        write(name, content);
    }
    let request = LoadRequest {
        cwd: folder.to_owned(),
        env: [("HOME".to_owned(), "/root".to_owned())].into(),
        ..LoadRequest::default()
    };
    let (read, peak) = peak(|| load(&request));
    let bound = bounds::TREE.and(bounds::REFERENCES).of(config.len()) + BASE;
    assert!(
        peak <= bound,
        "{peak} bytes of memory to read it, of {bound}"
    );
    let plan = match read.and_then(|(config, _)| config.plan(&catalog())) {
        Ok((plan, _)) => plan,
        Err(error) => return error.to_string(),
    };
    let mut seen = 0;
    let mut said = String::new();
    for case in plan.cases().take(20) {
        seen += 1;
        match case.render() {
            Ok(rendered) => said.push_str(if rendered.text.is_empty() { "e" } else { "t" }),
            Err(error) => said.push_str(&error.to_string()),
        }
        for check in case.test.assertions.iter() {
            if let Check::One(assertion) = check {
                let _ = assertion.render_value(&case.vars);
                let _ = assertion.render_metric(&case.vars);
            }
        }
    }
    assert_eq!(
        seen,
        plan.case_count().min(20),
        "cases are counted as they come"
    );
    said
}

fn data(name: &str, content: &[u8]) -> String {
    let config = format!("prompts: ['{{{{q}}}}']\nproviders: [echo]\ntests: {name}");
    loaded(config.as_bytes(), name, content)
}

pub(super) fn yaml(input: &[u8]) -> String {
    loaded(input, "", &[])
}

pub(super) fn json(input: &[u8]) -> String {
    data("t.json", input)
}

pub(super) fn jsonl(input: &[u8]) -> String {
    data("t.jsonl", input)
}

pub(super) fn csv(input: &[u8]) -> String {
    data("t.csv", input)
}

/// A whole archive, or the shared texts, the styles and the sheet of one, with `\0` between.
pub(super) fn xlsx(input: &[u8]) -> String {
    if input.starts_with(b"PK") {
        return data("t.xlsx", input);
    }
    let mut parts = input.split(|byte| *byte == 0);
    let mut part = || parts.next().unwrap_or_default();
    let book = br#"<workbook xmlns:r="r"><sheets><sheet name="S" r:id="a"/></sheets></workbook>"#;
    let relations = br#"<Relationships><Relationship Id="a" Target="s.xml"/></Relationships>"#;
    let parts = [
        ("xl/workbook.xml", &book[..]),
        ("xl/_rels/workbook.xml.rels", &relations[..]),
        ("xl/sharedStrings.xml", part()),
        ("xl/styles.xml", part()),
        ("xl/s.xml", part()),
    ];
    data("t.xlsx", &archive(&parts, Packing::Stored))
}
