//! `extensions`: code that is called around each case, and once after all of them.
//!
//! `beforeEach` gets the test and may change it; what it can't change, since it was checked and
//! compiled when the plan was made, is an error of the row that says so. `afterEach` gets the row
//! and may add to its named scores and metadata, and to nothing that decides how the case ended;
//! where it fails the row stays as it was. `afterAll` gets every row, and what it gives back means
//! nothing. (`beforeAll` ran when the plan was made.)

use std::sync::Arc;
use std::sync::atomic::Ordering;

use runner_config::is_of_the_answer;
use runner_config::plan::{
    Assertion, Case, Check, Extension, Hook, MAX_WEIGHT_OF_DATA, Test, WEBHOOK,
};
use runner_sandbox::abi::{Argument, CallContext};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::call::CallScope;
use crate::event::Event;
use crate::failure::{CallFailure, FailureCode};
use crate::record::{CaseRecord, Outcome, TestCase};
use crate::request::json;
use crate::script::{Fault, argument, made, runnable};
use crate::stop::{Stop, unless_stopped};

/// What a hook of a case is given.
#[derive(Serialize)]
struct Context<'a, T: Serialize> {
    test: &'a T,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a CaseRecord>,
}

/// Calls one extension; `None`: it gave nothing that counts. An error is one line.
async fn call(
    scope: &CallScope,
    extension: &Extension,
    hook: Hook,
    context: String,
    identity: &CallContext,
) -> Result<Option<Value>, CallFailure> {
    let name = hook.name();
    let context = argument("context", context);
    let arguments: [Argument; 2] = if extension.hook.is_some() {
        let hook = json!({ "hookName": name });
        [context, argument("hook", hook.to_string())]
    } else {
        [argument("hookName", json!(name).to_string()), context]
    };
    let runnable = runnable(&extension.script);
    let given = scope.run_code(runnable, &arguments, identity).await?;
    match given {
        Ok(value) => Ok(value.filter(|value| !matches!(value, Value::Null | Value::Bool(false)))),
        Err(Fault(message, _)) => Err(failed(extension, hook, &message)),
    }
}

fn failed(extension: &Extension, hook: Hook, why: &str) -> CallFailure {
    let message = format!("{} ({}): {why}", hook.name(), extension.at.key);
    CallFailure::new(FailureCode::Script, message)
}

/// Returns the case as `beforeEach` leaves it; `None` where nothing changes it.
pub(crate) async fn before_each(
    scope: &CallScope,
    case: &Case,
    identity: &CallContext,
) -> Result<Option<Case>, CallFailure> {
    let hook = Hook::BeforeEach;
    let mut changed: Option<Case> = None;
    for extension in scope.context.hooks.of(hook) {
        let test = TestCase::of(changed.as_ref().unwrap_or(case)).to_value();
        let context = json(&Context {
            test: &test,
            result: None,
        });
        let Some(mut given) = call(scope, extension, hook, context, identity).await? else {
            continue;
        };
        let given = given.get_mut("test").map(Value::take);
        let Some(Value::Object(after)) = given else {
            let why = "it must return its context with a `test` in it";
            return Err(failed(extension, hook, why));
        };
        if Some(&after) == test.as_object() {
            continue;
        }
        let case = changed.get_or_insert_with(|| case.clone());
        change(case, &test, after).map_err(|why| failed(extension, hook, &why))?;
    }
    Ok(changed)
}

/// Options that were read when the plan was made.
const READ_BEFORE: [&str; 10] = [
    "transform",
    "postprocess",
    "transformVars",
    "provider",
    "repeat",
    "runSerially",
    "storeOutputAs",
    "disableVarExpansion",
    "disableDefaultAsserts",
    "disableConversationVar",
];

/// Options that stand around the prompt.
const AFFIXES: [&str; 2] = ["prefix", "suffix"];

/// Changes a case from what its test was to what it shall be.
fn change(case: &mut Case, before: &Value, mut after: Map<String, Value>) -> Result<(), String> {
    let mut test = Test::clone(&case.test);
    if let Some(vars) = after.remove("vars")
        && vars != before["vars"]
    {
        let Value::Object(vars) = vars else {
            let what = made::word(Some(&vars));
            return Err(format!("`test.vars` must stay an object, not {what}"));
        };
        case.set_vars(vars);
    }
    let keys = before.as_object().into_iter().flat_map(Map::keys);
    let gone = keys.filter(|key| *key != "vars" && !after.contains_key(*key));
    let gone: Vec<(String, Value)> = gone.map(|key| (key.clone(), Value::Null)).collect();
    for (key, value) in after.into_iter().chain(gone) {
        if value == before[&key] {
            continue;
        }
        match (key.as_str(), &value) {
            ("description", Value::String(said)) => test.description = Some(said.clone()),
            ("description", Value::Null) => test.description = None,
            ("threshold", value) if value.is_null() || value.is_number() => {
                test.threshold = value.as_f64();
            }
            ("metadata", Value::Object(metadata)) => test.metadata.clone_from(metadata),
            ("metadata", Value::Null) => test.metadata = Map::new(),
            ("options", Value::Object(options)) => {
                change_options(
                    &mut test,
                    &before["options"],
                    options,
                    case.has_others_words,
                )?;
                case.made_anew();
            }
            ("assert", Value::Array(list)) => {
                let checks = Arc::make_mut(&mut test.assertions);
                assertions(checks, list, case.has_others_words)?;
                case.made_anew();
            }
            _ => return Err(fixed(&key)),
        }
        if let Value::Object(json) = Arc::make_mut(&mut test.json) {
            json.insert(key, value);
        }
    }
    case.test = Arc::new(test);
    Ok(())
}

/// Changes options from what was written to what a hook says; beside the words of data to no more than these may.
fn change_options(
    test: &mut Test,
    written: &Value,
    options: &Map<String, Value>,
    of_data: bool,
) -> Result<(), String> {
    let is_other = |key: &str| options.get(key) != written.get(key);
    if let Some(key) = READ_BEFORE.iter().find(|key| is_other(key)) {
        return Err(fixed(&format!("options.{key}")));
    }
    let before = written.as_object().into_iter().flat_map(Map::keys);
    let mut keys = options.keys().chain(before);
    if of_data && let Some(key) = keys.find(|key| is_other(key) && !is_for_data(key)) {
        return Err(format!(
            "`test.options.{key}` can't be changed where the words of data are among what the hook has read; say it in the \
             config, or vouch for the file, `tests: {{ path: …, trust: config }}`"
        ));
    }
    let gone = |key: &String| !options.contains_key(key) && written.get(key).is_some();
    test.options.retain(|key, _| !gone(key));
    // Code may have made them of a row's words.
    if AFFIXES.iter().any(|key| is_other(key)) {
        test.affixes_see_env = false;
    }
    // What stays as written has its environment filled in.
    let others = options.iter().filter(|(key, _)| is_other(key));
    let others = others.map(|(key, value)| (key.clone(), value.clone()));
    test.options.extend(others);
    Ok(())
}

fn fixed(key: &str) -> String {
    format!("`test.{key}` can't be changed here: it is read before the run")
}

/// What a hook may say of requests where it has read others' words: what rows may.
fn is_for_data(option: &str) -> bool {
    AFFIXES.contains(&option) || is_of_the_answer(option)
}

/// Changes values, thresholds, weights and metrics of assertions. Their types decide which
/// plugins a run needs, so that none can come or go.
fn assertions(checks: &mut [Check], list: &[Value], of_data: bool) -> Result<(), String> {
    if checks.len() != list.len() {
        return Err(
            "assertions can't be added or removed here: do it in the config or in `beforeAll`"
                .to_owned(),
        );
    }
    for (index, (check, after)) in checks.iter_mut().zip(list).enumerate() {
        let before = match check {
            Check::One(assertion) => &assertion.json,
            Check::Set { json, .. } => json,
        };
        if **before == *after {
            continue;
        }
        let changed = match (check, after) {
            (Check::One(assertion), Value::Object(after)) => patch(assertion, after, of_data),
            _ => Err("a set can't be changed".to_owned()),
        };
        changed.map_err(|why| format!("`test.assert[{index}]`: {why}"))?;
    }
    Ok(())
}

/// What is changed where others' words are among what the hook has read, counts as theirs.
fn patch(
    assertion: &mut Assertion,
    after: &Map<String, Value>,
    of_data: bool,
) -> Result<(), String> {
    let before = assertion.json.as_object().cloned().unwrap_or_default();
    let keys = before.keys().chain(after.keys());
    let none = Value::Null;
    for key in keys {
        let value = after.get(key).unwrap_or(&none);
        if before.get(key).unwrap_or(&none) == value {
            continue;
        }
        match (key.as_str(), value) {
            // What a hook makes of whatever it has read is no code that anybody let out of the sandbox.
            ("value", _) if assertion.process.is_some() => {
                return Err("code outside the sandbox can't be changed here".to_owned());
            }
            ("value", _) if assertion.sends => {
                return Err("code that may send requests can't be changed here".to_owned());
            }
            ("value", _) if of_data && assertion.kind == WEBHOOK => {
                return Err("where a `webhook` goes is not for the words of data to say".to_owned());
            }
            ("value", value) if assertion.script.is_none() && !names_file(value) => {
                assertion.value = Some(value.clone()).filter(|value| !value.is_null());
            }
            ("threshold", value) if value.is_null() || value.is_number() => {
                assertion.threshold = value.as_f64();
            }
            ("weight", Value::Number(weight))
                if of_data
                    && weight
                        .as_f64()
                        .is_none_or(|weight| weight > MAX_WEIGHT_OF_DATA) =>
            {
                return Err(format!("rows of data weigh {MAX_WEIGHT_OF_DATA} at most"));
            }
            ("weight", Value::Number(weight)) => {
                assertion.weight = weight.as_f64().unwrap_or(assertion.weight);
            }
            ("metric", Value::String(metric)) => assertion.metric = Some(metric.clone()),
            ("metric", Value::Null) => assertion.metric = None,
            _ => return Err(format!("`{key}` can't be changed here")),
        }
    }
    assertion.of_data |= of_data;
    assertion.json = Arc::new(Value::Object(after.clone()));
    Ok(())
}

/// Files are read before the run.
fn names_file(value: &Value) -> bool {
    value
        .as_str()
        .is_some_and(|text| text.starts_with("file://"))
}

/// Returns the row as `afterEach` leaves it.
pub(crate) async fn after_each(
    scope: &CallScope,
    case: &Case,
    mut record: CaseRecord,
    identity: &CallContext,
) -> CaseRecord {
    let hook = Hook::AfterEach;
    if record.conclusion.outcome() == Outcome::Cancelled || !scope.context.hooks.has(hook) {
        return record;
    }
    for extension in scope.context.hooks.of(hook) {
        let context = json(&Context {
            test: &TestCase::of(case),
            result: Some(&record),
        });
        let given = tokio::select! {
            biased;
            given = call(scope, extension, hook, context, identity) => given,
            () = scope.cut.cancelled() => return record,
        };
        match given {
            Ok(Some(given)) => add(&mut record, &given["result"]),
            Ok(None) => {}
            Err(failure) => tell(scope, case, &failure),
        }
    }
    record
}

/// Adds what counts of a row that came back: named scores that are numbers, and metadata.
fn add(record: &mut CaseRecord, result: &Value) {
    if let Some(scores) = result["namedScores"].as_object() {
        let numbers = scores.iter().filter(|(_, score)| score.is_number());
        let numbers = numbers.map(|(name, score)| (name.clone(), score.clone()));
        record.named_scores.extend(numbers);
    }
    if let Some(metadata) = result["metadata"].as_object() {
        record.metadata.extend(metadata.clone());
    }
    if let Some(response) = &mut record.response
        && let Some(metadata) = result["response"]["metadata"].as_object()
    {
        response.metadata.extend(metadata.clone());
    }
}

/// Says once that `afterEach` fails: it may do so in every case.
fn tell(scope: &CallScope, case: &Case, failure: &CallFailure) {
    if scope.context.hooks.told.swap(true, Ordering::Relaxed) {
        return;
    }
    let message = format!(
        "{}; the row of test {} lacks what the hook would add, and so do other rows where it fails",
        failure.message.lines().next().unwrap_or_default(),
        case.id.test_idx
    );
    let message = scope.context.masker.mask(&message).into_owned();
    scope.context.emit(Event::Notice { message });
}

/// Every row of a run, for `afterAll`.
#[derive(Debug, Default)]
pub(crate) struct AllRows {
    rows: Vec<((u32, u32), String)>,
    bytes: usize,
}

/// The rows that `afterAll` can get, as JSON, in bytes: what a guest can hold with its own
/// objects made of them.
const MAX_ROWS: usize = 8 << 20;

impl AllRows {
    /// Keeps a row, given with its JSON, unless there are too many already.
    pub(crate) fn keep(&mut self, record: &CaseRecord, json: &str) {
        if self.bytes > MAX_ROWS {
            return;
        }
        self.bytes += json.len();
        if self.bytes > MAX_ROWS {
            self.rows = Vec::new();
        } else {
            let place = (record.test_idx, record.prompt_idx);
            self.rows.push((place, json.to_owned()));
        }
    }

    /// The rows in the order of the results; `None` if they are too many.
    fn json(mut self) -> Option<String> {
        if self.bytes > MAX_ROWS {
            return None;
        }
        self.rows.sort_unstable_by_key(|(place, _)| *place);
        let rows: Vec<String> = self.rows.into_iter().map(|(_, row)| row).collect();
        Some(format!("[{}]", rows.join(",")))
    }
}

/// Calls `afterAll`; what is wrong with it is told, and changes nothing.
pub(crate) async fn after_all(
    scope: &CallScope,
    rows: AllRows,
    about: &Map<String, Value>,
    identity: &CallContext,
) {
    let hook = Hook::AfterAll;
    let tell = |message: String| {
        let message = scope.context.masker.mask(&message).into_owned();
        scope.context.emit(Event::Notice { message });
    };
    let Some(rows) = rows.json() else {
        let limit = MAX_ROWS >> 20;
        return tell(format!(
            "afterAll was not called: the results hold more than {limit} MiB"
        ));
    };
    let about = json(about);
    let context = match about.strip_suffix('}') {
        Some("{") | None => format!("{{\"results\":{rows}}}"),
        Some(about) => format!("{about},\"results\":{rows}}}"),
    };
    for extension in scope.context.hooks.of(hook) {
        let called = call(scope, extension, hook, context.clone(), identity);
        match unless_stopped(scope, called).await {
            Ok(_) => {}
            Err(Stop::Failed(failure)) => {
                tell(format!("{}; every result is kept", failure.message));
            }
            Err(Stop::CutOff) => {
                return tell("afterAll was left out; every result is kept".to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests;
