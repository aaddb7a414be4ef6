//! Metrics that are worked out of others (`derivedMetrics`), once all cases have ended.
//!
//! promptfoo works them out after every case and keeps the last; what counts is the same. The
//! sums don't depend on the order of the cases, so that a run that went on has the same metrics
//! as one that was never stopped. A metric that can't be worked out is 0, as there, and it is
//! said why. Where a run has more metrics than are summed, one that may read what was left out has no value: 0
//! would be a verdict, made by whoever named so many.

use runner_config::plan::{DerivedMetric, DerivedValue, FormulaError};
use runner_sandbox::abi::CallContext;
use serde_json::{Map, Value, json};

use crate::call::CallScope;
use crate::event::Event;
use crate::script::{Fault, argument, made, runnable};
use crate::stop::{Stop, unless_stopped};
use crate::summary::{ColumnHead, Tally};

/// The number of cases, among the sums.
const COUNT: &str = "__count";

/// Works out the metrics of a column; `all_summed` unless metrics of the run were left out of its sums.
pub(crate) async fn add(
    scope: &CallScope,
    (metrics, all_summed): (&[DerivedMetric], bool),
    head: &ColumnHead,
    tally: &mut Tally,
    identity: &CallContext,
) {
    let notice = |metric: &DerivedMetric, what: &str| {
        let message = format!(
            "the derived metric '{}' of {} · {} {what}",
            metric.name, head.provider, head.prompt
        );
        let message = scope.context.masker.mask(&message).into_owned();
        scope.context.emit(Event::Notice { message });
    };
    for metric in metrics {
        if !all_summed && !is_known(tally, &metric.value) {
            notice(
                metric,
                "has no value: the run has more metrics than are summed",
            );
            continue;
        }
        let worked_out = match &metric.value {
            DerivedValue::Formula(formula) => {
                let value = formula.value(&|name| known(tally, name));
                value.map_err(|error| error.to_string())
            }
            DerivedValue::Code(script) => {
                let arguments = [
                    argument("namedScores", sums(tally).to_string()),
                    argument(
                        "context",
                        json!({ "provider": head.provider, "prompt": head.prompt }).to_string(),
                    ),
                ];
                let code = scope.run_code(runnable(script), &arguments, identity);
                match unless_stopped(scope, code).await {
                    Ok(Ok(given)) => number(given.as_ref()),
                    Ok(Err(Fault(message, _))) => Err(message),
                    Err(Stop::Failed(failure)) => Err(failure.message),
                    Err(Stop::CutOff) => Err("the run was stopped".to_owned()),
                }
            }
        };
        let worked_out = worked_out.and_then(|value| {
            let is_number = value.is_finite();
            is_number
                .then_some(value)
                .ok_or_else(|| format!("it comes to {value}, which is no number"))
        });
        let value = worked_out.unwrap_or_else(|why| {
            notice(metric, &format!("is 0: {why}"));
            0.0
        });
        tally.derived.push((metric.name.clone(), value));
    }
}

/// Whether everything that it reads is there; of code nobody knows that.
fn is_known(tally: &Tally, value: &DerivedValue) -> bool {
    let DerivedValue::Formula(formula) = value else {
        return false;
    };
    !matches!(
        formula.value(&|name| known(tally, name)),
        Err(FormulaError::Unknown { .. })
    )
}

/// What a name stands for: a metric worked out before, the number of cases, or a sum.
fn known(tally: &Tally, name: &str) -> Option<f64> {
    let before = tally.derived.iter().rev().find(|(other, _)| other == name);
    if let Some((_, value)) = before {
        return Some(*value);
    }
    if name == COUNT {
        return Some(tally.count() as f64);
    }
    tally.sum_of(name)
}

/// Everything that a formula may read, for code.
fn sums(tally: &Tally) -> Value {
    let named = tally.named();
    let mut sums: Map<String, Value> = named
        .map(|(name, sum)| (name.to_owned(), sum.into()))
        .collect();
    sums.insert(COUNT.to_owned(), tally.count().into());
    for (name, value) in &tally.derived {
        sums.insert(name.clone(), (*value).into());
    }
    Value::Object(sums)
}

fn number(given: Option<&Value>) -> Result<f64, String> {
    given.and_then(Value::as_f64).ok_or_else(|| {
        let what = made::word(given);
        format!("the code must give a number, not {what}")
    })
}

#[cfg(test)]
mod tests {
    use runner_config::plan::Formula;

    use super::*;

    #[test]
    fn what_reads_a_metric_that_is_not_there_is_not_known() {
        let mut tally = Tally::default();
        tally.derived.push(("safe".to_owned(), 1.0));
        let knows = |text: &str| {
            let formula = Formula::new(text).expect("a formula");
            is_known(&tally, &DerivedValue::Formula(formula))
        };
        assert!(knows("safe + __count + pi"));
        assert!(!knows("1 - toxic"));
    }
}
