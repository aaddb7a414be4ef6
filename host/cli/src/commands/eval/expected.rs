//! What `eval --dry-run` says of a run: how much it is likely to send, and to cost.

use std::sync::Arc;

use runner_config::plan::{Column, Plan};
use runner_eval::{ColumnForecast, Forecast, forecast, without_secrets};

use crate::figures::{count, counted, dollars};
use crate::visible;

/// Most columns that have a line of their own.
const COLUMNS: usize = 50;

/// What a run of `plan` is likely to be, in lines.
pub(super) fn expected(plan: &Plan) -> String {
    let Forecast { columns, grades } = forecast(plan);
    let mut lines: Vec<String> = names(plan)
        .iter()
        .zip(&columns)
        .map(|(name, forecast)| {
            format!(
                "{}: {}",
                visible::cut_middle(&visible::line(name), NAME),
                amounts(forecast)
            )
        })
        .collect();
    if let Some(more) = columns.len().checked_sub(COLUMNS).filter(|more| *more > 0) {
        lines.push(format!("and {} more columns", count(more as u64)));
    }
    let cost: f64 = columns.iter().filter_map(|column| column.cost_usd).sum();
    let unknown = columns
        .iter()
        .filter(|column| column.cost_usd.is_none())
        .count();
    let cases = columns.iter().map(|column| column.cases).sum();
    let mut all = vec![format!("in all {}", counted(cases, "case", "cases"))];
    if unknown < columns.len() {
        all.push(format!("about {}", dollars(cost)));
    }
    if unknown > 0 {
        let columns = counted(unknown as u64, "column", "columns");
        all.push(format!("beside {columns} without a known price"));
    }
    if grades > 0 {
        let grades = counted(grades, "grade", "grades");
        all.push(format!("and what {grades} by a model cost"));
    }
    lines.push(all.join(", ") + "; nothing was sent");
    lines.join("\n") + "\n"
}

/// Characters of a name: a prompt without a label is called by its text.
const NAME: usize = 80;

/// What the columns are called that have a line of their own, without secrets.
fn names(plan: &Plan) -> Vec<String> {
    let name = |column: &Arc<Column>| {
        let (prompt, provider) = (&column.prompt, &column.provider);
        let provider = provider.label.as_ref().unwrap_or(&provider.id);
        format!("{provider} · {}", prompt.label)
    };
    let names = plan.columns.iter().take(COLUMNS).map(name).collect();
    let names = without_secrets(plan, names);
    let names = names.as_array().into_iter().flatten();
    names
        .filter_map(|name| Some(name.as_str()?.to_owned()))
        .collect()
}

fn amounts(forecast: &ColumnForecast) -> String {
    let ColumnForecast {
        cases,
        input_tokens,
        output_tokens,
        cost_usd,
    } = forecast;
    let input = match input_tokens {
        Some(tokens) => format!("about {} tokens in", count(*tokens)),
        None => "prompts made by code".to_owned(),
    };
    let cost = match cost_usd {
        Some(cost) => format!("about {}", dollars(*cost)),
        None => "no known price".to_owned(),
    };
    let cases = counted(*cases, "case", "cases");
    format!("{cases}, {input} and {} out, {cost}", count(*output_tokens))
}
