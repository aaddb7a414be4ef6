//! A plugin that does everything a plugin must not do, one misbehaviour per name.
//!
//! As an assertion it misbehaves by its type, as a provider by the name after `hostile:`. The
//! tests of `host/sandbox` call each and expect exactly one message. Built on the raw bindings,
//! since half of these could not be written with the SDK.

#![expect(
    unsafe_code,
    clippy::same_length_and_capacity,
    reason = "generated bindings, and misbehaviours that safe code cannot express"
)]

mod misbehaviour;

use bindings::exports::runner::plugin::assertion::{Grade, Input};
use bindings::exports::runner::plugin::meta::{AssertionType, Info, Inputs, Wants};
use bindings::exports::runner::plugin::provider::{Request, Target};
use bindings::exports::runner::plugin::provider_embed::Embeddings;
use bindings::exports::runner::plugin::{
    assertion, assertion_batch, meta, provider, provider_embed,
};
use bindings::runner::plugin::types::{CallContext, Completion, Error, Message, Part, Role, Usage};

mod bindings {
    wit_bindgen::generate!({
        path: "../../../wit/v0_1",
        inline: "
            package hostile:guest;
            world hostile {
                import runner:plugin/log@0.1.1;
                import runner:plugin/http@0.1.1;
                import runner:plugin/llm@0.1.1;
                export runner:plugin/meta@0.1.1;
                export runner:plugin/provider@0.1.1;
                export runner:plugin/provider-embed@0.1.1;
                export runner:plugin/assertion@0.1.1;
                export runner:plugin/assertion-batch@0.1.1;
            }
        ",
        world: "hostile:guest/hostile",
        generate_all,
    });
}

/// What it calls itself.
struct Hostile;

impl meta::Guest for Hostile {
    fn describe() -> Info {
        Info {
            name: "hostile".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            description: "misbehaves by name".into(),
            homepage: None,
            license: None,
            provider_prefixes: vec!["hostile".into()],
            assertion_types: misbehaviour::NAMES
                .iter()
                .map(|name| AssertionType {
                    name: (*name).into(),
                    value_schema_json: None,
                    reads: Inputs::empty(),
                })
                .collect(),
            wants: Wants {
                hosts: vec![],
                host_config_key: None,
                credentials: vec![],
                settings: vec![],
                llm: vec![],
            },
            config_schema_json: Some(r#"{"type": "object"}"#.into()),
            metadata_json: None,
        }
    }

    fn check_config(config_json: String) -> Vec<(String, String)> {
        if config_json.contains("spin") {
            misbehaviour::by_name("spin");
        }
        // So that it can be a provider of a whole run.
        if config_json.contains("agreeable") {
            return vec![];
        }
        vec![("/a".into(), config_json)]
    }
}

impl provider::Guest for Hostile {
    fn complete(
        target: Target,
        _request: Request,
        _context: CallContext,
    ) -> Result<Completion, Error> {
        let text = misbehaviour::by_name(&target.name);
        Ok(Completion {
            message: Message {
                role: Role::Assistant,
                name: None,
                content: vec![Part::Text(text)],
            },
            output_json: None,
            finish_reason: None,
            usage: usage(),
            cost_usd: (target.name == "nan").then_some(f64::NAN),
            model: None,
            raw_json: (target.name == "bad-json").then(|| "{\"a\": nope}".into()),
            metadata_json: (target.name == "no-object").then(|| "[1]".into()),
        })
    }
}

impl provider_embed::Guest for Hostile {
    fn embed(
        target: Target,
        inputs: Vec<String>,
        _context: CallContext,
    ) -> Result<Embeddings, Error> {
        let mut vectors: Vec<Vec<f32>> = inputs.iter().map(|_| vec![0.5, 1.0]).collect();
        if target.name == "short" {
            vectors.pop();
        }
        Ok(Embeddings {
            vectors,
            usage: usage(),
            cost_usd: None,
        })
    }
}

impl assertion::Guest for Hostile {
    fn evaluate(input: Input, _context: CallContext) -> Result<Grade, Error> {
        let reason = misbehaviour::by_name(&input.type_);
        let named_scores = match input.type_.as_str() {
            "twice" => vec![("tone".into(), 1.0), ("tone".into(), 0.5)],
            _ => vec![],
        };
        Ok(Grade {
            pass: true,
            score: match input.type_.as_str() {
                "nan" => f64::NAN,
                "infinite" => f64::INFINITY,
                _ => 1.0,
            },
            reason,
            named_scores,
            components: vec![],
            metadata_json: (input.type_ == "bad-json")
                .then(|| format!("{{\"text\": \"{}\", \"n\": nope}}", "x".repeat(200))),
        })
    }
}

impl assertion_batch::Guest for Hostile {
    fn evaluate_all(inputs: Vec<Input>, context: CallContext) -> Vec<Result<Grade, Error>> {
        let short = inputs.iter().any(|input| input.type_ == "short");
        let mut grades: Vec<_> = inputs
            .into_iter()
            .map(|input| <Self as assertion::Guest>::evaluate(input, context.clone()))
            .collect();
        if short {
            grades.pop();
        }
        grades
    }
}

fn usage() -> Usage {
    Usage {
        input_tokens: None,
        output_tokens: None,
        total_tokens: None,
        cache_read_tokens: None,
        cache_write_tokens: None,
        reasoning_tokens: None,
        other: vec![],
    }
}

bindings::export!(Hostile with_types_in bindings);
