//! The host's imports with anything in them: `log`, `http`, `llm`, as a guest calls them that does
//! what it is told (`tests/guests/hostile/src/told.rs`).
//!
//! Whatever it calls, what gets through to the host is within a call's limits, and the guest
//! answers or breaks a limit.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex};

use async_trait::async_trait;
use runner_sandbox::limits::{
    MAX_CROSSING_BYTES, MAX_HTTP_CALLS, MAX_LLM_CALLS, MAX_LOG_BYTES, MAX_LOG_FIELDS,
    MAX_LOG_LINE_BYTES, MAX_LOG_LINES,
};
use runner_sandbox::{Call, CallLimits, Host, Options, Plugin, Sandbox, abi};
use tokio::runtime::{Builder, Runtime};

/// Calls and what is in them.
pub(super) const WORDS: &[&str] = &[
    "log\t9\twarn\t",
    "log\t1000\ttrace\t",
    "send\t2\tGET\thttps://a.test/\tkey\tbody\t",
    "send-all\t64\tPOST\thttps://a.test/\t\t",
    "send-all\t1000\tGET\t",
    "ask\t2\tjudge\t",
    "ask-all\t33\tjudge\thi\t{\"a\":1}",
    "embed\t40\tjudge\ta\tb",
    "name\tvalue\t",
    "\t",
    "\t\t\t\t",
    "\n",
    "\r",
    "\0",
    "help: ",
    "\u{1b}[2J",
    "\u{202e}",
    "\u{85}",
    "é",
];

/// What `LogSink` says of fields and lines that it dropped.
const NOTE: usize = 64;

struct World {
    runtime: Runtime,
    plugin: Plugin,
    /// Lives as long as its plugin.
    _sandbox: Sandbox,
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let sandbox = Sandbox::new(Options {
        instances: 1,
        ..Options::default()
    });
    let sandbox = sandbox.expect("a sandbox");
    let plugin = sandbox.load(&guest(), None);
    World {
        runtime: Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime"),
        plugin: plugin.unwrap_or_else(|error| panic!("{error}")),
        _sandbox: sandbox,
    }
});

/// The guest as `cargo xtask plugins` builds it.
fn guest() -> PathBuf {
    let folder = std::env::var_os("RUNNER_TEST_GUESTS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/guests/tests"),
        PathBuf::from,
    );
    folder.join("hostile.wasm")
}

/// What reached the host.
#[derive(Default)]
struct Reached {
    http: u32,
    body: usize,
    llm: u32,
    lines: u32,
    bytes: usize,
    longest: usize,
    fields: usize,
}

/// A host that counts, and answers little.
#[derive(Default)]
struct Counting(Mutex<Reached>);

impl Counting {
    fn note(&self, add: impl FnOnce(&mut Reached)) {
        add(&mut self.0.lock().expect("nobody panics in here"));
    }
}

fn denied() -> abi::Error {
    abi::Error::new(abi::ErrorCode::Denied, "not here")
}

#[async_trait]
impl Host for Counting {
    async fn http(&self, request: abi::HttpRequest) -> Result<abi::HttpResponse, abi::Error> {
        let body = request.body.as_ref().map_or(0, Vec::len);
        self.note(|reached| {
            reached.http += 1;
            reached.body = reached.body.max(body);
        });
        if request.method != "GET" {
            return Err(denied());
        }
        Ok(abi::HttpResponse {
            status: 200,
            headers: request.headers,
            body: request.url.into_bytes(),
            cached: false,
        })
    }

    fn wasi_http(&self) -> Result<(), abi::Error> {
        Ok(())
    }

    async fn llm_complete(&self, _: &str, _: abi::Request) -> Result<abi::Answer, abi::Error> {
        self.note(|reached| reached.llm += 1);
        Err(denied())
    }

    async fn llm_embed(&self, _: &str, inputs: Vec<String>) -> Result<Vec<Vec<f32>>, abi::Error> {
        self.note(|reached| reached.llm += 1);
        Ok(inputs.iter().map(|_| vec![0.5]).collect())
    }

    fn log(&self, line: abi::LogLine) {
        self.note(|reached| {
            let fields = line
                .fields
                .iter()
                .map(|(key, value)| key.len() + value.len());
            reached.lines += 1;
            reached.bytes += line.message.len() + fields.sum::<usize>();
            reached.longest = reached.longest.max(line.message.len());
            reached.fields = reached.fields.max(line.fields.len());
        });
    }
}

pub(super) fn run(input: &[u8]) -> String {
    let said = held(input, CallLimits::provider());
    said.map_or_else(|how| how, |_| "an answer".to_owned())
}

/// The guest's answer to a text of calls, or how it failed. What reached the host is within a
/// call's limits.
pub(super) fn held(input: &[u8], limits: CallLimits) -> Result<String, String> {
    let host = Arc::new(Counting::default());
    let said = tell(&host, limits, &String::from_utf8_lossy(input));
    let reached = host.0.lock().expect("nobody panics in here");
    assert!(reached.http <= MAX_HTTP_CALLS, "{} requests", reached.http);
    assert!(
        reached.body <= MAX_CROSSING_BYTES,
        "a body of {} bytes",
        reached.body
    );
    assert!(reached.llm <= MAX_LLM_CALLS, "{} questions", reached.llm);
    // One more line says how many were dropped.
    assert!(
        reached.lines <= MAX_LOG_LINES + 1,
        "{} lines",
        reached.lines
    );
    assert!(
        reached.bytes <= MAX_LOG_BYTES + NOTE,
        "{} bytes",
        reached.bytes
    );
    let longest = reached.longest;
    assert!(
        longest <= MAX_LOG_LINE_BYTES + NOTE,
        "a line of {longest} bytes"
    );
    assert!(
        reached.fields <= MAX_LOG_FIELDS,
        "{} fields",
        reached.fields
    );
    drop(reached);
    if said.as_ref().is_err_and(|how| how.starts_with("broken")) {
        // A plugin that breaks a limit every time is not called any more.
        assert_eq!(tell(&host, CallLimits::provider(), ""), Ok(String::new()));
    }
    said
}

/// What the guest makes of a text.
fn tell(host: &Arc<Counting>, limits: CallLimits, text: &str) -> Result<String, String> {
    let World {
        runtime, plugin, ..
    } = &*WORLD;
    let call = Call {
        host: Arc::<Counting>::clone(host),
        limits,
        nested: false,
        input: runner_sandbox::InputOf::default(),
    };
    let target = abi::Target {
        id: "hostile:as-told".to_owned(),
        name: "as-told".to_owned(),
        config_json: "{}".to_owned(),
    };
    let request = abi::Request::new(Vec::new(), text);
    let context = abi::CallContext::new("case-1");
    let called = runtime.block_on(plugin.complete(call, &target, &request, &context));
    match called.result {
        Ok(Ok(answer)) => match answer.completion.message.content.as_slice() {
            [abi::Part::Text(text)] => Ok(text.clone()),
            other => panic!("the guest answers one text, not {other:?}"),
        },
        Ok(Err(error)) => Err(format!("an error {:?}", error.code)),
        Err(error) => Err(format!("broken {:?}", error.code())),
    }
}
