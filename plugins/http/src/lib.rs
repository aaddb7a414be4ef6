//! The provider `http`: any API that takes a request and gives a response.
//!
//! The config says what is sent, with templates in it, and where in the response the answer
//! is. `knobs` reads and checks the config, `render` fills its templates, `raw` reads a request
//! that is written as text, `status` and `pick` are the two small languages of the response:
//! which status is an answer, and where it stands. Both are parts of JavaScript, and no more:
//! code is run by the script plugin, not here. Of a config with code in `transformRequest` or
//! `transformResponse` the host takes it out, hands over what it made of the prompt, and wants
//! the response as it came.
//!
//! The key goes by reference as with any provider: a header `Authorization` in the config is
//! the host's to add.

mod knobs;
mod multipart;
mod pick;
mod raw;
mod render;
mod status;

use std::time::Duration;

use plugin_model_api::failure;
use runner_plugin::json::{Value, json};
use runner_plugin::{
    CallContext, Completion, CredentialWant, Error, Info, Provider, Request, Target, http, log,
};

use knobs::{Knobs, Sent};

/// The name by which requests refer to the key.
const KEY: &str = "http-authorization";

/// The provider.
pub struct Http;

impl Provider for Http {
    fn describe() -> Info {
        // The whole value of the header, wherever the config has it.
        let key = CredentialWant::header(
            KEY,
            "HTTP_AUTHORIZATION",
            "authorization",
            "to send the Authorization header that the config sets",
        )
        .value_key("headers.authorization");
        let mut info = runner_plugin::package_info!(
            "http",
            "Any HTTP API: a request with templates in it, and where the answer is."
        )
        .prefix("http")
        .prefix("https")
        .host_from("url")
        .credential(key)
        .config_schema(&knobs::schema());
        // A config without that header needs no value, and templates read the variables.
        let extras =
            json!({ "optionalCredentials": [KEY], "authCredential": KEY, "reads": ["vars"] });
        info.metadata_json = Some(extras.to_string());
        info
    }

    fn check_config(config: &Value) -> Vec<(String, String)> {
        knobs::problems(config)
    }

    fn complete(
        target: &Target,
        request: &Request,
        _context: &CallContext,
    ) -> Result<Completion, Error> {
        let knobs = Knobs::read(target, request)?;
        for key in &knobs.unknown {
            log::warn(format!("`{key}` is no setting of http and does nothing"));
        }
        let sent = knobs.fill(request)?;
        let mut exchange = exchange(sent, request);
        if knobs.has_auth {
            exchange = exchange.credential(KEY);
        }
        let response = exchange.send()?;
        if !knobs.accepts(response.status) {
            return Err(refused(&response));
        }
        let (completion, mut extras) = if knobs.raw {
            as_it_came(&response)
        } else {
            answer(&knobs, &response)?
        };
        if let Some(id) = knobs.session(&response) {
            extras["sessionId"] = id;
        }
        Ok(completion.metadata(&extras))
    }
}

fn exchange(sent: Sent, request: &Request) -> http::Request {
    let mut exchange = http::request(&sent.method, sent.url);
    for (name, value) in sent.headers {
        // The host adds this one; its value is not here.
        if name.eq_ignore_ascii_case("authorization") {
            exchange = exchange.credential(KEY);
        } else {
            exchange = exchange.header(&name, value);
        }
    }
    if let Some(body) = sent.body {
        exchange = exchange.body(body);
    }
    if let Some(timeout) = request.timeout_ms {
        exchange = exchange.timeout(Duration::from_millis(timeout));
    }
    exchange
}

/// The error that a status stands for, with what the body says about it where it is JSON.
fn refused(response: &http::Response) -> Error {
    let body: Value = response.json().unwrap_or_default();
    match body.get("error").filter(|error| !error.is_null()) {
        Some(error) => failure::of(response.status, error),
        None if body.is_object() => failure::of(response.status, &body),
        None => failure::by_status(response.status, None),
    }
}

/// The answer of a response, and what is said beside it.
fn answer(knobs: &Knobs, response: &http::Response) -> Result<(Completion, Value), Error> {
    let text = response.text();
    let body: Option<Value> = serde_json::from_str(&text).ok();
    let picked = match &knobs.pick {
        Some(pick) => pick.from(body.as_ref(), &text).ok_or_else(|| {
            Error::bad_response(format!("`transformResponse` found nothing at `{pick}`"))
                .status(response.status)
                .detail(body.clone().unwrap_or_else(|| json!(text)))
        })?,
        None => body.clone().unwrap_or_else(|| json!(text)),
    };
    let completion = match &picked {
        Value::String(text) => Completion::text(text),
        value => Completion::text(value.to_string()).output(value),
    };
    let extras = json!({ "http": { "status": response.status } });
    let raw = body.unwrap_or_else(|| json!(text));
    Ok((completion.raw(&raw), extras))
}

/// The body as text, and as a value where it is JSON; with what code may want to know beside it.
fn as_it_came(response: &http::Response) -> (Completion, Value) {
    let text = response.text();
    let body: Option<Value> = serde_json::from_str(&text).ok();
    let status = response.status;
    let extras = json!({
        "http": { "status": status },
        "$response": { "status": status, "headers": knobs::headers(response) },
    });
    let mut completion = Completion::text(&text);
    if let Some(body) = &body {
        completion = completion.output(body);
    }
    let raw = body.unwrap_or_else(|| json!(text));
    (completion.raw(&raw), extras)
}

runner_plugin::export_provider!(Http);
