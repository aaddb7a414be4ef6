//! Whole runs of the hostile guest, and what they took.

use std::path::Path;
use std::time::Duration;

use runner_tests::{Finished, Misbehaviour, ModelApi, Run, guest};
use serde_json::{Value, json};

/// The hostile guest that describes itself as `kind`.
pub(crate) fn hostile(kind: &str) -> Vec<u8> {
    const MARK: &[u8] = b"hostile-describes:";
    let path = guest("tests/hostile");
    let mut file = std::fs::read(path).expect("build it with `cargo xtask plugins`");
    let place = file.windows(MARK.len()).position(|bytes| bytes == MARK);
    let at = place.expect("the word is in its data") + MARK.len();
    let word = &mut file[at..at + 48 - MARK.len()];
    word.fill(b'.');
    word[..kind.len()].copy_from_slice(kind.as_bytes());
    file
}

/// A run that has ended.
pub(crate) struct Measured {
    pub(crate) finished: Finished,
    /// Most that the program had, in MiB.
    pub(crate) memory: u64,
    /// Of all processors.
    pub(crate) time: Duration,
}

impl Measured {
    /// Asserts that the program took no more than the list of misbehaviours allows this one.
    #[track_caller]
    pub(crate) fn within_bounds_of(&self, name: &str) {
        Misbehaviour::named(name).allows(self.memory, self.time);
    }

    /// The error, or else the answer, of each row of a hostile provider.
    pub(crate) fn said(&self, name: &str) -> Vec<String> {
        let id = format!("hostile:{name}");
        let rows = rows(&self.finished);
        let own = rows.iter().filter(|row| row["provider"]["id"] == *id);
        let said = own.map(|row| {
            row["errorCode"]
                .as_str()
                .or(row["response"]["output"].as_str())
        });
        said.map(|text| text.expect("a text").to_owned()).collect()
    }

    /// Asserts that every row of `echo` and of the model passed: so many of each.
    #[track_caller]
    pub(crate) fn others_pass(&self, cases: usize) {
        let rows = rows(&self.finished);
        for id in ["echo", "openai:m"] {
            let own = rows.iter().filter(|row| row["provider"]["id"] == id);
            let passed = own.filter(|row| row["success"] == true);
            assert_eq!(passed.count(), cases, "{id}: {}", self.finished.stdout);
        }
    }
}

/// The hostile providers of these names in a run with others, over so many cases. What they are
/// asked is an address of the server.
pub(crate) fn among_others(api: &ModelApi, names: &[&str], cases: usize) -> Run {
    let hostiles = names
        .iter()
        .map(|name| json!({ "id": format!("hostile:{name}"), "config": { "agreeable": true } }));
    let providers = [json!("echo"), json!("openai:m")].into_iter();
    let providers: Vec<Value> = providers.chain(hostiles).collect();
    let tests = (0..cases).map(|n| json!({ "vars": { "url": format!("{}/{n}", api.url()) } }));
    let config = json!({
        "prompts": ["{{url}}"],
        "providers": providers,
        "tests": tests.collect::<Vec<_>>(),
        "plugins": { "hostile": {
            "source": "hostile.wasm",
            "limits": { "cpu_ms": 10_000 },
            "permissions": { "hosts": [api.url()] },
        } },
    });
    Run::new()
        .config(&config.to_string())
        .file("hostile.wasm", hostile("as-it-should"))
        .env("OPENAI_API_KEY", "sk-test-key-of-a-test")
        .env("OPENAI_BASE_URL", format!("{}/v1", api.url()))
        .args(["eval", "-o", "out.json", "--trust-config", "--no-cache"])
}

/// Runs to the end and looks at the program again and again, since the system forgets what it took
/// when it ends.
pub(crate) fn measured(run: Run) -> Measured {
    let running = run.start();
    let process = Path::new("/proc").join(running.id().to_string());
    let watch = std::thread::spawn(move || {
        let (mut memory, mut time) = (0, Duration::ZERO);
        while let Ok(status) = std::fs::read_to_string(process.join("status")) {
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let figure = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
            memory = figure.unwrap_or(memory);
            let stat = std::fs::read_to_string(process.join("stat")).unwrap_or_default();
            let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
            let ticks = fields.split_whitespace().skip(11).take(2);
            let ticks: u64 = ticks.filter_map(|field| field.parse::<u64>().ok()).sum();
            time = time.max(Duration::from_millis(ticks * 10));
            // How often it looks; nothing waits for it.
            std::thread::sleep(Duration::from_millis(1));
        }
        (memory >> 10, time)
    });
    let finished = running.finish();
    let (memory, time) = watch.join().expect("watching does not panic");
    println!("measured: {memory} MiB at most, {time:?} of CPU");
    Measured {
        finished,
        memory,
        time,
    }
}

pub(crate) fn rows(finished: &Finished) -> Vec<Value> {
    finished.json("out.json")["results"]["results"]
        .as_array()
        .expect("rows")
        .clone()
}
