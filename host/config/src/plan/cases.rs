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
            test: 0,
            current: None,
            repeat: 0,
            combination: 0,
            column: 0,
            row: 0,
            vars: None,
        }
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

/// The variables of a row, those that code makes, those that wait for filters, and why they are not
/// filled in.
type RowVars = (
    Arc<Map<String, Value>>,
    CodeVars,
    Arc<[String]>,
    Option<TooMuch>,
);

/// Walks a plan.
#[derive(Debug)]
pub struct Cases<'a> {
    plan: &'a Plan,
    filters_for_data: Arc<FilterScripts>,
    /// Only tests whose cases run alone, or only the others.
    alone: Option<bool>,
    test: usize,
    /// The test at that place.
    current: Option<Arc<Test>>,
    repeat: u32,
    /// Position among the combinations that run.
    combination: u64,
    /// Position among the test's columns.
    column: usize,
    row: u32,
    /// Of the current row.
    vars: Option<RowVars>,
}

impl Cases<'_> {
    /// Goes past the current test if it is not wanted.
    fn skip_unwanted(&mut self) -> bool {
        let Some(test) = self.plan.tests.model(self.test) else {
            return false;
        };
        let order = self.plan.order.as_ref();
        let is_alone = order.is_some_and(|order| order.is_alone(self.test));
        let skips = self.alone.is_some_and(|wanted| wanted != is_alone);
        if skips {
            self.row += rows(test) as u32;
            self.test += 1;
        }
        skips
    }

    /// Goes to the next row.
    fn next_row(&mut self, test: &Test) {
        (self.column, self.vars) = (0, None);
        self.row += 1;
        self.combination += 1;
        if self.combination == combinations(test) {
            self.combination = 0;
            self.repeat += 1;
        }
        if self.repeat == test.repeat {
            self.repeat = 0;
            self.test += 1;
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
                None => self.current.insert(plan.tests.get(self.test)?).clone(),
            };
            let prompt_idx = match &test.columns {
                Some(columns) => columns.get(self.column).copied(),
                None => (self.column < self.plan.columns.len()).then_some(self.column as u32),
            };
            let Some(prompt_idx) = prompt_idx else {
                self.next_row(&test);
                continue;
            };
            self.column += 1;
            let combination = match &test.combinations {
                Some(chosen) => chosen[self.combination as usize],
                None => self.combination,
            };
            let files = &self.plan.var_files;
            let filters = match &test.data {
                Some(_) => &self.filters_for_data,
                None => &self.plan.filters,
            };
            let (vars, code_vars, late_vars, refused) = self.vars.get_or_insert_with(|| {
                let made = test.axes.combination(&test.vars, files, combination);
                let late = made.waiting_for(filters);
                (Arc::new(made.vars), made.code, late, made.refused)
            });
            let results = Results::new(self.plan.filters.clone(), plan.templates.clone());
            let results = Arc::new(results);
            let text_results = if Arc::ptr_eq(filters, &self.plan.filters) {
                results.clone()
            } else {
                Arc::new(Results::for_data(filters.clone(), plan.templates.clone()))
            };
            let order = self.plan.order.as_ref();
            let needs = order.map(|order| order.needs(self.test, self.repeat, prompt_idx));
            return Some(Case {
                id: CaseId {
                    test_idx: self.row,
                    prompt_idx,
                },
                repeat_index: self.repeat,
                vars: vars.clone(),
                scope: vars.clone(),
                refused: refused.clone(),
                code_vars: code_vars.clone(),
                late_vars: late_vars.clone(),
                results,
                text_results,
                needs: needs.map(Arc::new),
                column: self.plan.column(&test, prompt_idx),
                test,
            });
        }
    }
}

#[cfg(test)]
mod tests;
