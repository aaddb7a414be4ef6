//! A prediction: that is what Replicate calls a model's run. It is created, and the answer comes
//! with that exchange where the model is quick; else it is looked after until it is over.
//!
//! A plugin cannot pause. So the first exchange waits as long as the API lets it, and each look
//! after that takes as long as the way there and back; their number is bounded, and what is not
//! over by then is cancelled. A call that is aborted has no last word, so the API is told at the
//! start when to give up by itself.
//!
//! The host's cache may answer the creation, and keeps it as it was: where it was not yet over, or
//! failed, it is created anew, since results are kept for an hour only.

use plugin_model_api::failure;
use plugin_model_api::knobs::Knobs;
use plugin_model_api::path::segment;
use runner_plugin::json::{Value, json};
use runner_plugin::{Error, http};

/// How long the first exchange waits: the longest that the API offers.
const WAIT: &str = "wait=60";

/// When the API gives up by itself, counted from the start: the runner's own limit of a call.
const LIFETIME: &str = "5m";

/// How often a prediction is looked at. A call may send 64 requests: these, two creations and
/// the end.
const LOOKS: usize = 60;

/// What shares the limit of looks: it is the account's, for all models.
const BUCKET: &str = "predictions";

/// A model as ids name it.
#[derive(Debug)]
pub(crate) struct Model {
    /// `OWNER/NAME`.
    name: String,
    version: Option<String>,
    /// Where it is run.
    path: String,
}

impl Model {
    /// Reads `OWNER/NAME` or `OWNER/NAME:VERSION`.
    pub(crate) fn of(text: &str) -> Result<Self, Error> {
        let (name, version) = match text.split_once(':') {
            Some((name, version)) => (name, Some(version)),
            None => (text, None),
        };
        let parts = name.split_once('/').filter(|(_, name)| !name.contains('/'));
        let Some((owner, model)) = parts else {
            return Err(Error::invalid_request(format!(
                "`{text}` names no model of Replicate; write `replicate:OWNER/NAME` or `replicate:OWNER/NAME:VERSION`"
            )));
        };
        let path = format!(
            "/models/{}/{}/predictions",
            segment(owner)?,
            segment(model)?
        );
        Ok(Self {
            name: name.to_owned(),
            version: version.map(str::to_owned),
            // A version is unique by itself.
            path: version.map_or(path, |_| "/predictions".to_owned()),
        })
    }
}

/// Runs a model and gives the prediction that succeeded.
pub(crate) fn run(knobs: &Knobs, model: &Model, input: &Value) -> Result<Value, Error> {
    let mut body = json!({ "input": input });
    if let Some(version) = &model.version {
        body["version"] = json!(version);
    }
    let create = || {
        let exchange = knobs.post(&model.path, &body, &model.name);
        exchange
            .header("prefer", WAIT)
            .header("cancel-after", LIFETIME)
    };
    let mut response = create().send()?;
    let mut prediction = read(&response)?;
    if response.cached && prediction["status"] != "succeeded" {
        response = create().uncached().send()?;
        prediction = read(&response)?;
    }
    let mut looks = 0;
    while matches!(
        prediction["status"].as_str(),
        Some("starting" | "processing")
    ) {
        let path = path(&prediction)?;
        if looks == LOOKS {
            // Whether that works changes nothing here.
            drop(
                own(
                    knobs,
                    http::post(format!("{}{path}/cancel", knobs.base_url)),
                )
                .send(),
            );
            return Err(Error::timeout(
                "the model was not ready in time, and its run was cancelled",
            ));
        }
        looks += 1;
        prediction = read(&own(knobs, http::get(format!("{}{path}", knobs.base_url))).send()?)?;
    }
    ended(prediction)
}

/// A prediction that is over, if it succeeded.
fn ended(prediction: Value) -> Result<Value, Error> {
    let said = prediction["error"].as_str().unwrap_or("no reason is given");
    let error = match prediction["status"].as_str() {
        Some("succeeded") => return Ok(prediction),
        Some("failed") => Error::other(format!("the model failed: {said}")),
        Some("canceled" | "aborted") => Error::timeout("the model's run was cancelled"),
        _ => Error::bad_response("the response holds no status of a run"),
    };
    Err(error.detail(prediction))
}

/// Reads the body of a response. A prediction has an `error` of its own, which is no error of the API.
fn read(response: &http::Response) -> Result<Value, Error> {
    if response.is_success() {
        return response.json();
    }
    failure::check(response)
}

fn path(prediction: &Value) -> Result<String, Error> {
    let id = prediction["id"].as_str().ok_or_else(|| {
        Error::bad_response("the response holds no id of a run").detail(prediction.clone())
    })?;
    Ok(format!("/predictions/{}", segment(id)?))
}

/// A request about a prediction.
fn own(knobs: &Knobs, mut exchange: http::Request) -> http::Request {
    for (name, value) in &knobs.headers {
        exchange = exchange.header(name, value);
    }
    if let Some(key) = knobs.key {
        exchange = exchange.credential(key);
    }
    exchange.bucket(BUCKET).uncached()
}
