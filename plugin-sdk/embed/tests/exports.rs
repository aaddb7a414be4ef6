//! What a component with vectors exports is what its type says.

use runner_plugin::wire::meta::exports::runner::plugin::meta::Guest as _;
use runner_plugin::{
    CallContext, Completion, Error, ErrorCode, Info, Provider, Request, Target, Usage, testing,
};
use runner_plugin_embed::wire::exports::runner::plugin::provider::{self, Guest as _};
use runner_plugin_embed::wire::exports::runner::plugin::provider_embed::Guest as _;
use runner_plugin_embed::{Embeddings, OfEmbeddingProvider, ProviderEmbed};

struct Lengths;

impl Provider for Lengths {
    fn describe() -> Info {
        Info::new("lengths", "1.0.0", "Counts.").prefix("lengths")
    }

    fn check_config(config: &runner_plugin::json::Value) -> Vec<(String, String)> {
        vec![("/a".to_owned(), config.to_string())]
    }

    fn complete(target: &Target, request: &Request, _: &CallContext) -> Result<Completion, Error> {
        Ok(Completion::text(format!(
            "{} {}",
            target.name, request.prompt
        )))
    }
}

impl ProviderEmbed for Lengths {
    fn embed(target: &Target, inputs: &[String], _: &CallContext) -> Result<Embeddings, Error> {
        if target.name != "one" {
            return Err(Error::unsupported(format!("{} makes none", target.id)));
        }
        Ok(Embeddings {
            vectors: inputs.iter().map(|text| vec![text.len() as f32]).collect(),
            usage: Usage::default(),
            cost_usd: None,
        })
    }
}

runner_plugin_embed::export_embedding_provider!(Lengths);

type Exported = OfEmbeddingProvider<Lengths>;

fn target(name: &str) -> provider::Target {
    provider::Target {
        id: format!("lengths:{name}"),
        name: name.to_owned(),
        config_json: "{}".to_owned(),
    }
}

#[test]
fn it_answers_and_makes_vectors() {
    assert_eq!(Exported::describe().name, "lengths");
    assert_eq!(Exported::check_config("{}".to_owned()).len(), 1);
    let answer = Exported::complete(target("one"), Request::new("hi"), testing::context());
    assert_eq!(answer.expect("an answer").message.text(), "one hi");
    let inputs = vec!["a".to_owned(), "bcd".to_owned()];
    let vectors = Exported::embed(target("one"), inputs, testing::context()).expect("vectors");
    assert_eq!(vectors.vectors, [[1.0], [3.0]]);
}

#[test]
fn a_target_without_vectors_says_so() {
    let error = Exported::embed(target("two"), Vec::new(), testing::context()).expect_err("none");
    assert_eq!(error.code, ErrorCode::Unsupported);
    assert_eq!(error.message, "lengths:two makes none");
}
