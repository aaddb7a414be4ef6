//! Which tests are wanted, in which order, from where on; as SQL.
//!
//! A matrix shows tests, and a condition is about cases: a test is shown when one of its cases
//! satisfies all of them. Whatever a user typed is a parameter and never part of the question.

use rusqlite::types::Value;

use crate::runs::Outcome;

/// Bounds of a figure, both included; what is unknown is never within them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FigureRange {
    /// Not less than this.
    pub least: Option<f64>,
    /// Not more than this.
    pub most: Option<f64>,
}

/// What a case must be like. Empty: every case is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CaseFilter {
    /// One of these; any if there is none.
    pub outcomes: Vec<Outcome>,
    /// In this column.
    pub column: Option<u32>,
    /// Its score.
    pub score: FigureRange,
    /// Its latency in milliseconds.
    pub latency_ms: FigureRange,
    /// Its cost in US dollars.
    pub cost_usd: FigureRange,
    /// Another column of its test ended otherwise.
    pub verdicts_differ: bool,
    /// A person has said something of it.
    pub annotated: bool,
    /// Another column of its test has another answer. Needs the lookup, as all that follow.
    pub answers_differ: bool,
    /// Another repeat of it ended otherwise.
    pub flaky: bool,
    /// The kind of its error.
    pub error: Option<String>,
    /// A metric by its name, and its score.
    pub metric: Option<(String, FigureRange)>,
    /// A value of its metadata.
    pub metadata: Option<(String, String)>,
    /// Words that are in it; several in quotation marks stand beside each other.
    pub text: Option<String>,
}

impl CaseFilter {
    /// Whether the rows alone can't say it.
    pub fn needs_lookup(&self) -> bool {
        self.answers_differ
            || self.flaky
            || self.error.is_some()
            || self.metric.is_some()
            || self.metadata.is_some()
            || self.text.is_some()
    }
}

/// By what tests are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ranked {
    /// Score of a case.
    Score,
    /// Latency of a case.
    Latency,
    /// Cost of a case.
    Cost,
    /// Tokens that a case's model wrote.
    Output,
}

impl Ranked {
    fn column(self) -> &'static str {
        match self {
            Self::Score => "score",
            Self::Latency => "latency_ms",
            Self::Cost => "cost_usd",
            Self::Output => "output_tokens",
        }
    }
}

/// The order of tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The plan's.
    #[default]
    Plan,
    /// By the largest figure of the cases that are wanted, falling.
    Falling(Ranked),
    /// By the smallest, rising.
    Rising(Ranked),
}

/// Where a page begins: a test, and its figure where tests are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum PageStart {
    /// The first test.
    #[default]
    Start,
    /// The one after this.
    After(f64, u32),
    /// The page that ends before this.
    Before(f64, u32),
}

/// SQL and its parameters.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) sql: String,
    pub(super) values: Vec<Value>,
}

impl Question {
    /// That a text has a term in it, in capitals or not.
    fn has(&mut self, text: &str, term: &str) -> String {
        let mut like = String::from("%");
        for sign in term.chars() {
            if matches!(sign, '%' | '_' | '\\') {
                like.push('\\');
            }
            like.push(sign);
        }
        let like = self.value(like + "%");
        format!("{text} LIKE {like} ESCAPE '\\'")
    }

    /// Makes a place for a value.
    fn value(&mut self, value: impl Into<Value>) -> String {
        self.values.push(value.into());
        format!("?{}", self.values.len())
    }

    /// The page of tests of a run: number and figure of each, one more than `limit` if there are
    /// more; backwards for [`PageStart::Before`].
    pub(super) fn page(
        run: i64,
        wanted: &CaseFilter,
        order: Order,
        from: PageStart,
        limit: usize,
    ) -> Self {
        let mut this = Self::of(run);
        let conditions = this.conditions(wanted);
        let backwards = matches!(from, PageStart::Before(..));
        let way = |falls: bool| if falls == backwards { "ASC" } else { "DESC" };
        let limit = limit as i64 + 1;
        let (rank, falls) = match order {
            Order::Plan => {
                let (beyond, test) = match from {
                    PageStart::Start => (">", -1),
                    PageStart::After(_, test) => (">", i64::from(test)),
                    PageStart::Before(_, test) => ("<", i64::from(test)),
                };
                let (test, way) = (this.value(test), way(false));
                this.sql = format!(
                    "SELECT DISTINCT test_idx, 0.0 FROM rows WHERE run = ?1 AND test_idx {beyond} {test} {conditions} \
                     ORDER BY test_idx {way} LIMIT {limit}"
                );
                return this;
            }
            Order::Falling(rank) => (format!("max({})", rank.column()), true),
            Order::Rising(rank) => (format!("min({})", rank.column()), false),
        };
        let beyond = match from {
            PageStart::Start => String::new(),
            PageStart::After(figure, test) | PageStart::Before(figure, test) => {
                let (figure, test) = (this.value(figure), this.value(i64::from(test)));
                let [further, later] =
                    [falls != backwards, backwards].map(|smaller| if smaller { "<" } else { ">" });
                format!(
                    "AND (figure {further} {figure} OR figure = {figure} AND test_idx {later} {test})"
                )
            }
        };
        let (by_figure, by_test) = (way(falls), way(false));
        this.sql = format!(
            "SELECT test_idx, CAST({rank} AS REAL) AS figure FROM rows WHERE run = ?1 {conditions} \
             GROUP BY test_idx HAVING figure IS NOT NULL {beyond} \
             ORDER BY figure {by_figure}, test_idx {by_test} LIMIT {limit}"
        );
        this
    }

    /// How many tests and cases there are.
    pub(super) fn count(run: i64, wanted: &CaseFilter) -> Self {
        let mut this = Self::of(run);
        let conditions = this.conditions(wanted);
        this.sql = format!(
            "SELECT count(*), coalesce(sum(cases), 0) FROM \
             (SELECT count(*) AS cases FROM rows WHERE run = ?1 {conditions} GROUP BY test_idx)"
        );
        this
    }

    fn of(run: i64) -> Self {
        Self {
            sql: String::new(),
            values: vec![run.into()],
        }
    }

    fn conditions(&mut self, wanted: &CaseFilter) -> String {
        let mut all = Vec::new();
        if !wanted.outcomes.is_empty() {
            // The words are this crate's own.
            let words = wanted.outcomes.iter();
            let words: Vec<_> = words.map(|it| format!("'{}'", it.as_str())).collect();
            all.push(format!("outcome IN ({})", words.join(", ")));
        }
        if let Some(column) = wanted.column {
            all.push(format!("prompt_idx = {}", self.value(i64::from(column))));
        }
        for (name, bounds) in [
            ("score", wanted.score),
            ("latency_ms", wanted.latency_ms),
            ("cost_usd", wanted.cost_usd),
        ] {
            self.between(name, bounds, &mut all);
        }
        if wanted.verdicts_differ {
            all.push(other_of_the_test("other.outcome <> rows.outcome"));
        }
        if wanted.annotated {
            let said = "SELECT row_id FROM annotations WHERE run = ?1";
            all.push(format!("row_id IN ({said})"));
        }
        self.looked_up(wanted, &mut all);
        all.iter().flat_map(|it| ["AND ", it, " "]).collect()
    }

    fn between(&mut self, name: &str, bounds: FigureRange, all: &mut Vec<String>) {
        if let Some(least) = bounds.least {
            all.push(format!("{name} >= {}", self.value(least)));
        }
        if let Some(most) = bounds.most {
            all.push(format!("{name} <= {}", self.value(most)));
        }
    }

    /// Adds what only the lookup knows.
    fn looked_up(&mut self, wanted: &CaseFilter, all: &mut Vec<String>) {
        let mut among = |records: String| all.push(format!("record IN ({records})"));
        if let Some(error) = &wanted.error {
            let error = self.value(error.clone());
            among(format!(
                "SELECT record FROM lookup.facts WHERE error = {error}"
            ));
        }
        if let Some((name, bounds)) = &wanted.metric {
            let mut said = vec![format!("name = {}", self.value(name.clone()))];
            self.between("score", *bounds, &mut said);
            let said = said.join(" AND ");
            among(format!("SELECT record FROM lookup.metrics WHERE {said}"));
        }
        if let Some((name, value)) = &wanted.metadata {
            let (name, value) = (self.value(name.clone()), self.value(value.clone()));
            among(format!(
                "SELECT record FROM lookup.metadata WHERE name = {name} AND value = {value}"
            ));
        }
        if let Some(words) = wanted.text.as_deref().and_then(match_of) {
            let words = self.value(words);
            let terms = terms(wanted.text.as_deref().unwrap_or_default());
            let said = "ifnull(label, '') || ' ' || ifnull(comment, '')";
            let said: Vec<String> = terms.iter().map(|(term, _)| self.has(said, term)).collect();
            // The index knows letters and figures; other signs are looked for in what it finds.
            let signs = terms.iter().filter(|(term, is_phrase)| {
                !is_phrase && term.contains(|sign: char| !sign.is_alphanumeric())
            });
            let json = "(SELECT json FROM records WHERE key = words.rowid)";
            let signs = signs.map(|(term, _)| self.has(json, &term.replace('\\', "\\\\")));
            let signs: Vec<String> = signs.map(|found| format!(" AND {found}")).collect();
            let signs = signs.concat();
            among(format!(
                "SELECT rowid FROM lookup.words WHERE words MATCH {words}{signs} UNION \
                 SELECT record FROM rows JOIN annotations USING (run, row_id) WHERE run = ?1 AND {}",
                said.join(" AND ")
            ));
        }
        if wanted.answers_differ {
            all.push(other_of_the_test(
                "(SELECT answer FROM lookup.facts WHERE facts.record = other.record) <> \
                 (SELECT answer FROM lookup.facts WHERE facts.record = rows.record)",
            ));
        }
        if wanted.flaky {
            all.push(
                "(SELECT repeats FROM lookup.facts WHERE facts.record = rows.record) IN \
                 (SELECT repeats FROM lookup.facts JOIN rows AS other ON other.record = facts.record \
                  WHERE other.run = ?1 AND repeats IS NOT NULL AND other.outcome <> 'waiting' \
                  GROUP BY repeats HAVING min(other.outcome) <> max(other.outcome))"
                    .to_owned(),
            );
        }
    }
}

fn other_of_the_test(what: &str) -> String {
    format!(
        "EXISTS (SELECT 1 FROM rows AS other WHERE other.run = ?1 AND other.test_idx = rows.test_idx AND {what})"
    )
}

/// Words in the language of the full-text index: each is a beginning of a word, several in
/// quotation marks a phrase. Everything else that the language knows is taken as text.
fn match_of(text: &str) -> Option<String> {
    let matches = |(term, is_phrase): (&str, bool)| {
        let more = if is_phrase { "" } else { "*" };
        format!("\"{term}\"{more}")
    };
    let terms: Vec<String> = terms(text).into_iter().map(matches).collect();
    (!terms.is_empty()).then(|| terms.join(" "))
}

/// Words, and phrases in quotation marks.
fn terms(text: &str) -> Vec<(&str, bool)> {
    let mut terms = Vec::new();
    for (idx, part) in text.split('"').enumerate() {
        if idx % 2 == 1 && !part.trim().is_empty() {
            terms.push((part, true));
        } else {
            terms.extend(part.split_whitespace().map(|word| (word, false)));
        }
    }
    // A term without a letter or figure is nothing to the index, and would be an error alone.
    terms.retain(|(term, _)| term.contains(char::is_alphanumeric));
    terms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_is_words_and_phrases_and_nothing_else() {
        for (typed, expected) in [
            ("refund", Some("\"refund\"*")),
            ("two  words", Some("\"two\"* \"words\"*")),
            ("\"a phrase\" more", Some("\"a phrase\" \"more\"*")),
            (
                "NEAR(a b) OR c*",
                Some("\"NEAR(a\"* \"b)\"* \"OR\"* \"c*\"*"),
            ),
            ("\"open", Some("\"open\"")),
            ("\" \" - *", None),
            ("", None),
        ] {
            assert_eq!(match_of(typed).as_deref(), expected, "{typed}");
        }
    }
}
