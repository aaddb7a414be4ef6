//! The score table as Markdown.
//!
//! Figures are rounded from integers, so that they are the same on every machine and the table
//! in the documentation can be compared as text.

use std::fmt::Write;
use std::time::Duration;

use super::catalogue::Scenario;
use super::score::{Score, Scores};

/// Between what the table of scenarios stands in the README.
pub(crate) const SCENARIOS: [&str; 2] = ["<!-- sim:begin -->\n", "<!-- sim:end -->"];

/// And that of the grid.
pub(crate) const GRID: [&str; 2] = ["<!-- grid:begin -->\n", "<!-- grid:end -->"];

const HEAD: &str = "\
| scenario | regret | wasted | queue p50 | queue p99 | fairness | recovery | slower | late | idle | lost | gate |
|---|---|---|---|---|---|---|---|---|---|---|---|
";

/// One row for each scenario.
pub(crate) fn markdown(rows: &[(Scenario, Scores)]) -> String {
    let mut text = HEAD.to_owned();
    for (scenario, scores) in rows {
        row(&mut text, scenario, scores);
    }
    text
}

fn row(text: &mut String, scenario: &Scenario, scores: &Scores) {
    let (median, worst) = (scores.median(), scores.worst());
    let both = |figure: &dyn Fn(&Score) -> String| {
        let (median, worst) = (figure(&median), figure(&worst));
        if median == worst {
            worst
        } else {
            format!("{median} / {worst}")
        }
    };
    let misses = scores.misses(&scenario.gate).join(", ");
    let verdict = if misses.is_empty() {
        format!("✓ {}", scenario.gate.why)
    } else {
        format!("✗ {misses}")
    };
    writeln!(
        text,
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {verdict} |",
        scenario.name,
        both(&|score| score.regret.to_string()),
        both(&|score| score.wasted.to_string()),
        both(&|score| span(score.queued_p50)),
        both(&|score| span(score.queued_p99)),
        both(&|score| score
            .fairness
            .map_or("–".to_owned(), |share| share.to_string())),
        both(&|score| score.recovery.map_or("–".to_owned(), span)),
        both(&|score| score
            .slower
            .map_or("–".to_owned(), |share| share.to_string())),
        both(&|score| score.late.map_or("–".to_owned(), |share| share.to_string())),
        both(&|score| score.idle.map_or("–".to_owned(), span)),
        both(&|score| score.lost.to_string()),
    )
    .expect("a string takes everything");
}

/// A tenth of a second, or a millisecond below one.
fn span(span: Duration) -> String {
    if span == Duration::from_nanos(u64::MAX) || span == Duration::MAX {
        return "never".to_owned();
    }
    let tenths = (span.as_millis() + 50) / 100;
    if span < Duration::from_secs(1) {
        format!("{} ms", span.as_millis())
    } else {
        format!("{}.{} s", tenths / 10, tenths % 10)
    }
}

/// `readme` with the table between these markers; `None` if it has none.
pub(crate) fn put(readme: &str, [begin, end]: [&str; 2], table: &str) -> Option<String> {
    let begin = readme.find(begin)? + begin.len();
    let end = begin + readme[begin..].find(end)?;
    Some(format!("{}{table}{}", &readme[..begin], &readme[end..]))
}
