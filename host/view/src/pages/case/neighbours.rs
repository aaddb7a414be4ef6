//! The ways from a case: to the ones before and after it in the list that it was opened from, and to the other
//! columns of its test.
//!
//! Conditions on figures (the verdict, say) are about cases, so the next one is the next case that is so, in this
//! test or in a later one. Else it is the next test, in the same column.

use std::sync::Arc;

use maud::{Markup, html};
use runner_store::{PageStart, RowsByKey, RunInfo, StoreError};

use crate::address::{Address, segment};
use crate::site::{LookedUp, Site};

/// Columns that are looked through.
const MOST_COLUMNS: u32 = 100;
/// Columns that are linked.
const LINKED: u32 = 20;

struct Here<'a> {
    site: &'a Arc<Site>,
    address: &'a Address,
    run: &'a RunInfo,
    rows: RowsByKey,
    /// The figure by which tests are ordered, and the test.
    place: (f64, u32),
    column: u32,
    columns: u32,
}

pub(super) fn ways(
    site: &Arc<Site>,
    address: &Address,
    run: &RunInfo,
    (test, column): (u32, u32),
    columns: u32,
) -> Result<Markup, StoreError> {
    let here = Here {
        site,
        address,
        run,
        rows: site.store.rows_by_key(&run.id)?,
        place: match address.from {
            PageStart::After(figure, it) if it == test => (figure, test),
            _ => (0.0, test),
        },
        column,
        columns: columns.min(MOST_COLUMNS),
    };
    let what = if address.picks_cases() {
        "case that matches"
    } else {
        "test"
    };
    let (previous, next) = (here.beside(true)?, here.beside(false)?);
    let other = |column: u32| {
        format!(
            "/runs/{}/cases/{test}/{column}{}",
            segment(&run.id),
            address.query()
        )
    };
    Ok(html! {
        nav.pages aria-label="Cases" {
            @if let Some(previous) = previous { a rel="prev" href=(previous) { "Previous " (what) } }
            @if let Some(next) = next { a rel="next" href=(next) { "Next " (what) } }
            @if columns > 1 {
                span.others { "Column "
                    @for it in 0..columns.min(LINKED) {
                        @if it == column { b aria-current="page" { (it) } " " } @else { a href=(other(it)) { (it) } " " }
                    }
                }
            }
        }
    })
}

impl Here<'_> {
    /// The address of the case before or after this one.
    fn beside(&self, backwards: bool) -> Result<Option<String>, StoreError> {
        let Self {
            address,
            column,
            columns,
            ..
        } = *self;
        let test = self.place.1;
        if address.picks_cases() {
            let others = if backwards {
                0..column.min(columns)
            } else {
                column + 1..columns
            };
            if let Some(column) = self.wanted(test, others, backwards)? {
                return Ok(Some(self.link(self.place, column)));
            }
        }
        if address.wanted.needs_lookup() && self.site.look_up(self.run) != Ok(LookedUp::Ready) {
            return Ok(None);
        }
        let (figure, test) = self.place;
        let from = if backwards {
            PageStart::Before(figure, test)
        } else {
            PageStart::After(figure, test)
        };
        let store = &self.site.store;
        let page = store.test_page(&self.run.id, &address.wanted, address.order, from, 1)?;
        let Some(place) = page.tests.first().copied() else {
            return Ok(None);
        };
        let found = if address.picks_cases() {
            self.wanted(place.1, 0..columns, backwards)?
        } else {
            None
        };
        Ok(Some(self.link(place, found.unwrap_or(column))))
    }

    /// Of these columns of a test the first one that is wanted, or the last.
    fn wanted(
        &self,
        test: u32,
        columns: std::ops::Range<u32>,
        backwards: bool,
    ) -> Result<Option<u32>, StoreError> {
        let mut found = None;
        for column in columns {
            let row = self.rows.row(test, column)?;
            if row.is_some_and(|row| self.address.wants(&row)) {
                found = Some(column);
                if !backwards {
                    break;
                }
            }
        }
        Ok(found)
    }

    fn link(&self, (figure, test): (f64, u32), column: u32) -> String {
        let query = self.address.at(PageStart::After(figure, test)).query();
        format!(
            "/runs/{}/cases/{test}/{column}{query}",
            segment(&self.run.id)
        )
    }
}
