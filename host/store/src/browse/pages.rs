//! A page of tests, and how many there are.

use rusqlite::{Connection, params_from_iter};

use super::question::{CaseFilter, Order, PageStart, Question};
use crate::database::Purpose;
use crate::error::StoreError;
use crate::runs::Store;

/// Some tests of a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TestPage {
    /// Their figures, where they are ranked, and their numbers; in the order that was asked for.
    pub tests: Vec<(f64, u32)>,
    /// Whether there are tests before them.
    pub earlier: bool,
    /// Whether there are tests after them.
    pub later: bool,
}

impl Store {
    /// At most `limit` tests of the run with this id that have a case that is wanted.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`]; otherwise when the file or the lookup can't be read.
    pub fn test_page(
        &self,
        id: &str,
        wanted: &CaseFilter,
        order: Order,
        from: PageStart,
        limit: usize,
    ) -> Result<TestPage, StoreError> {
        let (connection, run) = self.looking(id, wanted)?;
        let question = Question::page(run, wanted, order, from, limit);
        let read = || {
            connection
                .prepare(&question.sql)?
                .query_map(params_from_iter(&question.values), |row| {
                    Ok((row.get(1)?, row.get(0)?))
                })?
                .collect::<Result<Vec<_>, _>>()
        };
        let mut tests = read().map_err(|error| self.database().failed("read a page", error))?;
        let more = tests.len() > limit;
        tests.truncate(limit);
        let (earlier, later) = match from {
            PageStart::Start => (false, more),
            PageStart::After(..) => (true, more),
            PageStart::Before(..) => (more, true),
        };
        if matches!(from, PageStart::Before(..)) {
            tests.reverse();
        }
        Ok(TestPage {
            tests,
            earlier,
            later,
        })
    }

    /// How many tests of the run with this id have a case that is wanted, and how many such cases
    /// there are.
    ///
    /// # Errors
    /// As [`Store::test_page`].
    pub fn count_tests(&self, id: &str, wanted: &CaseFilter) -> Result<(u64, u64), StoreError> {
        let (connection, run) = self.looking(id, wanted)?;
        let Question { sql, values } = Question::count(run, wanted);
        connection
            .query_row(&sql, params_from_iter(&values), |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .map(|(tests, cases): (i64, i64)| (tests.unsigned_abs(), cases.unsigned_abs()))
            .map_err(|error| self.database().failed("count tests", error))
    }

    /// A connection that has the lookup if it is needed, and the run's key.
    fn looking(&self, id: &str, wanted: &CaseFilter) -> Result<(Connection, i64), StoreError> {
        let connection = self.database().connect(Purpose::Read)?;
        let run = self.key(&connection, id)?;
        if wanted.needs_lookup() {
            self.attach_lookup(&connection, run)?;
        }
        Ok((connection, run))
    }
}
