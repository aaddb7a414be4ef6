//! Bars as SVG: the pass rate of each column, and how long its answers took.
//!
//! Drawn from the run's sums, which know every case, also those that a page leaves out. Colours
//! are classes of the page's style, so that they follow light and dark; every bar says its
//! figure in words, too, beside it and in its `title`.

use std::fmt::Write as _;
use std::time::Duration;

use runner_eval::summary::{ColumnHead, Tally};

use super::text;
use crate::apart;
use crate::figures;
use crate::visible;

/// Columns in a chart; more would be a page of their own.
const MAX_COLUMNS: usize = 40;
/// Units of the picture's width; the page scales it.
const WIDTH: u64 = 680;
/// Where the bars begin, and how long they can get.
const LEFT: u64 = 220;
const BAR: u64 = 300;
/// Height of a bar, with and without its gap.
const STEP: u64 = 26;
const THICK: u64 = 16;
/// Characters of a column's name.
const NAME_CHARS: usize = 28;
/// Which shares of the answers the latency bars show, with their names and classes.
const SHARES: [(f64, &str, &str); 3] = [
    (0.50, "p50", "p50"),
    (0.95, "p95", "p95"),
    (0.99, "p99", "p99"),
];

/// Passed, failed and errors of each column, as parts of one bar.
pub(super) fn pass_rates(columns: &[(ColumnHead, Tally)]) -> String {
    let shown = &columns[..columns.len().min(MAX_COLUMNS)];
    let mut svg = String::new();
    for (idx, ((_, tally), name)) in shown.iter().zip(names(shown)).enumerate() {
        let y = idx as u64 * STEP;
        label(&mut svg, y, &name);
        let not_graded = tally.errors + tally.budget_exceeded;
        let mut x = LEFT;
        let parts = [
            (tally.passed, "passed", "pass"),
            (tally.failed, "failed", "fail"),
            (not_graded, "errors", "error"),
        ];
        for (count, word, class) in parts {
            let width = scaled(count, tally.count());
            if count > 0 {
                let title = format!("{} {word}", figures::count(count));
                // A part that is there is seen.
                bar(&mut svg, (x, y, width.max(1)), class, &title);
            }
            x += width;
        }
        let percent = figures::percent(tally.passed, tally.count());
        value(&mut svg, y, &percent);
    }
    picture(&svg, shown.len(), columns.len(), "Pass rate of each column")
}

/// Percentiles of each column, the longest behind, on one scale.
pub(super) fn latencies(columns: &[(ColumnHead, Tally)]) -> String {
    let shown = &columns[..columns.len().min(MAX_COLUMNS)];
    let longest = shown.iter().filter_map(|(_, tally)| tally.latency_ms(0.99));
    let longest = longest.max().unwrap_or(0);
    let mut svg = String::new();
    for (idx, ((_, tally), name)) in shown.iter().zip(names(shown)).enumerate() {
        let y = idx as u64 * STEP;
        label(&mut svg, y, &name);
        for (share, name, class) in SHARES.iter().rev() {
            let Some(ms) = tally.latency_ms(*share) else {
                continue;
            };
            let title = format!("{name} {}", figures::duration(Duration::from_millis(ms)));
            let width = scaled(ms, longest).max(1);
            bar(&mut svg, (LEFT, y, width), class, &title);
        }
        let of = |share: f64| {
            let ms = tally.latency_ms(share)?;
            Some(figures::duration(Duration::from_millis(ms)))
        };
        let words = match (of(0.50), of(0.95)) {
            (Some(p50), Some(p95)) => format!("{p50}, p95 {p95}"),
            _ => "–".to_owned(),
        };
        value(&mut svg, y, &words);
    }
    let name = "Latency of each column: p50, p95 and p99";
    picture(&svg, shown.len(), columns.len(), name)
}

/// `part` of `whole` as a length.
fn scaled(part: u64, whole: u64) -> u64 {
    (u128::from(part) * u128::from(BAR) / u128::from(whole.max(1))) as u64
}

// Writing to a string can't fail, here and below.

/// Each column's name, short and whole.
fn names(columns: &[(ColumnHead, Tally)]) -> Vec<[String; 2]> {
    let whole = columns.iter().enumerate();
    let whole: Vec<String> = whole
        .map(|(idx, (head, _))| format!("({idx}) {} · {}", head.provider, head.prompt))
        .collect();
    let short = apart::names(
        &whole.iter().map(String::as_str).collect::<Vec<_>>(),
        NAME_CHARS,
    );
    short.into_iter().zip(whole).map(Into::into).collect()
}

fn label(svg: &mut String, y: u64, [name, whole]: &[String; 2]) {
    let (x, y) = (LEFT - 8, y + THICK - 3);
    let (name, whole) = (text(name), text(&visible::cut(whole, 200)));
    let _ = write!(
        svg,
        "<text x=\"{x}\" y=\"{y}\" class=\"name\"><title>{whole}</title>{name}</text>"
    );
}

fn bar(svg: &mut String, (x, y, width): (u64, u64, u64), class: &str, title: &str) {
    let title = text(title);
    let _ = write!(
        svg,
        "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{THICK}\" class=\"{class}\"><title>{title}</title></rect>"
    );
}

fn value(svg: &mut String, y: u64, words: &str) {
    let (x, y) = (LEFT + BAR + 8, y + THICK - 3);
    let words = text(words);
    let _ = write!(svg, "<text x=\"{x}\" y=\"{y}\">{words}</text>");
}

fn picture(bars: &str, shown: usize, all: usize, name: &str) -> String {
    let height = (shown as u64 * STEP).max(STEP);
    let mut picture = format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{name}\">{bars}</svg>"
    );
    if shown < all {
        let _ = write!(
            picture,
            "<p>The first {shown} of {all} columns; `runner show` has the sums of all.</p>"
        );
    }
    picture
}

#[cfg(test)]
mod tests {
    use runner_eval::record::Outcome;

    use super::*;
    use crate::findings::tests::record;

    fn column(provider: &str, outcomes: &[Outcome]) -> (ColumnHead, Tally) {
        let mut tally = Tally::default();
        for outcome in outcomes {
            tally.add(&record(0, 0, *outcome, "x"));
        }
        let head = ColumnHead {
            provider: provider.to_owned(),
            prompt: "Hello".to_owned(),
        };
        (head, tally)
    }

    #[test]
    fn bars_are_as_long_as_their_figures() {
        use Outcome::{Error, Failed, Passed};
        let columns = [column("<a>", &[Passed, Passed, Failed, Error])];
        let svg = pass_rates(&columns);
        for part in [
            "x=\"220\" y=\"0\" width=\"150\" height=\"16\" class=\"pass\"><title>2 passed",
            "x=\"370\" y=\"0\" width=\"75\" height=\"16\" class=\"fail\"><title>1 failed",
            "x=\"445\" y=\"0\" width=\"75\" height=\"16\" class=\"error\"><title>1 errors",
            ">50.0 %</text>",
            "(0) &lt;a&gt; · Hello",
        ] {
            assert!(svg.contains(part), "{part} in {svg}");
        }
        let svg = latencies(&columns);
        assert!(svg.contains("width=\"300\" height=\"16\" class=\"p99\"><title>p99 100 ms"));
        assert!(svg.contains(">100 ms, p95 100 ms</text>"), "{svg}");
    }

    #[test]
    fn a_run_without_answers_has_charts_without_bars() {
        let columns = [column("a", &[])];
        assert!(!pass_rates(&columns).contains("<rect"));
        assert!(latencies(&columns).contains(">–</text>"));
        assert!(pass_rates(&[]).contains("<svg"));
    }

    #[test]
    fn columns_that_are_left_out_are_told() {
        let columns: Vec<_> = (0..50).map(|_| column("a", &[Outcome::Passed])).collect();
        assert!(pass_rates(&columns).contains("The first 40 of 50 columns"));
    }
}
