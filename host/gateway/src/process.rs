//! Programs of the user's as something that exchanges go to.
//!
//! A call of one passes the same stack as a request: it may be recorded and replayed, kept in the
//! cache if the config asks for that, it waits in a lane that is as wide as there are workers, and
//! what comes back is masked. What is started, and how it ends, is `runner-process`'s business.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::HeaderMap;
use runner_process::{
    Answer as Given, Log, Output, Program, Service, Supervisor, Workers, once, printed,
};
use runner_store::Digest;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::exchange::{CacheMode, REQUEST_LIMIT};
use crate::lane::Lane;
use crate::memory::cache;
use crate::memory::remembered::Envelope;
use crate::policy::address::Reach;
use crate::wire::attempt::Answer;
use crate::wire::bodies::Space;
use crate::wire::fault::WireFault;

/// Longest argument of a command, in bytes: what Linux takes.
const ARGUMENT_LIMIT: usize = (128 << 10) - 1;

/// A program that can be called.
pub struct Peer {
    name: String,
    lane: Lane,
    kind: Kind,
}

enum Kind {
    Workers(Workers),
    Command(Program, Supervisor),
}

impl Peer {
    /// An interpreter that is kept and asked again and again, with a driver inside.
    pub fn kept(service: Service) -> Self {
        let name = service.program.shown.clone();
        Self::new(name, Kind::Workers(Workers::new(service)))
    }

    /// A command that is started for each call; it gets the call's arguments after its own.
    pub fn command(program: Program, supervisor: Supervisor) -> Self {
        let name = program.shown.clone();
        Self::new(name, Kind::Command(program, supervisor))
    }

    fn new(name: String, kind: Kind) -> Self {
        let lane = Lane {
            origin: format!("process://{name}"),
            ..Lane::default()
        };
        Self { name, lane, kind }
    }

    /// What messages call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What shares its workers.
    pub(crate) fn lane(&self) -> &Lane {
        &self.lane
    }

    /// Lets what is idle of it end by itself, a moment long.
    pub async fn close(&self) {
        if let Kind::Workers(workers) = &self.kind {
            workers.close().await;
        }
    }
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peer")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// One call of a program.
pub struct ProcessCall {
    /// Whom.
    pub peer: Arc<Peer>,
    /// What of the code is known: a call of other code is another call.
    pub digest: String,
    /// What else an answer may hang on: the folder, where there may be other files, and what the
    /// config says of the environment. A recording knows nothing of it, the cache does.
    pub surroundings: String,
    /// Where the code's file is, if it has one. A recording knows nothing of it: it may be replayed
    /// on another machine.
    pub path: Option<String>,
    /// A JSON object: what its driver takes, or `{"arguments": [...]}` of texts for a command.
    pub call: String,
    /// How long it may work.
    pub timeout: Duration,
    /// Whether the cache may serve and keep it.
    pub cache: CacheMode,
    /// Is told what it prints.
    pub log: Log,
}

/// What a program answers: the body of its reply.
#[derive(Debug, Default, Serialize)]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Arguments {
    arguments: Vec<String>,
}

impl ProcessCall {
    /// What may be remembered of it.
    pub(crate) fn envelope(&self, repeat: u32) -> Envelope {
        let (name, digest) = (&self.peer.name, &self.digest);
        Envelope {
            method: "POST".to_owned(),
            url: format!("process://{name}#{digest}"),
            headers: Vec::new(),
            body: Bytes::from(self.call.clone()),
            credential: None,
            repeat,
        }
    }

    /// Under what the cache has its answer. What a program reaches is its own business.
    pub(crate) fn cache_key(&self, envelope: &Envelope) -> Digest {
        let mut here = envelope.clone();
        let surroundings = self.surroundings.clone();
        here.headers.push(("surroundings".to_owned(), surroundings));
        cache::key(&here, Reach::Private, None)
    }

    /// Makes it.
    pub(crate) async fn attempt(
        &self,
        limit: Duration,
        space: &mut Space,
    ) -> Result<Answer, WireFault> {
        let size = self.call.len();
        if size > REQUEST_LIMIT {
            let limit = REQUEST_LIMIT;
            return Err(WireFault::RequestTooLarge { size, limit });
        }
        let body = match &self.peer.kind {
            Kind::Workers(workers) => {
                let called = workers.call(&self.located(), limit, self.log.clone()).await;
                of_driver(called?)
            }
            Kind::Command(program, supervisor) => {
                let arguments = arguments(program, &self.call)?;
                let output = once(supervisor, program, &arguments, limit).await?;
                self.tell(&output);
                of_command(&output)
            }
        };
        space.grow(body.len()).await?;
        Ok(Answer {
            pieces: Vec::new(),
            status: 200,
            headers: HeaderMap::new(),
            body,
        })
    }

    /// The call with the path of its code.
    fn located(&self) -> Cow<'_, str> {
        match (&self.path, self.call.strip_prefix('{')) {
            (Some(path), Some(rest)) => {
                let path = Value::from(path.as_str());
                Cow::Owned(format!("{{\"path\":{path},{rest}"))
            }
            _ => Cow::Borrowed(&self.call),
        }
    }

    /// Logs what a command wrote to standard error.
    fn tell(&self, output: &Output) {
        for line in printed(&output.stderr).lines() {
            (self.log)(runner_process::LogLine {
                level: runner_process::Level::Warn,
                text: line.to_owned(),
            });
        }
    }
}

/// The arguments that a call brings.
fn arguments(program: &Program, body: &str) -> Result<Vec<OsString>, WireFault> {
    let read: Result<Arguments, _> = serde_json::from_str(body);
    let Arguments { arguments } = read.expect("the caller states arguments");
    for argument in &arguments {
        let why = if argument.len() > ARGUMENT_LIMIT {
            format!(
                "has {} bytes, and a command's argument at most {ARGUMENT_LIMIT}",
                argument.len()
            )
        } else if argument.contains('\0') {
            "has a NUL, which no argument can have".to_owned()
        } else {
            continue;
        };
        let message = format!("{}: what it is to be given {why}", program.shown);
        return Err(WireFault::Invalid(message));
    }
    Ok(arguments.into_iter().map(OsString::from).collect())
}

fn of_driver(given: Given) -> Vec<u8> {
    let given = given.map_err(|report| {
        serde_json::json!({
            "message": report.message,
            "file": report.file,
            "line": report.line,
            "column": report.column,
            "stack": report.stack,
            "missing": report.missing,
        })
    });
    let body = match &given {
        Ok(value) => Body {
            value: value.as_deref(),
            error: None,
        },
        Err(error) => Body {
            value: None,
            error: Some(error.clone()),
        },
    };
    serde_json::to_vec(&body).expect("JSON texts make JSON")
}

/// promptfoo's rule: what a command prints is its answer, without the colours of a terminal; if it
/// prints only to standard error, or says that it failed, there is none.
fn of_command(output: &Output) -> Vec<u8> {
    let text = |bytes: &[u8]| plain(printed(bytes).trim());
    let (answer, errors) = (text(&output.stdout), text(&output.stderr));
    let failed = output.failed.clone();
    let failed = failed.or_else(|| (answer.is_empty() && !errors.is_empty()).then_some(errors));
    let body = match failed {
        Some(message) => serde_json::json!({ "error": { "message": message } }),
        None => serde_json::json!({ "value": { "output": answer } }),
    };
    body.to_string().into_bytes()
}

/// A text without escape sequences of terminals.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut signs = text.chars();
    while let Some(sign) = signs.next() {
        if sign != '\u{1b}' {
            plain.push(sign);
            continue;
        }
        if signs.next() == Some('[') {
            // Parameters, then one letter.
            signs.by_ref().find(|c| ('@'..='~').contains(c));
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(stdout: &str, stderr: &str, failed: Option<&str>) -> Output {
        Output {
            stdout: stdout.as_bytes().to_vec(),
            stderr: stderr.as_bytes().to_vec(),
            failed: failed.map(str::to_owned),
        }
    }

    #[test]
    fn what_a_command_prints_is_its_answer_unless_it_says_that_it_failed() {
        let read = |output: &Output| -> Value {
            serde_json::from_slice(&of_command(output)).expect("JSON")
        };
        let answer = |text: &str| serde_json::json!({ "value": { "output": text } });
        let error = |text: &str| serde_json::json!({ "error": { "message": text } });
        assert_eq!(
            read(&output(" a\n\u{1b}[1;31mb\u{1b}[0m\n", "odd", None)),
            answer("a\nb")
        );
        assert_eq!(read(&output("", "", None)), answer(""));
        assert_eq!(read(&output(" ", "why\n", None)), error("why"));
        assert_eq!(
            read(&output("a", "", Some("it failed"))),
            error("it failed")
        );
    }

    #[test]
    fn the_cache_knows_where_a_program_runs_and_a_recording_does_not() {
        let program = Program {
            shown: "./x".to_owned(),
            executable: "./x".into(),
            arguments: Vec::new(),
            folder: "/".into(),
            env: [].into(),
            memory: 0,
        };
        let supervisor = Supervisor {
            executable: "/".into(),
        };
        let peer = Arc::new(Peer::command(program, supervisor));
        let call = |folder: &str| ProcessCall {
            peer: peer.clone(),
            digest: "d".to_owned(),
            surroundings: folder.to_owned(),
            path: None,
            call: "{}".to_owned(),
            timeout: Duration::ZERO,
            cache: CacheMode::Auto,
            log: Arc::new(|_| {}),
        };
        let [here, there] = ["/a", "/b"].map(call);
        let envelope = here.envelope(0);
        assert_eq!(envelope, there.envelope(0));
        assert_ne!(here.cache_key(&envelope), there.cache_key(&envelope));
    }

    #[test]
    fn a_command_s_arguments_have_a_length_and_no_nul() {
        let program = Program {
            shown: "./x".to_owned(),
            executable: "./x".into(),
            arguments: Vec::new(),
            folder: "/".into(),
            env: [].into(),
            memory: 0,
        };
        let given = |text: &str| {
            let body = serde_json::json!({ "arguments": [text] }).to_string();
            arguments(&program, &body).map_err(|fault| fault.to_string())
        };
        assert_eq!(given("é"), Ok(vec!["é".into()]));
        let long = "x".repeat(ARGUMENT_LIMIT + 1);
        assert_eq!(
            given(&long),
            Err("./x: what it is to be given has 131072 bytes, and a command's argument at most 131071".to_owned())
        );
        assert!(given("a\0").is_err());
    }
}
