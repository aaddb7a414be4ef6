//! The world of the tests: finds guests, records what a call did, answers what it asks.

use std::fs;
use std::future::pending;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use runner_sandbox::{Call, CallLimits, Host, InputOf, Options, Plugin, Sandbox, abi};
use runner_tests::Misbehaviour;
use tokio::sync::Notify;

/// A host that answers at once, or never, and writes down what it was asked.
#[derive(Default)]
pub(crate) struct Recorder {
    /// HTTP requests that reached it.
    pub(crate) http: AtomicUsize,
    /// Model calls and embeddings that reached it.
    pub(crate) llm: AtomicUsize,
    /// Requests that are waiting for an answer that will not come.
    pub(crate) hanging: AtomicUsize,
    /// Told when `hanging` grows.
    pub(crate) hung: Notify,
    /// Whether requests are answered.
    pub(crate) answers: bool,
    /// White space in the body of each response.
    body: usize,
    /// Requests that it answered, memory that it gave, and deliveries that it heard of.
    pub(crate) deliveries: Mutex<Vec<&'static str>>,
    lines: Mutex<Vec<abi::LogLine>>,
}

impl Recorder {
    /// One that answers.
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            answers: true,
            ..Self::default()
        })
    }

    /// One that answers with so large bodies.
    pub(crate) fn with_bodies(body: usize) -> Arc<Self> {
        Arc::new(Self {
            answers: true,
            body,
            ..Self::default()
        })
    }

    /// One that never answers.
    pub(crate) fn silent() -> Arc<Self> {
        Arc::default()
    }

    /// What was logged so far.
    pub(crate) fn lines(&self) -> Vec<abi::LogLine> {
        self.lines.lock().expect("no test panics in here").clone()
    }

    fn note(&self, what: &'static str) {
        let mut deliveries = self.deliveries.lock().expect("no test panics in here");
        deliveries.push(what);
    }

    async fn answer(&self) {
        if !self.answers {
            let hanging = Hanging::new(&self.hanging);
            self.hung.notify_one();
            pending::<()>().await;
            drop(hanging);
        }
    }
}

/// Counts one waiting request for as long as its future lives.
struct Hanging<'a>(&'a AtomicUsize);

impl<'a> Hanging<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Hanging<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl Host for Recorder {
    async fn http(&self, _: abi::HttpRequest) -> Result<abi::HttpResponse, abi::Error> {
        self.http.fetch_add(1, Ordering::SeqCst);
        self.answer().await;
        self.note("answered");
        Ok(abi::HttpResponse {
            status: 200,
            headers: vec![],
            body: [b"{}".to_vec(), vec![b' '; self.body]].concat(),
            cached: false,
        })
    }

    fn wasi_http(&self) -> Result<(), abi::Error> {
        Ok(())
    }

    async fn llm_complete(&self, _: &str, _: abi::Request) -> Result<abi::Answer, abi::Error> {
        self.llm.fetch_add(1, Ordering::SeqCst);
        self.answer().await;
        Ok(abi::Answer {
            completion: abi::Completion::new(vec![abi::Part::Text("yes".into())]),
            provider_id: "judge".into(),
            cached: false,
            cost_usd: None,
        })
    }

    async fn llm_embed(&self, _: &str, inputs: Vec<String>) -> Result<Vec<Vec<f32>>, abi::Error> {
        self.llm.fetch_add(1, Ordering::SeqCst);
        Ok(inputs.iter().map(|_| vec![0.0]).collect())
    }

    fn delivered(&self) {
        self.note("delivered");
    }

    async fn take_memory(&self, _: u64) {
        self.note("memory");
    }

    fn log(&self, line: abi::LogLine) {
        self.lines
            .lock()
            .expect("no test panics in here")
            .push(line);
    }
}

/// A sandbox without a cache, and the right to be measured: one test at a time has it.
pub(crate) struct Alone {
    sandbox: Sandbox,
    _turn: MutexGuard<'static, ()>,
}

impl Deref for Alone {
    type Target = Sandbox;

    fn deref(&self) -> &Sandbox {
        &self.sandbox
    }
}

/// Waits for its turn.
pub(crate) fn sandbox() -> Alone {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let options = Options {
        instances: 8,
        ..Options::default()
    };
    Alone {
        sandbox: Sandbox::new(options).expect("an engine for eight instances"),
        _turn: turn,
    }
}

/// The hostile guest, loaded.
pub(crate) fn hostile(sandbox: &Sandbox) -> Plugin {
    match sandbox.load(&guest("hostile"), None) {
        Ok(plugin) => plugin,
        Err(error) => panic!("{error}"),
    }
}

/// A test guest built by `cargo xtask plugins`.
pub(crate) fn guest(name: &str) -> PathBuf {
    let folder = std::env::var_os("RUNNER_TEST_GUESTS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/guests/tests"),
        PathBuf::from,
    );
    let path = folder.join(format!("{name}.wasm"));
    assert!(
        path.is_file(),
        "{} is missing; build it with `cargo xtask plugins`",
        path.display()
    );
    path
}

/// A first-party plugin built by `cargo xtask plugins`.
pub(crate) fn plugin(name: &str) -> PathBuf {
    let folder = std::env::var_os("RUNNER_TEST_PLUGINS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/release/plugins"),
        PathBuf::from,
    );
    let path = folder.join(format!("{name}.wasm"));
    assert!(
        path.is_file(),
        "{} is missing; build it with `cargo xtask plugins`",
        path.display()
    );
    path
}

/// A call with the limits of an assertion.
pub(crate) fn call(host: &Arc<Recorder>) -> Call {
    Call {
        host: Arc::<Recorder>::clone(host),
        limits: CallLimits::assertion(),
        nested: false,
        input: InputOf::default(),
    }
}

/// The like for a test of its own.
pub(crate) fn call_of(host: &Arc<Recorder>, test: u32) -> Call {
    Call {
        input: InputOf {
            test,
            ..InputOf::default()
        },
        ..call(host)
    }
}

/// The hostile guest that describes itself as `kind`: the word in its data is overwritten.
pub(crate) fn describing(kind: &str) -> Vec<u8> {
    const MARK: &[u8] = b"hostile-describes:";
    let mut file = fs::read(guest("hostile")).expect("the guest is built");
    let mut places = file.windows(MARK.len()).enumerate();
    let (at, _) = places
        .find(|(_, bytes)| *bytes == MARK)
        .expect("the word is in its data");
    let word = &mut file[at + MARK.len()..at + 48];
    word.fill(b'.');
    word[..kind.len()].copy_from_slice(kind.as_bytes());
    file
}

/// What this process takes from now on.
pub(crate) struct Measured {
    memory: u64,
    cpu: Duration,
}

impl Measured {
    /// Begins. The system forgets the peak so far.
    pub(crate) fn begin() -> Self {
        // Fails where there is no such file; then nothing is measured.
        drop(fs::write("/proc/self/clear_refs", "5"));
        Self {
            memory: status("VmRSS:"),
            cpu: cpu(),
        }
    }

    /// Asserts that no more was taken than the list of misbehaviours allows this one.
    #[track_caller]
    pub(crate) fn within_bounds_of(&self, name: &str) {
        let (memory, spent) = self.taken();
        Misbehaviour::named(name).allows(memory, spent);
    }

    /// Asserts that no more than this was taken.
    #[track_caller]
    pub(crate) fn within(&self, mebibytes: u64, time: Duration) {
        let (memory, spent) = self.taken();
        println!("measured: {memory} MiB at most, {spent:?} of CPU");
        assert!(memory <= mebibytes, "{memory} MiB, at most {mebibytes}");
        assert!(spent <= time, "{spent:?} of CPU, at most {time:?}");
    }

    fn taken(&self) -> (u64, Duration) {
        let memory = status("VmHWM:").saturating_sub(self.memory) >> 10;
        (memory, cpu().saturating_sub(self.cpu))
    }
}

/// A figure of this process in KiB; 0 where the system doesn't tell.
fn status(name: &str) -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.unwrap_or_default()
}

/// CPU time of this process, of all its threads.
fn cpu() -> Duration {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // What stands before the bracket is the program's name, which may hold anything.
    let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks = fields.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}
