//! A run as one page that stands alone: what the server shows of it, for a browser without a server.
//!
//! Head, figures, cells and cases are those of the server's pages. Each case is HTML in a script element of a type
//! that no browser runs; the page's own script takes it out when the case is shown. Every text in it is escaped, so
//! nothing in it can end the element; and a content security policy lets nothing run or load but our script and
//! style, by their hashes, and pictures and sounds that an answer itself holds.
//!
//! A browser can't hold a million rows, so a page has [`MAX_CASES`] cases and [`MAX_BYTES`] of them at most, those
//! that did not pass before the others, and says so; figures are always of all. One record is held at a time.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, html};
use runner_store::{Annotation, Outcome, Row, RowsByKey, RunInfo, Store, StoreError};
use runner_telling::figures;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::case::{CaseParts, content};
use super::run::{columns as of_columns, facts, matrix, over_time};
use super::{MeanScore, block, keys, line, name};
use crate::address::Address;
use crate::assets::{REPORT, SCRIPT, STYLE};
use crate::leads::Leads;
use crate::left::StoredSummary;
use crate::links::links;
use crate::record::Record;
use crate::site::{Column, Site};

/// Cases on a page: what browsers still search in an instant.
const MAX_CASES: usize = 20_000;
/// Bytes of cases on a page: what browsers still open.
const MAX_BYTES: usize = 64 << 20;
/// Bytes of one case: no row takes the room of all others.
const MAX_CASE: usize = 4 << 20;
/// Characters of one text; a longer one is cut with a sentence that says where all of it is.
const TEXT_CHARS: usize = 20_000;

/// What the writer of a page knows of a run beside the store.
#[derive(Debug, Default)]
pub struct ReportExtras<'a> {
    /// The line of its head by which a page of ours is known again.
    pub mark: &'a str,
    /// Named metrics, each with what every column has of it.
    pub metrics: Vec<(&'a str, Vec<MeanScore>)>,
    /// What else there is to say of the run.
    pub tables: Vec<TextTable>,
}

/// A table of texts.
#[derive(Debug)]
pub struct TextTable {
    /// Names of its columns.
    pub head: Vec<&'static str>,
    /// Its rows, each as long as the head.
    pub rows: Vec<Vec<String>>,
}

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The page could not be written.
    #[error(transparent)]
    Write(#[from] io::Error),
}

/// Writes the page of a run.
///
/// # Errors
/// [`ReportError`].
pub fn report(
    store: Store,
    id: &str,
    extras: &ReportExtras<'_>,
    out: &mut dyn Write,
) -> Result<(), ReportError> {
    let run = store.run(id)?;
    let site = Arc::new(Site::new(store));
    let (columns, _) = site.head(id)?;
    writeln!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
         {}\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n{}\n<style>{STYLE}</style>\n</head>",
        policy(),
        extras.mark,
        html! { title { (name(&run)) } }.0
    )?;
    let page = Page {
        rows: site.store.rows_by_key(id)?,
        said: said(&site, id)?,
        names: of_columns::short_names(&columns),
        site,
        run,
        columns,
    };
    let (chosen, tests, all) = page.choose()?;
    let head = page.head(extras)?;
    writeln!(out, "<body>\n{}", links(&head.0, &|_| None))?;
    let shown = page.cases(&chosen, out)?;
    let left_out = all.saturating_sub(shown);
    let data = json!({ "columns": page.columns.len(), "tests": tests, "leftOut": left_out > 0 });
    writeln!(
        out,
        "<script type=\"application/json\" id=\"data\">\n{data}\n</script>"
    )?;
    if left_out > 0 {
        writeln!(out, "{}", page.left_out(shown, left_out).0)?;
    }
    writeln!(
        out,
        "<script>{SCRIPT}</script>\n<script>{REPORT}</script>\n</body>\n</html>"
    )?;
    Ok(())
}

/// What the page may do: run these scripts, wear this style, and nothing else.
fn policy() -> String {
    let hash = |content: &str| STANDARD.encode(Sha256::digest(content.as_bytes()));
    format!(
        "default-src 'none'; script-src 'sha256-{}' 'sha256-{}'; style-src 'sha256-{}'; img-src data:; media-src data:; \
         base-uri 'none'; form-action 'none'",
        hash(SCRIPT),
        hash(REPORT),
        hash(STYLE)
    )
}

fn said(site: &Site, id: &str) -> Result<HashMap<String, Annotation>, StoreError> {
    let said = site.store.annotations(id)?.into_iter();
    Ok(said.map(|it| (it.row_id, it.annotation)).collect())
}

/// Test and column of a case.
type Place = (u32, u32);

struct Page {
    site: Arc<Site>,
    run: RunInfo,
    columns: Vec<Column>,
    names: Vec<String>,
    said: HashMap<String, Annotation>,
    rows: RowsByKey,
}

impl Page {
    /// The cases that the page has room for, those that did not pass first; how many tests and cases there are.
    fn choose(&self) -> Result<(Vec<Place>, u64, u64), StoreError> {
        let (mut others, mut passed) = (Vec::new(), Vec::new());
        let (mut tests, mut all, mut last) = (0, 0, None);
        for figure in self.site.store.figures(&self.run.id)? {
            let figure = figure?;
            all += 1;
            if last.replace(figure.test_idx) != Some(figure.test_idx) {
                tests += 1;
            }
            let of = match figure.outcome {
                Outcome::Passed => &mut passed,
                _ => &mut others,
            };
            if of.len() < MAX_CASES {
                of.push((figure.test_idx, figure.prompt_idx));
            }
        }
        others.extend(passed);
        others.truncate(MAX_CASES);
        Ok((others, tests, all))
    }

    /// What stands before the cases.
    fn head(&self, extras: &ReportExtras<'_>) -> Result<Markup, StoreError> {
        let (site, run, columns) = (&self.site, &self.run, &self.columns);
        let sums = site.sums(run)?;
        let left = StoredSummary::of(site, run)?;
        let note = site.store.run_note(&run.id)?;
        let shown: Vec<u32> = (0..columns.len() as u32).collect();
        Ok(html! {
            header.top { span.brand { "runner" } span.keys { kbd { "?" } " keys" } }
            main #main {
                div #run {
                    header.run {
                        h1 { (name(run)) }
                        (facts(&left, run, site.planned(&run.id)?, Some(&sums)))
                        @if let Some(note) = &note { p.note { (block(note)) } }
                    }
                    (over_time(site, run)?)
                    section aria-label="Figures" #figures { (of_columns::table(&sums, columns)) (metrics(columns, &left, extras)) }
                    @for table in &extras.tables { (texts(table)) }
                    noscript { p.note { "The table of cases needs JavaScript, which is switched off. Figures are above." } }
                    (controls())
                    section #cases aria-label="Cases" {
                        p.count role="status" #count {}
                        p.note #left-out hidden {}
                        div.scroll.tall tabindex="0" role="region" aria-label="Tests and answers" {
                            table.matrix.many[columns.len() > 3] { thead { (matrix::head(columns, &shown, Some(&sums), &[])) } tbody #tests {} }
                        }
                        p.hint { "Tests and columns are counted from 0." }
                        nav.pages #pages aria-label="Pages" {}
                    }
                }
                div #case hidden { p.crumbs { a rel="up" href="#" { (name(run)) } } div #one {} }
            }
            (keys(false))
        })
    }

    /// Writes the cases; gives how many had room.
    fn cases(&self, chosen: &[Place], out: &mut dyn Write) -> Result<u64, ReportError> {
        let (mut count, mut bytes) = (0, 0);
        let mut begun = HashSet::new();
        for (test, column) in chosen {
            let Some(row) = self.rows.row(*test, *column)? else {
                continue;
            };
            let case = self.case(&row, !begun.contains(test));
            if case.len() > MAX_CASE || bytes + case.len() > MAX_BYTES {
                continue;
            }
            bytes += case.len();
            begun.insert(*test);
            writeln!(out, "{case}")?;
            count += 1;
        }
        Ok(count)
    }

    /// One case in an element of its own: its cell, before it the test's if it `begins` one, and its page.
    fn case(&self, row: &Row, begins: bool) -> String {
        let (test, column) = (row.test_idx, row.prompt_idx);
        let show = format!(
            "runner show {} --test {test} --column {column}",
            self.run.id
        );
        let record = Record::read_cut(&row.record_json, TEXT_CHARS, &format!("… cut: {show}"));
        let said = self.said.get(&row.row_id);
        let link = format!("#{test}-{column}");
        let name = self.names.get(column as usize);
        let cell = matrix::cell(&link, row, &record, name, said, &Address::default());
        let people = html! { @if let Some(said) = said { section aria-label="What people say" { h2 { "What people say" } (matrix::by_people(said)) } } };
        let page = content(&CaseParts {
            columns: &self.columns,
            row,
            record: &record,
            ways: html! { nav.pages aria-label="Cases" {} },
            people,
            more: html! { section aria-label="Commands" { h2 { "In a terminal" } pre { (line(&show)) } } },
        });
        let made = html! {
            table { tbody { tr { @if begins { td.about { (matrix::test_head(&record)) } } (cell) } } }
            div.one { (page) }
        };
        let word = row.outcome.word();
        let answer = Sha256::digest(record.answer());
        let answer = u32::from_be_bytes([answer[0], answer[1], answer[2], answer[3]]);
        format!(
            "<script type=\"text/html\" data-test=\"{test}\" data-column=\"{column}\" data-word=\"{word}\" data-answer=\"{answer}\">{}</script>",
            made.0
        )
    }

    fn left_out(&self, shown: u64, rest: u64) -> Markup {
        let (shown, rest) = (figures::count(shown), figures::count(rest));
        let id = line(&self.run.id);
        html! {
            template #says-left-out {
                "This page has " (shown) " cases, first of all those that did not pass; " (rest) " more are left out, since a browser \
                 can't hold them. Figures are of all cases. The whole, as a folder of pages or as a file: "
                code { "runner export " (id) " --static DIR" } ", " code { "runner export " (id) " -o results.jsonl" }
            }
        }
    }
}

/// The means of named metrics, and what the config works out.
fn metrics(columns: &[Column], left: &StoredSummary, extras: &ReportExtras<'_>) -> Markup {
    let derived = left.derived();
    let is_derived = |name: &str| derived.iter().flatten().any(|it| it.0 == name);
    let named = extras.metrics.iter().filter(|it| !is_derived(it.0));
    let named: Vec<_> = named.cloned().collect();
    of_columns::metrics_table(columns, &named, named.len() as u64, left, &Leads::new())
}

fn texts(table: &TextTable) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="More of the run" {
            table {
                thead { tr { @for name in &table.head { th scope="col" { (name) } } } }
                tbody { @for row in &table.rows { tr { @for cell in row { td { (line(cell)) } } } } }
            }
        }
    }
}

/// What cases are picked by.
fn controls() -> Markup {
    let verdicts = [
        ("", "all tests"),
        ("not-passed", "not passed"),
        ("PASS", "passed"),
        ("FAIL", "failed"),
        ("WAITS", "waiting for a person"),
        ("ERROR", "errors"),
        ("BUDGET", "kept back by a budget"),
        ("STOPPED", "stopped"),
        ("different", "columns differ"),
    ];
    html! {
        form.filters #controls role="search" {
            label { span { "Show" } select #verdict { @for (value, told) in verdicts { option value=(value) { (told) } } } }
            label.wide { span { "Search" } input #search type="search" autocomplete="off" placeholder="answers, variables, reasons (press /)"; }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scripts_ask_for_nothing_and_make_no_markup_of_texts() {
        for word in [
            "http:",
            "https:",
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "import(",
            "import ",
            "fetch(",
        ] {
            assert!(!REPORT.contains(word), "{word} in the script");
        }
        for content in [SCRIPT, REPORT, STYLE] {
            assert!(!content.contains("</script") && !content.contains("</style"));
            assert!(!content.contains("<!--") && !content.contains("url("));
        }
    }
}
