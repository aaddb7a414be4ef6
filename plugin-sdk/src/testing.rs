//! A scripted host for native tests: `cargo test` runs a plugin without wasm and without a
//! network.
//!
//! A [`Script`] says which requests the plugin will send and what it gets back. [`Script::play`]
//! runs the plugin against it and returns the result together with everything the plugin sent,
//! asked and logged. A request that the script does not expect, and an exchange that the plugin
//! leaves out, panic with what was expected: a script is a test.
//!
//! ```
//! use runner_plugin::json::json;
//! use runner_plugin::testing::{Reply, Script};
//! use runner_plugin::{Error, http};
//!
//! let script = Script::new().exchange(
//!     "POST",
//!     "https://api.acme.com/chat",
//!     Reply::json(200, &json!({ "answer": "hello" })),
//! );
//! let played = script.play(|| -> Result<String, Error> {
//!     let request = http::post("https://api.acme.com/chat").json(&json!({ "ask": "hi" }));
//!     Ok(request.send()?.text())
//! });
//! assert_eq!(played.result, Ok(r#"{"answer":"hello"}"#.to_owned()));
//! assert_eq!(played.requests[0].body_json(), Some(json!({ "ask": "hi" })));
//! ```
//!
//! The script is bound to the thread that plays it, so tests may run side by side. It imitates
//! what the host answers, not what it checks: grants, limits and masking have their own tests.
//!
//! Scripts are made of what `http` and `log` are about, so those don't know scripts: whichever plays
//! tells them what to call. `llm` asks here.

use std::cell::RefCell;
use std::collections::VecDeque;

use serde_json::Value;

use crate::assertion::Input;
use crate::provider::Target;
use crate::script::{Argument, Form, Program};
use crate::wire::hands::runner::plugin::llm::Answer;
use crate::{CallContext, Completion, Error, Request, http, log};

thread_local! {
    static STAGE: RefCell<Option<Stage>> = const { RefCell::new(None) };
}

/// What the host will answer, in order.
#[derive(Debug, Default)]
#[must_use = "a script is run by `play`"]
pub struct Script {
    exchanges: VecDeque<(String, String, Reply)>,
    answers: VecDeque<(String, Result<Answer, Error>)>,
    vectors: VecDeque<(String, Vectors)>,
}

type Vectors = Result<Vec<Vec<f32>>, Error>;

/// What the plugin did while a script played.
#[derive(Debug)]
pub struct Played<T> {
    /// What the plugin returned.
    pub result: T,
    /// The HTTP requests it sent, in order.
    pub requests: Vec<http::Request>,
    /// What it asked of models, in order: target and request.
    pub asked: Vec<(String, Request)>,
    /// What it logged, in order.
    pub log: Vec<log::Line>,
}

/// One scripted answer to an HTTP request.
#[derive(Debug, Clone)]
pub struct Reply(Result<http::Response, Error>);

#[derive(Debug, Default)]
struct Stage {
    script: Script,
    requests: Vec<http::Request>,
    asked: Vec<(String, Request)>,
    log: Vec<log::Line>,
}

impl Script {
    /// A host of which nothing is expected.
    pub fn new() -> Self {
        Self::default()
    }

    /// Expects a request and answers it.
    pub fn exchange(mut self, method: &str, url: &str, reply: Reply) -> Self {
        self.exchanges
            .push_back((method.to_owned(), url.to_owned(), reply));
        self
    }

    /// Expects a question to a model and answers it.
    pub fn answer(mut self, target: &str, completion: Completion) -> Self {
        let answer = Answer {
            completion,
            provider_id: target.to_owned(),
            cached: false,
            cost_usd: None,
        };
        self.answers.push_back((target.to_owned(), Ok(answer)));
        self
    }

    /// Expects a question to a model and refuses it.
    pub fn refuse(mut self, target: &str, error: Error) -> Self {
        self.answers.push_back((target.to_owned(), Err(error)));
        self
    }

    /// Expects a request for vectors and answers it.
    pub fn embed(mut self, target: &str, vectors: Vectors) -> Self {
        self.vectors.push_back((target.to_owned(), vectors));
        self
    }

    /// Runs `plugin` against the script.
    ///
    /// # Panics
    /// If the plugin departs from the script, or another script plays on this thread.
    pub fn play<T>(self, plugin: impl FnOnce() -> T) -> Played<T> {
        let stage = Stage {
            script: self,
            ..Stage::default()
        };
        let before = STAGE.replace(Some(stage));
        let _guard = Cleared;
        assert!(before.is_none(), "a script already plays on this thread");
        http::SCRIPT.set(Some(send));
        log::SCRIPT.set(Some(keep));
        let result = plugin();
        let Stage {
            script,
            requests,
            asked,
            log,
        } = STAGE
            .take()
            .expect("the stage stands until the script ends");
        let left: Vec<String> = script
            .exchanges
            .iter()
            .map(|(method, url, _)| format!("{method} {url}"))
            .chain(
                script
                    .answers
                    .iter()
                    .map(|(target, _)| format!("a question to `{target}`")),
            )
            .chain(
                script
                    .vectors
                    .iter()
                    .map(|(target, _)| format!("vectors of `{target}`")),
            )
            .collect();
        assert!(left.is_empty(), "the plugin left out: {}", left.join(", "));
        Played {
            result,
            requests,
            asked,
            log,
        }
    }
}

/// Takes the stage down, also when the plugin panics.
struct Cleared;

impl Drop for Cleared {
    fn drop(&mut self) {
        http::SCRIPT.set(None);
        log::SCRIPT.set(None);
        STAGE.take();
    }
}

impl Reply {
    /// A JSON response.
    pub fn json(status: u16, body: &Value) -> Self {
        Self::text(status, &body.to_string()).header("content-type", "application/json")
    }

    /// A response with any body.
    pub fn text(status: u16, body: &str) -> Self {
        Self(Ok(http::Response {
            status,
            headers: Vec::new(),
            body: body.as_bytes().to_vec(),
            cached: false,
        }))
    }

    /// No response: the host could not send the request, or would not.
    pub fn refused(error: Error) -> Self {
        Self(Err(error))
    }

    /// Adds a response header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        if let Ok(response) = &mut self.0 {
            response
                .headers
                .push((name.to_ascii_lowercase(), value.to_owned()));
        }
        self
    }

    /// Says that the response comes from the host's cache.
    #[must_use]
    pub fn cached(mut self) -> Self {
        if let Ok(response) = &mut self.0 {
            response.cached = true;
        }
        self
    }
}

/// A target as the host hands it over: `id` as a config writes it.
pub fn target(id: &str, config: &Value) -> Target {
    let name = id.split_once(':').map_or("", |(_, name)| name);
    Target {
        id: id.to_owned(),
        name: name.to_owned(),
        config_json: config.to_string(),
    }
}

/// The context of a first try.
pub fn context() -> CallContext {
    CallContext {
        call_id: "test".to_owned(),
        attempt: 1,
        deadline_ms: None,
        test_index: 0,
        repeat_index: 0,
        labels: Vec::new(),
    }
}

/// What a grader sees of an answer that is text. A `not-` before the type sets `inverse`, as
/// the host does. `value` of JSON null stands for no value.
pub fn input(kind: &str, value: &Value, output: &str) -> Input {
    let (inverse, type_) = match kind.strip_prefix("not-") {
        Some(plain) => (true, plain),
        None => (false, kind),
    };
    Input {
        type_: type_.to_owned(),
        inverse,
        value_json: (!value.is_null()).then(|| value.to_string()),
        threshold: None,
        config_json: None,
        output: output.to_owned(),
        output_json: None,
        completion: None,
        prompt: Vec::new(),
        vars_json: None,
        test_json: None,
        latency_ms: None,
        cost_usd: None,
        extra_json: None,
    }
}

/// Code as a config holds it, in `language`: an expression, or a body if it has several lines.
/// Messages call it `test`.
pub fn code(language: &str, source: &str) -> Program {
    Program {
        language: language.to_owned(),
        form: if source.contains('\n') {
            Form::Body
        } else {
            Form::Expression
        },
        name: "test".to_owned(),
        source: source.to_owned(),
        entry: None,
        modules: Vec::new(),
        clock_ms: None,
    }
}

/// An argument of code.
pub fn argument(name: &str, value: &Value) -> Argument {
    Argument {
        name: name.to_owned(),
        value_json: value.to_string(),
    }
}

/// Runs `act` on the stage of this thread, if there is one.
fn on_stage<T>(act: impl FnOnce(&mut Stage) -> T) -> Option<T> {
    STAGE.with_borrow_mut(|stage| stage.as_mut().map(act))
}

/// The next thing that the script holds for `what` the plugin does.
fn next<T>(what: &str, act: impl FnOnce(&mut Stage) -> Option<T>) -> T {
    on_stage(|stage| act(stage).unwrap_or_else(|| panic!("the script expects no further {what}")))
        .unwrap_or_else(|| panic!("outside a script: {what}"))
}

fn send(request: http::Request) -> Result<http::Response, Error> {
    let sent = format!("{} {}", request.method, request.url);
    let (method, url, reply) = next(&format!("{sent} request"), |stage| {
        stage.requests.push(request);
        stage.script.exchanges.pop_front()
    });
    let expected = format!("{method} {url}");
    assert_eq!(sent, expected, "another request was expected");
    reply.0
}

pub(crate) fn ask(target: &str, request: &Request) -> Result<Answer, Error> {
    let (expected, answer) = next(&format!("question to `{target}`"), |stage| {
        stage.asked.push((target.to_owned(), request.clone()));
        stage.script.answers.pop_front()
    });
    assert_eq!(target, expected, "another target was expected");
    answer
}

pub(crate) fn embed(target: &str, _inputs: &[String]) -> Vectors {
    let (expected, vectors) = next(&format!("request for vectors of `{target}`"), |stage| {
        stage.script.vectors.pop_front()
    });
    assert_eq!(target, expected, "another target was expected");
    vectors
}

fn keep(line: log::Line) {
    on_stage(|stage| stage.log.push(line));
}
