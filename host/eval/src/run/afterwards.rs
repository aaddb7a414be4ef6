//! What is done when every case has ended: metrics of metrics, and hooks.
//!
//! It is code of the config, which may take long. Nothing is lost by leaving it out, so whoever
//! insists, and the run's time limit, cut it off; the results are stored all the same.

use std::mem::take;

use runner_config::plan::Plan;
use runner_sandbox::abi::CallContext;
use serde_json::{Map, Value, json};

use super::{Loop, at};
use crate::around::hooks::AllRows;
use crate::around::{derived, hooks};
use crate::call::CallScope;
use crate::event::{Event, RunHead};
use crate::masking::masked_json;
use crate::summary::{End, Tally};

impl Loop {
    /// Does it, and listens to people, the clock and events meanwhile.
    pub(super) async fn afterwards(&mut self, plan: &Plan) {
        let scope = CallScope::of_run(&self.context);
        let rows = self.totals.rows.take();
        let rows = rows.filter(|_| self.state.end() == End::Finished);
        let (head, columns) = (self.head.clone(), take(&mut self.totals.columns));
        // On the heap: it would be part of the future of every run.
        let mut work = Box::pin(work(&scope, plan, &head, columns, rows));
        // Who stopped the run has asked once.
        let mut asked = self.state.end() == End::Interrupted;
        self.totals.columns = loop {
            let wake = self.state.wake().map(|after| self.begun + after);
            tokio::select! {
                biased;
                () = self.interrupts.next() => {
                    if std::mem::replace(&mut asked, true) {
                        scope.cut.cancel();
                    } else {
                        self.emit(&still_running());
                    }
                }
                () = at(wake), if !scope.cut.is_cancelled() => scope.cut.cancel(),
                Some(event) = self.events.recv() => self.hear(&event),
                columns = &mut work => break columns,
            }
        };
    }
}

/// The answer to who asks a run to stop whose cases have ended and whose code has not.
fn still_running() -> Event {
    let message = "every case has ended; the config's code for the end of a run (derived metrics, \
                   afterAll) is still running; Ctrl-C again leaves it out"
        .to_owned();
    Event::Notice { message }
}

/// Works out the metrics that are made of others, then hands all rows to the extensions that want
/// them.
async fn work(
    scope: &CallScope,
    plan: &Plan,
    head: &RunHead,
    mut columns: Vec<Tally>,
    rows: Option<AllRows>,
) -> Vec<Tally> {
    let identity = of_run(head);
    for (head, tally) in head.columns.iter().zip(&mut columns) {
        derived::add(scope, &plan.derived_metrics, head, tally, &identity).await;
    }
    if let Some(rows) = rows {
        let about = about(scope, plan, head, &columns);
        hooks::after_all(scope, rows, &about, &identity).await;
    }
    columns
}

/// What `afterAll` is told beside the rows.
fn about(scope: &CallScope, plan: &Plan, head: &RunHead, columns: &[Tally]) -> Map<String, Value> {
    let heads = head.columns.iter().zip(columns);
    let prompts: Value = heads
        .map(|(head, tally)| {
            json!({
                "provider": head.provider, "label": head.prompt, "metrics": tally.metrics_json(),
            })
        })
        .collect();
    let config = masked_json(plan.config_json.clone(), true, &scope.context.masker);
    let mut about = Map::new();
    about.insert("evalId".to_owned(), head.run_id.as_str().into());
    about.insert("prompts".to_owned(), prompts);
    about.insert("suite".to_owned(), config.clone());
    about.insert("config".to_owned(), config);
    about
}

/// What code that belongs to no case is called with.
fn of_run(head: &RunHead) -> CallContext {
    CallContext {
        call_id: head.run_id.clone(),
        attempt: 1,
        deadline_ms: None,
        test_index: 0,
        repeat_index: 0,
        labels: Vec::new(),
    }
}
