//! What a run is likely to send and to cost, before anything is sent. Pure.
//!
//! A guess, not a promise: prompts are counted at four bytes a token with some caution, answers at
//! the limit that the provider's config sets or a usual length. What graders ask depends on the
//! answers and is counted in cases only; so is a prompt that code makes.

use runner_config::plan::{Case, Check, Column, Plan};
use runner_gateway::{USUAL_OUTPUT, answer_tokens, prompt_tokens};
use serde_json::Value;

use crate::plugins::price;

/// Cases whose prompts are filled in; of more, these stand for all.
const MOST_FILLED_IN: u64 = 10_000;

/// What a run is likely to send and to cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    /// Of each column of the plan, in its order.
    pub columns: Vec<ColumnForecast>,
    /// Grades for which a model is asked; their cost is not in it.
    pub grades: u64,
}

/// What one column is likely to send and to cost.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnForecast {
    /// Cases.
    pub cases: u64,
    /// Tokens of all prompts; `None`: code makes them.
    pub input_tokens: Option<u64>,
    /// Tokens of all answers.
    pub output_tokens: u64,
    /// US dollars; `None` where nobody knows the price.
    pub cost_usd: Option<f64>,
}

/// What is filled in of a column so far.
#[derive(Default)]
struct Filled {
    cases: u64,
    input: u64,
}

/// What a run of `plan` is likely to send and to cost.
pub fn forecast(plan: &Plan) -> Forecast {
    let mut filled: Vec<Filled> = plan.columns.iter().map(|_| Filled::default()).collect();
    let (mut seen, mut grades) = (0_u64, 0_u64);
    for case in plan.cases().take(MOST_FILLED_IN as usize) {
        seen += 1;
        grades += asked_models(&case);
        let of_column = &mut filled[case.id.prompt_idx as usize];
        of_column.cases += 1;
        // A prompt that can't be filled in is its row's error, later.
        let prompt = case.render().map(|rendered| rendered.text);
        of_column.input += prompt_tokens(&prompt.unwrap_or_default());
    }
    let all = plan.case_count();
    let scaled = |part: u64| (part as f64 * all as f64 / seen.max(1) as f64).round() as u64;
    let columns = plan.columns.iter().zip(&filled);
    let columns = columns.map(|(column, filled)| {
        let cases = scaled(filled.cases);
        of_column(plan, column, cases, scaled(filled.input))
    });
    Forecast {
        columns: columns.collect(),
        grades: scaled(grades),
    }
}

fn of_column(plan: &Plan, column: &Column, cases: u64, input: u64) -> ColumnForecast {
    let provider = &column.provider;
    let answer = answer_tokens(&Value::Object(provider.config.clone()));
    let output_tokens = cases.saturating_mul(answer.unwrap_or(USUAL_OUTPUT));
    let input_tokens = column.prompt.code.is_none().then_some(input);
    let price = price(provider, &plan.prices);
    let cost_usd = price
        .zip(input_tokens)
        .map(|(price, input)| price.input * input as f64 + price.output * output_tokens as f64);
    ColumnForecast {
        cases,
        input_tokens,
        output_tokens,
        cost_usd,
    }
}

/// Assertions of a case for which a model is asked.
fn asked_models(case: &Case) -> u64 {
    let members = case.test.assertions.iter().flat_map(Check::members);
    members
        .filter(|assertion| assertion.judges.all().next().is_some())
        .count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn prompts_are_counted_and_answers_guessed() {
        let plan = fixture::plan(
            "prompts: ['four bytes each, {{x}}']\n\
             providers: [{ id: echo, config: { max_tokens: 100, cost: 0.01 } }, { id: echo, label: b }]\n\
             tests: [{ vars: { x: abcd } }, { vars: { x: efgh }, assert: [{ type: llm-rubric, value: v, provider: echo }] }]",
        );
        let Forecast { columns, grades } = forecast(&plan);
        let known = ColumnForecast {
            cases: 2,
            input_tokens: Some(14),
            output_tokens: 200,
            cost_usd: Some(2.14),
        };
        let [first, second] = &columns[..] else {
            panic!("{columns:?}");
        };
        assert_eq!(*first, known);
        assert_eq!(
            (second.output_tokens, second.cost_usd),
            (2 * USUAL_OUTPUT, None)
        );
        assert_eq!(grades, 2);
    }

    #[test]
    fn of_many_cases_some_stand_for_all() {
        let plan = fixture::plan(
            "prompts: [abcdabcd]\nproviders: [echo]\nevaluateOptions: { repeat: 20000 }",
        );
        let Forecast { columns, .. } = forecast(&plan);
        assert_eq!(
            (columns[0].cases, columns[0].input_tokens),
            (20_000, Some(60_000))
        );
    }
}
