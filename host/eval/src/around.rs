//! The code around a provider's call and its grades: variables and prompt before, outputs and
//! the grade of the case after.
//!
//! Each of these makes something of the case. What goes wrong in it is an error of the row,
//! which keeps what it had; only a scoring function fails as a grade does.

use runner_config::is_of_the_answer;
use runner_config::plan::{Case, Rendered, Script};
use runner_sandbox::abi::CallContext;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::answer::Answer;
use crate::call::CallScope;
use crate::failure::{CallFailure, FailureCode};
use crate::grading::{CaseGrade, MAX_REASON, beyond};
use crate::record::size::{bytes, cut};
use crate::request::json;
use crate::script::{PYTHON, argument, failure, made, runnable, verdict};

pub(crate) mod derived;
pub(crate) mod hooks;

/// Bytes of the variables that code makes for a case.
const MAX_MADE: usize = 32 << 20;

/// What code knows of a provider: not its config, which may hold what is not for code. A label that
/// there is none of is undefined to code, not null.
pub(crate) fn provider(case: &Case) -> Value {
    let provider = &case.column.provider;
    let mut known = json!({ "id": provider.id });
    if let Some(label) = &provider.label {
        known["label"] = label.as_str().into();
    }
    known
}

/// What a transform of an output reads beside it, as JSON. `prompt` is the template for a transform of
/// the provider or the test, and the text that was sent for one of an assertion.
pub(crate) fn transform_context(
    case: &Case,
    prompt: &str,
    metadata: &Map<String, Value>,
) -> String {
    #[derive(Serialize)]
    struct Context<'a> {
        vars: &'a Map<String, Value>,
        prompt: Value,
        metadata: &'a Map<String, Value>,
    }
    json(&Context {
        vars: &case.scope,
        prompt: json!({ "raw": prompt, "label": case.column.prompt.label }),
        metadata,
    })
}

/// Returns what a transform makes of an output.
pub(crate) async fn transform(
    scope: &CallScope,
    script: &Script,
    output: &Value,
    context: String,
    identity: &CallContext,
) -> Result<Value, CallFailure> {
    let arguments = [
        argument("output", output.to_string()),
        argument("context", context),
    ];
    let given = scope.make(script, &arguments, identity).await?;
    made::something(given).map_err(|why| failure(script, &why))
}

/// Returns the case with the variables that code makes: files of code first, then those that call
/// filters, `transformVars` last.
/// `None` if there is no such code.
pub(crate) async fn with_vars(
    scope: &CallScope,
    case: &Case,
    identity: &CallContext,
) -> Result<Option<Case>, CallFailure> {
    let mut made = loaded_vars(scope, case, identity).await?;
    if case.has_late_vars() {
        let filled = scope.filled(made.as_ref().unwrap_or(case), identity, |case| {
            let mut case = case.clone();
            case.fill_late_vars();
            case
        });
        made = Some(filled.await?);
    }
    let transformed = transformed_vars(scope, made.as_ref().unwrap_or(case), identity).await?;
    Ok(transformed.or(made))
}

/// Returns the case with the values of variables that are files of code.
async fn loaded_vars(
    scope: &CallScope,
    case: &Case,
    identity: &CallContext,
) -> Result<Option<Case>, CallFailure> {
    if case.code_vars.is_empty() {
        return Ok(None);
    }
    let vars = json(&*case.scope);
    let prompt = Value::from(case.column.prompt.raw.as_str()).to_string();
    let (mut made, mut size) = (Map::new(), 0);
    for (name, script) in &*case.code_vars {
        let mut arguments = vec![
            argument("varName", Value::from(name.as_str()).to_string()),
            argument("prompt", prompt.clone()),
            argument("vars", vars.clone()),
        ];
        // A function in Python takes exactly what promptfoo gives it.
        if script.language != PYTHON {
            arguments.push(argument("provider", provider(case).to_string()));
        }
        let given = scope.make(script, &arguments, identity).await?;
        let value = made::var(given).map_err(|why| failure(script, &why))?;
        size += bytes(&value);
        if size > MAX_MADE {
            let limit = MAX_MADE >> 20;
            let message = format!("code makes more than {limit} MiB of variables, with '{name}'");
            return Err(CallFailure::new(FailureCode::TooLarge, message));
        }
        made.insert(name.clone(), value);
    }
    let mut case = case.clone();
    case.take_made(made);
    Ok(Some(case))
}

/// Returns the case with the variables that `transformVars` makes; `None` if it has none.
async fn transformed_vars(
    scope: &CallScope,
    case: &Case,
    identity: &CallContext,
) -> Result<Option<Case>, CallFailure> {
    let Some(script) = &case.test.transform_vars else {
        return Ok(None);
    };
    let arguments = [
        argument("vars", json(&*case.scope)),
        argument("context", json!({ "prompt": {} }).to_string()),
    ];
    let given = scope.make(script, &arguments, identity).await?;
    let vars = made::vars(given).map_err(|why| failure(script, &why))?;
    let mut case = case.clone();
    case.add_vars(vars);
    Ok(Some(case))
}

/// What the function of a prompt reads, as JSON.
fn prompt_context(case: &Case) -> String {
    #[derive(Serialize)]
    struct Context<'a> {
        vars: &'a Map<String, Value>,
        provider: Value,
        config: &'a Map<String, Value>,
    }
    let none = Map::new();
    json(&Context {
        vars: &case.scope,
        provider: provider(case),
        config: case.column.prompt.config.as_ref().unwrap_or(&none),
    })
}

/// Renders the prompt, made by its function if it has one.
pub(crate) async fn rendered(
    scope: &CallScope,
    case: &Case,
    identity: &CallContext,
) -> Result<Rendered, CallFailure> {
    let prompt = &case.column.prompt;
    let rendered = match &prompt.code {
        None => scope.filled(case, identity, Case::render).await?,
        Some(script) => {
            let arguments = [argument("context", prompt_context(case))];
            let given = scope.make(script, &arguments, identity).await?;
            let made = made::prompt(given).map_err(|why| failure(script, &why))?;
            let has_others_words = case.has_others_words || script.imports_data();
            let mut options = made.config.keys().filter(|_| has_others_words);
            if let Some(passed_on) =
                options.find(|key| !is_of_the_answer(key) && !script.names(key))
            {
                return Err(failure(script, &not_its_own(passed_on)));
            }
            let render = |case: &Case| case.render_made(&made);
            scope.filled(case, identity, render).await?
        }
    };
    rendered.map_err(|error| CallFailure::new(FailureCode::Template, error.to_string()))
}

/// Why an option is refused that a prompt's function gives without naming it: it may be a row's.
fn not_its_own(option: &str) -> String {
    format!(
        "the code gives the option `{option}`, which stands nowhere in it: beside the words of data it sets only what it names; \
         name it there, or vouch for the file, `tests: {{ path: …, trust: config }}`"
    )
}

/// Returns the output after the provider's `transform` and the test's, in this order; `None` if neither
/// has one.
pub(crate) async fn output(
    scope: &CallScope,
    case: &Case,
    answer: &Answer,
    identity: &CallContext,
) -> Result<Option<Value>, CallFailure> {
    let scripts = [&case.column.provider.transform, &case.test.transform];
    let mut output = None;
    for script in scripts.into_iter().flatten() {
        let before = output.as_ref().unwrap_or(&answer.record.output);
        let context = transform_context(case, &case.column.prompt.raw, &answer.record.metadata);
        output = Some(transform(scope, script, before, context, identity).await?);
    }
    Ok(output)
}

/// Returns the grade as `assertScoringFunction` sees it. A case that could not be graded stays so.
pub(crate) async fn scored(
    scope: &CallScope,
    case: &Case,
    mut grade: CaseGrade,
    identity: &CallContext,
) -> Result<CaseGrade, CallFailure> {
    let Some(script) = &case.test.scoring else {
        return Ok(grade);
    };
    if grade.ungraded {
        return Ok(grade);
    }
    let record = &mut grade.record;
    let mut context = json!({
        "componentResults": record.component_results,
        "tokensUsed": record.used.tokens_used,
    });
    if let Some(threshold) = case.test.threshold {
        context["threshold"] = threshold.into();
    }
    let arguments = [
        argument("namedScores", json(&record.named_scores)),
        argument("context", context.to_string()),
    ];
    let given = scope
        .run_code(runnable(script), &arguments, identity)
        .await?;
    let stated = verdict::stated(&given);
    let refused = beyond([stated.score]);
    record.pass = stated.pass && refused.is_none();
    record.score = refused.as_ref().map_or(stated.score, |_| 0.0);
    record.reason = refused.unwrap_or(stated.reason);
    cut(&mut record.reason, MAX_REASON, &scope.context.masker);
    Ok(grade)
}
