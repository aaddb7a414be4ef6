//! `webhook`: a service of the user's says whether the answer is good.
//!
//! The request is a POST of `{output, context: {prompt, vars}}`, the reply
//! `{pass, score?, reason?}`. The component may reach nothing by itself: the config grants the
//! service's address under `plugins.webhook.permissions`, and the host holds every request against
//! that. Answers are not remembered: what a service says may change from one run to the next.
//!
//! A service that fails (no connection, a status that is not 2xx, a reply that can't be read)
//! fails the assertion, `not-` or not: nothing was found out. An address that is not granted is no
//! grade at all.

use std::time::Duration;

use runner_plugin::json::{self, Map, Value, json};
use runner_plugin::{
    Assertion, AssertionType, CallContext, Error, ErrorCode, Grade, Info, Input, Inputs, http,
};

/// How long a service may take; promptfoo's figure.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The longest that `config.timeoutMs` may say.
const MAX_TIMEOUT_MS: u64 = 300_000;

/// The grader.
pub struct Webhook;

impl Assertion for Webhook {
    fn describe() -> Info {
        let url = json!({ "type": "string", "minLength": 1 });
        runner_plugin::package_info!(
            "webhook",
            "Asks a service of yours whether the answer is good."
        )
        .assertion_type(
            AssertionType::new("webhook")
                .value_schema(&url)
                .reads(Inputs::VARS | Inputs::PROMPT),
        )
    }

    fn evaluate(input: &Input, _context: &CallContext) -> Result<Grade, Error> {
        let Some(url) = input.value::<String>()?.filter(|url| !url.is_empty()) else {
            return Err(Error::invalid_request(
                "`webhook` takes the URL of a service as its value",
            ));
        };
        let request = http::post(url)
            .json(&question(input)?)
            .timeout(timeout(input)?)
            .uncached();
        let reply = match request.send() {
            Ok(reply) => reply,
            // What only the user can change is no verdict of the service.
            Err(error) if matches!(error.code, ErrorCode::Denied | ErrorCode::Budget) => {
                return Err(error);
            }
            Err(error) => return Ok(failed(&error.message)),
        };
        if !(200..300).contains(&reply.status) {
            return Ok(failed(&format!("its status is {}", reply.status)));
        }
        let verdict = match reply.json::<Value>() {
            Ok(verdict) => verdict,
            Err(error) => return Ok(failed(&error.message)),
        };
        Ok(grade(&verdict, input.inverse).unwrap_or_else(|why| failed(&why)))
    }
}

/// What the service is told.
fn question(input: &Input) -> Result<Value, Error> {
    let output = match &input.output_json {
        Some(text) => json::read("the answer", text)?,
        None => Value::String(input.output.clone()),
    };
    Ok(json!({
        "output": output,
        "context": {
            "prompt": prompt(input),
            "vars": json::object("the test's variables", input.vars_json.as_deref())?,
        },
    }))
}

/// The text of a prompt of one message, a chat as JSON.
fn prompt(input: &Input) -> String {
    match &input.prompt[..] {
        [message] => message.text(),
        messages => {
            let chat = messages
                .iter()
                .map(|it| json!({ "role": it.role.word(), "content": it.text() }));
            chat.collect::<Value>().to_string()
        }
    }
}

/// `config.timeoutMs`, else five seconds.
fn timeout(input: &Input) -> Result<Duration, Error> {
    let Some(config) = &input.config_json else {
        return Ok(TIMEOUT);
    };
    let config: Map<String, Value> = json::read("the assertion's `config`", config)?;
    match config.get("timeoutMs") {
        None | Some(Value::Null) => Ok(TIMEOUT),
        Some(value) => match value
            .as_u64()
            .filter(|ms| (1..=MAX_TIMEOUT_MS).contains(ms))
        {
            Some(ms) => Ok(Duration::from_millis(ms)),
            None => Err(Error::invalid_request(format!(
                "`timeoutMs` takes a number from 1 to {MAX_TIMEOUT_MS}, not {value}"
            ))),
        },
    }
}

/// The verdict of a service; `Err`: why it is none.
fn grade(verdict: &Value, inverse: bool) -> Result<Grade, String> {
    let Some(said) = verdict.get("pass").and_then(Value::as_bool) else {
        return Err("its reply has no `pass` that is true or false".to_owned());
    };
    let pass = said != inverse;
    let score = match verdict.get("score") {
        None | Some(Value::Null) => f64::from(u8::from(pass)),
        Some(score) => {
            let score = score.as_f64().filter(|score| score.is_finite());
            let score = score.ok_or("its `score` is no number")?;
            if inverse { 1.0 - score } else { score }
        }
    };
    let reason = verdict.get("reason").and_then(Value::as_str);
    let reason = match reason.filter(|reason| !reason.is_empty()) {
        Some(reason) => reason.to_owned(),
        None if pass => "The webhook is content".to_owned(),
        None => format!("The webhook says {said}"),
    };
    Ok(Grade::new(pass, score, reason))
}

fn failed(why: &str) -> Grade {
    Grade::fail(format!("Webhook error: {why}"))
}

runner_plugin::export_assertion!(Webhook);
