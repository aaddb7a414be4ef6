//! `--filter-prompts` and `--filter-providers`: columns whose prompt or provider matches by label
//! or id.
//!
//! A test that runs in none of the columns left is left out, too, before tests are counted: the
//! first ten tests are ten that run.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Chosen, Filters, Narrowing, Pattern};
use crate::model::Findings;
use crate::plan::Column;

/// How many names a message lists.
const NAMED: usize = 10;

/// Leaves the columns that both patterns mean; `None`, and a problem, if there is none.
pub(super) fn choose(filters: &Filters, chosen: &mut Chosen, findings: &Findings) -> Option<()> {
    if filters.prompts.is_none() && filters.providers.is_none() {
        return Some(());
    }
    let mut wanted = vec![true; chosen.columns.len()];
    if let Some(pattern) = &filters.prompts {
        let names = |column: &Column| column.prompt.names().map(str::to_owned);
        narrow(chosen, &mut wanted, (pattern, "prompts"), &names, findings)?;
    }
    if let Some(pattern) = &filters.providers {
        let names = |column: &Column| column.provider.names().map(str::to_owned);
        narrow(
            chosen,
            &mut wanted,
            (pattern, "providers"),
            &names,
            findings,
        )?;
    }
    let of = chosen.columns.len();
    renumber(chosen, &wanted);
    if chosen.columns.is_empty() {
        let narrowing = Narrowing {
            filter: "--filter-prompts and --filter-providers".to_owned(),
            kept: 0,
            of,
            what: "columns",
        };
        let help = "a provider's `prompts` may exclude the prompt; each of the two filters alone leaves something";
        return chosen.note(narrowing, help, findings);
    }
    if chosen.tests.is_empty() {
        let narrowing = Narrowing {
            filter: "--filter-prompts and --filter-providers".to_owned(),
            kept: 0,
            of: of.max(2),
            what: "tests",
        };
        let help = "every test's own `prompts` and `providers` exclude the columns that are left";
        return chosen.note(narrowing, help, findings);
    }
    Some(())
}

/// One pattern over the columns.
fn narrow(
    chosen: &mut Chosen,
    wanted: &mut [bool],
    (pattern, what): (&Pattern, &'static str),
    names: &dyn Fn(&Column) -> [String; 2],
    findings: &Findings,
) -> Option<()> {
    let (mut all, mut kept) = (BTreeSet::new(), BTreeSet::new());
    for (wanted, column) in wanted.iter_mut().zip(&chosen.columns) {
        let names = names(column);
        let is_meant = names.iter().any(|name| pattern.is_in(name));
        *wanted &= is_meant;
        if is_meant {
            kept.insert(names.clone());
        }
        all.insert(names);
    }
    let mut listed: Vec<String> = all
        .iter()
        .take(NAMED)
        .map(|[label, _]| label.clone())
        .collect();
    if all.len() > NAMED {
        listed.push(format!("and {} more", all.len() - NAMED));
    }
    let help = format!("there are: {}", listed.join(", "));
    let narrowing = Narrowing {
        filter: format!("--filter-{what} {pattern}"),
        kept: kept.len(),
        of: all.len(),
        what,
    };
    chosen.note(narrowing, &help, findings)
}

/// Drops the other columns, numbers those left anew, and tells the tests.
fn renumber(chosen: &mut Chosen, wanted: &[bool]) {
    let mut next = 0..;
    let new: Vec<Option<u32>> = wanted
        .iter()
        .map(|wanted| if *wanted { next.next() } else { None })
        .collect();
    let number = |column: &Arc<Column>| {
        let prompt_idx = new[column.prompt_idx as usize]?;
        let (prompt, provider) = (column.prompt.clone(), column.provider.clone());
        Some(Arc::new(Column {
            prompt_idx,
            prompt,
            provider,
        }))
    };
    chosen.columns = chosen.columns.iter().filter_map(number).collect();
    chosen.tests.retain_mut(|test| {
        let Some(columns) = test.columns.take() else {
            return true;
        };
        let had_none = columns.is_empty();
        let columns: Arc<[u32]> = columns
            .iter()
            .filter_map(|index| new[*index as usize])
            .collect();
        let runs = had_none || !columns.is_empty();
        test.columns = Some(columns);
        runs
    });
}
