//! Metrics that are worked out of others (`derivedMetrics`), once all cases have ended.
//!
//! promptfoo works them out after every case and keeps the last; what counts is the same. The
//! sums don't depend on the order of the cases, so that a run that went on has the same metrics
//! as one that was never stopped. A metric that can't be worked out is 0, as there, and it is
//! said why.

use runner_config::plan::{DerivedMetric, DerivedValue};
use runner_sandbox::abi::CallContext;
use serde_json::{Map, Value, json};

use crate::call::CallScope;
use crate::event::Event;
use crate::script::{Fault, argument, made, runnable};
use crate::stop::{Stop, within};
use crate::summary::{ColumnHead, Tally};

/// The number of cases, among the sums.
const COUNT: &str = "__count";

/// Works out the metrics of a column.
pub(crate) async fn add(
    scope: &CallScope,
    metrics: &[DerivedMetric],
    head: &ColumnHead,
    tally: &mut Tally,
    identity: &CallContext,
) {
    for metric in metrics {
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
                match within(scope, code).await {
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
            let message = format!(
                "the derived metric '{}' of {} · {} is 0: {why}",
                metric.name, head.provider, head.prompt
            );
            let message = scope.context.masker.mask(&message).into_owned();
            scope.context.emit(Event::Notice { message });
            0.0
        });
        tally.derived.push((metric.name.clone(), value));
    }
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
