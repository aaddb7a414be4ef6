//! Providers that begin with `asker`: they ask a server, which you put in the place of api.example.com.

use runner_plugin::json::{Value, json};
use runner_plugin::{
    CallContext, Completion, CredentialWant, Error, Info, Provider, Request, Target, Usage, http,
};

/// The key that it wants. The runner adds it to requests, and no plugin sees it.
const KEY: &str = "asker-key";

/// What answers `asker:MODEL`.
pub struct Asker;

impl Provider for Asker {
    fn describe() -> Info {
        Info::new("asker", env!("CARGO_PKG_VERSION"), "Asks a server.")
            .prefix("asker")
            .host("https://api.example.com")
            .credential(CredentialWant::bearer(KEY, "ASKER_API_KEY", "to be let in"))
    }

    fn complete(target: &Target, request: &Request, _: &CallContext) -> Result<Completion, Error> {
        let reply = http::post("https://api.example.com/ask")
            .json(&json!({ "model": target.name, "prompt": request.prompt }))
            .credential(KEY)
            .bucket(&target.name)
            .send()?;
        let body: Value = reply.ok()?.json()?;
        let text = body["answer"].as_str();
        let text = text.ok_or_else(|| Error::bad_response("the reply holds no `answer`"))?;
        let usage = Usage {
            input_tokens: body["usage"]["input"].as_u64(),
            output_tokens: body["usage"]["output"].as_u64(),
            ..Usage::default()
        };
        Ok(Completion::text(text).usage(usage).raw(&body))
    }
}

runner_plugin::export_provider!(Asker);
