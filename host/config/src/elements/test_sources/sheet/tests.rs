//! Spreadsheets as programs write them, and as strangers do.

use proptest::prelude::*;
use runner_tests::Packing;
use serde_json::{Value, json};

use super::*;
use crate::fixture::Folder;

/// A zip archive of these parts; `packed`: deflated, else stored.
fn archive(parts: &[(&str, &str)], packed: bool) -> Vec<u8> {
    let parts: Vec<(&str, &[u8])> = parts
        .iter()
        .map(|(name, text)| (*name, text.as_bytes()))
        .collect();
    let packing = if packed {
        Packing::Deflated
    } else {
        Packing::Stored
    };
    runner_tests::archive(&parts, packing)
}

const BOOK: &str = r#"<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="First" sheetId="1" r:id="rId1"/><sheet name="More" sheetId="2" r:id="rId2"/></sheets></workbook>"#;
const RELATIONS: &str = r#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Target="/xl/worksheets/sheet2.xml"/></Relationships>"#;
const TEXTS: &str = "<sst><si><t>q</t></si><si><t xml:space=\"preserve\"> hi </t></si><si><r><t>ri</t></r><r><t>ch</t></r><rPh><t>x</t></rPh></si><si><t>__expected</t></si></sst>";
const STYLES: &str = r#"<styleSheet><numFmts><numFmt numFmtId="164" formatCode="[Red]&quot;day &quot;0.0"/><numFmt numFmtId="165" formatCode="yyyy\-mm"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/><xf numFmtId="164"/><xf numFmtId="165"/></cellXfs></styleSheet>"#;

/// A workbook with this first sheet, and a second one.
fn book(rows: &str, packed: bool) -> Vec<u8> {
    book_of("More", rows, packed)
}

/// One whose second sheet has this name.
fn book_of(second_name: &str, rows: &str, packed: bool) -> Vec<u8> {
    let names = BOOK.replace("More", second_name);
    let first = format!("<worksheet><sheetData>{rows}</sheetData></worksheet>");
    let second = "<worksheet><sheetData><row><c t=\"inlineStr\"><is><t>q</t></is></c></row><row><c t=\"inlineStr\"><is><t>second</t></is></c></row></sheetData></worksheet>";
    let parts = [
        ("[Content_Types].xml", "<Types/>"),
        ("xl/workbook.xml", &names),
        ("xl/_rels/workbook.xml.rels", RELATIONS),
        ("xl/sharedStrings.xml", TEXTS),
        ("xl/styles.xml", STYLES),
        ("xl/worksheets/sheet1.xml", &first),
        ("xl/worksheets/sheet2.xml", second),
    ];
    archive(&parts, packed)
}

const HEAD: &str = r#"<row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="s"><v>3</v></c></row>"#;

/// The first column of what follows the head.
fn column(cells: &str) -> Vec<String> {
    let (table, _) = table(&book(&format!("{HEAD}{cells}"), true), None).expect("a table");
    table.rows.map(|row| row.cells[0].clone()).collect()
}

#[test]
fn a_cell_whose_text_is_not_in_the_file_is_not_empty() {
    let problem = |cell: &str| {
        let rows = format!("{HEAD}<row r=\"2\">{cell}</row>");
        table(&book(&rows, true), None)
            .map(|_| ())
            .expect_err("refused")
    };
    assert_eq!(
        problem(r#"<c r="C2"><f>"contains: zzz"</f></c>"#),
        "sheet 'First', line 2, column 3: a formula whose value is not in the file; open it in a spreadsheet program and save it there"
    );
    assert_eq!(
        problem(r#"<c r="C2" t="s"><v>99</v></c>"#),
        "sheet 'First', line 2, column 3: its text is missing; the file is damaged"
    );
}

#[test]
fn a_cell_is_the_text_that_it_stands_for() {
    let cases = [
        (r#"<c t="s"><v>1</v></c>"#, "hi"),
        (r#"<c t="s"><v>2</v></c>"#, "rich"),
        (r#"<c t="s"></c><c><v>1</v></c>"#, ""),
        (r#"<c t="str"><f>A1</f><v></v></c><c><v>1</v></c>"#, ""),
        (
            r#"<c t="inlineStr"><is><t>in &amp; out</t></is></c>"#,
            "in & out",
        ),
        (r#"<c t="str"><f>A1</f><v>made</v></c>"#, "made"),
        (r#"<c t="b"><v>1</v></c>"#, "true"),
        (r#"<c t="e"><v>#N/A</v></c>"#, "#N/A"),
        ("<c><v>1.0</v></c>", "1"),
        ("<c><v>0.1</v></c>", "0.1"),
        ("<c><v>1E+21</v></c>", "1e+21"),
        (r#"<c s="3"><v>45306</v></c>"#, "45306"),
        (r#"<c s="1"><v>45306</v></c>"#, "2024-01-15"),
        (r#"<c s="2"><v>45306.5</v></c>"#, "2024-01-15T12:00:00"),
        (r#"<c s="2"><v>0.25</v></c>"#, "06:00:00"),
        (r#"<c s="4"><v>61</v></c>"#, "1900-03-01"),
        (r#"<c s="1"><v>36585</v></c>"#, "2000-02-29"),
        (r#"<c s="1"><v>1E+300</v></c>"#, "1e+300"),
    ];
    for (cell, expected) in cases {
        let filler = format!("<row>{cell}<c r=\"B2\"><v>7</v></c></row>");
        assert_eq!(column(&filler), [expected], "{cell}");
    }
}

#[test]
fn rows_and_columns_are_where_they_say_and_gaps_are_empty() {
    let cells = r#"<row r="4"><c r="C4"><v>3</v></c><c r="A4"><v>1</v></c></row><row r="9"><c r="B9"><v>2</v></c></row>"#;
    let (table, _) = table(&book(&format!("{HEAD}{cells}"), false), None).expect("a table");
    assert_eq!(table.headers, ["q", "", "__expected"]);
    let rows: Vec<(u32, Vec<String>)> = table.rows.map(|row| (row.line, row.cells)).collect();
    let text = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect();
    assert_eq!(
        rows,
        [(4, text(&["1", "", "3"])), (9, text(&["", "2", ""]))]
    );
}

#[test]
fn tests_come_from_the_sheet_that_is_named() {
    let first = format!("{HEAD}<row><c><v>5</v></c><c r=\"C2\"><v>5</v></c></row>");
    let cases = [
        ("", "5"),
        ("#More", "second"),
        ("#2", "second"),
        ("#First", "5"),
    ];
    for (sheet, expected) in cases {
        let config =
            format!("prompts: ['{{{{q}}}}']\nproviders: [echo]\ntests: 'file://t.xlsx{sheet}'");
        let folder = Folder::new(&config).file("t.xlsx", book(&first, true));
        assert_eq!(folder.texts(), [expected], "{sheet}");
        let at = &folder.plan().tests.get(0).expect("a test").at;
        assert_eq!(at.line, 2, "{sheet}");
    }
    let config = "prompts: [p]\nproviders: [echo]\ntests: 't.xlsx#None'";
    let problems = Folder::new(config)
        .file("t.xlsx", book(&first, true))
        .problems();
    assert!(
        problems[0].contains("has no sheet 'None'; there are: First, More"),
        "{problems:?}"
    );
}

/// What ends like YAML is then the sheet and not the file.
#[test]
fn a_spreadsheet_is_data_whatever_its_sheet_is_called() {
    for sheet in ["of.yaml", "b.yml", "b"] {
        let config =
            format!("prompts: ['{{{{q}}}}']\nproviders: [echo]\ntests: 'file://d/t.xlsx#{sheet}'");
        let plan = Folder::new(&config)
            .file("d/t.xlsx", book_of(sheet, HEAD, true))
            .plan();
        let test = plan.tests.get(0).expect("a test");
        let data = test.data.as_ref().expect("a row of data");
        assert_eq!(data.shown.display().to_string(), "d/t.xlsx", "{sheet}");
    }
}

#[test]
fn what_is_no_spreadsheet_is_told() {
    let bomb = format!("<worksheet>{}</worksheet>", " ".repeat(200 << 20));
    let parts = |sheet: &str| {
        let parts = [
            ("xl/workbook.xml", BOOK),
            ("xl/_rels/workbook.xml.rels", RELATIONS),
            ("xl/worksheets/sheet1.xml", sheet),
        ];
        archive(&parts, true)
    };
    let far = r#"<worksheet><row r="1"><c r="XFD1"><v>1</v></c></row></worksheet>"#;
    let cases: [(Vec<u8>, &str); 8] = [
        (b"not a zip".to_vec(), "is no spreadsheet"),
        (archive(&[("a", "b")], true), "it has no 'xl/workbook.xml'"),
        (parts("<worksheet/>"), "sheet 'First' is empty"),
        (
            parts("<worksheet>"),
            "'xl/worksheets/sheet1.xml' is damaged",
        ),
        (
            parts("<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>"),
            "is damaged",
        ),
        (
            parts(&bomb),
            "MiB when it is unpacked, which is more than a file of this size",
        ),
        (parts(far), ""),
        (book(HEAD, true)[..200].to_vec(), "is no spreadsheet"),
    ];
    for (bytes, expected) in cases {
        match table(&bytes, None) {
            Err(why) => assert!(!expected.is_empty() && why.contains(expected), "{why}"),
            Ok((table, _)) => assert_eq!((expected, table.headers.len()), ("", 16_384)),
        }
    }
}

/// Only the file's own few bytes counted, each time.
#[test]
fn what_a_sheet_unpacks_to_counts_each_time_that_it_is_named() {
    let sheet = format!("<worksheet>{}", " ".repeat(20 << 20));
    let rows = r#"<sheetData><row r="1"><c r="A1"><v>1</v></c></row></sheetData></worksheet>"#;
    let parts = [
        ("xl/workbook.xml", BOOK),
        ("xl/_rels/workbook.xml.rels", RELATIONS),
        ("xl/worksheets/sheet1.xml", &*format!("{sheet}{rows}")),
    ];
    let named = "file://t.xlsx, ".repeat(110);
    let config = format!("prompts: [p]\nproviders: [echo]\ntests: [{named}]");
    let problems = Folder::new(&config)
        .file("t.xlsx", archive(&parts, true))
        .problems();
    let told = "all files of the config together take more than 2 GiB of memory";
    assert!(problems.iter().any(|it| it.contains(told)), "{problems:?}");
}

#[test]
fn cells_are_limited_by_the_size_of_the_file() {
    use std::fmt::Write as _;
    let rows = (1..=200).fold(String::new(), |mut rows, row| {
        write!(rows, r#"<row r="{row}"><c r="XFD{row}"><v>1</v></c></row>"#).expect("a string");
        rows
    });
    let small = book(&rows, true);
    let large = book(&(rows + &" ".repeat(bounds::MAX_CELLS / 4)), false);
    for (file, most) in [(small, bounds::CELLS.base), (large, bounds::MAX_CELLS)] {
        let why = table(&file, None).err().expect("too many");
        let told: usize = why
            .split(' ')
            .find_map(|word| word.parse().ok())
            .expect("a number");
        assert!((most..most + most / 8).contains(&told), "{why}");
    }
}

#[test]
fn older_formats_are_refused_with_a_way_out() {
    let config = "prompts: [p]\nproviders: [echo]\ntests: t.xls";
    let problems = Folder::new(config).file("t.xls", "x").problems();
    assert!(
        problems[0].contains("save it as that, or as CSV"),
        "{problems:?}"
    );
}

#[test]
fn a_row_is_read_like_one_of_a_csv_file() {
    let cells = r#"<row><c t="inlineStr"><is><t>a</t></is></c><c r="C2" t="inlineStr"><is><t>contains: a</t></is></c></row>"#;
    let config = "prompts: ['{{q}}']\nproviders: [echo]\ntests: t.xlsx";
    let folder = Folder::new(config).file("t.xlsx", book(&format!("{HEAD}{cells}"), true));
    let plan = folder.plan();
    let kinds: Vec<Value> = plan
        .tests
        .get(0)
        .expect("a test")
        .assertions
        .iter()
        .flat_map(|check| check.members().to_vec())
        .map(|one| json!([one.kind, one.value]))
        .collect();
    assert_eq!(kinds, [json!(["contains", "a"])]);
    assert_eq!(
        plan.tests.get(0).expect("a test").description.as_deref(),
        Some("Row #1")
    );
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(position in 0_usize..4000, byte: u8, cut in 0_usize..4000) {
        let mut bytes = book(&format!("{HEAD}<row><c><v>5</v></c></row>"), false);
        let len = bytes.len();
        bytes[position % len] = byte;
        let _ = table(&bytes, None);
        let _ = table(&bytes[cut % len..], None);
        let _ = table(&bytes[..cut % len], None);
    }
}
