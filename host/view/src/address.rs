//! What a page of a run shows, as its address says it: conditions, order, place, hidden columns.
//!
//! The address is all the state there is, so that a link shows what its sender saw. What can't be
//! read in it is left out, and the page says so.

use runner_store::{CaseFilter, FigureRange, Order, Outcome, PageStart, Ranked, Row};
use url::form_urlencoded::Serializer;

use crate::request::Fields;

/// Fields of an address that are looked at for whether they say something.
const MOST_FIELDS: usize = 100;

/// The state of a page.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Address {
    pub(crate) wanted: CaseFilter,
    pub(crate) order: Order,
    pub(crate) from: PageStart,
    pub(crate) hidden: Vec<u32>,
    /// Widths of columns in pixels, of those that somebody has changed.
    pub(crate) widths: Vec<(u32, u16)>,
}

/// Orders by their words.
pub(crate) const ORDERS: [(&str, &str, Order); 9] = [
    ("", "in the plan's order", Order::Plan),
    ("-score", "best score first", Order::Falling(Ranked::Score)),
    ("score", "worst score first", Order::Rising(Ranked::Score)),
    ("-latency", "slowest first", Order::Falling(Ranked::Latency)),
    ("latency", "fastest first", Order::Rising(Ranked::Latency)),
    ("-cost", "dearest first", Order::Falling(Ranked::Cost)),
    ("cost", "cheapest first", Order::Rising(Ranked::Cost)),
    (
        "-output",
        "longest answer first",
        Order::Falling(Ranked::Output),
    ),
    (
        "output",
        "shortest answer first",
        Order::Rising(Ranked::Output),
    ),
];

impl Address {
    pub(crate) fn read(fields: &Fields) -> Self {
        let is_set = |name, value| fields.all(name).any(|given| given == value);
        let number = |name: &str| {
            fields
                .get(name)
                .and_then(|text| text.trim().parse::<f64>().ok())
        };
        let between = |name: &str| FigureRange {
            least: number(&format!("{name}-from")).filter(|it| !it.is_nan()),
            most: number(&format!("{name}-to")).filter(|it| !it.is_nan()),
        };
        let kept = |name| fields.get(name).map(str::to_owned);
        let width = |text: &str| {
            let (column, pixels) = text.split_once(':')?;
            Some((column.parse().ok()?, pixels.parse().ok()?))
        };
        let outcomes = Outcome::ALL.into_iter();
        let wanted = CaseFilter {
            outcomes: outcomes
                .filter(|it| is_set("verdict", it.as_str()))
                .collect(),
            column: fields.get("column").and_then(|text| text.parse().ok()),
            score: between("score"),
            latency_ms: between("latency"),
            cost_usd: between("cost"),
            verdicts_differ: is_set("differ", "verdicts"),
            annotated: is_set("only", "rated"),
            answers_differ: is_set("differ", "answers"),
            flaky: is_set("only", "flaky"),
            error: kept("error"),
            metric: kept("metric").map(|name| (name, between("metric"))),
            metadata: kept("metadata").and_then(|text| {
                let (name, value) = text.split_once('=')?;
                Some((name.to_owned(), value.to_owned()))
            }),
            text: kept("q"),
        };
        let sort = fields.get("sort").unwrap_or_default();
        let hidden = fields.all("hide");
        let place = |name| {
            let (figure, test) = fields.get(name)?.split_once(':')?;
            Some((figure.parse().ok()?, test.parse().ok()?))
        };
        let from = match (place("after"), place("before")) {
            (Some((figure, test)), _) => PageStart::After(figure, test),
            (None, Some((figure, test))) => PageStart::Before(figure, test),
            (None, None) => PageStart::Start,
        };
        Self {
            wanted,
            order: ORDERS
                .iter()
                .find(|it| it.0 == sort)
                .map_or(Order::Plan, |it| it.2),
            from,
            hidden: hidden.filter_map(|text| text.parse().ok()).collect(),
            widths: fields.all("width").filter_map(width).collect(),
        }
    }

    /// What of these fields has no part in what is shown: misspelt, or of no sense.
    pub(crate) fn unread(fields: &Fields) -> Vec<String> {
        let all = Self::read(fields);
        let given = fields.0.iter().filter(|(_, value)| !value.is_empty());
        let without = |field: &(String, String)| {
            let others = fields.0.iter().filter(|it| *it != field);
            Fields(others.cloned().collect())
        };
        given
            .take(MOST_FIELDS)
            .filter(|field| Self::read(&without(field)) == all)
            .map(|(name, value)| format!("{name}={value}"))
            .collect()
    }

    /// As a query, with its question mark unless there is nothing to say.
    pub(crate) fn query(&self) -> String {
        let mut query = Serializer::new(String::new());
        append_figures(&mut query, &self.wanted);
        append_looked_up(&mut query, &self.wanted);
        append(
            &mut query,
            "sort",
            Some(self.sort()).filter(|word| !word.is_empty()),
        );
        for column in &self.hidden {
            append(&mut query, "hide", Some(column));
        }
        for (column, pixels) in &self.widths {
            append(&mut query, "width", Some(format!("{column}:{pixels}")));
        }
        let place = |figure, test| Some(format!("{figure}:{test}"));
        match self.from {
            PageStart::Start => {}
            PageStart::After(figure, test) => append(&mut query, "after", place(figure, test)),
            PageStart::Before(figure, test) => append(&mut query, "before", place(figure, test)),
        }
        let query = query.finish();
        if query.is_empty() {
            query
        } else {
            format!("?{query}")
        }
    }

    /// The page that begins with a test whose own page was opened from this state.
    pub(crate) fn page_of(&self, test: u32) -> PageStart {
        match (self.from, test.checked_sub(1)) {
            (PageStart::After(figure, _), Some(before)) => PageStart::After(figure, before),
            _ => PageStart::Start,
        }
    }

    /// This state at another place.
    pub(crate) fn at(&self, from: PageStart) -> Self {
        Self {
            from,
            ..self.clone()
        }
    }

    /// The word of the order.
    pub(crate) fn sort(&self) -> &'static str {
        ORDERS
            .iter()
            .find(|it| it.2 == self.order)
            .map_or("", |it| it.0)
    }

    /// Whether a condition is on the figures of cases, so that of a test some may be wanted and others not.
    pub(crate) fn picks_cases(&self) -> bool {
        let CaseFilter {
            outcomes,
            column,
            score,
            latency_ms,
            cost_usd,
            ..
        } = &self.wanted;
        let bounds = [score, latency_ms, cost_usd];
        !outcomes.is_empty()
            || column.is_some()
            || bounds.into_iter().any(|it| *it != FigureRange::default())
    }

    /// Whether a case is as the conditions on its figures say; what only its record says is not looked at.
    pub(crate) fn wants(&self, row: &Row) -> bool {
        let wanted = &self.wanted;
        let within = |bounds: FigureRange, figure: Option<f64>| {
            bounds == FigureRange::default()
                || figure.is_some_and(|it| {
                    bounds.least.is_none_or(|least| it >= least)
                        && bounds.most.is_none_or(|most| it <= most)
                })
        };
        (wanted.outcomes.is_empty() || wanted.outcomes.contains(&row.outcome))
            && wanted.column.is_none_or(|column| column == row.prompt_idx)
            && within(wanted.score, Some(row.score))
            && within(wanted.latency_ms, row.latency_ms.map(|ms| ms as f64))
            && within(wanted.cost_usd, row.cost_usd)
    }

    /// Whether it has conditions.
    pub(crate) fn is_filtered(&self) -> bool {
        self.wanted != CaseFilter::default()
    }
}

/// Appends what rows say.
fn append_figures(query: &mut Serializer<'_, String>, wanted: &CaseFilter) {
    for outcome in &wanted.outcomes {
        query.append_pair("verdict", outcome.as_str());
    }
    append(query, "column", wanted.column);
    append_between(query, "score", wanted.score);
    append_between(query, "latency", wanted.latency_ms);
    append_between(query, "cost", wanted.cost_usd);
    append(
        query,
        "differ",
        wanted.verdicts_differ.then_some("verdicts"),
    );
    append(query, "differ", wanted.answers_differ.then_some("answers"));
    append(query, "only", wanted.annotated.then_some("rated"));
    append(query, "only", wanted.flaky.then_some("flaky"));
}

/// Appends what records say.
fn append_looked_up(query: &mut Serializer<'_, String>, wanted: &CaseFilter) {
    append(query, "error", wanted.error.as_deref());
    if let Some((name, bounds)) = &wanted.metric {
        query.append_pair("metric", name);
        append_between(query, "metric", *bounds);
    }
    let metadata = wanted.metadata.as_ref();
    append(
        query,
        "metadata",
        metadata.map(|(name, value)| format!("{name}={value}")),
    );
    append(query, "q", wanted.text.as_deref());
}

fn append(query: &mut Serializer<'_, String>, name: &str, value: Option<impl ToString>) {
    if let Some(value) = value {
        query.append_pair(name, &value.to_string());
    }
}

fn append_between(query: &mut Serializer<'_, String>, name: &str, bounds: FigureRange) {
    append(query, &format!("{name}-from"), bounds.least);
    append(query, &format!("{name}-to"), bounds.most);
}

/// A part of a path, safe in it.
pub(crate) fn segment(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes())
        .collect::<String>()
        .replace('+', "%20")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_all_that_a_page_shows() {
        for query in [
            "",
            "?verdict=failed&verdict=error&column=2&score-from=0.5&latency-to=1000&cost-from=0.000001",
            "?differ=verdicts&differ=answers&only=rated&only=flaky&error=timeout&metric=tone&metric-to=0.5",
            "?metadata=team%3Da%3Db&q=%22two+words%22+%26more%3D&sort=-latency&hide=0&hide=3&after=12.5%3A7",
            "?before=0%3A50",
            "?hide=1&width=0%3A320&width=2%3A500",
        ] {
            let address = Address::read(&Fields::read(query.trim_start_matches('?')));
            assert_eq!(address.query(), query);
            assert_eq!(
                address.is_filtered(),
                query.contains("verdict") || query.contains("differ") || query.contains("q=")
            );
        }
    }

    #[test]
    fn what_makes_no_sense_is_left_out() {
        let query = "verdict=x&column=-1&score-from=abc&score-to=NaN&metadata=none&sort=best&after=7&hide=x&width=3&q=";
        let fields = Fields::read(query);
        assert_eq!(Address::read(&fields), Address::default());
        // Each but the one that has no value.
        let unread = Address::unread(&fields);
        assert_eq!(unread.len(), 9, "{unread:?}");
        let query = "verdict=failed&verdict=fail&score-from=0.50&metric=tone&metric-to=1&sort=&only=rated&onyl=flaky";
        let unread = Address::unread(&Fields::read(query));
        assert_eq!(unread, ["verdict=fail", "onyl=flaky"]);
    }
}
