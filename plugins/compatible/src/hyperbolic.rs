//! What Hyperbolic makes beside chats: pictures and speech, in a shape of its own.
//!
//! Both are base64 in JSON, and become an address of their own (`data:`), as the pictures of other APIs
//! do. The raw response is kept without them: they would stand there twice.

use plugin_model_api::knobs::Knobs;
use plugin_model_api::{failure, picture};
use runner_plugin::json::{Map, Value, json};
use runner_plugin::{Completion, Error, Request};

/// How wide and high a picture is if nobody says it: the API must be told.
const SIZE: u32 = 1024;

/// Kinds of sound, by how their base64 begins.
const SOUNDS: [(&str, &str); 5] = [
    ("UklGR", "audio/wav"),
    ("SUQz", "audio/mpeg"),
    ("//", "audio/mpeg"),
    ("T2dnU", "audio/ogg"),
    ("ZkxhQ", "audio/flac"),
];

/// Asks for a picture of the prompt.
pub(crate) fn picture(knobs: &Knobs, model: &str, request: &Request) -> Result<Completion, Error> {
    let mut body = Map::new();
    body.insert("model_name".to_owned(), json!(model));
    body.insert("prompt".to_owned(), json!(request.prompt));
    body.insert("height".to_owned(), json!(SIZE));
    body.insert("width".to_owned(), json!(SIZE));
    body.extend(knobs.body.clone());
    // At promptfoo it says how the answer is shown; the API knows no such key.
    body.remove("response_format");
    let body = Value::Object(body);
    let exchange = knobs.post("/image/generation", &body, model);
    let mut response = failure::check(&exchange.send()?)?;
    let taken = response.pointer_mut("/images/0/image").map(Value::take);
    let Some(Value::String(base64)) = taken else {
        return Err(Error::bad_response("the response holds no picture"));
    };
    for one in response["images"].as_array_mut().into_iter().flatten() {
        if let Some(fields) = one.as_object_mut() {
            fields.remove("image");
        }
    }
    let kind = picture::mime_type(&base64).unwrap_or("image/jpeg");
    Ok(Completion::text(picture::data_url(kind, &base64)).raw(&response))
}

/// Asks for the prompt to be spoken. The API has one model for that, and none is named.
pub(crate) fn sound(knobs: &Knobs, model: &str, request: &Request) -> Result<Completion, Error> {
    let mut body = Map::new();
    body.insert("text".to_owned(), json!(request.prompt));
    body.extend(knobs.body.clone());
    let body = Value::Object(body);
    let exchange = knobs.post("/audio/generation", &body, model);
    let mut response = failure::check(&exchange.send()?)?;
    let fields = response.as_object_mut();
    let Some(Value::String(base64)) = fields.and_then(|fields| fields.remove("audio")) else {
        return Err(Error::bad_response("the response holds no sound"));
    };
    let mut kinds = SOUNDS.iter();
    let found = kinds.find(|(first, _)| base64.starts_with(first));
    let kind = found.map_or("audio/wav", |(_, kind)| kind);
    Ok(Completion::text(picture::data_url(kind, &base64)).raw(&response))
}
