//! What one request sets of how its answer is sampled, by the names that most APIs share.

use runner_plugin::Request;
use runner_plugin::json::{Map, Value, json};

/// Lays the request's sampling options over the body. `seed` and `limit` are the API's names
/// of those two; the others have one name everywhere in this shape.
pub fn sampling(body: &mut Map<String, Value>, seed: &str, limit: &str, request: &Request) {
    let stop = (!request.stop.is_empty()).then(|| json!(request.stop));
    let options = [
        ("temperature", request.temperature.map(|t| json!(t))),
        ("top_p", request.top_p.map(|p| json!(p))),
        (seed, request.seed.map(|seed| json!(seed))),
        ("stop", stop),
        (limit, request.max_tokens.map(|limit| json!(limit))),
    ];
    for (key, value) in options {
        if let Some(value) = value {
            body.insert(key.to_owned(), value);
        }
    }
}
