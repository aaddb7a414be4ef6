//! What each column has of each metric, as a table: a metric on a line, a column beside the other, so that one
//! sees which is better at what.

use indexmap::IndexSet;
use runner_eval::summary::{ColumnHead, Tally};

use crate::figures;
use crate::listing::{self, Side};
use crate::visible;

/// Characters of a metric's name.
const NAME_CHARS: usize = 60;

/// As [`rows`], as a table of `width` characters; nothing where there are none.
pub(crate) fn table(
    columns: &[(usize, &(ColumnHead, Tally))],
    most: usize,
    width: u16,
) -> (String, usize) {
    let (rows, count) = rows(columns, most);
    if count == 0 {
        return (String::new(), 0);
    }
    let numbers: Vec<String> = columns.iter().map(|(idx, _)| format!("({idx})")).collect();
    let headings = numbers.iter().map(|number| (number.as_str(), Side::Right));
    let headings: Vec<(&str, Side)> = std::iter::once(("metric", Side::Left))
        .chain(headings)
        .collect();
    (listing::render(&headings, &rows, width), count)
}

/// The first `most` metrics of these columns, each with its name and its figure in every column, and how many
/// there are.
pub(crate) fn rows(
    columns: &[(usize, &(ColumnHead, Tally))],
    most: usize,
) -> (Vec<Vec<String>>, usize) {
    let names = columns.iter().flat_map(|(_, (_, tally))| tally.metrics());
    let names: IndexSet<&str> = names.collect();
    let row = |name: &&str| {
        let values = columns.iter().map(|(_, (_, tally))| {
            let value = tally.metric(name).map(figures::number);
            let value = value.unwrap_or_else(|| "–".to_owned());
            value + &figures::not_graded(tally.not_graded(name))
        });
        std::iter::once(told(name, columns)).chain(values).collect()
    };
    (names.iter().take(most).map(row).collect(), names.len())
}

/// The name; of a metric that the config works out of sums it is said, since it is no mean.
fn told(name: &str, columns: &[(usize, &(ColumnHead, Tally))]) -> String {
    let short = visible::cut(name, NAME_CHARS);
    let short = visible::line(&short);
    let mut derived = columns.iter().flat_map(|(_, (_, tally))| &tally.derived);
    if derived.any(|(derived, _)| derived == name) {
        format!("{short} (derived)")
    } else {
        short.into_owned()
    }
}
