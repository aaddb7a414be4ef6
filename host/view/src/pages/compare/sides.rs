//! What is compared with what, as the address says it: two runs, or of one run two columns, two models or two prompts.
//!
//! A model is all columns of a provider, a prompt all columns that have it. Of two models those columns are held against each
//! other that have the same prompt, of two prompts those of the same model, so that nothing but what was chosen differs.

use std::collections::BTreeSet;
use std::sync::Arc;

use maud::{Markup, html};
use runner_store::{RunInfo, StoreError};
use runner_telling::{apart, visible};

use super::super::line;
use super::super::run_columns::title;
use crate::address::segment;
use crate::pairing;
use crate::request::Fields;
use crate::site::{Column, Site};

/// Runs that are ticked.
const TICKED: usize = 50;
/// Characters of a model or a prompt at the head of a table.
const LABEL: usize = 28;

/// What of a run is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ComparisonAxis {
    Column,
    Model,
    Prompt,
}

/// A column, or what it has in common with others.
type Facet = (ComparisonAxis, u32);

/// The two sides, and what the address says of them.
pub(super) struct Sides {
    pub(super) before: RunInfo,
    pub(super) after: RunInfo,
    pub(super) old: Vec<Column>,
    pub(super) new: Vec<Column>,
    /// The columns that are compared.
    pub(super) columns: Vec<(u32, u32)>,
    pub(super) by: ComparisonAxis,
    chosen: Option<[Facet; 2]>,
    /// What of the address names no such part.
    pub(super) unread: Vec<String>,
    /// The address without kind and page.
    pub(super) query: String,
}

impl Sides {
    /// The sides; or the runs that are ticked, from which two are to be chosen.
    pub(super) fn of(
        site: &Arc<Site>,
        query: &Fields,
    ) -> Result<Result<Self, Vec<RunInfo>>, StoreError> {
        let ids: BTreeSet<&str> = query.all("run").take(TICKED).collect();
        let runs = ids.into_iter().map(|id| site.store.run(id));
        let mut runs: Vec<RunInfo> = runs.collect::<Result<_, _>>()?;
        runs.sort_by_key(|run| run.created_at_ms);
        let (before, after) = match &runs[..] {
            [run] => (run.clone(), run.clone()),
            [before, after] => (before.clone(), after.clone()),
            _ => return Ok(Err(runs)),
        };
        let ((old, _), (new, _)) = (site.head(&before.id)?, site.head(&after.id)?);
        let is_one_run = before.id == after.id;
        let part = |name, columns: &[Column]| {
            let part = query.get(name).and_then(read);
            part.filter(|(_, column)| (*column as usize) < columns.len())
        };
        let first = is_one_run.then(|| rivals(&new)).flatten();
        let unread = [("left", &old), ("right", &new)].into_iter();
        let unread = unread.filter(|(name, columns)| part(name, columns).is_none());
        let unread = unread.filter_map(|(name, _)| Some(format!("{name}={}", query.get(name)?)));
        let unread: Vec<String> = unread.collect();
        let chosen = part("left", &old).zip(part("right", &new));
        let chosen = chosen.map(|(left, right)| [left, right]).or(first);
        if is_one_run && chosen.is_none() {
            return Ok(Err(runs));
        }
        let mut parts = vec![format!("/compare?run={}", segment(&before.id))];
        parts.extend((!is_one_run).then(|| format!("run={}", segment(&after.id))));
        parts.extend(
            chosen.map(|[left, right]| format!("left={}&right={}", word(left), word(right))),
        );
        Ok(Ok(Self {
            columns: match chosen {
                Some(chosen) => of_parts(&old, &new, chosen),
                None => pairs(&old, &new),
            },
            by: chosen.map_or(ComparisonAxis::Column, |it| it[0].0),
            chosen,
            unread,
            before,
            after,
            old,
            new,
            query: parts.join("&"),
        }))
    }

    pub(super) fn is_one_run(&self) -> bool {
        self.before.id == self.after.id
    }

    /// What the two are called where there is little room.
    pub(super) fn labels(&self) -> [String; 2] {
        let Some(chosen) = self.chosen.filter(|_| self.is_one_run()) else {
            return ["Before", "After"].map(str::to_owned);
        };
        let [left, right] = chosen.map(|part| self.name(part));
        let names = apart::names(&[&left, &right], LABEL);
        names.try_into().expect("as many as were given")
    }

    /// What two columns that are compared have in common, where models or prompts are.
    pub(super) fn common(&self, column: u32) -> Option<String> {
        match self.by {
            ComparisonAxis::Column => None,
            ComparisonAxis::Model => Some(self.name((ComparisonAxis::Prompt, column))),
            ComparisonAxis::Prompt => Some(self.name((ComparisonAxis::Model, column))),
        }
    }

    /// What the two are called.
    pub(super) fn told(&self) -> Vec<Markup> {
        let told = |part: Facet| {
            if part.0 == ComparisonAxis::Column {
                title(&self.new, part.1 as usize)
            } else {
                html! { b { (self.name(part)) } }
            }
        };
        self.chosen.into_iter().flatten().map(told).collect()
    }

    fn name(&self, (by, column): Facet) -> String {
        let it = self.new.get(column as usize).cloned().unwrap_or_default();
        match by {
            ComparisonAxis::Column => format!("Column ({column})"),
            ComparisonAxis::Model => line(&it.model()),
            ComparisonAxis::Prompt => line(&visible::cut(&it.label, 120)),
        }
    }

    /// The form that chooses two parts of a run.
    pub(super) fn form(&self) -> Markup {
        let groups =
            [ComparisonAxis::Model, ComparisonAxis::Prompt].map(|by| (by, parts(&self.new, by)));
        // With one model each column is a prompt of its own, and the other way round.
        let is_shared = groups.iter().all(|(_, parts)| parts.len() > 1);
        let option = |part: Facet, name: &str, chosen: Facet| {
            html! { option value=(word(part)) selected[part == chosen] { (name) } }
        };
        let select = |field: &str, label: &str, side: usize| {
            let chosen = self
                .chosen
                .map_or((ComparisonAxis::Column, 0), |it| it[side]);
            let columns = self.new.iter().zip(0_u32..);
            html! {
                label { span { (label) } select name=(field) {
                    @if is_shared { @for (by, parts) in &groups {
                        optgroup label=(by.title().trim_end_matches(" of")) { @for part in parts { (option((*by, *part), &visible::cut_middle(&self.name((*by, *part)), 100), chosen)) } }
                    } }
                    optgroup label="Columns" { @for (column, idx) in columns {
                        (option((ComparisonAxis::Column, idx), &format!("({idx}) {} · {}", line(&visible::cut_middle(&column.model(), 60)), line(&visible::cut(&column.label, 40))), chosen))
                    } }
                } }
            }
        };
        html! {
            form.filters action="/compare" { input type="hidden" name="run" value=(self.after.id); (select("left", "Compare", 0)) (select("right", "with", 1)) button { "Compare" } }
        }
    }
}

impl ComparisonAxis {
    /// What is compared, before the name of the run.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Column => "Columns of",
            Self::Model => "Models of",
            Self::Prompt => "Prompts of",
        }
    }

    /// What a column has of it.
    fn key(self, column: &Column) -> [&str; 2] {
        match self {
            Self::Column => ["", ""],
            Self::Model => [
                &column.provider,
                column.variant.as_deref().unwrap_or_default(),
            ],
            Self::Prompt => [&column.label, &column.raw],
        }
    }
}

/// A part from its word: a column by its number, a model or a prompt by the first column that has it.
fn read(text: &str) -> Option<Facet> {
    let (by, number) = match text.split_once('-') {
        None => (ComparisonAxis::Column, text),
        Some(("model", number)) => (ComparisonAxis::Model, number),
        Some(("prompt", number)) => (ComparisonAxis::Prompt, number),
        Some(_) => return None,
    };
    Some((by, number.parse().ok()?))
}

fn word((by, column): Facet) -> String {
    match by {
        ComparisonAxis::Column => column.to_string(),
        ComparisonAxis::Model => format!("model-{column}"),
        ComparisonAxis::Prompt => format!("prompt-{column}"),
    }
}

/// The models or prompts of a run, by their first columns.
fn parts(columns: &[Column], by: ComparisonAxis) -> Vec<u32> {
    let mut seen = BTreeSet::new();
    let numbered = columns.iter().zip(0_u32..);
    let new = numbered.filter(|(column, _)| seen.insert(by.key(column)));
    new.map(|it| it.1).collect()
}

/// The columns of two parts that are held against each other.
fn of_parts(old: &[Column], new: &[Column], [left, right]: [Facet; 2]) -> Vec<(u32, u32)> {
    let same = match (left.0, right.0) {
        (ComparisonAxis::Column, ComparisonAxis::Column) => return vec![(left.1, right.1)],
        (ComparisonAxis::Model, ComparisonAxis::Model) => ComparisonAxis::Prompt,
        (ComparisonAxis::Prompt, ComparisonAxis::Prompt) => ComparisonAxis::Model,
        _ => return Vec::new(),
    };
    let of = |columns: &[Column], (by, first): Facet| -> Vec<u32> {
        let key = by.key(&columns[first as usize]);
        let numbered = columns.iter().zip(0_u32..);
        let own = numbered.filter(|(column, _)| by.key(column) == key);
        own.map(|it| it.1).collect()
    };
    let mut free = of(old, left);
    let partner = |after: u32| {
        let key = same.key(&new[after as usize]);
        let at = free
            .iter()
            .position(|it| same.key(&old[*it as usize]) == key)?;
        Some((free.remove(at), after))
    };
    of(new, right).into_iter().filter_map(partner).collect()
}

/// What of a run is compared unless something else is chosen: two models where several prompts are common to them, or else
/// the first column with another model's, best of the same prompt, or else with the second.
fn rivals(columns: &[Column]) -> Option<[Facet; 2]> {
    if let [first, second, ..] = parts(columns, ComparisonAxis::Model)[..] {
        let models = [
            (ComparisonAxis::Model, first),
            (ComparisonAxis::Model, second),
        ];
        if of_parts(columns, columns, models).len() > 1 {
            return Some(models);
        }
    }
    let (first, others) = columns.split_first()?;
    let at = |is: &dyn Fn(&Column) -> bool| others.iter().position(is);
    let is_another =
        |it: &Column| ComparisonAxis::Model.key(it) != ComparisonAxis::Model.key(first);
    let rival = at(&|it| is_another(it) && it.raw == first.raw)
        .or_else(|| at(&is_another))
        .or_else(|| at(&|_| true))?;
    Some([
        (ComparisonAxis::Column, 0),
        (ComparisonAxis::Column, rival as u32 + 1),
    ])
}

pub(super) fn names(columns: &[Column]) -> Vec<pairing::ColumnNames<'_>> {
    columns.iter().map(Column::names).collect()
}

fn pairs(old: &[Column], new: &[Column]) -> Vec<(u32, u32)> {
    let partners = pairing::columns(&names(old), &names(new));
    let pair = |(after, before): (usize, &Option<usize>)| Some(((*before)? as u32, after as u32));
    partners.iter().enumerate().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(of: &[(&str, &str)]) -> Vec<Column> {
        let columns = of.iter().map(|(provider, raw)| Column {
            provider: (*provider).to_owned(),
            label: (*raw).to_owned(),
            raw: (*raw).to_owned(),
            ..Column::default()
        });
        columns.collect()
    }

    #[test]
    fn two_models_are_compared_first_or_a_column_with_another_models() {
        let of = |all: &[(&str, &str)]| rivals(&columns(all)).map(|it| it.map(word).join(" "));
        let told = |text: &str| Some(text.to_owned());
        assert_eq!(
            of(&[("a", "p"), ("a", "q"), ("b", "q"), ("b", "p")]),
            told("model-0 model-2")
        );
        assert_eq!(of(&[("a", "p"), ("a", "q"), ("b", "p")]), told("0 2"));
        assert_eq!(of(&[("a", "p"), ("a", "q"), ("b", "r")]), told("0 2"));
        assert_eq!(of(&[("a", "p"), ("a", "q")]), told("0 1"));
        assert_eq!(of(&[("a", "p")]), None);
    }

    #[test]
    fn parts_are_compared_by_what_their_columns_have_in_common() {
        let all = columns(&[("a", "p"), ("a", "q"), ("b", "q"), ("b", "p"), ("b", "r")]);
        for (left, right, expected) in [
            ("1", "4", &[(1, 4)][..]),
            ("model-0", "model-2", &[(1, 2), (0, 3)]),
            ("prompt-0", "prompt-1", &[(0, 1), (3, 2)]),
            ("prompt-0", "prompt-4", &[(3, 4)]),
            ("model-0", "prompt-1", &[]),
        ] {
            let parts = [left, right].map(|it| read(it).expect("a part"));
            assert_eq!(parts.map(word), [left, right]);
            assert_eq!(of_parts(&all, &all, parts), expected, "{left} {right}");
        }
        assert!(
            ["x", "model-", "model-x", "thing-1", "-1"]
                .iter()
                .all(|it| read(it).is_none())
        );
    }
}
