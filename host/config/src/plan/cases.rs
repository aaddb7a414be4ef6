//! The cases of a plan, one at a time.
//!
//! The order is fixed: test → repeat → variable combination → column (provider → prompt). The
//! first three make the row (`test_idx`), so a repeat has rows of its own. Only the current
//! row's variables exist, whatever the plan expands to.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::variables::TooMuch;
use super::{Case, CaseId, CodeVars, Column, Plan, ShardRows, Test};
use crate::template::{FilterScripts, Results, for_data};

impl Plan {
    /// Every case, in order. Can't fail: what could was checked when the plan was made.
    pub fn cases(&self) -> Cases<'_> {
        self.walk(None)
    }

    /// The cases that run alone before all others, in order.
    pub fn cases_alone(&self) -> Cases<'_> {
        self.walk(Some(true))
    }

    /// The other ones, in order.
    pub fn cases_beside(&self) -> Cases<'_> {
        self.walk(Some(false))
    }

    fn walk(&self, alone: Option<bool>) -> Cases<'_> {
        Cases {
            plan: self,
            filters_for_data: for_data(&self.filters),
            alone,
            at: CasePlace::default(),
            current: None,
            vars: None,
        }
    }

    /// The case at a place, made again.
    ///
    /// # Panics
    /// If the place is one of another plan.
    pub fn case_at(&self, place: CasePlace) -> Case {
        let mut cases = self.walk(None);
        cases.at = place;
        cases.next().expect("a case has been at this place")
    }

    /// How many cases there are, without making them.
    pub fn case_count(&self) -> u64 {
        self.tests
            .models()
            .map(|test| rows(test) * self.column_count(test))
            .sum()
    }

    /// How many rows the results have: cases over columns.
    pub fn row_count(&self) -> u64 {
        self.tests.models().map(rows).sum()
    }

    /// The part of a run that it is, with its rows.
    pub fn shard_rows(&self) -> Option<ShardRows> {
        let rows = self.row_count();
        self.shard.map(|shard| ShardRows { shard, rows })
    }

    /// A column, as the test has it: a provider of its own answers in place of the column's, whose
    /// transform it gets if it has none.
    fn column(&self, test: &Test, prompt_idx: u32) -> Arc<Column> {
        let column = &self.columns[prompt_idx as usize];
        match test.provider {
            None => column.clone(),
            Some(own) => {
                let mut provider = self.judges[own.0 as usize].clone();
                if provider.transform.is_none() {
                    let transform = column.provider.transform.clone();
                    Arc::make_mut(&mut provider).transform = transform;
                }
                Arc::new(Column {
                    prompt_idx,
                    prompt: column.prompt.clone(),
                    provider,
                })
            }
        }
    }

    fn column_count(&self, test: &Test) -> u64 {
        test.columns
            .as_ref()
            .map_or(self.columns.len(), |it| it.len()) as u64
    }
}

fn rows(test: &Test) -> u64 {
    u64::from(test.repeat) * combinations(test)
}

fn combinations(test: &Test) -> u64 {
    if let Some(chosen) = &test.combinations {
        return chosen.len() as u64;
    }
    test.axes
        .combinations()
        .expect("a plan with more rows than fit is refused when it is made")
}

/// The variables of a row, those that code makes, those that wait for filters, whether words of files are among
/// them, and why they are not filled in.
type RowVars = (
    Arc<Map<String, Value>>,
    CodeVars,
    Arc<[String]>,
    bool,
    Option<TooMuch>,
);

/// Where a case stands in its plan, which can make it again from there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CasePlace {
    test: usize,
    repeat: u32,
    /// Position among the combinations that run.
    combination: u64,
    /// Position among the test's columns.
    column: usize,
    row: u32,
}

/// Walks a plan.
#[derive(Debug)]
pub struct Cases<'a> {
    plan: &'a Plan,
    filters_for_data: Arc<FilterScripts>,
    /// Only tests whose cases run alone, or only the others.
    alone: Option<bool>,
    /// Of the next case, if there is one.
    at: CasePlace,
    /// The test at that place.
    current: Option<Arc<Test>>,
    /// Of the current row.
    vars: Option<RowVars>,
}

impl Cases<'_> {
    /// Goes past the current test if it is not wanted.
    fn skip_unwanted(&mut self) -> bool {
        let Some(test) = self.plan.tests.model(self.at.test) else {
            return false;
        };
        let order = self.plan.order.as_ref();
        let is_alone = order.is_some_and(|order| order.is_alone(self.at.test));
        let skips = self.alone.is_some_and(|wanted| wanted != is_alone);
        if skips {
            self.at.row += rows(test) as u32;
            self.at.test += 1;
        }
        skips
    }

    /// The variables of the row that it has come to, made once for all of its columns.
    fn row_vars(&mut self, test: &Test) -> &RowVars {
        let at = self.at.combination;
        let combination = test
            .combinations
            .as_ref()
            .map_or(at, |chosen| chosen[at as usize]);
        let plan = self.plan;
        let filters = match &test.words_of {
            Some(_) => &self.filters_for_data,
            None => &plan.filters,
        };
        self.vars.get_or_insert_with(|| {
            let made = test
                .axes
                .combination(&test.vars, &plan.var_files, combination);
            let late = made.waiting_for(filters, &self.filters_for_data);
            let of_files = !made.of_files.is_empty();
            (Arc::new(made.vars), made.code, late, of_files, made.refused)
        })
    }

    /// Goes to the next row.
    fn next_row(&mut self, test: &Test) {
        (self.at.column, self.vars) = (0, None);
        self.at.row += 1;
        self.at.combination += 1;
        if self.at.combination == combinations(test) {
            self.at.combination = 0;
            self.at.repeat += 1;
        }
        if self.at.repeat == test.repeat {
            self.at.repeat = 0;
            self.at.test += 1;
            self.current = None;
        }
    }
}

impl Iterator for Cases<'_> {
    type Item = Case;

    fn next(&mut self) -> Option<Case> {
        loop {
            let plan = self.plan;
            if self.skip_unwanted() {
                continue;
            }
            let test = match &self.current {
                Some(test) => test.clone(),
                None => self.current.insert(plan.tests.get(self.at.test)?).clone(),
            };
            let prompt_idx = match &test.columns {
                Some(columns) => columns.get(self.at.column).copied(),
                None => (self.at.column < self.plan.columns.len()).then_some(self.at.column as u32),
            };
            let Some(prompt_idx) = prompt_idx else {
                self.next_row(&test);
                continue;
            };
            let place = self.at;
            self.at.column += 1;
            let (vars, code_vars, late_vars, of_files, refused) = self.row_vars(&test).clone();
            let column = self.plan.column(&test, prompt_idx);
            let has_others_words = of_files || test.words_of.is_some();
            let is_said = [
                column.prompt.of_data,
                test.words_of.is_some(),
                has_others_words,
            ];
            let [results, text_results, made_results] =
                results(plan, &self.filters_for_data, is_said);
            let order = plan.order.as_ref();
            let needs = order.map(|order| order.needs(place.test, place.repeat, prompt_idx));
            return Some(Case {
                id: CaseId {
                    test_idx: place.row,
                    prompt_idx,
                },
                place,
                repeat_index: place.repeat,
                scope: vars.clone(),
                vars,
                has_others_words,
                left: None,
                refused,
                code_vars,
                late_vars,
                results,
                text_results,
                made_results,
                needs: needs.map(Arc::new),
                column,
                test,
            });
        }
    }
}

/// What texts call of filters, for each of these: of the config's own texts all, and where others' words are said
/// what rows may.
fn results<const N: usize>(
    plan: &Plan,
    filters_for_data: &Arc<FilterScripts>,
    is_said: [bool; N],
) -> [Arc<Results>; N] {
    let whole = Arc::new(Results::new(plan.filters.clone(), plan.templates.clone()));
    let for_data = is_said.contains(&true).then(|| {
        let filters = filters_for_data.clone();
        Arc::new(Results::for_data(filters, plan.templates.clone()))
    });
    is_said.map(|is_said| match &for_data {
        Some(for_data) if is_said => for_data.clone(),
        _ => whole.clone(),
    })
}

#[cfg(test)]
mod tests;
