//! One config over time: pass rate, cost and latency of each column, run by run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use maud::{Markup, html};
use runner_store::{Outcome, RunInfo, StoreError};
use runner_telling::figures;

use super::{layout, line, name, when};
use crate::address::segment;
use crate::pairing;
use crate::request::Reply;
use crate::site::{Column, Site};
use crate::sums::{Sums, Tally};

/// Runs that are shown.
const RUNS: usize = 40;
/// How long sums are made for one page; those of the other runs are made for the next.
const PATIENCE: Duration = Duration::from_secs(3);
/// Columns that are drawn: as many colours as people tell apart.
const COLUMNS: usize = 8;

/// A run, its columns, its sums.
type Point = (RunInfo, Vec<Column>, Arc<Sums>);

/// A column over time, called as in the newest run that has it.
#[derive(Debug, Default, PartialEq)]
struct Line {
    model: String,
    label: String,
    was_edited: bool,
    /// Which column of each run it is.
    columns: Vec<Option<usize>>,
}

/// The page.
pub(super) fn page(site: &Arc<Site>, id: &str) -> Result<Reply, StoreError> {
    let run = site.store.run(id)?;
    let (all, left_out, others) = runs(site, id)?;
    let lines = lines(&all.iter().map(|it| &*it.1).collect::<Vec<_>>());
    let figure = |of: &dyn Fn(&Tally) -> Option<f64>| -> Vec<Vec<Option<f64>>> {
        let of_run = |line: &Line, run: usize| {
            let column = line.columns[run]?;
            all[run].2.columns.get(column).and_then(of)
        };
        let runs = 0..all.len();
        lines
            .iter()
            .map(|line| runs.clone().map(|run| of_run(line, run)).collect())
            .collect()
    };
    let rate = figure(&|it| {
        (it.total() > 0).then(|| it.of_outcome(Outcome::Passed) as f64 / it.total() as f64)
    });
    let cost = figure(&Tally::cost_without_cache);
    let p50 = figure(&|it| it.measured_latency(50.0).map(|ms| ms as f64));
    let p95 = figure(&|it| it.measured_latency(95.0).map(|ms| ms as f64));
    let share = |it: f64| figures::share(it);
    let ms = |it: f64| figures::duration(Duration::from_millis(it as u64));
    let times: Vec<i64> = all.iter().map(|it| it.0.created_at_ms).collect();
    let at = format!("/runs/{}", segment(id));
    Ok(Reply::Page(layout(
        &format!("Trend of {}", name(&run)),
        &html! {
            p.crumbs { a rel="up" href=(at) { (name(&run)) } }
            h1 { "Trend" }
            p.hint { "Runs that are called the same, or have the same config, the newest on the right. The line of a provider goes on where its prompt was edited, and is broken where a run lacks its column. Cases that wait for a person's verdict have not passed yet. Cost is what a run would have cost without the cache, latency that of answers that did not come from it." }
            @if others > 0 { p.hint { (figures::counted(others, "run", "runs")) " of the same name with less than half or more than twice as many cases left out." } }
            @if left_out > 0 { p.hint { (figures::counted(left_out, "run is", "runs are")) " not added up yet; " a href="" { "load again" } " to go on." } }
            ol.legend { @for (idx, it) in lines.iter().enumerate() { li class={ "line-" (idx) } {
                (line(&it.model)) " · " (line(&runner_telling::visible::cut(&it.label, 60)))
                @if it.was_edited { " " small { "(its prompt was edited)" } }
            } } }
            div.charts {
                (chart("Pass rate", &rate, &times, Some(1.0), &share))
                (chart("Cost", &cost, &times, None, &figures::dollars))
                (chart("Latency p50", &p50, &times, None, &ms))
                (chart("Latency p95", &p95, &times, None, &ms))
            }
            (table(&all.iter().rev().map(|(run, _, sums)| (run, &sums.all)).collect::<Vec<_>>()))
        },
    )))
}

/// The runs that are shown, the oldest first; how many are left out for now, and how many for their size.
fn runs(site: &Site, id: &str) -> Result<(Vec<Point>, u64, u64), StoreError> {
    let began = Instant::now();
    let (mut all, mut left_out, mut others) = (Vec::new(), 0, 0);
    for run in site.store.runs_like(id, RUNS)? {
        if !site.are_of_a_size(id, &run.id)? {
            others += 1;
            continue;
        }
        if began.elapsed() > PATIENCE && site.known_sums(&run).is_none() {
            left_out += 1;
            continue;
        }
        let sums = site.sums(&run)?;
        let (columns, _) = site.head(&run.id)?;
        all.push((run, columns, sums));
    }
    all.reverse();
    Ok((all, left_out, others))
}

fn names(columns: &[Column]) -> Vec<pairing::ColumnNames<'_>> {
    columns.iter().map(Column::names).collect()
}

/// The lines through the columns of these runs, the oldest first; those of the newest come first.
fn lines(runs: &[&[Column]]) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    // How each line is called in the newest of the runs that were seen.
    let mut earliest: Vec<Column> = Vec::new();
    for (run, columns) in runs.iter().enumerate().rev() {
        let partners = pairing::columns(&names(columns), &names(&earliest));
        let mut free: Vec<bool> = vec![true; columns.len()];
        for (line, column) in partners.iter().enumerate() {
            // Another model is another line, whatever its prompt.
            let Some(column) = column.filter(|it| columns[*it].provider == earliest[line].provider)
            else {
                continue;
            };
            free[column] = false;
            lines[line].columns[run] = Some(column);
            lines[line].was_edited |= columns[column].raw != earliest[line].raw;
            earliest[line] = columns[column].clone();
        }
        for (column, it) in columns.iter().enumerate() {
            if free[column] && lines.len() < COLUMNS {
                let mut places = vec![None; runs.len()];
                places[run] = Some(column);
                lines.push(Line {
                    model: it.model(),
                    label: it.label.clone(),
                    was_edited: false,
                    columns: places,
                });
                earliest.push(it.clone());
            }
        }
    }
    lines
}

/// Where a chart's lines are drawn: to the right of the figures at its left edge, above the dates.
const LEFT: f64 = 74.0;
const RIGHT: f64 = 392.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 122.0;

/// Lines over runs, which began at these times.
fn chart(
    title: &str,
    lines: &[Vec<Option<f64>>],
    times: &[i64],
    top: Option<f64>,
    told: &dyn Fn(f64) -> String,
) -> Markup {
    let values = || lines.iter().flatten().flatten().copied();
    let most = top.unwrap_or_else(|| values().fold(0.0, f64::max));
    if values().next().is_none() {
        return html! { figure { figcaption { (title) } p.hint { "Nothing is known." } } };
    }
    let step = (RIGHT - LEFT) / times.len().saturating_sub(1).max(1) as f64;
    let x = |idx: usize| {
        if times.len() > 1 {
            LEFT + step * idx as f64
        } else {
            f64::midpoint(LEFT, RIGHT)
        }
    };
    let y = |value: f64| BOTTOM - (BOTTOM - TOP) * if most > 0.0 { value / most } else { 0.0 };
    let parts = [0.0, most / 2.0, most];
    let place = |at: f64| format!("{at:.1}");
    html! {
        figure {
            figcaption { (title) }
            svg.chart viewBox="0 0 400 144" role="img" aria-label=(title) {
                @for value in &parts[..if most > 0.0 { 3 } else { 1 }] {
                    path.axis d=(format!("M{LEFT} {0:.1}H{RIGHT}", y(*value))) {}
                    text x=(place(LEFT - 6.0)) y=(place(y(*value) + 4.0)) text-anchor="end" { (told(*value)) }
                }
                @for (idx, anchor, date) in dates(times) { text x=(place(x(idx))) y="139" text-anchor=(anchor) { (date) } }
                @for (line, values) in lines.iter().enumerate() {
                    @let points: Vec<Option<(f64, f64, f64)>> = values.iter().enumerate().map(|(idx, value)| value.map(|value| (x(idx), y(value), value))).collect();
                    g class={ "line-" (line) } {
                        // A run that lacks the column breaks the line.
                        @for part in points.split(Option::is_none).filter(|part| part.len() > 1) {
                            polyline points=(part.iter().flatten().map(|(x, y, _)| format!("{x:.1},{y:.1}")).collect::<Vec<_>>().join(" ")) {}
                        }
                        @for (x, y, value) in points.iter().flatten() { circle cx=(place(*x)) cy=(place(*y)) r="3" { title { (told(*value)) } } }
                    }
                }
            }
        }
    }
}

/// The dates below a chart, or times of day where all runs are of one day: which run, how it is set, what it says.
fn dates(times: &[i64]) -> Vec<(usize, &'static str, String)> {
    let of = |ms: i64, format: &str| {
        let at = jiff::Timestamp::from_millisecond(ms).ok()?;
        let local = at.to_zoned(jiff::tz::TimeZone::system());
        Some(local.strftime(format).to_string())
    };
    let last = times.len().saturating_sub(1);
    let day = |idx: usize| of(*times.get(idx)?, "%Y-%m-%d");
    let format = if last > 0 && day(0) == day(last) {
        "%H:%M"
    } else {
        "%Y-%m-%d"
    };
    let mut places = vec![(0, "start"), (last / 2, "middle"), (last, "end")];
    match last {
        0 => places = vec![(0, "middle")],
        1..4 => drop(places.remove(1)),
        _ => {}
    }
    let told = |(idx, anchor)| Some((idx, anchor, of(*times.get(idx)?, format)?));
    places.into_iter().filter_map(told).collect()
}

fn table(runs: &[(&RunInfo, &Tally)]) -> Markup {
    let ms = |it: Option<u64>| {
        it.map_or("–".to_owned(), |ms| {
            figures::duration(Duration::from_millis(ms))
        })
    };
    html! {
        div.scroll tabindex="0" role="region" aria-label="Runs" { table.compare {
            thead { tr { th scope="col" { "Run" } th scope="col" { "When" } th.n scope="col" { "Cases" } th.n scope="col" { "Pass rate" } th.n scope="col" { "Cost" } th.n scope="col" { "p50" } th.n scope="col" { "p95" } th scope="col" { "Compare" } } }
            tbody { @for (idx, (run, all)) in runs.iter().enumerate() { tr.row {
                td { a href={ "/runs/" (segment(&run.id)) } { (line(&run.id)) } }
                td data-name="When" { (when(run.created_at_ms)) }
                td.n data-name="Cases" { (figures::count(all.total())) }
                td.n data-name="Pass rate" { (figures::percent(all.of_outcome(Outcome::Passed), all.total())) @if let waiting @ 1.. = all.of_outcome(Outcome::Waiting) { small { (figures::count(waiting)) " waiting" } } }
                td.n data-name="Cost" { (all.cost_without_cache().map_or("–".to_owned(), figures::dollars)) }
                td.n data-name="p50" { (ms(all.measured_latency(50.0))) } td.n data-name="p95" { (ms(all.measured_latency(95.0))) }
                td { @if let Some((before, _)) = runs.get(idx + 1) { a href={ "/compare?run=" (segment(&before.id)) "&run=" (segment(&run.id)) } { "with the one before" } } }
            } } }
        } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_on_where_a_prompt_was_edited_and_breaks_where_it_lacks() {
        let column = |provider: &str, raw: &str| Column {
            provider: provider.to_owned(),
            label: raw.to_owned(),
            raw: raw.to_owned(),
            ..Column::default()
        };
        let (edited, old, other) = (column("a", "new"), column("a", "old"), column("b", "old"));
        let runs = [
            vec![old.clone(), other.clone()],
            vec![old.clone()],
            vec![other.clone(), edited.clone()],
        ];
        let found = lines(&runs.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let line = |provider: &str, label: &str, was_edited, columns: [Option<usize>; 3]| Line {
            model: provider.to_owned(),
            label: label.to_owned(),
            was_edited,
            columns: columns.into(),
        };
        assert_eq!(
            found,
            [
                line("b", "old", false, [Some(1), None, Some(0)]),
                line("a", "new", true, [Some(0), Some(0), Some(1)]),
            ]
        );
        let drawn = |values: [Option<f64>; 4]| {
            let told = |it: f64| it.to_string();
            let chart = chart("x", &[values.into()], &[0, 1, 2, 3], Some(1.0), &told).0;
            [
                chart.matches("<polyline").count(),
                chart.matches("<circle").count(),
            ]
        };
        assert_eq!(drawn([Some(1.0), Some(0.5), Some(0.5), Some(1.0)]), [1, 4]);
        assert_eq!(drawn([Some(1.0), Some(0.5), None, Some(1.0)]), [1, 3]);
        assert_eq!(drawn([Some(1.0), None, Some(0.5), Some(1.0)]), [1, 3]);
    }

    #[test]
    fn a_chart_says_when_its_runs_began() {
        let day = 24 * 60 * 60 * 1000;
        let told = |times: &[i64]| -> Vec<(usize, usize)> {
            let dates = dates(times).into_iter();
            dates.map(|(idx, _, date)| (idx, date.len())).collect()
        };
        assert_eq!(told(&[0]), [(0, 10)]);
        assert_eq!(told(&[day / 2, day / 2 + 1]), [(0, 5), (1, 5)]);
        assert_eq!(told(&[0, day, 9 * day]), [(0, 10), (2, 10)]);
        assert_eq!(
            told(&[0, day, 2 * day, 3 * day, 9 * day]),
            [(0, 10), (2, 10), (4, 10)]
        );
        assert!(told(&[]).is_empty());
    }
}
