//! The table of cases: a row per test, a column per prompt × provider.
//!
//! It fits the width it is given. Where that can't hold everything, variables give way before
//! outputs, and what is left out is said below the table, never dropped silently. Colour marks
//! the word of a verdict and nothing of an answer; the word says the same without it.

use std::fmt::Write as _;

use comfy_table::{Cell as Drawn, ContentArrangement, Table};
use runner_eval::record::Outcome;
use runner_eval::summary::ColumnHead;

use crate::figures;
use crate::findings::{Cell, Findings, Row};
use crate::visible;

/// Content of a column narrower than this is not readable.
const MIN_COLUMN: usize = 14;
/// Two spaces of padding and a border.
const COLUMN_EXTRA: usize = 3;
/// Characters of a prompt's label in a heading.
const LABEL_CHARS: usize = 80;

/// How to draw.
#[derive(Debug, Clone)]
pub(crate) struct TableView {
    /// Columns of the terminal.
    pub(crate) width: u16,
    /// Whether to colour the verdicts.
    pub(crate) color: bool,
    /// The run, for the hints below the table.
    pub(crate) run_id: String,
    /// Every case of the plan has ended: an empty cell is one that the plan doesn't have.
    pub(crate) complete: bool,
    /// Draw this column of the results only.
    pub(crate) only_column: Option<u32>,
}

/// What of a table fits.
#[derive(Debug, PartialEq, Eq)]
struct Layout {
    /// Headings of the columns before the outputs: description, variables.
    inputs: usize,
    /// Output columns.
    outputs: usize,
}

impl Layout {
    /// Fits `inputs` and `outputs` columns beside an index of `digits` into `width`.
    fn fit(width: usize, digits: usize, inputs: usize, outputs: usize) -> Self {
        let room = width.saturating_sub(1 + digits + COLUMN_EXTRA) / (MIN_COLUMN + COLUMN_EXTRA);
        // One input stays as long as there is room for any output beside it.
        let kept = inputs.min(1).min(room.saturating_sub(1));
        let outputs = outputs.min(room.saturating_sub(kept).max(1));
        Self {
            inputs: inputs.min(room.saturating_sub(outputs).max(kept)),
            outputs,
        }
    }
}

/// Renders the table and the lines below it; empty when nothing was gathered.
pub(crate) fn render(findings: &Findings, columns: &[ColumnHead], view: &TableView) -> String {
    let Some((last, _)) = findings.rows().next_back() else {
        return String::new();
    };
    let inputs = input_names(findings);
    let shown: Vec<(u32, &ColumnHead)> = (0..)
        .zip(columns)
        .filter(|(idx, _)| view.only_column.is_none_or(|only| only == *idx))
        .collect();
    let digits = last.to_string().len();
    let layout = Layout::fit(view.width.into(), digits, inputs.len(), shown.len());
    let (inputs, left_inputs) = inputs.split_at(layout.inputs);
    let (outputs, left_outputs) = shown.split_at(layout.outputs);

    let mut table = Table::new();
    table.load_style(comfy_table::presets::UTF8_FULL);
    table
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(view.width)
        .force_no_tty();
    let headings = inputs.iter().map(|input| input.heading().to_owned());
    let heads = outputs
        .iter()
        .map(|(idx, head)| column_heading(*idx, head, columns.len()));
    table.set_header(std::iter::once("#".to_owned()).chain(headings).chain(heads));
    let nothing = if view.complete { "–" } else { "not run" };
    for (test_idx, row) in findings.rows() {
        let index = std::iter::once(Drawn::new(test_idx));
        let values = inputs.iter().map(|input| Drawn::new(input.of(row)));
        let cells = outputs.iter().map(|(idx, _)| {
            row.cells
                .get(idx)
                .map_or_else(|| Drawn::new(nothing), drawn)
        });
        table.add_row(index.chain(values).chain(cells).collect::<Vec<_>>());
    }
    let mut text = table.trim_fmt();
    if view.color {
        text = coloured(&text, 1 + inputs.len());
    }
    text.push('\n');
    for line in footer(findings, left_inputs, left_outputs, view) {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// A column before the outputs.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Input {
    Description,
    Var(String),
}

impl Input {
    fn heading(&self) -> &str {
        match self {
            Self::Description => "description",
            Self::Var(name) => name,
        }
    }

    fn of<'a>(&self, row: &'a Row) -> &'a str {
        match self {
            Self::Description => row.description.as_deref().unwrap_or_default(),
            Self::Var(name) => row
                .vars
                .iter()
                .find(|(var, _)| var == name)
                .map_or("", |(_, value)| value),
        }
    }
}

/// Description, if any row has one, and every variable in the order of first use.
fn input_names(findings: &Findings) -> Vec<Input> {
    let mut inputs = Vec::new();
    if findings.rows().any(|(_, row)| row.description.is_some()) {
        inputs.push(Input::Description);
    }
    for (name, _) in findings.rows().flat_map(|(_, row)| &row.vars) {
        let input = Input::Var(name.clone());
        if !inputs.contains(&input) {
            inputs.push(input);
        }
    }
    inputs
}

/// Provider and prompt; numbered where `--column` needs a number.
fn column_heading(idx: u32, head: &ColumnHead, columns: usize) -> String {
    let provider = visible::line(&head.provider);
    let prompt = visible::cut(&head.prompt, LABEL_CHARS);
    let prompt = visible::line(&prompt);
    if columns > 1 {
        format!("({idx}) {provider}\n{prompt}")
    } else {
        format!("{provider}\n{prompt}")
    }
}

fn drawn(cell: &Cell) -> Drawn {
    let mut text = format!("[{}]", cell.word);
    // Between nothing and everything the number says more than the word.
    if cell.score > 0.0 && cell.score < 1.0 {
        // Writing to a string can't fail.
        let _ = write!(text, " ({:.2})", cell.score);
    }
    if let Some(output) = &cell.output {
        text.push(' ');
        text.push_str(output);
    }
    for reason in &cell.reasons {
        text.push_str(if cell.output.is_none() { " " } else { "\n✗ " });
        text.push_str(reason);
    }
    Drawn::new_owned(text)
}

/// The table with the verdicts in colour: the words that the first line of a row begins its cells with, from the
/// first answer on. Further lines of a cell are an answer's, which may say such a word itself.
fn coloured(table: &str, answers: usize) -> String {
    let mut is_first = false;
    let lines = table.lines().map(|line| {
        let begins = std::mem::replace(&mut is_first, line.starts_with(['╞', '├']));
        if !begins {
            return line.to_owned();
        }
        let cells = line.split('┆').enumerate();
        let cells: Vec<String> = cells
            .map(|(at, cell)| match at {
                at if at < answers => cell.to_owned(),
                _ => coloured_word(cell),
            })
            .collect();
        cells.join("┆")
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn coloured_word(cell: &str) -> String {
    for word in Outcome::ALL.map(Outcome::word) {
        let color = match word {
            _ if word == Outcome::Passed.word() => 32,
            _ if word == Outcome::Failed.word() => 31,
            _ => 33,
        };
        let word = format!("[{word}]");
        if let Some(rest) = cell.trim_start().strip_prefix(&word) {
            return format!(" \u{1b}[{color}m{word}\u{1b}[39m{rest}");
        }
    }
    cell.to_owned()
}

/// What the table leaves out.
fn footer(
    findings: &Findings,
    inputs: &[Input],
    outputs: &[(u32, &ColumnHead)],
    view: &TableView,
) -> Vec<String> {
    let run_id = &view.run_id;
    let mut lines = Vec::new();
    if !inputs.is_empty() {
        let names: Vec<&str> = inputs.iter().map(Input::heading).take(8).collect();
        let more = if inputs.len() > names.len() {
            ", …"
        } else {
            ""
        };
        lines.push(format!(
            "No room for {}: {}{more}",
            figures::counted(inputs.len() as u64, "variable", "variables"),
            names.join(", ")
        ));
    }
    if let (Some((first, _)), Some((last, _))) = (outputs.first(), outputs.last()) {
        let which = if first == last {
            format!("column {first}")
        } else {
            format!("columns {first} to {last}")
        };
        lines.push(format!(
            "No room for {which}: runner show {run_id} --column {first}"
        ));
    }
    let (cases, failing) = findings.hidden();
    if cases > 0 {
        let cases = figures::counted(cases, "more case", "more cases");
        let hint = match failing {
            0 => format!("all passed: runner show {run_id} --rows N"),
            n => format!(
                "{} did not pass: runner show {run_id} --failed",
                figures::count(n)
            ),
        };
        lines.push(format!("… {cases}, {hint}"));
    }
    lines
}

#[cfg(test)]
mod tests;
