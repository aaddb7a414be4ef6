//! Code of the config that may send requests. It can't send any itself: it says which it waits for, they are
//! sent as a plugin's are, and it is run again from its beginning with the answers. So it stays a function
//! of what it is given, and nothing of it waits in memory meanwhile.
//!
//! What it prints is told of its last run, which prints what those before it did.

use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use futures_util::future::join_all;
use runner_gateway::{CallBodies, Reservation, Scheduling};
use runner_sandbox::Host as _;
use runner_sandbox::abi::{self, Argument, CallContext, ErrorCode, Program, ScriptFailure};
use runner_sandbox::limits::MAX_HTTP_CALLS;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::code_host::CodeHost;
use super::guest_host::{GuestHost, ModelAccess};
use super::{CallScope, Counts};
use crate::failure::{CallFailure, FailureCode};
use crate::plugins::Interpreter;
use crate::private_door::ANSWERS;
use crate::script::{Cause, CodeResult, Fault, argument, fault};

/// The header by which a request names a granted credential, as in `wasi:http`; it is not sent.
const CREDENTIAL: &str = "runner-credential";

/// The header by which a request names what shares a rate limit; it is not sent.
const BUCKET: &str = "runner-bucket";

/// Whose requests code sends.
pub(super) struct SentBy<'a> {
    /// How they share quotas; `None`: as those of code that is no provider's.
    pub(super) scheduling: Option<&'a Arc<Scheduling>>,
    /// What they claim, if a budget pays for them.
    pub(super) reservation: Option<Arc<Reservation>>,
    pub(super) counts: &'a Counts,
}

/// What code that may send requests came to.
enum CodeStep {
    Waits(Vec<WantedRequest>),
    Done(Option<Value>),
}

/// A request as code writes it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WantedRequest {
    method: String,
    url: String,
    headers: Vec<(String, String)>,
    text: Option<String>,
    base64: Option<String>,
    timeout_ms: Option<u64>,
}

impl CallScope {
    /// Runs code that may send requests.
    pub(super) async fn run_sending(
        &self,
        interpreter: &Interpreter,
        program: &Program,
        arguments: &[Argument],
        (sent_by, identity): (SentBy<'_>, &CallContext),
    ) -> Result<CodeResult, CallFailure> {
        let access = interpreter.access.as_ref();
        let access = access.expect("only code that is granted something may send");
        let host = GuestHost {
            scope: self.clone(),
            plugin: interpreter.plugin.clone(),
            grants: access.grants.clone(),
            scheduling: sent_by.scheduling.unwrap_or(&access.scheduling).clone(),
            asks: ModelAccess::default(),
            reservation: sent_by.reservation,
            bodies: Arc::new(CallBodies::of(self.memory.clone())),
            counts: Counts::default(),
        };
        let code = CodeHost {
            scope: self.clone(),
            plugin: interpreter.plugin.clone(),
            kept: Some(Mutex::default()),
        };
        let code = Arc::new(code);
        let mut answers = Answers::default();
        let result = loop {
            code.forget();
            let mut arguments = arguments.to_vec();
            arguments.push(argument(ANSWERS, answers.json()));
            let run = self.interpret(interpreter, code.clone(), program, &arguments, identity);
            let wanted = match step(run.await) {
                Ok(CodeStep::Waits(requests)) => requests,
                Ok(CodeStep::Done(value)) => break Ok(Ok(value)),
                Err(ended) => break ended,
            };
            if answers.count + wanted.len() > MAX_HTTP_CALLS as usize {
                let message = format!("no more than {MAX_HTTP_CALLS} HTTP requests in one call");
                break Err(CallFailure::new(FailureCode::Script, message));
            }
            let sent = wanted.into_iter().map(|wanted| answered(&host, wanted));
            answers.add(join_all(sent).await);
        };
        code.tell();
        sent_by.counts.include(&host.counts);
        if let Some(refused) = host.refused() {
            return Err(refused);
        }
        // That nobody answered says nothing of what is graded.
        result.map(|given| {
            given.map_err(|Fault(message, cause)| {
                let is_setup = answers.have_failed;
                Fault(message, if is_setup { Cause::Setup } else { cause })
            })
        })
    }
}

/// What one run of the code came to; `Err`: its end.
fn step(
    run: Result<Result<Option<Value>, ScriptFailure>, CallFailure>,
) -> Result<CodeStep, Result<CodeResult, CallFailure>> {
    let said = run.map_err(Err)?;
    let said = said.map_err(|failure| Ok(Err(fault(&failure))))?;
    let mut said = match said {
        Some(Value::Object(said)) => said,
        _ => Map::new(),
    };
    let Some(requests) = said.remove("requests") else {
        return Ok(CodeStep::Done(said.remove("value")));
    };
    let requests = serde_json::from_value(requests).map_err(|error| {
        let message = format!("the code asks for what is no request: {error}");
        Err(CallFailure::new(FailureCode::Script, message))
    });
    requests.map(CodeStep::Waits)
}

/// Sends a request; gives what the code hears.
async fn answered(host: &GuestHost, wanted: WantedRequest) -> (Value, bool) {
    let url = wanted.url.clone();
    let sent = async { host.http(request(wanted)?).await };
    match sent.await {
        Ok(response) => {
            let (status, headers) = (response.status, response.headers);
            let body = match String::from_utf8(response.body) {
                Ok(text) => ("text", text),
                Err(bytes) => ("base64", BASE64_STANDARD.encode(bytes.as_bytes())),
            };
            let mut answer = json!({ "url": url, "status": status, "headers": headers });
            answer[body.0] = Value::String(body.1);
            (answer, false)
        }
        Err(error) => {
            let is_late = error.code == ErrorCode::Timeout;
            let answer = json!({ "url": url, "failed": error.message, "isLate": is_late });
            (answer, true)
        }
    }
}

/// A request as a plugin would have made it.
fn request(wanted: WantedRequest) -> Result<abi::HttpRequest, abi::Error> {
    let mut headers = wanted.headers;
    let mut taken = |name: &str| {
        let at = headers
            .iter()
            .position(|(header, _)| header.eq_ignore_ascii_case(name))?;
        Some(headers.remove(at).1)
    };
    let (credential, bucket) = (taken(CREDENTIAL), taken(BUCKET));
    // It follows from the body.
    taken("content-length");
    let bytes = wanted.base64.map(|text| BASE64_STANDARD.decode(text));
    let bytes = bytes
        .transpose()
        .map_err(|error| abi::Error::new(ErrorCode::InvalidRequest, format!("a body: {error}")))?;
    Ok(abi::HttpRequest {
        method: wanted.method,
        url: wanted.url,
        headers,
        body: bytes.or(wanted.text.map(String::into_bytes)),
        credential,
        bucket,
        timeout_ms: wanted.timeout_ms,
        cache: abi::CacheMode::Auto,
    })
}

/// The answers that code has got so far.
#[derive(Default)]
struct Answers {
    /// As JSON, each behind a comma.
    text: String,
    count: usize,
    have_failed: bool,
}

impl Answers {
    fn add(&mut self, answers: Vec<(Value, bool)>) {
        for (answer, has_failed) in answers {
            if self.count > 0 {
                self.text.push(',');
            }
            self.text.push_str(&answer.to_string());
            self.count += 1;
            self.have_failed |= has_failed;
        }
    }

    fn json(&self) -> String {
        format!("[{}]", self.text)
    }
}

impl CodeHost {
    /// Drops what was printed: it will be printed again.
    fn forget(&self) {
        if let Some(kept) = &self.kept {
            kept.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
    }

    /// Tells what was printed.
    fn tell(&self) {
        let kept = self.kept.iter();
        let lines = kept.flat_map(|kept| {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *kept)
        });
        for line in lines {
            self.scope.log(&self.plugin, line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(headers: &[(&str, &str)]) -> WantedRequest {
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        WantedRequest {
            method: "POST".to_owned(),
            url: "https://a.example/".to_owned(),
            headers: headers.iter().map(pair).collect(),
            text: None,
            base64: Some("AP8=".to_owned()),
            timeout_ms: None,
        }
    }

    #[test]
    fn a_key_is_named_by_a_header_that_is_not_sent() {
        let headers = [
            ("Runner-Credential", "acme"),
            ("content-length", "2"),
            ("a", "b"),
            ("runner-bucket", "m"),
        ];
        let request = request(wanted(&headers)).expect("it is one");
        assert_eq!(request.credential.as_deref(), Some("acme"));
        assert_eq!(request.bucket.as_deref(), Some("m"));
        assert_eq!(request.headers, [("a".to_owned(), "b".to_owned())]);
        assert_eq!(request.body, Some(vec![0, 255]));
    }

    #[test]
    fn what_code_came_to_is_a_value_or_what_it_waits_for() {
        let is_done = |said: Value| match step(Ok(Ok(Some(said)))).ok() {
            Some(CodeStep::Done(value)) => Some(value),
            Some(CodeStep::Waits(requests)) => {
                assert_eq!(requests.len(), 1);
                None
            }
            None => panic!("it makes sense"),
        };
        assert_eq!(is_done(json!({ "value": 1 })), Some(Some(json!(1))));
        assert_eq!(is_done(json!({ "value": null })), Some(Some(Value::Null)));
        assert_eq!(is_done(json!({})), Some(None));
        // What it gives is no request, whatever it looks like.
        let value = json!({ "requests": [] });
        assert_eq!(is_done(json!({ "value": value })), Some(Some(value)));
        let request = json!({ "method": "GET", "url": "u", "headers": [["a", "b"]] });
        assert_eq!(is_done(json!({ "requests": [request] })), None);
    }
}
