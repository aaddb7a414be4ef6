//! A plugin that does everything a plugin must not do, one misbehaviour per name.
//!
//! As an assertion it misbehaves by its type, as a provider by the name after `hostile:`; and as
//! it describes itself by a word in its data that the tests overwrite (`describe.rs`). The list is
//! `README.md`, with what each meets and the test that runs it. Built on the raw bindings, since
//! half of these could not be written with the SDK.

#![expect(
    unsafe_code,
    clippy::same_length_and_capacity,
    clippy::too_many_lines,
    reason = "generated bindings, and misbehaviours that safe code cannot express"
)]

mod demands;
mod describe;
mod fetch;
mod misbehaviour;
mod parts;
mod system;
mod told;
mod world;

use bindings::exports::runner::plugin::assertion::{Grade, Input};
use bindings::exports::runner::plugin::meta::Info;
use bindings::exports::runner::plugin::provider::{Request, Target};
use bindings::exports::runner::plugin::provider_embed::Embeddings;
use bindings::exports::runner::plugin::{
    assertion, assertion_batch, meta, provider, provider_embed,
};
use bindings::runner::plugin::types::{
    CallContext, Completion, Error, ErrorCode, Message, Part, Role, Usage,
};

mod bindings {
    wit_bindgen::generate!({
        path: "../../../wit/v0_1",
        inline: "
            package hostile:guest;
            world hostile {
                import runner:plugin/log@0.1.2;
                import runner:plugin/http@0.1.2;
                import runner:plugin/http-stream@0.1.2;
                import runner:plugin/llm@0.1.2;
                import wasi:cli/environment@0.2.0;
                import wasi:cli/exit@0.2.0;
                import wasi:cli/stderr@0.2.0;
                import wasi:cli/stdin@0.2.0;
                import wasi:cli/stdout@0.2.0;
                import wasi:cli/terminal-stderr@0.2.0;
                import wasi:cli/terminal-stdin@0.2.0;
                import wasi:cli/terminal-stdout@0.2.0;
                import wasi:clocks/monotonic-clock@0.2.0;
                import wasi:clocks/wall-clock@0.2.0;
                import wasi:filesystem/preopens@0.2.0;
                import wasi:http/outgoing-handler@0.2.0;
                import wasi:http/types@0.2.0;
                import wasi:random/insecure@0.2.0;
                import wasi:random/insecure-seed@0.2.0;
                import wasi:random/random@0.2.0;
                export runner:plugin/meta@0.1.2;
                export runner:plugin/provider@0.1.2;
                export runner:plugin/provider-embed@0.1.2;
                export runner:plugin/assertion@0.1.2;
                export runner:plugin/assertion-batch@0.1.2;
            }
            package wasi:io@0.2.0 {
                interface error { resource error { to-debug-string: func() -> string; } }
                interface poll {
                    resource pollable { ready: func() -> bool; block: func(); }
                    poll: func(in: list<borrow<pollable>>) -> list<u32>;
                }
                interface streams {
                    use error.{error};
                    use poll.{pollable};
                    variant stream-error { last-operation-failed(error), closed }
                    resource input-stream {
                        read: func(len: u64) -> result<list<u8>, stream-error>;
                        blocking-read: func(len: u64) -> result<list<u8>, stream-error>;
                        skip: func(len: u64) -> result<u64, stream-error>;
                        blocking-skip: func(len: u64) -> result<u64, stream-error>;
                        subscribe: func() -> pollable;
                    }
                    resource output-stream {
                        check-write: func() -> result<u64, stream-error>;
                        write: func(contents: list<u8>) -> result<_, stream-error>;
                        blocking-write-and-flush: func(contents: list<u8>) -> result<_, stream-error>;
                        flush: func() -> result<_, stream-error>;
                        blocking-flush: func() -> result<_, stream-error>;
                        subscribe: func() -> pollable;
                        write-zeroes: func(len: u64) -> result<_, stream-error>;
                        blocking-write-zeroes-and-flush: func(len: u64) -> result<_, stream-error>;
                        splice: func(src: borrow<input-stream>, len: u64) -> result<u64, stream-error>;
                        blocking-splice: func(src: borrow<input-stream>, len: u64) -> result<u64, stream-error>;
                    }
                }
            }
            package wasi:cli@0.2.0 {
                interface environment {
                    get-environment: func() -> list<tuple<string, string>>;
                    get-arguments: func() -> list<string>;
                    initial-cwd: func() -> option<string>;
                }
                interface exit { exit: func(status: result); }
                interface stdin {
                    use wasi:io/streams@0.2.0.{input-stream};
                    get-stdin: func() -> input-stream;
                }
                interface stdout {
                    use wasi:io/streams@0.2.0.{output-stream};
                    get-stdout: func() -> output-stream;
                }
                interface stderr {
                    use wasi:io/streams@0.2.0.{output-stream};
                    get-stderr: func() -> output-stream;
                }
                interface terminal-input { resource terminal-input; }
                interface terminal-output { resource terminal-output; }
                interface terminal-stdin {
                    use terminal-input.{terminal-input};
                    get-terminal-stdin: func() -> option<terminal-input>;
                }
                interface terminal-stdout {
                    use terminal-output.{terminal-output};
                    get-terminal-stdout: func() -> option<terminal-output>;
                }
                interface terminal-stderr {
                    use terminal-output.{terminal-output};
                    get-terminal-stderr: func() -> option<terminal-output>;
                }
            }
            package wasi:clocks@0.2.0 {
                interface monotonic-clock {
                    use wasi:io/poll@0.2.0.{pollable};
                    type instant = u64;
                    type duration = u64;
                    now: func() -> instant;
                    resolution: func() -> duration;
                    subscribe-instant: func(when: instant) -> pollable;
                    subscribe-duration: func(when: duration) -> pollable;
                }
                interface wall-clock {
                    record datetime { seconds: u64, nanoseconds: u32 }
                    now: func() -> datetime;
                    resolution: func() -> datetime;
                }
            }
            package wasi:filesystem@0.2.0 {
                interface types { resource descriptor; }
                interface preopens {
                    use types.{descriptor};
                    get-directories: func() -> list<tuple<descriptor, string>>;
                }
            }
            package wasi:http@0.2.0 {
                interface types {
                    use wasi:io/streams@0.2.0.{input-stream, output-stream};
                    use wasi:io/poll@0.2.0.{pollable};
                    type duration = u64;
                    variant method {
                        get, head, post, put, delete, connect, options, trace, patch, other(string)
                    }
                    variant scheme { HTTP, HTTPS, other(string) }
                    record DNS-error-payload { rcode: option<string>, info-code: option<u16> }
                    record TLS-alert-received-payload { alert-id: option<u8>, alert-message: option<string> }
                    record field-size-payload { field-name: option<string>, field-size: option<u32> }
                    variant error-code {
                        DNS-timeout,
                        DNS-error(DNS-error-payload),
                        destination-not-found,
                        destination-unavailable,
                        destination-IP-prohibited,
                        destination-IP-unroutable,
                        connection-refused,
                        connection-terminated,
                        connection-timeout,
                        connection-read-timeout,
                        connection-write-timeout,
                        connection-limit-reached,
                        TLS-protocol-error,
                        TLS-certificate-error,
                        TLS-alert-received(TLS-alert-received-payload),
                        HTTP-request-denied,
                        HTTP-request-length-required,
                        HTTP-request-body-size(option<u64>),
                        HTTP-request-method-invalid,
                        HTTP-request-URI-invalid,
                        HTTP-request-URI-too-long,
                        HTTP-request-header-section-size(option<u32>),
                        HTTP-request-header-size(option<field-size-payload>),
                        HTTP-request-trailer-section-size(option<u32>),
                        HTTP-request-trailer-size(field-size-payload),
                        HTTP-response-incomplete,
                        HTTP-response-header-section-size(option<u32>),
                        HTTP-response-header-size(field-size-payload),
                        HTTP-response-body-size(option<u64>),
                        HTTP-response-trailer-section-size(option<u32>),
                        HTTP-response-trailer-size(field-size-payload),
                        HTTP-response-transfer-coding(option<string>),
                        HTTP-response-content-coding(option<string>),
                        HTTP-response-timeout,
                        HTTP-upgrade-failed,
                        HTTP-protocol-error,
                        loop-detected,
                        configuration-error,
                        internal-error(option<string>),
                    }
                    variant header-error { invalid-syntax, forbidden, immutable }
                    resource fields {
                        constructor();
                        append: func(name: string, value: list<u8>) -> result<_, header-error>;
                        entries: func() -> list<tuple<string, list<u8>>>;
                    }
                    type headers = fields;
                    type trailers = fields;
                    resource outgoing-request {
                        constructor(headers: headers);
                        body: func() -> result<outgoing-body>;
                        set-method: func(method: method) -> result;
                        set-path-with-query: func(path-with-query: option<string>) -> result;
                        set-scheme: func(scheme: option<scheme>) -> result;
                        set-authority: func(authority: option<string>) -> result;
                    }
                    resource request-options {
                        constructor();
                        set-first-byte-timeout: func(duration: option<duration>) -> result;
                    }
                    resource outgoing-body {
                        write: func() -> result<output-stream>;
                        finish: static func(this: outgoing-body, trailers: option<trailers>) -> result<_, error-code>;
                    }
                    resource incoming-response {
                        status: func() -> u16;
                        headers: func() -> headers;
                        consume: func() -> result<incoming-body>;
                    }
                    resource incoming-body {
                        %stream: func() -> result<input-stream>;
                        finish: static func(this: incoming-body) -> future-trailers;
                    }
                    resource future-trailers {
                        subscribe: func() -> pollable;
                        get: func() -> option<result<result<option<trailers>, error-code>>>;
                    }
                    resource future-incoming-response {
                        subscribe: func() -> pollable;
                        get: func() -> option<result<result<incoming-response, error-code>>>;
                    }
                }
                interface outgoing-handler {
                    use types.{outgoing-request, request-options, future-incoming-response, error-code};
                    handle: func(request: outgoing-request, options: option<request-options>)
                        -> result<future-incoming-response, error-code>;
                }
            }
            package wasi:random@0.2.0 {
                interface random {
                    get-random-bytes: func(len: u64) -> list<u8>;
                    get-random-u64: func() -> u64;
                }
                interface insecure {
                    get-insecure-random-bytes: func(len: u64) -> list<u8>;
                    get-insecure-random-u64: func() -> u64;
                }
                interface insecure-seed { insecure-seed: func() -> tuple<u64, u64>; }
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
        describe::info()
    }

    fn check_config(config_json: String) -> Vec<(String, String)> {
        for name in ["spin", "sleep", "hog", "flood"] {
            if config_json.contains(name) {
                misbehaviour::by_name(name, "");
            }
        }
        if config_json.contains("many-problems") {
            let line = "nonsense\nhelp: all is well".repeat(10);
            return vec![("/a\nhelp: all is well".into(), line); 10_000];
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
        request: Request,
        context: CallContext,
    ) -> Result<Completion, Error> {
        let text = match target.name.as_str() {
            "as-told" => told::follow(&request.prompt),
            "options" => request.options_json.clone().unwrap_or_default(),
            "call-id" => context.call_id,
            name => misbehaviour::by_name(name, &request.prompt),
        };
        if target.name == "deep-error" {
            return Err(deep_error());
        }
        let answer = Completion {
            message: Message {
                role: Role::Assistant,
                name: None,
                content: vec![Part::Text(text)],
            },
            output_json: None,
            finish_reason: None,
            usage: usage(),
            cost_usd: match target.name.as_str() {
                "nan" => Some(f64::NAN),
                "negative-cost" => Some(-1.0),
                _ => None,
            },
            model: None,
            raw_json: match target.name.as_str() {
                "bad-json" => Some("{\"a\": nope}".into()),
                name => misbehaviour::json(name),
            },
            metadata_json: (target.name == "no-object").then(|| "[1]".into()),
        };
        Ok(demands::exaggerated(&target.name, answer))
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
        let reason = match input.type_.as_str() {
            "as-told" => told::follow(&input.output),
            name => misbehaviour::by_name(name, &input.output),
        };
        if input.type_ == "deep-error" {
            return Err(deep_error());
        }
        let named_scores = match input.type_.as_str() {
            "twice" => vec![("tone".into(), 1.0), ("tone".into(), 0.5)],
            _ => vec![],
        };
        let grade = Grade {
            pass: true,
            score: match input.type_.as_str() {
                "nan" => f64::NAN,
                "infinite" => f64::INFINITY,
                _ => 1.0,
            },
            reason,
            named_scores,
            components: vec![],
            metadata_json: match input.type_.as_str() {
                "bad-json" => Some(format!(
                    "{{\"text\": \"{}\", \"n\": nope}}",
                    "x".repeat(200)
                )),
                name => misbehaviour::json(name),
            },
        };
        Ok(demands::named(&input.type_, &input.output, grade))
    }
}

impl assertion_batch::Guest for Hostile {
    fn evaluate_all(inputs: Vec<Input>, context: CallContext) -> Vec<Result<Grade, Error>> {
        inputs
            .into_iter()
            .map(|input| <Self as assertion::Guest>::evaluate(input, context.clone()))
            .collect()
    }
}

/// An error whose details nobody can read.
fn deep_error() -> Error {
    Error {
        code: ErrorCode::Other,
        message: "details follow".into(),
        status: None,
        retry_after_ms: None,
        detail_json: misbehaviour::json("deep-json"),
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
