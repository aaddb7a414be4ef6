//! A provider: `acme:MODEL` asks a server whose address is in the config.

use runner_plugin::json::{Value, json};
use runner_plugin::{
    CallContext, Completion, CredentialWant, Error, Info, Provider, Request, Target, http,
};

/// The provider `acme`.
pub struct Acme;

impl Provider for Acme {
    fn describe() -> Info {
        Info::new("acme", "0.1.0", "Asks Acme.")
            .prefix("acme")
            .host("https://api.acme.com")
            .host_from("url")
            .credential(CredentialWant::bearer(
                "acme-key",
                "ACME_API_KEY",
                "to be let in",
            ))
    }

    fn complete(target: &Target, request: &Request, _: &CallContext) -> Result<Completion, Error> {
        let config: Value = target.config()?;
        let url = config["url"].as_str();
        let reply: Value = http::post(url.unwrap_or("https://api.acme.com/ask"))
            .json(&json!({ "model": target.name, "prompt": request.prompt }))
            .credential("acme-key")
            .bucket(&target.name)
            .send()?
            .ok()?
            .json()?;
        let text = reply["answer"].as_str();
        let text = text.ok_or_else(|| Error::bad_response("the reply holds no `answer`"))?;
        let mut completion = Completion::text(text).raw(&reply);
        completion.cost_usd = reply["cost"].as_f64();
        Ok(completion)
    }
}

runner_plugin::export_provider!(Acme);
