//! Tests in CSV: each column is a variable, but for promptfoo's special ones.
//!
//! `__expected`, `__expected2`, … are assertions; `__description`, `__prefix`, `__suffix`,
//! `__metric`, `__threshold`, `__metadata:key` (`key[]` for a list) and
//! `__config:__expected2:threshold` say the rest.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use crate::elements::assertion_text::{self, Content, PROMPTFOO_TYPES};
use crate::elements::reading::Reading;
use crate::model::Position;
use crate::read::csv_rows::{self, Blanks, Row, Table};
use crate::read::node::{Key, Kind, Mark, Node};

use super::key;

mod column;

use column::ColumnMeaning;

/// Gives each test of a file, as a tree, to `each`: a row's tree is gone before the next is made.
pub(super) fn read(path: &Path, text: &str, reading: Reading<'_>, mut each: impl FnMut(Node)) {
    let with = (reading.process, reading.findings);
    if let Some(at) = text.find('\0') {
        let line = 1 + text[..at].matches('\n').count() as u32;
        let message = "holds NUL characters, which no text has";
        let help = "if it is UTF-16 without a byte order mark: save it as UTF-8";
        let at = Position::of_line(path, line);
        return reading.findings.error_help(at, message, help);
    }
    if let Some(table) = csv_rows::read(path, text, Blanks::Kept, with) {
        tests((path, text), table, reading, &mut each);
    }
}

/// Gives each test of a table, its first row the names of the columns. Of a spreadsheet there is no
/// text.
pub(super) fn tests(
    (path, text): (&Path, &str),
    table: Table<'_>,
    reading: Reading<'_>,
    each: &mut impl FnMut(Node),
) {
    let at = Position::of_line(path, 1);
    let columns: Vec<ColumnMeaning> = table
        .headers
        .iter()
        .map(|header| column::read(header, text, &at, reading))
        .collect();
    let mut known = HashSet::new();
    for header in &table.headers {
        if !header.is_empty() && !known.insert(header) {
            reading
                .findings
                .error(at, format!("two columns have the name '{header}'"));
            return;
        }
    }
    let file = File {
        path,
        columns,
        reading,
    };
    for (number, row) in (1..).zip(table.rows) {
        if reading.findings.has_stopped() {
            return;
        }
        if number <= LOOKED_AT && row.cells.iter().any(|it| column::is_name_of_assertions(it)) {
            let message = "the names of columns stand here, and not in the first row";
            let help =
                "remove what stands above them: the first row of a CSV file names its columns";
            return reading
                .findings
                .error_help(file.at(row.line), message, help);
        }
        each(file.test(number, row));
    }
}

/// Rows in which the names of columns are looked for: notes stand at the top of a file.
const LOOKED_AT: usize = 100;

/// What the name of the metric may take in all assertions of a row.
const MAX_METRICS: usize = 16 << 20;

/// What the cells of a row say.
#[derive(Default)]
struct RowWords {
    /// Fields of the test itself.
    test: Fields,
    vars: Fields,
    options: Fields,
    metadata: Fields,
    description: Option<String>,
    metric: Option<Node>,
    /// Texts of assertions, each with its number.
    expected: Vec<(u32, String)>,
    /// Thresholds of assertions, by the number of the assertion.
    thresholds: HashMap<u32, Node>,
}

impl RowWords {
    /// Blanks around a cell are a variable's own, and those of what is put around a prompt.
    fn cell(&mut self, column: &ColumnMeaning, cell: String, mark: Mark) {
        let cell = match column {
            ColumnMeaning::Variable(_)
            | ColumnMeaning::Prefix
            | ColumnMeaning::Suffix
            | ColumnMeaning::ProviderOutput => cell,
            _ => cell.trim().to_owned(),
        };
        let node = |cell| Node::text(cell, mark);
        match column {
            ColumnMeaning::Variable(name) => self.vars.push(key(name, mark, node(cell))),
            _ if cell.trim().is_empty() => {}
            ColumnMeaning::Expected(index) => self.expected.push((*index, cell)),
            ColumnMeaning::ExpectedThreshold(index) => {
                self.thresholds.entry(*index).or_insert_with(|| node(cell));
            }
            ColumnMeaning::Description => self.description = Some(cell),
            ColumnMeaning::Prefix => self.options.push(key("prefix", mark, node(cell))),
            ColumnMeaning::Suffix => self.options.push(key("suffix", mark, node(cell))),
            ColumnMeaning::Metric => self.metric = Some(node(cell)),
            ColumnMeaning::Threshold => self.test.push(key("threshold", mark, node(cell))),
            ColumnMeaning::ProviderOutput => {
                self.test.push(key("providerOutput", mark, node(cell)));
            }
            ColumnMeaning::Metadata {
                key: name,
                list: false,
            } => {
                self.metadata.push(key(name, mark, node(cell)));
            }
            ColumnMeaning::Metadata {
                key: name,
                list: true,
            } => {
                let items = unescaped_commas(&cell).into_iter().map(node).collect();
                self.metadata.push(key(name, mark, list(items, mark)));
            }
            ColumnMeaning::Nothing => {}
        }
    }
}

fn map(fields: Fields, mark: Mark) -> Node {
    Node {
        kind: Kind::Map(fields),
        mark,
    }
}

fn list(items: Vec<Node>, mark: Mark) -> Node {
    Node {
        kind: Kind::List(items),
        mark,
    }
}

struct File<'a> {
    path: &'a Path,
    columns: Vec<ColumnMeaning>,
    reading: Reading<'a>,
}

/// Fields of a tree.
type Fields = Vec<(Key, Node)>;

impl File<'_> {
    fn at(&self, line: u32) -> Position {
        Position::of_line(self.path, line)
    }

    /// The tree of a row.
    fn test(&self, number: usize, row: Row) -> Node {
        let mark = Mark {
            line: row.line,
            column: 1,
        };
        let mut said = RowWords::default();
        // A row that ends early leaves the rest unsaid, so that a thousand headers cost it nothing.
        for (column, cell) in self.columns.iter().zip(row.cells) {
            said.cell(column, cell, mark);
        }
        said.expected.sort_by_key(|(index, _)| *index);
        let metric = said.metric.as_ref().map_or(0, Node::weight);
        if metric * said.expected.len() > MAX_METRICS {
            let message = "its `__metric` stands in each of its assertions, and all of them take \
                           more than 16 MiB";
            let findings = self.reading.findings;
            findings.error_help(self.at(row.line), message, "a metric is a short name");
            said.metric = None;
        }
        let assertion = |(index, cell): &(u32, String)| {
            let threshold = said.thresholds.get(index).cloned();
            map(
                self.assertion(cell, threshold, said.metric.clone(), mark),
                mark,
            )
        };
        let assertions: Vec<Node> = said.expected.iter().map(assertion).collect();
        let description = said.description.unwrap_or_else(|| format!("Row #{number}"));
        let mut test = said.test;
        test.push(key("description", mark, Node::text(description, mark)));
        test.push(key("vars", mark, map(said.vars, mark)));
        if !assertions.is_empty() {
            test.push(key("assert", mark, list(assertions, mark)));
        }
        for (name, fields) in [("options", said.options), ("metadata", said.metadata)] {
            if !fields.is_empty() {
                test.push(key(name, mark, map(fields, mark)));
            }
        }
        map(test, mark)
    }

    /// The fields of the assertion that a cell says.
    fn assertion(
        &self,
        cell: &str,
        threshold: Option<Node>,
        metric: Option<Node>,
        mark: Mark,
    ) -> Fields {
        let catalog = self.reading.catalog;
        let wordlike = &catalog.wordlike_types;
        let served = catalog.assertion_types.keys();
        let served = served.filter(|name| !wordlike.contains(*name));
        let types = served.map(String::as_str).chain(PROMPTFOO_TYPES);
        let written = assertion_text::parse(cell, types);
        if assertion_text::names_type(cell, wordlike.iter().map(String::as_str))
            && written.kind == "equals"
        {
            self.reading.findings.warn(
                self.at(mark.line),
                "a plugin's type that is not called after the plugin is none in a cell: the output must equal the whole text",
                Some("write the assertion in the config to have it graded by the plugin".to_owned()),
            );
        }
        if let Some(meant) = &written.meant {
            let head = cell.split(':').next().unwrap_or(cell);
            let message =
                format!("'{head}' is no assertion type, so the output must equal the whole text");
            self.reading.findings.warn(
                self.at(mark.line),
                message,
                Some(format!("did you mean '{meant}'?")),
            );
        }
        let text = |text: String| Node::text(text, mark);
        let mut fields = vec![key("type", mark, text(written.kind))];
        match written.value {
            Some(Content::Text(value)) => fields.push(key("value", mark, text(value))),
            Some(Content::List(items)) => {
                let items = items.into_iter().map(text).collect();
                fields.push(key("value", mark, list(items, mark)));
            }
            None => {}
        }
        let number = |number: f64| {
            serde_json::Number::from_f64(number).map(|number| Node {
                kind: Kind::Number(number),
                mark,
            })
        };
        if let Some(threshold) = threshold.or_else(|| number(written.threshold?)) {
            fields.push(key("threshold", mark, threshold));
        }
        if let Some(metric) = metric {
            fields.push(key("metric", mark, metric));
        }
        fields
    }
}

/// Splits at commas that have no backslash before them.
fn unescaped_commas(cell: &str) -> Vec<String> {
    let mut items = vec![String::new()];
    let mut chars = cell.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek() == Some(&',') => {
                items.last_mut().expect("it is never empty").push(',');
                chars.next();
            }
            ',' => items.push(String::new()),
            c => items.last_mut().expect("it is never empty").push(c),
        }
    }
    items
        .iter()
        .map(|item| item.trim().to_owned())
        .filter(|item| !item.is_empty())
        .collect()
}
