//! How well whole runs use a quota, by the real binary: `cargo xtask bench`.
//!
//! `lanes [--runs N] [WORD]…` measures the scenarios whose names hold one of the words, all
//! of them without a word. `RUNNER_BIN` names another program than the built one.
//!
//! The clock is the server's: a run lasts from its first request to its last answer. The
//! ideal is what a clairvoyant client needs, who knows the limit and uses every call of it at
//! the first moment: for a window, all full windows and then the last calls as fast as the
//! slots allow; for a bucket, all it holds at once and every token as it comes; for a storm,
//! its length and then nothing but the slots. The last answer's latency counts in each.
//! Nothing is asserted: a figure is for reading, and the bounds beside it are for comparing.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use runner_tests::{Client, Limit, Phase, Quota, QuotaServer, Run, Says, Traffic, built_program};
use serde_json::Value;

/// A stretch long enough to hold a good number of answers at full rate, and short enough to
/// tell when that rate was reached.
const GLIMPSE: Duration = Duration::from_millis(250);

struct Scenario {
    name: &'static str,
    wanted: &'static str,
    limit: Limit,
    says: Says,
    storm: Duration,
    latency: Duration,
    cases: u32,
    slots: u32,
}

/// One run.
struct Figures {
    took: Duration,
    share: f64,
    refused: f64,
    failed: usize,
    cpu: Duration,
    /// After a storm: until a call was accepted, and until answers came at full rate.
    recovery: Option<(Duration, Option<Duration>)>,
}

fn main() {
    let mut runs = 3;
    let mut words = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--runs" {
            let number = arguments.next().and_then(|number| number.parse().ok());
            runs = number.expect("--runs takes a number");
        } else {
            words.push(argument);
        }
    }
    println!(
        "the server alone: {:.0} calls a second",
        rate_of_the_server()
    );
    println!("whole runs in the server's clock, median (worst) of {runs}:");
    println!(
        "{:<38} {:>8} {:>16} {:>17} {:>15} {:>7} {:>8}  wanted",
        "", "ideal", "took", "of the ideal", "429s", "failed", "CPU"
    );
    for scenario in scenarios() {
        if words.is_empty() || words.iter().any(|word| scenario.name.contains(word)) {
            let figures: Vec<Figures> = (0..runs).map(|_| scenario.run()).collect();
            scenario.print(&figures);
        }
    }
}

fn scenarios() -> Vec<Scenario> {
    let ms = Duration::from_millis;
    let window = Scenario {
        name: "window of 50 per 1 s, headers, -j 20",
        wanted: ">= 97 %, 429s <= 1 %",
        limit: Limit::Window {
            calls: 50,
            per: ms(1_000),
            phase: Phase::FirstRequest,
        },
        says: Says::OpenAi,
        storm: Duration::ZERO,
        latency: ms(50),
        cases: 500,
        slots: 20,
    };
    let silent = Scenario {
        name: "the same window, no header, -j 20",
        wanted: ">= 90 %, 429s <= 5 %",
        says: Says::Nothing,
        cases: 1_500,
        ..window
    };
    let bucket = Scenario {
        name: "bucket of 60 per 2 s, headers, -j 100",
        wanted: ">= 97 %, 429s <= 1 %",
        limit: Limit::Bucket {
            capacity: 60,
            fills_in: ms(2_000),
        },
        latency: ms(700),
        cases: 600,
        slots: 100,
        ..window
    };
    let storm = Scenario {
        name: "storm of 10 s, then no limit, -j 20",
        wanted: "no row fails, recovery <= 1 s",
        limit: Limit::None,
        says: Says::Nothing,
        storm: ms(10_000),
        cases: 1_000,
        ..window
    };
    vec![window, silent, bucket, storm]
}

impl Scenario {
    fn ideal(&self) -> Duration {
        // So many calls need so many rounds of all slots.
        let rounds = |calls: u32| self.latency * calls.div_ceil(self.slots);
        match self.limit {
            Limit::None | Limit::Parallel { .. } => self.storm + rounds(self.cases),
            Limit::Window { calls, per, .. } => {
                let before = (self.cases - 1) / calls;
                self.storm + per * before + rounds(self.cases - before * calls)
            }
            Limit::Bucket { capacity, fills_in } => {
                let waited_for = self.cases.saturating_sub(capacity);
                self.storm + fills_in * waited_for / capacity + self.latency
            }
        }
    }

    fn run(&self) -> Figures {
        let quota = Quota::of(self.limit)
            .saying(self.says)
            .after(self.latency)
            .storm(self.storm);
        let server = QuotaServer::start(quota);
        let rows = (0..self.cases).fold("n\n".to_owned(), |mut rows, n| {
            writeln!(rows, "{n}").expect("a string takes everything");
            rows
        });
        // The shell's `times` gives the times of its children, which the standard library can't.
        let finished = Run::new()
            .config("prompts: ['Case {{n}}']\nproviders: ['openai:m']\ntests: tests.csv\n")
            .file("tests.csv", rows)
            .env("OPENAI_API_KEY", "sk-bench-bench-bench")
            .env("OPENAI_BASE_URL", server.api().url())
            .program("/bin/sh")
            .args(["-c", r#""$0" "$@"; times >&2"#])
            .arg(built_program())
            .args(["eval", "--no-table", "-o", "out.json", "-j"])
            .arg(self.slots.to_string())
            .finish();
        let results = finished.json("out.json");
        let rows = results["results"]["results"].as_array().expect("rows");
        let passed = rows
            .iter()
            .filter(|row| row["success"] == Value::Bool(true));
        let traffic = server.traffic();
        Figures {
            took: traffic.makespan(),
            share: self.share(&traffic),
            refused: traffic.refused() as f64 / traffic.arrivals() as f64,
            failed: self.cases as usize - passed.count(),
            cpu: cpu_of_children(&finished.stderr),
            recovery: (!self.storm.is_zero()).then(|| self.recovery(&traffic)),
        }
    }

    /// Accepted calls per time, as a share of the ideal's: a run that loses rows is not better
    /// for ending sooner.
    fn share(&self, traffic: &Traffic) -> f64 {
        let answered = traffic.accepted() as f64 / f64::from(self.cases);
        answered * self.ideal().as_secs_f64() / traffic.makespan().as_secs_f64()
    }

    /// From the end of the storm until a call is accepted, and until the stretch of
    /// [`GLIMPSE`] begins that is the first to bring nine tenths of the answers that all
    /// slots can.
    fn recovery(&self, traffic: &Traffic) -> (Duration, Option<Duration>) {
        let end = traffic.first_arrival().unwrap_or_default() + self.storm;
        let accepted = traffic.calls.iter().filter(|call| call.accepted);
        let mut answers: Vec<Duration> = accepted.filter_map(|call| call.ended).collect();
        answers.sort_unstable();
        let all = f64::from(self.slots) * GLIMPSE.as_secs_f64() / self.latency.as_secs_f64();
        let enough = (all * 0.9) as usize;
        let full = answers
            .windows(enough)
            .find(|stretch| stretch[enough - 1] <= stretch[0] + GLIMPSE);
        let first = traffic.calls.iter().find(|call| call.accepted);
        let since = |at: Duration| at.saturating_sub(end);
        (
            since(first.map_or(Duration::MAX, |call| call.at)),
            full.map(|stretch| since(stretch[0])),
        )
    }

    fn print(&self, runs: &[Figures]) {
        let sorted = |figure: fn(&Figures) -> f64| {
            let mut figures: Vec<f64> = runs.iter().map(figure).collect();
            figures.sort_unstable_by(f64::total_cmp);
            figures
        };
        let median = |figures: &[f64]| figures[figures.len() / 2];
        let took = sorted(|run| run.took.as_secs_f64());
        let share = sorted(|run| run.share * 100.0);
        let refused = sorted(|run| run.refused * 100.0);
        let cpu = sorted(|run| run.cpu.as_secs_f64() * 1e3);
        let failed: usize = runs.iter().map(|run| run.failed).sum();
        println!(
            "{:<38} {:>6.2} s {:>6.2} ({:>5.2}) s {:>6.1} ({:>5.1}) % {:>5.2} ({:>4.2}) % {failed:>7} {:>5.0} ms  {}",
            self.name,
            self.ideal().as_secs_f64(),
            median(&took),
            took[took.len() - 1],
            median(&share),
            share[0],
            median(&refused),
            refused[refused.len() - 1],
            median(&cpu),
            self.wanted,
        );
        for (first, full) in runs.iter().filter_map(|run| run.recovery) {
            let full = full.map_or("never".to_owned(), |full| format!("after {full:.2?}"));
            println!(
                "    after the storm: first call accepted after {first:.2?}, full rate {full}"
            );
        }
    }
}

/// CPU time (user and system) that `times` wrote as the last line of `text`: `0m1.23s 0m0.1s`.
fn cpu_of_children(text: &str) -> Duration {
    let line = text.lines().last().expect("`times` writes two lines");
    let part = |part: &str| {
        let (minutes, seconds) = part.trim_end_matches('s').split_once('m')?;
        Some(minutes.parse::<f64>().ok()? * 60.0 + seconds.parse::<f64>().ok()?)
    };
    let seconds: Option<f64> = line.split_whitespace().map(part).sum();
    Duration::from_secs_f64(seconds.expect("`times` writes minutes and seconds"))
}

/// Calls a second that a server without a limit answers to four plain clients: a program
/// that does not come near it was not held up by its server.
fn rate_of_the_server() -> f64 {
    const CALLS: usize = 2_000;
    let server = QuotaServer::start(Quota::of(Limit::None).saying(Says::OpenAi));
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut client = Client::connect(server.api().port());
                for _ in 0..CALLS / 4 {
                    client.ask("m", "hello");
                }
            });
        }
    });
    CALLS as f64 / begun.elapsed().as_secs_f64()
}
