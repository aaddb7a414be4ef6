//! The figures of a run, column by column: pass rate, score, metrics, tokens, cost, latency.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use maud::{Markup, html};
use runner_store::{MetricSum, Metrics, Outcome, RunInfo, StoreError};
use runner_telling::{apart, figures, visible};

use super::super::{bar, line, score};
use crate::address::segment;
use crate::leads::Leads;
use crate::left::StoredSummary;
use crate::repeats::Repeats;
use crate::site::{Column, LookedUp, Site};
use crate::sums::{Sums, Tally};

/// Ranges of the picture of latencies.
const BINS: usize = 24;
/// Columns and metrics that are shown.
const MOST_COLUMNS: u32 = 60;
const MOST_METRICS: u32 = 100;
/// Characters of a column's name beside its cell.
const NAME: usize = 48;

/// The figures.
pub(super) fn figures(
    site: &Arc<Site>,
    run: &RunInfo,
    columns: &[Column],
) -> Result<Markup, StoreError> {
    let sums = site.sums(run)?;
    Ok(html! { (table(&sums, columns)) (repeats(site, run)?) (metrics(site, run, columns)?) })
}

/// Whether tests that ran several times came out the same.
fn repeats(site: &Arc<Site>, run: &RunInfo) -> Result<Markup, StoreError> {
    if site.look_up(run) != Ok(LookedUp::Ready) {
        return Ok(html! {});
    }
    let repeats = site.repeats(run)?;
    let (all, columns) = &*repeats;
    let share = |it: &Repeats| figures::share(it.pass_hat);
    Ok(html! {
        @if all.tests > 0 {
            p {
                "Repeats: of " (figures::counted(all.tests, "test", "tests")) (in_columns(columns)) " " (figures::count(all.flaky)) @if all.flaky == 1 { " is" } @else { " are" } " flaky; "
                "pass^" (all.k) " " (share(all)) ", the share that passes " (all.k) " times in a row"
                @if columns.len() > 1 {
                    " (" @for (at, (column, of)) in columns.iter().enumerate() { @if at > 0 { ", " } "column " (column) ": " (share(of)) } ")"
                }
                ". " @if all.flaky > 0 { a href={ "/runs/" (segment(&run.id)) "?only=flaky#cases" } { "Show those that are flaky" } }
            }
        }
    })
}

/// Of how many columns so many tests are.
fn in_columns(columns: &[(u32, Repeats)]) -> String {
    let own = columns.first().map_or(0, |it| it.1.tests);
    match columns.len() {
        0 | 1 => String::new(),
        more if columns.iter().all(|it| it.1.tests == own) => {
            format!(" ({} in each of {more} columns)", figures::count(own))
        }
        _ => " (each column's for itself)".to_owned(),
    }
}

/// A row for each column.
pub(in crate::pages) fn table(sums: &Sums, columns: &[Column]) -> Markup {
    let tallies = sums.columns.iter().enumerate();
    let tallies: Vec<(usize, &Tally)> = tallies.take(MOST_COLUMNS as usize).collect();
    // What is nowhere takes no room.
    let some = [
        sums.all.of_outcome(Outcome::Waiting),
        sums.all.not_run(),
        sums.all.cached,
    ]
    .map(|count| count > 0);
    let [some_wait, some_open, some_cached] = some;
    html! {
        div.scroll tabindex="0" role="region" aria-label="Figures of each column" {
            table.figures {
                thead { tr {
                    th scope="col" { "Column" } th scope="col" { "Pass rate" }
                    th.n scope="col" { "Passed" } th.n scope="col" { "Failed" } @if some_wait { th.n scope="col" title="for a person's verdict" { "Waiting" } } th.n scope="col" { "Errors" } @if some_open { th.n scope="col" { "Not run" } }
                    th.n scope="col" { "Score" } th.n scope="col" { "Tokens in, out" } th.n scope="col" { "Cost" } @if some_cached { th.n scope="col" { "Cached" } }
                    th.n scope="col" { "p50" } th.n scope="col" { "p95" } th scope="col" { "Latency" }
                } }
                tbody {
                    @for (idx, tally) in &tallies {
                        (row(&html! { th scope="row" { (title(columns, *idx)) } }, tally, some))
                    }
                    @if tallies.len() > 1 { (row(&html! { th scope="row" { "All" } }, &sums.all, some)) }
                }
            }
        }
        p.hint { "Score is the mean of all cases that were run, an error being 0; a metric's is of those that were graded on it, without those whose judge failed. Tokens are the answers'. Cost is what was paid, judges included; below it stands what of it was for grading, and what the cache saved." }
        @if sums.columns.len() > MOST_COLUMNS as usize { p.hint { "The first " (MOST_COLUMNS) " of " (sums.columns.len()) " columns." } }
    }
}

/// What a column is called: its number, its provider, its prompt.
pub(in crate::pages) fn title(columns: &[Column], idx: usize) -> Markup {
    let column = columns.get(idx).cloned().unwrap_or_default();
    html! {
        span.column title=(line(&visible::cut(&column.raw, 2000))) {
            b { "(" (idx) ") " (line(&column.model())) }
            small { (line(&visible::cut(&column.label, 120))) }
        }
    }
}

/// What columns are called beside each cell, where there is no room for a head.
pub(in crate::pages) fn short_names(columns: &[Column]) -> Vec<String> {
    let whole = columns.iter().enumerate();
    let whole: Vec<String> = whole
        .map(|(idx, it)| {
            line(&format!(
                "({idx}) {} · {}",
                it.model(),
                visible::cut(&it.label, 60)
            ))
        })
        .collect();
    apart::names(&whole.iter().map(String::as_str).collect::<Vec<_>>(), NAME)
}

fn row(head: &Markup, tally: &Tally, [some_wait, some_open, some_cached]: [bool; 3]) -> Markup {
    let total = tally.total();
    let of = |outcome| tally.of_outcome(outcome);
    let share = |outcome| of(outcome) as f64 / total.max(1) as f64;
    let rate = figures::percent(of(Outcome::Passed), total);
    let shares = [
        (share(Outcome::Passed), "pass"),
        (share(Outcome::Failed), "fail"),
        (share(Outcome::Error), "error"),
    ];
    let ms = |percent| {
        tally.latency(percent).map_or("–".to_owned(), |ms| {
            figures::duration(std::time::Duration::from_millis(ms))
        })
    };
    html! {
        tr {
            (head)
            td.rate data-name="Pass rate" { (bar(&format!("{rate} passed"), &shares)) span { (rate) } }
            td.n data-name="Passed" { (figures::count(of(Outcome::Passed))) }
            td.n data-name="Failed" { (figures::count(of(Outcome::Failed))) }
            @if some_wait { td.n data-name="Waiting" { (figures::count(of(Outcome::Waiting))) } }
            td.n data-name="Errors" { (figures::count(of(Outcome::Error))) }
            @if some_open { td.n data-name="Not run" { (figures::count(tally.not_run())) } }
            td.n data-name="Score" { (score(tally.score())) }
            td.n data-name="Tokens in, out" { (figures::count(tally.input_tokens)) ", " (figures::count(tally.output_tokens)) }
            td.n data-name="Cost" { (tally.cost.map_or("–".to_owned(), figures::dollars)) @for part in tally.cost_parts() { small { (part) } } }
            @if some_cached { td.n data-name="Cached" { (figures::count(tally.cached)) } }
            td.n data-name="p50" { (ms(50.0)) }
            td.n data-name="p95" { (ms(95.0)) }
            td data-name="Latency" { (spread(tally)) }
        }
    }
}

/// How latencies spread, from the least to the most, each range longer than the one before.
fn spread(tally: &Tally) -> Markup {
    if tally.latencies.is_empty() {
        return html! { "–" };
    }
    let (least, most) = (tally.latencies.min(), tally.latencies.max());
    let label = format!("{least} to {most} ms");
    html! {
        svg.spread viewBox={ "0 0 " (BINS * 4) " 20" } role="img" aria-label=(label) {
            title { (label) }
            @for (at, share) in tally.spread(BINS).iter().enumerate() {
                rect x=(at * 4) width="3" y=(format!("{:.2}", 20.0 - share * 20.0)) height=(format!("{:.2}", share * 20.0)) {}
            }
        }
    }
}

/// A bar for each metric and column.
fn metrics(site: &Arc<Site>, run: &RunInfo, columns: &[Column]) -> Result<Markup, StoreError> {
    match site.look_up(run) {
        Ok(LookedUp::Ready) => {}
        Ok(LookedUp::Underway(done, all)) => {
            return Ok(html! {
                p.hint data-again="" { "Metrics: " (figures::count(done)) " of " (figures::count(all)) " cases are read." }
            });
        }
        Err(why) => return Ok(html! { p.hint { "Metrics can't be read: " (line(&why)) "." } }),
    }
    let metrics = named(site, run)?;
    let leads = if columns.len() > 1 {
        site.leads(run, &metrics)?
    } else {
        Arc::default()
    };
    let shown = 0..columns.len().min(MOST_COLUMNS as usize) as u32;
    let of = |sums: &BTreeMap<u32, MetricSum>| -> Vec<MeanScore> {
        let mean = |it: &MetricSum| MeanScore {
            mean: it.mean(),
            of: Some(it.scores),
            not_graded: it.not_graded,
        };
        let sums = shown.clone().map(|it| sums.get(&it).map(mean));
        sums.map(Option::unwrap_or_default).collect()
    };
    let named = metrics
        .sums
        .iter()
        .map(|(name, sums)| (name.as_str(), of(sums)));
    let named: Vec<_> = named.collect();
    Ok(metrics_table(
        columns,
        &named,
        metrics.all,
        &StoredSummary::of(site, run)?,
        &leads,
    ))
}

/// The metrics of a run whose lookup is ready.
pub(super) fn named(site: &Site, run: &RunInfo) -> Result<Arc<Metrics>, StoreError> {
    site.metrics(run, MOST_METRICS, MOST_COLUMNS)
}

/// What a column has of a metric.
#[derive(Debug, Clone, Copy, Default)]
pub struct MeanScore {
    /// The mean of its scores.
    pub mean: Option<f64>,
    /// Of how many, where that is known.
    pub of: Option<u64>,
    /// Cases that a judge failed to grade, which are not in it.
    pub not_graded: u64,
}

/// A row for each of these metrics with its means, and for each that the config works out; there are
/// `all` of the first kind.
pub(in crate::pages) fn metrics_table(
    columns: &[Column],
    named: &[(&str, Vec<MeanScore>)],
    all: u64,
    left: &StoredSummary,
    leads: &Leads,
) -> Markup {
    let derived = left.derived();
    let mut worked: Vec<&str> = derived.iter().flatten().map(|(name, _)| *name).collect();
    let mut seen = HashSet::new();
    worked.retain(|name| seen.insert(*name));
    let shown = columns.len().min(MOST_COLUMNS as usize);
    let beside = short_names(columns);
    let counts = named.iter().flat_map(|it| &it.1);
    let most = counts.filter_map(|it| it.of).max().unwrap_or_default();
    let worked_out = |name: &str, column: usize| {
        let pairs = derived.get(column)?;
        pairs
            .iter()
            .find(|it| it.0 == name)
            .map(|it| figures::number(it.1))
    };
    html! {
        @if !named.is_empty() || !worked.is_empty() {
            div.scroll tabindex="0" role="region" aria-label="Metrics" {
                table.metrics {
                    thead { tr {
                        th scope="col" { "Metric" }
                        @for column in 0..shown { th scope="col" { (title(columns, column)) } }
                    } }
                    tbody {
                        @for (name, cells) in named.iter().take(MOST_METRICS as usize) { tr {
                            th scope="row" { (line(&visible::cut(name, 200))) }
                            @let best = leads.get(*name).filter(|_| !left.wants_little(name)).map(|it| *it as usize);
                            @for (at, cell) in cells.iter().take(shown).enumerate() { td.rate data-name=[beside.get(at)] { (drawn(*cell, best == Some(at), most)) } }
                        } }
                        @for name in worked.iter().take(MOST_METRICS as usize) { tr {
                            th scope="row" { (line(&visible::cut(name, 200))) " " small { "derived" } }
                            @for column in 0..shown { td.rate data-name=[beside.get(column)] { (worked_out(name, column).unwrap_or_else(|| "–".to_owned())) } }
                        } }
                    }
                }
            }
        }
        @if named.iter().any(|it| leads.contains_key(it.0)) { p.hint { "In bold: the highest mean, where its lead over the next is more than chance (paired t-test by test, p < 0.05)." } }
        @if all > MOST_METRICS.into() { p.hint { "The first " (MOST_METRICS) " of " (figures::count(all)) " metrics." } }
    }
}

/// A mean as a bar and a number; of how many, where others are of many more, and how many are not in it.
fn drawn(cell: MeanScore, is_best: bool, most: u64) -> Markup {
    let MeanScore {
        mean,
        of,
        not_graded,
    } = cell;
    html! {
        @if let Some(mean) = mean {
            @let shown = format!("{mean:.2}");
            (bar(&shown, &[(mean.clamp(0.0, 1.0), "mark")]))
            span title=[of.map(|count| format!("mean of {}", figures::count(count)))] {
                @if is_best { strong { (shown) } } @else { (shown) }
            }
            @if let Some(few) = of.filter(|count| count * 2 < most) { " " small { "of " (figures::count(few)) } }
        } @else { "–" }
        @if not_graded > 0 { " " small { (figures::count(not_graded)) " not graded" } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_say_how_many_tests_a_column_has() {
        let of = |tests: &[u64]| {
            let columns = tests.iter().map(|tests| Repeats {
                tests: *tests,
                ..Repeats::default()
            });
            in_columns(&(0..).zip(columns).collect::<Vec<_>>())
        };
        assert_eq!(of(&[40, 40, 40]), " (40 in each of 3 columns)");
        assert_eq!(of(&[40, 39]), " (each column's for itself)");
        assert_eq!(of(&[40]), "");
    }

    #[test]
    fn what_leads_is_bold_and_a_mean_of_few_scores_says_so() {
        let drawn = |mean, of, not_graded, is_best| {
            let mean = MeanScore {
                mean,
                of,
                not_graded,
            };
            drawn(mean, is_best, 60).into_string()
        };
        let few = drawn(Some(0.75), Some(4), 0, true);
        assert!(few.contains("<strong>0.75</strong>") && few.contains("<small>of 4</small>"));
        let many = drawn(Some(0.5), Some(40), 0, false);
        assert!(!many.contains("<strong") && !many.contains("<small"));
        let none = drawn(None, Some(0), 3, false);
        assert_eq!(none, "– <small>3 not graded</small>");
    }
}
