//! The sums of a comparison: the pass rate of each pair of columns, then score, cost, latency and every metric,
//! each with what its change says.

use std::sync::Arc;
use std::time::Duration;

use maud::{Markup, html};
use runner_store::StoreError;
use runner_telling::figures;

use super::super::line;
use super::super::run_columns::title;
use super::Sides;
use crate::comparing::measures::Measure;
use crate::comparing::{ColumnComparison, Comparison, Kind, Unit};
use crate::left::StoredSummary;
use crate::significance::means::Means;
use crate::significance::rate::PassRate;
use crate::significance::{Pairs, SIGNIFICANT};
use crate::site::Site;

/// Metrics that are compared.
const MOST_METRICS: u32 = 60;
const MOST_COLUMNS: u32 = 60;

/// The pass rate of each pair of columns and of all, and whether it says something.
pub(super) fn pass_rates(sides: &Sides, comparison: &Comparison) -> Markup {
    let cases = comparison.columns.iter().map(counted);
    let all = cases.fold([0; 5], |sums, it| {
        std::array::from_fn(|at| sums[at] + it[at])
    });
    let labels = sides.labels();
    let [before, after] = &labels;
    html! {
        div.scroll tabindex="0" role="region" aria-label="Pass rate" { table.compare {
            thead { tr {
                th scope="col" { "Pass rate" } th.n scope="col" { "Tests" } th.n scope="col" { (before) } th.n scope="col" { (after) } th scope="col" { "Change" }
                th scope="col" { "By chance?" } th.n scope="col" { "Better" } th.n scope="col" { "Worse" } th scope="col" { "Scores" }
            } }
            tbody {
                @for column in &comparison.columns {
                    (pass_rate(&labels, &name(sides, (column.before, column.after)), &column.rate, counted(column), &scatter(column)))
                }
                @if comparison.columns.len() > 1 { (pass_rate(&labels, &html! { "All" }, &comparison.rate, all, &html! {})) }
            }
        } }
        p.hint {
            "Change of the pass rate with its 95 % interval (paired). By chance: McNemar's exact test, two-sided, with the interval that belongs to it (Clopper–Pearson, of the tests that came out differently). "
            "A test counts once: as the mean of its repeats, and of its columns under “All”; where that leaves shares, both are of the paired t-test. "
            "Better, worse and scores are of single cases. Scores: " (before) " to the right, " (after) " upwards; on the diagonal nothing changed."
        }
    }
}

/// Cases: all, those that got better and those of them whose repeats went both ways, and the same of worse.
fn counted(column: &ColumnComparison) -> [u64; 5] {
    let Pairs { better, worse, .. } = column.pairs;
    let flaky = |all: u64, kind: Kind| all - column.kinds[kind as usize];
    let (up, down) = (flaky(better, Kind::Better), flaky(worse, Kind::Worse));
    [column.pairs.total(), better, up, worse, down]
}

/// What the columns of a pair are called.
pub(super) fn name(sides: &Sides, (before, after): (u32, u32)) -> Markup {
    html! {
        @if let Some(common) = sides.common(after) {
            span.column { b { "(" (before) ") → (" (after) ")" } small { (common) } }
        } @else {
            @if sides.is_one_run() || before != after { (title(&sides.old, before as usize)) " → " }
            (title(&sides.new, after as usize))
        }
    }
}

fn pass_rate(
    [before, after]: &[String; 2],
    name: &Markup,
    rate: &PassRate,
    [cases, better, flaky_better, worse, flaky_worse]: [u64; 5],
    scores: &Markup,
) -> Markup {
    let (change, interval) = rate.change();
    let [was, is] = rate.rates().map(|it| match rate.tests() {
        0 => "–".to_owned(),
        _ => figures::share(it),
    });
    let points = |share: f64| format!("{:+.1}", share * 100.0).replace('-', "−");
    let class = class(rate.p_value().unwrap_or(1.0), change);
    html! {
        tr {
            th scope="row" { (name) }
            td.n data-name="Tests" { (tests(rate.tests(), cases)) }
            td.n data-name=(before) { (was) }
            td.n data-name=(after) { (is) }
            td data-name="Change" class=(class) { span {
                b { (points(change)) " points" }
                @if let Some((low, high)) = interval { " [" (points(low)) ", " (points(high)) "]" }
            } }
            td data-name="By chance?" class=(class) { (rate.told()) }
            @for (name, count, flaky) in [("Better", better, flaky_better), ("Worse", worse, flaky_worse)] {
                td.n data-name=(name) { (figures::count(count)) @if flaky > 0 { small { (figures::count(flaky)) " flaky" } } }
            }
            td { (scores) }
        }
    }
}

/// How many tests, and of how many cases where those are more.
fn tests(tests: u64, cases: u64) -> Markup {
    html! { (figures::count(tests)) @if cases > tests { " " small { "of " (figures::counted(cases, "case", "cases")) } } }
}

/// Green for what is better, red for what is worse, nothing for what may be chance.
fn class(p: f64, gain: f64) -> &'static str {
    match gain {
        _ if p >= SIGNIFICANT => "",
        gain if gain > 0.0 => "good",
        _ => "bad",
    }
}

/// Cases by their two scores: the more, the larger.
fn scatter(column: &ColumnComparison) -> Markup {
    let most = column.scores.iter().flatten().copied().max();
    let most = most.unwrap_or(0).max(1) as f64;
    html! {
        svg.scatter viewBox="-2 -1 14 14" role="img" aria-label="scores before and after" {
            path.axis d="M0 0V11H11M0 11L11 0" {}
            @for (x, y, told) in [(-1.2, 1.2, "1"), (-1.2, 11.0, "0"), (0.0, 12.7, "0"), (10.2, 12.7, "1")] { text x=(x) y=(y) { (told) } }
            @for (before, row) in column.scores.iter().enumerate() { @for (after, count) in row.iter().enumerate() {
                @if *count > 0 {
                    circle cx=(format!("{:.1}", before as f64 + 0.5)) cy=(format!("{:.1}", 10.5 - after as f64)) r=(format!("{:.2}", 0.25 + 0.55 * (*count as f64 / most).sqrt())) {
                        title { (figures::counted(*count, "case", "cases")) " from " (format!("{:.1}", before as f64 / 10.0)) " to " (format!("{:.1}", after as f64 / 10.0)) }
                    }
                }
            } }
        }
    }
}

/// Everything else that is compared.
pub(super) fn measures(
    site: &Arc<Site>,
    sides: &Sides,
    comparison: &Comparison,
) -> Result<Markup, StoreError> {
    let known = site.metrics(&sides.before, MOST_METRICS, MOST_COLUMNS)?;
    let names: Vec<&str> = known.sums.keys().map(String::as_str).collect();
    let ids = [&*sides.before.id, &*sides.after.id];
    let mut metrics = comparison.metrics(&site.store, ids, &names)?;
    let left = StoredSummary::of(site, &sides.after)?;
    for metric in &mut metrics {
        metric.is_burden = left.wants_little(&metric.name);
    }
    let left_out = known.all.saturating_sub(metrics.len() as u64);
    let measures: Vec<Measure> = comparison.measures().into_iter().chain(metrics).collect();
    let labels = sides.labels();
    let columns = comparison.columns.iter().enumerate();
    let groups = columns.map(|(at, column)| {
        let means = measures
            .iter()
            .map(|it| (it, it.columns[at], it.not_graded[at]));
        group(
            &labels,
            Some(&name(sides, (column.before, column.after))),
            means,
        )
    });
    let groups: Vec<Markup> = groups.collect();
    let all = measures.iter().map(|it| {
        let not_graded = [0, 1].map(|side| it.not_graded.iter().map(|pair| pair[side]).sum());
        (it, it.all, not_graded)
    });
    let all = group(&labels, None, all);
    Ok(html! {
        (table(&labels, &[all]))
        @if left_out > 0 { p.hint { (figures::counted(left_out, "metric is", "metrics are")) " left out." } }
        @if groups.len() > 1 { details { summary { "Column by column" } (table(&labels, &groups)) } }
        p.hint { "Of the cases that are in both: the sum of what they cost without the cache, the mean of the rest (latency: of those that did not come from the cache), each change with its 95 % interval. By chance: paired t-test over the tests, each with the mean of its repeats, and of its columns where all are pooled (of cost the sum); two-sided, never more certain than the sign test. Of twenty such lines one is significant by chance alone." }
    })
}

fn table([before, after]: &[String; 2], groups: &[Markup]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Metrics, cost and latency" { table.compare {
            thead { tr {
                th scope="col" { "Measure" } th.n scope="col" { "Tests" } th.n scope="col" { (before) } th.n scope="col" { (after) }
                th scope="col" { "Change" } th scope="col" { "By chance?" }
            } }
            @for group in groups { (group) }
        } }
    }
}

/// The measures of a pair of columns, or of all.
fn group<'a>(
    labels: &[String; 2],
    name: Option<&Markup>,
    measures: impl Iterator<Item = (&'a Measure, Means, [u64; 2])>,
) -> Markup {
    html! {
        tbody {
            @if let Some(name) = name { tr.group { th colspan="6" scope="rowgroup" { (name) } } }
            @for (measure, means, not_graded) in measures { @if means.count > 0 || not_graded != [0; 2] { (row(labels, measure, &means, not_graded)) } }
        }
    }
}

fn row(labels: &[String; 2], measure: &Measure, means: &Means, not_graded: [u64; 2]) -> Markup {
    let (change, interval) = means.change();
    let is_sum = measure.unit == Unit::Dollars;
    let whole = |mean: f64| {
        if is_sum {
            mean * means.count as f64
        } else {
            mean
        }
    };
    let sides = if is_sum { means.sums() } else { means.means() };
    let gain = if measure.is_burden { -change } else { change };
    let class = class(means.p_value(), gain);
    let moved = |it: f64| {
        let sign = if it < 0.0 { "−" } else { "+" };
        format!("{sign}{}", told(measure.unit, whole(it).abs(), 3))
    };
    html! {
        tr {
            th scope="row" { (line(&measure.name)) }
            td.n data-name="Tests" { (figures::count(means.count)) }
            @for (side, value) in sides.into_iter().enumerate() { td.n data-name=(labels[side]) {
                @if means.count > 0 { (told(measure.unit, value, 2)) } @else { "–" }
                @if not_graded[side] > 0 { " " small { (figures::count(not_graded[side])) " not graded" } }
            } }
            td data-name="Change" class=(class) { @if means.count > 0 { span {
                b { (moved(change)) }
                @if let Some((low, high)) = interval { " [" (moved(low)) ", " (moved(high)) "]" }
            } } @else { "–" } }
            td data-name="By chance?" class=(class) { (means.told()) }
        }
    }
}

fn told(unit: Unit, value: f64, digits: usize) -> String {
    match unit {
        Unit::Score => format!("{value:.digits$}"),
        Unit::Dollars => figures::dollars(value),
        Unit::Milliseconds => figures::duration(Duration::from_millis(value.round() as u64)),
    }
}
